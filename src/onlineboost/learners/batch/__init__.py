"""Gradient boosted trees of the batch kind, made of the rows of a ``Memory`` in small steps."""
