"""What a comparison writes, from samples made up; nothing is timed."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.benchmarks import compare, footprint, profile
from tests.benchmarks.ceilings import Ceilings
from tests.benchmarks.environment import ROOT, variables
from tests.benchmarks.plot import write_plot
from tests.benchmarks.process import Died, result
from tests.benchmarks.ratios import Sample
from tests.benchmarks.systems import SUBJECT, SYSTEMS
from tests.benchmarks.timed import LOADERS
from tests.benchmarks.traced import by_kind

MACHINE = Ceilings(2, fma_gflops=100, l1_gbs=400, l2_gbs=200, dram_gbs=10)
FACTS = {"flops": 2_000_000, "weights": 4_000, "torch_rel_err": 2e-7}
ROW = {"workload", "system", "median_ms", "p10_ms", "p90_ms", "threads", "dtype", "rel_err", "calls", "rounds"}


@pytest.fixture(autouse=True)
def own_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A benchmark that runs meanwhile holds up no test."""
    monkeypatch.setenv("CUVIL_BENCH_LOCK", str(tmp_path / "lock"))


@pytest.fixture
def made() -> dict[str, Any]:
    samples = [
        Sample(workload, system, number, (ms * 10**6,) * 3, error)
        for number in range(2)
        for workload, error in (("resnet18", 1e-7), ("minilm", 1e-4))
        for system, ms in (("cuvil", 2), ("onnxruntime", 4), ("openvino", 5))
    ]
    samples.append(Sample("minilm", "openvino", 2, (), math.nan, "signal 9: "))
    options = {"dtype": "fp32", "accuracy": "standard", "threads": 2, "rounds": 2}
    return compare.document(MACHINE, {"resnet18": FACTS, "minilm": FACTS}, samples, options)


def test_json(made: dict[str, Any]) -> None:
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert all(set(row) == ROW for row in made["rows"])
    assert [(r["workload"], r["peer"], r["ratio"]) for r in made["against_best"]] == [
        ("resnet18", "onnxruntime", 0.5),
        ("minilm", "onnxruntime", 0.5),
    ]
    assert made["machine"]["fma_gflops"] == 100
    assert made["workloads"]["minilm"]["floor_ms"] == pytest.approx(0.02)
    assert made["troubles"] == [{"workload": "minilm", "system": "openvino", "trouble": "signal 9: "}]
    assert len(made["rounds"]) == 12


def test_report_names_what_is_less_accurate_than_its_class(made: dict[str, Any]) -> None:
    lines = list(compare.report(made, MACHINE))
    assert "minilm: error 1.0e-04 is above 1.0e-05" in lines
    assert any(line.startswith("geometric mean") and "0.50" in line for line in lines)


@pytest.mark.parametrize("name", ["ratios.html", "ratios.svg"])
def test_plot(made: dict[str, Any], tmp_path: Path, name: str) -> None:
    write_plot(made, tmp_path / name)
    text = (tmp_path / name).read_text()
    picture = ElementTree.fromstring(text[text.index("<svg") :])
    assert {"minilm", "0.50", "over onnxruntime"} <= {t.text for t in picture.iter("{http://www.w3.org/2000/svg}text")}


def test_workloads_exist() -> None:
    from tests.benchmarks import workloads

    assert set(compare.WORKLOADS) <= workloads.WORKLOADS.keys()


def test_every_system_has_a_loader_and_a_turn_to_be_first() -> None:
    systems = SYSTEMS["fp32"]
    assert {s.loader for known in SYSTEMS.values() for s in known.values()} <= LOADERS.keys()
    assert {compare.rotated(list(systems), number)[0] for number in range(len(systems))} == systems.keys()
    assert SUBJECT in systems


@pytest.mark.parametrize("words", ["--systems tvm", "--workloads resnet19", "--rounds 0", "--dtype int3"])
def test_what_is_not_there_is_refused(words: str) -> None:
    with pytest.raises(SystemExit):
        compare.arguments(words.split())


def test_result_is_the_last_line() -> None:
    found = result([sys.executable, "-c", "print('noise'); print('{\"ms\": 1}')"], variables(1))
    assert found["ms"] == 1


@pytest.mark.parametrize(
    ("program", "words"),
    [("raise ValueError('odd')", "exit code 1: .*ValueError: odd"), ("import os; os.abort()", "signal 6")],
)
def test_a_process_that_dies_says_how(program: str, words: str) -> None:
    with pytest.raises(Died, match=words):
        result([sys.executable, "-c", program], variables(1))


def test_a_process_that_takes_too_long() -> None:
    with pytest.raises(Died, match="no result after 0 s"):
        result([sys.executable, "-c", "import time; time.sleep(60)"], variables(1), timeout=0.2)


def test_profile_lines() -> None:
    step = {"kind": "matmul_add [matmul]", "flops": 4000, "bytes": 100, "writes": ["f32[2, 3]"]}
    parts: list[dict[str, Any]] = [
        {**step, "name": f"k{n}_matmul_add", "ns": ns, "schedule": {"rows": 6}} for n, ns in enumerate((40, 160))
    ]
    assert list(by_kind(parts)) == [("matmul_add [matmul]", 2, 200, 8000)]
    _, slow, fast = profile.step_lines(parts, MACHINE, by_time=True)
    assert slow.split()[:5] == ["1", "0.2", "80.0%", "25.0", "25%"]
    assert fast.endswith("k0_matmul_add [matmul] f32[2, 3] rows=6")


def test_footprint_report() -> None:
    cost = {"start_ms": 100.0, "peak_mb": 90.0, "anonymous_mb": 30.0, "files_mb": 60.0}
    both = {"cuvil": 2, "onnxruntime": 4}
    report = footprint.report(
        {
            "workload": "resnet50",
            "threads": 2,
            "processes": {"cuvil": cost, "onnxruntime": cost},
            "imports_ms": {"numpy": 70.0},
            "add_one_us": both,
            "ratios": {"start": 0.3, "peak": 0.6, "import_over_numpy": 1.1, "add_one": 0.5},
            "bytes": {"installed": both},
        }
    )
    assert "    cuvil / onnxruntime: first result 0.30, peak memory 0.60" in report


@pytest.mark.parametrize("script", ["compare.py", "footprint.py", "profile.py"])
def test_scripts_start(script: str) -> None:
    command = [sys.executable, str(ROOT / "tests" / "benchmarks" / script), "--help"]
    assert "usage:" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
