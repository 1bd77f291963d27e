"""A network of features in a pipeline and in the classifier."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from scipy import sparse
from spacy.training import Example

import spacy_graft
from conftest import (
    CONFIG,
    PATH,
    WORDS,
    Record,
    component_of,
    make_example,
    make_examples,
    make_nlp,
    one_hot,
    run_forked,
)
from spacy_graft import GraftClassifier, Grafting
from spacy_graft.graphs.edgelist import EdgeList
from spacy_graft.graphs.graph import FeatureGraph
from spacy_graft.graphs.vocabulary import CorpusVocabulary
from spacy_graft.graphs.wordnet import WordNet

RIDGE = {"@graft_learners": "spacy_graft.Grafting.v1", "penalty": "l2", "ridge": 0.5, "network_alpha": 100.0}


class Recorder:
    """A builder that keeps what it was given, and joins two names."""

    def __init__(self, *names: str) -> None:
        self.names = [tuple(name.split()) for name in names]
        self.vocabularies: list[CorpusVocabulary] = []

    def __call__(self, vocabulary: CorpusVocabulary) -> FeatureGraph:
        self.vocabularies.append(vocabulary)
        matrices = [sparse.lil_array((len(vocabulary.vertices),) * 2) for _ in range(2)]
        if self.names:
            first, second = (vocabulary.numbers[name] for name in self.names)
            matrices[0][first, second] = matrices[0][second, first] = 1.0
        graph = FeatureGraph(
            vocabulary.vertices, np.zeros(len(vocabulary.vertices), np.bool_), *map(sparse.csr_array, matrices)
        )
        return graph.restricted_to(self.names)


def edge_list(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf8")
    return path


def presence_by_name(vocabulary: CorpusVocabulary) -> dict[tuple[str, ...], list[int]]:
    columns = vocabulary.documents("the test").tocsc()
    return {
        vertex: columns.indices[columns.indptr[k] : columns.indptr[k + 1]].tolist()
        for k, vertex in enumerate(vocabulary.vertices)
    }


@pytest.mark.filterwarnings("ignore:.*held-out documents that choose the model are training documents too")
@pytest.mark.parametrize("max_length", [1, 2, 3])
def test_a_builder_gets_the_features_of_the_corpus_by_name(train_records: list[Record], max_length: int) -> None:
    nlp, builder = make_nlp(learner={**PATH, "retrain": False}), Recorder()
    examples = make_examples(nlp, train_records)
    with pytest.warns(UserWarning, match="no edge between the"):
        spacy_graft.fit(nlp, examples, dev=examples[:9], network=builder, network_max_length=max_length)
    (vocabulary,) = builder.vocabularies
    documents = [[token.lower_ for token in example.predicted] for example in examples]
    expected = CorpusVocabulary.of_documents(documents, max_length, min_df=2)
    assert presence_by_name(vocabulary) == presence_by_name(expected)


def test_of_blocks_that_share_a_name_the_first_has_it(train_records: list[Record]) -> None:
    blocks = {
        "attributes": {"@graft_features": "spacy_graft.TokenAttributes.v1", "attr": "LOWER", "value": "log_count"},
        "phrases": {"@graft_features": "spacy_graft.TokenNgrams.v1", "min_df": 2},
        "letters": {"@graft_features": "spacy_graft.CharacterNgrams.v1", "min_df": 2},
    }
    nlp, builder = make_nlp(features=blocks, learner=RIDGE), Recorder("salt", "song of")
    report = spacy_graft.fit(nlp, make_examples(nlp, train_records), network=builder, network_max_length=2)
    features = {(feature.block, feature.text): feature for feature in component_of(nlp).features()}
    assert ("attributes", "salt") in features
    assert ("phrases", "song of") in features
    weights = [list(features[key].weights.values()) for key in (("attributes", "salt"), ("phrases", "song of"))]
    np.testing.assert_allclose(*weights, atol=0.02)
    assert report.network is not None
    assert report.network["vertices"] == 2


@pytest.mark.parametrize("attributes", [False, True])
def test_a_feature_of_unlabelled_documents_gets_a_weight(
    train_records: list[Record], tmp_path: Path, attributes: bool
) -> None:
    name = "TokenAttributes" if attributes else "TokenNgrams"
    blocks = {"words": {"@graft_features": f"spacy_graft.{name}.v1", "attr": "LOWER", "min_df": 2}}
    nlp, builder = spacy.blank("xx"), Recorder("salt", "paprika")
    nlp.add_pipe("textcat_graft", config={"features": blocks, "learner": RIDGE})
    more = [make_example(nlp, text, {}) for text in ("paprika and salt", "more paprika with salt", "rare salt")]
    report = spacy_graft.fit(nlp, make_examples(nlp, train_records), network=builder, unlabelled=more)
    assert report.network is not None
    assert report.network["coverage"]["covered"] == 2
    assert ("rare",) not in builder.vocabularies[0].numbers
    n_documents = len(train_records)
    assert presence_by_name(builder.vocabularies[0])["paprika",] == [n_documents, n_documents + 1]
    assert presence_by_name(builder.vocabularies[0])["salt",][-3:] == list(range(n_documents, n_documents + 3))
    features = {feature.text: feature for feature in component_of(nlp).features()}
    assert features["paprika"].df == 0
    assert features["paprika"].weights["food"] == pytest.approx(features["salt"].weights["food"], abs=0.02)
    nlp.to_disk(tmp_path)
    assert spacy.load(tmp_path)("paprika").cats["food"] == nlp("paprika").cats["food"] > 0.3


@pytest.mark.parametrize("name", ["TokenNgrams", "TokenAttributes"])
def test_documents_with_and_without_labels_are_counted_together(train_records: list[Record], name: str) -> None:
    blocks = {"words": {"@graft_features": f"spacy_graft.{name}.v1", "attr": "LOWER", "min_df": 3}}
    nlp, builder = spacy.blank("xx"), Recorder("salt", "paprika")
    nlp.add_pipe("textcat_graft", config={"features": blocks, "learner": RIDGE})
    records = [{**record, "text": f"{record['text']} paprika"} for record in train_records[:2]] + train_records[2:]
    more = [make_example(nlp, "paprika and saffron", {}) for _ in range(2)]
    spacy_graft.fit(nlp, make_examples(nlp, records), network=builder, unlabelled=more)
    n = len(records)
    assert presence_by_name(builder.vocabularies[0])["paprika",] == [0, 1, n, n + 1]
    assert ("saffron",) not in builder.vocabularies[0].numbers
    assert next(feature for feature in component_of(nlp).features() if feature.text == "paprika").df == 2


def test_values_that_depend_on_rarity_are_known_of_training_documents_only(train_records: list[Record]) -> None:
    words = {"@graft_features": "spacy_graft.TokenAttributes.v1", "attr": "LOWER", "value": "tf_idf"}
    nlp, builder = spacy.blank("xx"), Recorder("salt", "spoon")
    nlp.add_pipe("textcat_graft", config={"features": {"words": words}, "learner": RIDGE})
    more = [make_example(nlp, "paprika and salt", {})]
    spacy_graft.fit(nlp, make_examples(nlp, train_records), network=builder, unlabelled=more)
    assert ("paprika",) not in builder.vocabularies[0].numbers
    assert presence_by_name(builder.vocabularies[0])["salt",][-1] == len(train_records)
    explanation = component_of(nlp).explain(nlp("some salt with a spoon"))
    assert 0.0 < next(part for part in explanation.best.contributions if part.text == "salt").value < 1.0


def test_a_word_with_its_part_of_speech_is_a_vertex_of_two_symbols(train_records: list[Record]) -> None:
    spacy.tokens.Token.set_extension("tagged", getter=lambda token: f"{token.lower_} NOUN", force=True)
    words = {"@graft_features": "spacy_graft.TokenAttributes.v1", "attr": "_.tagged"}
    nlp, builder = spacy.blank("xx"), Recorder("salt NOUN", "spoon NOUN")
    nlp.add_pipe("textcat_graft", config={"features": {"words": words}, "learner": RIDGE})
    report = spacy_graft.fit(nlp, make_examples(nlp, train_records), network=builder)
    assert ("salt", "NOUN") in builder.vocabularies[0].numbers
    assert report.network is not None
    assert report.network["edges"]["similar"] == 2


def test_no_product_has_the_documents_of_a_vertex() -> None:
    """A vertex that is frequent by documents without labels alone is in no index, but its column is taken."""
    texts = ["is bad"] * 5 + ["not so"] * 5 + ["good"] * 5 + ["so good"] * 3 + ["not good"] * 4 + ["is so"] * 2
    labelled = [(text, "pos" if text == "not good" else "neg") for text in texts]
    objectives = []
    for min_df in (4, 5):
        words = {"@graft_features": "spacy_graft.TokenNgrams.v1", "min_df": min_df}
        pairs = {"@graft_features": "spacy_graft.Combinations.v1", "of": ["words"], "min_df": 2}
        learner = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 0.3, "tol": 1e-6}
        nlp = make_nlp(features={"words": words, "pairs": pairs}, learner=learner)
        options: Any = {"network": Recorder("not good", "is"), "network_max_length": 2}
        objectives.append(spacy_graft.fit(nlp, labelled, unlabelled=["not good at all"], **options).objective)
        assert "pairs" not in {feature.block for feature in component_of(nlp).features()}
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-5)


def test_unlabelled_documents_of_a_config(train_records: list[Record], tmp_path: Path) -> None:
    (tmp_path / "more.jsonl").write_text('{"text": "paprika"}\n{"text": "paprika"}\n', encoding="utf8")
    edges = edge_list(tmp_path / "edges.tsv", ["salt\tpaprika\t1"])
    nlp = make_nlp(learner=RIDGE)
    nlp.config["initialize"]["components"] = {
        "textcat_graft": {
            "network": {"@graft_graphs": "spacy_graft.EdgeList.v1", "path": str(edges)},
            "unlabelled": {"@readers": "spacy.JsonlCorpus.v1", "path": str(tmp_path / "more.jsonl")},
        }
    }
    examples = make_examples(nlp, train_records)
    nlp.initialize(lambda: examples)
    nlp.update(examples[:3])
    assert "paprika" in {feature.text for feature in component_of(nlp).features()}


def test_no_documents_without_labels_are_told_of(train_records: list[Record]) -> None:
    nlp = make_nlp(learner=RIDGE)
    with pytest.warns(UserWarning, match=r"\[textcat_graft\] There are no documents without labels for the network"):
        spacy_graft.fit(
            nlp, make_examples(nlp, train_records), network=Recorder("salt", "violin"), unlabelled=list[str]()
        )


def test_explanations_add_up(train_records: list[Record]) -> None:
    nlp = make_nlp(learner=RIDGE)
    spacy_graft.fit(nlp, make_examples(nlp, train_records), network=Recorder("salt", "violin"))
    explanation = component_of(nlp).explain(nlp("some salt with a violin"))
    for label in explanation:
        assert label.score == pytest.approx(label.intercept + sum(part.contribution for part in label.contributions))
    assert {"salt", "violin"} <= {part.text for part in explanation.best.contributions}


def test_a_config_names_the_network_and_the_pipeline_does_without_it(
    train_records: list[Record], tmp_path: Path
) -> None:
    path = edge_list(tmp_path / "edges.tsv", ["salt\tspoon\t1", "goal\tviolin\t-1"])
    network = {"@graft_graphs": "spacy_graft.EdgeList.v1", "path": str(path)}
    nlp = make_nlp(learner=RIDGE)
    nlp.config["initialize"]["components"] = {"textcat_graft": {"network": network, "network_max_length": 2}}
    examples = make_examples(nlp, train_records)
    nlp.initialize(lambda: examples)
    nlp.update(examples[:3])
    weights = {feature.text: feature.weights["food"] for feature in component_of(nlp).features()}
    assert weights["salt"] == pytest.approx(weights["spoon"], abs=0.02)
    nlp.to_disk(tmp_path / "model")
    path.unlink()
    again = spacy.load(tmp_path / "model")
    report = component_of(again).report
    assert report is not None
    assert report.network == component_of(nlp).report.network  # type: ignore[union-attr]
    assert report.network["edges"] == {"similar": 2, "dissimilar": 2}  # type: ignore[index]
    assert again("salt").cats == nlp("salt").cats


@pytest.mark.slow
def test_spacy_train_with_a_network(train_records: list[Record], dev_records: list[Record], tmp_path: Path) -> None:
    path = edge_list(tmp_path / "edges.tsv", ["salt\tspoon\t1"])
    for name, records in (("train", train_records), ("dev", dev_records)):
        docs = spacy.tokens.DocBin()
        blank = spacy.blank("xx")
        for record in records:
            doc = blank.make_doc(record["text"])
            doc.cats = one_hot(record["label"])
            docs.add(doc)
        docs.to_disk(tmp_path / f"{name}.spacy")
    config = spacy.util.load_config(CONFIG)
    config["initialize"] = {
        **config.get("initialize", {}),
        "components": {"textcat_graft": {"network": {"@graft_graphs": "spacy_graft.EdgeList.v1", "path": str(path)}}},
    }
    config["corpora"] = {
        split: {"@readers": "spacy.Corpus.v1", "path": str(tmp_path / f"{split}.spacy")} for split in ("train", "dev")
    }
    config.to_disk(tmp_path / "network.cfg")
    run_forked("-m", "spacy", "train", tmp_path / "network.cfg", "--output", tmp_path / "out")
    report = component_of(spacy.load(tmp_path / "out" / "model-best")).report
    assert report is not None
    assert report.network is not None
    assert report.network["coverage"]["covered"] == 2


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        ({}, {"network": "WordNet"}, "Make it with one of @graft_graphs"),
        ({}, {"network": Recorder(), "network_max_length": 0}, "network_max_length must be an integer"),
        ({}, {"network_max_length": 0}, "network_max_length must be an integer"),
        (
            {"features": {"letters": {"@graft_features": "spacy_graft.CharacterNgrams.v1"}}},
            {"network": Recorder()},
            "blocks of token n-grams or attributes",
        ),
        (
            {"learner": {"@graft_learners": "spacy_graft.CoordinateAscent.v1"}},
            {"network": Recorder("salt", "violin")},
            "network of features is a penalty",
        ),
        ({}, {"unlabelled": []}, "Unlabelled documents are used by a network only"),
        ({}, {"network": EdgeList("nowhere.tsv")}, r"no graph at nowhere\.tsv"),
    ],
)
def test_refusals(train_records: list[Record], config: Any, options: Any, message: str) -> None:
    nlp = make_nlp()
    if config:
        nlp = spacy.blank("xx")
        nlp.add_pipe("textcat_graft", config={"features": WORDS, "learner": PATH, **config})
    examples = make_examples(nlp, train_records)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        spacy_graft.fit(nlp, examples, **options)


def test_several_labels(train_records: list[Record]) -> None:
    nlp = make_nlp("textcat_graft_multilabel", learner={**RIDGE, "penalty": "l1", "l1": 0.5, "tol": 1e-5})
    examples: list[Example] = [make_example(nlp, r["text"], one_hot(r["label"])) for r in train_records]
    report = spacy_graft.fit(nlp, examples, network=Recorder("salt", "spoon"))
    assert report.converged
    weights = {feature.text: list(feature.weights.values()) for feature in component_of(nlp).features()}
    np.testing.assert_allclose(weights["salt"], weights["spoon"], atol=0.02)


def test_the_classifier_takes_a_network() -> None:
    documents = [{"fine"}, {"good"}, {"not good"}, {"bad"}] * 5
    labels = ["+", "+", "-", "-"] * 5
    learner = Grafting(penalty="l2", ridge=0.1, network_alpha=50.0)
    model = GraftClassifier(learner).fit(documents, labels, network=Recorder("fine", "not good"))
    weights = {feature.names[0]: feature.weights["+"] for feature in model.features()}
    assert weights["fine"] == pytest.approx(weights["not good"], abs=0.02)
    assert weights["good"] > 0.5
    assert model.report.network is not None


@pytest.mark.parametrize("network", [WordNet, EdgeList, lambda _: None, "WordNet"])
def test_what_makes_no_graph_is_no_network(network: Any) -> None:
    with pytest.raises(ValueError, match=r"A network must be a graph builder, .* but is "):
        GraftClassifier(Grafting(l1=0.1)).fit([{"good"}, {"bad"}] * 5, ["+", "-"] * 5, network=network)


def test_items_that_differ_in_white_space_only_are_no_vertices() -> None:
    model = GraftClassifier(Grafting(l1=0.1))
    with pytest.raises(ValueError, match="The items 'not good' and 'not  good' would be one vertex"):
        model.fit([["not good"], ["not  good"]] * 4, ["p", "n"] * 4, network=Recorder())


def test_edges_to_what_the_corpus_does_not_have_change_nothing() -> None:
    """A builder of another package may return them."""
    edges = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    graph = FeatureGraph((("good",), ("zzz",)), np.zeros(2, np.bool_), edges, sparse.csr_array((2, 2)))
    model = GraftClassifier(Grafting(l1=0.1))
    with pytest.warns(
        UserWarning, match=r"no edge between the 2 features of this corpus.* Skipped: vertices_not_in_corpus 1"
    ):
        model.fit([{"good"}, {"bad"}] * 5, ["+", "-"] * 5, network=lambda _: graph)
    assert model.report.network is not None
    assert model.report.network["vertices"] == 0
