"""Schema files: column roles given by options, and detected kinds of the other columns, as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onlineboost.cli.registered import flag_of
from onlineboost.cli.terminal import announce, say_lines
from onlineboost.data.columns import Columns
from onlineboost.data.kinds import Kind
from onlineboost.data.schema import Schema
from onlineboost.errors import ConflictError, DataError, ReadError
from onlineboost.storage.atomic import check_target, write_text

_ONE, _SEVERAL = ("label", "weight", "positive"), ("drop", "categorical", "text", "day_first", "month_first")
_FOUND = "found"
_WORDS = ("category", "id", "constant")  # kinds that depend on how many rows there are


class SchemaFile:
    """Content of a schema file: column options, and detected kinds."""

    def __init__(self, path: Path, facts: Any) -> None:
        self.path, self.facts = path, facts
        self._check()
        self.kinds: dict[str, str] = facts.get(_FOUND, {})

    @classmethod
    def read(cls, path: Path) -> SchemaFile:
        try:
            return cls(path, json.loads(path.expanduser().read_text(encoding="utf-8")))
        except json.JSONDecodeError as problem:
            words = f"{path}: line {problem.lineno}, character {problem.colno}: {problem.msg}: expected JSON"
            raise ReadError(words, path=str(path), line=problem.lineno, column=problem.colno) from None
        except UnicodeDecodeError:
            raise ReadError(f"{path}: expected JSON in UTF-8", path=str(path)) from None

    def _check(self) -> None:
        known = (*_ONE, *_SEVERAL, _FOUND)
        if not isinstance(self.facts, dict) or not {*known}.issuperset(self.facts):
            others = sorted({*self.facts}.difference(known)) if isinstance(self.facts, dict) else []
            found = f", found {others[0]!r}" if others else ""
            raise DataError(f"{self.path}: expected a JSON object with any of {', '.join(known)}{found}")
        for name, value in self.facts.items():
            if name in _ONE:
                good, expected = _is_name(value), "the name of a column" if name != "positive" else "a label"
            elif name in _SEVERAL:
                good, expected = isinstance(value, list) and all(map(_is_name, value)), "a list of names of columns"
            else:
                good = isinstance(value, dict) and all(isinstance(kind, str) for kind in value.values())
                expected = "kinds by column"
            if not good:
                raise DataError(f"{self.path}: {name}: expected {expected}")

    def merged(self, given: dict[str, Any]) -> dict[str, Any]:
        """The options of the flags and those of the file; a contradiction is an error."""
        merged = dict(given)
        for name in _ONE:
            here = str(self.facts[name]) if name in self.facts else None
            if None not in (here, given[name]) and given[name] != here:
                words = f"{flag_of(name)} {given[name]} contradicts {self.path}"
                raise ConflictError(f"{words}, which has {name} {here!r}: leave one of them out.")
            merged[name] = here if given[name] is None else given[name]
        listed = {name: [str(one) for one in self.facts.get(name, ())] for name in _SEVERAL}
        for name in _SEVERAL:
            for column in given[name]:
                for other in _SEVERAL:
                    if column in listed[other] and column not in listed[name]:
                        words = f"{flag_of(name)} {column} contradicts {self.path}, which has the column"
                        raise ConflictError(f"{words} in {other!r}: leave one of them out.")
            merged[name] = (*dict.fromkeys((*listed[name], *given[name])),)
        return merged

    def say_differences(self, kinds: dict[str, Kind]) -> None:
        """Report columns whose detected kind is not that of the file."""
        for name, (kind, _) in kinds.items():
            before = self.kinds.get(name, kind)
            if before != kind and not {before, kind}.issubset(_WORDS):
                news = f"column {name!r} was read as {_a(kind)}; {self.path} has {_a(before)}"
                announce(f"onlineboost: {news}: check its cells, or set its role in the file")


def write_schema(target: Path, columns: Columns, kinds: dict[str, Kind], model: Path) -> None:
    """Write the schema of a model, with detected text columns and kinds."""
    schema = columns.schema if columns.schema is not None else Schema()
    found = sorted(columns.text.columns.difference(schema.text)) if columns.text is not None else []
    facts: dict[str, Any] = {"label": schema.no_features[0]} if columns.schema is not None else {}
    facts |= {name: getattr(schema, name) for name in ("weight", "positive") if getattr(schema, name) is not None}
    facts |= {name: [*getattr(schema, name)] for name in _SEVERAL}
    facts["text"] += found
    facts[_FOUND] = {name: kind for name, (kind, _) in kinds.items()}
    text = json.dumps(facts, indent=2, ensure_ascii=False)
    if str(target) == "-":
        say_lines(text)
        return
    check_target("--schema", target, [str(model)])
    write_text(target.expanduser(), text + "\n")


def _is_name(value: Any) -> bool:
    return isinstance(value, str) or type(value) is int


def _a(kind: str) -> str:
    return f"{'an' if kind == 'id' else 'a'} {kind}" if kind in ("id", "number", "date", "category") else kind
