"""Sentence encoders as teachers: vectors of texts, and logistic regression over them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..digests import digest_of
from ..messages import listed
from ..options import check_counts
from .regression import fitted_heads
from .store import text_name
from .teacher import Gold, Head, Teacher, naming_texts

#: The file names of an encoder in a folder.
ENCODER_FILE, TOKENIZER_FILE = "model.onnx", "tokenizer.json"
#: Types of inputs that are not int64, as programs that make models choose them.
INPUT_TYPES = {"tensor(int32)": np.int32}
#: Tokens that a text is cut to: by default, and at the least.
MAX_TOKENS, LEAST_TOKENS = 128, 3


@runtime_checkable
class Encoder(Protocol):
    """What makes vectors of texts."""

    name: str

    @property
    def digest(self) -> str:
        """What two encoders share only if their vectors are the same."""

    @property
    def width(self) -> int:
        """Numbers of a vector."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of texts: float32 (n_texts, width)."""


def named_files(folder: Path, content: bytes, before: str = "") -> Iterator[Path]:
    """The files of a folder, and of those in it, whose paths from the first folder on are in a content."""
    for path in sorted(folder.iterdir()):
        name = f"{before}{path.name}"
        if path.is_dir() and f"{name}/".encode() in content:
            yield from named_files(path, content, f"{name}/")
        elif path.is_file() and name.encode() in content:
            yield path


class OnnxEncoder:
    """A sentence encoder in an ONNX file, such as all-MiniLM-L6-v2; it needs the packages of ``spacy-graft[onnx]``.

    The vector of a text is the mean of its tokens' last hidden states, or what the model gives for the whole text,
    divided by its length. Texts are encoded one by one: padding would cost more than batches gain on a processor, and
    the vector of a text does not depend on others.

    Parameters
    ----------
    model : str or Path
        The ONNX file, or a folder with ``model.onnx``.
    tokenizer : str or Path, optional
        The ``tokenizer.json``, in the format of the package tokenizers; by default that beside the model.
    max_tokens : int
        Tokens that a text is cut to, at least 3: most models add two of their own.

    Raises
    ------
    ImportError
        If onnxruntime or tokenizers is not installed.
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file cannot be read, the model takes or gives something else, or ``max_tokens`` is no such number.
    """

    def __init__(self, model: str | Path, tokenizer: str | Path | None = None, max_tokens: int = MAX_TOKENS) -> None:
        check_counts("OnnxEncoder", LEAST_TOKENS, max_tokens=max_tokens)
        self.model = Path(model) / ENCODER_FILE if Path(model).is_dir() else Path(model)
        self.tokenizer = self.model.with_name(TOKENIZER_FILE) if tokenizer is None else Path(tokenizer)
        self.max_tokens = max_tokens
        self.name = str(self.model)
        for path in (self.model, self.tokenizer):
            if not path.is_file():
                raise FileNotFoundError(
                    f"There is no file {path}. An encoder is {ENCODER_FILE} and {TOKENIZER_FILE}, in one folder or "
                    f"given one by one."
                )
        self._session, self._tokens = self._loaded()
        self._inputs = {value.name: INPUT_TYPES.get(value.type, np.int64) for value in self._session.get_inputs()}
        if "input_ids" not in self._inputs or self._inputs.keys() - {"input_ids", "attention_mask", "token_type_ids"}:
            raise ValueError(
                f"{self.model} takes {listed(sorted(self._inputs))}, and not the input_ids, attention_mask and "
                f"token_type_ids of a sentence encoder."
            )

    def _loaded(self) -> tuple[Any, Any]:
        """The session and the tokenizer."""
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ImportError('ONNX encoders need other packages: python -m pip install "spacy-graft[onnx]"') from error
        try:
            session = onnxruntime.InferenceSession(self.model, providers=["CPUExecutionProvider"])
        except Exception as error:  # of a type that onnxruntime does not export
            raise ValueError(f"{self.model} is no model that onnxruntime can read: {error}") from error
        try:
            tokens = Tokenizer.from_file(str(self.tokenizer))
        except Exception as error:  # of type Exception itself
            raise ValueError(f"{self.tokenizer} is no tokenizer that tokenizers can read: {error}") from error
        tokens.no_padding()
        tokens.enable_truncation(self.max_tokens)
        return session, tokens

    @cached_property
    def digest(self) -> str:
        """Of both files, those of weights that the model names, and the number of tokens."""
        content = self.model.read_bytes()
        # Large models have their weights in other files.
        weights = [path for path in named_files(self.model.parent, content) if path not in (self.model, self.tokenizer)]
        files = [hashlib.sha256(content).hexdigest(), *map(file_digest, [self.tokenizer, *weights])]
        return digest_of(["onnx", *files, self.max_tokens])

    @cached_property
    def width(self) -> int:
        return self._output([0]).shape[-1]  # every model has a token of this number

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        if isinstance(texts, str):
            raise ValueError(f"A list of texts is expected, not the string {texts[:40]!r}.")
        return np.array([self._vector(text) for text in texts], np.float32)

    def _vector(self, text: str) -> np.ndarray:
        tokens = self._tokens.encode(text).ids
        if not tokens:
            return np.zeros(self.width)  # there is no mean of no tokens
        output = self._output(tokens)
        vector = output[0] if output.ndim == 2 else output[0].mean(axis=0)
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12))

    def _output(self, tokens: Sequence[int]) -> np.ndarray:
        """What the model gives first for a text of some tokens: float64 (1, width), or (1, tokens, width)."""
        ids = np.array([tokens])
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        try:
            given = self._session.run(None, {name: feed[name].astype(type_) for name, type_ in self._inputs.items()})
        except Exception as error:  # of a type that onnxruntime does not export
            raise ValueError(
                f"{self.model} fails on a text of {len(tokens):,} tokens: it may take fewer (max_tokens), or other "
                f"tokens than those of {self.tokenizer}. {error}"
            ) from error
        output = np.asarray(given[0], np.float64)
        if output.ndim not in (2, 3):
            raise ValueError(
                f"{self.model} gives an array of {output.ndim} dimensions first. A sentence encoder gives vectors of "
                f"texts or of tokens."
            )
        return output


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class EncoderTeacher(Teacher):
    """Logistic regression over the vectors of an encoder, fitted on the labelled texts.

    Parameters
    ----------
    encoder : Encoder
    exclusive : bool
        Whether labels are mutually exclusive.
    """

    learns = True

    def __init__(self, encoder: Encoder, exclusive: bool) -> None:
        self.encoder = encoder
        self.exclusive = exclusive
        self.name = f"{encoder.name} + logistic regression"

    @property
    def digest(self) -> str:
        return self.encoder.digest

    @property
    def width(self) -> int:
        return int(self.encoder.width)

    def rows(self, texts: Sequence[str], first: int) -> np.ndarray:
        name = f"The encoder {self.encoder.name}"
        with naming_texts(name, texts, first):
            given = np.asarray(self.encoder.encode(texts))
        if given.dtype.kind not in "fiu":
            raise ValueError(f"{name} gives an array of {given.dtype}, and not of real numbers.")
        with np.errstate(over="ignore"):
            rows = given.astype(np.float32)
        if rows.shape != (len(texts), self.width):
            raise ValueError(
                f"{name} gives an array of the shape {rows.shape} for {len(texts):,} texts, "
                f"and not {(len(texts), self.width)}: a vector of its width for each."
            )
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            place = int(np.argmin(finite))
            raise ValueError(
                f"{name} gives a vector with values that are not finite, for "
                f"{text_name(texts[place], first + place + 1)}."
            )
        return rows

    def heads(self, gold: Gold, rows: np.ndarray) -> list[Head]:
        return fitted_heads(rows.astype(np.float64), gold, self.exclusive)
