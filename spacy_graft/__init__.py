"""Sparse linear text classifiers over n-grams of any length, for spaCy.

Importing the package costs nothing: spaCy finds components, feature blocks, learners, readers and loggers by their
entry points, and what is compiled is compiled at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .pipeline.fit import fit

__version__ = "0.1.0"
__all__ = ["__version__", "fit"]


def __getattr__(name: str) -> Any:
    if name == "fit":
        from .pipeline.fit import fit

        return fit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
