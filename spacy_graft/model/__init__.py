"""Trained models: matching, scores, and how they are saved and loaded."""
