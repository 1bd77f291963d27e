"""Several networks as one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..registry import network_builder
from .graph import FeatureGraph, merged
from .lexical import check_numbers
from .vocabulary import CorpusVocabulary, Vertex


@network_builder("spacy_graft.Networks.v1")
@dataclass(frozen=True)
class Networks:
    """The union of several networks.

    Weights of an edge that several of them have are added up. A penalty divides each row by its sum, so that a weight
    counts relative to the others of its feature: added up, what two networks know counts for more than what only one
    knows, and a network of twice the weight is as good as the same network twice. Features that one network calls
    dissimilar are not similar, whatever the others say. Virtual vertices of the same name are one.

    Parameters
    ----------
    networks : dict of str to network
        Builders by names of any kind, which the report uses.
    weights : dict of str to float, optional
        Factors for the weights of networks, by name: 1 where there is none, and a network of 0 is left out.
    normalise : bool
        Whether rows are divided by their sums in each network first. A factor is then the share that a network has in
        the mean of a feature's neighbours, however many they are there and whatever their weights.

    Raises
    ------
    ValueError
        If there are no networks, or what is none among them, or a factor is negative or of a network that is not there.
    """

    #: Builders; Any, since a config is validated before they are made.
    networks: dict[str, Any]
    weights: dict[str, float] | None = None
    normalise: bool = False

    def __post_init__(self) -> None:
        if not self.networks or not all(map(callable, self.networks.values())):
            raise ValueError(f"Networks: networks must be builders by name, one at least, but are {self.networks!r}")
        if unknown := sorted(set(self.weights or {}) - set(self.networks)):
            raise ValueError(f"Networks: weights are for {', '.join(self.networks)}, and not for {', '.join(unknown)}")
        check_numbers("Networks", 0.0, {f"weights.{name}": weight for name, weight in (self.weights or {}).items()})

    def __call__(self, vocabulary: CorpusVocabulary | Iterable[Vertex]) -> FeatureGraph:
        """Return the graph over the features of a corpus; its report has those of all ``networks`` by name.

        Raises what the networks raise.
        """
        features = CorpusVocabulary.of(vocabulary)
        weights = {**dict.fromkeys(self.networks, 1.0), **(self.weights or {})}
        members = {name: build(features) for name, build in self.networks.items() if weights[name]}
        scaled = [graph.scaled(weights[name], self.normalise) for name, graph in members.items()]
        return merged(scaled, len(features.vertices), {"networks": {name: its.report for name, its in members.items()}})
