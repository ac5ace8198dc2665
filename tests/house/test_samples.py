"""Every sample runs, as its reader would run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ..cli.process import variables
from .imports import ROOT

SAMPLES = {f.parent.name: f for f in sorted((ROOT / "samples").glob("*/*.py")) if "def main(" in f.read_text()}
SAID = {
    "one_add": "the answer is [42.]",
    "fashion_mnist": "accuracy on 10,000 pictures",
    "image_classifier": "Egyptian cat",
}


def run(*words: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, cwd=ROOT, env=variables(), timeout=900
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_folder_is_a_sample_that_is_tested() -> None:
    folders = {f.name for f in (ROOT / "samples").iterdir() if f.is_dir() and any(f.glob("*.py"))}
    assert folders == set(SAMPLES) == {*SAID, "sentence_encoder"}


def test_one_add() -> None:
    assert SAID["one_add"] in run("-m", "samples.one_add.main")


@pytest.mark.network
@pytest.mark.parametrize("name", ["fashion_mnist", "image_classifier"])
def test_a_sample_with_real_data(name: str) -> None:
    said = run("-m", f"samples.{name}.main")
    if said.startswith("skipped: "):
        pytest.skip(said)
    assert SAID[name] in said


@pytest.mark.network
def test_the_sentence_encoder(tmp_path: Path) -> None:
    bundle = tmp_path / "minilm.cuvil"
    run("-m", "samples.sentence_encoder.pack", bundle)
    nearest = [line.split("  ")[-1] for line in run("samples/sentence_encoder/run.py", bundle).splitlines()]
    assert nearest.count("A kitten is napping in the sun.") == 1
    assert nearest.count("Share prices dropped at the opening bell.") == 1


@pytest.mark.network
def test_the_sample_tokenizer_is_the_library_one() -> None:
    from tokenizers import Tokenizer

    from samples.sentence_encoder.pack import model_folder
    from samples.sentence_encoder.wordpiece import WordPiece

    file = model_folder() / "tokenizer.json"
    theirs, mine = Tokenizer.from_file(str(file)), WordPiece(file.read_bytes())
    theirs.no_padding()
    theirs.no_truncation()
    texts = [
        "Hello, world!",
        "Überraschung: naïve café — 12.5%",
        "深度学习 is fun",
        "unbelievably_tokenised\tword",
        "a" * 120,
        "",
    ]
    texts += (ROOT / "README.md").read_text().splitlines()
    assert [mine.encode(t) for t in texts] == [theirs.encode(t).ids for t in texts]
