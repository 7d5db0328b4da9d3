"""scikit-learn: tags, metadata routing and HTML."""

from __future__ import annotations

import html
import sys
from typing import Any, ClassVar, Self

_WEIGHTED = "fit", "partial_fit", "score"  # methods that take sample_weight
_ORDER = "the order of the examples matters to an online learner: a weight of 2 is not a row twice"

EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": _ORDER,
    "check_sample_weight_equivalence_on_sparse_data": _ORDER,
}
"""Checks of scikit-learn's ``check_estimator`` that no online learner passes, with the reason."""


class SklearnMethods:
    """The protocol of scikit-learn's tools, beyond parameters and fitting."""

    _sklearn_type: ClassVar[str]
    """ "classifier", "regressor" or "transformer"."""

    def __sklearn_tags__(self) -> Any:
        """The tags that scikit-learn's tools read."""
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        kind = self._sklearn_type
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=kind != "transformer"),
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            transformer_tags=TransformerTags(preserves_dtype=[]) if kind == "transformer" else None,
            input_tags=InputTags(sparse=True, allow_nan=kind != "transformer"),
        )

    def get_metadata_routing(self) -> Any:
        """Metadata that the methods request, as scikit-learn's meta-estimators read it.

        Returns
        -------
        MetadataRequest
            The requests.
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        request: Any = getattr(self, "_metadata_request", None)
        if request is None:
            request = MetadataRequest(owner=self)
            for method in _WEIGHTED if self._sklearn_type != "transformer" else ():
                getattr(request, method).add_request(param="sample_weight", alias=None)
            if self._sklearn_type == "classifier":
                request.partial_fit.add_request(param="classes", alias=None)
        return request

    def _request(self, method: str, given: dict[str, Any]) -> Self:
        request = self.get_metadata_routing()
        for name, alias in given.items():
            getattr(request, method).add_request(param=name, alias=alias)
        self._metadata_request = request
        return self

    def set_fit_request(self, **given: Any) -> Self:
        """Request that meta-estimators pass metadata to ``fit``: ``set_fit_request(sample_weight=True)``.

        Parameters
        ----------
        **given : bool
            Whether to pass it, by the name of the metadata.

        Returns
        -------
        self : estimator
            The model.
        """
        return self._request("fit", given)

    def set_partial_fit_request(self, **given: Any) -> Self:
        """Request that meta-estimators pass metadata to ``partial_fit``.

        Parameters
        ----------
        **given : bool
            Whether to pass it, by the name of the metadata.

        Returns
        -------
        self : estimator
            The model.
        """
        return self._request("partial_fit", given)

    def set_score_request(self, **given: Any) -> Self:
        """Request that meta-estimators pass metadata to ``score``.

        Parameters
        ----------
        **given : bool
            Whether to pass it, by the name of the metadata.

        Returns
        -------
        self : estimator
            The model.
        """
        return self._request("score", given)

    def _repr_html_(self) -> str:
        """The diagram of notebooks; the parameters as text where scikit-learn is not in use."""
        if "sklearn" not in sys.modules:
            return f"<pre>{html.escape(repr(self))}</pre>"
        from sklearn.utils import estimator_html_repr

        return str(estimator_html_repr(self))
