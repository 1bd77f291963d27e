"""Integration with spaCy: components, readers, scorers and loggers. Modules below it do not use ``Language``."""
