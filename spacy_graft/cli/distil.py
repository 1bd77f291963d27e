"""``distil``: train on labelled texts and on what a teacher says of texts without labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files import delimiter_by_name, json_text, write_whole, writing
from ..messages import listed
from .common import (
    CodeOption,
    CommandError,
    ComponentOption,
    FormatOption,
    add_row,
    any_pipeline,
    check_output,
    check_room_for,
    config_pipeline,
    make_table,
    print_message,
    print_result,
    refuse_options,
    refuse_own_input,
    refuse_within,
)
from .corpora import are_exclusive
from .inputs import JSONL_SUFFIXES, STANDARD_INPUT, LabelFieldOption, OnError, TextFieldOption

if TYPE_CHECKING:
    from rich.console import RenderableType
    from spacy.language import Language

    from ..pipeline.reader import JsonlCorpus
    from ..pipeline.textcat import TextCatGraft
    from ..teachers.distil import AnyTeacher
    from ..teachers.report import DistilReport

EXAMPLES = """
spacy-graft distil --train labelled.jsonl --unlabelled texts.jsonl --teacher en_big_model --output student
spacy-graft distil --train labelled.jsonl --unlabelled texts.jsonl --teacher minilm/model.onnx --output student
spacy-graft distil config.cfg --train labelled.jsonl --unlabelled texts.jsonl --teacher teach.py:cats --output student
spacy-graft distil --train labelled.jsonl --unlabelled texts.jsonl --teacher soft.csv --output student --lang de
"""
#: What the command writes into the output folder.
STUDENT, STORE, REPORT_FILE, LABEL_NEXT, CHECKPOINTS = (
    "model-best", "teacher.store", "report.json", "label-next.jsonl", "checkpoints"
)  # fmt: skip
#: Features of the student without a config, at the most.
MOST_FEATURES = 5000


def distil_command(
    context: typer.Context,
    train: Annotated[Path, typer.Option(metavar="FILE", help="Labelled texts, as of train.")],
    unlabelled: Annotated[str, typer.Option(metavar="FILE", help="Texts without labels: JSON lines or a table.")],
    teacher: Annotated[
        str,
        typer.Option(
            metavar="TEACHER",
            help="A pipeline (folder or package) that sets doc.cats; a sentence encoder (.onnx); a function "
            "(FILE.py:NAME or MODULE:NAME); or a file of probabilities (.jsonl, .csv, .tsv).",
        ),
    ],
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for pipeline, report and list.")],
    config: Annotated[
        Path | None,
        typer.Argument(
            metavar="[CONFIG]",
            help="Config for `spacy train` with the student; --section.setting VALUE overrides a setting.",
        ),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="tokenizer.json of an encoder; by default the one in its folder."),
    ] = None,
    max_tokens: Annotated[
        int, typer.Option(min=3, help="Number of tokens after which texts are cut for an encoder.")
    ] = 128,
    weight: Annotated[
        list[float] | None,
        typer.Option(help="Example weight of unlabelled texts to try, besides 0; may be repeated. [default: 0.1, 1]"),
    ] = None,
    to_label: Annotated[int, typer.Option(min=0, help="Number of texts to propose for labelling next.")] = 100,
    lang: Annotated[str, typer.Option(metavar="CODE", help="Without CONFIG: the language of the texts.")] = "en",
    exclusive: Annotated[
        bool | None,
        typer.Option(
            "--exclusive/--multilabel",
            help="Without CONFIG: whether each text has exactly one label, or any number. By default taken from the "
            "labelled texts.",
        ),
    ] = None,
    code: CodeOption = None,
    text_field: TextFieldOption = "text",
    label_field: LabelFieldOption = "label",
    format: FormatOption = None,
    component: ComponentOption = None,
) -> None:
    """Train a small model with the help of a larger one.

    The student is trained on labelled texts, and on the predictions of the teacher for texts without labels. The weight
    of these predictions is chosen by cross-validation over the labelled texts; it is 0 if they do not help. FOLDER gets
    the pipeline (model-best), report.json, the texts to label next (label-next.jsonl), and the teacher's results
    (teacher.store), from which the same command continues after an interruption or with more texts. Without CONFIG the
    student has n-grams of words and characters, at most 5,000 of them.
    """
    from ..pipeline.components import graft_component
    from ..pipeline.reader import JsonlCorpus
    from ..teachers.distil import WEIGHTS, distil

    check_output(output)
    check_room_for(output, STUDENT)
    refuse_within(output, train)
    for written in (LABEL_NEXT, REPORT_FILE, STORE):
        refuse_own_input(output / written, train, unlabelled, teacher)
    refuse_own_input(output / STUDENT, teacher)
    if config is not None:
        refuse_options(context, "lang", "exclusive", why="with CONFIG: change the config instead")
    else:
        refuse_options(context, "code", why="without CONFIG")
    texts = FileTexts(unlabelled, text_field)
    labelled = JsonlCorpus(train, text_field, label_field)
    if config is None:
        nlp = default_student(lang, kind_of_labels(labelled) if exclusive is None else exclusive)
    else:
        nlp = config_pipeline(config, context, code)
    load_vectors(nlp)
    graft = graft_component(nlp, component, "the config")
    require_others_trained(nlp, graft)
    report = distil(
        nlp,
        labelled(nlp),
        texts,
        teacher_of(teacher, context, tokenizer, max_tokens, text_field),
        component=graft.name,
        store=output / STORE,
        weights=WEIGHTS if weight is None else weight,
        n_to_label=to_label,
        options=initialize_options(nlp, graft, output / CHECKPOINTS),
    )
    write_all(nlp, report, texts, output)
    print_result(format, distil_tables(report, output), report.to_dict())


@dataclass(frozen=True)
class FileTexts:
    """The texts of JSON lines or a table, read again each time."""

    path: str
    text_field: str

    def __iter__(self) -> Iterator[str]:
        return (text for text, _ in self.with_records())

    def with_records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the texts and their objects."""
        from ..pipeline.contents import refuse_pipe
        from .texts import text_lines_of

        if self.path == STANDARD_INPUT:
            raise CommandError("Texts without labels are read several times, which standard input cannot be.")
        refuse_pipe(Path(self.path))
        for one in text_lines_of(self.path, self.text_field).texts(OnError.fail):
            yield one.text, one.record or {}


def require_others_trained(nlp: Language, graft: TextCatGraft) -> None:
    """Raise a CommandError if the pipeline would have another component that cannot predict."""
    from ..pipeline.components import graft_components

    untrained = [name for name, other in graft_components(nlp).items() if other is not graft and other.report is None]
    if untrained:
        raise CommandError(
            f"distil trains {graft.name!r} alone, and the student would have components that are not trained: "
            f"{listed(untrained)}. Take them out of [nlp] pipeline in the config, or give them a trained source."
        )


def kind_of_labels(labelled: JsonlCorpus) -> bool:
    """Whether labels exclude each other, as each text has exactly one; says so."""
    is_exclusive = are_exclusive(labelled)
    print_message(f"Labels are {'exclusive' if is_exclusive else 'independent'}.")
    return is_exclusive


def default_student(lang: str, exclusive: bool) -> Language:
    """A pipeline with the features and the learner that ship, of few features."""
    from spacy.util import load_model_from_config

    from .init_config import CorpusSize, complete_config

    config = complete_config(lang, exclusive, CorpusSize.medium, None)
    (name,) = config["nlp"]["pipeline"]
    config["components"][name]["learner"]["max_features"] = MOST_FEATURES
    return load_model_from_config(config, auto_fill=True)


def load_vectors(nlp: Language) -> None:
    """Load the vectors that the config of a pipeline names, if it does."""
    from spacy.training.initialize import load_vectors_into_model

    vectors = nlp.config.interpolate()["initialize"]["vectors"]
    if vectors is not None:
        load_vectors_into_model(nlp, vectors)


def initialize_options(nlp: Language, component: TextCatGraft, checkpoints: Path) -> dict[str, Any]:
    """What the config says of the component's ``initialize``."""
    from spacy.util import registry

    from ..pipeline.annotation import annotated_before
    from ..pipeline.initialization import has_checkpoints

    settings = nlp.config.interpolate()["initialize"]["components"].get(component.name, {})
    options: dict[str, Any] = {"checkpoints": str(checkpoints)} if has_checkpoints(component.learner) else {}
    options.update({name: value for name, value in registry.resolve(settings).items() if value is not None})
    reader = options.get("unlabelled")
    if reader is not None:
        options["unlabelled"] = lambda _: annotated_before(nlp, component, reader(nlp))
    return options


def teacher_of(
    argument: str, context: typer.Context, tokenizer: Path | None, max_tokens: int, text_field: str
) -> AnyTeacher:
    """The teacher that the option names; options of encoders are refused for others."""
    from ..teachers.encoder import ENCODER_FILE, OnnxEncoder
    from ..teachers.probabilities import SavedTeacher

    path = Path(argument)
    if path.suffix == ".onnx" or (path / ENCODER_FILE).is_file():
        try:
            return OnnxEncoder(path, tokenizer, max_tokens)
        except ImportError as error:
            raise CommandError(str(error)) from error
    refuse_options(context, "tokenizer", "max_tokens", why=f"with {argument}, which is not a sentence encoder")
    if argument.lower().endswith(JSONL_SUFFIXES) or delimiter_by_name(path) is not None:
        if not path.is_file():
            raise CommandError(f"There is no file {path}.")
        return SavedTeacher(path, text_field)
    if ":" in argument and not path.exists():
        return function_of(*argument.rsplit(":", 1))
    return any_pipeline(argument)


def function_of(module: str, name: str) -> Any:
    """A function of a module, or of a Python file."""
    from spacy.util import import_file

    try:
        loaded = import_file("spacy_graft_teacher", module) if module.endswith(".py") else import_module(module)
        function = getattr(loaded, name)
    except Exception as error:  # modules can raise anything
        raise CommandError(f"The teacher {module}:{name} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(function):
        raise CommandError(f"The teacher {module}:{name} is no function.")
    return function


def write_all(nlp: Language, report: DistilReport, texts: FileTexts, output: Path) -> None:
    """Write pipeline, list and report, each whole or not at all; then checkpoints are of no use."""
    from ..pipeline.checkpoints import delete_checkpoints
    from ..pipeline.whole_save import save_whole

    save_whole(nlp, output / STUDENT)
    to_label = {one["number"]: one for one in report.lines()}
    for number, (text, record) in enumerate(texts.with_records(), 1):
        if number in to_label and to_label[number]["text"] == text:
            to_label[number] = {**record, **{key: to_label[number][key] for key in ("margin", "cats", "teacher")}}
    with writing(output / LABEL_NEXT) as file:
        file.writelines(f"{json_text(one)}\n".encode() for one in to_label.values())
    write_whole(output / REPORT_FILE, f"{json_text(report.to_dict(), 2)}\n".encode())
    delete_checkpoints(output / CHECKPOINTS)


def distil_tables(report: DistilReport, output: Path) -> Iterator[RenderableType]:
    """Yield a table of the weights and a summary."""
    numbers = ["weight", "log-loss"]
    table = make_table("Example weight of texts without labels", *numbers, "", numbers=numbers)
    for trial in report.trials:
        mark = "chosen" if trial.weight == report.weight else ""
        add_row(table, f"{trial.weight:g}", f"{trial.log_loss:.4f}", mark)
    yield table
    fidelity = report.fidelity
    yield (
        f"Teacher: {report.teacher}. {report.n_labelled:,} labelled texts, {report.n_taught:,} without labels.\n"
        f"{report.student.n_active:,} features. The student agrees with the teacher on {fidelity.n_agreed:,} of "
        f"{fidelity.n_texts:,} held-out texts, {fidelity.agreement:.1%} (95% bounds: {fidelity.low:.1%} to "
        f"{fidelity.high:.1%}).\n"
        f"Wrote {output / STUDENT}; {len(report.to_label):,} texts to label next: {output / LABEL_NEXT}"
    )
