"""Lesson 6 with programs drawn at random, small ones first, against naive interpreters."""

# ruff: noqa: B023 (a function that is made in a loop runs in its round)

import sys

import numpy as np
import pytest
from drawn import cases, drawn_array, drawn_shape, one_of
from judged import SMALL_FLOAT
from practice.count_multiplications import count_multiplications
from practice.note_trace import NoteTrace
from practice.precise import precise
from practice.run_notes import Equation, run_notes

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core import bind
from tinyjax.core.array import ArrayImpl, LiteralArray, ShapedArray
from tinyjax.core.bind import Primitive, Trace, context, get_aval, set_current_trace
from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    JaxprTypeError,
    Literal,
    SourceLine,
    Var,
    check_jaxpr,
    eval_jaxpr,
    subjaxprs,
)
from tinyjax.core.tracing import JaxprTrace, JaxprTracer, trace_to_jaxpr

F32 = np.dtype("float32")
KINDS = (F32, F32, np.dtype("int32"))
SCALAR = ShapedArray((), F32)
NUMBERS = (0, 0.0, 1, 1.0, True, False, -2, 2.5, 1j, np.float32(1), np.int32(1), np.float32(0))
PARAMS = ({}, {"n": 0}, {"a": None, "b": (), "c": False})


def new_primitives(rng, count=4):
    """Primitives of one result or several, each with its own abstract rule."""
    found = []
    for k in range(count):
        p = Primitive(f"p{k}")
        p.multiple_results = bool(rng.integers(2))
        shapes = ((), (), (2,), (2,), (0, 3, 1), (0,))
        count = rng.integers(4) if p.multiple_results else 1
        avals = [ShapedArray(one_of(rng, shapes), one_of(rng, KINDS)) for _ in range(count)]
        p.avals = avals if p.multiple_results else avals[0]
        p.def_abstract_eval(lambda *_, p=p, **params: p.avals)
        found.append(p)
    return found


def are(got, want):
    return len(got) == len(want) and all(x is y for x, y in zip(got, want))


# ---- notes ----


def test_whatever_operations_are_drawn_each_is_noted_as_it_is():
    for rng, size in cases(30):
        trace, seen = NoteTrace(), []
        pool = [trace.new_note(SCALAR), trace.new_note(ShapedArray((2,), F32))]
        values = [0.0, 2, True, np.float32(1), np.ones(3), np.array(2.0)]
        names, ps = iter("cdefghijklmnopqrstuvwxyz"), [Primitive("p"), Primitive("q")]
        for _ in range(2 * size + 1):
            p, params = one_of(rng, ps), one_of(rng, (*PARAMS, {"n": int(rng.integers(9))}))
            aval = ShapedArray(drawn_shape(rng, size), F32)
            p.def_abstract_eval(lambda *avals, **named: seen.append((avals, named)) or aval)
            args = [one_of(rng, [*pool, *pool, *values]) for _ in range(rng.integers(size + 2))]
            note = trace.process_primitive(p, tuple(args), params)
            made, about = trace.equations[-1], f"p of {args} with {params}"
            assert seen.pop() == (tuple(map(get_aval, args)), params) and not seen, about
            assert note.name == next(names) and note.aval is aval and note._trace is trace, about
            want = [x.name if x in pool else x for x in map(OneOf, args)]
            want = [x.x if isinstance(x, OneOf) else x for x in want]
            got = (made.result, made.aval, made.primitive, made.params)
            assert got == (note.name, aval, p, params), f"{about}: {got}"
            assert type(made.operands) is tuple and len(made.operands) == len(args), about
            assert all(x is y or x == y and type(x) is str for x, y in zip(made.operands, want)), (
                f"{about}: the operands are {made.operands}, not {want}"
            )
            pool.append(note)


class OneOf:
    """A value, found in a list by `is`."""

    def __init__(self, x):
        self.x, self.name = x, getattr(x, "name", None)

    def __eq__(self, other):
        return self.x is other

    __hash__ = None


class Handed(Trace):
    """Answers with what comes next, and notes what it was handed, with its answer."""

    def __init__(self, rng):
        self.seen, self.rng = [], rng

    def process_primitive(self, primitive, args, params):
        count = len(self.seen)
        answer = one_of(self.rng, ((primitive, count), 0.0, None, [1.0], "a"))
        if primitive.multiple_results:
            answer = [(primitive, count, k) for k in range(len(primitive.avals))]
        self.seen.append((primitive, args, dict(params), context.source_info, answer))
        return answer


def test_whatever_equations_are_drawn_each_runs_once_in_order():
    for rng, size in cases(40):
        ps, handed = [Primitive("p") for _ in range(3)], Handed(rng)
        values = {
            name: one_of(rng, (0.0, None, np.ones(2), "b", "zz")) for name in "abc"[: size + 1]
        }
        names, equations = list(values), []
        for k in range(2 * size + 1):
            result = one_of(rng, ("defghijklmnop"[k], "defghijklmnop"[k], names[0]))
            operands = [
                one_of(rng, [*names, 2.0, 0, True, None]) for _ in range(rng.integers(size + 2))
            ]
            equations.append(
                Equation(result, SCALAR, one_of(rng, ps), tuple(operands), one_of(rng, PARAMS))
            )
            names.append(result)
        equations += equations[:1]
        before, program, env = dict(values), list(equations), dict(values)
        with set_current_trace(handed):
            got = run_notes(one_of(rng, (equations, tuple(equations))), values)
        assert len(handed.seen) == len(program), (
            f"{len(program)} equations, but {len(handed.seen)} binds"
        )
        for e, (p, args, params, _, answer) in zip(program, handed.seen):
            want = [env[x] if isinstance(x, str) else x for x in e.operands]
            about = f"{e.primitive} of {e.operands}, where the values are {env}"
            assert p is e.primitive and are(args, want) and params == e.params, f"{about}: {args}"
            env[e.result] = answer
        assert set(got) == set(env) and all(got[k] is env[k] for k in env), (
            f"the values are {env}, not {got}"
        )
        assert [*values] == [*before] and are([*values.values()], [*before.values()]), (
            "the dict is changed"
        )
        assert are(equations, program), "the equations are changed"


# ---- tracing ----


def test_whatever_is_drawn_a_scalar_is_a_literal_and_all_else_a_variable():
    kinds = tuple(map(np.dtype, ("float32", "float64", "float16", "int8", "int64", "uint64", "bool",
                                 "complex64", "complex128", SMALL_FLOAT)))  # fmt: skip
    for rng, size in cases(80):
        trace, outer = JaxprTrace(), JaxprTrace()
        x = (drawn_array(rng, drawn_shape(rng, size)) * 3).astype(one_of(rng, kinds))
        is_array = bool(rng.integers(4) == 0)
        if rng.integers(3) == 0:
            x, is_array = one_of(rng, NUMBERS), False
        elif x.ndim == 0:
            x = one_of(rng, (x, x[()]))
        if is_array:
            x = np.asarray(x)
            x = x.astype(get_aval(x).dtype)
            x = ArrayImpl(x, ShapedArray(x.shape, x.dtype))
        atom, aval = trace.atom(x), get_aval(x)
        about = f"the atom of {x!r}, of {type(x).__name__} {aval}"
        if np.ndim(x) == 0 and not is_array:
            assert type(atom) is Literal and atom.val is x and atom.aval == aval, f"{about}: {atom}"
            assert not trace.consts, about
        else:
            assert type(atom) is Var and atom.aval == aval, f"{about}: {atom}"
            assert trace.atom(x) is atom and len(trace.consts) == 1, f"{about}: it is one constvar"
        written, weak = one_of(rng, NUMBERS[:9]), bool(rng.integers(2))
        aval = ShapedArray((), one_of(rng, kinds[:3]), weak)
        atom = trace.atom(LiteralArray(np.zeros((), aval.dtype), aval, written))
        assert type(atom) is Literal and atom.val is written and atom.aval is aval, f"{atom}"
        mine, other = trace.new_arg(SCALAR), outer.new_arg(SCALAR)
        assert trace.atom(mine) is mine.atom and trace.atom(other) is not other.atom


def here():
    """The caller's line."""
    return sys._getframe(1).f_lineno


def test_whatever_is_drawn_each_operation_is_an_equation_of_its_line():
    for rng, size in cases(30):
        ps, trace = new_primitives(rng), JaxprTrace()
        values = [
            trace.new_arg(SCALAR),
            trace.new_arg(ShapedArray((2,), F32)),
            0.0,
            1,
            True,
            np.ones(2),
        ]
        wants = []
        for _ in range(2 * size + 1):
            p, params = one_of(rng, ps), one_of(rng, PARAMS)
            args = [one_of(rng, values) for _ in range(rng.integers(3 * size + 2))]
            args = args if rng.integers(3) else []
            if wants and rng.integers(3) == 0:  # the same once more
                p, args, params, *_ = wants[-1]
            if rng.integers(2):
                got, line = trace.add_eqn(p, args, params), here()
            else:
                got, line = trace.add_eqn(p, tuple(args), params), here()
            about = f"{p} of {args} with {params}"
            assert type(got) is list or not p.multiple_results, (
                f"{about}: several results are a list"
            )
            tracers, avals = (got, p.avals) if p.multiple_results else ([got], [p.avals])
            assert len(tracers) == len(avals), f"{about}: {got}"
            for x, aval in zip(tracers, avals):
                assert type(x) is JaxprTracer and x._trace is trace and x.aval == aval, (
                    f"{about}: {x}"
                )
                assert x.source_info[1] == line, f"{about}, in line {line}: {x.source_info}"
            wants.append((p, args, params, tracers, line))
            values += tracers
        assert len(trace.eqns) == len(wants)
        for eqn, (p, args, params, tracers, line) in zip(trace.eqns, wants):
            about = f"the equation of {p} of {args} with {params}: {eqn}"
            assert eqn.primitive is p and eqn.params == params, about
            assert eqn.source_info[1] == line, f"{about} is of line {line}, not {eqn.source_info}"
            assert are(eqn.outvars, [t.atom for t in tracers]), about
            for atom, x in zip(eqn.invars, args, strict=True):
                if isinstance(x, JaxprTracer):
                    assert atom is x.atom, about
                else:
                    assert (
                        (atom.val is x) if type(atom) is Literal else isinstance(x, np.ndarray)
                    ), about
        made = [v for eqn in trace.eqns for v in eqn.outvars]
        assert len({*map(id, made)}) == len(made), "each result is a separate variable"


def test_a_function_that_is_drawn_is_traced_as_it_runs():
    for rng, size in cases(20):
        ps, steps = new_primitives(rng), []
        avals = [ShapedArray(drawn_shape(rng, size), F32) for _ in range(rng.integers(size + 2))]
        for _ in range(2 * size):
            steps.append((one_of(rng, ps), rng.integers(100, size=rng.integers(size + 2))))
        picks = rng.integers(100, size=rng.integers(size + 2))
        before, calls = context.trace, []

        def fun(*args):
            calls.append([x.aval for x in args])
            values = [*args, 2.0, np.ones(2, np.float32)]
            for p, operands in steps:
                out = p.bind(*[values[k % len(values)] for k in operands])
                values += out if p.multiple_results else [out]
            return [values[k % len(values)] for k in picks]

        closed = trace_to_jaxpr(fun, avals)
        about = f"{[(p.name, *operands) for p, operands in steps]} of {avals}"
        assert calls == [avals] and context.trace is before, f"{about}: called with {calls}"
        assert closed.in_avals == avals, f"{about}: {closed}"
        assert [eqn.primitive for eqn in closed.eqns] == [p for p, _ in steps], f"{about}: {closed}"
        check_shapes(closed, about, len(picks))


def check_shapes(closed, about, count):
    """That variables are bound before they are used, and results are as many as there are."""
    bound = [*closed.jaxpr.constvars, *closed.jaxpr.invars]
    for eqn in closed.eqns:
        assert all(isinstance(v, Literal) or v in bound for v in eqn.invars), f"{about}: {closed}"
        bound += eqn.outvars
    assert all(isinstance(v, Literal) or v in bound for v in closed.jaxpr.outvars), (
        f"{about}: {closed}"
    )
    assert len(closed.jaxpr.outvars) == count, f"{about}: {closed}"


# ---- jaxprs: run, checked ----


def drawn_jaxpr(rng, size):
    """A jaxpr that is made by hand, with lines for some of its equations."""
    ps = new_primitives(rng)
    consts = [Var(SCALAR) for _ in range(rng.integers(size + 1))]
    args = [Var(ShapedArray((2,), F32)) for _ in range(rng.integers(size + 1))]
    known, eqns = [*consts, *args], []

    def atoms(most):
        literals = [Literal(x, get_aval(x)) for x in NUMBERS]
        return [one_of(rng, [*known, *known, *literals]) for _ in range(rng.integers(most + 1))]

    for k in range(2 * size):
        p = one_of(rng, ps)
        outvars = list(map(Var, p.avals if p.multiple_results else [p.avals]))
        source = one_of(rng, (None, SourceLine(("file.py", k + 1, "f"))))
        eqns.append(JaxprEqn(p, atoms(size + 1), outvars, one_of(rng, PARAMS), source))
        known += outvars
    return Jaxpr(consts, args, atoms(size + 2), eqns)


def test_a_jaxpr_that_is_drawn_runs_equation_by_equation():
    for rng, size in cases(50):
        jaxpr, handed = drawn_jaxpr(rng, size), Handed(rng)
        things = (0.0, None, (), np.ones(2), 3, "x")
        consts = [one_of(rng, things) for _ in jaxpr.constvars]
        args = [one_of(rng, things) for _ in jaxpr.invars]
        eqns, source = list(jaxpr.eqns), one_of(rng, (None, SourceLine(("own.py", 7, "g"))))
        context_before, context.source_info = context.source_info, source
        try:
            with set_current_trace(handed):
                got = eval_jaxpr(jaxpr, consts, *args)
            assert context.source_info is source, "afterwards the line is what it was"
            for count in {0, len(args) + 1, len(args) + 3} - {len(args)}:
                with pytest.raises(TypeError, match=f"{len(args)}.*{count}"):
                    made = eval_jaxpr(jaxpr, consts, *[0.0] * count)
                    pytest.fail(f"{len(args)} arguments are asked for, {count} given, {made} came")
        finally:
            context.source_info = context_before
        env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args]))

        def is_value(x, atom):
            if type(atom) is Var:
                return x is env[atom]
            value = np.asarray(x)
            same_aval = get_aval(x) == atom.aval
            return (
                same_aval
                and value == atom.val
                and type(value.item()) is type(np.asarray(atom.val).item())
            )

        assert len(handed.seen) == len(eqns), f"{len(eqns)} equations, but {len(handed.seen)} binds"
        for eqn, (p, given, params, line, out) in zip(eqns, handed.seen):
            about = f"{eqn.primitive} of {eqn.invars} with {eqn.params}"
            assert p is eqn.primitive and params == eqn.params and line is eqn.source_info, (
                f"{about}: {line}"
            )
            assert len(given) == len(eqn.invars) and all(map(is_value, given, eqn.invars)), (
                f"{about}: {given}"
            )
            env |= zip(eqn.outvars, out if p.multiple_results else [out])
        assert type(got) is list and len(got) == len(jaxpr.outvars)
        assert all(map(is_value, got, jaxpr.outvars)), f"the results {jaxpr.outvars} are {got}"
        assert are(jaxpr.eqns, eqns), "the jaxpr is changed"


def faults(rng, jaxpr):
    """The jaxpr with one fault: (the jaxpr, the words of the error, where it is found). In each place."""
    eqns = jaxpr.eqns
    stranger = Var(SCALAR)
    bound = [*jaxpr.constvars, *jaxpr.invars]
    if bound:
        yield jaxpr.replace(invars=[*jaxpr.invars, one_of(rng, bound)]), "is bound twice", "invars"
    if jaxpr.constvars:
        again = [*jaxpr.constvars, jaxpr.constvars[0]]
        yield jaxpr.replace(constvars=again), "is bound twice", "constvars"
    yield jaxpr.replace(outvars=[*jaxpr.outvars, stranger]), "before it is bound", "outvars"
    if bound:  # by one of many results
        wide, v = Primitive("wide"), one_of(rng, bound)
        outvars = [v if n == 2 else Var(SCALAR) for n in range(4)]
        wide.multiple_results = True
        wide.def_abstract_eval(lambda: [w.aval for w in outvars])
        eqn = JaxprEqn(wide, [], outvars, {})
        yield jaxpr.replace(eqns=[*eqns, eqn]), "is bound twice", repr(eqn)
    for k, eqn in enumerate(eqns):
        later = [v for other in eqns[k:] for v in other.outvars]
        used = eqn.replace(invars=[*eqn.invars, one_of(rng, [stranger, *later])])
        yield (
            jaxpr.replace(eqns=[*eqns[:k], used, *eqns[k + 1 :]]),
            "before it is bound",
            repr(used),
        )
        for n, v in enumerate(
            eqn.outvars
        ):  # instead of a variable one of before, also of the same equation
            alike = [w for w in (*bound, *eqn.outvars[:n]) if w.aval == v.aval]
            if alike:
                twice = eqn.replace(
                    outvars=[*eqn.outvars[:n], one_of(rng, alike), *eqn.outvars[n + 1 :]]
                )
                rest = [e for e in eqns[k + 1 :] if v not in e.invars]
                if any(v in e.invars for e in eqns[k + 1 :]) or v in jaxpr.outvars:
                    continue
                yield jaxpr.replace(eqns=[*eqns[:k], twice, *rest]), "is bound twice", repr(twice)
        bound += eqn.outvars


def test_of_a_jaxpr_that_is_drawn_each_fault_is_found():
    for rng, size in cases(20):
        jaxpr = drawn_jaxpr(rng, size)
        try:
            check_jaxpr(jaxpr)
        except JaxprTypeError as error:
            pytest.fail(f"{jaxpr} is well-formed, but: {error}")
        for wrong, words, where in list(faults(rng, jaxpr))[:12]:
            with pytest.raises(JaxprTypeError, match=words) as raised:
                check_jaxpr(wrong)
                pytest.fail(f"a variable of {wrong} {words} in {where}, but no error is raised")
            assert where in str(raised.value), f"{where} stands in {raised.value}"


# ---- multiplications, small numbers ----


def drawn_count(rng, depth):
    """A jaxpr with loops and branches, and how many multiplications it does; None if nobody knows."""
    eqns, total = [], 0

    def variable(shape):
        return Var(ShapedArray(tuple(map(int, shape)), F32))

    for _ in range(rng.integers(one_of(rng, (3, 4, 7)))):
        name = str(
            one_of(
                rng, ("mul", "mul", "add", "dot_general", "scan", "cond", "jit", "call", "while")
            )
        )
        shape = drawn_shape(rng, 2, most=3)
        outvars, params = [variable(shape)], {}
        invars = [variable(shape), one_of(rng, (variable(shape), Literal(2.0, get_aval(2.0))))]
        if name == "mul":
            total = None if total is None else total + int(np.prod(shape))
        elif name == "dot_general":
            summed, batch, free = (drawn_shape(rng, one_of(rng, (1, 2)), most=2) for _ in "sbf")
            left, right = (
                rng.permutation(len(summed + batch + free)),
                rng.permutation(len(summed + batch) + 1),
            )
            places = [*range(len(summed)), *(len(summed) + k for k in range(len(batch)))]
            sizes_of_left, sizes_of_right = (*summed, *batch, *free), (*summed, *batch, 5)
            invars = [variable([s[k] for k in order]) for s, order in
                      ((sizes_of_left, left), (sizes_of_right, right))]  # fmt: skip
            at = [[[*order].index(k) for k in places] for order in (left, right)]
            n = len(summed)
            params["dimension_numbers"] = (
                tuple(tuple(a[:n]) for a in at),
                tuple(tuple(a[n:]) for a in at),
            )
            outvars = [variable((*batch, *free, 5))]
            count = int(np.prod(summed) * np.prod((*batch, *free, 5)))
            total = None if total is None else total + count
        elif name != "add":
            inner = [drawn_count(rng, depth - 1) if depth else (Jaxpr([], [], [], []), 0)
                     for _ in range(rng.integers(1, 4) if name in ("cond", "call") else 1)]  # fmt: skip
            if rng.integers(3) == 0 and name == "call":
                inner = [inner[0]] * 2  # one jaxpr, run twice
            jaxprs = [one_of(rng, (ClosedJaxpr(j), j)) for j, _ in inner]
            counts = [c for _, c in inner]
            params = {"branches": tuple(jaxprs)} if name == "cond" else {"n": 3}
            if name == "call":
                params = one_of(
                    rng, ({f"jaxpr{k}": j for k, j in enumerate(jaxprs)}, {"jaxprs": jaxprs})
                )
            elif name != "cond":
                params |= {"jaxpr": jaxprs[0], "length": int(rng.integers(4))}
            outvars = [variable(shape) for _ in range(rng.integers(5))]
            unknown = name == "while" or total is None or None in counts
            factor = params["length"] if name == "scan" else 1
            inside = 0 if unknown else max(counts) if name == "cond" else sum(counts) * factor
            total = None if unknown else total + inside
        eqns.append(JaxprEqn(Primitive(name), invars, outvars, params))
    return Jaxpr([], [], [], eqns), total


def test_of_a_program_that_is_drawn_all_multiplications_count():
    for rng, size in cases(450):
        jaxpr, want = drawn_count(rng, min(size, 3))
        try:
            got = count_multiplications(jaxpr)
        except ValueError:
            got = None
        words = in_words(jaxpr)
        assert got == want, f"{want} multiplications (None: a while loop), not {got}, in {words}"


def in_words(jaxpr):
    """The equations as name, shapes of the results, length, and what is in their jaxprs."""
    return [
        (eqn.primitive.name, [v.aval.shape for v in eqn.outvars], eqn.params.get("length"),
         [*map(in_words, subjaxprs(eqn.params))])
        for eqn in jaxpr.eqns
    ]  # fmt: skip


BY_NUMPY = {
    "log": np.log, "exp": np.exp, "neg": np.negative, "add": np.add, "sub": np.subtract,
    "mul": np.multiply, "log1p": np.log1p, "expm1": np.expm1,
    "clamp": lambda low, x, high: np.clip(x, low, high),
}  # fmt: skip


def by_numpy(jaxpr, consts, args, precise=False):
    """What the program computes; with `precise`, by log1p and expm1 where it should have had them."""
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args]))
    made_by = {}

    def value(v):
        return np.asarray(v.val, v.aval.dtype) if type(v) is Literal else env[v]

    def is_one(v):
        return type(v) is Literal and v.val == 1

    for eqn in jaxpr.eqns:
        name, operands = eqn.primitive.name, [*map(value, eqn.invars)]
        before = made_by.get(eqn.invars[0]) if precise and type(eqn.invars[0]) is Var else None
        if name == "jit":
            inner = eqn.params["jaxpr"]
            outs = by_numpy(inner.jaxpr, inner.consts, operands, precise)
        elif name == "cond":
            inner = eqn.params["branches"][int(operands[0])]
            outs = by_numpy(inner.jaxpr, inner.consts, operands[1:], precise)
        elif (
            name == "log"
            and before
            and before.primitive.name == "add"
            and sum(map(is_one, before.invars)) == 1
        ):
            outs = [np.log1p(value(next(v for v in before.invars if not is_one(v))))]
        elif name == "sub" and before and before.primitive.name == "exp" and is_one(eqn.invars[1]):
            outs = [np.expm1(value(before.invars[0]))]
        elif name == "convert_element_type":
            outs = [operands[0].astype(eqn.params["new_dtype"])]
        else:
            outs = [BY_NUMPY[name](*operands)]
        env |= zip(eqn.outvars, outs)
        made_by |= dict.fromkeys(eqn.outvars, eqn)
    return [value(v) for v in jaxpr.outvars]


def drawn_steps(rng, depth, count):
    names = (
        "1+",
        "+1",
        "+x",
        "log",
        "log",
        "exp",
        "-1",
        "1-",
        "neg",
        "*2",
        "-2",
        "jit",
        "cond",
        "log1",
        "twice",
    )
    steps = []
    for _ in range(count):
        name = str(one_of(rng, names))
        inner = (
            [drawn_steps(rng, depth - 1, count) for _ in range(3)]
            if depth and name in ("jit", "cond")
            else []
        )
        steps.append((name, inner, int(rng.integers(3)), int(rng.integers(2))))
    return steps


def run_steps(steps, x, number):
    ys = [x]
    for name, inner, which, back in steps:
        y = ys[-1 - min(back, len(ys) - 1)]
        if name in ("jit", "cond") and inner:
            if name == "jit":
                y = jax.jit(lambda y: run_steps(inner[0], y, number))(y)
            else:
                y = lax.switch(which, [lambda y, i=i: run_steps(i, y, number) for i in inner], y)
        else:
            y = {
                "1+": lambda y: number + y, "+1": lambda y: y + number, "+x": lambda y: y + x,
                "log": jnp.log, "exp": jnp.exp, "-1": lambda y: y - number, "1-": lambda y: 1.0 - y,
                "neg": lambda y: -y, "*2": lambda y: y * 2.0, "twice": lambda y: y + y,
                "-2": lambda y: y - 2.0, "log1": lambda y: jnp.log(1.0 + y), "jit": jnp.exp,
                "cond": lambda y: jnp.exp(y) - number,
            }[name](y)  # fmt: skip
        ys.append(y)
    return ys[-1]


def test_a_program_that_is_drawn_is_precise_where_it_can_be():
    for rng, size in cases(12):
        steps = drawn_steps(rng, min(size, 2), min(size, 3) + 2)
        number = one_of(rng, (1.0, 1, np.float32(1), 1.0, 1.0009765625))
        scale = one_of(rng, (1e-9, 1e-3, 1.0))
        if size == 3:  # what is read twice
            steps = [(name, [], 0, back) for name, back in (("exp", 0), ("-1", 0), ("-1", 1))]
            scale, number = 1e-9, 1.0
        if size == 2:  # no operand of the sum is 1
            steps = [(name, [], 0, 0) for name in ("twice", "log")]
        if size == 4:  # a long program within another
            steps = [("jit", [[*[("neg", [], 0, 0)] * 14, ("log1", [], 0, 0)]], 0, 0)]
            scale = 1e-9
        x = np.float32(rng.normal(size=drawn_shape(rng, min(size, 1))) * scale)

        def fun(x):
            return run_steps(steps, x, number)

        before, after = jax.make_jaxpr(fun)(x), jax.make_jaxpr(precise(fun))(x)
        with np.errstate(all="ignore"):
            (want,) = by_numpy(before.jaxpr, before.consts, [x], precise=True)
            (got,) = by_numpy(after.jaxpr, after.consts, [x])
            close = np.allclose(got, want, rtol=1e-5, atol=0, equal_nan=True)
        about = f"{before} at {x!r}, which becomes {after}"
        assert got.shape == want.shape and close, f"{about}: {got}, not {want}"


def test_each_call_traces_the_function_as_it_is_then():
    scale, texts = [1.0], []
    fun = precise(lambda x: texts.append(1) or scale[0] * jnp.log(1.0 + x))
    x = np.float32(1e-9)
    for scale[0] in (1.0, 2.0, -3.0):
        assert np.allclose(fun(x), scale[0] * x, atol=0), f"{scale[0]} times as much: {fun(x)}"
    assert bind.context.trace is context.trace and texts
