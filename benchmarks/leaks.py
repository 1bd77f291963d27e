"""Remove what leaks: addresses and quotation marks of newsgroup posts, and what a model is worth without them.

python benchmarks/leaks.py --data DATA

A classifier of posts learns who writes where: addresses, in signatures and before quotations, tell the group of whoever
posted in it before. The names are denied in the trained model, which is then judged on the test posts as they are, and
without quotations, signatures and lines with an address.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from common import DataFolder, measured, pin_threads, print_table, texts_and_labels

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.training import Example

SET = "20newsgroups_bydate"
GROUPS = ("alt.atheism", "talk.religion.misc", "comp.graphics", "sci.space")
DENIED = ("*@*", "*.edu*", "*.com*", "*.gov*", "*.org*", "*writes*", "*>*")
#: One document of so many is held out for the choice of the model.
HELD_OUT = 10
WORDS = {"words": {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "LOWER", "min_df": 2}}
#: Blocks of features, by what the table calls them; None for the default blocks.
BLOCKS: dict[str, Any] = {"words": WORDS, "words and characters": None}
QUOTED = re.compile(r"\s*(>|\||:|\}|\w+>)")
ATTRIBUTION = re.compile(r"(writes|wrote|says):?\s*$|^In article|@")


def posts(data: Path, split: str) -> list[tuple[str, str]]:
    """Texts and labels of four groups."""
    pairs = zip(*texts_and_labels(data, SET, split), strict=True)
    return [(text, label) for text, label in pairs if label in GROUPS]


def own_words(text: str) -> str:
    """A post without quotations, lines with an address, and signature."""
    kept = [line for line in text.split("\n") if not QUOTED.match(line) and not ATTRIBUTION.search(line)]
    return re.split(r"\n--\s*\n", "\n".join(kept))[0]


def examples_of(nlp: Language, pairs: Sequence[tuple[str, str]]) -> list[Example]:
    from spacy.training import Example

    found = []
    for text, label in pairs:
        doc = nlp.make_doc(text)
        reference = doc.copy()
        reference.cats = {group: float(group == label) for group in GROUPS}
        found.append(Example(doc, reference))
    return found


def accuracy(nlp: Language, pairs: Sequence[tuple[str, str]]) -> str:
    """Percentage of documents whose label is predicted."""
    component = nlp.get_pipe("textcat_graft")
    predicted = component.predict([nlp.make_doc(text) for text, _ in pairs]).argmax(axis=1)
    right = sum(component.labels[k] == label for k, (_, label) in zip(predicted, pairs, strict=True))
    return f"{100.0 * right / len(pairs):.1f}"


def before_and_after(data: Path, blocks: str) -> Iterator[list[list[str]]]:
    """Rows of the table: the model as trained, and as edited."""
    import spacy

    import spacy_graft

    nlp = spacy.blank("en")
    nlp.add_pipe("textcat_graft", config={"features": BLOCKS[blocks], "keep_corpus": True})
    component = nlp.get_pipe("textcat_graft")
    train, test = posts(data, "train"), posts(data, "test")
    tests = [test, [(own_words(text), label) for text, label in test]]
    small = examples_of(nlp, train[:100])
    spacy_graft.fit(nlp, small)
    component.edit(deny=["*e*"])  # compiles what is measured
    component.cfg.pop("constraints")
    learned = examples_of(nlp, [pair for i, pair in enumerate(train) if i % HELD_OUT])
    chosen_by = examples_of(nlp, train[::HELD_OUT])
    yield []
    start = time.process_time()
    report = spacy_graft.fit(nlp, learned, dev=chosen_by)
    trained = time.process_time() - start
    rows = [row(blocks, "trained", report, "", trained, [accuracy(nlp, pairs) for pairs in tests])]
    start = time.process_time()
    edit = component.edit(deny=DENIED)
    edited = time.process_time() - start
    changed = f"{len(edit.removed):,} / {len(edit.added):,}"
    rows.append(row(blocks, "edited", edit.report, changed, edited, [accuracy(nlp, pairs) for pairs in tests]))
    yield rows


def row(blocks: str, what: str, report: Any, changed: str, seconds: float, found: Sequence[str]) -> list[str]:
    gap = f"{report.relative_gap:.0e}"
    return [blocks, what, f"{report.n_active:,}", changed, gap, f"{seconds:.1f}", *found]


def main(data: DataFolder) -> None:
    """Print the table."""
    pin_threads()
    rows = [row for blocks in BLOCKS for row in measured(before_and_after, data, blocks).result]
    header = (
        "blocks", "model", "features", "removed / added", "gap", "CPU s", "accuracy, posts", "accuracy, own words",
    )  # fmt: skip
    print_table(f"Four groups of {SET}, denied: {' '.join(DENIED)}", header, rows)


if __name__ == "__main__":
    typer.run(main)
