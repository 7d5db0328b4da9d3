"""The data sets of the paper: sources, loading, and the paper's errors on them."""

from onlineboost.datasets.dataset import Dataset
from onlineboost.datasets.letter import load_letter
from onlineboost.datasets.places import download, find, get, load
from onlineboost.datasets.sets import SETS

__all__ = ["SETS", "Dataset", "download", "find", "get", "load", "load_letter"]
