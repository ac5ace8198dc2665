"""One toy bundle and one add bundle for all the tests of a process, and sessions of them."""

from collections.abc import Iterator
from pathlib import Path

import cuvil_runtime
import pytest

from tests.runtime import toy as hand


@pytest.fixture(scope="session")
def toy_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hand.toy().write(tmp_path_factory.mktemp("bundles") / "toy.cuvil")


@pytest.fixture(scope="session")
def add_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hand.add().write(tmp_path_factory.mktemp("bundles") / "add.cuvil")


@pytest.fixture
def toy(toy_file: Path) -> Iterator[cuvil_runtime.Session]:
    with cuvil_runtime.load(toy_file, threads=1) as session:
        yield session


@pytest.fixture
def add(add_file: Path) -> Iterator[cuvil_runtime.Session]:
    with cuvil_runtime.load(add_file, threads=1) as session:
        yield session
