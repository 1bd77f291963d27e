"""The registries behind ``@graft_features``, ``@graft_learners``, ``@graft_constraints`` and the like in configs.

They include what other packages register under the entry points ``spacy_graft_features``, ``spacy_graft_learners``,
``spacy_graft_constraints``, ``spacy_graft_graphs``, ``spacy_graft_vectors`` and ``spacy_graft_shards``. This module
does not import spaCy; the components add the registries to spaCy's
(:func:`spacy_graft.pipeline.registration.register_with_spacy`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import catalogue

BuilderT = TypeVar("BuilderT")

#: Feature blocks, see :mod:`spacy_graft.extract.blocks`.
graft_features = catalogue.create("spacy", "graft_features", entry_points=True)

#: Learners, see :mod:`spacy_graft.graft.settings`.
graft_learners = catalogue.create("spacy", "graft_learners", entry_points=True)

#: Constraints of learners, see :mod:`spacy_graft.graft.constraints`.
graft_constraints = catalogue.create("spacy", "graft_constraints", entry_points=True)

#: Builders of feature graphs for the network penalty, see :mod:`spacy_graft.graphs`.
graft_graphs = catalogue.create("spacy", "graft_graphs", entry_points=True)

#: Sources of word vectors, see :mod:`spacy_graft.vectors`.
graft_vectors = catalogue.create("spacy", "graft_vectors", entry_points=True)

#: Where indexes are made and kept, see :mod:`spacy_graft.index.places`.
graft_shards = catalogue.create("spacy", "graft_shards", entry_points=True)


def register_call(registry: Any, name: str) -> Callable[[type[BuilderT]], type[BuilderT]]:
    """Class decorator for what is an argument of ``initialize``; configs get the ``__call__`` of an instance.

    A function is registered because spaCy passes these arguments through a pydantic model, which turns dataclasses into
    dicts. Entry points name the attribute ``registered`` of the class, which is that function.

    Parameters
    ----------
    registry : Registry
    name : str
        The registered name, such as ``spacy_graft.WordNet.v1``.
    """

    def register(cls: type[BuilderT]) -> type[BuilderT]:
        @wraps(cls)
        def registered(*args: Any, **kwargs: Any) -> Any:
            builder: Any = cls(*args, **kwargs)
            return builder.__call__

        cls.registered = staticmethod(registered)  # type: ignore[attr-defined]
        registry(name, func=registered)
        return cls

    return register


def graph_builder(name: str) -> Callable[[type[BuilderT]], type[BuilderT]]:
    """Class decorator that registers a builder of feature graphs (:func:`register_call`)."""
    return register_call(graft_graphs, name)
