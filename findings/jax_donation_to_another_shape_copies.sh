#!/usr/bin/env bash
# jax 0.10.2 on the processor
# A donated argument whose result has another shape (or type) of as many bytes is accepted, without
# the warning that an unusable one gets, and reported as shared (alias 4000). But the program then
# has a temporary of 4000 bytes that it had not without the donation, fills it and copies it back:
# as much memory as before and twice the traffic. With the shape kept, donation works as one thinks.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q jax==0.10.2
JAX_PLATFORMS=cpu "$folder/venv/bin/python" -W error - >"$folder/seen" <<'PYTHON'
import jax
import jax.numpy as jnp

given = jax.ShapeDtypeStruct((1000,), jnp.float32)
for name, work in (
    ("same", lambda x: x + 1),
    ("reshaped", lambda x: (x + 1).reshape(10, 100)),
    ("as whole numbers", lambda x: (x + 1).astype(jnp.int32)),
):
    for donated in ((), (0,)):
        made = jax.jit(work, donate_argnums=donated).lower(given).compile()
        memory = made.memory_analysis()
        shared, temporary = memory.alias_size_in_bytes, memory.temp_size_in_bytes
        total = memory.argument_size_in_bytes + memory.output_size_in_bytes - shared + temporary
        traffic = int(made.cost_analysis()["bytes accessed"])
        print(name, "donated" if donated else "kept", dict(shared=shared, temporary=temporary, total=total, traffic=traffic))
PYTHON
diff "$folder/seen" - <<'SEEN'
same kept {'shared': 0, 'temporary': 0, 'total': 8000, 'traffic': 8000}
same donated {'shared': 4000, 'temporary': 0, 'total': 4000, 'traffic': 8000}
reshaped kept {'shared': 0, 'temporary': 0, 'total': 8000, 'traffic': 8000}
reshaped donated {'shared': 4000, 'temporary': 4000, 'total': 8000, 'traffic': 16000}
as whole numbers kept {'shared': 0, 'temporary': 0, 'total': 8000, 'traffic': 8000}
as whole numbers donated {'shared': 4000, 'temporary': 4000, 'total': 8000, 'traffic': 16000}
SEEN
echo "as it was seen"
