"""The default feature blocks, and optional blocks of syntax."""

from __future__ import annotations

from typing import Any

from ..extract.blocks import Block
from ..registry import graft_features

#: Configs of blocks by name.
BlockConfigs = dict[str, dict[str, Any]]
#: Languages that are written without spaces between words. spaCy's `writing_system` does not say so: Korean has no
#: letters there, but spaces, and Thai letters, but no spaces.
WITHOUT_SPACES = frozenset({"bo", "ja", "th", "zh"})


def default_features(min_df: int | None = None, within_words: bool = True) -> BlockConfigs:
    """Word n-grams, and character n-grams within words with marks of capitals, which have a larger penalty.

    N-grams that are not within words can say where a text begins and ends.
    """
    return {
        "words": {
            "@graft_features": "spacy_graft.TokenNgrams.v1",
            "attr": "LOWER",
            "min_df": min_df,
            "ends": True,
        },
        "characters": {
            "@graft_features": "spacy_graft.CharacterNgrams.v1",
            "min_df": min_df,
            "within_words": within_words,
            "mark_capitals": within_words,
            "penalty_factor": 1.5,
            "ends": not within_words,
        },
    }


def syntax_features(min_df: int = 3) -> BlockConfigs:
    """Parts of speech, arcs of these and of lemmas, and combinations of two words or arcs."""
    larger_min_df = max(min_df, 5)
    arcs = {
        "@graft_features": "spacy_graft.HeadModifiers.v1",
        "relation": True,
        "min_df": min_df,
        "penalty_factor": 1.5,
    }
    return {
        "tags": {
            "@graft_features": "spacy_graft.TokenNgrams.v1",
            "attr": "POS",
            "min_df": larger_min_df,
            "penalty_factor": 1.5,
        },
        "tag_arcs": {**arcs, "head": ["POS"], "modifier": ["POS"]},
        "arcs": {**arcs, "head": ["LEMMA"], "modifier": ["LEMMA"]},
        "pairs": {
            "@graft_features": "spacy_graft.Combinations.v1",
            "of": ["words", "arcs"],
            "degree": 2,
            "min_df": larger_min_df,
            "penalty_factor": 3.0,
        },
    }


def blocks_of(configs: BlockConfigs) -> dict[str, Block]:
    """Make the blocks from their configs."""
    return {
        name: graft_features.get(config["@graft_features"])(
            **{option: value for option, value in config.items() if option != "@graft_features"}
        )
        for name, config in configs.items()
    }
