"""``train``: spaCy's training with a shipped config, which is completed for the data."""

from __future__ import annotations

import configparser
import json
import os
import re
import secrets
import shutil
import sys
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from string import digits
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import has_lock, reason_of, replaced_folder, write_whole
from ..messages import (
    LONGEST_NAME,
    count,
    did_you_mean,
    in_part,
    listed,
    percentage,
    printable,
    text_beginning,
)
from .common import (
    CodeOption,
    CommandError,
    blank_pipeline,
    check_output,
    check_overrides,
    check_room_for,
    file_is_there,
    import_functions,
    print_message,
    quoted,
    refuse_options,
    refuse_within,
    require_held_by_config,
    undisturbed,
)
from .component_options import check_options
from .corpora import LabelValues, are_several, is_single, labels_of, positive_of
from .init_config import OF_LANGUAGE, reader_settings
from .inputs import CORPUS_HELP
from .progress import status_line, with_count
from .syntax import load_syntax, sourced_components, with_syntax

if TYPE_CHECKING:
    from spacy.language import Language
    from thinc.api import Config

    from ..pipeline.reader import JsonlCorpus

EXAMPLES = """
spacy-graft train train.jsonl --dev dev.jsonl --output model
spacy-graft train reviews.csv --text-field review --label-field stars --lang de
spacy-graft train train.jsonl --config default --syntax en_core_web_sm
spacy-graft train train.jsonl --config network --paths.unlabelled more.jsonl
spacy-graft train train.jsonl --components.textcat_graft.learner.max_features 500
"""
#: What a training writes into its folder: its config, the best pipeline, and the last one.
CONFIG_FILE, BEST, LATEST = WRITTEN = ("config.cfg", "model-best", "model-last")
READER = "spacy_graft.JsonlCorpus.v1"
#: Settings of a reader by which one file is divided into documents to train on and for dev.
DIVIDED_BY = ("text_field", "label_field", "limit")
#: Whether each step shows a bar; the shipped configs do not, since they serve scripts too.
PROGRESS_BAR = "training.logger.progress_bar"
#: Paths that need not be set: the file is then searched for in its default places.
OPTIONAL_PATHS = ("lexicon",)
#: Factories and scorers of components, of exclusive and of independent labels.
EXCLUSIVE = ("textcat_graft", "spacy_graft.textcat_scorer.v1")
MULTILABEL = ("textcat_graft_multilabel", "spacy_graft.textcat_multilabel_scorer.v1")
#: What may stand between several labels in one cell of a table.
SEPARATORS = ";|,"
#: Symbols without white space that spaCy's tokenizer may take seconds for.
LONG_RUN = 5000
LONG_RUN_OF_SYMBOLS = re.compile(rf"(?<![^\w\s])[^\w\s]{{{LONG_RUN}}}")
#: Digits, and their share of all characters from which word shapes are worth a try. In prose it is at most 0.05.
DIGITS, MANY_DIGITS = digits.encode(), 0.1


def train_command(
    context: typer.Context,
    data: Annotated[str, typer.Argument(metavar="DATA", help=CORPUS_HELP)],
    dev: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Labelled texts to choose the model on. By default one document in ten of each set of labels in DATA "
            "is held out, the same ones every time.",
        ),
    ] = None,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the pipelines and the config.")] = Path(
        "model"
    ),
    config: Annotated[
        str,
        typer.Option(
            metavar="CONFIG",
            help="A config for `spacy train`, or the name of a shipped one, such as default or network.",
        ),
    ] = "ngrams",
    lang: Annotated[
        str | None, typer.Option(metavar="CODE", help="Language of the texts. By default that of the config: English.")
    ] = None,
    exclusive: Annotated[
        bool | None,
        typer.Option(
            "--exclusive/--multilabel",
            help="Whether each text has exactly one label, or any number. By default taken from DATA, or from the "
            "config if it is your own.",
        ),
    ] = None,
    syntax: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Pipeline to take syntax from, for configs with features of syntax."),
    ] = None,
    code: CodeOption = None,
    text_field: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Key of the text in JSON lines; column in tables.  [default: text]"),
    ] = None,
    label_field: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Key of the labels in JSON lines; column in tables.  [default: label]"),
    ] = None,
) -> None:
    """Train a pipeline on labelled texts.

    This runs `python -m spacy train` with a shipped config, which it completes for DATA. It writes that config
    (config.cfg), the best pipeline on dev (model-best) and the last one (model-last) into FOLDER.
    --section.setting VALUE overrides a setting.
    """
    from spacy.cli._util import parse_config_overrides
    from spacy.cli.train import train

    check_overrides(context, data)
    require_held_by_config(data, dev, text_field, label_field)
    check_data(data, dev)
    check_output(output)
    refuse_within(output, data, dev)
    check_room_for(output, BEST, LATEST)
    check_no_links(output)
    import_functions(code)
    overrides = parse_config_overrides(context.args)
    settings, is_shipped = read_training_config(config, overrides)
    if not is_shipped:
        refuse_options(context, "exclusive", why=f"with {config}: change its component instead")
    component = graft_section(settings, config)
    fill_corpora(settings, data, dev, {"text_field": text_field, "label_field": label_field})
    if lang is not None:
        set_language(settings["nlp"], lang, any(name.startswith("nlp.tokenizer") for name in overrides))
    check_effects(settings, overrides)
    # Configs have no codes of three letters, which spaCy takes elsewhere.
    blank = blank_pipeline(settings["nlp"]["lang"], tokenizer_of(settings))
    settings["nlp"]["lang"] = blank.lang
    overrides.pop("nlp.lang", None)  # heeded, with another code
    check_tokenizer(blank, settings)
    for name in graft_sections(settings):
        check_options(name, settings.interpolate()["components"][name])
    check_loop(settings)
    settings = fill_syntax(settings, config, syntax)
    check_files(settings, component, config)
    blocks = settings.interpolate()["components"][component].get("features") or {}
    found = labels_found(opened_corpora(settings), any(block.get("attr") == "SHAPE" for block in blocks.values()))
    if is_shipped:
        set_kind(settings["components"][component], found, exclusive)
        check_effects(settings, overrides)
        if PROGRESS_BAR not in overrides:
            settings["training"]["logger"]["progress_bar"] = True
    path, content = output / CONFIG_FILE, f"{settings.to_str(interpolate=False)}\n".encode()
    check_own_config(path, content)
    with alone_in(output), replacing(output), colours_on_terminals():
        write_whole(path, content)
        try:
            train(path, output)
        except ImportError as error:  # some components import their package when they are initialized
            raise CommandError(str(error)) from error
    print_message(f"Wrote {output / BEST}. To evaluate it on other texts:")
    print_message(f"spacy-graft evaluate {quoted(output / BEST)} DATA")


@contextmanager
def colours_on_terminals() -> Iterator[None]:
    """Let spaCy print colours on a terminal only, and without NO_COLOR. Its headings are bold unless all is plain."""
    from wasabi import msg

    before, name = msg.pretty, "WASABI_NO_PRETTY"
    if (sys.stdout.isatty() and not os.environ.get("NO_COLOR")) or name in os.environ:
        yield
        return
    os.environ[name], msg.pretty = "1", False
    try:
        yield
    finally:
        del os.environ[name]
        msg.pretty = before


@contextmanager
def alone_in(output: Path) -> Iterator[None]:
    """Make a folder if it is not there, and keep the trainings of other processes out of it, where the system can."""
    is_new = not output.exists()
    output.mkdir(parents=True, exist_ok=True)
    descriptor = None if os.name == "nt" else os.open(output, os.O_RDONLY)  # Windows opens no folders
    try:
        if descriptor is not None and not has_lock(descriptor):
            raise CommandError(f"Another training writes into {output}. Wait for its end, or give another folder.")
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
        if is_new and output.is_dir() and not any(output.iterdir()):
            output.rmdir()


@contextmanager
def replacing(output: Path) -> Iterator[None]:
    """Replace what an earlier training wrote into a folder; if this one fails, all is as it was.

    spaCy deletes the pipelines in the folder before its first step. Where there were none, the best so far stays. A
    process that is killed leaves the earlier ones in a hidden folder beside them, of which the next training tells, and
    perhaps an unfinished pipeline, which is deleted.
    """
    for name in (BEST, LATEST):
        for unfinished in output.glob(f".{name}.*"):
            delete(unfinished)
    for left_over in sorted(output.glob(".before.*")):
        print_message(
            f"{left_over} has what a training that was killed found in {output}. If you do not need it, delete it."
        )
    kept = output / f".before.{secrets.token_hex(8)}"
    before = [name for name in WRITTEN if (output / name).exists()]
    if BEST in before:
        print_message(f"{output / BEST} of an earlier training is there. It is replaced when this one has ended.")
    try:
        for name in before:
            copy_to(output / name, kept / name)
    except BaseException:
        delete(kept)
        raise
    try:
        yield
    except BaseException:
        with undisturbed():
            if before or not (output / BEST).exists():
                put_back(kept, before, output)
            else:
                complete_best(output)
        raise
    with undisturbed():
        delete(kept)


def put_back(kept: Path, before: list[str], output: Path) -> None:
    """Put what was in a folder back in its place, and say where it is if something there cannot be deleted."""
    problem = None
    for name in WRITTEN:
        try:
            delete(output / name)
            if name in before:
                os.replace(kept / name, output / name)
        except OSError as error:  # not instead of what ended the training
            problem = f"{output / name} cannot be deleted: {reason_of(error)}"
    if problem is None:
        delete(kept)
    else:
        print_message(f"{problem}. What it was before is in {kept}." if before else f"{problem}.")


def complete_best(output: Path) -> None:
    """Copy the last pipeline to the best one again if that was interrupted: spaCy deletes the one before, and copies.

    A copied folder has the time of its source when the copy is complete, and not before.
    """
    best, last = output / BEST, output / LATEST
    times = best.stat()
    if times.st_mtime_ns < times.st_ctime_ns:
        return
    with replaced_folder(best) as copy:
        shutil.copytree(last, copy)


def copy_to(path: Path, copy: Path) -> None:
    """Copy a file or a folder."""
    copy.parent.mkdir(exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, copy)
    else:
        shutil.copy2(path, copy)


def delete(path: Path) -> None:
    """Delete a file or a folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def check_no_links(output: Path) -> None:
    """Raise a CommandError if there are links where spaCy writes pipelines."""
    for name in (BEST, LATEST):
        if (output / name).is_symlink():
            raise CommandError(
                f"{output / name} is a link, which spaCy does not replace. Remove it, or give another folder."
            )


def check_own_config(path: Path, content: bytes) -> None:
    """Raise a CommandError if another config is there, which no training wrote: there are no pipelines beside it."""
    if any((path.parent / name).exists() for name in (BEST, LATEST)) or not path.exists():
        return
    if path.read_bytes() != content:
        raise CommandError(f"{path} exists, and no training wrote it: it is not replaced. Give another folder.")


def shipped_configs() -> dict[str, Path]:
    """The configs that ship, by name. An installed package has them inside, a clone beside it."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    folder = inside if inside.is_dir() else package.parent / "configs"
    return {path.stem: path for path in sorted(folder.glob("*.cfg"))}


def read_training_config(name: str, overrides: dict[str, Any]) -> tuple[Config, bool]:
    """Read a config with overridden settings; also returns whether it ships."""
    from spacy.util import load_config

    shipped = shipped_configs()
    path = shipped.get(name, Path(name))
    if not path.is_file():
        known = [own for own, file in shipped.items() if graft_sections(load_config(file))]
        raise CommandError(
            f"There is no config {name}: it is neither a file nor one of {listed(known)}.{did_you_mean(name, known)}"
        )
    try:
        config = load_config(path, overrides=overrides, interpolate=False)
    except (ValueError, configparser.Error) as error:
        raise CommandError(f"{path}: {error}") from error
    if missing := [section for section in ("paths", "nlp", "components", "training") if section not in config]:
        raise CommandError(
            f"{path} has no section {listed(missing)}. spacy-graft init-config writes a complete config."
        )
    # A clone has them too, beside the package that is installed.
    return config, path.read_text("utf8") in {known.read_text("utf8") for known in shipped.values()}


def set_language(settings: dict[str, Any], lang: str, has_tokenizer: bool) -> None:
    """Set the language of the section ``[nlp]``, and the tokenizer, if it is not given but that of the language before.

    A config that spaCy has completed names the tokenizer of its language.
    """
    from spacy.util import get_lang_class

    with suppress(ImportError):  # there was none
        former = get_lang_class(settings["lang"]).default_config["nlp"]["tokenizer"]
        if settings.get("tokenizer") == former and not has_tokenizer:
            settings["tokenizer"] = dict(OF_LANGUAGE)
    settings["lang"] = lang


def tokenizer_of(config: Config) -> dict[str, Any] | None:
    """The settings of the tokenizer of a config; None if it is that of the language."""
    try:
        settings: dict[str, Any] | None = config.interpolate()["nlp"].get("tokenizer")
    except ValueError as error:
        raise CommandError(f"The config is not complete: {error}") from error
    return settings


def graft_section(config: Config, name: str) -> str:
    """The name of the first graft component of a config; a CommandError if it has none."""
    if not (found := graft_sections(config)):
        sourced = any("source" in section for section in config["components"].values())
        hint = " One with a source is trained by python -m spacy train." if sourced else ""
        raise CommandError(f"The config {name} has no component {EXCLUSIVE[0]} or {MULTILABEL[0]} to train.{hint}")
    return found[0]


def graft_sections(config: Config) -> list[str]:
    """The names of the graft components of a config."""
    factories = (EXCLUSIVE[0], MULTILABEL[0])
    return [str(name) for name, section in config["components"].items() if section.get("factory") in factories]


def fill_corpora(config: Config, data: str, dev: str | None, fields: dict[str, str | None]) -> None:
    """Set the corpora and their readers. Readers of other packages are replaced: they do not read all formats."""
    for path in (data, *(() if dev is None else (dev,))):
        if not file_is_there(path):
            raise CommandError(f"There is no file or folder {path}.")
    config["paths"].update(train=data, dev=data if dev is None else dev)
    corpora = config.setdefault("corpora", {})
    for split in ("train", "dev"):
        section = corpora.get(split, {})
        if section.get("@readers") != READER:
            section = reader_settings(split) | {"lazy": False}
        given = {key: name for key, name in fields.items() if name is not None}
        section |= {"path": f"${{paths.{split}}}", **given}
        # A config of an earlier training may have divided one file.
        section["part"] = split if dev is None else None
        if dev is None and split == "dev":
            section |= {key: f"${{corpora.train.{key}}}" for key in DIVIDED_BY if key in corpora["train"]}
        corpora[split] = section
        config["training"][f"{split}_corpus"] = f"corpora.{split}"


def check_effects(config: Config, overrides: dict[str, Any]) -> None:
    """Raise a CommandError for an overridden setting that has another value, since other arguments set it."""
    for name, value in overrides.items():
        found: Any = config
        for key in name.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        if found != value:
            raise CommandError(
                f"--{name} has no effect: the setting is {found!r}. Give files as DATA and --dev; their fields, the "
                f"language and the kind of labels by --text-field, --label-field, --lang, --exclusive, --multilabel."
            )


def check_data(data: str, dev: str | None) -> None:
    """Raise a CommandError if texts to train on and for dev are in the same file."""
    if dev is not None and os.path.exists(dev) and os.path.exists(data) and os.path.samefile(data, dev):
        raise CommandError(
            f"DATA and --dev are both {dev}. Texts to choose the model on must be others than those it is trained on. "
            f"Without --dev, one document in ten is held out."
        )


def check_loop(config: Config) -> None:
    """Raise a CommandError for settings of the loop that spaCy does not know, or that are of another type."""
    from spacy.language import Language
    from spacy.schemas import ConfigSchemaNlp, ConfigSchemaTraining
    from spacy.util import registry
    from thinc.api import Config, ConfigValidationError

    settings = Config(Language.default_config).merge(config).interpolate()
    for section, schema in {"nlp": ConfigSchemaNlp, "training": ConfigSchemaTraining}.items():
        known: list[str] = list(schema.model_fields)  # type: ignore[attr-defined]  # not in the stub
        if unknown := [name for name in settings[section] if name not in known]:
            raise CommandError(f"There is no setting [{section}] {unknown[0]}.{did_you_mean(unknown[0], known)}")
        try:
            registry.resolve(settings[section], schema=schema)
        except ConfigValidationError as error:
            (first, *_) = error.errors
            raise CommandError(f"[{section}] {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error
    if (frequency := settings["training"]["eval_frequency"]) < 1:
        raise CommandError(f"[training] eval_frequency must be at least 1, but is {frequency}.")


def check_tokenizer(nlp: Language, config: Config) -> None:
    """Raise a CommandError if the tokenizer cannot be initialized: some need a package then, or the name of a model."""
    from spacy.util import registry

    if not hasattr(nlp.tokenizer, "initialize"):
        return
    settings = config.interpolate().get("initialize", {}).get("tokenizer", {})
    try:
        nlp.tokenizer.initialize(lambda: [], nlp=nlp, **registry.resolve({"_": settings})["_"])
    except Exception as error:  # tokenizers can raise anything
        raise CommandError(
            f"The tokenizer cannot be initialized: {type(error).__name__}: {error}. Check [nlp.tokenizer] and "
            f"[initialize.tokenizer]; pkuseg needs the name of a model there, pkuseg_model."
        ) from error


def check_files(config: Config, component: str, name: str) -> None:
    """Raise a CommandError if the component's initialization needs a file that is not given or does not exist."""
    for section in config.get("initialize", {}).get("components", {}).get(component, {}).values():
        # Folders, such as that of an index, are created.
        if not isinstance(section, dict) or "path" not in section:
            continue
        value = section["path"]
        key = str(value).removeprefix("${paths.").removesuffix("}")
        if value != f"${{paths.{key}}}" or key in OPTIONAL_PATHS:
            continue
        path = config["paths"].get(key)
        if path is None:
            raise CommandError(f"The config {name} needs a file: --paths.{key} FILE.")
        if not file_is_there(path):
            raise CommandError(f"There is no file or folder {path}, which --paths.{key} names.")


def opened_corpora(config: Config) -> dict[str, JsonlCorpus]:
    """The readers of a config, after a message about what they read."""
    from spacy.util import registry

    settings = config.interpolate()["corpora"]
    readers: dict[str, JsonlCorpus] = {
        split: registry.resolve({"_": settings[split]})["_"] for split in ("train", "dev")
    }
    for path, content in {str(reader.path): reader.content for reader in readers.values()}.items():
        print_message(f"{path} is read as {content}.")
    return readers


@dataclass
class LabelsFound:
    """The labels of the documents that are trained on; of those held out of them as well.

    Attributes
    ----------
    counts : Counter
        The documents of each label.
    names : set of str
        All labels, those that no document has as well.
    n_others : int
        Documents that do not have exactly one label.
    first_other : tuple of (int, str), optional
        Number and name of the first of these.
    first_with_several : str, optional
        Where the first document is that has several labels, of train or dev.
    """

    counts: Counter[str] = field(default_factory=Counter)
    names: set[str] = field(default_factory=set)
    n_others: int = 0
    first_other: tuple[int, str] | None = None
    first_with_several: str | None = None

    def add(self, labels: LabelValues, number: int, name: str) -> None:
        """Count the labels of a document."""
        self.counts.update(positive_of(labels))
        self.names.update([labels] if isinstance(labels, str) else labels)
        if not is_single(labels):
            self.n_others += 1
            # Those that are held out come last.
            self.first_other = min(self.first_other or (number, name), (number, name))

    def lines(self) -> Iterator[str]:
        """Say which labels there are, and which of them may be the same."""
        shown = [f"{printable(text_beginning(label, LONGEST_NAME))} {n:,}" for label, n in self.counts.most_common()]
        yield f"Labels: {in_part(shown)}."
        alike = defaultdict(list)
        for label in self.counts:
            alike[plain_label(label)].append(label)
        for labels in alike.values():
            if len(labels) > 1:
                yield f"Are these labels the same? {listed(labels)}. If so, write them alike."
        if (several := self.several_in_one()) is not None:
            yield f"Is {several[0]!r} several labels? If so, write a list: {several[1]}."

    def several_in_one(self) -> tuple[str, str] | None:
        """The first label that seems to be several, joined, and the list that it may be.

        Joined labels have parts that others have too, alone or joined.
        """
        for separator in SEPARATORS:
            parts_of = {label: [part.strip() for part in label.split(separator)] for label in self.counts}
            times = Counter(part for parts in parts_of.values() for part in {*parts})
            joined = {label: parts for label, parts in parts_of.items() if len(parts) > 1}
            if joined and all(part and times[part] > 1 for parts in joined.values() for part in parts):
                label, parts = next(iter(joined.items()))
                return label, json.dumps(parts, ensure_ascii=False)
        return None


def plain_label(label: str) -> str:
    """What labels share that look alike: without case, white space at the ends, composition, and what is not seen."""
    seen = "".join(letter for letter in unicodedata.normalize("NFKC", label) if unicodedata.category(letter) != "Cf")
    return seen.strip().casefold().removesuffix(".0")


@dataclass
class TextsFound:
    """What is striking in texts.

    Attributes
    ----------
    n_empty : int
        Those without anything but white space.
    first_empty, first_long_run : str, optional
        Where the first of these is, and the first one with a long run of symbols.
    n_characters, n_digits : int
        Characters, and the digits from 0 to 9 among them.
    keys : dict of str to array of uint64
        By split, a digest of each text that is not empty: 8 bytes a document.
    """

    n_empty: int = 0
    first_empty: str | None = None
    first_long_run: str | None = None
    n_characters: int = 0
    n_digits: int = 0
    keys: dict[str, array[int]] = field(default_factory=lambda: {"train": array("Q"), "dev": array("Q")})

    def add(self, text: str, name: str, split: str) -> None:
        """Look at a text."""
        from ..digests import text_key  # loads NumPy

        if text and not text.isspace():
            self.keys[split].append(text_key(text))
        else:
            self.n_empty += 1
            self.first_empty = self.first_empty or name
        if self.first_long_run is None and len(text) >= LONG_RUN and LONG_RUN_OF_SYMBOLS.search(text):
            self.first_long_run = name
        self.n_characters += len(text)
        data = text.encode("utf-8", "surrogatepass")
        self.n_digits += len(data) - len(data.translate(None, DIGITS))

    def lines(self, has_shapes: bool) -> Iterator[str]:
        """Say where texts are empty, which are in both splits, where reading will take long, and whether there are many
        digits, unless features tell their number.
        """
        import numpy as np

        from ..held_out import MOST_COPIES

        if self.n_empty:
            yield f"Empty texts: {self.n_empty:,}, the first of them {self.first_empty}."
        keys, counts = np.unique(np.array(self.keys["train"]), return_counts=True)
        # Those that come again and again are to be expected in dev.
        if n_copies := int(np.isin(self.keys["dev"], keys[counts <= MOST_COPIES]).sum()):
            yield (
                f"Texts of dev that are also in train: {n_copies:,}. The scores on dev will be too good. spacy-graft "
                f"debug-data names some of them."
            )
        if self.first_long_run is not None:
            yield (
                f"{self.first_long_run}: the text has {LONG_RUN:,} or more symbols in a row without white space. "
                f"spaCy's tokenizer may take time in proportion to the square of their number: shorten such runs."
            )
        if not has_shapes and self.n_digits > MANY_DIGITS * self.n_characters:
            yield (
                f"{percentage(self.n_digits / self.n_characters)} of all characters are digits. If it matters how many "
                f"there are in a word, add n-grams of word shapes to the features of a config that spacy-graft "
                f"init-config writes: spacy_graft.TokenNgrams.v1 with attr SHAPE and penalty_factor 1.5."
            )


def documents_by_split(corpora: dict[str, JsonlCorpus]) -> Iterator[tuple[str, JsonlCorpus, int, dict[str, Any]]]:
    """All documents, with their splits and readers."""
    for split, corpus in corpora.items():
        with status_line(f"Checking {corpus.path}") as update:
            for number, record in with_count(corpus.records(), update, "documents checked"):
                yield split, corpus, number, record


def labels_found(corpora: dict[str, JsonlCorpus], has_shapes: bool) -> LabelsFound:
    """Read and check the corpora, for a component with or without features of word shapes."""
    counts, found, texts, of_dev = Counter[str](), LabelsFound(), TextsFound(), Counter[str]()
    for split, corpus, number, record in documents_by_split(corpora):
        counts[split] += 1
        name, labels = corpus.place_of(number, record), labels_of(corpus, record)
        if split == "train" or corpus.part:
            found.add(labels, number, name)
        texts.add(record[corpus.text_field], f"{corpus.path}, {name}", "train" if corpus.part else split)
        if split == "dev":
            of_dev.update(positive_of(labels))
        if found.first_with_several is None and are_several(labels):
            found.first_with_several = f"{corpus.path}, {name}"
    for split, corpus in corpora.items():
        if not counts[split] and corpus.part and counts["train"]:
            raise CommandError(
                f"{corpus.path}: none of the {counts['train']:,} documents can be held out for dev, because each set "
                f"of labels has one text only. Is another field that of the labels (--label-field)? Otherwise give "
                f"--dev."
            )
        if not counts[split]:
            raise CommandError(f"{corpus.path} has no documents.")
    train, dev = corpora["train"], corpora["dev"]
    n = counts["train"] + (counts["dev"] if dev.part else 0)
    if not found.names:
        raise CommandError(
            f"{train.path}: none of {count(n, 'document')} has a label. Is another field that of the labels "
            f"(--label-field)?"
        )
    if not texts.keys["train"]:
        raise CommandError(
            f"{train.path}: all {count(n, 'text')} are empty. Is another field that of the texts (--text-field)?"
        )
    if found.counts and of_dev and found.counts.keys().isdisjoint(of_dev):
        raise CommandError(
            f"{dev.path}: no document has a label of those that are trained. Its labels: {listed([*of_dev])}. "
            f"Those of {train.path}: {listed([*found.counts])}."
        )
    held_out = ", one in ten of each set of labels" if dev.part else ""
    print_message(f"{counts['train']:,} documents to train on, {counts['dev']:,} for dev{held_out}.")
    if counts["dev"] > counts["train"]:
        print_message("There are more documents for dev than to train on: have they been swapped?")
    for line in (*found.lines(), *texts.lines(has_shapes)):
        print_message(line)
    return found


def set_kind(section: dict[str, Any], found: LabelsFound, exclusive: bool | None) -> None:
    """Make a component one of exclusive or of independent labels, as asked for, or else as the labels are."""
    is_exclusive = not found.n_others if exclusive is None else exclusive
    if is_exclusive and found.first_with_several is not None:
        raise CommandError(
            f"{found.first_with_several}: the document has several labels. Correct it, or train with --multilabel, "
            f"where each text has any number of labels."
        )
    if is_exclusive and len(found.names) == 1:
        raise CommandError(
            f"There is one label only, {listed(found.names)}, but exclusive labels must be at least two. To train one "
            f"that texts have or not, add texts without it (with [] for their labels), and give --multilabel."
        )
    print_message(f"Labels are {'exclusive' if is_exclusive else 'independent'}.")
    if exclusive is None and found.first_other is not None:
        print_message(
            f"{found.n_others:,} of the documents do not have exactly one label, the first of them "
            f"{found.first_other[1]}. If they should have one, correct them."
        )
    factory, scorer = EXCLUSIVE if is_exclusive else MULTILABEL
    section["factory"] = factory
    section["scorer"] = {"@scorers": scorer}


def fill_syntax(config: Config, name: str, syntax: str | None) -> Config:
    """The config with the components of a syntax pipeline, if it has some."""
    if not sourced_components(config):
        if syntax is not None:
            print_message(f"The config {name} has no features of syntax: --syntax {syntax} has no effect.")
        return config
    if syntax is None:
        syntax = config["paths"].get("syntax")
    if syntax is None:
        raise CommandError(
            f"The config {name} has features of syntax, which need a pipeline that sets parts of speech and "
            f"dependencies. Give one with --syntax, or train without syntax: --config ngrams."
        )
    try:
        return with_syntax(config, syntax, load_syntax(syntax, config["nlp"]["lang"]))
    except CommandError as error:
        raise CommandError(
            f"{error} Give another pipeline with --syntax, or train without syntax: --config ngrams."
        ) from error
