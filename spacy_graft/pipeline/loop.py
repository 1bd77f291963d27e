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

#: The score of what a learner has chosen so far.
CHOICE = "cats_choice"


def is_loop_of_spacy(get_examples: Callable[..., Any]) -> bool:
    """Whether a component is initialized for ``spacy train``, whose settings are those of ``[training]``."""
    return getattr(get_examples, "__module__", None) == spacy.training.initialize.__name__


def training_settings(nlp: Language) -> dict[str, Any]:
    """The settings of the loop, which may be given by variables."""
    settings: dict[str, Any] = nlp.config.interpolate()["training"]
    return settings


def suit_loop(nlp: Language, component: TextCatGraft) -> None:
    """Let the loop evaluate each point of a path, end after it, and keep the model that is chosen.

    ``spacy init config`` writes settings for gradient descent: an evaluation every 200 steps, and 1,600 steps of
    patience. A path has 16 steps by default. The settings are changed for this training, and in the config that is
    saved with the model; a message says so. If other components are trained as well, nothing is changed. A patience
    or a number of steps that may be too small is only warned of.

    Parameters
    ----------
    nlp : Language
    component : TextCatGraft
    """
    learner = component.learner
    if not isinstance(learner, GraftingPath):
        return
    settings, n_points = training_settings(nlp), learner.n_points
    wanted, problems = suited(settings, n_points)
    if problems:
        change_settings(nlp, component, wanted, problems)
    if "eval_frequency" not in wanted:
        settings |= wanted
        warn_of_impatience(component.name, settings["patience"], n_points + 2)
        warn_of_few_steps(component.name, settings, n_points)
    if settings["max_epochs"] > 0:
        warn_of_epochs(component.name, settings["max_epochs"])


def suited(settings: dict[str, Any], n_points: int) -> tuple[dict[str, Any], list[str]]:
    """The settings that should be others, and why."""
    wanted: dict[str, Any] = {}
    problems = []
    if settings["eval_frequency"] >= max(n_points, 2):
        wanted = {"eval_frequency": 1, "patience": 0, "max_steps": n_points + 2}
        problems.append(
            f"eval_frequency is {settings['eval_frequency']}, but each step is a point of a path of at most {n_points} "
            f"points, and the model is chosen among the points evaluated on dev."
        )
    elif not any(settings[name] > 0 for name in ("max_steps", "patience", "max_epochs")):
        wanted = {"max_steps": -(-n_points // settings["eval_frequency"]) * settings["eval_frequency"] + 2}
        problems.append("max_steps, patience and max_epochs have no end, so that the loop would go on after the path.")
    weights = weighted_scores(settings)
    if others := sorted(weights.keys() - {CHOICE}):
        wanted["score_weights"] = dict.fromkeys(others, 0.0) | {CHOICE: sum(weights.values())}
        problems.append(
            f"score_weights has {listed(others)}, by which model-best can be a model that was chosen before the last "
            f"one. The metric of the learner says what chooses."
        )
    return wanted, problems


def weighted_scores(settings: dict[str, Any]) -> dict[str, float]:
    """The scores of text classifiers that decide which model is the best, if ours is one of them."""
    weights = settings["score_weights"]
    found = {name: weight for name, weight in weights.items() if weight and name.startswith("cats_")}
    return found if CHOICE in weights else {}


def change_settings(nlp: Language, component: TextCatGraft, wanted: dict[str, Any], problems: list[str]) -> None:
    """Change settings of the loop and say so, or say how, if it also trains others."""
    found = f"[{component.name}] [training] {' '.join(problems)}"
    weights = wanted.pop("score_weights", {})
    settings = ", ".join(f"{name} = {value:g}" for name, value in (wanted | weights).items())
    others = [name for name, pipe in trained_by_loop(nlp).items() if pipe is not component]
    if others:
        logger.warning(
            "%s Train it in a run of its own, with %s: this run also trains %s.", found, settings, listed(others)
        )
        return
    training = nlp.config["training"]
    training.update(wanted)
    training["score_weights"].update(weights)
    logger.warning("%s This training uses %s instead. Write these settings into the config.", found, settings)


def warn_of_epochs(name: str, max_epochs: int) -> None:
    """Warn of a loop that can end before the path, and its last step, do."""
    logger.warning(
        "[%s] [training] max_epochs is %d: training ends when all batches have been given %s, which may be before the "
        "path ends. Set max_epochs = -1, or 0, no limit: the path ends by itself.",
        name, max_epochs, "once" if max_epochs == 1 else f"{max_epochs} times",
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
    if 0 < max_steps < evaluated and training["max_epochs"] <= 0:
        logger.warning(
            "[%s] [training] max_steps is %d, but the path has up to %d points and a last step, which trains the "
            "chosen model again with the dev documents, and steps are evaluated and saved every eval_frequency = %d. "
            "If the path is that long, model-best is not the model of the last step. Set max_steps = %d.",
            name, max_steps, points, frequency, evaluated,
        )  # fmt: skip


def trained_by_loop(nlp: Language) -> dict[str, Any]:
    """The components that the loop trains, by name."""
    frozen = training_settings(nlp)["frozen_components"]
    return {name: pipe for name, pipe in nlp.pipeline if name not in frozen and getattr(pipe, "is_trainable", False)}
