"""Docstrings in numpydoc's form, as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_HEADING = re.compile(r"^(\S.*)\n-{3,}\n", re.M)
_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.M)
_AFTER_LIST = re.compile(r"\n\n(?=\S(?!.* : ))")  # prose or an example after a list, without a heading of its own
_LISTS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "Other Parameters")


class Item(NamedTuple):
    """An entry of a list such as ``Parameters``."""

    name: str
    type: str
    text: str


def summary(thing: object) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def sections(text: str) -> dict[str, str]:
    """The text of a docstring by heading; what stands before the first has the heading ''.

    >>> sections("One line.\\n\\nParameters\\n----------\\nn : int\\n    Number.")
    {'': 'One line.', 'Parameters': 'n : int\\n    Number.'}
    """
    first, *rest = _HEADING.split(text)
    return {"": first.strip()} | {name: part.rstrip() for name, part in zip(rest[::2], rest[1::2], strict=True)}


def items(text: str) -> list[Item]:
    """The entries of a list: a line with name and type, and indented lines with the description.

    >>> items("n, m : int, default=3\\n    Numbers.\\nseed : int")
    [Item(name='n, m', type='int, default=3', text='Numbers.'), Item(name='seed', type='int', text='')]
    """
    found = []
    for entry in re.split(r"\n(?=\S)", text.strip()):
        head, _, body = entry.partition("\n")
        name, _, kind = head.partition(" : ")
        found.append(Item(name.strip(), kind.strip(), inspect.cleandoc(body)))
    return found


def markdown(thing: object, defaults: Mapping[str, Any] | None = None) -> str:
    """The docstring as Markdown; the defaults of parameters are those of the signature, where it has none."""
    parts = sections(inspect.getdoc(thing) or "")
    made = [_fenced(parts.pop(""))]
    for heading, text in parts.items():
        made.append(f"**{heading}**")
        if heading not in _LISTS:
            made.append(_fenced(text))
            continue
        text, *after = _AFTER_LIST.split(text, maxsplit=1)
        made += [_entry(item, defaults or {}) for item in items(text)] + [_fenced(rest) for rest in after]
    return "\n\n".join(part for part in made if part)


def _entry(item: Item, defaults: Mapping[str, Any]) -> str:
    name, kind, text = item
    if not text:  # of a list without types
        kind, text = "", kind
    if name in defaults and "default" not in kind:
        kind = f"{kind}, default={defaults[name]!r}" if kind else f"default={defaults[name]!r}"
    head = f"`{name}`" + (f" <small>{_escaped(kind)}</small>" if kind else "")
    return f"{head}\n:   {_indented(text)}" if text else head


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([*_\[\]])", r"\\\1", text) if "`" not in text else text


def _indented(text: str) -> str:
    return text.replace("\n", "\n    ")


def _fenced(text: str) -> str:
    """Examples in fences."""
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
