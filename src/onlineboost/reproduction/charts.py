"""The charts of a report, as SVG: error curves of a set, and bars of the mean improvements."""

from __future__ import annotations

import math
from html import escape
from typing import NamedTuple

from onlineboost.reproduction.figures import COLUMNS, Average, Results, Summary, best_over_trees, find
from onlineboost.reproduction.protocol import ALGORITHMS
from onlineboost.reproduction.tables import percent

CURVES = ("linear baseline", "Online BBM, linear", "best of the paper's algorithms over trees", "SafeBoost, trees")
BARS = ("the paper, on these sets", "pseudo-code", "VW variants", "vw itself")
WIDTH = 360
_HEIGHT = 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 10, 26
_SPAN = 100  # the last two decades of examples are drawn: earlier errors are noise


class _Axis(NamedTuple):
    """Scale from numbers to pixels."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.stop - self.start)


def curves(each: Results) -> str:
    """Progressive error since the start against examples, on a logarithmic axis; empty without curves.

    Line k has the class ``line sk``, in the order of ``CURVES``.
    """
    chosen = [find(each, "baseline", "paper"), find(each, "bbm", "paper")]
    chosen += [best_over_trees(each, COLUMNS), find(each, "safe", "trees")]
    lines = [[(float(n), float(error)) for n, error in (entry or {}).get("curve") or []] for entry in chosen]
    last = max((n for line in lines for n, _ in line), default=0.0)
    lines = [[(n, error) for n, error in line if n >= last / _SPAN and n > 0] for line in lines]
    points = [point for line in lines for point in line]
    if not points:
        return ""
    first, errors = min(n for n, _ in points), [error for _, error in points]
    margin = 0.05 * (max(errors) - min(errors)) or 0.05
    across = _Axis(math.log(first), math.log(max(last, 2 * first)), _LEFT, WIDTH - _RIGHT)
    up = _Axis(max(0, min(errors) - margin), max(errors) + margin, _HEIGHT - _BOTTOM, _TOP)
    parts = [*_grid(up), *_decades(across)]
    for k, line in enumerate(lines):
        if line:
            drawn = " ".join(f"{across(math.log(n)):.1f},{up(error):.1f}" for n, error in line)
            parts.append(f'<polyline class="line s{k}" points="{drawn}"/>')
    ends = [f"{name} {line[-1][1]:.4f}" for name, line in zip(CURVES, lines, strict=True) if line]
    return _svg(f"{each['name']}: progressive error at the end: {', '.join(ends)}", _HEIGHT, parts)


def bars(results: Results, summary: Summary) -> str:
    """Mean improvements by algorithm, the paper's and ours; bar k of a group has the class ``sk``, as in ``BARS``."""
    sources = [summary.paper, *(summary.ours.get(setting, {}) for setting in ("paper", "vw", "vw itself"))]
    shown = [family for family in ALGORITHMS if any(family in source for source in sources)]
    if not shown:
        return ""
    means = [source[family].mean for source in sources for family in shown if family in source]
    along = _Axis(min(0, *means), max(0.001, *means), 100, WIDTH - 56)
    zero, y, parts, labels = along(0), 6, [], []
    for family in shown:
        name = results["families"][family]
        present = [(k, source[family]) for k, source in enumerate(sources) if family in source]
        parts.append(f'<text x="92" y="{y + 6.5 * len(present) + 4:.1f}" text-anchor="end">{escape(name)}</text>')
        for k, found in present:
            parts += _bar(along, found, k, y)
            y += 13
        labels.append(f"{name} " + ", ".join(f"{BARS[k]} {percent(found.mean, 2)}" for k, found in present))
        y += 9
    parts.append(f'<line class="axis" x1="{zero:.1f}" x2="{zero:.1f}" y1="2" y2="{y - 4}"/>')
    return _svg("Fewer mistakes than the baseline, mean: " + "; ".join(labels), y, parts)


def key(kind: str, k: int) -> str:
    """The legend symbol of line or bar k."""
    shape = '<line x1="0" x2="30" y1="6" y2="6"' if kind == "line" else '<rect x="9" width="12" height="12"'
    return f'<svg class="key" viewBox="0 0 30 12" aria-hidden="true">{shape} class="{kind} s{k}"/></svg>'


def _bar(along: _Axis, found: Average, k: int, y: float) -> list[str]:
    zero, end = along(0), along(found.mean)
    left, right = min(zero, end), max(zero, end)
    return [
        f'<rect class="bar s{k}" x="{left:.1f}" y="{y}" width="{right - left:.1f}" height="11"/>',
        f'<text class="small" x="{right + 4:.1f}" y="{y + 9}">{percent(found.mean, 2)}</text>',
    ]


def _grid(up: _Axis) -> list[str]:
    """Horizontal lines at round errors."""
    step = _round_step((up.high - up.low) / 5)
    digits = max(0, -math.floor(math.log10(step)))
    parts = []
    for i in range(math.ceil(up.low / step), math.floor(up.high / step) + 1):
        y = up(i * step)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{i * step:.{digits}f}</text>')
    return parts


def _decades(across: _Axis) -> list[str]:
    """Ticks at 1, 2 and 5 times the powers of ten, as far as the labels do not overlap."""
    parts, free = [], 0.0
    base = _HEIGHT - _BOTTOM
    parts.append(f'<line class="axis" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{base}" y2="{base}"/>')
    for power in range(10):
        for n in (10**power, 2 * 10**power, 5 * 10**power):
            x = across(math.log(n))
            if max(free, _LEFT + 8) <= x <= WIDTH - _RIGHT - 12:
                label = f"{n // 1000:,}k" if n >= 1000 else str(n)
                parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{base}" y2="{base + 4}"/>')
                parts.append(f'<text x="{x:.1f}" y="{base + 17}" text-anchor="middle">{label}</text>')
                free = x + 40
    return parts


def _round_step(rough: float) -> float:
    """The next number up among 1, 2 and 5 times the powers of ten.

    >>> _round_step(0.013)
    0.02
    """
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.999)


def _svg(label: str, height: float, parts: list[str]) -> str:
    """An SVG image with a text alternative."""
    start = f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(label)}">'
    return start + "".join(parts) + "</svg>"
