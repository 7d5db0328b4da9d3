from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def elsewhere(request, tmp_path, monkeypatch):
    """Examples in the documents may write files: not into the repository."""
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
