"""Word vectors from outside the training texts, and what words add to scores by them."""
