#!/usr/bin/env bash
# apache-tvm 0.27.0.post1
# Relax's StaticPlanBlockMemory gives a chain of additions two storages of 4000 bytes when all are of
# one type, and four when float32 and int32 alternate, though all tensors have the same bytes and no
# more are alive: a storage goes again only to a tensor of its own element type. So a quantised model,
# whose accumulators and results differ in type, gets the sum of what each type needs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q apache-tvm==0.27.0.post1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import tvm
from tvm import relax

for kinds in (["float32"] * 4, ["int32"] * 4, ["float32", "int32"] * 2, ["int8", "int32"] * 2):
    builder = relax.BlockBuilder()
    given = relax.Var("x", relax.TensorType((1, 1000), "float32"))
    with builder.function("main", [given]):
        with builder.dataflow():
            at = given
            for kind in kinds:
                at = builder.emit(relax.op.astype(at, kind))
                at = builder.emit(relax.op.add(at, at))
            out = builder.emit_output(builder.emit(relax.op.astype(at, "float32")))
        builder.emit_func_output(out)
    module = builder.get()
    with tvm.target.Target("llvm"):
        for step in ("LegalizeOps", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite", "StaticPlanBlockMemory"):
            module = getattr(relax.transform, step)()(module)
    found = []

    def look(call):
        if isinstance(call, relax.Call) and getattr(call.op, "name", "") == "relax.memory.alloc_storage":
            found.append(int(call.args[0].values[0]))

    relax.analysis.post_order_visit(module["main"], look)
    print(*kinds, found)
PYTHON
diff "$folder/seen" - <<'SEEN'
float32 float32 float32 float32 [4000, 4000]
int32 int32 int32 int32 [4000, 4000]
float32 int32 float32 int32 [4000, 4000, 4000, 4000]
int8 int32 int8 int32 [1000, 1000, 4000, 4000]
SEEN
echo "as it was seen"
