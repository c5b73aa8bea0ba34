"""What the command prints: answers on standard output, progress on standard error."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from planners.core.units import format_bytes

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from planners.core.caveats import Caveats
    from planners.core.progress import Progress


@contextmanager
def answers_only() -> Iterator[None]:
    """Send what libraries print from C (HiGHS does) to standard error; Python's prints stay."""
    sys.stdout.flush()
    before, kept = sys.stdout, os.dup(1)
    os.dup2(2, 1)
    answers = os.fdopen(os.dup(kept), "w", encoding="utf-8", errors="backslashreplace")
    sys.stdout = answers
    try:
        yield
    finally:
        sys.stdout = before
        os.dup2(kept, 1)
        os.close(kept)
        answers.close()


@contextmanager
def one_line_at_most() -> Iterator[None]:
    """Leave with exit code 1 where the answer cannot be written; quietly where nobody reads it.

    A character that the terminal's encoding lacks is escaped.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # For what is still in buffers.
        if not isinstance(error, BrokenPipeError):
            print(f"spillway: {error}", file=sys.stderr)
        sys.exit(1)


class CommandAnswer:
    """The answer of a command: one JSON object, or text for people."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def give(self, facts: Mapping[str, Any], text: str) -> None:
        print(json.dumps(facts) if self.as_json else text)


class Reporter:
    """A line on standard error that lives while something runs; Ctrl-C asks it to stop once."""

    def __init__(self, title: str) -> None:
        self.title, self.stop = title, False
        self.bar = _bar() if sys.stderr.isatty() else None

    def __enter__(self) -> Reporter:
        if self.bar is not None:
            self.bar.start()
            self.bar.add_task(self.title)
        self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self._before)
        if self.bar is not None:
            self.bar.stop()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.stop:
            raise KeyboardInterrupt
        self.stop = True
        message = "stopping: the best plan so far is kept (again to abort)"
        if self.bar is None:
            print(message, file=sys.stderr)
        else:
            self.bar.console.print(message)

    def say(self, text: str) -> None:
        """Show what is being done now."""
        self.show(f"{self.title}: {text}")

    def show(self, line: str) -> None:
        """The same in a line without the title."""
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], description=line)

    def progress(self, moment: Progress) -> bool:
        """A planner's progress: stage, best so far and bound. False once a stop was asked for."""
        parts = [moment.stage]
        if moment.incumbent_bytes is not None:
            parts.append(f"best {format_bytes(moment.incumbent_bytes)}")
        if moment.bound_bytes is not None:
            parts.append(f"bound {format_bytes(moment.bound_bytes)}")
        self.say(", ".join(parts))
        return not self.stop


def _bar() -> Bar:
    """A spinner, a text and a clock; what draws them is imported for terminals alone."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


def fail(message: str, facts: dict[str, Any], as_json: bool, code: int) -> int:
    """One line on standard error, and the facts as JSON where asked for."""
    print(f"spillway: {' '.join(message.split())}", file=sys.stderr)
    if as_json:
        print(json.dumps(facts))
    return code


def size_text(count: Any) -> str:
    """Bytes in full and in binary units."""
    return f"{int(count)} ({format_bytes(int(count))})"


def print_table(facts: Mapping[str, Any]) -> str:
    """Facts as two aligned columns."""
    width = max(len(name) for name in facts)
    return "\n".join(f"{name:<{width}}  {_text(value)}" for name, value in facts.items())


def with_notes(text: str, gaps: Caveats) -> str:
    """A table for people, and what is not known of the network that it is about."""
    return "\n".join([text, *(f"note: {line}" for line in gaps.lines())])


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
