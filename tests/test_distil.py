"""Students of teachers: stores, teachers, the choice of the weight, fidelity, and the command."""

from __future__ import annotations

import csv
import errno
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from scipy.optimize import approx_fprime
from scipy.stats import binomtest
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

import spacy_graft
from conftest import PATH, WORDS, Record, make_records, write_jsonl
from spacy_graft.digests import digest_of, text_key
from spacy_graft.metrics import clopper_pearson, document_losses
from spacy_graft.pipeline.components import graft_component
from spacy_graft.pipeline.reader import JsonlCorpus
from spacy_graft.pipeline.targets import Targets
from spacy_graft.solve.losses import SoftmaxLoss
from spacy_graft.teachers.distil import KnownTexts, Pool, margins
from spacy_graft.teachers.encoder import EncoderTeacher
from spacy_graft.teachers.probabilities import table_lines
from spacy_graft.teachers.regression import RIDGES, Regression, ridge_fits, ridge_path
from spacy_graft.teachers.report import DistilReport
from spacy_graft.teachers.store import Store
from spacy_graft.teachers.teacher import Gold, Labels, checked_cats, function_teacher, pipeline_teacher
from test_cli import call, refused

LABELS = ("food", "music", "sport")
RECORDS = make_records(160, seed=3)
GOLD, UNLABELLED = RECORDS[:24], RECORDS[12:]
TEXTS = [record["text"] for record in UNLABELLED]
TRUTH = {record["text"]: record["label"] for record in RECORDS}

Cats = dict[str, float]


def right_cats(text: str) -> Cats:
    return {label: 0.9 if TRUTH[text] == label else 0.05 for label in LABELS}


def right(texts: Sequence[str]) -> list[Cats]:
    """A teacher that knows the labels."""
    return [right_cats(text) for text in texts]


def ignorant(texts: Sequence[str]) -> list[Cats]:
    """A teacher that is sure of what is wrong."""
    return [{label: float(label == LABELS[len(text) % 3]) for label in LABELS} for text in texts]


def untrained(name: str = "textcat_graft") -> Language:
    nlp = spacy.blank("xx")
    nlp.add_pipe(name, config={"features": WORDS, "learner": PATH})
    return nlp


def gold_examples(nlp: Language, records: Sequence[Record] = GOLD) -> list[Example]:
    return [
        Example.from_dict(
            nlp.make_doc(record["text"]), {"cats": {label: float(record["label"] == label) for label in LABELS}}
        )
        for record in records
    ]


def student_of(teacher: Any, name: str = "textcat_graft", **options: Any) -> tuple[Language, DistilReport]:
    nlp = untrained(name)
    return nlp, spacy_graft.distil(nlp, gold_examples(nlp), TEXTS, teacher, **options)


def accuracy(nlp: Language) -> float:
    predicted = [graft_component(nlp).predicted(nlp.make_doc(text)) for text in TEXTS]
    return float(np.mean([labels == [TRUTH[text]] for labels, text in zip(predicted, TEXTS, strict=True)]))


@pytest.fixture(scope="module")
def taught() -> tuple[Language, DistilReport]:
    return student_of(right, n_to_label=7)


class Interrupted(Exception):
    """As if the process had been killed."""


class Counting:
    """A teacher that counts the texts that it is given, and may be interrupted by one of its calls."""

    def __init__(self, cats: Callable[[Sequence[str]], list[Cats]], until: float = math.inf) -> None:
        self.cats, self.until = cats, until
        self.n_calls = self.n_texts = 0

    def __call__(self, texts: Sequence[str]) -> list[Cats]:
        self.n_calls += 1
        if self.n_calls > self.until:
            raise Interrupted
        self.n_texts += len(texts)
        return self.cats(texts)


# The student


def test_a_student_learns_from_a_teacher(taught: tuple[Language, DistilReport]) -> None:
    nlp, report = taught
    assert [trial.weight for trial in report.trials] == [0.0, 0.1, 1.0]
    assert report.weight > 0.0
    assert report.student.log_loss == min(trial.log_loss for trial in report.trials)
    plain = untrained()
    spacy_graft.fit(plain, gold_examples(plain))
    assert accuracy(nlp) > accuracy(plain)
    copy = spacy.util.load_model_from_config(nlp.config, auto_fill=True)
    copy.from_bytes(nlp.to_bytes())
    doc = nlp("extra time with salt")
    assert copy("extra time with salt").cats == doc.cats
    assert sum(doc.cats.values()) == pytest.approx(1.0)


def test_the_config_says_what_labels_there_are_and_the_card_is_of_the_student() -> None:
    nlp = untrained()
    spacy_graft.fit(nlp, [("a good film", "pos"), ("a bad film", "neg")] * 20)
    nlp.meta["performance"] = {"cats_score": 0.99}
    nlp.config["initialize"]["components"]["textcat_graft"] = {"labels": ["sport", "music", "food"]}
    spacy_graft.distil(nlp, gold_examples(nlp), TEXTS, right, weights=[1.0])
    assert graft_component(nlp).labels == ("sport", "music", "food")
    assert "performance" not in nlp.meta or "cats_score" not in nlp.meta["performance"]
    assert "sport" in nlp.meta["notes"]
    assert "neg" not in nlp.meta["notes"]


def test_a_teacher_that_does_not_help_is_left_out() -> None:
    nlp, report = student_of(ignorant, weights=[1.0])
    assert report.weight == 0.0
    plain = untrained()
    component, of_plain = graft_component(nlp), graft_component(plain)
    # The same as without texts that have no labels.
    spacy_graft.distil(plain, gold_examples(plain), TEXTS, right, weights=())
    assert component.features() == of_plain.features()
    assert np.array_equal(component.model.get_param("W"), of_plain.model.get_param("W"))


def test_independent_labels() -> None:
    _, report = student_of(right, "textcat_graft_multilabel", weights=[1.0], n_to_label=2)
    assert report.weight == 1.0
    assert report.fidelity.agreement > 0.5
    assert all(0.0 <= one.margin <= 1.0 for one in report.to_label)


def test_texts_are_held_out_and_labelled_ones_left_out(taught: tuple[Language, DistilReport]) -> None:
    _, report = taught
    pool = Pool.of(TEXTS, [record["text"] for record in GOLD])
    texts = np.array(TEXTS)
    labelled = {record["text"] for record in GOLD}
    assert not {*texts[pool.held_out]} & {*texts[pool.taught]}
    assert {*texts[pool.held_out]} | {*texts[pool.taught]} == set(TEXTS) - labelled
    assert len({*texts[pool.held_out]}) == len(pool.held_out) == report.fidelity.n_texts
    assert report.n_taught == len(pool.taught)
    # In another order the same texts are held out.
    back = Pool.of(TEXTS[::-1], [])
    assert {*texts[::-1][back.held_out]} == {*texts[Pool.of(TEXTS, []).held_out]}


def test_labelled_texts_may_be_unread(taught: tuple[Language, DistilReport], tmp_path: Path) -> None:
    """They are known by their texts all the same."""
    write_jsonl(tmp_path / "gold.jsonl", GOLD)
    nlp = untrained()
    labelled = JsonlCorpus(tmp_path / "gold.jsonl", lazy=True)(nlp)
    report = spacy_graft.distil(nlp, labelled, TEXTS, right, n_to_label=7)
    assert (report.n_taught, report.fidelity) == (taught[1].n_taught, taught[1].fidelity)


def test_fidelity_is_that_of_the_student(taught: tuple[Language, DistilReport]) -> None:
    nlp, report = taught
    held_out = [TEXTS[i] for i in Pool.of(TEXTS, [record["text"] for record in GOLD]).held_out]
    agreed = [graft_component(nlp).predicted(nlp.make_doc(text)) == [TRUTH[text]] for text in held_out]
    fidelity = report.fidelity
    assert (fidelity.n_agreed, fidelity.n_texts) == (sum(agreed), len(agreed))
    assert (fidelity.low, fidelity.high) == clopper_pearson(sum(agreed), len(agreed))
    assert fidelity.low < fidelity.agreement


def test_texts_to_label_are_those_of_the_least_margins(taught: tuple[Language, DistilReport]) -> None:
    nlp, report = taught
    labelled = {record["text"] for record in GOLD}

    def margin(text: str) -> float:
        second, first = sorted(nlp(text).cats.values())[-2:]
        return first - second

    expected = sorted(margin(text) for text in {*TEXTS} - labelled)
    assert [one.margin for one in report.to_label] == pytest.approx(expected[:7])
    for one in report.to_label:
        assert one.text == TEXTS[one.number - 1]
        assert one.text not in labelled
        assert one.cats == pytest.approx(nlp(one.text).cats)
        assert one.teacher == pytest.approx(right_cats(one.text))


def test_margins_of_independent_labels() -> None:
    assert margins(np.array([[0.9, 0.4], [0.5, 0.99]]), exclusive=False) == pytest.approx([0.2, 0.0])


@pytest.mark.parametrize("n", [1, 10, 137])
def test_clopper_pearson_is_that_of_scipy(n: int) -> None:
    for k in {0, 1, n // 2, n}:
        for level in (0.9, 0.95):
            exact = binomtest(k, n).proportion_ci(level, "exact")
            assert clopper_pearson(k, n, level) == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_soft_targets_are_documents_of_each_label() -> None:
    """A document of targets q is one document of each label y with weight q_y: slopes, and the gap of the dual."""
    rng = np.random.default_rng(0)
    targets = rng.dirichlet(np.ones(3), 6).T
    scores, importance = rng.normal(size=(3, 6)), rng.uniform(0.1, 2.0, 6)
    soft = SoftmaxLoss(targets, importance)
    hard = SoftmaxLoss(np.tile(np.eye(3), 6), (importance * targets).T.ravel())
    value, p = soft.value_and_probabilities(scores)
    assert value == pytest.approx(hard.value_and_probabilities(np.repeat(scores, 3, axis=1))[0])

    def loss_at(flat: np.ndarray) -> float:
        return soft.value_and_probabilities(flat.reshape(3, 6))[0]

    assert -soft.residuals(p).ravel() == pytest.approx(approx_fprime(scores.ravel(), loss_at), abs=1e-5)
    # By Fenchel: loss(f) ≥ H(r) + (r − q)·f for every distribution r, with equality at the probabilities.
    for r in (p, rng.dirichlet(np.ones(3), 6).T):
        bound = soft.entropy(r) + float((importance * (r - targets) * scores).sum())
        assert bound == pytest.approx(value) if r is p else bound < value


# The store


def test_an_interrupted_teacher_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_graft.teachers.distil.TEXTS_AT_ONCE", 20)
    store = tmp_path / "folder" / "store"
    teacher = Counting(right, until=3)
    with pytest.raises(ValueError, match="fails on a text from 61 to 80: Interrupted"):
        student_of(teacher, store=store, weights=[1.0])
    assert teacher.n_texts == 60
    # Killed while it wrote: half of a record is there.
    content = store.read_bytes()
    store.write_bytes(content[:-7])
    again = Counting(right)
    nlp, report = student_of(again, store=store, weights=[1.0])
    assert again.n_texts == len(TEXTS) - 59
    other, whole = student_of(right, weights=[1.0])
    assert report.fidelity == whole.fidelity
    assert np.array_equal(*(graft_component(one).model.get_param("W") for one in (nlp, other)))
    # All is there; more texts are added.
    third = Counting(right)
    student_of(third, store=store, weights=[])
    assert third.n_texts == 0


@pytest.mark.parametrize("kept", [0, 10, 40])
def test_a_header_that_was_not_written_whole(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "store"
    with Store(path, "a", "digest", 2) as store:
        store.append(["one"], np.ones((1, 2)))
    path.write_bytes(path.read_bytes()[:kept])
    with Store(path, "a", "digest", 2) as store:
        assert len(store.found) == 0
        store.append(["one"], np.array([[1.0, 2.0]]))
    with Store(path, "renamed", "digest", 2) as store:
        assert store.known(["one", "two"], 0).tolist() == [[1.0, 2.0]]
        store.append(["two"], np.array([[3.0, 4.0]]))
        assert store.records()["row"].tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_store_is_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store"
    with Store(path, "a", "digest", 2) as store:
        if os.name != "nt":
            with pytest.raises(ValueError, match="is written by another process"):
                Store(path, "a", "digest", 2)
        monkeypatch.setitem(sys.modules, "fcntl", None)  # as where there are no locks
        with Store(path, "a", "digest", 2) as other:
            other.append(["one"], np.ones((1, 2)))
        with pytest.raises(ValueError, match="was written by another process"):
            store.append(["one"], np.ones((1, 2)))


@pytest.mark.parametrize(
    ("again", "message"),
    [
        ([], "There were 3 texts without labels, but 0 when they were read again"),
        (["a", "b", "c", "d"], "but 4 when they were read again"),
        (["a", "c", "b"], r"text 2 \('c'\) of those without labels was another one when they were read before"),
    ],
)
def test_texts_that_are_others_when_they_are_read_again(again: list[str], message: str) -> None:
    keys = np.array([text_key(text) for text in "abc"], np.uint64)
    assert list(KnownTexts(["a", "b", "c"], keys)) == ["a", "b", "c"]
    with pytest.raises(ValueError, match=message):
        list(KnownTexts(again, keys))


def test_texts_in_another_order_each_time_are_refused() -> None:
    class Shuffled:
        n_read = 0

        def __iter__(self) -> Iterator[str]:
            self.n_read += 1
            return iter(TEXTS[self.n_read :] + TEXTS[: self.n_read])

    nlp = untrained()
    with pytest.raises(ValueError, match="they must be the same each time, in the same order"):
        spacy_graft.distil(nlp, gold_examples(nlp), Shuffled(), right, weights=[])  # type: ignore[arg-type]


def test_texts_that_have_become_more_are_refused(tmp_path: Path) -> None:
    """Whatever the teacher is: a file has nothing on the new ones."""

    class Grown:
        n_read = 0

        def __iter__(self) -> Iterator[str]:
            self.n_read += 1
            return iter(TEXTS if self.n_read == 1 else TEXTS * 3)

    nlp = untrained()
    soft = write_jsonl(tmp_path / "soft.jsonl", jsonl_lines(with_texts=False))
    with pytest.raises(ValueError, match="There were 148 texts without labels, but 444 when they were read again"):
        spacy_graft.distil(nlp, gold_examples(nlp), Grown(), soft, weights=[])  # type: ignore[arg-type]


def test_a_store_without_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="store cannot be written: No space left"), Store(tmp_path / "store", "a", "d", 2):
        pass


@pytest.mark.parametrize("room", [10, 100], ids=["header", "records"])
def test_a_store_that_is_closed_without_room_is_named(tmp_path: Path, room: int) -> None:
    """What is not on the disk is written again when the file is closed, which raises an error of its own."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with (
            pytest.raises(OSError, match=r"store cannot be written: "),
            Store(tmp_path / "store", "a", "d", 2) as store,
        ):
            store.append(["one"] * 10, np.ones((10, 2)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with Store(tmp_path / "store", "a", "d", 2) as store:
        assert len(store.found) <= 1


def test_what_is_no_store_of_this_teacher_and_these_texts(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Store(path, "a", "digest", 2) as store:
        store.append(["one", "two"], np.ones((2, 2)))
    with pytest.raises(ValueError, match="what another teacher said, a, and not b: their digests differ"):
        Store(path, "b", "other", 2)
    with Store(path, "a", "digest", 2) as store:
        with pytest.raises(ValueError, match=r"other texts, or damaged: its record 2 is not of text 2 \('three'\)"):
            store.known(["one", "three"], 0)
        with pytest.raises(ValueError, match="it has 2, but there are 1 without labels"):
            store.require_number(1)
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    with (
        Store(path, "a", "digest", 2) as store,
        pytest.raises(ValueError, match="or damaged: its record 2"),
    ):
        store.known(["one", "two"], 0)
    path.write_text("a file of something else\n")
    with pytest.raises(ValueError, match="is no store of a teacher"):
        Store(path, "a", "digest", 2)
    assert path.read_text() == "a file of something else\n"


def test_another_corpus_and_another_teacher_are_refused(tmp_path: Path) -> None:
    store = tmp_path / "store"
    student_of(right, store=store, weights=[])
    nlp = untrained()
    with pytest.raises(ValueError, match="or damaged: its record 1"):
        spacy_graft.distil(nlp, gold_examples(nlp), TEXTS[::-1], right, store=store)
    with pytest.raises(ValueError, match="what another teacher said"):
        student_of(ignorant, store=store)


# Teachers


@pytest.fixture(scope="module")
def pipeline(taught: tuple[Language, DistilReport]) -> Language:
    return taught[0]


def test_a_pipeline_as_a_teacher(pipeline: Language) -> None:
    _, report = student_of(pipeline, weights=[1.0])
    assert report.teacher == "xx_pipeline"
    assert report.fidelity.agreement > 0.9
    teacher = pipeline_teacher(pipeline, Labels(LABELS[::-1], True))
    rows = teacher.rows(["a goal"], 0)
    (row,) = teacher.heads(Gold([], Targets.of([], 3), np.empty(0), 0), rows[:0])[0](rows)
    assert dict(zip(LABELS[::-1], row, strict=True)) == pytest.approx(pipeline("a goal").cats)


def test_a_pipeline_is_known_by_its_content(pipeline: Language) -> None:
    labels = Labels(LABELS, True)
    copy = spacy.util.load_model_from_config(pipeline.config, auto_fill=True).from_bytes(pipeline.to_bytes())
    assert pipeline_teacher(pipeline, labels).digest == pipeline_teacher(copy, labels).digest
    graft_component(copy).divide_scores(2.0)
    assert pipeline_teacher(pipeline, labels).digest != pipeline_teacher(copy, labels).digest


def test_functions_are_known_by_name_and_source() -> None:
    labels = Labels(LABELS, True)
    digests = {function_teacher(one, labels).digest for one in (right, ignorant)}
    assert len(digests) == 2
    assert function_teacher(right, Labels(LABELS[::-1], True)).digest in digests


#: A function in a module.
MODULE = """
from functools import cache
LIMIT, CACHE = 100, {}
@cache
def helper(text):
    return len(text) < LIMIT
def cats(texts):
    CACHE.update(dict.fromkeys(texts))
    return [{"a": helper(text), "b": cats([])} for text in texts]
pair = [lambda texts: helper(texts), lambda texts: cats(texts)]
"""


def test_functions_are_known_by_what_they_use_of_their_module(tmp_path: Path) -> None:
    sources = [MODULE, MODULE, *(MODULE.replace(*change) for change in (("100", "1"), ("<", ">")))]
    digests = []
    for k, source in enumerate(sources):
        path = tmp_path / f"{k}.py"
        path.write_text(source)
        module = {"__name__": "teacher"}
        exec(compile(source, str(path), "exec"), module)
        digests.append(function_teacher(module["cats"], Labels(LABELS, True)).digest)
        module["CACHE"]["text"] = None
        assert function_teacher(module["cats"], Labels(LABELS, True)).digest == digests[-1]
    assert digests[0] == digests[1]
    assert len(set(digests)) == len(digests) - 1
    one, another = (function_teacher(function, Labels(LABELS, True)).digest for function in module["pair"])
    assert one != another


def made(value: Any) -> Callable[[Sequence[str]], list[Cats]]:
    return lambda texts: [dict.fromkeys(LABELS, value) for _ in texts]


def says(value: Any, texts: Sequence[str]) -> list[Cats]:
    return [dict.fromkeys(LABELS, value) for _ in texts]


def made_default(value: Any) -> Callable[[Sequence[str]], list[Cats]]:
    def teach(texts: Sequence[str], value: Any = value) -> list[Cats]:
        return says(value, texts)

    return teach


def made_of_itself(value: Any) -> Callable[[Sequence[str]], list[Cats]]:
    def teach(texts: Sequence[str]) -> list[Cats]:
        return teach(texts[:1]) + teach(texts[1:]) if len(texts) > 1 else says(value, texts)

    return teach


@pytest.mark.parametrize("function_of", [made, made_default, made_of_itself, lambda value: partial(says, value)])
def test_functions_are_known_by_what_they_hold(function_of: Callable[[Any], Any]) -> None:
    labels = Labels(LABELS, True)
    teachers = [function_teacher(function_of(value), labels) for value in (0.1, 0.1, 0.9, np.ones(3), object())]
    assert [teacher.is_stored for teacher in teachers] == [True, True, True, True, False]
    assert teachers[0].digest == teachers[1].digest
    assert len({teacher.digest for teacher in teachers[:4]}) == 3


def test_objects_are_known_by_their_class_and_what_they_wrap() -> None:
    labels = Labels(LABELS, True)
    one, another = Counting(right), Counting(ignorant)
    one(TEXTS[:1])
    assert function_teacher(one, labels).digest == function_teacher(another, labels).digest
    cached = [function_teacher(cache(function), labels).digest for function in (right, ignorant, right)]
    assert cached[0] == cached[2] != cached[1]
    # A pipeline is callable, but no function.
    assert not function_teacher(partial(says, untrained()), labels).is_stored
    assert not function_teacher(made(untrained()), labels).is_stored


def test_a_teacher_that_is_not_known_is_not_stored(tmp_path: Path) -> None:
    teacher = partial(says, object())
    nlp = untrained()
    with pytest.warns(UserWarning, match="is not stored: its source"), pytest.raises(ValueError, match="has <object"):
        spacy_graft.distil(nlp, gold_examples(nlp), TEXTS, teacher, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_store_without_a_prediction_is_of_no_teacher(tmp_path: Path) -> None:
    with Store(tmp_path / "store", "one that failed", "digest", 2) as store:
        assert len(store.found) == 0
    with Store(tmp_path / "store", "another", "other digest", 3) as store:
        store.append(["one"], np.ones((1, 3)))
    with Store(tmp_path / "store", "another", "other digest", 3) as store:
        assert len(store.found) == 1


def test_a_string_is_no_list_of_texts() -> None:
    nlp = untrained()
    with pytest.raises(ValueError, match="A list of texts without labels is expected, not the string 'a goal'"):
        spacy_graft.distil(nlp, gold_examples(nlp), "a goal", right)
    assert not graft_component(nlp).is_initialized


@pytest.mark.parametrize(
    ("cats", "message"),
    [
        ({"food": 0.5, "music": 0.5, "sports": 0.0}, r"'sports' is no label of the labelled texts. Did you mean 'spo"),
        ({"food": 0.5, "music": 0.5}, "there is no probability of 'sport'"),
        ({"food": math.nan, "music": 0.5, "sport": 0.5}, "the label 'food' has nan"),
        ({"food": -0.5, "music": 1.0, "sport": 0.5}, "the label 'food' has -0.5"),
        ({"food": "1", "music": 0.0, "sport": 0.0}, "the label 'food' has '1'"),
        ({"food": 0.5, "music": 0.5, "sport": 0.5}, r"sum to 1.5, which is further .* use textcat_graft_multilabel"),
        ({"food": 0.33, "music": 0.33, "sport": 0.32}, "sum to 0.98, which is further from 1 than rounding explains"),
        ([0.2, 0.3, 0.5], r"must be given by label, .* but are \[0.2"),
    ],
)
def test_bad_probabilities(cats: Any, message: str) -> None:
    with pytest.raises(ValueError, match=rf"teacher test_distil.*, text 1 \('.*'\): .*{message}"):
        student_of(lambda texts: [cats] * len(texts))


def test_rounded_probabilities_are_divided_by_their_sum() -> None:
    labels = Labels(("food", "music", "sport"), exclusive=True)
    assert checked_cats({"food": 0.33, "music": 0.33, "sport": 0.33}, labels, "x") == pytest.approx([1 / 3] * 3)
    many = Labels(tuple(map(str, range(50))), exclusive=True)
    with pytest.raises(ValueError, match=r"sum to 1\.1"):
        checked_cats(dict.fromkeys(many.names, 0.022), many, "x")


def test_empty_texts_are_not_proposed() -> None:
    nlp = untrained()
    report = spacy_graft.distil(
        nlp, gold_examples(nlp), [*TEXTS, "", " ", "\n"], ignorant, weights=[1.0], n_to_label=500
    )
    assert len(report.to_label) > 50
    assert all(one.text.strip() for one in report.to_label)
    # The student knows no more of them than of an empty one, which is the first of them.
    few = spacy_graft.distil(nlp, gold_examples(nlp), ["", "xyz", *TEXTS], ignorant, weights=[1.0], n_to_label=1)
    assert len(few.to_label) == 1


@Language.component("cats_of_test")
def cats_of_test(doc: Doc) -> Doc:
    """Does not say that it assigns doc.cats."""
    doc.cats = right_cats(doc.text)
    return doc


def test_a_teacher_that_does_not_say_what_it_assigns() -> None:
    teacher = spacy.blank("xx")
    teacher.add_pipe("cats_of_test")
    _, report = student_of(teacher, n_to_label=3)
    for one in report.to_label:
        assert one.teacher == pytest.approx(right_cats(one.text))


def test_bad_teachers_and_texts(pipeline: Language) -> None:
    nlp = untrained()
    examples = gold_examples(nlp)
    for teacher, message in (
        (nlp, "the same pipeline"),
        (spacy.blank("xx"), r"xx_pipeline sets no doc.cats: it has none"),
        (3, "not int"),
        (".", r"The teacher \. is a folder\. Load a pipeline first"),
        (lambda texts: [], f"returns probabilities of 0 texts when it is given {len(TEXTS)}"),
    ):
        with pytest.raises(ValueError, match=message):
            spacy_graft.distil(nlp, examples, TEXTS, teacher)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"9 labelled texts are too few .* at least 10"):
        spacy_graft.distil(nlp, examples[:9], TEXTS, right)
    with pytest.raises(
        ValueError, match="Of 2 texts without labels, 1 are different and not labelled, but it takes at least 2"
    ):
        spacy_graft.distil(nlp, examples, [TEXTS[-1], TEXTS[0]], right)
    with pytest.raises(ValueError, match="Text 2 without labels is of type NoneType"):
        spacy_graft.distil(nlp, examples, [TEXTS[0], None], right)  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"must be a list of numbers from 0 to 1e\+12, but are 3"):
        spacy_graft.distil(nlp, examples, TEXTS, right, weights=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"numbers from 0 to 1e\+12"):
        spacy_graft.distil(nlp, examples, TEXTS, right, weights=[-1.0])
    with pytest.raises(ValueError, match="must be a list of numbers"):  # to check an iterator would leave nothing of it
        spacy_graft.distil(nlp, examples, TEXTS, right, weights=iter([1.0]))  # type: ignore[arg-type]
    for store in ("", ".", 5, "a\0b"):
        with pytest.raises(ValueError, match=re.escape(f"store must be the path of a file, but is {store!r}")):
            spacy_graft.distil(nlp, examples, TEXTS, right, store=store)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n_to_label must be an integer of at least 0, but is -1"):
        spacy_graft.distil(nlp, examples, TEXTS, right, n_to_label=-1)
    other = spacy.blank("xx")
    learner = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0}
    other.add_pipe("textcat_graft", config={"features": WORDS, "learner": learner})
    with pytest.raises(ValueError, match="along the path of GraftingPath, but the learner is Grafting"):
        spacy_graft.distil(other, examples, TEXTS, right)


def test_texts_that_make_no_document_are_named() -> None:
    nlp = untrained()
    nlp.max_length = 1000
    cats = {label: 1 / len(LABELS) for label in LABELS}
    for text, message in (
        ("x" * 1001, r"Text 3 without labels: \[E088\]"),
        ("\ud800", "Text 3 without labels has an unpaired surrogate"),
    ):
        texts = [*TEXTS[:2], text, *TEXTS[2:]]
        with pytest.raises(ValueError, match=message):
            spacy_graft.distil(nlp, gold_examples(nlp), texts, lambda texts: [cats] * len(texts))


def test_texts_may_be_strings_of_numpy(pipeline: Language) -> None:
    nlp = untrained()
    report = spacy_graft.distil(nlp, gold_examples(nlp), np.array(TEXTS), pipeline, weights=[])  # type: ignore[arg-type]
    assert {type(one.text) for one in report.to_label} == {str}


# Files of probabilities


def jsonl_lines(with_texts: bool) -> list[Record]:
    return [{"cats": right_cats(text), **({"text": text} if with_texts else {})} for text in TEXTS]


@pytest.mark.parametrize("kind", ["jsonl", "jsonl.gz", "csv", "semicolons.csv"])
def test_files_of_probabilities(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"soft.{kind}"
    if kind.endswith("csv"):
        separator = "," if kind == "csv" else ";"
        rows = [[f'"{text}"', *map(str, reversed(right_cats(text).values()))] for text in TEXTS]
        path.write_text("\n".join(map(separator.join, [["text", "sport", "music", "food"], *rows])))
    else:
        write_jsonl(path, jsonl_lines(with_texts=kind == "jsonl"))
    _, report = student_of(path, n_to_label=7, store=tmp_path / "store", weights=[])
    assert report.teacher == str(path)
    for one in report.to_label:
        assert one.teacher == pytest.approx(right_cats(one.text))
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:-1], r"has the probabilities of 147 texts, but there are 148 without labels"),
        (lambda lines: [{**line, "text": "another"} for line in lines], "line 1: the text is not that of text 1"),
        (lambda lines: [*lines[:2], {"cats": {**lines[2]["cats"], "food": -1}}], "line 3: .* 'food' has -1"),
        (lambda lines: [{"probabilities": 1}], "line 1: there is no 'cats'"),
        (lambda lines: [], "has no probabilities"),
    ],
)
def test_bad_files_of_probabilities(
    change: Callable[[list[Record]], list[Record]], message: str, tmp_path: Path
) -> None:
    write_jsonl(tmp_path / "soft.jsonl", change(jsonl_lines(with_texts=True)))
    with pytest.raises(ValueError, match=message):
        student_of(tmp_path / "soft.jsonl")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("food,music,sport\n0.5,0.5\n", "line 2: 2 cells, but the first line has 3"),
        ("food,music\n0.5,0.5\n", "line 2: there is no probability of 'sport'"),
        ("food,music,sport\n0.5,0.5,x\n", "line 2: the label 'sport' has 'x'"),
        ("food,music,sport\n0.5,nan,0.5\n", "line 2: the label 'music' has nan"),
        ("food,music,food,sport\n0.5,0.5,0.1,0\n", "line 1: there are several columns 'food'"),
        (
            'text,food,music,sport\n"' + "a" * 200_000 + ",0.5,0.5,0\n",
            "line 2: cannot be read as CSV: unexpected end of data",
        ),
        ("", "has no probabilities"),
    ],
)
def test_bad_tables_of_probabilities(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "soft.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        student_of(path)


@pytest.mark.parametrize(
    ("name", "header", "separator"),
    [
        ("soft.tsv", "text\tfood, drink, wine, beer\tother", "\t"),
        ("soft.csv", "text,a; b; c; d; e,other", ","),
        ("soft.csv", "sep=;\ntext;x,y,z,v;other", ";"),
        ("soft.csv", "text;a;b", ";"),
    ],
)
def test_what_separates_probabilities(name: str, header: str, separator: str, tmp_path: Path) -> None:
    """What the file says, or its name if that makes several cells, and not what makes most."""
    (tmp_path / name).write_text(f"{header}\n{separator.join(['x', '0.25', '0.75'])}\n")
    expected = dict(zip(header.split(separator)[-2:], (0.25, 0.75), strict=True))
    assert list(table_lines(tmp_path / name, "text")) == [(header.count("\n") + 2, expected, "x")]


# Encoders


class ToyEncoder:
    """Vectors that tell the label a little, and whether a text is long."""

    name, width = "toy", 5
    digest = digest_of("toy")

    def __init__(self) -> None:
        self.n_texts = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.n_texts += len(texts)
        vectors = [[*(0.4 * (TRUTH[text] == label) for label in LABELS), len(text) / 100.0, 0.1] for text in texts]
        return np.array(vectors, np.float32)


def test_an_encoder_is_fitted_on_the_labelled_texts(tmp_path: Path) -> None:
    encoder = ToyEncoder()
    _, report = student_of(encoder, weights=[1.0], store=tmp_path / "store")
    assert report.teacher == "toy + logistic regression"
    assert report.weight == 1.0
    assert report.fidelity.agreement > 0.8
    # Other labelled texts ask for nothing that is stored.
    n_before = encoder.n_texts
    nlp = untrained()
    spacy_graft.distil(nlp, gold_examples(nlp, GOLD[:20]), TEXTS, encoder, weights=[], store=tmp_path / "store")
    assert encoder.n_texts == n_before + 20


def test_encoders_that_give_something_else(tmp_path: Path) -> None:
    """Nothing of it is stored."""
    wrong: list[tuple[Callable[[list[str]], Any], str]] = [
        (lambda texts: np.array([[np.nan if k == 2 else 1.0] * 5 for k in range(len(texts))]), "finite, for text 3 "),
        (lambda texts: np.ones((len(texts) - 1, 5)), r"the shape \(\d+, 5\) for \d+ texts"),
        (lambda texts: np.ones((len(texts), 1)), r"the shape \(\d+, 1\) for"),
        (lambda texts: np.ones(5), r"the shape \(5,\) for"),
        (lambda texts: None, "The encoder toy gives an array of object, and not of real numbers"),
        (lambda texts: np.ones((len(texts), 5), np.complex64), "an array of complex64, and not of real numbers"),
        (lambda texts: np.full((len(texts), 5), 1e300), "The encoder toy gives .* not finite, for text 1 "),
        (lambda texts: [[1.0], []], "The encoder toy fails on a text from 1 to .*ValueError"),
    ]
    for encode, message in wrong:
        encoder = ToyEncoder()
        encoder.encode = encode  # type: ignore[method-assign]
        with pytest.raises(ValueError, match=message):
            student_of(encoder, weights=[1.0], store=tmp_path / "store")
    student_of(ToyEncoder(), weights=[1.0], store=tmp_path / "store")


def gold_of_toys(exclusive: bool) -> Gold:
    values = np.array([[float(record["label"] == label) for label in LABELS] for record in RECORDS])
    known = np.ones(values.shape, np.bool_)
    if not exclusive:
        known[::7, 0] = False
    weights = np.linspace(0.5, 1.5, len(values))
    fold_of = np.arange(len(values)) // 3 % 3
    return Gold([record["text"] for record in RECORDS], Targets(values, known, weights), fold_of, 3)


@pytest.mark.parametrize("exclusive", [True, False])
def test_heads_of_an_encoder_do_not_know_their_fold(exclusive: bool) -> None:
    gold = gold_of_toys(exclusive)
    teacher = EncoderTeacher(ToyEncoder(), exclusive)
    rows = teacher.rows(gold.texts, 0).astype(np.float64)
    heads = teacher.heads(gold, rows)
    assert len(heads) == 4
    targets = gold.targets
    # Other labels in the second fold change all heads but that of this fold.
    upside_down = targets.values.copy()
    upside_down[gold.fold_of == 1] = upside_down[gold.fold_of == 1][:, ::-1]
    changed = gold._replace(targets=Targets(upside_down, targets.known, targets.weights))
    same_others = EncoderTeacher(ToyEncoder(), exclusive).heads(changed, rows)
    assert all(isinstance(head, Regression) for head in heads)
    losses = [document_losses(head(rows), targets.values, targets.known, exclusive=exclusive).mean() for head in heads]
    assert max(losses) < document_losses(np.full((len(rows), 3), 1 / 3), targets.values, exclusive=exclusive).mean()
    assert not np.allclose(heads[-1](rows), same_others[-1](rows))
    length = np.sqrt((rows**2).sum(axis=1).mean())
    for fold in range(3):
        path = ridge_path(rows / length, gold, exclusive, gold.fold_of != fold, RIDGES)
        other = ridge_path(rows / length, changed, exclusive, gold.fold_of != fold, RIDGES)
        assert np.array_equal(path[-1].weights, other[-1].weights) == (fold == 1)
        assert any(np.allclose(heads[fold](rows), one(rows / length), atol=1e-9) for one in path)


@pytest.mark.parametrize("factor", [2.0**100, 2.0**-100])
def test_heads_do_not_depend_on_the_length_of_all_vectors(factor: float) -> None:
    gold = gold_of_toys(True)
    teacher = EncoderTeacher(ToyEncoder(), True)
    rows = teacher.rows(gold.texts, 0)
    of_others = teacher.heads(gold, (rows * factor).astype(np.float32))
    for head, other in zip(teacher.heads(gold, rows), of_others, strict=True):
        np.testing.assert_allclose(other((rows * factor).astype(np.float32)), head(rows), atol=1e-9)


def test_the_regression_is_the_optimum() -> None:
    """Slopes vanish, and scikit-learn finds the same."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    gold, rows = gold_of_toys(True), ToyEncoder().encode([record["text"] for record in RECORDS]).astype(np.float64)
    loss = SoftmaxLoss(gold.targets.values.T, gold.targets.weights)
    for ridge, weights in zip((0.5, 0.05), ridge_fits(rows, loss, (0.5, 0.05)), strict=True):
        peer = linear_model.LogisticRegression(C=0.5 / ridge, tol=1e-8, max_iter=1000)
        peer.fit(rows, gold.targets.values.argmax(axis=1), gold.targets.weights)
        assert Regression(weights, True)(rows) == pytest.approx(peer.predict_proba(rows), abs=2e-3)


# The command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "gold.jsonl", GOLD)
    write_jsonl(tmp_path / "texts.jsonl", [{"text": text, "id": f"n{i}"} for i, text in enumerate(TEXTS)])
    write_jsonl(tmp_path / "few.jsonl", [{"text": text} for text in TEXTS[-24:]])
    write_jsonl(tmp_path / "soft.jsonl", jsonl_lines(with_texts=True))
    (tmp_path / "student.cfg").write_text(untrained().config.to_str())
    (tmp_path / "teach.py").write_text(
        "def cats(texts):\n    return [{'food': .2, 'music': .3, 'sport': .5} for _ in texts]\n\n\nNOTHING = 1\n"
    )
    return tmp_path


ARGUMENTS = ("distil", "--train", "gold.jsonl", "--unlabelled", "texts.jsonl", "--output", "out", "--teacher")


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_texts_of_a_teacher_are_of_the_field_that_is_named(folder: Path, kind: str) -> None:
    for name in ("gold.jsonl", "texts.jsonl", "soft.jsonl"):
        (folder / name).write_text((folder / name).read_text().replace('"text":', '"body":'))
    lines = [json.loads(line) for line in (folder / "soft.jsonl").read_text().splitlines()]
    if kind == "csv":
        rows = [["body", *lines[0]["cats"]], *([line["body"], *line["cats"].values()] for line in lines)]
        with (folder / "soft.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    arguments = (*ARGUMENTS, f"soft.{kind}", "student.cfg", "--text-field", "body", "--weight", 1)
    assert json.loads(call(*arguments).stdout)["teacher"] == f"soft.{kind}"
    first, second, *others = (folder / "texts.jsonl").read_text().splitlines(keepends=True)
    (folder / "texts.jsonl").write_text("".join([second, first, *others]))
    assert "the text is not that of text 1 without labels" in refused(*arguments)


def test_the_command(folder: Path) -> None:
    printed = json.loads(call(*ARGUMENTS, "soft.jsonl", "student.cfg", "--to-label", 3, "--weight", 1).stdout)
    assert printed == json.loads((folder / "out" / "report.json").read_text())
    assert printed["weight"] == 1.0
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["label-next.jsonl", "model-best", "report.json"]
    nlp = spacy.load(folder / "out" / "model-best")
    lines = [json.loads(line) for line in (folder / "out" / "label-next.jsonl").read_text().splitlines()]
    assert len(lines) == 3
    for line in lines:
        assert TEXTS[int(line["id"][1:])] == line["text"]
        assert line["cats"] == pytest.approx(nlp(line["text"]).cats)
        assert line["teacher"] == pytest.approx(right_cats(line["text"]))
    # With a function and with the student as teachers, as a table.
    table = call(*ARGUMENTS, "teach.py:cats", "student.cfg", "--weight", 1, "--format", "table").stdout
    assert "held-out texts" in table
    assert (folder / "out" / "teacher.store").exists()
    best = (folder / "out" / "model-best" / "meta.json").read_bytes()
    assert "is read, and would be replaced" in refused(*ARGUMENTS, "out/model-best", "student.cfg")
    assert (folder / "out" / "model-best" / "meta.json").read_bytes() == best
    shutil.copytree(folder / "out" / "model-best", folder / "copy")
    assert "what another teacher said, spacy_graft_teacher:cats" in refused(*ARGUMENTS, "copy", "student.cfg")


def test_labels_are_independent_if_those_of_the_texts_are(folder: Path) -> None:
    several = [{**record, "label": [record["label"]] if i else []} for i, record in enumerate(GOLD)]
    write_jsonl(folder / "gold.jsonl", several)
    for name in ("texts.jsonl", "soft.jsonl"):
        lines = (folder / name).read_text().splitlines(keepends=True)
        (folder / name).write_text("".join(lines[:50]))
    call(*ARGUMENTS, "soft.jsonl", "--weight", 1)
    assert spacy.load(folder / "out" / "model-best").pipe_names == ["textcat_graft_multilabel"]


@pytest.mark.parametrize("option", ["--train", "--unlabelled"])
def test_texts_that_are_read_are_not_replaced(folder: Path, option: str) -> None:
    """The list of texts to label next stays where it has been labelled."""
    (folder / "out").mkdir(exist_ok=True)
    labelled = write_jsonl(folder / "out" / "label-next.jsonl", GOLD)
    before = labelled.read_bytes()
    assert "label-next.jsonl is read, and would be replaced" in refused(*ARGUMENTS, "soft.jsonl", option, labelled)
    assert labelled.read_bytes() == before


def test_a_folder_that_is_no_pipeline_is_not_replaced(folder: Path) -> None:
    (folder / "out" / "model-best").mkdir(parents=True)
    (folder / "out" / "model-best" / "notes.txt").touch()
    assert "model-best exists, and is not a pipeline: it is not replaced" in refused(*ARGUMENTS, "soft.jsonl")
    assert (folder / "out" / "model-best" / "notes.txt").exists()
    spacy.blank("xx").to_disk(folder / "model")
    assert "is a pipeline. Give another folder" in refused(*ARGUMENTS, "soft.jsonl", "--output", folder / "model")


def test_checkpoints_of_others_are_kept(folder: Path) -> None:
    other = folder / "out" / "checkpoints" / "of-another-model" / "step-0001"
    other.parent.mkdir(parents=True)
    other.touch()
    call(*ARGUMENTS, "soft.jsonl", "student.cfg", "--weight", 1)
    assert other.exists()
    assert [path.name for path in (folder / "out" / "checkpoints").iterdir()] == ["of-another-model"]


def test_a_student_beside_a_component_without_weights_is_refused(folder: Path) -> None:
    """Before the work: no text could be given to such a pipeline."""
    nlp = untrained()
    nlp.add_pipe("textcat_graft", name="topic")
    nlp.config.to_disk(folder / "two.cfg")
    said = refused(*ARGUMENTS, "soft.jsonl", "two.cfg", "--component", "textcat_graft")
    assert "not trained: 'topic'" in said
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.jsonl"], "There is no file missing.jsonl"),
        (["missing"], "There is no pipeline missing"),
        (["teach.py:other"], "The teacher teach.py:other cannot be loaded: AttributeError"),
        (["teach.py:NOTHING"], "teach.py:NOTHING is no function"),
        (["soft.jsonl", "--unlabelled", "few.jsonl"], "has the probabilities of 148 texts, but there are 24"),
        (["soft.jsonl", "--unlabelled", "-"], "standard input cannot be"),
        (["soft.jsonl", "--text-field", "body"], "line 1: there is no 'body'"),
        (["soft.jsonl", "--output", "gold.jsonl"], "gold.jsonl is a file. Give a folder"),
        (["soft.jsonl", "--output", "gold.jsonl/student"], "gold.jsonl is not a folder"),
        (["soft.jsonl", "--weight", "1e400"], "must be a list of numbers from 0 to 1e+12, but are [inf]"),
        (["soft.jsonl", "missing.cfg"], "There is no config missing.cfg"),
        (["missing/model.onnx"], "model.onnx"),
        (["soft.jsonl", "--tokenizer", "soft.jsonl"], "--tokenizer has no effect with soft.jsonl, which is not"),
        (["soft.jsonl", "--lang", "en"], "--lang has no effect with CONFIG"),
        (["soft.jsonl", "--multilabel"], "--exclusive/--multilabel has no effect with CONFIG"),
    ],
)
def test_bad_arguments(arguments: list[str], message: str, folder: Path) -> None:
    assert message in refused(*ARGUMENTS, *arguments, *([] if "missing.cfg" in arguments else ["student.cfg"]))


def test_options_that_there_are_not(folder: Path) -> None:
    for arguments in (["--to-labels", 3], ["student.cfg", "--to-labels", 3]):
        assert "No such option: --to-labels" in call(*ARGUMENTS, "soft.jsonl", *arguments, code=2).stderr
    said = call(*ARGUMENTS, "soft.jsonl", "--training.seed", 1, code=2).stderr
    assert "--training.seed stands where a file is expected: give settings after it." in said


def test_a_student_without_a_config() -> None:
    from spacy_graft.cli.distil import MOST_FEATURES, default_student

    nlp = default_student("de", exclusive=False)
    assert nlp.lang == "de"
    assert nlp.pipe_names == ["textcat_graft_multilabel"]
    assert graft_component(nlp).learner.max_features == MOST_FEATURES


# ONNX


def test_onnx_without_its_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"spacy-graft\[onnx\]"):
        spacy_graft.OnnxEncoder(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"There is no file .*tokenizer.json"):
        spacy_graft.OnnxEncoder(tmp_path / "model.onnx")


def test_keys_of_texts_are_equal_in_every_process() -> None:
    assert text_key("a") == 3405396810240292928


def message(*fields: tuple[int, Any]) -> bytes:
    """A message of protocol buffers: numbers as varints, all else as bytes."""
    written = b""
    for number, value in fields:
        if isinstance(value, int):
            written += varint(number << 3) + varint(value)
        else:
            content = value.encode() if isinstance(value, str) else value
            written += varint(number << 3 | 2) + varint(len(content)) + content
    return written


def varint(value: int) -> bytes:
    if value < 128:
        return bytes([value])
    return bytes([value & 127 | 128]) + varint(value >> 7)


def value_info(name: str, kind: int, shape: Sequence[str]) -> bytes:
    dimensions = message(*((1, message((2, dimension))) for dimension in shape))
    return message((1, name), (2, message((1, message((1, kind), (2, dimensions))))))


def write_encoder(
    folder: Path,
    table: np.ndarray,
    input_name: str = "input_ids",
    pooled: bool = False,
    beside: str = "",
    input_type: int = 7,
) -> None:
    """A model that looks words up, perhaps with its weights in a file beside it, and its tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    nodes = [message((1, "table"), (1, input_name), (2, "states"), (4, "Gather"))]
    if pooled:
        axes = message((1, "axes"), (8, 1), (20, 7))
        keep = message((1, "keepdims"), (3, 0), (20, 2))
        nodes.append(message((1, "states"), (2, "pooled"), (4, "ReduceMean"), (5, axes), (5, keep)))
    weights = table.astype("<f4").tobytes()
    folder.mkdir(exist_ok=True)
    if beside:
        (folder / beside).parent.mkdir(exist_ok=True)
        (folder / beside).write_bytes(weights)
    stored = [(13, message((1, "location"), (2, beside))), (14, 1)] if beside else [(9, weights)]
    initializer = message(*((1, size) for size in table.shape), (2, 1), (8, "table"), *stored)
    output = value_info("pooled", 1, ["b", "w"]) if pooled else value_info("states", 1, ["b", "n", "w"])
    graph = message(
        *((1, node) for node in nodes), (2, "g"), (5, initializer),
        (11, value_info(input_name, input_type, ["b", "n"])), (12, output),
    )  # fmt: skip
    (folder / "model.onnx").write_bytes(message((1, 8), (7, graph), (8, message((1, ""), (2, 13)))))
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "goal": 1, "salt": 2}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))


TABLE = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])


@pytest.mark.parametrize("pooled", [False, True])
def test_an_onnx_encoder(pooled: bool, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    write_encoder(tmp_path, TABLE, pooled=pooled)
    encoder = spacy_graft.OnnxEncoder(tmp_path, max_tokens=3)
    assert encoder.width == 3
    texts = ["goal salt", "goal", "what salt goal salt salt"]
    expected = np.array([[0, 2, 3], [0, 2, 0], [1, 2, 3]]) / np.sqrt([[13.0], [4.0], [14.0]])
    assert encoder.encode(texts) == pytest.approx(expected, abs=1e-6)
    assert encoder.encode(texts).dtype == np.float32
    # It is known by its content, wherever it is.
    write_encoder(tmp_path / "copy", TABLE, pooled=pooled)
    apart = spacy_graft.OnnxEncoder(tmp_path / "copy" / "model.onnx", tmp_path / "tokenizer.json", max_tokens=3)
    assert apart.digest == encoder.digest
    assert spacy_graft.OnnxEncoder(tmp_path).digest != encoder.digest
    # A text of no words has no direction.
    assert encoder.encode([""]).tolist() == [[0.0] * 3]
    with pytest.raises(ValueError, match="A list of texts is expected, not the string 'goal'"):
        encoder.encode("goal")
    _, report = student_of(encoder, weights=[])
    assert report.teacher.endswith("model.onnx + logistic regression")


def test_an_encoder_of_32_bits(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    write_encoder(tmp_path, TABLE, input_type=6)
    encoder = spacy_graft.OnnxEncoder(tmp_path)
    assert encoder.width == 3
    assert encoder.encode(["goal"]).tolist() == [[0.0, 1.0, 0.0]]


@pytest.mark.filterwarnings("error")
def test_an_encoder_with_the_tokenizer_of_another(tmp_path: Path) -> None:
    """Before a text fails, it has a width; the error says which files do not fit."""
    pytest.importorskip("onnxruntime")
    tokenizers = pytest.importorskip("tokenizers")
    write_encoder(tmp_path, TABLE)
    other = tokenizers.Tokenizer(tokenizers.models.BPE({"x": 7}, []))  # it has no tokens for other letters
    other.save(str(tmp_path / "tokenizer.json"))
    encoder = spacy_graft.OnnxEncoder(tmp_path)
    assert encoder.encode(["a"]).tolist() == [[0.0] * 3]
    with pytest.raises(ValueError, match=r"model.onnx fails on a text of 2 tokens: .* those of .*tokenizer.json\."):
        encoder.encode(["xx"])


@pytest.mark.parametrize("name", ["weights.bin", "weights/table.bin"])
def test_an_encoder_is_known_by_weights_in_other_files(tmp_path: Path, name: str) -> None:
    """As models above 2 GB have them; other files beside it do not matter."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    write_encoder(tmp_path, TABLE, beside=name)
    first = spacy_graft.OnnxEncoder(tmp_path)
    assert first.encode(["goal"]).tolist() == [[0.0, 1.0, 0.0]]
    (tmp_path / "README.md").write_text("An encoder.")
    assert spacy_graft.OnnxEncoder(tmp_path).digest == first.digest
    write_encoder(tmp_path, TABLE[::-1], beside=name)
    second = spacy_graft.OnnxEncoder(tmp_path)
    assert second.model.read_bytes() == first.model.read_bytes()
    assert second.digest != first.digest


def test_bad_onnx_files(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    for number in (-1, 2, 1.5):
        with pytest.raises(ValueError, match="OnnxEncoder: max_tokens must be"):
            spacy_graft.OnnxEncoder(tmp_path, max_tokens=number)  # type: ignore[arg-type]
    write_encoder(tmp_path, TABLE, "pixels")
    with pytest.raises(ValueError, match="takes 'pixels', and not the input_ids"):
        spacy_graft.OnnxEncoder(tmp_path)
    write_encoder(tmp_path, np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match=r"model.onnx gives a vector with values that are not finite, for text 1 "):
        student_of(spacy_graft.OnnxEncoder(tmp_path), weights=[])
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match="is no tokenizer that tokenizers can read"):
        spacy_graft.OnnxEncoder(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"something else")
    with pytest.raises(ValueError, match="is no model that onnxruntime can read"):
        spacy_graft.OnnxEncoder(tmp_path)
