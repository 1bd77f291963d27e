"""Items and combinations inside a component: training, prediction, explanation, saving, and what is refused."""

from __future__ import annotations

import math
import random
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.training import Example

import spacy_graft
from conftest import component_of
from spacy_graft.model.sparse_linear import SparseLinear, snapshot_of

FEATURES: dict[str, dict[str, Any]] = {
    "words": {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "LOWER"},
    "lemmas": {"@graft_features": "spacy_graft.TokenAttributes.v1", "attr": "LEMMA", "value": "tf_idf"},
    "shapes": {"@graft_features": "spacy_graft.TokenAttributes.v1", "attr": "SHAPE", "value": "log_count"},
    "arcs": {"@graft_features": "spacy_graft.HeadModifiers.v1", "head": ["LEMMA"], "modifier": ["LEMMA", "POS"]},
    "source": {"@graft_features": "spacy_graft.DocAttributes.v1", "metadata": ["source"]},
    "products": {
        "@graft_features": "spacy_graft.Combinations.v1",
        "of": ["words", "lemmas", "arcs", "source"],
        "degree": 3,
    },
}
NOUNS, ADJECTIVES = ["film", "book", "song"], ["good", "dull", "short"]
LEARNER = {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 0.3, "n_best": None, "tol": 1e-5}


@Language.component("graft_test_syntax")
def annotate(doc: Doc) -> Doc:
    """Adjectives modify the noun after them, and everything else the first word."""
    for token in doc:
        token.lemma_ = token.lower_.removesuffix("s")
        token.pos_ = "ADJ" if token.lower_ in ADJECTIVES and token.i > 0 else "NOUN"
    for token in doc:
        follows = token.pos_ == "ADJ" and token.i + 1 < len(doc)
        token.head = doc[token.i + 1 if follows else 0]
        token.dep_ = "ROOT" if token.i == 0 else "amod" if follows else "conj"
    return doc


def texts_and_labels(n: int = 80, seed: int = 0) -> list[tuple[str, str, str]]:
    """Text, source and label: dull films are bad, and so are good books of one source."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        pairs = rng.sample(list(product(ADJECTIVES, NOUNS)), 2)
        source = rng.choice(["press", "blog"])
        words = [word for pair in pairs for word in pair]
        bad = ("dull", "film") in pairs or (("good", "book") in pairs and source == "blog")
        rows.append((" ".join([rng.choice(["so", "well", "Now"]), *words]), source, "bad" if bad else "fine"))
    return rows


def make_examples(nlp: Language) -> list[Example]:
    examples = []
    for text, source, label in texts_and_labels():
        doc = nlp.make_doc(text)
        doc.user_data["source"] = source
        reference = doc.copy()
        reference.cats = {"bad": float(label == "bad"), "fine": float(label == "fine")}
        examples.append(Example(doc, reference))
    return examples


def make_nlp(features: dict[str, Any] = FEATURES) -> Language:
    nlp = spacy.blank("xx")
    nlp.add_pipe("graft_test_syntax")
    nlp.add_pipe("textcat_graft", config={"features": features, "learner": LEARNER})
    return nlp


def some_docs(nlp: Language) -> list[Doc]:
    docs = []
    for text, source, _ in [*texts_and_labels(20, 1), ("", "press", ""), ("dull  \n film", "x", "")]:
        doc = nlp.make_doc(text)
        doc.user_data["source"] = source
        docs.append(doc)
    return docs


@pytest.fixture(scope="module")
def trained() -> Language:
    nlp = make_nlp()
    spacy_graft.fit(nlp, make_examples(nlp))
    return nlp


def test_the_products_that_decide_are_found(trained: Language) -> None:
    assert component_of(trained).report.converged  # type: ignore[union-attr]
    right = [
        max(trained(example.predicted.copy()).cats.items(), key=lambda item: item[1])[0] == label
        for example, (_, _, label) in zip(make_examples(trained), texts_and_labels(), strict=True)
    ]
    assert np.mean(right) > 0.95
    features = component_of(trained).features()
    assert any(" × " in feature.text for feature in features)
    assert any("source=blog" in feature.text for feature in features)


def test_scores_are_products_of_member_values(trained: Language) -> None:
    """Every feature is looked for by hand, and tf-idf done by hand."""
    component = component_of(trained)
    snapshot = snapshot_of(component.model)
    table, weights = snapshot.features, component.model.get_param("W")
    vocabulary = snapshot.vocabularies["lemmas"]
    assert set(snapshot.vocabularies) == {"lemmas"}
    for doc in map(trained, some_docs(trained)):
        values = {}
        for name, block in component.blocks.items():
            if name != "products":
                symbols = block.symbols(doc)  # type: ignore[union-attr]
                rows = [block.names(np.atleast_1d(row), doc.vocab.strings) for row in symbols]  # type: ignore[union-attr]
                counts = {row: rows.count(row) for row in rows}
                if name == "lemmas":
                    idf = vocabulary.weights(np.unique(symbols, axis=0))
                    known = [block.names(np.atleast_1d(row), doc.vocab.strings) for row in np.unique(symbols, axis=0)]  # type: ignore[union-attr]
                    unscaled = {row: counts[row] * weight for row, weight in zip(known, idf, strict=True)}
                elif name == "shapes":
                    unscaled = {row: 1.0 + np.log(count) for row, count in counts.items()}
                else:
                    unscaled = dict.fromkeys(rows, 1.0)
                norm = np.sqrt(sum(value**2 for value in unscaled.values())) if name in ("lemmas", "shapes") else 1.0
                values[name] = {row: value / (norm or 1.0) for row, value in unscaled.items()}
        words = [token.lower_ for token in doc if not token.is_space]
        expected = component.model.get_param("b").copy()
        for k in range(table.n_features):
            if table.blocks[k] == "words":
                n = len(table.ngrams[k])
                worth_k = float(any(tuple(words[i : i + n]) == table.ngrams[k] for i in range(len(words))))
            else:
                worth_k = float(np.prod([values[block].get(names, 0.0) for block, names in table.terms(k)]))
            expected = expected + worth_k * weights[k]
        np.testing.assert_allclose(component.model.predict([doc])[0], expected, atol=1e-12)


def test_contributions_of_every_kind_sum_to_the_score(trained: Language) -> None:
    component = component_of(trained)
    for doc in map(trained, some_docs(trained)):
        scores = dict(zip(component.labels, component.model.predict([doc])[0].tolist(), strict=True))
        for explanation in component.explain(doc):
            score = scores[explanation.label] - scores[explanation.against]
            total = explanation.intercept + sum(part.contribution for part in explanation.contributions)
            assert total == pytest.approx(score, abs=1e-9)
            assert explanation.score == pytest.approx(score, abs=1e-9)
            by_word = explanation.intercept + math.fsum(row.contribution for row in explanation.words)
            assert by_word == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "block"),
    [
        ("character n-gram", {"@graft_features": "spacy_graft.CharacterNgrams.v1", "within_words": True}),
        ("token n-gram", FEATURES["words"]),
        ("attribute", FEATURES["lemmas"]),
        ("head–modifier", FEATURES["arcs"]),
        ("document attribute", FEATURES["source"]),
        ("combination", {**FEATURES["products"], "of": ["words"], "degree": 2}),
    ],
)
def test_each_kind_alone_sums_to_the_score(kind: str, block: dict[str, Any]) -> None:
    features = {"only": block} if kind != "combination" else {"words": FEATURES["words"], "only": block}
    nlp = make_nlp(features)
    spacy_graft.fit(nlp, make_examples(nlp))
    component, kinds = component_of(nlp), set()
    for doc in map(nlp, some_docs(nlp)):
        scores = dict(zip(component.labels, component.model.predict([doc])[0].tolist(), strict=True))
        for explanation in component.explain(doc):
            kinds |= {part.kind for part in explanation.contributions}
            total = explanation.intercept + sum(part.contribution for part in explanation.contributions)
            assert total == pytest.approx(scores[explanation.label] - scores[explanation.against], abs=1e-9)
    assert kind in kinds


def test_every_kind_points_at_its_place(trained: Language) -> None:
    kinds = set()
    for doc in map(trained, some_docs(trained)):
        for part in component_of(trained).explain(doc, "bad")["bad"].contributions:
            assert part.text == " × ".join(member.text for member in part.members)
            for member in part.members:
                kinds.add(member.kind)
                for place in member.places:
                    pieces = [doc.text[span.start : span.end].lower() for span in place]
                    if member.kind == "head–modifier":
                        head, modifier = pieces
                        assert f"head.LEMMA={head.removesuffix('s')} " in member.text
                        assert f"={modifier.removesuffix('s')}/" in member.text
                    elif member.kind == "token n-gram":
                        assert " ".join(pieces[0].split()) == member.text
                assert bool(member.places) != (member.kind == "document attribute")
    assert kinds >= {"head–modifier", "token n-gram", "document attribute"}


def test_any_batch_gives_the_same_bits(trained: Language) -> None:
    component = component_of(trained)
    docs = [trained.get_pipe("graft_test_syntax")(doc) for doc in some_docs(trained)]
    together = component.model.predict(docs)
    assert together.tobytes() == np.concatenate([component.model.predict([doc]) for doc in docs]).tobytes()


def test_saving_and_processes(trained: Language, tmp_path: Path) -> None:
    expected = [doc.cats for doc in trained.pipe(some_docs(trained))]
    trained.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    copied = make_nlp().from_bytes(trained.to_bytes())
    for nlp in (loaded, copied):
        assert [doc.cats for doc in nlp.pipe(some_docs(nlp))] == expected
        assert [f.text for f in component_of(nlp).features()] == [f.text for f in component_of(trained).features()]
    assert [doc.cats for doc in trained.pipe(some_docs(trained), n_process=2)] == expected


def test_missing_annotation(trained: Language) -> None:
    doc = trained.make_doc("dull film")
    with pytest.raises(ValueError, match="needs documents annotated with DEP"):
        component_of(trained)(doc)
    nlp = make_nlp()
    nlp.remove_pipe("graft_test_syntax")
    with pytest.raises(ValueError, match="needs documents annotated with"):
        spacy_graft.fit(nlp, make_examples(nlp))


def test_annotation_is_read_once_for_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Corpus, index and path see each document's arcs once, however many rounds there are."""
    nlp = make_nlp({"arcs": FEATURES["arcs"]})
    block = component_of(nlp).blocks["arcs"]
    read: list[str] = []
    original = type(block).symbols
    monkeypatch.setattr(type(block), "symbols", lambda self, doc: read.append(doc.text) or original(self, doc))
    examples = make_examples(nlp)
    for example in examples:
        annotate(example.predicted)
    nlp.get_pipe("textcat_graft").initialize(lambda: examples, nlp=nlp)
    for _ in range(5):
        component_of(nlp).update(examples[:4], sgd=nlp.create_optimizer())
    assert component_of(nlp).report.n_active > 0  # type: ignore[union-attr]
    # The first batch is scored before there is a model, without features to look for.
    assert len(read) == len(examples)


def test_extensions_and_numbers() -> None:
    Token.set_extension("graft_test_length", getter=lambda token: str(len(token)), force=True)
    Doc.set_extension("graft_test_words", getter=len, force=True)
    features = {
        "lengths": {"@graft_features": "spacy_graft.TokenAttributes.v1", "attr": "_.graft_test_length"},
        "size": {
            "@graft_features": "spacy_graft.DocAttributes.v1",
            "extensions": ["graft_test_words"],
            "bins": {"graft_test_words": [3, 6]},
        },
        "both": {"@graft_features": "spacy_graft.Combinations.v1", "of": ["lengths", "size"]},
    }
    nlp = make_nlp(features)
    spacy_graft.fit(nlp, make_examples(nlp))
    doc = nlp("so dull film")
    assert sum(doc.cats.values()) == pytest.approx(1.0)
    assert component_of(nlp).explain(doc).best.contributions


@pytest.mark.parametrize(
    ("products", "message"),
    [
        (
            {"of": ["word"]},
            r"combines 'word', which is no other block of features of this component\. Did you mean 'words'\?",
        ),
        ({"of": ["vectors"]}, "combines 'vectors', which is no other block of features"),
        ({"of": ["products"]}, "combines 'products', which is no other block"),
        ({"of": ["words"], "degree": 4}, "degree must be 2 or 3, but is 4"),
        ({"of": []}, "of must name one block at least"),
    ],
)
def test_senseless_combinations_are_refused_when_the_config_is_read(products: dict[str, Any], message: str) -> None:
    vectors = {"@graft_features": "spacy_graft.Vectors.v1"}
    features = {"words": FEATURES["words"], "products": {**FEATURES["products"], **products}, "vectors": vectors}
    with pytest.raises(ValueError, match=message):
        make_nlp(features)


def test_two_blocks_of_combinations_are_refused() -> None:
    features = {"words": FEATURES["words"], "pairs": {**FEATURES["products"], "of": ["words"]}}
    with pytest.raises(ValueError, match="There are 2 blocks of combinations: 'pairs', 'more'"):
        make_nlp({**features, "more": features["pairs"]})


def edited(nlp: Language, edit: Any) -> bytes:
    message = component_of(nlp).model.to_dict()
    attrs = message["attrs"][0]
    tables = {name: srsly.msgpack_loads(attrs[name]) for name in ("features", "vocabularies")}
    edit(tables)
    attrs.update({name: srsly.msgpack_dumps(table) for name, table in tables.items()})
    return srsly.msgpack_dumps(message)


def first_product(tables: dict[str, Any]) -> list[Any]:
    return next(members for members in tables["features"]["members"] if members)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda tables: first_product(tables).pop(), "single member|neither symbols nor members"),
        (lambda tables: first_product(tables)[0].__setitem__(0, "shapes"), "combines .*'shapes'"),
        (lambda tables: first_product(tables)[0].__setitem__(0, "nowhere"), "combines .*'nowhere'"),
        (lambda tables: first_product(tables)[0].append("one more"), "not items of|whole items"),
        (lambda tables: first_product(tables)[0].__setitem__(1, 7), "not a list of str"),
        (lambda tables: first_product(tables).__setitem__(0, []), "without symbols|combines ''"),
        (lambda tables: first_product(tables).__setitem__(0, 3), "not a list of list"),
        (lambda tables: tables["vocabularies"]["lemmas"].pop("df"), "other parts than"),
        (
            lambda tables: tables["vocabularies"]["lemmas"].update(keys=b"123"),
            "not have one number of documents for each key",
        ),
        (lambda tables: tables["vocabularies"]["lemmas"].update(n_documents=0), "impossible numbers"),
        (lambda tables: tables["vocabularies"].update(lemmas=3), "other parts than"),
    ],
)
def test_damaged_products_are_refused(trained: Language, edit: Any, message: str) -> None:
    model = SparseLinear(component_of(trained).blocks)
    with pytest.raises(ValueError, match=message):
        model.from_bytes(edited(trained, edit))
    assert not model.has_param("W")


def test_missing_vocabulary() -> None:
    nlp = make_nlp({"lemmas": FEATURES["lemmas"]})
    spacy_graft.fit(nlp, make_examples(nlp))
    data = edited(nlp, lambda tables: tables["vocabularies"].clear())
    with pytest.raises(ValueError, match="no vocabulary for block 'lemmas'"):
        SparseLinear(component_of(nlp).blocks).from_bytes(data)
