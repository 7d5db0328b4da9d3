"""Constructor arguments as parameters, by scikit-learn's conventions but without scikit-learn."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from onlineboost.errors import ParameterError, shown

_OF_RUNS = ("n_jobs",)  # parameters of a run: they do not change the model, and are neither shown nor saved
_MAX_DEPTH = 12  # of models within models, such as OnlineBBM(Copies(Linear())) in an ensemble


class Parameters:
    """``get_params``, ``set_params``, ``clone`` and ``repr`` from the signature of ``__init__``."""

    _absent: ClassVar[dict[str, Any]] = {}
    """Values of parameters missing in descriptions of older versions, if they are not the defaults."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include those of an inner estimator, as ``estimator__x``.

        Returns
        -------
        dict
            Values by the name of the parameter.
        """
        params = {name: getattr(self, name) for name in defaults(type(self))}
        if deep:
            for name, value in list(params.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    params |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments; they take effect at the next ``fit``.

        Parameters
        ----------
        **params : object
            Value of a parameter, by its name; those of an inner estimator are named ``estimator__x``.

        Returns
        -------
        self : estimator
            The model.
        """
        known = defaults(type(self))
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if outer not in known:
                raise ParameterError(name, value, f"one of the parameters {', '.join(known)}")
            if inner:
                owner = getattr(self, outer)
                if not hasattr(owner, "set_params"):
                    raise ParameterError(name, value, f"{outer} to be an estimator, but it is {owner!r}")
                owner.set_params(**{inner: value})
            else:
                setattr(self, outer, value)
        return self

    def clone(self) -> Self:
        """A new, unfitted object with the same parameters.

        Returns
        -------
        estimator
            The new object.
        """
        params = self.get_params(deep=False)
        return type(self)(**{name: _cloned(value) for name, value in params.items()})

    def _saved_params(self) -> dict[str, Any]:
        """The parameters for a model file; the seed drawn from ``random_state`` is saved separately.

        The number of threads belongs to the machine, not to the model.
        """
        params = self.get_params(deep=False)
        for name in _OF_RUNS:
            params.pop(name, None)
        if not isinstance(params.get("random_state"), int):
            params |= {name: None for name in params if name == "random_state"}
        return params

    def __repr__(self) -> str:
        usual = defaults(type(self))
        params = self.get_params(deep=False).items()
        changed = (f"{k}={v!r}" for k, v in params if k not in _OF_RUNS and repr(v) != repr(usual[k]))
        return f"{type(self).__name__}({', '.join(changed)})"


def defaults(kind: Any) -> dict[str, Any]:
    """The arguments of the constructor with their defaults.

    >>> from onlineboost import Copies, Perceptron
    >>> defaults(Perceptron)["bits"]
    18
    """
    return dict(_defaults(kind.__init__))


@functools.cache
def _defaults(constructor: Callable[..., Any]) -> dict[str, Any]:
    signature = inspect.signature(constructor)
    return {name: p.default for name, p in list(signature.parameters.items())[1:]}


def brief(value: Any) -> str:
    """``repr`` as one would type it: positional arguments without their names.

    >>> from onlineboost import OnlineBBM, Tree
    >>> brief(OnlineBBM(Tree(8), head="stack")), repr(Tree(8))
    ("OnlineBBM(Tree(8), head='stack')", 'Tree(max_depth=8)')
    """
    if not isinstance(value, Parameters):
        return shown(value)
    arguments, named = [], False
    for name, parameter in list(inspect.signature(type(value)).parameters.items()):
        given = getattr(value, name)
        named = named or parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD
        if name not in _OF_RUNS and repr(given) != repr(parameter.default):
            arguments.append(f"{name}={brief(given)}" if named else brief(given))
        else:
            named = True
    return f"{type(value).__name__}({', '.join(arguments)})"


def _cloned(value: Any) -> Any:
    """The value with new models: a model, or several of them."""
    if type(value) in (list, tuple):
        return type(value)(_cloned(one) for one in value)
    return value.clone() if isinstance(value, Parameters) else value


def described(value: Any, depth: int = 0) -> Any:
    """A model or a parameter as JSON, for ``build``."""
    if isinstance(value, Parameters):
        if depth > _MAX_DEPTH:
            raise ParameterError("models", value, f"at most {_MAX_DEPTH} levels of models within models")
        params = {name: described(inner, depth + 1) for name, inner in value._saved_params().items()}
        return {"class": type(value).__name__, "params": params}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    if isinstance(value, dict):  # whose keys may be numbers
        return {"pairs": [[described(key), described(one)] for key, one in value.items()]}
    if isinstance(value, list | tuple):
        return [described(one, depth) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def build(found: Any, find: Callable[[str], type[Parameters]], depth: int = 0) -> Any:
    """The object that ``described`` found; ``find`` returns a class by its name."""
    if isinstance(found, list):
        return [build(one, find, depth) for one in found]
    if not isinstance(found, dict):
        return found
    if depth > _MAX_DEPTH:
        raise ValueError(f"models within models: expected at most {_MAX_DEPTH} levels")
    if "array" in found:
        return np.array(found["array"], float)
    if "pairs" in found:
        return dict(found["pairs"])
    kind, given = find(found["class"]), found["params"]
    if not isinstance(given, dict):
        raise TypeError(f"the parameters of {found['class']} are not a dict")
    known = defaults(kind)
    params = kind._absent | {name: build(value, find, depth + 1) for name, value in given.items()}
    return kind(**{k: tuple(v) if isinstance(known.get(k), tuple) else v for k, v in params.items()})


def fits_json(value: object) -> bool:
    """Whether JSON can hold a name or label: a string or a finite number."""
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def check_bool(name: str, value: object) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(name, value, "True or False")
    return bool(value)


def check_one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ParameterError(name, value, f"one of {', '.join(repr(choice) for choice in choices)}")


def check_count(name: str, value: object, most: int = 1 << 31) -> None:
    check_whole(name, value, 1, most)


def check_whole(name: str, value: object, low: int, high: int) -> int:
    """The value as an int; raises an error unless it is a whole number from ``low`` to ``high``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or not low <= int(value) <= high:
        raise ParameterError(name, value, f"a whole number from {low:,} to {high:,}")
    return int(value)


def check_between(name: str, value: object, low: float, high: float) -> None:
    """Raise an error unless low < value < high."""
    if not isinstance(value, numbers.Real) or not low < float(value) < high:
        expected = f"a number between {low:g} and {high:g}, both excluded"
        raise ParameterError(name, value, expected if math.isfinite(high) else f"a finite number above {low:g}")


def check_share(name: str, value: object) -> None:
    if not isinstance(value, numbers.Real) or not 0 < float(value) <= 1:
        raise ParameterError(name, value, "a number above 0, at most 1")
