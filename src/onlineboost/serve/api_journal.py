"""Endpoints that followers read."""

from __future__ import annotations

from onlineboost.serve.http import Route

ROUTES: list[Route] = []
