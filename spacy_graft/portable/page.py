"""A page in which a text can be typed: label, probabilities and evidence as it is typed."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from ..explain.html.markup import fragment, name_html, whole_page
from ..files import json_text
from ..messages import count, in_part

TITLE = "Classify a text"
#: The page needs nothing but itself: browsers refuse whatever else it could ask for.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)


def page(model: dict[str, Any]) -> str:
    """Return a self-contained page with a model and its scorer."""
    data = without_tags(json_text(model, compact=True))
    body = fragment(
        f"<style>\n{resource('page.css')}</style>\n",
        f"<h1>{TITLE}</h1>",
        f'<p class="note">{model_summary(model)} Everything is computed in this page: what you type stays here.</p>',
        FORM,
        f'<script type="application/json" id="graft-model">{data}</script>\n',
        f"<script>\n{{\n{resource('scorer.js')}{resource('page.js')}}}\n</script>\n",
    )
    return whole_page(TITLE, body, f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n')


FORM = """
<noscript><p>This page needs JavaScript.</p></noscript>
<label for="graft-text">Text</label>
<textarea id="graft-text" rows="5" dir="auto" spellcheck="false" autocomplete="off"
  placeholder="Type or paste a text"></textarea>
<p id="graft-spoken" role="status" class="spoken"></p>
<section aria-labelledby="graft-prediction"><h2 id="graft-prediction">Prediction</h2>
<p id="graft-predicted" class="predicted"></p>
<ul id="graft-bars" class="bars"></ul></section>
<section aria-labelledby="graft-evidence"><h2 id="graft-evidence">Evidence</h2>
<p class="choice"><label for="graft-label">Contributions to the log-odds of</label>
<select id="graft-label"></select></p>
<div id="graft-found"></div></section>
"""


def model_summary(model: dict[str, Any]) -> str:
    """How many features and which labels a model has."""
    n_features = count(sum(len(block["ngrams"]) for block in model["blocks"]), "feature")
    labels = [name_html(str(label)) for label in model["labels"]]
    return f"A linear model of {n_features}. {count(len(labels), 'label')}: {in_part(labels)}."


def without_tags(json: str) -> str:
    """JSON that can stand in a script of a page: "</script" and "<!--" would end or change it."""
    # JSON has "<" in strings alone.
    return json.replace("<", "\\u003c")


def resource(name: str) -> str:
    """The text of a file beside this module."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
