"""All endpoints."""

from __future__ import annotations

from onlineboost.serve import api_admin, api_chantilly, api_infer, api_journal, api_models, api_watch
from onlineboost.serve.http import Route


def all_routes() -> list[Route]:
    parts = api_models, api_admin, api_journal, api_watch, api_infer, api_chantilly
    return [route for part in parts for route in part.ROUTES]
