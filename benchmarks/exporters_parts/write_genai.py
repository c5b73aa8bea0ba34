"""Decoders that onnxruntime-genai writes of small networks drawn by chance, as a prompt and a step.

Architectures are those of transformers with random weights; none is downloaded.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import torch
import transformers
from making import Write, write_all
from onnx_oracle import oracle
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

WORDS = 96
ARCHITECTURES = {
    "ernie": ("Ernie4_5Config", ()),
    "gemma": ("GemmaConfig", ("head_dim",)),
    "gemma2": ("Gemma2Config", ("head_dim", "window")),
    "gptoss": ("GptOssConfig", ("head_dim", "experts", "sliding", "window")),
    "granite": ("GraniteConfig", ()),
    "lfm2": ("Lfm2Config", ()),
    "llama": ("LlamaConfig", ()),
    "mistral": ("MistralConfig", ()),
    "nemotron": ("NemotronConfig", ()),
    "olmo": ("OlmoConfig", ()),
    "phi": ("PhiConfig", ()),
    "qwen2": ("Qwen2Config", ()),
    "qwen3": ("Qwen3Config", ("head_dim",)),
    "smollm3": ("SmolLM3Config", ()),
}
"""The class of the configuration of each, and what it has of its own."""


def configuration(name: str, draw: Random) -> Any:
    kind, own = ARCHITECTURES[name]
    groups, shared, size = draw.choice((1, 2)), draw.choice((1, 2, 4)), draw.choice((16, 32, 48))
    heads = groups * shared
    given: dict[str, Any] = {
        "vocab_size": WORDS,
        "hidden_size": heads * size,
        "intermediate_size": 32 * draw.randint(1, 6),
        "num_hidden_layers": draw.randint(1, 3),
        "num_attention_heads": heads,
        "num_key_value_heads": groups,
        "max_position_embeddings": 128,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }
    if "head_dim" in own:
        given["head_dim"] = size
    if "experts" in own:
        given |= {"num_local_experts": draw.randint(2, 6), "num_experts_per_tok": 2}
    if "window" in own:
        given["sliding_window"] = 8 * draw.randint(1, 5)
    if "sliding" in own:
        turns = ("sliding_attention", "full_attention")
        given["layer_types"] = [turns[i % 2] for i in range(given["num_hidden_layers"])]
    return getattr(transformers, kind)(**given)


def save_network(config: Any, folder: Path) -> None:
    torch.manual_seed(0)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    special = ("<pad>", "<s>", "</s>")
    words = {word: i for i, word in enumerate((*special, *(f"w{i}" for i in range(3, WORDS))))}
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(WordLevel(words, unk_token="<pad>")),
        **dict(zip(("pad_token", "bos_token", "eos_token"), special, strict=True)),
    )
    tokenizer.save_pretrained(folder)


def arrays(path: Path, length: int, past: int, window: int) -> list[np.ndarray]:
    """Numbers for the inputs of a decoder: so many words after so many that it has seen.

    A cache of the last words alone is as long as its window from the beginning.
    """
    random = np.random.default_rng(0)
    sizes = {"batch_size": 1, "sequence_length": length, "past_sliding_length": window}
    found = []
    for value in onnx.load(str(path), load_external_data=False).graph.input:
        tensor = value.type.tensor_type
        shape = [axis.dim_value or sizes.get(axis.dim_param, -1) for axis in tensor.shape.dim]
        for axis, size in zip(tensor.shape.dim, shape, strict=True):
            if size < 0:
                sizes[axis.dim_param] = past + length * axis.dim_param.startswith("total")
        shape = [axis.dim_value or sizes[axis.dim_param] for axis in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        whole = np.issubdtype(dtype, np.integer)
        mask = "mask" in value.name
        numbers = np.ones(shape) if mask else random.integers(3, WORDS, shape)
        found.append((numbers if whole else random.normal(size=shape)).astype(dtype))
    return found


def with_head_size(path: Path, config: Any) -> None:
    """The size of a cache's rows, which the exporter leaves open though its weights decide it."""
    model = onnx.load(str(path))
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    for value in (*model.graph.input, *model.graph.output):
        for axis in value.type.tensor_type.shape.dim:
            if axis.dim_param == "kv_cache_dim":
                axis.dim_value = size
    onnx.save(model, str(path))


def _write(name: str, precision: str, past: bool) -> Write:
    def write(draw: Random, path: Path) -> Mapping[str, Any]:
        logging.disable(logging.ERROR)
        config, length = configuration(name, draw), draw.randint(1, 24)
        after = path.with_suffix(".onnx")
        with TemporaryDirectory() as place:
            folder, out = Path(place) / "network", Path(place) / "out"
            save_network(config, folder)
            builder = ("-m", "onnxruntime_genai.models.builder", "-m", name, "-i", folder)
            asked = ("-o", out, "-p", precision, "-e", "cpu", "-c", Path(place) / "cache")
            done = subprocess.run(
                [sys.executable, *builder, *asked],
                env={**os.environ, "HF_HUB_OFFLINE": "1"},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(done.stderr.strip().splitlines()[-1])
            onnx.save(onnx.load(str(out / "model.onnx")), str(after))
        with_head_size(after, config)
        given = (1, draw.randint(1, 40)) if past else (length, 0)
        return oracle(after, arrays(after, *given, getattr(config, "sliding_window", None) or 0))

    return write


if __name__ == "__main__":
    write_all(
        {
            f"{name}-{precision}-{'step' if past else 'prompt'}": _write(name, precision, past)
            for name in ARCHITECTURES
            for precision in ("fp32", "int4")
            for past in (False, True)
        }
    )
