"""The workloads of the benchmarks: seven models with seeded random weights, as plain torch and transformers modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

Workload = tuple[nn.Module, tuple[Tensor, ...], tuple[dict[int, Any], ...]]
WORKLOADS: dict[str, Callable[[], Workload]] = {}
SEED = 0
VOCABULARY = 30522


def workload(make: Callable[[], Workload]) -> Callable[[], Workload]:
    WORKLOADS[make.__name__] = make
    return make


def get(name: str) -> Workload:
    """The module in inference mode, example inputs, dynamic shapes as torch.export takes them. Raises KeyError."""
    torch.manual_seed(SEED)
    module, args, shapes = WORKLOADS[name]()
    return module.eval(), args, shapes


def batch() -> Any:
    return torch.export.Dim("batch", min=1, max=32)


def conv_norm(inputs: int, outputs: int, taps: int, stride: int = 1, groups: int = 1, act: Any = nn.ReLU) -> nn.Module:
    conv = nn.Conv2d(inputs, outputs, taps, stride, taps // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), *([act()] if act else []))


class Block(nn.Module):
    """A residual block of ResNet (He et al. 2016), basic or with a bottleneck."""

    def __init__(self, inputs: int, channels: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        outputs = channels * 4 if bottleneck else channels
        if bottleneck:
            self.inner = nn.Sequential(
                conv_norm(inputs, channels, 1),
                conv_norm(channels, channels, 3, stride),
                conv_norm(channels, outputs, 1, act=None),
            )
        else:
            self.inner = nn.Sequential(
                conv_norm(inputs, channels, 3, stride), conv_norm(channels, channels, 3, act=None)
            )
        straight = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if straight else conv_norm(inputs, outputs, 1, stride, act=None)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.inner(x) + self.shortcut(x))


def resnet(depths: tuple[int, ...], bottleneck: bool) -> nn.Module:
    growth, inputs = 4 if bottleneck else 1, 64
    layers: list[nn.Module] = [conv_norm(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)]
    for stage, depth in enumerate(depths):
        channels = 64 << stage
        for n in range(depth):
            layers.append(Block(inputs, channels, 2 if stage and not n else 1, bottleneck))
            inputs = channels * growth
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


class Inverted(nn.Module):
    """An inverted residual of MobileNetV2 (Sandler et al. 2018)."""

    def __init__(self, inputs: int, outputs: int, stride: int, growth: int) -> None:
        super().__init__()
        hidden = inputs * growth
        self.inner = nn.Sequential(
            *([conv_norm(inputs, hidden, 1, act=nn.ReLU6)] if growth > 1 else []),
            conv_norm(hidden, hidden, 3, stride, hidden, nn.ReLU6),
            conv_norm(hidden, outputs, 1, act=None),
        )
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.inner(x)
        return x + y if self.residual else y


STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def inverted_residuals() -> nn.Module:
    inputs, layers = 32, [conv_norm(3, 32, 3, 2, act=nn.ReLU6)]
    for growth, outputs, depth, stride in STAGES:
        for n in range(depth):
            layers.append(Inverted(inputs, outputs, 1 if n else stride, growth))
            inputs = outputs
    return nn.Sequential(
        *layers, conv_norm(inputs, 1280, 1, act=nn.ReLU6), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)
    )


def calibrated(module: nn.Module) -> nn.Module:
    """One batch of statistics in each batch norm, so that activations of random weights stay in a sane range."""
    for m in module.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.momentum = None
    with torch.no_grad():
        module.train()(torch.randn(4, 3, 224, 224))
    return module


def _vision(module: nn.Module) -> Workload:
    return module, (torch.randn(1, 3, 224, 224),), ({0: batch()},)


@workload
def resnet18() -> Workload:
    return _vision(calibrated(resnet((2, 2, 2, 2), bottleneck=False)))


@workload
def resnet50() -> Workload:
    return _vision(calibrated(resnet((3, 4, 6, 3), bottleneck=True)))


@workload
def mobilenetv2() -> Workload:
    return _vision(calibrated(inverted_residuals()))


class Field(nn.Module):
    """A transformers module of one input, and one field of its output."""

    def __init__(self, module: nn.Module, field: str) -> None:
        super().__init__()
        self.module, self.field = module, field

    def forward(self, x: Tensor) -> Tensor:
        return getattr(self.module(x), self.field)


@workload
def vit_s16() -> Workload:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=384, num_hidden_layers=12, num_attention_heads=6, intermediate_size=1536, num_labels=1000
    )
    return _vision(Field(ViTForImageClassification(config), "logits"))


class Encoder(nn.Module):
    """A text encoder of token ids and a mask."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        found = self.module(input_ids=input_ids, attention_mask=attention_mask)
        return found.last_hidden_state


def _bert(hidden: int, layers: int, heads: int) -> Workload:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * hidden
    )
    axes = {0: batch(), 1: torch.export.Dim("seq", min=1, max=512)}
    ids = torch.randint(0, VOCABULARY, (1, 128))
    module = Encoder(BertModel(config, add_pooling_layer=False))
    return module, (ids, torch.ones_like(ids)), (axes, axes)


@workload
def minilm() -> Workload:
    return _bert(hidden=384, layers=6, heads=12)


@workload
def bert_base() -> Workload:
    return _bert(hidden=768, layers=12, heads=12)


@workload
def whisper_tiny_encoder() -> Workload:
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536)
    return Field(WhisperEncoder(config), "last_hidden_state"), (torch.randn(1, 80, 3000),), ({0: batch()},)
