"""Run notebooks and store their outputs in them: ``python scripts/notebooks.py docs/tutorials/*.ipynb``.

The cells of a notebook are plain Python. They run in one namespace, in the folder of the notebook, as in Jupyter; what
they print and the value of the last expression of a cell are its outputs. The tests run them in the same way and
compare the text. No kernel is needed, so the tests run the notebooks in their own process.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Annotated, Any

import typer
from one_line_errors import one_line_errors
from rich.console import Console
from rich.progress import track

from spacy_graft.files import writing


def executed(path: Path) -> dict[str, Any]:
    """The notebook with the outputs of a run."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(path.parent):
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        for number, cell in enumerate(code, 1):
            cell["execution_count"] = number
            cell["outputs"] = outputs_of(f"{path.name}, cell {number}", "".join(cell["source"]), number, namespace)
    return notebook


def outputs_of(name: str, source: str, number: int, namespace: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints, and its value."""
    body = ast.parse(source, name)
    last = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(body, name, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            # The text beside the HTML of a report or an explanation is its repr, which nobody reads.
            data = {"text/html": lines(value._repr_html_()), "text/plain": [f"<{type(value).__name__}>"]}
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


@one_line_errors
def main(notebooks: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False)]) -> None:
    """Run notebooks and store their outputs in them."""
    for path in track(notebooks, "Notebooks", console=Console(stderr=True)):
        text = json.dumps(executed(path), indent=1, ensure_ascii=False)
        with writing(path) as file:
            file.write(f"{text}\n".encode())


if __name__ == "__main__":
    typer.run(main)
