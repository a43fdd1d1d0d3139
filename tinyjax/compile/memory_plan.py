"""The memory plan: how buffers are reused, and how much memory a call needs, before it runs.

A kernel's output reuses the buffer

- of an input that nothing reads afterwards, *in place*: if the kernel reads each element before it writes to
  the same index;
- else of any array with as many bytes that nothing reads any longer.

The sum over the processes of a program reuses the buffer of the summands.

The buffers of arrays that kernels and loops made can be reused, and those of donated arguments. The results
of host steps, which are NumPy's arrays, are freed after their last reader. All steps run in order, so memory
may be written to again as soon as the last step that reads it is launched.

Source: liveness analysis, https://en.wikipedia.org/wiki/Live-variable_analysis
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence

from tinyjax.compile.fusion.cost_record import bytes_of, bytes_of_all
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import (
    Buffer,
    For,
    Kernel,
    Load,
    PrivateArray,
    Statement,
    Store,
    Value,
    inner_bodies,
)
from tinyjax.compile.kernel.substitution import every_body, every_statement, relocated, replaced
from tinyjax.compile.passes.loops import loop_of
from tinyjax.compile.plan import MemoryPlan, Plan
from tinyjax.compile.schedules.directive import axis_of
from tinyjax.compile.schedules.nests import without_unused
from tinyjax.core.jaxpr import ClosedJaxpr, Var

# ---- the plan ----


def with_memory(plan: Plan, donated: Sequence[bool] = (), of_program: bool = True) -> Plan:
    """The plan with a memory plan, in which some kernels work in place, also for its loops' bodies;
    `donated` has a flag for each argument.

    A loop decides where its body's results go. They only reuse, in place, the carry of the previous
    iteration, which is then donated."""
    jaxpr = plan.closed.jaxpr
    given = {v for v, is_donated in zip(jaxpr.invars, donated) if is_donated}

    def of_body(body: Plan, number: int, label: str) -> Plan:
        loop = loop_of(plan.groups[number].eqn) if label == "body" else None
        carry = [False] * len(loop.consts) + [True] * len(loop.carry) if loop else []
        return with_memory(body, carry, False)

    memory = MemoryPlan(given)
    plan = plan.with_bodies(of_body, kernels=dict(plan.kernels), memory=memory)
    results = {v for v in jaxpr.outvars if isinstance(v, Var)}
    last_reader = {v: n for n, group in enumerate(plan.groups) for v in group.inputs}
    on_device = plan.made_on_device()
    reusable = {v for v in (on_device | given) - results if v.aval.size}
    made_on_host = {v for group in plan.groups for v in group.outputs} - on_device - results
    new_carry = set(jaxpr.outvars[: len(given)])

    def may_take_over(v: Var, u: Var) -> bool:
        if of_program or u not in given:
            return of_program or v not in results
        return v in new_carry and v.aval.shape == u.aval.shape

    free: list[tuple[Var, int]] = []  # and the group after which it is free
    for number, group in enumerate(plan.groups):
        dead = _dying(plan, number, last_reader)
        dying = [v for v in dead if v in reusable]
        if number in plan.kernels:
            _take_in_place(plan, number, dying, may_take_over)
            _take_free(memory, group.outputs, free, may_take_over)
        elif group.kind == "meet":
            for u, v in zip(group.eqn.invars, group.outputs):
                if isinstance(u, Var) and u in dying and group.inputs.count(u) == 1:
                    if u.aval == v.aval and may_take_over(v, u):
                        memory.reuses_buffer_of[v] = u
        taken = [memory.reuses_buffer_of.get(v) for v in group.outputs]
        free += [(v, number) for v in dying if v not in taken]
        if no_longer_read := [v for v in dead if v in made_on_host]:
            memory.freed_after[number] = no_longer_read
    for v, number in free:
        if v not in given:
            memory.freed_after.setdefault(number, []).append(v)
    _count(plan, results)
    return plan


def _dying(plan: Plan, number: int, last_reader: dict[Var, int]) -> list[Var]:
    """The variables that nothing reads after a group: first those that it is the last to read, each once and
    in the order of its inputs, then its outputs that nothing reads.
    """
    group = plan.groups[number]
    read = [v for v in dict.fromkeys(group.inputs) if last_reader[v] == number]
    return read + [v for v in group.outputs if v not in last_reader]


def _take_in_place(
    plan: Plan, number: int, dying: list[Var], may_take_over: Callable[[Var, Var], bool]
) -> None:
    group, kernel, memory = plan.groups[number], plan.kernels[number], plan.memory
    count, pairs = len(group.inputs), []
    free = [group.inputs.index(u) for u in dying if u in group.inputs]
    for at, v in enumerate(group.outputs):
        for i in free:
            both = kernel.buffers[i], kernel.buffers[count + at]
            is_safe = (
                can_be_in_place(kernel, *both)
                and is_loaded_once(kernel, both[0])
                and is_loaded_first(kernel, *both)
            )
            if is_safe and may_take_over(v, group.inputs[i]):
                memory.reuses_buffer_of[v] = group.inputs[i]
                pairs.append((i, at))
                free.remove(i)
                break
    if pairs:
        memory.in_place[number] = pairs
        plan.kernels[number] = in_place_kernel(kernel, count, pairs)


def _take_free(
    memory: MemoryPlan,
    outputs: Sequence[Var],
    free: list[tuple[Var, int]],
    may_take_over: Callable[[Var, Var], bool],
) -> None:
    """Each output without memory reuses the buffer of the first suitable variable in `free` with as many
    bytes. Its entry, (variable, group after which it is free), then leaves the list.
    """
    for v in outputs:
        if v in memory.reuses_buffer_of:
            continue
        for entry in free:
            u, _ = entry
            if bytes_of(u.aval) == bytes_of(v.aval) and may_take_over(v, u):
                memory.reuses_buffer_of[v] = u
                free.remove(entry)
                break


def _count(plan: Plan, results: set[Var]) -> None:
    """Adds up the bytes in memory while each group runs."""
    jaxpr, memory = plan.closed.jaxpr, plan.memory
    memory.argument_bytes = bytes_of_all(jaxpr.invars)
    memory.constant_bytes = bytes_of_all(jaxpr.constvars)
    memory.output_bytes = bytes_of_all(jaxpr.outvars)
    owner: dict[Var, Var] = {}  # the variable that had the memory first
    held: set[Var] = set()  # variables with memory that was allocated in the run and is in use
    lasting = memory.argument_bytes + memory.constant_bytes
    for number, group in enumerate(plan.groups):
        for v in group.outputs:
            before = memory.reuses_buffer_of.get(v)
            owner[v] = v if before is None else owner.get(before, before)
            if owner[v] not in memory.donated:
                held.add(owner[v])
            elif v in results:
                memory.alias_bytes += bytes_of(v.aval)
        bodies = plan.bodies.get(number, {}).items()
        inner = max([_body_bytes(label, body.memory) for label, body in bodies], default=0)
        memory.live.append(lasting + bytes_of_all(held) + inner)
        held.difference_update([owner[v] for v in memory.freed_after.get(number, ())])
    memory.live.append(lasting + bytes_of_all(held))


def _body_bytes(label: str, body: MemoryPlan) -> int:
    """The bytes that an iteration needs besides the loop's results, whose memory holds the previous carry; or
    that a branch needs besides its results."""
    bytes_made = body.peak_bytes - body.argument_bytes
    return bytes_made if label in ("body", "cond") else max(0, bytes_made - body.output_bytes)


# ---- in place ----


def can_be_in_place(kernel: Kernel, source: Buffer, destination: Buffer) -> bool:
    """Whether `kernel` may have the input `source` and the output `destination` in the same memory.

    This is safe if each load of the source is followed, in the same iteration of the same loop, by the store
    to that very element, which no other iteration stores."""
    if (source.dtype, source.size) != (destination.dtype, destination.size):
        return False
    return all(_loads_come_first(body, source, destination) for body in every_body(kernel.body))


def _loads_come_first(body: list[Statement], source: Buffer, destination: Buffer) -> bool:
    loads = {
        (statement.index, statement.end, statement.stride, statement.target.width): at
        for at, statement in enumerate(body)
        if isinstance(statement, Load) and statement.memory == source
    }
    stores = {
        (statement.index, statement.end, statement.stride, statement.value.width): at
        for at, statement in enumerate(body)
        if isinstance(statement, Store)
        and statement.memory == destination
        and not statement.repeats
    }
    if loads and len(stores) != 1:
        return False
    return all(place in stores and at < stores[place] for place, at in loads.items())


def is_loaded_once(kernel: Kernel, source: Buffer) -> bool:
    """Whether no element of `source` is loaded by two iterations of the naive nest: the first would store
    over what the second needs. All examples of a loop load what they share."""
    return _differs((kernel.naive or kernel).body, source, frozenset())


def is_loaded_first(kernel: Kernel, source: Buffer, destination: Buffer) -> bool:
    """Whether the naive nest stores to `destination` only after all loads from `source`: a loop that fills
    an array would store over what the update after it needs."""
    are_stores = [
        isinstance(s, Store)
        for s in every_statement((kernel.naive or kernel).body)
        if (isinstance(s, Load) and s.memory == source)
        or (isinstance(s, Store) and s.memory == destination)
    ]
    return are_stores == sorted(are_stores)


def _differs(body: list[Statement], source: Buffer, around: frozenset[str]) -> bool:
    """Whether the index of each load from `source` depends on all loops `around` it."""
    for s in body:
        if isinstance(s, Load) and s.memory == source and not around <= s.index.names:
            return False
        inside = around
        if isinstance(s, For) and not (s.stop - s.start).is_const(1):
            inside |= {axis_of(s)}
        if not all(_differs(part, source, inside) for part in inner_bodies(s)):
            return False
    return True


def in_place_kernel(kernel: Kernel, count: int, pairs: Sequence[tuple[int, int]]) -> Kernel:
    """The kernel with one buffer for each pair (input, output); it has `count` inputs. Unchanged elements are
    not copied."""
    shared: dict[Buffer | PrivateArray, Buffer] = {}
    for i, at in pairs:
        output = kernel.buffers[count + at]
        both = dataclasses.replace(output, role="inout")
        shared |= {kernel.buffers[i]: both, output: both}
    sources = [kernel.buffers[i] for i, _ in pairs]
    over = "_".join(source.name for source in sources)

    def place(memory: Buffer | PrivateArray, at: Index) -> tuple[Buffer, Index] | None:
        return (shared[memory], at) if memory in shared else None

    return dataclasses.replace(
        kernel,
        name=f"{kernel.name}_over_{over}",
        buffers=[shared.get(buffer, buffer) for buffer in kernel.buffers if buffer not in sources],
        body=_without_copies(relocated(kernel.body, place)),
    )


def _without_copies(body: list[Statement]) -> list[Statement]:
    """The statements without stores of a value to where it was loaded from, and without empty loops."""
    loads = {s.target: s for s in every_statement(body) if isinstance(s, Load)}

    def changed(s: Statement) -> list[Statement]:
        match s:
            case Store(memory, at, Value() as value, end) if value in loads:
                load = loads[value]
                return [] if (load.memory, load.index, load.end) == (memory, at, end) else [s]
            case For():
                kept = without_unused(s.body)
                return [dataclasses.replace(s, body=kept)] if kept else []
        return [s]

    return replaced(body, changed)


# ---- donation ----


def usable_donations(closed: ClosedJaxpr, donated: Sequence[bool]) -> list[bool]:
    """Which donated arguments have memory that some result of as many bytes can reuse.

    Warns of the others, as JAX does; arguments that nothing reads are kept without a word.
    Source: https://docs.jax.dev/en/latest/buffer_donation.html"""
    wanted = [bytes_of(aval) for aval in closed.out_avals]
    jaxpr = closed.jaxpr
    used = {v for eqn in jaxpr.eqns for v in eqn.invars} | set(jaxpr.outvars)
    usable, unusable = [], []
    for v, is_donated in zip(jaxpr.invars, donated):
        fits = is_donated and v in used and bytes_of(v.aval) in wanted
        usable.append(fits)
        if fits:
            wanted.remove(bytes_of(v.aval))
        elif is_donated and v in used:
            unusable.append(v.aval.str_short())
    if unusable:
        warnings.warn(
            f"Some donated buffers were not usable: {', '.join(unusable)}.\n"
            "No result that is left takes as many bytes: the arguments stay valid, and nothing is saved",
            stacklevel=2,
        )
    return usable


# ---- printing ----


def memory_lines(plan: Plan) -> Iterator[str]:
    """A line for each array that a group makes: its bytes, and the array whose memory it reuses."""
    names, memory = plan.names, plan.memory
    for number, group in enumerate(plan.groups):
        in_place = {at for _, at in memory.in_place.get(number, ())}
        yield f"{number}: {memory.live[number]:,} bytes in use"
        for at, v in enumerate(group.outputs):
            typed = f"{names[v]}:{v.aval.str_short(short_dtypes=True)}"
            line = f"   {typed}  {bytes_of(v.aval):,} bytes"
            if v in memory.reuses_buffer_of:
                line += f", the memory of {names[memory.reuses_buffer_of[v]]}"
                line += ", in place" if at in in_place else ""
            yield line
        back = ", ".join(names[v] for v in memory.freed_after.get(number, ()))
        if back:
            yield f"   free afterwards: {back}"
        for label, body in plan.bodies.get(number, {}).items():
            yield f"   {label}:"
            yield from ("     " + line for line in memory_lines(body))
    yield (
        f"arguments {memory.argument_bytes:,}, results {memory.output_bytes:,} (in donated memory: "
        f"{memory.alias_bytes:,}), temporaries {memory.temp_bytes:,}, peak {memory.peak_bytes:,} bytes"
    )
