"""How held-out documents choose the model during training, whenever a component is scored by them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.training import Example

from ..digests import share_in_sketch
from ..extract.unread import unread_text
from ..graft.emptiness import problem_of_weights
from ..held_out import ENOUGH_HELD_OUT, MOST_COPIES
from ..messages import listed, warn
from ..threads import limited_threads
from .annotation import words_added
from .choice import HeldOut
from .corpus import ExtractedCorpus
from .targets import has_labels_of, sum_to_one

if TYPE_CHECKING:
    from .textcat import TextCatGraft
    from .training import Training

#: Why nothing was scored. spaCy's ``evaluate`` finds no documents in a file whose name does not end in ``.spacy``.
NOTHING_TO_SCORE = (
    "[{name}] There are no documents to score: the corpus is empty or was not read. spacy evaluate reads files of "
    "spaCy's documents (.spacy) only: for JSON lines, CSV and folders of texts use spacy-graft evaluate MODEL DATA, or "
    "make such a file by spacy-graft convert DATA test.spacy."
)
NOTHING_TO_CHOOSE_BY = (
    "[{name}] There are no documents to choose the model by: the corpus that [training] dev_corpus names is empty. "
    "Give it documents, or train with spacy-graft train or spacy_graft.fit, which hold out some of train."
)
#: Share of documents above which it is worth a warning that the model knows them.
MANY_KNOWN = 0.25


def choose(
    component: TextCatGraft, training: Training, held_out: HeldOut, examples: list[Example], options: dict[str, Any]
) -> dict[str, Any]:
    """Judge the present point of the path by these documents, and set the model chosen among the points so far.

    The scores are those of the chosen point. Other documents than the first ones are scored as ever.
    """
    course = training.course
    choice = course.choice
    assert choice is not None
    judged, is_changed = [example for example in examples if can_judge(component, example)], False
    if course.held_out is not None and course.held_out is not held_out:
        found = held_out.like(course.held_out)
        if found is None:
            warn_of_others(component, training, len(judged))
            return component.scores_of(examples, options)
        held_out, numbers = found
        judged = [judged[number] for number in numbers.tolist()]
        if is_changed := held_out is not course.held_out:
            warn_of_annotation(component)

    def scorer(probabilities: np.ndarray, thresholds: list[float] | None) -> dict[str, Any]:
        component.set_annotations((example.predicted for example in judged), probabilities)
        return component.scores_of(examples, options, thresholds)

    if course.held_out is None:
        warn_of_unknown(component, examples, len(judged))
        warn_of_one_target(component, held_out)
        warn_of_weights(component, held_out.corpus)
    if not course.is_compared:
        warn_of_known(component, training.corpus, held_out.corpus)
        course.is_compared = True
    if not course.is_judged:
        with limited_threads("blas"), training.judging(held_out, scorer):
            chosen = choice.chosen
            assert chosen.snapshot is not None
            component.set_snapshot(chosen.snapshot, chosen.report)
            component.note_score(choice.points[-1].scores)
    course.n_scored += course.concluded
    if not choice.points:
        return component.scores_of(examples, options)
    if is_changed:
        docs = [example.predicted for example in judged]
        component.set_annotations(docs, component.predict(docs))
        return {**component.scores_of(examples, options), **choice.scores()}
    # Other components may go on after the last step. The scores stay those before training on these documents as well:
    # spaCy writes the last of several equal ones into meta.json.
    chosen = choice.chosen
    component.set_annotations((example.predicted for example in judged), chosen.probabilities)
    return {**chosen.scores, **choice.scores()}


def warn_of_unknown(component: TextCatGraft, examples: list[Example], n_judging: int) -> None:
    """Warn of held-out documents that cannot choose."""
    if n_judging < len(examples):
        found = {label: None for example in examples for label, value in example.reference.cats.items() if value}
        unknown = [label for label in found if label not in component.labels]
        named = f" ({listed(unknown)})" if unknown else ""
        warn(
            f"[{component.name}] Only {n_judging} of {len(examples)} held-out documents choose the model: the others "
            f"have no label, or labels that the component does not have{named}."
        )


def warn_of_no_judge(component: TextCatGraft, n_examples: int) -> None:
    """Warn of documents that should choose the model, and of which none can."""
    warn(
        f"[{component.name}] None of the {n_examples} held-out documents has a label of the component: they choose no "
        f"model, so that it is that of the last step, whose temperature is not known. The labels of the component: "
        f"{listed(component.labels)}."
    )


def warn_of_no_labels(component: TextCatGraft, examples: list[Example]) -> None:
    """Warn of documents that no score can be computed of."""
    found = dict.fromkeys(label for example in examples for label in example.reference.cats)
    warn(
        f"[{component.name}] None of the {len(examples)} documents has a label of the component in doc.cats: there is "
        f"nothing to score the component by. The labels of the documents: {listed([*found])}; of the "
        f"component: {listed(component.labels)}. For texts with labels in JSON lines or CSV, use spacy-graft "
        f"evaluate."
    )


def warn_of_late(component: TextCatGraft, n_examples: int) -> None:
    """Warn of documents that come too late to choose."""
    warn(
        f"[{component.name}] These {n_examples:,} documents do not choose among the points of the path, since none "
        f"were evaluated after its first step. If they are held-out documents, evaluate them after each step."
    )


def warn_of_one_target(component: TextCatGraft, held_out: HeldOut) -> None:
    """Warn of held-out documents whose labels are all the same."""
    if held_out.of_shares == 0.0 and len(component.labels) > 1:
        warn(
            f"[{component.name}] The held-out documents that choose the model ({len(held_out.corpus)}) all have the "
            f"same labels. Add documents with others: a model that always gives these labels would seem the best."
        )


def warn_of_known(component: TextCatGraft, corpus: ExtractedCorpus, held_out: ExtractedCorpus) -> None:
    """Warn of held-out documents that are training documents as well, if they are many.

    Texts that come again and again are not meant: documents to come will have them too.
    """
    keys, n_copies = np.unique(corpus.documents().keys, return_counts=True)
    n_known = int(np.isin(held_out.documents().keys, keys[n_copies <= MOST_COPIES]).sum())
    if n_known > MANY_KNOWN * len(held_out):
        warn(
            f"[{component.name}] {n_known:,} of the {len(held_out):,} held-out documents that choose the model are "
            f"training documents too. They make it larger and surer of itself than it should be: remove them from one "
            f"of both."
        )


def warn_of_weights(component: TextCatGraft, held_out: ExtractedCorpus) -> None:
    """Warn of weights of held-out documents that are far from 1, for which the adjustment is meant."""
    weights = held_out.documents().targets.weights
    if problem_of_weights(weights) is not None:
        warn(
            f"[{component.name}] The example weights of the {len(held_out):,} held-out documents sum to "
            f"{weights.sum():.4g}. Temperature and tilt are fitted as if there were that many: give weights around 1."
        )


def warn_of_annotation(component: TextCatGraft) -> None:
    """Warn of held-out documents that are read otherwise than before."""
    warn(
        f"[{component.name}] The blocks find other features in the held-out documents than at the step before: a "
        f"component before this one changes its annotation, so that points of the path cannot be compared. Train it in "
        f"a run before, and freeze it in this one."
    )


def warn_of_others(component: TextCatGraft, training: Training, n_judging: int) -> None:
    """Warn of documents that choose nothing, where a point has yet to be judged."""
    if not training.course.is_judged:
        warn(
            f"[{component.name}] These {n_judging:,} documents do not choose the model, since they are not those that "
            f"judged its first point. Evaluate the same documents after each step; others, such as a test set, after "
            f"them."
        )


def warn_of_noise(name: str, held_out: HeldOut, losses: np.ndarray, shares: np.ndarray) -> None:
    """Warn if a model with these losses is not reliably better than the shares of labels in the corpus."""
    if len(losses) < ENOUGH_HELD_OUT:
        return
    of_shares = held_out.losses_of(shares)
    gains = of_shares - losses
    if held_out.mean(gains) <= held_out.error(gains):
        warn(
            f"[{name}] On the held-out documents, the model is not reliably better than the frequencies of the labels "
            f"(log-loss {held_out.mean(losses):.4f}; of the frequencies {held_out.mean(of_shares):.4f}). Check some "
            f"texts and their labels."
        )


def chose_model(component: TextCatGraft, texts: Iterable[str]) -> float:
    """About which share of texts the model was chosen by, and then trained on; 0 if it is not worth a warning."""
    report = component.report
    if report is None or not report.n_held_out or report.held_out_sketch is None:
        return 0.0
    share = share_in_sketch(texts, report.held_out_sketch, MOST_COPIES)
    return share if share > MANY_KNOWN else 0.0


def warn_of_trained(component: TextCatGraft, texts: Iterable[str]) -> None:
    """Warn of the texts that the model was chosen by, and then trained on."""
    if share := chose_model(component, texts):
        which = "these documents" if share == 1.0 else f"many of these documents (about {share:.0%})"
        warn(
            f"[{component.name}] The model was chosen by {which}, and then trained on them as well: its scores on them "
            f"are too good, and a temperature fitted on them is too low. Give documents that the model has not seen."
        )


def held_out_of(component: TextCatGraft, examples: list[Example], shares: np.ndarray) -> HeldOut:
    """The documents of examples of which a label of the component is known.

    ``shares``: of labels among the training documents, float64 (n_labels).
    """
    corpus = ExtractedCorpus(component.blocks, component.target_reader(skips_unknown=True))
    judging = [can_judge(component, example) for example in examples]
    corpus.add(words_added(compress(examples, judging), component.blocks, component.vocab))
    return HeldOut(corpus, component.vocab.strings, shares, bool(component.constraints.locks), examples, judging)


def require_texts(name: str, examples: Sequence[Example], choosing: Training | None) -> None:
    """Raise a ValueError if there are no documents, to choose a model of a training by or to score.

    And if a component has put another document in the place of a lazy one: it has no features.
    """
    if not examples:
        is_choice = choosing is not None and choosing.in_loop
        raise ValueError((NOTHING_TO_CHOOSE_BY if is_choice else NOTHING_TO_SCORE).format(name=name))
    if any(unread_text(one.reference) is not None and unread_text(one.predicted) is None for one in examples):
        raise ValueError(
            f"[{name}] A component before this one returns new documents, without the text of lazy ones. Set "
            f"lazy = false in [corpora.train] and [corpora.dev], or give documents with tokens."
        )


def can_judge(component: TextCatGraft, example: Example) -> bool:
    """Whether labels of this component are known of an example; if they are exclusive, one of them must be right.

    Labels that only held-out documents have are not known to the component, and count for nothing. Those of other
    components may be right as well.
    """
    if not component.exclusive:
        return has_labels_of(example.reference, component.labels)
    right = {label: value for label, value in example.reference.cats.items() if value}
    known = right.keys() & set(component.labels)
    return bool(known) and (len(known) == len(right) or sum_to_one(right[one] for one in known))
