"""Build the default corpus: the docstrings of the installed SciPy.

Every public function, class and method of SciPy becomes one document, labelled
with the subpackage it belongs to (``stats``, ``signal``, ...). Only the prose is
kept, that is the summary and the notes: parameters, examples, references,
formulas and the paragraphs which repeat all over the documentation are dropped,
as are near-duplicates. An object and its methods stay in one split, and so do
objects whose texts resemble each other.

The corpus depends on the SciPy version, on nothing else: two runs on the same
installation write the same bytes.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import os
import pkgutil
import re
import sys
import types
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SPLITS: dict[str, float] = {"train": 0.7, "dev": 0.1, "test": 0.2}

# Deprecated or legacy namespaces; `fftpack` repeats `fft` under another label.
EXCLUDED = frozenset({"conftest", "fftpack", "misc", "odr", "tests", "version"})

MIN_LABEL_DOCS = 20  # Labels with fewer documents are left out.
MIN_WORDS = 5  # Shorter texts ("Return the size.") say nothing about their label.
MAX_REPEATS = 10  # A paragraph found in more top-level objects is boilerplate.
SHINGLE = 3  # Words per shingle when texts are compared.
DUPLICATE = 0.8  # Jaccard similarity from which a text is dropped.
RELATED = 0.3  # Jaccard similarity from which two objects share a split.

# Parameter descriptions are dropped as well: they are copied from function to
# function, so that half of the documents would share sentences with other splits.
_DROPPED_SECTIONS = frozenset(
    {
        "attributes",
        "example",
        "examples",
        "keyword arguments",
        "methods",
        "other parameters",
        "parameters",
        "raises",
        "references",
        "returns",
        "see also",
        "usage",
        "warns",
        "yields",
    }
)
_ADMONITIONS = frozenset({"caution", "important", "note", "tip", "warning"})

_UNDERLINE = re.compile(r"([-=~^])\1{2,}\s*")
_DIRECTIVE = re.compile(r"\.\.(?:\s+(?:(?P<name>[\w-]+)::)?(?P<rest>.*))?$")
_TABLE = re.compile(r"\s*(?:[=+-]{2,}(?:\s+[=-]{2,})+|\+[-=+]+\+|\|.*\||[=+-]{4,})\s*")
_BULLET = re.compile(r"(?:[-*+•]|\(?\d{1,2}[.)])\s+")
_SIGNATURE = re.compile(r"(?:[\w, ]+ = )?[\w.]+\s?\(.*\)(?: ?-> ?.*)?", re.DOTALL)
_BOILERPLATE = re.compile(
    r"Array API Standard|SCIPY_ARRAY_API|^See (?:dev-arrayapi|the documentation for)"
    r"|^(?:New in|Added in|Deprecated (?:since|in)) (?:version|SciPy)|will be removed in"
    r"|^Array API|^:[a-z]+:",
)

_INLINE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\s*\[[\w, -]+\]_+"), ""),  # citations: [1]_
    (re.compile(r"`([^`<]*?)\s*<[^`>]*>`_{0,2}"), r"\1"),  # links: `text <target>`_
    (re.compile(r"\|([^|\s][^|\n]*)\|(?=\W|$)"), r"\1"),  # substitutions and |x|
    (re.compile(r":(?:[\w-]+:)*[\w-]+:(?=[`'])"), ""),  # roles: :func:`name`
    (re.compile(r"`+~?([^`]*)`+_{0,2}"), r"\1"),  # literals and references
    (re.compile(r"(?<![\w*])\*{1,2}([^\s*](?:[^*\n]*[^\s*])?)\*{1,2}(?![\w*])"), r"\1"),
    (re.compile(r"(?:https?://|www\.)[^\s>]*[^\s>.,;)]"), ""),
    (re.compile(r"\\([A-Za-z]+|[*|_`])"), r"\1"),  # commands and escapes
    (re.compile(r"\\."), " "),
    (re.compile(r"\(\s*\)|<\s*>"), " "),
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_TOKEN = re.compile(r"\w+")

app = typer.Typer(add_completion=False)


class CorpusError(Exception):
    """The corpus cannot be built from this installation."""


@dataclass(frozen=True)
class Docstring:
    """The docstring of one public object, as found.

    Attributes
    ----------
    id : str
        Qualified public name.
    label : str
        Top-level subpackage of SciPy.
    group : str
        Subpackage and top-level object, shared by an object and its methods.
    inherited : bool
        Whether a method comes from a base class.
    raw : str
        The docstring.
    """

    id: str
    label: str
    group: str
    inherited: bool
    raw: str


@dataclass(frozen=True)
class Document:
    """One document of the corpus.

    Attributes
    ----------
    id : str
        Qualified public name.
    label : str
        Top-level subpackage of SciPy.
    group : str
        Documents of one group stay in one split.
    text : str
        The prose of the docstring, one paragraph per line.
    """

    id: str
    label: str
    group: str
    text: str


# --- From docstrings to prose -------------------------------------------------------


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _sections(lines: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Cut a docstring at its underlined headers."""
    title, start = "", 0
    for index, line in enumerate(lines[1:], 1):
        header = lines[index - 1].strip()
        if header and _UNDERLINE.fullmatch(line.strip()) and not _TABLE.fullmatch(header):
            yield title, lines[start : index - 1]
            title, start = header.rstrip(":").lower(), index + 1
    yield title, lines[start:]


def _skip_block(lines: Sequence[str], start: int, indent: int) -> int:
    """Return the index of the first line after an indented block."""
    while start < len(lines) and (not lines[start].strip() or _indent(lines[start]) > indent):
        start += 1
    return start


def _skip_paragraph(lines: Sequence[str], start: int) -> int:
    while start < len(lines) and lines[start].strip():
        start += 1
    return start


def _without_markup(lines: Sequence[str]) -> Iterator[str]:
    """Drop directives, comments, footnotes, doctests and literal blocks."""
    index = 0
    while index < len(lines):
        line = lines[index]
        stripped, indent = line.strip(), _indent(line)
        index += 1
        if match := _DIRECTIVE.fullmatch(stripped):
            if match["name"] in _ADMONITIONS:
                yield " " * indent + match["rest"].strip()
            else:
                index = _skip_block(lines, index, indent)
                yield ""
        elif stripped.startswith(">>>"):
            index = _skip_paragraph(lines, index)
            yield ""
        elif stripped.endswith("::"):
            index = _skip_block(lines, index, indent)
            yield line.rstrip().removesuffix("::").rstrip() + ":"
            yield ""
        else:
            yield line


def _paragraphs(lines: Iterable[str]) -> Iterator[list[str]]:
    """Group lines into paragraphs; list items are paragraphs of their own."""
    block: list[str] = []
    for line in [*lines, ""]:
        if block and (not line.strip() or _BULLET.match(line.lstrip())):
            yield block
            block = []
        if line.strip():
            block.append(line)


def _shorten_paths(text: str, modules: Iterable[str]) -> str:
    """Turn ``scipy.stats.norm`` into ``norm`` and ``scipy.stats`` into ``SciPy``."""
    names = {"scipy", *modules} | {name.removeprefix("scipy.") for name in modules}
    heads = "|".join(sorted({name.partition(".")[0] for name in names} | {"np", "numpy"}))
    return re.sub(
        rf"(?<![\w.])(?:{heads})(?:\.[A-Za-z_]\w*)+",
        lambda match: "SciPy" if match[0] in names else match[0].rpartition(".")[2],
        text,
    )


def clean_inline(text: str, modules: Iterable[str] = ()) -> str:
    """Strip the inline markup from one paragraph.

    Parameters
    ----------
    text : str
        A paragraph in reStructuredText.
    modules : iterable of str, optional
        Names of modules. They become ``SciPy``, for ``scipy.stats`` would give
        the label away; any other dotted name becomes its last part.

    Returns
    -------
    str
        Plain text on one line.
    """
    if bullet := _BULLET.match(text := text.strip()):
        text = text[bullet.end() :]
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return " ".join(_shorten_paths(text, modules).split())


def _prose(block: Sequence[str], modules: Iterable[str]) -> str:
    text = "\n".join(line.strip() for line in block)
    if _SIGNATURE.fullmatch(text) or any(_TABLE.fullmatch(line) for line in block):
        return ""
    text = clean_inline(text, modules)
    return "" if _BOILERPLATE.search(text) or not _WORD.search(text) else text


def clean_docstring(doc: str, modules: Iterable[str] = ()) -> list[str]:
    """Return the prose of a docstring.

    Parameters
    ----------
    doc : str
        A docstring in the NumPy style.
    modules : iterable of str, optional
        Names of modules, see `clean_inline`.

    Returns
    -------
    list of str
        The paragraphs of the summary, the extended summary and the notes,
        without markup.
    """
    paragraphs: list[str] = []
    for title, body in _sections(inspect.cleandoc(doc).splitlines()):
        if title not in _DROPPED_SECTIONS:
            blocks = _paragraphs(_without_markup(body))
            paragraphs.extend(text for block in blocks if (text := _prose(block, modules)))
    return paragraphs


# --- From SciPy to docstrings -------------------------------------------------------


def _import(name: str) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise CorpusError(f"cannot import {name}: {error}") from error


def _submodules(package: types.ModuleType) -> Iterator[types.ModuleType]:
    """Import and yield the modules below a package, except private ones."""
    for info in pkgutil.iter_modules(getattr(package, "__path__", []), package.__name__ + "."):
        name = info.name.rpartition(".")[2]
        if not name.startswith("_") and name not in EXCLUDED:
            module = _import(info.name)
            yield module
            yield from _submodules(module)


def public_modules(root: types.ModuleType) -> list[types.ModuleType]:
    """Import the public modules of a package.

    Parameters
    ----------
    root : module
        The package.

    Returns
    -------
    list of module
        Its subpackages and their public modules. Modules without docstring or
        ``__all__`` are skipped: SciPy keeps them for backward compatibility only.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modules = list(_submodules(root))
    return [mod for mod in modules if (mod.__doc__ or "").strip() and hasattr(mod, "__all__")]


def _docstring(obj: object) -> str:
    """Return an object's own docstring, not the one of its type."""
    try:
        doc = obj.__doc__
        return "" if doc is None or doc is type(obj).__doc__ else str(doc)
    except Exception:
        return ""


def _getattr(obj: object, name: str) -> Any:
    try:
        return getattr(obj, name)
    except Exception:
        return None


def _home(obj: object, default: str, root: str) -> str | None:
    """Return the name of the subpackage which defines an object."""
    module = _getattr(obj, "__module__")
    if not isinstance(module, str):
        return default
    head, _, tail = module.partition(".")
    return tail.partition(".")[0] if head == root else None


def _public_objects(modules: Iterable[types.ModuleType], root: str) -> dict[str, Any]:
    """Map a qualified name to each public object, once per object."""
    names: dict[int, tuple[tuple[bool, int, str], Any]] = {}
    for module in modules:
        label = module.__name__.split(".")[1]
        for name in module.__all__:
            obj = _getattr(module, name)
            if not callable(obj) or (home := _home(obj, label, root)) is None:
                continue
            path = f"{module.__name__}.{name}"
            rank = (home != label, path.count("."), path)
            names[id(obj)] = min(names.get(id(obj), (rank, obj)), (rank, obj), key=lambda x: x[0])
    return {rank[2]: obj for rank, obj in sorted(names.values(), key=lambda x: x[0][2])}


def _methods(cls: type, root: str) -> Iterator[tuple[str, bool, Any]]:
    """Yield name, whether inherited, and value of the documented members of a class."""
    members = (property, cached_property, types.GetSetDescriptorType)
    for name in sorted(dir(cls)):
        if name.startswith("_"):
            continue
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        value = _getattr(cls, name)
        if owner is None or owner.__module__.partition(".")[0] != root or inspect.isclass(value):
            continue
        if callable(value) or isinstance(value, members):
            yield name, owner is not cls, value


def _object_docstrings(path: str, obj: object, root: str) -> Iterator[Docstring]:
    """Yield the docstrings of an object and of its methods."""
    label = path.split(".")[1]
    group = f"{label}.{path.rpartition('.')[2]}"
    yield Docstring(path, label, group, False, _docstring(obj))
    if inspect.isclass(obj):
        for name, inherited, value in _methods(obj, root):
            yield Docstring(f"{path}.{name}", label, group, inherited, _docstring(value))


def collect_docstrings(modules: Iterable[types.ModuleType]) -> list[Docstring]:
    """Collect the docstrings of public objects and of their methods.

    Parameters
    ----------
    modules : iterable of module
        Public modules of SciPy, see `public_modules`.

    Returns
    -------
    list of Docstring
        Own docstrings first, then those of inherited methods, each in the order
        of their names. A docstring found twice is listed once.
    """
    modules = list(modules)
    root = modules[0].__name__.partition(".")[0] if modules else ""
    found: list[Docstring] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path, obj in _public_objects(modules, root).items():
            found.extend(_object_docstrings(path, obj, root))
    first: dict[str, Docstring] = {}
    for doc in sorted(found, key=lambda doc: (doc.inherited, doc.id)):
        first.setdefault(" ".join(doc.raw.split()), doc)
    return [doc for key, doc in first.items() if key]


# --- From docstrings to documents ---------------------------------------------------


def _masked(text: str, doc: Docstring | Document) -> tuple[str, ...]:
    """Return the words of a text, with the object's own name and identifiers masked."""
    own = {part.lower() for part in doc.id.split(".")[1:]}
    words = _TOKEN.findall(text.lower())
    return tuple("_" if "_" in word or word in own else word for word in words)


def drop_boilerplate(found: Mapping[Docstring, Sequence[str]]) -> list[Document]:
    """Drop the paragraphs which repeat in many objects.

    Parameters
    ----------
    found : mapping of Docstring to sequence of str
        The paragraphs of each docstring.

    Returns
    -------
    list of Document
        The documents which have some words left.
    """
    groups: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for doc, paragraphs in found.items():
        for text in paragraphs:
            groups[_masked(text, doc)].add(doc.group)
    documents = []
    for doc, paragraphs in found.items():
        kept = [text for text in paragraphs if len(groups[_masked(text, doc)]) <= MAX_REPEATS]
        if len(_WORD.findall(" ".join(kept))) >= MIN_WORDS:
            documents.append(Document(doc.id, doc.label, doc.group, "\n".join(kept)))
    return documents


def _shingles(doc: Document) -> frozenset[tuple[str, ...]]:
    words = _masked(doc.text, doc)
    count = max(1, len(words) - SHINGLE + 1)
    return frozenset(words[start : start + SHINGLE] for start in range(count))


def _similarities(
    shingles: frozenset[tuple[str, ...]],
    index: Mapping[tuple[str, ...], list[int]],
    sizes: Mapping[int, int],
) -> dict[int, float]:
    """Return the Jaccard similarity to each indexed set of shingles."""
    common = Counter(other for shingle in shingles for other in index.get(shingle, ()))
    return {o: n / (len(shingles) + sizes[o] - n) for o, n in common.items()}


def drop_duplicates(documents: Sequence[Document]) -> tuple[list[Document], list[tuple[str, str]]]:
    """Drop near-duplicates and find related groups.

    Parameters
    ----------
    documents : sequence of Document
        Documents, the preferred ones first.

    Returns
    -------
    kept : list of Document
        The documents which resemble no earlier one.
    links : list of (str, str)
        Pairs of groups with similar texts, which should share a split.
    """
    index: dict[tuple[str, ...], list[int]] = defaultdict(list)
    sizes: dict[int, int] = {}
    kept: list[Document] = []
    links: list[tuple[str, str]] = []
    different = {doc.text.lower(): doc for doc in reversed(documents)}  # keeps the first
    for doc in reversed(different.values()):
        shingles = _shingles(doc)
        similar = _similarities(shingles, index, sizes)
        if max(similar.values(), default=0.0) >= DUPLICATE:
            continue
        links += [(kept[o].group, doc.group) for o, s in similar.items() if s >= RELATED]
        sizes[len(kept)] = len(shingles)
        for shingle in shingles:
            index[shingle].append(len(kept))
        kept.append(doc)
    return kept, links


# --- From documents to splits -------------------------------------------------------


def _clusters(documents: Sequence[Document], links: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Map each group to the first name among the groups it is linked with."""
    parent = {doc.group: doc.group for doc in documents}

    def find(group: str) -> str:
        while parent[group] != group:
            parent[group] = group = parent[parent[group]]
        return group

    for one, other in links:
        if one in parent and other in parent:
            first, second = sorted((find(one), find(other)))
            parent[second] = first
    return {group: find(group) for group in parent}


def _fill(sizes: Mapping[str, int], order: Iterable[str]) -> dict[str, str]:
    """Put each cluster in the split which lacks most, if there is room, else in train."""
    total = sum(sizes.values())
    room = {split: share * total for split, share in SPLITS.items()}
    chosen = {}
    for name in order:
        fitting = [split for split in SPLITS if room[split] >= sizes[name] - 0.5]
        split = max(fitting, key=lambda s: room[s] / SPLITS[s], default="train")
        room[split] -= sizes[name]
        chosen[name] = split
    return chosen


def _order(sizes: Mapping[str, int], salt: str, name: str) -> tuple[bool, bytes]:
    """Sort clusters by a hash of their names, those hard to place first."""
    small = sizes[name] <= 0.05 * sum(sizes.values())
    return small, hashlib.sha256(f"{salt}{name}".encode()).digest()


def split_documents(
    documents: Sequence[Document], links: Iterable[tuple[str, str]] = (), salt: str = ""
) -> dict[str, list[Document]]:
    """Split documents by group, label by label.

    Parameters
    ----------
    documents : sequence of Document
        The documents.
    links : iterable of (str, str), optional
        Pairs of groups which should share a split. Those which join different
        labels are ignored.
    salt : str, optional
        Another one gives another split.

    Returns
    -------
    dict of str to list of Document
        The documents of ``train``, ``dev`` and ``test``, in the order of their
        names. It depends on the names of the groups, their sizes and the salt only.
    """
    label = {doc.group: doc.label for doc in documents}
    pairs = [(a, b) for a, b in links if label.get(a) == label.get(b)]
    clusters = _clusters(documents, pairs)
    sizes: dict[str, Counter[str]] = defaultdict(Counter)
    for doc in documents:
        sizes[doc.label][clusters[doc.group]] += 1
    chosen: dict[str, str] = {}
    for counts in sizes.values():
        chosen.update(_fill(counts, sorted(counts, key=partial(_order, counts, salt))))
    splits: dict[str, list[Document]] = {split: [] for split in SPLITS}
    for doc in sorted(documents, key=lambda doc: doc.id):
        splits[chosen[clusters[doc.group]]].append(doc)
    return splits


def drop_small_labels(documents: Sequence[Document]) -> list[Document]:
    """Leave out the labels with fewer than `MIN_LABEL_DOCS` documents.

    Parameters
    ----------
    documents : sequence of Document
        The documents.

    Returns
    -------
    list of Document
        The documents with the other labels.
    """
    counts = Counter(doc.label for doc in documents)
    return [doc for doc in documents if counts[doc.label] >= MIN_LABEL_DOCS]


def build_corpus(root: types.ModuleType, salt: str = "") -> dict[str, list[Document]]:
    """Build the corpus from an imported SciPy.

    Parameters
    ----------
    root : module
        The package, that is ``scipy``.
    salt : str, optional
        See `split_documents`.

    Returns
    -------
    dict of str to list of Document
        The documents of each split, in the order of their names.

    Raises
    ------
    CorpusError
        If a module cannot be imported or there are no docstrings.
    """
    modules = public_modules(root)
    names = {module.__name__ for module in modules}
    found = {doc: clean_docstring(doc.raw, names) for doc in collect_docstrings(modules)}
    documents, links = drop_duplicates(drop_boilerplate(found))
    documents = drop_small_labels(documents)
    if not documents:
        raise CorpusError(f"{root.__name__} has no docstrings")
    return split_documents(documents, links, salt)


# --- Command line -------------------------------------------------------------------


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text file, the whole file or nothing.

    Parameters
    ----------
    path : Path
        The file, in an existing folder. An older one is replaced.
    lines : iterable of str
        The lines, with their ends.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_jsonl(path: Path, documents: Iterable[Document]) -> None:
    """Write documents as JSON lines, see `write_lines`.

    Parameters
    ----------
    path : Path
        The file.
    documents : iterable of Document
        The documents.
    """
    rows = ({"id": doc.id, "label": doc.label, "text": doc.text} for doc in documents)
    write_lines(path, (json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def load_scipy() -> types.ModuleType:
    """Import SciPy, or say why there is nothing to build from."""
    if sys.flags.optimize >= 2:
        raise CorpusError("there are no docstrings under python -OO (or PYTHONOPTIMIZE=2)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _import("scipy")


def _table(splits: Mapping[str, Sequence[Document]], version: str) -> Table:
    counts = {split: Counter(doc.label for doc in docs) for split, docs in splits.items()}
    table = Table("label", title=f"SciPy {version}", show_footer=True)
    table.columns[0].footer = "total"
    for split, counter in counts.items():
        table.add_column(split, footer=str(counter.total()), justify="right")
    total = sum(counts.values(), Counter[str]())
    table.add_column("total", footer=str(total.total()), justify="right")
    for label in sorted(total):
        cells = [counter[label] for counter in (*counts.values(), total)]
        table.add_row(label, *map(str, cells))
    return table


@app.command()
def main(
    output: Annotated[Path, typer.Argument(help="Folder of the corpus.")] = Path("training/corpus"),
) -> None:
    """Write train.jsonl, dev.jsonl and test.jsonl from the docstrings of SciPy."""
    try:
        scipy = load_scipy()
        splits = build_corpus(scipy)
        output.mkdir(parents=True, exist_ok=True)
        for split, documents in splits.items():
            write_jsonl(output / f"{split}.jsonl", documents)
    except (CorpusError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    Console().print(_table(splits, scipy.__version__))


if __name__ == "__main__":
    app()
