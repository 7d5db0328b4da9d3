"""Work on many cores and machines, with Ray."""

from onlineboost.engine.cluster import cluster, find_ray
from onlineboost.scale.pages import in_order

__all__ = ["cluster", "find_ray", "in_order"]
