"""``network``: networks of features, built, put together and looked at."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from . import network_files
from .commands import add, make_app
from .network_builders import BUILDERS, builder_command

HELP = """Networks of features: which weights are pulled together.

A network is built of the features of a corpus and written to a file, whole or not at all, which a config names with
spacy_graft.GraphFile.v1. The commands of builders take the options of these: docs/networks.md.
"""


class NetworkGroup(TyperGroup):
    """Commands of builders are made when they are asked for: their options are in modules that are slow to import."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*BUILDERS, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return builder_command(cmd_name) if cmd_name in BUILDERS else super().get_command(ctx, cmd_name)


app = make_app("network", HELP, cls=NetworkGroup)
add(app, "merge", network_files.merge, network_files.MERGE_EXAMPLES)
add(app, "show", network_files.show, network_files.SHOW_EXAMPLES)
