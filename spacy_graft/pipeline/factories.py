"""Factories, which make components from configs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from spacy.language import Language

from ..extract.blocks import Block, is_block, is_combination_block, is_item_block, is_reading_block, is_vectors_block
from ..extract.options import check_item_settings
from ..graft.settings import Grafting, GraftingPath, PenaltySettings
from ..graft.start import is_learner
from ..messages import did_you_mean, listed, warn
from ..model.sparse_linear import SparseLinear
from ..options import is_held_by_config
from .defaults import blocks_of, default_features
from .registration import register_with_spacy
from .scorer import TEXTCAT_MULTILABEL_SCORER, TEXTCAT_SCORER, textcat_multilabel_score, textcat_score
from .textcat import TextCatGraft, TextCatGraftMultilabel

register_with_spacy()

ComponentT = TypeVar("ComponentT", bound=TextCatGraft)

#: The default config of components. ``features`` is null because spaCy merges a component's config into its default:
#: blocks listed here would be added to those of every config.
DEFAULT_CONFIG: dict[str, Any] = {
    "features": None,
    "learner": {"@graft_learners": "spacy_graft.GraftingPath.v1"},
    "threshold": None,
    "keep_corpus": False,
}
SCORE_WEIGHTS: dict[str, float | None] = {
    "cats_choice": 1.0,
    "cats_score": 0.0,
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
    threshold: float | None,
    scorer: Callable[..., dict[str, Any]] | None,
    keep_corpus: bool,
) -> TextCatGraft:
    """Make a classifier with mutually exclusive labels.

    Parameters
    ----------
    nlp : Language
    name : str
    features : dict of str to block, optional
        Feature blocks by name, from ``@graft_features``. They replace the default blocks; null means the blocks of
        :func:`~spacy_graft.pipeline.defaults.default_features`.
    learner : settings of a learner
        From ``@graft_learners``.
    threshold : float, optional
        Not used, since exactly one label is predicted.
    scorer : callable, optional
        From ``@scorers``.
    keep_corpus : bool
        Whether symbols and targets of the training documents are saved with the model, so that it can be extended.

    Returns
    -------
    TextCatGraft

    Raises
    ------
    ValueError
        If there are no blocks, or a block or the learner is invalid.
    """
    return make_component(TextCatGraft, nlp, name, features, learner, threshold, scorer, keep_corpus)


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
    threshold: float | None,
    scorer: Callable[..., dict[str, Any]] | None,
    keep_corpus: bool,
) -> TextCatGraftMultilabel:
    """Make a classifier with independent labels, any number of which can apply to a document.

    Parameters and errors are those of :func:`make_textcat_graft`, but for ``threshold``: the probability from which
    each label is predicted. By default each label has its own, chosen by held-out documents in training with
    ``GraftingPath``, or by ``spacy_graft.calibrate``; without one it is 0.5.
    """
    return make_component(TextCatGraftMultilabel, nlp, name, features, learner, threshold, scorer, keep_corpus)


def make_component(
    component: type[ComponentT],
    nlp: Language,
    name: str,
    features: dict[str, Any] | None,
    learner: Any,
    threshold: float | None,
    scorer: Callable[..., dict[str, Any]] | None,
    keep_corpus: bool,
) -> ComponentT:
    """Check the settings and make a component of either class; the arguments are those of the factories."""
    blocks = blocks_of(default_features()) if features is None else features
    check_blocks_and_learner(name, blocks, learner)
    check_config_holds(name, {"features": blocks, "learner": learner})
    warn_of_scorer(component, name, scorer)
    return component(
        nlp.vocab,
        SparseLinear(blocks),
        name,
        blocks=blocks,
        learner=learner,
        threshold=threshold,
        scorer=scorer,
        keep_corpus=keep_corpus,
    )


def warn_of_scorer(component: type[TextCatGraft], name: str, scorer: Callable[..., dict[str, Any]] | None) -> None:
    """Warn of our scorer of the other kind of labels, which stays where only the factory of a config is changed."""
    if scorer is (textcat_score if component is TextCatGraftMultilabel else textcat_multilabel_score):
        right = TEXTCAT_MULTILABEL_SCORER if component is TextCatGraftMultilabel else TEXTCAT_SCORER
        warn(
            f"[{name}] The scorer is that of the other kind of labels: scores are not those of the labels that are "
            f"predicted. Set @scorers = {right!r} in [components.{name}.scorer]."
        )


def check_config_holds(name: str, settings: Any, where: str = "") -> None:
    """Raise a ValueError if settings would be others once the pipeline has been saved, or could not be loaded."""
    plain = plain_settings(settings)
    if not isinstance(plain, dict | list | str) or is_held_by_config(plain):
        return
    if isinstance(plain, dict):
        for key, value in plain.items():
            if not is_held_by_config({key: {key: 0}}):
                raise ValueError(
                    f"[{name}] {key!r}{where and f' in {where}'} cannot be a name in a config of spaCy: the pipeline "
                    f"could not be loaded again. Give a name of letters, digits and the signs '-' and '_'."
                )
            check_config_holds(name, value, f"{where}.{key}" if where else key)
    if isinstance(plain, list):
        for item in plain:
            check_config_holds(name, item, where)
    raise ValueError(
        f"[{name}] {where} has {plain!r:.200}, which a config of spaCy cannot hold: it would be something else when "
        f"the pipeline is loaded again. Leave out a '$'; in its place, constraints can have '?', any character."
    )


def plain_settings(value: Any) -> Any:
    """Settings as a config has them; None for what others make, since their settings are not known."""
    if is_dataclass(value) and type(value).__module__.startswith("spacy_graft."):
        return {field.name: plain_settings(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain_settings(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_settings(item) for item in value]
    return value if isinstance(value, str | int | float) else None


def check_blocks_and_learner(name: str, blocks: dict[str, Any], learner: Any) -> None:
    """Raise a ValueError if the feature blocks or the learner of a config are invalid."""
    if not blocks:
        raise ValueError(f"[{name}] There are no feature blocks. Give at least one, or null for the default blocks.")
    for block_name, block in blocks.items():
        if isinstance(block, type) or not is_block(block):
            raise ValueError(
                f"[{name}] The feature block {block_name!r} is {block!r}. Make it with one of @graft_features."
            )
        if is_item_block(block):
            check_item_settings(block)
    check_combinations(name, blocks)
    check_vectors_blocks(name, blocks, learner)
    if isinstance(learner, Grafting) and learner.takes_all and any(map(is_combination_block, blocks.values())):
        raise ValueError(
            f"[{name}] Without min_gradient, Grafting selects all features at once, but combinations cannot be "
            f"enumerated. Set min_gradient, or remove the block of combinations."
        )
    if isinstance(learner, GraftingPath):
        if learner.penalty == "l2" and any(map(is_combination_block, blocks.values())):
            raise ValueError(
                f"[{name}] With penalty = 'l2', GraftingPath takes all features at once, but combinations cannot be "
                f"enumerated. Set penalty = 'l1', or remove the block of combinations."
            )
        check_optional_blocks(name, blocks, learner.optional_blocks)
    if not is_learner(learner):
        raise ValueError(f"[{name}] The learner is {learner!r}. Make it with one of @graft_learners.")


def check_optional_blocks(name: str, blocks: dict[str, Any], optional: Sequence[str]) -> None:
    """Raise a ValueError if optional blocks are no blocks, or no other block would read documents."""
    if unknown := [block_name for block_name in optional if block_name not in blocks]:
        raise ValueError(
            f"[{name}] optional_blocks of the learner has {listed(unknown)}, which is no block of this component."
            f"{did_you_mean(unknown[0], blocks)} The blocks: {listed(blocks)}."
        )
    if not any(has_features(block) for block_name, block in blocks.items() if block_name not in optional):
        raise ValueError(
            f"[{name}] optional_blocks of the learner has all blocks that read documents for features: "
            f"{listed(optional)}. Remove "
            f"one of them, so that something is left."
        )


def has_features(block: Block) -> bool:
    """Whether a block reads documents and has features with names."""
    return is_reading_block(block) and not is_vectors_block(block)


def check_vectors_blocks(name: str, blocks: dict[str, Any], learner: Any) -> None:
    """Raise a ValueError if there are several blocks of vectors, nothing else, or a learner that cannot take them."""
    found = [block_name for block_name, block in blocks.items() if is_vectors_block(block)]
    if not found:
        return
    if len(found) > 1:
        raise ValueError(f"[{name}] There are {len(found)} blocks of vectors: {listed(found)}. Give only one.")
    if not any(map(has_features, blocks.values())):
        raise ValueError(
            f"[{name}] There is no block of features but the vectors of block {found[0]!r}, which have no names. Add a "
            f"block of n-grams or items."
        )
    if not isinstance(learner, PenaltySettings):
        raise ValueError(
            f"[{name}] {type(learner).__name__} has no weights for the vectors of block {found[0]!r}. Use GraftingPath "
            f"or Grafting, or remove the block."
        )


def check_combinations(name: str, blocks: dict[str, Any]) -> None:
    """Raise a ValueError if there are several blocks of combinations, or one combines unknown blocks."""
    found = {block_name: block for block_name, block in blocks.items() if is_combination_block(block)}
    if len(found) > 1:
        raise ValueError(
            f"[{name}] There are {len(found)} blocks of combinations: {listed(found)}. Give only one; it can combine "
            f"all other blocks."
        )
    others = [block_name for block_name, block in blocks.items() if has_features(block)]
    for block_name, block in found.items():
        unknown = [of for of in block.of if of not in others]
        if unknown:
            raise ValueError(
                f"[{name}] The block {block_name!r} combines {listed(unknown)}, which is no other block of features of "
                f"this component.{did_you_mean(unknown[0], others)} Its blocks of features: {listed(others)}."
            )
