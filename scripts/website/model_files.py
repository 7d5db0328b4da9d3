"""Reference of the model file format, from the sources of ``onlineboost.storage`` and a file of the tests."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

from safetensors import safe_open

from onlineboost.storage import model_file, upgrades

SAVED = Path(__file__).parents[2] / "tests/saved"

TEMPLATE = Path(__file__).parent / "model-files.md"


def page() -> str:
    example = max(SAVED.glob("format*-tree.safetensors"), key=lambda path: int(path.name[6 : path.name.index("-")]))
    with safe_open(example, framework="numpy") as file:
        facts = json.loads(file.metadata()["onlineboost"][8:])
        arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
    del facts["arrays"]
    steps = [f"| {old} | {old + 1} | {_line(step)} |" for old, step in upgrades.UPGRADES.items()]
    return TEMPLATE.read_text().format(
        summary=inspect.getdoc(model_file),
        current=upgrades.FORMAT,
        oldest=upgrades.OLDEST,
        rows=":rows",
        example=example.name,
        arrays="\n".join(f"| `{name}` | {array.dtype} | {list(array.shape)} |" for name, array in arrays.items()),
        facts=json.dumps(facts, indent=1),
        upgrades="\n".join(steps),
    )


def _line(step: object) -> str:
    return (inspect.getdoc(step) or "Models that cannot be continued are refused.").partition("\n")[0]
