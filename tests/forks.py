"""Processes of Python that need not import again what takes most of their time: spaCy and numba, but nothing of ours.

``python forks.py`` imports it once, and makes a process by fork for each line of standard input, which runs a program
as ``python`` would.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import subprocess
import sys
import threading
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

#: Read when an interpreter starts, or when what is imported here is.
READ_AT_START = ("LD_", "MKL_", "NUMBA_", "OMP_", "OPENBLAS_", "PYTHON")


def settings_of(environment: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """The variables that a process cannot change for itself any more."""
    return tuple(sorted(item for item in environment.items() if item[0].startswith(READ_AT_START)))


@cache
def parent_of(settings: tuple[tuple[str, str], ...]) -> subprocess.Popen[str]:
    """The process that makes the others with such settings."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(READ_AT_START)}
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=others | dict(settings),
    )
    atexit.register(process.communicate)  # which closes its standard input, so that it ends
    return process


def exit_code_of(arguments: list[str], folder: str, environment: dict[str, str], output: Path, errors: Path) -> int:
    """Run ``python ARGUMENTS`` in a folder, with its output in files; they are -P or not, and -c, -m or a script."""
    process = parent_of(settings_of(environment))
    assert process.stdin
    assert process.stdout
    task = {"folder": folder, "environment": environment, "output": str(output), "errors": str(errors)}
    process.stdin.write(json.dumps({**task, "arguments": arguments}) + "\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def next_task() -> dict[str, Any] | None:
    """The next task, in a process of its own; None in the process that makes these, after the last one."""
    for line in sys.stdin:
        if os.fork() == 0:
            return json.loads(line)
        print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
    return None


def become(folder: str, environment: dict[str, str], output: str, errors: str, **_: Any) -> None:
    """Take over standard streams, folder and environment."""
    for stream, path in enumerate((os.devnull, output, errors)):
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, stream)
        os.close(opened)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)


def run_program(first: str, *arguments: str) -> None:
    if first == "-P":
        first, *arguments = arguments  # type: ignore[assignment]
        del sys.path[0]
    else:
        sys.path[0] = {"-c": "", "-m": os.getcwd()}.get(first, str(Path(first).resolve().parent))
    sys.argv = [first, *arguments] if first != "-m" else [*arguments]
    if first == "-c":
        code = sys.argv.pop(1)
        sys.modules["__main__"] = main = ModuleType("__main__")
        exec(compile(code, "<string>", "exec"), main.__dict__)
    elif first == "-m":
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(first, run_name="__main__")


def leave(code: int) -> None:
    """End as an interpreter does, but without taking apart what was imported, which takes longer than many programs."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    for name in ("numba", "scipy.optimize", "scipy.sparse", "spacy.cli"):
        import_module(name)
    assert not [name for name in sys.modules if name.startswith("spacy_graft")]
    gc.collect()
    gc.freeze()
    if task := next_task():
        become(**task)
        try:
            run_program(*task["arguments"])
        except SystemExit as end:
            if not isinstance(end.code, int | None):
                raise
            leave(end.code or 0)
        leave(0)
