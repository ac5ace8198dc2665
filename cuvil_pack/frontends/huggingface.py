"""A Hugging Face directory, or repository, as a model: its config tells the class, its files travel as assets."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import ExampleMismatch, ModelError
from ..ir.graph import Model
from . import Range, torch_export
from .trouble import place

REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w.-]+(?<!\.py)")
ASSETS = (
    "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt", "spiece.model", "tokenizer.model",
    "sentencepiece.bpe.model", "chat_template.jinja", "preprocessor_config.json", "processor_config.json",
)  # fmt: skip
TEXT = {"input_ids": "seq", "attention_mask": "seq", "decoder_input_ids": "decoder_seq"}
EXAMPLE_LENGTH = 16
GREATEST_BATCH = 32
GREATEST_LENGTH = 512


def accepts(source: Any) -> bool:
    if not isinstance(source, str | Path):
        return False
    return Path(source).is_dir() or (not Path(source).exists() and bool(REPOSITORY.fullmatch(str(source))))


def read(
    source: str | Path, example_inputs: Any = None, *, dims: Mapping[str, Range], dynamic_shapes: Any = None
) -> Model:
    """The model of the class that the config names, in float32.

    Without `dynamic_shapes`, `batch` is axis 0 of every input, `seq` axis 1 of the text inputs (`decoder_seq` of the
    decoder's); those not in `dims` range over 1..32 and as far as the model has positions. Raises ModelError where the
    config names no class that transformers has, or weights are missing.
    """
    folder = _local(source)
    module = _loaded(folder)
    inputs = examples(module) if example_inputs is None else example_inputs
    if dynamic_shapes is None and isinstance(inputs, dict):
        dynamic_shapes = {name: axes(name, value) for name, value in inputs.items()}
        dims = {**_ranges(module.config, dynamic_shapes), **dims}
        _check_positions(module.config, dims)
    return torch_export.read(
        module,
        inputs,
        dims=dims,
        dynamic_shapes=dynamic_shapes,
        name=Path(source).name,
        assets=_assets(folder, module.config),
    )


def _local(source: str | Path) -> Path:
    """The directory itself, or that of a repository's snapshot."""
    if Path(source).is_dir():
        return Path(source)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(str(source), allow_patterns=[*ASSETS, "*.safetensors*", "*.bin*"]))
    except Exception as e:
        raise ModelError(f"{source} is no directory, and no repository that can be fetched: {_sentence(e)}") from None


def _loaded(folder: Path) -> Any:
    """The module in inference mode, with every weight from the directory."""
    import torch

    config = _config(folder)
    with _quietly():
        kind = _class(folder, config)
        try:
            module, found = kind.from_pretrained(
                folder, config=config, dtype=torch.float32, local_files_only=True, output_loading_info=True
            )
        except Exception as e:
            raise ModelError(f"{folder.name}: {kind.__name__} cannot be loaded: {_sentence(e)}{place(e)}") from None
    if missing := sorted(found["missing_keys"]):
        shown = ", ".join(missing[:4]) + (f" and {len(missing) - 4} more" if len(missing) > 4 else "")
        raise ModelError(f"{folder.name}: the files hold no weights for {shown} of {kind.__name__}")
    return module.eval()


def _config(folder: Path) -> Any:
    from transformers import AutoConfig

    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder} has no config.json: it is no Hugging Face directory")
    with _quietly():
        try:
            config = AutoConfig.from_pretrained(folder, local_files_only=True)
        except Exception as e:
            raise ModelError(f"{folder.name}: config.json cannot be used: {_sentence(e)}") from None
    config.use_cache = False
    return config


def _class(folder: Path, config: Any) -> Any:
    import transformers

    names = config.architectures or []
    for name in names:
        if hasattr(transformers, name):
            return getattr(transformers, name)
    if not names:
        return transformers.AutoModel
    hint = "its code lies in the directory: load it yourself and pass the module" if _own_code(config) else ""
    hint = hint or f"is a newer release than {transformers.__version__} needed?"
    raise ModelError(f"{folder.name}: transformers has no class {' or '.join(names)}; {hint}")


def _own_code(config: Any) -> bool:
    return bool(getattr(config, "auto_map", None))


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the warnings and progress bars of transformers."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _sentence(e: Exception) -> str:
    return str(e).strip().partition("\n")[0]


def examples(module: Any) -> dict[str, Any]:
    """Inputs for what `forward` takes: token ids with a mask, pixels, a spectrogram, samples."""
    wanted = inspect.signature(module.forward).parameters
    config = module.config
    makers = {
        "input_ids": _token_ids,
        "pixel_values": _pixels,
        "input_features": _spectrogram,
        "input_values": _samples,
        "attention_mask": _mask,
        "decoder_input_ids": _token_ids,
    }
    main = module.main_input_name
    if main not in makers:
        raise ModelError(f"{type(module).__name__} reads {main}: give example inputs, and pass the module itself")
    names = [n for n in makers if n in wanted and (n == main or _goes_with(n, main, config))]
    return {n: makers[n](config) for n in names}


def _goes_with(name: str, main: str, config: Any) -> bool:
    """Whether the model needs this input beside its main one."""
    if name == "attention_mask":
        return main == "input_ids"
    if name == "decoder_input_ids":
        return bool(config.is_encoder_decoder)
    return {name, main} == {"input_ids", "pixel_values"} and hasattr(config, "vision_config")


def _part(config: Any, name: str, parts: tuple[str, ...], default: Any = None) -> Any:
    """A value of the config, or of one of its parts."""
    for part in (config, *(getattr(config, p, None) for p in parts)):
        if getattr(part, name, None) is not None:
            return getattr(part, name)
    return default


def _token_ids(config: Any) -> Any:
    import torch

    vocabulary = _part(config, "vocab_size", ("text_config",), 100)
    source = torch.Generator().manual_seed(0)
    return torch.randint(min(5, vocabulary - 1), vocabulary, (2, EXAMPLE_LENGTH), generator=source)


def _mask(config: Any) -> Any:
    import torch

    mask = torch.ones(2, EXAMPLE_LENGTH, dtype=torch.int64)
    mask[1, EXAMPLE_LENGTH * 3 // 4 :] = 0
    return mask


def _pixels(config: Any) -> Any:
    size = _part(config, "image_size", ("vision_config", "backbone_config"), 224)
    height, width = (size, size) if isinstance(size, int) else tuple(size)
    channels = _part(config, "num_channels", ("vision_config", "backbone_config"), 3)
    return _noise(2, channels, height, width)


def _spectrogram(config: Any) -> Any:
    frames = 2 * _part(config, "max_source_positions", ("audio_config",), 512)
    return _noise(2, _part(config, "num_mel_bins", ("audio_config",), 80), frames)


def _samples(config: Any) -> Any:
    return _noise(2, 16000)


def _noise(*shape: int) -> Any:
    import torch

    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def axes(name: str, value: Any) -> dict[int, str]:
    """The named axes of an input."""
    return {0: "batch", 1: TEXT[name]} if name in TEXT else {0: "batch"}


def _ranges(config: Any, shapes: Mapping[str, Mapping[int, str]]) -> dict[str, Range]:
    """The range of each named axis, where the user gives none."""
    names = {n for axes in shapes.values() for n in axes.values()}
    length = _positions(config) or GREATEST_LENGTH
    return {n: (1, GREATEST_BATCH if n == "batch" else length) for n in sorted(names)}


def _positions(config: Any) -> int | None:
    """How many positions the model has, where it has an end."""
    count: int | None = _part(config, "max_position_embeddings", ("text_config",))
    if count is None:
        count = getattr(config, "n_positions", None)
    offset = config.pad_token_id + 1 if getattr(config, "model_type", "") in OFFSET else 0
    return None if count is None else count - offset


OFFSET = {"roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl", "longformer", "esm", "data2vec-text"}


def _check_positions(config: Any, dims: Mapping[str, Range]) -> None:
    limit, wanted = _positions(config), dims.get("seq")
    greatest = wanted[1] if isinstance(wanted, tuple) else wanted
    if limit is not None and greatest is not None and greatest > limit:
        raise ExampleMismatch(f"seq is to reach {greatest}, and the model has {limit} positions")


def _assets(folder: Path, config: Any) -> dict[str, bytes]:
    """Tokenizer, preprocessing and labels, by file name."""
    found = {name: (folder / name).read_bytes() for name in ASSETS if (folder / name).is_file()}
    labels = {int(k): str(v) for k, v in (getattr(config, "id2label", None) or {}).items()}
    if any(v != f"LABEL_{k}" for k, v in labels.items()):
        ordered = [labels.get(n, "") for n in range(max(labels) + 1)]
        found["labels.json"] = json.dumps(ordered, ensure_ascii=False, indent=0).encode()
    return found
