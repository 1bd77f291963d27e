"""Sparse linear text classifiers over n-grams of any length, items and combinations of items, for spaCy.

Importing the package loads neither spaCy nor numba: spaCy finds components, feature blocks, learners, readers and
loggers by their entry points, and kernels are compiled at first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checks.association import significance
    from .checks.corpus import check_corpus
    from .checks.labels import label_errors
    from .checks.memory import estimate_memory
    from .classifier import GraftClassifier
    from .graft.constraints import Constraints
    from .graft.settings import CoordinateAscent, Grafting, GraftingPath
    from .index.places import Dask, InMemory, OnDisk
    from .pipeline.calibrate import calibrate
    from .pipeline.fit import fit
    from .pipeline.render import render
    from .pipeline.spans import contribution_spans
    from .portable.export import export
    from .ranker import GraftRanker
    from .teachers.distil import distil
    from .teachers.encoder import OnnxEncoder
    from .text_classifier import GraftTextClassifier
    from .vectors.word_vectors import WordVectors

__version__ = "0.1.0"
__all__ = [
    "Constraints",
    "CoordinateAscent",
    "Dask",
    "GraftClassifier",
    "GraftRanker",
    "GraftTextClassifier",
    "Grafting",
    "GraftingPath",
    "InMemory",
    "OnDisk",
    "OnnxEncoder",
    "WordVectors",
    "__version__",
    "calibrate",
    "check_corpus",
    "contribution_spans",
    "distil",
    "estimate_memory",
    "export",
    "fit",
    "label_errors",
    "render",
    "significance",
]

#: The module of each public name; it is imported at the first access.
MODULES = {
    "check_corpus": ".checks.corpus",
    "estimate_memory": ".checks.memory",
    "label_errors": ".checks.labels",
    "significance": ".checks.association",
    "calibrate": ".pipeline.calibrate",
    "contribution_spans": ".pipeline.spans",
    "fit": ".pipeline.fit",
    "render": ".pipeline.render",
    "distil": ".teachers.distil",
    "OnnxEncoder": ".teachers.encoder",
    "export": ".portable.export",
    "GraftClassifier": ".classifier",
    "GraftRanker": ".ranker",
    "GraftTextClassifier": ".text_classifier",
    "Constraints": ".graft.constraints",
    **dict.fromkeys(("CoordinateAscent", "Grafting", "GraftingPath"), ".graft.settings"),
    **dict.fromkeys(("Dask", "InMemory", "OnDisk"), ".index.places"),
    "WordVectors": ".vectors.word_vectors",
}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(MODULES[name], __name__), name)


def __dir__() -> list[str]:
    """Return what completion offers: names that have not been accessed as well."""
    return [*globals(), *MODULES]
