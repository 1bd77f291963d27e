"""The command line app: all commands by name."""

from __future__ import annotations

from typing import Annotated

import typer

from . import (
    association,
    classify,
    convert,
    debug_data,
    diff,
    distil,
    edit,
    evaluate,
    explain,
    export,
    features,
    init_config,
    network,
    path,
    report,
    train,
    warm,
)
from .commands import add_command, make_app
from .common import with_code

HELP = """Train, evaluate, explain and apply sparse linear text classifiers, and check the data to train them on.

Results go to standard output, as tables on a terminal and as JSON elsewhere. Errors, warnings and progress go to
standard error. Exit codes: 0, 1 (bad input or data), 2 (wrong usage), 129 (SIGHUP), 130 (Ctrl-C), 141 (output pipe
closed), 143 (SIGTERM).
"""
#: Settings of a config are given as in spaCy's commands: --paths.train and the like.
OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}

app = make_app("graft", HELP)


def print_version(wanted: bool) -> None:
    """Print the version, and end."""
    if wanted:
        from .. import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options_of_all(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    """Take the options that are no command's."""


add_command(app, "train", train.train_command, train.EXAMPLES, context_settings=OVERRIDES)
add_command(app, "evaluate", with_code(evaluate.evaluate_command), evaluate.EXAMPLES)
add_command(app, "convert", convert.convert_command, convert.EXAMPLES)
add_command(app, "explain", with_code(explain.explain_command), explain.EXAMPLES)
add_command(app, "classify", with_code(classify.classify_command), classify.EXAMPLES)
add_command(app, "features", with_code(features.features_command), features.EXAMPLES)
add_command(app, "report", with_code(report.report_command), report.EXAMPLES)
add_command(app, "path", with_code(path.path_command), path.EXAMPLES)
add_command(app, "diff", with_code(diff.diff_command), diff.EXAMPLES)
add_command(app, "edit", with_code(edit.edit_command), edit.EXAMPLES)
add_command(app, "debug-data", debug_data.debug_data_command, debug_data.EXAMPLES, context_settings=OVERRIDES)
add_command(app, "distil", distil.distil_command, distil.EXAMPLES, context_settings=OVERRIDES)
add_command(app, "test", with_code(association.significance_command), association.EXAMPLES)
add_command(app, "init-config", init_config.init_config_command, init_config.EXAMPLES, no_args_is_help=False)
add_command(app, "export", with_code(export.export_command), export.EXAMPLES)
add_command(app, "warm", with_code(warm.warm_command), warm.EXAMPLES)
app.add_typer(network.app, name="network")
