"""What is in a training corpus and what is wrong with it, before training."""
