"""Factories: how a config becomes a component."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from spacy.language import Language

from ..extract.blocks import NgramBlock
from ..extract.characters import CharacterNgrams
from ..extract.combinations import Combinations
from ..extract.tokens import TokenNgrams
from ..graft.learners import Grafting
from ..model.sparse_linear import SparseLinear
from ..suggestions import did_you_mean
from .scorer import TEXTCAT_MULTILABEL_SCORER, TEXTCAT_SCORER
from .textcat import TextCatGraft, TextCatGraftMultilabel
from .training import Learner

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


#: What blocks have that read documents.
READS = ("check", "symbols", "names", "values", "text", "min_df", "penalty")


def default_blocks() -> dict[str, NgramBlock]:
    """The blocks of a component whose config has ``features = null``: phrases, and characters within words."""
    return {
        "words": TokenNgrams(attr="LOWER", min_df=2),
        "characters": CharacterNgrams(min_df=3, within_words=True, penalty=1.5),
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
    learner: Learner,
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
        stands for :func:`default_blocks`.
    learner : Learner
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
    learner: Learner,
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
    learner : Learner
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
    learner: Learner,
    threshold: float,
    scorer: Callable[..., dict[str, Any]] | None,
) -> Component:
    """A component of either kind, its settings checked; the arguments are those of the factories."""
    blocks = default_blocks() if features is None else features
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
        if not (isinstance(block, Combinations) or all(hasattr(block, member) for member in READS)):
            raise ValueError(
                f"[{name}] The feature block {block_name!r} is {block!r}, and none of what @graft_features make."
            )
    check_combinations(name, blocks)
    if (
        isinstance(learner, Grafting)
        and learner.takes_all
        and any(isinstance(b, Combinations) for b in blocks.values())
    ):
        raise ValueError(
            f"[{name}] Without a threshold Grafting takes all features at once, but combinations are not written down. "
            f"Give the learner a threshold, or leave the block of combinations out."
        )
    if not isinstance(learner, Learner):
        raise ValueError(f"[{name}] The learner is {learner!r}, and none of what @graft_learners make.")


def check_combinations(name: str, blocks: dict[str, Any]) -> None:
    """Raise a ValueError if combinations are not of blocks that there are, or there are several blocks of them."""
    found = {block_name: block for block_name, block in blocks.items() if isinstance(block, Combinations)}
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
