"""Which columns of an index go with a label, by permutations of the labels: with error rates over the whole space."""
