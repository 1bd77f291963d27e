"""What importing parts of the package loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT_SPACY = """
classifier files matrices messages metrics registry
extract.bags extract.streams extract.terms
graft.start graft.grafting graft.path graft.selection graft.ascent graft.network
graphs.cooccurrence graphs.edgelist graphs.merging graphs.sentiwordnet graphs.wordnet
index.items index.ngrams search.search search.combinations solve.restricted
""".split()

#: Packages that these modules must not load.
UNNEEDED = ["spacy", "thinc", "typer", "rich"]


@pytest.mark.parametrize("module", WITHOUT_SPACY)
def test_what_works_on_arrays_does_without_spacy(module: str) -> None:
    """Neither spaCy, thinc nor a command line library is loaded."""
    program = f"import sys, spacy_graft.{module}; print([name for name in {UNNEEDED} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
