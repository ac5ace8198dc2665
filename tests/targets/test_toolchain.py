"""Compiled programs: the same bytes anywhere, cached, refused with the line and the command."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cuvil_pack.errors import ToolchainError
from cuvil_pack.targets import DEFAULT_TARGETS, TARGETS, Target, toolchain
from cuvil_pack.targets.cache import ObjectCache
from cuvil_pack.targets.elf import check_object
from cuvil_pack.targets.toolchain import compile_program
from tests.kernels.native import load

ADD = '__attribute__((visibility("default"))) int add(int a, int b) { return a + b; }\n'
V3 = TARGETS["x86-64-v3"]


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUVIL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_every_target_compiles_and_stands_alone(target: Target) -> None:
    assert check_object(compile_program(ADD, target), target.arch) == {"add"}


def test_default_targets_are_targets() -> None:
    assert set(DEFAULT_TARGETS) <= TARGETS.keys()


def test_features_of_a_level_include_the_lower_ones() -> None:
    v2, v3, v4 = (set(TARGETS[name].features) for name in DEFAULT_TARGETS)
    assert v2 < v3 < v4


def test_program_runs() -> None:
    assert load(compile_program(ADD, TARGETS["x86-64-v2"])).add(2, 40) == 42


def test_two_sources_make_one_program() -> None:
    program = compile_program(
        ("int two(void) { return 2; }", "int two(void);\n" + ADD.replace("a + b", "a + b + two()")), V3
    )
    assert load(program).add(1, 2) == 5


def test_same_bytes_from_two_folders_and_processes(tmp_path: Path) -> None:
    script = (
        "import sys; from cuvil_pack.targets import TARGETS, toolchain\n"
        "sys.stdout.buffer.write(toolchain.compile_program(sys.argv[1], TARGETS['x86-64-v4'], use_cache=False))"
    )
    programs = set()
    for name in ("a", "b/deeper"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        environment = {
            "TMPDIR": str(folder),
            "CUVIL_CACHE_DIR": str(folder / "cache"),
            "PYTHONPATH": ":".join(sys.path),
        }
        programs.add(subprocess.check_output((sys.executable, "-c", script, ADD), cwd=folder, env=environment))
    (program,) = programs
    assert str(tmp_path).encode() not in program


def test_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = compile_program(ADD, V3)
    monkeypatch.setattr(toolchain.subprocess, "run", None)
    assert compile_program(ADD, V3) == first


def test_header_belongs_to_the_key(tmp_path: Path) -> None:
    source = '#include "one.h"\n' + ADD.replace("a + b", "a + ONE")
    results = []
    for one in (1, 10):
        (tmp_path / "one.h").write_text(f"#define ONE {one}\n")
        results.append(load(compile_program(source, V3, (tmp_path,))).add(1, 0))
    assert results == [2, 11]


def test_damaged_cache_entry_is_compiled_again(private_cache: Path) -> None:
    first = compile_program(ADD, V3)
    (entry,) = (private_cache / "objects").iterdir()
    entry.write_bytes(entry.read_bytes()[:-1])
    assert compile_program(ADD, V3) == first


def test_unwritable_cache_still_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CUVIL_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert check_object(compile_program(ADD, V3)) == {"add"}


def test_cache_is_bounded(tmp_path: Path) -> None:
    objects = ObjectCache(tmp_path / "objects", limit=1000)
    for index in range(10):
        objects.store(str(index), bytes(200))
    assert [objects.load(str(index)) is not None for index in range(10)] == [False] * 6 + [True] * 4


def test_side_by_side() -> None:
    sources = [ADD.replace("add", f"add{index}") for index in range(4)]
    with ThreadPoolExecutor(2) as pool:
        programs = tuple(pool.map(lambda source: compile_program(source, V3), sources))
    assert [check_object(program) for program in programs] == [{f"add{index}"} for index in range(4)]


def test_refusal_shows_the_line_and_a_command_that_repeats_it() -> None:
    with pytest.raises(ToolchainError) as refusal:
        compile_program("int f(void) {\n    return nothing;\n}\n", V3)
    message = str(refusal.value)
    assert message.startswith("x86-64-v3: program.c:2:12: error: use of undeclared identifier 'nothing'")
    assert "return nothing;" in message
    command = message.splitlines()[-1].strip()
    again = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert again.returncode != 0 and "undeclared identifier 'nothing'" in again.stderr


def test_missing_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise toolchain.PackageNotFoundError(name)

    toolchain.compiler_version.cache_clear()
    monkeypatch.setattr(toolchain, "version", missing)
    with pytest.raises(ToolchainError, match=r"pip install 'cuvil\[pack\]'"):
        compile_program(ADD, V3)


REFUSED = {
    "symbol": ("float sinf(float); float add(float a) { return sinf(a); }", "needs sinf"),
    "half": ("float add(_Float16 *a) { return *a; }", "needs __extendhfsf2"),
    "constructor": (
        "volatile int x; __attribute__((constructor)) void add(void) { x += 1; }",
        "runs code when it is loaded",
    ),
    "thread local": ("_Thread_local int x; int *add(void) { return &x; }", "thread-local"),
}


@pytest.mark.parametrize(("source", "complaint"), REFUSED.values(), ids=REFUSED)
def test_object_that_does_not_stand_alone(source: str, complaint: str) -> None:
    exported = source.replace("add", '__attribute__((visibility("default"))) add', 1)
    with pytest.raises(ToolchainError, match=complaint):
        compile_program(exported, TARGETS["x86-64-v2"])


def test_wrong_machine_is_refused() -> None:
    with pytest.raises(ToolchainError, match="not a 64-bit little-endian ELF shared object for aarch64"):
        check_object(compile_program(ADD, V3), "aarch64")


def test_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "FLAGS", (*toolchain.FLAGS, "-lc"))
    with pytest.raises(ToolchainError, match="links another library"):
        compile_program("extern int puts(const char *);" + ADD.replace("a + b", 'puts("a")'), V3)
