"""Sparse linear text classifiers over n-grams of any length, items and their products, for spaCy.

Importing the package costs nothing: spaCy finds components, feature blocks, learners, readers and loggers by their
entry points, and what is compiled is compiled at first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .classifier import GraftClassifier
    from .graft.learners import CoordinateAscent, Grafting, GraftingPath
    from .pipeline.calibrate import calibrate
    from .pipeline.fit import fit
    from .rendering.render import render
    from .rendering.spans import contribution_spans

__version__ = "0.1.0"
__all__ = [
    "CoordinateAscent",
    "GraftClassifier",
    "Grafting",
    "GraftingPath",
    "__version__",
    "calibrate",
    "contribution_spans",
    "fit",
    "render",
]

#: Where each public name is defined; it is imported when it is first asked for.
MODULES = {
    "calibrate": ".pipeline.calibrate",
    "contribution_spans": ".rendering.spans",
    "fit": ".pipeline.fit",
    "render": ".rendering.render",
    "GraftClassifier": ".classifier",
    "CoordinateAscent": ".graft.learners",
    "Grafting": ".graft.learners",
    "GraftingPath": ".graft.learners",
}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(MODULES[name], __name__), name)
