"""Explanations of predictions and models: features by name, where they are in a text, and pages that show them."""
