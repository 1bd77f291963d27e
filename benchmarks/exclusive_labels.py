"""Many labels that exclude each other, with short texts: ours, logistic regression and a linear SVM.

    NLTK_DATA=FOLDER python benchmarks/exclusive_labels.py [--labels 20,77]

Texts are WordNet's glosses of nouns; labels are disjoint subtrees of its hierarchy, the smallest that have enough
synsets ("fish", "musical instrument"). Each label gets about 100 training texts, 8 for dev and 17 for test.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import typer
from common import measured, need, pin_threads, print_table

#: Texts of a label, and shares of them up to the end of train, and of dev.
TEXTS, TO_TRAIN, TO_DEV = 125, 0.8, 0.865
#: Strengths that the peers choose among: C.
STRENGTHS = {"tf-idf + LR": (1.0, 10.0, 100.0), "union SVC": (0.1, 0.3, 1.0, 3.0)}
Part = tuple[list[str], list[str]]


def glosses(n_labels: int) -> list[Part]:
    """Texts and labels of train, dev and test."""
    from nltk.corpus import wordnet

    below: dict[Any, frozenset[Any]] = {}

    def subtree(synset: Any) -> frozenset[Any]:
        if synset not in below:
            below[synset] = frozenset([synset]).union(*map(subtree, synset.hyponyms()))
        return below[synset]

    rng, taken, found = np.random.default_rng(0), set[Any](), list[tuple[str, str]]()
    for synset in sorted(wordnet.all_synsets("n"), key=lambda one: (len(subtree(one)), one.name())):
        members = sorted(subtree(synset), key=lambda one: one.name())
        if len(members) >= TEXTS and taken.isdisjoint(members):
            taken.update(members)
            chosen = rng.choice(len(members), TEXTS, replace=False)
            found += [("; ".join([members[i].definition(), *members[i].examples()]), synset.name()) for i in chosen]
        if len(found) == n_labels * TEXTS:
            break
    if len(found) < n_labels * TEXTS:
        raise SystemExit(f"WordNet has only {len(found) // TEXTS} such labels, fewer than {n_labels}.")
    found = [found[i] for i in rng.permutation(len(found))]
    ends = [0, int(TO_TRAIN * len(found)), int(TO_DEV * len(found)), len(found)]
    parts = [found[begin:end] for begin, end in itertools.pairwise(ends)]
    return [([text for text, _ in part], [label for _, label in part]) for part in parts]


def scored(labels: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray | None, truth: list[str]) -> Any:
    """Macro-F1, and the log-loss where there are probabilities (documents, labels)."""
    from sklearn.metrics import f1_score, log_loss

    f1 = float(f1_score(truth, predicted, average="macro"))
    return f1, None if probabilities is None else float(log_loss(truth, probabilities, labels=labels))


def ours(n_labels: int) -> Iterator[Any]:
    """``spacy_graft.fit`` of texts, with the settings that ship."""
    import spacy

    import spacy_graft

    train, dev, (texts, truth) = glosses(n_labels)
    nlp = spacy.blank("en")
    nlp.add_pipe("textcat_graft")
    yield
    report = spacy_graft.fit(nlp, *train, dev=zip(*dev, strict=True))
    labels = np.array(sorted(nlp.get_pipe("textcat_graft").labels))
    probabilities = np.array([[doc.cats[label] for label in labels] for doc in nlp.pipe(texts)])
    scores = scored(labels, labels[probabilities.argmax(axis=1)], probabilities, truth)
    yield (*scores, report.n_active)


def peer(n_labels: int, method: str) -> Iterator[Any]:
    """n-grams of words, for the SVM with those of characters; C is chosen on dev, then trained on train and dev."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score, log_loss
    from sklearn.pipeline import make_union
    from sklearn.svm import LinearSVC

    train, dev, (texts, truth) = glosses(n_labels)
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), min_df=2, sublinear_tf=True)
    is_svm = method == "union SVC"
    vectorizer = make_union(words, characters) if is_svm else words
    yield
    values, of_dev = vectorizer.fit_transform(train[0]), vectorizer.transform(dev[0])
    losses = []
    for strength in STRENGTHS[method]:
        if is_svm:
            model = LinearSVC(C=strength).fit(values, train[1])
            losses.append(-f1_score(dev[1], model.predict(of_dev), average="macro"))
        else:
            model = LogisticRegression(C=strength, max_iter=300).fit(values, train[1])
            losses.append(log_loss(dev[1], model.predict_proba(of_dev), labels=model.classes_))
    chosen = STRENGTHS[method][int(np.argmin(losses))]
    values = vectorizer.fit_transform(train[0] + dev[0])
    model = LinearSVC(C=chosen) if is_svm else LogisticRegression(C=chosen, max_iter=300)
    model.fit(values, train[1] + dev[1])
    of_test = vectorizer.transform(texts)
    probabilities = None if is_svm else model.predict_proba(of_test)
    yield (*scored(model.classes_, model.predict(of_test), probabilities, truth), values.shape[1])


def main(labels: Annotated[str, typer.Option(help="Numbers of labels, separated by commas.")] = "20,77") -> None:
    """Print a table."""
    need("nltk", "sklearn")
    pin_threads()
    rows = []
    for n_labels in map(int, labels.split(",")):
        for method in ("ours", *STRENGTHS):
            run = measured(ours, n_labels) if method == "ours" else measured(peer, n_labels, method)
            f1, loss, n_features = run.result
            rows.append(
                [
                    n_labels, f"{n_labels * TEXTS:,}", method, f"{f1:.3f}", "" if loss is None else f"{loss:.3f}",
                    f"{n_features:,}", f"{run.seconds:.0f}", f"{run.megabytes:,.0f}",
                ]
            )  # fmt: skip
    print_table(
        "Many exclusive labels",
        ["labels", "texts", "method", "macro-F1", "log-loss", "features", "CPU s", "MB above start"],
        rows,
    )


if __name__ == "__main__":
    typer.run(main)
