"""Exported models: their scorers in Python and in JavaScript, and what cannot be exported."""

from __future__ import annotations

import json
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from typer.testing import CliRunner, Result

import spacy_graft
from conftest import WORDS, make_examples, make_nlp, make_records
from spacy_graft import GraftClassifier, Grafting, GraftingPath, GraftTextClassifier
from spacy_graft.cli.app import app
from spacy_graft.extract.ends import shown
from spacy_graft.portable.scorer import END_SYMBOL, ExportedModel, lowered

node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")

#: What goes wrong in programs that read texts: halves of surrogate pairs, line ends, U+0000, white space that is none
#: elsewhere, marks, letters whose lower case is longer or depends on others, letters of newer versions of Unicode, and
#: words that have more than letters in them.
PIECES = [
    *("un", "fair", "ΟΔΟΣ", "Σ", "ς", "σ", "ΑΣ'Α", "Σ.", "İ", "I", "ı", "ẞ", "K", "é", "e\u0301", "\u0345", "ʰ", "ﬁ"),
    *("\r\n", "\r", "\n", "\t", "\0", " ", "  ", "\x1c", "\x85", "\xa0", "\u2028", "\u3000", "\u200b", "\ufeff"),
    *(
        "😀",
        "👩‍🔬",
        "\ud800",
        "\udfff",
        "好评",
        "日本",
        "שלום",
        "\u202e",
        "\U00010d50",
        "\ua7cb",
        "\U0010ffff",
        "\uffff",
    ),
    *(
        "ACGT",
        "GUUGAC",
        "ugu",
        "TTGACATA",
        "TATGTCAA",
        "acgun",
        "N",
        "\x7f",
        "\\",
        '"',
        "<",
        "</script>",
        "__proto__",
        "constructor",
    ),
    *("हिन्दी", "می\u200cخواهم", "don't", "a_b-c", "❤\ufe0f"),
]
ANY_TEXT = st.lists(
    st.one_of(st.sampled_from(PIECES), st.text(max_size=3), st.characters(codec=None)), max_size=12
).map(lambda pieces: read_back("".join(pieces)))


def read_back(text: str) -> str:
    """A text as JSON and other languages have it: two halves of a surrogate pair are one character."""
    return json.loads(json.dumps(text))


def hostile_texts(n: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)

    def piece() -> str:
        return chr(rng.randrange(0x110000)) if rng.random() < 0.1 else rng.choice(PIECES)

    return [read_back("".join(piece() for _ in range(rng.randrange(12)))) for _ in range(n)]


TEXTS = hostile_texts(240, seed=1)
#: Three labels that depend on what is in a text.
LABELS = [("σ" in text.lower()) + 2 * ("A" in text or "un" in text) for text in TEXTS]
TAGS = [[name for name in ("un", "Σ", "😀", "\n") if name in text] for text in TEXTS]
LEARNER = Grafting(l1=0.5)
PATH = GraftingPath(steps=5, l1_min_ratio=0.05, refit=2.0)
WORDS_COUNTED = Grafting(l1=0.5, length_normalisation=True)

MODELS: dict[str, dict[str, Any]] = {
    "char": {},
    "char, as written": {"lowercase": False, "ends": False},
    "char_wb": {"analyzer": "char_wb", "learner": PATH},
    "word": {"analyzer": "word", "learner": PATH},
    "byte": {"analyzer": "byte", "learner": WORDS_COUNTED},
    "words counted": {"learner": WORDS_COUNTED, "analyzer": ["char", "word"]},
    "several, of two labels": {"analyzer": ["word", "char_wb", "byte"], "learner": PATH, "y": [k % 2 for k in LABELS]},
    "reverse complement": {"reverse_complement": True, "learner": PATH},
    "reverse complement of words": {"analyzer": "char_wb", "reverse_complement": True, "lowercase": False},
    "labels that do not exclude each other": {"multilabel": True, "y": TAGS, "learner": PATH},
    "no features": {"learner": Grafting(l1=1e6)},
}


@pytest.fixture(scope="module")
def models() -> dict[str, GraftTextClassifier]:
    return {name: fitted(**options) for name, options in MODELS.items()}


def fitted(y: Any = LABELS, learner: Any = LEARNER, texts: Any = TEXTS, **options: Any) -> GraftTextClassifier:
    return GraftTextClassifier(learner, **{"analyzer": "char", **options}).fit(texts, y)


def scorer_of(model: Any) -> ExportedModel:
    return ExportedModel(json.loads(spacy_graft.export(model)))


def bits(numbers: Any) -> str:
    """The bits of doubles, in hexadecimal digits."""
    values = np.asarray(numbers, np.float64).reshape(-1).tolist()
    return "".join(struct.pack(">d", value).hex() for value in values)


def decisions(scores: np.ndarray, scorer: ExportedModel) -> np.ndarray:
    """Scores as ``decision_function`` has them."""
    is_binary = scorer.model["exclusive"] and scores.shape[1] == 2
    return scores[:, 1] - scores[:, 0] if is_binary else scores


# The scorer in Python


@pytest.mark.parametrize("name", MODELS)
def test_python_scores_as_the_estimator_to_the_last_bit(name: str, models: dict[str, GraftTextClassifier]) -> None:
    model, scorer = models[name], scorer_of(models[name])

    @settings(max_examples=40)
    @given(st.lists(ANY_TEXT, min_size=1, max_size=8))
    def check(texts: list[str]) -> None:
        scores = np.array([scorer.scores(text) for text in texts])
        assert bits(decisions(scores, scorer)) == bits(model.decision_function(texts))
        probabilities = np.array([scorer.probabilities(text) for text in texts])
        np.testing.assert_allclose(probabilities, model.predict_proba(texts), rtol=1e-13)
        assert [scorer.predict(text) for text in texts] == list(model.predict(texts))

    check()


@pytest.mark.parametrize("name", MODELS)
def test_python_explains_as_the_estimator(name: str, models: dict[str, GraftTextClassifier]) -> None:
    model, scorer = models[name], scorer_of(models[name])
    for text, explanation in zip(TEXTS[:60], model.explain(TEXTS[:60]), strict=True):
        parts = {(label.label, part.block, part.text): part for label in explanation for part in label.contributions}
        found = {}
        for part in scorer.explain(text):
            block = scorer.model["blocks"][part["block"]]
            ngram = block["ngrams"][part["ngram"]]
            name = " ".join(ngram) if block["symbols"] == "words" else ngram
            if block["symbols"] == "bytes":
                begin, end = (
                    END_SYMBOL * is_end for is_end in (ngram.startswith(END_SYMBOL), ngram.endswith(END_SYMBOL))
                )
                name = f"{begin}{bytes.fromhex(ngram.strip(END_SYMBOL))!r}{end}"
            name = "".join(shown(name))
            weights = {str(scorer.model["labels"][label]): weight for label, weight in block["weights"][part["ngram"]]}
            for label in explanation:
                weight = weights.get(label.label, 0.0) - weights.get(label.against, 0.0)
                if weight:
                    found[label.label, block["name"], name] = weight * part["value"], part["places"]
        assert found.keys() == parts.keys()
        for key, (contribution, places) in found.items():
            assert places == [(span.start, span.end) for (span,) in parts[key].members[0].places]
            assert contribution == pytest.approx(parts[key].contribution, rel=1e-14)


def test_letters_whose_complements_matter_are_lower_cased() -> None:
    """No feature has them."""
    reads = ["AAC", "GUU", "AAA", "UUU", "GTT", "TTT"] * 4
    model = fitted([read in ("AAC", "GUU", "GTT") for read in reads], texts=reads, reverse_complement=True)
    assert not set("gtu").intersection(*model.get_feature_names_out())
    scores = np.array([scorer_of(model).scores(read) for read in reads])
    assert bits(scores[:, 1] - scores[:, 0]) == bits(model.decision_function(reads))


def test_a_sigma_is_lower_cased_without_a_copy_of_the_text() -> None:
    """A copy for each would take minutes in a book in capitals."""

    class Uncopied(str):
        def __getitem__(self, key: Any) -> str:
            assert isinstance(key, int)
            return super().__getitem__(key)

    table = {"letters": {"Ο": "ο"}, "cased": [ord("Ο"), ord("Ο"), ord("Σ"), ord("Σ")], "ignored": [ord("'"), ord("'")]}
    assert "".join(lowered(Uncopied("ΟΣ ΟΣΟ'Σ' Σ'ΣΟ '"), table)[0]) == "ος οσο'ς' σ'σο '"


def test_bytes_that_are_no_text() -> None:
    rng = random.Random(3)
    files = [rng.randbytes(rng.randrange(40)) + b"\x7fELF \x00Ab"[: 9 * (k % 2)] for k in range(80)]
    for learner in (LEARNER, PATH, WORDS_COUNTED):
        model = GraftTextClassifier(learner, analyzer="byte").fit(files, [k % 2 for k in range(80)])
        scorer = scorer_of(model)
        scores = np.array([scorer.scores(file) for file in files])
        assert bits(scores[:, 1] - scores[:, 0]) == bits(model.decision_function(files))


def test_characters_are_not_read_from_bytes(models: dict[str, GraftTextClassifier]) -> None:
    with pytest.raises(ValueError, match="must be a string"):
        scorer_of(models["char"]).scores(b"un")


@pytest.mark.parametrize("model", [{}, {"format": "spacy-graft", "version": 1}, [1], "model"])
def test_other_json_is_no_model(model: Any) -> None:
    with pytest.raises(ValueError, match="no model of format"):
        ExportedModel(model)


def test_the_scorer_needs_nothing_else() -> None:
    """It can be copied to where the package is not installed."""
    source = Path(spacy_graft.__file__).parent / "portable" / "scorer.py"
    program = f"exec(open({str(source)!r}, encoding='utf-8').read()); print(ExportedModel)"
    # Isolated, and without the packages that are installed.
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True, capture_output=True)


# JavaScript

PROGRAM = """
const fs = require("fs");
const bits = (numbers) => {
  const view = new DataView(new ArrayBuffer(8));
  const one = (x) => (view.setFloat64(0, x), view.getBigUint64(0).toString(16).padStart(16, "0"));
  return numbers.map(one).join("");
};
const [folder] = process.argv.slice(1);
const tasks = JSON.parse(fs.readFileSync(`${folder}/tasks.json`, "utf8"));
const results = tasks.map(({ file, documents }) => {
  const scorer = require(`${folder}/${file}`);
  return documents.map((given) => {
    const document = typeof given === "string" ? given : Uint8Array.from(given);
    const scores = bits(scorer.scores(document));
    return [scores, scorer.probabilities(document), scorer.predict(document), scorer.explain(document)];
  });
});
fs.writeFileSync(`${folder}/results.json`, JSON.stringify(results));
"""


def run_node(folder: Path, tasks: list[tuple[Any, list[Any]]]) -> list[list[Any]]:
    """Bits of the scores, probabilities, prediction and evidence in JavaScript, of each model and document."""
    written = []
    for k, (model, documents) in enumerate(tasks):
        spacy_graft.export(model, "js", folder / f"model{k}.js")
        written.append({"file": f"model{k}.js", "documents": documents})
    (folder / "tasks.json").write_text(json.dumps(written), encoding="utf-8")
    subprocess.run(["node", "-e", PROGRAM, str(folder)], check=True, timeout=300)
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


@node
@pytest.mark.slow
def test_javascript_scores_ten_thousand_texts_to_the_last_bit(
    models: dict[str, GraftTextClassifier], tmp_path: Path
) -> None:
    of_model = {name: hostile_texts(1000, seed=10 + k) for k, name in enumerate(models)}
    assert sum(map(len, of_model.values())) > 10_000
    results = run_node(tmp_path, [(models[name], texts) for name, texts in of_model.items()])
    for (name, texts), result in zip(of_model.items(), results, strict=True):
        model, scorer = models[name], scorer_of(models[name])
        assert [found[0] for found in result] == [bits(scorer.scores(text)) for text in texts], name
        scores = np.array([scorer.scores(text) for text in texts])
        assert bits(decisions(scores, scorer)) == bits(model.decision_function(texts)), name
        np.testing.assert_allclose([found[1] for found in result], model.predict_proba(texts), rtol=1e-13)
        assert [found[2] for found in result] == list(model.predict(texts)), name
        for text, found in zip(texts[:200], result, strict=False):
            assert found[3] == json.loads(json.dumps(scorer.explain(text))), (name, text)


@node
@pytest.mark.slow
def test_javascript_reads_bytes(tmp_path: Path) -> None:
    rng = random.Random(4)
    files = [rng.randbytes(rng.randrange(30)) + b"\x89PNG A\xc3\x9f"[: 9 * (k % 2)] for k in range(80)]
    model = GraftTextClassifier(WORDS_COUNTED, analyzer="byte").fit(files, [k % 2 for k in range(80)])
    (result,) = run_node(tmp_path, [(model, [list(file) for file in files])])
    scorer = scorer_of(model)
    assert [found[0] for found in result] == [bits(scorer.scores(file)) for file in files]


@node
@pytest.mark.slow
def test_the_module_is_imported(models: dict[str, GraftTextClassifier], tmp_path: Path) -> None:
    spacy_graft.export(models["word"], "mjs", tmp_path / "model.mjs")
    program = 'import model, { ExportedModel } from "./model.mjs"; '
    program += 'console.log(model instanceof ExportedModel, model.predict("un"))'
    (tmp_path / "use.mjs").write_text(program, encoding="utf-8")
    done = subprocess.run(["node", "use.mjs"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["true", str(models["word"].predict(["un"])[0])]


# Components

CHARACTERS = {"char": {"@graft_features": "spacy_graft.CharacterNgrams.v1", "min_df": 2}}
#: A Doc cannot have them.
HALVES = set(map(chr, range(0xD800, 0xE000)))


def component_of(
    features: dict[str, Any] = CHARACTERS, factory: str = "textcat_graft", greek: bool = False
) -> Language:
    nlp = make_nlp(factory, features=features)
    pieces = ["İ", "Ж", "é\r\n", "\0", "好评", "😀", "\x85", "K"]
    if greek:
        pieces = ["Σ", "Ж", "É"]  # of one label each
    records = [
        {**record, "text": f"{record['text']} {pieces[k % len(pieces)]}"} for k, record in enumerate(make_records(60))
    ]
    spacy_graft.fit(nlp, make_examples(nlp, records))
    return nlp


@pytest.fixture(scope="module")
def pipeline() -> Language:
    return component_of()


@pytest.mark.parametrize("factory", ["textcat_graft", "textcat_graft_multilabel"])
def test_a_component_of_characters_scores_the_same(factory: str) -> None:
    within_words = factory != "textcat_graft"
    nlp = component_of({"char": {**CHARACTERS["char"], "within_words": within_words}}, factory)
    component: Any = nlp.get_pipe(factory)
    component.cfg["threshold"] = 0.3
    scorer = scorer_of(nlp)
    assert not scorer.model["lowercase"].keys() & {"cased"}
    records = [record["text"] for record in make_records(40, seed=7)]
    for text in [*records, *(text for text in hostile_texts(150, seed=5) if not set(text) & HALVES)]:
        doc = nlp(text)
        assert bits(scorer.scores(text)) == bits(component.model.predict([doc])), repr(text)
        np.testing.assert_allclose(scorer.probabilities(text), list(doc.cats.values()), rtol=1e-13)
        predicted = scorer.predict(text)
        assert (predicted if isinstance(predicted, list) else [predicted]) == component.predicted(doc)


def test_calibrated_scores_are_exported() -> None:
    nlp = component_of()
    component: Any = nlp.get_pipe("textcat_graft")
    component.divide_scores(2.5)
    scorer = scorer_of(component)
    for record in make_records(20, seed=8):
        assert bits(scorer.scores(record["text"])) == bits(component.model.predict([nlp(record["text"])]))


# What cannot be exported


def test_words_of_a_tokenizer_are_refused() -> None:
    with pytest.raises(ValueError, match=r"of block 'words' \(TokenNgrams\).*'char', 'char_wb', 'word' or 'byte'"):
        spacy_graft.export(component_of(WORDS))


def test_marks_of_capitals_are_refused() -> None:
    marked = {"char": {**CHARACTERS["char"], "within_words": True, "mark_capitals": True}}
    with pytest.raises(ValueError, match=r"block 'char', whose marks of capitals.*mark_capitals = false"):
        spacy_graft.export(component_of(marked))


def test_sigma_in_tokens_is_refused() -> None:
    """Whether it is final depends on where a token ends."""
    with pytest.raises(ValueError, match=r"Greek sigma.*lowercase = false"):
        spacy_graft.export(component_of(greek=True))
    written = {"char": {**CHARACTERS["char"], "lowercase": False}}
    assert "lowercase" not in scorer_of(component_of(written, greek=True)).model


LENGTHS_IN_TOKENS = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 2.0, "length_normalisation": True}


def test_lengths_in_tokens_are_refused() -> None:
    nlp = make_nlp(features=CHARACTERS, learner=LENGTHS_IN_TOKENS)
    spacy_graft.fit(nlp, make_examples(nlp, make_records(60)))
    with pytest.raises(ValueError, match=r"lengths of documents count spaCy's tokens.*refit"):
        spacy_graft.export(nlp)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: fitted(analyzer=str.split), "its analyzer 'callable' is a function"),
        (lambda: fitted(analyzer="integer", texts=[[1, k % 3] for k in range(240)]), "integers of 64 bits"),
        (lambda: fitted([2**53 + k % 2 for k in range(240)]), "label 9007199254740992 is another number in Java"),
        (lambda: GraftTextClassifier(), "not fitted"),
        (lambda: GraftClassifier(), "not GraftClassifier"),
        (lambda: spacy.blank("xx"), "no enabled graft component"),
        (lambda: make_nlp(), "no weights yet"),
        (lambda: "model.graft", "not str"),
    ],
    ids=["function", "integers", "labels", "not fitted", "items", "no component", "not trained", "path"],
)
def test_refusals_say_what_is_wrong(model: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spacy_graft.export(model())


def test_unknown_formats_are_refused(models: dict[str, GraftTextClassifier], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no format 'jsn'. Did you mean 'json'\? The formats: 'json', 'js', 'mjs'"):
        spacy_graft.export(models["char"], "jsn", tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("to", ["js", "mjs", "html"])
def test_names_do_not_end_a_script(to: str) -> None:
    """Also where the script is put into a page: the scripts of the page are those that it has for other labels."""
    hostile, harmless = (
        spacy_graft.export(GraftTextClassifier(analyzer="word", min_df=1).fit([f"{label} a", "b"], [label, "b"]), to)
        for label in ("</script><!--<script>", "c")
    )
    for tag in ("<script", "</script", "<!--"):
        assert hostile.count(tag) == harmless.count(tag)


# The command


def call(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["export", *map(str, arguments)])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def test_the_command_exports_files_and_pipelines(
    models: dict[str, GraftTextClassifier], pipeline: Language, tmp_path: Path
) -> None:
    models["char_wb"].save(tmp_path / "model.graft")
    pipeline.to_disk(tmp_path / "pipeline")
    for source, model in {"model.graft": models["char_wb"], "pipeline": pipeline}.items():
        assert call(tmp_path / source, "--to", "json").stdout_bytes.decode() == spacy_graft.export(model)
        call(tmp_path / source, "--to", "html", "--output", tmp_path / "out")
        assert (tmp_path / "out").read_bytes().decode() == spacy_graft.export(model, "html")


def test_the_command_refuses_bad_input(models: dict[str, GraftTextClassifier], tmp_path: Path) -> None:
    path, output = tmp_path / "model.graft", tmp_path / "out"
    models["char"].save(path)
    saved = path.read_bytes()
    assert "is read, and would be replaced" in call(path, "--to", "json", "--output", path, code=1).stderr
    assert "--component has no effect on the file" in call(path, "--to", "json", "--component", "x", code=1).stderr
    assert path.read_bytes() == saved
    assert "is not one of 'json', 'js', 'mjs', 'html'" in call(path, "--to", "pdf", code=2).output
    path.write_bytes(path.read_bytes()[:-3])
    GraftClassifier(Grafting(l1=1.0)).fit([["a"], ["b"]] * 5, [0, 1] * 5).save(tmp_path / "items.graft")
    component_of(WORDS).to_disk(tmp_path / "words")
    spacy.blank("xx").to_disk(tmp_path / "blank")
    for source, message in {
        "model.graft": "damaged",
        "items.graft": "holds a 'GraftClassifier', but a 'GraftTextClassifier' is expected",
        "words": "'words' (TokenNgrams)",
        "blank": "no enabled graft component",
        "nothing": "There is no pipeline",
    }.items():
        error = call(tmp_path / source, "--to", "html", "--output", output, code=1).stderr
        assert error.startswith("Error: ")
        assert error.count("\n") == 1
        assert message in error
        assert not output.exists()
