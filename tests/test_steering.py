"""Constraints on names, signs and weights, against problems with every feature written down."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import dense_optimum, stream_of
from spacy_graft import Grafting, GraftTextClassifier
from spacy_graft.extract.bags import Bags
from spacy_graft.extract.combinations import Combinations
from spacy_graft.extract.streams import Stream
from spacy_graft.graft.constraints import Constraints, FeatureNames
from spacy_graft.graft.data import TrainingData
from strategies import corpora
from test_graft import run

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar", "ignore:Constraints. No feature")
few = settings(max_examples=min(40, settings().max_examples))


def texts_of(block, symbols):
    """Names of letters as items, in upper case; of n-grams as they are."""
    named = ["".join(map(chr, row.tolist())) for row in symbols]
    return [name.upper() for name in named] if block == "letters" else named


def corpus_data(texts, targets, exclusive, degree=1, ngrams=True):
    """Character n-grams, letters as items, and products of letters."""
    letters = Stream.join([np.array(list(map(ord, text.replace("\0", ""))), np.uint64) for text in texts], np.uint64)
    blocks = {"characters": 1, "letters": 1, "products": 1}
    if not ngrams:
        del blocks["characters"]
    if degree == 1:
        del blocks["products"]
    return TrainingData(
        streams={"characters": stream_of(texts)} if ngrams else {},
        bags={"letters": Bags.of_stream(letters, 1, "binary")},
        combinations={"products": Combinations(["letters"], degree, min_df=1)} if degree > 1 else {},
        min_df=blocks,
        max_length={"characters": None} if ngrams else {},
        penalty_factors=dict.fromkeys(blocks, 1.0),
        targets=targets,
        known=np.ones(targets.shape, np.bool_),
        example_weights=np.ones(len(texts)),
        lengths=np.ones(len(texts)),
        labels=tuple(f"label{y}" for y in range(targets.shape[1])),
        exclusive=exclusive,
        names=FeatureNames(texts_of),
    )


def ngram_names(texts):
    """N-grams with their documents, and whether they are names: the shortest with their occurrences."""
    occurrences = {}
    for i, text in enumerate(texts):
        for begin in range(len(text)):
            for end in range(begin + 1, len(text) + 1):
                if "\0" in text[begin:end]:
                    break
                occurrences.setdefault(text[begin:end], []).append(i)
    names = {
        ngram for ngram, found in occurrences.items() if len(ngram) == 1 or len(occurrences[ngram[:-1]]) > len(found)
    }
    return {ngram: (frozenset(found), ngram in names) for ngram, found in occurrences.items()}


def item_names(texts):
    """The names of letters with their documents."""
    letters = set("".join(texts)) - {"\0"}
    return {letter.upper(): (frozenset(i for i, t in enumerate(texts) if letter in t), True) for letter in letters}


def matches(patterns, block, name, is_name=True):
    """Whether patterns of all blocks, and of this block, match an n-gram; those with wildcards match names only."""
    meant = [p for p in patterns if " × " not in p and (is_name or ("*" not in p and "?" not in p))]
    everywhere = any(fnmatchcase(name, p) for p in meant if "::" not in p)
    here = any(fnmatchcase(name, p.split("::")[1]) for p in meant if p.startswith(f"{block}::"))
    return everywhere, here


def matched_columns(names, patterns, block):
    """The columns of a block with a name that patterns of all blocks, and any pattern, match."""
    hits = [(documents, matches(patterns, block, name, is_name)) for name, (documents, is_name) in names.items()]
    return {d for d, (everywhere, _) in hits if everywhere}, {d for d, both in hits if any(both)}


def allowed_columns(names, constraints):
    """The columns that are left by the rules of the documentation, those that are denied, and the items of products."""
    admitted = set().union(*(matched_columns(of, constraints.allow, block)[1] for block, of in names.items()))
    gone = set().union(*(matched_columns(of, constraints.deny, block)[0] for block, of in names.items())) - admitted
    left = {}
    for block, of in names.items():
        denied_here = matched_columns(of, constraints.deny, block)[1]
        admitted_here = matched_columns(of, constraints.allow, block)[1]
        left[block] = {d for d, _ in of.values() if d in admitted_here or d not in denied_here | gone}
    return set().union(*left.values()), gone, left["letters"]


@st.composite
def problems(draw):
    """Texts, targets, constraints, and whether labels exclude each other."""
    texts = draw(corpora(min_size=6, max_size=9, max_length=6))
    n_labels, exclusive = draw(st.sampled_from([(2, True), (3, True), (2, False)]))
    n = len(texts)
    chosen = draw(st.lists(st.integers(0, n_labels - 1), min_size=n, max_size=n))
    chosen[:n_labels] = range(n_labels)
    targets = np.eye(n_labels)[chosen]
    letters = sorted(set("".join(texts)) - {"\0"})
    stems = [*letters, *map(str.upper, letters), "*", *(f"{a}*" for a in letters), *(f"*{a}?*" for a in letters)]
    patterns = st.sampled_from([*stems, *(f"{block}::{stem}" for block in ("letters", "characters") for stem in stems)])
    deny = draw(st.lists(patterns, max_size=3, unique=True))
    products = [f"{a} × {b}".upper() for a, b in combinations(letters, 2)]
    deny += draw(st.lists(st.sampled_from(products), max_size=1)) if products else []
    allow = [p for p in draw(st.lists(patterns, max_size=2, unique=True)) if p not in deny]
    labels = [f"label{y}" for y in range(n_labels)]
    signs = draw(
        st.dictionaries(
            st.sampled_from(labels),
            st.sampled_from(["positive", "negative"]),
            max_size=1 if exclusive and n_labels == 2 else 2,
        )
    )
    return texts, targets, exclusive, Constraints(deny=deny, allow=allow, signs=signs)


def signs_by_label(constraints, n_labels, binary):
    """Factors (2, labels) of the signs: of two exclusive labels, all is weights of the second."""
    factors = np.ones((2, n_labels))
    for label, sign in constraints.one_sided.items():
        y, forbidden = int(label[-1]), ["negative", "positive"].index(sign)
        if binary and y == 0:
            y, forbidden = 1, 1 - forbidden
        factors[forbidden, y] = np.inf
    if binary:
        factors[:, 0] = np.inf
    return factors


def least_objective(matrix, targets, exclusive, l1, ridge, constraints, offset):
    """The optimum over a matrix with signs of labels, and an offset of the scores."""
    n, ones = matrix.shape[1], np.ones(len(targets))
    n_labels = targets.shape[1]
    if exclusive:
        binary = n_labels == 2
        factors = np.repeat(signs_by_label(constraints, n_labels, binary)[:, None], n, axis=1)
        share = 0.5 if binary else 1.0
        return dense_optimum(matrix, targets, ones, l1, share * ridge, sign_factors=factors, offset=offset)[0]
    factors = signs_by_label(constraints, n_labels, False)
    total = 0.0
    for y in range(n_labels):
        both = np.stack([1.0 - targets[:, y], targets[:, y]], axis=1)
        of_label = np.repeat(np.array([[np.inf, factors[0, y]], [np.inf, factors[1, y]]])[:, None], n, axis=1)
        shift = np.stack([np.zeros(len(targets)), offset[:, y]], axis=1)
        total += dense_optimum(matrix, both, ones, l1, ridge, sign_factors=of_label, offset=shift)[0]
    return total


def assert_optimum(fit, optimum, initial=None):
    """The certificate holds and bounds the distance to the optimum."""
    report = fit.report
    rounding = 1e-6 * (1.0 + optimum)
    assert report.converged
    assert report.objective >= optimum - rounding
    assert report.objective - report.duality_gap <= optimum + rounding
    assert report.objective - optimum <= report.duality_gap + rounding


def columns_matrix(columns, n):
    ordered = sorted(columns, key=sorted)
    return np.array([[i in documents for documents in ordered] for i in range(n)], np.float64).reshape(n, len(ordered))


@few
@given(problems(), st.sampled_from([0.1, 0.4]), st.sampled_from([0.0, 0.1]), st.sampled_from([1, 2]), st.booleans())
def test_the_optimum_over_the_names_that_are_left(problem, l1, ridge, degree, ngrams):
    texts, targets, exclusive, constraints = problem
    data = corpus_data(texts, targets, exclusive, degree, ngrams)
    fit = run(Grafting(l1=l1, ridge=ridge, tol=1e-7, constraints=constraints), data)
    names = {"characters": ngram_names(texts)} if ngrams else {}
    columns, denied, items = allowed_columns({**names, "letters": item_names(texts)}, constraints)
    if degree == 2:
        letters = item_names(texts)
        products = [pattern.split(" × ") for pattern in constraints.deny if " × " in pattern]
        of_products = [{letters[letter][0] for letter in letters_of} for letters_of in products]
        denied |= {frozenset.intersection(*of) for of in of_products if of <= items}
        columns |= {a & b for a, b in combinations(sorted(items, key=sorted), 2) if a & b} - denied
    matrix = columns_matrix(columns, len(texts))
    assert_optimum(fit, least_objective(matrix, targets, exclusive, l1, ridge, constraints, np.zeros(targets.shape)))
    solution = fit.solution()
    for terms in solution.terms:
        for term in terms:
            (name,) = texts_of(term.block, [term.symbols])
            assert not any(matches(constraints.deny, term.block, name)) or any(
                matches(constraints.allow, term.block, name)
            )
    for label, sign in constraints.one_sided.items():
        weights = solution.weights[:, int(label[-1])]
        assert (weights >= 0.0).all() if sign == "positive" else (weights <= 0.0).all()


@few
@given(problems(), st.sampled_from([0.1, 0.4]), st.sampled_from([0.0, 0.1]), st.data())
def test_the_optimum_beside_locked_weights(problem, l1, ridge, data):
    texts, targets, exclusive, _ = problem
    n_labels = targets.shape[1]
    letters = item_names(texts)
    name = data.draw(st.sampled_from(sorted(letters) or ["A"]))
    label, weight = data.draw(st.integers(0, n_labels - 1)), data.draw(st.sampled_from([-1.5, 0.0, 0.25, 3.0]))
    locked = Constraints(signs=[], locked=[(f"letters::{name}", f"label{label}", weight)])
    fit = run(Grafting(l1=l1, ridge=ridge, tol=1e-7, constraints=locked), corpus_data(texts, targets, exclusive))
    if not letters:
        return
    offset = np.zeros(targets.shape)
    present = [[weight * (i in letters[name][0])] for i in range(len(texts))]
    offset[:, [label]] += present
    if exclusive and n_labels == 2:
        offset[:, [1 - label]] -= present
    columns = {documents for documents, _ in (*ngram_names(texts).values(), *letters.values())}
    matrix = columns_matrix(columns, len(texts))
    if n_labels == 2 and exclusive:
        # All weights of the column are locked.
        matrix = columns_matrix(columns - {letters[name][0]}, len(texts))
        optimum = least_objective(matrix, targets, exclusive, l1, ridge, locked, offset)
    else:
        optimum = locked_optimum(columns, letters[name][0], label, targets, exclusive, l1, ridge, offset)
    assert_optimum(fit, optimum)
    solution = fit.solution()
    (row,) = [
        k for k, terms in enumerate(solution.terms)
        if terms[0].block == "letters" and texts_of("letters", [terms[0].symbols]) == [name]
    ]  # fmt: skip
    assert solution.weights[row, label] == weight
    assert fit.report.n_active == len(solution.weights)


def locked_optimum(columns, column, label, targets, exclusive, l1, ridge, offset):
    """The optimum where the other labels' weights of the locked column are free."""
    n, n_labels = len(targets), targets.shape[1]
    ordered = [column, *sorted(columns - {column}, key=sorted)]
    matrix = np.array([[i in documents for documents in ordered] for i in range(n)], np.float64)
    factors = np.ones((2, len(ordered), n_labels))
    factors[:, 0, label] = np.inf
    ones = np.ones(n)
    if exclusive:
        return dense_optimum(matrix, targets, ones, l1, ridge, sign_factors=factors, offset=offset)[0]
    total = 0.0
    for y in range(n_labels):
        both = np.stack([1.0 - targets[:, y], targets[:, y]], axis=1)
        of_label = np.stack([np.full((2, len(ordered)), np.inf), factors[:, :, y]], axis=2)
        shift = np.stack([np.zeros(n), offset[:, y]], axis=1)
        total += dense_optimum(matrix, both, ones, l1, ridge, sign_factors=of_label, offset=shift)[0]
    return total


@pytest.mark.parametrize(
    ("documents", "name"),
    [
        (["x y|q", "x y|q|r", "x|y|q", "x|y|r"], "x y"),  # alone, and in the column of "x"
        (["a|b c|q", "a|b c|r", "a b|c|q", "a b|c|r"], "a b c"),  # in the columns of "a" and "a b"
    ],
)
def test_all_ngrams_of_a_denied_name_are_denied(documents, name):
    texts, labels = [*documents, "q|r", "q", "r|q", "r"] * 2, list("ppppnnnn" * 2)
    learner = Grafting(l1=0.01, constraints=Constraints(deny=[name]))
    model = GraftTextClassifier(learner, analyzer=lambda text: text.split("|"), min_df=1).fit(texts, labels)
    assert not {"x", "y", "x y", "a", "a b", "b c", "c"} & {feature.text for feature in model.features()}
