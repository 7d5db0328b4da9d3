"""The protocols of scikit-learn and River. Neither package is imported before it is in use."""
