"""Lookup of vertices in lexical resources."""

from __future__ import annotations

from .vocabulary import Vertex

#: Parts of speech of Universal Dependencies in the letters of WordNet.
PARTS_OF_SPEECH = {"NOUN": "n", "PROPN": "n", "VERB": "v", "AUX": "v", "ADJ": "a", "ADV": "r"}
#: The letters, in the order of WordNet's files.
LETTERS = "nvar"


def lemma_of(vertex: Vertex) -> tuple[str, str]:
    """The lemma of a vertex in the form of the resources, and the letters of its possible parts of speech.

    ``("ice", "cream")`` is ``ice_cream`` in any part of speech, ``("film", "NOUN")`` is ``film`` as a noun. Tokens
    that a tokenizer has split at hyphens and apostrophes are joined.
    """
    letters = LETTERS
    if len(vertex) > 1 and vertex[-1] in PARTS_OF_SPEECH:
        letters = PARTS_OF_SPEECH[vertex[-1]]
        vertex = vertex[:-1]
    return "_".join(vertex).lower().replace("_-_", "-").replace("_'", "'"), letters
