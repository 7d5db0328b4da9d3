"""The code of the algorithms, function by function, for the page that has their pseudo-code beside it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

BOOSTERS = Path(__file__).parent.parent / "src/onlineboost/boosters"
FUNCTIONS = {
    "online_bbm": ("vote", "round"),
    "adaboost_ol": ("lead", "vote", "round", "settle"),
    "osboost": ("smooth_weights", "round", "vote"),
    "osboost_ocp": ("vote", "round", "settle"),
    "online_mbbm": ("round",),
    "adaboost_olm": ("round", "settle"),
}


def code(file: str) -> str:
    """Functions of a booster as they stand in its file, without decorators, types and the docstring."""
    text = (BOOSTERS / f"{file}.py").read_text()
    found = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    return "\n\n\n".join(_plain(str(ast.get_source_segment(text, found[name]))) for name in FUNCTIONS[file])


def _plain(function: str) -> str:
    head, body = function.split("\n", 1)
    head = re.sub(r": [\w.]+(?=[,)])", "", head)
    body = re.sub(r'^ *""".*?"""\n', "", body, count=1, flags=re.S)
    return re.sub(r" -> .*:$", ":", head) + "\n" + body


def blocks() -> dict[str, str]:
    return {file: f"```python\n{code(file)}\n```" for file in FUNCTIONS}
