"""``onlineboost vw``: a command line of Vowpal Wabbit, in our words."""
