"""Saving and loading of estimators: one sealed file, of which nothing is executed."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, Self

from .estimators import require_fitted
from .files import write_whole
from .graft.constraints import Constraints
from .graft.report import Report
from .model.loading import OPTIONAL_ATTRS, SNAPSHOT_ATTRS, attrs_of, read_snapshot
from .model.sealing import seal, unseal
from .model.snapshot import REPORT, Snapshot
from .model.table import damaged_model, pack_message, types_of, unpack_message
from .model.weights import saved_weights
from .options import as_python

#: Parts of a sealed file: parameters and labels, and the model.
ESTIMATOR_PART, MODEL_PART = "estimator", "model"
#: What the first part has.
ESTIMATOR_KEYS = {"class": str, "params": dict, "labels": dict, "space": dict}
#: The settings that can be written down, and the modules of their classes: nothing else is imported by name.
SETTINGS = {
    **dict.fromkeys(("CoordinateAscent", "Grafting", "GraftingPath"), ".graft.settings"),
    "CharacterNgrams": ".extract.characters",
    "Combinations": ".extract.combinations",
    "DocAttributes": ".extract.metadata",
    "HeadModifiers": ".extract.arcs",
    "TokenAttributes": ".extract.attributes",
    "TokenNgrams": ".extract.tokens",
}


class SealedEstimator(ABC):
    """What saves a fitted estimator into a file, and reads it."""

    report_: Report
    _space: SavedSpace
    _model: Any
    #: Those that the model was fitted with, whatever has been set since.
    _fitted_params: dict[str, Any]

    @abstractmethod
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""

    @abstractmethod
    def _own_space(self) -> SavedSpace:
        """How documents are read, as the parameters say."""

    @abstractmethod
    def _saved_labels(self) -> dict[str, Any]:
        """The labels in plain values."""

    @abstractmethod
    def _restore_labels(self, labels: dict[str, Any]) -> int:
        """Take up what :meth:`_saved_labels` gave, and return the number of labels; a ValueError for other values."""

    @property
    def report(self) -> Report:
        """``report_`` by the name that it has in components."""
        require_fitted(self)
        return self.report_

    def _set_fitted(self, space: SavedSpace, model: Any, report: Report, **found: Any) -> None:
        """Set what fitting or loading gives an estimator: all at once, lest Ctrl-C leave parts of two models."""
        params = kept_params(self.get_params(deep=False))
        for attribute in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(attribute, None)
        found |= space.input_attributes()
        self.__dict__.update(found, report_=report, _fitted_params=params, _space=space, _model=model)

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator into a file, in plain values and with a digest.

        Its parameters are those that it was fitted with.

        Raises
        ------
        ValueError
            If a parameter is a function, a label neither a string nor a number, or the learner or a block of another
            package.
        """
        require_fitted(self)
        params = {name: plain_param(name, value) for name, value in self._fitted_params.items()}
        message = {
            "class": type(self).__name__,
            "params": params,
            "labels": self._saved_labels(),
            "space": self._space.saved_state(),
        }
        snapshot = replace(self._space.snapshot(self._model), notes={REPORT: asdict(self.report_)})
        model = {**attrs_of(snapshot), "W": saved_weights(snapshot.weights), "b": snapshot.intercepts}
        data = seal({ESTIMATOR_PART: json.dumps(message).encode(), MODEL_PART: pack_message(model)})
        write_whole(Path(path), data, compress=False)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote. Nothing in it is executed.

        Raises
        ------
        ValueError
            If the file is damaged, or of another estimator or version; or if it is a folder.
        """
        if Path(path).is_dir():
            raise ValueError(f"{path} is a folder, but estimators are files. spacy.load reads folders of pipelines.")
        data = Path(path).read_bytes()
        try:
            saved = SavedEstimator.from_bytes(data)
            if saved.name != cls.__name__:
                raise ValueError(f"The file holds a {saved.name!r}, but a {cls.__name__!r} is expected.")
            estimator = cls(**saved.params)
            space = estimator._own_space()
            n_labels = estimator._restore_labels(saved.labels)
            estimator._set_fitted(space, *space.restored(saved, n_labels))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from error
        return estimator


class SavedSpace(Protocol):
    """How documents are read, as far as files are concerned."""

    def input_attributes(self) -> dict[str, Any]:
        """Return the attributes of an estimator that tell what the training documents were."""

    def saved_state(self) -> dict[str, Any]:
        """Return what is saved of the training documents, in plain values."""

    def snapshot(self, model: Any, /) -> Snapshot:
        """Return what is saved of a model."""

    def restored(self, saved: SavedEstimator, n_labels: int, /) -> tuple[Any, Report]:
        """Return a model that has been saved, and the report of its training; a ValueError if it does not fit."""


@dataclass(frozen=True)
class SavedEstimator:
    """What a file has.

    Attributes
    ----------
    name : str
        Of the class of the estimator.
    params : dict
        Its parameters.
    labels, space : dict
        What fitting has found beside the model: the labels, and what is known of the training documents.
    model : dict
        The parts of the model.
    """

    name: str
    params: dict[str, Any]
    labels: dict[str, Any]
    space: dict[str, Any]
    model: dict[str, Any]

    @classmethod
    def from_bytes(cls, data: bytes) -> SavedEstimator:
        """Read a file; a ValueError if it is something else."""
        parts, _ = unseal(data)
        if set(parts) != {ESTIMATOR_PART, MODEL_PART}:
            raise damaged_model("it is not an estimator")
        model = unpack_message(parts[MODEL_PART])
        if not isinstance(model, dict) or set(model).difference(OPTIONAL_ATTRS) != {*SNAPSHOT_ATTRS, "W", "b"}:
            raise damaged_model("it does not have the parts of a model")
        try:
            message = json.loads(parts[ESTIMATOR_PART])
        except (ValueError, RecursionError) as error:
            raise damaged_model(f"its parameters are not JSON ({error})") from error
        if types_of(message) != ESTIMATOR_KEYS:
            raise damaged_model("it does not say which estimator it is of")
        params = {name: read_param(value) for name, value in message["params"].items()}
        return cls(message["class"], params, message["labels"], message["space"], model)

    def snapshot(self, blocks: Mapping[str, Any], strings: Any, n_labels: int) -> tuple[Snapshot, Report]:
        """Read the model over blocks, and the report of its training; a ValueError if it is of something else."""
        attrs = {name: self.model[name] for name in (*SNAPSHOT_ATTRS, *OPTIONAL_ATTRS) if name in self.model}
        if not all(isinstance(value, bytes) for value in attrs.values()):
            raise damaged_model("it does not have the parts of a model")
        arrays = {name: self.model[name] for name in ("W", "b")}
        snapshot = read_snapshot(attrs, arrays, blocks, strings)
        if snapshot is None or snapshot.n_labels != n_labels:
            raise damaged_model(f"it does not have weights for {n_labels} labels")
        report = report_of(snapshot)
        report.check_thresholds(n_labels, least=n_labels)
        return snapshot, report


def checked_values(message: dict[str, Any], **types: type) -> list[Any]:
    """What a message has, which must be of these names and types and no others; else a ValueError."""
    if types_of(message) != types:
        raise damaged_model(f"it does not have what fitting finds: {', '.join(types) or 'nothing'}")
    return [message[name] for name in types]


def report_of(snapshot: Snapshot) -> Report:
    """The report among the notes of a model."""
    if snapshot.report is None:
        raise damaged_model("it has no report")
    return Report.of_saved(snapshot.report)


def kept_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as they are now: lists, mappings and arrays that may be changed later are copied."""
    return {
        name: copy(value) if isinstance(value, list | dict) or hasattr(value, "tolist") else value
        for name, value in params.items()
    }


def plain_param(name: str, value: Any) -> Any:
    """A parameter in the values of JSON.

    Raises
    ------
    ValueError
        If it is a function, or the learner or a block of another package.
    """
    kind = type(value).__name__
    if kind in SETTINGS and type(value) is class_of_settings(kind):
        settings = asdict(value, dict_factory=lambda items: {option: as_python(its) for option, its in items})
        return {"type": kind, "settings": settings}
    if isinstance(value, Mapping):
        return {str(key): plain_param(f"{name}[{key!r}]", its) for key, its in value.items()}
    if hasattr(value, "tolist"):  # an array, a Series
        value = value.tolist()
    values = list(value) if isinstance(value, list | tuple) else [value]
    values = list(map(as_python, values))
    if not all(one is None or isinstance(one, str | int | float) for one in values):
        raise ValueError(
            f"{name} = {value!r:.60} cannot be saved: only plain values are written, so that nothing is executed when "
            f"they are read. Save the model with pickle, or do the work of a function before, with analyzer='word'."
        )
    return values if isinstance(value, list | tuple) else values[0]


def read_param(saved: Any) -> Any:
    """What :func:`plain_param` wrote."""
    if not isinstance(saved, dict):
        return saved
    # Blocks may have these names, too: what they map to are settings.
    if set(saved) != {"type", "settings"} or isinstance(saved["type"], dict):
        return {name: read_param(value) for name, value in saved.items()}
    if not isinstance(saved["type"], str) or saved["type"] not in SETTINGS:
        raise damaged_model(f"its settings of {saved['type']!r} are none of this version")
    try:
        settings = dict(saved["settings"])
        if settings.get("constraints") is not None:
            settings["constraints"] = Constraints(**settings["constraints"])
        return class_of_settings(saved["type"])(**settings)
    except (TypeError, ValueError) as error:
        raise damaged_model(f"its settings of {saved['type']!r} are none of this version ({error})") from error


def class_of_settings(name: str) -> Any:
    """One of the classes of :data:`SETTINGS`."""
    return getattr(import_module(SETTINGS[name], __package__), name)
