"""``spacy_graft.JsonlCorpus.v1``."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from conftest import make_nlp, recorded, write_jsonl
from spacy_graft.cli.common import CommandError
from spacy_graft.cli.token_corpus import made_doc
from spacy_graft.extract.unread import document_text
from spacy_graft.files import text_lines
from spacy_graft.pipeline.labelled import examples_of
from spacy_graft.pipeline.reader import BadLineError, JsonlCorpus
from spacy_graft.pipeline.targets import ID_KEY, WEIGHT_KEY
from spacy_graft.pipeline.tokenizer import Chunks


def cats_of(corpus: JsonlCorpus, nlp: Language) -> list[dict[str, float]]:
    return [example.reference.cats for example in corpus(nlp)]


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_strings_are_the_one_label_that_holds(tmp_path: Path, blank: Language, name: str) -> None:
    path = write_jsonl(tmp_path / name, [{"text": "One.", "label": "b"}, {"text": "Two, too.", "label": "a"}])
    examples = list(JsonlCorpus(path)(blank))
    assert [example.predicted.text for example in examples] == ["One.", "Two, too."]
    assert [example.reference.cats for example in examples] == [{"a": 0.0, "b": 1.0}, {"a": 1.0, "b": 0.0}]
    assert [token.text for token in examples[1].predicted] == ["Two", ",", "too", "."]
    assert not examples[0].predicted.cats


def test_lists_are_all_labels_that_hold(tmp_path: Path, blank: Language) -> None:
    path = write_jsonl(tmp_path / "c.jsonl", [{"text": "x", "label": ["a", "c"]}, {"text": "y", "label": []}])
    assert cats_of(JsonlCorpus(path), blank) == [{"a": 1.0, "c": 1.0}, {"a": 0.0, "c": 0.0}]


def test_texts_without_labels(tmp_path: Path, blank: Language) -> None:
    path = write_jsonl(tmp_path / "c.jsonl", [{"text": "x"}, {"text": "y", "label": 7}])
    examples = list(JsonlCorpus(path, label_field=None)(blank))
    assert [example.predicted.text for example in examples] == ["x", "y"]
    assert [example.reference.cats for example in examples] == [{}, {}]
    with pytest.raises(ValueError, match=r"--paths\.unlabelled"):
        JsonlCorpus(None, label_field=None)
    with pytest.raises(ValueError, match=r"--paths\.train"):
        JsonlCorpus(None)


def test_objects_are_taken_as_they_are(tmp_path: Path, blank: Language) -> None:
    path = write_jsonl(tmp_path / "c.jsonl", [{"text": "x", "label": {"b": 0.25, "a": 1}}, {"text": "y", "label": "c"}])
    assert cats_of(JsonlCorpus(path), blank) == [{"b": 0.25, "a": 1.0}, {"a": 0.0, "b": 0.0, "c": 1.0}]


def test_labels_of_the_component_are_zero_where_the_file_lacks_them(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "dev.jsonl", [{"text": "x", "label": "b"}, {"text": "y", "label": "new"}])
    nlp = make_nlp()
    other = nlp.add_pipe("textcat")
    for label in ("a", "b"):
        nlp.get_pipe("textcat_graft").add_label(label)  # type: ignore[attr-defined]
        other.add_label(f"not {label}")  # type: ignore[attr-defined]
    assert cats_of(JsonlCorpus(path), nlp)[0] == {"a": 0.0, "b": 1.0, "new": 0.0}


def test_fields_and_limit(tmp_path: Path, blank: Language) -> None:
    records = [{"body": str(i), "topic": f"t{i}", "key": f"k{i}", "counts": i + 0.5} for i in range(5)]
    path = write_jsonl(tmp_path / "c.jsonl", records)
    corpus = JsonlCorpus(path, "body", "topic", id_field="key", weight_field="counts", limit=2)
    docs = [example.reference for example in corpus(blank)]
    assert [doc.text for doc in docs] == ["0", "1"]
    assert list(docs[0].cats) == ["t0", "t1"]
    assert docs[1].user_data[ID_KEY] == "k1"
    assert docs[1].user_data[WEIGHT_KEY] == 1.5


def test_text_is_kept_as_it_is(tmp_path: Path, blank: Language) -> None:
    texts = ["", "  ", "a\u0000b", "天气😀", "line\nbreak\u2028", "x" * 5000]
    path = write_jsonl(tmp_path / "c.jsonl", [{"text": text, "label": "a"} for text in texts])
    assert [example.predicted.text for example in JsonlCorpus(path)(blank)] == texts


def test_byte_order_mark_and_empty_lines_are_skipped(tmp_path: Path, blank: Language) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "x", "label": "a"}\r\n\r\n{"text": "y", "label": "b"}')
    assert [example.predicted.text for example in JsonlCorpus(path)(blank)] == ["x", "y"]
    path.write_bytes(b'\xef\xbb\xbf\r\n{"text": "x", "label": "a"}\n')
    assert [example.predicted.text for example in JsonlCorpus(path)(blank)] == ["x"]
    table = tmp_path / "c.csv"
    table.write_bytes(b"\xef\xbb\xbf  \ntext,label\nx,a\n  ,b\n")
    assert [example.predicted.text for example in JsonlCorpus(table)(blank)] == ["x", "  "]


GOOD = b'{"text": "x", "label": "a", "id": 1, "weight": 1}'
BAD_LINES = {
    "cut off": (b'{"text": "x", "label"', "not JSON"),
    "array": (b'[\n{"text": "x", "label": "a"}\n]', "the JSON goes over several lines. Write one object on each"),
    "no object": (b'["x", "a"]', "a JSON object is expected, not a list"),
    "no text": (b'{"label": "a", "id": 2, "weight": 1}', "there is no 'text'. The keys: 'label', 'id', 'weight'"),
    "text is a number": (b'{"text": 3, "label": "a", "id": 2, "weight": 1}', "'text', must be a string, not 3"),
    "no label": (b'{"text": "x", "id": 2, "weight": 1}', "there is no 'label'"),
    "label is null": (b'{"text": "x", "label": null, "id": 2, "weight": 1}', "'label', must be .*, not null"),
    "label is a number": (b'{"text": "x", "label": 1.5, "id": 2, "weight": 1}', "'label', must be .*, not 1.5"),
    "label is a truth": (b'{"text": "x", "label": true, "id": 2, "weight": 1}', "'label', must be .*, not true"),
    "label in list": (b'{"text": "x", "label": ["a", {}], "id": 2, "weight": 1}', "a label must be .*, not an object"),
    "probability": (b'{"text": "x", "label": {"a": 2}, "id": 2, "weight": 1}', "'a' must have a number from 0 to 1"),
    "not a number": (b'{"text": "x", "label": {"a": NaN}, "id": 2, "weight": 1}', "to 1, true or false, not NaN"),
    "unpaired": (b'{"text": "x\\ud800", "label": "a", "id": 2, "weight": 1}', r"unpaired surrogate, \\ud800 at .* 1"),
    "unpaired in label": (b'{"text": "x", "label": "\\udc00", "id": 2, "weight": 1}', r"unpaired surrogate, \\udc00"),
    "not UTF-8": (b'{"text": "\xff", "label": "a", "id": 2, "weight": 1}', "not UTF-8"),
    "no id": (b'{"text": "x", "label": "a", "weight": 1}', "there is no 'id'"),
    "id is a list": (b'{"text": "x", "label": "a", "id": [], "weight": 1}', "'id', must be a string or an integer"),
    "same id": (b'{"text": "y", "label": "a", "id": 1, "weight": 1}', "line 1 has the same id, 1"),
    "no weight": (b'{"text": "x", "label": "a", "id": 2}', "there is no 'weight'"),
    "weight 0": (b'{"text": "x", "label": "a", "id": 2, "weight": 0}', "weight', must be a number from 1e-300 to 1e"),
    "weight is huge": (b'{"text": "x", "label": "a", "id": 2, "weight": 1e999}', "to 1e\\+100, not Inf"),
    "weight is too large": (b'{"text": "x", "label": "a", "id": 2, "weight": 1e308}', "to 1e\\+100, not 1e\\+308"),
    "deep": (b'{"text": ' + b"[" * 100_000, "not JSON"),
}  # fmt: skip


def test_what_is_missing_is_named_with_its_option(tmp_path: Path) -> None:
    lines = write_jsonl(tmp_path / "c.jsonl", [{"body": "x", "topic": "a"}])
    (tmp_path / "c.csv").write_text("body,topic\nx,a\n", encoding="utf-8")
    for path in (lines, tmp_path / "c.csv"):
        with pytest.raises(ValueError, match=r"'text'\..* set text_field \(on the command line --text-field; "):
            list(JsonlCorpus(path, label_field="topic").records())
        with pytest.raises(ValueError, match=r"'label'\..* set label_field \(on the command line --label-field; "):
            list(JsonlCorpus(path, "body").records())
        with pytest.raises(ValueError, match=r"The text and the labels of .* cannot both be 'body'"):
            JsonlCorpus(path, "body", "body")


def test_integers_are_names_of_labels(tmp_path: Path, blank: Language) -> None:
    """As they are in tables."""
    lines = write_jsonl(tmp_path / "c.jsonl", [{"text": "x", "label": 1}, {"text": "y", "label": [0, "1"]}])
    (tmp_path / "c.csv").write_text('text,label\nx,1\ny,"[0, ""1""]"\n', encoding="utf-8")
    for path in (lines, tmp_path / "c.csv"):
        examples = list(JsonlCorpus(path)(blank))
        assert [example.reference.cats for example in examples] == [{"0": 0.0, "1": 1.0}, {"0": 1.0, "1": 1.0}]


def test_texts_of_any_length(tmp_path: Path) -> None:
    """spaCy refuses more than a million characters, for the memory of parsers and entity recognisers."""
    path = write_jsonl(tmp_path / "c.jsonl", [{"text": "word " * 200_001, "label": "a"}])
    for lazy in (False, True):
        (example,) = JsonlCorpus(path, lazy=lazy)(make_nlp())
        assert len(document_text(example.predicted)) == 1_000_005
    nlp = make_nlp()
    nlp.add_pipe("parser")
    too_long = "line 1: the text has 1,000,005 characters, but the pipeline takes at most 1,000,000"
    with pytest.raises(BadLineError, match=too_long):
        list(JsonlCorpus(path)(nlp))


@pytest.mark.parametrize("case", BAD_LINES)
def test_bad_lines_are_named_by_file_and_number(tmp_path: Path, blank: Language, case: str) -> None:
    line, message = BAD_LINES[case]
    path = tmp_path / "bad.jsonl"
    path.write_bytes(GOOD + b"\n\n" + line + b"\n")
    with pytest.raises(BadLineError, match=rf"bad\.jsonl, line 3: .*{message}"):
        list(JsonlCorpus(path, id_field="id", weight_field="weight")(blank))


def test_texts_longer_than_spacy_takes_are_named(
    tmp_path: Path, blank: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blank, "max_length", 3)
    path = write_jsonl(tmp_path / "c.jsonl", [{"text": "four", "label": "a"}])
    with pytest.raises(BadLineError, match="line 1: the text has 4 characters, but the pipeline takes at most 3"):
        list(JsonlCorpus(path)(blank))


def test_texts_that_the_tokenizer_does_not_take_are_named(tmp_path: Path, blank: Language) -> None:
    """SudachiPy raises errors of its own for texts of more than 49,149 bytes."""

    class Tokenizer:
        def __call__(self, text: str) -> Doc:
            if len(text) > 3:
                raise RuntimeError("the text is too long")
            return Doc(blank.vocab, [text])

    nlp = spacy.blank("xx", vocab=blank.vocab)
    nlp.tokenizer = Tokenizer()
    path = write_jsonl(tmp_path / "c.jsonl", [{"text": text, "label": "a"} for text in ("one", "four")])
    with pytest.raises(BadLineError, match=r"c\.jsonl, line 2: the text is too long"):
        list(JsonlCorpus(path)(nlp))
    with pytest.raises(ValueError, match="Document 2: the text is too long"):
        list(examples_of(nlp, [("one", "a"), ("four", "b")]))
    lines = tmp_path / "c.txt"
    lines.write_text("one\nfour\n")
    with pytest.raises(CommandError, match=r"c\.txt, line 2: the text is too long"):
        [made_doc(nlp, lines, number, text) for number, text in text_lines(lines)]


def test_truncated_gzip_is_named(tmp_path: Path, blank: Language) -> None:
    records = [{"text": f"{i * 7919 % 1000}", "label": "a"} for i in range(1000)]
    path = write_jsonl(tmp_path / "c.jsonl.gz", records)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(BadLineError, match=r"c\.jsonl\.gz, line \d+: (the compressed file is damaged|not JSON)"):
        list(JsonlCorpus(path)(blank))


def test_gzip_that_is_none_is_named(tmp_path: Path, blank: Language) -> None:
    path = tmp_path / "c.jsonl.gz"
    path.write_bytes(GOOD)
    with pytest.raises(BadLineError, match=r"line 1: the compressed file is damaged here"):
        list(JsonlCorpus(path)(blank))


def test_corrupt_gzip_is_named(tmp_path: Path, blank: Language) -> None:
    data = bytearray(gzip.compress(b"\n".join([GOOD] * 1000)))
    data[30] ^= 0xFF
    path = tmp_path / "c.jsonl.gz"
    path.write_bytes(data)
    with pytest.raises(BadLineError, match=r"c\.jsonl\.gz, line \d+"):
        list(JsonlCorpus(path)(blank))


def test_missing_path_says_where_to_set_it() -> None:
    with pytest.raises(ValueError, match=r"--paths\.train"):
        JsonlCorpus(None)


def test_missing_file(tmp_path: Path, blank: Language) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.jsonl"):
        list(JsonlCorpus(tmp_path / "none.jsonl")(blank))


def test_files_are_streamed(tmp_path: Path, blank: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels need one pass; after it a document is made when it is asked for."""
    path = write_jsonl(tmp_path / "c.jsonl", [{"text": str(i), "label": "a"} for i in range(10)])
    made: list[str] = []
    monkeypatch.setattr(blank, "make_doc", recorded(blank.make_doc, made))
    next(iter(JsonlCorpus(path)(blank)))
    assert made == ["0"]


def test_labels_are_read_once(tmp_path: Path, blank: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_jsonl(tmp_path / "c.jsonl", [{"text": "x", "label": "a"}])
    corpus = JsonlCorpus(path)
    parsed: list[Any] = []
    monkeypatch.setattr("spacy_graft.files.json.loads", recorded(json.loads, parsed))
    list(corpus(blank))
    list(corpus(blank))
    assert len(parsed) == 3


# Chunks that are tokenized once


@pytest.mark.parametrize("lang", ["en", "de", "fr"])
def test_tokens_of_known_chunks_are_the_same(lang: str) -> None:
    texts = [
        "I don't know, (really) don't: it's 10km at 5a.m. today-ish.",
        "It's  well-known\n\nthat z.B. 10km isn't far... (see http://example.org/a-b)!",
        "well-known (really) today-ish. C'est l'été! :-) \t don't",
    ]
    plain, learnt, chunks = spacy.blank(lang), spacy.blank(lang), Chunks()
    for text in texts:
        chunks.learn(learnt.tokenizer, text)
    for text in texts:
        assert learnt(text).to_array(["ORTH", "SPACY", "NORM"]).tolist() == plain(text).to_array(
            ["ORTH", "SPACY", "NORM"]
        ).tolist()  # fmt: skip
    assert set(learnt.vocab.strings) == set(plain.vocab.strings)


def test_chunks_of_other_tokenizers_are_left_alone() -> None:
    seen: list[str] = []
    Chunks().learn(seen.append, "some text")
    assert not seen


# Other forms than JSON lines


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('text,label\nOne.,b\n"Two, too.",a\n', "CSV"),
        ("\ufefflabel\ttext\r\nb\tOne.\r\na\tTwo, too.\r\n", "TSV"),
        ("text;label;more\nOne.;b;1\nTwo, too.;a;\n", "CSV with semicolons"),
        ("sep=;\ntext;label;more\nOne.;b;1\nTwo, too.;a;\n", "CSV with semicolons"),
        ("\ufeffsep=;\r\ntext;label;more\r\nOne.;b;1\r\nTwo, too.;a;\r\n", "CSV with semicolons"),
        ("\ufeff;;;\r\ntext;label;;\r\nOne.;b;;\r\n;;;\r\nTwo, too.;a;;\r\n", "CSV with semicolons"),
        (";;\ntext;label;;\n;;;\nOne.;b;;\nTwo, too.;a;;note\n;;;\n", "CSV with semicolons"),
        ('\n{"text": "One.", "label": "b"}\n{"text": "Two, too.", "label": "a"}\n', "JSON lines"),
    ],
)
@pytest.mark.parametrize("ending", ["jsonl", "csv", "txt"])
def test_the_content_tells_the_form(
    text: str, name: str, ending: str, tmp_path: Path, blank: Language, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / f"corpus.{ending}", text)
    with caplog.at_level("INFO", logger="spacy"):
        examples = list(JsonlCorpus(path)(blank))
    assert [example.predicted.text for example in examples] == ["One.", "Two, too."]
    assert [example.reference.cats for example in examples] == [{"a": 0.0, "b": 1.0}, {"a": 1.0, "b": 0.0}]
    assert caplog.messages == [f"{path} is read as {name}"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.csv", 'text\n"a, b; c"\n'),
        ("c.tsv", "text\na, b; c\n"),
        ("c.csv", 'sep=;\ntext\n"a, b; c"\n'),
        ("c.csv", "sep=\t\ntext\na, b; c\n"),
    ],
)
def test_one_column_is_separated_as_the_file_says(name: str, text: str, tmp_path: Path, blank: Language) -> None:
    corpus = JsonlCorpus(write(tmp_path / name, text), label_field=None)
    assert [example.predicted.text for example in corpus(blank)] == ["a, b; c"]


def test_cells_of_labels(tmp_path: Path, blank: Language) -> None:
    path = write(tmp_path / "c.csv", 'text,label\nx,"[""a"", ""b""]"\ny,\nz,"{""a"": 0.5}"\nw,[not JSON\n')
    assert cats_of(JsonlCorpus(path), blank) == [
        {"a": 1.0, "b": 1.0, "[not JSON": 0.0},
        {"a": 0.0, "b": 0.0, "[not JSON": 0.0},
        {"a": 0.5},
        {"a": 0.0, "b": 0.0, "[not JSON": 1.0},
    ]


def test_rows_without_text_that_are_not_empty_stay(tmp_path: Path, blank: Language) -> None:
    for table in ('text\n""\nx\n', "text,label\n,a\nx,a\n"):
        path = write(tmp_path / "c.csv", table)
        corpus = JsonlCorpus(path, label_field="label" if "label" in table else None)
        assert [example.predicted.text for example in corpus(blank)] == ["", "x"]


def test_a_column_without_a_name_is_none(tmp_path: Path, blank: Language) -> None:
    """pandas gives its index no name."""
    path = write(tmp_path / "c.csv", ",text,label\n0,x,a\n")
    with pytest.raises(BadLineError, match=r"there is no column ''\. The columns: 'text', 'label'"):
        list(JsonlCorpus(path, id_field="")(blank))


@pytest.mark.parametrize("name", ["[id]", "{id}", "[]"])
def test_a_table_whose_first_column_begins_with_a_bracket(tmp_path: Path, blank: Language, name: str) -> None:
    """It is none of JSON lines; these may have any name, and the name of the column among their values."""
    for suffix, delimiter in (("csv", ","), ("tsv", "\t")):
        path = write(tmp_path / f"c.{suffix}", f"{name}{delimiter}text\n1{delimiter}x\n")
        (example,) = JsonlCorpus(path, label_field=None, id_field=name)(blank)
        assert (example.predicted.text, example.reference.user_data[ID_KEY]) == ("x", "1")
    path = write_jsonl(tmp_path / "c.csv", [{"text": "a,text,b"}, {"text": "x"}])
    assert [example.predicted.text for example in JsonlCorpus(path, label_field=None)(blank)] == ["a,text,b", "x"]
    with pytest.raises(BadLineError, match="line 1: not JSON"):
        list(JsonlCorpus(write(path, '{"text": "x"\n'))(blank))


def test_columns_of_id_and_weight(tmp_path: Path, blank: Language) -> None:
    path = write(tmp_path / "c.csv", "text,label,key,counts\nx,a,k1,2\ny,b,k2,0.5\n")
    docs = [example.reference for example in JsonlCorpus(path, id_field="key", weight_field="counts")(blank)]
    assert [(doc.user_data[ID_KEY], doc.user_data[WEIGHT_KEY]) for doc in docs] == [("k1", 2.0), ("k2", 0.5)]


def test_long_cells_are_read(tmp_path: Path, blank: Language) -> None:
    path = write(tmp_path / "c.csv", f"text,label\n{'x' * 200_000},a\n")
    assert len(next(iter(JsonlCorpus(path)(blank))).predicted.text) == 200_000


def test_documents_of_spacy(tmp_path: Path, blank: Language) -> None:
    docs = [blank("One."), blank("Two, too.")]
    docs[0].cats, docs[0].user_data = {"a": 1.0}, {ID_KEY: "first", WEIGHT_KEY: 2.0}
    docs[1].cats, docs[1].user_data = {"b": 0.25}, {ID_KEY: "second"}
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "c.spacy")
    examples = list(JsonlCorpus(tmp_path / "c.spacy")(blank))
    assert [example.predicted.text for example in examples] == ["One.", "Two, too."]
    assert [example.reference.cats for example in examples] == [{"a": 1.0}, {"b": 0.25}]
    assert examples[0].reference.user_data == {ID_KEY: "first", WEIGHT_KEY: 2.0}
    assert examples[1].reference.user_data == {ID_KEY: "second"}


def test_documents_of_spacy_with_numbers_of_numpy(tmp_path: Path, blank: Language) -> None:
    doc = blank("One.")
    doc.cats = {"a": np.float32(0.25), "b": np.int64(1)}
    doc.user_data = {ID_KEY: np.int64(3), WEIGHT_KEY: np.float64(2)}
    DocBin(docs=[doc], store_user_data=True).to_disk(tmp_path / "c.spacy")
    (_, record), *_ = JsonlCorpus(tmp_path / "c.spacy").records()
    assert json.dumps(record) == '{"text": "One.", "label": {"a": 0.25, "b": 1}, "id": 3, "weight": 2.0}'
    (_, named), *_ = JsonlCorpus(tmp_path / "c.spacy", label_field="id").records()
    assert named == {"text": "One.", "id": record["label"], "weight": 2.0}


@pytest.mark.skipif(os.name == "nt", reason="links need a right of their own")
def test_a_folder_of_links(tmp_path: Path, blank: Language) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "1.txt").write_text("good", encoding="utf-8")
    folder = tmp_path / "texts"
    (folder / "b").mkdir(parents=True)
    (folder / "a").symlink_to(tmp_path / "kept")
    (folder / "b" / "1.txt").symlink_to(tmp_path / "kept" / "1.txt")
    read = [(record["label"], record["text"]) for _, record in JsonlCorpus(folder).records()]
    assert read == [("a", "good"), ("b", "good")]
    (folder / "b" / "2.txt").symlink_to("none")
    with pytest.raises(ValueError, match=r"2\.txt is not a file, or a link to what is not there\. Remove it\."):
        list(JsonlCorpus(folder)(blank))
    (folder / "b" / "2.txt").unlink()
    (folder / "b" / "c").symlink_to(folder)
    with pytest.raises(ValueError, match="c is a link to a folder that it is in"):
        list(JsonlCorpus(folder)(blank))


def test_a_folder_of_texts(tmp_path: Path, blank: Language) -> None:
    for name in ("b/2.txt", "b/1.txt", "a/more/x", ".git/config", "a/.DS_Store"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"text {name}\n", encoding="utf-8")
    examples = list(JsonlCorpus(tmp_path, id_field="id")(blank))
    assert [example.predicted.text for example in examples] == ["text a/more/x\n", "text b/1.txt\n", "text b/2.txt\n"]
    assert examples[0].reference.cats == {"a/more": 1.0, "b": 0.0}
    assert examples[1].reference.user_data[ID_KEY] == "b/1.txt"


def test_labels_that_are_true_or_false(tmp_path: Path, blank: Language) -> None:
    path = write_jsonl(tmp_path / "c.jsonl", [{"text": "x", "label": {"a": True, "b": False, "c": 0.5}}])
    (example,) = JsonlCorpus(path)(blank)
    assert example.reference.cats == {"a": 1.0, "b": 0.0, "c": 0.5}


BAD_CONTENT = {
    "no column": ("c.csv", b"body,label\nx,a\n", r"c\.csv, line 1: there is no column 'text'.*'label'.*--text-field"),
    "other separator": ("c.csv", b"text|label\nx|a\n", r"by commas, semicolons or tabs; its cells: 'text.label'"),
    "no header": ("c.tsv", b"a text\ta\n", r"c\.tsv, line 1: there is no column 'text'"),
    "twice": ("c.csv", b"text,label,text\nx,a,y\n", "line 1: there are several columns 'text'"),
    "no labels": ("c.csv", b'text,name\n"two\nlines",a\n', "line 1: there is no column 'label'. The columns: 'text'"),
    "twice below": ("c.csv", b"\n\ntext,label,text\nx,a,y\n", "line 3: there are several columns 'text'"),
    "one long line": ("c.jsonl", b"x" * 200_000 + b"\n", "line 1: not JSON"),
    "a character": ("c.jsonl", b'{"text": x}\n', r"line 1: not JSON: Expecting value, at character 10\.$"),
    "cells": ("c.csv", b"text,label\nx,a\ny\n", "line 3: 1 cell, but the first line has 2. A cell with"),
    "mark": ("c.csv", b'text,label\n"x,a\ny,b\n', r"line 2: cannot be read as CSV.* goes on to line 3: perhaps"),
    "carriage return": ("c.csv", b"text,label\rx,a\ry,b\r", r"c\.csv, line 1: cannot be read as a table.*end in"),
    "label": ("c.csv", b'text,label\nx,"[1.5]"\n', "line 2: a label must be a string, not 1.5"),
    "weight": ("c.csv", b"text,label,weight\nx,a,much\n", "line 2: the weight, 'weight', must be a number from"),
    "not UTF-8": ("c.csv", b"text,label\n\xff,a\n", "line 2: not UTF-8"),
    "named spacy": ("c.spacy", b'{"text": "x"}', r"c\.spacy does not hold spaCy documents"),
    "damaged": ("c.spacy", b"x\x9cdamaged", r"c\.spacy does not hold spaCy documents: ValueError: \[E1014\]"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_CONTENT)
def test_bad_content_is_named(tmp_path: Path, blank: Language, case: str) -> None:
    name, content, message = BAD_CONTENT[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        list(JsonlCorpus(tmp_path / name, weight_field="weight" if case == "weight" else None)(blank))


def test_a_folder_that_is_none_of_texts_is_named(tmp_path: Path, blank: Language) -> None:
    with pytest.raises(ValueError, match="has no texts"):
        list(JsonlCorpus(tmp_path)(blank))
    (tmp_path / "train.jsonl").write_bytes(GOOD)
    with pytest.raises(ValueError, match=r"train\.jsonl is not in the folder of a label"):
        list(JsonlCorpus(tmp_path)(blank))
    (tmp_path / "train.jsonl").unlink()
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.txt").write_bytes(b"ab\xff")
    with pytest.raises(ValueError, match=r"x\.txt is not UTF-8: byte 2 is 0xff"):
        list(JsonlCorpus(tmp_path)(blank))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_what_can_be_read_only_once_is_refused(tmp_path: Path, blank: Language) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(ValueError, match=r"pipe\.jsonl is a pipe or a device.*Write it to a file first"):
        list(JsonlCorpus(tmp_path / "pipe.jsonl")(blank))


def test_documents_and_texts_are_named_by_what_they_are(tmp_path: Path, blank: Language) -> None:
    docs = [blank("x"), blank("y")]
    for doc in docs:
        doc.cats, doc.user_data[ID_KEY] = {"a": 1.0}, "same"
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "c.spacy")
    with pytest.raises(BadLineError, match=r"c\.spacy, document 2: document 1 has the same id, 'same'"):
        list(JsonlCorpus(tmp_path / "c.spacy", id_field="id")(blank))
    assert len(list(JsonlCorpus(tmp_path / "c.spacy")(blank))) == 2  # ids that nobody asked for


# Parts of a corpus


@pytest.mark.parametrize("lazy", [False, True])
def test_parts_are_a_tenth_and_the_rest_of_each_label(tmp_path: Path, lazy: bool) -> None:
    records = [{"text": str(i), "label": "ab"[i % 2] if i < 90 else f"rare {i % 5}"} for i in range(100)]
    path, nlp = write_jsonl(tmp_path / "c.jsonl", records), make_nlp()
    texts = {}
    for part in ("train", "dev"):
        corpus = JsonlCorpus(path, lazy=lazy, part=part)
        texts[part] = [int(document_text(example.predicted)) for example in corpus(nlp)]
        assert [int(document_text(example.predicted)) for example in corpus(nlp)] == texts[part]
    assert sorted(texts["train"] + texts["dev"]) == list(range(100))
    assert len(texts["dev"]) == 10
    assert {sum(i < 90 and i % 2 == parity for i in texts["dev"]) for parity in (0, 1)} <= {4, 5}


def test_copies_of_a_text_are_in_one_part(tmp_path: Path, nlp: Language) -> None:
    rows = [{"text": f"text {i % 40}", "label": "ab"[i % 2]} for i in range(100)]
    path = write_jsonl(tmp_path / "all.jsonl", rows)
    train, dev = (
        [document_text(example.predicted) for example in JsonlCorpus(path, part=part)(nlp)] for part in ("train", "dev")
    )
    assert sorted(train + dev) == sorted(row["text"] for row in rows)
    assert not set(train) & set(dev)
    assert 8 <= len(dev) <= 12


@pytest.mark.parametrize("copies", [[9] * 9, [3] * 7, [2, 2, 1, 1, 1, 1, 1, 1, 1]])
def test_few_different_texts_have_a_dev_part(tmp_path: Path, nlp: Language, copies: list[int]) -> None:
    rows = [{"text": f"text {i}", "label": "ab"[i % 2]} for i, n in enumerate(copies) for _ in range(n)]
    path = write_jsonl(tmp_path / "all.jsonl", rows)
    train, dev = (len(list(JsonlCorpus(path, part=part)(nlp))) for part in ("train", "dev"))
    assert 0 < dev <= max(copies)
    assert train + dev == len(rows)


def test_too_few_documents_have_no_parts(tmp_path: Path, blank: Language) -> None:
    path = write_jsonl(tmp_path / "c.jsonl", [{"text": "x", "label": "a"}] * 9)
    with pytest.raises(ValueError, match=r"c\.jsonl has fewer than 10 documents \(9\): .*\. Provide a file for dev"):
        list(JsonlCorpus(path, part="dev")(blank))
    with pytest.raises(ValueError, match="part must be one of 'train', 'dev', but is 'test'"):
        JsonlCorpus(path, part="test")


def test_no_label_is_held_out_as_a_whole(tmp_path: Path, blank: Language) -> None:
    """The model would not know it."""
    records = [{"text": f"{label} {n}", "label": label} for n in range(15) for label in "ab"]
    records += [{"text": f"rare {n}", "label": f"c{n}"} for n in range(10)]
    path = write_jsonl(tmp_path / "texts.jsonl", records)
    train, dev = (JsonlCorpus(path, part=part) for part in ("train", "dev"))
    assert train.labels == ("a", "b", *(f"c{n}" for n in range(10)))
    assert set(dev.labels) == {"a", "b"}
    assert len(list(train(blank))) + len(list(dev(blank))) == 40


def test_lists_of_python_are_no_labels(tmp_path: Path, blank: Language) -> None:
    """pandas writes such cells."""
    path = write(tmp_path / "c.csv", "text,label\nx,\"['a', 'b']\"\n")
    with pytest.raises(BadLineError, match=r"line 2: the labels .* are a list of Python\. Write it as JSON"):
        list(JsonlCorpus(path)(blank))


@pytest.mark.parametrize("content", ["", "\n", ",,\n"])
def test_an_empty_table(tmp_path: Path, nlp: Language, content: str) -> None:
    path = tmp_path / "empty.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"empty\.csv is empty\. Its first line must name the columns"):
        list(JsonlCorpus(path)(nlp))
