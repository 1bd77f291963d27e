"""The experiments of one of the four papers, or of all.

    python benchmarks/papers.py okanohara|riezler|ifrim|sandler|all --data DATA

What is measured already is not measured again. Tables are beside the scripts, and docs/papers.md says what became of
the claims.
"""

from __future__ import annotations

import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from common import DataFolder, need

HERE = Path(__file__).parent
#: The scripts of each paper, with their options.
SCRIPTS = {
    "okanohara": [["combinations_documents.py"], ["dependency.py", "--minutes", "2"], ["combinations.py", "--peers"]],
    "riezler": [["parse_choice.py"], ["heads.py"]],
    "ifrim": [["variable_length.py"]],
    "sandler": [["network_newsgroups.py"], ["network_sentiment.py"]],
}
Paper = StrEnum("Paper", [*SCRIPTS, "all"])


def main(paper: Annotated[Paper, typer.Argument(help="Which experiments to run.")], data: DataFolder) -> None:
    need("matplotlib", "sklearn")
    chosen = SCRIPTS if paper == "all" else {paper.value: SCRIPTS[paper.value]}
    for script, *options in (script for scripts in chosen.values() for script in scripts):
        print(script, flush=True)
        subprocess.run([sys.executable, HERE / script, "--data", data, *options], check=True)


if __name__ == "__main__":
    typer.run(main)
