"""Very many independent labels: fitted in batches, the model is that of one fit of all labels."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import spacy
import srsly
from spacy.language import Language
from spacy.training import Example

import spacy_graft
from conftest import make_example, make_nlp
from spacy_graft import CoordinateAscent, Grafting, GraftingPath, GraftTextClassifier
from spacy_graft.checks.corpus import check_corpus
from spacy_graft.checks.evaluation import calibration_metrics
from spacy_graft.checks.memory import BYTES_PER_DOCUMENT_LABEL, estimate_memory
from spacy_graft.graft import indexing, label_batches, memory
from spacy_graft.graft.grafting import GraftingFit
from spacy_graft.graft.label_batches import BatchedGrafting, BatchedPath
from spacy_graft.graft.model_state import ModelState
from spacy_graft.graft.report import Report
from spacy_graft.graft.solution import Solution
from spacy_graft.graft.start import start
from spacy_graft.model import weights as sparse_weights
from spacy_graft.model.sparse_linear import snapshot_of
from spacy_graft.pipeline import labelled, scorer, targets, textcat
from spacy_graft.pipeline.corpus import ExtractedCorpus
from spacy_graft.pipeline.dataset import decisions_about
from spacy_graft.pipeline.dataset_scores import dataset_scores
from spacy_graft.pipeline.judging import held_out_of
from spacy_graft.pipeline.reader import JsonlCorpus
from spacy_graft.pipeline.scorer import LabelColumns
from strategies import training_data
from test_graft import run

pytestmark = pytest.mark.usefixtures("dev_alone")

WORDS = ("ship", "port", "storm", "grain", "wheat", "bank", "money", "rate", "oil", "gas", "gold", "tin")


@pytest.fixture
def in_batches(monkeypatch):
    monkeypatch.setattr(memory, "MANY_LABELS", 1)
    monkeypatch.setattr(memory, "DOCUMENT_LABELS", 0)


def corpus(n_documents: int = 120, n_labels: int = 20, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Texts of some words, and labels that follow from pairs of them, with noise."""
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n_documents):
        words = random.permutation(WORDS)[: random.integers(2, 7)].tolist()
        texts.append(" ".join(words))
        chosen = {f"{word}{k}" for word in words for k in range(2) if random.random() < 0.6}
        labels.append(sorted(chosen | {f"{random.choice(WORDS)}0"}))
    return texts, [[label for label in row if label in all_labels(n_labels)] for row in labels]


def all_labels(n_labels: int) -> list[str]:
    return [f"{word}{k}" for word in WORDS for k in range(2)][:n_labels]


def data_of(texts, labels, sparse=True):
    targets = np.array([[float(label in row) for label in all_labels(20)] for row in labels])
    data = training_data(texts, targets, exclusive=False)
    return replace(data, targets=scipy.sparse.csc_array(targets)) if sparse else data


def named_weights(solution: Solution) -> dict[tuple, np.ndarray]:
    rows = sparse_weights.dense_rows(solution.weights, np.arange(len(solution.terms)))
    names = [tuple((term.block, bytes(term.symbols)) for term in terms) for terms in solution.terms]
    return dict(zip(names, rows, strict=True))


def test_batches_are_fits_of_their_own(in_batches, monkeypatch):
    texts, labels = corpus()
    data = data_of(texts, labels)
    fit = run(Grafting(l1=1.0), data)
    assert isinstance(fit, BatchedGrafting)
    joined = fit.solution()
    weights = named_weights(joined)
    monkeypatch.undo()
    total = 0.0
    for first in range(0, 20, 8):
        alone = run(Grafting(l1=1.0), data.of_labels(first, first + 8))
        solution, labels_of = alone.solution(), slice(first, min(first + 8, 20))
        total += alone.report.objective
        np.testing.assert_array_equal(joined.intercepts[labels_of], solution.intercepts)
        own = named_weights(solution)
        for name, row in weights.items():
            np.testing.assert_array_equal(row[labels_of], own.get(name, np.zeros(len(solution.intercepts))))
    assert fit.report.objective == pytest.approx(total, rel=1e-15)


def test_batches_that_were_interrupted_are_begun_again(in_batches, monkeypatch):
    """Before that, the model is the empty one."""
    fits, data = [], data_of(*corpus())
    fit = start(Grafting(l1=1.0), data)
    assert fit.solution().weights.shape == (0, 20)
    assert len(fit.solution().intercepts) == 20

    class Failing(GraftingFit):
        def __init__(self, *arguments):
            fits.append(self)
            if len(fits) == 3:
                raise OSError("no space")
            super().__init__(*arguments)

    monkeypatch.setattr(label_batches, "GraftingFit", Failing)
    with pytest.raises(OSError, match="no space"):
        fit.step()
    fit.step()
    expected, found = run(Grafting(l1=1.0), data).solution(), fit.solution()
    np.testing.assert_array_equal(found.intercepts, expected.intercepts)
    assert (found.weights != expected.weights).nnz == 0


def test_refits_and_points_go_on_from_what_is_kept_of_batches(in_batches, monkeypatch):
    """Refits weigh no features but those of the model, and no later point begins with the empty model."""
    fit = start(GraftingPath(steps=4, penalty_weights="ratio_idf"), data_of(*corpus()))
    fit.step()
    expected = fit.refitted(2.0)

    def fail(*arguments):
        raise AssertionError

    monkeypatch.setattr(ModelState, "loss", fail)
    with monkeypatch.context() as refits:
        refits.setattr(indexing, "inverse_weights", fail)
        fit._last_refit = None
        found = fit.refitted(2.0)
    assert (found.weights != expected.weights).nnz == 0
    assert found.weights.nnz
    fit.step()
    assert fit.report.points == 2


@pytest.mark.parametrize("options", [{}, {"penalty_weights": "ratio_idf", "length_normalisation": True}])
def test_optimum_of_one_strength_is_that_of_all_labels_at_once(in_batches, monkeypatch, options):
    texts, labels = corpus()
    data = replace(data_of(texts, labels), lengths=np.array([len(text.split()) for text in texts], np.float64))
    learner = Grafting(l1=1.0, tol=1e-9, ridge=0.1, **options)
    batched = run(learner, data)
    monkeypatch.setattr(memory, "DOCUMENT_LABELS", 10**9)
    together = run(learner, data)
    report, other = batched.report, together.report
    assert report.converged
    assert report.relative_gap <= 1e-9
    gap = report.duality_gap + other.duality_gap
    assert report.objective == pytest.approx(other.objective, abs=gap)
    assert (report.l1_max, report.n_columns, report.min_df) == (other.l1_max, other.n_columns, other.min_df)
    ours, theirs = named_weights(batched.solution()), named_weights(together.solution())
    for name in ours.keys() | theirs.keys():
        none = np.zeros(20)
        np.testing.assert_allclose(ours.get(name, none), theirs.get(name, none), atol=5e-3)
    np.testing.assert_allclose(batched.solution().intercepts, together.solution().intercepts, atol=1e-3)
    assert batched.solution().mean_scale == together.solution().mean_scale


@pytest.mark.parametrize("refit", [None, 2.0])
def test_points_of_a_path_are_those_of_all_labels_at_once(in_batches, monkeypatch, refit):
    texts, labels = corpus()
    data = replace(data_of(texts, labels), lengths=np.array([len(text.split()) for text in texts], np.float64))
    learner = GraftingPath(steps=4, l1_min_ratio=0.1, tol=1e-8, refit=refit, ridge=1.0)
    batched = start(learner, data)
    assert isinstance(batched, BatchedPath)
    monkeypatch.setattr(memory, "DOCUMENT_LABELS", 10**9)
    together = start(learner, data)
    for _ in range(3):
        batched.step()
        together.step()
        assert batched.report.l1 == together.report.l1
        gap = batched.report.duality_gap + together.report.duality_gap
        assert batched.report.objective == pytest.approx(together.report.objective, abs=gap + 1e-9)
        assert batched.report.refit == together.report.refit
    ours, theirs = batched.solution(), together.solution()
    assert named_weights(ours).keys() == named_weights(theirs).keys()
    for name, row in named_weights(theirs).items():
        np.testing.assert_allclose(named_weights(ours)[name], row, atol=2e-3)
    assert ours.mean_scale == pytest.approx(theirs.mean_scale, rel=1e-12)
    shares = dict(zip(named_weights(ours), ours.length_shares, strict=True)) if refit else {}
    assert shares == (dict(zip(named_weights(theirs), theirs.length_shares, strict=True)) if refit else {})
    assert not batched.finished
    batched.step()
    assert batched.finished


def test_path_in_batches_ends_before_max_features(in_batches):
    texts, labels = corpus()
    fit = run(GraftingPath(steps=8, max_features=60, tol=1e-3), data_of(texts, labels))
    assert 0 < fit.report.n_active <= 60
    assert fit.report.points < 8
    assert fit.solution().weights.shape == (fit.report.n_active, 20)


def test_every_step_of_a_path_can_be_gone_on_from(in_batches):
    texts, labels = corpus()
    data, learner = data_of(texts, labels), GraftingPath(steps=3, l1_min_ratio=0.1)
    whole = start(learner, data)
    whole.step()
    saved = srsly.msgpack_loads(srsly.msgpack_dumps(whole.to_dict()))
    resumed = start(learner, data)
    resumed.resume(saved)
    for _ in range(2):
        np.testing.assert_array_equal(resumed.solution().weights.toarray(), whole.solution().weights.toarray())
        np.testing.assert_array_equal(resumed.solution().intercepts, whole.solution().intercepts)
        assert resumed.to_dict()["report"] == whole.to_dict()["report"]
        whole.step()
        resumed.step()
    assert resumed.finished


@pytest.mark.parametrize("max_features", [None, 100])
def test_batches_that_go_to_a_point_one_after_the_other_have_its_model(in_batches, max_features):
    """That of a path whose points are seen, or of the last one without too many features; from any state on the way."""
    texts, labels = corpus()
    data, like = data_of(texts, labels), Report(points=7)
    learner = GraftingPath(steps=8, l1_min_ratio=0.1, max_features=max_features, tol=1e-3)
    seen = start(learner, data)
    while not seen.finished and seen.report.points < like.points:
        seen.step()
    states, alone = [], start(learner, data)
    for step in alone.steps_to(like):
        states.append(srsly.msgpack_dumps(alone.to_dict()))
        step()
    assert len(states) == 7 if max_features is None else 1 < len(states) < 7
    assert alone.report.points == seen.report.points == (7 if max_features is None else 6)
    assert alone.finished == seen.finished
    assert alone.report.n_active == seen.report.n_active
    assert alone.report.objective == pytest.approx(seen.report.objective, rel=1e-12)
    np.testing.assert_allclose(alone.solution().weights.toarray(), seen.solution().weights.toarray(), atol=1e-12)
    np.testing.assert_allclose(alone.solution().intercepts, seen.solution().intercepts, rtol=1e-9)
    for state in states:
        resumed = start(learner, data)
        resumed.resume(srsly.msgpack_loads(state))
        for step in resumed.steps_to(like):
            step()
        np.testing.assert_array_equal(resumed.solution().weights.toarray(), alone.solution().weights.toarray())
        assert resumed.to_dict()["report"] == alone.to_dict()["report"]


def test_batches_go_to_no_point_beyond_the_last(in_batches):
    """Where the path of the report had more points."""
    seen, alone = paths_to(Report(points=11), steps=4)
    assert alone.finished
    assert alone.report.points == 4
    assert alone.report.l1 == seen.report.l1
    np.testing.assert_allclose(alone.solution().weights.toarray(), seen.solution().weights.toarray(), atol=1e-12)


def test_batches_whose_first_point_is_too_large_stay_empty(in_batches):
    """Also if it is seen after some batches have gone on to another one."""
    seen, alone = paths_to(Report(points=4), steps=4, max_features=1)
    assert alone.finished
    assert alone.solution().weights.shape == (0, 20)
    of_seen, of_alone = (fit.to_dict()["report"] for fit in (seen, alone))
    assert of_alone == {**of_seen, "refit": alone.refit}


def paths_to(like, **options):
    """A path that has gone from point to point to its end, and one that has gone to the point of a report."""
    data = data_of(*corpus())
    seen, alone = (start(GraftingPath(l1_min_ratio=0.1, tol=1e-3, **options), data) for _ in range(2))
    while not seen.finished:
        seen.step()
    for step in alone.steps_to(like):
        step()
    return seen, alone


def test_a_refit_is_computed_once(in_batches, monkeypatch):
    texts, labels = corpus()
    calls = []
    refitted = BatchedPath._refitted

    def noted(fit: BatchedPath, strength: float | None) -> Solution:
        calls.append((fit.report.points, strength))
        return refitted(fit, strength)

    monkeypatch.setattr(BatchedPath, "_refitted", noted)
    fit = start(GraftingPath(steps=3, l1_min_ratio=0.1), data_of(texts, labels))
    for _ in range(2):
        fit.step()
        first = fit.solution()
        assert fit.refitted(fit.refit, trial=True) is first
        fit.refitted(8.0, trial=True)
    assert calls == [(1, fit.refit), (1, 8.0), (2, fit.refit), (2, 8.0)]


def test_labels_that_are_never_or_always_there(in_batches):
    texts, labels = corpus()
    targets = np.zeros((len(texts), 20))
    targets[:, 3] = 1.0
    targets[:, 10] = [float("ship0" in row) for row in labels]
    data = training_data(texts, targets, exclusive=False)
    solution = run(Grafting(l1=1.0), data).solution()
    assert set(np.nonzero(sparse_weights.dense_rows(solution.weights, np.arange(len(solution.terms))))[1]) == {10}
    n = len(texts)
    np.testing.assert_allclose(solution.intercepts[[0, 3]], [np.log(0.5 / (n + 0.5)), np.log((n + 0.5) / 0.5)])
    nothing = run(Grafting(l1=1.0), replace(data, targets=np.zeros((n, 20))))
    assert nothing.solution().weights.shape == (0, 20)
    assert nothing.report.n_active == 0


def test_features_are_named_whatever_the_last_batch_is(in_batches):
    """Where a model is empty, features that are too rare for its L1 strength are indexed as well."""
    texts, labels = corpus()
    targets = np.zeros((len(texts), 20))
    targets[:, :4] = [[float(label in row) for label in all_labels(4)] for row in labels]
    targets[7, 18] = 1.0
    data = training_data(texts, targets, exclusive=False)
    fit = run(Grafting(l1=3.0), data)
    alone = run(Grafting(l1=3.0), data.of_labels(0, 8))
    ours, own = named_weights(fit.solution()), named_weights(alone.solution())
    assert ours.keys() == own.keys()
    assert len(own) > 0
    for name, row in own.items():
        np.testing.assert_array_equal(ours[name][:8], row)
    assert fit.report.min_df == alone.report.min_df != run(Grafting(l1=3.0), data.of_labels(16, 20)).report.min_df


def test_unknown_labels_are_masked(in_batches, monkeypatch):
    texts, labels = corpus()
    data = data_of(texts, labels)
    known = np.random.default_rng(0).random((len(texts), 20)) < 0.7
    data = replace(data, known=known, targets=scipy.sparse.csc_array(data.targets.toarray() * known))
    learner = Grafting(l1=1.0, tol=1e-9)
    batched = run(learner, data)
    monkeypatch.setattr(memory, "DOCUMENT_LABELS", 10**9)
    together = run(learner, data)
    gap = batched.report.duality_gap + together.report.duality_gap
    assert batched.report.objective == pytest.approx(together.report.objective, abs=gap)


@pytest.mark.parametrize("learner", [Grafting(l1=1.0), GraftingPath(steps=3, l1_min_ratio=0.05)], ids=["one", "path"])
def test_classifier_of_texts(in_batches, tmp_path, learner):
    texts, labels = corpus()
    model = GraftTextClassifier(learner, analyzer="word", multilabel=True).fit(texts, labels)
    snapshot = model._model.snapshot
    assert isinstance(snapshot.weights, scipy.sparse.csr_array)
    dense = replace(snapshot, weights=snapshot.weights.toarray())
    streams = {"word": model._space.readers["word"].stream(texts, model._model._words, False)}
    lengths = np.array([len(text.split()) for text in texts], np.float64)
    scores = [one.scores_of_streams(streams, lengths, model._model._words) for one in (snapshot, dense)]
    np.testing.assert_array_equal(*scores)
    probabilities = model.predict_proba(texts)
    thresholds = model.report_.thresholds or [0.5] * len(model.classes_)
    assert model.predict(texts) == [
        [label for label, p, least in zip(model.classes_, row, thresholds, strict=True) if p >= least]
        for row in probabilities.tolist()
    ]
    model.save(tmp_path / "model")
    loaded = GraftTextClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(texts), probabilities)
    assert (loaded.coef_ != model.coef_).nnz == 0
    features = model.features()
    assert [feature.text for feature in loaded.features()] == [feature.text for feature in features]
    assert all(feature.weights and all(feature.weights.values()) for feature in features)
    assert features[0].weights["no label"] == 0.0
    explanation = model.explain(texts[:1])[0]
    for label, score in zip(model.classes_, scores[0][0], strict=True):
        assert explanation[label].score == pytest.approx(score, abs=1e-9)


def test_indicator_matrix_stays_sparse(in_batches):
    texts, labels = corpus()
    names = sorted(all_labels(20))
    y = scipy.sparse.csr_matrix([[int(label in row) for label in names] for row in labels])
    model = GraftTextClassifier(Grafting(l1=1.0), analyzer="word").fit(texts, y)
    lists = GraftTextClassifier(Grafting(l1=1.0), analyzer="word", multilabel=True).fit(texts, labels)
    assert lists.classes_.tolist() == names
    assert model.predict(texts).dtype == y.dtype
    np.testing.assert_array_equal(model.predict_proba(texts), lists.predict_proba(texts))
    assert model.score(texts, y) == lists.score(texts, labels)
    # A pair that is listed twice is 2, as in a table of few labels.
    rows, columns = y.nonzero()
    twice = scipy.sparse.coo_matrix(
        (np.ones(len(rows) + 1), (np.r_[rows, rows[0]], np.r_[columns, columns[0]])), y.shape
    )
    uncounted = scipy.sparse.csr_matrix(y, copy=True)
    uncounted.indices[1] = uncounted.indices[0]
    for wrong in (twice, uncounted):
        with pytest.raises(ValueError, match="a matrix of zeros and ones"):
            GraftTextClassifier(Grafting(l1=1.0), analyzer="word").fit(texts, wrong)


@pytest.fixture
def many_in_components(in_batches, monkeypatch):
    for module in (targets, scorer):
        monkeypatch.setattr(module, "MANY_LABELS", 1)


ONE = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0}


def multilabel_nlp(learner: dict[str, Any] = ONE) -> Language:
    return make_nlp("textcat_graft_multilabel", learner=learner)


def examples_of(nlp: Language, complete: bool) -> list[Example]:
    examples = []
    for text, row in zip(*corpus(), strict=True):
        cats = dict.fromkeys(row, 1.0) if complete else {label: float(label in row) for label in all_labels(20)}
        examples.append(make_example(nlp, text, cats))
        if complete:
            examples[-1].reference.user_data["graft_complete"] = True
    return examples


def test_labels_of_complete_documents_are_zero_where_they_are_not_mentioned():
    models = []
    for complete in (False, True):
        nlp = multilabel_nlp()
        nlp.get_pipe("textcat_graft_multilabel").cfg["labels"] = all_labels(20)
        spacy_graft.fit(nlp, examples_of(nlp, complete))
        models.append(nlp("ship grain wheat").cats)
    assert models[0] == models[1]


def test_complete_documents_without_a_label_count_as_all_others():
    found = []
    for complete in (False, True):
        nlp = multilabel_nlp()
        component = nlp.get_pipe("textcat_graft_multilabel")
        component.cfg["labels"] = all_labels(20)
        examples = examples_of(nlp, complete)
        examples[0].reference.cats = {} if complete else dict.fromkeys(all_labels(20), 0.0)
        spacy_graft.fit(nlp, examples)
        assert len(held_out_of(component, examples, np.full(20, 0.05)).corpus) == len(examples)
        scored = [Example(nlp(example.text), example.reference) for example in examples]
        figures = calibration_metrics(LabelColumns.of(scored, component.labels), exclusive=False)
        scores = dataset_scores(component, scored)
        n_decisions = sum(1 for n, example in enumerate(scored) for _ in decisions_about(component, n, example))
        usable = check_corpus(examples, [], exclusive=False).train.n_usable
        found.append((figures, scores.log_loss, scores.n_documents, n_decisions, usable))
    assert found[0] == found[1]
    assert found[0][-1] == len(examples)


@pytest.mark.parametrize(
    "learner",
    [ONE, {"@graft_learners": "spacy_graft.GraftingPath.v1", "steps": 3, "l1_min_ratio": 0.05}],
    ids=["one", "path"],
)
def test_component(many_in_components, tmp_path, learner):
    nlp = multilabel_nlp(learner)
    examples = examples_of(nlp, complete=True)
    report = spacy_graft.fit(nlp, examples[:100], dev=examples[100:])
    component = nlp.get_pipe("textcat_graft_multilabel")
    snapshot = component.model.attrs["snapshot"]
    assert isinstance(snapshot.weights, scipy.sparse.csr_array)
    assert (report.n_active, report.n_pairs) == (snapshot.features.n_features, snapshot.weights.nnz)
    scores = nlp.evaluate(examples_of(nlp, complete=True))
    assert scores["cats_micro_f"] > 0.5
    expected = nlp("ship grain wheat").cats
    nlp.to_disk(tmp_path)
    for loaded in (spacy.load(tmp_path), multilabel_nlp(learner).from_bytes(nlp.to_bytes())):
        assert loaded("ship grain wheat").cats == expected
        found = loaded.get_pipe("textcat_graft_multilabel")
        assert [vars(feature) for feature in found.features()] == [vars(feature) for feature in component.features()]
    label = max(expected, key=expected.get)
    explained = component.explain(nlp("ship grain wheat"), label)[label]
    assert 1.0 / (1.0 + np.exp(-explained.score)) == pytest.approx(expected[label])


def test_a_path_of_batches_that_becomes_too_large_ends_with_what_was_judged(many_in_components):
    learner = {"@graft_learners": "spacy_graft.GraftingPath.v1", "steps": 8, "max_features": 60, "tol": 1e-3}
    nlp = multilabel_nlp(learner)
    examples = examples_of(nlp, complete=True)
    spacy_graft.fit(nlp, examples[:100], dev=examples[100:])
    *judged, again, _ = nlp.get_pipe("textcat_graft_multilabel").history
    assert len(judged) < 8
    same = ("l1", "n_active", "refit", "log_loss")
    assert [again[name] for name in same] == [judged[-1][name] for name in same]


@pytest.mark.filterwarnings("ignore:.*No training document is positive")
@pytest.mark.parametrize("complete", [False, True])
def test_targets_of_many_labels_are_those_of_few(many_in_components, monkeypatch, complete):
    nlp = multilabel_nlp()
    found = []
    for many in (1, 10**9):
        monkeypatch.setattr(targets, "MANY_LABELS", many)
        monkeypatch.setattr(memory, "MANY_LABELS", many)
        component = nlp.get_pipe("textcat_graft_multilabel")
        documents = ExtractedCorpus(component.blocks, targets.TargetReader("name", all_labels(20), False))
        documents.add(examples_of(nlp, complete))
        extended = documents.with_labels(targets.TargetReader("name", [*all_labels(20), "new"], False))
        for one in (documents, extended):
            read = one.documents()
            found.append((one.training_data(), read.targets.arrays, read.to_dict(one.reading, nlp.vocab.strings)))
    for (data, of_many, saved), (other, of_few, same) in zip(found[:2], found[2:], strict=True):
        assert isinstance(data.targets, scipy.sparse.csc_array)
        assert isinstance(other.targets, np.ndarray)
        for one, another in ((data.targets.toarray(), other.targets), (data.known, other.known)):
            np.testing.assert_array_equal(one, another)
        np.testing.assert_array_equal(of_many.values, of_few.values)
        np.testing.assert_array_equal(of_many.known, of_few.known)
        np.testing.assert_array_equal(saved["targets"], same["targets"])
        np.testing.assert_array_equal(saved["seen"], same["seen"])


def test_scores_of_many_labels_are_those_of_spacy(monkeypatch):
    nlp, random = spacy.blank("xx"), np.random.default_rng(0)
    labels = all_labels(20)
    examples = []
    for _ in range(60):
        examples.append(make_example(nlp, "text", {}))
        examples[-1].predicted.cats = dict(zip(labels, random.integers(0, 9, 20) / 8.0, strict=True))
        known = random.random(20) < 0.8
        gold = (random.random(20) < 0.3).astype(float)
        examples[-1].reference.cats = {label: gold[y] for y, label in enumerate(labels) if known[y] or y == 3}
        examples[-1].reference.cats[labels[3]] = 0.0
    thresholds = {labels[0]: 0.2, labels[5]: 0.9}
    for options in ({}, {"thresholds": thresholds}):
        few = scorer.textcat_multilabel_score(examples, labels=labels, **options)
        with monkeypatch.context() as patch:
            patch.setattr(scorer, "MANY_LABELS", 1)
            many = scorer.textcat_multilabel_score(examples, labels=labels, **options)
        assert few.keys() == many.keys()
        assert few["cats_auc_per_type"].pop(labels[3]) is many["cats_auc_per_type"].pop(labels[3]) is None
        assert few.pop("cats_score_desc") == many.pop("cats_score_desc")
        for of_label, others in zip(
            few.pop("cats_f_per_type").items(), many.pop("cats_f_per_type").items(), strict=True
        ):
            assert of_label == others
        for name, value in few.items():
            assert many[name] == pytest.approx(value), name


def test_annotations_of_many_labels_are_those_of_few(monkeypatch):
    nlp, random = multilabel_nlp(), np.random.default_rng(0)
    component = nlp.get_pipe("textcat_graft_multilabel")
    component.initialize(lambda: [make_example(nlp, "text", dict.fromkeys(all_labels(20), 1.0))])
    assert snapshot_of(component.model).intercepts.tolist() == [0.0] * 20
    scores = np.where(random.random((30, 20)) < 0.2, random.random((30, 20)), 0.5)
    found = []
    for many in (1, 10**9):
        monkeypatch.setattr(textcat, "MANY_LABELS", many)
        docs = [nlp.make_doc("text") for _ in range(30)]
        docs[1].cats = {"other": 1.0, "ship0": 0.3}
        component.set_annotations(docs, scores)
        component.set_annotations([], np.empty((0, 20)))
        found.append([doc.cats for doc in docs])
    assert found[0] == found[1]


def test_sparse_reader(tmp_path):
    path = tmp_path / "train.jsonl"
    lines = [{"text": text, "label": row} for text, row in zip(*corpus(), strict=True)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    nlp = spacy.blank("xx")
    full, sparse = (list(JsonlCorpus(path, sparse=sparse)(nlp)) for sparse in (False, True))
    labels = sorted({label for line in lines for label in line["label"]})
    for one, other, line in zip(full, sparse, lines, strict=True):
        assert other.reference.cats == dict.fromkeys(line["label"], 1.0)
        assert targets.is_complete(other.reference)
        assert not targets.is_complete(one.reference)
        of = targets.TargetReader("name", labels, False)
        np.testing.assert_array_equal(of.read(one.reference).values, of.read(other.reference).values)
        assert of.read(other.reference).known.all()
    path.write_text('{"text": "a", "label": {"x": 0.5}}\n')
    (example,) = JsonlCorpus(path, sparse=True)(nlp)
    assert not targets.is_complete(example.reference)
    with pytest.raises(ValueError, match="sparse"):
        JsonlCorpus(path, sparse=1)


DAMAGED = [
    ({"starts": np.array([0, 1], np.int64)}, "a row for each feature"),
    ({"starts": np.array([0, 2, 1], np.int64)}, "a row for each feature"),
    ({"labels": np.array([0, 5], np.int32)}, "labels that it does not have"),
    ({"labels": np.array([-1, 1], np.int32)}, "labels that it does not have"),
    ({"starts": np.array([0, 2, 2], np.int64), "labels": np.array([1, 1], np.int32)}, "a label twice"),
    ({"values": np.array([1.0, 2.0], np.float32)}, "starts, labels and values"),
    ({"values": np.array([[1.0], [2.0]])}, "starts, labels and values"),
    ({"values": None}, "starts, labels and values"),
    ({"more": np.zeros(1)}, "starts, labels and values"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGED)
def test_damaged_sparse_weights_are_refused(change, message):
    weights = scipy.sparse.csr_array(np.array([[0.0, 1.5, 0.0], [-1.0, 0.0, 0.0]]))
    saved = sparse_weights.saved_weights(weights)
    np.testing.assert_array_equal(sparse_weights.loaded_weights(saved, 2, 3).toarray(), weights.toarray())
    for damaged in ({**saved, **change}, {"array": {**saved, **change}}):
        with pytest.raises(ValueError, match=message):
            sparse_weights.loaded_weights(damaged, 2, 3)


def test_starts_whose_differences_overflow_are_refused():
    # The differences are 2**63 - 1, 2**63 - 1 and 5, and their sum is 3: believed, they are written behind an array.
    starts = np.array([0, 2**63 - 1, -2, 3], np.int64)
    saved = {"starts": starts, "labels": np.array([0, 1, 2], np.int32), "values": np.ones(3)}
    with pytest.raises(ValueError, match="a row for each feature"):
        sparse_weights.loaded_weights(saved, 3, 5)


def test_arrays_are_saved_without_the_weights_that_are_zero(monkeypatch):
    weights = np.zeros((4, 6))
    weights[1, [0, 5]], weights[3, 2] = (1.5, -2.0), 1e-300
    saved = sparse_weights.saved_weights(weights)
    assert {name: part.tolist() for name, part in saved["array"].items()} == {
        "starts": [0, 0, 2, 2, 3], "labels": [0, 5, 2], "values": [1.5, -2.0, 1e-300],
    }  # fmt: skip
    loaded = sparse_weights.loaded_weights(saved, 4, 6)
    assert loaded.flags.c_contiguous
    np.testing.assert_array_equal(loaded, weights, strict=True)
    full = np.where(weights == 0.0, 1.0, weights)
    for other in (full, np.zeros((0, 6)), np.zeros((4, 0))):
        assert sparse_weights.saved_weights(other) is other
    with pytest.raises(ValueError, match="do not have starts"):
        sparse_weights.loaded_weights({**saved, "more": 1}, 4, 6)
    monkeypatch.setattr(sparse_weights, "LARGEST_ARRAY", 23)
    assert sparse_weights.saved_weights(weights) is weights
    with pytest.raises(ValueError, match="larger array than is saved so"):
        sparse_weights.loaded_weights(saved, 4, 6)


def test_estimate_of_memory_counts_labels_at_once(many_in_components, monkeypatch):
    nlp = multilabel_nlp()
    examples = examples_of(nlp, complete=False)
    nlp.initialize(lambda: examples)
    in_eights = estimate_memory(nlp, examples)
    monkeypatch.setattr(memory, "DOCUMENT_LABELS", 10**9)
    at_once = estimate_memory(nlp, examples)
    assert at_once.total_bytes - in_eights.total_bytes == BYTES_PER_DOCUMENT_LABEL * len(examples) * (20 - 8)


def test_other_fits_take_all_labels_at_once(in_batches):
    texts, labels = corpus()
    data = data_of(texts, labels)
    for learner in (CoordinateAscent(), Grafting(l1=1.0, stability=0.0), Grafting(penalty="l2", ridge=1.0)):
        fit = start(learner, data)
        assert not isinstance(fit, BatchedGrafting)
        fit.step()
        assert fit.solution().weights.shape[1] == 20


def test_examples_of_texts_with_many_labels_are_complete(monkeypatch):
    nlp = multilabel_nlp()
    few, many = [], []
    for limit, found in ((10**9, few), (1, many)):
        monkeypatch.setattr(labelled, "MANY_LABELS", limit)
        found += labelled.examples_of(nlp, *corpus())
    reader = targets.TargetReader("name", sorted({label for row in corpus()[1] for label in row}), False)
    for one, other, row in zip(few, many, corpus()[1], strict=True):
        assert other.reference.cats == dict.fromkeys(row, 1.0)
        for target in (reader.read(one.reference), reader.read(other.reference)):
            assert target.known.all()
        np.testing.assert_array_equal(reader.read(one.reference).values, reader.read(other.reference).values)
