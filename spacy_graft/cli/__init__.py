"""The command line: ``spacy-graft``, and ``python -m spacy graft``.

Importing this package is cheap. Commands import what they need when they are called.
"""

from __future__ import annotations

import os


def main() -> None:
    """Run ``spacy-graft``."""
    use_one_thread_of_blas()
    from .app import app

    app(prog_name="spacy-graft")


def use_one_thread_of_blas() -> None:
    """Have NumPy's linear algebra in one thread, unless the environment says otherwise; before NumPy is loaded.

    Matrices are small here: several threads gain little, and wait for one another where cores are busy.
    """
    if "OMP_NUM_THREADS" not in os.environ:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
