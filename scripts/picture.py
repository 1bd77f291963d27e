"""Make the screenshot of the README: the explanation of one sentence, rendered in headless Chromium.

python scripts/picture.py training/model-best docs/images/explanation.png
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import spacy
import typer

import spacy_graft

TEXT = "Minimize a scalar function of several variables with random samples from a distribution."
#: Size of the page in pixels, and the scale of the screenshot.
SIZE, SCALE = "860,460", 1.75


def main(
    model: Annotated[Path, typer.Argument(help="Folder of the trained pipeline.")],
    output: Annotated[Path, typer.Argument(help="PNG file to write.")],
    browser: Annotated[str, typer.Option(help="Chromium, or a browser with the same options.")] = "chromium",
) -> None:
    """Render the explanation and take a screenshot in light colours."""
    nlp = spacy.load(model)
    with TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(spacy_graft.render(nlp(TEXT), nlp, page=True), encoding="utf-8")
        options = f"--headless --no-sandbox --disable-gpu --hide-scrollbars --window-size={SIZE}".split()
        options += [f"--force-device-scale-factor={SCALE}", "--blink-settings=preferredColorScheme=1"]
        subprocess.run([browser, *options, f"--screenshot={output.resolve()}", page.as_uri()], check=True)


if __name__ == "__main__":
    typer.run(main)
