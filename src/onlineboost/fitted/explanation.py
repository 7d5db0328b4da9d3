"""Explanations: the contribution of each feature to the score of each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.batch import Floats, Ints, Ints32
from onlineboost.data.feature_names import column_of, date_of
from onlineboost.errors import DataError
from onlineboost.loop.explaining import Explained, Terms
from onlineboost.storage.pictures import check_picture, draw_bars

_SHOWN_ROWS, _SHOWN = 5, 10  # rows, and features of a row, that ``print`` shows
_LARGE = 1 << 28  # numbers of a table


class Reasons(dict[str, float]):
    """Contributions to the score of a row by name, the strongest first; with ``bias`` they add up to ``score``."""

    def __init__(self, contributions: Mapping[str, float], bias: float, score: float) -> None:
        super().__init__(sorted(contributions.items(), key=lambda one: (-abs(one[1]), one[0])))
        self.bias, self.score = bias, score

    def brief(self, most: int) -> str:
        """The strongest contributions in one line."""
        return "; ".join(f"{name} {value:+.2f}" for name, value in [*self.items()][:most])

    def __str__(self) -> str:
        width = max(map(len, [*self][:_SHOWN]), default=0)
        lines = [f"{name:<{max(width, 4)}} {value:>+10.4f}" for name, value in [*self.items()][:_SHOWN]]
        others = [*self.values()][_SHOWN:]
        if others:
            lines.append(f"{f'{len(others):,} others':<{max(width, 4)}} {sum(others):>+10.4f}")
        ends = [f"{name:<{max(width, 4)}} {value:>+10.4f}" for name, value in (("bias", self.bias),)]
        return "\n".join([f"score {self.score:+.4f}", *(f"  {line}" for line in (*lines, *ends))])


class Entries(NamedTuple):
    """Contributions to one answer that are not zero, row by row."""

    indptr: Ints
    features: Ints
    values: Floats


@dataclass(frozen=True)
class Explanation:
    """Contributions of features to scores; ``explanation[r]`` has those of a row, by name.

    With more than two classes, each has its contributions: ``explanation[r][label]``.
    """

    names: list[str]  # of the features
    score: Floats  # [rows], or [rows, classes]
    bias: Floats  # as ``score``: the rest, which belongs to no feature
    classes: list[Any] | None  # if there are more than two
    parts: Floats | list[Entries]  # [rows, names, answers], or for each answer

    @property
    def contributions(self) -> Floats:
        """[rows, features], or [rows, features, classes]: with ``bias``, the sum over features is ``score``."""
        found = self.parts
        if isinstance(found, list):
            shape = len(self), len(self.names), len(found)
            if np.prod(shape, dtype=float) > _LARGE:
                raise DataError(
                    f"a table of {shape[0]:,} x {shape[1]:,} contributions is too large: read explanation[r]"
                )
            found = np.zeros(shape)
            for k, (indptr, features, values) in enumerate(self.parts):
                found[np.repeat(np.arange(len(self)), np.diff(indptr)), features, k] = values
        return found if self.classes is not None else found[:, :, 0]

    def __len__(self) -> int:
        return len(self.score)

    def __iter__(self) -> Iterator[Any]:
        return (self[r] for r in range(len(self)))

    def __getitem__(self, row: int) -> Any:
        if not -len(self) <= row < len(self):
            raise IndexError(f"there is no row {row}: expected one of {len(self):,}")
        row %= len(self)
        if self.classes is None:
            return self._reasons(row, 0, self.bias[row], self.score[row])
        found = zip(self.classes, self.bias[row], self.score[row], strict=True)
        return {label: self._reasons(row, k, bias, score) for k, (label, bias, score) in enumerate(found)}

    def _reasons(self, row: int, k: int, bias: float, score: float) -> Reasons:
        if isinstance(self.parts, list):
            indptr, features, values = self.parts[k]
            mine = slice(indptr[row], indptr[row + 1])
            features, values = features[mine], values[mine]
        else:
            features, values = np.arange(len(self.names)), self.parts[row, :, k]
        pairs = zip(features.tolist(), values.tolist(), strict=True)
        return Reasons({self.names[j]: value for j, value in pairs if value}, float(bias), float(score))

    def __str__(self) -> str:
        lines = []
        for r in range(min(len(self), _SHOWN_ROWS)):
            found = self[r] if self.classes is not None else {None: self[r]}
            lines += [f"row {r}{'' if label is None else f', {label}'}: {reasons}" for label, reasons in found.items()]
        more = len(self) - _SHOWN_ROWS
        return "\n".join(lines + ([f"and {more:,} rows more"] if more > 0 else []))

    def plot(self, path: str | Path, row: int = 0, label: Any = None, top: int = 20) -> None:
        """Draw the strongest contributions to the score of a row, to a .png, .svg or .pdf file.

        With more than two classes, those to the score of a ``label`` (None: the one with the largest score).
        """
        target, found = check_picture(path), self[row]
        title = f"row {row}"
        if self.classes is not None:
            label = max(found, key=lambda one: found[one].score) if label is None else label
            if label not in found:
                raise DataError(f"{label!r} is none of the classes: expected one of {', '.join(map(str, found))}")
            title, found = f"{title}, {label}", found[label]
        strongest = [*found.items()][:top]
        axis = f"contribution to the score {found.score:+.4f}, with a bias of {found.bias:+.4f}"
        draw_bars(target, title, axis, [name for name, _ in strongest], [value for _, value in strongest])


def explanation(
    found: Explained, names: Mapping[int, str], columns: Sequence[str], target: Any, table: bool
) -> Explanation:
    """The explanation of rows by the names of features; features of the same column count as one.

    Parameters
    ----------
    found : Explained
        Terms that a node has found.
    names : mapping
        Names of features by id; a feature without a name has its id.
    columns : list of str
        Names of columns, which include all their categories and parts of dates: "color" for "color=red", "sold" for
        "sold.month=11".
    target : Classes or Numbers
        Target of the model.
    table : bool
        Whether the result has a number for each column and row; otherwise only numbers that are not zero.

    Returns
    -------
    Explanation
        The contributions.
    """
    scores, terms = _in_order(found, target)
    known = {name: j for j, name in enumerate(columns)}
    codes = _codes(terms, names, known)
    named, (rows, answers) = [*known], scores.shape
    sums = np.zeros((answers, rows))
    whole: Any = np.zeros((answers, rows, len(named))) if table else []
    for k in range(answers):
        mine = [(one, code) for one, code in zip(terms, codes, strict=True) if one.output == k]
        if table:
            for one, code in mine:
                one.add_to(whole[k], code)
            sums[k] = whole[k].sum(axis=1)
        else:
            keys = [one.numbers() * len(named) + code[one.slots] for one, code in mine]
            values = [one.contributions() for one, _ in mine]
            places, order = np.unique(np.concatenate([np.empty(0, np.int64), *keys]), return_inverse=True)
            total: Any = np.bincount(order, np.concatenate([np.empty(0), *values]), places.size)
            place, feature = np.divmod(places, max(len(named), 1))
            whole.append(Entries(np.searchsorted(place, np.arange(rows + 1)), feature, total))
            sums[k] = np.bincount(place, total, rows)
    whole = np.moveaxis(whole, 0, 2) if table else whole
    bias = scores - sums.T
    labels = target.classes.tolist() if answers > 1 else None
    shape = (rows,) if labels is None else (rows, answers)
    return Explanation(named, scores.reshape(shape), bias.reshape(shape), labels, whole)


def by_column(shares: Mapping[int, float], names: Mapping[int, str], columns: Sequence[str]) -> dict[str, float]:
    """Numbers by the id of a feature, as sums by columns."""
    found, known = dict.fromkeys(columns, 0.0), {name: j for j, name in enumerate(columns)}
    for id, share in shares.items():
        column = column_of(names.get(id, str(id)), known)
        found[column] = found.get(column, 0.0) + share
    return found


def _in_order(found: Explained, target: Any) -> tuple[Floats, list[Terms]]:
    """Scores and terms, with answers in the order of ``classes_``."""
    scores, terms = found
    if target.width == 1:  # of numbers, the others are bounds
        mine = [one for one in terms if one.output == 0]
        if not target.turned:
            return scores[:, :1], mine
        return -scores[:, :1], [one._replace(factors=-one.factors) for one in mine]
    if scores.shape[1] == 1:  # the node knows two classes so far
        scores = np.concatenate([-scores, scores], axis=1)
        terms = [one._replace(output=k, factors=sign * one.factors) for one in terms for k, sign in ((0, -1), (1, 1))]
    order = target.scores(np.arange(scores.shape[1], dtype=float)[None])[0].tolist()
    places = {int(k): place for place, k in enumerate(order) if k >= 0}
    return target.scores(scores), [one._replace(output=places[one.output]) for one in terms]


def _codes(terms: list[Terms], names: Mapping[int, str], known: dict[str, int]) -> list[Ints]:
    """The number of the name of each slot that occurs in terms; new names are added to those known."""
    codes: dict[int, Ints] = {}  # by the array of ids, which many terms share
    for one in terms:
        if id(one.ids) in codes:
            continue
        found = codes[id(one.ids)] = np.zeros(one.ids.size, np.int64)
        columns = _columns_of(one.ids, names, known)
        if not all(column in known for column in columns.values()):
            there = np.zeros(one.ids.size, bool)
            for other in terms:
                if other.ids is one.ids:
                    there[other.slots] = True
            columns = {slot: columns[slot] for slot in np.flatnonzero(there).tolist()}
        for slot, column in columns.items():
            found[slot] = known.setdefault(column, len(known))
    return [codes[id(one.ids)] for one in terms]


def _columns_of(ids: Ints32, names: Mapping[int, str], known: Mapping[str, int]) -> dict[int, str]:
    """The column of each slot."""
    found = (names.get(id, str(id)) for id in ids.tolist())
    return {slot: date_of(column_of(name, known), names) for slot, name in enumerate(found)}
