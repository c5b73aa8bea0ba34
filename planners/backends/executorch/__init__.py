"""Our packing as ExecuTorch's memory planning: in one memory, and in several.

```
from planners.backends.executorch import pack_memory
algorithms = MemoryPlanningAlgorithmSuite([pack_memory])
config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(algorithms))
program = edge.to_executorch(config)
```
"""

from planners.backends.executorch.order import least_peak_order
from planners.backends.executorch.planning import PackMemory, pack_memory

__all__ = ["PackMemory", "least_peak_order", "pack_memory"]
