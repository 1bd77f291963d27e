"""The files around the package: what they say of each other, and of the package, is true."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import srsly
from packaging.requirements import Requirement
from packaging.version import Version

import spacy_graft
from conftest import REPOSITORY

PROJECT: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
URL = PROJECT["urls"]["Repository"]
WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
#: Tools that look at the code only: what they say of it depends on their version, so that the newest counts.
LINTERS = {"import-linter", "mypy", "ruff"}
#: Fields of the entries of spaCy's universe, with their types, and categories that it has.
UNIVERSE_FIELDS: dict[str, type] = {
    **dict.fromkeys(("id", "title", "slogan", "description", "github", "pip", "code_language", "url", "author"), str),
    **dict.fromkeys(("code_example", "category", "tags"), list),
    "author_links": dict,
}
UNIVERSE_CATEGORIES = {"pipeline", "training", "visualizers", "models", "research", "standalone"}


def text_of(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


def yaml_of(path: Path) -> Any:
    return srsly.read_yaml(path)


def bounds(requirements: list[str]) -> dict[str, Version]:
    """The lowest version of each package that is allowed."""
    found = {}
    for requirement in map(Requirement, requirements):
        lowest = [Version(part.version) for part in requirement.specifier if part.operator == ">="]
        if lowest:
            found[requirement.name] = lowest[0]
    return found


def test_the_oldest_versions_are_the_lower_bounds() -> None:
    lines = [line for line in text_of(".ci/oldest.txt").splitlines() if line and not line.startswith("#")]
    pinned = {name: Version(version) for name, version in (line.split("==") for line in lines)}
    for name in ("click", "pyparsing"):
        assert pinned.pop(name), "what is not ours stands there with its reason"
    needed = bounds(PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"])
    expected = {name: version for name, version in needed.items() if name not in LINTERS}
    assert pinned.keys() == expected.keys()
    # A bound such as >=77 admits 77.0.1, where there is no 77.0.
    for name, version in expected.items():
        assert pinned[name].release[: len(version.release)] == version.release, name


def test_bounds_are_the_same_in_all_extras() -> None:
    extras = PROJECT["optional-dependencies"]
    test = bounds(extras["test"])
    for extra in ("plots", "sklearn"):
        assert bounds(extras[extra]).items() <= test.items()


def test_bounds_are_those_of_the_docs() -> None:
    table = text_of("docs/deployment.md").split("## Tested versions")[1]
    oldest = {
        row[0].lower(): row[2] for row in re.findall(r"^\| ([\w-]+) \| (.+?) \| ([\d.]+) \|", table, re.MULTILINE)
    }
    for name, version in bounds(PROJECT["dependencies"]).items():
        assert Version(oldest[name]).release[: len(version.release)] == version.release, name


def steps() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Workflow, job and step."""
    for path in WORKFLOWS:
        for job in yaml_of(path)["jobs"].values():
            for step in job["steps"]:
                yield path.name, job, step


def test_workflows_run_scripts_that_exist() -> None:
    called = {script for _, _, step in steps() for script in re.findall(r"\.ci/[\w.]+", step.get("run", ""))}
    assert {".ci/lint", ".ci/quick", ".ci/oldest.txt", ".ci/run", ".ci/sdist", ".ci/site"} <= called
    assert all((REPOSITORY / script).is_file() for script in called)


def test_workflows_only_use_actions_of_the_host() -> None:
    used = {step["uses"] for _, _, step in steps() if "uses" in step}
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", action) for action in used), used


def test_steps_and_jobs_are_complete() -> None:
    for name, job, step in steps():
        assert ("run" in step) != ("uses" in step), name
        assert job["runs-on"], name


def test_every_supported_python_and_system_is_tested() -> None:
    matrix = yaml_of(REPOSITORY / ".github" / "workflows" / "tests.yml")["jobs"]["quick"]["strategy"]["matrix"]
    classifiers = [line.rpartition(" :: ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert matrix["python"] == classifiers
    assert PROJECT["requires-python"] == f">={classifiers[0]}"
    systems = {line.split(" :: ")[1] for line in PROJECT["classifiers"] if line.startswith("Operating System")}
    assert systems == {"MacOS", "Microsoft", "POSIX"}
    assert [name.partition("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]


def test_hooks_are_the_commands_of_lint() -> None:
    lint = text_of(".ci/lint")
    for repository in yaml_of(REPOSITORY / ".pre-commit-config.yaml")["repos"]:
        assert repository["repo"] == "local", "other repositories have versions of their own"
        for hook in repository["hooks"]:
            command = hook["entry"].removesuffix(" --fix")
            assert re.search(rf"^{command}\b", lint, re.MULTILINE), command
            tool = command.split()[0].replace("lint-imports", "import-linter")
            assert tool in LINTERS & bounds(PROJECT["optional-dependencies"]["test"]).keys()


@pytest.mark.parametrize("name", ["bug.yml", "feature.yml"])
def test_issue_forms(name: str) -> None:
    form = yaml_of(REPOSITORY / ".github" / "ISSUE_TEMPLATE" / name)
    assert {"name", "description", "body"} <= form.keys()
    ids = [field["id"] for field in form["body"]]
    assert len(set(ids)) == len(ids)
    assert all(field["attributes"]["label"] for field in form["body"])


@pytest.mark.parametrize("path", sorted((REPOSITORY / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_what_benchmarks_take_from_the_package_is_there(path: Path) -> None:
    """They are run by hand, and seldom."""
    taken = [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "spacy_graft"
        for alias in node.names
    ]
    for module, name in taken:
        if not hasattr(importlib.import_module(module), name):
            importlib.import_module(f"{module}.{name}")


def test_the_citation_is_of_this_version() -> None:
    citation = yaml_of(REPOSITORY / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == spacy_graft.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]
    assert all({"type", "title", "authors", "year"} <= reference.keys() for reference in citation["references"])


def test_the_changelog_keeps_its_form() -> None:
    text = text_of("CHANGELOG.md")
    versions = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.MULTILINE)
    assert versions[0] == ("Unreleased", "")
    assert all(date for _, date in versions[1:])
    kinds = re.findall(r"^### (.+)$", text, re.MULTILINE)
    assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_entry_of_the_universe() -> None:
    entry = srsly.read_json(REPOSITORY / "universe.json")
    assert {field: type(value) for field, value in entry.items()} == UNIVERSE_FIELDS
    assert entry["id"] == entry["pip"] == PROJECT["name"]
    assert f"https://github.com/{entry['github']}" == entry["url"] == URL
    assert entry["author"] == PROJECT["authors"][0]["name"]
    assert set(entry["category"]) <= UNIVERSE_CATEGORIES
    assert len(entry["slogan"]) < 100


def test_the_example_of_the_universe_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec("\n".join(srsly.read_json(REPOSITORY / "universe.json")["code_example"]), {})
    assert "log-odds against blame" in capsys.readouterr().out


def test_the_address_is_that_of_pyproject() -> None:
    """It is a placeholder: a change in one place must reach all others."""
    assert all(url.startswith(URL) for url in PROJECT["urls"].values())
    assert yaml_of(REPOSITORY / "CITATION.cff")["repository-code"] == URL
    host, _, owner = URL.removeprefix("https://").partition("/")
    for path in [
        *REPOSITORY.glob("*.md"),
        *(REPOSITORY / ".github").rglob("*.yml"),
        *(REPOSITORY / "docs").glob("*.md"),
    ]:
        for name in re.findall(
            rf"{re.escape(host)}/([\w.-]*spacy-graft[\w.-]*/[\w-]+)", path.read_text(encoding="utf-8")
        ):
            assert name == owner, path
