"""Networks of transformers, from configurations of few layers; no weights are fetched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from zoo_parts.case import Case, Family, image, keyworded, tokens
from zoo_parts.vision import torchvision_ready

_SIZES: dict[str, Any] = {
    "vocab_size": 256,
    "hidden_size": 64,
    "embedding_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 128,
    "hidden_dim": 128,
    "dim": 64,
    "n_layers": 2,
    "n_heads": 4,
    "n_embd": 64,
    "n_layer": 2,
    "n_head": 4,
    "d_model": 64,
    "d_kv": 16,
    "d_ff": 128,
    "d_inner": 128,
    "d_head": 16,
    "num_layers": 2,
    "num_heads": 4,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "ffn_dim": 128,
    "word_embed_proj_dim": 64,
    "num_local_experts": 4,
    "num_experts": 4,
    "moe_intermediate_size": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "global_attn_every_n_layers": 2,
}
_PLAIN = {"use_cache": False, "return_dict": True}
_TEXT = 24


def _configured(config: str, model: str, **changes: Any) -> Any:
    """A small model: the usual sizes where its configuration has them, then `changes`."""
    import transformers

    kind = getattr(transformers, config)
    default = kind()
    left_out = changes.pop("without", ())
    known = {n: size for n, size in _SIZES.items() if hasattr(default, n) and n not in left_out}
    return getattr(transformers, model)(kind(**(known | changes)))


def _encoder(stem: str, model: str, **changes: Any) -> Callable[[], Case]:
    def make() -> Case:
        module = _configured(f"{stem}Config", model, **changes)
        mask = torch.ones(1, _TEXT, dtype=torch.long)
        return keyworded(module, _PLAIN, input_ids=tokens(1, _TEXT), attention_mask=mask)

    return make


def _decoder(stem: str, **changes: Any) -> Callable[[], Case]:
    def make() -> Case:
        model = changes.pop("model", f"{stem}ForCausalLM")
        return keyworded(
            _configured(f"{stem}Config", model, **changes), _PLAIN, input_ids=tokens(1, _TEXT)
        )

    return make


class CachedStep(torch.nn.Module):
    """A decoder's next word: keys and values of the words before come in and go out."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, word: torch.Tensor, *past: torch.Tensor) -> list[torch.Tensor]:
        """The scores of the next word, and all keys and values."""
        from transformers import DynamicCache

        cache = DynamicCache(config=self.module.config)
        for layer, (key, value) in enumerate(zip(past[::2], past[1::2])):
            cache.update(key, value, layer)
        found = self.module(input_ids=word, past_key_values=cache, use_cache=True)
        kept = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
        return [found.logits, *kept]


def _cached(stem: str, model: str, heads: int = 2) -> Callable[[], Case]:
    def make() -> Case:
        module = _configured(f"{stem}Config", model).eval()
        past = [torch.randn(1, heads, _TEXT, 16) for _ in range(4)]
        return Case(CachedStep(module), (tokens(1, 1), *past))

    return make


def _translator(stem: str, model: str) -> Callable[[], Case]:
    def make() -> Case:
        module = _configured(f"{stem}Config", model)
        words = {"input_ids": tokens(1, _TEXT), "decoder_input_ids": tokens(1, 12)}
        return keyworded(module, _PLAIN, **words)

    return make


def _vision(stem: str, model: str, side: int = 64, **changes: Any) -> Callable[[], Case]:
    def make() -> Case:
        import transformers

        if hasattr(getattr(transformers, f"{stem}Config")(), "image_size"):
            changes.setdefault("image_size", side)
        module = _configured(f"{stem}Config", model, **changes)
        return keyworded(module, {"return_dict": True}, pixel_values=image(side))

    return make


_SPEECH = {
    "conv_dim": (32,) * 7,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}


def _speech(stem: str, model: str, **changes: Any) -> Callable[[], Case]:
    def make() -> Case:
        module = _configured(f"{stem}Config", model, **changes)
        return keyworded(module, {"return_dict": True}, input_values=torch.randn(1, 4000))

    return make


def _encodec() -> Case:
    module = _configured("EncodecConfig", "EncodecModel", without=list(_SIZES), num_filters=8)
    return Case(module.encoder.eval(), (torch.randn(1, 1, 3200),))


def _whisper(model: str) -> Callable[[], Case]:
    def make() -> Case:
        changes = {"max_source_positions": 50, "num_mel_bins": 20, "max_target_positions": 32}
        module = _configured("WhisperConfig", model, **changes)
        if model == "WhisperModel":
            words = {"decoder_input_ids": tokens(1, 8)}
            return keyworded(module, _PLAIN, input_features=torch.randn(1, 20, 100), **words)
        return keyworded(module.encoder, _PLAIN, input_features=torch.randn(1, 20, 100))

    return make


def _clip(stem: str, model: str) -> Callable[[], Case]:
    def make() -> Case:
        text = {k: v for k, v in _SIZES.items() if k[:3] not in ("n_l", "n_h", "d_m")}
        text["max_position_embeddings"] = 32
        seen = {k: v for k, v in text.items() if k != "vocab_size"}
        module = _configured(
            f"{stem}Config",
            model,
            text_config=text,
            vision_config={**seen, "image_size": 64, "patch_size": 16},
        )
        words = {"input_ids": tokens(1, 12), "pixel_values": image(64)}
        return keyworded(module, {"return_dict": True}, **words)

    return make


def _ready() -> None:
    torchvision_ready()
    import transformers  # noqa: F401


_SWIN = {
    "embed_dim": 32,
    "depths": [1, 1],
    "num_heads": [2, 4],
    "window_size": 4,
    "without": list(_SIZES),
}
NETWORKS: dict[str, Callable[[], Case]] = {
    "bert": _encoder("Bert", "BertModel"),
    "roberta": _encoder("Roberta", "RobertaForMaskedLM"),
    "distilbert": _encoder("DistilBert", "DistilBertModel"),
    "albert": _encoder("Albert", "AlbertModel"),
    "electra": _encoder("Electra", "ElectraModel"),
    "deberta_v2": _encoder("DebertaV2", "DebertaV2Model"),
    "mpnet": _encoder("MPNet", "MPNetModel"),
    "modernbert": _encoder("ModernBert", "ModernBertModel"),
    "fnet": _decoder("FNet", model="FNetModel"),
    "xlnet": _encoder("XLNet", "XLNetModel"),
    "funnel": _encoder(
        "Funnel", "FunnelBaseModel", block_sizes=[1, 1], without=["num_hidden_layers"]
    ),
    "gpt2": _decoder("GPT2", model="GPT2LMHeadModel"),
    "opt": _decoder("OPT"),
    "gpt_neox": _decoder("GPTNeoX"),
    "llama": _decoder("Llama"),
    "mistral": _decoder("Mistral"),
    "qwen2": _decoder("Qwen2"),
    "qwen3": _decoder("Qwen3"),
    "gemma2": _decoder("Gemma2"),
    "phi": _decoder("Phi"),
    "falcon": _decoder("Falcon", without=["head_dim"]),
    "bloom": _decoder("Bloom"),
    "mixtral": _decoder("Mixtral"),
    "mamba": _decoder("Mamba"),
    "rwkv": _decoder("Rwkv"),
    "gpt2 with cache": _cached("GPT2", "GPT2LMHeadModel", heads=4),
    "llama with cache": _cached("Llama", "LlamaForCausalLM"),
    "qwen2 with cache": _cached("Qwen2", "Qwen2ForCausalLM"),
    "phi with cache": _cached("Phi", "PhiForCausalLM"),
    "t5": _translator("T5", "T5Model"),
    "bart": _translator("Bart", "BartModel"),
    "marian": _translator("Marian", "MarianModel"),
    "vit": _vision("ViT", "ViTModel", patch_size=16),
    "deit": _vision("DeiT", "DeiTModel", patch_size=16),
    "beit": _vision("Beit", "BeitModel", patch_size=16),
    "dinov2": _vision("Dinov2", "Dinov2Model", patch_size=16),
    "swin": _vision("Swin", "SwinModel", **_SWIN),
    "convnext": _vision("ConvNext", "ConvNextModel", depths=[1] * 4, without=list(_SIZES)),
    "segformer": _vision("Segformer", "SegformerForSemanticSegmentation", without=list(_SIZES)),
    "mobilevit": _vision("MobileViT", "MobileViTModel"),
    "yolos": _vision("Yolos", "YolosModel", patch_size=16, image_size=[64, 64]),
    "levit": _vision("Levit", "LevitModel", side=224, without=["num_attention_heads"]),
    "poolformer": _vision("PoolFormer", "PoolFormerModel"),
    "vit_mae": _vision("ViTMAE", "ViTMAEModel", patch_size=16),
    "clip": _clip("CLIP", "CLIPModel"),
    "siglip": _clip("Siglip", "SiglipModel"),
    "wav2vec2": _speech("Wav2Vec2", "Wav2Vec2Model", **_SPEECH),
    "hubert": _speech("Hubert", "HubertModel", **_SPEECH),
    "wavlm": _speech("WavLM", "WavLMModel", **_SPEECH),
    "whisper": _whisper("WhisperModel"),
    "whisper encoder": _whisper("WhisperForAudioClassification"),
    "encodec": _encodec,
}

FAMILIES = (
    Family(
        "transformers",
        ("transformers",),
        lambda: list(NETWORKS),
        lambda name: NETWORKS[name](),
        _ready,
    ),
)
