"""The app: all commands, under their names."""

from __future__ import annotations

from . import classify, debug_data, diff, explain, features, init_config, network, path, report
from .commands import add, make_app

HELP = """Sparse linear text classifiers: what they are made of, why they say what they say.

Results go to standard output, as tables on a terminal and as JSON elsewhere; errors, warnings and progress go to
standard error. Exit codes: 0, 1 (bad input or data), 2 (wrong usage), 141 (the reader of the output has gone).
"""
#: spaCy's way to take settings of a config, --paths.train and the like.
OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}

app = make_app("graft", HELP)
add(app, "explain", explain.explain, explain.EXAMPLES)
add(app, "classify", classify.classify, classify.EXAMPLES)
add(app, "features", features.features, features.EXAMPLES)
add(app, "report", report.report, report.EXAMPLES)
add(app, "path", path.path, path.EXAMPLES)
add(app, "diff", diff.diff, diff.EXAMPLES)
add(app, "debug-data", debug_data.debug_data, debug_data.EXAMPLES, context_settings=OVERRIDES)
add(app, "init-config", init_config.init_config, init_config.EXAMPLES, no_args_is_help=False)
app.add_typer(network.app, name="network")
