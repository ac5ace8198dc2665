"""`python -m cuvil_runtime explain | verify | run FILE`: what a machine that has only the runtime can ask a bundle.

Exit codes: 0 done, 1 refused or different, 2 the command line is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np
from cuvil_schema.bundle import Bundle
from cuvil_schema.errors import CuvilError

import cuvil_runtime
from cuvil_runtime.errors import InputError
from cuvil_runtime.golden import recorded


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except (CuvilError, OSError) as error:
        print(json.dumps({"error": str(error)}) if options.json else f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cuvil_runtime", description="Ask and run a .cuvil bundle.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, told in (
        ("explain", _explain, "this machine, the variants, what each needs, which one runs"),
        ("verify", _verify, "run the recorded calls through every variant that can run here"),
        ("run", _run, "run once, on .npy files or on the first recorded call"),
    ):
        added = commands.add_parser(name, help=told, description=told)
        added.add_argument("file", help="a .cuvil bundle")
        added.add_argument("--json", action="store_true", help="print one JSON object")
        added.set_defaults(command=command)
    added.add_argument(
        "feeds", nargs="*", metavar="NAME=FILE.npy", help="an input; without any, the first recorded call"
    )
    added.add_argument("--entry", help="the entry to run (main)")
    added.add_argument("--threads", type=int, help="threads, the caller's included")
    added.add_argument("--variant", help="the variant to run instead of the best")
    added.add_argument("--out", metavar="FILE.npz", help="write the outputs here")
    return parser


def _explain(options: argparse.Namespace) -> int:
    explanation = cuvil_runtime.explain(options.file)
    print(json.dumps(explanation.data()) if options.json else explanation)
    return 0 if explanation.chosen else 1


def _verify(options: argparse.Namespace) -> int:
    verification = cuvil_runtime.verify(options.file)
    print(json.dumps(verification.data()) if options.json else verification)
    return 0 if verification.agrees else 1


def _run(options: argparse.Namespace) -> int:
    with cuvil_runtime.load(options.file, options.threads, options.variant) as session:
        feeds = dict(map(_feed, options.feeds)) or _recorded(options.file, options.entry)
        outputs = session.run(feeds, entry=options.entry)
        if options.out:
            np.savez(options.out, allow_pickle=False, **outputs)
        if options.json:
            told = {name: {"dtype": str(array.dtype), "shape": array.shape} for name, array in outputs.items()}
            print(json.dumps({"variant": session.variant, "threads": session.threads, "outputs": told}))
            return 0
        for name, array in outputs.items():
            print(f"{name}: {array.dtype}{list(array.shape)}\n{array}")
    return 0


def _feed(argument: str) -> tuple[str, object]:
    name, equals, file = argument.partition("=")
    if not equals:
        raise InputError(f"{argument!r} is not NAME=FILE.npy")
    try:
        return name, np.load(file, allow_pickle=False)
    except ValueError as error:
        raise InputError(f"{file} is no .npy file: {error}") from None


def _recorded(file: str, name: str | None) -> dict[str, object]:
    with Bundle(file) as bundle:
        entries = {entry.name: entry for entry in bundle.manifest.entries}
        entry = entries.get(name or "main") or next(iter(entries.values()))
        if not any(golden.entry == entry.name for golden in bundle.manifest.golden):
            raise InputError(f"{bundle.name} records no call of {entry.name}: give inputs as NAME=FILE.npy")
        return dict(recorded(bundle, entry, 0, "in"))


if __name__ == "__main__":
    sys.exit(main())
