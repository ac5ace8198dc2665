"""Every kind of user mistake has its sentence, an exit code, and no traceback; each runs as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from .process import MODELS, Done, command, cuvil_pack, variables

WITHOUT = "import sys; sys.modules.update(dict.fromkeys({names!r}))"
NO_ZIG = """
import importlib.metadata as metadata
real = metadata.version
def version(name):
    if name == "ziglang":
        raise metadata.PackageNotFoundError(name)
    return real(name)
metadata.version = version
"""
SMALL_FILES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20))"


@dataclass(frozen=True)
class Mistake:
    """What a user types, what the answer must hold, and how it ends.

    {good} and {embedding} are bundles, {folder} an empty folder that `prepare` may fill, {models} the file of models.
    """

    name: str
    arguments: str
    sentence: str
    code: int = 1
    prelude: str = ""
    env: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[Path, Path], object] = lambda folder, good: None


def array(name: str, values: object, dtype: str = "float32") -> Callable[[Path, Path], object]:
    return lambda folder, good: np.save(folder / name, np.array(values, dtype))


def rewritten(change: Callable[[bytes], bytes]) -> Callable[[Path, Path], object]:
    return lambda folder, good: (folder / "bad.cuvil").write_bytes(change(good.read_bytes()))


def text(name: str) -> Callable[[Path, Path], object]:
    return lambda folder, good: (folder / name).write_text("hello, this is no bundle")


X = np.zeros((2, 8))
MISTAKES = (
    # inputs of a call
    Mistake(
        "wrong dtype", "run {good} x={folder}/x.npy",
        "input x is float64[2, 8], the model takes f32[batch, 8]: "
        "convert it with numpy.asarray(x, dtype=numpy.float32)",
        prepare=array("x.npy", X, "float64"),
    ),
    Mistake(
        "wrong rank", "run {good} x={folder}/x.npy", "input x: f32[batch, 8] has 2 dimensions, not 1: [8]",
        prepare=array("x.npy", X[0]),
    ),
    Mistake(
        "size out of range", "run {good} x={folder}/x.npy",
        "input x: f32[batch, 8]: batch (dimension 0) is 33, outside 1..32",
        prepare=array("x.npy", np.zeros((33, 8))),
    ),
    Mistake(
        "wrong fixed size", "run {good} x={folder}/x.npy", "input x: f32[batch, 8]: dimension 1 is 7, not 8",
        prepare=array("x.npy", np.zeros((2, 7))),
    ),
    Mistake(
        "unknown input", "run {good} y={folder}/x.npy", "main has no input 'y'; it has x: f32[batch, 8]",
        prepare=array("x.npy", X),
    ),
    Mistake(
        "missing input", "run {embedding} {folder}/x.npy", "x.npy' is not NAME=FILE.npy", prepare=array("x.npy", X)
    ),
    Mistake(
        "no such array file", "run {good} x={folder}/nothing.npy", "nothing.npy: no such file or directory"
    ),
    Mistake(
        "array file is text", "run {good} x={folder}/x.npy",
        "x.npy is no .npy file that holds one array of numbers", prepare=text("x.npy"),
    ),
    Mistake(
        "array of objects", "run {good} x={folder}/x.npy", "x.npy is no .npy file that holds one array of numbers",
        prepare=lambda folder, good: np.save(folder / "x.npy", np.array([{}, None]), allow_pickle=True),
    ),
    Mistake(
        "index past the end", "run {embedding} ids={folder}/ids.npy",
        "a value is out of its range, such as an index past the end",
        prepare=array("ids.npy", [[1, 2, 3], [4, 5, 10]], "int64"),
    ),
    Mistake("unknown size", "run {good} --random --dim seq=3", "good has no size 'seq'; it has batch in 1..32"),
    Mistake("random size out of range", "plan {good} --dim batch=64", "batch is 64, outside 1..32"),
    Mistake("unknown entry", "run {good} --entry decode", "has no entry 'decode'; it has main"),
    # the file
    Mistake("no bundle", "inspect {folder}/bad.cuvil", "bad.cuvil: is not a cuvil bundle: it begins with 68 65 6c",
            prepare=text("bad.cuvil")),
    Mistake("no such bundle", "inspect {folder}/bad.cuvil", "bad.cuvil: No such file or directory"),
    Mistake("a folder", "inspect {folder}", "is not a regular file"),
    Mistake(
        "truncated bundle", "run {folder}/bad.cuvil", "bad.cuvil: has 1000 bytes, its header says",
        prepare=rewritten(lambda b: b[:1000]),
    ),
    Mistake(
        "newer format", "inspect {folder}/bad.cuvil",
        "bad.cuvil: is of format 2, this runtime knows format 1 without flags: update cuvil",
        prepare=rewritten(lambda b: b[:10] + b"\x02\x00" + b[12:]),
    ),
    Mistake(
        "damaged weights", "run {folder}/bad.cuvil",
        "bad.cuvil: section weights is damaged: its SHA-256 is not the one in the manifest",
        prepare=rewritten(lambda b: b[:-100] + b"\xff" + b[-99:]),
    ),
    Mistake("sent as text", "inspect {folder}/bad.cuvil", "transfer it as binary",
            prepare=rewritten(lambda b: b.replace(b"\r\n", b"\n"))),
    # this machine
    Mistake("cpu lacks the variant", "run {good} --variant x86-64-v2",
            "variant x86-64-v2 needs ssse3; CUVIL_CPU_DISABLE hides ssse3", env={"CUVIL_CPU_DISABLE": "ssse3"}),
    Mistake("cpu lacks every variant", "run {good}", "variant x86-64-v2 needs ssse3; CUVIL_CPU_DISABLE hides ssse3",
            env={"CUVIL_CPU_DISABLE": "ssse3"}),
    Mistake("unknown variant", "run {good} --variant avx9",
            "has no variant 'avx9'; it has x86-64-v4, x86-64-v3, x86-64-v2"),
    Mistake("threads that are no number", "run {good}", "CUVIL_THREADS is 'many', not a number of threads",
            env={"CUVIL_THREADS": "many"}),
    # the command line
    Mistake("no such command", "pack {good}", "No such command 'pack'", 2),
    Mistake("no such option", "inspect {good} --colour", "No such option", 2),
    Mistake("missing output", "build {models}:good", "Missing option '-o'", 2),
    Mistake("bad range", "build {models}:good -o {folder}/m.cuvil --dim batch=1-32",
            "'batch=1-32' is not NAME=MIN..MAX, NAME=MIN.. or NAME=N, such as batch=1..32", 2),
    Mistake("range that ends early", "build {models}:good -o {folder}/m.cuvil --dim batch=8..2",
            "'batch=8..2' ends before it begins", 2),
    Mistake("range given twice", "build {models}:good -o {folder}/m.cuvil --dim batch=1 --dim batch=2",
            "--dim gives batch twice", 2),
    Mistake("unknown target", "build {models}:good -o {folder}/m.cuvil --target x86-64-v5", "is not one of", 2),
    # the model
    Mistake("no model", "build nowhere -o {folder}/m.cuvil", "'nowhere' is no model that Cuvil reads: a torch module"),
    Mistake("no such file of models", "build nowhere.py:make -o {folder}/m.cuvil", "there is no file nowhere.py"),
    Mistake("no such function", "build {models}:make -o {folder}/m.cuvil", "models.py has no function make; it has"),
    Mistake("no function named", "build {models} -o {folder}/m.cuvil", "models.py needs the name of a function"),
    Mistake("function returns the wrong thing", "build {models}:only_a_module -o {folder}/m.cuvil",
            "models.py:only_a_module returned (Small): wanted is a function that returns (module, example inputs)"),
    Mistake("function raises", "build {models}:raises_at_once -o {folder}/m.cuvil",
            "models.py raises KeyError: 'no such layer'\n    at models.py:"),
    Mistake("function ends the program", "build {models}:ends -o {folder}/m.cuvil",
            "models.py:ends ends the program (SystemExit 3) instead of making a model"),
    Mistake("module raises", "build {models}:raises -o {folder}/m.cuvil",
            "Raises: the model raises ValueError: this layer was never finished\n    at models.py:"),
    Mistake("examples do not match", "build {models}:mismatched -o {folder}/m.cuvil",
            "mat1 and mat2 shapes cannot be multiplied (3x9 and 8x16)\n    at models.py:"),
    Mistake("unsupported operators", "build {models}:unsupported -o {folder}/m.cuvil",
            "unsupported: 2 operators cannot be packed"),
    Mistake("unknown dim", "build {models}:good -o {folder}/m.cuvil --dim width=1..8", "no axis is named width"),
    Mistake("empty Hugging Face folder", "build {folder} -o {folder}/m.cuvil",
            "has no config.json: it is no Hugging Face directory"),
    # the output
    Mistake("no output folder", "build {models}:good -o {folder}/no/m.cuvil", "m.cuvil: there is no folder"),
    Mistake("output is a folder", "build {models}:good -o {folder}", "is a folder"),
    Mistake("unwritable output", "build {models}:good -o /proc/m.cuvil", "/proc/m.cuvil: cannot be written"),
    Mistake("disk full", "build {models}:large -o {folder}/m.cuvil --target x86-64-v2",
            "the bundle could not be written: File too large", prelude=SMALL_FILES),
    Mistake("unwritable answer", "run {good} --out {folder}/no/answer.npz", "answer.npz: no such file or directory"),
    # what is not installed
    Mistake("without click", "inspect {good}", "click is not installed: pip install 'cuvil[pack]'",
            prelude=WITHOUT.format(names=["click"])),
    Mistake("without torch", "build {models}:good -o {folder}/m.cuvil",
            "torch is not installed: pip install 'cuvil[pack]'", prelude=WITHOUT.format(names=["torch"])),
    Mistake("without ziglang", "build {models}:good -o {folder}/m.cuvil --target x86-64-v2",
            "the packer compiles with ziglang, which is not installed: pip install 'cuvil[pack]'", prelude=NO_ZIG),
)  # fmt: skip


def run(mistake: Mistake, folder: Path, good: Path, embedding: Path, *more: str) -> Done:
    mistake.prepare(folder, good)
    places = {"good": good, "embedding": embedding, "folder": folder, "models": MODELS}
    arguments = [word.format(**places) for word in mistake.arguments.split()]
    return cuvil_pack(*arguments, *more, prelude=mistake.prelude, env=mistake.env)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.name.replace(" ", "_"))
def test_a_mistake_has_its_sentence(mistake: Mistake, tmp_path: Path, good: Path, embedding: Path) -> None:
    done = run(mistake, tmp_path, good, embedding)
    assert mistake.sentence in done.err
    assert not done.has_traceback
    assert done.code == mistake.code
    assert done.out == ""
    left = [p.name for p in tmp_path.iterdir() if p.name not in ("x.npy", "ids.npy", "bad.cuvil")]
    assert left == [], "a refused command leaves nothing behind"


SCRIPTS = (
    ("closed session", "s.close(); s(x)", "this session is closed: load the bundle again"),
    ("too many inputs", "s(x, x)", "main takes 1 inputs, not 2: x: f32[batch, 8]"),
    ("missing input", "s.run({})", "input x is missing: the model takes x: f32[batch, 8]"),
    ("not an array", "s(object())", "input x is object[], the model takes f32[batch, 8]"),
    ("read-only output", "y = s(x); y.flags.writeable = False; s.run({'x': x}, out={'output': y})",
     "out output is read-only"),
    ("wrong output", "s.run({'x': x}, out={'output': x})",
     "out output is float32[2, 8], this call writes float32[2, 4]"),
    ("pack to nowhere", "pack(None, output='/nowhere/m.cuvil')", "there is no folder /nowhere"),
    ("pack a number", "pack(7, output='m.cuvil')", "7 is no model that Cuvil reads"),
    ("unknown accuracy", "pack(7, output='m.cuvil', accuracy='so')", "accuracy 'so': choose standard or strict"),
    ("unknown target", "pack(7, output='m.cuvil', targets=('x86-64-v5',))", "no target x86-64-v5; there are x86-64-v2"),
)  # fmt: skip
CAUGHT = """
import numpy as np
import cuvil_runtime
from cuvil_pack import pack
s = cuvil_runtime.load({path!r})
x = np.zeros((2, 8), np.float32)
try:
    {body}
except cuvil_runtime.CuvilError as error:
    print(error)
"""


@pytest.mark.parametrize(("name", "body", "sentence"), SCRIPTS, ids=[s[0].replace(" ", "_") for s in SCRIPTS])
def test_a_mistake_in_python_is_one_error_class(
    name: str, body: str, sentence: str, good: Path, tmp_path: Path
) -> None:
    script = CAUGHT.format(path=str(good), body=body)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=variables(), cwd=tmp_path, timeout=120
    )
    assert sentence in done.stdout, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["size out of range", "no bundle", "bad range", "without click", "no such command"])
def test_with_json_a_mistake_is_one_object(name: str, tmp_path: Path, good: Path, embedding: Path) -> None:
    mistake = next(m for m in MISTAKES if m.name == name)
    done = run(mistake, tmp_path, good, embedding, "--json")
    assert mistake.sentence in json.loads(done.out)["error"]
    assert done.code == mistake.code
    assert "error" not in done.err


@pytest.mark.parametrize("stage", ["read", "compile", "prove"])
def test_ctrl_c_leaves_nothing(stage: str, tmp_path: Path) -> None:
    output, scratch, cache = (tmp_path / name for name in ("output", "scratch", "cache"))
    output.mkdir()
    scratch.mkdir()
    words = command(["build", f"{MODELS}:good", "-o", str(output / "m.cuvil"), "--target", "x86-64-v2"])
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=variables({"CUVIL_CACHE_DIR": str(cache), "TMPDIR": str(scratch)}),
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if line.split()[-1] == stage:
            break
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err + out
    assert [*output.iterdir(), *scratch.glob("cuvil*")] == []


def test_a_bug_says_that_it_is_one(good: Path) -> None:
    prelude = "import cuvil_schema.sizes as sizes; sizes.text = None; import cuvil_pack.cli.reading as r; r.at = None"
    quiet = cuvil_pack("plan", good, prelude=prelude)
    assert quiet.code == 1
    assert "this is a bug in Cuvil, not a mistake of yours" in quiet.err
    assert not quiet.has_traceback
    assert cuvil_pack("plan", good, "-v", prelude=prelude).has_traceback


def test_a_reader_that_leaves_is_no_error(good: Path) -> None:
    script = f"set -o pipefail; {sys.executable} -m cuvil_pack.cli inspect --graph {good} | head -1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=variables(), timeout=120)
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


def test_there_are_twenty_kinds_and_more() -> None:
    assert len(MISTAKES) + len(SCRIPTS) >= 20
