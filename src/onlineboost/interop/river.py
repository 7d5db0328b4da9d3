"""River: its method names, and membership in its classes once River is imported.

River's tools ask ``isinstance(model, river.base.Classifier)``. Its base classes take virtual subclasses, so ours join
them when ``river.base`` is imported, be it before onlineboost or after; River is never imported for it.
"""

from __future__ import annotations

import copy
import importlib.util
import pickle
import sys
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any, ClassVar, Self

from onlineboost.errors import ParameterError
from onlineboost.parameters import Parameters, defaults

_MODULE = "river.base"
_joining: list[tuple[type, str]] = []  # our classes, and the names of those that they join


class RiverMethods(Parameters):
    """The protocol of River's estimators. Their ``seed`` is our ``random_state``."""

    _multiclass: ClassVar[bool] = True
    _supervised: ClassVar[bool] = True

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    @property
    def _tags(self) -> set[str]:
        return set()

    def _unit_test_skips(self) -> set[str]:
        return set()

    _example: ClassVar[dict[str, Any]] = {}
    """Arguments for those of the constructor that have no default."""

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield cls._example

    def _get_params(self) -> dict[str, Any]:
        params = self.get_params(deep=False)
        return params | ({"seed": params["random_state"]} if "random_state" in params else {})

    @property
    def _is_stochastic(self) -> bool:
        return self._get_params().get("seed", 0) is None

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """A new model with the same parameters.

        Parameters
        ----------
        new_params : dict or None, default=None
            Parameters that differ; ``seed`` is River's name for ``random_state``.
        include_attributes : bool, default=False
            Whether the new model has the learned state too.

        Returns
        -------
        estimator
            The new model.
        """
        changes = dict(new_params or {})
        if "seed" in changes:
            changes = {"random_state": changes.pop("seed")} | {k: v for k, v in changes.items() if k != "random_state"}
        twin = super().clone().set_params(**{name: copy.deepcopy(value) for name, value in changes.items()})
        if include_attributes:
            learned = {
                name: copy.deepcopy(value) for name, value in vars(self).items() if name not in defaults(type(self))
            }
            vars(twin).update(learned)
        return twin

    def mutate(self, new_attrs: dict[str, Any]) -> None:
        """River's way to change a model in place, which raises an error: use ``clone({...})`` or ``set_params``.

        Parameters
        ----------
        new_attrs : dict
            Parameters to change.

        Raises
        ------
        ParameterError
            Always, unless ``new_attrs`` is empty.
        """
        for name, value in new_attrs.items():
            raise ParameterError(name, value, "no change while the model learns: use clone({...}) or set_params")

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes of the learned state."""
        return len(pickle.dumps(self))

    @property
    def _memory_usage(self) -> str:
        return f"{self._raw_memory_usage / (1 << 20):.2f} MiB"

    def __or__(self, other: Any) -> Any:
        from river import compose

        return compose.Pipeline(self, other)

    def __ror__(self, other: Any) -> Any:
        """``river.preprocessing.StandardScaler() | model`` is a pipeline."""
        from river import compose

        return other.__or__(self) if isinstance(other, compose.Pipeline) else compose.Pipeline(other, self)


def join(cls: type, name: str) -> None:
    """Let a class be a virtual subclass of River's class of this name, as soon as River is imported."""
    _joining.append((cls, name))
    if _MODULE in sys.modules:
        _join_all(sys.modules[_MODULE])
    elif not any(isinstance(finder, _WhenImported) for finder in sys.meta_path):
        sys.meta_path.insert(0, _WhenImported())


def _join_all(module: ModuleType) -> None:
    for cls, name in _joining:
        getattr(module, name).register(cls)


class _WhenImported(MetaPathFinder):
    """Joins River's classes after ``river.base`` was run; it finds no module itself."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> Any:
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        loader = spec.loader if spec is not None else None
        if spec is None or loader is None:
            return spec
        run = loader.exec_module

        def run_and_join(module: ModuleType) -> None:
            run(module)
            _join_all(module)

        loader.exec_module = run_and_join  # type: ignore[method-assign]
        return spec
