"""A web service that classifies and explains texts: typed, with limits, and streaming.

    python -m pip install spacy-graft fastapi uvicorn
    MODEL=training/model-best uvicorn --app-dir examples --factory service:app_of_environment --workers 2

``POST /classify`` takes ``{"text": "..."}``. ``POST /stream`` takes JSON lines of the same form, and answers with a
line for each: the first answers are sent while later texts are classified.
"""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import islice
from threading import Lock
from typing import Annotated

import spacy
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import AfterValidator, BaseModel, Field, ValidationError
from spacy.language import Language
from spacy.tokens import Doc

from spacy_graft.pipeline.components import graft_component

#: Characters of a text and of a word: spaCy's tokenizer is quadratic in the length of a word without white space.
MAX_CHARACTERS, MAX_WORD = 20_000, 100
#: Bytes of the lines of a stream; texts that are classified together.
MAX_BODY, BATCH = 8_000_000, 32
#: Words and phrases of an explanation.
TOP = 5
#: A pipeline has one memory zone at a time.
ZONE = Lock()


def with_short_words(text: str) -> str:
    """Return the text, or raise a ValueError."""
    if max(map(len, text.split()), default=0) > MAX_WORD:
        raise ValueError(f"a word has more than {MAX_WORD} characters")
    return text


class Question(BaseModel):
    """A text."""

    text: Annotated[str, Field(max_length=MAX_CHARACTERS), AfterValidator(with_short_words)]
    explain: bool = False


class Contribution(BaseModel):
    """What a word or phrase adds to the log-odds of the label."""

    text: str
    contribution: float


class Answer(BaseModel):
    """Probabilities, and the strongest reasons for the most probable label if they were asked for.

    Of independent labels, all that are predicted are in ``predicted``, perhaps none.
    """

    label: str
    predicted: list[str]
    probabilities: dict[str, float]
    against: str | None = None
    reasons: list[Contribution] | None = None


class Problem(BaseModel):
    """A line of a stream that is no question; the stream goes on."""

    line: int
    error: str


def answers(nlp: Language, questions: list[Question]) -> list[Answer]:
    """Classify texts together; their new words are forgotten."""
    with ZONE, nlp.memory_zone():
        docs = nlp.pipe([question.text for question in questions])
        return [answer_of(nlp, doc, question) for doc, question in zip(docs, questions, strict=True)]


def answer_of(nlp: Language, doc: Doc, question: Question) -> Answer:
    """What a service says of a text."""
    component = graft_component(nlp)
    label = max(doc.cats, key=doc.cats.__getitem__)
    answer = Answer(label=label, predicted=component.predicted(doc), probabilities=doc.cats)
    if question.explain:
        best = component.explain(doc).best
        answer.against = best.against
        answer.reasons = [
            Contribution(text=word.text, contribution=word.contribution) for word in islice(best.words, TOP)
        ]
    return answer


async def bounded_body(request: Request) -> bytes:
    """Read a body; one that is too large is refused before it is read to its end."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise HTTPException(413, f"Send at most {MAX_BODY:,} bytes at a time.")
    return bytes(body)


def parsed(number: int, line: bytes) -> Question | Problem:
    """Read a line of a stream."""
    try:
        return Question.model_validate_json(line)
    except ValidationError as error:
        return Problem(line=number, error=error.errors()[0]["msg"])


def answered(nlp: Language, body: bytes) -> Iterator[str]:
    """Answer the lines of a body, in batches that are sent as soon as they are classified."""
    lines = body.removeprefix(BOM_UTF8).splitlines()
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
    while batch := [parsed(number, line) for number, line in islice(numbered, BATCH)]:
        yield text_of_batch(nlp, batch)


def text_of_batch(nlp: Language, batch: list[Question | Problem]) -> str:
    """The lines that answer a batch, in its order."""
    given = iter(answers(nlp, [question for question in batch if isinstance(question, Question)]))
    results = (next(given) if isinstance(element, Question) else element for element in batch)
    return "".join(result.model_dump_json(exclude_none=True) + "\n" for result in results)


def make_app(nlp: Language) -> FastAPI:
    """Make the service for a trained pipeline."""
    nlp.max_length = MAX_CHARACTERS
    nlp("warm up")  # workers that are forked later share the compiled code
    app = FastAPI(title="spacy-graft")

    @app.exception_handler(RequestValidationError)
    def refused(_: Request, error: RequestValidationError) -> JSONResponse:
        # Without the input, which may be what cannot be encoded.
        return JSONResponse({"detail": [{"loc": one["loc"], "msg": one["msg"]} for one in error.errors()]}, 422)

    # Not `async`: it is run in a thread, so that other requests are not kept waiting.
    @app.post("/classify", response_model_exclude_none=True)
    def classify(question: Question) -> Answer:
        return answers(nlp, [question])[0]

    @app.post("/stream")
    async def stream(request: Request) -> StreamingResponse:
        if request.headers.get("content-type", "").partition(";")[0] != "application/x-ndjson":
            raise HTTPException(415, "Send JSON lines, with the content type application/x-ndjson.")
        body = await bounded_body(request)
        # An ordinary iterator: it is run in threads.
        return StreamingResponse(answered(nlp, body), media_type="application/x-ndjson")

    @app.get("/health")
    def health() -> dict[str, list[str]]:
        return {"labels": list(graft_component(nlp).labels)}

    return app


def app_of_environment() -> FastAPI:
    """The service for the model that the environment variable ``MODEL`` names."""
    return make_app(spacy.load(os.environ["MODEL"]))
