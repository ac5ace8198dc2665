"""Train a small convolutional network, pack it, and see that the packed one is as accurate.

python -m samples.fashion_mnist.main
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter

import cuvil_runtime
import numpy as np
import torch
from torch import nn

import cuvil_pack

from .data import CLASSES, Unavailable, load

BATCH = 256


def separable(channels: int, out: int, stride: int) -> nn.Sequential:
    """Depthwise, then pointwise convolution, each with batch norm and ReLU6."""
    return nn.Sequential(
        nn.Conv2d(channels, channels, 3, stride, 1, groups=channels, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU6(),
        nn.Conv2d(channels, out, 1, bias=False),
        nn.BatchNorm2d(out),
        nn.ReLU6(),
    )


def network() -> nn.Module:
    stem = (nn.Conv2d(1, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6())
    blocks = (separable(16, 32, 1), separable(32, 64, 2), separable(64, 64, 1))
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, len(CLASSES)))


def trained() -> nn.Module:
    """A network after one epoch, in inference mode."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # layers are too small to share: two threads are slower than one
    model = network().to(memory_format=torch.channels_last)
    pictures, labels = map(torch.from_numpy, load("train"))
    steps = len(labels) // BATCH
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=steps)
    for chosen in torch.randperm(len(labels))[: steps * BATCH].split(BATCH):
        loss = nn.functional.cross_entropy(model(pictures[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


def main() -> int:
    try:
        pictures, labels = load("t10k")
    except Unavailable as error:
        print(f"skipped: {error}")
        return 0
    start = perf_counter()
    model = trained()
    print(f"trained in {perf_counter() - start:.0f} s")
    with torch.no_grad():
        expected = model(torch.from_numpy(pictures)).numpy()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fashion.cuvil"
        cuvil_pack.pack(model, (torch.from_numpy(pictures[:8]),), output=path, dims={"batch": (1, 1000)})
        with cuvil_runtime.load(path) as session:
            found = np.concatenate([session(part) for part in np.split(pictures, 10)])
    accuracies = [float((scores.argmax(1) == labels).mean()) for scores in (expected, found)]
    print(f"accuracy on {len(labels):,} pictures: torch {accuracies[0]:.4f}, cuvil {accuracies[1]:.4f}")
    return 0 if accuracies[0] == accuracies[1] else 1


if __name__ == "__main__":
    raise SystemExit(main())
