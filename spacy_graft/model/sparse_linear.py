"""The thinc model: holds a snapshot, answers thinc's questions about it, and is saved as one message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, NumpyOps, deserialize_attr, serialize_attr

from .loading import TRANSIENT, attrs_of, read_message
from .snapshot import Snapshot
from .table import unpack_message
from .weights import saved_weights

SparseLinearT = Model[list[Doc], np.ndarray]

#: The attribute that holds the snapshot; None before the model has weights.
SNAPSHOT = "snapshot"
#: thinc's names of the parameters, and the fields of the snapshot that they are.
PARAMETERS = {"W": "weights", "b": "intercepts"}


class SparseLinearModel(Model[list[Doc], np.ndarray]):
    """A thinc model whose parameters and number of labels are those of its snapshot."""

    @property
    def snapshot(self) -> Snapshot | None:
        """What scores are computed from; None if the model has no weights yet."""
        found: Snapshot | None = self.attrs[SNAPSHOT]
        return found

    def has_param(self, name: str) -> bool | None:
        """Whether the model has a parameter; None if it has no weights yet."""
        return super().has_param(name) if name not in PARAMETERS else None if self.snapshot is None else True

    def get_param(self, name: str) -> Any:
        """Return a parameter; ``W`` and ``b`` are read-only, sparse weights a copy."""
        if name not in PARAMETERS or self.snapshot is None:
            return super().get_param(name)
        values = getattr(self.snapshot, PARAMETERS[name])
        if not isinstance(values, np.ndarray):
            return values.copy()
        values = values.view()
        values.flags.writeable = False
        return values

    def set_param(self, name: str, value: Any) -> None:
        """Replace the values of a parameter.

        Raises
        ------
        ValueError
            If the model has no weights yet, or they have another shape.
        """
        if name not in PARAMETERS:
            super().set_param(name, value)
        else:
            fields: dict[str, Any] = {PARAMETERS[name]: value}
            self.attrs[SNAPSHOT] = replace(snapshot_of(self), **fields)

    def has_dim(self, name: str) -> bool | None:
        """Whether a dimension is known; ``nO``, the number of labels, is so once the model has weights."""
        return True if name == "nO" and self.snapshot is not None else super().has_dim(name)

    def get_dim(self, name: str) -> int:
        """Return a dimension; ``nO`` is the number of labels."""
        return self.snapshot.n_labels if name == "nO" and self.snapshot is not None else super().get_dim(name)

    def to_dict(self) -> dict[str, Any]:
        """Return the model in plain values and arrays, for :meth:`to_bytes`; all of one snapshot."""
        snapshot = self.snapshot
        attrs: dict[str, bytes] = {}
        for name, value in self.attrs.items():
            if name in TRANSIENT:
                continue
            try:
                attrs[name] = serialize_attr(value, value, name, self)
            except TypeError:  # thinc's signal that an attribute is not saved
                continue
        attrs |= attrs_of(snapshot)
        params: dict[str, Any] = dict.fromkeys(PARAMETERS)
        if snapshot is not None:
            params = {"W": saved_weights(snapshot.weights), "b": snapshot.intercepts}
        node = {"index": 0, "name": self.name, "dims": {}, "refs": {}}
        return {"nodes": [node], "attrs": [attrs], "params": [params], "shims": [[]]}

    def from_bytes(self, bytes_data: bytes) -> SparseLinearModel:
        """Load what ``to_bytes`` wrote. Nothing in it is executed.

        Raises
        ------
        ValueError
            If the bytes are damaged, of another model or of another version, or do not fit the blocks. The model is
            what it was before.
        """
        return self.from_dict(unpack_message(bytes_data))

    def from_dict(self, msg: dict[str, Any]) -> SparseLinearModel:
        """Load what ``to_dict`` gave, as :meth:`from_bytes`."""
        name, snapshot, others = read_message(msg, self.attrs["blocks"])
        attrs = {key: deserialize_attr(self.attrs.get(key), value, key, self) for key, value in others.items()}
        self.name = name
        self.attrs.update(attrs)
        self.attrs[SNAPSHOT] = snapshot
        return self

    def _copy(self, seen: dict[int, Any] | None = None) -> SparseLinearModel:
        copied = SparseLinear(self.attrs["blocks"]).from_dict(self.to_dict())
        own = self.attrs[SNAPSHOT]
        if own is not None and own.word_scores is not None:
            # Vectors of the pipeline are not part of the message.
            copied.attrs[SNAPSHOT] = replace(copied.attrs[SNAPSHOT], word_scores=own.word_scores)
        return copied


@registry.architectures("spacy_graft.SparseLinear.v1")
def SparseLinear(blocks: dict[str, Any]) -> SparseLinearModel:
    """Linear model over the features of documents: f_i = b + a_i Σ_k W_k x_ik, and what words add by their vectors.

    x_ik is 1 if the document has the n-gram k and else 0; for an item it is its value there, for a combination the
    product of the values of its members. a_i is the document weight.

    The input is a list of documents, the output the scores of labels: float64 (n_documents, n_labels). The order of
    sums depends only on the document, so scores are the same bits in any batch and after loading.

    The model is not trained by gradients; whoever trains it sets its snapshot. Before that it has no features, and
    after ``model.initialize(Y=...)`` all scores are 0.

    Parameters
    ----------
    blocks : dict of str to Block
        The feature blocks; they come from the config and are not saved. (``Any``, because spaCy checks the types of a
        config before it makes the blocks.)

    Notes
    -----
    Parameters ``W``, float64 (n_features, n_labels), and ``b``, float64 (n_labels), and all else that scores are
    computed from, are those of the attribute ``snapshot`` (a :class:`~spacy_graft.model.snapshot.Snapshot`), which is
    None before the model has weights. It is replaced as a whole, so that any number of threads may predict while one
    trains.
    """
    return SparseLinearModel(
        "sparse_linear",
        forward,
        init=init,
        dims={"nO": None},
        params=dict.fromkeys(PARAMETERS),
        attrs={"blocks": dict(blocks), SNAPSHOT: None},
        ops=NumpyOps(),
    )


def init(model: SparseLinearT, X: Any = None, Y: np.ndarray | None = None) -> None:
    """Remove all features; ``Y``, float (n, n_labels), gives the number of labels."""
    if Y is not None:
        model.attrs[SNAPSHOT] = Snapshot.without_features(model.attrs["blocks"], Y.shape[1])


def forward(model: SparseLinearT, docs: list[Doc], is_train: bool) -> tuple[np.ndarray, Callable[[Any], list[Any]]]:
    """Return scores; the callback does nothing, since the model is not trained by gradients."""
    return snapshot_of(model).scores(docs), lambda d_scores: []


def snapshot_of(model: SparseLinearT) -> Snapshot:
    """Return the snapshot of a model; raise a ValueError if it has no weights yet."""
    snapshot: Snapshot | None = model.attrs[SNAPSHOT]
    if snapshot is None:
        raise ValueError(f"The model {model.name!r} has no weights yet: train it, or load a trained one.")
    return snapshot
