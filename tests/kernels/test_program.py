"""The skeleton of a generated program: steps, barriers, faults, and what it leaves of its host as it was."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import cuvil_pack
from cuvil_pack.targets import TARGETS, Target
from cuvil_pack.targets.elf import check_object
from cuvil_pack.targets.toolchain import compile_program
from tests.kernels.native import load

HEADERS = Path(cuvil_pack.__path__[0]) / "kernels" / "cpu"
STEPS = 3

PROGRAM = r"""
#include "program.h"

enum { WIDTH = 1000, FIRST_FAULT = 2 };

static void k_rotate(const float *from, float *to, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = from[(i + 1) % WIDTH] + 1.0f;
}

static void k_check(int64_t faulty, int64_t begin, int64_t end, int32_t *fault) {
    if (begin <= faulty && faulty < end) *fault = 1;
}

static void cv_main_steps(const cv_job *job, int32_t thread) {
    const int64_t *sizes = job->call->sizes;
    float *even = (float *)job->call->arena, *odd = even + WIDTH;
    int64_t begin = cv_share(WIDTH, thread, job->threads), end = cv_share(WIDTH, thread + 1, job->threads);
    int64_t rounds = sizes[0], faulty_a = sizes[2], faulty_b = sizes[3];
    for (int64_t i = begin; i < end; ++i) even[i] = ((const float *)job->call->inputs[0])[i];
    cv_step_end(job, thread, 0);
    for (int64_t round = 0; round < rounds; ++round) {
        k_rotate(round % 2 ? odd : even, round % 2 ? even : odd, begin, end);
        cv_step_end(job, thread, 1);
    }
    k_check(faulty_b, begin, end, cv_fault(job, thread));
    cv_step_pass(job, thread, 1);
    k_check(faulty_a, begin, end, cv_fault(job, thread));
    const float *result = rounds % 2 ? odd : even;
    for (int64_t i = begin; i < end; ++i) ((float *)job->call->outputs[0])[i] = result[i];
    cv_step_end(job, thread, 2);
}

CV_EXPORT int32_t cuvil_run_main(void *pool, const cuvil_call *call) {
    return cv_launch(pool, call, cv_main_steps, call->sizes[1] != 0);
}

static void cv_third_steps(const cv_job *job, int32_t thread) {
    float *outputs = job->call->outputs[0];
    const float *inputs = job->call->inputs[0];
    outputs[thread] = inputs[0] / inputs[1] * inputs[2];
    cv_step_end(job, thread, 0);
}

CV_EXPORT int32_t cuvil_run_third(void *pool, const cuvil_call *call) {
    return cv_launch(pool, call, cv_third_steps, 0);
}

CV_EXPORT uint32_t get_mxcsr(void) { return cv_float_environment_get(); }
CV_EXPORT void set_mxcsr(uint32_t mxcsr) { cv_float_environment_set(mxcsr); }
"""


class Call(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("inputs", "outputs", "sizes", "weights", "arena", "times")]


class Program:
    """A loaded program and the buffers of its calls."""

    def __init__(self, library: ctypes.CDLL) -> None:
        library.cuvil_open.restype = ctypes.c_void_p
        library.cuvil_open.argtypes = [ctypes.c_int32]
        library.cuvil_close.argtypes = [ctypes.c_void_p]
        for run in (library.cuvil_run_main, library.cuvil_run_third):
            run.argtypes = [ctypes.c_void_p, ctypes.POINTER(Call)]
        library.get_mxcsr.restype = ctypes.c_uint32
        library.set_mxcsr.argtypes = [ctypes.c_uint32]
        self.library = library
        self.x = np.arange(1000, dtype=np.float32)

    @contextmanager
    def pool(self, threads: int) -> Iterator[int]:
        pool = self.library.cuvil_open(threads)
        assert pool
        yield pool
        self.library.cuvil_close(pool)

    def call(
        self, pool: int, y: np.ndarray, x: np.ndarray, sizes: list[int], entry: str, times: np.ndarray | None
    ) -> int:
        arena = np.empty(2000, np.float32)
        inputs, outputs = (ctypes.c_void_p * 1)(x.ctypes.data), (ctypes.c_void_p * 1)(y.ctypes.data)
        numbers = np.array(sizes, np.int64)
        call = Call(
            ctypes.addressof(inputs),
            ctypes.addressof(outputs),
            numbers.ctypes.data,
            None,
            arena.ctypes.data,
            None if times is None else times.ctypes.data,
        )
        return int(getattr(self.library, f"cuvil_run_{entry}")(pool, ctypes.byref(call)))

    def run(self, pool: int, rounds: int = 1, *, serial: bool = False) -> np.ndarray:
        y = np.zeros(1000, np.float32)
        assert self.call(pool, y, self.x, [rounds, serial, -1, -1], "main", None) == 0
        return y

    def expected(self, rounds: int = 1) -> np.ndarray:
        return np.roll(self.x, -rounds) + np.float32(rounds)


@pytest.fixture(scope="module")
def program() -> Program:
    return Program(load(compile_program(PROGRAM, TARGETS["x86-64-v2"], (HEADERS,))))


def threads_of_this_process() -> set[Path]:
    return set(Path("/proc/self/task").iterdir())


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_exports_the_abi(target: Target) -> None:
    portable = PROGRAM[: PROGRAM.index("CV_EXPORT uint32_t get_mxcsr")]
    exports = check_object(compile_program(portable, target, (HEADERS,)), target.arch)
    assert exports >= {"cuvil_abi", "cuvil_open", "cuvil_close", "cuvil_run_main"}


def test_abi_is_one(program: Program) -> None:
    assert program.library.cuvil_abi() == 1


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 7])
def test_every_thread_count_gives_the_same(program: Program, threads: int) -> None:
    with program.pool(threads) as pool:
        for rounds in (0, 1, 2, 5, 100):
            np.testing.assert_array_equal(program.run(pool, rounds), program.expected(rounds))
            np.testing.assert_array_equal(program.run(pool, rounds, serial=True), program.expected(rounds))


def test_hundred_thousand_barriers(program: Program) -> None:
    with program.pool(2) as pool:
        np.testing.assert_array_equal(program.run(pool, 100_000), program.expected(100_000))


def test_many_short_calls(program: Program) -> None:
    with program.pool(2) as pool:
        for _ in range(3000):
            np.testing.assert_array_equal(program.run(pool), program.expected())


def test_sleeping_workers_wake(program: Program) -> None:
    with program.pool(2) as pool:
        for pause in (0, 0.00005, 0.0001, 0.0002, 0.001, 0.02) * 20:
            time.sleep(pause)
            np.testing.assert_array_equal(program.run(pool), program.expected())


def test_idle_workers_sleep(program: Program) -> None:
    with program.pool(2) as pool:
        program.run(pool)
        time.sleep(0.01)
        begin = time.process_time()
        time.sleep(0.3)
        assert time.process_time() - begin < 0.1


def test_more_threads_than_cpus_do_not_livelock(program: Program) -> None:
    with program.pool(16) as pool:
        for _ in range(20):
            np.testing.assert_array_equal(program.run(pool, 50), program.expected(50))


def test_many_pools_at_once(program: Program) -> None:
    results: list[bool] = []

    def work() -> None:
        with program.pool(2) as pool:
            results.extend(np.array_equal(program.run(pool, 20), program.expected(20)) for _ in range(30))

    callers = [threading.Thread(target=work) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert results == [True] * 120


def test_pool_changes_its_caller(program: Program) -> None:
    with program.pool(2) as pool:
        for _ in range(20):
            results: list[np.ndarray] = []
            caller = threading.Thread(target=lambda results=results: results.append(program.run(pool, 5)))
            caller.start()
            caller.join()
            np.testing.assert_array_equal(results[0], program.expected(5))


def test_close_joins_the_workers(program: Program) -> None:
    before = threads_of_this_process()
    for _ in range(50):
        with program.pool(4) as pool:
            program.run(pool)
    with program.pool(4):
        pass
    deadline = time.monotonic() + 10
    while (
        threads_of_this_process() - before and time.monotonic() < deadline
    ):  # a joined thread leaves /proc a little later
        time.sleep(0.001)
    assert threads_of_this_process() <= before
    program.library.cuvil_close(None)


@pytest.mark.parametrize("threads", [0, -1, 257, 2**31 - 1])
def test_impossible_pools_are_null(program: Program, threads: int) -> None:
    assert program.library.cuvil_open(threads) is None


FAULTS = {
    "none": ((-1, -1), 0),
    "last step": ((999, -1), 3),
    "middle step": ((-1, 10), 2),
    "both, the first wins": ((0, 999), 2),
    "both, the first wins whoever finds it": ((999, 0), 2),
}


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize(("faulty", "expected"), FAULTS.values(), ids=FAULTS)
def test_first_faulty_step_is_returned(program: Program, threads: int, faulty: tuple[int, int], expected: int) -> None:
    with program.pool(threads) as pool:
        for serial in (0, 1):
            y = np.zeros(1000, np.float32)
            assert program.call(pool, y, program.x, [3, serial, *faulty], "main", None) == expected
            np.testing.assert_array_equal(program.run(pool, 3), program.expected(3))


@pytest.mark.parametrize("threads", [1, 2])
def test_times_of_the_steps(program: Program, threads: int) -> None:
    times = np.zeros(STEPS, np.uint64)
    with program.pool(threads) as pool:
        begin = time.perf_counter_ns()
        program.call(pool, np.zeros(1000, np.float32), program.x, [1, 0, -1, -1], "main", times)
        spent = time.perf_counter_ns() - begin
    assert 0 < times.sum() <= spent


ROUND_UP_FLUSH_ALL = 0x1F80 | 0x4000 | 0x8000 | 0x0040


@pytest.mark.parametrize("threads", [1, 4])
def test_float_environment_is_the_default_inside_and_the_hosts_after(program: Program, threads: int) -> None:
    host = program.library.get_mxcsr()
    x = np.array([1, 3, 1e-39], np.float32)
    y, z = np.zeros(threads, np.float32), np.zeros(threads, np.float32)
    program.library.set_mxcsr(ROUND_UP_FLUSH_ALL)
    pool = program.library.cuvil_open(threads)
    program.call(pool, y, x, [], "third", None)
    seen = program.library.get_mxcsr()
    program.library.set_mxcsr(host)
    program.call(pool, z, x, [], "third", None)
    program.library.cuvil_close(pool)
    assert seen & 0xFFC0 == ROUND_UP_FLUSH_ALL & 0xFFC0
    np.testing.assert_array_equal(y.view(np.uint32), np.full(threads, z[0]).view(np.uint32))
    assert z[0] == x[0] / x[1] * x[2] != 0


def test_signal_mask_and_affinity_of_the_caller_stay(program: Program) -> None:
    mask, cpus = signal.pthread_sigmask(signal.SIG_BLOCK, ()), os.sched_getaffinity(0)
    with program.pool(4) as pool:
        program.run(pool)
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
        assert os.sched_getaffinity(0) == cpus
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask


def test_workers_block_signals_but_those_of_a_crash(program: Program) -> None:
    before = threads_of_this_process()
    with program.pool(3):
        time.sleep(0.01)
        workers = threads_of_this_process() - before
        assert len(workers) == 2
        for worker in workers:
            status = (worker / "status").read_text()
            blocked = int(next(line for line in status.splitlines() if line.startswith("SigBlk")).split()[1], 16)
            names = {number for number in signal.valid_signals() if blocked >> (number - 1) & 1}
            crash = {signal.SIGILL, signal.SIGTRAP, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV}
            assert names == signal.valid_signals() - crash - {signal.SIGKILL, signal.SIGSTOP}


def test_child_after_fork_runs_alone(program: Program) -> None:
    with program.pool(3) as pool:
        program.run(pool)
        child = os.fork()
        if child == 0:
            right = np.array_equal(program.run(pool, 7), program.expected(7))
            program.library.cuvil_close(pool)
            with program.pool(2) as own:
                right = right and np.array_equal(program.run(own, 7), program.expected(7))
            os._exit(0 if right else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0
        np.testing.assert_array_equal(program.run(pool, 7), program.expected(7))


def test_exit_without_close_ends(tmp_path: Path) -> None:
    (tmp_path / "program.so").write_bytes(compile_program(PROGRAM, TARGETS["x86-64-v2"], (HEADERS,)))
    script = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).cuvil_open(4)"
    subprocess.run((sys.executable, "-c", script, str(tmp_path / "program.so")), check=True, timeout=20)
