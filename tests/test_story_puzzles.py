"""The puzzles of lesson 0: each test reports what it asked, what it expected and what came."""

import numpy as np
import pytest
from story_file import expect
from story_traces import (
    Handed,
    Number,
    Numbers,
    Words,
    in_trace,
    lets_errors_go_on,
    of_all_kinds,
    story,
)

XS = np.float32([0.5, 1.0, -2.0])
ROWS = np.float32([[1, 2, 3], [10, 20, 30]])


# ---- operations ----


def test_bind_returns_what_the_current_trace_makes_of_the_operands():
    expect("in a trace that answers in words, sin_p.bind('x')",
           in_trace(Words(), story.sin_p.bind, "x"), "sin(x)")  # fmt: skip
    expect("and mul_p.bind('x', 'y')", in_trace(Words(), story.mul_p.bind, "x", "y"), "mul(x, y)")


def test_bind_hands_parameters_on():
    expect("in a trace that answers in words, broadcast_p.bind('x', axis=0, size=3)",
           in_trace(Words(), story.broadcast_p.bind, "x", axis=0, size=3),
           "broadcast(x, axis=0, size=3)")  # fmt: skip
    params = {"axis": 0, "b": None, "c": ()}
    for operands in ((), ("x",), (None, 1.0, tracer(None)), (1.0, 1.0, 2, "x")):
        expect(f"what the trace is handed by bind{operands} with {params}",
               in_trace(Handed(), story.mul_p.bind, *operands, **params), [[*operands], params])  # fmt: skip
    params, operands = {"a": [1], "b": (2,), "c": {}}, ([1.0], ..., False, *range(9))
    handed, got = in_trace(Handed(), story.mul_p.bind, *operands, **params)
    expect("what is handed on are the very operands and parameters",
           [*(x is y for x, y in zip(handed, operands, strict=True)), *(got[k] is params[k] for k in params)],
           [True] * 15)  # fmt: skip
    for answer in (0.0, None, [], "x", [1.0], (2.0,), {}):
        got = in_trace(Answer(answer), story.mul_p.bind, 2.0, 3.0)
        expect(f"bind in a trace that answers {answer!r}", got is answer, True)
    lets_errors_go_on("bind", story.sin_p.bind, 1.0)


class Answer:
    """A trace that always gives one answer."""

    def __init__(self, answer):
        self.answer = answer

    def process_primitive(self, primitive, args, params):
        return self.answer


def test_numpy_computes_in_float32():
    got = story.EvalTrace().process_primitive(story.sin_p, (3.0,), {})
    expect("EvalTrace().process_primitive(sin_p, (3.0,), {})", got, np.float32(0.14112))
    half = story.EvalTrace().process_primitive(story.mul_p, (1, np.float64(0.5)), {})
    expect("the product of 1 and 0.5", half, 0.5)
    expect("the dtype of the product of a number and a float64", half.dtype, np.dtype(np.float32))
    process = story.EvalTrace().process_primitive
    for words, x in (("a float64", np.float64([1, 2])), ("an int64", np.int64([1, 2])),
                     ("a bool", np.array([True])), ("a float16", np.float16([[1]]))):  # fmt: skip
        got = process(story.neg_p, (x,), {})
        expect(f"-x, where x is the array of {words} {x}", got, -np.float32(x))
        expect("its dtype", got.dtype, np.dtype(np.float32))
    expect("16777217.0 + -16777216.0, of which the first is 16777216 as float32",
           process(story.add_p, (16777217.0, -16777216.0), {}), np.float32(0))  # fmt: skip
    expect(
        "-123456.0 has all its digits", process(story.neg_p, (123456.0,), {}), np.float32(-123456)
    )


def test_the_impl_rule_gets_all_parameters():
    got = story.EvalTrace().process_primitive(story.reduce_sum_p, (ROWS,), {"axis": 1})
    expect("the sum of [[1, 2, 3], [10, 20, 30]] along axis 1", got, np.float32([6, 60]))
    ours, seen = story.Primitive("ours"), []
    missing = raised_by(story.EvalTrace().process_primitive, ours, (1.0,), {})
    expect("a primitive without an impl rule raises a KeyError", type(missing), KeyError)
    story.impl_rules[ours] = lambda *args, **params: seen.append((args, params))
    got = story.EvalTrace().process_primitive(ours, (1, 2, 2, 3), {"a": None, "b": 0})
    expect("what an impl rule is given of 1, 2, 2, 3 and the parameters a=None, b=0",
           seen, [[(1.0, 2.0, 2.0, 3.0), {"a": None, "b": 0}]])  # fmt: skip
    expect("and its result, None, is the result", got, None)
    for error in of_all_kinds("of a rule"):
        story.impl_rules[ours] = raising(error)
        raised = raised_by(story.EvalTrace().process_primitive, ours, (1.0, 2.0, 3.0), {})
        expect(f"a rule that raises {error!r}: its error goes on", raised is error, True)


def raising(error):
    """A rule that raises it, once: whoever tries again gets a result."""
    errors = [error]

    def rule(*args, **params):
        if errors:
            raise errors.pop()
        return ()

    return rule


def raised_by(fun, *args):
    """The error that it raises, or what it returns."""
    try:
        return fun(*args)
    except Exception as error:
        return error


def test_minus_of_tracers():
    x, y = Number(3.0), Number(5.0)
    cases = {
        "-x": lambda: -x,
        "x - 1": lambda: x - 1.0,
        "1 - x": lambda: 1.0 - x,
        "x - y": lambda: x - y,
    }
    for (words, program), expected in zip(cases.items(), (-3.0, 2.0, -2.0, -2.0)):
        got = in_trace(Numbers(), program)
        expect(f"{words}, where x is 3.0 and y is 5.0", getattr(got, "value", got), expected)
    for words, program, expected in (("0 - x", lambda: 0 - x, -3.0), ("x - 0", lambda: x - 0, 3.0)):
        got = in_trace(Numbers(), program)
        expect(f"{words}, where x is 3.0", getattr(got, "value", got), expected)
    xs = Number(XS)
    for words, program, expected in (
        ("x - x", lambda: xs - xs, 0 * XS),
        ("-x", lambda: -xs, -XS),
        ("x - 2", lambda: xs - 2, XS - 2),
        ("True - x", lambda: True - xs, 1 - XS),
        ("x - ys, for an array ys", lambda: xs - 2 * XS, -XS),
    ):
        expect(f"{words}, where x is {XS}", in_trace(Numbers(), program).value, expected)
    expect(
        "x.__rsub__(ys), for an array ys", in_trace(Numbers(), xs.__rsub__, 3 * XS).value, 2 * XS
    )
    for number in (np.inf, -np.inf, 3e38, 2**31):
        expect(
            f"x - {number}, where x is 3.0",
            in_trace(Numbers(), lambda n=number: x - n).value,
            3.0 - number,
        )
        expect(f"{number} - x", in_trace(Numbers(), lambda n=number: n - x).value, number - 3.0)

    class Other(Number):
        pass

    expect(
        "x - z, for a tracer z of another class",
        in_trace(Numbers(), lambda: x - Other(7.0)).value,
        -4.0,
    )
    lets_errors_go_on("-x", lambda: -x)
    lets_errors_go_on("x - 1", lambda: x - 1.0)
    lets_errors_go_on("1 - x", lambda: 1.0 - x)


# ---- jvp ----


def test_a_trace_owns_what_it_made():
    trace = story.JVPTrace(story.EvalTrace())
    expect("owns(trace, a tracer of this trace)", bool(story.owns(trace, tracer(trace))), True)
    batched = story.BatchTrace(story.EvalTrace(), 2)
    x = story.BatchTracer(batched, ROWS)
    expect("owns(a BatchTrace, its tracer)", bool(story.owns(batched, x)), True)
    jaxpr = story.JaxprTrace()
    made = story.JaxprTracer(jaxpr, story.Var(()))
    expect("owns(a JaxprTrace, its tracer)", bool(story.owns(jaxpr, made)), True)
    inside = tracer(story.JVPTrace(trace), tracer(trace), tracer(trace))
    expect("owns(trace, a tracer of another one that holds one of this trace)",
           bool(story.owns(trace, inside)), False)  # fmt: skip
    twin = story.JVPTrace(trace.parent)
    expect("owns(trace, a tracer of another trace with the same parent)",
           bool(story.owns(trace, tracer(twin))), False)  # fmt: skip


class Equal(story.JVPTrace):
    """A trace that is equal to any other, and yet another one."""

    def __eq__(self, other):
        return True

    __hash__ = None


@pytest.mark.parametrize("kind", [story.JVPTrace, Equal])
def test_a_trace_owns_no_tracer_of_another_one_and_no_number(kind):
    one, other = kind(story.EvalTrace()), kind(story.EvalTrace())
    another = "another trace" if kind is story.JVPTrace else "another trace, which is == to it"
    expect(f"owns(trace, a tracer of {another})", bool(story.owns(one, tracer(other))), False)
    expect("owns(trace, 3.0)", bool(story.owns(one, 3.0)), False)
    expect("owns(trace, an array)", bool(story.owns(one, XS)), False)


def tracer(trace, primal=3.0, tangent=0.5):
    return story.JVPTracer(trace, primal, tangent)


def test_a_tracer_of_this_trace_has_a_primal_and_a_tangent():
    trace = story.JVPTrace(story.EvalTrace())
    expect("primal_and_tangent of a tracer with primal 3.0 and tangent 0.5",
           trace.primal_and_tangent(tracer(trace)), (3.0, 0.5))  # fmt: skip
    for tangent in (XS, 0.0):
        found = trace.primal_and_tangent(tracer(trace, 3.0, tangent))[1]
        expect(f"the tangent of a tracer with tangent {tangent}", found is tangent, True)


def test_what_another_trace_made_does_not_move_in_this_one():
    trace, outer = story.JVPTrace(story.EvalTrace()), story.JVPTrace(story.EvalTrace())
    expect("primal_and_tangent(3.0)", trace.primal_and_tangent(3.0), (3.0, None))
    x = tracer(outer)
    primal, tangent = trace.primal_and_tangent(x)
    expect("the primal of a tracer of another trace is the tracer itself", primal is x, True)
    expect("and its tangent in this trace", tangent, None)
    for x in (
        3,
        True,
        XS,
        XS[:0],
        np.zeros((2, 0)),
        ROWS[None, None],
        None,
        np.float64(2),
        ROWS,
        tracer(story.JVPTrace(trace.parent)),
    ):
        primal, tangent = trace.primal_and_tangent(x)
        expect(f"the primal of {x!r} is itself", primal is x, True)
        expect(f"the tangent of {x!r}", tangent, None)
    inner = tracer(outer)
    for primal, tangent in ((inner, inner), (XS, inner), (inner, 0.0)):
        got = trace.primal_and_tangent(tracer(trace, primal, tangent))
        expect("a tracer is taken apart once: what is in it stays a tracer of another trace",
               [got[0] is primal, got[1] is tangent], [True, True])  # fmt: skip


RULES = [lambda t, x, y, by=1: t * y * by, lambda t, x, y, by=1: t * x * by]  # of a product


def test_the_tangent_is_the_sum_of_what_each_operand_adds():
    asked = "x * y at 3.0 and 5.0; x moves with 1.0, y with 10.0"
    expect(asked, story.tangent_out(RULES, (1.0, 10.0), (3.0, 5.0), {}), np.float32(35.0))
    expect("the same with by=2", story.tangent_out(RULES, (1.0, 10.0), (3.0, 5.0), {"by": 2}),
           np.float32(70.0))  # fmt: skip
    three = [lambda t, *_, k=k: t * k for k in (1.0, 10.0, 100.0)]
    expect("of three operands, whose rules are t, 10 t and 100 t, all move with 2.0",
           story.tangent_out(three, (2.0, 2.0, 2.0), (0.0, 0.0, 0.0), {}), np.float32(222.0))  # fmt: skip
    expect("of two operands with one and the same rule, t",
           story.tangent_out([three[0]] * 2, (2.0, 5.0), (0.0, 0.0), {}), np.float32(7.0))  # fmt: skip
    arrays, given = [lambda t, *_: t] * 3, (1 * XS, 2 * XS, None, 1 * XS)
    expect(
        "of three arrays", story.tangent_out([*arrays, arrays[0]], given, (0.0,) * 4, {}), 4 * XS
    )
    expect("the arrays stay as they are", given[0], XS)
    for count in range(1, 10):
        asked = f"of {count} operands, of which the k-th adds 2 ** k"
        powers = [lambda t, *_, k=k: t * 2.0**k for k in range(count)]
        expect(
            asked,
            story.tangent_out(powers, (1.0,) * count, (0.0,) * count, {}),
            np.float32(2**count - 1),
        )
        expect(
            "where all move with 0.0",
            story.tangent_out(powers, (0.0,) * count, (0.0,) * count, {}),
            0.0,
        )
    for error in (TypeError("of a rule"), KeyError("of a rule"), ValueError("of a rule")):
        raised = raised_by(story.tangent_out, [lambda *_: 1.0, raising(error)],
                           (1.0, 1.0), (0.0, 0.0), {})  # fmt: skip
        expect(f"a rule that raises {error!r}: its error goes on", raised is error, True)
    got = in_trace(Words(), story.tangent_out, [lambda t, *_: t] * 3, ("a", None, "b"), "xyz", {})
    expect(
        "the sum of a and b, in a trace that answers in words",
        got in ("add(a, b)", "add(b, a)"),
        True,
    )


def test_operands_that_do_not_move_add_nothing():
    expect("x * y at 3.0 and 5.0; only y moves, with 1.0",
           story.tangent_out(RULES, (None, 1.0), (3.0, 5.0), {}), 3.0)  # fmt: skip
    expect("none of them moves", story.tangent_out(RULES, (None, None), (3.0, 5.0), {}), None)
    expect("x moves with 0.0, which is a tangent, too",
           story.tangent_out(RULES, (0.0, None), (3.0, 5.0), {}), 0.0)  # fmt: skip


def test_sine_and_cosine_move():
    for fun, at, speed, expected in (
        (story.sin, 0.7, 1.0, np.cos(0.7)),
        (story.sin, 3.0, 2.0, 2 * np.cos(3.0)),
        (story.cos, 0.7, 1.0, -np.sin(0.7)),
        (story.cos, 3.0, 2.0, -2 * np.sin(3.0)),
    ):
        name = "sin" if fun is story.sin else "cos"
        asked = f"the tangent of {name}(x) at x = {at}, where x moves with {speed}"
        expect(asked, story.jvp(fun, (at,), (speed,))[1], np.float32(expected))


def test_the_rules_of_sine_and_cosine_bind_primitives():
    for rule, expected in ((story.sin_jvp, 2 * np.cos(0.7)), (story.cos_jvp, -2 * np.sin(0.7))):
        got = in_trace(Numbers(), rule, Number(2.0), Number(0.7))
        asked = f"{rule.__name__}(2.0, 0.7) in a trace of numbers, in which all is bound"
        expect(asked, getattr(got, "value", None), float(expected))
        for x in (0.0, 1e5, XS, -3e3):
            for t in (0.0, 1.0, 3.0, -2.0):
                got = in_trace(Numbers(), rule, t, Number(x))
                slope = np.cos(x) if rule is story.sin_jvp else -np.sin(x)
                asked = f"{rule.__name__}({t}, {x}) in a trace of numbers"
                expect(asked, getattr(got, "value", None), np.asarray(t * slope))
        for x in (ROWS, ROWS[None, None], XS[:0]):
            slope = np.cos(x) if rule is story.sin_jvp else -np.sin(x)
            for t in (2.0, x):
                expect(f"{rule.__name__}({t}, {x}), by NumPy", rule(t, x), np.float32(t * slope))
        for x in (0.0, 1e5, -3e3):
            slope = np.cos(x) if rule is story.sin_jvp else -np.sin(x)
            expect(f"{rule.__name__}(1.0, {x}), by NumPy", rule(1.0, x), np.float32(slope))
        lets_errors_go_on(rule.__name__, rule, 2.0, 0.7)


def test_a_product_moves_with_either_operand():
    product = lambda x, y: x * y  # noqa: E731
    for speeds, expected in (((1.0, 0.0), 5.0), ((0.0, 1.0), 3.0), ((2.0, 10.0), 40.0)):
        asked = f"x * y at 3.0 and 5.0; x and y move with {speeds}"
        expect(asked, story.jvp(product, (3.0, 5.0), speeds)[1], np.float32(expected))


def test_the_rules_of_a_product_can_be_differentiated_again():
    cube = lambda x: x * x * x  # noqa: E731
    got = story.jvp(lambda x: story.jvp(cube, (x,), (1.0,))[1], (2.0,), (1.0,))[1]
    expect("the second derivative of x * x * x at 2.0", got, np.float32(12.0))
    for t, x, y in (
        (2.0, 3.0, 5.0),
        (2.0, 0.0, 0.0),
        (0.0, 3.0, 3.0),
        (-1.0, 0.0, 7.0),
        (XS, XS, XS),
    ):
        for rule, expected in ((story.mul_jvp_x, t * y), (story.mul_jvp_y, x * t)):
            got = in_trace(Numbers(), rule, Number(t), Number(x), Number(y))
            expect(f"{rule.__name__}({t}, {x}, {y}), by NumPy", rule(t, x, y), np.float32(expected))
            expect(f"{rule.__name__}({t}, {x}, {y}) in a trace of numbers", getattr(got, "value", None),
                   np.asarray(expected))  # fmt: skip
    for t in (2.0, ROWS, -ROWS):
        expect(
            f"mul_jvp_x({t}, ...) for matrices",
            story.mul_jvp_x(t, 3 * ROWS, 2 * ROWS),
            2 * ROWS * t,
        )
        expect(
            f"mul_jvp_y({t}, ...) for matrices",
            story.mul_jvp_y(t, 3 * ROWS, 2 * ROWS),
            3 * ROWS * t,
        )
        expect(f"mul_jvp_y({t}, matrix, 2.0)", story.mul_jvp_y(t, ROWS, 2.0), ROWS * t)
        expect(f"mul_jvp_x({t}, 2.0, matrix)", story.mul_jvp_x(t, 2.0, ROWS), ROWS * t)
    for rule in (story.mul_jvp_x, story.mul_jvp_y):
        same = Number(np.float32(np.inf))
        got = in_trace(Numbers(), rule, 2.0, same, same)
        expect(f"{rule.__name__}(2.0, x, x) where x is infinite", got.value, np.float32(np.inf))
        lets_errors_go_on(rule.__name__, rule, Number(2.0), Number(0.7), Number(0.5))


# ---- vmap ----


def test_a_batch_is_what_the_tracer_holds_and_a_number_stays():
    trace = story.BatchTrace(story.EvalTrace(), 2)
    batch = story.BatchTracer(trace, ROWS)
    expect("batch_of(a tracer) is the batch in it", trace.batch_of(batch) is ROWS, True)
    expect("batch_of(2.0)", trace.batch_of(2.0), 2.0)
    for number in (0, 0.0, 3, True):
        expect(f"batch_of({number!r}) is that number", trace.batch_of(number) is number, True)


def test_what_is_the_same_for_all_examples_is_repeated():
    trace, outer = story.BatchTrace(story.EvalTrace(), 2), story.BatchTrace(story.EvalTrace(), 3)
    expect("batch_of an array from outside, for 2 examples", trace.batch_of(XS), np.stack([XS, XS]))
    expect("batch_of a matrix of 2 rows from outside, for 2 examples",
           trace.batch_of(ROWS), np.stack([ROWS, ROWS]))  # fmt: skip
    x = story.BatchTracer(outer, ROWS)
    got = in_trace(Words(), trace.batch_of, x)
    expect("batch_of a tracer of another trace", got, f"broadcast({x}, axis=0, size=2)")
    for size in (1, 0, 3):
        trace = story.BatchTrace(story.EvalTrace(), size)
        for x in (XS[:0], XS[:1], XS, ROWS[None], np.float32(2), np.array(2, np.float32)):
            expect(f"batch_of {x!r}, for {size} examples", trace.batch_of(x), np.array([x] * size, np.float32)
                   .reshape(size, *x.shape))  # fmt: skip
    lets_errors_go_on("batch_of an array", trace.batch_of, XS)


def test_each_example_is_summed():
    total = lambda x: story.reduce_sum(x, axis=0)  # noqa: E731
    expect("vmap of a sum, over the rows [1, 2, 3] and [10, 20, 30]",
           story.vmap(total)(ROWS), np.float32([6, 60]))  # fmt: skip


def test_an_example_of_two_axes_is_summed_along_its_own():
    cube = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for axis in (0, 1):
        got = story.vmap(lambda x, axis=axis: story.reduce_sum(x, axis=axis))(cube)
        asked = f"vmap of the sum along axis {axis}, over two matrices of shape (3, 4)"
        expect(asked, got, cube.sum(axis + 1))
    for axis in range(9):
        got = in_trace(Words(), story.reduce_sum_batch, story.Var((2,) * 10), axis).split(", ")[1:]
        expect(f"the axis of a batch's sum, if that of an example's is {axis}, in a trace of words",
               got, [f"axis={axis + 1})"])  # fmt: skip
    for size in (0, 1):
        many = np.ones((size, 1, 2, 1, 3, 2), np.float32)
        expect(f"a batch of {size} of five axes", story.reduce_sum_batch(many, 3), many.sum(4))
    lets_errors_go_on("reduce_sum_batch", story.reduce_sum_batch, ROWS, 0)


# ---- make_jaxpr ----


def test_an_argument_is_a_new_variable_of_its_shape():
    trace = story.JaxprTrace()
    x, y = trace.new_arg(XS), trace.new_arg(3.0)
    expect("the shapes of the jaxpr's inputs, after an array of three and a number",
           [v.shape for v in trace.invars], [(3,), ()])  # fmt: skip
    expect("the tracers stand for these variables, in order",
           [t.var is v for t, v in zip((x, y), trace.invars)], [True, True])  # fmt: skip
    outer = story.BatchTrace(story.EvalTrace(), 2)
    given = (XS, story.BatchTracer(outer, ROWS), 3.0, ROWS, XS[:0], 3)
    more = [trace.new_arg(arg) for arg in given]
    expect("their shapes after more: an array of three, a batch's tracer that shows three, a number, a "
           "matrix, an empty array, a number", [v.shape for v in trace.invars],
           [(3,), (), (3,), (3,), (), (2, 3), (0,), ()])  # fmt: skip
    expect("each argument has its own variable, in order",
           [t.var is v for t, v in zip((x, y, *more), trace.invars)], [True] * 8)  # fmt: skip
    expect("all these are different", len({id(v) for v in trace.invars}), 8)
    outside = story.JaxprTrace().new_arg(ROWS)
    inside = [trace.new_arg(outside), trace.new_arg(x), trace.new_arg(x)]
    expect("tracers of another trace, and of this one, twice, are arguments too",
           [t.trace is trace and t.var is v for t, v in zip(inside, trace.invars[8:], strict=True)],
           [True] * 3)  # fmt: skip
    expect("their shapes", [v.shape for v in trace.invars[8:]], [(2, 3), (3,), (3,)])


def test_an_argument_is_given_as_a_tracer_of_this_trace():
    trace = story.JaxprTrace()
    x = trace.new_arg(XS)
    expect("new_arg gives a", type(x).__name__, "JaxprTracer")
    expect("whose trace is this one", x.trace is trace, True)


def noted(fun, *args):
    """The trace after it took notes of a function, the arguments' tracers, and the result."""
    trace = story.JaxprTrace()
    tracers = [trace.new_arg(x) for x in args]
    return trace, tracers, in_trace(trace, fun, *tracers)


def test_each_primitive_becomes_an_equation():
    trace, (x,), _ = noted(lambda x: story.sin(x) * 2.0 * x, 3.0)
    expect("the equations of sin(x) * 2.0 * x", [eqn.primitive.name for eqn in trace.eqns],
           ["sin", "mul", "mul"])  # fmt: skip
    first, second, third = trace.eqns
    expect("the operand of the sine is x's variable", first.invars == [x.var], True)
    expect("those of the first product", second.invars == [first.outvar, 2.0], True)
    expect("those of the second", third.invars == [second.outvar, x.var], True)
    trace, _, _ = noted(lambda x: story.sin(x) * story.sin(x), 3.0)
    expect("the equations of sin(x) * sin(x)", [eqn.primitive.name for eqn in trace.eqns],
           ["sin", "sin", "mul"])  # fmt: skip
    trace, (x,), out = noted(lambda x: story.mul(2.0, 3.0), 3.0)
    expect("an operation of numbers alone is noted too", trace.eqns[0].invars == [2.0, 3.0], True)
    ours, seen = story.Primitive("ours"), []
    story.abstract_eval_rules[ours] = lambda *shapes, **params: (
        seen.append((shapes, params)) or (7,)
    )
    params = {"a": None, "b": 0}
    trace, (x, y), out = noted(lambda x, y: ours.bind(x, y, y, 2.0, **params), XS, ROWS)
    expect("what the rule of shapes is given, of four operands", seen,
           [[((3,), (2, 3), (2, 3), ()), params]])  # fmt: skip
    expect("the operands noted", trace.eqns[0].invars == [x.var, y.var, y.var, 2.0], True)
    expect("the parameters noted", trace.eqns[0].params, params)
    expect("the shape of the result", out.var.shape, (7,))
    programs = (
        lambda x: 1.0 * x,
        lambda x: x * 1.0,
        lambda x: x + 0.0,
        lambda x: 0.0 * x,
        lambda x: story.neg(story.neg(x)),
    )
    trace, _, _ = noted(lambda x: [program(x) for program in programs], 3.0)
    expect("the equations of 1.0 * x, x * 1.0, x + 0.0, 0.0 * x, neg(neg(x))",
           [eqn.primitive.name for eqn in trace.eqns],
           ["mul", "mul", "add", "mul", "neg", "neg"])  # fmt: skip
    trace, _, out = noted(lambda x: [story.broadcast(x, axis=k, size=k + 2) for k in (0, 1)], XS)
    expect("two repetitions keep their own parameters", [eqn.params for eqn in trace.eqns],
           [{"axis": 0, "size": 2}, {"axis": 1, "size": 3}])  # fmt: skip
    expect("and their own shapes", [x.shape for x in out], [(2, 3), (3, 3)])
    for error in (TypeError("of a rule"), KeyError("of a rule")):
        story.abstract_eval_rules[ours] = raising(error)
        raised = raised_by(story.JaxprTrace().process_primitive, ours, (1.0, 2.0), {})
        expect(f"a rule of shapes that raises {error!r}: its error goes on", raised is error, True)


def test_the_result_is_a_tracer_of_the_equations_variable():
    trace, _, out = noted(lambda x: story.broadcast(x, axis=0, size=2), XS)
    expect("the shape of broadcast(x, axis=0, size=2) for an x of three", out.shape, (2, 3))
    expect("the equation's parameters", trace.eqns[0].params, {"axis": 0, "size": 2})
    expect("the tracer stands for the equation's variable", out.var is trace.eqns[0].outvar, True)
    expect("its trace is this one", out.trace is trace, True)


def test_a_sum_has_no_more_that_axis():
    for shape, axis, expected in (
        ((2, 3, 4), 0, (3, 4)),
        ((2, 3, 4), 1, (2, 4)),
        ((2, 3, 4), 2, (2, 3)),
        ((5,), 0, ()),
        ((3, 3), 1, (3,)),
        ((1, 2, 1, 3), 2, (1, 2, 3)),
        ((2, 3, 2, 4, 5, 6), 2, (2, 3, 4, 5, 6)),
        ((2, 3, 2, 4, 5, 6), 0, (3, 2, 4, 5, 6)),
        ((0, 1, 0), 1, (0, 0)),
        ((0, 1, 4, 0), 3, (0, 1, 4)),
        ((2,) * 9, 8, (2,) * 8),
        ((1, 2, 3, 4, 5, 6, 7, 8, 9), 7, (1, 2, 3, 4, 5, 6, 7, 9)),
    ):
        asked = f"the shape of a sum along axis {axis} of an array of shape {shape}"
        expect(asked, story.reduce_sum_shape(shape, axis), expected)
        expect("which is a", type(story.reduce_sum_shape(shape, axis)), tuple)


# ---- linearize ----


def test_an_equation_is_run_by_binding_its_primitive():
    a, b = story.Var(()), story.Var(())
    env = {a: "x"}
    in_trace(Words(), story.eval_eqn, story.JaxprEqn(story.mul_p, [a, 2.0], {}, b), env)
    expect(
        "b = mul a 2.0, where a is 'x', in a trace that answers in words", env.get(b), "mul(x, 2.0)"
    )
    expect("and a is", env[a], "x")


def test_an_equation_is_run_with_its_parameters():
    a, b = story.Var((3,)), story.Var((2, 3))
    env = {a: XS}
    story.eval_eqn(story.JaxprEqn(story.broadcast_p, [a], {"axis": 0, "size": 2}, b), env)
    expect("b = broadcast a, axis=0, size=2", env.get(b), np.stack([XS, XS]))
    env = {a: 0.0}
    in_trace(Words(), story.eval_eqn, story.JaxprEqn(story.sin_p, [a], {}, b), env)
    expect("b = sin a, where a is 0.0, in a trace that answers in words", env[b], "sin(0.0)")
    ours, c, params = story.Primitive("ours"), story.Var(()), {"axis": None, "size": 0}
    env, eqn = {a: "x", c: 0.0, b: "from before"}, story.JaxprEqn(ours, [a, a, 2.0, c], params, b)
    in_trace(Handed(), story.eval_eqn, eqn, env)
    expect("b = ours a a 2.0 c, where a is 'x' and c 0.0: what the trace is handed", env[b],
           [["x", "x", 2.0, 0.0], params])  # fmt: skip
    expect("the equation's parameters after it", eqn.params, {"axis": None, "size": 0})
    expect("and its operands", len(eqn.invars), 4)
    in_trace(Answer(None), story.eval_eqn, eqn, env)
    expect("a result of None is put into env too", env[b], None)
    many = [story.Var(()) for _ in range(9)]
    env = {v: k for k, v in enumerate(many)}
    in_trace(Handed(), story.eval_eqn, story.JaxprEqn(ours, many, {}, b), env)
    expect("of nine operands", env[b], [[*range(9)], {}])
    lets_errors_go_on("eval_eqn", story.eval_eqn, eqn, {a: "x", c: 0.0})
    jaxpr = story.make_jaxpr(story.f)(3.0)
    expect("eval_jaxpr(make_jaxpr(f)(3.0), 2.0)", story.eval_jaxpr(jaxpr, 2.0),
           [np.float32(2 * np.sin(2.0))])  # fmt: skip


def test_what_needs_a_tangent_waits():
    known, unknown = story.EvalTrace(), story.JaxprTrace()
    trace, t = story.LinearizeTrace(known, unknown), unknown.new_arg(1.0)
    foreign = story.JaxprTrace().new_arg(1.0)
    for words, args, expected in (
        ("a number", (3.0,), known),
        ("a tangent", (t,), unknown),
        ("a tangent and a number", (t, 3.0), unknown),
        ("a number and a tangent", (3.0, t), unknown),
        ("two numbers and a tangent", (3.0, 4.0, t), unknown),
        ("a tracer of another trace", (foreign, 3.0), known),
        ("eight numbers and a tangent", (*range(8), t), unknown),
        ("none", (), known),
        ("eight numbers", (*range(8),), known),
        ("an array and a tracer of another trace", (XS, foreign), known),
        (
            "a tracer of another trace, a number, an array, a tangent",
            (foreign, 1.0, XS, t),
            unknown,
        ),
        ("a tangent twice", (t, t), unknown),
        ("a tracer of another kind", (tracer(story.JVPTrace(known)),), known),
        ("a tracer that holds a tangent", (tracer(story.JVPTrace(known), t, t),), known),
    ):
        got = trace.trace_for(args)
        names = {id(known): "known", id(unknown): "unknown"}
        expect(f"operands: {words}", names.get(id(got), got), names[id(expected)])


def test_an_equal_trace_is_another_one():
    class Equal(story.JaxprTrace):
        def __eq__(self, other):
            return True

        __hash__ = None

    trace = story.LinearizeTrace(story.EvalTrace(), Equal())
    got = trace.trace_for((Equal().new_arg(1.0),))
    expect(
        "whether what another trace made waits, which is == to this one",
        got is trace.unknown,
        False,
    )


def test_only_what_is_linear_is_written_down():
    _, linear = story.linearize(story.f, 3.0)
    expect("the equations of linearize(f, 3.0)", [eqn.primitive.name for eqn in linear.eqns],
           ["mul", "mul", "mul", "add"])  # fmt: skip


# ---- transpose ----


def test_a_product_runs_backwards_to_the_operand_that_waits():
    v = story.Var(())
    expect("the cotangents of v * 2.0, which counts 3.0", story.mul_transpose(3.0, v, 2.0),
           [np.float32(6.0), None])  # fmt: skip
    expect("those of 5.0 * v", story.mul_transpose(3.0, 5.0, v), [None, np.float32(15.0)])
    for ct in (0.0, 3.0, XS):
        for factor in (0.0, 1.0, -2.0, XS):
            asked = f"where the product counts {ct}, and the factor is {factor}: the cotangents of v * factor"
            expect(asked, story.mul_transpose(ct, v, factor), [np.float32(ct * factor), None])
            expect(
                "and of factor * v",
                story.mul_transpose(ct, factor, v),
                [None, np.float32(factor * ct)],
            )
    got = in_trace(Numbers(), lambda: story.mul_transpose(Number(3.0), Number(2.0), v))
    expect("of a tracer of 2.0 times v", [got[0], got[1].value], [None, 6.0])
    got = in_trace(Numbers(), lambda: story.mul_transpose(Number(3.0), v, Number(2.0)))
    expect("of v times a tracer of 2.0", [got[0].value, got[1]], [6.0, None])
    for operands in ((v, Number(2.0)), (Number(2.0), v)):
        lets_errors_go_on("mul_transpose", story.mul_transpose, Number(3.0), *operands)


def test_what_a_product_does_backwards_can_be_differentiated_again():
    got = story.jvp(lambda x: story.mul_transpose(x, story.Var(()), x)[0], (3.0,), (1.0,))[1]
    expect("the derivative of x * x at 3.0, where x is cotangent and factor", got, np.float32(6.0))


def test_each_element_of_a_sum_counts_as_much_as_the_sum():
    for shape, axis in (((3,), 0), ((2, 3), 0), ((2, 3), 1)):
        ct = np.ones(shape, np.float32).sum(axis)
        (got,) = story.reduce_sum_transpose(ct, story.Var(shape), axis)
        asked = f"the cotangent of x in a sum along axis {axis} of shape {shape}, which counts {ct}"
        expect(asked, got, np.repeat(np.expand_dims(ct, axis), shape[axis], axis))
    for shape, axis in (
        ((0,), 0),
        ((2, 0, 3), 1),
        ((4, 1, 5), 1),
        ((2, 3, 4, 5), 2),
        ((3, 3, 3), 2),
    ):
        ct = np.arange(np.prod(shape) // max(shape[axis], 1)).astype(np.float32)
        (got,) = in_trace(Handed(), story.reduce_sum_transpose, ct, story.Var(shape), axis)
        expect(f"what is bound for a sum along axis {axis} of shape {shape}", got,
               [[ct], {"axis": axis, "size": shape[axis]}])  # fmt: skip
    lets_errors_go_on("reduce_sum_transpose", story.reduce_sum_transpose, 1.0, story.Var((2,)), 0)


def test_what_is_used_twice_counts_twice():
    a, b = story.Var(()), story.Var(())
    cts = {b: 7.0}
    story.accumulate(cts, a, 2.0)
    expect("the cotangent of a, after 2.0", cts.get(a), 2.0)
    story.accumulate(cts, a, 3.0)
    expect("and after 3.0 more", cts.get(a), np.float32(5.0))
    expect("the cotangent of b is still", cts[b], 7.0)
    story.accumulate(cts, a, 4.0)
    story.accumulate(cts, a, 4.0)
    expect("that of a, after 4.0 and 4.0 more", cts[a], np.float32(13.0))
    expect("the variables of which something is noted", [v in (a, b) for v in cts], [True, True])
    variables, cts = [story.Var((2, 3)) for _ in range(5)], {}
    for k, v in enumerate(variables * 2):
        story.accumulate(cts, v, np.float32(k))
    expect("five variables of one shape have their own", [cts[v] for v in variables],
           [np.float32(2 * k + 5) for k in range(5)])  # fmt: skip
    for ct in (0.0, XS, Number(2.0)):
        cts = {}
        story.accumulate(cts, a, ct)
        expect(f"the first cotangent, {ct}, is noted as it is", cts[a] is ct, True)
    cts = {a: Number(0.0)}
    in_trace(Numbers(), story.accumulate, cts, a, Number(5.0))
    expect("0.0 and 5.0 in a trace of numbers", cts[a].value, 5.0)
    lets_errors_go_on("accumulate", lambda: story.accumulate({a: Number(2.0)}, a, Number(5.0)))


def test_a_cotangent_that_others_have_too_stays_as_it_is():
    a, b = story.Var((3,)), story.Var((3,))
    ones, cts = np.ones(3, np.float32), {}
    for v in (a, b, a):
        story.accumulate(cts, v, ones)
    expect("a counts [1 1 1] twice", cts[a], np.float32([2, 2, 2]))
    expect("b counts the same array once", cts[b], np.float32([1, 1, 1]))


def test_vjp_gives_the_result_and_a_pullback():
    out, pullback = story.vjp(story.f, 3.0)
    expect("vjp(f, 3.0)[0]", out, np.float32(3 * np.sin(3.0)))
    slope = 3 * np.cos(3.0) + np.sin(3.0)
    expect("its pullback of 1.0", pullback(1.0), np.float32(slope))
    expect("its pullback of 2.0", pullback(2.0), np.float32(2 * slope))
    expect("grad(f)(3.0)", story.grad(story.f)(3.0), np.float32(slope))
    out, pullback = story.vjp(story.f, XS)
    slopes = XS * np.cos(XS) + np.sin(XS)
    expect(f"vjp(f, {XS})[0]", out, XS * np.sin(XS))
    for ct in (np.float32([1, 2, 3]), 0 * XS, -XS):
        expect(f"its pullback of {ct}", pullback(ct), ct * slopes)
    second = story.jvp(story.vjp(story.f, 3.0)[1], (2.0,), (5.0,))
    expect("the pullback of 2.0, which moves with 5.0, by jvp", second,
           [np.float32(2 * slope), np.float32(5 * slope)])  # fmt: skip
    total, row = lambda x: story.reduce_sum(x * x, axis=0), np.float32([1, 2, 4])  # noqa: E731
    expect("vjp(the sum of x * x, [1, 2, 4])[1](3.0)", story.vjp(total, row)[1](3.0), 6 * row)
    out, pullback = story.vjp(lambda x: story.reduce_sum(x, axis=1), ROWS)
    expect("the sums of the rows of a matrix, by vjp", out, ROWS.sum(1))
    for ct in (np.float32([1, 10]), np.float32([0, -2])):
        expect(f"their pullback of {ct}", pullback(ct), np.stack([ct] * 3, 1))
    lets_errors_go_on("a pullback", pullback, np.float32([1, 2]))


def test_a_pullback_does_not_call_the_function_again():
    calls = []
    _, pullback = story.vjp(lambda x: calls.append(x) or story.sin(x), 3.0)
    pullback(1.0)
    pullback(2.0)
    expect("how often the function was called, for two pullbacks", len(calls), 1)


# ---- jit ----


def test_a_work_item_loads_its_own_element_or_the_only_one():
    expect("load_line('a', an array)", story.load_line("a", story.Var((3,))),
           "const float a = a_in[item];")  # fmt: skip
    expect("load_line('b', an array of one)", story.load_line("b", story.Var((1,))),
           "const float b = b_in[item];")  # fmt: skip
    expect("load_line('b', a matrix)", story.load_line("b", story.Var((2, 3))),
           "const float b = b_in[item];")  # fmt: skip
    expect("load_line('c', a number)", story.load_line("c", story.Var(())),
           "const float c = c_in[0];")  # fmt: skip
    for letter in ("x", "z", "ab", "Q"):
        for shape in ((), (0,), (2, 0), (1, 1), (2, 3, 4), *((1,) * n for n in range(3, 9))):
            item = "item" if shape else "0"
            expect(f"load_line({letter!r}, a variable of shape {shape})",
                   story.load_line(letter, story.Var(shape)),
                   f"const float {letter} = {letter}_in[{item}];")  # fmt: skip


def test_an_equation_is_a_line_of_c():
    a, b = story.Var((3,)), story.Var((3,))
    name = lambda v: {a: "a", b: "b"}.get(v, str(v))  # noqa: E731
    for primitive, invars, expected in (
        (story.sin_p, [a], "const float b = sin(a);"),
        (story.neg_p, [a], "const float b = -(a);"),
        (story.add_p, [a, 2.0], "const float b = a + 2.0;"),
        (story.mul_p, [2.0, a], "const float b = 2.0 * a;"),
    ):
        asked = f"the line of b = {primitive.name} {' '.join(map(name, invars))}"
        expect(asked, story.eqn_line(story.JaxprEqn(primitive, invars, {}, b), name), expected)
    ours = story.Primitive("ours")
    for form, invars, expected in (
        ("{} ? {} : {}", [a, 2.0, a], "const float b = a ? 2.0 : a;"),
        ("f({}, {}, {}, {})", [b, a, a, 0.5], "const float b = f(b, a, a, 0.5);"),
        ("{1} - {0}", [a, 2.0], "const float b = 2.0 - a;"),
        ("INFINITY", [], "const float b = INFINITY;"),
        ("{0} * {0}", [a], "const float b = a * a;"),
    ):
        story.c_text[ours] = form
        asked = f"where the form is {form}, the line of b = ours {' '.join(map(name, invars))}"
        expect(asked, story.eqn_line(story.JaxprEqn(ours, invars, {}, b), name), expected)
    for primitive, invars, expected in ((story.mul_p, [a, a], "const float b = a * a;"),):
        asked = "the line of b = mul a a"
        as_text = lambda v: {a: "p", b: "q"}.get(v, f"{v}f")  # noqa: E731
        line = story.eqn_line(story.JaxprEqn(primitive, [0.5, 2.0], {}, a), as_text)
        expect(
            "that of a = mul 0.5 2.0, where name gives p, q, 0.5f and 2.0f",
            line,
            "const float p = 0.5f * 2.0f;",
        )
        expect(asked, story.eqn_line(story.JaxprEqn(primitive, invars, {}, b), name), expected)


def test_a_chain_of_equations_is_one_kernel():
    jaxpr = story.make_jaxpr(story.f)(XS)
    lines = story.codegen(jaxpr, story.fuse(jaxpr)).splitlines()
    expect("the last lines of the kernel of sin(a) * a", [line.strip() for line in lines[3:6]],
           ["const float b = sin(a);", "const float c = b * a;", "out0[item] = c;"])  # fmt: skip


def test_a_program_serves_all_arguments_of_its_shapes():
    same = story.key_of((3.0, XS)) == story.key_of((4.0, 2 * XS))
    expect("key_of((3.0, xs)) == key_of((4.0, 2 * xs))", bool(same), True)
    for words, other in (
        ("a longer array", (3.0, np.zeros(4))),
        ("a matrix", (3.0, ROWS)),
        ("an array first", (XS, XS)),
        ("one argument", (3.0,)),
        ("a matrix of as many elements", (3.0, np.zeros((3, 1)))),
    ):
        same = story.key_of(other) == story.key_of((3.0, XS))
        expect(f"whether {words} has the key of (3.0, an array of 3)", bool(same), False)
    same = story.key_of((3.0, XS, 3.0)) == story.key_of((3.0, XS, XS))
    expect("key_of((3.0, xs, 3.0)) == key_of((3.0, xs, xs))", bool(same), False)
    one = [(), (0,), (1,), (2,), (2, 3), (3, 2), (1, 2), (1, 2, 3), (2, 1, 3), (2, 0), (0, 2)]
    shapes = [(), *[(shape,) for shape in one], *[(x, y) for x in one[:5] for y in one[:5]]]
    shapes += [((), (), ()), ((1,), (2,), (3,)), ((1, 2), (3,)), ((), (2,), ())]
    keys = {story.key_of([np.zeros(shape) for shape in each]): each for each in shapes}
    expect(
        "how many keys there are for arguments of so many lists of shapes", len(keys), len(shapes)
    )
    nine = {story.key_of([XS] * k + [3.0] + [XS] * (8 - k)) for k in range(9)}
    expect("how many there are for nine arguments, of which one is a number", len(nine), 9)
    words = "of an int, a float64 and a tracer of a number are one"
    kinds = [story.key_of((x,)) for x in (3, np.float64(3), story.JaxprTrace().new_arg(3.0))]
    expect(f"the keys {words}", len(set(kinds)), 1)


def test_a_function_is_traced_once_for_all_arguments_of_a_shape():
    calls = []
    fun = story.jit(lambda x: calls.append(x) or story.sin(x) * x)
    for x in (3.0, 4.0, XS, 2 * XS, 5.0):
        expect(f"jit(f)({x})", fun(x), np.float32(np.sin(x) * x))
    expect("how often the function was called: for numbers, and for arrays of 3", len(calls), 2)
