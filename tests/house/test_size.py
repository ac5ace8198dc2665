"""Files are read in one sitting; the base install is small."""

from __future__ import annotations

import ast
import subprocess
import sys
import tokenize
import venv
from pathlib import Path

import pytest

from .imports import ROOT

LONGEST = 450
FOLDERS = ("cuvil_pack", "runtime", "schemas", "samples", "tests")
FILES = [f for folder in FOLDERS for f in sorted((ROOT / folder).rglob("*")) if f.suffix in (".py", ".c", ".h")]
SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(file: Path) -> int:
    """Lines that hold code: neither empty nor only a comment or a docstring."""
    if file.suffix != ".py":
        return sum(
            not line.strip().startswith(("//", "/*", "*")) for line in file.read_text().splitlines() if line.strip()
        )
    with tokenize.open(file) as opened:
        tokens = [t for t in tokenize.generate_tokens(opened.readline) if t.type not in SKIPPED]
    lines = {n for t in tokens for n in range(t.start[0], t.end[0] + 1)}
    return len(lines - set(_docstrings(file)))


def _docstrings(file: Path) -> list[int]:
    texts = (
        node.value
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    )
    return [n for t in texts for n in range(t.lineno, (t.end_lineno or t.lineno) + 1)]


def test_no_file_is_long() -> None:
    long = {str(f.relative_to(ROOT)): n for f in FILES if (n := code_lines(f)) > LONGEST}
    assert not long, f"more than {LONGEST} lines of code: {long}"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of a fresh environment with the wheel of this tree, without extras."""
    folder = tmp_path_factory.mktemp("base")
    pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    venv.create(folder / "venv", with_pip=True, symlinks=True)
    (wheel,) = folder.glob("cuvil-*.whl")
    python = folder / "venv" / "bin" / "python"
    pip(str(python), "install", "--constraint", str(ROOT / "constraints.txt"), str(wheel))
    return python.parent


def pip(python: str, *arguments: str) -> None:
    subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


@pytest.mark.network
def test_the_base_install_holds_the_runtime_only(base: Path) -> None:
    listed = subprocess.run([base / "python", "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True)
    names = {line.partition("==")[0] for line in listed.stdout.splitlines()}
    assert names - {"setuptools"} == {"pip", "numpy", "msgpack", "cuvil"}, (
        "setuptools is what venv brings to Python 3.11"
    )


@pytest.mark.network
def test_the_runtime_is_small(base: Path) -> None:
    (site,) = (base.parent / "lib").glob("python*/site-packages")
    files = [f for name in ("cuvil_runtime", "cuvil_schema") for f in (site / name).rglob("*") if f.is_file()]
    assert any(f.suffix == ".pyc" for f in files), "bytecode is counted"
    assert sum(f.stat().st_size for f in files) <= 300_000
    assert len(list((site / "cuvil_pack" / "kernels" / "cpu").glob("*.h"))) == len(
        list((ROOT / "cuvil_pack" / "kernels" / "cpu").glob("*.h"))
    )


@pytest.mark.network
def test_the_packer_of_a_base_install_names_its_extra(base: Path) -> None:
    done = subprocess.run([base / "cuvil-pack", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: click is not installed: pip install 'cuvil[pack]'\n"
