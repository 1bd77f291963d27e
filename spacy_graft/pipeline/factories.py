"""Factories: how a config becomes a component."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from spacy.language import Language

from ..extract.blocks import is_block, is_product_block
from ..graft.settings import Grafting
from ..graft.start import is_learner
from ..messages import did_you_mean
from ..model.sparse_linear import SparseLinear
from .defaults import blocks_of, default_features
from .registration import register_with_spacy
from .scorer import TEXTCAT_MULTILABEL_SCORER, TEXTCAT_SCORER
from .textcat import TextCatGraft, TextCatGraftMultilabel

register_with_spacy()

Component = TypeVar("Component", bound=TextCatGraft)

#: What a component is made with where its config says nothing. ``features`` is null here because spaCy merges a
#: component's config into its default: blocks listed here would join those of every user.
DEFAULT_CONFIG: dict[str, Any] = {
    "features": None,
    "learner": {"@graft_learners": "spacy_graft.GraftingPath.v1"},
    "threshold": 0.5,
}
SCORE_WEIGHTS: dict[str, float | None] = {
    "cats_score": 1.0,
    "cats_score_desc": None,
    "cats_micro_p": None,
    "cats_micro_r": None,
    "cats_micro_f": None,
    "cats_macro_p": None,
    "cats_macro_r": None,
    "cats_macro_f": None,
    "cats_macro_auc": None,
    "cats_f_per_type": None,
}


@Language.factory(
    "textcat_graft",
    assigns=["doc.cats"],
    default_config={**DEFAULT_CONFIG, "scorer": {"@scorers": TEXTCAT_SCORER}},
    default_score_weights=SCORE_WEIGHTS,
)
def make_textcat_graft(
    nlp: Language,
    name: str,
    features: dict[str, Any] | None,
    learner: Any,
    threshold: float,
    scorer: Callable[..., dict[str, Any]] | None,
) -> TextCatGraft:
    """Classifier of documents whose labels exclude each other.

    Parameters
    ----------
    nlp : Language
    name : str
    features : dict of str to block, optional
        Feature blocks by name, each made by one of ``@graft_features``. If any is given, these are all there are; null
        stands for :func:`~spacy_graft.pipeline.defaults.default_features`.
    learner : settings
        One of ``@graft_learners``.
    threshold : float
        Not used: one label always holds.
    scorer : callable, optional
    """
    return make(TextCatGraft, nlp, name, features, learner, threshold, scorer)


@Language.factory(
    "textcat_graft_multilabel",
    assigns=["doc.cats"],
    default_config={**DEFAULT_CONFIG, "scorer": {"@scorers": TEXTCAT_MULTILABEL_SCORER}},
    default_score_weights=SCORE_WEIGHTS,
)
def make_textcat_graft_multilabel(
    nlp: Language,
    name: str,
    features: dict[str, Any] | None,
    learner: Any,
    threshold: float,
    scorer: Callable[..., dict[str, Any]] | None,
) -> TextCatGraftMultilabel:
    """Classifier of documents of which any number of labels may hold.

    Parameters
    ----------
    nlp : Language
    name : str
    features : dict of str to block, optional
        As for ``textcat_graft``.
    learner : settings
        One of ``@graft_learners``.
    threshold : float
        From which probability on a label counts as predicted, unless ``spacy_graft.calibrate`` gave it a threshold of
        its own.
    scorer : callable, optional
    """
    return make(TextCatGraftMultilabel, nlp, name, features, learner, threshold, scorer)


def make(
    component: type[Component],
    nlp: Language,
    name: str,
    features: dict[str, Any] | None,
    learner: Any,
    threshold: float,
    scorer: Callable[..., dict[str, Any]] | None,
) -> Component:
    """A component of either kind, its settings checked; the arguments are those of the factories."""
    blocks = blocks_of(default_features()) if features is None else features
    check(name, blocks, learner)
    return component(
        nlp.vocab,
        SparseLinear(blocks),
        name,
        blocks=blocks,
        learner=learner,
        threshold=threshold,
        scorer=scorer,
    )


def check(name: str, blocks: dict[str, Any], learner: Any) -> None:
    """Raise a ValueError if a config has something else where blocks and a learner belong."""
    if not blocks:
        raise ValueError(f"[{name}] There are no feature blocks. Give one at least, or null for the default.")
    for block_name, block in blocks.items():
        if not is_block(block):
            raise ValueError(
                f"[{name}] The feature block {block_name!r} is {block!r}, and none of what @graft_features make."
            )
    check_combinations(name, blocks)
    if isinstance(learner, Grafting) and learner.takes_all and any(map(is_product_block, blocks.values())):
        raise ValueError(
            f"[{name}] Without a min_gradient Grafting takes all features at once, but combinations are not written "
            f"down. Give the learner a min_gradient, or leave the block of combinations out."
        )
    if not is_learner(learner):
        raise ValueError(f"[{name}] The learner is {learner!r}, and none of what @graft_learners make.")


def check_combinations(name: str, blocks: dict[str, Any]) -> None:
    """Raise a ValueError if combinations are not of blocks that there are, or there are several blocks of them."""
    found = {block_name: block for block_name, block in blocks.items() if is_product_block(block)}
    if len(found) > 1:
        raise ValueError(
            f"[{name}] There are {len(found)} blocks of combinations: {', '.join(map(repr, found))}. Give one, of all "
            f"blocks that are to be combined."
        )
    others = [block_name for block_name in blocks if block_name not in found]
    for block_name, block in found.items():
        unknown = [of for of in block.of if of not in others]
        if unknown:
            raise ValueError(
                f"[{name}] The block {block_name!r} combines {', '.join(map(repr, unknown))}, which is no other block "
                f"of this component.{did_you_mean(unknown[0], others)} The others: "
                f"{', '.join(map(repr, others)) or 'none'}."
            )
