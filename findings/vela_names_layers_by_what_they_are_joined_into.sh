#!/usr/bin/env bash
# ethos-u-vela 5.2.0
# Vela's per-layer table names a layer by the tensor that it writes; where it writes straight into a
# concatenation, that is the concatenation. Two convolutions of other shapes that are joined stand
# in the table with one name, neither of theirs, and the concatenation has no row: a reader that
# goes by names gives it the cycles of both, and nothing to them. MACs alone tell the two apart.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q ethos-u-vela==5.2.0
cd "$folder"
venv/bin/python - <<'PYTHON'
import struct

import flatbuffers
from ethosu.vela.tflite import Buffer, ConcatenationOptions, Conv2DOptions, Model, Operator
from ethosu.vela.tflite import OperatorCode, QuantizationParameters, SubGraph, Tensor

CONCATENATION, CONV, INT8, INT32 = 2, 3, 9, 2
CONV_OPTIONS, CONCATENATION_OPTIONS = 1, 10


def vector(b, values, add, size=4):
    b.StartVector(size, len(values), size)
    for value in reversed(values):
        add(value)
    return b.EndVector()


def buffer(b, data=b""):
    at = b.CreateByteVector(data) if data else None
    Buffer.BufferStart(b)
    if at is not None:
        Buffer.BufferAddData(b, at)
    return Buffer.BufferEnd(b)


def tensor(b, name, shape, kind=INT8, place=0):
    scale = vector(b, [0.05], b.PrependFloat32)
    zero = vector(b, [0], b.PrependInt64, 8)
    QuantizationParameters.QuantizationParametersStart(b)
    QuantizationParameters.QuantizationParametersAddScale(b, scale)
    QuantizationParameters.QuantizationParametersAddZeroPoint(b, zero)
    quantised = QuantizationParameters.QuantizationParametersEnd(b)
    text, axes = b.CreateString(name), vector(b, shape, b.PrependInt32)
    Tensor.TensorStart(b)
    Tensor.TensorAddShape(b, axes)
    Tensor.TensorAddType(b, kind)
    Tensor.TensorAddBuffer(b, place)
    Tensor.TensorAddName(b, text)
    Tensor.TensorAddQuantization(b, quantised)
    return Tensor.TensorEnd(b)


def operator(b, code, inputs, output):
    if code == CONV:
        Conv2DOptions.Conv2DOptionsStart(b)
        Conv2DOptions.Conv2DOptionsAddStrideW(b, 1)
        Conv2DOptions.Conv2DOptionsAddStrideH(b, 1)
        options, kind, number = Conv2DOptions.Conv2DOptionsEnd(b), CONV_OPTIONS, 0
    else:
        ConcatenationOptions.ConcatenationOptionsStart(b)
        ConcatenationOptions.ConcatenationOptionsAddAxis(b, 3)
        options = ConcatenationOptions.ConcatenationOptionsEnd(b)
        kind, number = CONCATENATION_OPTIONS, 1
    read, made = vector(b, inputs, b.PrependInt32), vector(b, [output], b.PrependInt32)
    Operator.OperatorStart(b)
    Operator.OperatorAddOpcodeIndex(b, number)
    Operator.OperatorAddInputs(b, read)
    Operator.OperatorAddOutputs(b, made)
    Operator.OperatorAddBuiltinOptionsType(b, kind)
    Operator.OperatorAddBuiltinOptions(b, options)
    return Operator.OperatorEnd(b)


def code(b, builtin):
    OperatorCode.OperatorCodeStart(b)
    OperatorCode.OperatorCodeAddDeprecatedBuiltinCode(b, builtin)
    OperatorCode.OperatorCodeAddBuiltinCode(b, builtin)
    OperatorCode.OperatorCodeAddVersion(b, 1)
    return OperatorCode.OperatorCodeEnd(b)


b = flatbuffers.Builder(1024)
numbers = [bytes(range(1, 73)), struct.pack("<i", 1), bytes(range(1, 33))]
numbers.append(struct.pack("<4i", *range(4)))
buffers = [buffer(b), *(buffer(b, data) for data in numbers)]
tensors = [
    tensor(b, "in", [1, 8, 8, 8]),
    tensor(b, "left weights", [1, 3, 3, 8], place=1),
    tensor(b, "left bias", [1], INT32, 2),
    tensor(b, "left", [1, 8, 8, 1]),
    tensor(b, "right weights", [4, 1, 1, 8], place=3),
    tensor(b, "right bias", [4], INT32, 4),
    tensor(b, "right", [1, 8, 8, 4]),
    tensor(b, "joined", [1, 8, 8, 5]),
]
run = [operator(b, CONV, [0, 1, 2], 3), operator(b, CONV, [0, 4, 5], 6)]
run.append(operator(b, CONCATENATION, [3, 6], 7))
run, tensors = vector(b, run, b.PrependUOffsetTRelative), vector(b, tensors, b.PrependUOffsetTRelative)
inputs, outputs = vector(b, [0], b.PrependInt32), vector(b, [7], b.PrependInt32)
SubGraph.SubGraphStart(b)
SubGraph.SubGraphAddTensors(b, tensors)
SubGraph.SubGraphAddInputs(b, inputs)
SubGraph.SubGraphAddOutputs(b, outputs)
SubGraph.SubGraphAddOperators(b, run)
graphs = vector(b, [SubGraph.SubGraphEnd(b)], b.PrependUOffsetTRelative)
codes = vector(b, [code(b, CONV), code(b, CONCATENATION)], b.PrependUOffsetTRelative)
buffers = vector(b, buffers, b.PrependUOffsetTRelative)
Model.ModelStart(b)
Model.ModelAddVersion(b, 3)
Model.ModelAddOperatorCodes(b, codes)
Model.ModelAddSubgraphs(b, graphs)
Model.ModelAddBuffers(b, buffers)
b.Finish(Model.ModelEnd(b), b"TFL3")
with open("net.tflite", "wb") as file:
    file.write(b.Output())
PYTHON
venv/bin/vela net.tflite --accelerator-config ethos-u55-128 --config Arm/vela.ini \
    --system-config Ethos_U55_High_End_Embedded --memory-mode Sram_Only \
    --verbose-performance --output-dir out >log
cut -d, -f1,2,13,16 out/net_per-layer.csv | tail -n +2 >seen
diff seen - <<'SEEN'
Conv2D,Conv2D,4608,joined
Conv2D,Conv2D,2048,joined
SEEN
echo "as it was seen"
