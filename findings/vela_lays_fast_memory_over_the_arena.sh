#!/usr/bin/env bash
# ethos-u-vela 5.2.0
# For an Ethos-U65, with its defaults (Dedicated_Sram), Vela's file has two tensors that its operator
# works in, `scratch` in the arena and `scratch_fast` in fast memory, and one OfflineMemoryAllocation
# for both: the addresses of each are counted from 0 of its own memory. The metadata has no memory's
# name, and TensorFlow Lite Micro reads it as offsets of one arena, in which the two then lie over
# each other while both are live. It is right where the driver is given fast memory, and puts that in
# the place of the second; nothing in the file says so but the operand's place. For an Ethos-U55 both
# operands are one tensor.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q ethos-u-vela==5.2.0
cd "$folder"
cat >write.py <<'PYTHON'
"""One convolution of an image of 16 by 16 by 8, to 8 channels."""
import struct

import flatbuffers
from ethosu.vela.tflite import Buffer, Conv2DOptions, Model, Operator, OperatorCode
from ethosu.vela.tflite import QuantizationParameters, SubGraph, Tensor

INT8, INT32, CONV, CONV_OPTIONS = 9, 2, 3, 1
b = flatbuffers.Builder(1024)


def vector(values, add, size=4):
    b.StartVector(size, len(values), size)
    for value in reversed(values):
        add(value)
    return b.EndVector()


def tables(values):
    return vector(values, b.PrependUOffsetTRelative)


def buffer(data=b""):
    at = b.CreateByteVector(data) if data else None
    Buffer.BufferStart(b)
    if at is not None:
        Buffer.BufferAddData(b, at)
    return Buffer.BufferEnd(b)


def tensor(name, shape, kind=INT8, place=0):
    scale, zero = vector([0.05], b.PrependFloat32), vector([0], b.PrependInt64, 8)
    QuantizationParameters.QuantizationParametersStart(b)
    QuantizationParameters.QuantizationParametersAddScale(b, scale)
    QuantizationParameters.QuantizationParametersAddZeroPoint(b, zero)
    quantised = QuantizationParameters.QuantizationParametersEnd(b)
    text, axes = b.CreateString(name), vector(shape, b.PrependInt32)
    Tensor.TensorStart(b)
    Tensor.TensorAddShape(b, axes)
    Tensor.TensorAddType(b, kind)
    Tensor.TensorAddBuffer(b, place)
    Tensor.TensorAddName(b, text)
    Tensor.TensorAddQuantization(b, quantised)
    return Tensor.TensorEnd(b)


weights = bytes(n * 37 % 251 for n in range(8 * 3 * 3 * 8))
buffers = [buffer(), buffer(weights), buffer(struct.pack("<8i", *range(8)))]
tensors = [
    tensor("in", [1, 16, 16, 8]),
    tensor("weights", [8, 3, 3, 8], place=1),
    tensor("bias", [8], INT32, 2),
    tensor("out", [1, 16, 16, 8]),
]
Conv2DOptions.Conv2DOptionsStart(b)
Conv2DOptions.Conv2DOptionsAddStrideW(b, 1)
Conv2DOptions.Conv2DOptionsAddStrideH(b, 1)
options = Conv2DOptions.Conv2DOptionsEnd(b)
read, made = vector([0, 1, 2], b.PrependInt32), vector([3], b.PrependInt32)
Operator.OperatorStart(b)
Operator.OperatorAddInputs(b, read)
Operator.OperatorAddOutputs(b, made)
Operator.OperatorAddBuiltinOptionsType(b, CONV_OPTIONS)
Operator.OperatorAddBuiltinOptions(b, options)
run, tensors = tables([Operator.OperatorEnd(b)]), tables(tensors)
inputs, outputs = vector([0], b.PrependInt32), vector([3], b.PrependInt32)
SubGraph.SubGraphStart(b)
SubGraph.SubGraphAddTensors(b, tensors)
SubGraph.SubGraphAddInputs(b, inputs)
SubGraph.SubGraphAddOutputs(b, outputs)
SubGraph.SubGraphAddOperators(b, run)
graphs = tables([SubGraph.SubGraphEnd(b)])
OperatorCode.OperatorCodeStart(b)
OperatorCode.OperatorCodeAddDeprecatedBuiltinCode(b, CONV)
OperatorCode.OperatorCodeAddBuiltinCode(b, CONV)
OperatorCode.OperatorCodeAddVersion(b, 1)
codes, buffers = tables([OperatorCode.OperatorCodeEnd(b)]), tables(buffers)
Model.ModelStart(b)
Model.ModelAddVersion(b, 3)
Model.ModelAddOperatorCodes(b, codes)
Model.ModelAddSubgraphs(b, graphs)
Model.ModelAddBuffers(b, buffers)
b.Finish(Model.ModelEnd(b), b"TFL3")
with open("net.tflite", "wb") as file:
    file.write(b.Output())
PYTHON
cat >offsets.py <<'PYTHON'
"""What a file's operator works in: its place among the operands, and where the plan lays it."""
import struct
import sys

from ethosu.vela.tflite.Model import Model

model = Model.GetRootAs(open(sys.argv[1], "rb").read(), 0)
graph = model.Subgraphs(0)
for n in range(model.MetadataLength()):
    if model.Metadata(n).Name() == b"OfflineMemoryAllocation":
        plan = model.Buffers(model.Metadata(n).Buffer()).DataAsNumpy().tobytes()
offsets = struct.unpack(f"<{len(plan) // 4}i", plan)[3:]
operator = graph.Operators(0)
for place in (2, 3):
    number = operator.Inputs(place)
    print(sys.argv[2], place, graph.Tensors(number).Name().decode(), "at", offsets[number])
PYTHON
venv/bin/python write.py
for chip in u55-256 u65-256 u85-256; do
    venv/bin/vela net.tflite --accelerator-config "ethos-$chip" --output-dir "$chip" >log 2>&1
    venv/bin/python offsets.py "$chip/net_vela.tflite" "$chip" >>seen
done
cat seen
diff seen - <<'SEEN'
u55-256 2 scratch at 0
u55-256 3 scratch at 0
u65-256 2 scratch at 0
u65-256 3 scratch_fast at 0
u85-256 2 scratch at 0
u85-256 3 scratch_fast at 0
SEEN
echo "as it was seen"
