"""C source -> machine code, with the compiler that the `ziglang` package carries."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..errors import ToolchainError
from .cache import ObjectCache, cache_folder
from .elf import check_object
from .target import Target

FLAGS = (
    "-std=gnu11",
    "-O3",
    "-g0",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fwrapv",
    "-fno-sanitize=undefined",
    "-fno-stack-protector",
    "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables",
)
LINK_FLAGS = ("-nostdlib", "-shared", "-s", "-Wl,--build-id=none", "-Wl,-Bsymbolic")

_KEPT_ENVIRONMENT = (
    "PATH",
    "HOME",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SYSTEMROOT",
    "PYTHONPATH",
    "PYTHONHOME",
    "LD_LIBRARY_PATH",
)
_KEPT_FAILURES = 8


@dataclass(frozen=True)
class _Job:
    """One compilation: named C files, what they may include, and what is to come out."""

    target: Target
    files: tuple[tuple[str, str], ...]
    include_dirs: tuple[Path, ...]
    output: tuple[str, ...] = (*LINK_FLAGS, "-o", "program.so")

    @property
    def arguments(self) -> tuple[str, ...]:
        target = self.target
        includes = tuple(f"-I{folder.resolve()}" for folder in self.include_dirs)
        names = tuple(name for name, _ in self.files)
        return (
            "cc",
            "-target",
            target.triple,
            f"-mcpu={target.cpu}",
            *target.flags,
            *FLAGS,
            *includes,
            *names,
            *self.output,
        )

    def key(self, compiler: str) -> str:
        """Names the result: everything that it depends on but the folders."""
        headers = (path for folder in self.include_dirs for path in sorted(folder.glob("*.h")))
        texts = (*(text for _, text in self.files), *(f"{path.name}\n{path.read_text()}" for path in headers))
        target = self.target
        facts = (compiler, target.name, target.triple, target.cpu, *target.flags, *FLAGS, *self.output)
        digest = sha256()
        for part in (*facts, *texts):
            digest.update(sha256(part.encode()).digest())
        return digest.hexdigest()

    def write(self, folder: Path) -> None:
        for name, text in self.files:
            (folder / name).write_text(text)


@cache
def compiler_version() -> str:
    """The version of the `ziglang` package; ToolchainError when it is not installed."""
    try:
        return version("ziglang")
    except PackageNotFoundError:
        raise ToolchainError(
            "the packer compiles with ziglang, which is not installed: pip install 'cuvil[pack]'"
        ) from None


def compile_program(
    sources: str | Sequence[str], target: Target, include_dirs: Sequence[Path] = (), *, use_cache: bool = True
) -> bytes:
    """The bytes of a shared object that stands alone: the same sources, headers and compiler give the same bytes.

    Several sources are compiled side by side and linked into one object. Raises ToolchainError with the compiler's
    first complaint and the command to repeat.
    """
    texts = (sources,) if isinstance(sources, str) else tuple(sources)
    names = ("program.c",) if len(texts) == 1 else tuple(f"program{index}.c" for index in range(len(texts)))
    job = _Job(target, tuple(zip(names, texts, strict=True)), tuple(include_dirs))
    key = job.key(compiler_version())
    objects = ObjectCache(cache_folder() / "objects")
    kept = objects.load(key) if use_cache else None
    if kept is not None:
        return kept
    data = _compile(job, key)
    if use_cache:
        objects.store(key, data)
    return data


def assembly(source: str, target: Target, include_dirs: Sequence[Path] = ()) -> str:
    """The instructions that a program becomes, for tests that count them."""
    job = _Job(target, (("program.c", source),), tuple(include_dirs), ("-S", "-o", "program.so"))
    return _run(job, job.key(compiler_version())).decode()


def _compile(job: _Job, key: str) -> bytes:
    data = _run(job, key)
    try:
        check_object(data, job.target.arch)
    except ToolchainError as error:
        raise ToolchainError(f"{job.target.name}: {error}\n    {_repeat(job, key)}") from None
    return data


def _run(job: _Job, key: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="cuvil-") as name:
        folder = Path(name)
        job.write(folder)
        result = subprocess.run(
            (sys.executable, "-m", "ziglang", *job.arguments),
            cwd=folder,
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
        if result.returncode != 0:
            raise ToolchainError(_complaint(job, key, result.stderr))
        return (folder / "program.so").read_bytes()


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
    return kept | {
        "LC_ALL": "C",
        "ZIG_LOCAL_CACHE_DIR": str(folder / ".zig"),
        "ZIG_GLOBAL_CACHE_DIR": _zig_folder(folder),
    }


def _zig_folder(folder: Path) -> str:
    shared = cache_folder() / "zig"
    try:
        shared.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return str(folder / ".zig-global")
    return str(shared.resolve()) if os.access(shared, os.W_OK) else str(folder / ".zig-global")


def _complaint(job: _Job, key: str, stderr: str) -> str:
    lines = stderr.splitlines()
    first = next((index for index, line in enumerate(lines) if "error:" in line), 0)
    excerpt = lines[first : first + 3] or ["the compiler ended without a word"]
    return "\n    ".join((f"{job.target.name}: {excerpt[0]}", *excerpt[1:], _repeat(job, key)))


def _repeat(job: _Job, key: str) -> str:
    """A command that compiles the program again, from sources kept in the cache folder."""
    command = shlex.join((sys.executable, "-m", "ziglang", *job.arguments))
    failures = cache_folder() / "failed"
    folder = failures / key[:16]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        job.write(folder)
        _forget_failures(failures)
    except OSError:
        return command
    return f"cd {shlex.quote(str(folder.resolve()))} && {command}"


def _forget_failures(failures: Path) -> None:
    by_age = sorted(failures.iterdir(), key=lambda folder: folder.stat().st_mtime_ns, reverse=True)
    for folder in by_age[_KEPT_FAILURES:]:
        shutil.rmtree(folder, ignore_errors=True)
