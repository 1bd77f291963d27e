"""Helpers for messages."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

#: Names of a list that may be long.
MOST_NAMED = 20
#: Characters of a text that names its document.
LONGEST_TEXT = 40
#: Characters of a name among others.
LONGEST_NAME = 80
#: Of a percentage, after the point.
MOST_DIGITS = 6
#: ZERO WIDTH NON-JOINER and ZERO WIDTH JOINER.
JOINERS = "\u200c\u200d"
#: Packages whose frames are not the user's: this one, and what calls its components, estimators and functions.
CALLERS = {__package__, "spacy", "thinc", "confection", "sklearn", "joblib", "typer", "click", *sys.stdlib_module_names}


def other_field(kind: str) -> str:
    """What is to be done about a key or column that is not there: ``kind`` is text or label."""
    option = f"{kind}_field"
    return (
        f"If it has another name, set {option} (on the command line --{kind}-field; where a config has the corpus, "
        f"--corpora.NAME.{option})."
    )


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn with the line of the user: the innermost that is of none of :data:`CALLERS`, else the outermost."""
    frame = sys._getframe(1)
    while (module := str(frame.f_globals.get("__name__"))).partition(".")[0] in CALLERS and frame.f_back is not None:
        frame = frame.f_back
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, module, registry)


def percentage(share: float) -> str:
    """A share in percent, with as many digits as tell it from 0 and 100%."""
    digits = 1
    while 0.0 < share < 1.0 and digits < MOST_DIGITS and float(f"{100.0 * share:.{digits}f}") in (0.0, 100.0):
        digits += 1
    return f"{share:.{digits}%}"


def text_beginning(text: str, longest: int = LONGEST_TEXT) -> str:
    """The beginning of a text, and three dots if there is more."""
    return text[:longest] + "…" if len(text) > longest else text


def most_like(name: str, known: Iterable[str], n: int) -> list[str]:
    """Up to ``n`` known names that are like one, the closest first, whatever their capitals."""
    folded = {one.casefold(): one for one in reversed(list(known))}
    return [folded[near] for near in get_close_matches(name.casefold(), folded, n)]


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """`` Did you mean ...?`` with the known name that is closest; empty if none is close."""
    near = most_like(str(name), known, 1)
    return f" Did you mean {near[0]!r}?" if near else ""


def in_part(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """The first names, separated by commas, and how many more there are; ``none`` if there are none."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}" if names else "none"


def listed(names: Iterable[object]) -> str:
    """As :func:`in_part`, with names in quotation marks and long names cut."""
    shown = (text_beginning(name, LONGEST_NAME) if isinstance(name, str) else name for name in names)
    return in_part([*map(repr, shown)])


def count(n: int, noun: str) -> str:
    """A number of things: "1 feature", "2 features"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def unpaired_surrogate(text: str) -> str | None:
    """The first unpaired surrogate of a text and its place; None if it can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"an unpaired surrogate, \\u{ord(text[error.start]):04x} at character {error.start}"
    return None


def one_line(text: object) -> str:
    """The text on one line, without control characters."""
    line = " ".join(str(text).split())
    return "".join(character if is_shown(line, k) else " " for k, character in enumerate(line))


def is_shown(text: str, k: int) -> bool:
    """Whether a character can be printed: joiners can between others, where Persian, Hindi and emoji are spelled so."""
    if text[k] not in JOINERS:
        return text[k].isprintable()
    return 0 < k < len(text) - 1 and " " not in (text[k - 1], text[k + 1])


def printable(text: str) -> str:
    """Return the text with spaces at its ends and unprintable characters made visible."""
    shown = "".join(character if is_shown(text, k) else repr(character)[1:-1] for k, character in enumerate(text))
    inner = shown.strip(" ")
    left = len(shown) - len(shown.lstrip(" "))
    return "␣" * left + inner + "␣" * (len(shown) - left - len(inner))
