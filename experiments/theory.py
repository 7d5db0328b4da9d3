"""The paper's theorems in four plots: boosters over simulated learners, compared with the proved bounds.

    python experiments/theory.py [--quick] [--output docs/theory]

Writes theory.json and the pictures error.svg, examples.svg, adaptivity.svg and table1.svg.
"""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from rich.progress import Progress
from scipy.stats import binom
from worst_case import Scripted, smooth_weights, worst_learners

from onlineboost import AdaBoostOL, OnlineBBM, OSBoost, OSBoostOCP, theory
from onlineboost.data.classes import Classes

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, ROOT, keep, kept
from figures import draw as save

FIGURES, OUTPUT = FOLDER / "theory.json", ROOT / "docs/theory"
COLORS = ["#2166ac", "#b2182b", "#4d9221", "#b35806"]
Numbers = dict[str, Any]


def wrong(model: Any, n_examples: int, seed: int = 0) -> np.ndarray:
    """Whether the booster was wrong on each example, before it learned it."""
    X, y = theory.simulated_stream(n_examples, seed)
    return Classes.mistakes(model.progressive_fit(X, y), y > 0)


# ---- measurements


def measure_error(quick: bool) -> Numbers:
    """Online BBM over learners that are right with probability 1/2 + gamma: error against N."""
    T = 5_000 if quick else 200_000
    curves = []
    for gamma in (0.05, 0.1, 0.2):
        sizes = [N for N in (1, 3, 7, 15, 31, 61, 101, 201, 401, 801) if theory.phi0(N, gamma, "weight") * T >= 20]
        errors = [float(wrong(OnlineBBM(theory.Simulated(gamma, seed=N), N, gamma=gamma), T).mean()) for N in sizes]
        exact = [theory.phi0(N, gamma, "weight") for N in sizes]
        far = [abs(e - x) / math.sqrt(x * (1 - x) / T) for e, x in zip(errors, exact, strict=True)]
        bound = [math.exp(-2 * N * gamma**2) for N in sizes]
        curves.append(
            {"gamma": gamma, "N": sizes, "error": errors, "exact": exact, "hoeffding": bound, "far": max(far)}
        )
    return {"T": T, "curves": curves}


def measure_examples(quick: bool) -> Numbers:
    """Online BBM over two-phase learners: examples after which the progressive error stays at or below epsilon."""
    epsilon, delta, seeds = 0.1, 0.05, range(2 if quick else 20)
    least = math.log(1 / delta)
    by_excess = [(0.1, least / 0.1 * 2**k) for k in range(2 if quick else 6)]
    by_gamma = [(gamma, least / gamma) for gamma in ((0.1, 0.2) if quick else (0.0125, 0.025, 0.05, 0.1, 0.2))]
    found: Numbers = {"epsilon": epsilon, "delta": delta, "seeds": len(seeds)}
    for name, settings in (("excess", by_excess), ("gamma", by_gamma)):
        points = []
        for gamma, excess in settings:
            N = theory.n_learners(epsilon / 2, gamma, coin="weight")
            lower = theory.sample_complexity(epsilon, gamma, excess, algorithm="any", delta=delta)
            upper = theory.sample_complexity(epsilon, gamma, excess, coin="weight", delta=delta)
            needed = []
            for seed in seeds:
                learners = theory.two_phase_learners(gamma, excess, seed)
                mistakes = np.cumsum(wrong(OnlineBBM(learners, N, gamma=gamma), 2 * lower, seed))
                above = mistakes > epsilon * np.arange(1, 2 * lower + 1)
                needed.append(int(np.flatnonzero(above)[-1]) + 2)
            points.append({"gamma": gamma, "S": excess, "N": N, "lower": lower, "upper": upper, "needed": needed})
        found[name] = points
    return found


def measure_adaptivity(quick: bool) -> Numbers:
    """40 learners: 20 good ones, 10 that guess, 10 that are wrong more often than right."""
    edges = [0.25] * 20 + [0.0] * 10 + [-0.25] * 10
    N, T = len(edges), 2_000 if quick else 50_000
    at = np.unique(np.geomspace(100, T, 60).astype(int))
    learners = theory.Simulated(edges, seed=3)
    boosters = [
        AdaBoostOL(learners, N),
        OnlineBBM(learners, N, gamma=0.1),
        OSBoost(learners, N, gamma=0.1),
        OSBoostOCP(learners, N, gamma=0.1),
    ]
    errors = {}
    for model in boosters:
        errors[type(model).__name__] = (np.cumsum(wrong(model, T))[at - 1] / at).tolist()
    of_sum = np.ones(1)
    for edge in edges:
        of_sum = np.convolve(of_sum, [0.5 - edge, 0.5 + edge])
    known = binom(30, 0.75)
    return {
        "T": T,
        "edges": edges,
        "at": at.tolist(),
        "errors": errors,
        "majority": float(of_sum[: N // 2].sum() + of_sum[N // 2] / 2),
        "best": float(known.cdf(14) + known.pmf(15) / 2),
        "alphas": boosters[0].alphas_.tolist(),
        "measured": (boosters[0].edges_ / 2).tolist(),
    }


def measure_table1(quick: bool) -> Numbers:
    """The least odd number of learners with an error of at most epsilon on the second half of a stream."""
    gamma, T = 0.2, 10_000 if quick else 200_000
    sizes = list(range(1, 32 if quick else 82, 2))
    boosters: dict[str, Callable[[Any, int], Any]] = {
        "OnlineBBM": lambda learner, N: OnlineBBM(learner, N, gamma=gamma),
        "OSBoost": lambda learner, N: OSBoost(learner, N, gamma=gamma),
        "AdaBoostOL": lambda learner, N: AdaBoostOL(learner, N),
    }
    errors = {
        name: [float(wrong(make(theory.Simulated(gamma, seed=4), N), T)[T // 2 :].mean()) for N in sizes]
        for name, make in boosters.items()
    }
    epsilons = [0.3, 0.2, 0.1] if quick else [0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001]
    coins = {name: [least(sizes, found, epsilon) for epsilon in epsilons] for name, found in errors.items()}
    bounds = {
        name: [theory.n_learners(epsilon, gamma, coin="weight", algorithm=name) for epsilon in epsilons]
        for name in ("OnlineBBM", "AdaBoostOL", "OSBoost", "any")
    }
    worst: Numbers = {"N": [], "error": [], "program": [], "edge": [], "bound": []}
    for N in (5, 9) if quick else (5, 11, 21, 31, 41, 61, 81, 101, 141, 181):
        value, right = worst_learners(smooth_weights(N, gamma), 2 * gamma)
        model = boosters["OSBoost"](Scripted(right, seed=N), N)
        worst["error"].append(float(wrong(model, T).mean()))
        worst["edge"].append(float(model.edges_.min() / 2))
        worst["N"].append(N)
        worst["program"].append(value)
        worst["bound"].append(theory.osboost_bound(1, N, gamma, 0, coin="weight").rate)
    return {"gamma": gamma, "T": T, "epsilons": epsilons, "coins": coins, "bounds": bounds, "worst": worst}


def least(sizes: list[int], errors: list[float], epsilon: float) -> int | None:
    return next((N for N, error in zip(sizes, errors, strict=True) if error <= epsilon), None)


# ---- plots


def draw_error(found: Numbers) -> Figure:
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axis = figure.subplots()
    for color, curve in zip(COLORS, found["curves"], strict=False):
        gamma, top = curve["gamma"], curve["N"][-1]
        N = np.unique(np.geomspace(1, top, 60).astype(int) // 2 * 2 + 1)
        axis.plot(N, [theory.phi0(int(n), gamma, "weight") for n in N], color=color, label=f"exact, gamma = {gamma}")
        axis.plot(N, np.exp(-2 * N * gamma**2), "--", color=color, linewidth=1)
        axis.plot(curve["N"], curve["error"], "o", color=color, markersize=4)
    axis.plot([], [], "o", color="gray", label="measured")
    axis.plot([], [], "--", color="gray", label="Hoeffding: exp(-2 N gamma^2)")
    axis.set(xscale="log", yscale="log", ylim=(5 / found["T"], 1.2), xlabel="learners N", ylabel="error of Online BBM")
    axis.legend()
    return figure


def draw_examples(found: Numbers) -> Figure:
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axis, (name, key, label) in zip(
        figure.subplots(1, 2, sharey=True),
        (("excess", "S", "excess loss S (gamma = 0.1)"), ("gamma", "gamma", "edge gamma (S = ln 20 / gamma)")),
        strict=True,
    ):
        x = [point[key] for point in found[name]]
        axis.plot(x, [point["upper"] for point in found[name]], "--", color=COLORS[1], label="enough: Theorem 2")
        axis.plot(x, [np.median(point["needed"]) for point in found[name]], "o", color=COLORS[0], label="measured")
        axis.plot(x, [point["lower"] for point in found[name]], color=COLORS[2], label="needed by any: Theorem 3")
        axis.set(xscale="log", yscale="log", xlabel=label)
        axis.minorticks_off()
        axis.set_xticks(x, [f"{value:.3g}" for value in x])
    figure.axes[0].set_ylabel(f"examples until the error is {found['epsilon']}")
    figure.axes[0].legend()
    return figure


def draw_adaptivity(found: Numbers) -> Figure:
    figure = Figure(figsize=(9, 4), layout="constrained")
    panels = figure.subplot_mosaic([["errors", "alphas"], ["errors", "edges"]])
    for color, (name, errors) in zip(COLORS, found["errors"].items(), strict=True):
        style = "--" if name == "OSBoost" else "-"  # drawn over Online BBM's, which is the same
        panels["errors"].plot(found["at"], errors, style, color=color, label=name)
    for value, name in ((found["majority"], "majority, exact"), (found["best"], "best possible")):
        panels["errors"].axhline(value, color="black", linestyle=":", linewidth=1)
        panels["errors"].annotate(name, (found["T"], value), (0, 3), textcoords="offset points", ha="right", fontsize=8)
    panels["errors"].set(xscale="log", yscale="log", xlabel="examples", ylabel="progressive error")
    panels["errors"].legend(loc="upper right", bbox_to_anchor=(1, 0.9))
    number = np.arange(1, len(found["edges"]) + 1)
    odds = [math.log((0.5 + edge) / (0.5 - edge)) for edge in found["edges"]]
    for name, values, true in (
        ("alphas", found["alphas"], odds),
        ("edges", found["measured"], found["edges"]),
    ):
        panels[name].bar(number, values, color=[COLORS[1] if value < 0 else COLORS[0] for value in values])
        panels[name].step(number, true, where="mid", color="black", linewidth=0.8)
    panels["alphas"].set_ylabel("alpha; log odds")
    panels["edges"].set(xlabel="learner", ylabel="edge; true")
    return figure


def draw_table1(found: Numbers) -> Figure:
    figure = Figure(figsize=(7, 4.8), layout="constrained")
    axis = figure.subplots()
    x = 1 / np.array(found["epsilons"])
    for color, (name, N) in zip(COLORS, found["coins"].items(), strict=False):
        marker, size = {"OnlineBBM": ("o", 9), "OSBoost": ("s", 6), "AdaBoostOL": ("x", 4)}[name]
        needed = [math.nan if n is None else n for n in N]
        axis.plot(x, needed, marker, color=color, markersize=size, fillstyle="none", label=f"{name}, measured: coins")
        axis.plot(x, found["bounds"][name], "--", color=color, linewidth=1, label=f"{name}, enough")
    worst = found["worst"]
    axis.plot(
        1 / np.array(worst["error"]), worst["N"], "D-", color=COLORS[1], markersize=4, label="OSBoost, measured: worst"
    )
    axis.plot(x, found["bounds"]["any"], color="gray", linewidth=1, label="needed by any (coins of 1/2 + 2 gamma)")
    axis.set(xscale="log", yscale="log", xlabel="1 / epsilon", ylabel="learners N for an error of epsilon")
    axis.legend(fontsize=8)
    return figure


# ---- captions


def caption_error(found: Numbers) -> str:
    far = max(curve["far"] for curve in found["curves"])
    curve = found["curves"][1]
    n = curve["N"].index(101) if 101 in curve["N"] else -1
    return (
        f"Online BBM over independent coins, right with probability 1/2 + gamma, {found['T']:,} examples each. Every "
        f"point lies on the binomial tail, within {far:.1f} standard errors. With gamma = {curve['gamma']} and "
        f"N = {curve['N'][n]} the measured error is {curve['error'][n]:.4f}, the exact one {curve['exact'][n]:.4f}; "
        f"Hoeffding's bound is {curve['hoeffding'][n]:.4f}."
    )


def caption_examples(found: Numbers) -> str:
    points = found["excess"] + found["gamma"]
    ratios = [np.median(point["needed"]) / point["lower"] for point in points]
    upper = [point["upper"] / np.median(point["needed"]) for point in points]
    return (
        f"Two-phase learners, epsilon = {found['epsilon']}, medians of {found['seeds']} runs. The number of examples "
        f"grows as S and as 1 / gamma^2, and is {min(ratios):.2f} to {max(ratios):.2f} times the lower bound "
        "S / (8 epsilon gamma), whose proof uses these learners. Theorem 2 holds for all learners and needs "
        f"{min(upper):.0f} to {max(upper):.0f} times as many."
    )


def caption_adaptivity(found: Numbers) -> str:
    last = {name: errors[-1] for name, errors in found["errors"].items()}
    alphas = np.array(found["alphas"])
    return (
        f"20 learners with edge .25, 10 with 0, 10 with -.25. After {found['T']:,} examples "
        f"AdaBoost.OL has an error of {last['AdaBoostOL']:.4f}; the best possible is {found['best']:.4f}, the rest "
        f"is the cost of learning. Online BBM has {last['OnlineBBM']:.4f} and OSBoost {last['OSBoost']:.4f}, that of a "
        f"plain majority ({found['majority']:.4f}). OSBoost.OCP learns non-negative weights, so it cannot invert a "
        f"learner: {last['OSBoostOCP']:.4f}. AdaBoost.OL's alphas average {alphas[:20].mean():+.2f}, "
        f"{alphas[20:30].mean():+.2f} and {alphas[30:].mean():+.2f}; the log odds are +1.10, 0 and -1.10."
    )


def caption_table1(found: Numbers) -> str:
    at = found["epsilons"].index(0.01) if 0.01 in found["epsilons"] else -1
    epsilon = found["epsilons"][at]
    coins = {name: N[at] for name, N in found["coins"].items()}
    bounds = {name: N[at] for name, N in found["bounds"].items()}
    worst = found["worst"]
    N, error = (np.log(worst[key][(len(worst[key]) - 1) // 2 :]) for key in ("N", "error"))
    slope = (error[-1] - error[0]) / (N[-1] - N[0])
    apart = max(abs(e - p) for e, p in zip(worst["error"], worst["program"], strict=True))
    return (
        f"Learners with gamma = {found['gamma']} and weights. Over independent coins the three algorithms need the "
        f"same number: for epsilon = {epsilon} Online BBM needs {coins['OnlineBBM']} learners, OSBoost "
        f"{coins['OSBoost']}, AdaBoost.OL {coins['AdaBoostOL']}; the bounds are {bounds['OnlineBBM']:,}, "
        f"{bounds['OSBoost']:,} and {bounds['AdaBoostOL']:,}. Coins do not show Table 1: they ignore weights, so the "
        "first two algorithms are the same majority vote. Coins are Online BBM's worst case, as is every learner "
        "with exactly its edge. OSBoost's worst case (diamonds) is found by a linear program and then run; the two "
        f"differ by at most {apart:.4f}. Its error is {worst['error'][-1]:.3f} with {worst['N'][-1]} learners, where "
        f"Online BBM guarantees {theory.phi0(worst['N'][-1], found['gamma'], 'weight'):.0e}, and falls as "
        f"N^{slope:.1f}. So the 1 / epsilon of Table 1 is real; its constant is "
        f"{worst['bound'][-1] / worst['error'][-1]:.1f} times too large here. AdaBoost.OL's worst case is not known."
    )


PICTURES: dict[str, tuple[str, Callable[..., Numbers], Callable[..., Figure], Callable[..., str]]] = {
    "error": ("Error against the number of learners", measure_error, draw_error, caption_error),
    "examples": ("Examples needed", measure_examples, draw_examples, caption_examples),
    "adaptivity": ("Learners that differ", measure_adaptivity, draw_adaptivity, caption_adaptivity),
    "table1": ("Table 1, measured", measure_table1, draw_table1, caption_table1),
}


def blocks() -> dict[str, str]:
    numbers = kept(FIGURES)
    parts = []
    for name, (title, _, _, caption) in PICTURES.items():
        text = textwrap.fill(f"**{title}.** {caption(numbers[name])}", 130)
        parts.append(f"{text}\n\n![{title}](theory/{name}.svg)")
    return {"plots": "\n\n".join(parts), "best error": f"{numbers['adaptivity']['best']:.4f}"}


def draw(source: Path, folder: Path) -> None:
    numbers = kept(source)
    with matplotlib.rc_context({"font.size": 9}):
        for name, (_, _, plot, _) in PICTURES.items():
            save(plot(numbers[name]), folder / f"{name}.svg", source)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short streams, few points: a test run")
    parser.add_argument("--output", type=Path, help="folder of all files (default: docs/figures and docs/theory)")
    options = parser.parse_args(arguments)
    folder = options.output or OUTPUT
    source = options.output / FIGURES.name if options.output else FIGURES
    numbers = {}
    with Progress(transient=True) as progress:
        task = progress.add_task("", total=len(PICTURES))
        for name, (title, measure, _, caption) in PICTURES.items():
            progress.update(task, description=title)
            numbers[name] = measure(options.quick)
            progress.console.print(f"{title}. {caption(numbers[name])}\n", highlight=False)
            progress.advance(task)
    keep(source, numbers)
    draw(source, folder)


if __name__ == "__main__":
    main()
