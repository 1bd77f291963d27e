"""The tokenizer ``spacy_graft.LanguageTokenizer.v1``: that of the pipeline's language, whatever the language is.

And what makes spaCy's own tokenizer faster on a corpus.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spacy import tokenizer
from spacy.language import Language
from spacy.util import registry

Tokenizer = Callable[[str], Any]
#: Chunks that are remembered of a corpus at the most. About 150 bytes a chunk, 20 MB.
KNOWN_CHUNKS = 2**17


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


class Chunks:
    """The chunks of a corpus, the pieces of texts between white space, each of which is tokenized once.

    spaCy's tokenizer remembers the tokens of a chunk, but of 10,000 at the most, and in a document of none after the
    first special case ("don't"), so that long texts are mostly tokenized anew. A chunk that has been tokenized by
    itself is remembered. Tokens are the same: the tokenizer uses what it remembers in all documents.
    """

    def __init__(self) -> None:
        self._tokenizer: tokenizer.Tokenizer | None = None
        self._known: set[str] = set()

    def learn(self, tokenize: Any, text: str) -> None:
        """Tokenize the chunks of a text that are not known yet, if the tokenizer is spaCy's own."""
        if type(tokenize) is not tokenizer.Tokenizer:
            return
        if tokenize is not self._tokenizer:
            self._tokenizer, self._known = tokenize, set()
            tokenize.max_cache_size = max(tokenize.max_cache_size, KNOWN_CHUNKS)
        if len(self._known) < KNOWN_CHUNKS:
            new = set(text.split()) - self._known
            self._known |= new
            for chunk in sorted(new):
                tokenize(chunk)

    def forget(self) -> None:
        """Free the memory of the names: the tokenizer keeps what it remembers, and new ones are looked up there."""
        self._known = set()
