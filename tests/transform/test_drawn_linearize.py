"""Linearize, on programs and operands drawn at random."""

import functools

import numpy as np
import pytest
from drawn import draws, equal, listed
from judged import SMALL_FLOAT

import tinyjax as jax
from tinyjax.core import bind, dtypes
from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import eval_jaxpr, jaxpr_as_fun
from tinyjax.core.lists import pick
from tinyjax.core.primitives import add, mul
from tinyjax.core.tracing import JaxprTrace
from tinyjax.transform.jvp import JVPTrace, JVPTracer, Zero, jvp_rules
from tinyjax.transform.linearize import (
    LinearizeTrace,
    LinearizeTracer,
    linearize_rules,
    partial_eval_rules,
    trace_linear,
)
from tinyjax.transform.partial_eval import linearize_jaxpr

scalar = ShapedArray((), np.dtype("float32"))


def pair_in(trace, primal=3.0):
    return LinearizeTracer(trace, primal, trace.unknown.new_arg(scalar))


def test_of_any_operands_each_operation_is_sent_where_it_belongs(monkeypatch):
    went = []
    by = lambda where: lambda *args: went.append(where) or args[-2:]  # noqa: E731
    for draw in draws(120):
        outer = LinearizeTrace(bind.context.trace, JaxprTrace())
        trace, new_p = LinearizeTrace(JaxprTrace(), JaxprTrace()), bind.Primitive("new")
        choices = {
            "number": lambda: 2.0,
            "array": lambda: bind.as_array(2.0),
            "parent's": lambda trace=trace: trace.parent.new_arg(scalar),
            "pair of another trace": lambda outer=outer: pair_in(outer),
            "unknown of another trace": lambda outer=outer: outer.unknown.new_arg(scalar),
            "unknown": lambda trace=trace: trace.unknown.new_arg(scalar),
            "pair": lambda trace=trace: pair_in(trace),
        }
        names = [draw.choice(list(choices)) for _ in range(draw.count())]
        args = [choices[name]() for name in names]
        assert [trace.is_unknown(x) for x in args] == [n == "unknown" for n in names], names
        trace.parent.process_primitive = by("parent")
        trace.unknown.process_primitive = by("unknown")
        trace.linearize = by("linearize")
        if has_rule := draw.random() < 0.5:
            monkeypatch.setitem(partial_eval_rules, new_p, by("rule"))
        params = {"by": draw.choice([None, 0, 2])}
        found = trace.process_primitive(new_p, args, params)
        later = "rule" if has_rule else "unknown"
        expected = "linearize" if "pair" in names else later if "unknown" in names else "parent"
        assert went[-1] == expected, f"{names}, with a rule: {has_rule}: it went to {went[-1]}"
        assert found == (args, params), f"{names}: the operands and parameters were {found}"


class Mixed:
    """A new primitive: result i is number i, and its tangent is the tangents by row i of a matrix. What does
    not move has a Zero as tangent, or what is known besides."""

    def __init__(self, draw, known):
        self.several = draw.random() < 0.7
        n, m = draw.count(1), draw.count() if self.several else 1
        self.matrix = [[draw.choice([0.0, 1.0, -2.0]) for _ in range(n)] for _ in range(m)]
        self.values = [bind.as_array(float(i)) for i in range(m)]
        outer = JVPTracer(JVPTrace(bind.context.trace), 0.0, 1.0)
        zeros = [Zero(scalar), known, bind.as_array(0.0), np.float32(0), outer]
        self.still, self.form = draw.choice(zeros), draw.choice([list, tuple])
        self.p, self.flags = bind.Primitive("new", multiple_results=self.several), []

    def whole(self, results):
        return self.form(results) if self.several else results[0]

    def tangents_out(self, *tangents):
        outs = []
        for row in self.matrix:
            parts = [mul(t, c) for t, c in zip(tangents, row) if c and type(t) is not Zero]
            outs.append(functools.reduce(add, parts) if parts else self.still)
        return self.whole(outs)

    def jvp(self, primals, tangents):
        self.flags.append([type(t) is not Zero for t in tangents])
        return self.whole(self.values), self.tangents_out(*tangents)

    def linearize(self, primals, nonzeros):
        self.flags.append(list(nonzeros))
        return self.whole(self.values), self.tangents_out


def test_a_new_operation_of_any_operands_and_results_is_parted(monkeypatch):
    for draw in draws(120):
        parent = draw.choice([bind.context.trace, JaxprTrace()])
        trace = LinearizeTrace(parent, JaxprTrace())
        mixed = Mixed(draw, parent.new_arg(scalar) if isinstance(parent, JaxprTrace) else 0.0)
        if draw.random() < 0.5:
            monkeypatch.setitem(jvp_rules, mixed.p, mixed.jvp)
        else:
            monkeypatch.setitem(linearize_rules, mixed.p, mixed.linearize)
        moves = [draw.random() < 0.5 for _ in mixed.matrix[0]] if mixed.matrix else [True]
        moves[draw.randrange(len(moves))] = True
        args = [pair_in(trace, float(i)) if move else float(i) for i, move in enumerate(moves)]
        with bind.set_current_trace(trace):
            found = mixed.p.bind(*args)
        about = f"matrix {mixed.matrix}, operands that move {moves}, a list {mixed.several}"
        assert mixed.flags == [moves], f"{about}: the tangents that are no Zeros are {mixed.flags}"
        assert (type(found) is list) == mixed.several, f"{about}: {found}"
        found = found if mixed.several else [found]
        vary = [any(c for c, move in zip(row, moves) if move) for row in mixed.matrix]
        assert [type(x) is LinearizeTracer for x in found] == vary, f"{about}: {found}"
        primals = [x.primal if v else x for x, v in zip(found, vary)]
        assert all(p is v for p, v in zip(primals, mixed.values)), f"{about}: {primals}"
        closed = trace.unknown.finish([x.tangent for x in pick(found, vary)])
        steps = [10.0**i for i in range(sum(moves))]
        numbers = [sum(s * c for s, c in zip(steps, pick(row, moves))) for row in mixed.matrix]
        equal(eval_jaxpr(closed.jaxpr, closed.consts, *steps), pick(numbers, vary), about=about)


class Chosen:
    """A function whose results are some of its arguments, by a factor if they move, or a constant (None)."""

    def __init__(self, draw, primals, constant):
        self.avals, self.constant = [bind.get_aval(x) for x in primals], constant
        self.moves = [dtypes.is_inexact(aval.dtype) for aval in self.avals]
        places = [*range(len(primals)), None]
        self.places = [draw.choice(places) for _ in range(draw.randint(0, 2 * draw.size))]
        self.factors = [draw.choice([None, 2.0, -1.0]) for _ in self.places]

    def __call__(self, *xs):
        return [self.result(xs, i, k) for i, k in zip(self.places, self.factors)]

    def result(self, xs, i, factor):
        if i is None:
            return self.constant
        scaled = factor and self.moves[i]
        return mul(xs[i], self.avals[i].dtype.type(factor)) if scaled else xs[i]


def drawn_primals(draw):
    made = [
        lambda: draw.whole((), np.float32),
        lambda: 2.0,
        lambda: draw.whole((2,), np.float16),
        lambda: draw.whole((0, 3), np.complex64),
        lambda: draw.whole((2,), SMALL_FLOAT),
        lambda: draw.randint(0, 9),
        lambda: True,
        lambda: draw.whole((2,), np.uint8),
        lambda: bind.as_array(np.array([True, False])),
    ]
    primals = [draw.choice(made)() for _ in range(draw.count())]
    return primals + [draw.choice(primals) for _ in range(draw.randint(0, 2)) if primals]  # again


def test_of_any_function_each_argument_and_each_result_is_told_apart():
    outer = pair_in(LinearizeTrace(bind.context.trace, JaxprTrace()))
    for draw in draws(120):
        primals = drawn_primals(draw)
        fun = Chosen(draw, primals, draw.choice([7.0, outer]))
        trace = LinearizeTrace(bind.context.trace, JaxprTrace())
        outs, linearized = trace_linear(trace, fun, primals)
        about = {"primals": primals, "results": list(zip(fun.places, fun.factors))}
        pairs = list(zip(fun.avals, fun.moves))
        want = [aval if move else aval.update(dtype=dtypes.float0) for aval, move in pairs]
        assert linearized.in_avals == want, f"{listed(about)}: in_avals {linearized.in_avals}"
        ins = [v.aval for v in linearized.jaxpr.invars]
        assert ins == pick(want, fun.moves), f"{listed(about)}: the linear jaxpr takes {ins}"
        flags = [i is not None and fun.moves[i] for i in fun.places]
        assert linearized.nonzero_outs == flags, f"{listed(about)}: {linearized.nonzero_outs}"
        for out, expected in zip(outs, fun(*primals), strict=True):
            if expected is outer:
                assert out is outer, f"{listed(about)}: a pair of another trace is known, not {out}"
            else:
                equal(out, expected, **about)
        tangents = [np.full(a.shape, 3 + i, a.dtype) for i, a in enumerate(fun.avals)]
        found = eval_jaxpr(linearized.jaxpr, linearized.residuals, *pick(tangents, fun.moves))
        equal(found, pick(fun(*tangents), flags), **about)


def derived(way, f, n):
    """The function of n primals and n tangents that gives the results of f, and their tangents."""

    def jvp(*args):
        outs, tangents = jax.jvp(f, args[:n], args[n:])
        return [*outs, *tangents]

    def linearize(*args):
        outs, linear = jax.linearize(f, *args[:n])
        return [*outs, *linear(*args[n:])]

    return {"jvp": jvp, "linearize": linearize}[way]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_in_any_nest_linearize_gives_the_derivatives_of_any_program(dtype):
    with jax.enable_x64(dtype is np.float64):
        for draw in draws(30, 5):
            program = draw.program()
            n, args = len(program.shapes), draw.args(program, dtype)
            ways = [draw.choice(["linearize", "linearize", "jvp"]) for _ in range(draw.size // 2)]
            f = g = program
            for way in ways:
                args += [draw.whole(np.shape(x), dtype) for x in args]
                f, g, n = derived(way, f, n), derived("jvp", g, n), 2 * n
            f, half = derived("linearize", f, n), args
            args = args + [draw.whole(np.shape(x), dtype) for x in args]
            if not ways:
                expected = sum(program.with_tangents(half, args[n:]), [])
            else:
                expected = [np.asarray(x) for x in derived("jvp", g, n)(*args)]
            equal(f(*args), expected, dtype=dtype, program=program, nest=ways, args=args)


def test_any_jaxpr_is_parted_into_one_of_primals_and_one_of_tangents():
    for draw in draws(60):
        dtype = draw.choice([np.float32, np.float32, SMALL_FLOAT.type])
        program = draw.program(constants=dtype is np.float32)
        args, n = draw.args(program, dtype), len(program.shapes)
        consts = [jax.numpy.arange(2.0)] * draw.randint(0, 1)
        fun = lambda *xs, p=program, consts=consts: [*p(*xs), *consts]  # noqa: E731
        weak = draw.random() < 0.3 and dtype is np.float32
        given = [x.item() if weak and not x.shape else x for x in args]
        closed = jax.make_jaxpr(fun)(*given)
        nonzeros = tuple(draw.flags(n))
        forced = tuple(draw.flags(len(closed.out_avals))) if draw.random() < 0.6 else ()
        parts = linearize_jaxpr(closed, nonzeros, forced)
        about = {"program": program, "nonzeros": nonzeros, "instantiate": forced, "args": given}
        assert list(parts.known.in_avals) == list(closed.in_avals), listed(about)
        outs, residuals = parts.values(given, jaxpr_as_fun(parts.known)(*given))
        tangents = [
            draw.whole(x.shape, dtype, most=3) if m else 0 * x for x, m in zip(args, nonzeros)
        ]
        primals_out, tangents_out = program.with_tangents(args, tangents)
        equal(outs, [*primals_out, *consts], **about)
        linear = [*program.moving_results(nonzeros), *[False for _ in consts]]
        flags = tuple(a or b for a, b in zip(linear, forced or [False] * len(linear)))
        assert tuple(parts.later_outs) == flags, f"{listed(about)}: later_outs {parts.later_outs}"
        avals = [aval.to_tangent_aval() for aval in pick(closed.out_avals, flags)]
        assert list(parts.later.out_avals) == avals, f"{listed(about)}: {parts.later.out_avals}"
        found = jaxpr_as_fun(parts.later)(*residuals, *pick(tangents, nonzeros))
        tangents_out += [np.zeros(2) for _ in consts]
        equal(found, pick(tangents_out, flags), **about)
        for origins in (parts.known_outs, parts.residuals):
            assert {kind for kind, _ in origins} <= {"in", "out", "const"}, listed(about)
        asked = {i for kind, i in [*parts.known_outs, *parts.residuals] if kind == "out"}
        outvars = parts.known.jaxpr.outvars
        assert asked == set(range(len(outvars))), f"{listed(about)}: outputs {asked}"
        assert not set(outvars) & set(parts.known.jaxpr.invars), f"{listed(about)}: an input"
        inputs, constvars = closed.jaxpr.invars, closed.jaxpr.constvars
        for v, (kind, origin) in zip(closed.jaxpr.outvars, parts.known_outs, strict=True):
            if v in inputs or v in constvars:
                want = ("in", inputs.index(v)) if v in inputs else ("const", closed.consts[0])
                is_right = kind == want[0] and (origin is want[1] or origin == want[1])
                assert is_right, f"{listed(about)}: a result is from {(kind, origin)}, not {want}"
