"""Shared by all commands: errors and exit codes, loading of pipelines, output as table or JSON."""

from __future__ import annotations

import functools
import inspect
import json
import math
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import is_stream, json_text, reason_of
from ..messages import did_you_mean, listed, one_line, printable, unpaired_surrogate
from . import drop_unwritable, open_streams

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from spacy.language import Language

    from ..pipeline.textcat import TextCatGraft

#: Exit codes. Wrong usage is 2, by typer; that of a broken pipe is what shells report for a process that SIGPIPE has
#: ended.
BAD_INPUT, BROKEN_PIPE = 1, 141
#: Columns of a terminal that tables need at least.
MIN_WIDTH = 80
#: What the folder of every pipeline has.
PIPELINE_FILES = ("config.cfg", "meta.json")
#: Signals that systems, schedulers and closed terminals send to end a process; Windows has no SIGHUP.
TERMINATING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
#: Signals that end a command.
ENDING = (signal.SIGINT, *TERMINATING)
#: Seconds after one of them in which more are ignored: what is put in order then shall not be interrupted.
IN_ORDER = 5.0


class OutputFormat(StrEnum):
    """How results are printed."""

    table = "table"
    json = "json"


ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="Folder of a trained pipeline, or name of an installed one.")
]
ComponentOption = Annotated[
    str | None,
    typer.Option("--component", metavar="NAME", help="Graft component to use, if the pipeline has several."),
]
CodeOption = Annotated[
    Path | None, typer.Option("--code", metavar="FILE", help="Python file with registered functions.")
]
FormatOption = Annotated[
    OutputFormat | None, typer.Option("--format", help="Output format; by default a table on a terminal, else JSON.")
]


class CommandError(Exception):
    """Bad input; the message is printed without a traceback."""


class Terminated(KeyboardInterrupt):
    """A signal of :data:`TERMINATING` has come, which ends a command like Ctrl-C: no file is left incomplete, no
    earlier model lost.

    Attributes
    ----------
    code : int
        The exit code that shells report for a process that the signal has ended.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def terminated_in_order() -> AbstractContextManager[None]:
    """Raise :class:`Terminated` when a signal of :data:`TERMINATING` comes that is not ignored, as after ``nohup``."""
    last = -math.inf

    def terminate(number: int, frame: FrameType | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > IN_ORDER:
            last = now
            raise Terminated(number)

    return handled_by(terminate, *heeded(TERMINATING))


def heeded(numbers: Iterable[signal.Signals]) -> Iterator[signal.Signals]:
    """Those signals that are not ignored. Ignored ones stay so, also for programs that are started meanwhile."""
    return (number for number in numbers if signal.getsignal(number) != signal.SIG_IGN)


@contextmanager
def handled_by(
    handler: Callable[[int, FrameType | None], Any] | signal.Handlers, *numbers: signal.Signals
) -> Iterator[None]:
    """Let signals come to a handler; in another thread than the main one, nothing changes."""
    is_main = threading.current_thread() is threading.main_thread()
    before = [(number, signal.signal(number, handler)) for number in numbers if is_main]
    try:
        yield
    finally:
        for number, handler_before in before:
            signal.signal(number, handler_before or signal.SIG_DFL)


@contextmanager
def held_back() -> Iterator[None]:
    """Let signals of :data:`ENDING` wait. While a process is forked, Python would discard the exceptions they raise."""
    waiting: list[int] = []
    try:
        with handled_by(lambda number, _: waiting.append(number), *heeded(ENDING)):
            yield
    finally:
        for number in dict.fromkeys(waiting):
            signal.raise_signal(number)


def undisturbed() -> AbstractContextManager[None]:
    """Ignore signals of :data:`ENDING` while what was there before is put back in its place."""
    return handled_by(signal.SIG_IGN, *ENDING)


def with_exit_codes(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with warnings, and errors of its input, as one line on standard error; these set its code."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        open_streams()  # python -m spacy does not
        try:
            with warnings.catch_warnings(), terminated_in_order():
                warnings.showwarning = warning_printer()
                command(*args, **kwargs)
            sys.stdout.flush()
        except Terminated as error:
            raise typer.Exit(error.code) from None
        except BrokenPipeError:
            drop_unwritable()
            raise typer.Exit(BROKEN_PIPE) from None
        except OSError as error:
            drop_unwritable()
            print_message(f"Error: {text_of_error(error)}")
            raise typer.Exit(BAD_INPUT) from None
        except (CommandError, ValueError) as error:
            print_message(f"Error: {error}")
            raise typer.Exit(BAD_INPUT) from None
        except MemoryError as error:
            print_message(f"Error: Not enough memory{f': {error}' if str(error) else ''}.")
            raise typer.Exit(BAD_INPUT) from None
        except SystemError as error:
            if (interruption := interruption_of_kernel(error)) is None:
                raise
            if isinstance(interruption, Terminated):
                raise typer.Exit(interruption.code) from None
            raise interruption from None

    return run


def with_code(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command of a model with the option ``--code``, for functions that its config names."""

    @functools.wraps(command)
    def run(*args: Any, code: Path | None, **kwargs: Any) -> None:
        import_functions(code)
        command(*args, **kwargs)

    # typer reads the signature.
    signature = inspect.signature(command, eval_str=True)
    option = inspect.Parameter("code", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=CodeOption)
    parameters = [*signature.parameters.values(), option]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def import_functions(code: Path | None) -> None:
    """Import a Python file, whose functions are registered then; a CommandError if that fails."""
    from spacy.util import import_file

    if code is None:
        return
    if not code.is_file():
        raise CommandError(f"There is no file {code}.")
    try:
        import_file("python_code", code)
    except Exception as error:  # it can raise anything
        raise CommandError(f"{code} cannot be imported: {type(error).__name__}: {error}") from error


def text_of_error(error: OSError) -> str:
    """What an error of the system says, without its number."""
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list):  # of a folder, file by file
        source, *_, problem = error.args[0][0]
        return f"{source}: {problem}"
    if error.filename:
        return f"{error.filename}: {reason_of(error)}"
    if isinstance(error, FileNotFoundError) and not is_somewhere():
        return "The current folder has been deleted. Change to another one."
    return error.strerror or str(error)


def text_of_any(error: Exception) -> str:
    """What an error says; of one that names a key that is missing, and nothing else, its kind as well."""
    return f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else str(without_sections(error))


def without_sections(error: Any) -> Exception:
    """The error; one of a config without what it goes on with, a whole section or all of them."""
    # Known by its attribute: to import its class takes a second, and most errors are others.
    return error.from_error(error, show_config=False) if hasattr(error, "show_config") else error


def is_somewhere() -> bool:
    """Whether there is a current folder. spaCy cannot be imported without one."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def interruption_of_kernel(error: BaseException | None) -> KeyboardInterrupt | None:
    """The interruption behind a SystemError: a kernel that is interrupted returns a result all the same.

    There may be two of these errors: that of what reads or makes the kernel's arrays, and that of the kernel.
    """
    while isinstance(error, SystemError):
        error = error.__cause__
    return error if isinstance(error, KeyboardInterrupt) else None


def warning_printer() -> Callable[..., None]:
    """What prints each warning once, without the line of code that it comes from, which says nothing to who types."""
    printed = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in printed:
            printed.add(str(message))
            print_message(f"Warning: {message}")

    return show


def print_message(message: str) -> None:
    """Print one line on standard error."""
    typer.echo(one_line(message), err=True)


def quoted(path: str | Path) -> str:
    """A path as it is typed in a command: in quotation marks, if the shell would not take it for one argument."""
    path = f"./{path}" if str(path).startswith("-") else path  # not an option
    return subprocess.list2cmdline([str(path)]) if os.name == "nt" else shlex.quote(str(path))


def load_pipeline(model: str, component: str | None = None) -> tuple[Language, TextCatGraft]:
    """Load a pipeline and return it with its trained graft component.

    Raises
    ------
    CommandError
        If the pipeline cannot be loaded or the component is not trained.
    ValueError
        If the component is not found, or there are several and no name is given.
    """
    from ..pipeline.components import graft_component

    nlp = any_pipeline(model)
    graft = graft_component(nlp, component, model)
    if not graft.is_initialized:
        raise CommandError(f"The component {graft.name!r} of {model} has no weights yet. Train it first.")
    return nlp, graft


def is_there(model: str) -> bool:
    """Whether a pipeline is a folder or an installed package."""
    from spacy.util import is_package

    return Path(model).exists() or is_package(model)


def any_pipeline(model: str) -> Language:
    """Load a pipeline; a CommandError if it cannot be loaded."""
    import spacy

    from ..pipeline.lazy import take_long_texts
    from ..pipeline.loop import require_batch_size

    folder = Path(model)
    if folder.exists() and not is_pipeline(folder):
        best = folder / "model-best"
        hint = f" Did you mean {best}?" if best.is_dir() else ""
        missing = next(name for name in PIPELINE_FILES if not (folder / name).is_file())
        raise CommandError(f"{folder} is not a pipeline: it has no {missing}.{hint}")
    if not is_there(model):
        raise CommandError(f"There is no pipeline {model}: it is neither a folder nor an installed package.")
    try:
        nlp = spacy.load(model)
        require_batch_size(nlp)
    except Exception as error:  # files can be damaged in any way
        problem = f"{type(error).__name__}: {without_sections(error)}"
        raise CommandError(f"{model} cannot be loaded: {problem}") from error
    take_long_texts(nlp)
    return nlp


def warn_of_metadata(component: TextCatGraft) -> None:
    """Print a warning if features need metadata of documents, which texts in files come without."""
    from ..extract.metadata import DocAttributes
    from ..model.sparse_linear import snapshot_of

    metadata = {name: block.metadata for name, block in component.blocks.items() if isinstance(block, DocAttributes)}
    if not any(metadata.values()):
        return
    table = snapshot_of(component.model).features
    used = {term.block for k in range(table.n_features) for term in table.terms(k)} & metadata.keys()
    if keys := sorted({key for name in used for key in metadata[name]}):
        print_message(
            f"Warning: the model has features of metadata, {listed(keys)}, which commands do not read from files. "
            f"Set doc.user_data in Python."
        )


def is_pipeline(folder: Path) -> bool:
    """Whether a folder is a pipeline. That of a training has a config as well."""
    return all((folder / name).is_file() for name in PIPELINE_FILES)


def blank_pipeline(lang: str, tokenizer: dict[str, Any] | None = None) -> Language:
    """Make a pipeline with a tokenizer only: that of the language, or of the settings of ``[nlp.tokenizer]``."""
    import spacy

    from ..pipeline.lazy import take_long_texts

    try:
        nlp = spacy.blank(lang, config={} if tokenizer is None else {"nlp": {"tokenizer": tokenizer}})
        if not hasattr(nlp.tokenizer, "initialize"):  # otherwise it may lack what initialization brings
            nlp.make_doc("a")  # Korean's looks for its library at the first text, which is not to blame
    except Exception as error:  # languages import optional packages, which can raise anything
        hint = ". Give xx for the rules that most languages share." if "[E048]" in str(error) else ""
        if isinstance(error, KeyError):
            hint = ". Check [nlp.tokenizer]."
        raise CommandError(f"There is no tokenizer for the language {lang!r}: {text_of_any(error)}{hint}") from error
    take_long_texts(nlp)
    return nlp


def config_pipeline(path: Path, context: typer.Context, code: Path | None) -> Language:
    """Make the untrained pipeline of a config.

    Parameters
    ----------
    path : Path
    context : Context
        Its further arguments, such as ``--paths.train``, are overridden settings.
    code : Path, optional
        A Python file with registered functions.
    """
    from spacy.cli._util import parse_config_overrides
    from spacy.util import load_config, load_model_from_config

    check_overrides(context, str(path))
    if not path.is_file():
        raise CommandError(f"There is no config {path}.")
    import_functions(code)
    try:
        config = load_config(path, overrides=parse_config_overrides(context.args), interpolate=False)
        return load_model_from_config(config, auto_fill=True)
    except Exception as error:  # registered functions can raise anything
        raise CommandError(f"{path}: {text_of_any(error)}") from error


def check_overrides(context: typer.Context, first: str) -> None:
    """Raise a usage error for a further argument that is not of the form --section.setting.

    ``first`` is the command's own argument: an option that does not exist is taken for it if that is not given.
    """
    arguments = [first, *context.args] if first.startswith("--") else context.args
    for argument in arguments:
        if argument.startswith("--") and "." not in argument:
            known = [option for parameter in context.command.params for option in parameter.opts]
            raise typer.BadParameter(f"No such option: {argument}.{did_you_mean(argument, known)}")
    if first.startswith("--"):
        raise typer.BadParameter(f"{first} stands where a file is expected: give settings after it.")
    if arguments and not arguments[0].startswith("--"):
        raise typer.BadParameter(f"Unexpected argument: {arguments[0]}")


def file_is_there(path: str | Path) -> bool:
    """Whether a file or folder exists, or may exist in a folder that must not be entered; not if no path can be so."""
    try:
        os.stat(path)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True


def check_output(output: Path) -> None:
    """Raise a CommandError if there cannot be such a folder."""
    if output.exists() and not output.is_dir():
        raise CommandError(f"{output} is a file. Give a folder.")
    if output.is_symlink() and not output.exists():
        raise CommandError(f"{output} is a link to a folder that does not exist.")
    check_writable(output, output.resolve())


def check_writable(output: Path, folder: Path) -> None:
    """Raise a CommandError if nothing can be written into a folder, which need not exist yet."""
    place = next(one for one in (folder, *folder.parents) if one.exists())
    if not place.is_dir():
        raise CommandError(f"{output} cannot be written: {place} is not a folder.")
    if not os.access(place, os.W_OK):
        raise CommandError(f"{output} cannot be written: there is no permission to write to {place}.")


def check_overwriting(output: str, force: bool) -> None:
    """Raise a CommandError if the output exists and must not be replaced."""
    path = Path(output)
    if path.is_dir():
        raise CommandError(f"{output} is a folder, which is not replaced. Give the name of a new one.")
    if path.exists() and not force and not is_stream(path):
        raise CommandError(f"{output} exists. Use --force to replace it.")


def refuse_own_input(output: str | Path | None, *inputs: str | Path | None) -> None:
    """Raise a CommandError if a file that is to be written is one of those that are read, or has no name."""
    if str(output) == "-":
        raise CommandError("Give the name of a file for what is written, instead of -.")
    if output is None or not os.path.exists(output):
        return
    for path in inputs:
        # os.path takes a long text for a file that does not exist.
        if path is None or not os.path.exists(path):
            continue
        is_of_model = is_pipeline(Path(path)) and is_within(output, path)
        if is_of_model or os.path.samefile(output, path):
            raise CommandError(f"{output} is read, and would be replaced. Give another name for what is written.")


def refuse_within(output: str | Path | None, *inputs: str | Path | None) -> None:
    """Raise a CommandError if what is to be written lies in a folder of texts that is read: it would be one of them."""
    for path in inputs:
        if output is not None and path is not None and os.path.isdir(path) and is_within(output, path):
            raise CommandError(f"{output} lies in {path}, which is read. Give a place outside of it.")


def is_within(path: str | Path, folder: str | Path) -> bool:
    """Whether a path is a folder, or in it."""
    return Path(path).resolve().is_relative_to(Path(folder).resolve())


def check_replaceable(output: Path) -> None:
    """Raise a CommandError if the folder is there and is no pipeline."""
    if output.exists() and not is_pipeline(output):
        raise CommandError(f"{output} exists, and is not a pipeline: it is not replaced.")


def check_room_for(output: Path, *pipelines: str) -> None:
    """Raise a CommandError if a folder for pipelines is one itself, or has others than pipelines by their names."""
    if is_pipeline(output):
        raise CommandError(f"{output} is a pipeline. Give another folder: pipelines are written into it.")
    for name in pipelines:
        check_replaceable(output / name)


def refuse_other_file(output: Path | None, *endings: str) -> None:
    """Raise a CommandError if a file is there that has another ending than what is to be written; it may have none.

    What is compressed may end in ``.gz`` as well.
    """
    if output is None or not output.is_file() or is_stream(output):
        return
    name = Path(output.resolve().name.lower().removesuffix(".gz"))
    if name.suffix not in ("", *endings):
        raise CommandError(
            f"{output} exists, and its name does not end in {endings[0]}: it is not replaced. Give another name."
        )


def refuse_same_output(output: Path | None, other: Path | None) -> None:
    """Raise a CommandError if two files that are to be written are the same."""
    if output is not None and other is not None and output.resolve() == other.resolve():
        raise CommandError(f"Both outputs would be written to {output}. Give one of them another name.")


def refuse_options(context: typer.Context, *names: str, why: str) -> None:
    """Raise a CommandError for the first of these parameters that is given; ``why`` says where it has no effect."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name in names and source is not None and source.name == "COMMANDLINE":
            raise CommandError(f"{'/'.join((*parameter.opts, *parameter.secondary_opts))} has no effect {why}.")


def require_held_by_config(*values: str | None) -> None:
    """Raise a CommandError for what a config cannot hold: spaCy reads ``$`` as a reference, or doubles it."""
    from ..options import is_held_by_config

    for value in values:
        if value is not None and not is_held_by_config(value):
            raise CommandError(f"{value}: configs of spaCy cannot hold names with '$'. Give another name, or a copy.")
        if value is not None and unpaired_surrogate(value) is not None:  # what is not UTF-8, in Python
            raise CommandError(f"{printable(value)}: spaCy takes names in UTF-8 only. Give another name, or a copy.")


def wants_table(format: StrEnum | None) -> bool:
    """Return whether to print a table: as chosen, or by default on a terminal. Some commands have more formats."""
    return sys.stdout.isatty() if format is None else format == OutputFormat.table


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON; in ASCII unless standard output is in UTF-8."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write((json_text(value, indent) if utf8 else json.dumps(value, indent=indent)) + "\n")


def print_tables(*renderables: RenderableType) -> None:
    """Print tables and texts."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    # A narrower terminal wraps lines: rich would break numbers between their digits.
    console.width = max(console.width, MIN_WIDTH)
    # Captured, because rich would exit with its own code when the output pipe is closed.
    with console.capture() as capture:
        for renderable in renderables:
            console.print(Text(renderable) if isinstance(renderable, str) else renderable)
    print_text(capture.get())


def print_result(format: OutputFormat | None, renderables: Iterable[RenderableType], value: Any) -> None:
    """Print tables and texts, or the value as JSON, as chosen (:func:`wants_table`)."""
    if wants_table(format):
        print_tables(*renderables)
    else:
        print_json(value, indent=2)


def print_text(text: str) -> None:
    """Print what people read; characters that the encoding of standard output does not have are replaced."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def print_file(text: str) -> None:
    """Print the content of a file, in UTF-8 whatever the encoding of standard output is; on a terminal, as a text."""
    if sys.stdout.isatty():
        print_text(text)
        return
    content = text.encode()
    sys.stdout.flush()
    sys.stdout.buffer.write(content)


def make_table(
    title: str | None, *columns: str, numbers: Iterable[str] = (), rows: Iterable[Iterable[object]] = ()
) -> Table:
    """Make a table of some rows, to which others can be added; columns of numbers are aligned to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(one_line(title)) if title else None, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(Text(column), justify="right" if column in set(numbers) else "left", overflow="fold")
    for row in rows:
        add_row(table, *row)
    return table


def add_row(table: Table, *cells: object) -> None:
    """Add a row of values, without interpreting rich's markup."""
    from rich.text import Text

    table.add_row(*(cell if isinstance(cell, Text) else Text(printable(str(cell))) for cell in cells))
