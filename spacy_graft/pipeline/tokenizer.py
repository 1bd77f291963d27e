"""The tokenizer ``spacy_graft.LanguageTokenizer.v1``: that of the pipeline's language, whatever the language is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spacy.language import Language
from spacy.util import registry

Tokenizer = Callable[[str], Any]


def language_tokenizer() -> Callable[[Language], Tokenizer]:
    """Make what creates the tokenizer for ``[nlp.tokenizer]``.

    spaCy fills in the tokenizer of ``[nlp] lang`` where a config has none, but only in ``spacy train``: ``debug data``
    and ``debug config`` refuse such a config. With this one a config is complete for every language.
    """
    return create_tokenizer


def create_tokenizer(nlp: Language) -> Tokenizer:
    """Create the tokenizer of a blank pipeline of the language.

    Raises
    ------
    ImportError
        If it needs a package that is not installed. spaCy's message names the package.
    """
    create: Callable[[Language], Tokenizer] = registry.resolve({"create": nlp.default_config["nlp"]["tokenizer"]})[
        "create"
    ]
    return create(nlp)
