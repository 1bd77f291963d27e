"""Explanations and models as HTML that needs no scripts and loads nothing."""
