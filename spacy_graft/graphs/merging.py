"""The union of several graphs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..messages import listed
from ..options import check_flags, check_numbers
from ..registry import graph_builder
from .graph import FeatureGraph, graph_by, merge_graphs
from .vocabulary import CorpusVocabulary, Vertex


@graph_builder("spacy_graft.MergedGraphs.v1")
@dataclass(frozen=True)
class MergedGraphs:
    """The union of several graphs.

    Weights of an edge that several graphs have are summed. The penalty divides each row by its sum, so that a weight
    counts relative to the others of its feature: an edge of two graphs counts for more than an edge of one, and a graph
    with a factor of 2 has the effect of the same graph twice. Features that are dissimilar in one graph are not
    similar, whatever their edges in others. Virtual vertices of the same name are one.

    Parameters
    ----------
    graphs : dict of str to graph builder
        Builders by name. The names are free, and are used in the report.
    weights : dict of str to float, optional
        Factors for the weights of graphs, by name: by default 1. A graph with a factor of 0 is left out.
    normalise : bool
        Whether rows are divided by their sums in each graph first. A factor is then the share of a graph in the mean of
        a feature's neighbours, whatever their number and weights.

    Raises
    ------
    ValueError
        If there are no graphs, one is no builder, or a factor is negative or of an unknown graph.
    """

    # The type is Any: configs are validated before builders are made.
    graphs: dict[str, Any]
    weights: dict[str, float] | None = None
    normalise: bool = False

    def __post_init__(self) -> None:
        given: Any = self.graphs
        if not (isinstance(given, dict) and given and all(map(callable, given.values()))):
            raise ValueError(f"MergedGraphs: graphs must be builders by name, at least one, but are {self.graphs!r}")
        factors: Any = self.weights or {}
        if not isinstance(factors, dict) or not factors.keys() <= self.graphs.keys():
            raise ValueError(
                f"MergedGraphs: weights must be numbers by the names of graphs, {listed(self.graphs)}, but are "
                f"{factors!r}"
            )
        check_flags("MergedGraphs", normalise=self.normalise)
        check_numbers("MergedGraphs", **{f"weights.{name}": factor for name, factor in factors.items()})

    def __call__(self, vocabulary: CorpusVocabulary | Iterable[Vertex]) -> FeatureGraph:
        """Return the graph over the features of a corpus; the report has those of all ``graphs`` by name.

        Exceptions of the builders are passed on.
        """
        features = CorpusVocabulary.of(vocabulary)
        weights = {**dict.fromkeys(self.graphs, 1.0), **(self.weights or {})}
        members = {
            name: graph_by(builder, features, f"MergedGraphs: graphs.{name}")
            for name, builder in self.graphs.items()
            if weights[name]
        }
        scaled = [graph.scaled(weights[name], self.normalise) for name, graph in members.items()]
        reports = {name: graph.report for name, graph in members.items()}
        return merge_graphs(scaled, len(features.vertices), {"graphs": reports})
