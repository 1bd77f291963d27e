"""Word vectors: files that are read and refused, document vectors against their definition, scores of words."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from spacy_graft.files import BadLineError
from spacy_graft.graft.document_vectors import DocumentVectors
from spacy_graft.vectors.arrays import safetensors_vectors, table_vectors
from spacy_graft.vectors.binary_files import binary_vectors, read_binary_vectors
from spacy_graft.vectors.text_files import read_text_vectors, text_vectors
from spacy_graft.vectors.tokenizers import whole_words
from spacy_graft.vectors.word_scores import Fold, Lexicon, WordScores, WrittenScores
from spacy_graft.vectors.word_vectors import WordVectors

LINES = ["good 1.0 -2.5 3e-2", ". . . 0 0 1", "好 0.5 0.5 0.5"]
WORDS, VECTORS = ("good", ". . .", "好"), np.array([[1.0, -2.5, 0.03], [0, 0, 1], [0.5, 0.5, 0.5]], np.float32)


def written(path, lines):
    content = "\n".join(lines).encode() + b"\n"
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def assert_vectors(found, words=WORDS, vectors=VECTORS):
    assert found.words == words
    assert_array_equal(found.vectors, vectors)
    assert found.vectors.dtype == np.float32


# Text files


@pytest.mark.parametrize("name", ["glove.txt", "glove.txt.gz"])
def test_glove_files(tmp_path, name):
    assert_vectors(text_vectors(str(written(tmp_path / name, LINES)))(None))


@pytest.mark.parametrize("ending", ["", " "])
def test_word2vec_and_fasttext_files(tmp_path, ending):
    assert_vectors(read_text_vectors(written(tmp_path / "w.vec", [line + ending for line in ("3 3", *LINES)])))


@pytest.mark.parametrize(
    ("lines", "line", "problem"),
    [
        (["a 1 2", "b 1 2 3"], 2, "a word and 2 numbers are expected, but there are 3"),
        *((["a 1 2", f"b {extra} 4 5"], 2, "there are 3") for extra in (".3", "3E-05", "nan", "-inf", "+1.")),
        (["a 1 2", "b 1"], 2, "a word and 2 numbers are expected, but there are 1"),
        (["a 1 2", "b 1  "], 2, "but there are 1 numbers"),
        (["a 1 2", " 1 2"], 2, "a word and 2 numbers are expected, but the word is missing"),
        (["a 1 2", "  1 2"], 2, "the word is missing"),
        (["a 1 2", "b 1 x"], 2, "could not convert"),
        (["a 1 2", "b 1 nan"], 2, "not finite"),
        (["a 1 2", "b 1 1e99"], 2, "too large"),
        (["a 1 2", ""], 2, "there are 0"),
        (["a"], 1, "a word and its numbers"),
        (["New York 1 2", "a 1 2"], 1, "'York' is no number. If words have spaces, put a line before"),
        (["1 " + "9" * 30, "a 1"], 1, "the numbers of words and columns that it gives are too large"),
        (["9" * 5000 + " 2", "a 1 2"], 1, "are too large"),
        (["3 2", "a 1 2", "b 1 2"], None, "has 2 words, but its first line says 3: it is cut off"),
        (["a 1 2", "a 3 4"], None, "words 1 and 2 are both 'a'"),
    ],
)
def test_text_files_that_are_refused(tmp_path, lines, line, problem):
    path = written(tmp_path / "w.txt", lines)
    with pytest.raises(ValueError, match=problem) as caught:
        read_text_vectors(path)
    assert str(path) in str(caught.value)
    if line is not None:
        assert isinstance(caught.value, BadLineError)
        assert f"line {line}" in str(caught.value)


@pytest.mark.parametrize("path", [None, ""])
def test_a_config_whose_path_was_not_given(path):
    with pytest.raises(ValueError, match=r"TextVectors.v1 needs a path. .*--paths.words"):
        text_vectors(path)


def test_text_files_in_another_encoding_cut_off_empty_or_missing(tmp_path):
    path = tmp_path / "w.txt"
    path.write_bytes("schön 1 2\n".encode("latin-1"))
    with pytest.raises(BadLineError, match="line 1: not UTF-8"):
        read_text_vectors(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="is empty"):
        read_text_vectors(path)
    cut = written(tmp_path / "w.txt.gz", LINES)
    cut.write_bytes(cut.read_bytes()[:-12])
    with pytest.raises(BadLineError, match="compressed file is damaged"):
        read_text_vectors(cut)
    with pytest.raises(FileNotFoundError):
        read_text_vectors(tmp_path / "none.txt")


# Binary files

SPACELESS = ("good", "...", "好")


def binary(words=SPACELESS, vectors=VECTORS, first=b"3 3", end=b""):
    """The bytes of a file, as word2vec (with line ends) and gensim (without) write it."""
    rows = [row.astype("<f4").tobytes() for row in vectors]
    coded = [word if isinstance(word, bytes) else word.encode() for word in words]
    return first + b"\n" + b"".join(word + b" " + row + end for word, row in zip(coded, rows, strict=True))


@pytest.mark.parametrize("name", ["w.bin", "w.bin.gz"])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_binary_files(tmp_path, name, end):
    # Numbers can have bytes that are line ends and spaces.
    bytes_of_text = np.frombuffer(b"\n\n\n\n    0 0 ", "<f4")
    vectors = np.vstack([VECTORS[:2], bytes_of_text])
    data = binary(vectors=vectors, end=end)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert_vectors(binary_vectors(str(tmp_path / name))(None), SPACELESS, vectors)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is no binary file of word2vec"),
        (b"3 3", "is no binary file of word2vec"),
        (binary(first=b"3 -3"), "is no binary file of word2vec"),
        (binary(first=b"3 3 3"), "is no binary file of word2vec"),
        (binary(first=b"0 3"), "is no binary file of word2vec"),
        (binary(first=b"3 " + b"9" * 5000), "is no binary file of word2vec"),
        ("\n".join(LINES).encode(), "is no binary file of word2vec.*TextVectors.v1 reads text files"),
        (b"3 3\na 0 0 1\nb 0 1 0\nc 1 0 0\n", "or a text file: 3 words with 3 numbers have at least 42 bytes"),
        (binary(first=b"9999999999 3"), "cut off or damaged.*at least 139,999,999,986 bytes, but 49 are there"),
        (binary(first=b"3 9999999999"), "cut off or damaged"),
        (binary()[:-1], "word 3: cut off or damaged: the first line says 3 words"),
        (binary()[:-14], "cut off or damaged"),
        (binary(first=b"2 3"), "goes on after the 2 words"),
        (binary(end=b"\n") + b"\n", "goes on after the 3 words"),
        (binary(("a" * 99, "b", "c"), first=b"4 3"), "word 4: cut off or damaged"),
        (binary(("a", "好".encode()[:2], "b")), "word 2: not UTF-8"),
        (binary(("a", "b", "a")), "words 1 and 3 are both 'a'"),
        (binary(("a", "", "b" * 9)), "word 2 is ''"),
        (binary(vectors=np.where(VECTORS == 0.5, np.nan, VECTORS)), "vector 3 has values that are no finite"),
        (binary(vectors=np.where(VECTORS == 0.5, np.inf, VECTORS)), "vector 3 has values that are no finite"),
    ],
)
def test_binary_files_that_are_refused(tmp_path, data, problem):
    path = tmp_path / "w.bin"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=problem) as caught:
        read_binary_vectors(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize(
    ("word", "vector"),
    [
        ("New York", [0.25, 2.0, -1.0]),
        ("in a", [0.5, 0.0, 1.0]),
        ("x 10", [1.0, 4.0, 2.0]),
        ("of the", [1.0, 2.0, 8.0]),
    ],
)
def test_words_with_spaces_in_binary_files_are_seen(tmp_path, word, vector, end):
    """They are read as shorter ones, with letters as numbers and numbers as letters of the next word."""
    path = tmp_path / "w.bin"
    for place in range(3):
        words, vectors = list(SPACELESS), VECTORS.copy()
        words[place], vectors[place] = word, vector
        path.write_bytes(binary(words, vectors, end=end))
        with pytest.raises(ValueError, match=r"w\.bin.* a word has a space|w\.bin, word .* one before it has a space"):
            read_binary_vectors(path)


@pytest.mark.parametrize(
    ("word", "end_of_vector", "problem"),
    [
        ("a york", b"0AAA0", r"word 1: 'a' has a number of the size 2.9e\+26"),
        ("a b", b"\0?", "word 2: .* has a line end or a NUL"),
    ],
)
def test_numbers_that_are_read_as_letters(tmp_path, word, end_of_vector, problem):
    """What tells words with spaces in files without line ends, if the bytes of the numbers are UTF-8."""
    vector = np.frombuffer(bytes(12 - len(end_of_vector)) + end_of_vector, "<f4")
    (tmp_path / "w.bin").write_bytes(binary((word, "c"), [vector, VECTORS[0]], first=b"2 3"))
    with pytest.raises(ValueError, match=problem):
        read_binary_vectors(tmp_path / "w.bin")


def test_binary_files_that_are_damaged_in_compressed_form_or_missing(tmp_path):
    path = tmp_path / "w.bin.gz"
    path.write_bytes(gzip.compress(binary())[:-12])
    with pytest.raises(ValueError, match="compressed file is damaged"):
        read_binary_vectors(path)
    with pytest.raises(FileNotFoundError):
        read_binary_vectors(tmp_path / "none.bin")


# Arrays


@pytest.fixture
def word_list(tmp_path):
    return written(tmp_path / "words.txt", WORDS)


def test_npy_files(tmp_path, word_list):
    np.save(tmp_path / "v.npy", VECTORS.astype(np.float64))
    assert_vectors(table_vectors(tmp_path / "v.npy", word_list)(None))


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (VECTORS[:2], "2 rows, but .* has more words"),
        (np.concatenate([VECTORS, VECTORS]), "6 rows, but .* has 3 words"),
        (VECTORS.astype(np.int64), "table of floating-point numbers"),
        (VECTORS[0], "table of floating-point numbers"),
        (VECTORS[0, :1], "table of floating-point numbers"),
        (VECTORS[0, 0], "table of floating-point numbers"),
        (np.where(VECTORS == 1.0, np.nan, VECTORS), "vector 1 has values that are no finite"),
        (np.array([object()]), "Python objects"),
    ],
)
def test_npy_files_that_are_refused(tmp_path, word_list, array, problem):
    np.save(tmp_path / "v.npy", array, allow_pickle=True)
    with pytest.raises(ValueError, match=problem):
        table_vectors(tmp_path / "v.npy", word_list)(None)


def test_an_npy_file_without_words(tmp_path):
    np.save(tmp_path / "v.npy", VECTORS[:0])
    (tmp_path / "words.txt").touch()
    with pytest.raises(ValueError, match=r"v\.npy: there are no words"):
        table_vectors(tmp_path / "v.npy", tmp_path / "words.txt")(None)


def test_an_npy_file_that_is_cut_off(tmp_path, word_list):
    np.save(tmp_path / "v.npy", VECTORS)
    (tmp_path / "v.npy").write_bytes((tmp_path / "v.npy").read_bytes()[:-4])
    with pytest.raises(ValueError, match=r"cannot be read as a \.npy file"):
        table_vectors(tmp_path / "v.npy", word_list)(None)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), ",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1180591620717411303424, 0), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (True, 12), }",
    ],
)
def test_an_npy_file_with_a_damaged_header(tmp_path, word_list, header):
    padded = header.encode().ljust(117) + b"\n"
    start = b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little")
    (tmp_path / "v.npy").write_bytes(start + padded + bytes(48))
    with pytest.raises(ValueError, match=r"cannot be read as a \.npy file"):
        table_vectors(tmp_path / "v.npy", word_list)(None)


def safetensors(path, tables, **changes):
    """Write tables; changes replace fields of the header of the first."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, table) in tables.items():
        raw = table.tobytes()
        header[name] = {"dtype": dtype, "shape": list(table.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    header[next(iter(tables))].update(changes)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def test_safetensors_files(tmp_path, word_list):
    bias = ("F32", np.zeros(3, np.float32))
    path = safetensors(tmp_path / "m.safetensors", {"b": bias, "embeddings": ("F32", VECTORS)})
    assert_vectors(safetensors_vectors(path, word_list)(None))
    assert_vectors(safetensors_vectors(path, word_list, "embeddings")(None))
    exact = np.array([[1.0, -2.5, 0.5], [0, 0, 1], [2, 4, 8]], np.float32)
    half = safetensors(tmp_path / "h.safetensors", {"e": ("F16", exact.astype(np.float16))})
    assert_vectors(safetensors_vectors(half, word_list)(None), vectors=exact)
    upper = (exact.view(np.uint32) >> 16).astype(np.uint16)
    brain = safetensors(tmp_path / "b.safetensors", {"e": ("BF16", upper)})
    assert_vectors(safetensors_vectors(brain, word_list)(None), vectors=exact)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"dtype": "I8"}, "is of type 'I8'"),
        ({"dtype": []}, r"is of type \[\]"),
        ({"shape": [4, 3]}, "cut off or damaged"),
        ({"shape": [-1, 3]}, "other values than numbers"),
        ({"shape": [0, 2**70], "data_offsets": [0, 0]}, "is damaged: the table 'e' has the shape"),
        ({"data_offsets": [0]}, "other values than numbers"),
        ({"data_offsets": [900, 936]}, "cut off or damaged"),
    ],
)
def test_safetensors_files_that_are_refused(tmp_path, word_list, changes, problem):
    path = safetensors(tmp_path / "m.safetensors", {"e": ("F32", VECTORS)}, **changes)
    with pytest.raises(ValueError, match=problem):
        safetensors_vectors(path, word_list)(None)


def test_safetensors_files_that_are_none(tmp_path, word_list):
    path = tmp_path / "m.safetensors"
    for content in (b"", b"\xff" * 40, (4).to_bytes(8, "little") + b"null", (2).to_bytes(8, "little") + b"{]"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="no safetensors file"):
            safetensors_vectors(path, word_list)(None)
    safetensors(path, {"a": ("F32", VECTORS), "b": ("F32", VECTORS)})
    for tensor, problem in ((None, "are several tables of vectors"), ("c", "is no table 'c'")):
        with pytest.raises(ValueError, match=f"there {problem}.*'a', 'b'"):
            safetensors_vectors(path, word_list, tensor)(None)
    safetensors(path, {"a": ("F32", VECTORS[0])})
    with pytest.raises(ValueError, match="has no table of vectors, which has two dimensions"):
        safetensors_vectors(path, word_list)(None)


@pytest.mark.parametrize(
    ("vocab", "kept"),
    [
        ({"[CLS]": 0, "good": 1, "##ly": 2}, {1: "good"}),
        ([["<s>", 0.0], ["▁good", -1.0], ["ly", -2.0]], {1: "good"}),
        ({"Ġgood": 2, "good": 0, "x": 1}, {2: "good"}),
    ],
)
def test_whole_words_of_a_tokenizer(tmp_path, vocab, kept):
    special = [{"id": 0, "content": name} for name in ("[CLS]", "<s>")]
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocab}, "added_tokens": special}))
    np.save(tmp_path / "v.npy", VECTORS)
    found = table_vectors(tmp_path / "v.npy", tmp_path / "tokenizer.json")(None)
    assert_vectors(found, tuple(kept.values()), VECTORS[list(kept)])


@pytest.mark.parametrize(
    "part",
    [
        {"decoder": {"type": "ByteLevel"}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split"}, {"type": "ByteLevel"}]}},
    ],
)
def test_words_of_a_tokenizer_of_bytes(tmp_path, part):
    """Bytes that are no printable ASCII are written as other characters; "ÃĽ" is half of a letter."""
    vocab = {
        "ĠschÃ¶n": 0,
        "ĠgrÃ¶ÃŁe": 1,
        "ĠgrÃ": 2,
        "Ã¶": 3,
        "Ġ": 4,
        "ĠÄłorÄ¡": 5,
        "Ġ天": 6,
        "ĠðŁĺĢ": 7,
        "Ġgut": 8,
        "ĠĊ": 9,
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocab}, **part}))
    assert whole_words(tmp_path / "tokenizer.json") == {0: "schön", 1: "größe", 5: "Ġorġ", 7: "😀", 8: "gut"}


@pytest.mark.parametrize("added", [3, [{}], [{"content": []}], ["a"]])
def test_added_tokens_of_a_tokenizer_that_are_none(tmp_path, added):
    content = {"model": {"vocab": {"a": 0, "b": 1, "c": 2}}, "added_tokens": added}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    assert whole_words(tmp_path / "tokenizer.json") == {0: "a", 1: "b", 2: "c"}


def test_a_tokenizer_that_is_none(tmp_path):
    np.save(tmp_path / "v.npy", VECTORS)
    for content, problem in (("{", "not JSON"), ("[]", "no tokenizer.json"), ('{"model": 1}', "no tokenizer.json")):
        (tmp_path / "t.json").write_text(content)
        with pytest.raises(ValueError, match=problem):
            table_vectors(tmp_path / "v.npy", tmp_path / "t.json")(None)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("a", "b"), "2 words and 3 vectors"),
        (("a", "b", ""), "word 3 is ''"),
        (("a", "b", "a"), "words 1 and 3 are both 'a'"),
    ],
)
def test_word_vectors_that_are_refused(words, problem):
    with pytest.raises(ValueError, match=problem):
        WordVectors(words, VECTORS)


@pytest.mark.parametrize("rows", [[0, 3], [-1, 0], [0.0, 1.0], [[0, 1]]])
def test_rows_of_word_vectors_that_are_refused(rows):
    with pytest.raises(ValueError, match="w: rows must be numbers of vectors, from 0 to 2"):
        WordVectors(("a", "b"), VECTORS, "w", np.array(rows))


def test_words_that_share_a_vector():
    assert WordVectors(("a", "b", "c", "d"), VECTORS, rows=[0, 2, 2, 1]).places.tolist() == [0, 2, 2, 1]


def test_words_have_the_form_that_documents_give_them():
    """A word that is written so comes before others, and these in their order."""
    given = WordVectors(("Us", "us", "Paris", "PARIS"), VECTORS, rows=[0, 1, 2, 0])
    written = given.as_written(str.lower)
    assert dict(zip(written.words, written.places.tolist(), strict=True)) == {"us": 1, "paris": 2}
    assert given.as_written(str) is given


# Documents


def corpus(rng, n_documents=8, n_words=7, n_columns=3):
    """Vectors of words 0 … n − 1, and documents of these and of unknown words (as symbols); the last has none."""
    vectors = rng.normal(size=(n_words, n_columns)).astype(np.float32)
    documents = [rng.integers(0, n_words + 2, rng.integers(2, 9)) for _ in range(n_documents - 1)]
    documents += [np.array([n_words, n_words + 1])]
    given = WordVectors(tuple(f"w{k}" for k in range(n_words)), vectors)
    symbols = np.arange(100, 100 + n_words, dtype=np.uint64)
    starts = np.cumsum([0, *map(len, documents)])
    return given, symbols, documents, np.concatenate(documents).astype(np.uint64) + 100, starts


def naive_document_vectors(vectors, documents, smoothing):
    """m_i of each document, None without words."""
    counts = np.bincount(np.concatenate(documents), minlength=len(vectors) + 2)
    shares = smoothing / (smoothing + counts / counts.sum())
    means = []
    for document in documents:
        known = [word for word in document if word < len(vectors)]
        total = sum(shares[word] for word in known)
        means.append(sum(shares[word] * vectors[word].astype(float) for word in known) / total if known else None)
    return means


@given(st.integers(0, 1000), st.sampled_from(["all", "training", "pipeline"]), st.sampled_from([1e-3, 0.1]))
def test_document_vectors_and_scores_of_words(seed, kept, smoothing):
    rng = np.random.default_rng(seed)
    given_vectors, keys, documents, symbols, starts = corpus(rng)
    made = DocumentVectors.built("vectors", given_vectors, keys, symbols, starts, smoothing, kept)
    means = naive_document_vectors(given_vectors.vectors, documents, smoothing)
    filled = np.array([mean is not None for mean in means])
    centred = np.array([mean for mean in means if mean is not None])
    centred -= centred.mean(axis=0)
    columns = made.columns.values.T
    assert_array_equal(columns[~filled], 0.0)
    # Axes turn the space and scale it, no more.
    scale = (centred**2).sum(axis=1).mean()
    assert_allclose(columns[filled] @ columns[filled].T, centred @ centred.T / scale, atol=1e-6)
    assert_allclose((columns[filled] ** 2).sum(axis=1).mean(), 1.0)
    off = columns.T @ columns
    assert_allclose(off, np.diag(np.diag(off)), atol=1e-9)
    weights = rng.normal(size=(3, 2))
    scores = made.word_scores(weights)
    totals = np.ones((len(documents), 2))
    scores.add_scores(symbols, starts, totals)
    assert_allclose(totals - 1.0, columns @ weights, atol=1e-5)
    assert len(scores.lexicon) == (len(np.unique(symbols[symbols < 107])) if kept == "training" else 7)
    assert_bits_do_not_depend_on_others(scores, symbols, starts, totals)
    for document, total in zip(documents, totals, strict=True):
        rows, values, of_words = scores.contributions(document.astype(np.uint64) + 100)
        assert_allclose(values @ of_words, total - 1.0, atol=1e-12)
        assert len(rows) == 0 or values.sum() == pytest.approx(1.0)


def assert_bits_do_not_depend_on_others(scores, symbols, starts, totals):
    """One document at a time, written down and divided by 1."""
    written_down = scores.written()
    assert isinstance(written_down.scores, Fold if scores.digest else WrittenScores)
    assert written_down.written() is written_down
    for which in (scores, written_down, scores.divided(1.0), scores.with_label()):
        for i in range(len(starts) - 1):
            one = np.ones((1, which.n_labels))
            which.add_scores(symbols[starts[i] : starts[i + 1]], np.array([0, starts[i + 1] - starts[i]]), one)
            assert_array_equal(one[0, :2], totals[i])
            assert_array_equal(one[0, 2:], 1.0)


def test_known_words_are_counted_in_documents():
    vectors = WordVectors(("a", "b", "c"), np.eye(3, dtype=np.float32))
    symbols = np.array([0, 0, 1, 0, 9], np.uint64)
    made = DocumentVectors.built("v", vectors, np.arange(3, dtype=np.uint64), symbols, np.array([0, 3, 5]))
    assert_array_equal(made.lexicon.known, [2, 1, 0])
    assert_allclose(made.lexicon.shares, [1e-2 / (1e-2 + 0.6), 1e-2 / (1e-2 + 0.2), 1.0])
    assert made.report == {"words": 3, "columns": 3, "words_in_training": 2, "coverage": 0.8}


@pytest.mark.parametrize("factor", [1e-30, 1e-20, 1e20, 1e38])
def test_the_size_of_vectors_makes_no_difference(factor):
    symbols, starts = np.array([0, 1], np.uint64), np.array([0, 1, 2])
    made = [
        DocumentVectors.built("v", WordVectors(("a", "b"), table, "w"), np.arange(2, dtype=np.uint64), symbols, starts)
        for table in (np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32) * np.float32(factor))
    ]
    assert_allclose(np.abs(made[1].columns.values), np.abs(made[0].columns.values), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("symbols", "problem"), [([7, 8], "none of its 3 words"), ([1, 1], "have the same vector")])
def test_corpora_without_word_vectors(symbols, problem):
    vectors = WordVectors(("a", "b", "c"), np.eye(3, dtype=np.float32), "w.txt")
    with pytest.raises(ValueError, match=rf"w\.txt: .*{problem}"):
        DocumentVectors.built(
            "v", vectors, np.arange(3, dtype=np.uint64), np.array(symbols, np.uint64), np.array([0, 1, 2])
        )


def test_scores_that_are_written_are_divided():
    lexicon = Lexicon(("a",), np.zeros(1, np.uint64), np.ones(1, np.float32), np.ones(1, np.int32))
    scores = WordScores("v", lexicon, WrittenScores(np.array([[2.0, 4.0]], np.float32)))
    assert_array_equal(scores.divided(2.0).scores.of(np.array([0])), [[1.0, 2.0]])
    assert_array_equal(scores.with_label().scores.of(np.array([0])), [[2.0, 4.0, 0.0]])
