"""Blocks of docs/benchmarks.md on losses that are not tables of ``rivals_page.py``, from the same figures."""

from __future__ import annotations

from typing import Any

import rivals_page
from figures import kept
from rivals_page import DEFAULT, EFFORTS, FIGURES, PARTS, RIVALS, error, finished, mean, speed

HIGH = EFFORTS[-1]


def log_losses(streams: dict[str, Any]) -> str:
    """Streams on which a rival has a lower log loss than the default, or that there is none."""
    table = rivals_page.losses(streams, lambda run: run.get("log_loss"), lambda loss: f"{loss:.4f}")
    return table if len(table.splitlines()) > 2 else "No stream."


def high(streams: dict[str, Any], names: list[str]) -> str:
    """The high effort beside the default: error, streams that it loses, time."""
    lost = sum(error(streams[name]["models"][HIGH]) > error(streams[name]["models"][DEFAULT]) for name in streams)
    errors = [f"{100 * mean(streams, names, model, error):.2f} %" for model in (HIGH, DEFAULT)]
    times = speed(streams, names, DEFAULT) / speed(streams, names, HIGH)
    return (
        f"mean error {errors[0]}, the default's {errors[1]}; more mistakes than the default on {lost} of "
        f"{len(streams)} streams, CPU time times {times:.1f}"
    )


def not_run(sets: dict[str, Any]) -> str:
    """Rivals of the sets with several classes that have no figures, by rival."""
    rivals = {"LightGBM": 0} | {model: 0 for one in sets.values() for model in one["models"]}
    missing = {model: [name for name, one in sets.items() if model not in one["models"]] for model in rivals}
    return "; ".join(f"{model} on {', '.join(names)}" for model, names in missing.items() if names) or "none"


def blocks() -> dict[str, str]:
    streams = kept(FIGURES)["streams"]
    names = finished(streams, (*EFFORTS, *PARTS, *RIVALS))
    classes = not_run(kept(FIGURES.with_name("classes.json")))
    return {"log losses": log_losses(streams), "high effort": high(streams, names), "classes not run": classes}
