"""``significance`` and ``spacy-graft test``: which features go with which labels."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import spacy
from rich.progress import Progress
from spacy.language import Language
from spacy.training import Example

from conftest import Record, make_example, write_jsonl
from naive import stream_of
from spacy_graft import GraftClassifier, GraftTextClassifier, significance
from spacy_graft.associations import TestedCorpus
from spacy_graft.checks import SignificanceReport, association
from spacy_graft.cli.association import renderables
from spacy_graft.extract.bags import Bags
from spacy_graft.graft.memory import MANY_LABELS
from spacy_graft.index.items import ItemIndex
from spacy_graft.permutation import permutations
from spacy_graft.pipeline.progress import progress_bar
from spacy_graft.pipeline.targets import COMPLETE_KEY
from spacy_graft.search import pairs as pairs_of_items
from test_cli import call, refused

CHARACTERS = {"characters": {"@graft_features": "spacy_graft.CharacterNgrams.v1", "min_df": 2, "within_words": False}}
FILLER = "a day in the big town by the old river with many people and some more of them at home".split()


def words(min_df: int = 2, **options: Any) -> dict[str, Any]:
    return {"words": {"@graft_features": "spacy_graft.TokenNgrams.v1", "min_df": min_df, **options}}


def pipeline(features: dict[str, Any] | None = None) -> Language:
    nlp = spacy.blank("xx")
    nlp.add_pipe("textcat_graft_multilabel", config={"features": words() if features is None else features})
    return nlp


def records(n: int = 200, seed: int = 0) -> list[Record]:
    """Reviews of two authors; "not good" goes with the label, "quite" with the author, who has a leaning."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        author = "AB"[i % 2]
        bad = bool(rng.random() < (0.8 if author == "A" else 0.2))
        text = list(rng.choice(FILLER, 12))
        if rng.random() < (0.6 if bad else 0.05):
            text[5:5] = ["not", "good"]
        if rng.random() < (0.7 if author == "A" else 0.02):
            text[2:2] = ["quite"]
        found.append({"text": " ".join(text), "label": "bad" if bad else "fine", "author": author})
    return found


def examples_of(nlp: Language, given: list[Record]) -> list[Example]:
    labels = sorted({record["label"] for record in given})
    return [
        make_example(nlp, record["text"], {label: float(label == record["label"]) for label in labels})
        for record in given
    ]


def report_of(given: list[Record], features: dict[str, Any] | None = None, **options: Any) -> SignificanceReport:
    nlp = pipeline(features)
    return significance(nlp, examples_of(nlp, given), **{"permutations": 199, **options})


def significant(report: SignificanceReport) -> dict[str, set[str]]:
    return {
        label: {f.text for f in report.features if f.label == label and f.p_adjusted <= report.level}
        for label in report.labels
    }


def test_what_goes_with_a_label_is_found() -> None:
    given = records()
    report = report_of(given)
    assert significant(report) == {"bad": {"not", "quite"}, "fine": set()}
    assert report.n_significant == {"bad": 2, "fine": 0}
    first = report.features[0]
    assert (first.text, first.longest, first.block, first.kind) == ("not", "not good", "words", "token n-gram")
    has, bad = (np.array([test(record) for record in given]) for test in (
        lambda record: "not good" in record["text"], lambda record: record["label"] == "bad"))  # fmt: skip
    assert (first.df, first.df_of_label) == (has.sum(), (has & bad).sum())
    n, p, df = len(given), bad.mean(), has.sum()
    sigma = np.sqrt(df * (n - df) / (n - 1) * p * (1 - p))
    assert first.z == pytest.approx(((has & bad).sum() - df * p) / sigma)
    assert first.p == first.p_adjusted == first.fdr == pytest.approx(1 / 200)
    assert report.labels == {"bad": bad.sum(), "fine": n - bad.sum()}
    assert report.n_documents == n
    assert report.n_permutations == 199
    assert all(feature.fdr <= feature.p_adjusted for feature in report.features)


def test_strata_take_out_what_goes_with_the_author() -> None:
    given = records()
    report = report_of(given, strata=[record["author"] for record in given], level=0.01)
    assert significant(report) == {"bad": {"not"}, "fine": set()}


def test_two_labels_are_two_sides_of_one_test() -> None:
    given = [{**record, "label": "yes" if record["label"] == "fine" else "no"} for record in records()]
    report, other = report_of(records()), report_of(given)
    assert other.n_tested == report.n_tested
    assert significant(other) == {"no": {"not", "quite"}, "yes": set()}
    assert [feature.z for feature in other.features] == [feature.z for feature in report.features]


def test_probabilities_of_two_labels_are_two_sides_of_one_test() -> None:
    """Divided by their sum, as in training: a teacher in float32 misses 1."""
    nlp, given, rng = spacy.blank("xx"), records(), np.random.default_rng(2)
    nlp.add_pipe("textcat_graft", config={"features": words()})
    exact, rounded = [], []
    for record in given:
        p = float(np.float32(rng.uniform(0.6, 0.99)))
        bad = p if record["label"] == "bad" else 1.0 - p
        off = 1.0 + rng.uniform(-5e-4, 5e-4)
        exact.append(make_example(nlp, record["text"], {"bad": bad, "fine": 1.0 - bad}))
        rounded.append(make_example(nlp, record["text"], {"bad": bad * off, "fine": (1.0 - bad) * off}))
    expected, found = (significance(nlp, examples, permutations=99) for examples in (exact, rounded))
    assert found.n_tested == expected.n_tested == report_of(given).n_tested
    assert [(f.label, f.text) for f in found.features] == [(f.label, f.text) for f in expected.features]
    assert [f.z for f in found.features] == pytest.approx([f.z for f in expected.features])


def test_values_that_miss_1_by_rounding_are_of_two_sides() -> None:
    targets = np.array([[0.5, np.nextafter(0.5, 0.0)], [1.0, 0.0]])
    data: Any = SimpleNamespace(targets=targets, known=np.ones(targets.shape, np.bool_))
    assert TestedCorpus(data, np.zeros(2, np.int64), ["a"]).has_two_sides


def test_more_labels_have_features_of_both_signs() -> None:
    rng = np.random.default_rng(0)
    given = [
        {"text": f"{rng.choice(FILLER)} {'' if label == 'c' and rng.random() < 0.9 else 'often'}", "label": label}
        for label in "abc" * 60
    ]
    report = report_of(given)
    signs = {feature.label: np.sign(feature.z) for feature in report.features if feature.text == "often"}
    assert signs == {"a": 1.0, "b": 1.0, "c": -1.0}
    assert report.n_tested % 3 == 0


def planted(rng: np.random.Generator, has: np.ndarray, n_words: int = 100) -> np.ndarray:
    """Words that are more frequent in documents that have a label: bool (documents, words)."""
    return rng.random((len(has), n_words)) < np.where(has, 0.45, 0.1)[:, None]


def items_of(matrix: np.ndarray) -> list[list[str]]:
    return [[f"w{column}" for column in np.flatnonzero(row)] for row in matrix]


def test_discoveries_of_other_labels_do_not_count_for_a_label() -> None:
    """A random label has a discovery at a rate of 5 % in about 5 % of the corpora, beside labels of many words."""
    discovered = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        has = rng.random((200, 4)) < [0.4, 0.4, 0.4, 0.1]
        columns = [*(planted(rng, label) for label in has.T[:3]), rng.random((200, 300)) < 0.1]
        labels = [[name for name, one in zip("abcr", row, strict=True) if one] for row in has]
        model = GraftClassifier(min_df=5, multilabel=True)
        report = model.significance(items_of(np.hstack(columns)), labels, permutations=100, top=1000)
        assert min(report.n_discoveries[label] for label in "abc") >= 90
        assert all(feature.fdr <= 0.05 for feature in report.features)
        discovered += report.n_discoveries["r"] > 0
    assert discovered <= 4


def test_discoveries_of_the_other_of_two_labels_do_not_count() -> None:
    """Nothing goes with "fine", beside many words that go with "bad"."""
    discovered = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        bad = rng.random(200) < 0.5
        items = items_of(np.hstack([planted(rng, bad), rng.random((200, 1000)) < 0.1]))
        labels = ["bad" if one else "fine" for one in bad]
        report = GraftClassifier(min_df=5).significance(items, labels, permutations=100, top=1000)
        assert 90 <= report.n_discoveries["bad"] <= 115
        discovered += report.n_discoveries["fine"] > 0
    assert discovered <= 4


def test_rates_are_estimated_for_some_bins_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not depend on how many, and the copies take less memory than the histogram."""
    rng = np.random.default_rng(0)
    histogram = rng.poisson(np.exp(-np.arange(400) / 40), (2000, 2, 400)).astype(np.int32)
    z = [rng.normal(0.0, 3.0, 500)]
    tracemalloc.start()
    rates = permutations.rates_of(z, histogram)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < histogram.nbytes / 2
    for n_bins in (7, 400):  # of 7, a last one alone
        monkeypatch.setattr(permutations, "BINS_AT_ONCE", n_bins)
        np.testing.assert_allclose(permutations.rates_of(z, histogram), rates, rtol=1e-14)


def test_unknown_labels_are_left_out() -> None:
    """The test of a label is that of the documents whose label is known."""
    nlp = pipeline()
    given = records()
    known = [make_example(nlp, record["text"], {"bad": float(record["label"] == "bad")}) for record in given]
    more = [make_example(nlp, "not good", {"other": float(i % 2)}) for i in range(40)]
    report = significance(nlp, known + more, permutations=99)
    alone = significance(nlp, known, permutations=99)
    z = {feature.text: feature.z for feature in report.features if feature.label == "bad"}
    expected = {feature.text: feature.z for feature in alone.features}
    assert z["quite"] == pytest.approx(expected["quite"])
    assert z["not"] == pytest.approx(expected["not"])


@pytest.mark.parametrize("name", ["textcat_graft", "textcat_graft_multilabel"])
def test_labels_that_are_not_mentioned_are_those_of_training(name: str) -> None:
    """0 of exclusive labels and in complete documents, however many of the documents are written like that."""
    nlp = spacy.blank("xx")
    nlp.add_pipe(name, config={"features": words()})
    given = records()
    full = [
        make_example(nlp, record["text"], {label: float(record["label"] == label) for label in ("bad", "fine")})
        for record in given
    ]
    expected = significance(nlp, full, permutations=99)
    for n_short in (len(given), len(given) // 2):
        short = [make_example(nlp, record["text"], {record["label"]: 1.0}) for record in given[:n_short]]
        if name == "textcat_graft_multilabel":
            for example in short:
                example.reference.user_data[COMPLETE_KEY] = True
        assert significance(nlp, short + full[n_short:], permutations=99) == expected


@pytest.mark.parametrize("n_labels", [MANY_LABELS - 1, MANY_LABELS])
def test_many_labels_are_tested(n_labels: int) -> None:
    nlp = pipeline(words(min_df=1))
    pairs = [(f"word{k} number{i}", [f"topic{k}"]) for k in range(n_labels) for i in range(4)]
    report = significance(nlp, pairs, permutations=99)
    assert len(report.labels) == n_labels
    assert ("topic0", "word0") in {(feature.label, feature.text) for feature in report.features}


def test_documents_of_unknown_labels_are_not_counted_or_shown() -> None:
    nlp = pipeline()
    examples = [
        make_example(nlp, "good" if i % 2 else "often", {"bad": float(not i % 2), "other": float(i % 3 == 0)})
        for i in range(40)
    ]
    unknown = [make_example(nlp, f"often good {i}", {"other": float(i % 3 == 0)}) for i in range(30)]
    report = significance(nlp, unknown + examples, permutations=99, contexts=2)
    often, good = (
        next(feature for feature in report.features if (feature.label, feature.text) == ("bad", text))
        for text in ("often", "good")
    )
    assert (often.df, often.df_of_label, often.contexts) == (20, 20, ("often", "often"))
    assert good.z < 0.0
    assert (good.df, good.df_of_label, good.contexts) == (20, 0, ("good", "good"))


def test_the_same_seed_gives_the_same_report() -> None:
    given = records(80)
    first, second, third = report_of(given), report_of(given), report_of(given, seed=1)
    assert first == second
    assert first.threshold != third.threshold


def test_contexts_show_the_feature_in_documents_of_its_side() -> None:
    given = records()
    report = report_of(given, contexts=2)
    first = report.features[0]
    assert len(first.contexts) == 2
    assert all("not good" in context for context in first.contexts)
    shown = [record for record in given if first.contexts[0] in record["text"]]
    assert [record["label"] for record in shown] == ["bad"]
    characters = report_of(given, CHARACTERS, contexts=1)
    assert all(feature.text in feature.contexts[0] or "\n" in feature.text for feature in characters.features)


def test_items_are_tested_with_their_values() -> None:
    features = {"numbers": {"@graft_features": "spacy_graft.DocAttributes.v1", "metadata": ["author"]}, **words()}
    nlp = pipeline(features)
    given = records()
    examples = examples_of(nlp, given)
    for example, record in zip(examples, given, strict=True):
        example.predicted.user_data["author"] = record["author"]
    report = significance(nlp, examples, permutations=99, contexts=1)
    texts = [feature.text for feature in report.features if feature.block == "numbers"]
    assert texts == ["author=A", "author=B"]


def test_only_the_best_are_listed() -> None:
    report = report_of(records(), top=1, level=0.2)
    assert [feature.label for feature in report.features] in (["bad"], ["bad", "fine"])
    assert report.n_discoveries["bad"] >= report.n_significant["bad"] >= 2


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    bars: list[Progress] = []

    def kept(name: str) -> Progress:
        bars.append(progress_bar(name))
        return bars[-1]

    monkeypatch.setattr(association, "progress_bar", kept)
    report_of(records(60))
    ((task,),) = (bar.tasks for bar in bars)
    assert (task.completed, task.total) == (199, 199)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"permutations": 10}, "with 10 permutations no p-value is under 0.091.*at least 19 permutations"),
        ({"permutations": 0}, "permutations must be an integer of at least 1, but is 0"),
        ({"level": 1.0}, "level must be a number between 0 and 1, but is 1.0"),
        ({"level": "low"}, "level must be a number"),
        ({"top": 0}, "top must be an integer of at least 1"),
        ({"contexts": -1}, "contexts must be"),
        ({"seed": -1}, "seed must be"),
        ({"strata": ["A"]}, "There are 60 documents, but strata has 1 values: give one for each document"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        report_of(records(60), **options)


def test_too_few_documents() -> None:
    nlp = pipeline()
    with pytest.raises(ValueError, match="there are 0 documents and 0 labels"):
        significance(nlp, [])
    few = [make_example(nlp, "a", {"x": 1.0, "y": 0.0, "z": 0.0}), make_example(nlp, "b", {"y": 1.0})]
    with pytest.raises(ValueError, match="2 documents and 3 labels"):
        significance(nlp, few)


def test_a_label_of_all_documents_is_refused() -> None:
    with pytest.raises(ValueError, match="the label 'bad' is that of all documents, or of none"):
        report_of([{"text": "a b", "label": "bad"}] * 5)
    given = [record | {"author": record["label"]} for record in records(60)]
    with pytest.raises(ValueError, match="the label 'fine' is that of all documents of every stratum, or of none"):
        report_of(given, strata=[record["author"] for record in given])


def test_strata_that_say_nothing_are_told() -> None:
    given = [*records(60), {"text": "quite", "label": "bad", "author": "C"}]
    with pytest.warns(UserWarning, match="1 of 3 strata say nothing.*'C'"):
        report_of(given, strata=[record["author"] for record in given])


def test_a_component_without_blocks_to_test() -> None:
    nlp = spacy.blank("xx")
    with pytest.raises(ValueError, match="graft component"):
        significance(nlp, [])


# The command


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "corpus.jsonl", records())


def test_the_command_prints_what_the_function_returns(corpus: Path) -> None:
    options = ("--permutations", 199, "--min-df", 2, "--lang", "en", "--contexts", 1)
    printed = json.loads(call("test", corpus, *options).stdout)
    assert printed["n_significant"] == {"bad": 2, "fine": 0}
    report = report_of(records(), words(attr="LOWER"), contexts=1, top=20)
    assert printed["threshold"] == report.threshold
    assert [feature["z"] for feature in printed["features"]] == [feature.z for feature in report.features]
    strata = json.loads(call("test", corpus, *options, "--strata", "author", "--level", 0.01).stdout)
    assert strata["n_significant"] == {"bad": 1, "fine": 0}


def test_the_table(corpus: Path) -> None:
    table = call("test", corpus, "--permutations", 99, "--format", "table", "--contexts", 1).stdout
    assert "significant at 0.05" in table
    assert "2 significant features" in table
    assert "not good" in table


def test_a_table_without_features(corpus: Path) -> None:
    for format in ("table", "json"):
        result = call("test", corpus, "--permutations", 99, "--format", format, "--min-df", 1000)
        assert "Nothing was tested: no n-gram is in enough documents (--min-df)." in result.stderr
        assert bool(result.stdout.strip()) == (format == "json")


def test_characters_and_pipelines(corpus: Path, tmp_path: Path) -> None:
    printed = json.loads(call("test", corpus, "--permutations", 99, "--of", "characters", "--max-length", 3).stdout)
    assert {feature["kind"] for feature in printed["features"]} == {"character n-gram"}
    assert max(len(feature["longest"]) for feature in printed["features"]) <= 3


def test_labels_of_the_command_exclude_each_other_as_those_of_train(corpus: Path, tmp_path: Path) -> None:
    short = write_jsonl(tmp_path / "short.jsonl", [row | {"label": {row["label"]: 1.0}} for row in records()])
    assert call("test", short, "--permutations", 99).stdout == call("test", corpus, "--permutations", 99).stdout


def test_bad_input_of_the_command(corpus: Path) -> None:
    assert "there is no 'source'" in refused("test", corpus, "--strata", "source")
    assert "no tokenizer for the language 'qq'" in refused("test", corpus, "--lang", "qq")
    assert "missing.jsonl" in refused("test", corpus.with_name("missing.jsonl"))
    assert "no p-value is under" in refused("test", corpus, "--permutations", 2)
    assert "--min-df has no effect with --model" in refused("test", corpus, "--model", "any", "--min-df", 5)


# Pairs of items


@pytest.mark.parametrize("min_df", [1, 2, 4])
@pytest.mark.parametrize("counts", [1, 1 << 22])
def test_pairs_are_all_products_of_two_items(monkeypatch: pytest.MonkeyPatch, min_df: int, counts: int) -> None:
    monkeypatch.setattr(pairs_of_items, "COUNTS", counts)
    rng = np.random.default_rng(min_df)
    texts = ["".join(rng.permutation(list("abcdef"))[: rng.integers(0, 6)]) for _ in range(12)]
    items = ItemIndex.build(Bags.of_stream(stream_of(texts)))
    fractional = replace(items, values=rng.uniform(0.1, 1.0, len(items.documents)))
    for index in (items, fractional):
        columns = np.zeros((index.n_nodes, len(texts)))
        for node in range(index.n_nodes):
            _, documents, values = index.columns(np.array([node]))
            columns[node, documents] = values if len(values) else 1.0
        expected = {
            pair: columns[list(pair)].prod(axis=0)
            for pair in combinations(range(index.n_nodes), 2)
            if (columns[list(pair)] > 0.0).all(axis=0).sum() >= min_df
        }
        found = pairs_of_items.pair_index(index, min_df)
        assert list(map(tuple, found.symbols.tolist())) == list(expected)
        for node, product in enumerate(expected.values()):
            _, documents, values = found.columns(np.array([node]))
            np.testing.assert_array_equal(documents, np.flatnonzero(product))
            np.testing.assert_allclose(values if len(values) else 1.0, product[documents])


def test_pairs_of_frequent_items_take_the_memory_of_what_they_share() -> None:
    rng = np.random.default_rng(0)
    n_documents, n_items, df = 200_000, 200, 1000
    documents = [np.sort(rng.choice(n_documents, df, replace=False)).astype(np.int32) for _ in range(n_items)]
    starts = np.arange(n_items + 1) * df
    items = ItemIndex(np.arange(n_items), starts, np.concatenate(documents), np.empty(0), n_documents)
    pairs_of_items.pair_index(items, 2)  # compiles kernels
    tracemalloc.start()
    try:
        found = pairs_of_items.pair_index(items, 2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found.documents) > found.n_nodes > 10_000
    # Room for all documents of one item of each pair was 76 MB.
    assert peak < 30_000_000


def test_pairs_that_say_more_than_their_words_are_found() -> None:
    texts = {"not really good": "bad", "really bad but not long": "fine", "so good so long": "fine"}
    given = [{"text": text, "label": label} for text, label in texts.items()] * 20
    report = report_of(given, pairs=5, contexts=1)
    pairs = {feature.text: feature for feature in report.features if feature.block == "pairs"}
    single = {feature.text: abs(feature.z) for feature in report.features if feature.block == "words"}
    # Other pairs, and "not really", have the same documents as this one, and are not counted twice.
    assert len(pairs) <= 1
    for name, pair in pairs.items():
        assert (pair.kind, pair.label, pair.df, pair.df_of_label) == ("combination", "bad", 20, 20)
        assert all(pair.z > single.get(word, 0.0) for word in name.split(" × "))
    without = report_of(given)
    assert without.n_tested <= report.n_tested
    assert {feature.block for feature in without.features} == {"words"}


def test_words_that_stand_apart_are_a_pair() -> None:
    rng = np.random.default_rng(0)
    given = []
    for i in range(160):
        text = list(rng.choice(FILLER, 12))
        has = [bool(i % 2), bool(i // 2 % 2)]
        text[2:2], text[-2:-2] = ["alpha"] * has[0], ["omega"] * has[1]
        given.append({"text": " ".join(text), "label": "both" if all(has) else "other"})
    report = report_of(given, pairs=20, contexts=1)
    first = report.features[0]
    assert (first.block, first.kind, first.label) == ("pairs", "combination", "both")
    assert sorted(first.text.split(" × ")) == ["alpha", "omega"]
    assert first.df == first.df_of_label == 40
    assert [word in first.contexts[0] for word in ("alpha", "omega")] == [True, True]
    z = {feature.text: feature.z for feature in report.features}
    assert z["alpha"] < first.z
    assert not any("×" in name and z[name] <= z["alpha"] for name in z if "alpha" in name)


def test_pairs_are_of_the_blocks_of_combinations() -> None:
    both = {"@graft_features": "spacy_graft.Combinations.v1", "of": ["words"]}
    features = {**words(), "characters": CHARACTERS["characters"]}
    given = records(80)
    of_all, of_words = report_of(given, features, pairs=20), report_of(given, {**features, "both": both}, pairs=20)
    assert report_of(given, features).n_tested < of_words.n_tested < of_all.n_tested


def test_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs_of_items, "MOST_ENTRIES", 10)
    with pytest.raises(
        ValueError, match=r"significance, pairs: The pairs of two of .* items that at least 3 documents"
    ):
        report_of(records(40), pairs=3)
    for value in (0, 1.5, True):
        with pytest.raises(ValueError, match="pairs must be a number of documents, at least 1, or None, but is"):
            report_of(records(40), pairs=value)


# Estimators


def test_texts_are_tested_as_documents_are() -> None:
    given = records()
    texts, labels = [record["text"] for record in given], [record["label"] for record in given]
    options: dict[str, Any] = {"permutations": 199, "contexts": 2, "strata": [record["author"] for record in given]}
    report = report_of(given, **options, pairs=20)
    found = GraftTextClassifier(analyzer="word", ends=False).significance(iter(texts), labels, **options, pairs=20)
    assert (found.n_tested, found.threshold) == (report.n_tested, report.threshold)
    assert found.n_significant == report.n_significant

    def key(feature: Any) -> Any:
        return feature.label, sorted(feature.text.split(" × ")), round(feature.z, 9), feature.p_adjusted, feature.df

    # Words are numbered in another order, so that equal statistics may change places.
    assert sorted(map(key, found.features)) == sorted(map(key, report.features))
    assert found.features[0].contexts == report.features[0].contexts


def test_bytes_and_what_functions_return_are_tested() -> None:
    given = records()
    texts, labels = [record["text"] for record in given], [record["label"] for record in given]
    report = GraftTextClassifier(analyzer="byte").significance([t.encode() for t in texts], labels, contexts=1, top=1)
    assert report.features[0].kind == "byte n-gram"
    assert "not good" in report.features[0].contexts[0]
    report = GraftTextClassifier(analyzer=str.split).significance(texts, labels, contexts=1, permutations=99)
    assert report.features[0].text == "not"
    # A function does not say where words are: the beginning of the text is shown.
    assert any(text.startswith(report.features[0].contexts[0][:40]) for text in texts)


def test_items_and_matrices_are_tested() -> None:
    given = records()
    labels = [record["label"] for record in given]
    items = [set(record["text"].split()) for record in given]
    report = GraftClassifier(min_df=2).significance(items, labels, permutations=199)
    assert [feature.kind for feature in report.features][:1] == ["item"]
    assert [feature.contexts for feature in report.features][:1] == [()]
    assert significant(report)["fine"] == set()
    # "not" and "good" have the same documents, and are one feature.
    assert len(significant(report)["bad"] & {"not", "good"}) == 1
    names = sorted(set().union(*items))
    matrix = np.array([[name in row for name in names] for row in items], float)
    again = GraftClassifier(min_df=2).significance(matrix, labels, names=names, permutations=199)
    assert [feature.z for feature in again.features] == [feature.z for feature in report.features]


def test_timestamps_are_tested() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    varying = rng.normal(size=200) + 2.0 * y
    columns = np.column_stack([varying, 1.7e9 + 1e3 * varying])
    report = GraftClassifier().significance(columns, y, permutations=99)
    assert report.n_tested == 2
    np.testing.assert_allclose(report.features[1].z, report.features[0].z, rtol=1e-6)


def test_bad_input_of_estimators() -> None:
    model = GraftTextClassifier()
    with pytest.raises(ValueError, match="'a' is that of all documents, or of none"):
        model.significance(["x", "y"], ["a", "a"])
    with pytest.raises(ValueError, match=r"3 .* 2"):
        model.significance(["x", "y", "z"], ["a", "b"])
    with pytest.raises(ValueError, match="There are 2 documents, but strata has 3 values"):
        model.significance(["x", "y"], ["a", "b"], strata=[1, 2, 3])
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        model.significance(["x", "y"], ["a", "b"], level=2.0)


def test_command_with_pairs(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "corpus.jsonl", records(80))
    report = json.loads(call("test", path, "--pairs", 8, "--permutations", 99, "--format", "json").stdout)
    alone = json.loads(call("test", path, "--permutations", 99, "--format", "json").stdout)
    assert report["n_tested"] > alone["n_tested"]


@pytest.mark.parametrize(("n", "is_told"), [(19, True), (20, False)])
def test_rare_labels_are_told_of(n: int, is_told: bool) -> None:
    report = SignificanceReport(100, 10, 10, {"a": 60, "b": 50, "c": n}, 0.05, 3.0, {}, {}, [])
    said = [part for part in renderables(report) if isinstance(part, str)]
    assert ("rare ones raise it (c: 19 documents)" in " ".join(said)) is is_told
    two = replace(report, labels={"a": 60, "c": n})
    assert len(list(renderables(two))) == 1
