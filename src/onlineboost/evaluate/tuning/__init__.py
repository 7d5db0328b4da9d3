"""Many configurations on the same stream, and the best of them."""
