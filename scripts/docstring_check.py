"""Problems of docstrings: every public parameter has an entry in numpydoc's form, with its type and its default.

Run by ``make check``. Public are the names of ``docs/public-names.md``, and of estimators the methods for users.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import public_names
from website.api import hooks_of
from website.docstrings import Item, items, sections

LISTS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")
ORDER = (*LISTS, "See Also", "Notes", "References", "Examples")
NOT_YET: tuple[str, ...] = ()  # modules whose docstrings have another form
LONGEST_TYPE = 90  # longer ones are descriptions
_DEFAULT = re.compile(r", default=(.+)$")
_SENTENCE = re.compile(r"[A-Z0-9`\"'\[(*|].*[.:|]|.*```", re.S)
_NO_RETURN = ("None", "Self", "Iterator[None]")


def public() -> Iterator[tuple[str, Any]]:
    """Every public class and function once, with its path."""
    seen: set[int] = set()
    waiting = [(path, importlib.import_module(path)) for path in public_names.MODULES if path not in NOT_YET]
    for path, module in waiting:
        for name in public_names.names(module):
            value = getattr(module, name)
            if isinstance(value, ModuleType):
                waiting.append((f"{path}.{name}", value))
            elif callable(value) and id(value) not in seen:
                seen.add(id(value))
                yield f"{path}.{name}", getattr(value, "py_func", value)


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    """The methods and properties of an estimator that users call, but for hooks of authors."""
    for name in sorted({*dir(kind)} - hooks_of(kind)):
        place = next(base for base in kind.__mro__ if name in vars(base))
        member = inspect.getattr_static(kind, name)
        member = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        known = inspect.isfunction(member) or isinstance(member, property)
        if known and not name.startswith("_") and place.__module__.startswith("onlineboost"):
            yield f"{place.__module__}.{place.__qualname__}.{name}", member


def parameters(thing: Any, bound: bool) -> dict[str, inspect.Parameter]:
    """The parameters as docstrings name them."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = list(inspect.signature(thing).parameters.values())[1 if bound else 0 :]
    return {stars.get(one.kind, "") + one.name: one for one in found}


def problems_of(thing: Any, bound: bool = False) -> Iterator[str]:
    """The problems of one docstring."""
    text = inspect.getdoc(thing) or ""
    first, parts = text.partition("\n\n")[0], sections(text)
    if not re.fullmatch(r".+\.", first):
        yield f"summary {first!r}: expected one line that ends in a full stop"
    unknown = [name for name in parts if name and name not in ORDER]
    if unknown or [name for name in ORDER if name in parts] != [name for name in parts if name]:
        yield f"sections {[name for name in parts if name]}: expected the names and the order {ORDER}"
    for name in LISTS:
        for item in items(parts[name]) if name in parts else ():
            if not item.text or not _SENTENCE.fullmatch(item.text):
                yield f"{name}, {item.name}: expected a description in sentences, got {item.text!r}"
    if not isinstance(thing, property):
        yield from _problems_of_parameters(thing, items(parts["Parameters"]) if "Parameters" in parts else [], bound)
        returned = not inspect.isclass(thing) and str(inspect.signature(thing).return_annotation) not in _NO_RETURN
        if returned and not {"Returns", "Yields"} & parts.keys():
            yield "no section Returns"


def _problems_of_parameters(thing: Any, entries: list[Item], bound: bool) -> Iterator[str]:
    known = {} if getattr(thing, "_is_protocol", False) else parameters(thing, bound)
    named = [name.strip() for entry in entries if entry.name for name in entry.name.split(",")]
    if named != list(known):
        yield f"parameters {named}: expected {list(known)}"
        return
    for entry in entries:
        if not entry.type or len(entry.type) > LONGEST_TYPE:
            yield f"{entry.name}: expected a type after the name, got {entry.type!r}"
        for name in entry.name.split(", "):
            default, found = known[name].default, _DEFAULT.search(entry.type)
            if repr(default) == "<factory>" or name.startswith("*"):
                continue
            if default is inspect.Parameter.empty:
                if found:
                    yield f"{name}: {found[0]!r}, but it has no default"
            elif not found or not _same(found[1], default):
                yield f"{name}: expected default={default!r} in {entry.type!r}"
            choices = _choices(thing, known[name])
            if choices and choices != set(re.findall(r'"([^"]*)"', _DEFAULT.sub("", entry.type))):
                yield f"{name}: expected the choices {sorted(choices)} in {entry.type!r}"


def _same(text: str, default: Any) -> bool:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text == getattr(default, "__name__", repr(default))
    return type(value) is type(default) and bool(value == default)


def _choices(thing: Any, parameter: inspect.Parameter) -> set[str]:
    """The values of a parameter annotated as a ``Literal``."""
    annotation = parameter.annotation
    if isinstance(annotation, str):
        annotation = eval(annotation, vars(sys.modules[thing.__module__]) | vars(typing))
    return {one for one in typing.get_args(annotation) if isinstance(one, str)}


def problems_of_example(thing: Any) -> Iterator[str]:
    """A public class or function has an example that ends in a number, but for errors."""
    _, example, last = (inspect.getdoc(thing) or "").rpartition(">>> ")
    output = [line for line in last.split("\n")[1:] if not line.startswith("...")]
    if not example or not re.search(r"\d", "".join(output)):
        yield "expected an example that ends in a number"


def all_problems() -> list[str]:
    found: dict[str, None] = {}

    def note(path: str, check: Callable[..., Iterator[str]], *given: Any) -> None:
        found.update({f"{path}: {problem}": None for problem in check(*given)})

    for path, thing in public():
        is_error = inspect.isclass(thing) and issubclass(thing, Exception)
        if not is_error:
            note(path, problems_of_example, thing)
        if not is_error or "__init__" in vars(thing):
            note(path, problems_of, thing)
        if inspect.isclass(thing) and hasattr(thing, "fit"):
            for place, member in methods(thing):
                note(place, problems_of, member, True)
    return list(found)


if __name__ == "__main__":
    found = all_problems()
    print(*found, sep="\n")
    sys.exit(bool(found))
