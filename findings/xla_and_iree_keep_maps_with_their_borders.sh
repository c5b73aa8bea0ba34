#!/usr/bin/env bash
# jax 0.10.2 (its XLA, on the CPU), iree-base-compiler 3.13.0
# A pad in front of a window is no part of the window: the map is kept with its border. IREE lays 16 x 16
# x 8 floats (8192 bytes) down as 18 x 18 x 8 (10368) where the convolution pads by one, and fills the
# border in each run; XLA's CPU backend does so where it cannot pad within a kernel: for the gradient of
# a pooling that pads, for one, and for a pad in front of a pooling, but not for a convolution's own.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q jax==0.10.2 jaxlib==0.10.2 iree-base-compiler==3.13.0
cd "$folder"
cat >run.py <<'PYTHON'
import jax
import jax.numpy as jnp

lax = jax.lax
window, steps = (1, 3, 3, 1), (1, 2, 2, 1)


def conv(x, w):
    return jnp.sin(lax.conv_general_dilated(jnp.sin(x), w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))


def pool(x):
    padded = jnp.pad(jnp.sin(x), ((0, 0), (1, 1), (1, 1), (0, 0)))
    return lax.reduce_window(padded, -jnp.inf, lax.max, window, steps, "VALID")


def grad(x):
    return jax.grad(lambda x: lax.reduce_window(jnp.sin(x), -jnp.inf, lax.max, window, steps, "SAME").sum())(x)


x, w = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((1, 16, 16, 8), (3, 3, 8, 8)))
for run, given in ((conv, (x, w)), (pool, (x,)), (grad, (x,))):
    jax.jit(run).lower(*given).compile()
PYTHON
XLA_FLAGS="--xla_dump_to=dump --xla_dump_hlo_as_text" JAX_PLATFORMS=cpu venv/bin/python run.py
for name in conv pool grad; do
    echo "XLA, $name:" $(sed -n 's/.*value: <[0-9]* \([a-z_]*pad[a-z_]*\)[.0-9]* @0> (size=\([0-9]*\),.*/\1 \2/p' dump/*"jit_$name."*-buffer-assignment.txt)
done >seen
cat >source.mlir <<'MLIR'
func.func @main(%x: tensor<1x16x16x8xf32>, %w: tensor<3x3x8x8xf32>) -> tensor<1x16x16x8xf32> {
  %e = stablehlo.exponential %x : tensor<1x16x16x8xf32>
  %y = stablehlo.convolution(%e, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x16x8xf32>, tensor<3x3x8x8xf32>) -> tensor<1x16x16x8xf32>
  return %y : tensor<1x16x16x8xf32>
}
MLIR
venv/bin/iree-compile source.mlir -o out.mlir --compile-to=stream --iree-hal-target-device=local --iree-hal-local-target-device-backends=vmvx 2>/dev/null
echo "IREE:" $(sed -n 's/.*stream.cmd.fill.*{%c\([0-9]*\)}.*/\1/p' out.mlir) >>seen
diff seen - <<'SEEN'
XLA, conv:
XLA, pool: sine_pad_fusion 10368
XLA, grad: sine_pad_fusion 9248
IREE: 10368
SEEN
echo "as it was seen"
