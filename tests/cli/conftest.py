"""Bundles that the tests of the command line share, packed once by the command line itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from .process import MODELS, cuvil_pack


def packed(folder: Path, function: str, *more: str) -> Path:
    path = folder / f"{function}.cuvil"
    done = cuvil_pack("build", f"{MODELS}:{function}", "-o", path, *more)
    assert done.code == 0, done.err
    return path


@pytest.fixture(scope="session")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """x: f32[batch, 8] with batch in 1..32, for all default targets."""
    return packed(tmp_path_factory.mktemp("bundles"), "good", "--dim", "batch=1..32")


@pytest.fixture(scope="session")
def scaled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `good`, with other weights in the second layer."""
    return packed(tmp_path_factory.mktemp("bundles"), "scaled", "--dim", "batch=1..32")


@pytest.fixture(scope="session")
def deeper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `good`, with a tanh behind it and no end of batch."""
    return packed(tmp_path_factory.mktemp("bundles"), "deeper", "--dim", "batch=1..")


@pytest.fixture(scope="session")
def embedding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ids: i64[2, 3], each below 10."""
    return packed(tmp_path_factory.mktemp("bundles"), "embedding", "--target", "x86-64-v2")
