"""A network in int8 and its layout as a folder of C files that need nothing but a C compiler."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from numpy.typing import NDArray

from planners.backends.c import weights
from planners.backends.c.operators import Coded
from planners.backends.c.places import as_image, check_layout, shown_as, whole
from planners.backends.c.runs import RunCode, Scope, comment, identifiers
from planners.backends.int8.net import QNet
from planners.core.details.pool import PoolLayout
from planners.core.errors import BadInput

FIXED = ("kernels.h", "kernels.c", "main.c", "Makefile")
"""Files that are the same for every network."""


def generate(net: QNet, layout: PoolLayout) -> dict[str, str]:
    """The C99 files that run `net` in a pool of `layout.pool_bytes` bytes, by file name.

    `model.c` has a function for each run of the layout, `kernels.c` the pool and the kernels,
    `weights.c` the constants; `main.c` runs the model on fixed numbers (those of
    `planners.backends.c.of_plan`). The values are those of the arithmetic of `QOp`, to the bit.
    Raises `BadInput` where the layout is not the graph's or an operator is beyond the kernels.
    """
    graph = net.graph
    if graph.bytes_per_element != 1:
        raise BadInput(
            f"C code is int8: plan with 1 byte an element, not {graph.bytes_per_element}"
        )
    check_layout(graph, layout)
    scope = _scope(net, layout)
    runs = [RunCode(scope, number) for number in range(len(layout.runs))]
    constants: dict[str, NDArray[Any]] = {}
    for coded in scope.coded.values():
        constants |= coded.constants
    texts = {name: (files(__package__) / "kernels" / name).read_text("utf-8") for name in FIXED}
    return texts | {
        "model.h": _header(net, layout, scope),
        "model.c": _source(net, layout, scope, runs),
        "weights.h": weights.header(constants),
        "weights.c": weights.source(constants),
    }


def _scope(net: QNet, layout: PoolLayout) -> Scope:
    graph = net.graph
    words = identifiers(op.name for op in graph.operators)
    coded = {op.name: Coded(graph, net.ops[op.name], words[op.name]) for op in graph.operators}
    tensors = identifiers(t for t, tensor in graph.tensors.items() if tensor.kind != "parameter")
    places = {name: whole(graph, layout, name) for name in layout.offsets}
    return Scope(graph, layout, coded, tensors, places)


def _header(net: QNet, layout: PoolLayout, scope: Scope) -> str:
    graph = net.graph
    taps = max([1, *(coded.taps for coded in scope.coded.values())])
    return f"""/* {comment(graph.name)} in int8, within one pool of {layout.pool_bytes} bytes.
 *
 * Write the inputs with model_write, call model_run, read the outputs with model_read. Values are
 * in the order row, column, channel. Running overwrites the inputs.
 *
{_interface(net)} */
#ifndef MODEL_H
#define MODEL_H

#include <stdint.h>

#define POOL_BYTES {layout.pool_bytes}
#define WINDOW_PIXELS {taps} /* the most pixels under a window of a convolution */
#define MODEL_INPUTS {len(graph.inputs)}
#define MODEL_OUTPUTS {len(graph.outputs)}

int32_t model_input_bytes(int32_t input);
int32_t model_output_bytes(int32_t output);
void model_write(int32_t input, int32_t index, int8_t value);
void model_run(void);
int8_t model_read(int32_t output, int32_t index);

#endif
"""


def _interface(net: QNet) -> str:
    """What each input and output is: its size, and what its numbers stand for."""
    lines = []
    graph = net.graph
    for what, names in (("input", graph.inputs), ("output", graph.outputs)):
        for i, name in enumerate(names):
            scale, zero = net.tensors[name]
            sign, apart = ("-", zero) if zero >= 0 else ("+", -zero)
            real = f"real = {scale:.9g} * (q {sign} {apart})"
            lines.append(
                f" * {what} {i}: {comment(name)}, {shown_as(as_image(graph, name))}, {real}\n"
            )
    return "".join(lines)


def _source(net: QNet, layout: PoolLayout, scope: Scope, runs: list[RunCode]) -> str:
    graph = net.graph
    texts = [run.text for run in runs]
    named = set().union(*(run.shared for run in runs))
    places = "".join(
        f"static const place at_{scope.tensors[name]} = {place.initializer};\n"
        for name, place in scope.whole.items()
        if name in named
    )
    calls = "".join(f"    {run.name}();\n" for run in runs)
    return "\n".join(
        [
            _INCLUDES,
            f"/* ---- tensors that lie whole in the pool ---- */\n\n{places}",
            _table(scope, "inputs", graph.inputs),
            _table(scope, "outputs", graph.outputs),
            f"/* ---- runs ---- */\n\n{chr(10).join(texts)}",
            f"void model_run(void)\n{{\n{calls}}}\n",
            _ACCESS,
        ]
    )


def _table(scope: Scope, what: str, names: tuple[str, ...]) -> str:
    """The places of inputs or outputs, by number."""
    rows = "".join(
        f"    {scope.whole[name].initializer}, /* {comment(name)} */\n" for name in names
    )
    return f"static const place {what}[MODEL_{what.upper()}] = {{\n{rows}}};\n"


_INCLUDES = """#include "model.h"

#include <stddef.h>

#include "kernels.h"
#include "weights.h"
"""

_ACCESS = """static int32_t bytes_of(const place *tensor)
{
    return tensor->pixels * tensor->channels;
}

int32_t model_input_bytes(int32_t input)
{
    return bytes_of(&inputs[input]);
}

int32_t model_output_bytes(int32_t output)
{
    return bytes_of(&outputs[output]);
}

void model_write(int32_t input, int32_t index, int8_t value)
{
    place_write(&inputs[input], index, value);
}

int8_t model_read(int32_t output, int32_t index)
{
    return place_read(&outputs[output], index);
}
"""
