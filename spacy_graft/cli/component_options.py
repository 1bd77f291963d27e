"""Check of the options of graft components, before spaCy makes them: it prints the whole section with an error."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..messages import did_you_mean
from .common import CommandError

if TYPE_CHECKING:
    from thinc.api import ConfigValidationError

#: Parts of a component that are made by registered functions of this package.
CHECKED_PARTS = ("learner", "features")
#: What confection's messages about the type of an option begin with.
NO_PLACE = "at root: "


def check_options(name: str, component: dict[str, Any]) -> None:
    """Check the learner and the feature blocks of a graft component, whose section has no variables any more.

    Raises
    ------
    CommandError
        If a function has no such option, an option is missing or has another type.
    ValueError
        If there is no such function, or it refuses a value.
    """
    from spacy.util import registry
    from thinc.api import ConfigValidationError

    from ..pipeline.registration import register_with_spacy

    register_with_spacy()
    try:
        registry.resolve({part: component[part] for part in CHECKED_PARTS if part in component})
    except ConfigValidationError as error:
        problems = " ".join(option_problem(error, problem) for problem in error.errors)
        raise CommandError(f"[{name}] {problems}") from error


def option_problem(error: ConfigValidationError, problem: Mapping[str, Any]) -> str:
    """One of the things that are wrong with the options of a registered function."""
    place = [*filter(None, [error.parent]), *map(str, problem.get("loc", ()))]
    if place and place[-1] in error.config:
        function, known = function_and_options(error.config)
        if place[-1] not in known:
            hint = did_you_mean(place[-1], known)
            return f"{'.'.join(place[:-1])}: {function} has no option {place[-1]!r}.{hint}"
    return ": ".join([*filter(None, [".".join(place)]), f"{problem['msg'].removeprefix(NO_PLACE)}."])


def function_and_options(section: dict[str, Any]) -> tuple[str, list[str]]:
    """The registered function that a section of a config names, and its options."""
    from spacy.util import registry

    kind, function = registry.get_constructor(section)
    return function, list(inspect.signature(registry.get(kind, function)).parameters)
