from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def elsewhere(request, tmp_path, monkeypatch):
    """Examples in the documents may write files: not into the repository, nor into the user's cache."""
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
