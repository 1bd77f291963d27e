"""Threads: whoever predicts while another thread trains gets the answer of one model, never of two."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.training import Example

from conftest import PATH, component_of, make_examples, make_nlp, make_records, run
from spacy_graft import Grafting, GraftTextClassifier
from spacy_graft.pipeline.textcat import TextCatGraft
from spacy_graft.pipeline.training import Training
from spacy_graft.solve.quadratic import Point, QuadraticModel
from spacy_graft.threads import in_threads, libraries, limited_threads, lock_of

TEXTS = ["the soup of the day and a violin", "extra time with salt", "", "a choir of boys saw the referee"]
FEATURES = {
    "words": {"@graft_features": "spacy_graft.TokenNgrams.v1", "min_df": 2},
    "characters": {"@graft_features": "spacy_graft.CharacterNgrams.v1", "min_df": 3, "max_length": 4},
    "bag": {"@graft_features": "spacy_graft.TokenAttributes.v1", "value": "tf_idf", "min_df": 3},
    "pairs": {"@graft_features": "spacy_graft.Combinations.v1", "of": ["bag"], "min_df": 3},
}
#: With document weights, so that every field of a model matters.
LEARNER = {**PATH, "length_normalisation": True}
N_THREADS = 4


@pytest.fixture(autouse=True)
def hasty_switches() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def started() -> tuple[Language, list[Example]]:
    nlp = make_nlp(features=FEATURES, learner=LEARNER)
    examples = make_examples(nlp, make_records(60))
    nlp.initialize(lambda: examples)
    return nlp, examples


def answers(component: TextCatGraft, text: int) -> tuple[Any, ...]:
    """All that can be asked of a model, each in values that can be compared."""
    doc = spacy.tokens.Doc(component.vocab, words=TEXTS[text].split())
    return (
        ("probabilities", text, component.predict([doc]).tobytes()),
        ("explanation", text, str(component.explain(doc).to_dict())),
        ("features", str([(feature.text, feature.df, feature.weights) for feature in component.features()])),
        ("bytes", component.to_bytes(exclude=["vocab"])),
    )


def all_answers(component: TextCatGraft) -> set[Any]:
    return {answer for text in range(len(TEXTS)) for answer in answers(component, text)}


def while_others_ask(component: TextCatGraft, work: Callable[[], None]) -> set[Any]:
    """What threads were told while this thread worked."""
    done, told, errors = threading.Event(), set(), []
    barrier = threading.Barrier(N_THREADS + 1)

    def ask(first: int) -> None:
        barrier.wait()
        try:
            text = first
            while not done.is_set():
                told.update(answers(component, text % len(TEXTS)))
                text += 1
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(N_THREADS)]
    for thread in threads:
        thread.start()
    try:
        barrier.wait()
        work()
    finally:
        done.set()
        for thread in threads:
            thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert errors == []
    return told


def test_models_are_replaced_as_a_whole() -> None:
    """Solutions of different features, weights and vocabularies in turn, as fast as they can be set."""
    nlp, examples = started()
    component, models = component_of(nlp), []
    for _ in range(3):
        nlp.update(examples[:2])
        assert component.training is not None
        assert component.training.course.fit is not None
        solution = component.training.course.fit.solution()
        models.append((component.training.fits.named(solution), component.training.course.fit.report.copy()))
    component.training = None
    valid: set[Any] = set()
    for snapshot, report in models:
        component.set_snapshot(snapshot, report)
        valid |= all_answers(component)
        component.divide_scores(2.0)
        valid |= all_answers(component)

    def work() -> None:
        for turn in range(60):
            component.set_snapshot(*models[turn % 3])
            component.divide_scores(2.0)
            time.sleep(0.001)  # the others must have a turn, on a busy machine too

    told = while_others_ask(component, work)
    assert told <= valid
    assert len(told) > len(TEXTS)


@pytest.mark.slow
def test_predictions_while_a_model_is_trained() -> None:
    nlp, examples = started()
    component = component_of(nlp)
    valid = all_answers(component)
    while component.training is None or not component.training.course.has_ended:
        nlp.update(examples[:2])
        valid |= all_answers(component)
    for _ in range(5):
        nlp, examples = started()
        component = component_of(nlp)

        def work(nlp: Language = nlp, component: TextCatGraft = component, examples: list[Example] = examples) -> None:
            training = component.training
            assert training is not None
            while not training.course.has_ended:
                nlp.update(examples[:2])

        assert while_others_ask(component, work) <= valid


def test_threads_that_come_first_at_the_same_time() -> None:
    """All of them compile the features; all get the same."""
    nlp, examples = started()
    for _ in range(3):
        nlp.update(examples[:2])
    component = component_of(nlp)
    valid = all_answers(component)
    data = component.to_bytes()
    for _ in range(5):
        cold = component_of(make_nlp(features=FEATURES, learner=LEARNER)).from_bytes(data)
        assert while_others_ask(cold, lambda: None) <= valid


def numbers_from_threads(n: int) -> list[int]:
    return in_threads([partial(int, text) for text in map(str, range(n))], 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a process")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    """It has a copy of all that this one has, except its threads."""
    assert numbers_from_threads(3) == [0, 1, 2]
    with multiprocessing.get_context("fork").Pool(1) as processes:
        assert processes.apply_async(numbers_from_threads, (4,)).get(timeout=60) == [0, 1, 2, 3]


def threads_of_linear_algebra() -> set[int]:
    return {library["num_threads"] for library in libraries("blas").info()}


def test_linear_algebra_is_serial_in_a_context_and_as_before_after_several() -> None:
    entered, leave = threading.Event(), threading.Event()

    def train() -> None:
        with limited_threads("blas"):
            entered.set()
            leave.wait()

    other = threading.Thread(target=train)
    with libraries("blas").limit(limits=2):
        before = threads_of_linear_algebra()
        with limited_threads("blas"):
            other.start()
            entered.wait()
            with limited_threads("blas"):
                assert threads_of_linear_algebra() == {1}
            assert threads_of_linear_algebra() == {1}
        leave.set()
        other.join()
        assert threads_of_linear_algebra() == before
        with pytest.raises(ValueError, match="within"), limited_threads("blas"):
            raise ValueError("within")
        assert threads_of_linear_algebra() == before


def test_linear_algebra_is_serial_where_weights_are_solved_for(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[set[int]] = []
    nlp, examples = started()
    plain = QuadraticModel.minimum

    def minimum(self: QuadraticModel, tolerance: float) -> Point:
        found.append(threads_of_linear_algebra())
        return plain(self, tolerance)

    monkeypatch.setattr(QuadraticModel, "minimum", minimum)
    with libraries("blas").limit(limits=2):
        nlp.update(examples)
    assert found
    assert all(threads == {1} for threads in found)


@pytest.mark.parametrize(
    ("owner", "name"), [(Training, "stepping"), (Training, "judging"), (GraftTextClassifier, "_trained")]
)
def test_linear_algebra_is_serial_in_all_of_a_training(owner: type, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[set[int]] = []
    plain = getattr(owner, name)

    def recorded(*args: Any) -> Any:
        found.append(threads_of_linear_algebra())
        return plain(*args)

    monkeypatch.setattr(owner, name, recorded)
    nlp, examples = started()
    with libraries("blas").limit(limits=2):
        nlp.update(examples, sgd=nlp.create_optimizer())
        nlp.evaluate(make_examples(nlp, make_records(20, 3)))
        GraftTextClassifier(Grafting(l1=1.0)).fit(TEXTS * 3, ["a", "b", "a", "b"] * 3)
    assert found
    assert all(threads == {1} for threads in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_process_that_is_forked_within_sets_limits_of_its_own() -> None:
    lock = lock_of("blas")
    with limited_threads("blas"):
        assert lock.locked()
        child = os.fork()
        if not child:
            os._exit(lock_of("blas").locked())
        assert os.waitpid(child, 0)[1] == 0
    assert not lock.locked()


#: A process that has trained, and a child of it that trains too.
TRAINS_AFTER_FORK = """
import os

import numpy as np
from spacy_graft import Grafting, GraftTextClassifier
from spacy_graft.index.ngrams import suffix_array

symbols = np.random.default_rng(0).integers(1, 9, 100_000, dtype=np.uint8)

def fit():
    suffix_array(symbols, n_threads=2)
    return GraftTextClassifier(Grafting(l1=0.5)).fit(["an apple", "a pear"] * 9, [0, 1] * 9).features()

before = fit()
child = os.fork()
if not child:
    os._exit(fit() != before)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_child_trains_after_its_parent_has_trained() -> None:
    """Whatever threads OpenMP has by default, in which suffixes are sorted."""
    assert run("-c", TRAINS_AFTER_FORK, OMP_NUM_THREADS="2").stdout == "0\n"
