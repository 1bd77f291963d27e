"""Every notebook and Python block of the README, the docs and a page of benchmarks runs, and prints what they say.

The blocks of a page run one after the other in one namespace, in a folder of its own. Where a page goes on from a
reader's corpus or model (:data:`STAND_INS`), there are small ones in their place, and what is printed is not compared.
Notebooks run where they are. Commands in blocks of ``console`` run on the sample corpus; a line of ``...`` stands for
any lines.
"""

from __future__ import annotations

import importlib
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import catalogue
import pytest
import spacy
from confection import Config
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import registry

import spacy_graft
from conftest import PATH, REPOSITORY, make_examples, make_nlp, make_records, train_fully, write_jsonl
from spacy_graft.cli.app import app
from spacy_graft.pipeline.registration import register_with_spacy

PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "benchmarks" / "combinations_docstrings.md",
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]
NOTEBOOKS = sorted((REPOSITORY / "docs").rglob("*.ipynb"))
FENCE = re.compile(r"```(\w*).*\n")
#: Where a block of Python begins, also where :func:`blocks_of` does not look for one.
ANY_PYTHON = re.compile(r"^[ >]*(?:```|~~~) *py", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A Python block of a page.

    Attributes
    ----------
    section : str
        The heading above it.
    line : int
        Where its code begins.
    code : str
    printed : str, optional
        The block of text that follows it, if one does.
    """

    section: str
    line: int
    code: str
    printed: str | None


def blocks_of(page: Path) -> list[Block]:
    blocks: list[Block] = []
    section, language, begin, end = "", None, 0, -1
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        fence = FENCE.fullmatch(line)
        if language is None and fence:
            language, begin = fence[1], number + 1
        elif language is not None and line.rstrip() == "```":
            body = "".join(lines[begin:number])
            if language in ("py", "python"):
                blocks.append(Block(section, begin + 1, body, None))
                end = number
            elif language == "text" and blocks and not "".join(lines[end + 1 : begin - 1]).strip():
                blocks[-1] = Block(blocks[-1].section, blocks[-1].line, blocks[-1].code, body)
            language = None
        elif language is None and line.startswith("#"):
            section = line.strip("# \n")
    assert language is None, f"{page.name}: a block is not closed"
    assert len(blocks) == len(ANY_PYTHON.findall(text)), f"{page.name}: a block is indented, or fenced by other marks"
    return blocks


def words_of_lines(text: str) -> list[list[str]]:
    """The words of each line: columns are aligned by spaces, whose number is not compared."""
    return [line.split() for line in text.splitlines()]


@Language.component("graft_docs_syntax")
def annotate(doc: Doc) -> Doc:
    """Each word modifies the one before it, and its length is its part of speech."""
    for token in doc:
        token.lemma_ = token.lower_
        token.pos_ = ("NOUN", "VERB", "ADJ", "ADP")[len(token) % 4]
        token.head = doc[max(token.i - 1, 0)]
        token.dep_ = "dep" if token.i else "ROOT"
    return doc


def model_with_syntax() -> dict[str, Any]:
    """The main job's corpus and model: the blocks of the default config, and texts of a few words."""
    config = Config().from_disk(REPOSITORY / "configs" / "default.cfg", interpolate=False)
    features = config["components"]["textcat_graft"]["features"]
    # Words say it all in these texts: else no other block would have a feature.
    for block in ("tags", "tag_arcs", "arcs", "pairs"):
        features[block]["penalty_factor"] = 0.5 if block != "tag_arcs" else 0.1
    nlp = spacy.blank("en")
    nlp.add_pipe("graft_docs_syntax")
    nlp.add_pipe("textcat_graft", config={"features": features, "learner": PATH})
    spacy_graft.fit(nlp, make_examples(nlp, make_records(60)))
    for folder in ("training/all-blocks", "training/corpus"):
        Path(folder).mkdir(parents=True)
    nlp.to_disk("training/all-blocks/model-best")
    test = make_records(15, seed=1)
    ids = ["special.obl_cv_seq", "linalg.companion", "sparse.csgraph.construct_dist_matrix"]
    for record, name in zip(test, ids, strict=False):
        record["id"] = f"scipy.{name}"
    write_jsonl(Path("training/corpus/train.jsonl"), make_records(60))
    write_jsonl(Path("training/corpus/test.jsonl"), test)
    return {}


def multilabel_model() -> dict[str, Any]:
    nlp = train_fully(make_nlp("textcat_graft_multilabel"), make_records(30))
    return {"nlp": nlp, "new": make_examples(nlp, make_records(30, seed=1))}


def model_and_texts() -> dict[str, Any]:
    Path("training").mkdir()
    Path("texts").mkdir()
    train_fully(make_nlp("textcat_graft"), make_records(30)).to_disk("training/model-best")
    for part in range(2):
        lines = [record["text"] for record in make_records(3, seed=part)]
        Path(f"texts/{part}.txt").write_text("\n".join(lines), encoding="utf-8")
    return {}


#: By page and section: what is there before the section's first block.
STAND_INS: dict[tuple[str, str], Callable[[], dict[str, Any]]] = {
    ("combinations_docstrings.md", "Features of syntax and pairs"): model_with_syntax,
    ("scaling.md", "Prediction"): model_and_texts,
    ("training.md", "Calibration and thresholds"): multilabel_model,
}


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """A module to run a page in; what it registers is forgotten afterwards."""
    module = types.ModuleType("page_of_the_docs")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    yield module
    for path, function in list(catalogue.REGISTRY.items()):
        if getattr(function, "__module__", None) == module.__name__:
            del catalogue.REGISTRY[path]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run_and_print_what_stands_there(
    page: Path,
    module: types.ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    waiting = {section: make for (name, section), make in STAND_INS.items() if name == page.name}
    stands_in = False
    for block in blocks_of(page):
        if block.section in waiting:
            module.__dict__.update(waiting.pop(block.section)())
            stands_in = True
        capsys.readouterr()
        # Blank lines before the code, so that a traceback has the line of the page.
        exec(compile("\n" * (block.line - 1) + block.code, str(page), "exec"), module.__dict__)
        printed = capsys.readouterr().out
        if block.printed is not None and not stands_in:
            assert words_of_lines(printed) == words_of_lines(block.printed), f"{page.name}, line {block.line}"
    assert not waiting, f"{page.name} has no Python under {', '.join(waiting)}"


def commands_of(page: Path) -> list[tuple[str, str]]:
    """The commands of a page's blocks of ``console``, and what stands there as printed by each."""
    blocks = re.findall(r"^```console\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    command = re.compile(r"^\$ spacy-graft ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
    found = [(line.replace("\\\n", " "), printed) for block in blocks for line, printed in command.findall(block)]
    assert len(found) == sum(block.count("$ ") for block in blocks), f"{page.name}: a command is not one of spacy-graft"
    return found


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed_on_a_terminal(arguments: list[str]) -> str:
    """What a command prints, standard error included, which shows no progress here."""
    terminal = Terminal()
    messages = SimpleNamespace(write=terminal.write, flush=terminal.flush, isatty=lambda: False, encoding="utf-8")
    with redirect_stdout(terminal), redirect_stderr(messages), pytest.raises(SystemExit) as end:
        app(arguments)
    assert end.value.code == 0, (arguments, terminal.getvalue())
    return re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue())  # without colours


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)], ids=lambda page: page.name)
def test_commands_print_what_stands_there(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    for folder in ("corpus", "configs"):
        shutil.copytree(REPOSITORY / folder, folder)
    for command, shown in commands_of(page):
        lines = [" ".join(words) for words in words_of_lines(shown) if words]
        pattern = "".join(r"(?:.*\n)*?" if line == "..." else f"{re.escape(line)}\n" for line in lines)
        output = words_of_lines(printed_on_a_terminal(shlex.split(command)))
        printed = "".join(f"{' '.join(words)}\n" for words in output if words)
        assert re.fullmatch(pattern, printed), f"{command}\n{printed}"


def printed_by_cells(notebook: dict[str, Any]) -> list[list[list[list[str]]]]:
    """The words of the lines of what each cell prints or shows; HTML is not compared."""
    return [
        [words_of_lines("".join(output.get("text") or output["data"]["text/plain"])) for output in cell["outputs"]]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_and_print_what_is_stored(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If what they print has changed for a reason: ``python scripts/notebooks.py docs/tutorials/*.ipynb``."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "scripts"))
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert printed_by_cells(importlib.import_module("notebooks").executed(path)) == printed_by_cells(stored)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sections_of_configs_are_accepted(page: Path) -> None:
    """Features, learners and readers: their options exist, and have values that are allowed."""
    register_with_spacy()
    for text in re.findall(r"^```ini\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        # A page shows sections of a config: those above them are empty here.
        names = re.findall(r"^\[(.+)\]$", text, re.MULTILINE)
        above = {".".join(parts[:n]) for parts in (name.split(".") for name in names) for n in range(1, len(parts))}
        missing = "".join(f"[{name}]\n" for name in sorted(above.difference(names)))
        config = Config().from_str(missing + text, interpolate=False)
        for component in config.get("components", {}).values():
            registry.resolve({"section": component.get("features") or {}})
            registry.resolve({"section": component.get("learner", {})})
        for corpus in config.get("corpora", {}).values():
            registry.resolve({"section": {"path": "there", **corpus}})


@pytest.mark.slow
def test_the_prediction_on_a_cluster_runs_as_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of a cluster are other processes, which do not have what a script defines."""
    from distributed import LocalCluster

    monkeypatch.chdir(tmp_path)
    model_and_texts()
    blocks = blocks_of(REPOSITORY / "docs" / "scaling.md")
    (code,) = [block.code for block in blocks if block.section == "Prediction"]
    on_cluster = code.replace('Client(processes=False, dashboard_address=":0")', "Client(scheduler)")
    assert on_cluster != code
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        script = f"scheduler = {cluster.scheduler_address!r}\n{on_cluster}\nprint(sum(map(len, predicted)))"
        assert subprocess.check_output([sys.executable, "-c", script], encoding="utf-8") == "6\n"


@pytest.mark.slow
def test_the_readme_runs_in_a_fresh_process(tmp_path: Path) -> None:
    """As a reader would run it: nothing has been imported before, and the output is the same to the letter."""
    block = next(block for block in blocks_of(REPOSITORY / "README.md") if block.printed is not None)
    shown = subprocess.run(
        [sys.executable, "-c", block.code], capture_output=True, encoding="utf-8", check=True, cwd=tmp_path
    )
    assert shown.stdout == block.printed


def test_the_set_up_lines_are_there() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert "python -m pip install . && python -m spacy project run all" in text
    assert 'python -m pip install ".[test]" && python -m pytest' in text
