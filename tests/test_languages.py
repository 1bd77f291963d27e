"""The shipped configs in other languages than English."""

from __future__ import annotations

import json
import random
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc
from spacy.util import DummyTokenizer, load_config, load_model_from_config

from conftest import CONFIG, Record, run_forked
from spacy_graft.cli.common import CommandError, blank_pipeline
from spacy_graft.cli.init_config import OF_LANGUAGE, CorpusSize, complete_config
from spacy_graft.cli.train import set_language
from spacy_graft.pipeline.textcat import TextCatGraft

CONFIGS = sorted(CONFIG.parent.glob("*.cfg"))
#: Phrases that tell the label, and common words, without spaces between words.
CHINESE = {
    "food": ["好吃", "味道很香", "太咸"],
    "hotel": ["房间", "前台服务", "入住"],
    "phone": ["屏幕", "手机电池", "信号"],
}
CHINESE_COMMON = ["这个", "非常", "不错", "我们", "觉得", "一般", "还可以", "昨天"]
JAPANESE = {
    "food": ["美味しい", "料理の味", "塩辛い"],
    "hotel": ["部屋", "受付の対応", "宿泊"],
    "phone": ["画面", "電池", "通話"],
}
JAPANESE_COMMON = ["この", "とても", "良い", "私は", "思う", "普通の", "昨日"]


def write_corpus(path: Path, telling: dict[str, list[str]], common: list[str], n: int) -> Path:
    """Write labelled texts that have no spaces, the labels in turn."""
    rng = random.Random(n)
    records: list[Record] = []
    for label in list(telling) * (n // len(telling)):
        words = rng.choices(common, k=6) + rng.choices(telling[label], k=2)
        rng.shuffle(words)
        records.append({"text": "".join(words) + "。", "label": label})
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def trained(config: Path, folder: Path, lang: str, telling: dict[str, list[str]], common: list[str]) -> TextCatGraft:
    """The component that `spacy train` makes, with a score that shows that it has learned the phrases."""
    train = write_corpus(folder / "train.jsonl", telling, common, 120)
    dev = write_corpus(folder / "dev.jsonl", telling, common, 30)
    run_forked(
        *("-m", "spacy", "train", config, "--output", folder / "model", "--nlp.lang", lang),
        *("--paths.train", train, "--paths.dev", dev, "--training.max_steps", 4),
    )
    nlp = spacy.load(folder / "model" / "model-best")
    assert nlp.meta["performance"]["cats_score"] > 0.9
    assert type(nlp.tokenizer) is type(spacy.blank(lang).tokenizer)
    component = nlp.get_pipe("textcat_graft")
    assert isinstance(component, TextCatGraft)
    return component


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_no_config_has_the_tokenizer_of_one_language(path: Path) -> None:
    tokenizer = load_config(path, interpolate=False)["nlp"].get("tokenizer")
    # spaCy fills in that of the language where there is none.
    assert tokenizer in (None, {"@tokenizers": "spacy_graft.LanguageTokenizer.v1"})


@pytest.mark.parametrize(
    ("lang", "text", "words"),
    [
        ("zh", "房间很大。", ["房", "间", "很", "大", "。"]),
        ("de", "z.B. heute", ["z.B.", "heute"]),
        ("xx", "z.B. heute", ["z.", "B.", "heute"]),
    ],
)
def test_the_tokenizer_is_that_of_the_language(lang: str, text: str, words: list[str]) -> None:
    nlp = load_model_from_config(load_config(CONFIG, overrides={"nlp.lang": lang}), auto_fill=True)
    assert [token.text for token in nlp.make_doc(text)] == words
    assert [token.text for token in spacy.blank(lang)(text)] == words


@pytest.mark.parametrize(
    ("lang", "tokenizer", "text"),
    [
        ("ko", {"@tokenizers": "spacy.Tokenizer.v1"}, "방이 깨끗해요"),
        ("vi", {"@tokenizers": "spacy.vi.VietnameseTokenizer", "use_pyvi": False}, "khách sạn"),
    ],
)
def test_another_tokenizer_is_an_override(lang: str, tokenizer: dict[str, Any], text: str) -> None:
    """That of the language would need a package."""
    overrides = {"nlp.lang": lang, **{f"nlp.tokenizer.{name}": value for name, value in tokenizer.items()}}
    nlp = load_model_from_config(load_config(CONFIG, overrides=overrides), auto_fill=True)
    assert [token.text for token in nlp.make_doc(text)] == text.split()


CHINESE_TOKENIZER = {"@tokenizers": "spacy.zh.ChineseTokenizer", "segmenter": "char"}
OTHER_TOKENIZER = {"@tokenizers": "spacy.Tokenizer.v1"}


@pytest.mark.parametrize(
    ("former", "tokenizer", "has_tokenizer", "expected"),
    [
        ("en", OTHER_TOKENIZER, False, OF_LANGUAGE),
        ("zh", CHINESE_TOKENIZER, False, OF_LANGUAGE),
        ("zh", OTHER_TOKENIZER, False, OTHER_TOKENIZER),
        ("en", OTHER_TOKENIZER, True, OTHER_TOKENIZER),
        ("none", OTHER_TOKENIZER, False, OTHER_TOKENIZER),
        ("en", None, False, None),
    ],
)
def test_another_language_brings_its_tokenizer(
    former: str, tokenizer: dict[str, Any] | None, has_tokenizer: bool, expected: dict[str, Any] | None
) -> None:
    """Unless the config or the command line has one that is not that of the language before."""
    section = {"lang": former} if tokenizer is None else {"lang": former, "tokenizer": tokenizer}
    set_language(section, "ja", has_tokenizer)
    assert section.get("tokenizer") == expected
    assert section["lang"] == "ja"


def test_codes_of_three_letters_are_those_of_two() -> None:
    of_two, of_three = (complete_config(lang, True, CorpusSize.medium, None) for lang in ("zh", "zho"))
    assert of_three.to_str() == of_two.to_str()


@pytest.mark.skipif(find_spec("sudachipy") is not None, reason="SudachiPy is installed")
def test_a_missing_package_is_named() -> None:
    with pytest.raises(ImportError, match="pip install sudachipy sudachidict_core"):
        load_model_from_config(load_config(CONFIG, overrides={"nlp.lang": "ja"}), auto_fill=True)


@pytest.mark.parametrize("waits", [False, True], ids=["no_initialization", "initialization"])
def test_a_library_that_is_missed_at_the_first_text_is_no_fault_of_the_text(waits: bool) -> None:
    """As that of Korean; what a tokenizer gets when it is initialized, such as a model of pkuseg, may be missed."""

    class Late(DummyTokenizer):
        def __call__(self, text: str) -> Doc:
            raise OSError("libmecab.so could not be found")

    if waits:
        Late.initialize = lambda self, get_examples, nlp: None  # type: ignore[attr-defined]
    name = f"tests.Late{waits}.v1"
    spacy.registry.tokenizers(name, func=lambda: lambda nlp: Late())
    if waits:
        blank_pipeline("xx", {"@tokenizers": name})
    else:
        with pytest.raises(CommandError, match="There is no tokenizer for the language 'xx': libmecab"):
            blank_pipeline("xx", {"@tokenizers": name})


def test_a_tokenizer_that_says_a_key_only() -> None:
    """As that of Japanese with another split mode than A, B and C."""

    @spacy.registry.tokenizers("tests.OfKeys.v1")
    def of_keys(mode: str) -> Any:
        return lambda nlp: {"A": DummyTokenizer()}[mode]

    with pytest.raises(CommandError, match=r"the language 'xx': KeyError: 'D'. Check \[nlp.tokenizer\]."):
        blank_pipeline("xx", {"@tokenizers": "tests.OfKeys.v1", "mode": "D"})


@pytest.mark.slow
@pytest.mark.parametrize("shipped", [True, False], ids=["shipped", "init-config"])
def test_chinese_trains_without_more_packages(tmp_path: Path, shipped: bool) -> None:
    config = CONFIG if shipped else tmp_path / "config.cfg"
    if not shipped:
        run_forked("-m", "spacy_graft", "init-config", config, "--lang", "zh")
    component = trained(config, tmp_path, "zh", CHINESE, CHINESE_COMMON)
    names = {feature.text for feature in component.features()}
    # Part of a word with the same documents as the word: the shorter one names the feature.
    assert {"屏", "太"} & names


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Dictionary.create:DeprecationWarning")
def test_japanese_trains_with_sudachipy(tmp_path: Path) -> None:
    """spaCy calls SudachiPy 0.7 in a way that it no longer recommends, hence the warning."""
    pytest.importorskip("sudachipy")
    trained(CONFIG, tmp_path, "ja", JAPANESE, JAPANESE_COMMON)
