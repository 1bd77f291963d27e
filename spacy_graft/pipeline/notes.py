"""What the metadata of a pipeline say about its model: scores, and as notes a card of this package or other texts."""

from __future__ import annotations

from spacy.language import Language

#: Begins a model card; notes of others are never replaced.
MARK = "<!-- Written by spacy-graft. Notes without this line are kept. -->"


def has_own_notes(nlp: Language) -> bool:
    """Whether the pipeline has notes of others."""
    notes = nlp.meta.get("notes", "")
    return bool(notes) and not notes.startswith(MARK)


def forget_model(nlp: Language, component: str) -> None:
    """Remove a card, scores of labels and the loss of a component that are of another model than the present one."""
    if not has_own_notes(nlp):
        nlp.meta.pop("notes", None)
    scores = nlp.meta.get("performance") or {}
    for name in [name for name in scores if name.startswith("cats_") or name == f"{component}_loss"]:
        del scores[name]
