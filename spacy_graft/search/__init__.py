"""Exact searches for the features and labels that violate the optimality conditions most."""
