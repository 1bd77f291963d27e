"""The syntax pipeline in assets/, and the scripts that make it."""

from __future__ import annotations

import gzip
import importlib
import itertools
import json
import re
import shutil
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from conftest import REPOSITORY, run_forked, run_project

EWT = REPOSITORY.parent / "shared" / "data" / "ud_english_ewt"
SCRIPTS = REPOSITORY / "scripts"
NAME = "en_graft_syntax"
#: One document of two sentences, with a multi-word token and an empty node; and the first word of another.
CONLLU = """\
# newdoc id = one
# text = It didn't work.
1\tIt\tit\tPRON\tPRP\tNumber=Sing\t4\tnsubj\t_\t_
2-3\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdid\tdo\tAUX\tVBD\tTense=Past\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\twork\twork\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No
5\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_

# text = Sad
1\tSad\tsad\tADJ\tJJ\t_\t0\troot\t_\t_
1.1\tis\tbe\tAUX\tVBZ\t_\t_\t_\t_\t_

# newdoc id = two
# text = Fine
1\tFine\tfine\tADJ\tJJ\t_\t0\troot\t_\t_

"""


@pytest.fixture(scope="module")
def syntax(unpacked: Path) -> Language:
    return spacy.load(unpacked)


def script(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module(name)


def test_the_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size <= 8_000_000


def test_licence_source_and_figures_are_stated(wheel: Path, unpacked: Path) -> None:
    meta = json.loads((unpacked / "meta.json").read_text(encoding="utf-8"))
    assert meta["license"] == "CC BY-SA 4.0"
    assert [source["url"] for source in meta["sources"]] == ["https://github.com/UniversalDependencies/UD_English-EWT"]
    assert f"{NAME}-{meta['version']}" == unpacked.name
    assert (meta["author"], meta["email"], meta["url"]) == ("spacy-graft developers", "", "")
    assert meta["requirements"] == [f"spacy{meta['spacy_version']}"]
    figures = meta["performance"]
    assert figures["pos_acc"] >= 0.935
    assert figures["dep_uas"] >= 0.82
    assert figures["dep_las"] >= 0.78
    with zipfile.ZipFile(wheel) as archive:
        notices = [archive.read(name).decode() for name in archive.namelist() if name.endswith("LICENSES_SOURCES")]
    assert notices
    assert all("CC BY-SA 4.0" in notice and "Silveira" in notice for notice in notices)


def test_no_path_of_a_machine_is_inside(wheel: Path, syntax: Language) -> None:
    assert set(syntax.config["paths"].values()) == {None}
    # The others hold words of the treebank, or are binary.
    texts = {"config.cfg", "meta.json", "README.md", "METADATA", "RECORD", "WHEEL", "__init__.py"}
    with zipfile.ZipFile(wheel) as archive:
        members = [name for name in archive.namelist() if Path(name).name in texts]
        assert {Path(name).name for name in members} == texts
        for name in members:
            assert not re.search(r"""(?:^|["'\s=])(?:/\w|[A-Z]:\\)|localhost""", archive.read(name).decode()), name


def test_the_plugin_does_not_contain_it() -> None:
    """Only packages of its own name are found, and assets/ is none of them."""
    setup = (REPOSITORY / "setup.py").read_text(encoding="utf-8")
    assert 'find_packages(include=["spacy_graft*"])' in setup
    assert not list((REPOSITORY / "spacy_graft").rglob("*.whl"))


def test_a_sentence(syntax: Language) -> None:
    doc = syntax("The film was not very good.")
    assert [token.pos_ for token in doc] == ["DET", "NOUN", "AUX", "PART", "ADV", "ADJ", "PUNCT"]
    assert [token.tag_ for token in doc] == ["DT", "NN", "VBD", "RB", "RB", "JJ", "."]
    assert [token.lemma_ for token in doc] == ["the", "film", "be", "not", "very", "good", "."]
    assert [token.head.text for token in doc] == ["film", "good", "good", "good", "good", "good", "good"]
    assert [token.dep_ for token in doc] == ["det", "nsubj", "cop", "advmod", "advmod", "ROOT", "punct"]
    assert doc[1].morph.get("Number") == ["Sing"]
    assert doc[2].morph.get("Tense") == ["Past"]


def test_sentences_are_found(syntax: Language) -> None:
    doc = syntax("I saw it twice. The second time was better, and my friends liked it.")
    assert [sentence.root.text for sentence in doc.sents] == ["saw", "better"]


def test_lower_case(syntax: Language) -> None:
    doc = syntax("this movie has a terrible plot and the actors are bad .")
    assert [token.text for token in doc if token.pos_ == "NOUN"] == ["movie", "plot", "actors"]
    assert [(token.text, token.head.text) for token in doc if token.dep_ == "amod"] == [("terrible", "plot")]


def test_documents_of_any_length(syntax: Language) -> None:
    words = "it was a long and winding tale , told twice . ".split()
    long = Doc(syntax.vocab, words=list(itertools.islice(itertools.cycle(words), 5000)))
    for doc in (syntax(long), syntax(""), syntax(" "), syntax("\n\n")):
        assert all(token.pos_ and token.dep_ for token in doc)
    assert len(long) == 5000
    assert 400 < len(list(long.sents)) < 600


def test_treebanks_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    treebank = script("treebank", monkeypatch)
    path = tmp_path / "xx-ud-dev.conllu.gz"
    path.write_bytes(gzip.compress(CONLLU.encode()))
    assert treebank.split_file(tmp_path, "dev") == path
    first, second = treebank.read_docs(path)
    assert first.text == "It didn't work. Sad "
    assert [token.text for token in first] == ["It", "did", "n't", "work", ".", "Sad"]
    assert [token.head.i for token in first] == [3, 3, 3, 3, 3, 5]
    assert [token.is_sent_start for token in first] == [True, False, False, False, False, True]
    assert [token.lemma_ for token in second] == ["fine"]


@pytest.mark.slow
def test_missing_treebanks_are_one_line(tmp_path: Path) -> None:
    result = run_forked(SCRIPTS / "treebank.py", tmp_path / "none", tmp_path / "out", check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def analysed(blank: Language, words: list[str], spaces: list[bool], **annotation: Any) -> Doc:
    return Doc(blank.vocab, words=words, spaces=spaces, **annotation)


def test_scores_count_words_of_the_same_characters(blank: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three gold words and four predicted ones two are the same; one of them has the right head and relation."""
    syntax_scores = script("syntax_scores", monkeypatch)
    gold = analysed(
        *(blank, ["so", "good", "!!"], [True, False, False]),
        pos=["ADV", "ADJ", "PUNCT"],
        heads=[1, 1, 1],
        deps=["advmod:x", "ROOT", "punct"],
    )
    predicted = analysed(
        *(blank, ["so", "good", "!", "!"], [True, False, False, False]),
        pos=["ADV", "NOUN", "PUNCT", "PUNCT"],
        heads=[1, 2, 2, 2],
        deps=["advmod", "nsubj", "ROOT", "punct"],
    )
    scores = syntax_scores.f1_scores([(gold, predicted)])
    assert scores["token_f"] == pytest.approx(4 / 7)
    assert scores["pos_acc"] == scores["dep_uas"] == scores["dep_las"] == pytest.approx(2 / 7)
    assert scores["sents_f"] == 1.0
    same = syntax_scores.f1_scores([(gold, gold)])
    assert set(same.values()) == {1.0}


@pytest.mark.slow
def test_the_workflow_makes_a_wheel(tmp_path: Path) -> None:
    """From a treebank of three sentences, with a config that only takes a few steps."""
    data = tmp_path / "treebank"
    data.mkdir()
    for split in ("train", "dev", "test"):
        (data / f"xx-ud-{split}.conllu").write_text(CONLLU, encoding="utf-8")
    project = tmp_path / "clone"
    project.mkdir()
    shutil.copy(REPOSITORY / "project.yml", project)
    shutil.copytree(SCRIPTS, project / "scripts")
    config = (REPOSITORY / "configs" / "syntax.cfg").read_text(encoding="utf-8")
    for name, value in (("max_steps", 2), ("min_tree_freq", 1), ("min_action_freq", 1)):
        config = re.sub(rf"^{name} = .*", f"{name} = {value}", config, flags=re.MULTILINE)
    (project / "configs").mkdir()
    (project / "configs" / "syntax.cfg").write_text(config, encoding="utf-8")
    run_project("syntax", project, "--vars.ewt", data)
    figures = json.loads((project / "metrics" / "syntax.json").read_text(encoding="utf-8"))
    assert figures["gold words"]["token_f"] == 1.0
    (made,) = (project / "assets").glob("*.whl")
    run_forked(SCRIPTS / "unpack.py", made, tmp_path / "unpacked")
    assert (tmp_path / "unpacked" / NAME / "__init__.py").exists()
    with zipfile.ZipFile(made) as archive:
        assert f"{NAME}/__init__.py" in archive.namelist()


@pytest.mark.data
@pytest.mark.skipif(not EWT.exists(), reason="the treebank is not there")
def test_the_treebank_agrees(syntax: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some 200 sentences of the test split, from their words."""
    treebank, syntax_scores = script("treebank", monkeypatch), script("syntax_scores", monkeypatch)
    docs: list[Doc] = []
    for doc in treebank.read_docs(treebank.split_file(EWT, "test")):
        docs.append(doc)
        if sum(len(list(doc.sents)) for doc in docs) >= 200:
            break
    gold = DocBin(docs=docs).get_docs(syntax.vocab)
    scores = syntax_scores.evaluate(syntax, list(gold))["gold words"]
    assert scores["pos_acc"] >= 0.90
    assert scores["dep_uas"] >= 0.78
