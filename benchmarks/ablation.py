"""What each default is worth: the shipped settings, and each of them changed, on splits of training documents.

Settings are chosen on these figures. Test splits are never read, and three sets are put aside altogether
(spooky_authors, zh_online_shopping_10cats, 20newsgroups_bydate). Each set's train and dev documents are shuffled; one
fifth at a time is held out. Of the others a tenth is dev: size, refit and temperature are chosen there, and the model
is trained again on all of them, as by ``spacy train``. Nothing is chosen on what is held out.

python benchmarks/ablation.py --data DATA [--folds 3] [--variants "default;no refit"]
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from common import DataFolder, load_results, pin_threads, print_table, save_results, texts_and_labels

HERE = Path(__file__).parent
#: Macro-F1, log-loss, number of features.
Result = Sequence[float]
SETS = (
    "movie_reviews", "multidomain_sentiment/books", "multidomain_sentiment/dvd", "multidomain_sentiment/electronics",
    "trec_questions", "sms_spam", "mpqa_polarity", "imdb_5k", "zh_chnsenticorp_hotel",
)  # fmt: skip
#: One fifth of the documents is held out, and a tenth of the others is dev.
PARTS, DEV_PARTS = 5, 10

WORDS = {"@graft_features": "spacy_graft.TokenNgrams.v1", "ends": True}
CHARACTERS = {
    "@graft_features": "spacy_graft.CharacterNgrams.v1", "within_words": True, "mark_capitals": True,
    "penalty_factor": 1.5,
}  # fmt: skip
UNMARKED = {**CHARACTERS, "mark_capitals": False}


def learner(**options: Any) -> dict[str, Any]:
    return {"learner": {"@graft_learners": "spacy_graft.GraftingPath.v1", **options}}


def blocks(**found: dict[str, Any]) -> dict[str, Any]:
    return {"features": found}


#: Settings of a component. Of several, those of the least log-loss on dev.
VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "default": ({},),
    "texts without ends": (blocks(words={**WORDS, "ends": False}, characters=CHARACTERS),),
    "words alone": (blocks(words=WORDS),),
    "characters alone": (blocks(characters=CHARACTERS),),
    "characters across words": (blocks(words=WORDS, characters={**UNMARKED, "within_words": False, "ends": True}),),
    "characters with penalty factor 1": (blocks(words=WORDS, characters={**CHARACTERS, "penalty_factor": 1.0}),),
    "case ignored": (blocks(words=WORDS, characters=UNMARKED),),
    "case kept": (blocks(words={**WORDS, "attr": "ORTH"}, characters={**UNMARKED, "lowercase": False}),),
    "case kept in characters": (blocks(words=WORDS, characters={**UNMARKED, "lowercase": False}),),
    "case kept in words": (blocks(words={**WORDS, "attr": "ORTH"}, characters=UNMARKED),),
    "shapes of words as well": (
        blocks(words=WORDS, characters=CHARACTERS, shapes={**WORDS, "attr": "SHAPE", "penalty_factor": 1.5}),
    ),
    "words of 1 document": (blocks(words={**WORDS, "min_df": 1}, characters=CHARACTERS),),
    "no refit": (learner(refit=None),),
    "no refit, ridge 2": (learner(refit=None, ridge=2.0),),
    "refit 2": (learner(refit=2.0),),
    "ridge 2": (learner(ridge=2.0),),
    "ridge 100": (learner(ridge=100.0),),
    "weights: none": tuple(learner(penalty_weights="none", ridge=ridge) for ridge in (0.4, 4.0, 40.0)),
    "weights: idf": (learner(penalty_weights="idf"),),
    "weights: standard": tuple(learner(penalty_weights="standard", ridge=ridge) for ridge in (30.0, 300.0, 3000.0)),
    "weights: ratio": (learner(penalty_weights="ratio", ridge=7.0),),
    "weights: ratio, power 1": (learner(penalty_weights="ratio", ratio_power=1.0, ridge=7.0),),
    "n-grams of all lengths alike": (learner(ngram_power=0.0),),
    "n-gram power 0.5": (learner(ngram_power=0.5),),
    "n-gram power 1": (learner(ngram_power=1.0),),
    "no length normalisation": (learner(length_normalisation=False),),
    "no balance": (learner(balance=0.0),),
    "full balance": (learner(balance=1.0),),
    "500 features": (learner(max_features=500),),
    "2,000 features": (learner(max_features=2000),),
    "5,000 features": (learner(max_features=5000),),
    "not trained again on dev": (learner(retrain=False),),
    "loose certificate, 1e-2": (learner(tol=1e-2),),
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


def scores(nlp: Any, configs: Sequence[dict[str, Any]], train: list[Any], held_out: list[Any]) -> Result:
    """Macro-F1 and log-loss of the model that dev chooses, and its number of features."""
    return min((fitted(nlp, config, train, held_out) for config in configs), key=lambda found: found[0])[1]


def fitted(nlp: Any, config: dict[str, Any], train: list[Any], held_out: list[Any]) -> tuple[float, Result]:
    """The log-loss on dev, and :func:`scores`, of one config."""
    import spacy_graft

    component = nlp.add_pipe("textcat_graft", config=config)
    dev = train[::DEV_PARTS]
    n_features = spacy_graft.fit(nlp, [example for i, example in enumerate(train) if i % DEV_PARTS], dev=dev).n_active
    probabilities = component.predict(example.predicted for example in held_out)
    component.set_annotations([example.predicted for example in held_out], probabilities)
    found = (
        float(component.score(held_out)["cats_macro_f"]),
        float(component.get_loss(held_out, probabilities)[0]),
        float(n_features),
    )
    nlp.remove_pipe("textcat_graft")
    return min(step["log_loss"] for step in component.history if step["log_loss"] is not None), found


def measure(kept: dict[str, Result], path: Path, data: Path, name: str, folds: int, variants: Sequence[str]) -> None:
    """Scores of each variant and fold of a set that are not kept yet, stored at once."""
    import spacy

    jobs = [(fold, variant) for fold in range(folds) for variant in variants]
    if all(key_of(name, *job) in kept for job in jobs):
        return
    nlp = spacy.blank("zh" if name.startswith("zh") else "en")
    documents = examples(data, name, nlp)
    for fold, variant in jobs:
        if key_of(name, fold, variant) not in kept:
            train = [example for i, example in enumerate(documents) if i % PARTS != fold]
            kept[key_of(name, fold, variant)] = scores(nlp, VARIANTS[variant], train, documents[fold::PARTS])
            save_results(path, kept)


def key_of(name: str, fold: int, variant: str) -> str:
    """What the scores of a model are kept by."""
    return f"{name}; {fold}; {variant}"


def main(
    data: DataFolder,
    folds: Annotated[int, typer.Option(help="Splits of each set.", min=1, max=PARTS)] = 3,
    sets: Annotated[str, typer.Option(help="Names of sets, separated by commas.")] = ",".join(SETS),
    variants: Annotated[str, typer.Option(help="Names of variants, separated by semicolons.")] = ";".join(VARIANTS),
    results: Annotated[Path, typer.Option(help="Where results are kept.")] = HERE / "ablation.json.gz",
) -> None:
    """Measure what is missing; print the mean over sets for each variant, and how it differs from the default's."""
    pin_threads()
    warnings.simplefilter("ignore")
    names, chosen = sets.split(","), variants.split(";")
    kept: dict[str, Result] = load_results(results)
    for name in names:
        measure(kept, results, data, name, folds, chosen)
    means = {
        variant: np.array(
            [np.mean([kept[key_of(name, fold, variant)] for fold in range(folds)], axis=0) for name in names]
        )
        for variant in chosen
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
