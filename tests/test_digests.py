"""The same bits as before the structure changed."""

from __future__ import annotations

import json

import pytest
from digests import FILE, PAIRS, of_pair


@pytest.mark.parametrize(("booster", "learner"), PAIRS)
def test_scores_are_what_they_were(booster, learner, tmp_path):
    assert of_pair(booster, learner, tmp_path) == json.loads(FILE.read_text())[f"{booster} {learner}"]
