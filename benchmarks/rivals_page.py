"""The tables of docs/benchmarks.md and of the README, and the picture of error against speed, from committed figures.

python benchmarks/rivals_page.py
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
import pages
from figures import FOLDER, kept, table
from rivals_worker import EVERY, WINDOW

FIGURES, VALIDATION = FOLDER / "rivals.json", FOLDER / "validation.json"
DEFAULT = "OnlineBoost()"
EFFORTS = ('OnlineBoost("low")', DEFAULT, 'OnlineBoost("high")')
PARTS = {
    "boosted linear": '`OnlineBBM(Linear(standardize=True), 21, head="stack")`',
    "boosted deep trees": '`Restarting(OnlineBBM(Tree(8), 21, head="stack"))`',
    "boosted shallow trees": '`OnlineBBM(Tree(5, bins=64), 21, head="stack")`',
    "Newton": "`Newton()`",
    "naive Bayes": "`NaiveBayes()`",
    "linear": '`Linear("logistic", standardize=True)`',
    "fast linear": "`Linear(standardize=True, learning_rate=32.0)`",
}
RIVALS = {
    "VW": "Vowpal Wabbit, `--loss_function logistic --link logistic`",
    "VW boosting": "Vowpal Wabbit, `--boosting 10 --alg BBM`; it predicts labels, so it has no log loss",
    "SGD": 'scikit-learn\'s `SGDClassifier(loss="log_loss")` behind a `StandardScaler`, both with `partial_fit` in '
    "batches of 100 rows; a batch is predicted before it is learned",
    "LightGBM": "retrained on all rows so far at row 256, 512, 1,024, ...; it keeps all rows",
    "LightGBM last window": f"retrained at row 256, 512, {EVERY:,} and then every {EVERY:,} rows, on the last "
    f"{WINDOW:,} rows only",
    "River LR": "River's `StandardScaler() | LogisticRegression()`",
    "River HT": "River's `HoeffdingTreeClassifier()`",
    "River AMF": "River's Mondrian forest, `AMFClassifier()`: 10 trees",
    "River ARF": "River's adaptive random forest, `ARFClassifier()`: 10 trees",
    "CapyMOA ARF": "CapyMOA's `AdaptiveRandomForestClassifier`, 30 trees (its default: 100)",
    "CapyMOA SRP": "CapyMOA's `StreamingRandomPatches`, 30 trees (its default: 100)",
    "CapyMOA SGBT": "CapyMOA's `StreamingGradientBoostedTrees()`: 100 trees",
}
NO_CHANGE = "no change"
README = (*EFFORTS, "LightGBM", "CapyMOA SRP", "CapyMOA ARF", "CapyMOA SGBT", "River AMF", "VW boosting", "River LR")
SEEN = ("letter", "activity", "nomao", "poker", "adult", "a9a", "covtype", "bio", "census", "rcv1", "20news", "elec")
OLD_RIVALS = ("ARF", "SRP", "AMF", "LightGBM")  # of the validation
FIRST = 1_000
Run = dict[str, Any]
Streams = dict[str, Any]  # by name: facts, and runs by model


def error(run: Run) -> float:
    return run["mistakes"] / run["rows"]


def finished(streams: Streams, models: Iterable[str]) -> list[str]:
    """Streams that all these models have figures of."""
    return [name for name in streams if all("rows" in streams[name]["models"].get(model, {}) for model in models)]


def mean(streams: Streams, names: list[str], model: str, value: Callable[[Run], float]) -> float:
    return statistics.mean(value(streams[name]["models"][model]) for name in names)


def speed(streams: Streams, names: list[str], model: str) -> float:
    """Geometric mean of the examples per second."""
    runs = (streams[name]["models"][model] for name in names)
    return statistics.geometric_mean(run["rows"] / max(run["seconds"], 1e-4) for run in runs)


def duel(ours: list[Run], theirs: list[Run]) -> str:
    """Streams won and lost, and the geometric mean of our error over theirs, where both were run.

    >>> mine = [{"mistakes": 9, "rows": 100}, {"mistakes": 19, "rows": 100}, {"skipped": "too slow"}]
    >>> duel(mine, [{"mistakes": 19, "rows": 100}, {"mistakes": 9, "rows": 100}, {"mistakes": 1, "rows": 100}])
    '1-1, 1.00'
    """
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if "rows" in a and "rows" in b]
    if not pairs:
        return "-"
    won = sum(a["mistakes"] < b["mistakes"] for a, b in pairs)
    lost = sum(a["mistakes"] > b["mistakes"] for a, b in pairs)
    ratio = statistics.geometric_mean((a["mistakes"] + 1) / (b["mistakes"] + 1) for a, b in pairs)
    return f"{won}-{lost}, {ratio:.2f}"


def shown(model: str) -> str:
    return f"`{model}`" if model.endswith(")") else model


def measures(streams: Streams, names: list[str], model: str) -> list[str]:
    """The cells of a model: error, first rows, log loss, speed, memory."""
    runs = [streams[name]["models"][model] for name in names]
    first = mean(streams, names, model, lambda run: run["first"] / min(run["rows"], FIRST))
    losses = [run["log_loss"] for run in runs if "log_loss" in run]
    loss = f"{statistics.mean(losses):.3f}" if len(losses) == len(runs) else "-"
    rate, memory = speed(streams, names, model), mean(streams, names, model, lambda run: run["memory"])
    size = f"{memory:,.0f} MB" if memory >= 1 else "under 1 MB"
    return [f"{mean(streams, names, model, error):.4f}", f"{first:.4f}", loss, f"{float(f'{rate:.2g}'):,.0f}", size]


HEAD = ["model", "error", f"first {FIRST:,} rows", "log loss", "examples/s", "memory"]


def short_table(streams: Streams, names: list[str]) -> str:
    by_error = sorted(README, key=lambda model: mean(streams, names, model, error))
    rows = [[shown(model), *measures(streams, names, model)] for model in by_error]
    return table(HEAD, [*rows, [NO_CHANGE, *repeating(streams, names, [names]), "-", "-", "-"]])


def repeating(streams: Streams, names: list[str], groups: list[list[str]]) -> list[str]:
    """The mean errors of repeating the last label, and that of the first rows."""
    first = mean(streams, names, NO_CHANGE, lambda run: run["first"] / min(run["rows"], FIRST))
    return [*(f"{mean(streams, some, NO_CHANGE, error):.4f}" for some in groups), f"{first:.4f}"]


def long_table(streams: Streams, names: list[str]) -> str:
    """All models, with the error on streams that were used in development and on those that were not."""
    halves = [[n for n in names if n in SEEN], [n for n in names if n not in SEEN]]
    heads = [f"on the {len(halves[0])} used in development", f"on the {len(halves[1])} others"]
    rows = []
    for model in (*EFFORTS, *PARTS, *RIVALS):
        cells = measures(streams, names, model)
        rows.append(
            [shown(model), cells[0], *(f"{mean(streams, half, model, error):.4f}" for half in halves), *cells[1:]]
        )
    rows.append([NO_CHANGE, *repeating(streams, names, [names, *halves]), "-", "-", "-"])
    return table([*HEAD[:2], *heads, *HEAD[2:]], rows)


def duels(streams: Streams, ours: Iterable[str], rivals: Iterable[str]) -> str:
    runs = {m: [streams[n]["models"].get(m, {}) for n in streams] for m in (*ours, *rivals)}
    rows = ([rival, *(duel(runs[model], runs[rival]) for model in ours)] for rival in rivals)
    return table(["rival", *(f"`{model}`" for model in ours)], rows)


def losses(streams: Streams, value: Callable[[Run], float | None], form: Callable[[float], str]) -> str:
    """Streams where a rival does better than the default, the best rival first."""
    rows = []
    for name, stream in streams.items():
        found = {model: value(run) for model, run in stream["models"].items() if model in (DEFAULT, NO_CHANGE, *RIVALS)}
        known = {model: number for model, number in found.items() if number is not None}
        better = sorted((number, model) for model, number in known.items() if number < known[DEFAULT])
        if better:
            names = ", ".join(f"{model} {form(number)}" for number, model in better)
            rows.append([name, form(known[DEFAULT]), names])
    return table(["stream", f"`{DEFAULT}`", "better"], rows, words=3)


def percent(number: float) -> str:
    return f"{100 * number:.2f} %"


def errors(streams: Streams, models: Iterable[str]) -> str:
    """Error in percent, of every stream; the lowest in bold."""
    rows = []
    for name in streams:
        runs = streams[name]["models"]
        known = {model: error(runs[model]) for model in models if "rows" in runs.get(model, {})}
        cells = [f"{100 * known[model]:.2f}" if model in known else "-" for model in models]
        best = min(known.values())
        marked = [f"**{c}**" if known.get(m) == best else c for m, c in zip(models, cells, strict=True)]
        rows.append([name, f"{runs[NO_CHANGE]['rows']:,}", *marked])
    return table(["stream", "rows", *map(shown, models)], rows)


def without_figures(streams: Streams) -> str:
    """Runs that were stopped or skipped, by reason."""
    lines = []
    for model in (*EFFORTS, *PARTS, *RIVALS):
        runs = {name: stream["models"].get(model, {"skipped": "not run"}) for name, stream in streams.items()}
        why = {name: run.get("stopped") or run.get("skipped") for name, run in runs.items() if "rows" not in run}
        if why:
            reasons = (f"{', '.join(n for n in why if why[n] == one)} ({one})" for one in dict.fromkeys(why.values()))
            lines.append([model, "; ".join(map(str, reasons))])
    return table(["model", "streams without figures"], lines, words=2)


def facts(streams: Streams) -> str:
    rows = []
    for name, stream in streams.items():
        order = {"time": "time", "shuffled": "shuffled"}.get(stream["order"], "that of the source")
        used = "yes" if name in SEEN else "no"
        rows.append([name, order, used, f"{stream['rows']:,}", f"{stream['features']:,}", percent(stream["positive"])])
    return table(["stream", "order", "used in development", "rows", "features", "positive"], rows, words=3)


def summary(streams: Streams, names: list[str]) -> str:
    """A sentence: the default beside the most accurate rival."""
    best = min(RIVALS, key=lambda model: mean(streams, names, model, error))
    ours, theirs = (100 * mean(streams, names, model, error) for model in (DEFAULT, best))
    ratio = speed(streams, names, DEFAULT) / speed(streams, names, best)
    faster = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"
    return (
        f"Over {len(names)} public streams `{DEFAULT}` has a mean error of {ours:.1f} %; the most accurate of "
        f"{len(RIVALS)} rivals, {best}, has {theirs:.1f} % and takes {faster} times as long"
    )


def unseen(streams: Streams, names: list[str]) -> str:
    """The default beside the most accurate rival on streams that were not used in development."""
    others = [name for name in names if name not in SEEN]
    best = min(RIVALS, key=lambda model: mean(streams, others, model, error))
    return ", ".join(f"{shown(model)} {mean(streams, others, model, error):.4f}" for model in (DEFAULT, best))


def first_error(run: Run) -> float | None:
    """Error on the first rows of a run with figures."""
    return run["first"] / min(run["rows"], FIRST) if "rows" in run else None


def cheaper(streams: Streams, names: list[str]) -> str:
    """Rivals that take less time or less memory than the default, with the factor, and with their error over ours."""
    ours = {"time": 1 / speed(streams, names, DEFAULT), "memory": memory(streams, names, DEFAULT)}
    rows = []
    for model in RIVALS:
        theirs = {"time": 1 / speed(streams, names, model), "memory": memory(streams, names, model)}
        if any(theirs[key] < ours[key] for key in ours):
            less = [share(theirs[key], ours[key]) for key in ours]
            ratio = mean(streams, names, model, error) / mean(streams, names, DEFAULT, error)
            rows.append([model, *less, f"{ratio:.2f}"])
    return table(["rival", "its time / ours", "its memory / ours", "its error / ours"], rows)


def listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def memory(streams: Streams, names: list[str], model: str) -> float:
    return mean(streams, names, model, lambda run: max(run["memory"], 0.1))


def share(theirs: float, ours: float) -> str:
    """Two digits.

    >>> share(1, 3), share(1, 300), share(4000, 3)
    ('0.33', '0.0033', '1,300')
    """
    return f"{float(f'{theirs / ours:.2g}'):,g}" if theirs < 1000 * ours else f"{float(f'{theirs / ours:.2g}'):,.0f}"


def slower(streams: Streams, names: list[str], rival: str = "LightGBM") -> str:
    """The number of streams on which a rival takes less time than the default."""
    seconds = [[streams[name]["models"][model]["seconds"] for model in (DEFAULT, rival)] for name in names]
    return f"{sum(ours > theirs for ours, theirs in seconds)} of {len(names)}"


def lost(streams: Streams, rivals: Iterable[str], ours: str = DEFAULT) -> str:
    """The number of streams on which a rival has a lower error than the default."""
    runs = [{m: error(r) for m, r in stream["models"].items() if "rows" in r} for stream in streams.values()]
    better = sum(min((run[m] for m in rivals if m in run), default=1.0) < run[ours] for run in runs)
    return f"{better} of {len(streams)}"


def lowest(streams: Streams) -> str:
    """On how many streams the default has the lowest error, and one of its efforts has."""
    counts = []
    for ours in ((DEFAULT,), EFFORTS):
        best = 0
        for stream in streams.values():
            known = {m: r["mistakes"] for m, r in stream["models"].items() if "rows" in r}
            rivals = [known[m] for m in (*RIVALS, NO_CHANGE) if m in known]
            best += min(known[m] for m in ours) < min(rivals)
        counts.append(best)
    first = f"on {counts[0]} of {len(streams)} streams `{DEFAULT}` has a lower error than every rival that was run"
    return f"{first}, on {counts[1]} at least one of the three efforts does"


def lost_by_rival(streams: Streams, rivals: Iterable[str]) -> str:
    """The streams on which each rival has a lower error than the default."""
    rows = []
    for rival in rivals:
        names = [name for name in sorted(streams) if lost({name: streams[name]}, [rival])[0] == "1"]
        rows.append([rival, str(len(names)), ", ".join(names) or "-"])
    return table(["rival", "lost", "streams"], rows, words=3)


def setting(run: Run) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    text = f" ({run['text limit']:g} s on text)" if run.get("text limit", run["limit"]) != run["limit"] else ""
    limits = f"{run['rows']:,} rows of each stream, at most {run['limit']:g} s of CPU time a run{text}"
    return f"{limits}; {versions}; {run['machine']}"


def validation() -> dict[str, str]:
    streams = kept(VALIDATION)
    ours = [m for m in next(iter(streams.values()))["models"] if m not in (*OLD_RIVALS, NO_CHANGE)]
    names = finished(streams, [*ours, *OLD_RIVALS, NO_CHANGE])
    rows = []
    for model in (*ours, *OLD_RIVALS, NO_CHANGE):
        runs = [streams[name]["models"][model] for name in names]
        first = mean(streams, names, model, lambda run: run["first"] / min(run["rows"], FIRST))
        seconds = sum(run["seconds"] for run in runs)
        rate = f"{sum(run['rows'] for run in runs) / seconds:,.0f}" if seconds else ""
        name = f"`{model}`" if model in ours else model
        rows.append([name, f"{mean(streams, names, model, error):.4f}", f"{first:.4f}", rate])
    return {
        "validation duels": duels(streams, ours, OLD_RIVALS),
        "validation lost": lost_by_rival(streams, (*OLD_RIVALS, NO_CHANGE)),
        "validation measured": json.loads(VALIDATION.read_text())["measured"]["date"],
        "validation count": str(len(streams)),
        "validation finished": str(len(names)),
        "validation means": table(["model", "error", f"first {FIRST:,} rows", "examples/s"], rows),
        "validation streams": errors(
            dict(sorted(streams.items())), ["SafeBoost(Linear)", DEFAULT, *OLD_RIVALS, NO_CHANGE]
        ),
    }


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    streams = found["streams"]
    names = finished(streams, (*EFFORTS, *PARTS, *RIVALS))
    everyone = (*EFFORTS, *RIVALS, NO_CHANGE)
    return validation() | {
        "rivals": short_table(streams, names),
        "rivals summary": summary(streams, names),
        "rivals unseen": unseen(streams, names),
        "rivals rows": f"{found['run']['rows']:,}",
        "rivals count": str(len(streams)),
        "rivals finished": str(len(names)),
        "rivals setting": setting(found["run"]),
        "rivals models": "\n".join(f"- **{name}**: {what}" for name, what in (PARTS | RIVALS).items()),
        "rivals all": long_table(streams, names),
        "rivals duels": duels(streams, EFFORTS, RIVALS),
        "rivals lowest": lowest(streams),
        "rivals cheaper": cheaper(streams, names),
        "rivals slower": slower(streams, names),
        "rivals faster": listed(m for m in RIVALS if speed(streams, names, m) > speed(streams, names, DEFAULT)),
        "rivals smaller": listed(m for m in RIVALS if memory(streams, names, m) < memory(streams, names, DEFAULT)),
        "rivals lost to LightGBM": lost(streams, ("LightGBM", "LightGBM last window")),
        "rivals lost to forests": lost(streams, [name for name in RIVALS if name.startswith(("River A", "CapyMOA"))]),
        "rivals lost to no change": lost(streams, [NO_CHANGE]),
        "rivals first": losses(streams, first_error, percent),
        "rivals losses": losses(streams, lambda run: error(run) if "rows" in run else None, percent),
        "rivals log losses": losses(streams, lambda run: run.get("log_loss"), lambda loss: f"{loss:.4f}"),
        "rivals errors": errors(streams, everyone),
        "rivals streams": facts(streams),
        "rivals without figures": without_figures(streams),
    }


def main() -> None:
    import rivals_picture

    rivals_picture.main()
    pages.main()


if __name__ == "__main__":
    main()
