"""The service: ``onlineboost serve``, and ``Client`` for its users. ``docs/serving.md`` describes it."""

from onlineboost.serve.client import Client, ServiceError

__all__ = ["Client", "ServiceError"]
