"""Point 6: training with the choice of C, beside peers that choose theirs on the same dev split.

python benchmarks/paths.py --data DATA [--slow]
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from common import measured, pin_threads, print_table, texts_and_labels

STRENGTHS = tuple(10.0 ** (k / 2) for k in range(-4, 7))
Scored = Iterator[dict[str, Any]]


def splits(data: Path, name: str) -> dict[str, tuple[list[str], list[str]]]:
    """Texts and labels of train, dev and test."""
    return {split: texts_and_labels(data, name, split) for split in ("train", "dev", "test")}


def macro_f1(gold: list[str], predicted: Iterable[str]) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(gold, list(predicted), average="macro"))


def grafting_path(data: Path, name: str, lang: str) -> Scored:
    """``spacy_graft.fit`` with the default component: tokenisation, path, evaluation of every point."""
    import spacy
    from spacy.training import Example

    from spacy_graft import fit

    parts = splits(data, name)
    labels = sorted(set(parts["train"][1]))

    def examples(nlp: Any, part: str, limit: int | None = None) -> list[Any]:
        found = []
        for text, label in list(zip(*parts[part], strict=True))[:limit]:
            cats = {other: float(other == label) for other in labels}
            found.append(Example.from_dict(nlp.make_doc(text), {"cats": cats}))
        return found

    warm = spacy.blank(lang)
    warm.add_pipe("textcat_graft")
    few = [example for label in labels for example in examples(warm, "train") if example.reference.cats[label]][:400]
    fit(warm, few, few)
    list(warm.pipe(parts["test"][0][:2]))
    nlp = spacy.blank(lang)
    component = nlp.add_pipe("textcat_graft")
    yield {}
    report = fit(nlp, examples(nlp, "train"), examples(nlp, "dev"))
    docs = list(nlp.pipe(parts["test"][0]))
    predicted = [max(doc.cats, key=doc.cats.get) for doc in docs]
    yield {
        "f1": macro_f1(parts["test"][1], predicted),
        "features": len(component.model.attrs["features"].df),
        "chosen": f"C/C_max = {report.l1_ratio:.4f}",
    }


def scikit(data: Path, name: str, lang: str, kind: str) -> Scored:
    """tf-idf of words (1, 2) [characters (1, 3) for Chinese] or binary, and a linear model, C chosen on dev."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    parts = splits(data, name)
    yield {}
    analyser: dict[str, Any] = {"analyzer": "char", "ngram_range": (1, 3)} if lang == "zh" else {"ngram_range": (1, 2)}
    binary: dict[str, Any] = {"binary": True, "use_idf": False, "norm": None}
    vectorizer = TfidfVectorizer(min_df=2, **analyser, **(binary if kind == "binary L1" else {"sublinear_tf": True}))
    matrices = {"train": vectorizer.fit_transform(parts["train"][0])}
    matrices |= {part: vectorizer.transform(parts[part][0]) for part in ("dev", "test")}

    def model(c: float) -> Any:
        if kind == "linear SVM":
            return LinearSVC(C=c)
        if kind == "binary L1":
            liblinear = LogisticRegression(solver="liblinear", l1_ratio=1.0, C=c)
            return liblinear if len(set(parts["train"][1])) == 2 else OneVsRestClassifier(liblinear)
        return LogisticRegression(C=c, max_iter=1000)

    best: tuple[float, Any, float] = (-1.0, None, 0.0)
    for c in STRENGTHS:
        fitted = model(c).fit(matrices["train"], parts["train"][1])
        score = macro_f1(parts["dev"][1], fitted.predict(matrices["dev"]))
        if score > best[0]:
            best = (score, fitted, c)
    models = getattr(best[1], "estimators_", [best[1]])
    used = np.abs(np.vstack([fitted.coef_ for fitted in models])).max(axis=0) > 0
    yield {
        "f1": macro_f1(parts["test"][1], best[1].predict(matrices["test"])),
        "features": int(used.sum()),
        "chosen": f"C = {best[2]:.3g}",
    }


def vowpal(data: Path, name: str, lang: str) -> Scored:
    """Vowpal Wabbit: n-grams to 3, L1 chosen on dev."""
    from vowpalwabbit import Workspace

    parts = splits(data, name)
    labels = sorted(set(parts["train"][1]))
    number = {label: i + 1 for i, label in enumerate(labels)}

    def line(text: str, label: str = "") -> str:
        units = list(text) if lang == "zh" else text.lower().split()
        clean = " ".join(unit.replace(":", "COLON").replace("|", "PIPE") for unit in units)
        return f"{number[label] if label else ''} | {clean}"

    yield {}
    order = list(zip(*parts["train"], strict=True))
    random.Random(0).shuffle(order)
    lines = [line(text, label) for text, label in order]
    best: tuple[float, list[str], str] = (-1.0, [], "")
    for l1 in ("0", "1e-7", "1e-6", "1e-5"):
        with tempfile.TemporaryDirectory() as folder:
            workspace = Workspace(
                f"--oaa {len(labels)} --ngram 3 --l1 {l1} --loss_function logistic -b 22 --quiet "
                f"--cache_file {folder}/cache"
            )
            for _ in range(10):
                for one in lines:
                    workspace.learn(one)
            scored = {
                part: [labels[workspace.predict(line(text)) - 1] for text in parts[part][0]] for part in ("dev", "test")
            }
            workspace.finish()
        score = macro_f1(parts["dev"][1], scored["dev"])
        if score > best[0]:
            best = (score, scored["test"], f"l1 = {l1}")
    yield {"f1": macro_f1(parts["test"][1], best[1]), "features": -1, "chosen": best[2]}


def fast_text(data: Path, name: str, lang: str) -> Scored:
    """fastText: word bigrams, epochs chosen on dev."""
    import fasttext

    parts = splits(data, name)
    yield {}

    def clean(text: str) -> str:
        return " ".join(list(text) if lang == "zh" else text.lower().split())

    def predicted(model: Any, text: str) -> str:
        # The compiled module, since the wrapper's predict needs a numpy before 2.
        (_, label), *_ = model.f.predict(text + "\n", 1, 0.0, "strict")
        return str(label).removeprefix("__label__")

    best: tuple[float, list[str], str] = (-1.0, [], "")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "train.txt"
        file.write_text(
            "".join(f"__label__{y.replace(' ', '_')} {clean(x)}\n" for x, y in zip(*parts["train"], strict=True))
        )
        back = {y.replace(" ", "_"): y for y in parts["train"][1]}
        for epochs in (5, 25, 50):
            model = fasttext.train_supervised(
                str(file), wordNgrams=2, epoch=epochs, lr=0.5, thread=1, verbose=0, bucket=200_000
            )
            scored = {part: [back[predicted(model, clean(x))] for x in parts[part][0]] for part in ("dev", "test")}
            score = macro_f1(parts["dev"][1], scored["dev"])
            if score > best[0]:
                best = (score, scored["test"], f"epochs = {epochs}")
    yield {"f1": macro_f1(parts["test"][1], best[1]), "features": 200_000, "chosen": best[2]}


def spacy_textcat(data: Path, name: str, lang: str, architecture: str, epochs: int) -> Scored:
    """spaCy's own component with its default settings, the best epoch on dev."""
    import spacy
    from spacy.training import Example
    from spacy.util import fix_random_seed, minibatch

    parts = splits(data, name)
    labels = sorted(set(parts["train"][1]))
    fix_random_seed(0)
    yield {}
    nlp = spacy.blank(lang)
    bow = {
        "@architectures": "spacy.TextCatBOW.v3",
        "exclusive_classes": True,
        "ngram_size": 2,
        "no_output_layer": False,
        "length": 262144,
    }
    config = {"model": bow} if architecture == "BOW" else {}
    component = nlp.add_pipe("textcat", config=config)
    examples = [
        Example.from_dict(nlp.make_doc(text), {"cats": {other: float(other == label) for other in labels}})
        for text, label in zip(*parts["train"], strict=True)
    ]
    optimizer = nlp.initialize(lambda: examples)
    docs = {part: [nlp.make_doc(text) for text in parts[part][0]] for part in ("dev", "test")}
    best: tuple[float, list[str], str] = (-1.0, [], "")
    for epoch in range(epochs):
        random.Random(epoch).shuffle(examples)
        for batch in minibatch(examples, 64):
            nlp.update(batch, sgd=optimizer, drop=0.1)
        scored = {
            part: [component.labels[i] for i in np.argmax(component.predict(docs[part]), axis=1)] for part in docs
        }
        score = macro_f1(parts["dev"][1], scored["dev"])
        if score > best[0]:
            best = (score, scored["test"], f"epoch {epoch + 1} of {epochs}")
    yield {"f1": macro_f1(parts["test"][1], best[1]), "features": -1, "chosen": best[2]}


def peers(slow: bool) -> dict[str, tuple[Callable[..., Scored], tuple[Any, ...]]]:
    """Names, functions and their last arguments."""
    quick: dict[str, tuple[Callable[..., Scored], tuple[Any, ...]]] = {
        "spacy-graft, default path": (grafting_path, ()),
        "scikit-learn tf-idf + logistic regression": (scikit, ("tf-idf",)),
        "scikit-learn tf-idf + linear SVM": (scikit, ("linear SVM",)),
        "scikit-learn binary + L1 logistic regression": (scikit, ("binary L1",)),
        "Vowpal Wabbit, n-grams to 3, L1": (vowpal, ()),
        "fastText, bigrams": (fast_text, ()),
        "spaCy textcat, bag of words, 10 epochs": (spacy_textcat, ("BOW", 10)),
    }
    return quick | ({"spaCy textcat, ensemble, 5 epochs": (spacy_textcat, ("ensemble", 5))} if slow else {})


def main(
    data: Annotated[Path, typer.Option(help="Folder of the data sets.")],
    sets: Annotated[str, typer.Option(help="Names of sets, separated by commas.")] = "movie_reviews,trec_questions",
    slow: Annotated[bool, typer.Option(help="Run spaCy's ensemble as well.")] = False,
) -> None:
    """Print a table a set."""
    pin_threads()
    for name in sets.split(","):
        lang = "zh" if name.startswith("zh") else "en"
        rows = []
        for label, (function, arguments) in peers(slow).items():
            run = measured(function, data, name, lang, *arguments)
            features = run.result["features"]
            rows.append([
                label, f"{run.seconds:.1f}", f"{run.megabytes:,.0f}", f"{run.result['f1']:.3f}",
                f"{features:,}" if features >= 0 else "not counted", run.result["chosen"],
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
