"""Networks of torchaudio and diffusers, small ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from zoo_parts.case import Case, Family, Keywords, image, keyworded
from zoo_parts.vision import torchvision_ready


def _audio(name: str) -> Case:
    import torchaudio.models as models
    import torchaudio.transforms as transforms

    wave = torch.randn(1, 4000)
    kinds: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
        "wav2vec2": lambda: (_wav2vec2(models.wav2vec2_model), (wave,)),
        "wavlm": lambda: (_wav2vec2(models.wavlm_model, wavlm=True), (wave,)),
        "conformer": lambda: (
            models.Conformer(40, 4, 64, 2, 31),
            (torch.randn(1, 50, 40), torch.tensor([50])),
        ),
        "emformer": lambda: (
            models.Emformer(64, 4, 128, 2, 4, right_context_length=1),
            (torch.randn(1, 17, 64), torch.tensor([16])),
        ),
        "conv_tasnet": lambda: (
            models.ConvTasNet(enc_num_feats=64, msk_num_feats=32, msk_num_hidden_feats=64),
            (torch.randn(1, 1, 4000),),
        ),
        "deepspeech": lambda: (models.DeepSpeech(40, 64), (torch.randn(1, 1, 30, 40),)),
        "wav2letter": lambda: (models.Wav2Letter(input_type="mfcc", num_features=13), _mfcc()),
        "wavernn": lambda: (
            models.WaveRNN([2, 2, 3], 16, 12, 2, 32, 32, 5, 80, 32, 32),
            (torch.randn(1, 1, 72), torch.randn(1, 1, 80, 10)),
        ),
        "tacotron2 encoder": lambda: (
            models.Tacotron2(n_symbol=40).encoder,
            (torch.randn(1, 512, 20), torch.tensor([20])),
        ),
        "hdemucs": lambda: (
            models.hdemucs_low(["drums", "voice"]),
            (torch.randn(1, 2, 16384),),
        ),
        "squim_objective": lambda: (
            models.squim_objective_model(32, 16, 32, 32, 16, 2, 1, 71),
            (torch.randn(1, 4000),),
        ),
        "rnnt": lambda: (
            _Transcriber(models.emformer_rnnt_base(num_symbols=64)),
            (torch.randn(1, 20, 80), torch.randint(0, 64, (1, 5)).int()),
        ),
        "spectrogram": lambda: (transforms.Spectrogram(n_fft=256), (wave,)),
        "mel_spectrogram": lambda: (transforms.MelSpectrogram(n_fft=256, n_mels=40), (wave,)),
        "mfcc": lambda: (_mfcc_module(transforms), (wave,)),
        "resample": lambda: (transforms.Resample(16000, 8000), (wave,)),
    }
    module, inputs = kinds[name]()
    return Case(module.eval(), inputs)


AUDIO = (
    *("wav2vec2", "wavlm", "conformer", "emformer", "conv_tasnet", "deepspeech", "wav2letter"),
    *("wavernn", "tacotron2 encoder", "hdemucs", "squim_objective", "rnnt", "spectrogram"),
    *("mel_spectrogram", "mfcc", "resample"),
)


def _mfcc() -> tuple[torch.Tensor]:
    return (torch.randn(1, 13, 100),)


def _mfcc_module(transforms: Any) -> torch.nn.Module:
    return transforms.MFCC(n_mfcc=13, melkwargs={"n_fft": 256, "n_mels": 40})


def _wav2vec2(make: Callable[..., torch.nn.Module], wavlm: bool = False) -> torch.nn.Module:
    more = {"encoder_num_buckets": 32, "encoder_max_distance": 80} if wavlm else {}
    less = ("wavlm",)
    settings = {
        "extractor_mode": "group_norm",
        "extractor_conv_layer_config": [(32, 10, 5), (32, 3, 2), (32, 3, 2), (32, 2, 2)],
        "extractor_conv_bias": False,
        "encoder_embed_dim": 64,
        "encoder_projection_dropout": 0.0,
        "encoder_pos_conv_kernel": 16,
        "encoder_pos_conv_groups": 4,
        "encoder_num_layers": 2,
        "encoder_num_heads": 4,
        "encoder_attention_dropout": 0.0,
        "encoder_ff_interm_features": 128,
        "encoder_ff_interm_dropout": 0.0,
        "encoder_dropout": 0.0,
        "encoder_layer_norm_first": False,
        "encoder_layer_drop": 0.0,
        "aux_num_out": 32,
    }
    return make(**{k: v for k, v in settings.items() if k not in less}, **more)


class _Transcriber(torch.nn.Module):
    """An RNN-T's scores of all frames and words: its networks, without the search."""

    def __init__(self, rnnt: torch.nn.Module) -> None:
        super().__init__()
        self.rnnt = rnnt

    def forward(self, sound: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        """Scores of frames × words × symbols."""
        lengths = torch.tensor([sound.shape[1]]), torch.tensor([words.shape[1]])
        return self.rnnt(sound, lengths[0], words, lengths[1])[0]


def _diffusion(name: str) -> Case:
    import diffusers

    step = torch.tensor([10])
    blocks = {"block_out_channels": (32, 64), "norm_num_groups": 8}
    text = torch.randn(1, 8, 32)
    kinds: dict[str, Callable[[], Case]] = {
        "unet_2d": lambda: _keyed(
            diffusers.UNet2DModel(
                sample_size=32,
                down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                up_block_types=("AttnUpBlock2D", "UpBlock2D"),
                attention_head_dim=8,
                **blocks,
            ),
            sample=image(32),
            timestep=step,
        ),
        "unet_2d_condition": lambda: _keyed(
            diffusers.UNet2DConditionModel(
                sample_size=32,
                down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
                cross_attention_dim=32,
                attention_head_dim=8,
                **blocks,
            ),
            sample=image(32, 4),
            timestep=step,
            encoder_hidden_states=text,
        ),
        "unet_1d": lambda: _keyed(
            diffusers.UNet1DModel(
                block_out_channels=(32, 64),
                down_block_types=("DownBlock1DNoSkip", "DownBlock1D"),
                up_block_types=("UpBlock1D", "UpBlock1DNoSkip"),
                sample_size=256,
            ),
            sample=torch.randn(1, 2, 256),
            timestep=step,
        ),
        "controlnet": lambda: _keyed(
            diffusers.ControlNetModel(
                down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                cross_attention_dim=32,
                attention_head_dim=8,
                conditioning_embedding_out_channels=(16, 32),
                **blocks,
            ),
            sample=image(32, 4),
            timestep=step,
            encoder_hidden_states=text,
            controlnet_cond=image(64),
        ),
        "autoencoder_kl": lambda: Case(
            Keywords(_vae(diffusers.AutoencoderKL(**_twice(blocks))).eval(), ["sample"]),
            (image(64),),
        ),
        "vq_model": lambda: _keyed(diffusers.VQModel(**_twice(blocks)), sample=image(64)),
        "autoencoder_tiny": lambda: _keyed(
            diffusers.AutoencoderTiny(
                encoder_block_out_channels=(32,) * 4, decoder_block_out_channels=(32,) * 4
            ),
            sample=image(64),
        ),
        "dit": lambda: _keyed(
            diffusers.DiTTransformer2DModel(
                num_attention_heads=4,
                attention_head_dim=16,
                num_layers=2,
                sample_size=16,
                num_embeds_ada_norm=10,
            ),
            hidden_states=image(16, 4),
            timestep=step,
            class_labels=torch.tensor([3]),
        ),
        "pixart": lambda: _keyed(
            diffusers.PixArtTransformer2DModel(
                num_attention_heads=4,
                attention_head_dim=16,
                cross_attention_dim=64,
                caption_channels=32,
                num_layers=2,
                sample_size=16,
            ),
            hidden_states=image(16, 4),
            encoder_hidden_states=text,
            timestep=step,
        ),
        "sd3": lambda: _keyed(
            diffusers.SD3Transformer2DModel(
                sample_size=16,
                num_layers=2,
                attention_head_dim=16,
                num_attention_heads=4,
                joint_attention_dim=32,
                caption_projection_dim=64,
                pooled_projection_dim=32,
            ),
            hidden_states=image(16, 16),
            encoder_hidden_states=text,
            pooled_projections=torch.randn(1, 32),
            timestep=step,
        ),
        "flux": lambda: _keyed(
            diffusers.FluxTransformer2DModel(
                in_channels=16,
                num_layers=1,
                num_single_layers=1,
                attention_head_dim=16,
                num_attention_heads=4,
                joint_attention_dim=32,
                pooled_projection_dim=32,
                axes_dims_rope=(4, 4, 8),
            ),
            hidden_states=torch.randn(1, 64, 16),
            encoder_hidden_states=text,
            pooled_projections=torch.randn(1, 32),
            timestep=step.float(),
            img_ids=torch.randn(64, 3),
            txt_ids=torch.randn(8, 3),
        ),
    }
    return kinds[name]()


DIFFUSION = (
    *("unet_2d", "unet_2d_condition", "unet_1d", "controlnet", "autoencoder_kl", "vq_model"),
    *("autoencoder_tiny", "dit", "pixart", "sd3", "flux"),
)


def _twice(blocks: dict[str, Any]) -> dict[str, Any]:
    return {
        **blocks,
        "down_block_types": ("DownEncoderBlock2D",) * 2,
        "up_block_types": ("UpDecoderBlock2D",) * 2,
    }


def _vae(module: torch.nn.Module) -> torch.nn.Module:
    return module


def _keyed(module: torch.nn.Module, **tensors: torch.Tensor) -> Case:
    return keyworded(module, {"return_dict": False}, **tensors)


FAMILIES = (
    Family("torchaudio", ("torchaudio",), lambda: AUDIO, _audio, torchvision_ready),
    Family("diffusers", ("diffusers",), lambda: DIFFUSION, _diffusion, torchvision_ready),
)
