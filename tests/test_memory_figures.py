"""The byte counts of docs/architecture.md, section Memory, against the arrays that are counted."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
import spacy

from conftest import run
from spacy_graft.checks import memory
from spacy_graft.classifier import GraftClassifier
from spacy_graft.extract.attributes import TokenAttributes
from spacy_graft.extract.bags import Bags, Vocabulary
from spacy_graft.extract.characters import CharacterNgrams
from spacy_graft.extract.metadata import DocAttributes
from spacy_graft.extract.spelling import Spelling, lower_cased
from spacy_graft.extract.streams import Stream
from spacy_graft.extract.terms import NamedTerm
from spacy_graft.extract.tokens import TokenNgrams
from spacy_graft.graft.data import TrainingData
from spacy_graft.graft.parts import IndexedPart
from spacy_graft.graft.settings import CoordinateAscent, Grafting, GraftingPath
from spacy_graft.graft.start import start
from spacy_graft.index.items import ItemIndex
from spacy_graft.index.ngrams import NgramIndex
from spacy_graft.model.automaton import Automaton
from spacy_graft.model.item_matching import ItemMatcher, Members, item_tables
from spacy_graft.search import database_kernels
from spacy_graft.search.coarse import CoarseTree
from spacy_graft.search.combinations import CombinationSearch
from spacy_graft.search.descent import Descent
from spacy_graft.search.violations import Candidates
from spacy_graft.solve.active import Active
from spacy_graft.solve.columns import packed_columns
from strategies import training_data

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
#: A row of the table: package, what is counted, the unit, bytes.
ROW = re.compile(r"^\| \w+ \| (.+?) \| (.+?) \| (\d+)(?: to (\d+))? \|$", re.MULTILINE)

Figure = Callable[[], float]
MEASURED: dict[tuple[str, str], Figure] = {}


def figure(what: str, unit: str) -> Callable[[Figure], Figure]:
    """A function that measures the bytes of a row of the table."""

    def enter(measure: Figure) -> Figure:
        MEASURED[what, unit] = measure
        return measure

    return enter


def claims() -> dict[tuple[str, str], tuple[int, int]]:
    """Least and most bytes that the page claims, by what is counted and the unit."""
    section = PAGE.read_text(encoding="utf-8").split("\n## Memory\n")[1]
    rows = ROW.findall(section.replace("`", ""))
    return {(what, unit): (int(least), int(most or least)) for what, unit, least, most in rows}


CLAIMS = claims()


def test_every_figure_of_the_page_is_measured() -> None:
    assert CLAIMS.keys() == MEASURED.keys()
    section = PAGE.read_text(encoding="utf-8").split("\n## Memory\n")[1]
    table = [line for line in section.splitlines() if line.startswith("| `")]
    assert len(table) == len(CLAIMS)


@pytest.mark.parametrize(("what", "unit"), sorted(CLAIMS))
def test_a_figure_of_the_page(what: str, unit: str) -> None:
    least, most = CLAIMS[what, unit]
    assert least <= MEASURED[what, unit]() <= most


def n_bytes(value: Any) -> int:
    """Bytes of the arrays among the attributes or entries of an object."""
    values = value if isinstance(value, tuple) else [getattr(value, attribute.name) for attribute in fields(value)]
    return sum(array.nbytes for array in values if isinstance(array, np.ndarray))


TEXTS = [
    " ".join(random.Random(i).choices("the cat sat on a mat and saw the dog that ran to it".split(), k=20))
    for i in range(200)
]
NLP = spacy.blank("xx")
DOCS = [NLP.make_doc(text) for text in TEXTS]
LABELS = 3
TARGETS = np.eye(LABELS)[np.arange(len(TEXTS)) % LABELS]


def characters() -> Stream:
    return Stream.join([CharacterNgrams().symbols(doc) for doc in DOCS], np.uint32)


def items(value: str = "binary") -> Bags:
    block = TokenAttributes()
    stream = Stream.join([block.symbols(doc) for doc in DOCS], np.uint64, block.width)
    return Bags.of_stream(stream, 1, value)  # type: ignore[arg-type]


def index() -> NgramIndex:
    return NgramIndex.build(characters(), 2)


def reachable(value: Any, seen: dict[int, Any]) -> list[Any]:
    """The arrays and the package's objects that a value holds, at any depth, each once; of views, their base."""
    if id(value) in seen:
        return []
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        return [value] if value.base is None else reachable(value.base, seen)
    if isinstance(value, dict):
        inner, own = list(value.values()), []
    elif isinstance(value, list | tuple):
        inner, own = list(value), []
    elif type(value).__module__.startswith("spacy_graft."):
        inner, own = list(vars(value).values()), [value]
    else:
        return []
    return own + [found for part in inner for found in reachable(part, seen)]


def only(kind: type, value: Any) -> list[Any]:
    """The objects of a class that a value holds, at any depth."""
    return [found for found in reachable(value, {}) if isinstance(found, kind)]


def noisy_data() -> TrainingData:
    """Documents as many as no other array of a fit is long."""
    rng = random.Random(1)
    texts = ["".join(rng.choices("abcd", k=12)) for _ in range(331)]
    return training_data(texts, np.eye(LABELS)[[rng.randrange(LABELS) for _ in texts]])


# extract


@figure("Stream of CharacterNgrams", "character")
def bytes_of_a_character() -> float:
    stream = characters()
    assert len(stream.symbols) == sum(map(len, TEXTS))
    return stream.symbols.nbytes / len(stream.symbols)


@figure("Stream of TokenNgrams", "token")
def bytes_of_a_token() -> float:
    return sum(TokenNgrams().symbols(doc).nbytes for doc in DOCS) / sum(map(len, DOCS))


@figure("Stream of a block of items", "symbol of an occurrence")
def bytes_of_an_occurrence() -> float:
    doc = NLP.make_doc("a text")
    doc.user_data.update(section="sport", year=1990)
    symbols = DocAttributes(metadata=["section", "year"]).symbols(doc)
    assert symbols.shape == (2, 2)
    return symbols.nbytes / symbols.size


@figure("Bags, all values 1", "item of a document")
def bytes_of_an_entry() -> float:
    bags = items()
    return (bags.items.nbytes + bags.values.nbytes) / len(bags.items)


@figure("Bags, other values", "item of a document")
def bytes_of_an_entry_with_a_value() -> float:
    bags = items("log_count")
    return (bags.items.nbytes + bags.values.nbytes) / len(bags.items)


@figure("Vocabulary of tf_idf", "item")
def bytes_of_a_vocabulary() -> float:
    vocabulary = items("tf_idf").vocabulary
    assert isinstance(vocabulary, Vocabulary)
    return n_bytes(vocabulary) / len(vocabulary.keys)


@figure("TrainingData", "document and label")
def bytes_of_targets() -> float:
    data = training_data(TEXTS, TARGETS)
    return (data.targets.nbytes + data.known.nbytes) / data.targets.size


@figure("Spelling", "word of 8 letters")
def bytes_of_a_remembered_word() -> float:
    n = 3000
    spelling = Spelling(lower_cased)
    keys = np.array([NLP.vocab.strings.add(f"{i:08d}") for i in range(n)], np.uint64)
    spelling.add_words(keys.view(np.int64), NLP.vocab.strings)
    arrays = (spelling.slots, spelling.keys, spelling.bounds, spelling.letters)
    return sum(array.nbytes for array in arrays) / n


# index


@figure("NgramIndex", "symbol, without events")
def bytes_of_an_indexed_symbol() -> float:
    built = index()
    return built.symbols.nbytes / len(built.symbols)


@figure("NgramIndex", "symbol, with its events")
def bytes_of_a_symbol_with_events() -> float:
    built = index()
    return (built.symbols.nbytes + built.events.nbytes) / len(built.symbols)


@figure("NgramIndex", "node")
def bytes_of_a_node() -> float:
    built = index()
    others = built.symbols.nbytes + built.events.nbytes + built.alphabet.nbytes + built.bounds.itemsize
    return (n_bytes(built) - others) / built.n_nodes


@figure("ItemIndex, all values 1", "item of a document")
def bytes_of_an_indexed_entry() -> float:
    built = ItemIndex.build(items())
    return (built.documents.nbytes + built.values.nbytes) / len(built.documents)


@figure("ItemIndex, other values", "item of a document")
def bytes_of_an_indexed_entry_with_a_value() -> float:
    built = ItemIndex.build(items("log_count"))
    return (built.documents.nbytes + built.values.nbytes) / len(built.documents)


@figure("ItemIndex", "item of one symbol")
def bytes_of_an_item() -> float:
    built = ItemIndex.build(items())
    derived = built.df.nbytes + built.keys.nbytes + built.distinct.nbytes
    return (built.symbols.nbytes + built.starts.nbytes - built.starts.itemsize + derived) / built.n_nodes


def peak_of_building(min_df: int) -> float:
    """Bytes a symbol that building holds at its peak, in a process of its own."""
    program = """
import random, sys
import numpy as np
from spacy_graft.extract.streams import Stream
from spacy_graft.index.ngrams import NgramIndex

def status(name):
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))

def stream(n):
    rng = random.Random(n)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 8))) for _ in range(2000)]
    weights = [1 / (i + 1) for i in range(len(words))]
    texts = [" ".join(rng.choices(words, weights, k=80)) for _ in range(n)]
    return Stream.join([np.array(list(map(ord, text)), np.uint32) for text in texts], np.uint32)

min_df = int(sys.argv[1])
NgramIndex.build(stream(50), min_df)  # compiled
large = stream(3000)
with open("/proc/self/clear_refs", "w") as refs:
    refs.write("5")  # the peak so far is forgotten
before = status("VmRSS")
NgramIndex.build(large, min_df)
print((status("VmHWM") - before) / len(large.symbols))
"""
    return float(run("-c", program, min_df).stdout)


def claims_of_building() -> dict[bool, tuple[int, int]]:
    """Least and most bytes a symbol that the page claims for the peak of building, by whether ``min_df`` is 1."""
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    claimed = re.search(r"Building an index takes (\d+) to (\d+) bytes a symbol at its peak, (\d+) to (\d+) with", text)
    assert claimed
    least, most, least_of_1, most_of_1 = map(int, claimed.groups())
    return {False: (least, most), True: (least_of_1, most_of_1)}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("min_df", [1, 3])
def test_the_peak_of_building(min_df: int) -> None:
    least, most = claims_of_building()[min_df == 1]
    assert least <= peak_of_building(min_df) <= most


def test_estimates_use_the_largest_figures_of_the_page() -> None:
    building = claims_of_building()
    assert building[False][1] == memory.BYTES_PER_SYMBOL
    assert building[True][1] == memory.BYTES_PER_SYMBOL_MIN_DF_1
    assert CLAIMS["fit over one block of n-grams", "document and label"][1] == memory.BYTES_PER_DOCUMENT_LABEL
    of_labels = CLAIMS["features and penalty weights ratio, ratio_idf, 3 labels", "node"][1]
    assert of_labels == memory.BYTES_PER_NODE + 3 * memory.BYTES_PER_NODE_LABEL


# search


class PenaltyWeights(NamedTuple):
    """What remembering needs to know of a search."""

    inverse_weights: np.ndarray
    n_labels: int


def bytes_of_bounds(n_weights: int) -> float:
    built = index()
    inverse_weights = np.ones((built.n_nodes, n_weights), np.float32)
    descent = Descent(built, inverse_weights)
    descent.remember(TARGETS - 0.3, PenaltyWeights(inverse_weights, LABELS))  # type: ignore[arg-type]
    return sum(array.nbytes for array in (descent.peaks, descent.peaks_below, descent.largest_inverse)) / built.n_nodes


@figure("Descent, penalty weights 1", "node")
def bytes_of_remembered_bounds() -> float:
    return bytes_of_bounds(0)


@figure("Descent, other penalty weights", "node")
def bytes_of_remembered_bounds_with_weights() -> float:
    return bytes_of_bounds(1)


@figure("CoarseTree", "node that stays")
def bytes_of_a_coarse_node() -> float:
    built = index()
    coarse = CoarseTree.build(built, np.empty((built.n_nodes, 0), np.float32), 2, built.distinct)
    tree = coarse.ranged.tree
    arrays = coarse.nodes.nbytes + n_bytes(tree) - tree.events.nbytes - tree.bounds.itemsize
    return arrays / len(coarse.nodes)


@figure("CoarseTree", "event")
def bytes_of_a_coarse_event() -> float:
    built = index()
    coarse = CoarseTree.build(built, np.empty((built.n_nodes, 0), np.float32), 2, built.distinct)
    return coarse.ranged.tree.events.itemsize


@figure("Candidates", "candidate")
def bytes_of_a_candidate() -> float:
    made: list[Any] = []
    initialise = Candidates.__init__

    def recorded(self: Candidates, *arguments: Any) -> None:
        initialise(self, *arguments)
        made.append(self)

    with patch.object(Candidates, "__init__", recorded):
        start(Grafting(l1=3.0), noisy_data())
    arrays = [array for array in reachable(made[-1], {}) if isinstance(array, np.ndarray)]
    room = max(map(len, arrays))
    assert room >= 4096
    return sum(array.nbytes for array in arrays if len(array) == room) / room


@figure("candidates among combinations", "candidate")
def bytes_of_a_combined_candidate() -> float:
    tables: list[Any] = []
    make = CombinationSearch._room

    def recorded(self: CombinationSearch, *arguments: Any) -> Any:
        tables.append(make(self, *arguments))
        return tables[-1]

    with patch.object(CombinationSearch, "_room", recorded):
        for n_best in (100, 512, 1000):
            GraftClassifier(Grafting(l1=1.0, n_best=n_best), degree=2).fit(
                [["a", "b"], ["a"], ["b"]] * 9, [1, 2, 3] * 9
            )
    room = {id(table): len(table[0]) for table in tables}
    assert set(room.values()) == {4096, 8000}
    sizes = [sum(array.nbytes for array in table if len(array) >= room[id(table)]) for table in tables]
    return max(size / room[id(table)] for size, table in zip(sizes, tables, strict=True))


def bytes_of_the_walk(value: str) -> float:
    built = ItemIndex.build(items(value))
    residuals = TARGETS[:, 0] - 0.3
    database = database_kernels.database_of(
        built.starts, built.documents, built.values, np.arange(built.n_nodes), np.arange(len(residuals)), residuals,
        np.empty((0, 2)),
    )  # fmt: skip
    by_entry = (database.columns, database.row_values, database.rows, database.places)
    return sum(array.nbytes for array in by_entry) / len(built.documents)


@figure("walk over combinations, all values 1", "item of a document")
def bytes_of_an_entry_of_the_walk() -> float:
    return bytes_of_the_walk("binary")


@figure("walk over combinations, other values", "item of a document")
def bytes_of_an_entry_of_the_walk_with_a_value() -> float:
    return bytes_of_the_walk("log_count")


# solve and graft


def active(values: np.ndarray, n_documents: int = 1000) -> Active:
    starts, documents = np.array([0, 5, 10]), np.arange(10, dtype=np.int32)
    rows = np.zeros(6, np.int64)
    return Active(packed_columns((starts, documents, values), n_documents), rows, rows, np.ones(6), np.zeros(6))


def bytes_of_columns(chosen: Active) -> int:
    return chosen.columns.entries.nbytes + chosen.columns.values.nbytes


@figure("Active, all values 1", "document of an active feature")
def bytes_of_an_active_entry() -> float:
    return bytes_of_columns(active(np.empty(0))) / 10


@figure("Active, features of over 1/8 of the documents, all values 1", "8 documents of the corpus and a feature")
def bytes_of_active_bits() -> float:
    return bytes_of_columns(active(np.empty(0), n_documents=32)) / (2 * 32 / 8)


@figure("Active, other values", "document of an active feature")
def bytes_of_an_active_entry_with_a_value() -> float:
    return bytes_of_columns(active(np.ones(10))) / 10


@figure("Active", "weight")
def bytes_of_an_active_pair() -> float:
    chosen = active(np.empty(0))
    return n_bytes(chosen) / len(chosen)


def bytes_by_document_and_label(fit: Any, data: TrainingData) -> float:
    """Bytes of the arrays of a fit that have an entry for each document and label."""
    arrays = [found for found in reachable(fit, {}) if isinstance(found, np.ndarray)]
    return sum(array.nbytes for array in arrays if array.size == data.targets.size) / data.targets.size


@pytest.mark.parametrize(
    "learner",
    [Grafting(l1=3.0), Grafting(l1=3.0, ridge=1.0, penalty_weights="ratio"), GraftingPath(steps=4, refit=None)],
    ids=["l1", "elastic net", "path"],
)
def test_a_fit_holds_no_more_by_document_and_label(learner: Grafting | GraftingPath) -> None:
    least, most = CLAIMS["fit over one block of n-grams", "document and label"]
    data = noisy_data()
    fit = start(learner, data)
    while not fit.finished:
        fit.step()
        assert least <= bytes_by_document_and_label(fit, data) <= most


@figure("fit over one block of n-grams", "document and label")
def bytes_of_a_fit() -> float:
    data = noisy_data()
    fit = start(GraftingPath(steps=2, refit=None), data)
    fit.step()
    return bytes_by_document_and_label(fit, data)


def bytes_of_the_parts(penalty_weights: str) -> float:
    fit = start(Grafting(l1=3.0, penalty_weights=penalty_weights), noisy_data())  # type: ignore[arg-type]
    (part,) = only(IndexedPart, fit)
    return (part.row_of_node.nbytes + part.inverse.nbytes) / part.index.n_nodes


@figure("features and penalty weights none", "node")
def bytes_of_rows() -> float:
    return bytes_of_the_parts("none")


@figure("features and penalty weights idf, standard", "node")
def bytes_of_shared_weights() -> float:
    return bytes_of_the_parts("idf")


@figure("features and penalty weights ratio, ratio_idf, 3 labels", "node")
def bytes_of_weights_by_label() -> float:
    return bytes_of_the_parts("ratio")


@pytest.mark.parametrize("kind", ["idf", "standard", "ratio", "ratio_idf"])
def test_nodes_are_estimated_as_they_are(kind: str) -> None:
    component: Any = SimpleNamespace(learner=Grafting(l1=3.0, penalty_weights=kind), exclusive=True)  # type: ignore[arg-type]
    assert memory.bytes_per_node(component, LABELS) == bytes_of_the_parts(kind)
    assert memory.bytes_per_node(component, 2) == 8  # one number for both labels
    ascent: Any = SimpleNamespace(learner=CoordinateAscent(), exclusive=True)
    assert memory.bytes_per_node(ascent, LABELS) == 8 + bytes_of_bounds(1)


# model


def automaton(n_letters: int) -> Automaton:
    rng = random.Random(n_letters)
    letters = [chr(0x4E00 + i) for i in range(n_letters)]
    ngrams = sorted({*letters, *("".join(rng.choices(letters, k=rng.randint(2, 5))) for _ in range(3 * n_letters))})
    stream = Stream.join([np.array(list(map(ord, ngram)), np.uint32) for ngram in ngrams], np.uint32)
    return Automaton.build(stream, np.arange(len(ngrams)))


@figure("Automaton", "cell")
def bytes_of_a_cell() -> float:
    built = automaton(50)
    return (built.cells.nbytes + built.output.nbytes) / len(built.cells)


@pytest.mark.parametrize("n_letters", [64, 65, 100, 128])
def test_letters_of_an_automaton(n_letters: int) -> None:
    least, most = CLAIMS["Automaton", "letter"]
    assert least <= bytes_of_letters(n_letters) <= most


def bytes_of_letters(n_letters: int) -> float:
    built = automaton(n_letters)
    assert len(built.keys) == n_letters
    return (built.slots.nbytes + built.keys.nbytes + built.root.nbytes - built.root.itemsize) / n_letters


@figure("Automaton", "letter")
def bytes_of_a_letter() -> float:
    return bytes_of_letters(100)


@figure("Automaton", "n-gram")
def bytes_of_an_ngram() -> float:
    built = automaton(50)
    return (built.shorter.nbytes + built.lengths.nbytes + built.rows.nbytes) / len(built.rows)


def features_of_items(n: int) -> dict[tuple[NamedTerm, ...], int]:
    terms = [NamedTerm("words", (f"w{i}",)) for i in range(n)]
    return {members: row for row, members in enumerate([*((term,) for term in terms), *pairwise(terms)])}


def bytes_of_a_term_of(n: int) -> float:
    matcher = ItemMatcher.build(features_of_items(n), {"words": TokenAttributes()}, NLP.vocab.strings)
    table = matcher.tables["words"]
    return (n_bytes(table) + matcher.members.rows.nbytes + matcher.members.starts.nbytes - 8) / n


@figure("ItemMatcher", "term")
def bytes_of_a_term() -> float:
    return bytes_of_a_term_of(100)


@pytest.mark.parametrize("n_terms", [64, 65])
def test_terms_of_combinations(n_terms: int) -> None:
    least, most = CLAIMS["ItemMatcher", "term"]
    assert least <= bytes_of_a_term_of(n_terms) <= most
    numbers, _ = Members.build(features_of_items(n_terms))
    assert len(item_tables(numbers, {"words": TokenAttributes()}, NLP.vocab.strings)["words"].keys) == n_terms


@figure("ItemMatcher", "member of a combination")
def bytes_of_a_member() -> float:
    _, members = Members.build(features_of_items(100))
    return members.combinations.nbytes / len(members.combinations)


@figure("ItemMatcher", "combination")
def bytes_of_a_combination() -> float:
    _, members = Members.build(features_of_items(100))
    return (members.sizes.nbytes + members.combination_rows.nbytes) / len(members.sizes)
