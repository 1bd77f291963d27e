"""Score a syntax pipeline against a treebank, from gold words and from raw text, as the CoNLL 2018 shared task did.

A predicted word is correct if its characters are those of a gold word, and its head if that is the same word too.
Scores are F1; for gold words, this is accuracy. Punctuation is included and subtypes of relations are ignored. The
scores of ``spacy evaluate`` for heads and relations, without punctuation and with subtypes, are reported as well.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import spacy
import typer
from one_line_errors import one_line_errors
from rich.console import Console
from rich.table import Table
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc, Token
from spacy.training import Example

from spacy_graft.pipeline.contents import saved_docs

#: Headings of the table, and the score below each.
COLUMNS = {
    "words": "token_f",
    "sents": "sents_f",
    "POS": "pos_acc",
    "TAG": "tag_acc",
    "MORPH": "morph_acc",
    "LEMMA": "lemma_acc",
    "UAS": "dep_uas",
    "LAS": "dep_las",
}
SETTINGS = ("gold sentences", "gold words", "raw text")

Span = tuple[int, int]


def token_span(token: Token) -> Span:
    """Return start and end of a token in characters."""
    return token.idx, token.idx + len(token)


def words_of(doc: Doc) -> dict[Span, Token]:
    """Return the tokens that are words in a treebank: all but white space."""
    return {token_span(token): token for token in doc if not token.is_space}


def sentences_of(doc: Doc) -> set[Span]:
    """Return start and end of each sentence in characters, from the first to the last word."""
    sentences = ([token for token in sentence if not token.is_space] for sentence in doc.sents)
    return {(words[0].idx, token_span(words[-1])[1]) for words in sentences if words}


def agreement(gold: Token, predicted: Token) -> dict[str, bool]:
    """Return which annotations of a word are correct."""
    same_head = token_span(gold.head) == token_span(predicted.head) and (gold.head == gold) == (
        predicted.head == predicted
    )
    same_label = gold.dep_.split(":")[0].lower() == predicted.dep_.split(":")[0].lower()
    return {
        "token_f": True,
        "pos_acc": gold.pos_ == predicted.pos_,
        "tag_acc": gold.tag_ == predicted.tag_,
        "morph_acc": gold.morph == predicted.morph,
        "lemma_acc": gold.lemma_ == predicted.lemma_,
        "dep_uas": same_head,
        "dep_las": same_head and same_label,
    }


def f1_scores(pairs: Iterable[tuple[Doc, Doc]]) -> dict[str, float]:
    """Return all F1 scores, over pairs of gold and predicted documents of the same text."""
    correct: Counter[str] = Counter()
    n_words = n_sentences = 0
    for gold, predicted in pairs:
        gold_words, predicted_words = words_of(gold), words_of(predicted)
        n_words += len(gold_words) + len(predicted_words)
        for characters, word in gold_words.items():
            if characters in predicted_words:
                correct.update(agreement(word, predicted_words[characters]))
        gold_sentences, predicted_sentences = sentences_of(gold), sentences_of(predicted)
        n_sentences += len(gold_sentences) + len(predicted_sentences)
        correct["sents_f"] += len(gold_sentences & predicted_sentences)
    return {key: 2.0 * correct[key] / max(1, n_sentences if key == "sents_f" else n_words) for key in COLUMNS.values()}


def unparsed(nlp: Language, gold: Doc, setting: str) -> Doc:
    """Return the input of the pipeline: the text, its words, or its words and sentence boundaries."""
    if setting == "raw text":
        return nlp.make_doc(gold.text)
    starts: list[bool | int | None] | None = None
    if setting == "gold sentences":
        starts = [token.is_sent_start for token in gold]
    words, spaces = [token.text for token in gold], [bool(token.whitespace_) for token in gold]
    return Doc(nlp.vocab, words=words, spaces=spaces, sent_starts=starts)


def evaluate(nlp: Language, docs: Sequence[Doc]) -> dict[str, Any]:
    """Return the scores of each setting, and the number of words of raw text per second on one core."""
    scores: dict[str, Any] = {}
    for setting in SETTINGS:
        predicted = list(nlp.pipe(unparsed(nlp, doc, setting) for doc in docs))
        scores[setting] = f1_scores(zip(docs, predicted, strict=True))
        examples = [Example(*pair) for pair in zip(predicted, docs, strict=True)]
        by_spacy = Scorer(nlp).score(examples)
        scores[setting] |= {f"spacy_{key}": by_spacy[key] for key in ("dep_uas", "dep_las")}
    texts = [doc.text for doc in docs]
    # CPU time, which does not include other processes.
    start = time.process_time()
    n_words = sum(map(len, nlp.pipe(texts)))
    scores["words_per_second"] = n_words / (time.process_time() - start)
    return scores


def score_table(scores: dict[str, Any]) -> Table:
    """Make a table of the scores of each setting, in per cent."""
    result = Table("%", *COLUMNS, box=None, padding=(0, 1), title="Agreement with the treebank")
    for setting in SETTINGS:
        result.add_row(setting, *(f"{100.0 * scores[setting][key]:.2f}" for key in COLUMNS.values()))
    return result


@one_line_errors
def main(
    model: Annotated[str, typer.Argument(help="Name or folder of the pipeline.")],
    treebank: Annotated[Path, typer.Argument(help="A file written by treebank.py.")],
    output: Annotated[Path | None, typer.Argument(help="JSON file for the scores.")] = None,
) -> None:
    """Print the scores and write them to a file."""
    nlp = spacy.load(model)
    docs = list(saved_docs(treebank, nlp.vocab))
    scores = evaluate(nlp, docs)
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(scores, indent=2) + "\n", encoding="utf-8")
    console = Console()
    console.print(score_table(scores))
    for setting in SETTINGS:
        uas, las = (100.0 * scores[setting][f"spacy_{key}"] for key in ("dep_uas", "dep_las"))
        console.print(f"spacy evaluate, {setting}: UAS {uas:.2f}, LAS {las:.2f}")
    console.print(f"{scores['words_per_second']:,.0f} words of raw text per second on one core")


if __name__ == "__main__":
    typer.run(main)
