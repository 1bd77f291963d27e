"""Digests of values, and sketches of texts, by which others are known again."""

from __future__ import annotations

from spacy_graft.digests import SKETCHED, digest_of, share_in_sketch, sketch_of


def texts_of(begin: int, end: int) -> list[str]:
    return [f"text {number}" for number in range(begin, end)]


def test_of_few_texts_the_share_is_exact() -> None:
    sketch = sketch_of(texts_of(0, 40))
    assert sketch == sketch_of(reversed([*texts_of(0, 40), "text 3"]))
    assert len(sketch) == 8 * 40
    for begin, share in ((0, 1.0), (30, 0.25), (40, 0.0)):
        assert share_in_sketch(texts_of(begin, begin + 40), sketch, 4) == share
    assert share_in_sketch([], sketch, 4) == share_in_sketch(texts_of(0, 3), sketch_of([]), 4) == 0.0
    # Each text counts once, and those that come again and again do not.
    texts = [*texts_of(30, 50), *["text 30"] * 3, *["text 31"] * 4]
    assert share_in_sketch(texts, sketch, 4) == 9 / 19


def test_of_many_texts_it_is_about_right() -> None:
    sketch = sketch_of(texts_of(0, 5000))
    assert len(sketch) == 8 * SKETCHED
    assert share_in_sketch(texts_of(0, 5000), sketch, 4) == 1.0
    assert share_in_sketch(texts_of(0, 2000), sketch, 4) == 1.0
    assert 0.3 < share_in_sketch(texts_of(2500, 7500), sketch, 4) < 0.7
    assert share_in_sketch(texts_of(5000, 9000), sketch, 4) == 0.0


def test_sets_have_digests_whatever_their_order() -> None:
    names = [str(number) for number in range(100)]
    digest = digest_of(set(names))
    assert digest == digest_of(frozenset(names[::-1]))
    assert len({digest, digest_of(set(names[1:])), digest_of(names), digest_of({1, "1"}), digest_of({"1"})}) == 5
