"""OnlineClassifier: base class of all classifiers."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.arrays import as_labels, check_weight
from onlineboost.data.batch import Floats
from onlineboost.data.classes import Classes
from onlineboost.data.scores import as_columns, squeezed
from onlineboost.engine.classes import with_classes
from onlineboost.engine.object_classes import objects_with_classes
from onlineboost.engine.objects import ObjectNode
from onlineboost.errors import DataError, ParameterError, listed
from onlineboost.fitted.fitted import Fitted
from onlineboost.fitted.thresholds import Cutoff
from onlineboost.interop import river
from onlineboost.model import OnlineModel


@dataclass(eq=False, repr=False)
class OnlineClassifier(OnlineModel):
    """A classifier that learns one example at a time; the result does not depend on batches.

    Abstract, for annotations: boosters, learners and ensembles are its subclasses.

    Parameters
    ----------
    max_classes : int, default=100
        Maximum number of labels, from 2 to 1,000. A label beyond it is an error before anything is learned: such labels
        are probably ids or regression targets. It may be changed at any time.

    Examples
    --------
    >>> from onlineboost import Linear
    >>> from onlineboost.extend import OnlineClassifier
    >>> isinstance(Linear(), OnlineClassifier), Linear().max_classes
    (True, 100)
    """

    _: KW_ONLY
    max_classes: int = 100

    class_weight = None  # of subclasses with this parameter: a dict, "balanced", or None

    _sklearn_type = "classifier"

    def _new_target(self) -> Classes:
        return Classes()

    def _target_of_batches(self) -> Classes:
        return Classes(-1, 1)

    def _prepare(self, fitted: Fitted) -> None:
        super()._prepare(fitted)
        fitted.allow_classes(self.max_classes)

    def _is_prepared(self, fitted: Fitted) -> bool:
        return self.max_classes is fitted.spec.max_classes

    def _with_classes(self, node: Any, n: int) -> Any:
        """The node of this model with more classes, which begin at this row."""
        seed, known = node.settings.seed, max(node.n_classes, 2)
        fresh: list[Any] = [self._new_node(0, (seed + k) % (1 << 63)) for k in range(known, n)]
        if isinstance(node, ObjectNode):
            return objects_with_classes(node, fresh)
        for one in fresh:
            one.go_to(node.n_learned)
        return with_classes(node, fresh)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue learning. The first batch must contain two labels, or ``classes`` must name them.

        Further classes may come at any time: each begins at the row where it first occurs, or here if ``classes`` names
        it.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.
        y : array or None, default=None
            One label per row; None: the stream has its own labels.
        classes : array or None, default=None
            Labels that may come; None: the labels of ``y``.
        sample_weight : array or None, default=None
            Weight of each row, at least 0; None: 1. Rows of weight 0 are skipped.

        Returns
        -------
        self : estimator
            The model.
        """
        self._learn(X, y, classes, sample_weight)
        return self

    def progressive_fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, classes: Any = None) -> Floats:
        """Continue learning, as ``partial_fit`` does, and return the score of each row from before its label was used.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.
        y : array or None, default=None
            One label per row; None: the stream has its own labels.
        sample_weight : array or None, default=None
            Weight of each row, at least 0; None: 1. Rows of weight 0 are skipped.
        classes : array or None, default=None
            Labels that may come; None: the labels of ``y``.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            The scores, as in ``decision_function``; with more than two classes, in the order in which the classes came.
        """
        scores = self._learn(X, y, classes, sample_weight, scored=True)
        target = self._check_fitted().target
        return squeezed(scores if target.width > 1 else target.scores(scores))

    def decision_function(self, X: Any) -> Floats:
        """A score per row; its sign is the prediction, and 0 counts as positive.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            The scores; with more than two classes, one for each in the order of ``classes_``, of which the largest is
            the prediction.
        """
        fitted = self._check_fitted()
        scores = self._answers(fitted, X)
        return squeezed(fitted.target.decisions(scores))

    def predict(self, X: Any, *, threshold: float | None = None) -> NDArray[Any]:
        """Predict the label of each row.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.
        threshold : float or None, default=None
            Probability of the positive label from which on it is predicted, for two labels; None: ``model.threshold``,
            or the more likely label.

        Returns
        -------
        array of shape (n_samples,)
            The labels.
        """
        fitted = self._check_fitted()
        return self._labels(fitted, X, None if threshold is None else self._cut(fitted, threshold))

    @property
    def threshold(self) -> float | None:
        """Decision threshold: the probability from which on the positive label is predicted.

        None: the more likely label is predicted. Chosen by ``onlineboost train --threshold``, or set here; saved with
        the model, forgotten by ``fit``.

        Examples
        --------
        >>> import numpy as np
        >>> from onlineboost import Linear
        >>> X = np.random.default_rng(0).normal(size=(1000, 2))
        >>> model = Linear("logistic").fit(X, X[:, 0] + X[:, 1] > 2)
        >>> [int(model.predict(X, threshold=at).sum()) for at in (0.5, 0.1)]
        [18, 178]
        >>> model.threshold = 0.1
        >>> int(model.predict(X).sum()), model
        (178, <Linear(loss='logistic'), threshold 0.1>)
        """
        return self._threshold()

    @threshold.setter
    def threshold(self, threshold: float | None) -> None:
        fitted = self._check_fitted()
        fitted.threshold = None if threshold is None else self._cut(fitted, threshold)

    def _threshold(self) -> float | None:  # a subclass may have a parameter ``threshold``
        fitted = self._fitted
        cutoff = None if fitted is None else fitted.cutoff
        return None if fitted is None or cutoff is None else cutoff.probability(fitted)

    def _cut(self, fitted: Fitted, threshold: Any) -> Cutoff:
        if fitted.target.width > 1 or len(fitted.target.classes) != 2:
            met = f"the model has {listed(fitted.target.classes.tolist())}"
            raise ParameterError("threshold", threshold, f"None: a threshold is for two labels, and {met}")
        if not isinstance(threshold, numbers.Real) or not bool(0 < threshold < 1):  # type: ignore[operator]
            raise ParameterError("threshold", threshold, "a probability above 0 and below 1")
        return Cutoff(float(threshold), True)

    def __repr__(self) -> str:
        found, threshold = super().__repr__(), self._threshold()
        return found if threshold is None else f"<{found}, threshold {threshold:.4g}>"

    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each label, for each row.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probabilities, in the order of ``classes_``.
        """
        fitted = self._check_fitted()
        chances = self._answers(fitted, X, probabilities=True)
        found: Floats = fitted.target.probabilities(chances)
        return found

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the logarithm of the probability of each label, for each row.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The logarithms, in the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):  # of a class that came after this row
            found: Floats = np.log(self.predict_proba(X))
        return found

    def probabilities(self, scores: Floats) -> Floats:
        """Probabilities from scores of ``progressive_fit``.

        Parameters
        ----------
        scores : array
            Scores of rows.

        Returns
        -------
        array
            The probability of the positive label; with more than two classes, of each class.
        """
        fitted, scores = self._check_fitted(), as_columns(scores)
        if scores.shape[1] == 1:
            scores = fitted.target.scores(scores)
        return squeezed(fitted.target.of_positive(fitted.probabilities(scores)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy: the share of the rows, by weight, whose label is predicted correctly.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of dicts or Stream
            Rows, in any form that ``fit`` takes.
        y : array
            True labels.
        sample_weight : array or None, default=None
            Weight of each row, at least 0; None: 1. Rows of weight 0 are skipped.

        Returns
        -------
        float
            The accuracy, from 0 to 1.
        """
        fitted = self._check_fitted()
        answers, y = self._labels(fitted, X), as_labels(y)
        if y.shape != answers.shape or not y.size:
            shape = answers.shape
            raise DataError(f"y has shape {y.shape}: expected {shape}, one label per row of X, and at least one")
        try:
            places = fitted.target.encode(y)
        except DataError as problem:
            raise DataError(f"{problem}, the labels learned so far; leave such rows out, or learn them first") from None
        hits = fitted.target.encode(answers) == places
        weight = check_weight(sample_weight, y.size)
        if not weight.any():
            raise DataError("sample_weight is 0 everywhere: expected at least one positive weight")
        return float(np.average(hits, weights=weight))

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Predict the probability of each label seen so far, for one example.

        Parameters
        ----------
        x : dict
            Features by name. Numbers are values, strings are categories, and absent features are 0.

        Returns
        -------
        dict
            Probabilities by label; empty before anything was learned.
        """
        fitted = self._fitted
        if fitted is None:
            return {}
        chances = fitted.score_one(x, probabilities=True)
        found: dict[Any, float] = fitted.target.by_label(chances)
        return found

    def predict_proba_many(self, X: Any) -> Any:
        """Predict the probabilities of the rows of a data frame as ``predict_proba_one`` does.

        Parameters
        ----------
        X : data frame
            Rows.

        Returns
        -------
        data frame
            The probabilities, as a frame of the same library with a column per label.
        """
        from onlineboost.readers.frames import like_frame

        fitted = self._fitted
        if fitted is None:
            return like_frame(X, None, [])
        chances = self._answers_to_many(fitted, X, probabilities=True)
        return like_frame(X, *fitted.target.columns(chances))

    def decision_one(self, x: Mapping[Any, Any]) -> Any:
        """The score of one example.

        Parameters
        ----------
        x : dict
            Features by name. Numbers are values, strings are categories, and absent features are 0.

        Returns
        -------
        float or array
            The score; with more than two classes, one for each in the order of ``classes_``.
        """
        fitted = self._check_fitted()
        scores = fitted.score_one(x)[None]  # before the target is read, which knows all classes by then
        (found,) = squeezed(fitted.target.decisions(scores))
        return found if isinstance(found, np.ndarray) else float(found)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels: of two, the negative one first; more than two are sorted."""
        found: NDArray[Any] = self._check_fitted().target.classes
        return found


river.join(OnlineClassifier, "MiniBatchClassifier")
