"""Metrics, progressive validation and plots."""
