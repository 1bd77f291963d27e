"""What makes a change of a component whole, or undoes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .textcat import TextCatGraft


@contextmanager
def unchanged_after_error(component: TextCatGraft) -> Iterator[None]:
    """Make a component what it was if the block raises an exception, such as that of Ctrl-C.

    The block must replace what it changes: labels and thresholds, and what a training refers to.
    """
    cfg, attrs, training = dict(component.cfg), dict(component.model.attrs), component.training
    others = component.vocab, component.report, component.kept_corpus
    of_training = None if training is None else dict(vars(training))
    try:
        yield
    except BaseException:
        component.cfg, component.training = cfg, training
        component.model.attrs.update(attrs)
        component.vocab, component.report, component.kept_corpus = others
        if training is not None and of_training is not None:
            vars(training).update(of_training)
        raise
