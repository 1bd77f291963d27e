"""What each default is worth: the shipped settings, and each of them changed, on splits of training documents.

Settings are chosen on these figures. Test splits are never read, and three sets are put aside altogether
(spooky_authors, zh_online_shopping_10cats, 20newsgroups_bydate). Each set's train and dev documents are shuffled; one
fifth at a time is held out. The model is the last point of the path: nothing is chosen on what is held out.

python benchmarks/ablation.py --data DATA [--folds 3] [--variants "default,no refit"]
"""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from common import pin_threads, print_table, texts_and_labels

SETS = (
    "movie_reviews", "multidomain_sentiment/books", "multidomain_sentiment/dvd", "multidomain_sentiment/electronics",
    "trec_questions", "sms_spam", "mpqa_polarity", "imdb_5k", "zh_chnsenticorp_hotel",
)  # fmt: skip
#: One fifth of the documents is held out.
PARTS = 5

WORDS = {"@graft_features": "spacy_graft.TokenNgrams.v1"}
CHARACTERS = {"@graft_features": "spacy_graft.CharacterNgrams.v1", "within_words": True, "penalty_factor": 1.5}


def learner(**options: Any) -> dict[str, Any]:
    return {"learner": {"@graft_learners": "spacy_graft.GraftingPath.v1", **options}}


def blocks(**found: dict[str, Any]) -> dict[str, Any]:
    return {"features": found}


VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "words alone": blocks(words=WORDS),
    "characters alone": blocks(characters=CHARACTERS),
    "characters across words": blocks(words=WORDS, characters={**CHARACTERS, "within_words": False}),
    "characters at the price of words": blocks(words=WORDS, characters={**CHARACTERS, "penalty_factor": 1.0}),
    "case kept": blocks(words={**WORDS, "attr": "ORTH"}, characters={**CHARACTERS, "lowercase": False}),
    "shapes of words as well": blocks(
        words=WORDS, characters=CHARACTERS, shapes={**WORDS, "attr": "SHAPE", "penalty_factor": 1.5}
    ),
    "words of 1 document": blocks(words={**WORDS, "min_df": 1}, characters=CHARACTERS),
    "no refit": learner(refit=None),
    "no refit, ridge 2": learner(refit=None, ridge=2.0),
    "refit 0.5": learner(refit=0.5),
    "refit 8": learner(refit=8.0),
    "ridge 2": learner(ridge=2.0),
    "ridge 100": learner(ridge=100.0),
    "weights: none": learner(penalty_weights="none", ridge=4.0, refit=0.4),
    "weights: idf": learner(penalty_weights="idf"),
    "weights: standard": learner(penalty_weights="standard", ridge=300.0, refit=30.0),
    "weights: ratio": learner(penalty_weights="ratio", ridge=7.0, refit=0.7),
    "weights: ratio, power 1": learner(penalty_weights="ratio", ratio_power=1.0, ridge=7.0, refit=0.7),
    "no length normalisation": learner(length_normalisation=False),
    "no balance": learner(balance=0.0),
    "full balance": learner(balance=1.0),
    "2,000 features": learner(max_features=2000),
    "20,000 features": learner(max_features=20_000),
    "loose certificate, 1e-2": learner(tol=1e-2),
}


def examples(data: Path, name: str, nlp: Any) -> list[Any]:
    """All documents of train and dev, shuffled."""
    from spacy.training import Example

    rows: list[tuple[str, str]] = []
    for split in ("train", "dev"):
        if (data / name / f"{split}.jsonl.gz").exists():
            rows += zip(*texts_and_labels(data, name, split), strict=True)
    random.Random(7).shuffle(rows)
    labels = sorted({label for _, label in rows})
    return [
        Example.from_dict(nlp.make_doc(text), {"cats": {other: float(other == label) for other in labels}})
        for text, label in rows
    ]


def scores(nlp: Any, config: dict[str, Any], train: list[Any], held_out: list[Any]) -> tuple[float, float, float]:
    """Macro-F1 and log-loss of the last point of the path, and its number of features."""
    component = nlp.add_pipe("textcat_graft", config=config)
    component.initialize(lambda: train)
    component.update(train[:1])
    while component.report is None or not component.report.finished:
        component.finish_update()
    probabilities = component.predict(example.predicted for example in held_out)
    component.set_annotations([example.predicted for example in held_out], probabilities)
    found = (
        float(component.score(held_out)["cats_macro_f"]),
        float(component.get_loss(held_out, probabilities)[0]),
        float(component.report.n_active),
    )
    nlp.remove_pipe("textcat_graft")
    return found


def results(data: Path, name: str, folds: int, variants: list[str]) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """Scores of each variant and fold of a set."""
    import spacy

    nlp = spacy.blank("zh" if name.startswith("zh") else "en")
    documents = examples(data, name, nlp)
    for fold in range(folds):
        train = [example for i, example in enumerate(documents) if i % PARTS != fold]
        held_out = documents[fold::PARTS]
        for variant in variants:
            yield variant, scores(nlp, VARIANTS[variant], train, held_out)


def main(
    data: Annotated[Path, typer.Option(help="Folder of the data sets.")],
    folds: Annotated[int, typer.Option(help="Splits of each set.", min=1, max=PARTS)] = 3,
    sets: Annotated[str, typer.Option(help="Names of sets, separated by commas.")] = ",".join(SETS),
    variants: Annotated[str, typer.Option(help="Names of variants, separated by commas.")] = "",
) -> None:
    """Print the mean over sets for each variant, and how it differs from the default's."""
    pin_threads()
    warnings.simplefilter("ignore")
    chosen = variants.split(",") if variants else list(VARIANTS)
    found: dict[str, dict[str, list[tuple[float, float, float]]]] = {variant: {} for variant in chosen}
    for name in sets.split(","):
        start = time.process_time()
        for variant, values in results(data, name, folds, chosen):
            found[variant].setdefault(name, []).append(values)
        print(f"{name}: {time.process_time() - start:.0f} s", flush=True)
    means = {
        variant: np.array([np.mean(values, axis=0) for values in by_set.values()]) for variant, by_set in found.items()
    }
    base = means[chosen[0]]
    rows = []
    for variant, by_set in means.items():
        f1, loss, features = by_set.mean(axis=0)
        difference = by_set[:, 0] - base[:, 0]
        rows.append([
            variant, f"{f1:.4f}", f"{difference.mean():+.4f}", f"{difference.min():+.3f}", f"{difference.max():+.3f}",
            f"{loss:.4f}", f"{features:,.0f}",
        ])  # fmt: skip
    header = ("what", "macro-F1", "difference", "on the worst set", "on the best set", "log-loss", "features")
    print_table(f"Defaults, {len(base)} sets, {folds} splits each", header, rows)


if __name__ == "__main__":
    typer.run(main)
