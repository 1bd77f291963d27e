"""What pyproject.toml cannot say: the configs of the repository are inside of the package that is installed."""

from __future__ import annotations

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["spacy_graft*"]), "spacy_graft.configs"],
    package_dir={"spacy_graft.configs": "configs"},
)
