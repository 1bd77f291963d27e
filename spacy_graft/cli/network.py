"""``network``: build, merge and show networks of features."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from . import network_files
from .commands import add_command, make_app
from .network_builders import BUILDERS, make_builder_command

HELP = """Build networks of related features.

Their weights are pulled towards each other in training. A network is built from the features of a corpus and written to
a file, which a config refers to with spacy_graft.GraphFile.v1. The options of the builders are those of their functions
in a config: docs/networks.md.
"""


class NetworkGroup(TyperGroup):
    """A group that makes the builders' commands on demand: their options are in modules that are slow to import."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*BUILDERS, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return make_builder_command(cmd_name) if cmd_name in BUILDERS else super().get_command(ctx, cmd_name)


app = make_app("network", HELP, cls=NetworkGroup)
add_command(app, "merge", network_files.merge_command, network_files.MERGE_EXAMPLES)
add_command(app, "show", network_files.show_command, network_files.SHOW_EXAMPLES)
