"""The blocks of features that a component has if its config names none, and those of syntax that may join them."""

from __future__ import annotations

from typing import Any

from ..extract.blocks import Block
from ..registry import graft_features

#: Blocks by name, as a config has them.
BlockConfigs = dict[str, dict[str, Any]]


def default_features(words_min_df: int = 2, characters_min_df: int = 3, within_words: bool = True) -> BlockConfigs:
    """Phrases, and characters within words. Where a word says as much as its characters, the word is taken."""
    return {
        "words": {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "LOWER", "min_df": words_min_df},
        "characters": {
            "@graft_features": "spacy_graft.CharacterNgrams.v1",
            "min_df": characters_min_df,
            "within_words": within_words,
            "penalty_factor": 1.5,
        },
    }


def syntax_features(min_df: int = 3) -> BlockConfigs:
    """Parts of speech, head–modifier arcs, and pairs of words and arcs."""
    rarer = max(min_df, 5)
    return {
        "tags": {
            "@graft_features": "spacy_graft.TokenNgrams.v1",
            "attr": "POS",
            "min_df": rarer,
            "penalty_factor": 1.5,
        },
        "arcs": {
            "@graft_features": "spacy_graft.HeadModifiers.v1",
            "head": ["LEMMA"],
            "modifier": ["LEMMA"],
            "relation": True,
            "min_df": min_df,
            "penalty_factor": 1.5,
        },
        "pairs": {
            "@graft_features": "spacy_graft.Combinations.v1",
            "of": ["words", "arcs"],
            "degree": 2,
            "min_df": rarer,
            "penalty_factor": 3.0,
        },
    }


def blocks_of(configs: BlockConfigs) -> dict[str, Block]:
    """The blocks that a config describes."""
    return {
        name: graft_features.get(config["@graft_features"])(
            **{option: value for option, value in config.items() if option != "@graft_features"}
        )
        for name, config in configs.items()
    }
