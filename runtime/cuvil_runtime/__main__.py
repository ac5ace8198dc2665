"""`python -m cuvil_runtime explain | verify | run FILE`: what a machine that has only the runtime can ask a bundle.

Exit codes: 0 done, 1 refused or different, 2 the command line is wrong.
"""

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
    options = _parser().parse_intermixed_args(arguments)
    try:
        if options.command == "run":
            return _run(options)
        answer = getattr(cuvil_runtime, options.command)(options.file)
    except (CuvilError, OSError) as error:
        print(json.dumps({"error": str(error)}) if options.json else f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(answer.data()) if options.json else answer)
    return 0 if answer.good else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cuvil_runtime", description="Ask and run a .cuvil bundle.")
    parser.add_argument("command", choices=("explain", "verify", "run"))
    parser.add_argument("file", help="a .cuvil bundle")
    parser.add_argument("feeds", nargs="*", metavar="NAME=FILE.npy", help="run: inputs; none: the first recorded call")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--entry", default="main", help="run: the entry")
    parser.add_argument("--threads", type=int, help="run: threads, the caller's included")
    parser.add_argument("--variant", help="run: this variant instead of the best")
    parser.add_argument("--out", metavar="FILE.npz", help="run: write the outputs here")
    return parser


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
    name, _, file = argument.partition("=")
    try:
        return name, np.load(file, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{argument!r} is not NAME=FILE.npy: {error}") from None


def _recorded(file: str, name: str) -> dict[str, object]:
    with Bundle(file) as bundle:
        if all(golden.entry != name for golden in bundle.manifest.golden):
            raise InputError(f"{bundle.name} records no call of {name}: give inputs as NAME=FILE.npy")
        return dict(recorded(bundle, bundle.manifest.entry(name), 0, "in"))


if __name__ == "__main__":
    sys.exit(main())
