"""Run spaCy's tests of its text classifiers on the components of this package.

``spacy/tests/pipeline/test_textcat.py`` of the installed spaCy is copied to a temporary folder, with the names of
the components replaced, and without the architectures that the tests choose, because a graft component has one of its
own. Results are printed as a table; docs/spacy-tests.md explains them.

    python scripts/spacy_textcat_tests.py
    python scripts/spacy_textcat_tests.py --only resize --traceback
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated
from xml.etree import ElementTree

import spacy.tests
import typer
from one_line_errors import one_line_errors
from rich.console import Console
from rich.table import Table

from spacy_graft.cli.common import CommandError

#: What is replaced, as regular expressions, in this order.
REPLACEMENTS = {
    r'"textcat(_multilabel)?"': r'"textcat_graft\1"',
    r"components\.textcat\]": "components.textcat_graft]",
    r"from \.\.util import": "from spacy.tests.util import",
    # A graft component has an architecture of its own.
    r'config=\{"model": model\}': "config={}",
    r'pipe_config = \{"model": textcat_config\}': "pipe_config = {}",
    "config=pipe_cfg": "config={}",
}
OUTCOMES = ("passed", "failed", "skipped")


def source_of_tests() -> str:
    """Return spaCy's tests with the names of the graft components."""
    path = Path(spacy.tests.__file__).parent / "pipeline" / "test_textcat.py"
    source = path.read_text(encoding="utf-8")
    for pattern, replacement in REPLACEMENTS.items():
        source = re.sub(pattern, replacement, source)
    return source


def run_tests(source: str, arguments: list[str], folder: Path) -> Path:
    """Run tests in a folder and return the file of their results."""
    path, results = folder / "test_textcat_graft.py", folder / "results.xml"
    path.write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "spacy.tests.conftest", "--slow", f"--junit-xml={results}"]
    ended = subprocess.run([*command, *arguments, str(path)], cwd=folder, check=False)
    if ended.returncode not in (0, 1):
        raise CommandError("The tests could not be run: see what pytest printed above.")
    return results


def outcomes(results: Path) -> dict[str, Counter[str]]:
    """Return the number of passed, failed and skipped cases of each test."""
    found: dict[str, Counter[str]] = {}
    for case in ElementTree.parse(results).iter("testcase"):
        outcome = "skipped" if case.find("skipped") is not None else "failed" if len(case) else "passed"
        found.setdefault(case.attrib["name"].partition("[")[0], Counter())[outcome] += 1
    return found


def outcome_table(found: dict[str, Counter[str]]) -> Table:
    """Make a table with a row for each test, and the sums."""
    table = Table("test", *OUTCOMES, title=f"Tests of spaCy {spacy.about.__version__}")
    total: Counter[str] = sum(found.values(), Counter())
    for name, counts in [*found.items(), ("(all)", total)]:
        table.add_row(name, *(str(counts[outcome] or "") for outcome in OUTCOMES))
    return table


@one_line_errors
def main(
    only: Annotated[str, typer.Option(help="Only tests whose names fit this expression, as pytest -k.")] = "",
    traceback: Annotated[bool, typer.Option("--traceback", help="Print why tests fail.")] = False,
) -> None:
    """Print which of spaCy's tests pass."""
    arguments = ["-k", only, *(["--tb=short"] if traceback else ["--tb=no", "-qq"]), "--disable-warnings"]
    with TemporaryDirectory() as folder:
        found = outcomes(run_tests(source_of_tests(), arguments, Path(folder)))
    Console().print(outcome_table(found))


if __name__ == "__main__":
    typer.run(main)
