"""Registries of our own beside spaCy's: what a config may name after ``@graft_features`` and its like.

Importing this module makes them known to spaCy. Names registered by other packages under the entry points
``spacy_graft_features``, ``spacy_graft_learners`` and ``spacy_graft_networks`` are found as well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import catalogue
from spacy.util import registry

__all__ = ["graft_features", "graft_learners", "graft_networks", "network_builder", "registry"]

Builder = TypeVar("Builder")

#: Feature blocks: what documents are cut into, see :class:`spacy_graft.extract.blocks.NgramBlock`.
graft_features = catalogue.create("spacy", "graft_features", entry_points=True)

#: Learners: how the weights are found.
graft_learners = catalogue.create("spacy", "graft_learners", entry_points=True)

#: Networks of features: which weights are pulled together.
graft_networks = catalogue.create("spacy", "graft_networks", entry_points=True)

for _registry in (graft_features, graft_learners, graft_networks):
    setattr(registry, _registry.namespace[-1], _registry)


def network_builder(name: str) -> Callable[[type[Builder]], type[Builder]]:
    """Register a class of builders: a config gets the ``__call__`` of one.

    spaCy passes the arguments of ``initialize`` through a pydantic model, which makes dicts of dataclasses. An entry
    point names the attribute ``registered`` of the class, which does the same.
    """

    def register(cls: type[Builder]) -> type[Builder]:
        @wraps(cls)
        def registered(*args: Any, **kwargs: Any) -> Any:
            builder: Any = cls(*args, **kwargs)
            return builder.__call__

        cls.registered = staticmethod(registered)  # type: ignore[attr-defined]
        graft_networks(name, func=registered)
        return cls

    return register
