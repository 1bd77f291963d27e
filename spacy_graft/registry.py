"""The registries of the package: ``@graft_features``, ``@graft_learners`` and ``@graft_graphs`` in configs.

Names that other packages register under the entry points ``spacy_graft_features``, ``spacy_graft_learners`` and
``spacy_graft_graphs`` are found as well. This module does not import spaCy: the components make the registries known
to it (:func:`spacy_graft.pipeline.registration.join_spacy`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import catalogue

BuilderClass = TypeVar("BuilderClass")

#: Feature blocks, see :class:`spacy_graft.extract.blocks.NgramBlock`.
graft_features = catalogue.create("spacy", "graft_features", entry_points=True)

#: Learners: settings of the optimisation.
graft_learners = catalogue.create("spacy", "graft_learners", entry_points=True)

#: Graph builders: graphs of features for the network penalty.
graft_graphs = catalogue.create("spacy", "graft_graphs", entry_points=True)


def graph_builder(name: str) -> Callable[[type[BuilderClass]], type[BuilderClass]]:
    """Register a class of graph builders. In a config it makes the ``__call__`` method of an instance.

    spaCy passes the arguments of ``initialize`` through a pydantic model, which converts dataclasses to dicts. Entry
    points name the attribute ``registered`` of the class, which makes the same method.
    """

    def register(cls: type[BuilderClass]) -> type[BuilderClass]:
        @wraps(cls)
        def registered(*args: Any, **kwargs: Any) -> Any:
            builder: Any = cls(*args, **kwargs)
            return builder.__call__

        cls.registered = staticmethod(registered)  # type: ignore[attr-defined]
        graft_graphs(name, func=registered)
        return cls

    return register
