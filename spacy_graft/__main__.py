"""``python -m spacy_graft``: the command line."""

from .cli import main

main()
