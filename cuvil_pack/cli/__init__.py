"""The command line `cuvil-pack`. This file needs the standard library only, so it can say what is not installed."""

from __future__ import annotations

import json
import sys

EXTRA = ("click", "rich", "torch", "transformers", "huggingface_hub", "safetensors", "ziglang")
"""What the extra `pack` brings: a module of these that is missing is no bug."""

INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        from .program import run

        return run(words)
    except ModuleNotFoundError as error:
        if _root(error) not in EXTRA:
            raise
        return refuse(f"{_root(error)} is not installed: pip install 'cuvil[pack]'", "--json" in words)
    except KeyboardInterrupt:
        return INTERRUPTED


def refuse(sentence: str, as_json: bool) -> int:
    """Say why nothing was done: a sentence on stderr, or one JSON object on stdout. Returns exit code 1."""
    if as_json:
        print(json.dumps({"error": sentence}))
    else:
        print(f"error: {sentence}", file=sys.stderr)
    return 1


def _root(error: ModuleNotFoundError) -> str:
    return (error.name or "").partition(".")[0]
