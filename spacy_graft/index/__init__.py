"""Indexes of features: n-grams as a tree of nodes, items as columns, with the documents of each."""
