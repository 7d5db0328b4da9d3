"""Rebuild src/onlineboost/datasets/data/letter.npz from Debian's r-cran-mlbench.

apt-get download r-cran-mlbench && dpkg-deb -x r-cran-mlbench_*.deb mlbench
pip install rdata
python scripts/make_letter.py mlbench/usr/lib/R/site-library/mlbench/data/LetterRecognition.rda
"""

import sys
from pathlib import Path

import numpy as np
import rdata

TARGET = Path(__file__).parent.parent / "src/onlineboost/datasets/data/letter.npz"

frame = rdata.read_rda(sys.argv[1])["LetterRecognition"]
letters = frame["lettr"].astype(str).to_numpy().astype("S1")
features = frame.drop(columns="lettr").to_numpy().astype(np.uint8)
assert features.shape == (20000, 16)
np.savez_compressed(TARGET, features=features, letters=letters)
