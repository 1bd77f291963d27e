"""Saving and loading of classifiers of texts: one sealed file, of which nothing is executed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from .extract.texts import SequenceReader, Words
from .files import writing
from .graft.constraints import Constraints
from .graft.report import Report
from .graft.settings import CoordinateAscent, Grafting, GraftingPath
from .model.loading import OPTIONAL_ATTRS, SNAPSHOT_ATTRS, attrs_of, read_snapshot
from .model.matching import Blocks
from .model.sealing import seal, unseal
from .model.snapshot import Snapshot
from .model.table import damaged_model, pack_message, unpack_message
from .text_model import TextModel

#: Parts of a sealed file: parameters and labels, and the model.
ESTIMATOR_PART, MODEL_PART = "estimator", "model"
#: What the first part has.
ESTIMATOR_KEYS = {"class": str, "params": dict, "classes": list, "dtype": str, "exclusive": bool, "matrix": str}
#: The learners whose settings can be written down.
LEARNERS: dict[str, Any] = {learner.__name__: learner for learner in (CoordinateAscent, Grafting, GraftingPath)}


@dataclass(frozen=True)
class SavedEstimator:
    """What is saved of a classifier beside its features and weights.

    Attributes
    ----------
    name : str
        Of its class.
    params : dict
        Its parameters.
    classes : (n_labels,)
    exclusive : bool
    matrix_dtype : dtype, optional
        Of the matrix of targets, if they were one.
    """

    name: str
    params: dict[str, Any]
    classes: np.ndarray
    exclusive: bool
    matrix_dtype: np.dtype[Any] | None

    def to_bytes(self) -> bytes:
        """Write it as JSON; a ValueError if it has something else than plain values."""
        message = {
            "class": self.name,
            "params": {name: plain_param(name, value) for name, value in self.params.items()},
            "classes": self.classes.tolist(),
            "dtype": self.classes.dtype.str,
            "exclusive": self.exclusive,
            "matrix": "" if self.matrix_dtype is None else self.matrix_dtype.str,
        }
        if not all(isinstance(label, str | int | float) for label in message["classes"]):
            raise ValueError("Only labels that are strings or numbers can be saved: save the model with pickle.")
        return json.dumps(message).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> SavedEstimator:
        """Read what :meth:`to_bytes` wrote; a ValueError if it is something else."""
        try:
            message = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise damaged_model(f"its parameters are not JSON ({error})") from error
        if not isinstance(message, dict) or {key: type(value) for key, value in message.items()} != ESTIMATOR_KEYS:
            raise damaged_model("it does not say which estimator it is of")
        params = {
            name: read_learner(value) if name == "learner" else value for name, value in message["params"].items()
        }
        try:
            classes = np.array(message["classes"], read_dtype(message["dtype"]))
            matrix = read_dtype(message["matrix"]) if message["matrix"] else None
        except (TypeError, ValueError, OverflowError) as error:
            raise damaged_model(f"its labels are not those of a model ({error})") from error
        return cls(message["class"], params, classes, message["exclusive"], matrix)


def write_estimator(path: Path, estimator: SavedEstimator, model: TextModel, report: Report) -> None:
    """Write a classifier into a file, which appears when all of it has been written."""
    snapshot = replace(model.snapshot, notes={"report": asdict(report)})
    arrays = {"W": snapshot.weights, "b": snapshot.intercepts}
    data = seal({ESTIMATOR_PART: estimator.to_bytes(), MODEL_PART: pack_message({**attrs_of(snapshot), **arrays})})
    with writing(path) as file:
        file.write(data)


def read_parts_of(data: bytes) -> tuple[SavedEstimator, dict[str, Any]]:
    """Read the parameters, and the parts of the model for :func:`read_model`."""
    parts, _ = unseal(data)
    if set(parts) != {ESTIMATOR_PART, MODEL_PART}:
        raise damaged_model("it is not an estimator of texts")
    message = unpack_message(parts[MODEL_PART])
    if not isinstance(message, dict) or set(message).difference(OPTIONAL_ATTRS) != {*SNAPSHOT_ATTRS, "W", "b"}:
        raise damaged_model("it does not have the parts of a model")
    return SavedEstimator.from_bytes(parts[ESTIMATOR_PART]), message


def read_model(message: dict[str, Any], readers: dict[str, SequenceReader], n_labels: int) -> tuple[TextModel, Report]:
    """Read a model over readers, and the report of its training."""
    attrs = {name: message[name] for name in (*SNAPSHOT_ATTRS, *OPTIONAL_ATTRS) if name in message}
    if not all(isinstance(value, bytes) for value in attrs.values()):
        raise damaged_model("it does not have the parts of a model")
    arrays = {name: message[name] for name in ("W", "b")}
    snapshot = read_snapshot(attrs, arrays, Blocks(cast("Any", readers)), cast("Any", Words()))
    if snapshot is None or snapshot.n_labels != n_labels:
        raise damaged_model(f"it does not have weights for {n_labels} labels")
    return TextModel(snapshot), report_of(snapshot)


def report_of(snapshot: Snapshot) -> Report:
    """The report among the notes of a model; keys that this version does not have are ignored."""
    saved = snapshot.notes.get("report")
    if not isinstance(saved, dict):
        raise damaged_model("it has no report")
    return Report(**{field.name: saved[field.name] for field in fields(Report) if field.name in saved})


def plain_param(name: str, value: Any) -> Any:
    """A parameter in the values of JSON.

    Raises
    ------
    ValueError
        If it is a function, or the learner of another package.
    """
    if type(value).__name__ in LEARNERS and type(value) is LEARNERS[type(value).__name__]:
        return {"type": type(value).__name__, "settings": asdict(value)}
    values = list(value) if isinstance(value, list | tuple) else [value]
    values = [one.item() if isinstance(one, np.generic) else one for one in values]
    if not all(one is None or isinstance(one, str | int | float) for one in values):
        raise ValueError(
            f"{name} = {value!r:.60} cannot be saved: only plain values are written, so that nothing is executed when "
            f"they are read. Save the model with pickle, or do the work of a function before, with analyzer='word'."
        )
    return values if isinstance(value, list | tuple) else values[0]


def read_learner(saved: Any) -> Any:
    """The learner that :func:`plain_param` wrote."""
    if saved is None:
        return None
    if not isinstance(saved, dict) or set(saved) != {"type", "settings"} or saved["type"] not in LEARNERS:
        raise damaged_model("its learner is none of this version")
    try:
        settings = dict(saved["settings"])
        if settings.get("constraints") is not None:
            settings["constraints"] = Constraints(**settings["constraints"])
        return LEARNERS[saved["type"]](**settings)
    except (TypeError, ValueError) as error:
        raise damaged_model(f"its learner is none of this version ({error})") from error


def read_dtype(name: str) -> np.dtype[Any]:
    """The type of labels or of a matrix of targets: strings, numbers, or strings as objects."""
    dtype = np.dtype(name)
    if dtype.kind not in "biufUO":
        raise ValueError(f"{name!r} is no type of labels")
    return dtype
