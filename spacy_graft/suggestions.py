"""What somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question to end a message with, with a space before it; empty if nothing known is like the name."""
    near = get_close_matches(name, list(known), 1)
    return f" Did you mean {near[0]!r}?" if near else ""
