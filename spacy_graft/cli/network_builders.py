"""``network wordnet`` and the other builders: a command for each, with the options of the builder class."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import typer
from typer.main import get_command

from .commands import add_command, make_app
from .common import CommandError, FormatOption, OutputFormat, refuse_own_input, with_code
from .inputs import TextFieldOption
from .network_files import OutputArgument, check_network_output, print_graph_report, write_graph
from .progress import status_line, with_count

if TYPE_CHECKING:
    from ..graphs.vocabulary import CorpusVocabulary


class BuilderSource(NamedTuple):
    """Module of a builder, below ``spacy_graft.graphs``, the name of its class, and examples for the help."""

    module: str
    class_name: str
    examples: str


BUILDERS = {
    "wordnet": BuilderSource("wordnet", "WordNet", """
spacy-graft network wordnet words.network --corpus train.jsonl
spacy-graft network wordnet words.network --corpus train.spacy --attribute LEMMA --max-senses 2 --antonym 0
spacy-graft network wordnet words.network --corpus train.jsonl.gz --path /usr/share/wordnet --max-length 2
"""),
    "sentiwordnet": BuilderSource("sentiwordnet", "SentiWordNet", """
spacy-graft network sentiwordnet sentiment.network --corpus train.jsonl
spacy-graft network sentiwordnet seeds.network --corpus train.jsonl --neighbours 0 --member-min-df 50
"""),
    "cooccurrence": BuilderSource("cooccurrence", "Cooccurrence", """
spacy-graft network cooccurrence near.network --corpus train.jsonl --corpus reviews.txt.gz
spacy-graft network cooccurrence near.network --corpus train.jsonl --measure correlation --seeds seeds.network
"""),
    "edge-list": BuilderSource("edgelist", "EdgeList", """
spacy-graft network edge-list own.network --path edges.tsv
spacy-graft network edge-list own.network --path edges.tsv --corpus train.jsonl --max-length 2
"""),
}  # fmt: skip
#: Options with another name in a command, because the corpus has an option of that name.
RENAMED_OPTIONS = {"min_df": "member_min_df"}
#: Help of the option ``seeds``, which is a file in a command and a builder in a config.
SEEDS_HELP = (
    "Network file with the seeds: the members of its classes, or all features if there are no classes. It becomes part "
    "of the result. For --measure correlation and profile."
)


@dataclass(frozen=True)
class CorpusOptions:
    """Options of all builders' commands: the corpus, and which of its n-grams are features."""

    corpus: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Documents, with or without labels: .jsonl, .txt (one per line), compressed (.gz) too, or .spacy. "
            "May be given several times.",
        ),
    ] = None
    lang: Annotated[str, typer.Option(metavar="CODE", help="Language of the tokenizer.")] = "en"
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Pipeline to run over the texts, instead of only a tokenizer.")
    ] = None
    attribute: Annotated[str, typer.Option(help="Token attribute: LOWER, LEMMA (needs --model or .spacy), ...")] = (
        "LOWER"
    )
    max_length: Annotated[int, typer.Option(min=1, help="Largest number of tokens of an n-gram.")] = 1
    min_df: Annotated[int, typer.Option(min=1, help="Smallest number of documents of an n-gram.")] = 2
    text_field: TextFieldOption = "text"

    def vocabulary(self, update: Callable[[str], None]) -> CorpusVocabulary:
        """Read the corpus and return its features; ``update`` changes the status line."""
        from ..graphs.vocabulary import CorpusVocabulary
        from .token_corpus import TokenCorpus

        if not self.corpus:
            raise typer.BadParameter("A network is built from the features of a corpus. Give it with --corpus.")
        for path in self.corpus:
            if not path.is_file():
                raise CommandError(f"There is no file {path}.")
        documents = TokenCorpus(self.corpus, self.lang, self.model, self.attribute, self.text_field)
        features = CorpusVocabulary.of_documents(
            with_count(documents, update, "documents read"), self.max_length, self.min_df
        )
        if not features.vertices:
            n = features.documents("The corpus").shape[0]
            raise CommandError(
                f"The corpus has {n:,} documents and no feature in at least {self.min_df} of them (--min-df)."
            )
        return features


def make_builder_command(name: str) -> Any:
    """Make the command of a builder."""
    source = BUILDERS[name]
    builder = getattr(import_module(f"spacy_graft.graphs.{source.module}"), source.class_name)
    names = {RENAMED_OPTIONS.get(option.name, option.name): option.name for option in fields(builder)}

    def command(output: Path, format: OutputFormat | None, **values: Any) -> None:
        settings = {field_name: values.pop(option) for option, field_name in names.items()}
        build_network(builder, settings, CorpusOptions(**values), output, format)

    command.__doc__ = builder_help(builder)
    command.__signature__ = signature_of(builder)  # type: ignore[attr-defined]
    command.__annotations__ = {}
    app = make_app(name, "")
    add_command(app, name, with_code(command), source.examples)
    return get_command(app)


def build_network(
    builder: type, settings: dict[str, Any], corpus: CorpusOptions, output: Path, format: OutputFormat | None
) -> None:
    """Build a network from the features of a corpus, write it, and print its report."""
    from ..graphs.edgelist import EdgeList

    refuse_own_input(output, *(corpus.corpus or []), *(value for value in settings.values() if isinstance(value, Path)))
    check_network_output(output)
    try:
        network = builder(**{name: builder_setting(name, value) for name, value in settings.items()})
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    with status_line("reading") as update:
        if corpus.corpus is None and isinstance(network, EdgeList):
            features = network.features()
        else:
            features = corpus.vocabulary(update)
        update(f"building the network of {len(features.vertices):,} features")
        graph = network(features)
    write_graph(graph, output)
    print_graph_report(graph, format)


def builder_setting(name: str, value: Any) -> Any:
    """Convert the value of an option to that of the builder's setting."""
    from ..graphs.edgelist import GraphFile

    if name == "seeds" and value is not None:
        if not value.is_file():
            raise CommandError(f"There is no graph at {value}. Give --seeds a network file.")
        return GraphFile(value)
    return value


def signature_of(builder: type) -> inspect.Signature:
    """Return the signature of a command: options of the builder, then those of the corpus."""
    types = get_type_hints(CorpusOptions, include_extras=True)
    shared = [parameter(field.name, types[field.name], field.default) for field in fields(CorpusOptions)]
    output = parameter("output", OutputArgument, MISSING)
    return inspect.Signature([output, *builder_parameters(builder), *shared, parameter("format", FormatOption, None)])


def builder_parameters(builder: type) -> Iterator[inspect.Parameter]:
    """Yield the options of a builder, with help from its docstring."""
    texts, types = parameter_texts(builder), get_type_hints(builder)
    for field in fields(builder):
        type_ = option_type(field.name, types[field.name])
        help_text = SEEDS_HELP if field.name == "seeds" else texts.get(field.name, "")
        option = typer.Option(metavar="PATH" if "Path" in str(type_) else None, help=help_text)
        yield parameter(RENAMED_OPTIONS.get(field.name, field.name), Annotated[type_, option], field.default)


def parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """Return a parameter of a command; it is required if the default is MISSING."""
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def option_type(name: str, type_: Any) -> Any:
    """Return the type of a builder's option in a form that typer knows."""
    if name == "seeds":
        return Path | None
    if get_origin(type_) is Literal:
        return StrEnum(name, {value: value for value in get_args(type_)})
    if Path in get_args(type_):
        return Path | None if type(None) in get_args(type_) else Path
    return type_


def builder_help(builder: type) -> str:
    """Return a builder's docstring up to its parameters."""
    text, *_ = inspect.cleandoc(builder.__doc__ or "").partition("\n\nParameters\n")
    return text.replace("``", "`")


def parameter_texts(builder: type) -> dict[str, str]:
    """Return the descriptions of a builder's parameters in its docstring."""
    *_, section = inspect.cleandoc(builder.__doc__ or "").partition("\n\nParameters\n----------\n")
    section, *_ = section.partition("\n\n")
    entries = re.findall(r"^(\w[\w, ]*) : .*\n((?: {4}.*(?:\n|$))*)", section, re.MULTILINE)
    return {name: " ".join(text.replace("``", "`").split()) for names, text in entries for name in names.split(", ")}
