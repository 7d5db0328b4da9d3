"""The public names, module by module, with their parameters: ``docs/public-names.md``."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any

MODULES = (
    "onlineboost",
    "onlineboost.boosters",
    "onlineboost.learners",
    "onlineboost.transforms",
    "onlineboost.evaluate",
    "onlineboost.readers",
    "onlineboost.serve",
    "onlineboost.tuning",
    "onlineboost.datasets",
    "onlineboost.theory",
    "onlineboost.errors",
    "onlineboost.extend",
)


def names(module: ModuleType) -> list[str]:
    """The public names of a module: those of ``__all__``, or else those that it defines."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    found: list[str] = getattr(module, "__all__", [name for name in own if not name.startswith("_")])
    return sorted(found)


def shown(name: str, value: Any) -> str:
    """A name with its parameters and their defaults, as one would call it."""
    if not callable(value):
        return name
    try:
        found = inspect.signature(getattr(value, "py_func", value))
    except ValueError:  # an error of Python's own constructor
        return name
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found.parameters.values()]
    arguments = str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return name + arguments.replace("<class 'str'>", "str")


def listed(module: ModuleType, path: str) -> list[str]:
    """Lines of Markdown for the names of a module, and for those of modules among them."""
    lines, inner = [f"## `{path}`", ""], []
    for name in names(module):
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            inner += ["", *listed(value, f"{path}.{name}")]
            lines.append(f"- `{name}`: see below")
        elif isinstance(value, type) and value.__name__ != name:
            lines.append(f"- `{name}`: short for `{value.__name__}`")
        else:
            lines.append(f"- `{shown(name, value)}`")
    return lines + inner


def blocks() -> dict[str, str]:
    pages = [listed(importlib.import_module(path), path) for path in MODULES]
    return {"names": "\n\n".join("\n".join(lines) for lines in pages)}
