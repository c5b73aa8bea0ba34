#!/usr/bin/env bash
# jax 0.10.2 on the processor
# An array of a thousand int4 takes 1000 bytes by nbytes and by the size on its device, and 500 as
# the argument of a compiled program by that program's own memory_analysis; int2 takes 1000 and 250.
# Arrays have a byte for each number, the compiler's books have them packed: budgets that add up
# both are wrong by two to four, and the traffic of cost_analysis goes with the packed ones.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q jax==0.10.2
JAX_PLATFORMS=cpu "$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import jax
import jax.numpy as jnp

for kind in ("int8", "int4", "int2"):
    array = jnp.ones((100, 10), kind)
    made = jax.jit(lambda x: x.T).lower(array).compile()
    print(
        kind,
        "nbytes", array.nbytes,
        "on device", array.on_device_size_in_bytes(),
        "argument", made.memory_analysis().argument_size_in_bytes,
        "traffic", int(made.cost_analysis()["bytes accessed"]),
    )
PYTHON
diff "$folder/seen" - <<'SEEN'
int8 nbytes 1000 on device 1000 argument 1000 traffic 2000
int4 nbytes 1000 on device 1000 argument 500 traffic 1000
int2 nbytes 1000 on device 1000 argument 250 traffic 500
SEEN
echo "as it was seen"
