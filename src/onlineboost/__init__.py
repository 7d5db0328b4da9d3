from onlineboost.learners.linear import Linear
