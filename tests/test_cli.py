"""The commands, bad input, and long streams of input."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from typer.testing import CliRunner, Result

import spacy_graft
from conftest import (
    CONFIG,
    PATH,
    REPOSITORY,
    TELLING,
    WORDS,
    Record,
    make_example,
    make_examples,
    make_nlp,
    make_records,
    run,
    run_forked,
    train_fully,
    write_jsonl,
)
from spacy_graft.cli import init_config as init_config_module
from spacy_graft.cli import warm as warm_module
from spacy_graft.cli.app import app
from spacy_graft.cli.common import ENDING, CommandError, Terminated, quoted, terminated_in_order, text_of_error
from spacy_graft.cli.features import write_csv
from spacy_graft.cli.init_config import CorpusSize, complete_config, component_settings
from spacy_graft.cli.inputs import InputText, OnError
from spacy_graft.cli.streaming import ZONE_TEXTS, TextStream, begin_process
from spacy_graft.cli.syntax import add_syntax
from spacy_graft.cli.texts import TextLines
from spacy_graft.explain.features import Feature
from spacy_graft.files import writing
from spacy_graft.messages import one_line, printable
from spacy_graft.model import kernels as model_kernels
from spacy_graft.pipeline import lazy
from spacy_graft.pipeline.defaults import blocks_of, default_features, syntax_features

COMMANDS = [
    "train",
    "evaluate",
    "convert",
    "explain",
    "classify",
    "features",
    "report",
    "path",
    "diff",
    "edit",
    "debug-data",
    "distil",
    "test",
    "init-config",
    "export",
    "warm",
]
TEXT = "A goal in extra time, with salt."
SPACY = "import spacy_graft.cli.spacy_command; from spacy.cli import setup_cli; setup_cli()"


def call(*arguments: object, code: int = 0, input: str | bytes | None = None) -> Result:
    """Run a command in this process; standard output is not a terminal."""
    result = CliRunner().invoke(app, list(map(str, arguments)), input=input)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def refused(*arguments: object, input: str | bytes | None = None) -> str:
    """Run a command with bad input and return its one-line error."""
    result = call(*arguments, code=1, input=input)
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert result.stdout == ""
    return line


def lines_of(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture(scope="module")
def pipeline(fitted: Language, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a trained pipeline."""
    folder = tmp_path_factory.mktemp("pipeline") / "fitted"
    fitted.to_disk(folder)
    return folder


@pytest.fixture(scope="module")
def other_pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a pipeline with another label, trained on other texts."""
    records = [
        {**record, "label": "games" if record["label"] == "sport" else record["label"]}
        for record in make_records(90, seed=5)
    ]
    nlp = make_nlp()
    nlp.get_pipe("textcat_graft").add_label("games")  # type: ignore[attr-defined]
    examples = [
        spacy.training.Example.from_dict(
            nlp.make_doc(record["text"]),
            {"cats": {label: float(label == record["label"]) for label in ("food", "music", "games")}},
        )
        for record in records
    ]
    spacy_graft.fit(nlp, examples)
    folder = tmp_path_factory.mktemp("pipeline") / "other"
    nlp.to_disk(folder)
    return folder


@pytest.fixture
def texts(tmp_path: Path, dev_records: list[Record]) -> Path:
    return write_jsonl(tmp_path / "texts.jsonl", dev_records)


@pytest.fixture
def broken(tmp_path: Path, dev_records: list[Record]) -> Path:
    """Return a file of which lines 2 and 4 are bad."""
    good = [json.dumps(record).encode() for record in dev_records[:3]]
    lines = [good[0], b'{"text": "\xff"}', good[1], b'{"id": 7}', good[2]]
    path = tmp_path / "broken.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


# explain


def test_explain_is_json_when_piped(pipeline: Path, fitted: Language) -> None:
    (line,) = lines_of(call("explain", pipeline, TEXT))
    expected = fitted.get_pipe("textcat_graft").explain(fitted(TEXT)).to_dict()  # type: ignore[attr-defined]
    assert line == json.loads(json.dumps(expected))


def test_explain_takes_label_and_top(pipeline: Path) -> None:
    (line,) = lines_of(call("explain", pipeline, TEXT, "--label", "sport", "--top", 1))
    (label,) = line["labels"]
    assert label["label"] == "sport"
    (part,) = label["contributions"]
    assert part["text"] in TEXT


def test_explain_prints_a_table(pipeline: Path) -> None:
    printed = call("explain", pipeline, TEXT, "--format", "table", "--top", 1, "--fragments").stdout
    for expected in ("sport", "(probability)", "(intercept)", "token n-gram", "more)", "A goal in extra"):
        assert expected in printed
    printed = call("explain", pipeline, TEXT, "--format", "table", "--top", 1, "--against", "music").stdout
    for expected in (
        "sport",
        "(probability)",
        "(log-odds",
        "music",
        "word or phrase",
        "more)",
        "1 less probable label:",
    ):
        assert expected in printed
    options = ("--label", "music", "--against", "food", "--format", "table")
    assert "1 other label:" in call("explain", pipeline, TEXT, *options).stdout


@Language.component("graft_tests_merged")
def merged(doc: Doc) -> Doc:
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[:])
    return doc


def test_explain_has_the_document_that_the_component_sees(pipeline: Path, tmp_path: Path) -> None:
    nlp = spacy.load(pipeline)
    nlp.add_pipe("graft_tests_merged", last=True)
    nlp.to_disk(tmp_path / "model")
    assert call("explain", tmp_path / "model", TEXT).stdout == call("explain", pipeline, TEXT).stdout


def test_explain_compares_labels(pipeline: Path) -> None:
    (line,) = lines_of(call("explain", pipeline, TEXT, "--label", "sport", "--against", "music", "--top", 1))
    (label,) = line["labels"]
    assert (label["against"], len(label["words"]), len(label["contributions"])) == ("music", 1, 1)
    assert "Did you mean 'music'" in refused("explain", pipeline, TEXT, "--against", "musik")
    assert "'sport' cannot be compared with itself" in refused(
        "explain", pipeline, TEXT, "--label", "sport", "--against", "sport"
    )


def test_explain_prints_markup_and_control_characters_literally(pipeline: Path) -> None:
    printed = call("explain", pipeline, "[bold]goal[/bold] \x1b[2J salt", "--format", "table").stdout
    assert "[bold]goal[/bold]" in printed
    assert "\x1b" not in printed


def test_joiners_are_printed_inside_words_alone() -> None:
    assert printable("می\u200cخواهم 👩\u200d🚀") == "می\u200cخواهم 👩\u200d🚀"
    assert one_line("👩\u200d🚀\u200d") == "👩\u200d🚀 "
    assert printable("\u200ca \u200d b\u200b\x1b") == r"\u200ca \u200d b\u200b\x1b"


@pytest.mark.parametrize("name", ["lines.jsonl", "lines.jsonl.gz"])
def test_explain_takes_json_lines(pipeline: Path, tmp_path: Path, name: str) -> None:
    path = write_jsonl(tmp_path / name, [{"id": "a", "body": "goal"}, {"body": "salt"}])
    first, second = lines_of(call("explain", pipeline, path, "--text-field", "body"))
    assert (first["line"], first["id"], first["text"]) == (1, "a", "goal")
    assert (second["line"], second["text"]) == (2, "salt")
    assert "id" not in second


def test_files_and_standard_input_are_one_text(pipeline: Path, tmp_path: Path) -> None:
    text = "goal\nsalt\n"
    (tmp_path / "text.txt").write_text(text)
    from_file = call("explain", pipeline, tmp_path / "text.txt").stdout
    assert from_file == call("explain", pipeline, "-", input=text).stdout
    assert json.loads(from_file)["text"] == text
    assert len(lines_of(call("explain", pipeline, "-", "--input-format", "jsonl", input='{"text": "x"}\n' * 2))) == 2


def test_explain_writes_a_page(pipeline: Path, tmp_path: Path) -> None:
    lines = tmp_path / "texts.jsonl"
    lines.write_text("".join(json.dumps({"text": text, "id": "<i>"}) + "\n" for text in (TEXT, "<b>goal</b>")))
    for source, texts in ((TEXT, 1), (lines, 2)):
        call("explain", pipeline, source, "--label", "sport", "--html", tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        assert page.startswith("<!doctype html>")
        assert page.count("<!doctype html>") == 1
        assert page.count('<div class="graft">') == texts
        assert page.count("<style>") == 1
        assert "<b>goal" not in page
        assert page.count(' lang="xx"') == texts
        assert ("line 2, id &lt;i&gt;" in page) == (texts == 2)


def test_large_pages_are_told(pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_graft.cli.explain.LARGE_PAGE", 1000)
    said = call("explain", pipeline, TEXT, "--html", tmp_path / "page.html").stderr
    assert "page.html has 0 MB: browsers are slow" in said


def test_classify_keeps_order_and_records(
    pipeline: Path, texts: Path, fitted: Language, dev_records: list[Record]
) -> None:
    found = lines_of(call("classify", pipeline, texts, "--batch-size", 4))
    replaced = {"cats": None, "predicted": None}
    assert [{**line, **replaced} for line in found] == [{**record, **replaced} for record in dev_records]
    for line in found:
        assert line["cats"] == pytest.approx(fitted(line["text"]).cats)
        assert line["predicted"] == [max(line["cats"], key=line["cats"].get)]


def test_classify_writes_a_compressed_file(pipeline: Path, texts: Path, tmp_path: Path) -> None:
    output = tmp_path / "new" / "out.jsonl.gz"
    printed = call("classify", pipeline, texts)
    assert call("classify", pipeline, texts, "--output", output).stdout == ""
    assert gzip.decompress(output.read_bytes()).decode() == printed.stdout
    assert [path.name for path in output.parent.iterdir()] == ["out.jsonl.gz"]


@pytest.mark.slow
def test_classify_reads_standard_input_in_processes(pipeline: Path, texts: Path) -> None:
    one = lines_of(call("classify", pipeline, texts))
    code = f"import sys; sys.argv = ['x', 'classify', {str(pipeline)!r}, {str(texts)!r}, '--n-process', '2'];"
    result = run("-c", f"{code} from spacy_graft.cli import main; main()")
    assert [json.loads(line) for line in result.stdout.splitlines()] == one


def test_a_bad_line_is_fatal(pipeline: Path, broken: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    assert f"{broken}, line 2: not UTF-8" in refused("classify", pipeline, broken, "--output", output)
    assert not output.exists()


def test_bad_lines_are_skipped_and_reported(pipeline: Path, broken: Path, dev_records: list[Record]) -> None:
    result = call("classify", pipeline, broken, "--on-error", "skip")
    assert [line["id"] for line in lines_of(result)] == [record["id"] for record in dev_records[:3]]
    first, second = result.stderr.splitlines()
    assert "line 2: not UTF-8" in first
    assert "line 4: there is no 'text'" in second


@pytest.fixture
def table(tmp_path: Path, dev_records: list[Record]) -> Path:
    """Return a table with the texts of the records, in a column `body`."""
    path = tmp_path / "texts.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("number", "body"), *((k, one["text"]) for k, one in enumerate(dev_records))])
    return path


def test_tables_without_labels(pipeline: Path, texts: Path, table: Path) -> None:
    expected = [line["cats"] for line in lines_of(call("classify", pipeline, texts))]
    found = lines_of(call("classify", pipeline, table, "--text-field", "body"))
    assert [line["cats"] for line in found] == expected
    assert [line["number"] for line in found] == [str(k) for k in range(len(expected))]
    explained = lines_of(call("explain", pipeline, table, "--text-field", "body"))
    assert [line["text"] for line in explained] == [line["body"] for line in found]
    assert [line["line"] for line in explained[:2]] == [2, 3]
    assert "there is no column 'text'" in refused("classify", pipeline, table)
    table.write_text(table.read_text().replace("body", "label"))
    found = lines_of(call("classify", pipeline, table, "--text-field", "label"))
    assert [line["cats"] for line in found] == expected


def test_bad_rows_of_tables(pipeline: Path, tmp_path: Path) -> None:
    path = tmp_path / "texts.tsv"
    path.write_bytes(b'text\tn\nA goal\t1\nshort\nSome salt\t2\n\xff\t3\n"a"b\t4\nA choir\t5\n')
    assert f"{path}, line 3: 1 cell, but the first line has 2" in refused("classify", pipeline, path, "--output", "x")
    result = call("classify", pipeline, path, "--on-error", "skip")
    assert [line["n"] for line in lines_of(result)] == ["1", "2", "5"]
    for number, line in zip((3, 5, 6), result.stderr.splitlines(), strict=True):
        assert line.startswith(f"Skipped: {path}, line {number}")


def test_bytes_that_are_not_utf8_in_cells_of_several_lines(pipeline: Path, tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_bytes(b'text,n\nA goal,1\n"Some \xff salt\nand \xe9",2\n"A\nchoir \xe9",3\n"A\nchoir",4\n')
    result = call("classify", pipeline, path, "--on-error", "skip")
    assert [(line["text"], line["n"]) for line in lines_of(result)] == [("A goal", "1"), ("A\nchoir", "4")]
    for number, line in zip((3, 6), result.stderr.splitlines(), strict=True):
        assert line.startswith(f"Skipped: {path}, line {number}: not UTF-8")


def test_a_bad_first_line_of_json_lines_is_skipped(pipeline: Path, tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('text\n{"text": "A goal"}\n')
    result = call("classify", pipeline, path, "--on-error", "skip")
    assert [line["text"] for line in lines_of(result)] == ["A goal"]
    assert f"{path}, line 1: not JSON" in result.stderr


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"PK\x03\x04rest", "is a spreadsheet or an archive, which is not read. Save it as CSV"),
        (b"x\x9crest", "is read as spaCy documents. Texts without labels are JSON lines or a table."),
    ],
)
def test_files_that_have_no_lines(pipeline: Path, tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "texts.bin"
    path.write_bytes(content)
    assert expected in refused("classify", pipeline, path)


@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_a_text_that_the_pipeline_fails_on(
    pipeline: Path, tmp_path: Path, on_error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy, "SPACYS_LIMIT", 0)  # spaCy's limit is kept, as for a parser
    records = [{"text": "goal"}, {"text": "x" * 1_000_001}, {"text": "salt"}]
    path = write_jsonl(tmp_path / "texts.jsonl", records)
    result = call("classify", pipeline, path, "--on-error", on_error, code=int(on_error == "fail"))
    assert len(lines_of(result)) == (1 if on_error == "fail" else 2)
    (line,) = result.stderr.splitlines()
    assert f"{path}, line 2: [E088]" in line


@pytest.mark.slow
def test_classify_uses_constant_memory(fitted: Language) -> None:
    n_read = 0

    class Endless(TextLines):
        def _lines(self) -> Iterator[tuple[int, bytes]]:
            nonlocal n_read
            for number in range(1, 50_001):
                n_read += 1
                yield number, json.dumps({"text": f"goal number{number}"}).encode()

    stream = TextStream(fitted, lambda doc: doc.text, OnError.fail)
    results = stream.run(Endless("-", "text").texts(OnError.fail))
    n_words = len(fitted.vocab.strings)
    for number, (source, text) in enumerate(results, start=1):
        assert source.line == number
        assert text == f"goal number{number}"
        assert n_read <= number + ZONE_TEXTS
        if number == 5 * ZONE_TEXTS:
            break
    results.close()
    assert len(fitted.vocab.strings) <= n_words + 1


def test_few_long_texts_are_in_memory_at_a_time(fitted: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_graft.cli.streaming.PART_CHARACTERS", 40)
    n_read = 0

    def texts() -> Iterator[InputText]:
        nonlocal n_read
        for number in range(1, 11):
            n_read += 1
            yield InputText("goal " * (3 if number < 10 else 100), "-", number)

    stream = TextStream(fitted, len, OnError.fail)
    for number, (text, n_tokens) in enumerate(stream.run(texts()), start=1):
        assert text.line == number
        assert n_tokens == len(text.text.split())
        assert n_read <= number + 2
    assert number == 10


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")
@pytest.mark.parametrize("program", ["spacy_graft", "spacy graft"])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams(program: str, closed: str, pipeline: Path, texts: Path, tmp_path: Path) -> None:
    """As some daemons start commands."""
    output = tmp_path / "labelled.jsonl"
    command = f"{sys.executable} -m {program} classify {quoted(pipeline)} {quoted(texts)} --output {quoted(output)}"
    subprocess.run(["sh", "-c", f"{command} {closed}"], check=True, cwd=tempfile.gettempdir())
    assert len(output.read_text().splitlines()) == len(texts.read_text().splitlines())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize(
    "arguments", [["--help"], ["train", "--help"], ["network", "wordnet", "--help"], ["--version"]]
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_device(arguments: list[str], unbuffered: str) -> None:
    """Commands heed errors of output themselves; help and version are printed before they are called."""
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "spacy_graft", *arguments]
        result = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tempfile.gettempdir(), env=environment
        )
    assert (result.returncode, result.stderr) == (1, "Error: No space left on device\n")


def test_files_are_written_once(pipeline: Path, texts: Path, tmp_path: Path) -> None:
    same = tmp_path / "same.html"
    assert "Both outputs would be written to" in refused("report", pipeline, "--html", same, "--card", same)
    table = tmp_path / "train.csv"
    table.write_text("text,label\n", encoding="utf-8")
    for arguments in (
        ("report", pipeline, "--html"),
        ("report", pipeline, "--card"),
        ("explain", pipeline, TEXT, "--html"),
    ):
        assert "train.csv exists, and its name does not end in ." in refused(*arguments, table)
    assert "train.csv exists, and its name does not end in ." in refused("evaluate", pipeline, texts, "--output", table)
    assert table.read_text(encoding="utf-8") == "text,label\n"
    notes = tmp_path / "notes.md"
    notes.write_text("mine", encoding="utf-8")
    assert "does not end in .jsonl: it is not replaced" in refused("classify", pipeline, texts, "--output", notes)
    assert notes.read_text(encoding="utf-8") == "mine"
    for _ in range(2):  # their own are replaced, those that are compressed as well
        call("explain", pipeline, TEXT, "--html", tmp_path / "page.html.gz")
        call("classify", pipeline, texts, "--output", tmp_path / "labelled.jsonl.gz")
    diagram = tmp_path / "reliability.png"
    diagram.write_bytes(b"mine")
    output = tmp_path / "metrics.json"
    assert "reliability.png exists, and no evaluation" in refused("evaluate", pipeline, texts, "--output", output)
    assert not output.exists()
    diagram.unlink()
    for _ in range(2):  # its own is replaced
        call("evaluate", pipeline, texts, "--output", output)
    assert "Both outputs would be written to" in refused(
        "evaluate", pipeline, texts, "--output", tmp_path / "reliability.png"
    )


@pytest.mark.slow
@pytest.mark.parametrize("n_process", [1, 2])
def test_a_closed_output_pipe(n_process: int, pipeline: Path, tmp_path: Path) -> None:
    texts = write_jsonl(tmp_path / "texts.jsonl", make_records(20_000))
    code = f"""
import subprocess, sys
command = [sys.executable, "-m", "spacy_graft", "classify", {str(pipeline)!r}, {str(texts)!r}]
command += ["--n-process", "{n_process}"]
process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
process.stdout.readline()
process.stdout.close()
print(process.stderr.read().decode(), process.wait())
"""
    assert run("-c", code).stdout.split() == ["141"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("n_process", [1, 2])
def test_sigterm_ends_a_command_without_incomplete_files(n_process: int, pipeline: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spacy_graft", "classify", str(pipeline), "-", "--n-process", str(n_process)]
    command += ["--output", str(tmp_path / "out.jsonl")]
    lines = b"".join(json.dumps(record).encode() + b"\n" for record in make_records(5000))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(lines)  # more than a pipe holds: the command has begun to read
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_while_commands_are_imported() -> None:
    code = """
import sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == "spacy_graft.cli.app":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
import spacy_graft.cli

spacy_graft.cli.main()
"""
    result = run("-c", code, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_process_begins_comes_after_it(fitted: Language, number: signal.Signals) -> None:
    """Python discards exceptions in what it does when it forks."""
    begun = []

    class Executor:
        def submit(self, *_: object) -> None:
            signal.raise_signal(number)
            begun.append(number)

    stream = TextStream(fitted, lambda doc: doc.text, OnError.fail, n_process=2)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in the background of a shell
    try:
        with terminated_in_order(), pytest.raises(KeyboardInterrupt):
            stream._submitted(Executor(), [])  # type: ignore[arg-type]
    finally:
        signal.signal(signal.SIGINT, before)
    assert begun == [number]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_processes_leave_the_signals_of_a_terminal_to_the_one_that_began_them(fitted: Language) -> None:
    stream = TextStream(fitted, lambda doc: doc.text, OnError.fail)
    before = {number: signal.getsignal(number) for number in ENDING}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spacy_graft.cli.streaming.end_after_parent", lambda: None)
        begin_process(stream)
    try:
        assert {number: signal.getsignal(number) for number in ENDING} == {
            signal.SIGINT: signal.SIG_IGN,
            signal.SIGTERM: signal.SIG_DFL,
            signal.SIGHUP: signal.SIG_IGN,
        }
    finally:
        for number, action in before.items():
            signal.signal(number, action)


@pytest.mark.slow
def test_a_process_that_ends_is_told_of(fitted: Language) -> None:
    stream = TextStream(fitted, ended_process, OnError.fail, n_process=2)
    texts = [InputText(f"text {number}", "-", number, None) for number in range(3)]
    with pytest.raises(CommandError, match="A process has ended before its texts were classified"):
        list(stream.run(texts))


def ended_process(doc: Doc) -> None:
    os._exit(1)


# features, report, path, diff


def test_features_in_all_formats(pipeline: Path, fitted: Language) -> None:
    features = fitted.get_pipe("textcat_graft").features()  # type: ignore[attr-defined]
    found = lines_of(call("features", pipeline))
    assert {line["text"] for line in found} == {feature.text for feature in features}
    largest = [max(line["effects"].values()) for line in found]
    assert largest == sorted(largest, reverse=True)
    n = fitted.get_pipe("textcat_graft").report.n_documents  # type: ignore[attr-defined]
    for line in found:
        share = line["df"] / n
        expected = {label: abs(weight) * share * (1.0 - share) for label, weight in line["weights"].items()}
        assert line["effects"] == pytest.approx(expected)
    rows = list(csv.DictReader(io.StringIO(call("features", pipeline, "--format", "csv").stdout)))
    assert [row["text"] for row in rows] == [line["text"] for line in found]
    assert float(rows[0]["sport"]) == found[0]["weights"]["sport"]
    table = call("features", pipeline, "--format", "table", "--top", 2).stdout
    assert found[1]["text"] in table
    assert "2 features" in table


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_tables_where_standard_output_is_not_utf8(encoding: str, pipeline: Path, texts: Path) -> None:
    for command in (("evaluate", pipeline, texts), ("path", pipeline), ("explain", pipeline, f"Żółw: {TEXT}")):
        result = CliRunner(charset=encoding).invoke(app, [*map(str, command), "--format", "table"])
        assert result.exit_code == 0, result.stderr
        assert result.stdout_bytes.decode(encoding).strip()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_csv_is_utf8(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO()
    with io.TextIOWrapper(content, encoding=encoding) as output:
        monkeypatch.setattr("sys.stdout", output)
        write_csv([Feature("żółw", "żółw", "block", "kind", 2, {"a": 1.0})], ("a",))
        assert '\n"żółw","żółw",' in content.getvalue().decode()


def test_csv_keeps_rows_and_has_no_formulas(capsys: pytest.CaptureFixture[str]) -> None:
    pandas = pytest.importorskip("pandas")
    kept = ["a\rb", "a\nb", '"', "a\0b", "a,b", "a=1", " "]
    marked = ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "＝1", "'s", "'=1"]
    weights = {"=cmd": -0.5, "plain": -1e-20}
    write_csv([Feature(text, text, "block", "kind", 2, weights) for text in [*kept, *marked]], ("=cmd", "plain"))
    printed = capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO(printed, newline="")))
    assert list(rows[0]) == ["text", "longest", "block", "kind", "df", "'=cmd", "plain"]
    for column in ("text", "longest"):
        assert [row[column] for row in rows] == [*kept, *(f"'{text}" for text in marked)]
    frame = pandas.read_csv(io.StringIO(printed, newline=""))
    assert frame["text"].tolist() == [row["text"] for row in rows]
    assert frame["'=cmd"].tolist() == [-0.5] * len(rows)
    assert frame["plain"].tolist() == [-1e-20] * len(rows)


def test_features_of_a_label(pipeline: Path) -> None:
    found = lines_of(call("features", pipeline, "--label", "food", "--top", 5))
    effects = [line["effects"]["food"] for line in found]
    assert len(effects) == 5
    assert effects == sorted(effects, reverse=True)
    assert all(line["weights"]["food"] for line in found)


def test_report(pipeline: Path, fitted: Language) -> None:
    report = json.loads(call("report", pipeline).stdout)
    assert report["n_active"] == fitted.get_pipe("textcat_graft").report.n_active  # type: ignore[attr-defined]
    assert "duality_gap" in call("report", pipeline, "--format", "table").stdout


def test_report_writes_a_page(pipeline: Path, tmp_path: Path) -> None:
    call("report", pipeline, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    for label in TELLING:
        assert label in page


def test_report_writes_a_page_about_data(pipeline: Path, texts: Path, tmp_path: Path) -> None:
    call("report", pipeline, "--html", tmp_path / "page.html", "--data", texts)
    page = (tmp_path / "page.html").read_text()
    assert "What decides" in page
    assert "in context" in page
    assert "give --html FILE" in refused("report", pipeline, "--data", texts)
    assert "line 1: there is no 'body'" in refused(
        "report", pipeline, "--html", tmp_path / "no.html", "--data", texts, "--text-field", "body"
    )
    assert not (tmp_path / "no.html").exists()


def test_report_writes_a_card(pipeline: Path, texts: Path, tmp_path: Path) -> None:
    call("report", pipeline, "--card", tmp_path / "README.md", "--data", texts)
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "### Model card of `textcat_graft`" in card
    assert f"#### Scores on `{texts.name}`, " in card
    call("report", pipeline, "--card", tmp_path / "README.md", "--html", tmp_path / "page.html")
    assert "Scores on" not in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert (tmp_path / "page.html").exists()


STEP = {"gap": 1e-5, "refit": None, "log_loss": None, "log_loss_error": None, "difference_error": None, "score": None}
HISTORY = [
    STEP | {"l1_ratio": 0.5, "n_active": 10, "refit": 2.0, "log_loss": 0.9, "log_loss_error": 0.01, "score": 0.5},
    STEP | {"l1_ratio": 0.3, "n_active": 700, "log_loss": 0.5, "log_loss_error": 0.03, "difference_error": 0.01},
    STEP | {"l1_ratio": 0.25, "n_active": 1200, "log_loss": 0.48, "log_loss_error": 0.03, "score": 0.7},
    STEP | {"l1_ratio": 0.25, "n_active": 1250},
]


@pytest.fixture
def history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give loaded pipelines a history."""
    from spacy_graft.pipeline.textcat import TextCatGraft

    monkeypatch.setattr(TextCatGraft, "history", HISTORY)


@pytest.mark.usefixtures("history")
def test_report_names_the_parsimonious_model(pipeline: Path, tmp_path: Path) -> None:
    assert json.loads(call("report", pipeline).stdout)["parsimony"] == {"best": HISTORY[2], "one_se": HISTORY[1]}
    rows = [" ".join(line.split()) for line in call("report", pipeline, "--format", "table").stdout.splitlines()]
    assert "parsimony: one_se 700 features, log-loss 0.5000" in rows
    call("report", pipeline, "--html", tmp_path / "page.html")
    assert "<b>one_se</b> 700 features, log-loss 0.5000" in (tmp_path / "page.html").read_text()


def test_path_of_a_trained_pipeline(pipeline: Path) -> None:
    steps = lines_of(call("path", pipeline))
    assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))
    assert steps == sorted(steps, key=lambda step: -step["l1_ratio"])


@pytest.mark.usefixtures("history")
def test_path(pipeline: Path) -> None:
    assert lines_of(call("path", pipeline)) == HISTORY
    table = call("path", pipeline, "--format", "table").stdout.splitlines()
    marked = {
        line.split()[0]: line.split()[-1] for line in table if line.split()[-1:] in (["best"], ["one_se"], ["chosen"])
    }
    assert marked == {"2": "one_se", "3": "best", "4": "chosen"}
    assert any("0.4800" in line and "1,200" in line and "0.0300" in line for line in table)


@pytest.mark.slow
@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(("name", "magic"), [("plot.png", b"\x89PNG"), ("plot.svg", b"<?xml")])
def test_path_is_plotted(pipeline: Path, tmp_path: Path, name: str, magic: bytes) -> None:
    call("path", pipeline, "--output", tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(magic)


@pytest.mark.slow
@pytest.mark.parametrize("last", [HISTORY[-1], HISTORY[2] | {"l1_ratio": 0.2, "n_active": 1250}], ids=["dev", "folds"])
def test_a_plot_marks_points_that_were_judged(
    pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: dict[str, Any]
) -> None:
    """The chosen model of all documents, which repeats one of them, would be written over it."""
    import matplotlib as mpl

    from spacy_graft.pipeline.textcat import TextCatGraft

    monkeypatch.setattr(TextCatGraft, "history", [*HISTORY[:-1], last])
    with mpl.rc_context({"svg.fonttype": "none"}):
        call("path", pipeline, "--output", tmp_path / "plot.svg")
    plot = (tmp_path / "plot.svg").read_text(encoding="utf-8")
    assert all(f">{mark}<" in plot for mark in ("best", "one_se"))
    assert "chosen" not in plot


@pytest.mark.usefixtures("history")
def test_path_is_not_plotted_without_matplotlib(
    pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    assert "python -m pip install" in refused("path", pipeline, "--output", tmp_path / "plot.png")
    assert not list(tmp_path.iterdir())
    assert ".png, .svg" in refused("path", pipeline, "--output", tmp_path / "plot.gif")


def test_a_path_without_dev_is_not_plotted(pipeline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from spacy_graft.pipeline.textcat import TextCatGraft

    monkeypatch.setattr(TextCatGraft, "history", HISTORY[-1:])
    assert "nothing to plot" in refused("path", pipeline, "--output", tmp_path / "plot.png")
    assert "1,250" in call("path", pipeline, "--format", "table").stdout


def test_formats_have_no_effect_on_files(pipeline: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for command in (["explain", pipeline, TEXT], ["report", pipeline], ["diff", pipeline, pipeline]):
        message = refused(*command, "--html", page, "--format", "json")
        assert "--format has no effect with --html" in message
        assert not page.exists()
        assert f"Wrote {page}" in call(*command, "--html", page).stderr
        page.unlink()


@pytest.mark.parametrize("name", ["-", "labelled.csv", "labelled.tsv.gz", "labelled.spacy"])
def test_classify_writes_json_lines_alone(pipeline: Path, texts: Path, name: str) -> None:
    assert "classify writes JSON lines" in refused("classify", pipeline, texts, "--output", name)
    assert not Path(name).exists()


@pytest.mark.filterwarnings("default:.*are left out")
def test_a_card_of_documents_with_other_labels(pipeline: Path, tmp_path: Path, dev_records: list[Record]) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", [*dev_records, {"text": "a new one", "label": "other"}])
    result = call("report", pipeline, "--card", tmp_path / "card.md", "--data", data)
    assert "1 of 31 documents are left out of all scores" in result.stderr
    assert "30 documents" in (tmp_path / "card.md").read_text()
    write_jsonl(data, [*dev_records, {"text": "a new one", "label": {}}])
    assert "1 of 31" in call("report", pipeline, "--card", tmp_path / "card.md", "--data", data).stderr
    write_jsonl(data, [{"text": "a new one", "label": "other"}])
    message = refused("report", pipeline, "--card", tmp_path / "card.md", "--data", data)
    assert "Its labels: 'food', 'music', 'sport'; those of the documents: 'other'" in message
    write_jsonl(data, [{"text": "a new one", "label": f"other {k}"} for k in range(300)])
    message = refused("report", pipeline, "--card", tmp_path / "card.md", "--data", data)
    assert "those of the documents: 'other 0', 'other 1', 'other 10', 'other 100', 'other 101', " in message
    assert message.endswith("'other 115' and 280 more.")


def test_a_page_of_no_documents(pipeline: Path, tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", [])
    for option in ("--html", "--card"):
        path = tmp_path / f"report.{'md' if option == '--card' else 'html'}"
        assert "has no documents" in refused("report", pipeline, option, path, "--data", data)
        assert not path.exists()


def test_an_edit_of_nothing(pipeline: Path, tmp_path: Path) -> None:
    assert "give --deny, --allow" in refused("edit", pipeline, "--output", tmp_path / "edited")


def test_an_edit_that_cannot_be_written_is_not_begun(pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = refused("edit", pipeline, "--deny", "goal", "--output", tmp_path / "file" / "edited")
    assert f"edited cannot be written: {tmp_path / 'file'} is not a folder" in said
    for option in ("--data", "--dev"):
        said = refused("edit", pipeline, "--deny", "goal", option, tmp_path, "--output", tmp_path / "edited")
        assert f"edited lies in {tmp_path}, which is read" in said


def test_commands_give_a_warning_once(
    pipeline: Path, texts: Path, fitted: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warned(*_: object) -> tuple[Language, Any]:
        for text in ("one", "two", "one"):
            warnings.warn(text, stacklevel=2)
        return fitted, fitted.get_pipe("textcat_graft")

    monkeypatch.setattr("spacy_graft.cli.classify.load_pipeline", warned)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert call("classify", pipeline, texts).stderr == "Warning: one\nWarning: two\n"


def test_features_of_metadata_are_warned_of(tmp_path: Path) -> None:
    block = {"@graft_features": "spacy_graft.DocAttributes.v1", "metadata": ["source"], "min_df": 1}
    nlp = make_nlp(features={"document": block})
    examples = [make_example(nlp, "some words", one) for one in ({"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}) * 9]
    for k, example in enumerate(examples):
        example.predicted.user_data["source"] = ("press", "blog")[k % 2]
    spacy_graft.fit(nlp, examples)
    nlp.to_disk(tmp_path / "model")
    texts = write_jsonl(tmp_path / "texts.jsonl", [{"text": "some words", "source": "press"}])
    data = write_jsonl(tmp_path / "data.jsonl", [{"text": "some words", "label": label} for label in "ab" * 9])
    edit = ("edit", tmp_path / "model", "--deny", "words", "--data", data, "--output", tmp_path / "edited")
    # Without these features nothing is left to edit.
    for code, command in enumerate((("classify", tmp_path / "model", texts), edit)):
        said = call(*command, code=code).stderr
        assert "Warning: the model has features of metadata, 'source', which commands do not read from files." in said


def test_the_version() -> None:
    assert call("--version").stdout.strip() == spacy_graft.__version__


def test_a_mistyped_option(texts: Path) -> None:
    assert "No such option: --outptu. Did you mean '--output'?" in call("train", texts, "--outptu", "x", code=2).stderr


def test_no_command_replaces_what_it_reads(pipeline: Path, texts: Path) -> None:
    before = texts.read_bytes()
    for arguments in (
        ("classify", pipeline, texts, "--output", texts),
        ("evaluate", pipeline, texts, "--output", texts),
        ("explain", pipeline, texts, "--html", texts),
        ("report", pipeline, "--data", texts, "--html", texts),
        ("report", pipeline, "--data", texts, "--card", texts),
        ("convert", texts, texts, "--force"),
        ("network", "cooccurrence", texts, "--corpus", texts),
    ):
        assert "is read, and would be replaced" in refused(*arguments)
    assert texts.read_bytes() == before
    of_model = contents_of(pipeline)
    for arguments in (
        ("classify", pipeline, texts, "--output", pipeline / "textcat_graft" / "model"),
        ("evaluate", pipeline, texts, "--output", pipeline / "meta.json"),
        ("explain", pipeline, texts, "--html", pipeline / "meta.json"),
        ("report", pipeline, "--card", pipeline / "textcat_graft" / "model"),
    ):
        assert "is read, and would be replaced" in refused(*arguments)
    assert contents_of(pipeline) == of_model


def contents_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.filterwarnings("default:The labels of the component exclude each other", "default:1 of 3 documents")
def test_several_of_exclusive_labels_are_warned_of(pipeline: Path, tmp_path: Path) -> None:
    labels: list[list[str]] = [["sport"], ["food", "music"], []]
    path = write_jsonl(tmp_path / "several.jsonl", [{"text": "goal", "label": of_text} for of_text in labels])
    said = call("evaluate", pipeline, path).stderr
    assert "1 of 3 documents have several of them, the first of these is document 2; 1 have none." in said


def test_path_without_history(pipeline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from spacy_graft.pipeline.textcat import TextCatGraft

    monkeypatch.setattr(TextCatGraft, "history", [])
    assert "has no steps of training" in refused("path", pipeline)


def test_diff(pipeline: Path, other_pipeline: Path) -> None:
    found = json.loads(call("diff", pipeline, other_pipeline).stdout)
    assert (found["labels_added"], found["labels_removed"]) == (["games"], ["sport"])
    before, after = ({line["text"] for line in lines_of(call("features", p))} for p in (pipeline, other_pipeline))
    assert found["n_features"] == [len(before), len(after)]
    assert {change["feature"] for change in found["features_added"]} == after - before
    assert {change["feature"] for change in found["features_removed"]} == before - after
    assert all(change["before"] * change["after"] < 0 for change in found["sign_changes"])
    assert {change["label"] for change in found["weight_changes"]} <= {"food", "music"}
    printed = call("diff", pipeline, other_pipeline, "--format", "table", "--top", 2).stdout
    assert "labels: +games, -sport" in printed
    assert "2 shown" in printed


def test_diff_writes_a_page(pipeline: Path, other_pipeline: Path, tmp_path: Path) -> None:
    call("diff", pipeline, other_pipeline, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    for expected in ("Changed weights", "labels: +games, -sport", "graft-columns"):
        assert expected in page
    for side, path in (("before", pipeline), ("after", other_pipeline)):
        assert f"{side}: {path}" in re.sub("<[^>]+>", "", page)
    # A model beside itself has other anchors there.
    call("diff", pipeline, pipeline, "--html", tmp_path / "same.html")
    anchors = re.findall(r' id="([^"]+)"', (tmp_path / "same.html").read_text())
    assert len(anchors) == len(set(anchors)) > 0


def test_narrow_terminals_do_not_break_numbers(pipeline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = call("path", pipeline, "--format", "table").stdout
    monkeypatch.setenv("COLUMNS", "30")
    assert call("path", pipeline, "--format", "table").stdout == wide


def test_weights_that_were_or_become_0_changed() -> None:
    """Of many labels, features have those that are not 0."""
    from spacy_graft.cli.diff import difference_of

    def model(weights: dict[str, float]) -> Any:
        feature = SimpleNamespace(block="words", text="goal", weights=weights)
        table = SimpleNamespace(terms=lambda _: (feature,))
        model = SimpleNamespace(attrs={"snapshot": SimpleNamespace(word_scores=None, features=table)})
        labels = ("a", "b", "c")
        return SimpleNamespace(model=model, labels=labels, features=lambda: [feature], scoring_options=dict)

    found = difference_of(model({"a": 1.0, "c": 3.0}), model({"b": 2.0, "c": 3.0})).weight_changes
    assert {(change.label, change.before, change.after) for change in found} == {("a", 1.0, 0.0), ("b", 0.0, 2.0)}


def test_combinations_of_one_text_are_compared_by_their_blocks() -> None:
    from spacy_graft.cli.diff import difference_of

    def model(weight: float) -> Any:
        terms = [
            tuple(SimpleNamespace(block=block) for block in pair) for pair in (("lower", "orth"), ("orth", "lower"))
        ]
        features = [SimpleNamespace(block="both", text="a × b", weights={"x": own}) for own in (weight, 1.0)]
        table = SimpleNamespace(terms=terms.__getitem__)
        model = SimpleNamespace(attrs={"snapshot": SimpleNamespace(word_scores=None, features=table)})
        return SimpleNamespace(model=model, labels=("x",), features=lambda: features, scoring_options=dict)

    found = difference_of(model(2.0), model(-2.0))
    assert found.n_features == [2, 2]
    assert [(change.before, change.after) for change in found.sign_changes] == [(2.0, -2.0)]


def test_outputs_of_other_commands_and_files_of_models_are_not_replaced(pipeline: Path, tmp_path: Path) -> None:
    table = tmp_path / "train.csv"
    table.write_text("text,label\n", encoding="utf-8")
    assert "train.csv exists, and its name does not end in .html" in refused(
        "diff", pipeline, pipeline, "--html", table
    )
    assert "is read, and would be replaced" in refused("diff", pipeline, pipeline, "--html", pipeline / "config.cfg")
    assert "instead of -." in refused("diff", pipeline, pipeline, "--html", "-")
    assert "Rename it." in refused("classify", pipeline, table, "--text-field", "predicted")


def test_labels_with_the_names_of_columns_are_not_written_as_csv(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spacy_graft.pipeline.textcat import TextCatGraft

    labels = ("df", "x")
    feature = Feature(
        "goal", "goal", "words", "token n-gram", 3, dict.fromkeys(labels, 1.0), dict.fromkeys(labels, 0.5)
    )
    monkeypatch.setattr(TextCatGraft, "features", lambda _: [feature])
    monkeypatch.setattr(TextCatGraft, "labels", labels)
    assert "several columns 'df'" in refused("features", pipeline, "--format", "csv")


def test_diff_of_equal_models(pipeline: Path) -> None:
    found = json.loads(call("diff", pipeline, pipeline).stdout)
    assert not any(
        found[key] for key in ("features_added", "features_removed", "sign_changes", "weight_changes", "labels_added")
    )


# debug-data


def debug_data(folder: Path, train: list[Record], dev: list[Record], *options: object, code: int = 0) -> dict[str, Any]:
    """Return the JSON output of debug-data for two splits."""
    paths = [write_jsonl(folder / f"{name}.jsonl", split) for name, split in (("train", train), ("dev", dev))]
    result = call("debug-data", CONFIG, "--paths.train", paths[0], "--paths.dev", paths[1], *options, code=code)
    return json.loads(result.stdout)


def messages(found: dict[str, Any], level: str) -> str:
    return "\n".join(finding["message"] for finding in found["findings"] if finding["level"] == level)


def test_debug_data_of_a_good_corpus(tmp_path: Path, train_records: list[Record], dev_records: list[Record]) -> None:
    wrong = {**train_records[4], "label": "food"}
    assert train_records[4]["label"] == "music"
    train = [*train_records[:4], wrong, *train_records[5:]]
    found = debug_data(tmp_path, train, dev_records, "--corpora.train.id_field", "id")
    assert found["documents"] == {"train": 120, "dev": 30}
    assert found["labels"]["train"] == {"food": 41, "sport": 40, "music": 39}
    assert found["findings"] == []
    words, characters = found["memory"]["blocks"]
    assert (words["block"], characters["block"]) == ("words", "characters")
    assert words["n_symbols"] == sum(len(record["text"].split()) + 2 for record in train)
    assert 0 < words["n_columns"] <= words["n_nodes"]
    assert 0 < found["memory"]["total_bytes"] < found["memory"]["peak_bytes"]
    (only,) = found["label_errors"]
    assert (only["document"], only["labels"], only["predicted"]) == ("4", ["food"], ["music"])


def test_debug_data_of_a_bad_corpus(tmp_path: Path, train_records: list[Record], dev_records: list[Record]) -> None:
    train = [
        *train_records,
        {"text": " ", "label": "food"},
        {"text": "goal", "label": []},
        {"text": "salt", "label": ["food", "music"]},
        train_records[0],
        {**train_records[1], "label": "sport"},
        {"text": "bread", "label": "bakery"},
    ]
    dev = [*dev_records, train_records[2], {"text": "coal", "label": "mining"}]
    found = debug_data(tmp_path, train, dev, "--no-train", code=1)
    errors, warnings = messages(found, "error"), messages(found, "warning")
    assert "1 document (train line 121) without text" in errors
    assert "1 document (train line 122) without labels" in errors
    assert "1 document (train line 123) with exclusive labels that do not sum to 1" in errors
    assert (
        "train: 1 document (train line 125 = train line 2) with the text of an earlier document and different labels"
        in warnings
    )
    of_earlier = "with the text and the labels of an earlier document"
    assert f"train: 1 document (train line 124 = train line 1) {of_earlier}" in warnings
    assert "dev: 1 document (dev line 31 = train line 3)" in warnings
    assert "fewer than 10 training documents: 'bakery'" in warnings
    assert "in dev only, which cannot be predicted: 'mining'" in warnings
    assert found["label_errors"] is None
    assert found["memory"]["n_documents"] == 124


def test_debug_data_of_a_single_label(tmp_path: Path, train_records: list[Record]) -> None:
    """Nothing can be trained, but the report is printed."""
    records = [record for record in train_records if record["label"] == "food"]
    found = debug_data(tmp_path, records, records[:1], "--train", code=1)
    assert "at least two; the training corpus has 'food'" in messages(found, "error")
    rare = debug_data(tmp_path, [*train_records, {"text": "bread", "label": "bakery"}], [], "--no-train", code=1)
    assert "Labels with fewer than 10 training documents: 'bakery'." in messages(rare, "warning")
    assert "without a dev document" not in messages(rare, "warning")
    assert found["memory"]["n_documents"] == 40
    assert found["label_errors"] is None


def test_debug_data_extrapolates_from_a_sample(
    tmp_path: Path, train_records: list[Record], dev_records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spacy_graft.cli.debug_data.MAX_MEASURED", 60)
    monkeypatch.setattr("spacy_graft.cli.debug_data.MAX_TRAINED", 100)
    found = debug_data(tmp_path, train_records, dev_records)
    assert found["label_errors"] is None
    assert (found["memory"]["n_documents"], found["memory"]["n_measured"]) == (120, 60)
    n_symbols = sum(len(record["text"].split()) + 2 for record in train_records)
    assert found["memory"]["blocks"][0]["n_symbols"] == pytest.approx(n_symbols, rel=0.1)


def test_debug_data_prints_tables(tmp_path: Path, train_records: list[Record], dev_records: list[Record]) -> None:
    train, dev = write_jsonl(tmp_path / "a.jsonl", train_records), write_jsonl(tmp_path / "b.jsonl", dev_records)
    paths = ("--paths.train", train, "--paths.dev", dev)
    printed = call("debug-data", CONFIG, *paths, "--format", "table").stdout
    for expected in ("food", "character n-gram", "at the peak", "All labels are as models", "No problems found"):
        assert expected in printed
    write_jsonl(tmp_path / "a.jsonl", [*train_records[:4], {**train_records[4], "label": "food"}, *train_records[5:]])
    printed = call("debug-data", CONFIG, *paths, "--format", "table").stdout
    assert "Likely label errors (models of the other documents predict other labels)" in printed


def test_debug_data_knows_the_labels_of_the_config(tmp_path: Path, train_records: list[Record]) -> None:
    data = write_jsonl(tmp_path / "a.jsonl", train_records)
    labels = ("--initialize.components.textcat_graft.labels", '["food", "drink"]')
    result = call("debug-data", CONFIG, "--paths.train", data, "--paths.dev", data, "--no-train", *labels, code=1)
    findings = {finding["message"]: finding["level"] for finding in json.loads(result.stdout)["findings"]}
    others = sorted({record["label"] for record in train_records} - {"food"})
    problem = next(
        message for message in findings if message.startswith("train has labels that the component will not")
    )
    assert findings[problem] == "error"
    assert all(repr(label) in problem for label in others)
    assert findings["Labels of [initialize] without a training document: 'drink'."] == "warning"


def test_debug_data_refuses(tmp_path: Path, broken: Path) -> None:
    assert "There is no config" in refused("debug-data", tmp_path / "none.cfg")
    assert "JsonlCorpus.v1 needs a path" in refused("debug-data", CONFIG)
    paths = ("--paths.train", broken, "--paths.dev", broken)
    assert f"{broken}, line 2: not UTF-8" in refused("debug-data", CONFIG, *paths)
    assert "JsonlCorpus.v1 needs a path" in refused("debug-data", CONFIG, "--paths.train", "", *paths[2:])
    # spaCy goes on with the whole section, or with all.
    for option, value, problem in (
        ("--training.max_steps", "x", "Config validation error max_steps Input should be a valid integer"),
        ("--training.train_corpus", "corpora.nope", "corpora -> nope not a valid section reference: corpora.nope"),
        ("--training.train_corpus", "nope", "KeyError: 'nope'"),
        ("--components.textcat_graft.nope", "x", "textcat_graft -> nope unexpected argument: 'nope'"),
    ):
        assert refused("debug-data", CONFIG, *paths, option, value).endswith(problem)
    call("debug-data", CONFIG, "--nonsense", code=2)
    call("debug-data", CONFIG, "nonsense", code=2)


# init-config


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["--exclusive", "--multilabel"])
def test_init_config_writes_a_config_that_trains(corpus: Path, tmp_path: Path, kind: str) -> None:
    config = tmp_path / "config.cfg"
    call("init-config", config, "--lang", "en", kind, "--no-syntax", "--size", "small",
         "--train", corpus / "train.jsonl.gz", "--dev", corpus / "dev.jsonl")  # fmt: skip
    run_forked("-m", "spacy", "train", config, "--output", tmp_path, "--training.max_steps", 3)
    nlp = spacy.load(tmp_path / "model-best")
    assert nlp.pipe_names == ["textcat_graft" if kind == "--exclusive" else "textcat_graft_multilabel"]
    assert nlp.meta["performance"]["cats_score"] > 0.8


def test_init_config_takes_names_of_fields(tmp_path: Path) -> None:
    call("init-config", tmp_path / "config.cfg", "--text-field", "Message", "--label-field", "Category")
    corpora = spacy.util.load_config(tmp_path / "config.cfg")["corpora"]
    for split in ("train", "dev"):
        assert (corpora[split]["text_field"], corpora[split]["label_field"]) == ("Message", "Category")


@pytest.mark.parametrize(("size", "min_df"), [("small", [None, 2]), ("medium", [None, 3]), ("large", [10, 10])])
def test_the_size_of_the_corpus_says_how_rare_features_may_be(size: str, min_df: list[Any], tmp_path: Path) -> None:
    call("init-config", tmp_path / "config.cfg", "--size", size)
    features = spacy.util.load_config(tmp_path / "config.cfg")["components"]["textcat_graft"]["features"]
    assert [features[block]["min_df"] for block in ("words", "characters")] == min_df[:1] * 2
    features = component_settings(CorpusSize(size), "en", syntax=True)["features"]
    assert [features[block]["min_df"] for block in ("words", "arcs")] == min_df


def test_init_config_adds_syntax(unpacked: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.cfg"
    call("init-config", config, "--lang", "en", "--syntax", "--syntax-from", unpacked)
    written = spacy.util.load_config(config, interpolate=True)
    names = ["tok2vec", "tagger", "morphologizer", "parser", "lemmatizer"]
    assert written["nlp"]["pipeline"] == [*names, "textcat_graft"]
    assert written["training"]["frozen_components"] == names
    assert written["components"]["parser"] == {"source": str(unpacked)}
    component = written["components"]["textcat_graft"]
    assert set(component["features"]) == {"words", "characters", "tags", "tag_arcs", "arcs", "pairs"}
    assert component["learner"]["optional_blocks"] == ["pairs", "arcs", "tag_arcs", "tags"]
    weights = {name: weight for name, weight in written["training"]["score_weights"].items() if weight}
    assert weights == {"cats_choice": 1.0}
    assert written["nlp"]["tokenizer"] == {"@tokenizers": "spacy.Tokenizer.v1"}
    call("init-config", tmp_path / "implied.cfg", "--lang", "en", "--syntax-from", unpacked)
    assert spacy.util.load_config(tmp_path / "implied.cfg", interpolate=True) == written
    assert "--syntax-from has no effect with --no-syntax" in refused(
        "init-config", tmp_path / "x.cfg", "--no-syntax", "--syntax-from", unpacked
    )
    assert "is for the language 'en'" in refused(
        "init-config", tmp_path / "x.cfg", "--lang", "de", "--syntax", "--syntax-from", unpacked
    )


def test_init_config_has_the_settings_of_the_shipped_config(tmp_path: Path) -> None:
    call("init-config", tmp_path / "config.cfg")
    ours, shipped = (spacy.util.load_config(path) for path in (tmp_path / "config.cfg", CONFIG))
    for section in ("nlp", "corpora", "training"):
        assert set(ours[section]) == set(shipped[section])
    for option in ("eval_frequency", "patience", "max_steps", "logger", "batcher", "score_weights"):
        assert ours["training"][option] == shipped["training"][option]
    written = spacy.util.load_model_from_config(ours).get_pipe("textcat_graft").blocks
    assert written == spacy.util.load_model_from_config(shipped, auto_fill=True).get_pipe("textcat_graft").blocks
    assert written == spacy.blank("xx").add_pipe("textcat_graft").blocks


def test_default_cfg_has_the_default_blocks() -> None:
    """The config adds blocks, so it has to list the default ones."""
    config = spacy.util.load_config(CONFIG.with_name("default.cfg"), interpolate=False)
    component = config["components"]["textcat_graft"]
    assert blocks_of(component["features"]) == blocks_of({**default_features(), **syntax_features()})
    assert component["learner"]["optional_blocks"] == [*syntax_features()][::-1]


@pytest.mark.parametrize(("lang", "within_words"), [("de", True), ("zh", False)])
def test_init_config_knows_which_languages_have_spaces(tmp_path: Path, lang: str, within_words: bool) -> None:
    call("init-config", tmp_path / "config.cfg", "--lang", lang)
    config = spacy.util.load_config(tmp_path / "config.cfg")
    assert config["nlp"]["tokenizer"] == {"@tokenizers": "spacy_graft.LanguageTokenizer.v1"}
    assert config["components"]["textcat_graft"]["features"]["characters"]["within_words"] is within_words


def test_syntax_brings_its_tokenizer(tmp_path: Path) -> None:
    """The words of its parser are those that its tokenizer makes."""
    config = complete_config("zh", True, CorpusSize.small, None)
    syntax = spacy.blank("zh", config={"nlp": {"tokenizer": {"@tokenizers": "spacy.Tokenizer.v1"}}})
    for name in ("tagger", "parser", "morphologizer", "trainable_lemmatizer"):
        syntax.add_pipe(name)
    add_syntax(config, "other", syntax)
    assert config["nlp"]["tokenizer"] == {"@tokenizers": "spacy.Tokenizer.v1"}


def test_init_config_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init_config_module, "is_interactive", lambda: True)
    result = call("init-config", tmp_path / "config.cfg", input="de\nn\nn\nhuge\nlarge\n")
    assert "'huge' is none of small, medium, large." in result.stderr
    config = spacy.util.load_config(tmp_path / "config.cfg")
    assert config["nlp"]["lang"] == "de"
    assert config["nlp"]["pipeline"] == ["textcat_graft_multilabel"]
    assert config["components"]["textcat_graft_multilabel"]["features"]["characters"]["min_df"] == 10


def test_init_config_refuses(tmp_path: Path) -> None:
    (tmp_path / "config.cfg").write_text("mine")
    assert "--force" in refused("init-config", tmp_path / "config.cfg")
    assert "'xxx'" in refused("init-config", tmp_path / "new.cfg", "--lang", "xxx")
    missing = refused("init-config", tmp_path / "new.cfg", "--syntax", "--syntax-from", "no_such")
    assert "cannot be loaded" in missing
    assert "python -m spacy download no_such" in missing
    assert (tmp_path / "config.cfg").read_text() == "mine"
    call("init-config", tmp_path / "config.cfg", "--force")
    assert (tmp_path / "config.cfg").read_text().startswith("# python -m spacy train")


# warm


@pytest.mark.slow
def test_a_warmed_cache_has_all_that_predictions_need(pipeline: Path, texts: Path, tmp_path: Path) -> None:
    """Whatever else were compiled would be written to the same folder."""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "NUMBA_DISABLE_JIT": "0"}
    printed = run("-m", "spacy_graft", "warm", pipeline, **environment).stderr
    assert f"Compiled kernels are in {tmp_path / 'kernels'}" in printed
    kernels = set((tmp_path / "kernels").rglob("*"))
    assert any(path.suffix == ".nbc" for path in kernels)
    run("-m", "spacy_graft", "classify", pipeline, texts, **environment)
    run("-m", "spacy_graft", "explain", pipeline, texts, **environment)
    assert set((tmp_path / "kernels").rglob("*")) == kernels


def test_warm_needs_a_folder(pipeline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_module, "kernel_folder", lambda: None)
    assert "Set NUMBA_CACHE_DIR" in refused("warm", pipeline)


def test_warm_needs_the_compiler(pipeline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_scores = model_kernels.add_scores
    monkeypatch.setattr(model_kernels, "add_scores", lambda *arguments: add_scores(*arguments))
    assert "NUMBA_DISABLE_JIT is set" in refused("warm", pipeline)


# Bad input


WITH_MODEL: dict[str, Callable[[Path], list[object]]] = {
    "explain": lambda model: ["explain", model, TEXT],
    "classify": lambda model: ["classify", model, "-"],
    "features": lambda model: ["features", model],
    "report": lambda model: ["report", model],
    "path": lambda model: ["path", model],
    "diff": lambda model: ["diff", model, model],
    "warm": lambda model: ["warm", model],
}


@pytest.mark.parametrize("command", WITH_MODEL)
def test_missing_pipelines(command: str, tmp_path: Path) -> None:
    arguments = WITH_MODEL[command]
    assert "is not a pipeline" in refused(*arguments(tmp_path))
    assert "neither a folder nor an installed package" in refused(*arguments(tmp_path / "none"))


def test_the_folder_of_a_training_is_not_a_pipeline(tmp_path: Path) -> None:
    (tmp_path / "model-best").mkdir()
    assert f"Did you mean {tmp_path / 'model-best'}?" in refused("report", tmp_path)


def test_a_damaged_pipeline(pipeline: Path, tmp_path: Path) -> None:
    for file in (file for file in pipeline.rglob("*") if file.is_file()):
        target = tmp_path / file.relative_to(pipeline)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes()[:-50] if file.name == "model" else file.read_bytes())
    assert "cannot be loaded" in refused("report", tmp_path)
    config = (tmp_path / "config.cfg").read_text(encoding="utf-8")
    (tmp_path / "config.cfg").write_text(config.replace("keep_corpus = ", "nope = "), encoding="utf-8")
    # Without the section.
    assert refused("report", tmp_path).endswith("textcat_graft -> nope unexpected argument: 'nope'")


def test_a_pipeline_with_a_component_of_ones_own(fitted: Language, texts: Path, tmp_path: Path) -> None:
    code, model = tmp_path / "own.py", tmp_path / "model"
    code.write_text(
        "from spacy.language import Language\n@Language.component('graft_tests_own')\ndef own(doc):\n    return doc\n"
    )
    fitted.to_disk(model)
    for name in ("config.cfg", "meta.json"):
        content = (model / name).read_text(encoding="utf-8")
        content = re.sub(r'(pipeline"? ?[=:] ?\[)', r'\1"graft_tests_own",', content)
        content = content.replace(
            "[components]\n", '[components]\n\n[components.graft_tests_own]\nfactory = "graft_tests_own"\n'
        )
        (model / name).write_text(content, encoding="utf-8")
    network = ("network", "cooccurrence", tmp_path / "near.network", "--corpus", texts, "--model", model)
    assert "graft_tests_own" in refused("classify", model, texts)
    assert "graft_tests_own" in refused(*network)
    assert "There is no file" in refused("classify", model, texts, "--code", tmp_path / "no.py")
    (tmp_path / "bad.py").write_text("1 / 0")
    assert "bad.py cannot be imported: ZeroDivisionError" in refused("features", model, "--code", tmp_path / "bad.py")
    assert len(lines_of(call("classify", model, texts, "--code", code))) == 30
    call(*network, "--code", code)


def test_a_pipeline_whose_batches_are_empty(fitted: Language, texts: Path, tmp_path: Path) -> None:
    """spaCy would read no text, and say nothing."""
    fitted.to_disk(tmp_path / "model")
    path = tmp_path / "model" / "config.cfg"
    path.write_text(re.sub("batch_size = [0-9]+", "batch_size = 0", path.read_text(encoding="utf-8")), encoding="utf-8")
    assert "[nlp] batch_size must be at least 1, but is 0." in refused("classify", tmp_path / "model", texts)


def test_a_pipeline_without_a_graft_component(tmp_path: Path) -> None:
    nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path)
    assert "'sentencizer'" in refused("features", tmp_path)


def test_an_untrained_component(tmp_path: Path) -> None:
    make_nlp().to_disk(tmp_path)
    assert "no weights yet" in refused("features", tmp_path)


def test_a_pipeline_with_two_components(tmp_path: Path, train_records: list[Record]) -> None:
    nlp = train_fully(make_nlp(), train_records)
    nlp.add_pipe("textcat_graft_multilabel", config={"features": WORDS})
    nlp.to_disk(tmp_path)
    assert "There are 2 graft components in" in refused("features", tmp_path)
    assert "Did you mean 'textcat_graft'?" in refused("features", tmp_path, "--component", "textcat_grft")
    assert lines_of(call("features", tmp_path, "--component", "textcat_graft"))


def test_components_of_different_names_are_compared(tmp_path: Path, train_records: list[Record]) -> None:
    nlp = train_fully(make_nlp(), train_records)
    nlp.to_disk(tmp_path / "one")
    nlp.add_pipe("textcat_graft", name="other", source=spacy.load(tmp_path / "one"))
    nlp.to_disk(tmp_path / "two")
    names = ("--component", "textcat_graft", "--component", "other")
    for pipelines in (("one", "two"), ("two", "two")):
        found = json.loads(call("diff", *(tmp_path / name for name in pipelines), *names).stdout)
        assert found["n_features"][0] > 0
        assert not found["weight_changes"]
    three = call("diff", tmp_path / "one", tmp_path / "two", *names, *names[:2], code=2)
    assert "is given 3 times" in three.stderr
    assert "no graft component 'other'" in refused("diff", tmp_path / "two", tmp_path / "one", *names)


def test_a_component_is_judged_by_its_own_labels(tmp_path: Path, train_records: list[Record]) -> None:
    """Not by those of a later component with labels of the same names."""
    nlp = spacy.blank("xx")
    others = {"food": "music", "music": "sport", "sport": "food"}
    wrong = [{**record, "label": others[record["label"]]} for record in train_records]
    for name, records in (("right", train_records), ("wrong", wrong)):
        nlp.add_pipe("textcat_graft", name=name, config={"features": WORDS, "learner": PATH, "keep_corpus": True})
        with nlp.select_pipes(enable=[name]):
            spacy_graft.fit(nlp, make_examples(nlp, records))
    nlp.to_disk(tmp_path / "two")
    texts = write_jsonl(tmp_path / "texts.jsonl", train_records)
    own = json.loads(call("evaluate", tmp_path / "two", texts, "--component", "right").stdout)
    assert own["macro_f"] > 0.9
    assert json.loads(call("evaluate", tmp_path / "two", texts, "--component", "wrong").stdout)["macro_f"] < 0.1
    component, text = nlp.get_pipe("right"), {"text": train_records[0]["text"]}
    (line,) = lines_of(call("classify", tmp_path / "two", "-", "--component", "right", input=json.dumps(text)))
    assert line["cats"] == pytest.approx(component.explain(nlp.make_doc(text["text"])).probabilities)
    edited = call(
        "edit", tmp_path / "two", "--component", "right", "--deny", component.features()[0].text, "--dev", texts,
        "--output", tmp_path / "edited",
    )  # fmt: skip
    assert json.loads(edited.stdout)["dev"]["before"]["cats_macro_f"] == pytest.approx(own["macro_f"])
    assert spacy.load(tmp_path / "edited").pipe_names == ["right", "wrong"]


def test_a_component_that_reads_labels_of_an_earlier_one_is_judged_with_it(
    tmp_path: Path, train_records: list[Record]
) -> None:
    Doc.set_extension(
        "topic", getter=lambda doc: max(doc.cats, key=lambda label: doc.cats[label], default="none"), force=True
    )
    nlp = train_fully(make_nlp(), train_records)
    block = {"@graft_features": "spacy_graft.DocAttributes.v1", "extensions": ["topic"]}
    nlp.add_pipe("textcat_graft", name="second", config={"features": {"topic": block}, "learner": PATH})
    with nlp.select_pipes(disable=["textcat_graft"]):
        spacy_graft.fit(nlp, [first(example) for example in make_examples(nlp, train_records)])
    nlp.to_disk(tmp_path / "chain")
    texts = write_jsonl(tmp_path / "texts.jsonl", train_records)
    assert json.loads(call("evaluate", tmp_path / "chain", texts, "--component", "second").stdout)["macro_f"] > 0.9


def first(example: Example) -> Example:
    """An example whose document has the right labels already, as from an earlier component."""
    example.predicted.cats = dict(example.reference.cats)
    return example


@pytest.mark.parametrize("command", ["explain", "features"])
def test_an_unknown_label(pipeline: Path, command: str) -> None:
    assert "There is no label 'spotr'. Did you mean 'sport'?" in refused(
        *WITH_MODEL[command](pipeline), "--label", "spotr"
    )


def test_text_that_is_not_utf8(pipeline: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(b"gr\xfcn")
    assert "is not UTF-8: byte 2 is 0xfc" in refused("explain", pipeline, tmp_path / "text.txt")
    assert "is not UTF-8" in refused("explain", pipeline, "-", input=b"gr\xfcn")
    assert "is not UTF-8" in refused("explain", pipeline, "gr\udcfcn")


def test_missing_files(pipeline: Path, tmp_path: Path) -> None:
    for command in ("explain", "classify"):
        assert "There is no file" in refused(command, pipeline, tmp_path / "none.jsonl")
        assert "There is no file" in refused(command, pipeline, tmp_path / "two words.jsonl")
        assert "is a folder" in refused(command, pipeline, tmp_path)


def test_a_text_that_ends_with_the_name_of_a_file(pipeline: Path) -> None:
    assert json.loads(call("explain", pipeline, "We write rows to table.csv").stdout)["text"]


def test_a_file_of_a_folder_that_must_not_be_entered_is_not_called_missing(pipeline, monkeypatch) -> None:
    def without_entry(function):
        def refusing(path, *args, **kwargs):
            if str(path).startswith("private/"):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            return function(path, *args, **kwargs)

        return refusing

    monkeypatch.setattr(os, "stat", without_entry(os.stat))
    monkeypatch.setattr(Path, "open", without_entry(Path.open))
    for command in (["explain", pipeline], ["classify", pipeline], ["evaluate", pipeline], ["train"]):
        assert "Permission denied" in refused(*command, "private/texts.jsonl")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "Error: Not enough memory."),
        (MemoryError("Unable to allocate 29.1 MiB"), "Error: Not enough memory: Unable to allocate 29.1 MiB."),
        (OSError(errno.ENOSPC, "No space left on device"), "Error: No space left on device"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), "Error: No such file or directory"),
    ],
)
def test_what_the_system_refuses(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("spacy_graft.cli.classify.load_pipeline", fail)
    assert call("classify", pipeline, "texts.jsonl", code=1).stderr.splitlines()[-1] == message


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps the current folder")
def test_a_current_folder_that_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    (tmp_path / "folder").rmdir()
    with pytest.raises(FileNotFoundError) as caught:
        os.getcwd()
    assert text_of_error(FileNotFoundError(*caught.value.args)).startswith("The current folder has been deleted.")


def test_output_that_cannot_be_written(pipeline: Path, texts: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is not a folder" in refused("classify", pipeline, texts, "--output", tmp_path / "file" / "out.jsonl")
    assert "cannot be written" in refused("classify", pipeline, texts, "--output", tmp_path)
    for folder in (tmp_path, ".", "/"):
        assert (
            f"Error: {folder} cannot be written" in call("evaluate", pipeline, texts, "--output", folder, code=1).stderr
        )
    assert "cannot be written" in refused("classify", pipeline, texts, "--output", tmp_path / "file" / "a" / "b.jsonl")


def interrupt(file: IO[bytes]) -> None:
    file.write(b"half")
    raise KeyboardInterrupt


@pytest.mark.parametrize(("cause", "code"), [(KeyboardInterrupt(), 130), (Terminated(signal.SIGTERM), 143), (None, 1)])
def test_an_interrupted_kernel_ends_a_command_as_any_interruption(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch, cause: BaseException | None, code: int
) -> None:
    def kernel(*_: object) -> None:
        try:
            raise SystemError("what makes its arrays returned a result with an exception set") from cause
        except SystemError as error:
            raise SystemError("a kernel returned a result with an exception set") from error

    monkeypatch.setattr("spacy_graft.cli.classify.load_pipeline", kernel)
    result = call("classify", pipeline, "texts.jsonl", code=code)
    assert isinstance(result.exception, SystemExit if cause else SystemError)


def test_no_incomplete_file_is_left(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")

    with pytest.raises(KeyboardInterrupt), writing(path) as file:
        interrupt(file)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("character", ["a", "ü", "文", "😀"])
def test_the_longest_names_can_be_written(tmp_path: Path, character: str) -> None:
    n_bytes = len(os.fsencode(character))
    path = tmp_path / (character * (255 // n_bytes if os.name == "posix" else 200 // n_bytes))
    for content in (b"before", b"after"):
        with writing(path) as file:
            file.write(content)
    assert path.read_bytes() == b"after"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="permissions and links of Unix")
def test_files_that_are_replaced(tmp_path: Path) -> None:
    """They keep their permissions, and are compressed as the name that was given says."""
    path, link = tmp_path / "blob", tmp_path / "texts.jsonl.gz"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    for _ in range(2):  # to the same bytes at any time
        with writing(link) as file:
            file.write(b"after")
    assert path.read_bytes()[:10] == b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
    assert gzip.decompress(path.read_bytes()) == b"after"
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")
def test_writing_to_what_is_open(tmp_path: Path) -> None:
    code = """import sys, pathlib, spacy_graft.files
with spacy_graft.files.writing(pathlib.Path(sys.argv[1])) as file:
    file.write(b"new\\n")
"""
    command = f"{quoted(sys.executable)} -c {quoted(code)}"
    (tmp_path / "all").write_text("old\n")
    subprocess.run(
        ["bash", "-c", f"{command} /dev/stdout >> all; {command} /dev/stdout | cat > piped; {command} >(cat > made)"],
        check=True,
        cwd=tmp_path,
    )
    assert (tmp_path / "all").read_text() == "old\nnew\n"
    assert (tmp_path / "piped").read_text() == "new\n"
    while not (tmp_path / "made").stat().st_size:  # bash does not wait for it
        time.sleep(0.01)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all", "made", "piped"]


# The app


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    printed = call(command, "--help").stdout
    assert f"Examples:\n    spacy-graft {command}" in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_help_has_a_line_of_its_own_for_each_command() -> None:
    printed = call("--help").stdout
    assert all(f"  {command} " in printed for command in COMMANDS)
    assert "..." not in printed.partition("Commands:")[2]  # what click puts where it cuts


def test_wrong_usage(pipeline: Path) -> None:
    call("explain", pipeline, TEXT, "--top", 0, code=2)
    assert "--text-field has no effect on a single text" in refused("explain", pipeline, TEXT, "--text-field", "body")
    assert "There is no file" in refused("explain", pipeline, "none.jsonl", "--text-field", "body")
    assert "--label-field has no effect without --data" in refused("report", pipeline, "--label-field", "topic")
    said = refused("edit", pipeline, "--deny", "goal", "--output", "edited", "--text-field", "body")
    assert "--text-field has no effect without --data and --dev" in said
    call("explode", code=2)
    call("classify", pipeline, code=2)


@pytest.mark.slow
def test_commands_are_added_to_spacy(pipeline: Path) -> None:
    code = f"import sys; sys.argv = ['spacy', 'graft', 'features', {str(pipeline)!r}, '--top', '1']; {SPACY}"
    assert json.loads(run("-c", code).stdout)["block"] == "words"


def test_entry_points_exist() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    module, _, name = project["scripts"]["spacy-graft"].partition(":")
    assert callable(getattr(import_module(module), name))
    assert import_module(project["entry-points"]["spacy_cli"]["graft"])


def test_importing_the_app_is_cheap() -> None:
    code = "import sys, spacy_graft.cli.app; print({'spacy', 'numpy', 'numba', 'rich.table'} & set(sys.modules))"
    assert run("-c", code).stdout.strip() == "set()"
