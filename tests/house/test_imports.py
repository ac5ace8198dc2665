"""The import contracts: what import-linter cannot say, and the picture in ARCHITECTURE.md."""

from __future__ import annotations

import re
import tomllib

import pytest

from .imports import ROOT, modules, ordered, outside, picture, rooms, siblings

ARCHITECTURE = ROOT / "ARCHITECTURE.md"
FOLDERS = [m for m, file in modules().items() if file.name == "__init__.py"]
EXTRAS = {"huggingface_hub": "transformers"}
"""Packages that come with another one."""


def test_the_picture_of_imports_is_the_real_one() -> None:
    drawn = re.search(r"```imports\n(.*?)\n?```", ARCHITECTURE.read_text(), re.DOTALL)
    assert drawn is not None and drawn[1] == picture(), f"draw this in ARCHITECTURE.md:\n{picture()}"


def test_rooms_form_no_cycle() -> None:
    assert len(ordered(rooms())) == len(rooms())


@pytest.mark.parametrize("package", FOLDERS)
def test_folders_form_no_cycle(package: str) -> None:
    edges = siblings(package)
    folders = {child for child in edges if f"{package}.{child}" in FOLDERS}
    if folders:
        assert set(ordered(edges)) >= folders


def test_every_dependency_has_its_line() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    names = {re.split(r"[<>=!~\[; ]", d)[0] for d in wanted}
    table = ARCHITECTURE.read_text().partition("## Dependencies")[2].partition("## ")[0]
    listed = {name for row in re.findall(r"^\| ([\w, -]+) \|", table, re.MULTILINE) for name in row.split(", ")}
    assert listed - {"package"} == names
    assert {EXTRAS.get(p, p) for p in outside()} <= names


def test_the_runtime_needs_numpy_and_msgpack_only() -> None:
    from .imports import PACKAGES, imports

    runtime = {m for m in modules() if not m.startswith("cuvil_pack")}
    found = {t.partition(".")[0] for m in runtime for t in imports()[m]}
    import sys

    assert found - sys.stdlib_module_names - set(PACKAGES) <= {"numpy", "msgpack", "_typeshed"}
