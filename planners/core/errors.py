"""Spillway's own errors: each message says what is wrong and what to do about it."""

from __future__ import annotations

from typing import Any

MOST_LETTERS = 1000
"""Of a message: names that it quotes come from files and may be of any length."""


class SpillwayError(Exception):
    """Base of every error that a user can cause and fix."""

    def __str__(self) -> str:
        text = super().__str__()
        return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


class UnknownName(SpillwayError):
    """A model, machine or planner that does not exist; `nearest` holds the closest names."""

    def __init__(self, what: str, name: str, nearest: list[str], hint: str = "") -> None:
        self.what, self.name, self.nearest = what, name, nearest
        text = f"unknown {what} {name!r:.200}"
        if nearest:
            text += "; did you mean " + " or ".join(repr(n) for n in nearest) + "?"
        self._given = (what, name, nearest, hint)
        super().__init__(text + (f" ({hint})" if hint else ""))

    # By default exceptions are pickled by their message alone, and cannot leave a worker process.
    def __reduce__(self) -> tuple[type[UnknownName], tuple[str, str, list[str], str]]:
        return type(self), self._given


class BadInput(SpillwayError):
    """A file, option or argument that cannot be used as it is."""


class NoPlanFound(SpillwayError):
    """A search that ended with no plan and no proof that there is none.

    `have_bytes` is the budget that was given. `need_bytes` is one for which it has found a plan,
    where it looked for that too: there `operator` binds, with `tensors`.
    """

    def __init__(
        self,
        text: str,
        need_bytes: int | None = None,
        have_bytes: int = 0,
        operator: str = "",
        tensors: tuple[str, ...] = (),
    ) -> None:
        self.need_bytes, self.have_bytes = need_bytes, have_bytes
        self.operator, self.tensors = operator, tensors
        super().__init__(text)

    def __reduce__(self) -> tuple[type[NoPlanFound], tuple[Any, ...]]:
        about = (self.need_bytes, self.have_bytes, self.operator, self.tensors)
        return type(self), (self.args[0], *about)


class ProgramTooLong(NoPlanFound):
    """A plan of so many instructions that it is not written, at all or in the time asked."""


class ImportFailed(SpillwayError):
    """A model that exists but could not be turned into a graph."""


class BudgetTooSmall(SpillwayError):
    """No plan exists within the budget: `need_bytes` > `have_bytes`, and `operator` binds.

    `remedy` tells what would help, where that is not a budget of MR.
    """

    def __init__(
        self,
        need_bytes: int,
        have_bytes: int,
        operator: str,
        tensors: tuple[str, ...] = (),
        remedy: str = "",
    ) -> None:
        self.need_bytes, self.have_bytes = need_bytes, have_bytes
        self.operator, self.tensors, self.remedy = operator, tensors, remedy
        binds = f"operator {operator!r}" + (f" ({', '.join(tensors)})" if tensors else "")
        super().__init__(
            f"infeasible: {binds} needs {need_bytes} bytes at once, the budget is {have_bytes}, "
            f"short by {need_bytes - have_bytes}; "
            + (remedy or f"the smallest feasible budget is MR = {need_bytes}")
        )

    def __reduce__(
        self,
    ) -> tuple[type[BudgetTooSmall], tuple[int, int, str, tuple[str, ...], str]]:
        given = (self.need_bytes, self.have_bytes, self.operator, self.tensors, self.remedy)
        return type(self), given


def refusal(
    need_bytes: int,
    bound_bytes: int,
    have_bytes: int,
    operator: str,
    tensors: tuple[str, ...],
    remedy: str,
) -> BudgetTooSmall | NoPlanFound:
    """Why there is no plan in a budget: none exists where a bound is above it, else none was found.

    `need_bytes` is a budget for which there is a plan.
    """
    if bound_bytes > have_bytes:
        return BudgetTooSmall(need_bytes, have_bytes, operator, tensors, remedy)
    return NoPlanFound(
        f"none found: no plan in {have_bytes} bytes, and no proof that none exists; "
        f"{need_bytes} bytes have one, where operator {operator!r} ({', '.join(tensors)}) binds; "
        f"{remedy}: allow more time, or a larger budget",
        need_bytes,
        have_bytes,
        operator,
        tensors,
    )


class MemoriesTooSmall(BudgetTooSmall):
    """Several memories do not hold what must be there at once, or one tensor.

    `memories` are those of `have_bytes` in all. Where their bytes would be enough, `why` says how
    it is known that there is no way to share tensors out.
    """

    def __init__(
        self,
        need_bytes: int,
        have_bytes: int,
        operator: str,
        tensors: tuple[str, ...],
        memories: tuple[str, ...],
        why: str = "",
    ) -> None:
        super().__init__(need_bytes, have_bytes, operator, tensors)
        self.memories, self.why = memories, why
        names = " and ".join(memories)
        needs = f"operator {operator!r} ({', '.join(tensors)}) needs {need_bytes} bytes at once"
        if need_bytes <= have_bytes:
            text = (
                f"{needs}, {names} have {have_bytes} in all, but the tensors cannot be divided "
                f"among them ({why})"
            )
        elif len(memories) == 1:
            text = (
                f"tensor {tensors[0]!r:.80} has {need_bytes} bytes, more than each memory: "
                f"{names!r:.80} has {have_bytes}"
            )
        else:
            short = need_bytes - have_bytes
            text = f"{needs}, {names} have {have_bytes} in all, short by {short}"
        self.args = (f"infeasible: {text}",)

    def __reduce__(self) -> tuple[type[MemoriesTooSmall], tuple[Any, ...]]:
        given = (self.need_bytes, self.have_bytes, self.operator, self.tensors, self.memories)
        return type(self), (*given, self.why)


class WishesConflict(BudgetTooSmall):
    """No plan respects `wishes`, a minimal set of those given, as texts: fewer are possible.

    Within the budget, where `need_bytes` is more; at no budget, where the two are equal, and
    `reason` says why.
    """

    def __init__(
        self,
        wishes: tuple[str, ...],
        need_bytes: int,
        have_bytes: int,
        operator: str = "",
        tensors: tuple[str, ...] = (),
        reason: str = "",
    ) -> None:
        super().__init__(need_bytes, have_bytes, operator, tensors)
        self.wishes, self.reason = wishes, reason
        texts = " and ".join(repr(wish) for wish in wishes)
        if need_bytes <= have_bytes:
            text = f"infeasible at any budget: {texts}: {reason}"
        else:
            binds = f"operator {operator!r}" + (f" ({', '.join(tensors)})" if tensors else "")
            text = (
                f"infeasible: with {texts}, {reason or binds} needs {need_bytes} bytes at once, "
                f"the budget is {have_bytes}, short by {need_bytes - have_bytes}; without "
                f"{'it' if len(wishes) == 1 else 'one of them'} the budget is enough"
            )
        self.args = (text,)

    def __reduce__(self) -> tuple[type[WishesConflict], tuple[Any, ...]]:
        given = (self.wishes, self.need_bytes, self.have_bytes, self.operator, self.tensors)
        return type(self), (*given, self.reason)


class InvalidPlan(SpillwayError):
    """A program that does not do what it claims: the step, the address and the reason.

    `step` and `instruction` count from 0; the text counts steps from 1, as all that is shown does.
    """

    def __init__(
        self,
        reason: str,
        *,
        step: int | None = None,
        instruction: int | None = None,
        memory: str | None = None,
        address: int | None = None,
        kind: str = "invalid",
    ) -> None:
        self.reason, self.step, self.instruction = reason, step, instruction
        self.memory, self.address, self.kind = memory, address, kind
        where = []
        if step is not None:
            where.append(f"step {step + 1}")
        if instruction is not None:
            where.append(f"instruction {instruction}")
        if address is not None:
            where.append(f"{memory or 'address'}@{address:#x}")
        text = (", ".join(where) + ": " if where else "") + reason
        super().__init__("\\n".join(text.splitlines()))  # a file's names may be of several lines


class Cancelled(SpillwayError):
    """Planning was stopped before there was anything to keep."""
