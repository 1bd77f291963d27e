"""The notes of a pipeline's metadata: a model card that this package has written, or those of others."""

from __future__ import annotations

from spacy.language import Language

#: Begins a model card; notes of others are never replaced.
MARK = "<!-- Written by spacy-graft. Notes without this line are kept. -->"


def has_own_notes(nlp: Language) -> bool:
    """Whether the pipeline has notes of others."""
    notes = nlp.meta.get("notes", "")
    return bool(notes) and not notes.startswith(MARK)


def forget_card(nlp: Language) -> None:
    """Remove a card that is no longer true."""
    if not has_own_notes(nlp):
        nlp.meta.pop("notes", None)
