"""``network wordnet`` and its like: a command for each builder, with the options of the builder."""

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

from .commands import add, make_app
from .common import CommandError, Format, OutputFormat
from .inputs import TextField
from .network_files import Output, check_output, tell, write
from .waiting import counted, waiting

if TYPE_CHECKING:
    from ..graphs.vocabulary import CorpusVocabulary


class Builder(NamedTuple):
    """Where the builder of a command is, below ``spacy_graft.graphs``, and what the command's help shows."""

    module: str
    name: str
    examples: str


BUILDERS = {
    "wordnet": Builder("wordnet", "WordNet", """
spacy-graft network wordnet words.network --corpus train.jsonl
spacy-graft network wordnet words.network --corpus train.spacy --attribute LEMMA --max-senses 2 --antonym 0
spacy-graft network wordnet words.network --corpus train.jsonl.gz --path /usr/share/wordnet --max-length 2
"""),
    "sentiwordnet": Builder("sentiwordnet", "SentiWordNet", """
spacy-graft network sentiwordnet sentiment.network --corpus train.jsonl
spacy-graft network sentiwordnet seeds.network --corpus train.jsonl --neighbours 0 --member-min-df 50
"""),
    "cooccurrence": Builder("cooccurrence", "Cooccurrence", """
spacy-graft network cooccurrence near.network --corpus train.jsonl --corpus reviews.txt.gz
spacy-graft network cooccurrence near.network --corpus train.jsonl --measure correlation --seeds seeds.network
"""),
    "edge-list": Builder("edgelist", "EdgeList", """
spacy-graft network edge-list own.network --path edges.tsv
spacy-graft network edge-list own.network --path edges.tsv --corpus train.jsonl --max-length 2
"""),
}  # fmt: skip
#: Options of builders that a command calls otherwise: the corpus has this one, too.
RENAMED = {"min_df": "member_min_df"}
#: What the help says of options that are files here, and objects in a config.
FILES = {
    "seeds": "Network that has the seeds: the members of its classes, or all its features if it has no classes. It is "
    "part of the result. By correlation and by profile.",
}


@dataclass(frozen=True)
class CorpusOptions:
    """What all builders' commands have in common: the corpus, and which of its n-grams are features."""

    corpus: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Documents, labelled or not: .jsonl, .txt (one a line), both .gz as well, "
            "or .spacy; several may be given.",
        ),
    ] = None
    lang: Annotated[str, typer.Option(metavar="CODE", help="Whose tokenizer cuts the texts.")] = "en"
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Pipeline to run over the texts, in place of a tokenizer.")
    ] = None
    attribute: Annotated[str, typer.Option(help="Of the tokens: LOWER, LEMMA (with --model or .spacy), ...")] = "LOWER"
    max_length: Annotated[int, typer.Option(min=1, help="Longest n-grams.")] = 1
    min_df: Annotated[int, typer.Option(min=1, help="Least number of documents of an n-gram.")] = 2
    text_field: TextField = "text"

    def vocabulary(self, tell: Callable[[str], None]) -> CorpusVocabulary:
        """The features of the corpus."""
        from ..graphs.vocabulary import CorpusVocabulary
        from .token_corpus import TokenCorpus

        if not self.corpus:
            raise typer.BadParameter("A network is built of the features of a corpus: --corpus")
        for path in self.corpus:
            if not path.is_file():
                raise CommandError(f"There is no file {path}.")
        documents = TokenCorpus(self.corpus, self.lang, self.model, self.attribute, self.text_field)
        features = CorpusVocabulary.of_documents(
            counted(documents, tell, "documents read"), self.max_length, self.min_df
        )
        if not features.vertices:
            n = features.documents("The corpus").shape[0]
            raise CommandError(f"The corpus, {n:,} documents, has no feature in {self.min_df} of them (--min-df).")
        return features


def builder_command(name: str) -> Any:
    """The command of a builder."""
    where = BUILDERS[name]
    builder = getattr(import_module(f"spacy_graft.graphs.{where.module}"), where.name)
    names = {RENAMED.get(option.name, option.name): option.name for option in fields(builder)}

    def command(output: Path, format: Format | None, **values: Any) -> None:
        given = {own: values.pop(name) for name, own in names.items()}
        build(builder, given, CorpusOptions(**values), output, format)

    command.__doc__ = help_of(builder)
    command.__signature__ = signature_of(builder)  # type: ignore[attr-defined]
    command.__annotations__ = {}
    app = make_app(name, "")
    add(app, name, command, where.examples)
    return get_command(app)


def build(builder: type, given: dict[str, Any], corpus: CorpusOptions, output: Path, format: Format | None) -> None:
    """Build a network of the features of a corpus, write it, and print its report."""
    from ..graphs.edgelist import EdgeList

    check_output(output)
    try:
        network = builder(**{name: option_of(name, value) for name, value in given.items()})
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    with waiting("reading") as tell_progress:
        if corpus.corpus is None and isinstance(network, EdgeList):
            features = network.features()
        else:
            features = corpus.vocabulary(tell_progress)
        tell_progress(f"building the network of {len(features.vertices):,} features")
        graph = network(features)
    write(graph, output)
    tell(graph, format)


def option_of(name: str, value: Any) -> Any:
    """What a builder takes for what the command line says."""
    from ..graphs.edgelist import GraphFile

    if name == "seeds" and value is not None:
        return GraphFile(value)
    return value


def signature_of(builder: type) -> inspect.Signature:
    """The options of the command: those of the builder, and those of the corpus."""
    types = get_type_hints(CorpusOptions, include_extras=True)
    shared = [parameter(field.name, types[field.name], field.default) for field in fields(CorpusOptions)]
    own = list(builder_parameters(builder))
    output = parameter("output", Output, MISSING)
    return inspect.Signature([output, *own, *shared, parameter("format", OutputFormat, None)])


def builder_parameters(builder: type) -> Iterator[inspect.Parameter]:
    """The options of a builder, with the help that its docstring has."""
    texts, types = parameter_texts(builder), get_type_hints(builder)
    for field in fields(builder):
        type_ = option_type(field.name, types[field.name])
        help_text = FILES.get(field.name, texts.get(field.name, ""))
        option = typer.Option(metavar="PATH" if "Path" in str(type_) else None, help=help_text)
        yield parameter(RENAMED.get(field.name, field.name), Annotated[type_, option], field.default)


def parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """A parameter of a command; one without a default must be given."""
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def option_type(name: str, type_: Any) -> Any:
    """What typer takes for the type of a builder's option."""
    if name == "seeds":
        return Path | None
    if get_origin(type_) is Literal:
        return StrEnum(name, {value: value for value in get_args(type_)})
    if Path in get_args(type_):
        return Path | None if type(None) in get_args(type_) else Path
    return type_


def help_of(builder: type) -> str:
    """What the docstring of a builder says of it."""
    text, *_ = inspect.cleandoc(builder.__doc__ or "").partition("\n\nParameters\n")
    return text.replace("``", "`")


def parameter_texts(builder: type) -> dict[str, str]:
    """What the docstring of a builder says of each of its parameters."""
    *_, section = inspect.cleandoc(builder.__doc__ or "").partition("\n\nParameters\n----------\n")
    section, *_ = section.partition("\n\n")
    entries = re.findall(r"^(\w[\w, ]*) : .*\n((?: {4}.*(?:\n|$))*)", section, re.MULTILINE)
    return {name: " ".join(text.replace("``", "`").split()) for names, text in entries for name in names.split(", ")}
