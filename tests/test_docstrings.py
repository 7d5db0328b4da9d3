"""Docstrings: the check of ``make check``, and the problems that it finds."""

from __future__ import annotations

from typing import Literal

import docstring_check
import pytest


def told(n: int, loss: Literal["squared", "logistic"] = "squared", *, rate: float = 0.5) -> float:
    """A number.

    Parameters
    ----------
    n : int
        Number of rows.
    loss : {"squared", "logistic"}, default="squared"
        Loss.
    rate : float, default=0.5
        Step size.

    Returns
    -------
    float
        The number.

    Examples
    --------
    >>> told(1)
    0.5
    """
    return n * rate


def problems(old: str = "", new: str = "") -> list[str]:
    """The problems of ``told`` after a change of its docstring."""
    assert old in (told.__doc__ or "")

    def changed(n: int, loss: Literal["squared", "logistic"] = "squared", *, rate: float = 0.5) -> float: ...

    changed.__doc__ = (told.__doc__ or "").replace(old, new)
    return [*docstring_check.problems_of(changed), *docstring_check.problems_of_example(changed)]


def test_public_docstrings_are_complete():
    assert docstring_check.all_problems() == []


def test_a_complete_docstring_has_no_problem():
    assert problems() == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("A number.", "A number", "summary 'A number': expected one line"),
        ("A number.", "A number, or\n    two.", "summary 'A number, or\\ntwo.': expected one line"),
        ("n : int", "m : int", "parameters ['m', 'loss', 'rate']: expected ['n', 'loss', 'rate']"),
        ("rate : float, default=0.5\n        Step size.\n", "", "parameters ['n', 'loss']: expected"),
        (
            "n : int",
            "n : number of rows, and so on, which is a description where there should be a type: this is one",
            "n:",
        ),
        ("n : int\n", "n\n", "n: expected a type after the name, got ''"),
        ("n : int", "n : int, default=1", "n: ', default=1', but it has no default"),
        ("default=0.5", "default=0.4", "rate: expected default=0.5 in 'float, default=0.4'"),
        ("float, default=0.5", "float", "rate: expected default=0.5 in 'float'"),
        ('{"squared", "logistic"}', '{"squared", "hinge"}', "loss: expected the choices ['logistic', 'squared'] in"),
        ("Number of rows.", "number of rows", "Parameters, n: expected a description in sentences"),
        ("        Number of rows.\n", "", "Parameters, n: expected a description in sentences"),
        ("        The number.\n", "", "Returns, float: expected a description in sentences"),
        ("Returns\n    -------\n    float\n        The number.\n", "", "no section Returns"),
        (
            "Returns\n    -------",
            "Gives\n    -----",
            "sections ['Parameters', 'Gives', 'Examples']: expected the names",
        ),
        ("0.5\n    ", "rate\n    ", "expected an example that ends in a number"),
        (">>> told(1)\n    0.5\n", "", "expected an example that ends in a number"),
    ],
)
def test_a_problem_is_named(old, new, expected):
    assert [problem for problem in problems(old, new) if problem.startswith(expected)], problems(old, new)
