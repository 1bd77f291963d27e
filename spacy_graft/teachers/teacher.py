"""What a teacher is, and those that tell probabilities of labels: pipelines, functions and files."""

from __future__ import annotations

import dis
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from numbers import Real
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language

from ..digests import PLAIN, digest_of, text_key
from ..files import BadLineError
from ..messages import did_you_mean, listed
from ..pipeline.targets import Targets, sum_to_one
from .probabilities import SavedTeacher, probability_lines
from .store import text_name

#: What has a source; other values that a function holds need a digest of their own.
FUNCTIONS = (FunctionType, MethodType, partial)
#: How much a probability of two digits may be off, and the sum of those of a text.
ROUNDED, MOST_ROUNDED = 0.005, 0.05
#: Probabilities of a text by label, as in ``doc.cats``.
Cats = Mapping[str, float]
#: From a teacher's rows (n_texts, width) to probabilities: float64 (n_texts, n_labels).
Head = Callable[[np.ndarray], np.ndarray]


class Gold(NamedTuple):
    """The labelled texts.

    Attributes
    ----------
    texts : list of str
    targets : Targets
    fold_of : int64 (n_texts)
        The fold of each text.
    n_folds : int
        The first of the folds, which are held out.
    """

    texts: list[str]
    targets: Targets
    fold_of: np.ndarray
    n_folds: int


@dataclass(frozen=True)
class Labels:
    """The labels that a teacher is asked about.

    Attributes
    ----------
    names : sequence of str
    exclusive : bool
        Whether a text has exactly one of them.
    """

    names: Sequence[str]
    exclusive: bool

    def sorted(self) -> Labels:
        """The same in an order that does not depend on the labelled texts."""
        return Labels(sorted(self.names), self.exclusive)


class Teacher(ABC):
    """What tells probabilities of labels for texts, in two steps: rows of numbers for texts, and heads over them.

    Rows are what takes time. They do not depend on the labelled texts, so that they are of use when there are more of
    these.

    Attributes
    ----------
    name : str
        For messages and reports.
    is_stored : bool
        Whether rows take so long that they are worth a file.
    learns : bool
        Whether heads are fitted to the rows of the labelled texts.
    """

    name: str
    is_stored: bool = True
    learns: bool = False

    @property
    @abstractmethod
    def digest(self) -> str:
        """What two teachers share only if they say the same."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Numbers of a row."""

    @abstractmethod
    def rows(self, texts: Sequence[str], first: int) -> np.ndarray:
        """Rows of texts, of which the first has the given number, from 0: float32 (n_texts, width)."""

    @abstractmethod
    def heads(self, gold: Gold, rows: np.ndarray) -> list[Head]:
        """For each fold the head that is made without its labelled texts; last that made with all of them.

        Parameters
        ----------
        gold : Gold
        rows : float32 (n_labelled, width)
            Of the labelled texts; empty unless the teacher learns.
        """

    def require_number(self, n_texts: int) -> None:
        """Raise a ValueError if the teacher is of another number of texts."""
        return


class LabelTeacher(Teacher):
    """A teacher whose rows are the probabilities, labels sorted.

    Parameters
    ----------
    name : str
    digest : str
        Empty if rows are not to be stored.
    labels : Labels
    cats : callable
        Returns the probabilities of texts.
    """

    digest: str = ""

    def __init__(self, name: str, digest: str, labels: Labels, cats: Callable[[Sequence[str]], Iterable[Cats]]) -> None:
        self.name = name
        self.digest = digest
        self.is_stored = bool(digest)
        self.labels = labels
        self.cats = cats

    @property
    def width(self) -> int:
        return len(self.labels.names)

    def rows(self, texts: Sequence[str], first: int) -> np.ndarray:
        with naming_texts(f"The teacher {self.name}", texts, first):
            found = list(self.cats(texts))
        if len(found) != len(texts):
            raise ValueError(
                f"The teacher {self.name} returns probabilities of {len(found):,} texts when it is given "
                f"{len(texts):,}."
            )
        labels = self.labels.sorted()
        rows = [
            checked_cats(cats, labels, f"The teacher {self.name}, {text_name(text, number)}:")
            for number, (text, cats) in enumerate(zip(texts, found, strict=True), first + 1)
        ]
        return np.array(rows, np.float32).reshape(len(texts), self.width)

    def heads(self, gold: Gold, rows: np.ndarray) -> list[Head]:
        return [self._as_probabilities] * (gold.n_folds + 1)

    def _as_probabilities(self, rows: np.ndarray) -> np.ndarray:
        in_order = self.labels.sorted().names
        values = rows[:, [in_order.index(name) for name in self.labels.names]].astype(np.float64)
        # What was rounded when it was stored sums to 1 again.
        return values / values.sum(axis=1, keepdims=True) if self.labels.exclusive else values


@contextmanager
def naming_texts(name: str, texts: Sequence[str], first: int) -> Iterator[None]:
    """Say in a ValueError which texts somebody else's code fails on."""
    try:
        yield
    except Exception as error:  # it can raise anything
        raise ValueError(
            f"{name} fails on a text from {first + 1} to {first + len(texts)}: {type(error).__name__}: {error}"
        ) from error


class FileTeacher(LabelTeacher):
    """Probabilities of the same texts in the same order, from a file.

    Attributes
    ----------
    values : float32 (n_texts, n_labels)
        Labels sorted.
    lines : list of int
        The number of the line of each text.
    keys : list of int or None
        Of the texts; None where the file has no text.
    """

    def __init__(self, source: SavedTeacher, labels: Labels) -> None:
        super().__init__(str(source.path), "", labels, lambda texts: ())
        in_order, values = labels.sorted(), []
        self.lines: list[int] = []
        self.keys: list[int | None] = []
        for number, cats, text in probability_lines(source):
            values.append(np.array(checked_cats(cats, in_order, f"{self.name}, line {number}:"), np.float32))
            self.lines.append(number)
            self.keys.append(None if text is None else text_key(text))
        if not values:
            raise ValueError(f"{self.name} has no probabilities.")
        self.values = np.array(values)

    def rows(self, texts: Sequence[str], first: int) -> np.ndarray:
        for place, text in enumerate(texts, first):
            if self.keys[place] not in (None, text_key(text)):
                raise BadLineError(
                    self.name,
                    self.lines[place],
                    f"the text is not that of text {place + 1:,} without labels. Both files must have the same texts "
                    f"in the same order.",
                )
        return self.values[first : first + len(texts)]

    def require_number(self, n_texts: int) -> None:
        if n_texts != len(self.values):
            raise ValueError(
                f"{self.name} has the probabilities of {len(self.values):,} texts, but there are {n_texts:,} without "
                f"labels. It must have a line for each of them, in the same order."
            )


def checked_cats(cats: Any, labels: Labels, source: str) -> list[float]:
    """The probabilities of the labels, in their order.

    Raises
    ------
    ValueError
        If there are others, some are missing, one is not a number from 0 to 1, or those of exclusive labels do not sum
        to 1, but for rounding, after which they are divided by their sum. The message begins with ``source``.
    """
    if not isinstance(cats, Mapping):
        raise ValueError(f"{source} probabilities must be given by label, {{label: number}}, but are {cats!r}.")
    names, known = labels.names, frozenset(labels.names)
    if others := [label for label in cats if label not in known]:
        raise ValueError(
            f"{source} {others[0]!r} is no label of the labelled texts.{did_you_mean(str(others[0]), names)} Their "
            f"labels: {listed(names)}."
        )
    if missing := [label for label in names if label not in cats]:
        raise ValueError(
            f"{source} there is no probability of {listed(missing)}. A teacher knows all labels of the labelled "
            f"texts; it has {listed(cats)}."
        )
    values = [checked_probability(cats[label], label, source) for label in names]
    if not labels.exclusive or sum_to_one(values):
        return values
    if abs(sum(values) - 1.0) > min(ROUNDED * len(values), MOST_ROUNDED):
        raise ValueError(
            f"{source} the probabilities sum to {sum(values):g}, which is further from 1 than rounding explains. The "
            f"labels of the student are exclusive; for a teacher of independent labels, use textcat_graft_multilabel."
        )
    return [value / sum(values) for value in values]


def checked_probability(value: Any, label: str, source: str) -> float:
    """A number from 0 to 1."""
    if not isinstance(value, Real | np.bool_) or not 0.0 <= float(value) <= 1.0:
        raise ValueError(f"{source} the label {label!r} has {value!r}, which is no number from 0 to 1.")
    return float(value)


def function_teacher(function: Callable[[Sequence[str]], Iterable[Cats]], labels: Labels) -> LabelTeacher:
    """A function of a list of texts. What it says is stored if its digest tells it from others."""
    name = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', type(function).__qualname__)}"
    try:
        digest = digest_of(["function", name, identity_of(function), sorted(labels.names)])
    except (OSError, TypeError, ValueError):
        digest = ""
    return LabelTeacher(name, digest, labels, function)


def identity_of(function: Any, before: list[Any] | None = None) -> list[Any]:
    """What a callable is known by: its source, and the values that it has besides; an object by its class alone.

    Of the globals that a function uses, these are functions of its own module and plain values: what can be changed may
    be what it has found so far. ``before`` are functions that are known already.

    Raises
    ------
    OSError
        If there is no source.
    TypeError
        If there is no source, or such a value has no digest.
    ValueError
        If a variable of an outer function is not set.
    """
    before = [] if before is None else before
    for number, one in enumerate(before):
        if function is one:
            return ["before", number]
    before.append(function)
    if isinstance(function, partial):
        return ["partial", identity_of(function.func, before), [*function.args, dict(function.keywords)]]
    if inspect.ismethod(function):
        return ["method", inspect.getsource(function)]
    if not inspect.isfunction(function):
        inside = inspect.unwrap(function)
        wrapped = [] if inside is function else identity_of(inside, before)
        return ["object", type(function).__module__, type(function).__qualname__, wrapped]
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    held += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    codes = [function.__code__]
    for code in codes:
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    held += own_globals(function, codes)
    inside = [identity_of(one, before) if isinstance(one, FUNCTIONS) else one for one in held]
    # Two lambdas in one line have the same source.
    names = [name for code in codes for name in code.co_names]
    constants = [value for code in codes for value in code.co_consts if isinstance(value, PLAIN)]
    return [inspect.getsource(function), names, constants, inside]


def own_globals(function: FunctionType, codes: Iterable[CodeType]) -> list[Any]:
    """The functions of its own module, and the plain values, among the globals that the code of a function reads."""
    read = (step for code in codes for step in dis.get_instructions(code))
    names = dict.fromkeys(step.argval for step in read if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    found = []
    for name in names:
        value: Any = function.__globals__.get(name)
        if type(value).__module__ == "functools":
            value = inspect.unwrap(value)  # as of functools.cache
        is_function = isinstance(value, FunctionType) and value.__module__ == function.__module__
        if is_function or isinstance(value, PLAIN):
            found.append(value)
    return found


def pipeline_teacher(nlp: Language, labels: Labels) -> LabelTeacher:
    """The ``doc.cats`` of a pipeline."""
    # A component that does not say what it assigns may set them.
    assigned = [nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names]
    name = "_".join(filter(None, (nlp.meta["lang"], nlp.meta["name"])))
    if all(names and "doc.cats" not in names for names in assigned):
        raise ValueError(
            f"The teacher {name} sets no doc.cats: it has {listed(nlp.pipe_names)}. A teacher needs a text classifier."
        )

    def cats(texts: Sequence[str]) -> list[dict[str, float]]:
        with nlp.memory_zone():
            return [dict(doc.cats) for doc in nlp.pipe(texts)]

    # Of the vocabulary only the vectors tell; what else is in it grows with the texts.
    parts = [nlp.to_bytes(exclude=["vocab"]), nlp.vocab.vectors.to_bytes(exclude=["strings"])]
    digests = [sha256(part).hexdigest() for part in parts]
    return LabelTeacher(name, digest_of(["pipeline", *digests, sorted(labels.names)]), labels, cats)
