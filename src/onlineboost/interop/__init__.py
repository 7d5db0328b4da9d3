"""What scikit-learn's and River's own tools ask of a model. Neither is imported before it is in use."""
