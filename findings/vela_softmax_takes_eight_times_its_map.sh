#!/usr/bin/env bash
# ethos-u-vela 5.2.0
# A softmax is taken apart into operators of 32 bits, two of whose maps are there at once: for an int8 map
# of 4096 bytes (64 rows of 64) SRAM is 33280 bytes, 33024 on an Ethos-U85, eight times the map and what
# there is for each row. In a listing these maps are called by what goes in: in_softmax_2, _3, _26.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q ethos-u-vela==5.2.0
cd "$folder"
venv/bin/python - <<'PYTHON'
import flatbuffers
from ethosu.vela.tflite import Buffer, Model, Operator, OperatorCode, QuantizationParameters
from ethosu.vela.tflite import SoftmaxOptions, SubGraph, Tensor

SOFTMAX, OPTIONS, INT8 = 25, 9, 9
b = flatbuffers.Builder(1024)


def vector(values, add, size=4):
    b.StartVector(size, len(values), size)
    for value in reversed(values):
        add(value)
    return b.EndVector()


def ints(values):
    return vector(values, b.PrependInt32)


def tables(values):
    return vector(values, b.PrependUOffsetTRelative)


def tensor(name, scale, zero):
    scales, zeros = vector([scale], b.PrependFloat32), vector([zero], b.PrependInt64, 8)
    QuantizationParameters.QuantizationParametersStart(b)
    QuantizationParameters.QuantizationParametersAddScale(b, scales)
    QuantizationParameters.QuantizationParametersAddZeroPoint(b, zeros)
    quantised = QuantizationParameters.QuantizationParametersEnd(b)
    text, axes = b.CreateString(name), ints([1, 64, 64])
    Tensor.TensorStart(b)
    Tensor.TensorAddShape(b, axes)
    Tensor.TensorAddType(b, INT8)
    Tensor.TensorAddBuffer(b, 0)
    Tensor.TensorAddName(b, text)
    Tensor.TensorAddQuantization(b, quantised)
    return Tensor.TensorEnd(b)


Buffer.BufferStart(b)
buffers = tables([Buffer.BufferEnd(b)])
held = tables([tensor("in", 0.05, 0), tensor("probabilities", 1 / 256, -128)])
SoftmaxOptions.SoftmaxOptionsStart(b)
SoftmaxOptions.SoftmaxOptionsAddBeta(b, 1.0)
options = SoftmaxOptions.SoftmaxOptionsEnd(b)
read, made = ints([0]), ints([1])
Operator.OperatorStart(b)
Operator.OperatorAddInputs(b, read)
Operator.OperatorAddOutputs(b, made)
Operator.OperatorAddBuiltinOptionsType(b, OPTIONS)
Operator.OperatorAddBuiltinOptions(b, options)
run = tables([Operator.OperatorEnd(b)])
name = b.CreateString("main")
SubGraph.SubGraphStart(b)
SubGraph.SubGraphAddTensors(b, held)
SubGraph.SubGraphAddInputs(b, read)
SubGraph.SubGraphAddOutputs(b, made)
SubGraph.SubGraphAddOperators(b, run)
SubGraph.SubGraphAddName(b, name)
graphs = tables([SubGraph.SubGraphEnd(b)])
OperatorCode.OperatorCodeStart(b)
OperatorCode.OperatorCodeAddDeprecatedBuiltinCode(b, SOFTMAX)
OperatorCode.OperatorCodeAddBuiltinCode(b, SOFTMAX)
OperatorCode.OperatorCodeAddVersion(b, 1)
codes = tables([OperatorCode.OperatorCodeEnd(b)])
Model.ModelStart(b)
Model.ModelAddVersion(b, 3)
Model.ModelAddOperatorCodes(b, codes)
Model.ModelAddSubgraphs(b, graphs)
Model.ModelAddBuffers(b, buffers)
b.Finish(Model.ModelEnd(b), b"TFL3")
with open("net.tflite", "wb") as file:
    file.write(b.Output())
PYTHON
for chip in ethos-u55-128 ethos-u85-256; do
    venv/bin/vela net.tflite --accelerator-config $chip --verbose-allocation --output-dir out >listing 2>/dev/null
    peak=$(grep -v "Peak Tensor Size: 4160 " listing | sed -n 's/.*Peak Tensor Size: \([0-9]*\) bytes.*/\1/p' | head -1)
    echo "$chip: $peak bytes," $(sed -n 's/.*: *16384: .*: \(in_softmax_[0-9]*\)$/\1/p' listing | sort -u)
done >seen
diff seen - <<'SEEN'
ethos-u55-128: 33280 bytes, in_softmax_2 in_softmax_26 in_softmax_3
ethos-u85-256: 33024 bytes, in_softmax_2 in_softmax_3
SEEN
echo "as it was seen"
