"""Several networks at once: periodic tasks that stream through one ring, or through one each."""

from planners.streaming.several.analysis import (
    Analysis,
    Response,
    Utilisation,
    analyse,
    drawn_responses,
)
from planners.streaming.several.rings import Layout, partitioned, shared
from planners.streaming.several.search import (
    Found,
    Search,
    least_of_all,
    least_partitioned,
    least_shared,
    search,
)
from planners.streaming.several.tasks import POLICIES, Job, Policy, Task, hyperperiod, jobs_of, task

__all__ = [
    "POLICIES",
    "Analysis",
    "Found",
    "Job",
    "Layout",
    "Policy",
    "Response",
    "Search",
    "Task",
    "Utilisation",
    "analyse",
    "drawn_responses",
    "hyperperiod",
    "jobs_of",
    "least_of_all",
    "least_partitioned",
    "least_shared",
    "partitioned",
    "search",
    "shared",
    "task",
]
