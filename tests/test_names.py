"""A name at the level of a module means one thing in the whole package."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import spacy_graft

PACKAGE = Path(spacy_graft.__file__).parent
#: What every module of commands has, and what Python gives a meaning.
REPEATED = {"EXAMPLES", "HELP", "app", "__all__", "__getattr__", "_"}


def names_of(module: ast.Module) -> Iterator[str]:
    """What a module defines at its top level."""
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))


def test_no_two_modules_define_the_same_name() -> None:
    found = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        for name in names_of(ast.parse(path.read_text("utf8"))):
            found[name].add(path.relative_to(PACKAGE).as_posix())
    twice = {name: sorted(paths) for name, paths in found.items() if len(paths) > 1 and name not in REPEATED}
    assert not twice
