#!/usr/bin/env bash
# jax 0.10.2, jaxlib 0.10.2 (XLA on the CPU)
# The peak that XLA lists among the live ranges of a dump (--xla_dump_to), with a table of the lines of
# code that are to blame for it, is above all bytes that it allocates: for sin(x @ x) 786,432 of
# 524,288, for a loop that adds to its state as many of 524,369, for a branch that may swap its operands
# 1,572,932 of 1,048,724. The buffer assignment beside it says why: the sine is written over the
# product, and what a loop or a branch gives lies in the buffer of what it was made from. A value counts
# in the step in which it ends, so in that step such a buffer counts twice.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q jax==0.10.2 jaxlib==0.10.2
cat >"$folder/run.py" <<'PYTHON'
import jax
import jax.numpy as jnp


def line(x):
    return jnp.sin(x @ x)


def loop(x):
    return jax.lax.while_loop(lambda v: v.sum() < 1e6, lambda v: v + 1, x)


def branch(x):
    return jax.lax.cond(x[0, 0] > 0, lambda a, b: (a, b), lambda a, b: (b, a), x, x + 1)


for run in (line, loop, branch):
    jax.jit(run).lower(jax.ShapeDtypeStruct((256, 256), jnp.float32)).compile()
PYTHON
export XLA_FLAGS="--xla_dump_to=$folder/dump --xla_dump_hlo_as_text" JAX_PLATFORMS=cpu
"$folder/venv/bin/python" "$folder/run.py"
for name in line loop branch; do
    peak=$(sed -n 's/.*(cumulative: \([0-9]*\) bytes).*/\1/p' "$folder/dump/"*"jit_$name."*-live-range.txt | tail -1)
    total=$(sed -n 's/^Total bytes: \([0-9]*\).*/\1/p' "$folder/dump/"*"jit_$name."*-memory-usage-report.txt)
    echo "$name: a peak of $peak bytes, $total in all"
done >"$folder/seen"
diff "$folder/seen" - <<'SEEN'
line: a peak of 786432 bytes, 524288 in all
loop: a peak of 786432 bytes, 524369 in all
branch: a peak of 1572932 bytes, 1048724 in all
SEEN
echo "as it was seen"
