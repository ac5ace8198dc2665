"""Runs cases in processes of their own and says how each ended."""

import os
from collections.abc import Callable
from pathlib import Path

import cuvil_runtime
import numpy as np

REFUSED, RIGHT, WRONG, UNTYPED = 0, 1, 2, 3


def attempt(file: Path) -> int:
    """Load `file` and add 1: refused with a typed error, a right answer, a wrong one, or an error of no Cuvil type."""
    try:
        with cuvil_runtime.load(file, threads=1) as session:
            answer = session(np.float32([1.5, 2.5]))
        return RIGHT if answer.tolist() == [2.5, 3.5] else WRONG
    except cuvil_runtime.CuvilError:
        return REFUSED
    except Exception:
        return UNTYPED


def one_child_each(cases: range, case: Callable[[int], int]) -> dict[int, int]:
    """What `case(number)` returns for every number, each in a child; minus the signal's number where the child dies."""
    ended = {}
    for number in cases:
        child = os.fork()
        if child == 0:
            try:
                os._exit(case(number))
            finally:
                os._exit(UNTYPED)
        ended[number] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return ended


def in_one_child(cases: range, case: Callable[[int], int]) -> dict[int, int]:
    """The same in one child for as long as it lives; a case that kills it is told apart, and another child goes on."""
    ended: dict[int, int] = {}
    waiting = list(cases)
    while waiting:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                for number in waiting:
                    os.write(writer, bytes([case(number)]))
                os._exit(0)
            finally:
                os._exit(UNTYPED)
        os.close(writer)
        with os.fdopen(reader, "rb") as results:
            codes = results.read()
        ended |= dict(zip(waiting, codes, strict=False))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        waiting = waiting[len(codes) :]
        if status and waiting:
            ended[waiting.pop(0)] = status
    return ended
