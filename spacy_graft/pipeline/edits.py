"""Edits of a trained component: other constraints, and the weights that are the best ones under them."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from itertools import compress
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.language import Language

from ..explain.features import Feature, FeatureKey, features_by_key, features_of
from ..graft.constraints import PRODUCT_SIGN, Constraints
from ..graft.emptiness import cause
from ..graft.report import Report
from ..messages import did_you_mean, listed, warn
from ..model.matching import Matcher
from ..model.snapshot import Snapshot
from ..model.sparse_linear import snapshot_of
from ..model.weights import dense_rows, entries
from ..options import is_held_by_config
from ..threads import limited_threads
from .annotation import annotated_before, words_added
from .corpus import ExtractedCorpus
from .labelled import LabelledDocuments, only_examples
from .notes import forget_model
from .training import ResumedTraining, StepModel, not_kept
from .undoing import unchanged_after_error

if TYPE_CHECKING:
    from .textcat import TextCatGraft


@dataclass(frozen=True)
class Edit:
    """What an edit has changed.

    Attributes
    ----------
    removed : list of Feature
        Features that the model no longer has, with the weights that they had.
    added : list of Feature
        Features that it did not have before.
    report : Report
        Of the new model; its ``constraints`` are all that hold.
    """

    removed: list[Feature]
    added: list[Feature]
    report: Report


def edited(
    component: TextCatGraft,
    later: Constraints,
    examples: LabelledDocuments | None,
    nlp: Language | None,
    resolve: bool,
) -> Edit:
    """Edit a component; parameters and errors are those of its ``edit``."""
    report = report_to_edit(component, later, resolve)
    if nlp is not None and all(pipe is not component for _, pipe in nlp.components):
        raise ValueError(f"[{component.name}] The pipeline that is given does not have this component.")
    later.check_labels(f"[{component.name}]", component.labels)
    constraints = component.constraints.followed_by(later)
    constraints.check(f"[{component.name}]", component.labels, component.blocks)
    learner = replace(component.learner, constraints=constraints)
    before = features_by_key(snapshot_of(component.model), component.features())
    training: ResumedTraining | None = None
    if resolve:
        corpus = training_corpus(component, examples, nlp)
        training = ResumedTraining(corpus, learner, component.vocab.strings, report)
        required = {text for text in later.names if text not in component.constraints.deny}
        with limited_threads("blas"):
            model = training.edited(weights_by_name(component, report.temperature), frozenset(required))
        if model.report.objective == 0.0:
            raise ValueError(f"[{component.name}] {cause(learner, model.report, len(training.corpus))}")
    else:
        model = pruned(component, report, constraints, later)
    warn_of_exceptions(component, constraints, later)
    features = features_of(model.snapshot, component.labels, model.report.n_documents)
    after = features_by_key(model.snapshot, features)
    edit = Edit(others(before, after), others(after, before), model.report)
    # Until here nothing has changed.
    with unchanged_after_error(component):
        was_training, component.training = component.training is not None, None
        component.set_snapshot(*model)
        component.cfg["constraints"] = constraints.to_dict()
        if training is not None:
            component.kept_corpus = training.corpus if component.keep_corpus else None
            component.training = training if was_training else None
    if nlp is not None:
        write_to_config(nlp, component, constraints)
        forget_model(nlp, component.name)
    return edit


def report_to_edit(component: TextCatGraft, later: Constraints, resolve: bool) -> Report:
    """The report of a component that can be edited."""
    component.require_initialized()
    if component.report is None:
        raise ValueError(f"[{component.name}] The component is not trained: there is nothing to edit. Train it first.")
    if not hasattr(component.learner, "constraints"):
        raise ValueError(
            f"[{component.name}] The learner {type(component.learner).__name__} has no constraints. Train the "
            f"component with spacy_graft.Grafting.v1 or spacy_graft.GraftingPath.v1."
        )
    if resolve and (what := not_kept(component.report)):
        raise ValueError(
            f"[{component.name}] The model was trained with {what} not kept with it, so that its weights cannot be "
            f"optimised again. Set the constraints of the learner in the config, and train again; or remove denied "
            f"features only: edit(..., resolve=False), or --no-resolve."
        )
    if not (later.deny or later.allow or later.signs or later.locked):
        raise ValueError(f"[{component.name}] There is nothing to edit. Give deny, allow, signs or lock.")
    return component.report


def warn_of_exceptions(component: TextCatGraft, constraints: Constraints, later: Constraints) -> None:
    """Warn if exceptions in some blocks allow all features of the model that one name is to deny."""
    if not constraints.allow:
        return
    snapshot = snapshot_of(component.model)
    having: dict[str, list[tuple[str, int]]] = {}
    for k in range(snapshot.features.n_features):
        for block, name in named_terms(snapshot, k):
            having.setdefault(name, []).append((block, k))
    for one in later.denied:
        if one.literal is None:
            continue
        found = [(block, k) for block, k in having.get(one.literal, ()) if one.is_of(block)]
        if found and not any(is_denied(snapshot, k, constraints) for _, k in found):
            matching = [has for has in constraints.allowed if has.matches(one.literal)]
            by = listed(has.text for has in matching if any(has.is_of(block) for block, _ in found))
            warn(
                f"[{component.name}] {one.text!r} is denied, but the model keeps what is allowed of it by {by}. To "
                f"remove it, deny these patterns too, and allow by other names what else they allow."
            )


def training_corpus(
    component: TextCatGraft, examples: LabelledDocuments | None, nlp: Language | None
) -> ExtractedCorpus:
    """The training documents: those given, or those kept."""
    if examples is None:
        if component.corpus is not None:
            return component.corpus
        raise ValueError(
            f"[{component.name}] The training documents are not kept with the component, so that its weights cannot be "
            f"optimised again. Give them: edit(..., examples=...), or on the command line spacy-graft edit MODEL ... "
            f"--data TRAIN.jsonl --output NEW. To have them kept, set keep_corpus = true in "
            f"[components.{component.name}] before training. To remove denied features only and leave all other "
            f"weights as they are, without a certificate: edit(..., resolve=False), or --no-resolve."
        )
    component.require_lasting_words()
    corpus = ExtractedCorpus(component.blocks, component.target_reader())
    remedy = "Training documents that are pairs of a text and its labels need the pipeline: edit(..., nlp=nlp)."
    read = only_examples(examples, remedy) if nlp is None else annotated_before(nlp, component, examples)
    corpus.add(words_added(read, component.blocks, component.vocab))
    if not len(corpus):
        raise ValueError(f"[{component.name}] There are no training documents. Check that the corpus is not empty.")
    assert component.report is not None
    if (n_documents := component.report.n_documents) not in (0, len(corpus)):
        warn(
            f"[{component.name}] The model was trained on {n_documents:,} documents, but {len(corpus):,} are given: "
            f"its weights will be the best ones for these."
        )
    return corpus


def weights_by_name(component: TextCatGraft, temperature: float) -> dict[tuple[str, str], np.ndarray]:
    """Weights by block and name of a model's features, but for products, before they were divided by a temperature."""
    snapshot = snapshot_of(component.model)
    weights = dense_rows(snapshot.weights, np.arange(snapshot.features.n_features)) * temperature
    return {
        (feature.block, feature.text): row
        for feature, row in zip(component.features(), weights, strict=True)
        if PRODUCT_SIGN not in feature.text
    }


def pruned(component: TextCatGraft, report: Report, constraints: Constraints, later: Constraints) -> StepModel:
    """The model without the features that are denied; all other weights stay as they are."""
    if later.signs or later.locked:
        raise ValueError(
            f"[{component.name}] Signs and locked weights need the training documents. Without them (resolve=False), "
            f"only features can be removed."
        )
    snapshot, features = snapshot_of(component.model), component.features()
    for pattern in later.denied:
        alone = Constraints(deny=[pattern.text])
        if not any(is_denied(snapshot, k, alone) for k in range(len(features))):
            raise ValueError(
                f"[{component.name}] No feature of the model is named {pattern.text!r}."
                f"{did_you_mean(pattern.name, [feature.text for feature in features])}"
            )
    kept = np.array([not is_denied(snapshot, k, constraints) for k in range(len(features))], np.bool_)
    if kept.all():
        raise ValueError(f"[{component.name}] No feature is denied by {listed(later.names)}: nothing is removed.")
    rows = [dict(row) for row in entries(snapshot.weights[kept])]
    # Two labels that exclude each other share one weight, where all others have no documents.
    are_shared = component.exclusive and len(set().union(*rows)) == 2 and not any(sum(row.values()) for row in rows)
    n_pairs = sum(map(len, rows))
    new = replace(
        report.copy(),
        duality_gap=inf,
        relative_gap=inf,
        log_loss=None,
        log_loss_error=None,
        difference_error=None,
        converged=False,
        n_active=int(kept.sum()),
        n_pairs=n_pairs // 2 if are_shared else n_pairs,
        constraints=constraints.to_dict(),
    )
    return StepModel(some_features(snapshot, kept), new)


def named_terms(snapshot: Snapshot, feature: int) -> list[tuple[str, str]]:
    """The block and the name of a feature of a model, or those of each item of a product."""
    return [
        (term.block, snapshot.blocks[term.block].text(term.symbols))  # type: ignore[union-attr]
        for term in snapshot.features.terms(feature)
    ]


def is_denied(snapshot: Snapshot, feature: int, constraints: Constraints) -> bool:
    """Whether a feature of a model, or an item of a product, is denied by its name."""
    terms = named_terms(snapshot, feature)
    if any(constraints.denial_of(*term) for term in terms):
        return True
    if len(terms) == 1:
        return False
    block, names = snapshot.features.blocks[feature], [name for _, name in terms]
    return any(
        pattern.is_of(block) and (pattern.members == sorted(names) or (pattern.block == block and pattern.name == "*"))
        for pattern in constraints.denied
    )


def some_features(snapshot: Snapshot, kept: np.ndarray) -> Snapshot:
    """The snapshot with some of its features (bool)."""
    table = snapshot.features
    columns: dict[str, Any] = {
        name: tuple(compress(getattr(table, name), kept)) for name in ("blocks", "ngrams", "longest", "members")
    }
    shares, stability = snapshot.length_shares, snapshot.stability
    return replace(
        snapshot,
        features=replace(table, **columns, df=table.df[kept]),
        weights=snapshot.weights[kept],
        matcher=Matcher(),
        length_shares=shares[kept] if len(shares) else shares,
        stability=None if stability is None else stability.some(kept),
    )


def write_to_config(nlp: Language, component: TextCatGraft, constraints: Constraints) -> None:
    """Put the constraints into the config of the pipeline, so that a training from it obeys them.

    Those with ``$`` would be others when the config is read, or none that can be read.
    """
    name = next((name for name, pipe in nlp.components if pipe is component), None)
    if not is_held_by_config(constraints.to_dict()):
        warn(
            f"[{component.name}] The constraints are saved with the component, but not in the config of the pipeline, "
            f"which cannot hold the '$' in them: a training from this config alone does not obey them."
        )
    elif name is not None:
        learner = nlp.get_pipe_config(name)["learner"]
        learner["constraints"] = {"@graft_constraints": "spacy_graft.Constraints.v1", **constraints.to_dict()}


def others(features: dict[FeatureKey, Feature], known: Container[FeatureKey]) -> list[Feature]:
    """The features that are not ``known``, those with the largest weights first."""
    found = [feature for key, feature in features.items() if key not in known]
    return sorted(found, key=lambda feature: -max(map(abs, feature.weights.values())))
