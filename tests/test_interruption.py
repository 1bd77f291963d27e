"""Ctrl-C at any line leaves a component whole, and what is done again leads to the same model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language

import spacy_graft
from conftest import PATH, component_of, make_examples, make_nlp, make_records
from spacy_graft import Grafting, GraftTextClassifier

LEARNERS = {
    "path": {**PATH, "refit": "auto"},
    "one strength": {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 2.0},
}
RECORDS = make_records(120, seed=11)
OLD, NEW, DEV = RECORDS[:40], RECORDS[40:60], RECORDS[60:90]
#: Some of them have the label of another.
TEST = [{**record, "label": "food"} if number % 5 == 0 else record for number, record in enumerate(RECORDS[90:])]
#: What changes a trained component, and can be done again.
CHANGES: dict[str, Callable[[Language], Any]] = {
    "label": lambda nlp: component_of(nlp).add_label("new"),
    "edit": lambda nlp: component_of(nlp).edit(deny=["salt"], signs={"food": "positive"}),
    "calibration": lambda nlp: spacy_graft.calibrate(nlp, make_examples(nlp, TEST)),
    "loading": lambda nlp: component_of(nlp).from_bytes(changed(nlp.pipe_names[0], "path", "fit")[0]),
    "fit": lambda nlp: spacy_graft.fit(nlp, make_examples(nlp, NEW)),
    "update": lambda nlp: nlp.update(make_examples(nlp, NEW)),
}
SHARES = st.floats(0.0, 1.0) | st.floats(0.95, 1.0)


class Lines:
    """Counts the lines of a room of the package that a block runs, and interrupts it at one of them."""

    def __init__(self, last: int | None = None, room: str = "spacy_graft.pipeline.") -> None:
        self.last, self.room, self.n = last, room, 0

    def __enter__(self) -> Lines:
        sys.settrace(self._of_frame)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _of_frame(self, frame: Any, event: str, argument: Any) -> Any:
        return self._of_line if self.room in frame.f_globals.get("__name__", "") else None

    def _of_line(self, frame: Any, event: str, argument: Any) -> Any:
        self.n += event == "line"
        if self.n == self.last:
            sys.settrace(None)
            raise KeyboardInterrupt
        return self._of_line


@cache
def trained(factory: str, learner: str) -> Language:
    nlp = make_nlp(factory, learner=LEARNERS[learner], keep_corpus=True)
    spacy_graft.fit(nlp, make_examples(nlp, OLD), dev=make_examples(nlp, DEV))
    return nlp


def bytes_of(nlp: Language) -> bytes:
    """The component, without the strings that were met."""
    return component_of(nlp).to_bytes(exclude=["vocab"])


def loaded(factory: str, learner: str) -> Language:
    nlp = make_nlp(factory, learner=LEARNERS[learner], keep_corpus=True)
    component_of(nlp).from_bytes(component_of(trained(factory, learner)).to_bytes())
    return nlp


@cache
def changed(factory: str, learner: str, change: str) -> tuple[bytes, int]:
    """The component after a change, and how many lines that takes when nothing has to be imported any more."""
    for _ in range(2):
        nlp = loaded(factory, learner)
        with Lines() as lines:
            CHANGES[change](nlp)
    return bytes_of(nlp), lines.n


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("learner", LEARNERS)
@given(share=SHARES, factory=st.sampled_from(["textcat_graft", "textcat_graft_multilabel"]))
@settings(max_examples=5)
def test_a_change_is_whole(learner: str, change: str, factory: str, share: float) -> None:
    nlp, before = loaded(factory, learner), bytes_of(trained(factory, learner))
    after, n_lines = changed(factory, learner, change)
    with pytest.raises(KeyboardInterrupt), Lines(last=1 + round(share * (n_lines - 1))):
        CHANGES[change](nlp)
    if change != "update":  # of which the corpus has the new documents before there is a model of them
        now = bytes_of(nlp)
        assert now in (before, after)
        if now == after:
            return
    CHANGES[change](nlp)
    assert bytes_of(nlp) == after


def loop(nlp: Language) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Training until dev has chosen a model, and it is that of all documents."""
    train, dev = make_examples(nlp, OLD + NEW), make_examples(nlp, DEV)
    nlp.initialize(lambda: train)
    for _ in range(PATH["steps"] + 2):
        yield "update", lambda: nlp.update(train[:4])
        yield "evaluation", lambda: nlp.evaluate(dev)


@cache
def trained_by_loop(factory: str) -> tuple[bytes, list[int]]:
    """The component that a loop has trained, and the lines of each update and evaluation."""
    nlp, counts = make_nlp(factory, learner=LEARNERS["path"]), []
    for _, operation in loop(nlp):
        with Lines() as lines:
            operation()
        counts.append(lines.n)
    return bytes_of(nlp), counts


@given(data=st.data(), share=SHARES, factory=st.sampled_from(["textcat_graft", "textcat_graft_multilabel"]))
@settings(max_examples=12)
def test_a_training_goes_on(data: st.DataObject, share: float, factory: str) -> None:
    expected, counts = trained_by_loop(factory)
    nlp = make_nlp(factory, learner=LEARNERS["path"])
    interrupted = data.draw(st.integers(0, len(counts) - 1))
    for number, (kind, operation) in enumerate(loop(nlp)):
        if number == interrupted:
            before = component_of(nlp).report
            with pytest.raises(KeyboardInterrupt), Lines(last=1 + round(share * (counts[number] - 1))):
                operation()
            if kind == "update" and component_of(nlp).report is not before:
                continue  # its last lines come after the step, and another update would do one more
        operation()
    assert bytes_of(nlp) == expected


def test_a_fitted_estimator_is_whole() -> None:
    """At all lines."""
    texts = [record["text"] for record in OLD]
    first, second = [record["label"] for record in OLD], ["sport" if "a" in text[:4] else "food" for text in texts]
    learner, room = Grafting(l1=0.5), "spacy_graft.classifier"
    before, after = (GraftTextClassifier(learner).fit(texts, labels).predict_proba(texts) for labels in (first, second))
    with Lines(room=room) as lines:
        GraftTextClassifier(learner).fit(texts, second)
    for last in range(1, lines.n + 1):
        classifier = GraftTextClassifier(learner).fit(texts, first)
        with pytest.raises(KeyboardInterrupt), Lines(last, room):
            classifier.fit(texts, second)
        expected = {3: before, 2: after}[len(classifier.classes_)]
        assert np.array_equal(classifier.predict_proba(texts), expected)
