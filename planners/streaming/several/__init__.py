"""Several networks at once: periodic tasks that stream through one ring, or through one each."""

from planners.streaming.several.analysis import (
    Analysis,
    Response,
    Utilisation,
    analyse,
    drawn_responses,
)
from planners.streaming.several.answer import SharedMemory, answer, facts, verdict
from planners.streaming.several.networks import NetworkEntry, entry, tasks_of
from planners.streaming.several.rings import SharedRings, partitioned, shared
from planners.streaming.several.search import (
    LeastMemory,
    SharedSearch,
    least_of_all,
    least_partitioned,
    least_shared,
    search,
)
from planners.streaming.several.tasks import (
    POLICIES,
    PeriodicTask,
    Policy,
    TaskJob,
    exact,
    hyperperiod,
    jobs_of,
    task,
)

__all__ = [
    "POLICIES",
    "Analysis",
    "LeastMemory",
    "NetworkEntry",
    "PeriodicTask",
    "Policy",
    "Response",
    "SharedMemory",
    "SharedRings",
    "SharedSearch",
    "TaskJob",
    "Utilisation",
    "analyse",
    "answer",
    "drawn_responses",
    "entry",
    "exact",
    "facts",
    "hyperperiod",
    "jobs_of",
    "least_of_all",
    "least_partitioned",
    "least_shared",
    "partitioned",
    "search",
    "shared",
    "task",
    "tasks_of",
    "verdict",
]
