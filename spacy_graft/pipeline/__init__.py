"""What spaCy sees: components, readers, loggers. The only room that knows ``Language``."""
