"""Ten tasks for a course, answered by hand or with a planner, and judged byte by byte."""

from planners.assignments.assignment import Exercise, Goal, Judgement
from planners.assignments.judge import judge, judge_folder
from planners.assignments.solutions import solution
from planners.assignments.ten import assignment, assignments

__all__ = [
    "Exercise",
    "Goal",
    "Judgement",
    "assignment",
    "assignments",
    "judge",
    "judge_folder",
    "solution",
]
