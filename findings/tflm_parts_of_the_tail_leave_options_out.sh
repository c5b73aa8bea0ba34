#!/usr/bin/env bash
# tflite-micro 0.dev20261023182759 (PyPI, x86-64): the parts that its recording allocator lists do
# not add up to the tail of the arena. Of a network of n fully connected layers 488 + 32 n bytes
# are in the tail and in no part: each operator's options (the C struct that its parser fills, 32
# bytes for FULLY_CONNECTED) are taken from the tail, and no part counts them; 488 are the
# allocator's own. Whoever sizes an arena by adding the parts has too little.
# Guess: the parts and the head are all there is. Seen: three layers 584 bytes more, ten layers 808.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --no-deps tflite-micro==0.dev20261023182759 numpy==2.4.6 \
    flatbuffers==25.12.19 pyyaml==6.0.3 bitarray
cat > "$folder/run.py" <<'EOF'
import os, re, tempfile
from pathlib import Path

import flatbuffers
import tflite_micro
from tflite_micro.python.tflite_micro import runtime
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema


def layers(count):
    """The shipped network of three layers with its last one again and again: 16 to 16."""
    shipped = Path(tflite_micro.__file__).parent / "python/tflite_micro/sine_float.tflite"
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(bytearray(shipped.read_bytes())))
    graph = model.subgraphs[0]
    middle = graph.operators[1]
    last = graph.operators[2]
    for _ in range(count - 3):
        made = len(graph.tensors)
        old = graph.tensors[middle.outputs[0]]
        tensor = schema.TensorT()
        tensor.shape, tensor.type, tensor.buffer, tensor.name = old.shape, old.type, 0, b"more"
        graph.tensors.append(tensor)
        more = schema.OperatorT()
        more.opcodeIndex = middle.opcodeIndex
        more.inputs = [last.inputs[0], *middle.inputs[1:]]
        more.outputs = [made]
        more.builtinOptionsType, more.builtinOptions = middle.builtinOptionsType, middle.builtinOptions
        graph.operators.insert(len(graph.operators) - 1, more)
        last.inputs[0] = made
    builder = flatbuffers.Builder(0)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def recorded(data):
    interpreter = runtime.Interpreter.from_bytes(
        data, arena_size=1 << 20,
        intrepreter_config=runtime.InterpreterConfig.kAllocationRecording)
    with tempfile.TemporaryFile() as told:
        kept = [os.dup(1), os.dup(2)]
        for number in (1, 2):
            os.dup2(told.fileno(), number)
        interpreter.print_allocations()
        for number, before in enumerate(kept, 1):
            os.dup2(before, number)
        told.seek(0)
        text = told.read().decode()
    tail = int(re.search(r"allocation tail (\d+) bytes", text)[1])
    return tail, sum(map(int, re.findall(r"' used (\d+) bytes", text)))


for count in (3, 10):
    tail, parts = recorded(layers(count))
    print(f"{count} layers: tail {tail}, its parts {parts}, in none {tail - parts}")
    assert 488 + 32 * count - 16 <= tail - parts <= 488 + 32 * count + 16, (count, tail, parts)
EOF
"$folder/env/bin/python" "$folder/run.py" 2>/dev/null
