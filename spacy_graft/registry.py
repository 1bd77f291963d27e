"""The package's own registries: what a config may name after ``@graft_features`` and its like.

Names that other packages register under the entry points ``spacy_graft_features``, ``spacy_graft_learners`` and
``spacy_graft_networks`` are found as well. This module does not import spaCy: the components make the registries known
to it (:func:`spacy_graft.pipeline.registration.join_spacy`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import catalogue

Builder = TypeVar("Builder")

#: Feature blocks: what documents are cut into, see :class:`spacy_graft.extract.blocks.NgramBlock`.
graft_features = catalogue.create("spacy", "graft_features", entry_points=True)

#: Learners: how the weights are found.
graft_learners = catalogue.create("spacy", "graft_learners", entry_points=True)

#: Networks of features: which weights are pulled together.
graft_networks = catalogue.create("spacy", "graft_networks", entry_points=True)


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
