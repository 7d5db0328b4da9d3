"""Fitted: everything that a model has learned, in one object."""

from __future__ import annotations

import copy
import math
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.arrays import Dense, Source
from onlineboost.data.batch import Batch, Floats, Ints32, check_batch, cut, longest_row, typed
from onlineboost.data.classes import MAX_CLASSES, too_many_classes
from onlineboost.data.columns import MAX_LAG, MAX_NAMES, Columns
from onlineboost.data.page import Page
from onlineboost.data.regression import Numbers
from onlineboost.data.scores import joined_scores, widened
from onlineboost.engine import schedule
from onlineboost.engine.memory import is_full
from onlineboost.engine.node import Prepared
from onlineboost.engine.objects import ObjectRows
from onlineboost.engine.program import run_batch, run_row
from onlineboost.engine.slotting import slotted
from onlineboost.errors import DataError, MemoryWarning, ParameterError, RangeWarning, listed
from onlineboost.fitted.class_weights import ClassWeights
from onlineboost.fitted.dicts import named_row
from onlineboost.fitted.explanation import Explanation, by_column, explanation
from onlineboost.fitted.lags import Lags
from onlineboost.fitted.lock import SharedLock
from onlineboost.fitted.running import Metrics, Running
from onlineboost.fitted.thresholds import Cutoff
from onlineboost.fitted.tickets import Pending
from onlineboost.loop.explaining import Explained, joined
from onlineboost.parameters import check_whole

Rows = Source | Iterable[Page | Batch]
_MANY_ROWS = 1024  # that are worth several threads
_SLICE = 0.006  # processor seconds of learning, after which waiting predictions are let in
_LEAST_SLICE, _MOST_SLICE = 16, 1 << 16  # rows
_MEMORY_EVERY = 4096  # rows learned between two checks of memory
_LOOK_EVERY = 64  # single rows learned between two checks for features outside of their range


@dataclass
class Fitted:
    """Everything that a model has learned, and the parameters that it was made with.

    A model has one, and replaces it as a whole. Learning threads take turns, ``with lock.turn():``, while others
    predict: each prediction uses the state between two updates.
    """

    spec: Any  # a model with the parameters of the start; parameters set later have no effect
    columns: Columns
    target: Any  # ``Classes`` or ``Numbers``
    root: Any  # a ``Node``; of learners that are Python objects, an ``ObjectCommittee``
    lock: SharedLock = field(default_factory=SharedLock)
    n_strayed: int = 0  # time of the last check of features, and features already warned of
    strayed: set[str] = field(default_factory=set)
    pending: Pending = field(default_factory=Pending)  # tickets that wait for their labels
    running: Running = field(default_factory=Running)  # metrics of the rows that were learned
    threshold: Cutoff | None = None  # chosen for this model; None: the sign of a score decides
    look_at_memory: float = 0  # next check, in rows; infinite: already warned
    lags: Lags | None = field(init=False)  # lagged labels, if they are features
    class_weights: ClassWeights | None = field(init=False)  # factors of the weights of rows, if set
    max_row_features: int | None = field(init=False)  # of the spec, which is constant
    pace: int = field(default=1024, repr=False, compare=False)  # rows of a slice; results do not depend on it
    programs: Prepared | None = field(init=False, repr=False, compare=False)  # of the nodes

    def __post_init__(self) -> None:
        self.max_row_features = self.spec._row_limit()
        if hasattr(self.spec, "max_classes"):
            self.allow_classes(self.spec.max_classes)
        self.lags = Lags(self.spec.lag) if check_whole("lag", self.spec.lag, 0, MAX_LAG) else None
        if self.lags is not None and not self.root.compiled:
            raise ParameterError("lag", self.spec.lag, "0: models over Python objects have no lagged labels")
        given = getattr(self.spec, "class_weight", None)
        self.class_weights = None if given is None else ClassWeights(given)
        self.programs = Prepared(self.root) if self.root.compiled else None
        if self.columns.limit is None:  # names beyond the slots are of no use
            self.columns.limit = min(MAX_NAMES, self.spec._slot_limit())

    def __getstate__(self) -> dict[str, Any]:
        """A copy of everything, made between two updates, for ``copy`` and ``pickle``."""
        with self.lock.reading:
            root, columns = self.root.snapshot(), copy.deepcopy(self.columns)
            copies = {"root": root, "columns": columns, "pending": self.pending.frozen()}
            copies["running"] = copy.copy(self.running)
            copies |= {"lags": copy.copy(self.lags), "class_weights": copy.copy(self.class_weights)}
            return vars(self) | copies | {"target": copy.copy(self.target), "programs": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.programs = Prepared(self.root) if self.root.compiled else None

    def copied(self) -> Fitted:
        """A copy, made between two updates, with the same parameters."""
        found = copy.copy(self)
        return replace(found, lock=SharedLock(), pending=copy.copy(found.pending))

    @property
    def of_numbers(self) -> bool:
        return isinstance(self.target, Numbers)

    # ---- learners on other machines

    def go_away(self, away: Any) -> None:
        """Let learners learn on other machines from now on, if ``away`` is not None."""
        if away is not None and self.root.away is None:
            if not self.root.compiled:
                raise ParameterError(
                    "engine", "ray", "'threads': models over Python objects cannot be divided among machines"
                )
            self.root.check_divisible()
            away.close()  # actors of another model
            self.root.go_away(away)

    def come_back(self) -> None:
        """Take back the states from other machines."""
        if self.root.compiled and self.root.away is not None:
            try:
                with self.lock.turn(), self.lock.writing:
                    self.root.bring_back()
            finally:
                self.root.go_away(None)

    # ---- learning, within a turn

    def meet(self, source: Source, target: Any) -> None:
        """Remember the columns and labels of a checked table that is to be learned."""
        self.check_target(target)
        with self.lock.writing:
            self.root.name_features(self.columns.adopt(source))
            self.target = target

    def learn_table(self, source: Source, y: Floats, weight: Floats) -> Floats:
        """Learn the rows of a table; returns the score of each before its label was used."""
        return self._learn(self._of_table(source, y, weight))

    def check_page(self, page: Page) -> Any:
        """Raise an error for a page that cannot be learned, before anything changes; returns the target for it."""
        check_batch(page.batch, learning=True, numbers=self.of_numbers)
        self.check_rows(lambda: longest_row(page.batch))
        try:
            target = self.target.merged(page.target)
            if self.of_numbers:
                target.encode(page.batch.y)
            else:
                target.check_places(page.batch.y)
        except DataError as problem:
            raise DataError(f"{problem}; use open_stream(..., like=model)") from None
        self.check_target(target)
        return target

    def allow_classes(self, most: Any) -> None:
        """Set the maximum number of classes, the only parameter that may change later."""
        self.spec.max_classes = check_whole("max_classes", most, 2, MAX_CLASSES)

    def check_target(self, target: Any) -> None:
        """Raise an error for classes that the model cannot take."""
        if target.width > 1:
            most = self.spec.max_classes
            if target.width > max(most, self.root.n_classes):
                raise too_many_classes(target.known, most)
            self.root.check_classes(target.width)
        if self.class_weights is not None:
            self.class_weights.check(target)

    def learn_page(self, page: Page, target: Any) -> Floats:
        """Learn the rows of a checked page; returns the score of each before its label was used."""
        with self.lock.writing:
            if self.columns.schema is None:
                self.columns.schema = page.schema
            self.root.name_features(self.columns.add(page.names))
            self.columns.learn_fields(page.fields)
            self.columns.sight((name, id) for _, name, id in page.sighted)
            self.target = target
        return self._learn(self._of_batch(page.batch))

    def _of_table(self, source: Source, y: Floats, weight: Floats) -> Iterator[Any]:
        """The rows of a table as examples, in parts that are learned one after the other."""
        if not self.root.compiled:
            yield from self.root.of_table(source, y, weight, self.target)
            return
        for batch in source.batches(y, weight):
            yield typed(batch)

    def _of_batch(self, batch: Batch) -> Iterator[Any]:
        if self.root.compiled:
            yield typed(batch)
        else:
            yield from self.root.of_batch(batch, self.target)

    def _learn(self, parts: Iterable[Any]) -> Floats:
        scores = []
        for part in parts:
            with schedule.uninterrupted():
                for piece in self._slices(part):
                    with self.lock.writing:
                        scores += self._learn_piece(piece)
        self.warn()
        return joined_scores(scores, self.target.width)

    def _learn_piece(self, piece: Any) -> list[Floats]:
        """Learn examples as given, and count their labels and metrics."""
        began, weight = time.perf_counter(), piece.weight
        piece = self.with_lags(self.weighted(piece), True)
        self.running.follow(self.root)  # which may have more classes after these examples
        scores = self._learn_rows(piece)
        self.learn_labels(piece.y, piece.weight)
        seconds = time.perf_counter() - began
        self.running.add(self, scores, piece.y, weight, seconds)
        return scores

    def _slices(self, part: Any) -> Iterator[Any]:
        """Examples in slices that are short enough for predictions of other threads to wait for.

        Several learning threads, which would lose a tenth, take whole batches until a prediction has waited; so does
        a process with a single thread, in which nothing can wait.
        """
        some, start, size = cut if isinstance(part, Batch) else ObjectRows.cut, 0, part.y.size
        undisturbed = threading.active_count() == 1 or (self.root.n_jobs > 1 and not self.lock.waited)
        whole = undisturbed or self.root.away is not None
        while True:
            stop = size if whole else min(start + self.pace, size)
            began = time.thread_time()
            yield part if (start, stop) == (0, size) else some(part, start, stop)
            seconds = time.thread_time() - began
            if stop - start == self.pace:
                fitting = int(self.pace * min(_SLICE / max(seconds, 1e-9), 4))
                self.pace = min(max(fitting, _LEAST_SLICE), _MOST_SLICE)
            start = stop
            if start >= size:
                return

    def weighted(self, part: Any) -> Any:
        """Examples with class weights, if set."""
        if self.class_weights is None or not part.y.size:
            return part
        weight = self.class_weights.rows(part.y, part.weight, self.target)
        return part._replace(weight=weight) if isinstance(part, Batch) else part.with_weight(weight)

    def with_lags(self, part: Any, learning: bool) -> Any:
        """Examples with lagged labels, if set."""
        if self.lags is None:
            return part
        if learning:
            self._meet_lags(self.lags)
        return self.lags.rows(part, learning)

    def _meet_lags(self, lags: Lags) -> None:
        names = lags.meet(self.target)
        if names:
            self.root.name_features(self.columns.add(names))

    def learn_labels(self, y: Floats, weight: Floats) -> None:
        """Note the labels of learned examples."""
        if self.lags is not None:
            self._meet_lags(self.lags)
            self.lags.learn(y, weight)
        if self.class_weights is not None and y.size:
            self.class_weights.learn(y, weight)

    def _learn_rows(self, part: Any) -> list[Floats]:
        """Learn examples; a new class is added before its first example."""
        if self.of_numbers:
            return [self._run(part, True)]
        some = cut if isinstance(part, Batch) else ObjectRows.cut
        scores, start, y, weight = [], 0, part.y, part.weight
        size, known = y.size, self.root.n_classes
        while True:
            new = np.flatnonzero((y[start:] >= self.root.n_classes) & (weight[start:] > 0))
            stop = start + int(new[0]) if new.size else size
            if start < stop or not size:
                scores.append(self._run(some(part, start, stop) if (start, stop) != (0, size) else part, True))
                if known < self.root.n_classes:  # the prediction for the first row of a class does not know the class
                    scores[-1][0, known:] = -np.inf
            if stop == size:
                return scores
            known, start = self.root.n_classes, stop
            self.take_classes(int(y[stop]) + 1)

    @property
    def _run(self) -> Callable[[Any, bool], Floats]:
        """The scores of examples, [rows, width]: ``_run(examples, learning)``."""
        return partial(run_batch, self.root) if self.root.compiled else self.root.run

    def declare(self, classes: Any, y: Any) -> None:
        """Declare all future classes; those of the rows ``y`` come first."""
        target = copy.copy(self.target)
        target.declare(classes, y)
        self.check_target(target)
        with self.lock.writing:
            self.target = target
        self.name_classes(target.width)

    def name_classes(self, n: int) -> None:
        """Begin with this number of classes."""
        if n > self.root.n_classes:
            with self.lock.writing:
                self.take_classes(n)

    def take_classes(self, n: int) -> None:
        """Add classes from this row on."""
        before = self.root
        if before.compiled:
            before.bring_back()
        if before.away is not None:
            before.away.close()
        root = self.spec._with_classes(before, n)
        if root.compiled:
            self.programs = Prepared(root)
            root.use_threads(before.n_jobs)
        else:
            root.name_features(self.columns.names)
        root.away = before.away
        self.root = root

    def learn_one(self, x: Mapping[Any, Any], label: Any, weight: float) -> Floats | None:
        """Learn one dict of features, within a turn; returns its scores before, None of learners that are objects."""
        target = self.target.with_label(label)
        y = target.encode_one(label)
        self.check_target(target)
        if self.max_row_features is not None and isinstance(x, Mapping):
            self.check_rows(lambda: len(x))
        if not self.root.compiled:
            with self.lock.writing:
                self.target = target
                self._learn_piece(self.root.of_dict(x, self.columns, target, y, weight, True))
            return None
        began = time.perf_counter()
        ids, values, names, sighted = self.columns.row(x, True)
        with self.lock.writing:
            own = self.class_weights.row(y, weight, target) if self.class_weights is not None else weight
            self.target = target  # set before the model knows the class: the decoder of its scores reads it after
            if names and weight > 0:
                self.root.name_features(self.columns.add(names))
            if sighted:
                self.columns.sight(sighted)
            if self.lags is not None:
                self._meet_lags(self.lags)
                ids, values = self._lagged(ids, values)
            known = self.root.n_classes
            new = own > 0 and not self.of_numbers and y >= known
            if new:
                self.take_classes(int(y) + 1)
            scores, _ = run_row(self.root, ids, values, y, own, True)
            if weight > 0:
                if new:  # the prediction for the first row of a class does not know the class
                    scores[known:] = -np.inf
                self.running.add_one(self, scores, y, weight, began)
            if self.lags is not None or self.class_weights is not None:
                self.learn_labels(np.array([y]), np.array([own]))
            found: Floats = scores.copy()  # the next row overwrites them
        if not self.root.n_learned % _LOOK_EVERY:
            self.warn()
        return found

    def _lagged(self, ids: Any, values: tuple[float, ...]) -> tuple[Any, tuple[float, ...]]:
        """Ids and values of a row with lagged labels, if set."""
        if self.lags is None:
            return ids, values
        more, last = self.lags.of_next()
        return np.concatenate([np.asarray(ids, np.int32), more]), (*values, *last)

    def warn(self) -> None:
        """Warn, once for each feature, of values outside of their range so far; and once of memory that is used up."""
        if self.root.n_learned >= self.look_at_memory:
            self._warn_of_memory()
        if self.root.n_strayed == self.n_strayed:
            return
        self.n_strayed = self.root.n_strayed
        for name in self.root.strayed(self.columns.names):
            if name not in self.strayed and "=" not in name:  # a new category needs no warning
                self.strayed.add(name)
                news = f"the values of {name!r} have left their range so far: bins are added for them"
                warnings.warn(news, RangeWarning, stacklevel=6)  # the caller of the model

    def _warn_of_memory(self) -> None:
        most = self.spec._memory_limit()
        self.look_at_memory = self.root.n_learned + _MEMORY_EVERY if most is not None else math.inf
        if most is not None and is_full(self.root):
            self.look_at_memory = math.inf
            news = f"a member has used its share of max_mb={most}: it adds no further features or tree nodes"
            warnings.warn(f"{news}. Increase max_mb for a lower error", MemoryWarning, stacklevel=6)

    def warn_of_strangers(self, x: Mapping[Any, Any], ids: Ints32) -> None:
        """Warn if the model knows none of the features of a dict."""
        root = self.root
        if not root.n_learned or not ids.size or root.n_slots >= root.max_slots or root.knows(ids).any():
            return
        known = [*root.names_met(self.columns.names).values()]
        if known:  # unless the model was reset just now
            news = f"no feature of x was seen in training: x has {listed([*x])}, the model knows {listed(known)}"
            warnings.warn(f"{news}. Predicting as for an empty row", stacklevel=4)

    @property
    def metrics(self) -> Metrics:
        """Running metrics of the rows learned so far."""
        with self.lock.reading:
            return self.running.metrics(self.root.gives_chances, self.of_numbers)

    # ---- answers

    def parts(self, rows: Rows) -> Iterator[Any]:
        """Rows as examples; an error if the columns of pages are not those of training."""
        if isinstance(rows, Source):
            one = np.ones(rows.n_rows)
            yield from self._of_table(rows, one, one)
            return
        for page in rows:
            if isinstance(page, Page):
                self.columns.check_fields(page.fields)
            batch = page.batch if isinstance(page, Page) else page
            check_batch(batch, learning=False, numbers=self.of_numbers)
            yield from self._of_batch(batch)

    def scores(self, rows: Rows, probabilities: bool = False) -> Floats:
        """The scores of rows, or the probabilities of the positive label; of many classes, of each."""
        scores: list[Floats] = []
        for part in self.parts(rows):
            with self.lock.reading:
                scores += self._side_by_side(self.with_lags(part, False), probabilities)
        return joined_scores(scores, self.target.width, probabilities)

    def _side_by_side(self, examples: Any, probabilities: bool) -> list[Floats]:
        """Scores by several threads, each with rows of its own, where there are many."""
        jobs = self.root.n_jobs
        if jobs == 1 or not isinstance(examples, Batch) or examples.y.size < _MANY_ROWS:
            return [self._scored(examples, probabilities)]
        ends = np.linspace(0, examples.y.size, jobs + 1).astype(int).tolist()
        found: list[Any] = [None] * jobs

        def share(k: int) -> Callable[[int], None]:
            def run(_: int) -> None:
                found[k] = self._scored(cut(examples, ends[k], ends[k + 1]), probabilities)

            return run

        schedule.run([schedule.Stage(share(k)) for k in range(jobs)], 1, jobs)
        return found

    def _scored(self, examples: Any, probabilities: bool) -> Floats:
        scores = self._run(examples, False)
        return self.root.probabilities(scores) if probabilities else scores

    def probabilities(self, scores: Floats) -> Floats:
        """The probabilities of the positive label, or of all classes, given scores."""
        if scores.shape[1] > 1 and self.root.n_classes == 2:  # the other classes occurred with weight 0 only
            return widened(self.root.probabilities(scores[:, 1:2]), self.target.width, True)
        return self.root.probabilities(scores)  # type: ignore[no-any-return]

    @property
    def cutoff(self) -> Cutoff | None:
        """The threshold of predictions; None: no threshold, or not two labels."""
        two = self.threshold is not None and self.target.width == 1 and len(self.target.classes) == 2
        return self.threshold if two else None

    def labels(self, rows: Rows, asked: Cutoff | None = None) -> NDArray[Any]:
        """The label or number of each row, by this threshold or else that of the model."""
        cutoff = asked or self.cutoff
        return self.decoded(self.scores(rows, cutoff is not None and cutoff.of_probability), cutoff)

    def decoded(self, values: Floats, cutoff: Cutoff | None) -> NDArray[Any]:
        """The label or number of each row, given its score, or its probability if the threshold is a probability."""
        found: NDArray[Any] = self.target.decode(self.by_threshold(values, cutoff))
        return found

    def by_threshold(self, values: Floats, cutoff: Cutoff | None) -> Floats:
        """Values as scores whose signs are the predictions, if there is a threshold."""
        return values if cutoff is None or values.shape[1] > 1 else cutoff.signs_of(self.target, values)

    def label_one(self, x: Mapping[Any, Any]) -> Any:
        """The label or number of one dict of features."""
        cutoff = self.cutoff
        values = self.score_one(x, cutoff is not None and cutoff.of_probability)
        return self.target.decode_one(values if cutoff is None else self.by_threshold(values[None], cutoff)[0])

    def score_one(self, x: Mapping[Any, Any], probabilities: bool = False) -> Floats:
        """The scores of one dict of features, [width], or the probabilities."""
        found: Floats
        if not self.root.compiled:
            with self.lock.reading:
                row = self.root.of_dict(x, self.columns, self.target, 1.0, 1.0, False)
                found = self._scored(row, probabilities)[0]
        else:
            ids, values, *_ = self.columns.row(x, False)
            with self.lock.reading:
                root = self.root
                scores, known = run_row(root, *self._lagged(ids, values), 1.0, 1.0, False)
                if not known:
                    self.warn_of_strangers(x, np.asarray(ids, np.int32))
                found = root.probabilities(scores[None])[0] if probabilities else scores.copy()
        return found if found.size >= self.target.width else widened(found[None], self.target.width, probabilities)[0]

    def explain(self, rows: Rows, headings: Sequence[str] | None) -> Explanation:
        """The scores of rows, as sums over features: of a table, over its columns, which have these headings."""
        self._check_explaining()
        if isinstance(rows, Source):
            headings = rows.names or (self.columns.headings if not rows.by_name else None)
            if headings is None and isinstance(rows, Dense):
                headings = [str(column) for column in range(rows.n_features)]
        return self._explain(self.parts(rows), headings or [], headings is not None)

    def _check_explaining(self) -> None:
        if not self.root.compiled:
            advice = "scikit-learn's permutation_importance takes any model"
            raise ParameterError(
                "estimator", self.spec.estimator, f"a compiled learner such as Linear or Tree; {advice}"
            )

    def _explain(self, parts: Any, columns: Sequence[str], table: bool) -> Explanation:
        found = []
        for part in parts:
            with self.lock.reading:
                found.append(self._explained(self.with_lags(part, False)))
        names = dict(self.columns.names)
        return explanation(
            joined(found) if found else Explained(np.empty((0, 1)), []), names, columns, self.target, table
        )

    def explain_one(self, x: Mapping[Any, Any]) -> Any:
        """The contributions of one dict of features, by its keys."""
        self._check_explaining()
        with self.lock.reading:
            row, _ = named_row(x, self.columns, False)
            self.warn_of_strangers(x, row.indices)
        return self._explain([row], [str(name) for name in x], False)[0]

    def importances(self) -> dict[str, float]:
        """The share of each column in the influence on the answers; of sources without columns, of each feature."""
        with self.lock.reading:
            shares, names = self.root.importances(), self.columns.names
            columns = self.columns.headings or [str(column) for column in range(self.columns.width or 0)]
            met = columns or [*self.root.names_met(names).values()]
        return by_column(shares, names, met)

    def _explained(self, rows: Batch) -> Explained:
        found: Explained = self.root.explain(slotted(self.root, rows), rows)
        return found

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
        if not self.root.columns_not_met(()):  # without names: those of a wide array take as long as many rows
            return
        names = [*(source.names or map(str, range(source.n_features))), *(self.lags.columns if self.lags else ())]
        for name in self.root.columns_not_met(names):
            raise ParameterError("crosses", name, "columns of X, by name or by number from 0")
