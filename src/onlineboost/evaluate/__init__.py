"""How good a model is: on a stream as it learns, or on data it has not seen."""
