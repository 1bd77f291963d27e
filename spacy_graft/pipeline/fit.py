"""Training without a config and without a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from spacy.language import Language
from spacy.training import Example

from ..graft.report import Report
from .textcat import TextCatGraft
from .training import Fit, annotated_by

if TYPE_CHECKING:
    from rich.progress import Progress

#: One document in so many is held out to choose a point of the path.
HELD_OUT_SHARE = 10
#: With fewer held-out documents than this there is no choosing.
FEWEST_HELD_OUT = 10


def fit(nlp: Language, examples: Iterable[Example], dev: Iterable[Example] | None = None) -> Report:
    """Train the graft component of a pipeline to its end.

    The other components are left as they are. Those that stand before it annotate the documents first, as they will
    when the pipeline runs.

    Parameters
    ----------
    nlp : Language
        With one ``textcat_graft`` or ``textcat_graft_multilabel`` enabled. It is trained from scratch.
    examples : iterable of Example
        Annotated in ``doc.cats``.
    dev : iterable of Example, optional
        The model that scores best on them is kept: of equal ones the first, which has the fewest features.
        Without them the last model is kept; but of a path of C, the point is first chosen on every tenth document of
        each label, held out, and then all documents are trained on down to that point (if at least 10 are held out).

    Returns
    -------
    Report
        Of the model that is kept.
    """
    component = graft_component(nlp)
    before = [pipe for _, pipe in takewhile(lambda item: item[1] is not component, nlp.pipeline)]
    train = list(annotated_by(before, examples, nlp.batch_size))
    with progress_bar(component) as progress:
        if dev is not None:
            choose(component, train, list(annotated_by(before, dev, nlp.batch_size)), progress)
        else:
            n_steps = chosen_on_held_out(component, train, progress)
            *_, last = islice(steps(component, train, progress), n_steps)
            component.take_over(last.solution(), last.report)
    component.training = None
    assert component.report is not None
    return component.report


def graft_component(nlp: Language) -> TextCatGraft:
    """The one graft component that is enabled."""
    found = {name: pipe for name, pipe in nlp.pipeline if isinstance(pipe, TextCatGraft)}
    if len(found) != 1:
        raise ValueError(
            f"spacy_graft.fit trains one component, and the pipeline has {len(found)} enabled: "
            f"{', '.join(found) or 'none'}. Its components: {', '.join(nlp.pipe_names) or 'none'}. Add one with "
            f'nlp.add_pipe("textcat_graft"), or choose with nlp.select_pipes.'
        )
    return next(iter(found.values()))


def steps(component: TextCatGraft, examples: list[Example], progress: Progress) -> Iterator[Fit]:
    """Train from scratch, a step at a time."""
    component.initialize(lambda: examples)
    training = component.training
    assert training is not None
    training.meet([])
    task = progress.add_task("", total=getattr(component.learner, "steps", None))
    while (fit := training.step()) is not None:
        progress.update(task, advance=1, description=describe(fit.report))
        yield fit


def describe(report: Report) -> str:
    return f"C/C_max {report.l1_ratio:.4f}, {report.n_active:,} features, gap {report.relative_gap:.0e}"


def choose(component: TextCatGraft, train: list[Example], dev: list[Example], progress: Progress) -> int:
    """Train to the end, and go back to the step that scored best; its number."""
    if not dev:
        raise ValueError("There are no dev examples to choose by. Give some, or None.")
    best_score, best_step = -1.0, 0
    for step, fit in enumerate(steps(component, train, progress), start=1):
        component.take_over(fit.solution(), fit.report)
        score = dev_score(component, dev)
        if score > best_score:
            best_score, best_step = score, step
            solution, report = fit.solution(), fit.report.copy()
    component.take_over(solution, report)
    return best_step


def dev_score(component: TextCatGraft, dev: list[Example]) -> float:
    docs = [example.predicted for example in dev]
    component.set_annotations(docs, component.predict(docs))
    return float(component.score(dev)["cats_score"])


def chosen_on_held_out(component: TextCatGraft, examples: list[Example], progress: Progress) -> int | None:
    """How many points of the path to go down; None for all of what the learner does."""
    from ..graft.learners import GraftingPath

    if not isinstance(component.learner, GraftingPath):
        return None
    kept, held_out = split(examples)
    return choose(component, kept, held_out, progress) if len(held_out) >= FEWEST_HELD_OUT else None


def split(examples: Iterable[Example]) -> tuple[list[Example], list[Example]]:
    """Every tenth document of each set of labels apart."""
    parts: tuple[list[Example], list[Example]] = [], []
    seen: Counter[frozenset[str]] = Counter()
    for example in examples:
        labels = frozenset(label for label, value in example.reference.cats.items() if value >= 0.5)
        seen[labels] += 1
        parts[seen[labels] % HELD_OUT_SHARE == 0].append(example)
    return parts


def progress_bar(component: TextCatGraft) -> Progress:
    """On a terminal; elsewhere nothing is shown."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    return Progress(
        TextColumn(component.name),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
