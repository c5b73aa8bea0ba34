"""Networks half run: what is executed, resident and written, and the moves from there.

The cost of a state counts what was paid and what must be paid: an evicted tensor is charged its
store, unless the host has it, and its reload at once. So only evictions cost anything. They are
lazy: nothing leaves but for an operator that does not fit, and only by minimal sets of victims.

By wish some tensors never leave, and others leave before each operator that does not use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from planners.core.masks import bits
from planners.core.progress import Clock, TimeOver
from planners.cosma.model.net import Net
from planners.cosma.order.rules import ORDER_RULES, OrderRules

# The clock is read after so many turns of a search for victims.
BREATH = 1024
# What it costs to evict a tensor that is to be kept.
NEVER = 1 << 62


class OrderState(NamedTuple):
    """Masks over operators (`done`, `ready`) and tensors; `used` is what `resident` takes.

    `absent`: needed later, on the host only. `written`: tensors in use that the host has because
    they were evicted once; what it has anyway is `OrderSpace.host`.
    """

    done: int
    ready: int
    resident: int
    absent: int
    written: int
    used: int


class OrderStep(NamedTuple):
    """An operator as the search sees it; sizes in units, tensors as masks."""

    predecessors: int
    successors: tuple[tuple[int, int], ...]  # mask of each, and of what it waits for
    reads: int
    operands: tuple[tuple[int, int, int], ...]  # of each input: mask, size, consumers
    read_later: int  # the outputs that anything reads
    fresh: int  # what the outputs take, and parameters that only this operator reads
    kept: int  # what the outputs take that anything reads
    touches: int  # inputs and outputs


class OrderSpace:
    """All states of a net, and the moves between them."""

    def __init__(self, net: Net, rules: OrderRules = ORDER_RULES) -> None:
        self.net, self.rules = net, rules
        self.unit, self.capacity, self.size = net.unit, net.capacity, net.sizes
        self.host, self.consumers = net.host, net.consumers
        self.keep, self.spill = net.keep, net.spill
        self.everything = (1 << len(net.ops)) - 1
        self.skipped = self.everything & ~net.counts
        successors: list[list[int]] = [[] for _ in net.ops]
        for i in bits(net.counts):
            for near in bits(net.ops[i].after):
                successors[near].append(i)
        self.steps = [self._step(i, after) for i, after in enumerate(successors)]
        self.tensors = sum(1 << t for t in {t for op in net.ops for t in (*op.reads, *op.writes)})
        self._bytes: dict[int, int] = {0: 0}
        self._ready: dict[int, int] = {}

    @property
    def count(self) -> int:
        return len(self.net.ops)

    def _step(self, position: int, after: Sequence[int]) -> OrderStep:
        ops, op = self.net.ops, self.net.ops[position]
        later = [t for t in op.writes if self.consumers[t]]
        return OrderStep(
            predecessors=op.after,
            successors=tuple((1 << i, ops[i].after) for i in after),
            reads=sum(1 << t for t in op.reads),
            operands=tuple((1 << t, self.size[t], self.consumers[t]) for t in op.reads),
            read_later=sum(1 << t for t in later),
            fresh=sum(self.size[t] for t in op.writes) + op.extra,
            kept=sum(self.size[t] for t in later),
            touches=sum(1 << t for t in {*op.reads, *op.writes}),
        )

    def bytes(self, mask: int) -> int:
        """Units that the tensors of a mask take; the same few masks come again and again."""
        total = self._bytes.get(mask)
        if total is None:
            total = self._bytes[mask] = sum(self.size[t] for t in bits(mask))
        return total

    def start(self) -> OrderState:
        """Nothing has run; operators outside `net.counts` are treated as done."""
        return OrderState(self.skipped, self._ready_after(self.skipped), 0, 0, 0, 0)

    def seen(self, state: OrderState) -> OrderState:
        """A state of the whole net as this part of it sees it."""
        done, resident = state.done | self.skipped, state.resident & self.tensors
        absent, written = state.absent & self.tensors, state.written & self.tensors
        used = self.bytes(resident)
        return OrderState(done, self._ready_after(done), resident, absent, written, used)

    def _ready_after(self, done: int) -> int:
        ready = self._ready.get(done)
        if ready is None:
            rest = bits(self.everything & ~done)
            ready = sum(1 << i for i in rest if not self.steps[i].predecessors & ~done)
            self._ready[done] = ready
        return ready

    def moves(
        self, state: OrderState, clock: Clock | None = None
    ) -> Iterator[tuple[int, OrderState, int]]:
        """Each ready operator with each minimal set of victims: cost, state and position.

        The state is as the operator leaves it; `settle` runs what is forced then. There may be
        millions of sets: raises `TimeOver` where a clock is given that expires in between.
        """
        for position in bits(state.ready):
            step = self.steps[position]
            missing = step.reads & ~state.resident
            arriving = self.bytes(missing) if missing else 0
            need = state.used + arriving + step.fresh - self.capacity
            candidates, unwanted = state.resident & ~step.reads & ~self.keep, 0
            if self.spill:
                unwanted = candidates & self.spill
                candidates, need = candidates ^ unwanted, need - self.bytes(unwanted)
            for victims in self._victims(state, candidates, need, clock):
                gone = victims | unwanted
                cost = self.bytes(gone) + self.bytes(gone & ~(state.written | self.host))
                moved = OrderState(
                    state.done,
                    state.ready,
                    state.resident & ~gone | missing,
                    (state.absent | gone) & ~missing,
                    state.written | (gone & ~self.host),
                    state.used - self.bytes(gone) + arriving,
                )
                yield cost, self.run(moved, position), position

    def run(self, state: OrderState, position: int) -> OrderState:
        """Run an operator whose inputs are resident and that fits."""
        step, done = self.steps[position], state.done | 1 << position
        resident, used = state.resident | step.read_later, state.used + step.kept
        for tensor, size, consumers in step.operands:
            if not consumers & ~done:
                resident ^= tensor
                used -= size
        ready = state.ready ^ 1 << position
        for successor, waits_for in step.successors:
            if not waits_for & ~done:
                ready |= successor
        live = resident | state.absent
        return OrderState(done, ready, resident, state.absent, state.written & live, used)

    def settle(self, state: OrderState, order: list[int]) -> OrderState:
        """Run all operators that no continuation can be worse for having run now.

        Such an operator, or the chain that it begins, fits, and leaves nothing behind that is
        larger, or costs more to evict, than one resident input that dies with it: the output stands
        for that input. Inputs that are not resident die too: their reload is paid for already. What
        is to be spilled is neither used nor resident: other operators might still use it for free.
        """
        again = True
        while again:
            again = False
            for position in bits(state.ready & self.forceable):
                if self.rivals[position] & ~state.done:
                    continue
                for free in self._free_run(state, position):
                    state = self.run(self._with_inputs(state, free), free)
                    order.append(free)
                    again = True
        return state

    def _with_inputs(self, state: OrderState, position: int) -> OrderState:
        missing = self.steps[position].reads & ~state.resident
        if not missing:
            return state
        return state._replace(
            resident=state.resident | missing,
            absent=state.absent & ~missing,
            used=state.used + self.bytes(missing),
        )

    def _free_run(self, state: OrderState, position: int) -> tuple[int, ...]:
        """The longest part of the chain from `position` that is free to run now; it may be none."""
        step, done = self.steps[position], state.done | 1 << position
        if self.spill & (state.resident | step.touches):
            return ()
        missing = step.reads & ~state.resident
        used = state.used + (self.bytes(missing) if missing else 0)
        if used + step.fresh > self.capacity:
            return ()
        had = state.written | self.host
        stand_ins = []  # size and price of what dies here and is resident
        for tensor, size, consumers in step.operands:
            if not consumers & ~done:
                used -= size
                if not tensor & missing:
                    price = size if tensor & had else 2 * size
                    stand_ins.append((size, NEVER if tensor & self.keep else price))
            elif tensor & missing:
                return ()
        chain, free = self.chains[position], 0
        smallest = cheapest = NEVER
        for length, follower in enumerate(chain, 1):
            kept, read_later = self.steps[follower].kept, self.steps[follower].read_later
            if length > 1 and used + self.steps[follower].fresh > self.capacity:
                break
            if read_later & (read_later - 1):
                break  # Several outputs may be evicted apart: no input stands for them.
            if length > 1 and self.spill & self.steps[follower].touches:
                break
            price = kept if read_later & self.host else 2 * kept
            if read_later & self.keep:
                price = NEVER
            # What is left stands for a dying input, and after it for each output in between.
            stand_ins = [(min(size, smallest), min(cost, cheapest)) for size, cost in stand_ins]
            if not kept or any(size >= kept and cost >= price for size, cost in stand_ins):
                free = length
            smallest, cheapest = min(smallest, kept), min(cheapest, price)
            # The next one runs beside this one's output, and then in its place.
            used += kept - (self.steps[chain[length - 2]].kept if length > 1 else 0)
        return chain[:free]

    @cached_property
    def chains(self) -> list[tuple[int, ...]]:
        """Each operator with those after it that read one's only output, and nothing else."""
        chains: list[tuple[int, ...]] = [()] * self.count
        for position in range(self.count - 1, -1, -1):
            step = self.steps[position]
            rest: tuple[int, ...] = ()
            read_later = step.read_later
            if read_later and not read_later & (read_later - 1) and len(step.successors) == 1:
                follower = step.successors[0][0].bit_length() - 1
                rest = chains[follower] if self._only_reads(follower, position) else ()
            chains[position] = (position, *rest)
        return chains

    def _only_reads(self, follower: int, position: int) -> bool:
        """Whether an operator reads nothing but another's outputs, and waits for it alone."""
        step = self.steps[follower]
        read_later = self.steps[position].read_later
        return step.reads == read_later and step.predecessors == 1 << position

    @cached_property
    def rivals(self) -> list[int]:
        """The other readers of an operator's only input: until they ran, nothing dies with it."""
        return [
            step.operands[0][2] & ~(1 << i) if len(step.operands) == 1 and step.kept else 0
            for i, step in enumerate(self.steps)
        ]

    @cached_property
    def forceable(self) -> int:
        """Operators whose chain ever leaves no more than one of their inputs takes."""
        mask = 0
        for position, step in enumerate(self.steps if self.rules.forced_moves else ()):
            left = min(self.steps[follower].kept for follower in self.chains[position])
            if not left or any(size >= left for _, size, _ in step.operands):
                mask |= 1 << position
        return mask

    def _victims(
        self, state: OrderState, candidates: int, need: int, clock: Clock | None
    ) -> Iterator[int]:
        """Minimal sets of at least `need` units, without those that a better choice rules out."""
        if need <= 0:
            yield 0
            return
        tensors = sorted(bits(candidates), key=lambda t: -self.size[t])
        first = self._to_go_before(state, tensors)
        rest = [0] * (len(tensors) + 1)
        for i in range(len(tensors) - 1, -1, -1):
            rest[i] = rest[i + 1] + self.size[tensors[i]]
        stack = [(0, 0, 0, 0)]  # next tensor, bytes and mask of the chosen, what they ask for
        turns = 0
        while stack:
            turns += 1
            if turns % BREATH == 0 and clock is not None and clock.expired():
                raise TimeOver
            i, total, chosen, to_go_first = stack.pop()
            if total >= need:
                # Sizes fall along the way: the last one is the smallest, and it was needed.
                if not to_go_first & ~chosen:
                    yield chosen
            elif total + rest[i] >= need:
                stack.append((i + 1, total, chosen, to_go_first))
                tensor = tensors[i]
                taken = (chosen | 1 << tensor, to_go_first | first[tensor])
                stack.append((i + 1, total + self.size[tensor], *taken))

    def _to_go_before(self, state: OrderState, tensors: list[int]) -> dict[int, int]:
        """For each tensor, those that go before it does.

        Let b have one use left, and a none before that one; let a be as large and cost no more to
        evict. Evicting a in place of b is then no worse: a comes back when b is used, into the room
        that b had.
        """
        have = state.written | self.host
        left = {t: self.consumers[t] & ~state.done for t in tensors}
        price = {t: self.size[t] * (1 if have >> t & 1 else 2) for t in tensors}
        before = dict.fromkeys(tensors, 0)
        for b in tensors if self.rules.later_use else ():
            use = left[b]
            if use & (use - 1):
                continue
            later = self.net.behind[use.bit_length() - 1] | use
            for a in tensors:
                if self.size[a] < self.size[b]:
                    break
                if price[a] > price[b] or left[a] & ~later or a == b:
                    continue
                alike = left[a] == use and self.size[a] == self.size[b] and price[a] == price[b]
                if not alike or a < b:
                    before[b] |= 1 << a
        return before
