"""Make the picture of the README: a sentence explained by a model of reviews, rendered in headless Chromium.

python scripts/picture.py docs/images/explanation.png books.jsonl dvd.jsonl
"""

from __future__ import annotations

import subprocess
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import spacy
import typer
from one_line_errors import one_line_errors

import spacy_graft
from spacy_graft.pipeline.reader import JsonlCorpus

TEXT = "The jokes are not funny, and I would not recommend it."
CONFIG = {
    "features": {
        "words": {"@graft_features": "spacy_graft.TokenNgrams.v1", "attr": "LOWER", "min_df": 3},
        "arcs": {"@graft_features": "spacy_graft.HeadModifiers.v1", "min_df": 3},
    },
    "learner": {"@graft_learners": "spacy_graft.Grafting.v1", "l1": 1.0},
}
#: Size of the page in pixels, and the scale of the screenshot.
SIZE, SCALE = "900,880", 1.5


@one_line_errors
def main(
    output: Annotated[Path, typer.Argument(help="PNG file to write.")],
    reviews: Annotated[list[Path], typer.Argument(help="Labelled reviews: JSON lines.")],
    syntax: Annotated[str, typer.Option(help="Pipeline with a parser and a lemmatizer.")] = "en_graft_syntax",
    text: Annotated[str, typer.Option(help="The sentence.")] = TEXT,
    browser: Annotated[str, typer.Option(help="Chromium, or a browser with the same options.")] = "chromium",
) -> None:
    """Train on reviews, render the explanation and take a screenshot in light colours."""
    nlp = spacy.load(syntax)
    component: Any = nlp.add_pipe("textcat_graft", config=CONFIG)
    spacy_graft.fit(nlp, chain.from_iterable(JsonlCorpus(path)(nlp) for path in reviews))
    doc = nlp(text)
    print(component.explain(doc).best)
    with TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(spacy_graft.render(doc, nlp, page=True), encoding="utf-8")
        options = f"--headless --no-sandbox --disable-gpu --hide-scrollbars --window-size={SIZE}".split()
        options += [f"--force-device-scale-factor={SCALE}", "--blink-settings=preferredColorScheme=1"]
        subprocess.run([browser, *options, f"--screenshot={output.resolve()}", page.as_uri()], check=True)


if __name__ == "__main__":
    typer.run(main)
