"""Registration of the package's registries with spaCy."""

from __future__ import annotations

from spacy.util import registry

from ..registry import (
    graft_constraints,
    graft_features,
    graft_graphs,
    graft_learners,
    graft_shards,
    graft_vectors,
)


def register_with_spacy() -> None:
    """Add ``@graft_features``, ``@graft_learners``, ``@graft_constraints`` and so on to spaCy's registries.

    Importing the components does so. Call it to resolve a config that has none of them.
    """
    for own in (graft_features, graft_learners, graft_constraints, graft_graphs, graft_vectors, graft_shards):
        setattr(registry, own.namespace[-1], own)
