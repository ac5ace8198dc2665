"""Find the nearest sentences with a packed encoder: numpy and cuvil_runtime, neither torch nor a tokenizer library.

python samples/sentence_encoder/run.py minilm.cuvil
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import cuvil_runtime
import numpy as np
from wordpiece import WordPiece

SENTENCES = (
    "The cat sleeps on the warm windowsill.",
    "How do I open a file in Python?",
    "The stock market fell sharply this morning.",
    "A kitten is napping in the sun.",
    "Reading text from disk with the open function.",
    "Share prices dropped at the opening bell.",
    "She baked a loaf of sourdough bread.",
    "Fresh bread came out of the oven.",
    "The train to the coast leaves at noon.",
    "Our railway journey to the sea starts at twelve.",
)


def embed(session: cuvil_runtime.Session, sentences: tuple[str, ...]) -> np.ndarray:
    """One vector of length 1 a sentence: the mean over its tokens."""
    tokenizer = WordPiece(session.assets["tokenizer.json"])
    encoded = [tokenizer.encode(s) for s in sentences]
    ids = np.zeros((len(encoded), max(map(len, encoded))), np.int64)
    for row, tokens in zip(ids, encoded, strict=True):
        row[: len(tokens)] = tokens
    mask = (ids != 0).astype(np.int64)
    states = session.run({"input_ids": ids, "attention_mask": mask})["last_hidden_state"]
    means = (states * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    return means / np.linalg.norm(means, axis=1, keepdims=True)


def main(bundle: Path) -> int:
    """Print the nearest other sentence of each. Returns the exit code."""
    start = perf_counter()
    with cuvil_runtime.load(bundle) as session:
        loaded = perf_counter()
        vectors = embed(session, SENTENCES)
        done = perf_counter()
        print(f"{session!r}\n")
    alike = vectors @ vectors.T - 2 * np.eye(len(vectors))
    for sentence, row in zip(SENTENCES, alike, strict=True):
        nearest = int(row.argmax())
        print(f"{sentence:<52} {row[nearest]:.2f}  {SENTENCES[nearest]}")
    print(f"\nloaded in {1e3 * (loaded - start):.0f} ms, answered in {1e3 * (done - loaded):.0f} ms")
    print(f"torch is {'loaded' if 'torch' in sys.modules else 'not here'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
