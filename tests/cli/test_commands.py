"""The commands on sound bundles: what they tell people, and the same as JSON."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import cuvil_runtime
import numpy as np
import pytest

from cuvil_pack.cli.program import COMMANDS, program

from .process import MODELS, cuvil_pack, variables


def told(*arguments: str | Path, code: int = 0) -> dict[str, Any]:
    """What a command says with --json."""
    done = cuvil_pack(*arguments, "--json")
    assert done.code == code, done.err
    data: dict[str, Any] = json.loads(done.out)
    return data


def shown(*arguments: str | Path, code: int = 0) -> str:
    done = cuvil_pack(*arguments)
    assert done.code == code, done.err
    return done.out


def test_build_tells_stages_and_the_end(tmp_path: Path) -> None:
    path = tmp_path / "m.cuvil"
    done = cuvil_pack("build", f"{MODELS}:good", "-o", path, "--dim", "batch=1..32")
    assert [line.split()[-1] for line in done.err.splitlines()] == [
        "read", "optimise", "plan", "compile", "write", "prove",
    ]  # fmt: skip
    assert re.fullmatch(rf"{re.escape(str(path))}: [\d.]+ kB, x86-64-v4, x86-64-v3, x86-64-v2,.* [\d.]+ s\n", done.out)


def test_build_as_json_is_one_object(tmp_path: Path) -> None:
    data = told("build", f"{MODELS}:good", "-o", tmp_path / "m.cuvil", "--target", "x86-64-v2")
    assert data["bytes"] == (tmp_path / "m.cuvil").stat().st_size
    assert data["variants"] == ["x86-64-v2"]


def test_inspect(good: Path) -> None:
    lines = shown("inspect", good).splitlines()
    facts = [tuple(line.split(maxsplit=1)) for line in lines]
    assert facts[:4] == [
        ("model", "good (torch Small)"),
        ("input", "x: f32[batch, 8]"),
        ("output", "output: f32[batch, 4]"),
        ("size", "batch in 1..32"),
    ]
    data = told("inspect", good)
    assert data["bytes"] == good.stat().st_size
    assert data["sizes"] == {"batch": [1, 32]}
    assert data["entries"]["main"]["outputs"] == [{"name": "output", "dtype": "f32", "shape": ["batch", 4]}]
    assert [v["name"] for v in data["variants"]] == ["x86-64-v4", "x86-64-v3", "x86-64-v2"]


def test_a_peak_without_maximum_depends_on_the_call(deeper: Path) -> None:
    assert re.search(r"peak +depends on the call: .*batch.* bytes", shown("inspect", deeper))
    assert "the peak depends on batch of the call: fix it with --dim" in shown("plan", deeper)
    assert isinstance(told("plan", deeper, "--dim", "batch=1000")["totals"]["peak"], int)


def test_inspect_graph_reads_back(good: Path) -> None:
    from cuvil_schema import Bundle, read_tensors

    from cuvil_pack.ir.text import from_text

    with Bundle(good) as bundle:
        tensors = read_tensors(bundle.section("weights"), "weights")
    weights = {n: np.frombuffer(bytes(t.data), np.float32).reshape(t.shape) for n, t in tensors.items()}
    graph = from_text(shown("inspect", good, "--graph"), weights)
    assert [i.name for i in graph.inputs] == ["x"]


def test_inspect_weights_are_sorted_and_complete(good: Path) -> None:
    weights = told("inspect", good, "--weights")["weights"]
    assert [w["bytes"] for w in weights] == sorted((w["bytes"] for w in weights), reverse=True)
    assert "100.0 %" in shown("inspect", good, "--weights").splitlines()[-1]


def test_plan_places_every_step(good: Path) -> None:
    data = told("plan", good, "--dim", "batch=2", "--variant", "x86-64-v2")
    assert data["variant"] == "x86-64-v2"
    for step in data["steps"]:
        assert step["ops"] and step["kernel"] and step["flops"] > 0 and step["bytes"] > 0
        assert step["where"].startswith("models.py:")
    assert data["steps"][-1]["writes"][0]["kind"] == "output"
    kernels = told("inspect", good, "--kernels", "--variant", "x86-64-v2")["kernels"]
    assert {k["kernel"] for k in kernels} == {s["kernel"] for s in data["steps"]}


def test_plan_of_the_greatest_call_is_the_peak_that_inspect_tells(good: Path) -> None:
    assert told("plan", good)["totals"] == told("inspect", good)["memory"]["main"]


def test_explain_and_verify(good: Path) -> None:
    assert told("explain", good)["chosen"] in shown("explain", good)
    assert told("verify", good)["agrees"] is True
    assert "agrees" in shown("verify", good, "--threads", "1")


def test_run_takes_files_and_writes_the_answer(good: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((5, 8), np.float32)
    np.save(tmp_path / "x.npy", x)
    told("run", good, f"x={tmp_path / 'x.npy'}", "--out", tmp_path / "answer.npz", "--threads", "1")
    with cuvil_runtime.load(good, threads=1) as session, np.load(tmp_path / "answer.npz") as answer:
        assert np.array_equal(answer["output"], session.run({"x": x})["output"])


def test_run_with_random_inputs_of_a_size(good: Path, embedding: Path) -> None:
    assert told("run", good, "--random", "--dim", "batch=7")["outputs"]["output"]["shape"] == [7, 4]
    assert told("run", embedding, "--random")["outputs"]["output"]["shape"] == [2, 3, 4]


def test_bench_tells_every_step_and_its_floor(good: Path) -> None:
    data = told("bench", good, "--rounds", "5", "--threads", "1", "--dim", "batch=8")
    assert data["sizes"] == {"batch": 8} and data["threads"] == 1
    assert 0 < data["p10_ns"] <= data["median_ns"] <= data["p90_ns"]
    assert all(step["ns"] >= 0 and step["floor_ns"] > 0 for step in data["steps"])
    assert "x floor" in shown("bench", good, "--rounds", "2").splitlines()[0]


def test_diff_of_a_bundle_with_itself(good: Path) -> None:
    assert shown("diff", good, good) == "the same in meaning\n"
    assert told("diff", good, good)["same"] is True


def test_diff_tells_changed_weights(good: Path, scaled: Path) -> None:
    data = told("diff", good, scaled, code=1)
    assert data["graph"] == data["interface"] == data["schedules"] == []
    (changed,) = data["weights"]
    assert "second.weight" in changed and "relative change 5.00e-01" in changed


def test_diff_tells_a_changed_graph_and_sizes(good: Path, deeper: Path) -> None:
    data = told("diff", good, deeper, code=1)
    assert data["interface"] == ["size batch: batch in 1..32 -> batch in 1.."]
    assert any("tanh" in line and line.startswith("+") for line in data["graph"])
    assert data["weights"] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples(name: str) -> None:
    done = cuvil_pack(name, "--help")
    assert done.code == 0
    _, _, examples = done.out.partition("\nExamples:\n")
    assert f"cuvil-pack {name}" in examples.splitlines()[0]


def test_help_documents_the_exit_codes() -> None:
    assert re.search(r"0 +done\n +1 .*\n +2 .*\n +130 ", cuvil_pack("--help").out)


def test_every_option_has_help() -> None:
    import click

    context = click.Context(program)
    for name in COMMANDS:
        command = program.get_command(context, name)
        assert command is not None and command.help
        options = [p for p in command.params if isinstance(p, click.Option)]
        assert all(o.help for o in options), name
        assert {"--json", "--verbose"} <= {o for p in options for o in p.opts}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    assert "_CUVIL_PACK_COMPLETE" in shown("completion", shell)


def test_completion_knows_the_commands() -> None:
    asked = {"_CUVIL_PACK_COMPLETE": "bash_complete", "COMP_WORDS": "cuvil-pack in", "COMP_CWORD": "1"}
    assert cuvil_pack(env=asked).out == "plain,inspect\n"


def test_on_a_terminal_there_are_bars_and_in_a_pipe_none(tmp_path: Path) -> None:
    import os
    import pty

    from .process import command

    main, side = pty.openpty()
    words = command(["build", f"{MODELS}:good", "-o", str(tmp_path / "m.cuvil"), "--target", "x86-64-v2"])
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=side, env=variables({"TERM": "xterm-256color"}))
    os.close(side)
    seen = b""
    try:
        while chunk := os.read(main, 4096):
            seen += chunk
    except OSError:
        pass
    assert process.wait(timeout=120) == 0
    assert "━".encode() in seen and b"compile" in seen
    assert process.stdout is not None and b"\x1b" not in process.stdout.read()
