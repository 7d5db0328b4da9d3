"""OnlineModel: base class of all models, which learn from arrays, streams or dicts in one pass."""

from __future__ import annotations

import contextlib
import copy
import importlib
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from onlineboost.compiled.cores import n_cores
from onlineboost.data.arrays import Source, check_features, check_labels, check_weight, is_frame
from onlineboost.data.batch import LARGEST, Batch, Floats
from onlineboost.data.columns import Columns
from onlineboost.data.page import Page, Pages
from onlineboost.data.schema import Schema
from onlineboost.data.scores import joined_scores, squeezed
from onlineboost.engine.memory import n_bytes
from onlineboost.engine.node import Node
from onlineboost.errors import ConflictError, DataError, ModelFileError, ParameterError, not_fitted
from onlineboost.fitted import late
from onlineboost.fitted.contents import contents, restore
from onlineboost.fitted.explanation import Explanation
from onlineboost.fitted.fitted import Fitted, Rows
from onlineboost.fitted.lock import SharedLock
from onlineboost.fitted.running import Metrics
from onlineboost.fitted.thresholds import Cutoff, of_notes
from onlineboost.fitted.tickets import Pending
from onlineboost.interop.river import RiverMethods
from onlineboost.interop.sklearn import SklearnMethods
from onlineboost.parameters import Parameters, build, check_one_of, check_whole
from onlineboost.registry import BOOSTERS, LEARNERS
from onlineboost.storage import model_file
from onlineboost.storage.validity import InvalidStateError

MODEL_CLASSES: dict[str, type[OnlineModel]] = {}
"""All classes of models, by name."""

Engine = Literal["threads", "ray"]
MAX_JOBS = 1024


class OnlineModel(RiverMethods, SklearnMethods, ABC):
    """A model that learns one example at a time; the result does not depend on batches.

    Abstract; its subclasses are ``OnlineClassifier`` and ``OnlineRegressor``.
    """

    _one_committee: ClassVar[bool] = True
    """Whether all learners share one committee and its transforms."""

    n_jobs: int | None = None
    """Number of threads: None is 1, -1 is one for each core. It does not change the result."""

    lag: int = 0
    """Number of lagged labels that are features of each row."""

    _away: Any = None
    """Location of the learners within ``running_on("ray")``."""

    _fitted: Fitted | None = None
    """Everything learned, replaced as a whole; None before the first example."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        MODEL_CLASSES[cls.__name__] = cls

    @classmethod
    def _author_hooks(cls) -> frozenset[str]:
        """Public names that authors of boosters and learners override and the engine calls; users do not."""
        return frozenset()

    def __dir__(self) -> list[str]:
        """The names that users call; ``Booster`` and ``Learner`` describe the hooks of authors."""
        hooks = self._author_hooks()
        return [name for name in super().__dir__() if name not in hooks]

    @property
    def _lock(self) -> SharedLock:
        """Lock of the whole model: every thread learns within a turn."""
        fitted = self._fitted
        if fitted is not None:
            return fitted.lock
        found: SharedLock = vars(self).setdefault("_first_lock", SharedLock())  # atomic
        return found

    @abstractmethod
    def _new_node(self, n_features: int, seed: int | None = None) -> Any:
        """The initial states, as a tree of nodes; an error for wrong parameters. Draws a seed if there is none."""

    @abstractmethod
    def _base_learner(self) -> Any:
        """The weak learner, ready to form a committee."""

    @abstractmethod
    def _new_target(self) -> Any:
        """The target before the first example: ``Classes`` or ``Numbers``."""

    def _target_of_batches(self) -> Any:
        """The target of a batch that comes without one."""
        return self._new_target()

    def _check_kernels(self) -> None:
        """Raise an error for compiled functions that do not keep to their contract; of boosters from outside."""

    def _row_limit(self) -> int | None:
        """Maximum number of features in a row; None: no limit."""
        most: int | None = getattr(self._base_learner(), "row_limit", lambda: None)()
        return most

    def _memory_limit(self) -> int | None:
        """Megabytes that the user allows the model; None: not given, or no limit."""
        return None

    def _slot_limit(self) -> int:
        """Number of features with slots of their own; further ones share slots by hashing."""
        return int(self._base_learner().slot_limit())

    def _new_fitted(self, target: Any) -> Fitted:
        """The ``Fitted`` before the first example; parameters set later take effect at the next ``fit``."""
        _check_inner(self)
        self._check_kernels()
        columns = Columns(owner=type(self).__name__)
        fitted = Fitted(self.clone(), columns, target, self._new_node(0), lock=self._lock)
        if self._fitted is not None:  # bounds of tickets that the user has chosen
            fitted.pending = self._fitted.pending.anew()
        return fitted

    # ---- learning

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        verbose: int = 0,
        engine: Engine = "threads",
        workers: int | None = None,
        address: str | None = None,
    ) -> Self:
        """Start over, and learn the rows in order, once.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows: an array or a SciPy matrix of shape (n_samples, n_features); a data frame of any library, with
            numbers, words, dates and gaps; a list of dicts; or a stream of ``open_stream``.
        y : array or None, default=None
            One label per row, of any two values or more; of two, the larger is the positive one. For regression,
            numbers. None: the stream has its own labels.
        sample_weight : array or None, default=None
            Weight of each row, at least 0; None: 1. Rows of weight 0 are skipped.
        verbose : int, default=0
            1: print a summary.
        engine : {"threads", "ray"}, default="threads"
            Run in ``n_jobs`` threads, or divide learners among the machines of a Ray cluster. The result is the same,
            bit for bit.
        workers : int or None, default=None
            Number of machines or cores of Ray; None: all.
        address : str or None, default=None
            Address of the Ray cluster; None: Ray is started on this machine.

        Returns
        -------
        self : estimator
            The model.
        """
        with self.running_on(engine, workers, address):
            self._learn(X, y, None, sample_weight, fresh=True)
        if verbose:
            print(f"{self!r} learned {self.n_seen_:,} examples. {self.verdict()}".rstrip())
        return self

    @contextlib.contextmanager
    def running_on(self, engine: Engine, workers: int | None = None, address: str | None = None) -> Iterator[None]:
        """Context in which the model learns in threads or on Ray, as in ``fit``.

        Parameters
        ----------
        engine : {"threads", "ray"}
            Run in ``n_jobs`` threads, or divide learners among the machines of a Ray cluster.
        workers : int or None, default=None
            Number of machines or cores of Ray; None: all.
        address : str or None, default=None
            Address of the Ray cluster; None: Ray is started on this machine.
        """
        check_one_of("engine", engine, ("threads", "ray"))
        if engine == "threads":
            yield
            return
        from onlineboost.engine.cluster import cluster
        from onlineboost.engine.remote import Away

        with cluster(workers, address) as ray:
            self._away = Away(ray, workers)
            try:
                yield
            finally:
                try:
                    if self._fitted is not None:
                        self._fitted.come_back()
                except BaseException:  # head and record are ahead of the learners here
                    self._fitted = None
                    raise
                finally:
                    self._away.close()
                    self._away = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_away", "_first_lock")}

    def verdict(self) -> str:
        """Whether boosting has paid so far, in a sentence; empty for a learner alone.

        Returns
        -------
        str
            The verdict.
        """
        return ""

    def learn(self, page: Page | Batch, *, squeeze: bool = True) -> Floats:
        """Learn one page of a stream.

        Parameters
        ----------
        page : Page or Batch
            Page of ``open_stream``.
        squeeze : bool, default=True
            Whether scores of two labels have one dimension; otherwise they have the shape (rows, 1).

        Returns
        -------
        array
            The score of each row, from before its label was used.

        Examples
        --------
        >>> from onlineboost import Linear
        >>> from onlineboost.readers import open_stream
        >>> rows = [({"size": k % 5, "color": "red" if k % 2 else "blue"}, k % 2) for k in range(200)]
        >>> model = Linear()
        >>> for page in open_stream(rows):
        ...     scores = model.learn(page)
        >>> model.predict_one({"size": 3, "color": "red"})
        1
        """
        with self._lock.turn():
            scores = self._learn_within(page, self._fitted)[0]
        return squeezed(scores) if squeeze else scores

    def _check_page(self, page: Page) -> None:
        """Raise an error for a page that cannot be learned."""
        fitted = self._fitted
        if fitted is None:  # a copy: the seed of this model is drawn when it learns
            fitted = copy.deepcopy(self)._new_fitted(self._new_target().merged(page.target))
        self._prepare(fitted)
        fitted.check_page(page)

    def _learn_within(self, page: Page | Batch, fitted: Fitted | None) -> tuple[Floats, Fitted]:
        """Learn a page within a turn; without a ``Fitted``, start over."""
        if isinstance(page, Batch):
            schema, target = (fitted.columns.schema, fitted.target) if fitted else (None, self._target_of_batches())
            page = Page(page, [], target, schema or Schema())
        if not isinstance(page, Page):
            raise DataError(
                f"the page is a {type(page).__name__}: expected one of open_stream; see partial_fit for arrays"
            )
        begins = fitted is None
        if fitted is None:
            fitted = self._new_fitted(self._new_target().merged(page.target))
        self._prepare(fitted)
        target = fitted.check_page(page)
        fitted.go_away(self._away)
        if begins:
            self._fitted = fitted
        return fitted.learn_page(page, target), fitted

    def _learn(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, fresh: bool = False, scored: bool = False
    ) -> Floats:
        if isinstance(X, Batch | Page | Pages):
            if y is not None or sample_weight is not None or classes is not None:
                raise DataError("a stream has its own labels and weights: leave out y, classes and sample_weight")
            return self._learn_pages(_pages(X), fresh, scored, self._lock.turn)
        if y is None:
            name = type(self).__name__
            raise DataError(f"{name} requires y to be passed, but the target y is None: expected one label per row")
        with self._lock.turn():
            fitted = None if fresh else self._fitted
            if fitted is None or not _is_read(fitted, X):
                columns = Columns() if fitted is None else fitted.columns
                return self._learn_source(_in_memory(X, columns, True), y, classes, sample_weight, fresh)
            from onlineboost.readers import open_stream

            pages: Iterable[Page] = open_stream(X, y=y, sample_weight=sample_weight, like=self)
            if classes is not None:
                pages = [*pages]  # all are read before the model changes
                self._prepare(fitted)
                fitted.declare(classes, y)
            return self._learn_pages(pages, fresh, scored)

    def _learn_source(self, source: Source, y: Any, classes: Any, sample_weight: Any, fresh: bool = False) -> Floats:
        """Learn a table within a turn; everything is checked before the model changes."""
        fitted = None if fresh else self._fitted
        (fitted.columns if fitted is not None else Columns()).locate(source)
        y = check_labels(y, source.n_rows)
        if fresh and not source.n_rows:
            raise DataError("X has no rows: there is nothing to learn from")
        if fresh and not source.n_features:
            raise DataError(f"X has 0 feature(s) (shape=({source.n_rows}, 0)) while a minimum of 1 is required.")
        target = copy.copy(fitted.target) if fitted is not None else self._new_target()
        if classes is not None:
            target.declare(classes, y)
        else:
            target.meet(y)
        encoded = target.encode(y)
        weight = check_weight(sample_weight, source.n_rows)
        if fresh and not weight.any():
            raise DataError("sample_weight is zero everywhere: expected at least one positive weight")
        if fitted is None:
            fitted = self._new_fitted(target)
            fitted.check_met(source)
        self._prepare(fitted)
        fitted.check_rows(lambda: source.longest)
        fitted.check_target(target)
        fitted.go_away(self._away)
        fitted.meet(source, target)
        if classes is not None:
            fitted.name_classes(target.width)
        self._fitted = fitted
        return fitted.learn_table(source, encoded, weight)

    def _learn_pages(
        self,
        pages: Iterable[Page | Batch],
        fresh: bool,
        scored: bool,
        turn: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext,
    ) -> Floats:
        """Learn pages, each within a turn: that of the caller, unless another is given."""
        parts: list[Floats] = []
        fitted: Fitted | None = None
        for page in pages:
            with turn():
                scores, fitted = self._learn_within(page, fitted if fresh else self._fitted)
            parts += [scores] if scored else []
        fitted = fitted if fresh else self._fitted
        if fitted is None:
            raise DataError("the stream has no rows: there is nothing to learn from")
        return joined_scores(parts)

    # ---- answers

    def scores(self, X: Any) -> Floats:
        """A score per row, by the places of labels, as ``learn`` returns them; see also ``decision_function``.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.

        Returns
        -------
        array
            The scores.
        """
        return squeezed(self._answers(self._check_fitted(), X))

    def _jobs(self) -> int:
        """Number of threads."""
        if self.n_jobs is None:
            return 1
        return n_cores() if self.n_jobs == -1 else check_whole("n_jobs", self.n_jobs, 1, MAX_JOBS)

    def _prepare(self, fitted: Fitted) -> None:
        """Apply the run-time parameters (``n_jobs``), which may change between batches."""
        fitted.root.use_threads(self._jobs())

    def _is_prepared(self, fitted: Fitted) -> bool:
        """Whether the run-time parameters that matter to a single row are unchanged."""
        return True

    def _answers(self, fitted: Fitted, X: Any, probabilities: bool = False, loose: bool = False) -> Floats:
        """The scores of rows, [rows, width], or the probabilities."""
        fitted.root.use_threads(self._jobs())
        return fitted.scores(self._rows(fitted, X, loose), probabilities)

    def _rows(self, fitted: Fitted, X: Any, loose: bool = False) -> Rows:
        """X as a table, or as pages that are read as those learned were; with ``loose``, columns may be others."""
        if isinstance(X, Batch | Page | Pages):
            return _pages(X)
        if not _is_read(fitted, X):
            source = _in_memory(X, fitted.columns, False, loose)
            fitted.columns.locate(source)
            return source
        from onlineboost.readers import open_stream

        pages = open_stream(X, like=self, labels="ignored")
        return (page._replace(fields=None) for page in pages) if loose else pages

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row, or its number in regression.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.

        Returns
        -------
        array of shape (n_samples,)
            The predictions.
        """
        return self._labels(self._check_fitted(), X)

    def _labels(self, fitted: Fitted, X: Any, cutoff: Cutoff | None = None) -> NDArray[Any]:
        """The label or number of each row, by this threshold or else that of the model."""
        fitted.root.use_threads(self._jobs())
        return fitted.labels(self._rows(fitted, X), cutoff)

    # ---- dicts, one at a time

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one example.

        Parameters
        ----------
        x : dict
            Features by name. Numbers are values, strings are categories, and absent features are 0.
        y : label or float
            Label, or number for regression.
        w : float, default=1.0
            Weight of the example.
        """
        if not isinstance(w, numbers.Real) or not 0 <= w <= LARGEST:
            raise DataError(f"the weight is {w!r}: expected a number from 0 to {LARGEST:g}")
        with self._lock.turn():
            fitted = self._fitted
            if fitted is None:
                fitted = self._new_fitted(self._new_target())
            if not self._is_prepared(fitted):
                self._prepare(fitted)
            fitted.learn_one(x, y, float(w))
            self._fitted = fitted

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """Predict the label of one example.

        Parameters
        ----------
        x : dict
            Features by name. Numbers are values, strings are categories, and absent features are 0.

        Returns
        -------
        label or None
            The prediction; None before anything was learned.
        """
        fitted = self._fitted
        return None if fitted is None else fitted.label_one(x)

    # ---- frames, whose columns may come and go (River)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a data frame as ``learn_one`` does; its columns may differ from those of the last frame.

        Parameters
        ----------
        X : data frame
            Rows.
        y : series or array
            One label per row.
        w : series, array or None, default=None
            Weight of each row; None: 1.
        """
        if self._takes_dicts():
            from onlineboost.readers.frames import dicts_of

            rows = [*dicts_of(X)]
            labels, weights = check_labels(y, len(rows)).tolist(), check_weight(w, len(rows)).tolist()
            for x, label, weight in zip(rows, labels, weights, strict=True):
                self.learn_one(x, label, weight)
            return
        self._progressive_many(X, y, w)

    def _progressive_many(self, X: Any, y: Any, w: Any = None) -> Floats:
        """``learn_many``; returns the scores of rows before their labels were used, [rows, width]."""
        with self._lock.turn():
            return self._learn_frame(X, y, w)

    def _learn_frame(self, X: Any, y: Any, w: Any) -> Floats:
        """Learn a data frame within a turn; its columns may differ from those of the last."""
        if self._fitted is not None and _is_read(self._fitted, X):
            from onlineboost.readers import open_stream

            return self._learn_pages(open_stream(X, y=y, sample_weight=w, like=self), False, True)
        columns = Columns() if self._fitted is None else self._fitted.columns
        source = _in_memory(X, columns, True, loose=True)
        labels = check_labels(y, source.n_rows)
        fitted = self._fitted if self._fitted is not None else self._new_fitted(self._new_target())
        fitted.columns.locate(source)
        target = fitted.target
        for label in dict.fromkeys(labels.tolist()):
            target = target.with_label(label)
        weight = check_weight(w, source.n_rows)
        self._prepare(fitted)
        fitted.check_rows(lambda: source.longest)
        fitted.check_target(target)
        encoded = target.encode(labels)
        fitted.meet(source, target)
        self._fitted = fitted
        return fitted.learn_table(source, encoded, weight)

    def _scores_many(self, X: Any) -> Floats:
        """The scores of the rows of a data frame or a list of dicts, as ``learn_many`` reads them, [rows, width]."""
        return self._answers_to_many(self._check_fitted(), X)

    def predict_many(self, X: Any) -> Any:
        """Predict the rows of a data frame as ``predict_one`` does.

        Parameters
        ----------
        X : data frame
            Rows.

        Returns
        -------
        series
            The predictions, as a series of the same library.
        """
        from onlineboost.readers.frames import like_frame

        fitted = self._fitted
        if fitted is None:
            return like_frame(X, None, None)
        cutoff = fitted.cutoff
        values = self._answers_to_many(fitted, X, cutoff is not None and cutoff.of_probability)
        return like_frame(X, fitted.decoded(values, cutoff), None)

    def _answers_to_many(self, fitted: Fitted, X: Any, probabilities: bool = False) -> Floats:
        """The scores of the rows of a data frame, or the probabilities, as ``learn_many`` reads them."""
        if self._takes_dicts():
            from onlineboost.readers.frames import dicts_of

            found = [fitted.score_one(x, probabilities)[None] for x in dicts_of(X)]
            return joined_scores(found, fitted.target.width, probabilities)
        return self._answers(fitted, X, probabilities, loose=True)

    def _takes_dicts(self) -> bool:
        return bool(getattr(self._base_learner(), "takes_dicts", False))

    # ---- reasons

    def explain(self, X: Any) -> Explanation:
        """Explain predictions: the contribution of each feature to the score of each row.

        With a bias they add up to the score. With more than two classes there is a set of contributions to the score of
        each class; for regression, they are contributions to the prediction. ``docs/explanations.md`` explains their
        meaning.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.

        Returns
        -------
        Explanation
            The contributions, the bias and the scores.

        Examples
        --------
        >>> import numpy as np
        >>> from onlineboost import Linear
        >>> X = np.random.default_rng(0).normal(size=(500, 3))
        >>> why = Linear().fit(X, X[:, 0] > 2 * X[:, 1]).explain(X)
        >>> why.contributions.shape, bool(np.allclose(why.contributions.sum(axis=1) + why.bias, why.score))
        ((500, 3), True)
        """
        fitted = self._check_fitted()
        return fitted.explain(self._rows(fitted, X), _headings(X))

    def explain_one(self, x: Mapping[Any, Any]) -> Any:
        """Explain one prediction: the contribution of each feature to the score, the strongest first.

        Parameters
        ----------
        x : dict
            Features by name. Numbers are values, strings are categories, and absent features are 0.

        Returns
        -------
        dict
            Contributions by feature, which add up to ``.score`` with ``.bias``; with more than two classes, a dict of
            them by label.
        """
        return self._check_fitted().explain_one(x)

    def importances(self) -> dict[str, float]:
        """Feature importances: the share of each feature in the influence on the predictions, the strongest first.

        Features of tables are their columns; of other sources, all features learned so far, by name.

        Returns
        -------
        dict
            Shares by feature; they add up to 1.
        """
        found = self._check_fitted().importances()
        return dict(sorted(found.items(), key=lambda one: -one[1]))

    @property
    def feature_importances_(self) -> Floats:
        """Feature importances in the order of the columns, or of learning; all 0 if nothing is known.

        Lagged labels (``lag``) are no columns: only ``importances`` has them.
        """
        fitted = self._check_fitted()
        return np.array([*fitted.importances().values()][: fitted.columns.n_columns])

    # ---- delayed labels

    def ask(self, x: Any, *, time: float | None = None) -> Any:
        """Predict now, and learn when the delayed label comes: ``ticket = ask(x)``, later ``tell(ticket, y)``.

        Parameters
        ----------
        x : dict or table
            Features by name, for one ticket; or a table of rows as for ``predict``, for a list of tickets.
        time : float or None, default=None
            Time of the request, in any unit, for the age of tickets (``model.pending``); None: the number of rows
            requested so far.

        Returns
        -------
        Ticket or list of Ticket
            The prediction, to be kept until the label comes.

        Examples
        --------
        >>> from onlineboost import OnlineBBM
        >>> model = OnlineBBM(n_estimators=5)
        >>> for k in range(100):
        ...     model.learn_one({"size": k % 5, "heavy": k % 2}, k % 2)
        >>> ticket = model.ask({"size": 3, "heavy": 1})
        >>> ticket.prediction, ticket.probability > 0.5, len(model.pending)
        (1, True, 1)
        >>> model.tell(ticket, 1)
        >>> len(model.pending)
        0
        """
        with self._lock.turn() if self._fitted is None else contextlib.nullcontext():
            fitted = self._fitted if self._fitted is not None else self._new_fitted(self._new_target())
            late.check_asking(fitted, time)
            if isinstance(x, Mapping):
                found: Any = late.ask(fitted, x, time)
            else:
                found = late.ask_rows(fitted, self._rows(fitted, x), time)
            if self._fitted is None:
                self._fitted = fitted
        late.expire(fitted, time)
        return found

    def tell(self, ticket: Any, y: Any, w: float = 1.0) -> None:
        """Learn a row that ``ask`` has predicted, now that its label is known.

        Metrics count the prediction made by ``ask``.

        Parameters
        ----------
        ticket : Ticket, bytes or list of Ticket
            Ticket of ``ask``, its bytes, or several tickets, which are learned in this order.
        y : label or list of labels
            Label, or one for each ticket.
        w : float, default=1.0
            Weight of the example, or of each.
        """
        several = isinstance(ticket, list | tuple)
        if several and (not isinstance(y, Iterable) or isinstance(y, str | bytes | Mapping)):
            raise DataError(f"y is a {type(y).__name__}: expected a list of labels, one for each of the tickets")
        labels = list(y) if several else [y]
        if several and len(labels) != len(ticket):
            raise DataError(f"there are {len(ticket)} tickets and {len(labels)} labels: expected one for each")
        if not isinstance(w, numbers.Real) or not 0 <= w <= LARGEST:
            raise DataError(f"the weight is {w!r}: expected a number from 0 to {LARGEST:g}")
        with self._lock.turn():
            fitted = self._check_fitted()
            self._prepare(fitted)
            late.tell(fitted, list(ticket) if several else [ticket], labels, float(w))

    @property
    def pending(self) -> Pending:
        """Tickets that wait for delayed labels. To set limits: ``model.pending = Pending(max_pending, max_age)``."""
        return self._check_fitted().pending

    @pending.setter
    def pending(self, pending: Pending) -> None:
        if not isinstance(pending, Pending):
            raise DataError(
                f"pending is a {type(pending).__name__}: expected onlineboost.Pending(max_pending, max_age, on_expire)"
            )
        with self._lock.turn():
            if self._fitted is None:
                self._fitted = self._new_fitted(self._new_target())
            if len(self._fitted.pending):
                raise ConflictError("Tickets are pending: label them first, or let them expire.")
            before, self._fitted.pending = self._fitted.pending, pending
            try:
                late.check_asking(self._fitted, None)
            except DataError:
                self._fitted.pending = before
                raise

    # ---- what was learned

    def _check_fitted(self) -> Fitted:
        if self._fitted is None:
            raise not_fitted(f"this {type(self).__name__} has learned nothing yet: call fit, partial_fit or learn_one")
        return self._fitted

    @property
    def n_features_in_(self) -> int:
        """Number of columns of arrays; for other sources, number of features learned so far."""
        fitted = self._check_fitted()
        known = fitted.columns.n_columns
        return int(known if known is not None else fitted.root.n_slots)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The columns of the first data frame; an ``AttributeError`` for other sources."""
        names = self._check_fitted().columns.headings
        if names is None:
            raise AttributeError("feature_names_in_: only models that learned a data frame have column names")
        return np.array(names, object)

    @property
    def n_seen_(self) -> int:
        """Number of examples learned."""
        return int(self._check_fitted().root.n_learned)

    @property
    def metrics_(self) -> Metrics:
        """Running metrics of predictions before learning: of all rows (``.all``) and of the last 1,000 (``.last``).

        Classifiers have the error and the log loss (None for models without log odds), regressors the mean absolute and
        the mean squared error; both have the learning rate in rows per second of this process.

        Examples
        --------
        >>> from onlineboost import OnlineBBM
        >>> model = OnlineBBM(n_estimators=5, head="stack", random_state=0)
        >>> for k in range(2000):
        ...     model.learn_one({"size": k % 5, "heavy": k % 2}, k % 2)
        >>> model.metrics_.all.rows, model.metrics_.all.error, model.metrics_.last.error
        (2000, 0.0025, 0.0)
        """
        return self._check_fitted().metrics

    @property
    def edges_(self) -> Floats:
        """Edge of each weak learner over guessing, by its weights: 0 is guessing, 1 is always right."""
        record = self._check_fitted().root.learners
        given = record.weights != 0
        return np.where(given, record.edges / np.where(given, record.weights, 1), 0.0)

    @property
    def n_alarms_(self) -> int:
        """Number of drift alarms; 0 for models that are never reset."""
        return 0

    @property
    def weight_sums_(self) -> Floats:
        """Total weight of the examples that each weak learner learned."""
        found: Floats = self._check_fitted().root.learners.weights.copy()
        return found

    def n_features_seen(self) -> int | None:
        """Number of different features seen so far.

        Returns
        -------
        int or None
            The number; None if the learners do not count features.
        """
        found: int | None = self._check_fitted().root.n_features_seen
        return found

    def n_bytes(self) -> int:
        """Memory of the learned state.

        Returns
        -------
        int
            Number of bytes; 0 for learners that are Python objects.
        """
        root = self._check_fitted().root
        return n_bytes(root) if isinstance(root, Node) else 0

    def columns_not_met(self) -> list[str]:
        """Columns that the parameters name (``crosses``) and that no row has had so far.

        Returns
        -------
        list of str
            Names of the columns.
        """
        fitted = self._check_fitted()
        found: list[str] = fitted.root.columns_not_met(fitted.root.names_met(fitted.columns.names).values())
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    # ---- model files

    def save(
        self, path: str | Path, *, base: OnlineModel | None = None, notes: Any = None, memory: bool = True
    ) -> None:
        """Write the model to a file that ``onlineboost.load`` reads: arrays and JSON, never code.

        Parameters
        ----------
        path : str or Path
            Model file.
        base : estimator or None, default=None
            Second model to save in the file: ``onlineboost train`` saves the base learner that it trains beside the
            model.
        notes : object, default=None
            Notes to save in the file, as JSON: ``onlineboost train`` saves facts about the training.
        memory : bool, default=True
            Whether the file contains the last rows that a model such as ``BatchBoost`` keeps. Without them, the loaded
            model predicts by its present trees until it has learned as many rows again.
        """
        if self._fitted is None:
            raise not_fitted(f"this {type(self).__name__} has learned nothing yet: there is nothing to save")
        fitted = {"model": self._fitted} | (
            {"base": base._fitted} if base is not None and base._fitted is not None else {}
        )
        with contextlib.ExitStack() as stack:
            for lock in dict.fromkeys(one.lock for one in fitted.values()):
                stack.enter_context(lock.reading)
            try:
                content = model_file.packed({name: contents(one, memory) for name, one in fitted.items()}, notes)
            except InvalidStateError as problem:
                reason = f"{problem}. The model could not be loaded again: nothing was saved"
                raise ModelFileError(path, problem.field, reason) from None
        model_file.write(Path(path).expanduser(), content)


# Errors that an invalid description may raise, such as a list in the place of a number.
_NONSENSE = (TypeError, ValueError, ArithmeticError, AttributeError, IndexError)


def load(path: str | Path) -> Any:
    """Load a model that ``save`` wrote; it continues exactly where it stopped.

    Parameters
    ----------
    path : str or Path
        Model file.

    Returns
    -------
    estimator
        The model, of the class that was saved.

    Raises
    ------
    ModelFileError
        The file is not a model file, or is damaged.

    Examples
    --------
    >>> from onlineboost import Linear, load
    >>> model = Linear()
    >>> model.learn_one({"size": 1.0}, 1)
    >>> model.save("model.onlineboost")
    >>> load("model.onlineboost").n_seen_
    1
    """
    return load_all(path)[0]


def load_all(path: str | Path) -> tuple[Any, Any, Any]:
    """The model, the base learner and the notes of a file; None for a missing one."""
    parts, notes = model_file.read(path)
    if "model" not in parts:
        raise ModelFileError(path, "model", "missing")
    models = {name: _restored(Path(path), parts[name]) for name in ("model", "base") if name in parts}
    fitted = models["model"]._fitted
    if fitted.threshold is None:  # of a file that has it in the notes only
        fitted.threshold = of_notes(notes, fitted.target.turned)
    return models["model"], models.get("base"), notes


def _restored(path: Path, part: model_file.Part) -> Any:
    try:
        model = build({name: part.facts[name] for name in ("class", "params")}, kind_of_model)
        model._fitted = restore(path, model, part)
        return model
    except ModelFileError:
        raise
    except KeyError as problem:
        raise ModelFileError(path, str(problem.args[0]), "missing") from problem
    except MemoryError as problem:
        raise ModelFileError(path, "description", "a model that does not fit into memory") from problem
    except _NONSENSE as problem:
        raise ModelFileError(path, "description", str(problem)) from problem


def kind_of_model(name: str) -> type[OnlineModel]:
    """A class by its name, also from other packages that declare it as an entry point."""
    if not isinstance(name, str):
        raise TypeError(f"the class is {name!r}: expected a name")
    if name not in MODEL_CLASSES:
        getattr(importlib.import_module("onlineboost"), name, None)  # which imports its classes when one is asked for
    if name not in MODEL_CLASSES:
        BOOSTERS.load_entry_points()
        LEARNERS.load_entry_points()
    if name not in MODEL_CLASSES:
        raise ValueError(f"the class {name} is not known: import the module that defines it first")
    return MODEL_CLASSES[name]


def _check_inner(model: Any) -> None:
    """Raise an error for inner models with parameters that only the whole model can have."""
    for value in model.get_params(deep=False).values():
        for inner in value if isinstance(value, list | tuple) else [value]:
            if isinstance(inner, Parameters):
                for name, none in (
                    ("lag", 0),
                    ("class_weight", None),
                    ("max_classes", getattr(type(inner), "max_classes", None)),
                ):
                    given = getattr(inner, name, none)
                    if given != none:
                        whole = type(model).__name__
                        raise ParameterError(name, given, f"{none} within a {whole}: give {name} to the {whole} itself")
                _check_inner(inner)
                if isinstance(inner, OnlineModel):
                    inner._check_kernels()


def _is_read(fitted: Fitted, X: Any) -> bool:
    """Whether X is read like a stream: data frames, dicts, names of files."""
    if fitted.columns.schema is None:  # and nothing of the readers is needed
        return False
    from onlineboost.readers.memory import kind_of

    return kind_of(X) != "arrays"


def _in_memory(X: Any, columns: Columns, learning: bool, loose: bool = False) -> Source:
    """Rows in memory: an array, a matrix, a data frame, a list of dicts. Readers are loaded for the last two only.

    A source, such as of lines that are no dicts yet, is what it is.
    """
    if isinstance(X, Source):
        return X
    if not is_frame(X) and not (isinstance(X, list | tuple) and X and isinstance(X[0], Mapping)):
        return check_features(X)
    from onlineboost.readers.memory import table_of

    return table_of(X, columns, learning, loose)


def _headings(X: Any) -> list[str] | None:
    """The names of the columns of a data frame."""
    if not is_frame(X):
        return None
    from onlineboost.readers.frames import feature_names

    return feature_names(X)


def _pages(X: Batch | Page | Pages) -> Iterable[Page | Batch]:
    return X if isinstance(X, Pages) else [X]
