"""Explanations and models as HTML, without scripts or external resources."""
