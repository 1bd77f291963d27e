"""spaCy's training loop: whether its settings suit a component whose steps are points of a path."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import spacy.training.initialize
from spacy.language import Language
from spacy.util import logger

from ..graft.settings import GraftingPath
from ..messages import listed

if TYPE_CHECKING:
    from .textcat import TextCatGraft


def is_loop_of_spacy(get_examples: Callable[..., Any]) -> bool:
    """Whether a component is initialized for ``spacy train``, whose settings are those of ``[training]``."""
    return getattr(get_examples, "__module__", None) == spacy.training.initialize.__name__


def suit_loop(nlp: Language, component: TextCatGraft) -> None:
    """Let the loop evaluate each point of a path, if it would evaluate the first only.

    ``spacy init config`` writes settings for gradient descent: an evaluation every 200 steps, and 1,600 steps of
    patience. A path has 16 steps by default. The settings are changed for this training, and in the config that is
    saved with the model; a message says so. If other components are trained as well, nothing is changed. A patience
    or a number of steps that may be too small is only warned of.

    Parameters
    ----------
    nlp : Language
    component : TextCatGraft
    """
    training = nlp.config["training"]
    learner = component.learner
    if not isinstance(learner, GraftingPath):
        return
    max_steps = learner.n_points + 2
    if training["eval_frequency"] < max(learner.n_points, 2):
        warn_of_impatience(component.name, training["patience"], max_steps)
        warn_of_few_steps(component.name, training, learner.n_points)
        return
    wanted = {"eval_frequency": 1, "patience": 0, "max_steps": max_steps}
    settings = ", ".join(f"{name} = {value}" for name, value in wanted.items())
    problem = (
        f"[{component.name}] [training] eval_frequency is {training['eval_frequency']}, but each step is a "
        f"point of a path of at most {learner.n_points} points, and the model is chosen among the points evaluated on "
        f"dev."
    )
    others = [name for name, pipe in trained_by_loop(nlp).items() if pipe is not component]
    if others:
        logger.warning(
            "%s Train it in a run of its own, with %s: this run also trains %s.", problem, settings, listed(others)
        )
        return
    training.update(wanted)
    logger.warning("%s This training uses %s instead. Write these settings into the config.", problem, settings)


def warn_of_impatience(name: str, patience: int, max_steps: int) -> None:
    """Warn of a loop that can end before the path, and its last step, do; 0 is a patience without end."""
    if 0 < patience < max_steps:
        logger.warning(
            "[%s] [training] patience is %d. Training may end before the path does, and without its last step, which "
            "trains the chosen model again with the dev documents. Set patience = 0, no limit: the path ends by "
            "itself.",
            name, patience,
        )  # fmt: skip


def warn_of_few_steps(name: str, training: dict[str, Any], points: int) -> None:
    """Warn of a loop that may end before it evaluates the last step, which follows the last point; 0 has no end."""
    max_steps, frequency = training["max_steps"], training["eval_frequency"]
    evaluated = -(-points // frequency) * frequency
    if 0 < max_steps < evaluated and training["max_epochs"] <= 0:
        logger.warning(
            "[%s] [training] max_steps is %d, but the path has up to %d points and a last step, which trains the "
            "chosen model again with the dev documents, and steps are evaluated and saved every eval_frequency = %d. "
            "If the path is that long, model-best is not the model of the last step. Set max_steps = %d.",
            name, max_steps, points, frequency, evaluated,
        )  # fmt: skip


def trained_by_loop(nlp: Language) -> dict[str, Any]:
    """The components that the loop trains, by name."""
    frozen = nlp.config["training"]["frozen_components"]
    return {name: pipe for name, pipe in nlp.pipeline if name not in frozen and getattr(pipe, "is_trainable", False)}
