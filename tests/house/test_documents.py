"""What can be typed or set is written down where people look."""

from __future__ import annotations

import re

import click

from cuvil_pack.cli.program import COMMANDS, program

from .imports import ROOT

README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
SOURCES = [
    f for folder in ("cuvil_pack", "runtime", "schemas", "tests", "samples") for f in (ROOT / folder).rglob("*.py")
]
INTERNAL = {"CUVIL_PACK_COMPLETE", "CUVIL_ABI"}


def test_every_variable_is_documented() -> None:
    used = {v for f in SOURCES for v in re.findall(r"(?<![A-Z_])CUVIL_[A-Z]+(?:_[A-Z]+)*\b", f.read_text())} - INTERNAL
    documented = set(re.findall(r"^\| `(CUVIL_\w+)` \|", ARCHITECTURE, re.MULTILINE))
    assert used == documented


def test_every_command_is_in_the_readme() -> None:
    assert all(re.search(rf"\b{name}\b", README) for name in COMMANDS if name != "completion")


def test_the_options_that_the_readme_shows_exist() -> None:
    context = click.Context(program)
    for name, line in re.findall(r"^cuvil-pack (\w+) (.*)$", README, re.MULTILINE):
        command = program.get_command(context, name)
        assert command is not None
        known = {o for p in command.params for o in p.opts}
        assert set(re.findall(r"(?<!\S)--?[a-z]+", line.partition("#")[0])) <= known


def test_exit_codes_are_documented_where_they_are_helped() -> None:
    shown = program.get_help(click.Context(program))
    for code, words in re.findall(
        r"(\d+) ([a-z][^;.]*)", ARCHITECTURE.partition("Exit codes of")[2].partition("With")[0]
    ):
        assert re.search(rf"\b{code} +{' '.join(words.split())}", shown)


def test_rooms_are_described() -> None:
    folders = {f"cuvil_pack/{f.name}" for f in (ROOT / "cuvil_pack").iterdir() if (f / "__init__.py").is_file()}
    described = set(re.findall(r"^\| `(cuvil_pack/\w+)` \|", ARCHITECTURE, re.MULTILINE))
    assert described == folders


def test_the_readme_is_one_screen() -> None:
    assert len(README.splitlines()) <= 60


def test_no_path_of_one_machine() -> None:
    texts = [*SOURCES, ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "Makefile", ROOT / "pyproject.toml"]
    found = [str(f) for f in texts if re.search(r"['\"( ](/home/\w|/root/|/tmp/\w)", f.read_text())]
    assert not found
