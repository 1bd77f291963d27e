"""The graft components of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from spacy.language import Language

from ..messages import did_you_mean, listed
from .loop import trained_by_loop
from .textcat import TextCatGraft


def graft_components(nlp: Language) -> dict[str, TextCatGraft]:
    """The enabled graft components of a pipeline, by name."""
    return {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, TextCatGraft)}


@contextmanager
def later_components_disabled(nlp: Language, component: TextCatGraft) -> Iterator[None]:
    """Disable the components after a graft component: they may replace what it writes into ``doc.cats``."""
    place = next(k for k, (_, pipe) in enumerate(nlp.pipeline) if pipe is component)
    with nlp.select_pipes(disable=nlp.pipe_names[place + 1 :]):
        yield


def is_over(nlp: Language) -> bool:
    """Whether only graft components are trained, and all were scored again after their last step: nothing changes."""
    grafts = graft_components(nlp)
    trained = [grafts.get(name) for name in trained_by_loop(nlp)]
    return bool(trained) and all(
        graft is not None and graft.training is not None and graft.training.course.n_scored > 1 for graft in trained
    )


def graft_component(nlp: Language, name: str | None = None, source: str = "the pipeline") -> TextCatGraft:
    """The enabled graft component with this name, or the only one.

    Parameters
    ----------
    nlp : Language
    name : str, optional
        Name of the component; not needed if there is only one.
    source : str
        Name of the pipeline in messages.

    Returns
    -------
    TextCatGraft

    Raises
    ------
    ValueError
        If there is no such component, if there are several and no name is given, or if this is no pipeline.
    """
    if not isinstance(nlp, Language):
        raise ValueError(f"A pipeline is expected, such as spacy.load gives, and not {type(nlp).__name__}.")
    found = graft_components(nlp)
    if name is not None and name not in found:
        raise ValueError(
            f"There is no graft component {name!r} in {source}: {listed(found)}.{did_you_mean(name, found)}"
        )
    if not found:
        raise ValueError(
            f"There is no enabled graft component in {source}; its components: {listed(nlp.component_names)}. Add one "
            f'with nlp.add_pipe("textcat_graft").'
        )
    if name is None and len(found) > 1:
        raise ValueError(
            f"There are {len(found)} graft components in {source}: {listed(found)}. Choose one: --component on the "
            f"command line; in Python nlp.select_pipes(disable=...) for the others, or the argument component, where "
            f"there is one."
        )
    return found[name or next(iter(found))]
