"""``significance`` and ``spacy-graft test``: which features go with which labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from rich.progress import Progress
from spacy.language import Language
from spacy.training import Example

from conftest import Record, make_example, write_jsonl
from spacy_graft import significance
from spacy_graft.checks import SignificanceReport, association
from spacy_graft.pipeline.fit import progress_bar
from spacy_graft.pipeline.textcat import TextCatGraft
from test_cli import call, refused

CHARACTERS = {"characters": {"@graft_features": "spacy_graft.CharacterNgrams.v1", "min_df": 2, "within_words": False}}
FILLER = "a day in the big town by the old river with many people and some more of them at home".split()


def words(min_df: int = 2, **options: Any) -> dict[str, Any]:
    return {"words": {"@graft_features": "spacy_graft.TokenNgrams.v1", "min_df": min_df, **options}}


def pipeline(features: dict[str, Any] | None = None) -> Language:
    nlp = spacy.blank("en")
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

    def kept(component: TextCatGraft) -> Progress:
        bars.append(progress_bar(component))
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
        ({"strata": ["A"]}, "there are 60 documents, but 1 strata"),
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
    nlp = spacy.blank("en")
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


def test_characters_and_pipelines(corpus: Path, tmp_path: Path) -> None:
    printed = json.loads(call("test", corpus, "--permutations", 99, "--of", "characters", "--max-length", 3).stdout)
    assert {feature["kind"] for feature in printed["features"]} == {"character n-gram"}
    assert max(len(feature["longest"]) for feature in printed["features"]) <= 3


def test_bad_input_of_the_command(corpus: Path) -> None:
    assert "there is no 'source'" in refused("test", corpus, "--strata", "source")
    assert "no tokenizer for the language 'qq'" in refused("test", corpus, "--lang", "qq")
    assert "missing.jsonl" in refused("test", corpus.with_name("missing.jsonl"))
    assert "no p-value is under" in refused("test", corpus, "--permutations", 2)
