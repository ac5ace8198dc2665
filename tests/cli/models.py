"""Models that the tests pack from the command line: a good one, and each way to be wrong."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import nn


class Small(nn.Module):
    """8 numbers to 4."""

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4)
        self.second.weight.data *= scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


class Deeper(Small):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(super().forward(x))


class Large(nn.Module):
    """Weights of 16 MB."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4_000_000))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.weight


class Embedding(nn.Module):
    """Token ids below 10 to vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 4)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.table(ids)


class Unsupported(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values = torch.linalg.eigvalsh(x @ x.T)
        return torch.linalg.svdvals(x) + values


class Raises(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise ValueError("this layer was never finished")


def good() -> Any:
    return Small().eval(), (torch.randn(3, 8),)


def scaled() -> Any:
    return Small(1.5).eval(), (torch.randn(3, 8),)


def deeper() -> Any:
    return Deeper().eval(), (torch.randn(3, 8),)


def large() -> Any:
    return Large(), (torch.randn(1),)


def embedding() -> Any:
    return Embedding(), (torch.tensor([[1, 2, 3], [4, 5, 6]]),)


def unsupported() -> Any:
    return Unsupported(), (torch.randn(3, 3),)


def raises() -> Any:
    return Raises(), (torch.randn(3, 8),)


def raises_at_once() -> Any:
    raise KeyError("no such layer")


def mismatched() -> Any:
    return Small().eval(), (torch.randn(3, 9),)


def only_a_module() -> Any:
    return Small().eval()


def ends() -> Any:
    sys.exit(3)
