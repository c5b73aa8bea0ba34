"""What no plan of a problem can be better than: bytes that must move, seconds that must pass.

Each holds for every program that `check` accepts, by whatever planner: an operator may be cut into
parts, run on rows, or read again; it still computes all of its output from what it touches.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from planners.core.bytes_accessed import touched_by
from planners.core.compute_seconds import ComputeSeconds, seconds_by_port
from planners.core.engines import moves, storage
from planners.core.graph import Graph, Operator
from planners.core.machine import Machine
from planners.core.plan import Plan
from planners.core.weights import COUNTED, IN_PLACE, LEFT_OUT, weights_of


@dataclass(frozen=True)
class ProblemFloors:
    """Lower bounds of a problem: a graph, a machine, and what weights do.

    `parameters` is the memory that weights come from, where that is known; else it is the fastest
    of those that they may come from. No budget is asked: a larger one takes none of these away.
    """

    graph: Graph
    machine: Machine
    weights: str
    parameters: str = ""

    @cached_property
    def _touched(self) -> dict[str, dict[str, int]]:
        """By operator: bytes of each operand that it touches."""
        return {op.name: touched_by(self.graph, op) for op in self.graph.operators}

    def _read_bytes(self, op: Operator, names: Iterable[str]) -> int:
        return sum(self._touched[op.name][name] for name in names)

    @cached_property
    def loaded_bytes(self) -> int:
        """Bytes that must come on chip: what is touched of inputs, and of weights that count."""
        return self.loaded_for(self.graph.operators)

    def loaded_for(self, operators: Iterable[Operator], stored: Container[str] = ()) -> int:
        """The same for some operators, where what others made of these tensors was `stored`."""
        kinds = {"input", "state", *(["parameter"] if self.weights == COUNTED else [])}
        tensors, most = self.graph.tensors, dict[str, int]()
        for op in operators:
            for name, size in self._touched[op.name].items():
                if tensors[name].kind in kinds or name in stored:
                    most[name] = max(size, most.get(name, 0))
        return sum(most.values())

    @cached_property
    def stored_bytes(self) -> int:
        """Bytes that must leave the chip: outputs that operators make."""
        return self.stored_by(self.graph.operators)

    def stored_by(self, operators: Iterable[Operator]) -> int:
        """The same of those that some operators make."""
        produced = {name for op in operators for name in op.outputs}
        return sum(map(self.graph.size_bytes, produced.intersection(self.graph.outputs)))

    @cached_property
    def read_in_place_bytes(self) -> int:
        """Bytes of weights that operators read where they live, each at least once."""
        if self.weights != IN_PLACE:
            return 0
        return sum(self._read_bytes(op, op.parameters) for op in self.graph.operators)

    @property
    def compulsory_bytes(self) -> int:
        """Off-chip bytes of any schedule: what must come, what must leave, what is read there."""
        return self.loaded_bytes + self.stored_bytes + self.read_in_place_bytes

    def compute_s(self, op: Operator) -> float:
        """Seconds that an operator computes at least: its array's full steps, or bytes read or
        written at full rate.

        The rule of `planners.core.compute_seconds`, with each byte that the operator touches read
        once, and no axis rounded up.
        """
        if op.seconds is not None:
            return op.seconds
        graph, machine = self.graph, self.machine
        onchip = machine.memory(machine.onchip)
        touched = self._read_bytes(op, op.inputs)
        weights = self._read_bytes(op, op.parameters)
        reading = (touched + weights * (self.weights == COUNTED)) / onchip.read_bytes_per_s
        read_s = {machine.onchip: reading}
        if self.weights == IN_PLACE:
            # Where they may come from several memories, the fastest, beside what is on chip.
            fastest = max(self._weights_in, key=lambda m: machine.memory(m).read_bytes_per_s)
            crossing = sum(
                self._touched[op.name][name] * self._computing.crossing(name, fastest)
                for name in op.parameters
            )
            read_s[fastest] = (
                read_s.get(fastest, 0.0) + crossing / machine.memory(fastest).read_bytes_per_s
            )
        written = sum(map(graph.size_bytes, op.outputs)) / onchip.write_bytes_per_s
        moving = seconds_by_port(read_s, {machine.onchip: written}, self._ports, max)
        busy = self._computing.least_s(op)
        return machine.engine("compute").latency_s + float(max(busy, moving))

    @cached_property
    def _computing(self) -> ComputeSeconds:
        return ComputeSeconds(self.graph, self.machine)

    @cached_property
    def _ports(self) -> Machine:
        """The machine with ports that no plan's reads and writes beat, whichever memories of
        several it chooses."""
        machine, ports = self.machine, self.machine.compute_ports
        if not ports.parallel and not ports.shared:  # One after the other, whichever they are.
            return machine
        several = {*self._weights_in} if len(self._weights_in) > 1 else set()
        beside = several and any(not several <= {*group} for group in ports.parallel)
        if not machine.slower and not beside:
            return machine
        alone = tuple((level.name,) for level in machine.memories)
        return replace(machine, compute_ports=replace(ports, parallel=alone, shared=()))

    @cached_property
    def computing_s(self) -> float:
        """Seconds of all operators, one after the other: there is one engine that computes."""
        return sum(map(self.compute_s, self.graph.operators))

    def load_s(self, size_bytes: int) -> float:
        """Seconds in which so many bytes can come on chip, with all engines that may bring them."""
        sources = {self.machine.offchip, *(self._weights_in if self.weights == COUNTED else ())}
        return self._moving_s(size_bytes, sources, {self.machine.onchip})

    def arriving_s(self, size_bytes: int) -> float:
        """The same from any memories off chip, wherever the bytes were moved to before."""
        chips = {level.name for level in self.machine.banks}
        sources = {level.name for level in self.machine.memories} - chips
        return self._moving_s(size_bytes, sources, {self.machine.onchip})

    def store_s(self, size_bytes: int) -> float:
        """Seconds in which so many bytes can leave the chip."""
        return self._moving_s(size_bytes, {self.machine.onchip}, {self.machine.offchip})

    def traffic_s(self, size_bytes: int) -> float:
        """Seconds in which so many bytes can be transferred, in both directions at once."""
        if not size_bytes:
            return 0.0
        return 1 / (1 / self.load_s(size_bytes) + 1 / self.store_s(size_bytes))

    @cached_property
    def latency_s(self) -> float:
        """Seconds of any plan, whatever its budget."""
        return self.latency_of(self.loaded_bytes + self.stored_bytes)

    def latency_of(self, transferred_bytes: int) -> float:
        """Seconds of any plan that loads and stores at least so many bytes.

        What is read in place is no transfer. One engine computes, after a first load and before a
        last store: each takes its engine's latency at the least.
        """
        first = self._least_latency(True) if self._begins_with_load else 0.0
        last = self._least_latency(False) if self._ends_with_store else 0.0
        loads = self.load_s(self.loaded_bytes)
        stores = self.store_s(self.stored_bytes)
        return max(
            first + self.computing_s + last, loads, stores, self.traffic_s(transferred_bytes)
        )

    @cached_property
    def energy_j(self) -> float:
        """Joules of any plan: its MACs, what operators touch on chip, and what must cross."""
        machine, graph = self.machine, self.graph
        host, chips = machine.memory(machine.offchip), machine.banks
        weights = [machine.memory(name) for name in self._weights_in]
        outside = min(m.read_pj_per_byte for m in (host, *weights))
        operands = sum(self._read_bytes(op, op.inputs) for op in graph.operators)
        if self.weights == COUNTED:
            operands += sum(self._read_bytes(op, op.parameters) for op in graph.operators)
        results = sum(graph.size_bytes(t) for op in graph.operators for t in op.outputs)
        picojoules = graph.macs * machine.mac_pj
        picojoules += (operands + self.stored_bytes) * min(m.read_pj_per_byte for m in chips)
        picojoules += (results + self.loaded_bytes) * min(m.write_pj_per_byte for m in chips)
        picojoules += (self.loaded_bytes + self.read_in_place_bytes) * outside
        picojoules += self.stored_bytes * host.write_pj_per_byte
        return picojoules * 1e-12 + machine.leakage_w * self.latency_s

    @cached_property
    def _weights_in(self) -> frozenset[str]:
        """The memories that weights may come from."""
        if self.parameters:
            return frozenset([self.parameters])
        return frozenset([self.machine.parameters, storage(self.machine)])

    @property
    def _begins_with_load(self) -> bool:
        """Whether the first operator to run must wait for something to come."""
        loaded = {"input", "state", *(["parameter"] if self.weights == COUNTED else [])}
        tensors = self.graph.tensors
        first = (op for op in self.graph.operators if not self._made_inside(op))
        return all(
            any(
                tensors[name].kind in loaded and self._touched[op.name][name]
                for name in (*op.inputs, *op.parameters)
            )
            for op in first
        )

    @property
    def _ends_with_store(self) -> bool:
        """Whether what runs last has an output to store: no results are read by nobody."""
        graph = self.graph
        return bool(graph.operators) and all(
            any(graph.consumers[name] or name in graph.outputs for name in op.outputs)
            for op in graph.operators
        )

    def _made_inside(self, op: Operator) -> bool:
        return any(name in self.graph.producer for name in op.inputs)

    def _least_latency(self, inwards: bool) -> float:
        machine = self.machine
        engines = [
            engine.latency_s
            for engine in machine.engines
            for level in machine.memories
            if level.name != machine.onchip
            and moves(
                machine,
                engine.name,
                *((level.name, machine.onchip) if inwards else (machine.onchip, level.name)),
            )
        ]
        return min(engines, default=0.0)

    def _moving_s(self, size_bytes: int, sources: set[str], targets: set[str]) -> float:
        """Bytes over all engines that may move them, each at the fastest that it can."""
        machine, rate = self.machine, 0.0
        for engine in machine.engines:
            rates = [
                min(
                    engine.bytes_per_s,
                    machine.memory(source).read_bytes_per_s,
                    machine.memory(target).write_bytes_per_s,
                )
                for source in sources
                for target in targets
                if moves(machine, engine.name, source, target)
            ]
            rate += max(rates, default=0.0)
        return size_bytes / rate if rate else 0.0


def floors_of(plan: Plan) -> ProblemFloors:
    """The floors of a plan's problem: its graph, its machine, and what weights do in it."""
    weights = weights_of(plan.graph, plan.program) or LEFT_OUT
    return ProblemFloors(plan.graph, plan.machine, weights, plan.program.homes.get("parameter", ""))


def latency_floor_s(plan: Plan) -> float | None:
    """Seconds that no plan of a plan's problem takes less than, whatever its planner and budget.

    None where the problem gives the times of layers: then the machine's rates say nothing.
    """
    return None if plan.times else floors_of(plan).latency_s
