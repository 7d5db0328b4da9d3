"""One committee whose learners vote for classes beside one for each class: equal trees, the sets of ``classes.py``.

python experiments/class_votes.py [--data FOLDER] [--sets letter,...]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parent))
from classes import load, ours

from onlineboost import AdaBoostOLM, ClassTree, OnlineBBM, OnlineMBBM, Tree

sys.path.append(str(Path(__file__).parents[1] / "scripts"))
from figures import FOLDER, add_data, keep, kept, table

FIGURES = FOLDER / "class_votes.json"
SETS = ("letter", "pendigits", "satimage", "optdigits")
MODELS = {
    "ClassTree()": ours(lambda: ClassTree()),
    "OnlineMBBM()": ours(lambda: OnlineMBBM(random_state=0)),
    "OnlineMBBM(n_estimators=51)": ours(lambda: OnlineMBBM(n_estimators=51, random_state=0)),
    "AdaBoostOLM()": ours(lambda: AdaBoostOLM(random_state=0)),
    "OnlineBBM(Tree()), one for each class": ours(lambda: OnlineBBM(Tree(), random_state=0)),
}


def blocks() -> dict[str, str]:
    found = kept(FIGURES)
    head = ["model", *(f"{name} ({found[name]['classes']})" for name in found), "rows/s"]
    rows = []
    for model in MODELS:
        mine = [found[name]["models"][model] for name in found]
        speed = statistics.geometric_mean(one["rows"] / one["seconds"] for one in mine)
        rows.append([model, *(f"{one['accuracy']:.4f}" for one in mine), f"{speed:,.0f}"])
    return {"class votes": table(head, rows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_data(parser)
    parser.add_argument("--sets", default=",".join(SETS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    whole = options.sets == ",".join(SETS)
    found = kept(FIGURES) if not whole else {}
    for name in options.sets.split(","):
        loaded = load(name, options.data, None)
        if loaded is None:
            continue
        X, y = loaded
        found[name] = {"classes": len(np.unique(y)), "models": {}}
        for model, run in MODELS.items():
            accuracy, seconds = run(X, y)
            found[name]["models"][model] = {"rows": len(y), "accuracy": accuracy, "seconds": seconds}
            print(f"{name} {model}: {accuracy:.4f}, {len(y) / seconds:,.0f} rows/s", flush=True)
    keep(FIGURES, found, part=not whole)


if __name__ == "__main__":
    main()
