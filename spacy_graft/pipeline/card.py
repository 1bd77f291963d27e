"""Model cards: what a model is for, what it was trained on, what it reads, and how good it is, in Markdown.

They are kept as ``notes`` of the pipeline's metadata, which ``spacy package`` prints in the README of a package.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from math import isfinite, isnan
from typing import TYPE_CHECKING

import numpy as np
from spacy.language import Language

from ..explain.features import effects_of, feature_text, n_documents_of, strongest_words
from ..messages import count, in_part, percentage, printable
from ..model.sparse_linear import snapshot_of
from ..model.weights import dense_column
from .notes import MARK, has_own_notes
from .textcat import TextCatGraft, TextCatGraftMultilabel

if TYPE_CHECKING:
    from ..model.snapshot import Snapshot
    from .dataset_scores import DatasetScores, Estimate

#: Labels whose features and scores are listed, and features for and against each.
SHOWN_LABELS, SHOWN_FEATURES = 30, 5
FOR_TEXTS_LIKE_THESE = """\
It is meant for texts like those that it was trained on, in their language. Its probabilities say little about other
texts: score it on a sample of your own before you use it. It does not see what its features{and_vectors} do not name,
such as the order of words beyond its n-grams, and what a text means is not known to it. Features can be proxies of what
must not decide, such as names of people: read the list below, and deny those (`spacy-graft edit`). A decision about
people should not rest on it alone."""

ON_TRAINING_DATA = "The model was trained on these documents: its scores on others are probably lower.\n\n"
OF_TRAINING_PATH = (
    "The model's config names this file or folder as its training data: if they are the same documents, its scores on "
    "others are probably lower.\n\n"
)


def add_card(nlp: Language) -> None:
    """Write the cards of a pipeline's trained components, disabled ones too, into its notes, unless it has others."""
    if not has_own_notes(nlp):
        trained = [pipe for _, pipe in nlp.components if isinstance(pipe, TextCatGraft) and pipe.is_initialized]
        nlp.meta["notes"] = "\n\n".join([MARK, *map(model_card, trained)])


def package_readme(nlp: Language, component: TextCatGraft, scores: str = "") -> str:
    """The README that ``spacy package`` would write, with the card of a component.

    Parameters
    ----------
    nlp : Language
    component : TextCatGraft
    scores : str
        The section of its scores on a data set, if there is one.
    """
    from spacy.cli.package import generate_readme

    notes = [nlp.meta["notes"]] if has_own_notes(nlp) else []
    sections = [*notes, model_card(component), scores]
    return generate_readme({**nlp.meta, "notes": "\n\n".join(filter(None, sections))}) + "\n"


def model_card(component: TextCatGraft) -> str:
    """What is known of a trained component without further documents."""
    sections = {
        "Intended use": intended_use(component),
        "Training data": training_section(component),
        "Features": features_section(component),
        "Certificate": certificate(component),
        "Calibration": calibration(component),
    }
    body = "\n\n".join(f"#### {title}\n\n{text}" for title, text in sections.items())
    return f"### Model card of {code(component.name)}\n\n{body}"


def intended_use(component: TextCatGraft) -> str:
    """What the component says of a text."""
    labels, n_labels = listed_first(component.labels), len(component.labels)
    has_vectors = snapshot_of(component.model).word_scores is not None
    for_texts = FOR_TEXTS_LIKE_THESE.format(and_vectors=" and word vectors" if has_vectors else "")
    says = f"one of {n_labels} labels" if component.exclusive else f"any number of {n_labels} labels"
    return f"A sparse linear classifier that gives each text {says}: {labels}.\n\n{for_texts}"


def training_section(component: TextCatGraft) -> str:
    """Numbers of documents, and what else the weights come from."""
    report = component.report
    if report is None:
        return "Not known: the weights were not trained by spacy-graft."
    chosen = ""
    if report.n_folds:
        chosen = " The model was chosen by cross-validation, and then trained on all of them."
    elif report.n_held_out:
        chosen = f" The model was chosen by {report.n_held_out:,} of them, and then trained on all."
    network = ""
    if report.network is not None:
        network = (
            f" A network of related features (strength {report.network_alpha:g}), which can come from outside these "
            f"documents, pulled the weights of similar ones together."
        )
    return (
        f"{report.n_documents:,} labelled documents.{chosen}{network} Sources and licence are in the table above, if "
        f"known."
    )


def features_section(component: TextCatGraft) -> str:
    """How many features there are, and which decide most."""
    snapshot, report = snapshot_of(component.model), component.report
    blocks, table, weights = snapshot.blocks, snapshot.features, snapshot.weights
    if not table.blocks:
        return vectors_sentence(component) or "The model has no features: it predicts the same for all texts."
    kinds = Counter(blocks[name].feature_kind for name in table.blocks).most_common()
    by_kind = ", ".join(count(n, kind) for kind, n in kinds)
    of = f" of {report.n_columns:,} different columns" if report is not None and report.n_columns else ""
    left_out = report.left_out if report is not None else []
    without = f" Blocks that held-out documents did not need: {listed_first(left_out)}." if left_out else ""
    effects = effects_of(weights, table.df, n_documents_of(snapshot))
    rows = []
    for y, label in enumerate(component.labels[:SHOWN_LABELS]):
        of_label, decides = dense_column(weights, y), dense_column(effects, y)
        sides = (strongest(np.flatnonzero(sign * of_label > 0.0), decides) for sign in (1.0, -1.0))
        rows.append((code(label), *(named(snapshot, side, of_label) for side in sides)))
    shown = markdown_table(("Label", "Features for it", "Features against it"), rows)
    of_vectors = vectors_sentence(component)
    return (
        f"{len(table.blocks):,} features{of}: {by_kind}.{without} Those with the largest effects, with weights"
        f"{first_labels(component.labels)}:\n\n{shown}" + (f"\n\n{of_vectors}" if of_vectors else "")
    )


def vectors_sentence(component: TextCatGraft) -> str:
    """What the model knows from word vectors; empty if it has none."""
    snapshot = snapshot_of(component.model)
    if snapshot.word_scores is None:
        return ""
    words = strongest_words(snapshot, component.labels, SHOWN_FEATURES)
    n_words = len(snapshot.word_scores.lexicon)
    return (
        f"Word vectors, which come from outside the training texts, give scores to {count(n_words, 'word')}; those "
        f"that can move a score most: {', '.join(code(word.text) for word in words)}."
    )


def first_labels(labels: Collection[str]) -> str:
    """Says that only the first labels are shown, where that is so."""
    return f" (of the first {SHOWN_LABELS} of {len(labels):,} labels)" if len(labels) > SHOWN_LABELS else ""


def strongest(features: np.ndarray, effects: np.ndarray) -> np.ndarray:
    """Those of some features that have the largest effects."""
    return features[np.argsort(-effects[features], kind="stable")][:SHOWN_FEATURES]


def named(snapshot: Snapshot, features: np.ndarray, weights: np.ndarray) -> str:
    """Features with their weights, and with the block of those whose texts are alike."""
    table = snapshot.features
    texts = {k: feature_text(snapshot.blocks, table.terms(k)) for k in features.tolist()}
    n_alike = Counter(texts.values())
    blocks = {k: f" ({code(table.blocks[k])})" if n_alike[text] > 1 else "" for k, text in texts.items()}
    return ", ".join(f"{code(text)}{blocks[k]} {weights[k]:+z.2f}" for k, text in texts.items())


def certificate(component: TextCatGraft) -> str:
    """How far the weights can be from the optimum."""
    report = component.report
    if report is None or not isfinite(report.duality_gap):
        return "The distance of the weights from the optimum of the training objective is not known."
    strength = "no L1 penalty"
    if report.l1:
        strength = f"L1 strength {report.l1:.4g}, {report.l1_ratio:.4f} of the smallest one whose model is empty"
    first = (
        f"The training objective is at most {report.duality_gap:.2g} nats above its optimum over the whole feature "
        f"space ({report.relative_gap:.1e} of the objective at zero weights; {strength})."
    )
    if report.refit is not None:
        first += f" The weights of the features found were then fitted again under an L2 penalty of {report.refit:g}."
    return first


def calibration(component: TextCatGraft) -> str:
    """What is known of the probabilities."""
    report, parts = component.report, []
    if report is not None and report.log_loss is not None:
        error = f" (standard error {report.log_loss_error:.3f})" if report.log_loss_error else ""
        parts.append(f"Log-loss {report.log_loss:.3f}{error} on the documents that the model was chosen by.")
    if report is not None and report.temperature != 1.0:
        parts.append(f"Scores were divided by a temperature of {report.temperature:.3f}, fitted on held-out documents.")
    if report is not None and report.tilt:
        parts.append(
            f"{report.tilt:+.3f} times the logarithm of the share of the label among the training documents was added "
            f"to intercepts, as held-out documents ask for."
        )
    if isinstance(component, TextCatGraftMultilabel):
        shown = list(component.thresholds.items())[:SHOWN_LABELS]
        thresholds = ", ".join(f"{code(label)} {threshold:.2f}" for label, threshold in shown)
        parts.append(f"A label is predicted from its threshold{first_labels(component.labels)}: {thresholds}.")
    return " ".join(parts) or "Not known: no documents were held out."


def scores_section(scores: DatasetScores, source: str, is_training: bool) -> str:
    """Scores on a data set, with intervals.

    Parameters
    ----------
    scores : DatasetScores
    source : str
        Name of the data set.
    is_training : bool
        Whether the config names it as training data. (If it is dev, the scores know it.)
    """
    quality = scores.quality
    total = markdown_table(
        ("Score", "Value", "95% interval"),
        [
            ("Accuracy", *percentages(scores.accuracy)),
            (f"Macro-F1 (labels that occur: {scores.n_occurring:,})", *percentages(scores.macro_f)),
            ("Log-loss", f"{scores.log_loss.value:.3f}", interval(scores.log_loss, "{:.3f}".format)),
            ("Brier score", f"{quality.brier:.3f}", ""),
            ("Expected calibration error", f"{quality.expected_calibration_error:.3f}", ""),
        ],
    )
    by_label = markdown_table(
        ("Label", "Documents", "Precision", "95% interval", "Recall", "95% interval"),
        [
            (code(label), f"{found.n_documents:,}", *percentages(found.precision), *percentages(found.recall))
            for label, found in list(scores.labels.items())[:SHOWN_LABELS]
        ],
    )
    documents = count(scores.n_documents, "document")
    heading = f"#### Scores on {code(source)}, {documents}{first_labels(scores.labels)}"
    warning = ON_TRAINING_DATA if scores.is_dev else OF_TRAINING_PATH if is_training else ""
    return f"{heading}\n\n{warning}{total}\n\n{by_label}"


def percentages(estimate: Estimate | None) -> tuple[str, str]:
    """An estimate and its interval."""
    if estimate is None:
        return "n/a", ""
    return percentage(estimate.value), interval(estimate, percentage)


def interval(estimate: Estimate, shown: Callable[[float], str]) -> str:
    """The bounds of an estimate."""
    return "too few documents or errors" if isnan(estimate.low) else f"{shown(estimate.low)} to {shown(estimate.high)}"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown."""
    escaped = ([cell.replace("|", "\\|") for cell in row] for row in [columns, ["---"] * len(columns), *rows])
    return "\n".join(f"| {' | '.join(row)} |" for row in escaped)


def listed_first(names: Sequence[str]) -> str:
    """Names, of many the first ones."""
    return in_part([*map(code, names)], SHOWN_LABELS)


def code(text: str) -> str:
    """A name as Markdown that shows every character of it."""
    shown = printable(text)
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"
