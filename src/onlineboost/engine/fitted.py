"""Fitted: all that a model has learnt, in one bundle."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.allocation import planned
from onlineboost.data.arrays import Dense, Source
from onlineboost.data.batch import Batch, Floats, check_batch, cut, longest_row, one_row, without_missing
from onlineboost.data.classes import MAX_CLASSES, Classes, joined_scores, too_many_classes
from onlineboost.data.columns import MAX_LAG, MAX_NAMES, Columns
from onlineboost.data.numbers import Numbers
from onlineboost.data.page import Page
from onlineboost.engine import schedule
from onlineboost.engine.asked import Asked, parsed, together
from onlineboost.engine.class_weights import ClassWeights
from onlineboost.engine.dicts import named_row
from onlineboost.engine.explaining import Explained, joined
from onlineboost.engine.explanation import Explanation, by_column, explanation
from onlineboost.engine.lags import Lags
from onlineboost.engine.lock import SharedLock
from onlineboost.engine.machine import BatchMachine, Machine, Said
from onlineboost.engine.objects import ObjectRows
from onlineboost.engine.thresholds import Cut
from onlineboost.engine.tickets import Pending, Ticket, is_finite
from onlineboost.errors import DataError, ModelFileError, ParameterError, RangeWarning, TicketError, listed
from onlineboost.parameters import brief, check_whole
from onlineboost.storage.model_file import Part, check_plan, fill
from onlineboost.storage.validity import InvalidStateError, check_state

Rows = Source | Iterable[Page | Batch]
_MANY_ROWS = 1024  # that are worth several threads
_LOOK_EVERY = 64  # rows learnt one at a time, between two looks for features that have left their range


class _Labels(NamedTuple):
    """Codes and weights of rows that were learnt."""

    y: Floats
    weight: Floats


@dataclass
class Fitted:
    """All that a model has learnt, and the parameters it was made with.

    A model has one, and replaces it as a whole. Threads that learn take turns, ``with lock.turn():``, while others
    predict: each prediction is made by a state between two updates.
    """

    spec: Any  # a model with the parameters that this was made with; parameters set later have no effect
    columns: Columns
    target: Any  # ``Classes`` or ``Numbers``
    machine: Machine
    lock: SharedLock = field(default_factory=SharedLock)
    n_strayed: int = 0  # when features were last looked at, and those that a warning was given for
    strayed: set[str] = field(default_factory=set)
    pending: Pending = field(default_factory=Pending)  # tickets that wait for their labels
    threshold: Cut | None = None  # that was chosen for this model; None: the sign of a score is the answer
    lags: Lags | None = field(init=False)  # the last labels, if they are features
    class_weights: ClassWeights | None = field(init=False)  # by which weights of rows are multiplied, if asked for
    max_row_features: int | None = field(init=False)  # of the spec, which does not change

    def __post_init__(self) -> None:
        self.max_row_features = self.spec.max_row_features()
        self.allow_classes(self.spec.max_classes)
        self.lags = Lags(self.spec.lag) if check_whole("lag", self.spec.lag, 0, MAX_LAG) else None
        if self.lags is not None and not isinstance(self.machine, BatchMachine):
            raise ParameterError("lag", self.spec.lag, "0: learners that are Python objects take no last labels")
        given = self.spec.class_weight
        self.class_weights = None if given is None else ClassWeights(given)
        if self.columns.limit is None:  # names beyond the slots are of no use
            self.columns.limit = min(MAX_NAMES, self.spec.max_features())

    def __getstate__(self) -> dict[str, Any]:
        """A copy of everything, made between two updates, for ``copy`` and ``pickle``."""
        with self.lock.reading:
            machine, columns = self.machine.snapshot(), copy.deepcopy(self.columns)
            copies = {"machine": machine, "columns": columns, "pending": self.pending.frozen()}
            copies |= {"lags": copy.copy(self.lags), "class_weights": copy.copy(self.class_weights)}
            return vars(self) | copies | {"target": copy.copy(self.target)}

    def copied(self) -> Fitted:
        """A copy, made between two updates, with the same parameters."""
        found = copy.copy(self)
        return replace(found, lock=SharedLock(), pending=copy.copy(found.pending))

    # ---- learners on other machines

    def go_away(self, away: Any) -> None:
        """Let learners learn elsewhere from now on, if ``away`` is not None."""
        if away is not None and self.machine.away is None:
            if not isinstance(self.machine, BatchMachine):
                raise ParameterError("engine", "ray", "'threads': learners that are Python objects cannot be divided")
            self.machine.check_divisible()
            away.close()  # actors of another machine
            self.machine.go_away(away)

    def come_back(self) -> None:
        """Take back what was learnt elsewhere."""
        if isinstance(self.machine, BatchMachine) and self.machine.away is not None:
            try:
                with self.lock.turn(), self.lock.writing:
                    self.machine.bring_back()
            finally:
                self.machine.go_away(None)

    # ---- learning, within a turn

    def meet(self, source: Source, target: Any) -> None:
        """Remember the columns and labels of a checked table that is to be learnt."""
        self.check_target(target)
        with self.lock.writing:
            self.machine.name_features(self.columns.adopt(source))
            self.target = target

    def learn_table(self, source: Source, y: Floats, weight: Floats) -> Floats:
        """Learn the rows of a table; returns the score of each before its label was used."""
        return self._learn(self.machine.of_table(source, y, weight, self.target))

    def check_page(self, page: Page) -> Any:
        """Raise an error for a page that cannot be learnt, before anything changes; returns the target for it."""
        check_batch(page.batch, learning=True, numbers=self._of_numbers)
        self.check_rows(lambda: longest_row(page.batch))
        try:
            target = self.target.merged(page.target)
            if self._of_numbers:
                target.encode(page.batch.y)
            else:
                target.check_codes(page.batch.y)
        except DataError as problem:
            raise DataError(f"{problem}; use open_stream(..., like=model)") from None
        self.check_target(target)
        return target

    def allow_classes(self, most: Any) -> None:
        """Set the number of classes beyond which labels are refused: the one parameter that may change later."""
        self.spec.max_classes = check_whole("max_classes", most, 2, MAX_CLASSES)

    def check_target(self, target: Any) -> None:
        """Raise an error for classes that the model cannot take."""
        if target.width > 1:
            most = self.spec.max_classes
            if target.width > max(most, self.machine.n_classes):
                raise too_many_classes(target.known, most)
            self.machine.check_classes(target.width)
        if self.class_weights is not None:
            self.class_weights.check(target)

    def learn_page(self, page: Page, target: Any) -> Floats:
        """Learn the rows of a checked page; returns the score of each before its label was used."""
        with self.lock.writing:
            if self.columns.schema is None:
                self.columns.schema = page.schema
            self.machine.name_features(self.columns.add(page.names))
            self.columns.learn_fields(page.fields)
            self.target = target
        return self._learn(self.machine.of_batch(page.batch, target))

    def _learn(self, parts: Any) -> Floats:
        scores = []
        for part in parts:
            with self.lock.writing, schedule.uninterrupted():
                scores += self._learn_part(part)
        self._warn()
        found = _joined(scores)
        return found if self._of_numbers else self.target.widened(found)

    def _learn_part(self, part: Any) -> list[Floats]:
        """Learn examples; where the first of a class comes, the machine takes the class in before it."""
        part = self._with_lags(self._weighted(part), True)
        scores = self._learn_rows(part)
        self._learn_labels(part)
        return scores

    def _weighted(self, part: Any) -> Any:
        """Examples with weights by their labels, if asked for."""
        if self.class_weights is None or not part.y.size:
            return part
        weight = self.class_weights.rows(part.y, part.weight, self.target)
        return part._replace(weight=weight) if isinstance(part, Batch) else part.with_weight(weight)

    def _with_lags(self, part: Any, learning: bool) -> Any:
        """Examples with the last labels, if they are features."""
        if self.lags is None:
            return part
        if learning:
            self._meet_lags(self.lags)
        return self.lags.rows(part, learning)

    def _meet_lags(self, lags: Lags) -> None:
        names = lags.meet(self.target)
        if names:
            self.machine.name_features(self.columns.add(names))

    def _learn_labels(self, part: Any) -> None:
        """Take note of the labels of examples that were learnt."""
        if self.lags is not None:
            self._meet_lags(self.lags)
            self.lags.learn(part.y, part.weight)
        if self.class_weights is not None and part.y.size:
            self.class_weights.learn(part.y, part.weight)

    def _learn_rows(self, part: Any) -> list[Floats]:
        if self._of_numbers:
            return [self.machine.run(part, True)]
        some = cut if isinstance(part, Batch) else ObjectRows.cut
        scores, start, y, weight = [], 0, part.y, part.weight
        size, places = y.size, Classes.places(y)
        known = self.machine.n_classes
        while True:
            new = np.flatnonzero((places[start:] >= self.machine.n_classes) & (weight[start:] > 0))
            stop = start + int(new[0]) if new.size else size
            if start < stop or not size:
                scores.append(self.machine.run(some(part, start, stop) if (start, stop) != (0, size) else part, True))
                if known < self.machine.n_classes:  # who answers the first row of a class does not know it
                    scores[-1][0, known:] = -np.inf
            if stop == size:
                return scores
            known, start = self.machine.n_classes, stop
            self._take_classes(int(places[stop]) + 1)

    @property
    def _of_numbers(self) -> bool:
        return isinstance(self.target, Numbers)

    def declare(self, classes: Any, y: Any) -> None:
        """Name all classes that there will be; those of the rows ``y`` come first."""
        target = copy.copy(self.target)
        target.declare(classes, y)
        self.check_target(target)
        with self.lock.writing:
            self.target = target
        self.name_classes(target.width)

    def name_classes(self, n: int) -> None:
        """Begin with this number of classes."""
        if n > self.machine.n_classes:
            with self.lock.writing:
                self._take_classes(n)

    def _take_classes(self, n: int) -> None:
        before = self.machine
        if isinstance(before, BatchMachine):
            before.bring_back()
        if before.away is not None:
            before.away.close()
        machine = self.spec.with_classes(before, n)
        if not isinstance(machine, BatchMachine):
            machine.name_features(self.columns.names)
        machine.n_jobs, machine.away = before.n_jobs, before.away
        self.machine = machine

    def learn_one(self, x: Mapping[Any, Any], label: Any, weight: float) -> None:
        """Learn one dict of features, within a turn."""
        target = self.target.with_label(label)
        sign = target.encode_one(label)
        self.check_target(target)
        if self.max_row_features is not None and isinstance(x, Mapping):
            self.check_rows(lambda: len(x))
        compiled = isinstance(self.machine, BatchMachine) and weight > 0
        found = self.columns.row(x, True) if compiled else None
        quick = found[:2] if found is not None and not found.names else None
        with self.lock.writing:
            machine: Any = self.machine
            known = self._of_numbers or sign < self.machine.n_classes
            quick = self._quick_with_lags(quick)
            own = self.class_weights.row(sign, weight, target) if self.class_weights is not None else weight
            done = known and quick is not None and own > 0 and machine.run_row(*quick, sign, own, True) is not None
            if not done:
                row = machine.of_dict(x, self.columns, target, sign, weight, True)
                self.target = target  # before the machine knows the class: whoever decodes its scores reads this after
                self._learn_part(row)
            self.target = target
            if done and (self.lags is not None or self.class_weights is not None):
                self._learn_labels(_Labels(np.array([sign]), np.array([own])))
        if not done or not self.machine.n_learnt % _LOOK_EVERY:
            self._warn()

    def _quick_with_lags(self, quick: Any) -> Any:
        """Ids and values of a row with the last labels, if they are features."""
        if quick is None or self.lags is None:
            return quick
        ids, values = self.lags.of_next()
        return np.concatenate([quick[0], ids]), quick[1] + values

    # ---- labels that come later

    def ask(self, x: Any, time: float | None) -> Ticket:
        """Answer a dict of features, and keep what was said until the label comes."""
        with self.lock.reading:
            machine = self._asking()
            row, names = named_row(x, self.columns, True)
            self._warn_of_strangers(x, row)
            row, said = self._said(machine, row)
            number, data = self.pending.give(row, said, names, time)
            (answer,) = self._answers(machine, said)
        return Ticket(number, *answer, data)

    def ask_rows(self, rows: Rows, time: float | None) -> list[Ticket]:
        """``ask`` for all rows of a table or a stream."""
        tickets: list[Ticket] = []
        self._asking()
        for part in self.parts(rows):
            with self.lock.reading:
                machine = self._asking()
                part, said = self._said(machine, part)
                for r, answer in enumerate(self._answers(machine, said)):
                    number, data = self.pending.give(cut(part, r, r + 1), said.rows(r, r + 1), [], time)
                    tickets.append(Ticket(number, *answer, data))
        return tickets

    def _said(self, machine: BatchMachine, rows: Batch) -> tuple[Batch, Said]:
        """Rows as they are learnt later, and what tickets keep of what the machine says of them."""
        self.check_rows(lambda: longest_row(without_missing(rows)))
        rows = self._with_lags(rows, False)
        said = self.pending.kept(machine.ask(rows))
        if not machine.could_say(said):  # nobody could read the ticket
            raise DataError("the answer of this model is beyond all numbers: scale the features, and train it again")
        return rows, said

    def _answers(self, machine: BatchMachine, said: Said) -> Iterator[tuple[Any, float]]:
        """The label for each row, and its probability; of two labels, that of the positive one."""
        one, cut = machine.width == 1, self.cut
        scores = said.scores[:, 0] if one else said.scores[:, : machine.width]
        chances = machine.probabilities(scores)
        shown = self.target.of_positive(chances) if one and not self._of_numbers else chances
        for value, chance in zip(chances if cut is not None and cut.of_probability else scores, shown, strict=True):
            yield self._decoded_one(float(value) if one else value, cut), float(np.max(chance))

    def tell(self, tickets: list[Any], labels: Any, weight: float) -> None:
        """Learn rows that were asked before, in this order; nothing is learnt if one of the tickets is wrong.

        Within a turn.
        """
        machine = self._asking()
        asked = [self.pending.read(ticket, machine, self.max_row_features) for ticket in tickets]
        if len({one.mark for one in asked}) < len(asked):
            raise TicketError("a ticket is there twice: each can be told once")
        target = self.target
        for label in labels:
            target = target.with_label(label)
        signs = [target.encode_one(label) for label in labels]
        if not asked:
            return
        self.check_target(target)
        with self.lock.writing, schedule.uninterrupted():
            self.machine.name_features(self.columns.add(pair for one in asked for pair in one.names))
            self.target = target
            self._tell(asked, signs, weight)
            for one in asked:
                self.pending.take(one)
        self._warn()

    def expire(self, time: float | None) -> None:
        """Drop the tickets that have waited too long, or learn them, as the user has said."""
        if self.pending.expired == "drop":
            self.pending.due(time)
        elif self.pending.is_due(time):
            with self.lock.turn(), self.lock.writing, schedule.uninterrupted():
                machine, label = self._asking(), self.pending.expired[1]
                target = self.target.with_label(label)
                self.check_target(target)
                asked = [parsed(data, machine, self.max_row_features) for data in self.pending.due(time)]
                signs = [target.encode_one(label)] * len(asked)
                self.machine.name_features(self.columns.add(pair for one in asked for pair in one.names))
                self.target = target
                self._tell(asked, signs, 1.0)
            self._warn()

    def _tell(self, asked: list[Asked], signs: list[float], weight: float) -> None:
        """Learn rows whose labels have come; the machine takes in classes that are new."""
        weights = np.full(len(asked), weight)
        if self.class_weights is not None:
            weights = self.class_weights.rows(np.array(signs), weights, self.target)
        while asked:
            machine = self._asking()
            told = [one._replace(said=machine.fitting(one.said)) for one in asked]
            known = math.inf if self._of_numbers else self.machine.n_classes
            new = [own > 0 and sign >= known for own, sign in zip(weights, signs, strict=True)]
            silent = [not one.said.votes.shape[1] for one in told]  # those with votes of then are told by themselves
            ends = (k for k in range(len(asked)) if new[k] or silent[k] != silent[0])
            n = next(ends, len(asked))
            if n:
                rows, said = together(told[:n], signs[:n], weights[:n])
                machine.tell(rows, said)
                self._learn_labels(rows)
            else:
                self._take_classes(int(signs[0]) + 1)
            asked, signs, weights = asked[n:], signs[n:], weights[n:]

    def ask_row(self, row: Batch) -> tuple[Batch, Said, Floats]:
        """The row as it is to be told later, what the machine says of it, and its score."""
        with self.lock.reading:
            machine = self._asking()
            row = self._with_lags(row, False)
            said = machine.ask(row)
        return row, said, said.scores[:, : machine.width].reshape(machine.shape_of(row))

    def tell_row(self, row: Batch, said: Said) -> None:
        """Learn a row of which the machine has said this."""
        with self.lock.turn(), self.lock.writing:
            row = self._weighted(row)
            if not self._of_numbers and row.weight[0] > 0 and row.y[0] >= self.machine.n_classes:
                self._take_classes(int(row.y[0]) + 1)
            machine = self._asking()
            machine.tell(row, machine.fitting(said))
            self._learn_labels(row)

    def check_asking(self, time: Any) -> None:
        """Raise an error for a time that is none, or for a label of expired tickets that is none of this model's."""
        if time is not None and not is_finite(time):
            raise DataError(f"the time is {brief(time):.40}: expected a finite number")
        if self.pending.expired != "drop":
            self.check_target(self.target.with_label(self.pending.expired[1]))

    def _asking(self) -> BatchMachine:
        if not isinstance(self.machine, BatchMachine):
            raise ParameterError("estimator", self.spec.estimator, "a compiled learner such as Linear, for tickets")
        return self.machine

    def _warn(self) -> None:
        """Say, once for each feature, that its values have left the range that they had."""
        if self.machine.n_strayed == self.n_strayed:
            return
        self.n_strayed = self.machine.n_strayed
        for name in self.machine.strayed(self.columns.names):
            if name not in self.strayed and "=" not in name:  # that a category is new is no news
                self.strayed.add(name)
                news = f"the values of {name!r} have left the range they had: new bins follow them"
                warnings.warn(news, RangeWarning, stacklevel=6)  # where the model was called

    def _warn_of_strangers(self, x: Mapping[Any, Any], row: Any) -> None:
        """Say that no feature of a dict was learnt."""
        if not isinstance(row, Batch) or not self.machine.n_learnt or not row.indices.size:
            return
        machine: Any = self.machine
        if machine.n_slots >= machine.max_slots or machine.knows(row.indices).any():  # further ones share slots
            return
        known = [*machine.names_met(self.columns.names).values()]
        if known:  # the model has not started over just now
            news = f"no feature of x was learnt: x has {listed([*x])}, the model knows {listed(known)}"
            warnings.warn(f"{news}. The answer is that to an empty dict", stacklevel=4)

    # ---- answers

    def parts(self, rows: Rows) -> Iterator[Any]:
        """Rows as examples of the machine; an error if the columns of pages are not those that were learnt."""
        if isinstance(rows, Source):
            one = np.ones(rows.n_rows)
            yield from self.machine.of_table(rows, one, one, self.target)
            return
        for page in rows:
            if isinstance(page, Page):
                self.columns.check_fields(page.fields)
            batch = page.batch if isinstance(page, Page) else page
            check_batch(batch, learning=False, numbers=self._of_numbers)
            yield from self.machine.of_batch(batch, self.target)

    def scores(self, rows: Rows, probabilities: bool = False) -> Floats:
        """The scores of rows, or the probabilities of the positive label; of many classes, of each."""
        scores: list[Floats] = []
        for part in self.parts(rows):
            with self.lock.reading:
                scores += self._side_by_side(self._with_lags(part, False), probabilities)
        found = _joined(scores, probabilities) if scores else np.empty(0)
        return found if self._of_numbers else self.target.widened(found, probabilities)

    def _side_by_side(self, examples: Any, probabilities: bool) -> list[Floats]:
        """Scores by several threads, each with rows of its own, where there are many."""
        jobs = self.machine.n_jobs
        if jobs == 1 or not isinstance(examples, Batch) or examples.y.size < _MANY_ROWS:
            return [self._run(examples, probabilities)]
        ends = np.linspace(0, examples.y.size, jobs + 1).astype(int).tolist()
        found: list[Any] = [None] * jobs

        def share(k: int) -> Callable[[int], None]:
            def run(_: int) -> None:
                found[k] = self._run(cut(examples, ends[k], ends[k + 1]), probabilities)

            return run

        schedule.run([schedule.Stage(share(k)) for k in range(jobs)], 1, jobs)
        return found

    def _run(self, examples: Any, probabilities: bool) -> Floats:
        scores = self.machine.run(examples, False)
        return self.machine.probabilities(scores) if probabilities else scores

    def probabilities(self, scores: Floats) -> Floats:
        """The probabilities of the positive label, or of all classes, given scores by codes."""
        if scores.ndim > 1 and self.machine.n_classes == 2:  # the others were met with weight 0 only
            found: Floats = self.target.widened(self.machine.probabilities(scores[:, 1]), True)
            return found
        return self.machine.probabilities(scores)

    @property
    def cut(self) -> Cut | None:
        """The threshold by which rows are answered; None: there is none, or there are not two labels."""
        two = self.threshold is not None and self.target.width == 1 and len(self.target.classes) == 2
        return self.threshold if two else None

    def labels(self, rows: Rows, asked: Cut | None = None) -> NDArray[Any]:
        """The label, or the number, of each row: by this threshold, or else by that of the model."""
        cut = asked or self.cut
        return self.decoded(self.scores(rows, cut is not None and cut.of_probability), cut)

    def decoded(self, values: Floats, cut: Cut | None) -> NDArray[Any]:
        """The label, or the number, of each row, given its score, or the probability that the threshold is one of."""
        if cut is not None and values.ndim == 1:
            values = cut.signs_of(self.target, values)
        found: NDArray[Any] = self.target.decode(values)
        return found

    def label_one(self, x: Mapping[Any, Any]) -> Any:
        """The label, or the number, of one dict of features."""
        if self.threshold is None:
            return self.target.decode_one(self.score_one(x))
        cut = self.cut
        return self._decoded_one(self.score_one(x, cut is not None and cut.of_probability), cut)

    def _decoded_one(self, value: Any, cut: Cut | None) -> Any:
        """The label for one score, or for the probability that the threshold is one of."""
        if cut is not None and not isinstance(value, np.ndarray):
            value = float(cut.signs_of(self.target, np.array([value]))[0])
        return self.target.decode_one(value)

    def score_one(self, x: Mapping[Any, Any], probabilities: bool = False) -> Any:
        """The score of one dict of features, or the probability of the positive label; of many classes, an array."""
        row = self.columns.row(x, False) if isinstance(self.machine, BatchMachine) else None
        with self.lock.reading:
            machine: Any = self.machine
            quick = self._quick_with_lags(row[:2] if row is not None else None)
            score = machine.run_row(*quick, 1.0, 1.0, False) if quick is not None else None
            if score is not None and row is not None:
                if self.columns.names.keys().isdisjoint(row.ids):
                    self._warn_of_strangers(x, one_row(row.ids, row.values))
                found = machine.probabilities(np.array([score]))[0] if probabilities else score
            else:
                examples = machine.of_dict(x, self.columns, self.target, 1.0, 1.0, False)
                self._warn_of_strangers(x, examples)
                found = self._run(self._with_lags(examples, False), probabilities)[0]
        if not self._of_numbers and self.target.width > 1:
            (found,) = self.target.widened(np.array([found]), probabilities)
        return found if isinstance(found, np.ndarray) else float(found)

    def explain(self, rows: Rows, headings: Sequence[str] | None) -> Explanation:
        """The scores of rows, as sums over features: of a table, over its columns, which have these headings."""
        self._check_explaining()
        if isinstance(rows, Source):
            headings = rows.names or (self.columns.headings if not rows.by_name else None)
            if headings is None and isinstance(rows, Dense):
                headings = [str(column) for column in range(rows.n_features)]
        return self._explain(self.parts(rows), headings or [], headings is not None)

    def _check_explaining(self) -> None:
        if not isinstance(self.machine, BatchMachine):
            advice = "scikit-learn's permutation_importance takes any model"
            raise ParameterError(
                "estimator", self.spec.estimator, f"a compiled learner such as Linear or Tree; {advice}"
            )

    def _explain(self, parts: Any, columns: Sequence[str], table: bool) -> Explanation:
        found = []
        for part in parts:
            with self.lock.reading:
                found.append(self.machine.explain(self._with_lags(part, False)))
        names = dict(self.columns.names)
        return explanation(
            joined(found) if found else Explained(np.empty((0, 1)), []), names, columns, self.target, table
        )

    def explain_one(self, x: Mapping[Any, Any]) -> Any:
        """The contributions of one dict of features, by its keys."""
        self._check_explaining()
        with self.lock.reading:
            row = self.machine.of_dict(x, self.columns, self.target, 1.0, 1.0, False)
            self._warn_of_strangers(x, row)
        return self._explain([row], [str(name) for name in x], False)[0]

    def importances(self) -> dict[str, float]:
        """The share of each column in the influence on the answers; of sources without columns, of each feature."""
        with self.lock.reading:
            shares, names = self.machine.importances(), self.columns.names
            columns = self.columns.headings or [str(column) for column in range(self.columns.width or 0)]
            met = columns or [*self.machine.names_met(names).values()]
        return by_column(shares, names, met)

    # ---- checks

    def check_rows(self, longest: Callable[[], int]) -> None:
        """Raise an error for rows that are too long for the learner, before anything changes."""
        most, more = self.max_row_features, 0 if self.lags is None else self.lags.k
        if most is not None and longest() + more > most:
            advice = "name pairs, crosses=[(a, b), ...]"
            raise DataError(
                f"a row has {longest() + more:,} features, too many to cross all pairs (at most {most:,}): {advice}"
            )

    def check_met(self, source: Source) -> None:
        """Raise an error if parameters name a column that the array does not have."""
        names = [*(source.names or map(str, range(source.n_features))), *(self.lags.columns if self.lags else ())]
        for name in self.machine.columns_not_met(names):
            raise ParameterError("crosses", name, "columns of X, by name or by number from 0")

    # ---- model files

    def contents(self) -> Part:
        """The contents of a model file, from which learning continues exactly.

        Raises an ``InvalidStateError`` for a model that could not be loaded again.
        """
        machine = self.machine.trimmed()
        arrays, states = machine.arrays(), machine.states()
        if arrays is None or states is None:
            expected = "a compiled learner such as Linear; save other models with pickle"
            raise ParameterError("estimator", self.spec.estimator, expected)
        for name, state in states.items():
            check_state(name, state)
        machine.check()
        facts = {
            **self.spec.describe(),
            "seed": machine.settings.seed,
            "target": self.target.describe(),
            "columns": self.columns.describe(),
            "sizes": machine.sizes,
        }
        if self.machine.n_classes > 2:
            facts["classes"] = self.machine.n_classes
        if self.cut is not None:
            facts["threshold"] = self.cut.describe()
        if self.lags is not None:
            facts["last_labels"] = self.lags.describe()
        if self.class_weights is not None and self.class_weights.balanced:
            facts["label_counts"] = self.class_weights.describe()
        if self.pending.next:  # the model was asked for tickets
            arrays |= self.pending.arrays()
            facts["pending"] = self.pending.describe()  # after them: the next number is beyond all
        return Part(arrays, facts, _plan(self.spec, machine.sizes, machine.settings.seed, self.machine.n_classes))

    @classmethod
    def restore(cls, path: Path, model: Any, part: Part) -> Fitted:
        """The contents of a file, for a model built with its parameters."""
        columns, target = Columns.restore(part.facts["columns"]), model.new_target().restored(part.facts["target"])
        seed = check_whole("seed", part.facts["seed"], 0, (1 << 63) - 1)

        most = len(target.labels) if isinstance(target, Classes) else 2
        sizes, n = part.facts["sizes"], check_whole("classes", part.facts.get("classes", 2), 2, most)
        plan = _plan(model, sizes, seed, n)
        if plan is None:
            raise ModelFileError(path, "description", "not a model of compiled learners")
        check_plan(path, plan, part.arrays)
        made = _new_machine(model, sizes, seed, n)
        for name, state in (made.states() or {}).items():
            fill(path, name, state, part.arrays)
        try:
            made.check()
        except InvalidStateError as problem:
            raise ModelFileError(path, problem.field, str(problem)) from None
        made.name_features(columns.names)
        known = set(made.strayed(columns.names))
        found = cls(model.clone(), columns, target, made, n_strayed=made.n_strayed, strayed=known)
        if "threshold" in part.facts:
            found.threshold = Cut.restored(part.facts["threshold"])
        if found.lags is not None:
            found.lags.restore(part.facts["last_labels"], target)
        if found.class_weights is not None and found.class_weights.balanced:
            found.class_weights.restore(part.facts["label_counts"], target)
        if "pending" in part.facts and isinstance(made, BatchMachine):
            found.pending = Pending.restore(part.facts["pending"], part.arrays, made, found.max_row_features)
        return found


def _new_machine(model: Any, sizes: list[Any], seed: int, n_classes: int) -> Machine:
    made: Machine = model.new_machine(0, seed)
    if n_classes > 2:
        made = model.with_classes(made, n_classes)
    made.resize(sizes)
    return made


def _plan(model: Any, sizes: list[Any], seed: int, n_classes: int) -> dict[str, NDArray[Any]] | None:
    """The arrays of a model of this size before anything was learnt, without memory."""
    with planned():
        return _new_machine(model, sizes, seed, n_classes).arrays()


def _joined(parts: list[Floats], probabilities: bool = False) -> Floats:
    return parts[0] if len(parts) == 1 else joined_scores(parts, probabilities)
