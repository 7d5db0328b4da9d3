from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def without_data(monkeypatch):
    """Commands see no data sets but those that a test gives them."""
    monkeypatch.delenv("ONLINEBOOST_DATA", raising=False)


@pytest.fixture(autouse=True)
def elsewhere(request, tmp_path, monkeypatch):
    """Examples in the documents may write files: not into the repository, nor into the user's cache."""
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
