"""The puzzles of lesson 0 with inputs drawn at random, small ones first, against NumPy or a naive loop."""

# ruff: noqa: B023 (a function that is made in a loop runs in its round)

import numpy as np
from drawn import (
    SPECIAL,
    cases,
    drawn_array,
    drawn_number,
    drawn_shape,
    is_about,
    is_exactly,
    one_of,
)
from story_file import expect
from story_traces import Handed, Number, Numbers, in_trace, story

WORDS = ("axis", "size", "b", "trace", "x", "name", "args", "fun", "a", "params", "value", "y")
PRIMITIVES = ("sin_p", "cos_p", "neg_p", "add_p", "mul_p", "reduce_sum_p", "broadcast_p")


def check(asked, right, got, expected):
    """Raises AssertionError with what was asked, expected and got, unless `right`."""
    if not right:
        raise AssertionError(f"{asked}\nexpected: {expected!r}\ngot:      {got!r}")


def are_the_same(got, expected):
    """Whether two sequences have the very same members."""
    return len(got) == len(expected) and all(x is y for x, y in zip(got, expected))


def things(rng, count):
    """Operands of many kinds: numbers, arrays, tracers, whatever."""
    array = drawn_array(rng, drawn_shape(rng, 2))
    kinds = (0, 0.0, 2, -1.5, True, None, "x", array, array, np.float64(2), Number(3.0), (), [1.0])
    kinds += (np.int64(3), np.bool_(False), np.float32(0), False, -1, -1)
    return tuple(one_of(rng, kinds) for _ in range(count))


# ---- operations ----


class Noting:
    """A trace that notes what it is handed."""

    def __init__(self):
        self.seen = []

    def process_primitive(self, primitive, args, params):
        self.seen.append((primitive, args, params))


def test_whatever_is_drawn_bind_hands_it_on_as_it_is():
    for rng, size in cases(40):
        args = things(rng, rng.integers(3 * size + 1))
        names = [str(name) for name in rng.permutation(WORDS)[: rng.integers(3 * size + 1)]]
        params = dict(zip(names, things(rng, len(names))))
        trace = Noting()
        in_trace(trace, lambda: story.sin_p.bind(*args, **params))
        check("how often the current trace is asked", len(trace.seen) == 1, len(trace.seen), 1)
        ((primitive, handed, got),) = trace.seen
        check("the primitive", primitive is story.sin_p, primitive, story.sin_p)
        check(f"the operands that the trace is handed by bind(*{args})",
              are_the_same(handed, args), handed, args)  # fmt: skip
        check(f"the parameters, in order, of bind(..., **{params})",
              [*got] == names and are_the_same([*got.values()], [*params.values()]), got, params)  # fmt: skip


def test_whatever_is_drawn_the_impl_rule_gets_as_float32():
    seen, sentinel, ours = [], object(), story.Primitive("ours")
    story.impl_rules[ours] = lambda *args, **params: seen.append((args, params)) or sentinel
    for rng, size in cases(60):
        args = []
        for _ in range(rng.integers(size + 2)):
            x = drawn_array(rng, drawn_shape(rng, size), special=True)
            kind = one_of(rng, (np.float32, np.float64, np.float16, np.int64))
            with np.errstate(all="ignore"):
                number = drawn_number(rng)
                args.append(one_of(rng, (x.astype(kind), number, int(rng.integers(2**40)), True)))
        with np.errstate(all="ignore"):
            given = dict(zip(WORDS, things(rng, size)))
            got = story.EvalTrace().process_primitive(ours, tuple(args), given)
            expected = [np.float32(x) for x in args]
        operands, params = seen.pop()
        check(f"what an impl rule gets of the operands {args}",
              len(operands) == len(expected) and all(map(is_exactly, operands, expected)),
              operands, expected)  # fmt: skip
        check("and its parameters", [*params] == [*given]
              and are_the_same([*params.values()], [*given.values()]), params, given)  # fmt: skip
        check(
            "what process_primitive returns is what the rule gives, itself",
            got is sentinel,
            got,
            sentinel,
        )


def test_whatever_is_drawn_a_difference_is_numpys():
    for rng, size in cases(60):
        shape = drawn_shape(rng, size)
        x = drawn_array(rng, shape, special=True).astype(float)
        y = one_of(
            rng, (drawn_number(rng), int(rng.integers(-9, 9)), drawn_array(rng, shape, True))
        )
        tracer, other = Number(x), one_of(rng, (y, np.float64(y), Number(y)))
        with np.errstate(all="ignore"):
            for words, program, expected in (
                ("-x", lambda: -tracer, -x),
                ("x - y", lambda: tracer - other, x - y),
                ("y - x", lambda: other - tracer, y - x),
                ("x - x", lambda: tracer - tracer, x - x),
                ("-x - x", lambda: -tracer - tracer, -x - x),
            ):
                got = in_trace(Numbers(), program)
                got = getattr(got, "value", got)
                check(
                    f"{words}, where x is {x!r} and y is {y!r}",
                    is_about(got, expected),
                    got,
                    expected,
                )
            got = in_trace(Numbers(), lambda: -tracer).value
        check(f"the signs of -x, where x is {x!r}",
              (np.signbit(got) == np.signbit(-x))[~np.isnan(x)].all(), got, -x)  # fmt: skip


# ---- jvp ----


def drawn_traces(rng):
    """Traces of all kinds: some are the parents of others, some are of one parent."""
    traces = [story.EvalTrace()]
    for _ in range(7):
        parent = one_of(rng, traces)
        kinds = (story.JVPTrace(parent), story.BatchTrace(parent, 2), story.JaxprTrace(),
                 story.LinearizeTrace(parent, story.JaxprTrace()))  # fmt: skip
        traces.append(one_of(rng, kinds))
    return traces[1:]


def drawn_tracer(rng, trace, inside):
    """A tracer of this trace, with `inside` in it."""
    x = inside if np.size(getattr(inside, "shape", ())) else np.float32([1, 2])
    if isinstance(trace, story.BatchTrace):
        return story.BatchTracer(trace, x)
    if isinstance(trace, story.JaxprTrace):
        return trace.new_arg(x)
    return story.JVPTracer(trace, inside, one_of(rng, (0.0, 1.0, inside, np.float32([0, 2]))))


def test_of_traces_that_are_drawn_each_owns_its_own_tracers():
    for rng, _ in cases(12):
        traces = drawn_traces(rng)
        made = [
            (x, None)
            for x in (3, 0.0, None, "x", np.float32(2), np.ones((2, 2)), (), story.Var(()))
        ]
        for trace in traces * 2:
            made.append((drawn_tracer_alone(rng, trace, one_of(rng, made)[0]), trace))
        for trace in traces:
            for x, by in made:
                check(f"owns({type(trace).__name__}, {type(x).__name__}), which was made by "
                      f"{'this trace' if by is trace else type(by).__name__}",
                      bool(story.owns(trace, x)) == (by is trace), by is not trace, by is trace)  # fmt: skip


def drawn_tracer_alone(rng, trace, inside):
    """The same, of functions that are no puzzles."""
    if isinstance(trace, story.JaxprTrace):
        return story.JaxprTracer(trace, story.Var(drawn_shape(rng, 3)))
    if isinstance(trace, story.BatchTrace):
        return story.BatchTracer(trace, np.ones((2, *drawn_shape(rng, 3))))
    return drawn_tracer(rng, trace, inside)


def test_whatever_is_drawn_a_tracer_of_this_trace_is_taken_apart_once():
    for rng, _ in cases(12):
        traces = [t for t in drawn_traces(rng) if isinstance(t, story.JVPTrace)]
        made = [
            *map(np.float32, SPECIAL[:4]),
            *SPECIAL[:4],
            np.ones((2, 0)),
            np.zeros((1, 1, 1)),
            2,
            True,
        ]
        for trace in traces * 3:
            primal, tangent = one_of(rng, made), one_of(rng, made)
            tangent = primal if rng.integers(4) == 0 else tangent
            x = story.JVPTracer(trace, primal, tangent)
            for asked in traces:
                expected = (primal, tangent) if asked is trace else (x, None)
                got = asked.primal_and_tangent(x)
                check("primal_and_tangent of a tracer of "
                      f"{'this' if asked is trace else 'another'} trace with {primal!r} and {tangent!r}",
                      are_the_same(got, expected), got, expected)  # fmt: skip
            made.append(x)


def test_whatever_is_drawn_the_tangent_is_the_sum_of_the_parts():
    for rng, size in cases(60):
        count, shape = int(rng.integers(2 * size + 2)), drawn_shape(rng, size)
        shared, calls = drawn_array(rng, shape), []
        primals = tuple(drawn_array(rng, shape) for _ in range(count))
        if rng.integers(3) == 0 and count:
            primals = (primals[0],) * count
        tangents = tuple(
            one_of(rng, (None, 0.0, 0, shared, drawn_array(rng, shape))) for _ in range(count)
        )
        parts = [one_of(rng, (shared, drawn_array(rng, shape))) for _ in range(count)]
        params = {"axis": one_of(rng, (0, None))} if size > 1 else {}

        def rule(t, *given, k, **named):
            calls.append((k, t, given, named))
            return parts[k]

        rules = [
            lambda t, *given, k=k, **named: rule(t, *given, k=k, **named) for k in range(count)
        ]
        before = [p.copy() for p in parts]
        got = story.tangent_out(rules, tangents, primals, params)
        moving = [k for k in range(count) if tangents[k] is not None]
        asked = f"the tangent of {count} operands of shape {shape}, of which {moving} move"
        expected = np.sum([parts[k] for k in moving], axis=0) if moving else None
        check(asked, got is None if expected is None else is_about(got, expected), got, expected)
        check(f"{asked}: which rules are called", [c[0] for c in calls] == moving, calls, moving)
        for k, t, given, named in calls:
            check(f"{asked}: what rule {k} is given",
                  t is tangents[k] and are_the_same(given, primals) and named == params,
                  (t, given, named), (tangents[k], primals, params))  # fmt: skip
        check(
            "the parts are left as they are", all(map(np.array_equal, parts, before)), parts, before
        )


def moves(rng, size):
    """A tangent and an operand that it may belong to: a number or an array each."""
    shape = drawn_shape(rng, size)
    x = drawn_array(rng, shape)
    t = drawn_array(rng, shape)
    numbers = (0.0, 0, 1, True, False, drawn_number(rng) % 100, 0.009, -0.005, 0.1)
    x = one_of(rng, (x, x, x, one_of(rng, numbers), one_of(rng, numbers)))
    t = one_of(rng, (t, t, t, t, 0.0, 1.0, 0, 1, -3.0, drawn_number(rng)))
    return t, x, shape


def in_numbers(rule, *args):
    """What the rule gives in a trace of numbers, and by NumPy."""
    with np.errstate(all="ignore"):
        got = in_trace(Numbers(), rule, *map(Number, args))
        return getattr(got, "value", got), rule(*args)


def test_whatever_is_drawn_sine_and_cosine_move_as_numpy_says():
    for rng, size in cases(60):
        t, x, _ = moves(rng, size)
        x = x * 1e4 if size == 4 else x * 1
        for rule, slope in ((story.sin_jvp, np.cos(x)), (story.cos_jvp, -np.sin(x))):
            with np.errstate(all="ignore"):
                expected = np.asarray(t * slope)
            exact, by_numpy = in_numbers(rule, t, x)
            asked = f"{rule.__name__}({t!r}, {x!r})"
            rtol = 1e-9 if type(t) is type(x) is float else 1e-5
            check(
                f"{asked} in a trace of numbers", is_about(exact, expected, rtol), exact, expected
            )
            if size < 4:  # of large angles float32 knows less
                rtol = 1e-5 if np.all(np.abs(x) <= 1) else 1e-4
                check(asked, is_about(by_numpy, expected, rtol), by_numpy, expected)


def test_whatever_is_drawn_a_product_moves_as_numpy_says():
    for rng, size in cases(80):
        t, x, shape = moves(rng, size)
        y = x if rng.integers(4) == 0 else one_of(rng, (0.0, 1, 2.0, drawn_array(rng, shape)))
        for rule, factor in ((story.mul_jvp_x, y), (story.mul_jvp_y, x)):
            with np.errstate(all="ignore"):
                expected = np.multiply(t, factor)
            for got in in_numbers(rule, t, x, y):
                check(
                    f"{rule.__name__}({t!r}, {x!r}, {y!r})", is_about(got, expected), got, expected
                )


# ---- vmap ----


def test_whatever_is_drawn_batch_of_gives_a_batch_of_it():
    for rng, size in cases(60):
        trace = story.BatchTrace(story.EvalTrace(), int(rng.integers(size + 1)))
        outer = story.BatchTrace(story.EvalTrace(), one_of(rng, (trace.size, 2)))
        x = drawn_array(rng, drawn_shape(rng, size), special=True)
        batch = np.ones((trace.size, 2), np.float32)
        for number in (drawn_number(rng), int(rng.integers(9))):
            check(
                f"batch_of({number!r})",
                trace.batch_of(number) is number,
                trace.batch_of(number),
                number,
            )
        check("batch_of a tracer of this trace",
              trace.batch_of(story.BatchTracer(trace, batch)) is batch, "another", "its batch")  # fmt: skip
        expected = np.stack([x] * trace.size) if trace.size else np.zeros((0, *x.shape), np.float32)
        got = trace.batch_of(x)
        check(
            f"batch_of({x!r}) for {trace.size} examples", is_exactly(got, expected), got, expected
        )
        for foreign in (x, story.BatchTracer(outer, batch), story.JVPTracer(outer, x, x)):
            operands, params = in_trace(Handed(), trace.batch_of, foreign)
            check(f"what is bound by batch_of({foreign!r}), of another trace",
                  are_the_same(operands, [foreign]) and params == {"axis": 0, "size": trace.size},
                  (operands, params), ([foreign], {"axis": 0, "size": trace.size}))  # fmt: skip


def test_whatever_is_drawn_each_example_is_summed_alone():
    for rng, size in cases(60):
        shape = drawn_shape(rng, size, most=8, least=1)
        axis, batch = int(rng.integers(len(shape))), drawn_array(rng, (rng.integers(4), *shape))
        each = [example.sum(axis) for example in batch]
        expected = np.stack(each) if each else np.zeros((0, *shape[:axis], *shape[axis + 1 :]))
        got = story.reduce_sum_batch(batch, axis)
        check(f"the sums along axis {axis} of {len(batch)} examples of shape {shape}",
              is_about(got, expected), got, expected)  # fmt: skip
        _, params = in_trace(Handed(), story.reduce_sum_batch, batch, axis)
        expect(
            f"what is bound for axis {axis} of an example of shape {shape}",
            params,
            {"axis": axis + 1},
        )


# ---- make_jaxpr ----


def test_whatever_is_drawn_each_argument_is_an_input():
    for rng, size in cases(20):
        trace, kept = story.JaxprTrace(), [3.0, 0, np.ones((2,) * 9, np.float32)]
        tracers, given = [], []
        for _ in range(5 * size + 3):
            x = one_of(rng, (one_of(rng, kept), drawn_array(rng, drawn_shape(rng, size, most=9))))
            kept.append(x)
            given.append(x)
            tracers.append(trace.new_arg(x))
        shapes = [np.shape(x) for x in given]
        asked = f"after new_arg of arguments of shapes {shapes}, some of them the same"
        expect(f"{asked}, the shapes of the inputs", [v.shape for v in trace.invars], shapes)
        expect(f"{asked}, how many variables there are", len({*map(id, trace.invars)}), len(shapes))
        check(f"{asked}, each tracer stands for its input",
              are_the_same([t.var for t in tracers], trace.invars), "others", "the inputs")  # fmt: skip


def test_whatever_is_drawn_each_operation_is_noted():
    ours = story.Primitive("ours")
    for rng, size in cases(30):
        trace = story.JaxprTrace()
        values, noted = [trace.new_arg(np.ones(2, np.float32)), trace.new_arg(3.0), 0.0, 1.0, 2], []
        for _ in range(3 * size + 2):
            primitive = one_of(rng, (ours, story.mul_p, story.neg_p))
            count = {story.mul_p: 2, story.neg_p: 1}.get(primitive, int(rng.integers(5)))
            args = tuple(one_of(rng, values) for _ in range(count))
            params = {"axis": one_of(rng, (0, None, ()))} if primitive is ours else {}
            shape, seen = drawn_shape(rng, size), []
            story.abstract_eval_rules[ours] = lambda *shapes, **p: seen.append((shapes, p)) or shape
            if rng.integers(6) == 0:  # a rule that raises: nothing is noted
                story.abstract_eval_rules[ours] = None
                try:
                    trace.process_primitive(ours, args, params)
                except TypeError:
                    check("after a rule of shapes that raises, the equations",
                          len(trace.eqns) == len(noted), len(trace.eqns), len(noted))  # fmt: skip
                    continue
            out = trace.process_primitive(primitive, args, params)
            shapes = [getattr(x, "shape", ()) for x in args]
            expect("the shapes and parameters that the rule gets", seen or [(shapes, params)],
                   [(shapes, params)])  # fmt: skip
            if primitive is not ours:
                shape = max(shapes, key=len)
            expect(f"the shape of {primitive.name} of shapes {shapes}", out.shape, shape)
            noted.append((primitive, [getattr(x, "var", x) for x in args], params, out.var))
            values.append(out)
        for eqn, (primitive, invars, params, outvar) in zip(trace.eqns, noted):
            check(f"the equation of {primitive.name} {invars} {params}",
                  eqn.primitive is primitive and are_the_same(eqn.invars, invars)
                  and eqn.params == params and eqn.outvar is outvar,
                  eqn, (primitive, invars, params, outvar))  # fmt: skip
        expect("the number of equations", len(trace.eqns), len(noted))
        expect("the number of variables", len({eqn.outvar for eqn in trace.eqns}), len(noted))


def test_of_whatever_shape_a_sum_has_the_other_axes():
    for rng, size in cases(100):
        sizes = (0, 1, 1, 2, 2, 3, 7, 64, 100, 1000, 10**6)
        shape = tuple(int(one_of(rng, sizes)) for _ in range(rng.integers(1, 2 * size + 3)))
        axis = int(rng.integers(len(shape)))
        expected = tuple(s for i, s in enumerate(shape) if i != axis)
        asked = f"the shape of a sum along axis {axis} of an array of shape {shape}"
        expect(asked, story.reduce_sum_shape(shape, axis), expected)


# ---- linearize ----


def test_whatever_is_drawn_an_equation_is_run_as_it_is():
    for rng, size in cases(30):
        variables = [story.Var((2,)) for _ in range(2 * size + 1)]
        env = {v: x for v, x in zip(variables, things(rng, len(variables)))}
        before = {v: (x, np.copy(x) if isinstance(x, np.ndarray) else x) for v, x in env.items()}
        for _ in range(3):
            invars = [
                one_of(rng, (*variables, 0.0, 2, True)) for _ in range(rng.integers(2 * size + 2))
            ]
            params = dict(zip(WORDS, things(rng, size)))
            eqn = story.JaxprEqn(
                story.sin_p, invars, dict(params), one_of(rng, (story.Var(()), variables[0]))
            )
            operands = [env.get(v, v) for v in invars]
            in_trace(Handed(), story.eval_eqn, eqn, env)
            got, named = env[eqn.outvar]
            check(f"the operands bound for {invars}", are_the_same(got, operands), got, operands)
            check(
                "the parameters", are_the_same([*named.values()], [*params.values()]), named, params
            )
            check("the equation is left as it is",
                  are_the_same(eqn.invars, invars) and [*eqn.params] == [*params], eqn, params)  # fmt: skip
            before.pop(eqn.outvar, None)
            for v, (x, copy) in before.items():
                check("other values are left as they are",
                      env[v] is x and np.array_equal(x, copy) if isinstance(x, np.ndarray) else env[v] is x,
                      env[v], copy)  # fmt: skip


def test_a_program_that_is_drawn_gives_the_same_each_time_it_runs():
    for rng, size in cases(10):
        a, b = story.Var((2,)), story.Var(())
        x = drawn_array(rng, (2,))
        env, expected = {a: x, b: 2.0}, {a: x.copy(), b: np.float32(2)}
        operations = {story.sin_p: np.sin, story.neg_p: np.negative, story.mul_p: np.multiply,
                      story.add_p: np.add}  # fmt: skip
        eqns = []
        for _ in range(size + 2):
            primitive = one_of(rng, [*operations])
            count = 2 if primitive in (story.mul_p, story.add_p) else 1
            invars = [one_of(rng, [*expected, 0.5]) for _ in range(count)]
            eqns.append(story.JaxprEqn(primitive, invars, {}, story.Var(())))
            operands = [np.float32(expected.get(v, v)) for v in invars]
            expected[eqns[-1].outvar] = operations[primitive](*operands)
        for factor in (1.0, 1.0, -2.0):
            if factor != 1.0:  # the same program with another number
                env, expected = {a: x, b: -2.0}, {a: x.copy(), b: np.float32(-2)}
                for eqn in eqns:
                    operands = [np.float32(expected.get(v, v)) for v in eqn.invars]
                    expected[eqn.outvar] = operations[eqn.primitive](*operands)
            for eqn in eqns:
                story.eval_eqn(eqn, env)
            for v in expected:
                check(f"a value of {[e.primitive.name for e in eqns]}",
                      is_about(env[v], expected[v]), env[v], expected[v])  # fmt: skip


def test_whatever_is_drawn_only_a_tangent_of_this_trace_waits():
    for rng, size in cases(120):
        known, unknown = story.EvalTrace(), story.JaxprTrace()
        for _ in range(one_of(rng, (0, 1, 99)) if size > 3 else 0):
            unknown.eqns.append(story.JaxprEqn(story.sin_p, [0.0], {}, story.Var(())))
        trace, foreign = story.LinearizeTrace(known, unknown), story.JaxprTrace()
        mine = story.JaxprTracer(unknown, story.Var(()))
        others = (
            0.0, 3, np.ones(2), Number(2.0), story.JaxprTracer(foreign, story.Var(())),
            story.JVPTracer(trace, mine, mine), story.JVPTracer(story.JVPTrace(known), 1.0, 1.0),
            story.BatchTracer(story.BatchTrace(known, 2), np.ones(2)), (mine,), [mine],
        )  # fmt: skip
        args = [one_of(rng, others) for _ in range(rng.integers(5 * size + 1))]
        waits = bool(rng.integers(2)) and bool(args)
        if waits:
            args[int(rng.integers(len(args)))] = mine
        got = trace.trace_for(one_of(rng, (tuple(args), args)))
        names = {id(known): "known", id(unknown): "unknown"}
        expect(
            f"the trace for the operands {args}",
            names.get(id(got), got),
            "unknown" if waits else "known",
        )


# ---- transpose ----


def test_whatever_is_drawn_a_product_runs_backwards_as_numpy_says():
    for rng, size in cases(80):
        ct, factor, shape = moves(rng, size)
        v = story.Var(shape)
        with np.errstate(all="ignore"):
            expected = np.multiply(ct, factor)
        for words, rule, k in (
            ("v * factor", lambda t, x: story.mul_transpose(t, v, x)[0], 1),
            ("factor * v", lambda t, x: story.mul_transpose(t, x, v)[1], 0),
        ):
            asked = f"the cotangent of v in {words}, which counts {ct!r}, where the factor is {factor!r}"
            for got in in_numbers(rule, ct, factor):
                check(asked, is_about(got, expected), got, expected)
            pair = story.mul_transpose(ct, *((v, factor) if k else (factor, v)))
            check(f"{asked}: that of the factor", len(pair) == 2 and pair[k] is None, pair, None)


def test_of_whatever_shape_each_element_of_a_sum_counts_as_the_sum():
    for rng, size in cases(80):
        shape = drawn_shape(rng, size, most=9, least=1)
        axis = int(rng.integers(len(shape)))
        ct = drawn_array(rng, (*shape[:axis], *shape[axis + 1 :]), special=True)
        expected = np.repeat(np.expand_dims(ct, axis), shape[axis], axis)
        asked = (
            f"the cotangent of x in a sum along axis {axis} of shape {shape}, which counts {ct!r}"
        )
        (got,) = story.reduce_sum_transpose(ct, story.Var(shape), axis)
        check(asked, is_exactly(got, expected), got, expected)
        (got,) = in_trace(Numbers(), story.reduce_sum_transpose, Number(ct), story.Var(shape), axis)
        got = getattr(got, "value", got)
        check(f"{asked}, in a trace of numbers", is_exactly(got, expected), got, expected)


def test_whatever_is_drawn_all_uses_are_added():
    for rng, size in cases(20):
        shape, one_shape = drawn_shape(rng, size), rng.integers(2)
        variables = [
            story.Var(shape if one_shape else drawn_shape(rng, size)) for _ in range(size + 1)
        ]
        shared = {v: drawn_array(rng, v.shape) for v in variables}
        cts, expected, used = {}, {}, []
        for _ in range(4 * size + 2):
            v = one_of(rng, variables)
            ct = one_of(rng, (shared[v], drawn_array(rng, v.shape), shared[v], 0 * shared[v]))
            used.append((ct, ct.copy()))
            story.accumulate(cts, v, ct)
            expected[v] = expected[v] + ct if v in expected else ct
            asked = f"after {len(used)} uses of {len(variables)} variables, the cotangent of one"
            for w in expected:
                check(asked, w in cts and is_about(cts[w], expected[w]), cts.get(w), expected[w])
            expect("of how many something is noted", len(cts), len(expected))
            for given, copy in used:
                check("the cotangents are left as they are", is_exactly(given, copy), given, copy)


def drawn_program(rng, size, shape):
    """A function of an array of this shape that story and NumPy compute, as (operation, operands) steps."""
    steps, shapes = [], [shape]
    for _ in range(2 * size + 1):
        name = str(
            one_of(rng, ("sin", "cos", "neg", "add", "mul", "mul", "reduce_sum", "broadcast"))
        )
        x = int(rng.integers(len(shapes)))
        if name in ("add", "mul"):
            fits = [k for k, s in enumerate(shapes) if s == shapes[x] or s == ()]
            steps.append((name, (x, one_of(rng, (*fits, 0.5, -2.0, 0.0))), {}))
            shapes.append(shapes[x])
        elif name == "reduce_sum" and shapes[x]:
            axis = int(rng.integers(len(shapes[x])))
            steps.append((name, (x,), {"axis": axis}))
            shapes.append((*shapes[x][:axis], *shapes[x][axis + 1 :]))
        elif name == "broadcast" and len(shapes[x]) < 3:
            axis = int(rng.integers(len(shapes[x]) + 1))
            steps.append((name, (x,), {"axis": axis, "size": 2}))
            shapes.append((*shapes[x][:axis], 2, *shapes[x][axis:]))
        elif name in ("sin", "cos", "neg"):
            steps.append((name, (x,), {}))
            shapes.append(shapes[x])
    return steps


def run_steps(steps, operations, x):
    """The last value; of no steps, a number that does not move."""
    values = [x if steps else operations["add"](2.0, 3.0)]
    for name, operands, params in steps:
        args = [values[k] if isinstance(k, int) else k for k in operands]
        values.append(operations[name](*args, **params))
    return values[-1]


BY_NUMPY = {
    "sin": np.sin, "cos": np.cos, "neg": np.negative, "reduce_sum": np.sum,
    "add": np.add, "mul": np.multiply,
    "broadcast": lambda x, axis, size: np.repeat(np.expand_dims(x, axis), size, axis),
}  # fmt: skip


def test_of_a_program_that_is_drawn_the_pullback_is_numpys():
    operations = {name: getattr(story, name) for name in BY_NUMPY}
    for rng, size in cases(30):
        shape = drawn_shape(rng, min(size, 2), most=2)
        steps, x = drawn_program(rng, size, shape), drawn_array(rng, shape)
        steps = steps if rng.integers(5) else []
        out, pullback = story.vjp(lambda x: run_steps(steps, operations, x), x)
        expected = np.asarray(run_steps(steps, BY_NUMPY, np.complex128(x)))
        asked = f"of the program {steps} at {x!r}"
        check(f"the result {asked}", is_about(out, expected.real), out, expected.real)
        moved = []  # the result's slope if one element moves: by a small imaginary step
        for k in range(x.size):
            step = np.zeros(x.size, complex)
            step[k] = 1e-30j
            moved.append(np.imag(run_steps(steps, BY_NUMPY, x + step.reshape(shape))) * 1e30)
        for factor in (1.0, -2.0, 0.0, 1.0, 0.5):
            ct = (
                np.float32(factor) * drawn_array(rng, expected.shape)
                if factor
                else 0 * expected.real
            )
            ct = np.float32(ct) if expected.shape else float(ct)
            want = np.reshape([np.sum(ct * m) for m in moved], shape)
            got = pullback(ct)
            check(f"the pullback {asked} of {ct!r}", is_about(got, want, 1e-3), got, want)


# ---- jit ----


def test_of_whatever_name_and_shape_an_input_is_loaded():
    for rng, size in cases(60):
        letter = one_of(rng, "abcxyz") + str(one_of(rng, ("", 0, 7, 12, 98)))
        shape = tuple(int(rng.integers(4)) for _ in range(rng.integers(2 * size + 1)))
        item = "item" if len(shape) else "0"
        expect(f"load_line({letter!r}, a variable of shape {shape})",
               story.load_line(letter, story.Var(shape)),
               f"const float {letter} = {letter}_in[{item}];")  # fmt: skip


def test_whatever_is_drawn_an_equation_is_the_form_with_its_operands():
    ours = story.Primitive("ours")
    for rng, size in cases(80):
        variables = [story.Var(()) for _ in range(size + 2)]
        letters = {v: f"{one_of(rng, 'abcxyz')}{k}" for k, v in enumerate(variables)}

        def name(v):
            return letters[v] if isinstance(v, story.Var) else str(float(v))

        count = int(rng.integers(size + 3))
        numbers = (0.0, -0.0, 1, -1.5, 0.1 + 0.2, 1e-20, 123456789.123, -1e30, np.pi)
        invars = [one_of(rng, (*variables, one_of(rng, numbers))) for _ in range(count)]
        pieces = [
            str(one_of(rng, (" + ", "(", ") * -(", ", ", "f(", " - "))) for _ in range(count + 1)
        ]
        story.c_text[ours] = "{}".join(pieces)
        text = pieces[0]
        for v, piece in zip(invars, pieces[1:]):
            text += name(v) + piece
        outvar = one_of(rng, variables)
        expect(f"the line of {name(outvar)} = ours {[*map(name, invars)]}, of the form {story.c_text[ours]}",
               story.eqn_line(story.JaxprEqn(ours, invars, {}, outvar), name),
               f"const float {name(outvar)} = {text};")  # fmt: skip


def test_whatever_is_drawn_a_key_is_of_all_shapes():
    keys = {}
    for rng, size in cases(400):
        sizes = (0, 1, 1, 2, 11, 12, 111, 1111)
        shapes = tuple(
            tuple(int(one_of(rng, sizes)) for _ in range(rng.integers(size + 1)))
            for _ in range(rng.integers(size + 2))
        )
        shapes = ((2,),) * one_of(rng, (0, 0, 9)) + shapes
        args = [
            story.Var(shape) if shape else one_of(rng, (3.0, 0, np.float32(2), True))
            for shape in shapes
        ]
        key = story.key_of(one_of(rng, (args, tuple(args))))
        other = keys.setdefault(key, shapes)
        check(
            f"the keys for arguments of the shapes {shapes} and {other}",
            other == shapes,
            "one",
            "two",
        )
        check(f"the keys for two lists of arguments of the shapes {shapes}",
              story.key_of([*map(story.Var, shapes)]) == key, "two", "one")  # fmt: skip
