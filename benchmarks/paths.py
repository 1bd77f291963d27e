"""Point 6: training with the choice of C, beside peers that choose theirs on the same dev split.

python benchmarks/paths.py --data DATA [--slow]
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from accuracy import read_task
from common import measured, pin_threads, print_table
from peers import METHODS, counts, f1_scores


def path(data: Path, name: str, method: str) -> Iterator[dict[str, Any]]:
    """Choose settings on dev, train on train and dev, score on test."""
    task, test = read_task(data, name)
    peer = METHODS[method]()
    peer.prepare(task)
    yield {}
    model = peer.train(task)
    macro, _ = f1_scores(*counts(test.targets, model.predict(test.texts)))
    yield {"f1": float(macro), "features": model.n_features(), "chosen": model.chosen}


def main(
    data: Annotated[Path, typer.Option(help="Folder of the data sets.")],
    sets: Annotated[str, typer.Option(help="Names of sets, separated by commas.")] = "movie_reviews,trec_questions",
    slow: Annotated[bool, typer.Option(help="Run spaCy's ensemble as well.")] = False,
) -> None:
    """Print a table a set."""
    pin_threads()
    left_out = {"ours-tuned"} | (set() if slow else {"ensemble"})
    for name in sets.split(","):
        rows = []
        for method in (method for method in METHODS if method not in left_out):
            run = measured(path, data, name, method)
            features = run.result["features"]
            rows.append([
                METHODS[method].title, f"{run.seconds:.1f}", f"{run.megabytes:,.0f}", f"{run.result['f1']:.3f}",
                "not counted" if features is None else f"{features:,}", run.result["chosen"],
            ])  # fmt: skip
        header = (
            "what",
            "CPU s, with the choice of settings",
            "MB above start",
            "macro-F1, test",
            "features",
            "chosen on dev",
        )
        print_table(f"Path and peers on {name}", header, rows)


if __name__ == "__main__":
    typer.run(main)
