"""``network merge`` and ``network show``: files of networks, and the printing of their reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..messages import count, did_you_mean, one_line
from .common import (
    CommandError,
    FormatOption,
    OutputFormat,
    add_row,
    check_writable,
    is_stream,
    make_table,
    print_json,
    print_result,
    print_tables,
    refuse_options,
    refuse_own_input,
    wants_table,
)
from .progress import status_line

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

OutputArgument = Annotated[
    Path, typer.Argument(metavar="OUTPUT", help="File to write; a config refers to it with spacy_graft.GraphFile.v1.")
]


def merge_command(
    output: OutputArgument,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Network files.")],
    weight: Annotated[
        list[float] | None, typer.Option(min=0.0, help="Factor of the weights of a file; once for each file, in order.")
    ] = None,
    normalise: Annotated[
        bool,
        typer.Option(
            "--normalise",
            help="Normalise the rows of each network to a sum of 1 before they are multiplied by the factor.",
        ),
    ] = False,
    format: FormatOption = None,
) -> None:
    """Merge networks into one.

    Weights of the same edge are added. A pair that is dissimilar in one network is not similar in the result. This is
    what spacy_graft.MergedGraphs.v1 does in a config. Coverage in the report refers to the features of all files.
    """
    from ..graphs.edgelist import GraphFile
    from ..graphs.merging import MergedGraphs
    from ..graphs.vocabulary import CorpusVocabulary

    refuse_own_input(output, *files)
    check_network_output(output)
    names = [path.stem for path in files]
    if weight and len(weight) != len(files):
        raise typer.BadParameter(f"--weight is given {count(len(weight), 'time')} for {count(len(files), 'file')}.")
    if len(set(names)) < len(names):
        raise CommandError("Two files have the same name without folder and ending, which is their name in the report.")
    weights = dict(zip(names, weight, strict=True)) if weight else None
    networks = MergedGraphs({path.stem: GraphFile(path) for path in files}, weights, normalise)
    with status_line("merging"):
        features = dict.fromkeys(vertex for path in files for vertex in read_graph(path).features())
        graph = networks(CorpusVocabulary.of(features))
    write_graph(graph, output)
    print_graph_report(graph, format)


def show_command(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Network file.")],
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Name of a vertex; the symbols of an n-gram are separated by spaces."),
    ] = None,
    top: Annotated[int | None, typer.Option(min=1, help="Number of neighbours; by default all.")] = None,
    format: FormatOption = None,
) -> None:
    """Print the report of a network, or neighbours of a vertex.

    Neighbours are in descending order of the edges' weights. The weight of a vertex is pulled towards a weighted mean
    of its neighbours' weights: share is a neighbour's part in that of its kind, similar or dissimilar. weight is that
    of the edge from the vertex to the neighbour, reverse weight that of the opposite edge.
    """
    if name is None:
        refuse_options(context, "top", why="without NAME")
    graph = read_graph(file)
    if name is None:
        print_graph_report(graph, format)
        return
    for vertex in vertices_of_name(graph, name, file):
        found = vertex_neighbours(graph, vertex)
        record = {"vertex": " ".join(graph.vertices[vertex]), "virtual": bool(graph.virtual[vertex])}
        if wants_table(format):
            print_tables(neighbour_table(record, found, top))
        else:
            print_json({**record, "neighbours": found[:top]})


def read_graph(path: Path) -> FeatureGraph:
    """Read a network file."""
    from ..graphs.edgelist import existing_file
    from ..graphs.graph import FeatureGraph

    return FeatureGraph.from_disk(existing_file(path))


def check_network_output(output: Path) -> None:
    """Raise a CommandError if the file cannot be written, or is no network, before anything is built."""
    from ..graphs.storage import is_network

    if output.is_dir():
        raise CommandError(f"{output} cannot be written: it is a folder.")
    if output.exists() and not (is_stream(output) or is_network(output)):
        raise CommandError(f"{output} exists, and is not a network: it is not replaced. Give another name.")
    check_writable(output, output.resolve().parent)


def write_graph(graph: FeatureGraph, output: Path) -> None:
    """Write a network file and make its folder; a CommandError if the network has no edges."""
    if not graph.n_vertices:
        raise CommandError(
            f"No two of the {graph.report['coverage']['vocabulary']:,} features are related; {output} was not written. "
            f"Skipped: {graph.skipped_text}."
        )
    graph.to_disk(output)


def print_graph_report(graph: FeatureGraph, format: OutputFormat | None) -> None:
    """Print the report of a network."""
    print_result(format, [graph_report_table(graph.report)], graph.report)


def graph_report_table(report: dict[str, Any]) -> Table:
    """Make a table with a row for each figure and a column for the network and for each one that was merged."""
    parts = {"(all)": report, **merged_reports(report)}
    columns = {one_line(name): dict(formatted_figures(part)) for name, part in parts.items()}
    table = make_table(None, "", *columns, numbers=columns)
    for row in dict.fromkeys(row for column in columns.values() for row in column):
        add_row(table, row, *(column.get(row, "") for column in columns.values()))
    return table


def merged_reports(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the reports of merged networks by name; none if a builder has something else under their key."""
    graphs = report.get("graphs")
    return graphs if isinstance(graphs, dict) and all(isinstance(part, dict) for part in graphs.values()) else {}


def formatted_figures(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield names and formatted values of the figures of a report, without those of merged networks.

    Builders have any values that JSON has.
    """
    from ..graft.report import formatted

    for key, value in report.items():
        if key == "graphs" and merged_reports(report):
            continue
        if isinstance(value, dict):
            yield from ((f"{key}: {name}", figure) for name, figure in formatted_figures(value))
        else:
            yield key, f"{value:.1%}" if isinstance(value, float) else formatted(value)


def vertices_of_name(graph: FeatureGraph, name: str, file: Path) -> list[int]:
    """Return the numbers of the vertices with that name: a feature, a virtual vertex, or both."""
    names = [" ".join(vertex) for vertex in graph.vertices]
    wanted = " ".join(name.split())
    # Symbols may be spaces, or have some.
    found = [number for number, other in enumerate(names) if other in (name, wanted)]
    if not found:
        raise CommandError(f"{file} has no vertex {name!r}.{did_you_mean(wanted, names)}")
    return found


def vertex_neighbours(graph: FeatureGraph, vertex: int) -> list[dict[str, Any]]:
    """Return the neighbours of a vertex, with kind, weights and share."""
    found = []
    for kind, matrix, shares in zip(
        ("similar", "dissimilar"), (graph.similar, graph.dissimilar), graph.row_normalised(), strict=True
    ):
        share, weight, reverse = (
            row_entries(row) for row in (shares[[vertex]], matrix[[vertex]], matrix[:, [vertex]].T)
        )
        found += [
            {
                "name": " ".join(graph.vertices[other]),
                "virtual": bool(graph.virtual[other]),
                "kind": kind,
                "weight": weight.get(other, 0.0),
                "share": share.get(other, 0.0),
                "reverse_weight": reverse.get(other, 0.0),
            }
            for other in weight.keys() | reverse.keys()
        ]
    return sorted(
        found, key=lambda entry: (-max(entry["weight"], entry["reverse_weight"]), entry["name"], entry["kind"])
    )


def row_entries(row: Any) -> dict[int, float]:
    """Return the entries of a sparse row by column."""
    coordinates = row.tocoo()
    return dict(zip(coordinates.col.tolist(), coordinates.data.tolist(), strict=True))


def neighbour_table(record: dict[str, Any], found: list[dict[str, Any]], top: int | None) -> Table:
    """Make a table with a row for each neighbour of a vertex."""
    shown = found[:top]
    number = f"{len(found):,}" if len(shown) == len(found) else f"{len(shown):,} of {len(found):,}"
    title = f"{record['vertex']}{' (virtual)' if record['virtual'] else ''}, neighbours: {number}"
    numbers = ["weight", "share", "reverse weight"]
    table = make_table(title, "neighbour", "kind", *numbers, numbers=numbers)
    for entry in shown:
        name = f"{entry['name']} (virtual)" if entry["virtual"] else entry["name"]
        weight, reverse = f"{entry['weight']:.4g}", f"{entry['reverse_weight']:.4g}"
        add_row(table, name, entry["kind"], weight, f"{entry['share']:.1%}", reverse)
    return table
