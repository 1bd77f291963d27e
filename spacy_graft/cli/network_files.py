"""``network merge`` and ``network show``: files of networks, and what all commands say of a network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..messages import did_you_mean, one_line
from .common import CommandError, Format, OutputFormat, add_row, as_table, print_json, table_of
from .common import show as print_tables
from .waiting import waiting

if TYPE_CHECKING:
    from rich.table import Table

    from ..graphs.graph import FeatureGraph

MERGE_EXAMPLES = """
spacy-graft network merge all.network wordnet.network sentiment.network
spacy-graft network merge all.network wordnet.network own.network --weight 1 --weight 2 --normalise
"""
SHOW_EXAMPLES = """
spacy-graft network show words.network
spacy-graft network show words.network film --top 10
spacy-graft network show words.network "SentiWordNet positive"
"""

Output = Annotated[
    Path, typer.Argument(metavar="OUTPUT", help="File to write, whole or not at all; for spacy_graft.GraphFile.v1.")
]


def merge(
    output: Output,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Networks, built by other commands.")],
    weight: Annotated[
        list[float] | None, typer.Option(min=0.0, help="Factor of a file's weights; once for each file, in order.")
    ] = None,
    normalise: Annotated[
        bool, typer.Option("--normalise", help="Divide rows by their sums first: factors are shares then.")
    ] = False,
    format: OutputFormat = None,
) -> None:
    """Put networks together.

    Weights of an edge that several have are added up, and what one calls dissimilar is not similar: as
    spacy_graft.MergedGraphs.v1 does. Coverage is of all features of the files.
    """
    from ..graphs.edgelist import GraphFile
    from ..graphs.merging import MergedGraphs
    from ..graphs.vocabulary import CorpusVocabulary

    check_output(output)
    names = [path.stem for path in files]
    if weight and len(weight) != len(files):
        raise typer.BadParameter(f"--weight is given {len(weight)} times, for {len(files)} files.")
    if len(set(names)) < len(names):
        raise CommandError("The report tells files by their names without folder and ending, and two have the same.")
    weights = dict(zip(names, weight, strict=True)) if weight else None
    networks = MergedGraphs({path.stem: GraphFile(path) for path in files}, weights, normalise)
    with waiting("merging"):
        features = dict.fromkeys(vertex for path in files for vertex in read(path).features())
        graph = networks(CorpusVocabulary.of(features))
    write(graph, output)
    tell(graph, format)


def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A network.")],
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A vertex, with spaces between its symbols.")
    ] = None,
    top: Annotated[int | None, typer.Option(min=1, help="How many neighbours; all, if it is not given.")] = None,
    format: OutputFormat = None,
) -> None:
    """Print the report of a network, or the neighbours of a vertex, those of the largest weights first.

    A share is the part that a neighbour has in the mean which the vertex is drawn to; back is the weight of the edge
    that draws the neighbour to the vertex.
    """
    graph = read(file)
    if name is None:
        tell(graph, format)
        return
    for vertex in vertices_of_name(graph, name, file):
        found = neighbours(graph, vertex)
        about = {"vertex": " ".join(graph.vertices[vertex]), "virtual": bool(graph.virtual[vertex])}
        if as_table(format):
            print_tables(neighbour_table(about, found, top))
        else:
            print_json({**about, "neighbours": found[:top]})


def read(path: Path) -> FeatureGraph:
    """The network of a file."""
    from ..graphs.edgelist import existing_file
    from ..graphs.graph import FeatureGraph

    return FeatureGraph.from_disk(existing_file(path))


def check_output(output: Path) -> None:
    """Raise a CommandError if the file cannot be written, before anything is built."""
    folder = next(parent for parent in output.resolve().parents if parent.exists())
    if output.is_dir():
        raise CommandError(f"{output} cannot be written: it is a folder.")
    if not folder.is_dir():
        raise CommandError(f"{output} cannot be written: {folder} is no folder.")
    if not os.access(folder, os.W_OK):
        raise CommandError(f"{output} cannot be written: {folder} may not be changed.")


def write(graph: FeatureGraph, output: Path) -> None:
    """Write the network, in a folder that is made if it is not there."""
    if not graph.n_vertices:
        skipped = ", ".join(f"{reason} {count:,}" for reason, count in graph.report["skipped"].items() if count)
        raise CommandError(
            f"No two of the {graph.report['coverage']['vocabulary']:,} features are related: {output} is not written. "
            f"Skipped: {skipped or 'nothing'}."
        )
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        graph.to_disk(output)
    except OSError as error:
        raise CommandError(f"{output} cannot be written: {error.strerror}.") from error


def tell(graph: FeatureGraph, format: Format | None) -> None:
    """Print the report."""
    if as_table(format):
        print_tables(report_table(graph.report))
    else:
        print_json(graph.report, indent=2)


def report_table(report: dict[str, Any]) -> Table:
    """A row a figure, a column for the whole and for each network that it is made of."""
    parts = {"(all)": report, **report.get("graphs", {})}
    columns = {one_line(name): dict(figures(part)) for name, part in parts.items()}
    table = table_of(None, "", *columns, numbers=columns)
    for row in dict.fromkeys(row for column in columns.values() for row in column):
        add_row(table, row, *(column.get(row, "") for column in columns.values()))
    return table


def figures(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The figures of a report as people read them, by name; not those of its parts."""
    for key, value in report.items():
        if key == "graphs":
            continue
        if isinstance(value, dict):
            yield from ((f"{key}: {name}", figure) for name, figure in figures(value))
        else:
            yield key, f"{value:.1%}" if isinstance(value, float) else f"{value:,}"


def vertices_of_name(graph: FeatureGraph, name: str, file: Path) -> list[int]:
    """The numbers of the vertices of that name: a feature, a virtual vertex, or both."""
    names = [" ".join(vertex) for vertex in graph.vertices]
    wanted = " ".join(name.split())
    found = [number for number, other in enumerate(names) if other == wanted]
    if not found:
        raise CommandError(f"{file} has no vertex {name!r}.{did_you_mean(wanted, names)}")
    return found


def neighbours(graph: FeatureGraph, vertex: int) -> list[dict[str, Any]]:
    """The vertices that an edge joins with this one, with kind, weights and share."""
    found = []
    for kind, matrix, shares in zip(
        ("similar", "dissimilar"), (graph.similar, graph.dissimilar), graph.row_normalised(), strict=True
    ):
        share, weight, back = (entries(row) for row in (shares[[vertex]], matrix[[vertex]], matrix[:, [vertex]].T))
        found += [
            {
                "name": " ".join(graph.vertices[other]),
                "virtual": bool(graph.virtual[other]),
                "kind": kind,
                "weight": weight.get(other, 0.0),
                "share": share.get(other, 0.0),
                "back": back.get(other, 0.0),
            }
            for other in weight.keys() | back.keys()
        ]
    return sorted(found, key=lambda one: (-max(one["weight"], one["back"]), one["name"], one["kind"]))


def entries(row: Any) -> dict[int, float]:
    """The entries of a sparse row, by column."""
    found = row.tocoo()
    return dict(zip(found.col.tolist(), found.data.tolist(), strict=True))


def neighbour_table(about: dict[str, Any], found: list[dict[str, Any]], top: int | None) -> Table:
    """A row a neighbour."""
    shown = found[:top]
    count = f"{len(found):,}" if len(shown) == len(found) else f"{len(shown):,} of {len(found):,}"
    title = f"{about['vertex']}{' (virtual)' if about['virtual'] else ''}, neighbours: {count}"
    numbers = ["weight", "share", "back"]
    table = table_of(title, "neighbour", "kind", *numbers, numbers=numbers)
    for one in shown:
        name = f"{one['name']} (virtual)" if one["virtual"] else one["name"]
        add_row(table, name, one["kind"], f"{one['weight']:.4g}", f"{one['share']:.1%}", f"{one['back']:.4g}")
    return table
