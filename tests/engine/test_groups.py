"""Learners in groups, on threads: the same bits as in one loop."""

from __future__ import annotations

import signal
import threading
import time
import warnings

import numpy as np
import pytest
from pairs import L, everything, make

from onlineboost import Linear, OnlineBBM, OnlineBoost, Tree
from onlineboost.engine import groups, schedule
from onlineboost.engine.groups import Choice, balanced, even_bounds
from onlineboost.engine.schedule import Stage
from onlineboost.learners.base import Learner

ROWS, N = 1000, 9
DIVIDED = [(1, 1), (1, 3), (3, 2), (3, 3), (8, 2), (N, 3)]  # learners in a group, threads


@pytest.fixture(scope="module")
def rows():
    """A stream of which more than the replayed rows are left, with weights and rows that do not count."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(ROWS, 10)).astype(np.float32)
    X[rng.random(X.shape) < 0.3] = 0
    X[600:, 3] *= 40  # raises scales, and edges of bins
    y = np.where((X[:, 0] > 0.2) ^ (X[:, 1] > 0) ^ (rng.random(ROWS) < 0.1), 1, -1)
    return X, y, rng.choice([0.0, 1.0, 1.0, 2.5], ROWS)


@pytest.fixture
def divide(monkeypatch):
    """Makes committees divide their learners into groups of a size, on a number of threads, whatever it costs."""
    divided = []
    run = schedule.run

    def choose(size: int, threads: int) -> list[int]:
        bounds = [*range(0, N, size), N]
        spread = lambda n, groups, grain: [*range(0, n, size), n] if n > size else [0, n]
        monkeypatch.setattr(groups, "even_bounds", spread)
        monkeypatch.setattr(groups, "balanced", lambda found, seconds, grain: found)
        monkeypatch.setattr(groups, "_MANY_ROWS", 1)
        monkeypatch.setattr(groups, "_ALONE", 1)
        monkeypatch.setattr(groups, "_LEAST_SECONDS", 0)
        monkeypatch.setattr(groups, "piece_of", lambda seconds: 16)
        for learner in (Learner, Linear):
            monkeypatch.setattr(learner, "grain", 1)

        def counted(stages, pieces, _, ahead=None):
            divided.append(len(stages))
            run(stages, pieces, threads, ahead)

        monkeypatch.setattr(groups.schedule, "run", counted)
        return bounds

    choose.divided = divided
    return choose


def learned(booster, learner, rows, jobs: int, batch: int):
    X, y, weight = rows
    model = make(booster, learner, n=N)
    model.n_jobs = jobs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [
            model.progressive_fit(X[k : k + batch], y[k : k + batch], weight[k : k + batch], classes=[-1, 1])
            for k in range(0, ROWS, batch)
        ]
    return np.concatenate(parts), everything(model)


@pytest.mark.parametrize(("booster", "learner"), L)
def test_groups_threads_and_batches_do_not_change_a_bit(booster, learner, rows, divide):
    """The promise of the README: any groups of learners, any number of threads, any batches."""
    scores, states = learned(booster, learner, rows, 1, ROWS)
    for size, threads in DIVIDED:
        divide(size, threads)
        batch = 53 * threads if size == 3 else ROWS
        found, mine = learned(booster, learner, rows, threads + 1, batch)
        assert np.array_equal(found, scores), (size, threads)
        assert mine == states, (size, threads)
    # One sees all votes at once, another resets learners; tables of tokens grow.
    if booster not in ("defensive", "adaptive-learners") and learner != "ftrl":
        assert divide.divided


def test_the_command_and_the_model_file_know_nothing_of_threads(rows, tmp_path):
    X, y, _ = rows
    for jobs, name in ((None, "one"), (2, "two"), (-1, "all")):
        OnlineBBM(Tree(3), 21, random_state=0, n_jobs=jobs).fit(X, y).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes() == (tmp_path / "all").read_bytes()


def test_answers_of_many_rows_are_given_by_threads(rows):
    X, y, _ = rows
    model = OnlineBBM(Tree(3), 21, random_state=0).fit(X, y)
    many = np.tile(X, (4, 1))
    alone, chances = model.decision_function(many), model.predict_proba(many)
    model.n_jobs = 3
    assert np.array_equal(model.decision_function(many), alone)
    assert np.array_equal(model.predict_proba(many), chances)


@pytest.mark.parametrize(
    ("jobs", "expected"), [(0, "from 1 to"), (-2, "from 1 to"), (1.5, "from 1 to"), ("2", "from 1 to")]
)
def test_a_wrong_number_of_threads(jobs, expected, rows):
    with pytest.raises(ValueError, match=f"n_jobs=.*{expected}"):
        OnlineBBM(n_jobs=jobs).fit(*rows[:2])


def test_bounds_of_groups():
    assert even_bounds(161, 2, 16) == [0, 96, 161]  # six and five blocks of 16
    assert even_bounds(5, 8, 16) == [0, 5]
    assert even_bounds(63, 3, 1) == [0, 21, 42, 63]
    assert balanced([0, 10, 20], [3.0, 1.0], 1) == [0, 7, 20]  # the first group takes three times as long
    assert balanced([0, 16, 20], [0.0, 1.0], 1)[1] == 18
    assert balanced([0, 1, 2, 3], [100.0, 1.0, 1.0], 1) == [0, 1, 2, 3]  # no group is empty


# ---- the schedule


@pytest.mark.parametrize(
    ("times", "divides"), [((0.6, 0.5, 0.7), True), ((0.6, 1.9, 0.5), True), ((1.0, 0.6, 0.95), False)]
)
def test_groups_go_side_by_side_where_the_median_of_three_comparisons_is_faster(times, divides):
    choice = Choice()
    for time_ in times:
        assert choice.divides and choice.rows_left == 0
        choice.note(time_)
    assert choice.divides is divides
    assert choice.rows_left == groups._DECIDED


def test_a_choice_does_not_depend_on_busy_neighbors(rows, monkeypatch):
    """Comparisons are of processor time: a thread that had to wait is no reason not to divide."""
    noted, go = [], groups.Group.go

    def late(group, start, stop):
        time.sleep(0.005)
        go(group, start, stop)

    monkeypatch.setattr(groups.Group, "go", late)
    monkeypatch.setattr(Choice, "note", lambda choice, ratio: noted.append(ratio))
    X, y, _ = rows
    OnlineBBM(Tree(3), 63, random_state=0, n_jobs=2).fit(np.tile(X, (5, 1)), np.tile(y, 5))
    assert noted and max(noted) < 2


def test_groups_wait_for_busy_neighbors_longer_and_longer():
    choice, row = Choice(rows_left=1 << 30), 1e-6
    first, most = groups._PAUSE_SECONDS
    waits = []
    for _ in range(7):
        assert choice.divides_now
        choice.see(1.05, row)
        assert not choice.divides_now
        waits.append(choice.waits * row)
        choice.take(choice.end(0, 1 << 40, row))
        # Few rows tell whether others are still busy.
        assert choice.end(0, 1 << 40, row) * row == pytest.approx(groups._TRIAL_SECONDS)
    assert waits == pytest.approx([min(first * 2**k, most) for k in range(7)])
    choice.see(1.6, row)
    assert choice.divides_now and choice.end(0, 1 << 40, row) == choice.rows_left


def test_little_work_is_not_divided(rows, monkeypatch):
    """Starting threads for a millisecond would take longer than the work."""
    started = []
    monkeypatch.setattr(groups.schedule, "run", lambda *given, **options: started.append(given))
    monkeypatch.setattr(groups, "timed", lambda run, start, stop: run(start, stop) or 1e-6 * (stop - start))
    X, y, _ = rows
    model = OnlineBBM(Linear(), 161, n_jobs=2)
    for _ in range(5):
        model.partial_fit(X, y)
    assert not started


def test_a_stage_knows_how_long_it_was_on_a_processor():
    asleep = Stage(lambda k: time.sleep(0.02))
    schedule.run([asleep], 2, 1)
    assert asleep.seconds < 0.02
    assert asleep.past == schedule.Past(asleep.seconds, 2)


def test_the_stage_that_took_longest_before_goes_first():
    order: list[str] = []
    past = schedule.Past(1.0, 10), schedule.Past(9.0, 10), schedule.Past(0.1, 10)
    stages = [Stage(lambda k, name=name: order.append(name), (), one) for name, one in zip("abc", past, strict=True)]
    schedule.run(stages, 2, 1)
    assert order == [*"bbaacc"]
    assert [one.pieces for one in past] == [12, 12, 12]


def test_stages_wait_for_those_before_them():
    done: list[tuple[str, int]] = []

    def stage(name, delay):
        def run(k):
            time.sleep(delay)
            done.append((name, k))

        return run

    stages = [Stage(stage("a", 0.001)), Stage(stage("b", 0), (0,)), Stage(stage("c", 0.002), (0, 1))]
    schedule.run(stages, 20, 3, ahead=2)
    for name, before in (("b", "a"), ("c", "b")):
        assert all(done.index((name, k)) > done.index((before, k)) for k in range(20))
    for name in "abc":
        assert [k for who, k in done if who == name] == [*range(20)]
    ahead = [k - sum(who == "c" for who, _ in done[: done.index(("a", k))]) for k in range(20)]
    assert max(ahead) <= 2


def test_an_error_in_a_stage_ends_all_of_them():
    seen = []

    def fail(k):
        if k == 3:
            raise MemoryError("no memory in a stage")

    with pytest.raises(MemoryError, match="no memory in a stage"):
        schedule.run([Stage(seen.append), Stage(fail, (0,)), Stage(seen.append, (1,))], 1000, 2, ahead=4)
    assert len(seen) < 20
    assert threading.active_count() < 20


def test_what_a_stage_leaves_for_later_is_done_by_the_caller():
    who = []
    call = lambda: who.append(threading.get_ident())
    schedule.run([Stage(lambda k: schedule.later(call)), Stage(lambda k: schedule.later(call))], 5, 2)
    assert who == [threading.get_ident()] * 10
    schedule.later(call)
    assert len(who) == 11


def test_one_interrupt_ends_learning_between_two_batches(monkeypatch):
    """Ctrl-C while threads learn: it is raised, and the model has learned whole batches, as if there were no more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120_000, 10)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1, -1)
    model = OnlineBoost("low", random_state=0, n_jobs=2)
    model.partial_fit(X[:3000], y[:3000])
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.default_int_handler)  # also in the background
    threading.Timer(0.15, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[3000:], y[3000:])
    n = model.n_seen_
    assert 3000 < n < 120_000
    assert all(part.n_learned == n for part in model._fitted.root.parts)
    fewer = OnlineBoost("low", random_state=0).partial_fit(X[:n], y[:n])
    assert everything(fewer) == everything(model)
