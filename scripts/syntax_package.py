"""Build the wheel of the syntax pipeline with ``spacy package``.

Paths and words of the training data are removed from the pipeline; licence, sources and scores are added.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import spacy
import typer
from spacy.language import Language
from spacy.strings import StringStore
from unpack import write_checksum

NAME = "graft_syntax"
VERSION = "0.1.0"
LICENSE = "CC BY-SA 4.0"
TREEBANK = "https://github.com/UniversalDependencies/UD_English-EWT"
META: dict[str, Any] = {
    "lang": "en",
    "name": NAME,
    "version": VERSION,
    "description": "English tags, morphology, lemmas and dependencies after Universal Dependencies, by a small CNN",
    "author": "spacy-graft developers",
    "email": "",
    "url": "",
    "license": LICENSE,
    # Tables and layers are spaCy's own, and their format is the same in all patch releases.
    "spacy_version": ">=3.8.0,<3.9.0",
    "sources": [
        {
            "name": "UD_English-EWT (release split, commit 15d613d8447b3478787d4c278730a1e48a945efb)",
            "url": TREEBANK,
            "author": "Silveira et al. 2014",
            "license": LICENSE,
        }
    ],
}
#: Files that `spacy package` adds to the metadata of the wheel.
NOTICES = ("README.md", "LICENSES_SOURCES")
NOTICE = f"""\
{META["description"]}.

By the {META["author"]}, licensed {LICENSE} (https://creativecommons.org/licenses/by-sa/4.0/).

Trained on Universal Dependencies English Web Treebank (UD_English-EWT), licensed {LICENSE}:
{TREEBANK}
Natalia Silveira, Timothy Dozat, Marie-Catherine de Marneffe, Samuel Bowman, Miriam Connor, John Bauer and
Christopher D. Manning. 2014. A Gold Standard Dependency Corpus for English. Proceedings of the Ninth International
Conference on Language Resources and Evaluation (LREC 2014).
The texts are those of the English Web Treebank, LDC2012T13.
"""


def performance(scores: dict[str, Any]) -> dict[str, Any]:
    """Return scores in the form of a pipeline's metadata: those for gold words, then other settings by name."""
    others = {setting: scores[setting] for setting in ("gold sentences", "raw text")}
    return {"measured_on": "UD_English-EWT test, gold words", **scores["gold words"], **others}


def needed_strings(nlp: Language) -> list[str]:
    """Return the strings that the components look up.

    Other words of the treebank are left out. Pipelines need only their hashes, and they include names and addresses
    from private e-mail.
    """
    needed = set(spacy.blank(META["lang"]).vocab.strings)
    needed.update(label for labels in nlp.meta["labels"].values() for label in labels)
    lemmatizer: Any = nlp.get_pipe("lemmatizer")
    for tree in lemmatizer.label_data["trees"]:
        needed.update(tree[key] for key in ("orig", "subst") if key in tree)
    return sorted(needed)


def prepare(model: Path, scores: dict[str, Any], output: Path) -> None:
    """Write the pipeline with its metadata and without the paths of its training data."""
    nlp = spacy.load(model)
    config = nlp.config
    config["paths"] = dict.fromkeys(config["paths"])
    nlp.config = config
    nlp.meta = {**META, "performance": performance(scores)}
    output.parent.mkdir(parents=True, exist_ok=True)
    nlp.to_disk(output)
    StringStore(needed_strings(nlp)).to_disk(output / "vocab" / "strings.json")
    for name in NOTICES:
        (output / name).write_text(NOTICE, encoding="utf-8")


def main(
    model: Annotated[Path, typer.Argument(help="Folder of the trained pipeline.")],
    scores: Annotated[Path, typer.Argument(help="Scores of the pipeline, from syntax_scores.py.")],
    build: Annotated[Path, typer.Argument(help="Folder to build in.")] = Path("packages"),
    output: Annotated[Path, typer.Argument(help="Folder for the wheel.")] = Path("assets"),
) -> None:
    """Build the wheel, copy it to its folder, and write its checksum."""
    pipeline = build / NAME
    # Files of an older pipeline would become part of the wheel.
    for folder in (pipeline, build / f"en_{NAME}-{VERSION}"):
        shutil.rmtree(folder, ignore_errors=True)
    prepare(model, json.loads(scores.read_text(encoding="utf-8")), pipeline)
    command = [sys.executable, "-m", "spacy", "package", str(pipeline), str(build), "--build", "wheel"]
    subprocess.run(command, check=True)
    (wheel,) = (build / f"en_{NAME}-{VERSION}" / "dist").glob("*.whl")
    output.mkdir(parents=True, exist_ok=True)
    kept = output / wheel.name
    shutil.copy(wheel, kept)
    write_checksum(kept)
    typer.echo(f"{kept}: {wheel.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    typer.run(main)
