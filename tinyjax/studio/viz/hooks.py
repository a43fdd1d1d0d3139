"""The calls that a recording observes, and the contents of their events.

Everything in tinyjax passes through six tables of rules, four methods, and a handful of functions. For each
there is a function here that takes the call's arguments, and returns the contents of its event. record.py
installs these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tinyjax.compile import record as passes
from tinyjax.compile.fusion import fuse
from tinyjax.compile.kernel.naive_loop import LoopKernel
from tinyjax.compile.passes import pipeline
from tinyjax.compile.plan import step_word
from tinyjax.compile.schedules import loop_kernels, lower
from tinyjax.core import tracing
from tinyjax.core.api_util import fun_name
from tinyjax.core.bind import (
    EvalTrace,
    HigherOrderPrimitive,
    Primitive,
    abstract_eval_rules,
    context,
    impl_rules,
)
from tinyjax.core.tracing import JaxprTrace
from tinyjax.runtime import executable, step_program_builder
from tinyjax.runtime.queue import Queue
from tinyjax.runtime.step_program import HostStep, StepProgram
from tinyjax.studio.viz.events import CodeLine, place_of, wrapped_function
from tinyjax.transform import linearize as linearizing
from tinyjax.transform import transposition
from tinyjax.transform.batching import axis_batch_rules, batch_rules
from tinyjax.transform.jvp import jvp_rules
from tinyjax.transform.linearize import linearize_rules, partial_eval_rules
from tinyjax.transform.transposition import is_undefined_primal, transpose_rules

ADD_EQN = place_of(JaxprTrace.add_eqn)

Roles = list[tuple[Any, str]]  # values with their roles for a rule


@dataclass
class Call:
    """An event's description of a call before it runs; `results` extracts the values from its result, and may
    add to the parameters."""

    stage: str
    name: str
    operands: Roles = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)
    rule: CodeLine | None = None
    results: Callable[[Any], Roles] = lambda out: listed(out)
    primitive: Primitive | None = None  # of a bind or an equation
    text: str = ""  # of the result: a jaxpr, a program


def listed(xs: Any, role: str = "") -> Roles:
    """The results of a primitive as a list: there may be one or several."""
    return [(x, role) for x in (xs if isinstance(xs, (list, tuple)) else [xs])]


# ---- binds and equations ----


def bind(primitive: Primitive, /, *args: Any, **params: Any) -> Call:
    rule = place_of(type(context.trace).process_primitive)
    return Call("bind", primitive.name, listed(args), params, rule, primitive=primitive)


def impl(trace: EvalTrace, primitive: Primitive, args: Sequence[Any], params: dict) -> Call:
    rule = place_of(impl_rules[primitive], primitive) if primitive in impl_rules else None
    return Call("impl", primitive.name, listed(args), params, rule)


def equation(trace: JaxprTrace, primitive: Primitive, args: Sequence[Any], params: dict) -> Call:
    return Call("equation", primitive.name, listed(args), params, ADD_EQN, primitive=primitive)


# ---- rules ----

# Each takes the primitive, the rule, and the rule's arguments.


def jvp_rule(
    primitive: Primitive, rule: Callable, primals: Any, tangents: Any, /, **params: Any
) -> Call:
    def results(out: Any) -> Roles:
        return [*listed(out[0], "primal"), *listed(out[1], "tangent")]

    operands = [*listed(primals, "primal"), *listed(tangents, "tangent")]
    return Call("jvp rule", primitive.name, operands, params, place_of(rule), results)


def batch_rule(
    primitive: Primitive, rule: Callable, vals: Any, dims: Any, /, **params: Any
) -> Call:
    def results(out: Any) -> Roles:
        many = primitive.multiple_results
        return batched(*out) if many else batched([out[0]], [out[1]])

    return Call("batch rule", primitive.name, batched(vals, dims), params, place_of(rule), results)


def axis_batch_rule(
    primitive: Primitive, rule: Callable, axis: Any, vals: Any, dims: Any, /, **params: Any
) -> Call:
    return batch_rule(primitive, rule, vals, dims, **params)


def batched(vals: Sequence[Any], dims: Sequence[Any]) -> Roles:
    return [(x, "" if d is None else f"batch dim {d}") for x, d in zip(vals, dims)]


def transpose_rule(
    primitive: Primitive, rule: Callable, ct: Any, /, *operands: Any, **params: Any
) -> Call:
    values = [*listed(ct, "cotangent"), *listed(operands)]
    rule_results = lambda out: listed(out, "cotangent")  # noqa: E731
    return Call("transpose rule", primitive.name, values, params, place_of(rule), rule_results)


def partial_eval_rule(
    primitive: Primitive, rule: Callable, trace: Any, args: Sequence[Any], params: dict
) -> Call:
    return Call("partial eval rule", primitive.name, listed(args), params, place_of(rule))


def linearize_rule(
    primitive: Primitive, rule: Callable, primals: Any, nonzeros: Any, /, **params: Any
) -> Call:
    operands = listed(primals, "primal")
    results = lambda out: listed(out[0], "primal")  # noqa: E731
    return Call("linearize rule", primitive.name, operands, params, place_of(rule), results)


def abstract_eval(primitive: Primitive, rule: Callable, /, *avals: Any, **params: Any) -> Call:
    return Call("abstract eval", primitive.name, listed(avals), {}, place_of(rule))


TABLES: list[tuple[dict[Primitive, Callable], Callable[..., Call]]] = [
    (abstract_eval_rules, abstract_eval),
    (jvp_rules, jvp_rule),
    (batch_rules, batch_rule),
    (axis_batch_rules, axis_batch_rule),
    (transpose_rules, transpose_rule),
    (partial_eval_rules, partial_eval_rule),
    (linearize_rules, linearize_rule),
]


# ---- whole functions ----


def trace(flat_fun: Callable, in_avals: Sequence[Any]) -> Call:
    function = wrapped_function(flat_fun)

    def results(closed: Any) -> Roles:
        call.operands[:] = listed(closed.jaxpr.invars)
        call.params |= {"equations": len(closed.eqns)}
        call.text = str(closed)
        return listed(closed.jaxpr.outvars)

    call = Call("trace", fun_name(function), listed(in_avals), {}, place_of(function), results)
    return call


def linearize(linearize_trace: Any, fun: Callable, primals: Sequence[Any]) -> Call:
    def results(out: Any) -> Roles:
        call.params |= {"linear equations": len(out[1].jaxpr.eqns)}
        call.text = str(out[1].jaxpr)
        return listed(out[0], "primal")

    rule = place_of(linearizing.trace_linear)
    call = Call("trace", "linearize", listed(primals, "primal"), {}, rule, results)
    return call


def backward_pass(jaxpr: Any, consts: Sequence[Any], args: Any, cotangents: Any) -> Call:
    rule = place_of(transposition.backward_pass)
    operands = listed(cotangents, "cotangent")
    params = {"linear equations": len(jaxpr.eqns)}

    def results(_: Any) -> Roles:
        return listed([x.freeze() for x in args if is_undefined_primal(x)], "cotangent")

    return Call("trace", "backward pass", operands, params, rule, results)


# ---- the compiler ----


def compiling(closed: Any, device: Any, name: str = "jitted", donated: Any = ()) -> Call:
    return _compile("compile", executable.compile_jaxpr, function=name, device=device)


def simplifying(closed: Any, subject: str = "") -> Call:
    def results(out: Any) -> Roles:
        call.params["equations left"] = len(out.eqns)
        call.text = str(out)
        return []

    call = _compile("simplify", pipeline.simplify, equations=len(closed.eqns))
    call.results = results
    return call


def running_pass(name: str, work: Callable, before: Any, *args: Any, subject: str = "") -> Call:
    def results(out: Any) -> Roles:
        made = reversed(passes.records_so_far())
        record = next(r for r in made if r.name == name and r.before is before)
        call.params["decisions"] = len(record.events)
        call.text = str(record)
        return []

    call = _compile(name, work, subject=subject or None)
    call.results = results
    return call


def fusing(jaxpr: Any, target: Any, *_: Any) -> Call:
    def results(groups: Any) -> Roles:
        for number, group in enumerate(groups):
            names = [eqn.primitive.name for eqn in group.eqns]
            call.params[f"group {number}"] = " ".join(names)
        return []

    call = _compile("fuse", fuse.fuse, equations=len(jaxpr.eqns))
    call.results = results
    return call


def lowering(group: Any, name: str, names: Any, target: Any) -> Call:
    def results(kernel: Any) -> Roles:
        call.params["work-items"] = kernel.items
        return []

    inside = " ".join(eqn.primitive.name for eqn in group.eqns)
    call = _compile("lower", lower.lower_group, kernel=name, group=group_of(name), computes=inside)
    call.results = results
    return call


def lowering_loop(eqn: Any, producer: Any, names: Any, target: Any) -> Call:
    def results(made: Any) -> Roles:
        one_kernel = isinstance(made, LoopKernel)
        call.params["becomes"] = "one kernel" if one_kernel else f"steps: {made}"
        return []

    call = _compile("lower", loop_kernels.loop_kernel, loop=eqn.primitive.name)
    call.results = results
    return call


def writing_code(launches: Sequence[Any]) -> Call:
    def results(text: str) -> Roles:
        call.params["lines of OpenCL C"] = text.count("\n") + 1
        call.text = text
        return []

    names = " ".join(launch.kernel.name for launch in launches)
    call = _compile("codegen", step_program_builder.text_of, kernels=names)
    call.results = results
    return call


def building(queue: Any, text: str, names: Sequence[str], *options: Any) -> Call:
    return _compile("build", Queue.build, kernels=" ".join(names), device=queue.device)


def group_of(kernel_name: str) -> str:
    """The numbers of the group in the name of its kernel: 2 in k2_sin_mul, and of loops' bodies more."""
    return kernel_name.removeprefix("k").split("_")[0]


def _compile(name: str, function: Callable, /, **params: Any) -> Call:
    return Call("compile", name, [], params, place_of(function), lambda out: [])


def launch(step_program: StepProgram, step: Any, slots: list) -> Call:
    plan = step_program.plan
    numbers = next(n for known, n in zip(step_program.steps, step_program.numbers) if known is step)
    groups = [plan.groups[number] for number in numbers]

    def memories(variables: Sequence[Any]) -> Roles:
        """The values that have memory of their own: within one launch of several kernels, some don't."""
        found = [slots[step_program.slot(v)] for v in dict.fromkeys(variables)]
        return [(memory, "") for memory in found if memory is not None]

    kernels = [plan.kernels[number] for number in numbers if number in plan.kernels]
    params: dict[str, Any] = {"function": step_program.name, "device": step_program.queue.device}
    params["groups"] = " ".join(map(str, numbers))
    if kernels:
        params["kernels"] = " ".join(kernel.name for kernel in kernels)
        params["work-items"] = " ".join(str(kernel.items) for kernel in kernels)
    rule = place_of(type(step).run)
    if isinstance(step, HostStep):
        rule = place_of(impl_rules[step.eqn.primitive], step.eqn.primitive)
    made = {v for group in groups for v in group.outputs}
    inputs = [v for group in groups for v in group.inputs if v not in made]
    outputs = [v for group in groups for v in group.outputs]
    name = ", ".join(step_word(plan, number) for number in numbers)
    return Call("launch", name, memories(inputs), params, rule, lambda out: memories(outputs))


# ---- where they are ----

METHODS: list[tuple[type, str, Callable[..., Call]]] = [
    (Primitive, "bind", bind),
    (HigherOrderPrimitive, "bind", bind),
    (EvalTrace, "process_primitive", impl),
    (JaxprTrace, "add_eqn", equation),
    (Queue, "build", building),
]

# Other modules have imported these by their names: see `replace_everywhere` in record.py.
FUNCTIONS: list[tuple[Callable, Callable[..., Call]]] = [
    (tracing.trace_to_jaxpr, trace),
    (linearizing.trace_linear, linearize),
    (transposition.backward_pass, backward_pass),
    (executable.compile_jaxpr, compiling),
    (pipeline.simplify, simplifying),
    (passes.run_pass, running_pass),
    (fuse.fuse, fusing),
    (lower.lower_group, lowering),
    (loop_kernels.loop_kernel, lowering_loop),
    (step_program_builder.text_of, writing_code),
]
