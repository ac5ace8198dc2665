"""Accidents: a file that is cut anywhere, or changed anywhere, is refused in a sentence, and nobody dies of it."""

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from cuvil_schema import BundleError, CuvilError, data_start, decode_plan, read_tensors
from cuvil_schema.bundle import Bundle
from cuvil_schema.elf import check_code
from cuvil_schema.manifest import decode_manifest

from tests.attacks import worker
from tests.attacks.forge import forged, sound
from tests.runtime import toy as hand

CHANGES = 2000

Run = Callable[[range, Callable[[int], int]], dict[int, int]]
RUNS = [worker.in_one_child, pytest.param(worker.one_child_each, marks=pytest.mark.slow)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "add.cuvil"
    path.write_bytes(sound())
    return path


def test_the_whole_file_is_right(file: Path) -> None:
    assert worker.one_child_each(range(1), lambda _: worker.attempt(file)) == {0: worker.RIGHT}


def test_a_death_is_seen() -> None:
    def case(number: int) -> int:
        if number in (2, 4):
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    ended = {0: 0, 1: 1, 2: -signal.SIGKILL, 3: 3, 4: -signal.SIGKILL, 5: 5}
    assert worker.in_one_child(range(6), case) == worker.one_child_each(range(6), case) == ended


@pytest.mark.parametrize("run", RUNS)
def test_every_truncation_is_refused(run: Run, file: Path) -> None:
    """The longest first: the file is cut byte by byte."""
    size = file.stat().st_size

    def cut(short: int) -> int:
        os.truncate(file, size - short)
        return worker.attempt(file)

    assert set(run(range(1, size + 1), cut).items()) == {(short, worker.REFUSED) for short in range(1, size + 1)}


@pytest.mark.parametrize("run", RUNS)
def test_every_random_change_is_refused(run: Run, file: Path) -> None:
    data = sound()

    def change(number: int) -> int:
        chance = random.Random(number)
        changed = bytearray(data)
        for place in chance.sample(range(len(data)), 1 + number % 3):
            changed[place] ^= chance.randrange(1, 256)
        file.write_bytes(changed)
        return worker.attempt(file)

    assert set(run(range(CHANGES), change).items()) == {(number, worker.REFUSED) for number in range(CHANGES)}


def test_a_changed_manifest_with_right_hashes_is_read_or_refused(file: Path) -> None:
    chance = random.Random(7)
    manifest = _manifest()
    for number in range(CHANGES // 5):
        changed = _changed(manifest, chance)
        file.write_bytes(forged(lambda forgery: setattr(forgery, "packed_manifest", changed)))  # noqa: B023
        assert _read(file) is not None, number


def test_a_changed_plan_with_right_hashes_is_read_or_refused() -> None:
    chance = random.Random(8)
    manifest = hand.add().manifest
    plan = bytes(hand.add().sections["plan/plain"])
    for number in range(CHANGES):
        assert _typed(lambda: decode_plan(_changed(plan, chance), manifest, 64, "plan")), number


def test_a_changed_manifest_alone_is_read_or_refused() -> None:
    chance = random.Random(6)
    manifest = _manifest()
    for number in range(CHANGES):
        assert _typed(lambda: decode_manifest(_changed(manifest, chance))), number


def test_changed_tensors_are_read_or_refused() -> None:
    chance = random.Random(9)
    blob = b"".join(map(bytes, hand.toy().sections["golden"]))
    for number in range(CHANGES):
        changed = memoryview(_changed(blob, chance))
        assert _typed(lambda: read_tensors(changed, "golden")), number  # noqa: B023
        assert _typed(lambda: data_start(changed, "golden")), number  # noqa: B023


def test_changed_code_is_never_read_outside() -> None:
    chance = random.Random(10)
    code = hand.compiled()
    for number in range(CHANGES):
        changed = memoryview(_changed(code[: chance.choice((64, 200, 600, len(code)))], chance, first=400))
        assert _typed(lambda: check_code(changed, hand.ARCH, "code")), number  # noqa: B023


def _changed(data: bytes, chance: random.Random, first: int | None = None) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        changed[chance.randrange(min(len(data), first or len(data)))] = chance.choice(
            (0, 1, 127, 255, chance.randrange(256))
        )
    return bytes(changed)


def _manifest() -> bytes:
    data = sound()
    return data[128 : 128 + int.from_bytes(data[32:40], "little")]


def _typed(read: Callable[[], object]) -> bool:
    """True when `read()` returns or refuses in a CuvilError; anything else fails the test with its own traceback."""
    try:
        read()
    except CuvilError as error:
        return len(str(error)) < 1000
    return True


def _read(file: Path) -> str | None:
    try:
        with Bundle(file) as bundle:
            bundle.check()
            return bundle.manifest.model
    except BundleError as error:
        return str(error) if len(str(error)) < 1000 else None
