"""Damaged files: what was meant is read, or an error names the file. Inputs of the readers and of the scripts."""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import spacy
import typer
from scipy import sparse
from spacy.tokens import DocBin

from conftest import CONFIG, REPOSITORY
from lexicons import SENTIMENT, WNDB
from spacy_graft.cli.common import CommandError
from spacy_graft.cli.train import graft_section, read_training_config
from spacy_graft.graphs.edgelist import EdgeList, GraphFile
from spacy_graft.graphs.graph import FeatureGraph
from spacy_graft.graphs.sentiwordnet import SentiWordNet
from spacy_graft.graphs.vocabulary import CorpusVocabulary
from spacy_graft.graphs.wordnet import WordNet
from spacy_graft.pipeline.contents import saved_docs
from spacy_graft.pipeline.reader import JsonlCorpus

#: Damaged copies of each file.
COPIES = 40
NLP = spacy.blank("en")
VOCABULARY = CorpusVocabulary.of([("boat",), ("canoe",), ("light",), ("heavy",), ("not", "good")])
JSONL = b"".join(b'{"id": %d, "text": "text", "label": "%c"}\n' % (i, b"ab"[i % 2]) for i in range(40))
TABLE = b"text,label,weight\n" + b'"a ""quoted"" text\nof two lines",a,1\n,"[""a"", ""b""]",0.5\n' * 20
EDGES = b"boat\tcanoe\t1\nlight\theavy\t-2\nnot good\tlight\t0.5\n"
SENTENCE = b"1\tHe\the\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\truns\trun\tVERB\tVBZ\t_\t0\troot\t_\t_\n\n"
INSERTED = (b"\xff" * 8, b"-1", b"9" * 20, b"\n", b"\t", b'"', b"\0", b"\r", b"[" * 3000, b"\x85", b"e-320", b"e307")

Read = Callable[[Path], object]
#: The readers of the package: by the name of a file, its content and what reads it.
READERS: dict[str, tuple[bytes, Read]] = {}
#: The same of the scripts.
SCRIPTS: dict[str, tuple[bytes, Read]] = {}


def damaged(content: bytes, rng: random.Random) -> bytes:
    """The content cut, with a bit flipped, or with bytes left out or inserted."""
    place, length = rng.randrange(len(content)), rng.randrange(1, 30)
    before, after = content[:place], content[place:]
    flipped = bytes([after[0] ^ 1 << rng.randrange(8)])
    inserted = rng.choice([rng.randbytes(length), *INSERTED])
    return rng.choice([before, before + flipped + after[1:], before + after[length:], before + inserted + after])


def finite(graph: FeatureGraph) -> None:
    for kind in ("mean", "laplacian", "normalised_laplacian"):
        assert np.isfinite(graph.tikhonov_matrix(1.0, 1.0, kind).data).all()


def zipped(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(f"wordnet/{name}", text)
    return content.getvalue()


def reviews() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for folder in ("train/pos", "train/neg", "test/pos", "test/neg"):
            for i in range(10):
                member = tarfile.TarInfo(f"aclImdb/{folder}/{i}_7.txt")
                member.size = 5
                archive.addfile(member, io.BytesIO(b"film."))
    return gzip.compress(content.getvalue(), 1)


def ag_news() -> bytes:
    content = io.StringIO()
    csv.writer(content, quoting=csv.QUOTE_ALL).writerows([str(i % 4 + 1), 'A "title"', "A, text"] for i in range(80))
    return content.getvalue().encode()


def read_wordnet(path: Path) -> None:
    for name in WNDB.keys() - {path.name}:
        (path.parent / name).write_text(WNDB[name], encoding="utf-8")
    finite(WordNet(path.parent)(VOCABULARY))


def read_train_config(path: Path) -> None:
    try:
        graft_section(read_training_config(str(path), {})[0], str(path))
    except CommandError as error:
        raise ValueError(str(error)) from error


def run(script: str, *arguments: object) -> None:
    importlib.import_module(script).main(*arguments)


def run_corpus(path: Path) -> None:
    test = path.with_name(path.name.replace("train", "test"))
    test.write_bytes(SCRIPTS[path.name][0])
    run("corpus", path.parent / "out", path.parent, "text", "label")


def run_treebank(path: Path) -> None:
    for split in ("dev", "test"):
        path.with_name(f"a-ud-{split}.conllu").write_bytes(SENTENCE)
    run("treebank", path.parent, path.parent / "out")


def run_unpack(path: Path) -> None:
    """The checksum is that of the damaged wheel."""
    importlib.import_module("unpack").write_checksum(path)
    run("unpack", path, path.parent / "out")


def run_unpack_intact(path: Path) -> None:
    wheel = path.with_name("a.whl")
    wheel.write_bytes(b"")
    run("unpack", wheel, path.parent / "out")


GRAPH = FeatureGraph(
    (("boat",), ("canoe",)), np.zeros(2, np.bool_), sparse.csr_array([[0.0, 1.0], [1.0, 0.0]]), sparse.csr_array((2, 2))
).to_bytes()
READERS["corpus.jsonl"] = JSONL, lambda path: list(JsonlCorpus(path, id_field="id")(NLP))
READERS["corpus.jsonl.gz"] = gzip.compress(JSONL), READERS["corpus.jsonl"][1]
READERS["corpus.csv"] = TABLE, lambda path: list(JsonlCorpus(path, weight_field="weight")(NLP))
READERS["corpus.tsv.gz"] = gzip.compress(TABLE.replace(b",", b"\t")), READERS["corpus.csv"][1]
READERS["corpus.spacy"] = DocBin(docs=[NLP("good")]).to_bytes(), lambda path: list(JsonlCorpus(path)(NLP))
READERS["config.cfg"] = CONFIG.read_bytes(), read_train_config
READERS["edges.tsv"] = EDGES, lambda path: finite(EdgeList(path)(VOCABULARY))
READERS["edges.tsv.gz"] = gzip.compress(EDGES), READERS["edges.tsv"][1]
READERS["graph.network"] = GRAPH, lambda path: GraphFile(path)(VOCABULARY)
READERS["scores.txt"] = SENTIMENT.encode(), lambda path: finite(SentiWordNet(path)(VOCABULARY))
READERS["wordnet.zip"] = zipped(WNDB), lambda path: finite(WordNet(path)(VOCABULARY))
READERS["docs.spacy"] = DocBin(docs=[NLP("good")]).to_bytes(), lambda path: list(saved_docs(path, NLP.vocab))
READERS.update({name: (text.encode(), read_wordnet) for name, text in WNDB.items()})
SCRIPTS["train.jsonl"] = JSONL, run_corpus
SCRIPTS["train.jsonl.gz"] = gzip.compress(JSONL), run_corpus
SCRIPTS["train.csv"] = ag_news(), run_corpus
SCRIPTS["reviews.tar.gz"] = reviews(), lambda path: run("corpus", path.parent / "out", path)
SCRIPTS["a-ud-train.conllu"] = b"# newdoc\n" + SENTENCE * 2, run_treebank
SCRIPTS["a.whl"] = zipped({"meta.json": "{}"}), run_unpack
SCRIPTS["SHA256SUMS"] = b"0" * 64 + b"  a.whl\n", run_unpack_intact


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused_by_name(name: str, tmp_path: Path) -> None:
    (content, read), path, rng = READERS[name], tmp_path / name, random.Random(name)
    messages = []
    for _ in range(COPIES):
        path.write_bytes(damaged(content, rng))
        try:
            read(path)
        except (ValueError, FileNotFoundError) as error:
            messages.append(str(error))
    assert messages
    assert [message for message in messages if str(tmp_path) not in message] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_name_a_damaged_file_on_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "scripts"))
    (content, read), path, rng = SCRIPTS[name], tmp_path / name, random.Random(name)
    codes = []
    for _ in range(COPIES):
        path.write_bytes(damaged(content, rng))
        try:
            read(path)
        except typer.Exit as stop:
            codes.append(stop.exit_code)
    lines = capsys.readouterr().err.splitlines()
    assert codes == [1] * len(lines)
    assert lines
    assert [line for line in lines if not line.startswith("error: ") or str(tmp_path) not in line] == []
