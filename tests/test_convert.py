"""``spacy-graft convert``: labelled texts from each form into each other."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import DocBin

from conftest import Record, run, write_jsonl
from spacy_graft.pipeline.reader import JsonlCorpus
from spacy_graft.pipeline.targets import COMPLETE_KEY, ID_KEY, WEIGHT_KEY
from test_cli import call

#: Texts that a table, a folder or a line could change.
TEXTS = [
    "One.",
    "two\nlines",
    "two\r\nlines",
    " a, \"quoted\" 'one';\t",
    "天气😀\u2028",
    "=1+1",
    "lone \r return",
    "\ufeffmark",
]
RECORDS = [{"text": text, "label": f"label {number % 3}"} for number, text in enumerate(TEXTS)]
SEVERAL = [
    {"text": "x", "label": ["a", "b"]},
    {"text": "y", "label": []},
    {"text": "z", "label": ["[c"]},
    {"text": "w", "label": {"a": 0.25, "b": 1}},
    {"text": "v", "label": {}},
    {"text": "u", "label": ["['d']"]},
]
FORMS = ["c.csv", "c.csv.gz", "c.tsv", "c.spacy", "c.jsonl.gz"]


def rows_of(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def converted(records: list[Record], name: str, folder: Path) -> list[Record]:
    """The records after a way to another form and back."""
    source = write_jsonl(folder / "source.jsonl", records)
    call("convert", source, folder / name, *(["--lang", "xx"] if name.endswith(".spacy") else []))
    call("convert", folder / name, folder / "back.jsonl")
    return rows_of(folder / "back.jsonl")


@pytest.mark.parametrize("name", FORMS)
def test_texts_and_labels_come_back(name: str, tmp_path: Path) -> None:
    assert converted(RECORDS, name, tmp_path) == RECORDS[: len(TEXTS)]


def test_a_folder_has_a_folder_for_each_label(tmp_path: Path) -> None:
    records = [{"text": text, "label": label} for text, label in zip(TEXTS, ["a", "b/c", "a"] * 3, strict=False)]
    back = converted(records, "texts", tmp_path)
    assert sorted((row["label"], row["text"]) for row in back) == sorted((row["label"], row["text"]) for row in records)
    assert {row["id"] for row in back} >= {"a/1.txt", "b/c/2.txt"}


@pytest.mark.parametrize("name", FORMS)
def test_several_labels_come_back(name: str, tmp_path: Path) -> None:
    assert converted(SEVERAL, name, tmp_path) == SEVERAL


def test_one_label_in_a_list_is_one_label(tmp_path: Path) -> None:
    records = [{"text": "x", "label": ["a"]}, {"text": "y", "label": {"b": 1.0, "a": 0.0}}, {"text": "z", "label": "b"}]
    assert [row["label"] for row in converted(records, "c.csv", tmp_path)] == ["a", "b", "b"]


def test_other_keys_are_kept_where_there_is_a_place(tmp_path: Path) -> None:
    records = [{"id": 7, "text": "x", "label": "a", "n": 1.5}, {"id": 8, "text": "y", "label": "b", "author": "B"}]
    assert converted(records, "c.csv", tmp_path) == [
        {"id": "7", "text": "x", "label": "a", "n": "1.5", "author": ""},
        {"id": "8", "text": "y", "label": "b", "n": "", "author": "B"},
    ]
    result = call("convert", tmp_path / "source.jsonl", tmp_path / "c.spacy", "--lang", "xx")
    assert "Left out, since the output has no place for it: 'n', 'author'." in result.stderr
    docs = list(DocBin().from_disk(tmp_path / "c.spacy").get_docs(spacy.blank("xx").vocab))
    assert [(doc.user_data[ID_KEY], doc.cats) for doc in docs] == [(7, {"a": 1.0, "b": 0.0}), (8, {"a": 0.0, "b": 1.0})]
    call("convert", tmp_path / "source.jsonl", tmp_path / "c.spacy", "--force", "--lang", "xx", "--id-field", "")
    docs = list(DocBin().from_disk(tmp_path / "c.spacy").get_docs(spacy.blank("xx").vocab))
    assert [doc.user_data for doc in docs] == [{}, {}]  # nor where they were in the other file


def test_weights_of_documents_are_kept(tmp_path: Path) -> None:
    doc = spacy.blank("xx")("x")
    doc.cats, doc.user_data[WEIGHT_KEY] = {"a": 1.0}, 2.5
    DocBin(docs=[doc], store_user_data=True).to_disk(tmp_path / "c.spacy")
    call("convert", tmp_path / "c.spacy", tmp_path / "c.jsonl")
    assert rows_of(tmp_path / "c.jsonl") == [{"text": "x", "label": "a", "weight": 2.5}]
    assert "Left out" not in call("convert", tmp_path / "c.spacy", tmp_path / "again.spacy").stderr
    (again,) = DocBin().from_disk(tmp_path / "again.spacy").get_docs(spacy.blank("xx").vocab)
    assert again.user_data[WEIGHT_KEY] == 2.5


@pytest.mark.parametrize("name", FORMS)
def test_an_empty_text_without_labels_comes_back(name: str, tmp_path: Path) -> None:
    records = [{"text": "x", "label": ["a"]}, {"text": "", "label": []}, {"text": "y", "label": ["a", "b"]}]
    assert [record["text"] for record in converted(records, name, tmp_path)] == ["x", "", "y"]


@pytest.mark.parametrize("name", FORMS)
def test_a_label_that_no_text_has_is_kept(name: str, tmp_path: Path) -> None:
    records = [{"text": f"t{k}", "label": {"a": float(k % 2), "b": 0.0}} for k in range(3)]
    found = converted(records, name, tmp_path)
    assert [record["label"] for record in found] == [record["label"] for record in records]


def test_complete_documents_have_none_of_the_other_labels(tmp_path: Path) -> None:
    docs = []
    for text, cats in (("x", {"a": 1.0, "zero": 0.0}), ("y", {}), ("z", {"b": 0.5})):
        docs.append(spacy.blank("xx")(text))
        docs[-1].cats, docs[-1].user_data[COMPLETE_KEY] = cats, True
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "c.spacy")
    call("convert", tmp_path / "c.spacy", tmp_path / "c.jsonl")
    assert [row["label"] for row in rows_of(tmp_path / "c.jsonl")] == [
        ["a"],
        [],
        {"a": 0.0, "b": 0.5, "zero": 0.0},
    ]
    # Labels of the component are known as well, and thousands of them are not written.
    nlp = spacy.blank("xx")
    nlp.add_pipe("textcat_graft_multilabel").add_label("a")  # type: ignore[attr-defined]
    nlp.get_pipe("textcat_graft_multilabel").add_label("c")  # type: ignore[attr-defined]
    labels = ("a", "b", "c", "zero")
    found = [one.reference.cats for one in JsonlCorpus(tmp_path / "c.spacy")(nlp)]
    assert [tuple(map(cats.get, labels)) for cats in found] == [(1, 0, 0, 0), (0, 0, 0, 0), (0, 0.5, 0, 0)]
    sparse = [one.reference for one in JsonlCorpus(tmp_path / "c.spacy", sparse=True)(nlp)]
    assert [doc.cats for doc in sparse] == [{"a": 1.0, "zero": 0.0}, {}, {"b": 0.5}]
    assert all(doc.user_data[COMPLETE_KEY] for doc in sparse)


def test_labels_exclude_each_other_as_for_train(tmp_path: Path) -> None:
    """Where one of several is the most probable, others are unknown."""
    partly = [{"text": "x", "label": {"a": 1.0}}, {"text": "y", "label": {"a": 0.6, "b": 0.3}}]
    assert converted(partly, "c.jsonl", tmp_path) == partly
    (tmp_path / "back.jsonl").unlink()
    assert [row["label"] for row in converted(partly[:1], "d.jsonl", tmp_path)] == ["a"]


def test_fields_have_their_names(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "c.jsonl", [{"body": "x", "topic": "a"}, {"body": "y", "topic": "b"}])
    options = ("--text-field", "body", "--label-field", "topic")
    call("convert", source, tmp_path / "c.csv", *options)
    assert (tmp_path / "c.csv").read_bytes() == b"body,topic\r\nx,a\r\ny,b\r\n"
    assert "there is no 'label'" in call("convert", source, tmp_path / "d.csv", code=1).stderr
    assert not (tmp_path / "d.csv").exists()


def refusal(source: Any, output: Any, *options: str) -> str:
    return call("convert", source, output, *options, code=1).stderr


def test_files_are_replaced_if_asked_for(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "c.jsonl", RECORDS)
    (tmp_path / "c.csv").write_text("mine", encoding="utf-8")
    assert "exists. Use --force" in refusal(source, tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text(encoding="utf-8") == "mine"
    call("convert", source, tmp_path / "c.csv", "--force")
    assert (tmp_path / "c.csv").read_text(encoding="utf-8").startswith("text,label")
    assert "is read, and would be replaced" in refusal(source, source, "--force")
    (tmp_path / "texts").mkdir()
    assert "is a folder, which is not replaced" in refusal(source, tmp_path / "texts", "--force")


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("../up", "The label '../up' cannot be the name of a folder"),
        ("long" * 64, "cannot be the name of a folder"),
        ("/tmp/x", "The label '/tmp/x' cannot"),
        ("a//b", "cannot"),
        (".hidden", "cannot"),
        ("a\0b", "cannot"),
        (".", "cannot"),
        (["a", "b"], "one label for each text"),
    ],
)
def test_a_label_that_is_no_folder_is_refused(label: Any, message: str, tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "c.jsonl", [{"text": "x", "label": "a"}, {"text": "y", "label": label}])
    assert message in refusal(source, tmp_path / "texts")
    assert [path.name for path in tmp_path.iterdir()] == ["c.jsonl"]


def test_ids_of_some_documents_are_refused(tmp_path: Path) -> None:
    records = [{**record, "id": k} if k else record for k, record in enumerate(RECORDS)]
    source = write_jsonl(tmp_path / "c.jsonl", records)
    message = refusal(source, tmp_path / "c.spacy")
    assert f"1 of the {len(records)} documents have no 'id'" in message
    call("convert", source, tmp_path / "c.spacy", "--id-field", "")
    assert (tmp_path / "c.spacy").exists()


@pytest.mark.parametrize("option", [("--lang", "de"), ("--id-field", "number")])
def test_options_of_documents_of_spacy_are_refused_elsewhere(option: tuple[str, str], tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "c.jsonl", RECORDS)
    assert f"{option[0]} has no effect unless OUT ends in .spacy." in refusal(source, tmp_path / "c.csv", *option)


def test_what_cannot_be_read_or_written_is_said(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "c.jsonl", RECORDS)
    assert "must end in .jsonl, " in refusal(source, tmp_path / "c.json")
    assert "There is no file or folder" in refusal(tmp_path / "none", tmp_path / "c.csv")
    assert "has no documents" in refusal(write_jsonl(tmp_path / "empty.jsonl", []), tmp_path / "c.csv")
    bad = tmp_path / "bad.csv"
    bad.write_text('text,label\nx,a\n"y,b\n', encoding="utf-8")
    assert "bad.csv, line 3: cannot be read as CSV" in refusal(bad, tmp_path / "d.jsonl")
    assert "There is no tokenizer for the language 'qq'" in refusal(source, tmp_path / "c.spacy", "--lang", "qq")
    assert {path.name for path in tmp_path.iterdir()} == {"bad.csv", "c.jsonl", "empty.jsonl"}


def test_documents_of_spacy_have_different_ids(tmp_path: Path) -> None:
    source = write_jsonl(
        tmp_path / "source.jsonl", [{**RECORDS[0], "id": 5}, RECORDS[1] | {"id": 6}, RECORDS[2] | {"id": 5}]
    )
    said = call("convert", source, tmp_path / "c.spacy", code=1).stderr
    assert "line 3: line 1 has the same id, 5" in said
    call("convert", source, tmp_path / "c.spacy", "--id-field", "")
    call("convert", source, tmp_path / "c.csv")


def test_ids_of_documents_of_spacy_may_be_left_out(tmp_path: Path) -> None:
    docs = [spacy.blank("xx")(record["text"]) for record in RECORDS]
    for doc, name in zip(docs, ["one", "two", "one"], strict=False):
        doc.cats, doc.user_data[ID_KEY] = {"a": 1.0}, name
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "source.spacy")
    call("convert", tmp_path / "source.spacy", tmp_path / "c.jsonl")
    assert [row.get("id") for row in rows_of(tmp_path / "c.jsonl")[:3]] == ["one", "two", "one"]
    assert "have no 'id'" in call("convert", tmp_path / "source.spacy", tmp_path / "c.spacy", code=1).stderr
    call("convert", tmp_path / "source.spacy", tmp_path / "c.spacy", "--id-field", "")
    saved = DocBin().from_disk(tmp_path / "c.spacy").get_docs(spacy.blank("xx").vocab)
    assert not any(ID_KEY in doc.user_data for doc in saved)


def test_a_table_has_no_unpaired_surrogates(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "source.jsonl", [RECORDS[0], RECORDS[1] | {"note": "a\ud800"}])
    assert "Document 2, 'note': the string has an unpaired surrogate" in refusal(source, tmp_path / "c.csv")
    source = write_jsonl(tmp_path / "key.jsonl", [{**RECORDS[0], "n\ud800": 1}])
    assert "The key 'n\\ud800' has an unpaired surrogate" in refusal(source, tmp_path / "c.csv")
    call("convert", source, tmp_path / "c.jsonl")


def test_endings_in_capitals(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "source.jsonl", RECORDS)
    call("convert", source, tmp_path / "C.JSONL.GZ")
    assert (tmp_path / "C.JSONL.GZ").read_bytes().startswith(b"\x1f\x8b")
    call("convert", tmp_path / "C.JSONL.GZ", tmp_path / "back.jsonl")
    assert rows_of(tmp_path / "back.jsonl") == RECORDS
    renamed = (tmp_path / "C.JSONL.GZ").rename(tmp_path / "c.jsonl")
    said = call("convert", renamed, tmp_path / "again.jsonl", code=1).stderr
    assert "line 1: the file is compressed by gzip, but its name does not end in .gz. Rename it." in said


def test_an_empty_label_is_refused_where_it_is(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "source.jsonl", [RECORDS[0], {"text": "a", "label": ""}])
    said = call("convert", source, tmp_path / "c.csv", code=1).stderr
    assert f"{source}, line 2: a label is an empty string. For a text without labels, write []." in said


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are in UTF-8")
def test_a_label_that_no_folder_can_be_named_by_where_names_are_not_in_utf_8() -> None:
    code = "from spacy_graft.cli.convert import is_file_name; print(is_file_name('sport'), is_file_name('\\u97f3'))"
    settings = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert run("-c", code, **settings).stdout == "True False\n"
