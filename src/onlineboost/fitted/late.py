"""Delayed labels: rows are predicted now, and learned when their labels come."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from onlineboost.data.batch import Batch, Floats, cut, longest_row, without_missing
from onlineboost.engine import schedule
from onlineboost.engine.node import Node, PastAnswers
from onlineboost.engine.program import ask_row, tell_row
from onlineboost.errors import DataError, ParameterError, TicketError
from onlineboost.fitted.asked import SIGNATURE, Asked, parsed, written
from onlineboost.fitted.dicts import named_row
from onlineboost.fitted.fitted import Fitted, Rows
from onlineboost.fitted.tickets import Ticket, is_finite
from onlineboost.parameters import brief


def ask(fitted: Fitted, x: Any, time: float | None) -> Ticket:
    """Predict a dict of features, and keep the answers of all nodes until the label comes."""
    with fitted.lock.reading:
        root = _root(fitted)
        row, names = named_row(x, fitted.columns, True)
        fitted.warn_of_strangers(x, row.indices)
        return _ticket(fitted, root, row, names, time)


def ask_rows(fitted: Fitted, rows: Rows, time: float | None) -> list[Ticket]:
    """``ask`` for all rows of a table or a stream."""
    tickets: list[Ticket] = []
    _root(fitted)
    for part in fitted.parts(rows):
        with fitted.lock.reading:
            root = _root(fitted)
            tickets += [_ticket(fitted, root, cut(part, r, r + 1), [], time) for r in range(part.y.size)]
    return tickets


def _ticket(fitted: Fitted, root: Node, row: Batch, names: Any, time: float | None) -> Ticket:
    fitted.check_rows(lambda: longest_row(without_missing(row)))
    row = fitted.with_lags(row, False)
    answers = fitted.pending.kept(ask_row(root, *_features(row)))
    if not root.could_answer(answers):  # nobody could read the ticket
        raise DataError("the prediction is not a finite number: scale the features, and train again")
    number, data = fitted.pending.give(row, answers, names, time)
    (answer,) = _answers(fitted, root, answers)
    return Ticket(number, *answer, data)


def _features(row: Batch) -> tuple[Any, list[float]]:
    mine = slice(row.indptr[0], row.indptr[1])
    return row.indices[mine], row.values[mine].tolist()


def _answers(fitted: Fitted, root: Node, answers: PastAnswers) -> Iterator[tuple[Any, float]]:
    """The label for each row, and its probability; of two labels, that of the positive one."""
    scores, cutoff = answers.scores[:, : root.width], fitted.cutoff
    chances = root.probabilities(scores)
    values = fitted.by_threshold(chances if cutoff is not None and cutoff.of_probability else scores, cutoff)
    for value, chance in zip(values, fitted.target.of_positive(chances), strict=True):
        yield fitted.target.decode_one(value), float(np.max(chance))


def tell(fitted: Fitted, tickets: list[Any], labels: Any, weight: float) -> None:
    """Learn the rows of tickets, in this order, within a turn; nothing is learned if one of the tickets is wrong."""
    root = _root(fitted)
    asked = [fitted.pending.read(ticket, root, fitted.max_row_features) for ticket in tickets]
    if len({one.mark for one in asked}) < len(asked):
        raise TicketError("a ticket occurs twice: each can be labeled once")
    target = fitted.target
    for label in labels:
        target = target.with_label(label)
    y = [target.encode_one(label) for label in labels]
    if not asked:
        return
    fitted.check_target(target)
    with fitted.lock.writing, schedule.uninterrupted():
        fitted.target = target
        _learn(fitted, asked, y, weight)
        for one in asked:
            fitted.pending.take(one)
    fitted.warn()


def expire(fitted: Fitted, time: float | None) -> None:
    """Drop expired tickets, or learn them, by ``on_expire``."""
    pending = fitted.pending
    if pending.on_expire == "drop":
        pending.due(time)
    elif pending.is_due(time):
        with fitted.lock.turn(), fitted.lock.writing, schedule.uninterrupted():
            root, label = _root(fitted), pending.on_expire[1]
            target = fitted.target.with_label(label)
            fitted.check_target(target)
            asked = [parsed(data, root, fitted.max_row_features) for data in pending.due(time)]
            fitted.target = target
            _learn(fitted, asked, [target.encode_one(label)] * len(asked), 1.0)
        fitted.warn()


def _learn(fitted: Fitted, asked: list[Asked], y: list[float], weight: float) -> None:
    told = [pair for one in asked for pair in one.names]
    fitted.root.name_features(fitted.columns.add(told))
    fitted.columns.sight_names(told)
    weights = np.full(len(asked), weight)
    if fitted.class_weights is not None:
        weights = fitted.class_weights.rows(np.array(y), weights, fitted.target)
    for one, own, own_weight in zip(asked, y, weights.tolist(), strict=True):
        row = one.row._replace(y=np.array([own]), weight=np.array([own_weight]))
        _learn_row(fitted, row, one.answers, weight)


def _learn_row(fitted: Fitted, row: Batch, answers: PastAnswers, given: float) -> None:
    """Learn a row with its weight before class weights; adds a new class to the model."""
    began, y, weight = perf_counter(), float(row.y[0]), float(row.weight[0])
    known = fitted.root.n_classes
    if weight > 0 and not fitted.of_numbers and y >= fitted.root.n_classes:
        fitted.take_classes(int(y) + 1)
    root = _root(fitted)
    scores = tell_row(root, *_features(row), y, weight, root.fitting(answers))
    fitted.learn_labels(row.y, row.weight)
    if given > 0:
        if root.n_classes > known:  # the prediction did not know the class
            scores[known:] = -np.inf
        fitted.running.add_one(fitted, scores, y, given, began)


# ---- tickets kept outside the model, such as in the journal of the service


def ask_apart(fitted: Fitted, x: Any) -> tuple[bytes, Floats]:
    """Predict a dict of features: bytes for ``tell_apart``, and the scores. The model keeps no ticket."""
    with fitted.lock.reading:
        root = _root(fitted)
        row, names = named_row(x, fitted.columns, True)
        fitted.check_rows(lambda: longest_row(without_missing(row)))
        row = fitted.with_lags(row, False)
        answers = fitted.pending.kept(ask_row(root, *_features(row)))
        if not root.could_answer(answers):
            raise DataError("the prediction is not a finite number: scale the features, and train again")
        data = written(_NOBODY, 0, 0.0, 0, row, answers, names)
        return data + hashlib.blake2b(data, digest_size=SIGNATURE).digest(), answers.scores[0, : root.width].copy()


def read_apart(fitted: Fitted, data: bytes) -> Asked:
    """The contents of the bytes of ``ask_apart``; a ``TicketError`` if they are damaged or of another model."""
    if hashlib.blake2b(data[:-SIGNATURE], digest_size=SIGNATURE).digest() != data[-SIGNATURE:]:
        raise TicketError("the ticket was changed or damaged: expected its bytes as issued")
    return parsed(data, _root(fitted), fitted.max_row_features)


def tell_apart(fitted: Fitted, data: bytes, label: Any, weight: float) -> Floats:
    """Learn a row of ``ask_apart``, now that its label is known; nothing is learned after an error.

    Returns the scores of the prediction.
    """
    with fitted.lock.turn():
        asked = read_apart(fitted, data)
        target = fitted.target.with_label(label)
        y = target.encode_one(label)
        fitted.check_target(target)
        with fitted.lock.writing, schedule.uninterrupted():
            fitted.target = target
            scores = asked.answers.scores[0, : fitted.root.width].copy()
            _learn(fitted, [asked], [y], weight)
        fitted.warn()
        return scores


_NOBODY = bytes(8)  # in the place of the model that keeps the ticket


def answer_row(fitted: Fitted, row: Batch) -> tuple[Batch, PastAnswers, Floats]:
    """The row to be learned later, all answers to it, and its scores."""
    with fitted.lock.reading:
        root = _root(fitted)
        row = fitted.with_lags(row, False)
        answers = ask_row(root, *_features(row))
    return row, answers, answers.scores[:, : root.width]


def learn_row(fitted: Fitted, row: Batch, answers: PastAnswers) -> None:
    """Learn a row with its past answers."""
    with fitted.lock.turn(), fitted.lock.writing, schedule.uninterrupted():
        _learn_row(fitted, fitted.weighted(row), answers, float(row.weight[0]))


def check_asking(fitted: Fitted, time: Any) -> None:
    """Raise an error for an invalid time, or for a label of expired tickets that the model cannot learn."""
    if time is not None and not is_finite(time):
        raise DataError(f"the time is {brief(time):.40}: expected a finite number")
    if fitted.pending.on_expire != "drop":
        fitted.check_target(fitted.target.with_label(fitted.pending.on_expire[1]))


def _root(fitted: Fitted) -> Node:
    if not isinstance(fitted.root, Node):
        raise ParameterError("estimator", fitted.spec.estimator, "a compiled learner such as Linear, for tickets")
    return fitted.root
