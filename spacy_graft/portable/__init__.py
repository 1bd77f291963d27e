"""Models outside of Python: as JSON, as JavaScript and as a page to type in."""
