"""The package's registries become those of spaCy, which resolves configs."""

from __future__ import annotations

from spacy.util import registry

from ..registry import graft_features, graft_graphs, graft_learners


def join_spacy() -> None:
    """Make ``@graft_features``, ``@graft_learners`` and ``@graft_graphs`` known to spaCy.

    The components do so when they are imported; call it to resolve a config that names none of them.
    """
    for own in (graft_features, graft_learners, graft_graphs):
        setattr(registry, own.namespace[-1], own)
