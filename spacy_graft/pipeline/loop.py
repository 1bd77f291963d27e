"""spaCy's training loop: whether its settings suit a component whose steps are points of a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import spacy.training.initialize
from spacy.language import Language
from spacy.util import logger

from ..graft.settings import GraftingPath
from ..messages import listed

if TYPE_CHECKING:
    from .textcat import TextCatGraft

#: The score of what a learner has chosen so far; and its log-loss, of which less is better.
CHOICE, LOG_LOSS = "cats_choice", "cats_log_loss"


def is_loop_of_spacy(get_examples: Callable[..., Any]) -> bool:
    """Whether a component is initialized for ``spacy train``, whose settings are those of ``[training]``."""
    return getattr(get_examples, "__module__", None) == spacy.training.initialize.__name__


def training_settings(nlp: Language) -> dict[str, Any]:
    """The settings of the loop, which may be given by variables."""
    settings: dict[str, Any] = nlp.config.interpolate()["training"]
    return settings


def require_batch_size(nlp: Language) -> None:
    """Raise a ValueError for a size of batches with which spaCy would read no document, and say nothing."""
    if nlp.batch_size < 1:
        raise ValueError(f"[nlp] batch_size must be at least 1, but is {nlp.batch_size}.")


def suit_loop(nlp: Language, component: TextCatGraft) -> None:
    """Let the loop evaluate each point of a path, end after it, and keep the model that is chosen.

    ``spacy init config`` writes settings for gradient descent: an evaluation every 200 steps, and 1,600 steps of
    patience. A path has 16 steps by default. The settings are changed for this training, and in the config that is
    saved with the model; a message says so. Of a loop that also trains other components, only weights of scores are
    changed, if no other component has such scores. Limits that may be too small are only warned of.
    """
    learner = component.learner
    if not isinstance(learner, GraftingPath):
        return
    settings, n_points = training_settings(nlp), learner.n_points
    others = [name for name, pipe in trained_by_loop(nlp).items() if pipe is not component]
    if settings["eval_frequency"] < 1:
        raise ValueError(f"[training] eval_frequency must be at least 1, but is {settings['eval_frequency']}.")
    if negative := {name: 0 for name in ("max_steps", "patience") if settings[name] < 0}:
        change_settings(nlp, component, negative, f"{listed(negative)} below 0 would end training at once.")
        settings |= negative
    suit_weights(nlp, component, settings, others)
    warn_of_few_epochs(component.name, settings["max_epochs"], n_points)
    frequency = settings["eval_frequency"]
    if frequency >= max(n_points, 2):
        wanted = {"eval_frequency": 1, "patience": 0, "max_steps": n_points + 2}
        problem = (
            f"eval_frequency is {frequency}, but each step is a point of a path of at most {n_points} points, and the "
            f"model is chosen among the points evaluated on dev."
        )
        if others:
            logger.warning(
                "[%s] [training] %s Train it in a run of its own, with %s: this run also trains %s.",
                component.name, problem, as_settings(wanted), listed(others),
            )  # fmt: skip
        else:
            change_settings(nlp, component, wanted, problem)
        return
    if not others and not any(settings[name] > 0 for name in ("max_steps", "patience", "max_epochs")):
        wanted = {"max_steps": -(-n_points // frequency) * frequency + 2}
        change_settings(nlp, component, wanted, "max_steps, patience and max_epochs have no end.")
        return
    warn_of_impatience(component.name, settings["patience"], n_points + 2)
    warn_of_few_steps(component.name, settings, n_points)


def suit_weights(nlp: Language, component: TextCatGraft, settings: dict[str, Any], others: list[str]) -> None:
    """Move the weights of other scores of text classifiers to ``cats_choice``, if that or the log-loss has one.

    ``spacy init fill-config`` leaves the weights of spaCy's own classifiers in a config beside that of ``cats_choice``.
    By the log-loss, the loop would keep the model with the largest.
    """
    weights = {name: w for name, w in settings["score_weights"].items() if w and name.startswith("cats_")}
    wrong = sorted(weights.keys() - {CHOICE})
    is_meant = CHOICE not in weights and weights.get(LOG_LOSS, 0.0) <= 0.0
    if not wrong or is_meant or any(has_such_scores(nlp, name) for name in others):
        return
    wanted = dict.fromkeys(wrong, 0.0) | {CHOICE: sum(map(abs, weights.values()))}
    nlp.config["training"]["score_weights"].update(wanted)
    logger.warning(
        "[%s] [training.score_weights] has %s, by which model-best can be a model that was chosen before the last one. "
        "This training uses %s instead. Write these weights into the config; the metric of the learner says what "
        "chooses.",
        component.name, listed(wrong), as_settings(wanted),
    )  # fmt: skip


def has_such_scores(nlp: Language, name: str) -> bool:
    """Whether a component is scored as a text classifier."""
    return any(score.startswith("cats_") for score in nlp.get_pipe_meta(name).default_score_weights or ())


def change_settings(nlp: Language, component: TextCatGraft, wanted: dict[str, int], problem: str) -> None:
    """Change settings of the loop, and say so."""
    nlp.config["training"].update(wanted)
    logger.warning(
        "[%s] [training] %s This training uses %s instead. Write these settings into the config.",
        component.name, problem, as_settings(wanted),
    )  # fmt: skip


def as_settings(wanted: Mapping[str, float]) -> str:
    """Settings as a config has them."""
    return ", ".join(f"{name} = {value:g}" for name, value in wanted.items())


def warn_of_few_epochs(name: str, max_epochs: int, points: int) -> None:
    """Warn of a loop that can end before the path, and its last step, do: an epoch can be a single step."""
    if 0 < max_epochs <= points:
        logger.warning(
            "[%s] [training] max_epochs is %d, but the path has up to %d points and a last step. If all documents are "
            "in one batch, training ends before the path does. Set max_epochs = -1, and max_steps = %d as the limit.",
            name, max_epochs, points, points + 2,
        )  # fmt: skip


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
    if 0 < max_steps < evaluated:
        logger.warning(
            "[%s] [training] max_steps is %d, but the path has up to %d points and a last step, which trains the "
            "chosen model again with the dev documents, and steps are evaluated and saved every eval_frequency = %d. "
            "If the path is that long, model-best is not the model of the last step. Set max_steps = %d.",
            name, max_steps, points, frequency, evaluated,
        )  # fmt: skip


def trained_by_loop(nlp: Language) -> dict[str, Any]:
    """The components that the loop trains, by name."""
    frozen = nlp.config["training"]["frozen_components"]
    if "$" in str(frozen):  # Variables. To replace those of the whole config takes milliseconds, at each evaluation.
        frozen = training_settings(nlp)["frozen_components"]
    return {name: pipe for name, pipe in nlp.pipeline if name not in frozen and getattr(pipe, "is_trainable", False)}
