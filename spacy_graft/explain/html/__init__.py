"""Explanations and models as HTML: one string without scripts, that loads nothing."""
