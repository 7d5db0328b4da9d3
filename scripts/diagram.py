"""The diagram of the default classifier, ``docs/default.svg``: for light and dark pages, and as narrow as a phone.

python scripts/diagram.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path

PICTURE = Path(__file__).parent.parent / "docs/default.svg"
GREY = "#808080"  # can be read on white and on black
BLUE, ORANGE = "#4a86e8", "#e69138"  # of boxes: members, and what the label changes
WIDTH, BOX, GAP = 360, 44, 10
MEMBERS = (  # title, what it is good at, members
    ("Linear models", "text, sparse rows", ("OnlineBBM(Linear)", "Linear", "Linear", "Linear")),
    ("Pairs of features", "clicks, categories", ("FTRLProximal",)),
    ("Boosted trees", "tables; one resets on drift", ("Restarting(OnlineBBM(Tree))", "OnlineBBM(Tree)")),
    ("Recent rows, again", "streams without drift", ("BatchBoost",)),
    ("Newton steps", "few features that interact", ("Newton",)),
    ("Naive Bayes", "the first hundred rows", ("NaiveBayes",)),
)


def text(x: float, y: float, words: str, size: float = 13, anchor: str = "middle", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"{weight}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, color: str, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="none" '
        f'stroke="{color}" stroke-width="1.5"{dashes}/>'
    )


def arrow(path: str, color: str = GREY) -> str:
    return f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1.5" marker-end="url(#{color[1:]})"/>'


def svg() -> str:
    middle, half = WIDTH / 2, (WIDTH - GAP - 40) / 2
    left = 4
    centre = left + half + GAP / 2
    made = [box(centre - 80, 4, 160, 30, GREY), text(centre, 24, "a row of features")]
    made += [arrow(f"M {centre} 34 V 58"), text(centre + 12, 51, "1. predict", anchor="start", bold=True)]
    top = 62
    for k, (title, use, _) in enumerate(MEMBERS):
        x, y = left + k % 2 * (half + GAP), top + k // 2 * (BOX + GAP)
        made += [box(x, y, half, BOX, BLUE), text(x + half / 2, y + 18, title, bold=True)]
        made.append(text(x + half / 2, y + 35, use, 11))
    bottom = top + 3 * (BOX + GAP) - GAP
    made += [arrow(f"M {centre} {bottom} v 26"), text(centre + 12, bottom + 18, "scores of members", 12, "start")]
    stack = bottom + 30
    made += [box(left, stack, 2 * half + GAP, BOX, BLUE), text(centre, stack + 18, "Stack", bold=True)]
    made.append(text(centre, stack + 35, "weights members by recent performance, calibrates", 11))
    made.append(arrow(f"M {centre} {stack + BOX} v 24"))
    answer = stack + BOX + 28
    made += [box(centre - 105, answer, 210, 30, GREY), text(centre, answer + 20, "prediction and probability")]
    label = answer + 56
    made += [box(centre - 105, label, 210, 30, ORANGE, dashed=True)]
    made.append(text(centre, label + 20, "the label, now or later"))
    edge = WIDTH - 12
    made.append(arrow(f"M {centre + 105} {label + 15} H {edge} V {stack + 22} H {left + 2 * half + GAP + 4}", ORANGE))
    made.append(arrow(f"M {edge} {stack + 22} V {top + 22} H {left + 2 * half + GAP + 4}", ORANGE))
    made.append(text(centre + 112, label + 8, "2. learn", anchor="start", bold=True))
    made.append(text(middle - 10, label + 52, "ADWIN, a drift detector, watches the error of the trees", 11))
    height = label + 62
    markers = "".join(
        f'<marker id="{color[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 8 4 0 8z" fill="{color}"/></marker>'
        for color in (GREY, ORANGE)
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="440" role="img" '
            'font-family="system-ui, sans-serif">',
            "<title>How OnlineBoost predicts a row, and learns it when its label is known</title>",
            f"<style>text{{fill:{GREY}}}</style>",
            f"<defs>{markers}</defs>",
            *made,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(svg())
