"""Networks of features: which weights are pulled together, and which apart.

Knows no learner, and spaCy only where texts are cut into symbols (``token_corpus``).
"""
