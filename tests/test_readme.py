"""The README's Python prints what the README says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_example_prints_what_stands_there() -> None:
    text = README.read_text(encoding="utf-8")
    code, printed = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL).groups()  # type: ignore[union-attr]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == printed


def test_the_set_up_lines_are_there() -> None:
    text = README.read_text(encoding="utf-8")
    assert "python -m pip install . && python -m spacy project run all" in text
    assert 'python -m pip install ".[test]" && python -m pytest' in text
