"""The choice among the n best parses of a sentence: Tables 2 and 3 and Figure 2 of Riezler & Vasserman (EMNLP 2004).

python benchmarks/parse_choice.py --data DATA [--sets ud_english_ewt] [--limit 200] [--again]

spaCy's ``beam_parser``, trained on one part of a treebank, makes the candidates: the different parses in the beam of
each sentence of the rest. Their features are written down by :func:`features`.

Each cell is stored at once in parse_choice.json.gz beside this file, so that a second run does only what is missing;
parse_choice.md and the plot in docs/images are written from it. What is measured is said there.
"""

from __future__ import annotations

import contextlib
import io
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse
import typer
from accuracy import GROUPS, RESAMPLES, grouped_sums, interval, names_of, resamples
from common import (
    DataFolder,
    TooLong,
    beside,
    cpu_limit,
    load_results,
    need,
    pin_threads,
    print_table,
    save_plot,
    save_results,
    write_page,
)
from conjugate_gradients import Choices, grafting
from dependency import FORM, HEAD, LEMMA, RELATION, UPOS, Word, read_words

HERE = Path(__file__).parent
PLOT = HERE.parent / "docs" / "images" / "parse_choice.png"
Result = dict[str, Any]
Settings = dict[str, Any]


@dataclass(frozen=True)
class Treebank:
    """Its files, sentences that the parser is trained on, and those of each training part."""

    files: str
    for_parser: int
    for_choice: int


TREEBANKS = {
    "ud_english_ewt": Treebank("en_ewt-ud-{}.conllu.gz", 4000, 1000),
    "ud_japanese_gsd": Treebank("ja_gsd-ud-{}.conllu.gz", 2500, 1000),
}
SPLITS = ("train", "dev", "test")
#: Training parts, which have no sentence in common. Dev and test are the same for all.
DRAWS = 3
#: Parses that the beam keeps.
WIDTH = 32


# The parser ----------------------------------------------------------------------------------------------------------

#: Passes over the parser's sentences with greedy updates, then sentences of an update of the whole beam.
EPOCHS, BEAM_SENTENCES, BATCH = 4, 1500, 32
TRAINING_WIDTH, BEAM_RATE = 8, 3e-4
TOK2VEC = {
    "@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "width": 96, "depth": 2, "embed_size": 2000,
    "window_size": 1, "maxout_pieces": 3, "subword_features": True,
}  # fmt: skip
PARSER = {
    "@architectures": "spacy.TransitionBasedParser.v2", "state_type": "parser", "extra_state_tokens": False,
    "hidden_width": 64, "maxout_pieces": 2, "use_upper": True, "nO": None, "tok2vec": TOK2VEC,
}  # fmt: skip


def trained_parser(sentences: Sequence[Sequence[Word]]) -> Any:
    """A small ``beam_parser`` over the forms of the words: greedy updates first, then some of the whole beam."""
    import spacy
    from spacy import util
    from spacy.training import Example

    util.fix_random_seed(0)
    # Words are given, so that no tokenizer is needed.
    nlp = spacy.blank("xx")
    options = {"beam_width": TRAINING_WIDTH, "beam_update_prob": 0.0, "beam_density": 0.0, "model": PARSER}
    parser = nlp.add_pipe("beam_parser", config=options)
    examples = [Example(as_doc(words, nlp.vocab), as_doc(words, nlp.vocab, gold=True)) for words in sentences]
    optimizer = nlp.initialize(lambda: examples)
    shuffled = random.Random(0)
    for epoch in range(EPOCHS + 1):
        shuffled.shuffle(examples)
        taken = examples
        if epoch == EPOCHS:
            taken, optimizer.learn_rate, parser.cfg["beam_update_prob"] = examples[:BEAM_SENTENCES], BEAM_RATE, 1.0
        for batch in util.minibatch(taken, BATCH):
            nlp.update(batch, sgd=optimizer, drop=0.1)
    return parser


def as_doc(words: Sequence[Word], vocab: Any, gold: bool = False) -> Any:
    from spacy.tokens import Doc

    forms = [word[FORM] for word in words]
    if not gold:
        return Doc(vocab, words=forms)
    heads, labels = gold_parse(words)
    return Doc(vocab, words=forms, heads=heads, deps=labels)


# Candidates ----------------------------------------------------------------------------------------------------------

#: The head of each word (of a root, itself), and its relation to it.
Parse = tuple[tuple[int, ...], tuple[str, ...]]
ROOT = "ROOT"


def gold_parse(words: Sequence[Word]) -> Parse:
    heads = tuple(int(word[HEAD]) - 1 if int(word[HEAD]) else place for place, word in enumerate(words))
    return heads, tuple(word[RELATION] if int(word[HEAD]) else ROOT for word in words)


def n_best(parser: Any, sentences: Sequence[Sequence[Word]]) -> Iterator[list[Parse]]:
    """The different parses in the beam of each sentence, the best first."""
    from spacy.util import minibatch

    for batch in minibatch(sentences, 64):
        docs = [as_doc(words, parser.vocab) for words in batch]
        for doc, beam in zip(docs, parser.beam_parse(docs, beam_width=WIDTH), strict=True):
            ranked = sorted(parser.moves.get_beam_parses(beam), key=lambda its: -its[0])
            # A parse without any arc is not told.
            yield list(dict.fromkeys(as_parse(doc, arcs) for _, arcs in ranked)) or [as_parse(doc, [])]


def as_parse(doc: Any, arcs: Iterable[tuple[int, int, str]]) -> Parse:
    from spacy.pipeline._parser_internals import nonproj
    from spacy.tokens import Doc

    heads, labels = list(range(len(doc))), [ROOT] * len(doc)
    for head, child, label in arcs:
        heads[child], labels[child] = head, label
    if any(nonproj.is_decorated(label) for label in labels):
        lifted = Doc(doc.vocab, words=[token.text for token in doc], heads=heads, deps=labels)
        nonproj.deprojectivize(lifted)
        heads, labels = [token.head.i for token in lifted], [token.dep_ for token in lifted]
    return tuple(heads), tuple(labels)


# Features ------------------------------------------------------------------------------------------------------------

#: Kinds of relations, as Universal Dependencies arrange them: what stands for the sets of attributes of f-structures.
KINDS = {
    "core": "nsubj obj iobj csubj ccomp xcomp",
    "oblique": "obl vocative expl dislocated advcl advmod discourse",
    "nominal": "nmod appos nummod acl amod",
    "function": "aux cop mark det clf case",
    "loose": "conj cc fixed flat list parataxis compound orphan goeswith reparandum punct",
}
KIND_OF = {relation: kind for kind, relations in KINDS.items() for relation in relations.split()}
ARGUMENTS = {"nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "expl"}
DISTANCES = (1, 2, 3, 6, 11)
LARGEST_CHAIN = 4
Name = tuple[str, ...]


def features(words: Sequence[Word], parse: Parse) -> Iterator[Name]:
    """The features of a parse, as often as it has them: those of the paper's Table 1, then those of arcs."""
    heads, labels = parse
    children: list[list[int]] = [[] for _ in words]
    for place, head in enumerate(heads):
        if head != place:
            children[head].append(place)
    for place, (head, label) in enumerate(zip(heads, labels, strict=True)):
        yield "cs_label", label
        yield "fs_attr_value", label, words[place][UPOS]
        if head != place:
            yield from of_arc(words, place, head, label)
            yield from of_ancestors(heads, labels, children, place)
            if label.startswith("conj"):
                yield from not_parallel(words, labels, children, head, place)
        yield from of_dependants(words, labels, children, place)


def of_arc(words: Sequence[Word], place: int, head: int, label: str) -> Iterator[Name]:
    if place > head:
        yield ("cs_right_branch",)
    yield "fs_attrs", KIND_OF.get(plain(label), "other")
    side, steps = "right" if place > head else "left", abs(place - head)
    above, below = words[head], words[place]
    yield "distance", label, side, str(sum(steps >= bound for bound in DISTANCES))
    yield "arc", above[UPOS], label, below[UPOS], side


def of_ancestors(
    heads: Sequence[int], labels: Sequence[str], children: Sequence[Sequence[int]], place: int
) -> Iterator[Name]:
    label, parent = labels[place], heads[place]
    yield "cs_adj_label", labels[parent], label
    grandparent = heads[parent]
    if grandparent != parent:
        for aunt in {labels[other] for other in children[grandparent] if other != parent}:
            yield "fs_aunt_subattr", aunt, labels[parent], label
    chain, unbroken = 1, True
    while parent != heads[parent]:
        unbroken = unbroken and labels[parent] == label
        chain += unbroken
        if unbroken and chain <= LARGEST_CHAIN:
            yield "cs_embedded", label, str(chain)
        parent = heads[parent]
        yield "cs_sub_label", labels[parent], label


def of_dependants(
    words: Sequence[Word], labels: Sequence[str], children: Sequence[Sequence[int]], place: int
) -> Iterator[Name]:
    for label, n in Counter(labels[child] for child in children[place]).items():
        for _ in range(n if n > 1 else 0):
            yield "fs_attr_subsets", label
    if words[place][UPOS] == "VERB":
        arguments = {plain(labels[child]) for child in children[place]} & ARGUMENTS
        yield "lex_subcat", words[place][LEMMA], *sorted(arguments)


def not_parallel(
    words: Sequence[Word], labels: Sequence[str], children: Sequence[Sequence[int]], one: int, other: int
) -> Iterator[Name]:
    """Conjuncts that differ in their part of speech, in the relations below them, or in those two levels below."""
    if words[one][UPOS] != words[other][UPOS]:
        yield "cs_conj_nonpar", "1"
    levels = [{labels[child] for child in children[place]} - {"conj", "cc", "punct"} for place in (one, other)]
    if levels[0] != levels[1]:
        yield "cs_conj_nonpar", "2"
    deeper = [{labels[below] for child in children[place] for below in children[child]} for place in (one, other)]
    if deeper[0] != deeper[1]:
        yield "cs_conj_nonpar", "3"


def plain(label: str) -> str:
    """A relation without its subtype."""
    return label.split(":")[0]


# Corpora -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """The candidates of some sentences, sentence by sentence.

    Attributes
    ----------
    matrix : csr_array (candidates, features)
        How often each has a feature.
    sizes : int64 (sentences)
        Candidates of each.
    labelled, unlabelled : int64 (candidates)
        Words with the right head and relation, and with the right head.
    words : int64 (sentences)
    """

    matrix: scipy.sparse.csr_array
    sizes: np.ndarray
    labelled: np.ndarray
    unlabelled: np.ndarray
    words: np.ndarray

    @property
    def groups(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def starts(self) -> np.ndarray:
        return np.cumsum(self.sizes) - self.sizes

    @property
    def correct(self) -> np.ndarray:
        """Whether each candidate is one of the best of its sentence: bool."""
        return np.asarray(self.labelled == np.maximum.reduceat(self.labelled, self.starts)[self.groups])

    def of_sentences(self, chosen: np.ndarray) -> Part:
        """Some of the sentences (bool)."""
        rows = chosen[self.groups]
        return Part(
            self.matrix[rows], self.sizes[chosen], self.labelled[rows], self.unlabelled[rows], self.words[chosen]
        )

    def that_teach(self) -> Part:
        """The sentences whose candidates are not all equally good."""
        worst, best = (function.reduceat(self.labelled, self.starts) for function in (np.minimum, np.maximum))
        return self.of_sentences(worst < best)

    def best(self, scores: np.ndarray) -> np.ndarray:
        """The candidate of each sentence with the largest score, of equals the first: int64 (sentences)."""
        return np.lexsort((-scores, self.groups))[self.starts]


def as_part(
    sentences: Sequence[Sequence[Word]], candidates: Iterable[list[Parse]], numbers: dict[Name, int], grow: bool
) -> Part:
    """The candidates of sentences; names that are not numbered are left out, or numbered."""
    indptr, indices = [0], []
    sizes, labelled, unlabelled = [], [], []
    for words, parses in zip(sentences, candidates, strict=True):
        gold = gold_parse(words)
        sizes.append(len(parses))
        for heads, labels in parses:
            names = features(words, (heads, labels))
            if grow:
                indices += [numbers.setdefault(name, len(numbers)) for name in names]
            else:
                indices += [numbers[name] for name in names if name in numbers]
            indptr.append(len(indices))
            unlabelled.append(sum(head == its for head, its in zip(heads, gold[0], strict=True)))
            labelled.append(
                sum(
                    arc == its
                    for arc, its in zip(zip(heads, labels, strict=True), zip(*gold, strict=True), strict=True)
                )
            )
    shape = (len(indptr) - 1, len(numbers))
    counts = scipy.sparse.csr_array((np.ones(len(indices)), np.array(indices, np.int32), indptr), shape)
    counts.sum_duplicates()
    return Part(counts, *map(np.array, (sizes, labelled, unlabelled, [len(words) for words in sentences])))


@dataclass(frozen=True)
class Draw:
    """One training part, with the features that tell its parses apart.

    Attributes
    ----------
    train : Part
        The sentences that teach something. Of each feature, what all parses of a sentence share is subtracted, which
        changes no probability.
    dev, test : Part
    names : list
        Of the features.
    frequencies : int64 (features)
        Training parses that have each.
    deviations : float64 (features)
        The standard deviation of each over the training parses, before the subtraction.
    """

    train: Part
    dev: Part
    test: Part
    names: list[Name]
    frequencies: np.ndarray
    deviations: np.ndarray

    @classmethod
    def of(cls, train: Part, dev: Part, test: Part, names: Sequence[Name]) -> Draw:
        teaching = train.that_teach()
        matrix = teaching.matrix
        means, squares = (np.asarray(power.sum(axis=0)) / matrix.shape[0] for power in (matrix, matrix**2))
        differences = without_shared(teaching)
        kept = distinct_columns(differences)
        return cls(
            replace(teaching, matrix=differences[:, kept]),
            replace(dev, matrix=dev.matrix[:, kept]),
            replace(test, matrix=test.matrix[:, kept]),
            [names[column] for column in kept],
            np.bincount(matrix.indices, minlength=matrix.shape[1])[kept],
            np.sqrt(np.maximum(squares - means**2, 0.0))[kept],
        )

    def scales(self, settings: Settings) -> np.ndarray:
        """What the features are multiplied by: 1/σ, or 1; 0 for those that a cut-off leaves out."""
        scales = np.ones(len(self.names))
        if settings.get("standardised"):
            scales = 1.0 / self.deviations
        if settings.get("penalty_weights"):
            scales = 1.0 / np.maximum(self.train.matrix.max(axis=0).toarray(), 1.0)
        return np.where(self.frequencies >= settings.get("min_df", 1), scales, 0.0)


def without_shared(part: Part) -> scipy.sparse.csr_array:
    """The counts above those that all parses of the sentence have."""
    entries = scipy.sparse.coo_array(part.matrix)
    rows, columns = entries.coords
    keys = part.groups[rows] * entries.shape[1] + columns
    order = np.argsort(keys, kind="stable")
    firsts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    counts = np.diff(firsts, append=len(order))
    everywhere = counts == part.sizes[part.groups[rows[order[firsts]]]]
    shared = np.where(everywhere, np.minimum.reduceat(entries.data[order], firsts), 0.0)
    data = np.empty_like(entries.data)
    data[order] = entries.data[order] - np.repeat(shared, counts)
    differences = scipy.sparse.csr_array((data, (rows, columns)), entries.shape)
    differences.eliminate_zeros()
    return differences


def distinct_columns(matrix: scipy.sparse.csr_array) -> np.ndarray:
    """The columns that are not empty, and of equal ones the first (int64)."""
    columns = scipy.sparse.csc_array(matrix)
    there = np.flatnonzero(np.diff(columns.indptr))
    random_numbers = np.random.default_rng(0).integers(1, 2**63, matrix.shape[0], dtype=np.uint64)
    # Modulo 2⁶⁴: equal columns have equal sums.
    entries = columns.data.astype(np.uint64) * random_numbers[columns.indices]
    sums = np.add.reduceat(entries, columns.indptr[there])
    return np.sort(there[np.unique(sums, return_index=True)[1]])


def read_parts(data: Path, name: str) -> tuple[dict[str, Part], list[Name]]:
    """Train the parser, parse the rest, and write features down; and their names."""
    treebank, parts = TREEBANKS[name], {}
    sentences = {split: list(read_words(data / name / treebank.files.format(split))) for split in SPLITS}
    shuffled = sentences["train"]
    random.Random(0).shuffle(shuffled)
    parser = trained_parser(shuffled[: treebank.for_parser])
    sentences["train"] = shuffled[treebank.for_parser : treebank.for_parser + DRAWS * treebank.for_choice]
    numbers: dict[Name, int] = {}
    for split, its in sentences.items():
        parts[split] = as_part(its, n_best(parser, its), numbers, grow=split == "train")
    return parts, list(numbers)


def read_draws(data: Path, name: str) -> tuple[list[Draw], Result]:
    """The training parts with dev and test, and what is told of them."""
    parts, names = read_parts(data, name)
    of_draw = np.arange(len(parts["train"].sizes)) // TREEBANKS[name].for_choice
    draws = [
        Draw.of(parts["train"].of_sentences(of_draw == draw), parts["dev"], parts["test"], names)
        for draw in range(DRAWS)
    ]
    test = parts["test"]
    return draws, {
        "sentences": {split: len(part.sizes) for split, part in parts.items()},
        "parses": {split: float(part.sizes.mean()) for split, part in parts.items()},
        "teaching": [len(draw.train.sizes) for draw in draws],
        "training_parses": [len(draw.train.labelled) for draw in draws],
        "features": [len(draw.names) for draw in draws],
        "entries": [int(draw.train.matrix.nnz) for draw in draws],
        "words": grouped_sums(test.words),
        "baselines": {
            "mean": of_candidates(test, lambda of: np.add.reduceat(of, test.starts) / test.sizes),
            "first": of_candidates(test, lambda of: of[test.starts]),
            "oracle": of_candidates(test, lambda of: np.maximum.reduceat(of, test.starts)),
        },
    }


def of_candidates(part: Part, function: Callable[[np.ndarray], np.ndarray]) -> Result:
    """Words that are right: in groups of sentences, and all of those that are right without their relation."""
    return {"labelled": grouped_sums(function(part.labelled)), "unlabelled": float(function(part.unlabelled).sum())}


# Methods -------------------------------------------------------------------------------------------------------------

#: Settings to choose among, those of the smaller models first: of two that are equally good the first is taken. Those
#: of the paper are 16, 20, 100, 25 and 15 with 100.
CUT_OFFS = (64, 16, 4)
PENALTIES = (40.0, 20.0, 10.0, 5.0, 2.5, 1.25)
RAW_PENALTIES = (8.0, 4.0, 2.0, 1.0, 0.5)
RIDGES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
THRESHOLDS = (50.0, 25.0, 12.0, 6.0)
FEW_THRESHOLDS, FEW_RIDGES = (15.0, 7.0), (300.0, 100.0, 30.0, 10.0)
#: Features that a round adds: Figure 2, and elsewhere.
NUMBERS = (1, 10, 50, 100, 200, 500, 1000)
USUAL = 100


@dataclass(frozen=True)
class Method:
    """A row: its settings to choose among, what the paper reports of it, and what the paper chose."""

    title: str
    grid: Sequence[Settings]
    paper: tuple[float, float, int, str] | None
    chosen: str = ""


def grid_of(option: str, values: Sequence[float]) -> list[Settings]:
    return [{"standardised": True, option: value} for value in values]


METHODS = {
    "mle": Method("mle", [{}], (77.9, 0.0, 761, "129:12")),
    "std": Method("std", [{"standardised": True}], (78.1, 0.0, 371, "66:41")),
    "l0": Method("ℓ0", grid_of("min_df", CUT_OFFS), (78.1, 18.4, 372, "60:47"), "cut-off 16"),
    "l2": Method("ℓ2", grid_of("ridge", RIDGES), (78.9, 0.0, 34, "6:19"), "ridge 100"),
    "l1": Method("ℓ1", grid_of("l1", PENALTIES), (79.3, 82.7, 226, "5:25"), "l1 20"),
    "mle-ifs": Method("mle-ifs", grid_of("threshold", THRESHOLDS), (78.8, 88.1, 310, "6:04"), "threshold 25"),
    "l2-ifs": Method(
        "ℓ2-ifs",
        [{"standardised": True, "threshold": t, "ridge": ridge} for t in FEW_THRESHOLDS for ridge in FEW_RIDGES],
        (79.1, 81.7, 274, "6:56"), "ridge 100, threshold 15",
    ),
    "l1-raw": Method("ℓ1, not standardised", [{"l1": l1} for l1 in RAW_PENALTIES], None),
    "l1-limited": Method(
        'ℓ1, `penalty_weights = "standard"`', [{"l1": l1, "penalty_weights": "standard"} for l1 in PENALTIES], None
    ),
}  # fmt: skip
TABLES = {
    "Table 2": ("mle", "std", "l0", "l2", "l1"),
    "Table 3": ("mle-ifs", "l2-ifs", "l1"),
    "Beyond the paper": ("l1", "l1-raw", "l1-limited"),
}


def ours(draw: Draw, settings: Settings, n_best: int) -> Result:
    """The package's ranker. Its values are from 0 to 1, and strengths are those of the features as they were."""
    from spacy_graft import Grafting, GraftRanker

    train = draw.train
    scales = draw.scales(settings)
    unit = float((train.matrix * scales).max())
    l1, ridge, threshold = (settings.get(option) for option in ("l1", "ridge", "threshold"))
    if l1 is not None:
        learner = Grafting(l1=l1 / unit, n_best=n_best, penalty_weights=settings.get("penalty_weights", "none"))
    else:
        penalty: Any = "none" if ridge is None else "l2"
        least = None if threshold is None else threshold / unit
        learner = Grafting(penalty=penalty, ridge=(ridge or 0.0) / unit**2, min_gradient=least, n_best=n_best)
    matrix = scipy.sparse.csr_array(train.matrix * (scales / unit))
    with counted() as effort:
        model = GraftRanker(learner).fit(matrix, train.correct, train.groups)
    weights = np.zeros(len(scales))
    for feature in model.features():
        weights[int(feature.names[0])] = feature.weight
    report = model.report
    told = {
        "n_columns": report.n_columns, "rounds": report.rounds, "separated": report.separated,
        "converged": report.converged,
    }  # fmt: skip
    return {"weights": weights * scales / unit, **told, **effort}


@contextlib.contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count iterations of conjugate gradients and sweeps of coordinate descent in the package's solver."""
    from spacy_graft.solve import kernels, quadratic

    counts: Counter[str] = Counter({"iterations": 0, "sweeps": 0})
    product, sweep = quadratic.QuadraticFace.product, kernels.descent_sweep

    def counted_product(*arguments: Any) -> Any:
        counts["iterations"] += 1
        return product(*arguments)

    def counted_sweep(*arguments: Any) -> Any:
        counts["sweeps"] += 1
        return sweep(*arguments)

    quadratic.QuadraticFace.product, kernels.descent_sweep = counted_product, counted_sweep  # type: ignore[method-assign]
    try:
        yield counts
    finally:
        quadratic.QuadraticFace.product, kernels.descent_sweep = product, sweep  # type: ignore[method-assign]


def published(draw: Draw, settings: Settings, n_best: int) -> Result:
    """The paper's own algorithm, written for this benchmark."""
    train = draw.train
    scales = draw.scales(settings)
    kept = np.flatnonzero(scales)
    shares = train.correct / np.add.reduceat(train.correct, train.starts, dtype=np.int64)[train.groups]
    matrix = scipy.sparse.csr_array(train.matrix * scales)[:, kept]
    l1 = settings.get("l1")
    found = grafting(
        Choices(matrix, shares, train.groups, train.starts), threshold=settings.get("threshold", l1), l1=l1 or 0.0,
        ridge=settings.get("ridge", 0.0), n_best=n_best,
    )  # fmt: skip
    weights = np.zeros(len(scales))
    weights[kept] = found.weights * scales[kept]
    return {"weights": weights, "n_columns": len(scales), "rounds": found.rounds, "iterations": found.iterations}


#: That which chooses the settings of both first.
ENGINES: dict[str, Callable[[Draw, Settings, int], Result]] = {"published": published, "ours": ours}

#: CPU seconds that a fit may take while settings are chosen; those that take longer are not chosen.
CHOICE_LIMIT = 60.0


def trial(engine: str, draw: Draw, settings: Settings, limit: float, n_best: int = USUAL) -> Result:
    """A fit: its score on dev, what it chooses on test, and figures; a row that says so if it takes too long."""
    start = time.process_time()
    try:
        with cpu_limit(limit):
            figures = ENGINES[engine](draw, settings, n_best)
    except TooLong:
        return {"settings": settings, "stopped": limit}
    seconds, weights = time.process_time() - start, figures.pop("weights")
    chosen = {part: getattr(draw, part).best(getattr(draw, part).matrix @ weights) for part in ("dev", "test")}
    return figures | {
        "settings": settings, "seconds": seconds, "objective": objective(draw, settings, weights),
        "n_features": int(np.count_nonzero(weights)),
        "dev": float(draw.dev.labelled[chosen["dev"]].sum() / draw.dev.words.sum()),
        "labelled": grouped_sums(draw.test.labelled[chosen["test"]]),
        "unlabelled": int(draw.test.unlabelled[chosen["test"]].sum()),
    }  # fmt: skip


def objective(draw: Draw, settings: Settings, weights: np.ndarray) -> float:
    """The loss on the training part with the penalty, which is of the weights for the features as they are scaled."""
    train, scales = draw.train, draw.scales(settings)
    scores = train.matrix @ weights
    normalisers = np.logaddexp.reduceat(scores, train.starts)
    targets = np.add.reduceat(scores * train.correct, train.starts) / np.add.reduceat(
        train.correct, train.starts, dtype=np.int64
    )
    own = np.divide(weights, scales, out=np.zeros_like(weights), where=scales > 0.0)
    penalty = settings.get("l1", 0.0) * np.abs(own).sum() + settings.get("ridge", 0.0) * (own @ own)
    return float((normalisers - targets).sum() + penalty)


def chosen_trial(engine: str, draw: Draw, method: Method, limit: float) -> Result:
    """The settings that are best on dev, of equally good ones the first; and what the others came to."""
    trials = [trial(engine, draw, settings, limit) for settings in method.grid]
    best = max(trials, key=lambda its: its.get("dev", -1.0))
    told = ("settings", "dev", "n_features", "seconds", "stopped")
    return best | {"grid": [{key: its[key] for key in told if key in its} for its in trials]}


# Results -------------------------------------------------------------------------------------------------------------


#: Rows whose likelihood has no maximum. The package goes on until gradients are small, and takes long.
WITHOUT_MAXIMUM = ("mle", "std", "l0")
#: Name, engine, training part, method, and for the curve how many features a round adds.
Cell = tuple[str, str, int, str, int | None]


def all_cells() -> Iterator[Cell]:
    """What there is to measure, the first training part first."""
    for draw in range(DRAWS):
        for engine in ENGINES:
            for name, method in METHODS.items():
                if method.paper is not None if engine == "published" else draw == 0 or name not in WITHOUT_MAXIMUM:
                    yield f"{name}, {engine}, draw {draw}", engine, draw, name, None
    for engine in ENGINES:
        for n_best in NUMBERS:
            yield curve_cell(engine, n_best), engine, 0, "l1", n_best


def curve_cell(engine: str, n_best: int) -> str:
    return f"l1, {engine}, n = {n_best}"


class Scores:
    """The scores of one treebank's cells."""

    def __init__(self, cells: Result) -> None:
        self.cells, self.words = cells, np.array(cells["corpus"]["words"])
        self.weights = resamples(len(self.words))

    def found(self, method: str, engine: str) -> dict[int, Result]:
        """The results of the draws that have one."""
        cells = {draw: self.cells.get(f"{method}, {engine}, draw {draw}", {}) for draw in range(DRAWS)}
        return {draw: cell for draw, cell in cells.items() if "labelled" in cell}

    def share(self, right: np.ndarray) -> tuple[float, list[float]]:
        """Per cent of words that are right, and its interval."""
        often = (self.weights @ right) / (self.weights @ self.words)
        return float(100.0 * right.sum() / self.words.sum()), [100.0 * bound for bound in interval(often)]

    def right(self, cells: Sequence[Result]) -> np.ndarray:
        """Right words of each group of sentences: the mean over draws."""
        return np.asarray(np.mean([cell["labelled"] for cell in cells], axis=0))

    def with_interval(self, right: np.ndarray) -> str:
        value, (low, high) = self.share(right)
        return f"{value:.2f} ({low:.2f} to {high:.2f})"

    def difference(self, ours: Sequence[Result], theirs: Sequence[Result]) -> str:
        """Labelled F of ours minus theirs; in bold type where its interval leaves 0 out; then that of each draw."""
        if not ours:
            return ""
        value, (low, high) = self.share(self.right(ours) - self.right(theirs))
        mark = "**" if low > 0.0 or high < 0.0 else ""
        draws = (
            self.share(np.subtract(one["labelled"], other["labelled"]))[0]
            for one, other in zip(ours, theirs, strict=True)
        )
        each = ", ".join(f"{its:+.2f}" for its in draws)
        return f"{mark}{value:+.2f}{mark} ({low:+.2f} to {high:+.2f}); {each}"


# Tables --------------------------------------------------------------------------------------------------------------

INTRODUCTION = f"""# The choice among parses

Written by `python benchmarks/parse_choice.py --data DATA` from `parse_choice.json.gz`; not to be edited.

The experiments of Riezler & Vasserman, *Incremental Feature Selection and ℓ1 Regularization for Relaxed
Maximum-Entropy Modeling* (EMNLP 2004): which of the parses of a sentence is the right one? Theirs are those of a
grammar (LFG) for sentences of the Wall Street Journal, scored by the dependencies of the PARC 700. Here they are the
different parses in the beam (width {WIDTH}) of spaCy's `beam_parser`, a small one that was trained on another part of
the same treebank for minutes.

**Scores.** *F* is the F-score of dependency relations with their labels, *unlabelled* that without. A parse has one
head for each word, root included, and so has the treebank, so that precision, recall and F are all the attachment
score. Punctuation counts. All test sentences count, also those with one candidate.

**Training.** As in the paper, sentences whose parses are all equally good teach nothing and are left out. The target is
the parse with the best labelled score; several share it. (The paper's data are labelled in part, and the likelihood is
that of all parses that agree with the labels: Riezler et al. 2002. That is not convex, and not what ours maximises.)
There are {DRAWS} training parts without a common sentence; parser, dev and test are the same for all.

**Features.** The eleven templates of the paper's Table 1, with relations in place of labels of constituents and of
attributes of f-structures, and two of our own for arcs: distance, and parts of speech of both ends (`features` in
`parse_choice.py`). Values are counts. Those in training parses count; features that differ in no
training sentence, and all but one of those that differ alike, are left out before anything else. As in the paper, ℓp
rows have standardised features: divided by their standard deviation over all training parses. (Centring changes
nothing, since what all parses of a sentence share cancels.)

**Rows.** *Paper*: as printed. *Paper's algorithm*: its Figure 1 with Minka's conjugate gradients, written for this
benchmark ([conjugate_gradients.py](conjugate_gradients.py)), since the paper's code is not to be had. It does not say
when an optimisation ends; here, when an iteration lowers the objective by less than 10⁻⁵ of it, or after 2,000
iterations. *Package*: `GraftRanker`, at its default tolerances.

- **mle**: all features as they are, no penalty. **std**: standardised. **ℓ0**: those of enough training parses. All
  training choices can be right, so that the likelihood has no maximum: the weights depend on where the optimisation
  ends. (The package goes on longer, until gradients are below a thousandth of the largest, on one part alone.)
- **ℓ2**: β Σ w² (*ridge*). **ℓ1**: `l1` Σ |w|, by {USUAL}-best grafting.
- **mle-ifs**, **ℓ2-ifs**: features enter, {USUAL} a round, while their gradient is above a *threshold*.

Settings are chosen on dev by labelled F, by the paper's algorithm on the first training part; all others get the same.
Models are trained on train alone and scored once on test. Scores, iterations and seconds are means over the
training parts. Intervals are the middle 95% of {RESAMPLES:,} bootstrap resamples of {GROUPS} groups of test sentences,
paired where methods are compared (in bold type: 0 is outside); after them, the difference of each training part.

*CG iterations* of the paper's algorithm are directions in all weights with a step along each. Those of the package are
products with the Hessian inside Newton steps, which cost about as much; under ℓ1 it also makes *sweeps* of coordinate
descent. *Compression* is the share of the features that have no weight. Time is CPU seconds of one fit on one thread,
from the matrix of features to the weights; the paper's is hours and minutes of elapsed time. The paper's Figure 2 is a
plot without numbers. Its text says of it: up to 100 features a step F does not fall, or rises slightly; beyond that it
drops significantly; 100-best takes a tenth of the time of 1-best.
"""

PAPER_SIZES = {
    "training sentences": "10,000", "training parses": "around 300,000", "active features": "10,986",
    "entries of the matrix": "66 million", "test sentences": "350",
}  # fmt: skip
PAPER_BASELINES = {"mean": "68.0", "first": "", "oracle": "83.6"}
BASELINES = {"mean": "mean over all parses", "first": "first parse of the beam", "oracle": "best parse"}
WHO = {"published": "paper's algorithm", "ours": "package"}


def size_rows(every: dict[str, Scores]) -> Iterator[list[str]]:
    """What there is to choose, a column a treebank."""
    figures = [scores.cells["corpus"] for scores in every.values()]

    def row(title: str, values: Iterable[str]) -> list[str]:
        return [title, PAPER_SIZES.get(title, ""), *values]

    yield row("training sentences", (listed(of["teaching"]) for of in figures))
    yield row("training parses", (listed(of["training_parses"]) for of in figures))
    yield row("active features", (listed(of["features"]) for of in figures))
    yield row("entries of the matrix", (listed(of["entries"]) for of in figures))
    yield row("test sentences", (f"{of['sentences']['test']:,}" for of in figures))
    yield row("parses of a test sentence", (f"{of['parses']['test']:.1f}" for of in figures))
    for key, title in BASELINES.items():
        shares = (
            scores.with_interval(scores.right([scores.cells["corpus"]["baselines"][key]])) for scores in every.values()
        )
        yield [f"F, {title}", PAPER_BASELINES[key], *shares]


def listed(values: Sequence[int]) -> str:
    return ", ".join(f"{value:,}" for value in values)


def method_rows(scores: Scores, methods: Sequence[str]) -> Iterator[list[str]]:
    """Tables 2 and 3: three rows a method."""
    for name in methods:
        method = METHODS[name]
        if method.paper is not None:
            score, left_out, iterations, elapsed = method.paper
            cells = ["1", f"{score}", "", "", f"{left_out}%", f"{iterations}", "", elapsed]
            yield [method.title, "paper", method.chosen, *cells]
        for engine, who in WHO.items():
            if found := scores.found(name, engine):
                yield [method.title, who, *method_cells(scores, name, engine, found)]


def method_cells(scores: Scores, name: str, engine: str, found: dict[int, Result]) -> list[str]:
    reference, cells = scores.found("l1", engine), list(found.values())
    common = sorted(reference.keys() & found.keys()) if name != "l1" else []
    difference = scores.difference([reference[draw] for draw in common], [found[draw] for draw in common])
    # The package counts columns after a cut-off; before it, they are those of mle.
    counted = scores.found("mle", engine) if "min_df" in cells[0]["settings"] else found
    left_out = np.mean([1.0 - found[draw]["n_features"] / cell["n_columns"] for draw, cell in counted.items()])
    sweeps = mean_of(cells, "sweeps") if "sweeps" in cells[0] else ""
    return [
        settings_text(cells[0]["settings"]),
        f"{len(cells)}",
        scores.with_interval(scores.right(cells)),
        difference,
        f"{100.0 * np.mean([cell['unlabelled'] for cell in cells]) / scores.words.sum():.2f}",
        f"{left_out:.1%}", mean_of(cells, "iterations"), sweeps,
        f"{np.mean([cell['seconds'] for cell in cells]):,.1f} s",
    ]  # fmt: skip


def mean_of(cells: Sequence[Result], key: str) -> str:
    return f"{np.mean([cell[key] for cell in cells]):,.0f}"


def settings_text(settings: Settings) -> str:
    named = (option for option in settings if option not in ("standardised", "penalty_weights"))
    return ", ".join(f"{option} {settings[option]:g}" for option in named)


def number_rows(scores: Scores) -> Iterator[list[str]]:
    """Figure 2: a row for every number of features that a round adds."""
    for engine, who in WHO.items():
        usual = scores.cells.get(curve_cell(engine, USUAL), {})
        for n in NUMBERS:
            cell = scores.cells.get(curve_cell(engine, n), {})
            if "stopped" in cell:
                yield [who, f"{n:,}", f"stopped after {cell['stopped']:g} s", *[""] * 7]
            elif cell:
                value, _ = scores.share(np.array(cell["labelled"]))
                known = n != USUAL and "labelled" in usual
                difference = scores.difference([usual], [cell]).split(";")[0] if known else ""
                yield [
                    who, f"{n:,}", f"{value:.2f}", difference, f"{cell['n_features']:,}", f"{cell['rounds']:,}",
                    f"{cell['objective']:.2f}", f"{cell['iterations']:,}",
                    f"{cell['sweeps']:,}" if "sweeps" in cell else "", f"{cell['seconds']:.1f} s",
                ]  # fmt: skip


def render(results: Result) -> str:
    """All tables, as Markdown."""
    every = {name: Scores(cells) for name, cells in results.items()}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print(INTRODUCTION, end="")
        print_table("Parses", ["", "paper", *every], size_rows(every))
        header = ["method", "row", "chosen", "parts", "F, test", "ℓ1 minus it; each part", "unlabelled", "compression",
                  "CG iterations", "sweeps", "time"]  # fmt: skip
        for title, methods in TABLES.items():
            for name, scores in every.items():
                print_table(f"{title}: {name}", header, method_rows(scores, methods))
        header = ["row", "features a round", "F, test", f"{USUAL}-best minus it", "features", "rounds", "objective",
                  "CG iterations", "sweeps", "time"]  # fmt: skip
        for name, scores in every.items():
            print_table(f"Figure 2: ℓ1 on the first training part of {name}", header, number_rows(scores))
        print(f"\n![Score and iterations against features a round](../docs/images/{PLOT.name})")
    return out.getvalue()


def draw_plot(results: Result) -> None:
    """Figure 2: score and iterations against the features that a round adds."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["font.size"] = 9
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(results), 2, figsize=(8, 2.7 * len(results)), squeeze=False)
    for (name, cells), row in zip(results.items(), axes, strict=True):
        draw_curves(Scores(cells), name, row)
    axes[0][0].legend(frameon=False)
    for axis in axes[-1]:
        axis.set_xlabel("features a round")
    figure.tight_layout()
    save_plot(figure, PLOT)
    pyplot.close(figure)


def draw_curves(scores: Scores, name: str, axes: Sequence[Any]) -> None:
    for engine, who in WHO.items():
        found = {n: scores.cells.get(curve_cell(engine, n), {}) for n in NUMBERS}
        found = {n: cell for n, cell in found.items() if "labelled" in cell}
        columns = (
            [scores.share(np.array(cell["labelled"]))[0] for cell in found.values()],
            [cell["iterations"] for cell in found.values()],
        )
        for axis, column in zip(axes, columns, strict=True):
            axis.plot(list(found), column, marker="o", markersize=3, label=who)
    for axis, title in zip(axes, ("F, test", "CG iterations"), strict=True):
        axis.set(title=f"{name}: {title}", xscale="log", yscale="log" if title == "CG iterations" else "linear")
        axis.grid(alpha=0.3)
    low, high = axes[0].get_ylim()
    # Differences in the second digit are to look like none.
    axes[0].set_ylim(min(low, (low + high) / 2 - 1.0), max(high, (low + high) / 2 + 1.0))


# Measuring -----------------------------------------------------------------------------------------------------------


def measure(draws: Sequence[Draw], found: Result, cell: Cell, limit: float) -> Result:
    """One cell. Settings are chosen on the first training part: the paper's by its algorithm, which is the faster."""
    _, engine, number, method, n_best = cell
    chooser = "ours" if METHODS[method].paper is None else "published"
    if engine == chooser and number == 0 and n_best is None:
        return chosen_trial(engine, draws[number], METHODS[method], min(limit, CHOICE_LIMIT))
    settings = found[f"{method}, {chooser}, draw 0"]["settings"]
    return trial(engine, draws[number], settings, limit, n_best or USUAL)


def compile_everything(draw: Draw) -> None:
    """Fit a few sentences with each method, so that nothing is compiled while the clock runs."""
    few = draw.train.of_sentences(np.arange(len(draw.train.sizes)) < 50)
    for method in METHODS.values():
        trial("ours", replace(draw, train=few), method.grid[0], CHOICE_LIMIT)


def main(
    data: DataFolder,
    sets: Annotated[str | None, typer.Option(help="Names of sets, separated by commas; all if not given.")] = None,
    limit: Annotated[float, typer.Option(help="CPU seconds that a fit may take.")] = 200.0,
    again: Annotated[bool, typer.Option(help="Also what is there already.")] = False,
    results: Annotated[Path, typer.Option(help="Where results are; tables beside it.")] = HERE / "parse_choice.json.gz",
) -> None:
    """Measure what is missing, and write tables and plot; the latter needs the extra ``plots``."""
    need("matplotlib")
    pin_threads()
    stored = load_results(results)
    for name in names_of(sets, tuple(TREEBANKS), "set"):
        found = stored.setdefault(name, {})
        missing = [cell for cell in all_cells() if again or cell[0] not in found]
        if not missing:
            continue
        draws, figures = read_draws(data, name)
        compile_everything(draws[0])
        found["corpus"] = {"date": str(date.today()), **figures}
        for cell in missing:
            found[cell[0]] = measure(draws, found, cell, limit)
            save_results(results, stored)
            print(f"{name}: {cell[0]}: {found[cell[0]].get('seconds', 'stopped')} s", flush=True)
    ordered = {name: stored[name] for name in TREEBANKS if name in stored}
    write_page(beside(results, ".md"), render(ordered))
    draw_plot(ordered)


if __name__ == "__main__":
    typer.run(main)
