"""A training compares the model with its base learner on the same rows, whatever the batches."""

from __future__ import annotations

import numpy as np
import pytest

from onlineboost import Linear, OnlineBBM, Tree
from onlineboost.data.classes import Classes
from onlineboost.diagnostics.verdict import gain
from onlineboost.evaluate.paired import Paired
from onlineboost.evaluate.repeated import Repeated
from onlineboost.evaluate.threshold import Rule
from onlineboost.evaluate.training import Training
from onlineboost.loop.record import new_record
from onlineboost.readers import open_stream


@pytest.fixture
def pages(stream):
    X, y = stream
    weight = np.random.default_rng(0).random(len(y)).round(3)
    weight[::7] = 0
    return lambda rows: open_stream(X, y=y, sample_weight=weight, batch_size=rows)


def trained(pages, rows: int, base=True) -> Training:
    training = Training(OnlineBBM(Linear(), 5, random_state=0), Linear() if base else None)
    for page in pages(400):
        for start in range(0, page.n_rows, rows):
            training.learn(page.rows(start, min(start + rows, page.n_rows)))
    return training


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_the_comparison_does_not_depend_on_batches(pages, rows):
    assert trained(pages, rows).paired == trained(pages, 400).paired


def test_the_comparison_counts_rows_on_which_one_is_wrong(pages):
    """Row by row, as ``loop/loop.py`` counts."""
    [page] = pages(400)
    y, weight = page.batch.y, page.batch.weight
    models = OnlineBBM(Linear(), 5, random_state=0), Linear()
    scores = [model.learn(page) for model in models]
    totals = new_record(1).totals
    for model_score, base_score, place, w in zip(*scores, y, weight, strict=True):
        wrong, base_wrong = (model_score >= 0) != place, (base_score >= 0) != place
        totals[0] += w
        totals[2] += w * (base_wrong and not wrong)
        totals[3] += w * (wrong and not base_wrong)
        totals[4] += w * w * (wrong != base_wrong)
    training = trained(pages, 400)
    assert training.paired.totals.tolist() == totals.tolist()
    assert totals[2] > 0 and totals[3] > 0
    assert training.verdict().startswith(f"OnlineBBM {gain(totals, 'Linear alone')}")
    difference = Classes.mistakes(scores[1], y) * weight - Classes.mistakes(scores[0], y) * weight
    assert totals[2] - totals[3] == pytest.approx(difference.sum())


def test_without_a_base_learner_the_model_speaks(pages):
    training = trained(pages, 400, base=False)
    assert training.paired == Paired()
    assert training.verdict() == training.model.verdict() != ""


def test_a_comparison_that_lacks_rows_is_left_out(pages):
    training = trained(pages, 400)
    training.paired = None
    for page in pages(400):
        training.learn(page)
    assert training.paired is None
    assert "alone" not in training.verdict()


def test_learners_to_spare_are_told(pages):
    training = trained(pages, 400)
    assert "enough" not in training.verdict()
    training.model._fitted.root.record.edges[2:] = 0
    assert training.verdict().endswith("The first 2 of 5 learners would be enough: the others have no edge.")


def test_nothing_was_learned():
    assert Training(OnlineBBM(), Linear()).verdict() == ""


@pytest.mark.parametrize("labels", [2, 12])
def test_labels_in_random_order_do_not_tell_the_next(labels):
    rng, told = np.random.default_rng(0), 0
    for shares in rng.dirichlet(np.full(labels, 5.0), 50):
        y, repeated = rng.choice(labels, 3000, p=shares), Repeated()
        repeated.update(y, np.ones(3000))
        told += repeated.tells()
        steady, repeated = np.repeat(y[:300], 10), Repeated()
        repeated.update(steady, np.ones(3000))
        assert repeated.tells()
    assert told <= 1


def test_the_shares_of_labels_do_not_depend_on_batches():
    y, weight = np.array([2.0, 0, 1, 1, 3, 0, 2]), np.arange(7) / 4
    whole, pieces = Repeated(), Repeated()
    whole.update(y, weight)
    for k in range(7):
        pieces.update(y[k : k + 1], weight[k : k + 1])
    assert pieces == whole and whole.counts == [1.5, 1.25, 1.5, 1.0]


def rare_pages(rows: int, n: int = 2000):
    """Rows with 4 % positives, by two features that a linear learner without their square cannot tell well."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] ** 2 + rng.normal(size=n) / 2 > 4, 1, 0)
    return open_stream(X, y=y, batch_size=rows)


@pytest.mark.parametrize("rule", [None, "f1"])
def test_rare_labels_are_compared_by_log_loss(rule):
    found = []
    for rows in (2000, 37):
        training = Training(OnlineBBM(Tree(4), 9, head="stack", random_state=0), Tree(2))
        training.threshold.rule = Rule.parsed(rule) if rule else None
        for page in rare_pages(rows):
            training.learn(page)
        found.append(training.losses)
    assert found[0] == found[1] and found[0].weight == 2000 - 64  # the comparison does not depend on batches
    low, high = training.losses.interval
    assert 0 < low < training.losses.gain < high < 1
    said = f"OnlineBBM has a {100 * training.losses.gain:.0f} % lower log loss than Tree alone (95 %: "
    assert training.verdict().startswith(said)


def test_frequent_labels_are_compared_by_mistakes(pages):
    assert "log loss" not in trained(pages, 400).verdict()
