"""Graphs of features for the network penalty, and their builders. Imports neither the learners nor spaCy."""
