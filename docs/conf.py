"""The documentation site: ``sphinx-build -W -c docs . site``, from the root of the repository.

The root is the source folder, so that links from the documentation to the benchmarks, the configs and the changelog
are links of the site as well, and a broken one is an error. Nothing is loaded from the network, neither by the build
nor by the pages.
"""

from __future__ import annotations

from posixpath import dirname, join, normpath

from docutils import nodes
from sphinx.application import Sphinx

import spacy_graft

project = "spacy-graft"
author = "the spacy-graft authors"
copyright = author  # as Sphinx names it
version = release = spacy_graft.__version__

# Notebooks and Markdown; the reference from docstrings, which are NumPy's sections in reStructuredText.
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = ["docs/**", "benchmarks/*.md", "corpus/README.md", "assets/README.md", "[CS]*.md"]
exclude_patterns = ["docs/site"]

# Links to headings, down to the third level.
myst_heading_anchors = 3
# Scripts print the tables of some benchmarks under headings of the third level.
suppress_warnings = ["myst.header"]
# Tests run the notebooks, and compare what is stored with what they print.
nb_execution_mode = "off"

# Types are in the sections of parameters: with both, signatures are longer than a phone is wide.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "spacy-graft"
html_extra_path = ["site"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False


def name_by_title(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Show links to a file under the title of its page: names of files are for those who read the repository."""
    for link in doctree.findall(nodes.reference):
        page = link.get("refuri", "").partition("#")[0]
        text = link.astext()
        if link.get("internal") and text.endswith(".md") and page.endswith(f"{text.removesuffix('.md')}.html"):
            target = normpath(join(dirname(name), page)).removesuffix(".html")
            link.clear()
            link += nodes.Text(app.env.titles[target].astext())


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", name_by_title)
