"""A session computes, describes itself, and lets go of what it holds."""

import gc
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import cuvil_runtime
import numpy as np
import pytest
from cuvil_runtime import InputError, Session, SessionError

from tests.runtime import toy as hand


def feeds(batch: int) -> dict[str, np.ndarray]:
    return {
        "x": np.arange(3 * batch, dtype=np.float32).reshape(batch, 3),
        "ids": np.arange(batch) % 10,
        "tail": np.arange(2 * batch + 1, dtype=np.uint8),
    }


def expected(fed: dict[str, np.ndarray]) -> np.ndarray:
    return fed["x"] + hand.BIAS + fed["ids"][:, None].astype(np.float32)


@pytest.mark.parametrize("batch", [0, 1, 5, 64])
def test_run_gives_every_output_by_name(toy: Session, batch: int) -> None:
    fed = feeds(batch)
    outputs = toy.run(fed)
    assert list(outputs) == ["sum", "ramp", "pool"]
    assert np.array_equal(outputs["sum"], expected(fed))
    assert np.array_equal(outputs["ramp"], fed["tail"].astype(np.float32))
    assert outputs["pool"].shape == ()


def test_a_call_is_positional(toy: Session, add: Session) -> None:
    fed = feeds(2)
    total, ramp, _ = toy(*fed.values())
    assert np.array_equal(total, expected(fed)) and ramp.shape == (5,)
    one = add(np.float32([1.5]))
    assert isinstance(one, np.ndarray) and one.tolist() == [2.5]


def test_other_entries_share_the_session(toy: Session) -> None:
    assert toy.run({"x": np.float32([1, 2])}, entry="add")["y"].tolist() == [2, 3]
    assert repr(toy.entries["add"]) == "add(x: f32[n]) -> y: f32[n]"


def test_a_session_describes_itself(toy: Session) -> None:
    assert [str(spec) for spec in toy.inputs] == [
        "x: f32[batch, 3] with batch in 0..64",
        "ids: i64[batch] with batch in 0..64",
        "tail: u8[2*batch + 1] with batch in 0..64",
    ]
    assert toy.outputs[1].shape == ("2*batch + 1",) and toy.outputs[0].dtype == np.float32
    assert toy.inputs[0].sizes == {"batch": (0, 64)}
    assert (toy.variant, toy.threads, toy.report) == ("plain", 1, {"packed": True})
    assert toy.assets == {"labels.txt": b"cat\ndog\n"}
    assert [step.kernel for step in toy.plan["main"].steps] == ["k0_gather", "k1_add"]


def test_a_report_that_is_none(tmp_path: Path) -> None:
    parts = hand.toy()
    for data in (b"[1]", b"{", b"[" * 100_000, b"\xff"):
        parts.sections["report"] = data
        session = cuvil_runtime.load(parts.write(tmp_path / "toy.cuvil"), threads=1)
        with session, pytest.raises(cuvil_runtime.Malformed, match=r"toy\.cuvil: section report is not a JSON object"):
            _ = session.report
    del parts.sections["report"]
    with cuvil_runtime.load(parts.write(tmp_path / "toy.cuvil"), threads=1) as session:
        assert session.report == {}


def test_times_are_one_number_a_step(toy: Session) -> None:
    assert toy.times(feeds(1)) == [7, 11]


def test_a_step_that_refuses_names_its_op_and_line(toy: Session) -> None:
    fed = feeds(3) | {"ids": np.array([0, 10, 2])}
    with pytest.raises(
        InputError, match=r"(?s)^gather: a value is out of its range.*at toy\.py:7   return table\[ids\]"
    ):
        toy.run(fed)
    assert np.array_equal(toy.run(feeds(3))["sum"], expected(feeds(3)))


def test_the_arena_grows_and_stays(toy: Session) -> None:
    for batch in (64, 1, 30, 64, 2):
        assert np.array_equal(toy.run(feeds(batch))["sum"], expected(feeds(batch)))


def test_more_shapes_than_are_remembered(add: Session) -> None:
    for length in [*range(600), 3, 0]:
        assert np.array_equal(add(np.full(length, 2, np.float32)), np.full(length, 3, np.float32))


def test_many_threads_share_one_session(toy: Session) -> None:
    wrong: list[int] = []

    def call(batch: int) -> None:
        fed = feeds(batch)
        for _ in range(200):
            if not np.array_equal(toy.run(fed)["sum"], expected(fed)):
                wrong.append(batch)

    threads = [threading.Thread(target=call, args=(batch,)) for batch in range(1, 17)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_closed_session_refuses(toy_file: Path) -> None:
    session = cuvil_runtime.load(toy_file)
    session.close()
    session.close()
    with pytest.raises(SessionError, match="this session is closed: load the bundle again"):
        session.run(feeds(1))
    assert "closed" in repr(session)
    with pytest.raises(cuvil_runtime.BundleError, match=r"toy\.cuvil: is closed"):
        _ = session.assets


def test_sessions_come_and_go_without_a_trace(toy_file: Path, add_file: Path) -> None:
    gc.collect()
    open_files = Path("/proc/self/fd")
    before = len(list(open_files.iterdir()))
    for _ in range(50):
        with cuvil_runtime.load(toy_file) as one, cuvil_runtime.load(add_file) as other:
            assert one.run(feeds(1))["pool"] == 1
            assert other(np.float32([1])).tolist() == [2]
    cuvil_runtime.load(toy_file)
    assert len(list(open_files.iterdir())) == before
    assert "memfd:cuvil" not in Path("/proc/self/maps").read_text()


def test_a_file_number_that_is_used_again_is_new_code(toy_file: Path, add_file: Path) -> None:
    first = cuvil_runtime.load(toy_file)
    os.close(first._workspace.program._file)
    with cuvil_runtime.load(add_file) as second:
        assert second._workspace.program._file == first._workspace.program._file
        assert (
            list(second.entries) == ["add"]
            and second._workspace.program._library._handle != first._workspace.program._library._handle
        )
        first._workspace.program._file = os.open(os.devnull, os.O_RDONLY)
    first.close()


def test_a_fork_has_its_own_threads_and_arena(toy: Session) -> None:
    fed = feeds(40)
    assert toy.run(fed)["pool"] == 1
    toy._workspace.lock.acquire()
    child = os.fork()
    if child == 0:
        outputs = toy.run(fed)
        right = np.array_equal(outputs["sum"], expected(fed)) and outputs["pool"] == 2
        toy.close()
        os._exit(0 if right else 1)
    toy._workspace.lock.release()
    assert os.waitpid(child, 0)[1] == 0
    assert toy.run(fed)["pool"] == 1


def test_parent_and_child_run_at_once(toy: Session) -> None:
    small, large = feeds(60), feeds(61)
    toy.run(large)
    child = os.fork()
    mine = small if child else large
    right = all(np.array_equal(toy.run(mine)["sum"], expected(mine)) for _ in range(300))
    if child == 0:
        os._exit(0 if right else 1)
    assert right and os.waitpid(child, 0)[1] == 0


def test_the_caller_keeps_its_affinity_and_signals(toy_file: Path) -> None:
    before = os.sched_getaffinity(0), [signal.getsignal(number) for number in range(1, 32)]
    with cuvil_runtime.load(toy_file) as session:
        session.run(feeds(4))
        assert (os.sched_getaffinity(0), [signal.getsignal(number) for number in range(1, 32)]) == before


def test_the_end_of_the_process_needs_no_close(toy_file: Path) -> None:
    program = f"import cuvil_runtime; s = cuvil_runtime.load({str(toy_file)!r}); s.me = s; print(s)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "" and done.stdout.startswith("<cuvil session toy: main(x: f32[batch, 3]")


def test_a_pool_that_cannot_be_made(toy_file: Path) -> None:
    with pytest.raises(SessionError, match="this machine gives no pool of 1024 threads"):
        cuvil_runtime.load(toy_file, threads=1024)
