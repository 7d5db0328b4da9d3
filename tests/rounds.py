"""The compiled functions of a booster, called one round at a time."""

from __future__ import annotations

import numpy as np

from onlineboost.loop.link import LEAD, ROUND, SETTLE, VOTE, link, new_table


def _linked(booster, state, h, p):
    table = new_table(1, h.size, booster._traits["leading"])
    table.carry[:] = 0.0
    return link(state, table, np.array(h, float), p, np.empty(h.size, np.float32)), table


def voted(booster, state, h) -> float:
    """The score of a committee with these votes."""
    calls, _ = _linked(booster, state, h, np.empty(h.size))
    if booster._traits["leading"]:
        calls.take(LEAD)
    return calls.take(VOTE)


def rounded(booster, state, h, y, p, number: int | None = None) -> None:
    """A round with these votes and this label: writes the weights of the learners into p."""
    calls, table = _linked(booster, state, h, p)
    if booster._traits["leading"]:
        calls.take(LEAD)
    calls.take(VOTE)
    table.carry[:] = 0.0
    table.carry[0, 0] = int(state.t[0]) if number is None and hasattr(state, "t") else number or 0
    calls.take(ROUND, y)
    calls.take(SETTLE, y)
