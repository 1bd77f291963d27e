"""``spacy-graft network``: the commands, their output, and bad input."""

from __future__ import annotations

import gzip
import inspect
import io
import json
import os
import sys
import time
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from scipy import sparse
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from typer.testing import CliRunner, Result

from conftest import run, write_jsonl
from lexicons import write_sentiwordnet, write_wordnet
from spacy_graft.cli import progress, token_corpus
from spacy_graft.cli.app import app
from spacy_graft.cli.network_builders import BUILDERS, RENAMED_OPTIONS, parameter_texts, signature_of
from spacy_graft.cli.token_corpus import TokenCorpus
from spacy_graft.graphs.edgelist import EdgeList, GraphFile
from spacy_graft.graphs.graph import FeatureGraph
from spacy_graft.graphs.sentiwordnet import SentiWordNet
from spacy_graft.graphs.vocabulary import CorpusVocabulary
from spacy_graft.graphs.wordnet import WordNet

COMMANDS = [*BUILDERS, "merge", "show"]
TEXTS = [
    "A boat, a canoe.",
    "a canoe, a lamp",
    "the light of a lamp",
    "grand and grim boat",
    "grand light",
    "grim lamp",
]
WORDS = [text.lower().replace(",", " ,").replace(".", " .").split() for text in TEXTS]


def call(*arguments: object, code: int = 0) -> Result:
    """Run a command in this process; standard output is not a terminal."""
    result = CliRunner().invoke(app, ["network", *map(str, arguments)])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def refused(*arguments: object, code: int = 1) -> str:
    """Run a command with bad input and return its error."""
    result = call(*arguments, code=code)
    assert result.stdout == ""
    *usage, line = result.stderr.splitlines()
    assert code == 2 or (usage == [] and line.startswith("Error: "))
    return " ".join(result.stderr.split()) if code == 2 else line


def report_of(*arguments: object) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(call(*arguments).stdout)
    return report


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_wordnet(tmp_path_factory.mktemp("wordnet"))


@pytest.fixture(scope="module")
def sentiwordnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sentiwordnet(tmp_path_factory.mktemp("sentiwordnet"))


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records = [{"text": text, "label": "any"} for text in TEXTS]
    return write_jsonl(tmp_path_factory.mktemp("corpus") / "train.jsonl", records)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "new" / "some.network"


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.tsv"
    path.write_text("boat\tcanoe\t2\nnot good\tboat\t1\nlight\tgrim\t-1\n")
    return path


# Builders


def test_wordnet(wordnet: Path, train: Path, output: Path) -> None:
    report = report_of("wordnet", output, "--corpus", train, "--path", wordnet, "--antonym", 0.5, "--no-inflected")
    features = CorpusVocabulary.of_documents(WORDS, min_df=2)
    expected = WordNet(wordnet, antonym=0.5, inflected=False)(features)
    assert FeatureGraph.from_disk(output).to_bytes() == expected.to_bytes()
    assert report == expected.report
    assert GraphFile(output)(features).vertices == expected.vertices


def test_sentiwordnet(sentiwordnet: Path, train: Path, output: Path) -> None:
    options = ("--path", sentiwordnet, "--member-min-df", 2, "--min-df", 1, "--neighbours", 0)
    call("sentiwordnet", output, "--corpus", train, *options)
    expected = SentiWordNet(sentiwordnet, min_df=2, neighbours=0)(CorpusVocabulary.of_documents(WORDS))
    assert FeatureGraph.from_disk(output).to_bytes() == expected.to_bytes()


@pytest.mark.slow
def test_cooccurrence_counts_all_documents(train: Path, tmp_path: Path, output: Path) -> None:
    more = tmp_path / "more.txt.gz"
    more.write_bytes(gzip.compress(b"Boat lamp\n" * 7))
    assert report_of("cooccurrence", output, "--corpus", train, "--corpus", more)["documents"] == 13


@pytest.mark.parametrize("measure", ["correlation", "profile"])
def test_cooccurrence_with_seeds(sentiwordnet: Path, train: Path, tmp_path: Path, output: Path, measure: str) -> None:
    seeds = tmp_path / "seeds.network"
    call("sentiwordnet", seeds, "--corpus", train, "--path", sentiwordnet, "--neighbours", 0)
    call("cooccurrence", output, "--corpus", train, "--measure", measure, "--seeds", seeds)
    graph = FeatureGraph.from_disk(output)
    assert graph.virtual.sum() == 2
    assert graph.similar.nnz > FeatureGraph.from_disk(seeds).similar.nnz


def test_edge_lists_with_and_without_a_corpus(edges: Path, train: Path, output: Path) -> None:
    report = report_of("edge-list", output, "--path", edges)
    assert report["edges"] == {"similar": 4, "dissimilar": 2}
    assert report["coverage"]["share"] == 1.0
    assert report_of("edge-list", output, "--path", edges, "--corpus", train)["skipped"]["unknown_features"] == 1
    graph = FeatureGraph.from_disk(output)
    assert graph.to_bytes() == EdgeList(edges)(CorpusVocabulary.of_documents(WORDS, min_df=2)).to_bytes()


def test_corpora_of_documents_with_lemmas(tmp_path: Path, output: Path) -> None:
    blank = spacy.blank("xx")
    docs = [Doc(blank.vocab, ["Boats", "kindled"], lemmas=["boat", "kindle"]), Doc(blank.vocab, ["a"], lemmas=["ship"])]
    DocBin(docs=docs).to_disk(tmp_path / "train.spacy")
    (tmp_path / "edges.tsv").write_text("boat kindle\tship\t1\nBoats\tship\t1\n")
    options = ("--attribute", "LEMMA", "--min-df", 1, "--max-length", 2)
    call("edge-list", output, "--path", tmp_path / "edges.tsv", "--corpus", tmp_path / "train.spacy", *options)
    assert FeatureGraph.from_disk(output).vertices == (("boat", "kindle"), ("ship",))


@pytest.mark.parametrize("name", BUILDERS)
def test_options_are_those_of_the_builder(name: str) -> None:
    builder = getattr(import_module(f"spacy_graft.graphs.{BUILDERS[name].module}"), BUILDERS[name].class_name)
    own = {RENAMED_OPTIONS.get(field.name, field.name): field.default for field in fields(builder)}
    parameters = signature_of(builder).parameters
    assert set(own) < set(parameters)
    required = inspect.Parameter.empty
    assert {option: parameters[option].default for option in own if parameters[option].default is not required} == {
        option: default for option, default in own.items() if option != "path" or name != "edge-list"
    }
    assert set(parameter_texts(builder)) == {field.name for field in fields(builder)}
    assert all(parameter_texts(builder).values())


# Files


def test_merge(wordnet: Path, train: Path, edges: Path, tmp_path: Path, output: Path) -> None:
    first, second = tmp_path / "wordnet.network", tmp_path / "own.network"
    call("wordnet", first, "--corpus", train, "--path", wordnet)
    call("edge-list", second, "--path", edges)
    report = report_of("merge", output, first, second, "--weight", 1, "--weight", 3)
    assert list(report["graphs"]) == ["wordnet", "own"]
    assert report["coverage"]["share"] == 1.0
    (line,) = call("show", output, "canoe").stdout.splitlines()
    (boat,) = (entry for entry in json.loads(line)["neighbours"] if entry["name"] == "boat")
    assert boat["weight"] == 0.5 + 3 * 2.0
    shares = tmp_path / "shares.network"
    call("merge", shares, first, second, "--normalise")
    assert FeatureGraph.from_disk(shares).similar.sum(axis=1).max() == pytest.approx(2.0)
    printed = call("merge", output, first, second, "--format", "table").stdout
    assert printed.split("\n")[1].split() == ["(all)", "wordnet", "own"]
    assert "coverage: share" in printed
    assert "100.0%" in printed


def test_show_prints_the_report(edges: Path, output: Path) -> None:
    report = report_of("edge-list", output, "--path", edges)
    assert report_of("show", output) == report
    assert "--top has no effect without NAME" in call("show", output, "--top", 1, code=1).stderr
    printed = call("show", output, "--format", "table").stdout
    assert "edges: dissimilar" in printed


def test_show_prints_neighbours(edges: Path, output: Path) -> None:
    call("edge-list", output, "--path", edges)
    (line,) = call("show", output, "boat").stdout.splitlines()
    assert json.loads(line) == {
        "vertex": "boat",
        "virtual": False,
        "neighbours": [
            {
                "name": "canoe",
                "virtual": False,
                "kind": "similar",
                "weight": 2.0,
                "share": 2 / 3,
                "reverse_weight": 2.0,
            },
            {
                "name": "not good",
                "virtual": False,
                "kind": "similar",
                "weight": 1.0,
                "share": 1 / 3,
                "reverse_weight": 1.0,
            },
        ],
    }
    assert len(json.loads(call("show", output, "boat", "--top", 1).stdout)["neighbours"]) == 1
    assert "boat, neighbours: 1 of 2" in call("show", output, "boat", "--top", 1, "--format", "table").stdout
    printed = call("show", output, "not  good", "--format", "table").stdout
    assert "not good, neighbours: 1" in printed
    assert "100.0%" in printed


def test_a_network_of_a_builder_of_ones_own(tmp_path: Path) -> None:
    """Its report may have any values that JSON has, and its symbols may be spaces."""
    edges, none = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])), sparse.csr_array((2, 2))
    report = {"source": "dictionary", "licence": None, "languages": ["de", 1], "graphs": {"own": {"is_new": True}}}
    graph = FeatureGraph((("  ",), ("not", "good")), np.zeros(2, np.bool_), edges, none, report)
    graph.to_disk(tmp_path / "own.network")
    printed = call("show", tmp_path / "own.network", "--format", "table").stdout
    rows = [line.split() for line in printed.splitlines()]
    for row in (["source", "dictionary"], ["licence", "none"], ["languages", "de,", "1"], ["is_new", "yes"]):
        assert row in rows
    (line,) = call("show", tmp_path / "own.network", "  ").stdout.splitlines()
    assert json.loads(line)["neighbours"][0]["name"] == "not good"


@pytest.mark.parametrize(
    ("graphs", "row"),
    [(["near", "far"], "graphs near, far"), (3, "graphs 3"), (None, "graphs none"), ({"own": 3}, "graphs: own 3")],
)
def test_a_figure_of_the_name_of_merged_networks(graphs: Any, row: str, tmp_path: Path) -> None:
    edges, none = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])), sparse.csr_array((2, 2))
    graph = FeatureGraph((("good",), ("great",)), np.zeros(2, np.bool_), edges, none, {"graphs": graphs})
    graph.to_disk(tmp_path / "own.network")
    printed = call("show", tmp_path / "own.network", "--format", "table").stdout
    assert row.split() in [line.split() for line in printed.splitlines()]


def test_show_prints_members_of_classes(tmp_path: Path, output: Path) -> None:
    (tmp_path / "edges.tsv").write_text("boat\t*boat\t0.5\ncanoe\t*boat\t2\nboat\tcanoe\t1\n")
    call("edge-list", output, "--path", tmp_path / "edges.tsv", "--virtual", "*")
    (line,) = call("show", output, "*boat").stdout.splitlines()
    found = json.loads(line)
    assert found["virtual"]
    assert [(entry["name"], entry["weight"], entry["reverse_weight"]) for entry in found["neighbours"]] == [
        ("canoe", 0.0, 2.0),
        ("boat", 0.0, 0.5),
    ]
    assert "*boat (virtual)" in call("show", output, "boat", "--format", "table").stdout


# Bad input


def test_missing_resources(train: Path, tmp_path: Path, output: Path) -> None:
    for name in ("wordnet", "sentiwordnet"):
        assert "was not found. Folders searched:" in refused(
            name, output, "--corpus", train, "--path", tmp_path / "none"
        )
    assert "no graph at" in refused("edge-list", output, "--path", tmp_path / "none")
    assert "no graph at" in refused("show", tmp_path / "none")
    assert "no graph at" in refused("merge", output, tmp_path / "none")
    seeds = ("--measure", "correlation", "--seeds", tmp_path / "none")
    error = refused("cooccurrence", output, "--corpus", train, *seeds)
    assert "no graph at" in error
    assert "Give --seeds a network file." in error
    assert "[...network] path" not in error
    assert not output.parent.exists()


def test_files_of_other_kinds_are_not_replaced(edges: Path, train: Path, tmp_path: Path, output: Path) -> None:
    other = tmp_path / "train.jsonl"
    other.write_bytes(train.read_bytes())
    for command in (("edge-list", other, "--path", edges), ("merge", other, edges)):
        assert "train.jsonl exists, and is not a network: it is not replaced" in refused(*command)
    assert other.read_bytes() == train.read_bytes()
    for _ in range(2):
        call("edge-list", output, "--path", edges)


def test_damaged_files(wordnet: Path, train: Path, tmp_path: Path, output: Path) -> None:
    for file in wordnet.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "data.verb").write_text("00000101 30 v 01 boat\n")
    assert "data.verb, line 1: no synset" in refused("wordnet", output, "--corpus", train, "--path", tmp_path)
    (tmp_path / "edges.tsv").write_bytes(b"a\tb\n")
    assert "edges.tsv, line 1: there must be 3 columns" in refused(
        "edge-list", output, "--path", tmp_path / "edges.tsv"
    )
    (tmp_path / "bad.network").write_bytes(b"spacy-graft net\n")
    for arguments in (("show", tmp_path / "bad.network"), ("merge", output, tmp_path / "bad.network")):
        assert "bad.network: The graph is damaged" in refused(*arguments)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("train.jsonl", b'{"text": "a"}\n\xff\n', "line 2: not UTF-8"),
        ("train.txt", b"gr\xfcn", "line 1: not UTF-8"),
        ("train.jsonl", b"", "The corpus has 0 documents and no feature"),
        ("train.txt", b"a b\nc d\n", "The corpus has 2 documents and no feature in at least 2 of them"),
        ("train.spacy", b"", "does not hold spaCy documents"),
        ("train.csv", b"a", "does not end in .jsonl, .jsonl.gz, .txt"),
        ("train.jsonl.gz", b"{}", "compressed file is damaged"),
    ],
)
def test_corpora_that_cannot_be_read(
    wordnet: Path, tmp_path: Path, output: Path, name: str, data: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert message in refused("wordnet", output, "--corpus", path, "--path", wordnet)


def test_corpora_that_lack_an_attribute_or_key(wordnet: Path, train: Path, tmp_path: Path, output: Path) -> None:
    def error(*options: object) -> str:
        return refused("wordnet", output, "--path", wordnet, *options)

    for options in (("--corpus", tmp_path / "none.jsonl"), ("--corpus", tmp_path)):
        assert "There is no file" in error(*options)
    assert "there is no 'body'" in error("--corpus", train, "--text-field", "body")
    assert "did you mean LEMMA" in error("--corpus", train, "--attribute", "LEMA")
    assert "needs documents annotated with LEMMA" in error("--corpus", train, "--attribute", "LEMMA")
    table = tmp_path / "table.csv"
    table.touch()
    assert error("--corpus", table).startswith(f"Error: {table} does not end in .jsonl")
    assert "Error: There is no tokenizer for the language 'xy'" in error("--corpus", train, "--lang", "xy")
    assert "There is no pipeline" in error("--corpus", train, "--model", tmp_path / "none")


def test_networks_without_edges_are_not_written(wordnet: Path, tmp_path: Path, output: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("unheard words\n" * 2)
    line = refused("wordnet", output, "--corpus", path, "--path", wordnet)
    assert "No two of the 2 features are related" in line
    assert "not_in_wordnet 2" in line
    assert not output.exists()


def test_output_that_cannot_be_written(edges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "it is a folder" in refused("edge-list", tmp_path, "--path", edges)
    assert "is not a folder" in refused("edge-list", edges / "some.network", "--path", edges)
    with monkeypatch.context() as patch:
        patch.setattr("os.access", lambda _, mode: mode != os.W_OK)
        assert "no permission to write" in refused("edge-list", tmp_path / "a" / "some.network", "--path", edges)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert "cannot be written: No space left" in refused("edge-list", tmp_path / "some.network", "--path", edges)
    assert [path.name for path in tmp_path.iterdir()] == ["edges.tsv"]


def test_an_unknown_vertex(edges: Path, output: Path) -> None:
    call("edge-list", output, "--path", edges)
    assert "has no vertex 'cano'. Did you mean 'canoe'?" in refused("show", output, "cano")


def test_wrong_usage(wordnet: Path, train: Path, edges: Path, tmp_path: Path, output: Path) -> None:
    assert "--corpus" in refused("wordnet", output, "--path", wordnet, code=2)
    assert "antonym must be a number" in refused("wordnet", output, "--corpus", train, "--antonym", -1, code=2)
    assert "profile needs seeds" in refused("cooccurrence", output, "--corpus", train, "--measure", "profile", code=2)
    refused("cooccurrence", output, "--corpus", train, "--measure", "euclid", code=2)
    refused("edge-list", output, code=2)
    call("edge-list", output, "--path", edges)
    assert "--weight is given 1 time for 2 files" in refused(
        "merge", tmp_path / "a", output, output, "--weight", 1, code=2
    )
    assert "Two files have the same name" in refused("merge", tmp_path / "a", output, output)
    call("wordnot", code=2)


# The app


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    printed = call(command, "--help").stdout
    assert f"Examples:\n    spacy-graft network {command}" in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_help_lists_the_commands() -> None:
    printed = call("--help").stdout
    assert all(f"  {command} " in printed for command in COMMANDS)
    assert "..." not in printed.partition("Commands:")[2]  # what click puts where it cuts


@pytest.mark.slow
def test_commands_are_added_to_spacy(edges: Path, output: Path) -> None:
    run("-m", "spacy", "graft", "network", "edge-list", output, "--path", edges)
    assert FeatureGraph.from_disk(output).n_vertices == 5


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_steps_show_a_status_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "STATUS_DELAY", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with progress.status_line("reading") as update:
        assert list(progress.with_count(range(100), update, "documents read")) == list(range(100))
        deadline = time.monotonic() + 10.0
        while "100 documents read" not in sys.stderr.getvalue() and time.monotonic() < deadline:
            time.sleep(0.05)
    assert "100 documents read" in sys.stderr.getvalue()


def test_quick_steps_show_no_status_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.status_line("reading"):
        pass
    assert sys.stderr.getvalue() == ""


# Texts


def symbols_of(path: Path, **options: Any) -> list[tuple[str, ...]]:
    return list(TokenCorpus([path], **options))


TWO_TEXTS = [("a", "good", "film", "!"), ("bad",)]


@pytest.mark.parametrize("name", ["more.jsonl", "more.jsonl.gz", "more.txt", "more.txt.gz", "more.spacy"])
def test_texts_become_symbols(tmp_path: Path, name: str, blank: Language) -> None:
    path, texts = tmp_path / name, ["A good\u2003 film!", "BAD"]
    if "jsonl" in name:
        write_jsonl(path, [{"text": text, "label": "ignored"} for text in texts])
    elif "txt" in name:
        data = "\n\n".join(texts).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    else:
        DocBin(docs=[blank.make_doc(text) for text in texts]).to_disk(path)
    assert symbols_of(path) == TWO_TEXTS
    assert list(TokenCorpus([path, path])) == 2 * TWO_TEXTS


def test_texts_of_several_batches(tmp_path: Path) -> None:
    for n in (0, 1, token_corpus.ZONE_DOCUMENTS, 2 * token_corpus.ZONE_DOCUMENTS + 1):
        path = tmp_path / "more.txt"
        path.write_text("".join(f"w{i}\n" for i in range(n)))
        assert symbols_of(path) == [(f"w{i}",) for i in range(n)]


def test_texts_with_lemmas(tmp_path: Path, unpacked: Path, blank: Language) -> None:
    path = tmp_path / "more.txt"
    path.write_text("They came\n")
    assert symbols_of(path, attr="LEMMA", model=unpacked) == [("they", "come")]
    with pytest.raises(ValueError, match="annotated with LEMMA"):
        symbols_of(path, attr="LEMMA")
    doc = Doc(blank.vocab, ["Films"], lemmas=["film"])
    DocBin(docs=[doc]).to_disk(tmp_path / "more.spacy")
    assert symbols_of(tmp_path / "more.spacy", attr="LEMMA") == [("film",)]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("more.jsonl", b'{"text": "a"}\n{"text": 1}', "line 2: the text, 'text', must be a string"),
        ("more.jsonl", b'{"body": "a"}', "line 1: there is no 'text'"),
        ("more.jsonl", b"\xff", "line 1: not UTF-8"),
        ("more.txt", b"a\n\xff", "line 2: not UTF-8"),
        ("more.txt.gz", b"a", "compressed file is damaged"),
        ("more.spacy", b"a", "does not hold spaCy documents"),
        ("more.csv", b"a", "does not end in"),
    ],
)
def test_texts_that_cannot_be_read(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message):
        symbols_of(path)
