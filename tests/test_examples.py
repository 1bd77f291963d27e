"""The programs in examples/ run."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import subprocess
import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from spacy.language import Language

from conftest import REPOSITORY, make_records

EXAMPLES = REPOSITORY / "examples"
TEXT = "the soup of the day with a spoon of sugar"


def example(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module(name)


def test_all_examples_are_listed() -> None:
    listed = set(re.findall(r"^\| \[([\w.]+)\]", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert listed == {path.name for path in EXAMPLES.iterdir() if path.is_file()} - {"README.md"}


# Annif


@pytest.fixture(scope="module")
def subjects() -> list[tuple[str, list[str]]]:
    """Texts about one or two subjects, one without, and a subject of a single text."""
    records = make_records(90, seed=3)
    pairs = zip(records[::2], records[1::2], strict=True)
    texts = [(f"{a['text']} {b['text']}", [a["label"], b["label"]]) for a, b in pairs]
    texts += [(record["text"], [record["label"]]) for record in make_records(30, seed=4)]
    return [*texts, ("what they came to see", []), ("a rare bird", ["birds"])]


def test_annif_backend(subjects: list[tuple[str, list[str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    annif = example("annif_backend", monkeypatch)
    corpus = [annif.IndexedText(text, frozenset(labels)) for text, labels in subjects]
    backend = annif.GraftBackend(tmp_path / "model.graft")
    backend.train(corpus, {"max_features": "300"})
    again = annif.GraftBackend(tmp_path / "model.graft")
    assert again.suggest(TEXT) == backend.suggest(TEXT)
    suggestions = again.suggest(TEXT)
    assert {suggestion.subject for suggestion in suggestions} == {"food", "music", "sport"}
    assert suggestions[0].subject == "food"
    assert suggestions == sorted(suggestions, key=lambda suggestion: -suggestion.score)
    assert all(0.0 <= suggestion.score <= 1.0 for suggestion in suggestions)
    assert again.suggest_batch([TEXT, "a choir"], 1) == [again.suggest(TEXT, 1), again.suggest("a choir", 1)]
    assert max(again.reasons(TEXT, "food"), key=lambda reason: reason[1])[0] in TEXT
    with pytest.raises(ValueError, match=r"No subject has 2 or more of the 1 texts"):
        backend.train(corpus[-1:])


@pytest.mark.slow
def test_annif_backend_as_a_program(subjects: list[tuple[str, list[str]]], tmp_path: Path) -> None:
    lines = "".join(f"{text}\t{' '.join(labels)}\n" for text, labels in subjects)
    (tmp_path / "train.tsv").write_text(lines, encoding="utf-8")
    command = [sys.executable, EXAMPLES / "annif_backend.py", tmp_path / "train.tsv", tmp_path / "model.graft"]
    result = subprocess.run(command, input=TEXT, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"\d\.\d{3}  food", result.stdout.splitlines()[0])


# FastAPI


class Service:
    """Calls an application as a server does, in this process."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def __call__(
        self, method: str, path: str, chunks: Iterable[bytes] = (), content_type: str = "application/json"
    ) -> tuple[int, list[bytes]]:
        """Return the status and the chunks of the answer."""
        return asyncio.run(self._call(method, path, iter(chunks), content_type))

    async def _call(
        self, method: str, path: str, chunks: Iterator[bytes], content_type: str
    ) -> tuple[int, list[bytes]]:
        sent: list[bytes] = []
        status, ended = 0, False

        async def receive() -> dict[str, Any]:
            nonlocal ended
            if ended:
                await asyncio.sleep(60.0)  # the client stays; the task is cancelled
            chunk = next(chunks, None)
            ended = chunk is None
            return {"type": "http.request", "body": chunk or b"", "more_body": not ended}

        async def send(message: dict[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            if message.get("body"):
                sent.append(message["body"])

        headers = [(b"content-type", content_type.encode())]
        scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path}
        scope |= {"raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": headers, "scheme": "http"}
        await self.app(scope | {"server": ("test", 80), "client": ("test", 1)}, receive, send)
        return status, sent

    def json(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        status, chunks = self(method, path, [json.dumps(body).encode()] if body is not None else [])
        return status, json.loads(b"".join(chunks))


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("fastapi")
    return example("service", monkeypatch)


@pytest.fixture
def service(module: ModuleType, fitted: Language, monkeypatch: pytest.MonkeyPatch) -> Service:
    # The service sets it; others have the pipeline after this.
    monkeypatch.setattr(fitted, "max_length", fitted.max_length)
    return Service(module.make_app(fitted))


def test_the_service_classifies_and_explains(service: Service, fitted: Language) -> None:
    assert service.json("GET", "/health") == (200, {"labels": ["food", "music", "sport"]})
    status, answer = service.json("POST", "/classify", {"text": TEXT})
    assert status == 200
    assert answer == {"label": "food", "predicted": ["food"], "probabilities": fitted(TEXT).cats}
    _, answer = service.json("POST", "/classify", {"text": TEXT, "explain": True})
    assert answer["against"] in ("music", "sport")
    assert answer["reasons"][0]["contribution"] > 0.0
    assert answer["reasons"][0]["text"] in TEXT


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"text": "x " * 10_001}, "at most 20000 characters"),
        ({"text": "(" * 101}, "a word has more than 100 characters"),
        ({"text": 1}, "valid string"),
        ({"text": "\ud800"}, "string"),
        ({}, "Field required"),
    ],
)
def test_the_service_has_limits(service: Service, body: Any, problem: str) -> None:
    status, answer = service.json("POST", "/classify", body)
    assert status == 422
    assert problem in answer["detail"][0]["msg"]


def test_the_service_streams(service: Service, module: ModuleType) -> None:
    """Each batch is sent for itself."""
    line = json.dumps({"text": TEXT}).encode() + b"\n"
    body = BOM_UTF8 + line * (2 * module.BATCH) + b"\n{}\n" + line.rstrip()
    chunks = [body[k : k + 500] for k in range(0, len(body), 500)]
    status, sent = service("POST", "/stream", chunks, "application/x-ndjson")
    assert status == 200
    assert [len(chunk.splitlines()) for chunk in sent] == [module.BATCH, module.BATCH, 2]
    answers = [json.loads(line) for line in b"".join(sent).splitlines()]
    assert [answer.get("label") for answer in answers] == ["food"] * (2 * module.BATCH) + [None, "food"]
    assert answers[-2] == {"line": 2 * module.BATCH + 2, "error": "Field required"}


def test_streams_have_limits(service: Service, module: ModuleType) -> None:
    unread = iter([b"x" * module.MAX_BODY, b"x", b"x" * 10])
    assert service("POST", "/stream", unread, "application/x-ndjson")[0] == 413
    assert next(unread) == b"x" * 10
    assert service("POST", "/stream", [b""], "text/plain")[0] == 415


# the container


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with their arguments."""
    text = (EXAMPLES / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def test_the_container_has_no_root_and_what_it_copies_exists() -> None:
    """What it does, predict as another user with a cache that is read-only, is checked by .ci/runs_anywhere."""
    found = instructions()
    names = [name for name, _ in found]
    assert names[-1] == "CMD"
    assert found[names.index("USER")][1] == "65534:65534"
    assert names.index("USER") > max(k for k, name in enumerate(names) if name == "RUN"), "root builds, nobody runs"
    copied = [rest.split()[0] for name, rest in found if name == "COPY" and not rest.startswith("--from")]
    assert all((REPOSITORY / path).exists() for path in copied if "$" not in path)
    variables = " ".join(rest for name, rest in found if name == "ENV").split()
    assert {"NUMBA_CACHE_DIR=/opt/kernels", "NUMBA_CPU_NAME=generic"} <= set(variables)
