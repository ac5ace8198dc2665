"""A bundle proves itself, in Python and on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import cuvil_runtime
import numpy as np
import pytest
from cuvil_runtime.golden import difference
from cuvil_schema import Tensor, pack_tensors

from tests.runtime import toy as hand

FLOAT = np.float32


@pytest.mark.parametrize(
    ("found", "expected", "error"),
    [
        (FLOAT([1, 2]), FLOAT([1, 2]), 0.0),
        (FLOAT([3, 4]), FLOAT([3, 5]), 1 / np.sqrt(34)),
        (FLOAT([0.5, 0]), FLOAT([0, 0]), 0.5),
        (FLOAT([np.nan, np.inf, 1]), FLOAT([np.nan, np.inf, 1]), 0.0),
        (FLOAT([np.inf, 1]), FLOAT([-np.inf, 1]), np.inf),
        (FLOAT([np.nan, 1]), FLOAT([0, 1]), np.inf),
        (FLOAT([1]), FLOAT([[1]]), np.inf),
        (np.int64([1, 2]), np.int64([1, 2]), 0.0),
        (np.int64([1, 2]), np.int64([1, 3]), np.inf),
        (np.zeros(0, FLOAT), np.zeros(0, FLOAT), 0.0),
    ],
)
def test_difference(found: np.ndarray, expected: np.ndarray, error: float) -> None:
    assert difference(found, expected) == pytest.approx(error)


def test_verify_runs_what_can_run(toy_file: Path) -> None:
    verification = cuvil_runtime.verify(toy_file)
    assert verification.good and list(verification.skipped) == ["imaginary"]
    assert [(one.entry, one.output, one.error) for one in verification.compared] == [
        ("add", "y", 0.0),
        ("main", "sum", 0.0),
        ("main", "ramp", 0.0),
        ("main", "pool", 0.0),
    ]
    assert "agrees  plain add[0] y: error 0.0e+00, allowed 1.0e-06 (n=2)" in str(verification)


def test_verify_finds_a_difference(tmp_path: Path) -> None:
    file = _with_golden(tmp_path, np.float32([2, 4]))
    verification = cuvil_runtime.verify(file)
    assert not verification.good and verification.compared[0].error == pytest.approx(1 / np.sqrt(20))
    assert "DIFFERS plain add[0] y: error 2.2e-01, allowed 1.0e-06 (n=2)" in str(verification)


def test_a_golden_array_that_is_missing(tmp_path: Path) -> None:
    file = _with_golden(tmp_path, np.float64([2, 3]))
    with pytest.raises(cuvil_runtime.Malformed, match=r"toy\.cuvil: section golden has no f32 tensor 'out\.add\.0\.y'"):
        cuvil_runtime.verify(file)


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cuvil_runtime", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_commands(toy_file: Path, tmp_path: Path) -> None:
    assert json.loads(command("explain", toy_file, "--json").stdout)["chosen"] == "plain"
    assert json.loads(command("verify", toy_file, "--json").stdout)["agrees"] is True
    ran = command("run", toy_file)
    assert ran.returncode == 0 and "sum: float32[1, 3]\n[[6. 7. 8.]]" in ran.stdout
    np.save(tmp_path / "x.npy", np.float32([1, 2, 3]))
    given = command("run", toy_file, "--entry", "add", f"x={tmp_path / 'x.npy'}", "--out", tmp_path / "y.npz", "--json")
    assert json.loads(given.stdout)["outputs"] == {"y": {"dtype": "float32", "shape": [3]}}
    assert np.load(tmp_path / "y.npz")["y"].tolist() == [2, 3, 4]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "absent.cuvil"), "error: absent.cuvil: No such file or directory"),
        (("run", "TOY", "x"), "error: 'x' is not NAME=FILE.npy: [Errno 2] No such file"),
        (("run", "TOY", "x=absent.npy"), "is not NAME=FILE.npy: [Errno 2] No such file or directory: 'absent.npy'"),
        (("run", "TOY", f"x={__file__}"), "is not NAME=FILE.npy: "),
        (("run", "TOY", "--variant", "imaginary"), "error: toy.cuvil: variant imaginary needs imaginary_isa"),
    ],
)
def test_command_mistakes(arguments: tuple[str, ...], sentence: str, toy_file: Path) -> None:
    done = command(*(toy_file if argument == "TOY" else argument for argument in arguments))
    assert done.returncode == 1 and sentence in done.stderr and "Traceback" not in done.stderr


def _with_golden(folder: Path, y: np.ndarray) -> Path:
    parts = hand.toy()
    x = np.float32([1, 2])
    names = {"float32": "f32", "float64": "f64"}
    parts.sections["golden"] = pack_tensors(
        {
            "in.add.0.x": Tensor("f32", x.shape, x.data),
            "out.add.0.y": Tensor(names[y.dtype.name], y.shape, y.data),
        }
    )
    parts.manifest = parts.manifest._replace(golden=parts.manifest.golden[:1])
    return parts.write(folder / "toy.cuvil")
