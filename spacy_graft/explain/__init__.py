"""Explanations of predictions and models: named features, their places in a text, and HTML."""
