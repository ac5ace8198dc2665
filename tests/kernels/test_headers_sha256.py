"""sha256.h against hashlib; a damaged weight is found by it and without it."""

import ctypes
from hashlib import sha256
from pathlib import Path

import cuvil_runtime
import numpy as np
import pytest
import torch

import cuvil_pack
from tests.kernels.harness import RUNNABLE, build
from tests.kernels.test_program import Call

PIECE = 1 << 20
SOURCE = '#include "program.h"\n#include "vector.h"\n#include "sha256.h"\n'
SIXTEEN_LANES = [level for level in RUNNABLE if level == "x86-64-v4"]


@pytest.mark.parametrize("level", SIXTEEN_LANES)
@pytest.mark.parametrize("threads", [1, 3])
def test_pieces(level: str, threads: int) -> None:
    library = ctypes.CDLL(str(build(SOURCE, level)))
    library.cuvil_open.restype = ctypes.c_void_p
    library.cuvil_close.argtypes = [ctypes.c_void_p]
    library.cuvil_sha256.argtypes = [ctypes.c_void_p, ctypes.POINTER(Call)]
    data = np.random.default_rng(3).integers(0, 256, 49 * PIECE, np.uint8)
    right = [sha256(data[n * PIECE : (n + 1) * PIECE]).digest() for n in range(49)]
    pool = library.cuvil_open(threads)
    for pieces in (0, 1, 2, 15, 16, 17, 31, 33, 49):
        found = np.full(32 * 49 + 64, 0xA5, np.uint8)
        places = np.array([data.ctypes.data, found.ctypes.data, pieces], np.int64)
        call = Call(*(places.ctypes.data + 8 * n for n in range(3)))
        assert library.cuvil_sha256(pool, ctypes.byref(call)) == 0
        assert bytes(found[: 32 * pieces]) == b"".join(right[:pieces]), pieces
        assert np.all(found[32 * pieces :] == 0xA5), "writes behind its digests"
    library.cuvil_close(pool)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "linear.cuvil"
    targets = [level for level in ("x86-64-v3", "x86-64-v4") if level in RUNNABLE] or RUNNABLE
    cuvil_pack.pack(torch.nn.Linear(1500, 3001), (torch.ones(1, 1500),), output=path, targets=tuple(targets))
    return path


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_damage_of_large_weights(large: Path, tmp_path: Path, threads: int) -> None:
    with cuvil_runtime.load(large, threads) as session:
        variants = [v.name for v in session.manifest.variants]
        section = next(s for s in session.manifest.sections if s.name == "weights")
    damaged = tmp_path / "damaged.cuvil"
    for variant in variants:
        for at in (4000, 3 * PIECE + 77, 16 * PIECE - 1, section.size - 1):
            data = bytearray(large.read_bytes())
            data[section.offset + at] ^= 4
            damaged.write_bytes(data)
            with pytest.raises(cuvil_runtime.Damaged, match=r"damaged.cuvil: section weights is damaged"):
                cuvil_runtime.load(damaged, threads, variant)
        with cuvil_runtime.load(large, threads, variant) as session:
            assert session(np.ones((1, 1500), np.float32)).shape == (1, 3001)
