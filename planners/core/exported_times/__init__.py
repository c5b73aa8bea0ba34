"""Times of operators as other tools export them: Vela, PyTorch's profiler, TFLite's benchmark.

`EXPORTS` names each format and says by the first characters of a file whether it is one. A reader
takes the text and gives each operator's seconds, sample by sample; what it cannot attribute to one
operator of the graph, it refuses.
"""

from planners.core.exported_times.formats import EXPORTS, Export, export_of

__all__ = ["EXPORTS", "Export", "export_of"]
