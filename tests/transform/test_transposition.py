"""Transposition: rules called by hand, and linear jaxprs run backwards."""

import itertools

import numpy as np
import pytest
from judged import (
    SMALL_FLOAT,
    Failing,
    each_error,
    error_passes,
    every_error_passes,
    raises,
    unchanged,
)

import tinyjax as jax
from tinyjax.core import bind, primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn, Var
from tinyjax.core.primitives import add, mul, neg, reduce_sum, sin
from tinyjax.transform.jvp import Zero
from tinyjax.transform.transposition import (
    UndefinedPrimal,
    ValAccum,
    backward_pass,
    mul_transpose_x,
    mul_transpose_y,
    product_transpose,
    transpose_rules,
    unbroadcast,
)

X = np.arange(6, dtype=np.float32).reshape(2, 3)
row = np.array([1, 10, 100], np.float32)


def aval(*shape):
    return ShapedArray(shape, np.dtype("float32"))


def linear(*shape):
    """An operand without a value."""
    return UndefinedPrimal(aval(*shape))


# ---- rules, called by hand ----


def the_one(cts):
    """The cotangent of a rule's only operand."""
    assert isinstance(cts, list | tuple) and len(cts) == 1, "a list, with a cotangent an operand"
    return cts[0]


def assert_cotangent(got, want, where=""):
    assert np.shape(got) == np.shape(want), f"a cotangent has the shape of its operand; {where}"
    np.testing.assert_array_equal(got, want, where)


@pytest.mark.parametrize("axes, ct", [((0,), row), ((1,), row[:2]), ((0, 1), np.float32(7))])
def test_each_term_of_a_sum_gets_the_sums_cotangent(axes, ct):
    got = the_one(transpose_rules[primitives.reduce_sum_p](ct, linear(2, 3), axes=axes))
    want = np.broadcast_to(np.expand_dims(ct, axes), (2, 3))
    assert_cotangent(got, want, f"sum over axes {axes}, cotangent {ct}")


@pytest.mark.parametrize(
    "shape, dimensions, want",
    [
        ((3,), (1,), [3.0, 5.0, 7.0]),  # X has two copies of it, one a row
        ((2,), (0,), [3.0, 12.0]),  # three copies, one a column
        ((), (), 15.0),
        ((2, 3), (0, 1), X),  # no copies
    ],
)
def test_what_was_copied_gets_the_sum_over_its_copies(shape, dimensions, want):
    rule = transpose_rules[primitives.broadcast_in_dim_p]
    (got,) = rule(X, linear(*shape), shape=(2, 3), broadcast_dimensions=dimensions)
    assert_cotangent(got, want, f"{shape} at dimensions {dimensions} of (2, 3)")


def test_an_axis_of_size_1_that_was_copied_keeps_its_size():
    rule = transpose_rules[primitives.broadcast_in_dim_p]
    (got,) = rule(X, linear(1, 3), shape=(2, 3), broadcast_dimensions=(0, 1))
    assert_cotangent(got, [[3, 5, 7]])


KINDS = [np.float32, np.complex64, SMALL_FLOAT, np.float16]


def some(shape, dtype=np.float32):
    """A cotangent of small whole numbers, or of complex ones."""
    ct = (np.arange(int(np.prod(shape))).reshape(shape) % 7).astype(dtype)
    return ct * (1 + 2j) if dtype == np.complex64 else ct


def added_up(ct, shape, dimensions):
    """The sum over the copies, element by element: axis i of the operand is at dimensions[i] of ct."""
    want = np.zeros(shape, np.complex64)
    for index in np.ndindex(ct.shape):
        want[tuple(0 if n == 1 else index[d] for d, n in zip(dimensions, shape))] += ct[index]
    return want.astype(ct.dtype) if ct.dtype == np.complex64 else want.real.astype(ct.dtype)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("axes", [(), (0,), (1, 3), (2,), (0, 1, 2, 3), (3, 0), (1, 2, 3)])
def test_the_terms_of_a_sum_may_have_any_axes_and_dtype(axes, dtype):
    x = UndefinedPrimal(ShapedArray((2, 3, 1, 2), np.dtype(dtype)))
    kept = [n for axis, n in enumerate(x.aval.shape) if axis not in axes]
    ct = some(kept, dtype)
    (got,) = transpose_rules[primitives.reduce_sum_p](ct, x, axes=axes)
    assert_cotangent(got, np.broadcast_to(np.expand_dims(ct, axes), x.aval.shape), f"{axes}")
    assert got.dtype == dtype


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(
    "shape, dimensions, out_shape",
    [
        ((1,), (0,), (0,)),  # no copy at all: the sum is 0, and of shape (1,)
        ((1, 3), (0, 2), (0, 2, 3)),
        ((1, 1, 3), (0, 1, 2), (2, 4, 3)),
        ((2, 1), (0, 2), (2, 5, 3)),
        ((1,), (1,), (2, 1)),
        ((0,), (1,), (2, 0)),
        ((2, 3, 2, 1), (0, 1, 2, 4), (2, 3, 2, 4, 5)),
        ((1, 1), (0, 1), (1, 1)),
    ],
)
def test_what_was_copied_may_have_any_axes_and_dtype(shape, dimensions, out_shape, dtype):
    rule, x = (
        transpose_rules[primitives.broadcast_in_dim_p],
        UndefinedPrimal(ShapedArray(shape, np.dtype(dtype))),
    )
    ct = some(out_shape, dtype)
    (got,) = rule(ct, x, shape=out_shape, broadcast_dimensions=dimensions)
    assert_cotangent(
        got, added_up(ct, shape, dimensions), f"{shape} at {dimensions} of {out_shape}"
    )
    assert got.dtype == dtype


def bound(fun, *args):
    """Which primitives it binds: only what they compute can be traced, and differentiated once more."""
    return [eqn.primitive.name for eqn in jax.make_jaxpr(fun)(*args).eqns]


def test_sums_and_copies_are_primitives_and_their_errors_go_on():
    copies = lambda ct: transpose_rules[primitives.reduce_sum_p](ct, linear(2, 3), axes=(0,))  # noqa: E731
    rule = transpose_rules[primitives.broadcast_in_dim_p]
    a_sum = lambda ct: rule(ct, linear(1, 3), shape=(2, 3), broadcast_dimensions=(0, 1))  # noqa: E731
    every_error_passes(lambda: copies(row), lambda: a_sum(X))
    assert bound(copies, row) and bound(a_sum, X)
    cube = np.arange(32, dtype=np.float32).reshape(2, 2, 2, 2, 2)
    for axes in ((0, 1, 2, 3), (0, 1, 2, 3, 4), (1, 2, 3, 4)):
        kept = [axis for axis in range(5) if axis not in axes]
        shape = (2,) * len(kept)
        (got,) = rule(cube, linear(*shape), shape=cube.shape, broadcast_dimensions=kept)
        assert_cotangent(got, cube.sum(axes), f"summed over {axes}")
    (got,) = rule(
        cube, linear(1, 1, 1, 2, 1), shape=cube.shape, broadcast_dimensions=(0, 1, 2, 3, 4)
    )
    assert_cotangent(got, cube.sum((0, 1, 2, 4), keepdims=True), "of four axes of size 1")
    empty = transpose_rules[primitives.reduce_sum_p](
        np.ones(2, np.float32), linear(2, 0), axes=(1,)
    )
    assert isinstance(empty, list), "a list, though there is one cotangent"
    assert_cotangent(empty[0], np.ones((2, 0)), "of an operand without elements")
    (got,) = transpose_rules[primitives.reduce_sum_p](row, linear(2, 3), axes=(np.int64(0),))
    assert_cotangent(got, np.broadcast_to(row, (2, 3)), "of an axis that is a number of NumPy")


@pytest.mark.parametrize(
    "shape, want", [((2, 3), X), ((1, 3), [[3, 5, 7]]), ((2, 1), [[3], [12]]), ((), 15)]
)
def test_a_stretched_operand_gets_the_sum_over_what_it_was_stretched_to(shape, want):
    assert_cotangent(unbroadcast(aval(*shape), X), want, f"operand of shape {shape}")


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(
    "shape, stretched",
    [
        ((2, 1, 1), (2, 4, 3)),
        ((1, 3, 1), (2, 3, 4)),
        ((1, 1, 1, 2), (3, 2, 2, 2)),
        ((1, 1), (0, 3)),
        ((), (0,)),
        ((), (2, 1, 3)),
        ((), ()),
        ((0, 1), (0, 3)),
        ((1, 1), (1, 1)),
    ],
)
def test_an_operand_may_be_stretched_along_several_axes_and_have_any_dtype(shape, stretched, dtype):
    ct = some(stretched, dtype)
    got = unbroadcast(ShapedArray(shape, np.dtype(dtype)), ct)
    assert_cotangent(got, added_up(ct, shape, range(len(shape))), f"{shape} as {stretched}")
    assert got.dtype == dtype


def test_what_was_stretched_is_added_up_by_primitives_and_their_errors_go_on():
    every_error_passes(
        lambda: unbroadcast(aval(1, 3), X),
        lambda: unbroadcast(aval(), X),
        lambda: transpose_rules[primitives.add_p](X, linear(), 2.0),
        lambda: transpose_rules[primitives.add_p](X, linear(2, 3), linear(2, 1)),
    )
    for shape in [(1, 3), ()]:
        assert bound(lambda ct, shape=shape: unbroadcast(aval(*shape), ct), X)


def test_a_sum_hands_its_cotangent_to_both_operands():
    x, y = transpose_rules[primitives.add_p](X, linear(2, 3), linear(1, 3))
    assert_cotangent(x, X)
    assert_cotangent(y, [[3, 5, 7]])
    same = linear(2, 3)
    twice = transpose_rules[primitives.add_p](X, same, same)
    assert isinstance(twice, list), "a list of two"
    for got in twice:
        assert_cotangent(got, X, "also where both are one operand")
    for got in transpose_rules[primitives.add_p](
        np.ones((2, 1, 2, 1, 2), np.float32), linear(), linear()
    ):
        assert_cotangent(got, 8.0, "of a scalar that was stretched to rank 5")
    six = np.ones((2,) * 6, np.float32)
    assert_cotangent(unbroadcast(aval(*(1,) * 6), six), np.full((1,) * 6, 64), "along six axes")


def test_a_known_operand_of_a_sum_gets_no_cotangent():
    x, y = transpose_rules[primitives.add_p](X, 2.0, linear(2, 3))
    assert x is None, "an operand that has a value is not linear: None"
    assert_cotangent(y, X)


def test_a_factor_gets_the_cotangent_times_the_other_factor():
    x, y = transpose_rules[primitives.mul_p](X, linear(2, 3), X + 1)
    assert_cotangent(x, X * (X + 1))
    assert y is None, "an operand that has a value is not linear: None"
    x, y = transpose_rules[primitives.mul_p](X, 2.0, linear(2, 3))
    assert_cotangent(y, X * 2)
    assert x is None


def test_a_stretched_factor_gets_a_cotangent_of_its_own_shape():
    x, _ = transpose_rules[primitives.mul_p](X, linear(1, 3), X)
    assert_cotangent(x, [(X * X).sum(0)])
    _, y = transpose_rules[primitives.mul_p](X, X, linear())
    assert_cotangent(y, (X * X).sum())


@pytest.mark.parametrize("dtype", KINDS)
def test_a_factor_is_not_conjugated_and_may_have_any_dtype(dtype):
    ct, factor = some((2, 3), dtype), some((2, 3), dtype) + 1
    for shape in [(2, 3), (1, 3), (2, 1), (1, 1), ()]:
        x = UndefinedPrimal(ShapedArray(shape, np.dtype(dtype)))
        want = added_up(ct * factor, shape, range(len(shape)))
        for got in (mul_transpose_x(ct, x, factor), mul_transpose_y(ct, factor, x)):
            assert_cotangent(got, want, f"of a factor of shape {shape}")
            assert got.dtype == dtype
    for number in (1.0, 0.0, np.float32(1)):
        for got in (
            mul_transpose_x(X, linear(1, 3), number),
            mul_transpose_y(X, number, linear(1, 3)),
        ):
            assert_cotangent(got, number * X.sum(0, keepdims=True), f"times {number!r}")


@each_error
def test_an_error_of_a_rule_of_a_product_goes_on(error):
    for x, y in [(linear(), 2.0), (2.0, linear())]:
        with error_passes(error()) as raised:
            product_transpose(primitives.mul_p, raises(raised), raises(raised), 1.0, x, y)
    ct = bind.as_array(X)  # an Array, whose operators bind primitives too
    every_error_passes(
        lambda: mul_transpose_x(ct, linear(2, 3), X), lambda: mul_transpose_y(ct, X, linear(1, 3))
    )


def test_a_product_of_two_linear_operands_is_not_linear():
    with pytest.raises(NotImplementedError, match="not linear: 'mul'"):
        transpose_rules[primitives.mul_p](X, linear(2, 3), linear(2, 3))
    with pytest.raises(NotImplementedError, match="not linear: 'other'"):
        product_transpose(bind.Primitive("other"), None, None, X, linear(), linear())


def test_the_rules_of_a_product_are_given_its_parameters():
    for x, y, want in [(linear(), 2.0, (20.0, None)), (2.0, linear(), (None, 30.0))]:
        rules = lambda ct, x, y, *, by: 2 * by * ct, lambda ct, x, y, *, by: 3 * by * ct  # noqa: E731
        assert product_transpose(primitives.mul_p, *rules, 1.0, x, y, by=10) == want
    got = []
    rule = lambda ct, x, y, **params: got.append(params)  # noqa: E731
    product_transpose(primitives.mul_p, rule, rule, 1.0, linear(), 2.0, by=None, n=0)
    product_transpose(primitives.mul_p, rule, rule, 1.0, 2.0, linear(), by=None, n=0)
    assert got == [{"by": None, "n": 0}] * 2, "parameters may be None or 0"


# ---- the backward pass ----


def linear_of(aval, so_far=None):
    """An accumulator, of what other equations have given so far."""
    accum = ValAccum(aval)
    accum.accum(so_far)
    return accum


def run_backwards(jaxpr, consts, args, cotangents):
    """What the accumulators among the arguments have after the backward pass; None for other arguments."""
    backward_pass(jaxpr, consts, args, cotangents)
    return [x.freeze() if isinstance(x, ValAccum) else None for x in args]


def test_an_accumulator_adds_up_what_it_is_given():
    accum = ValAccum(aval(3))
    assert type(accum.freeze()) is Zero and accum.freeze().aval is aval(3)
    accum.accum(None), accum.accum(Zero(aval(3)))
    assert type(accum.freeze()) is Zero, "None, or a Zero, is nothing to add"
    for ct in (row, None, row, Zero(aval(3))):
        accum.accum(ct)
    np.testing.assert_array_equal(accum.freeze(), 2 * row)


def test_what_is_added_up_stays_as_it_was_and_errors_of_the_addition_go_on():
    first, second = some((3,)), some((3,)) + 5
    accum = linear_of(aval(3), first)
    with unchanged(first=first, second=second):
        for _ in range(2):
            accum.accum(second)
        np.testing.assert_array_equal(accum.freeze(), first + 2 * second)
    every_error_passes(lambda: accum.accum(second))


def pulled_back(fun, cotangents, *avals):
    """The cotangents of the arguments of a linear function of these avals."""
    closed = jax.make_jaxpr(fun)(*[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals])
    return run_backwards(closed.jaxpr, closed.consts, [linear_of(a) for a in avals], cotangents)


def test_equations_are_transposed_from_the_last_to_the_first():
    (ct,) = pulled_back(lambda x: mul(neg(x), 5.0), [1.0], aval())
    assert float(ct) == -5.0


def test_a_value_that_is_used_twice_gets_the_sum_of_the_cotangents():
    def fun(x):
        y = neg(x)
        return add(mul(y, 5.0), mul(y, 7.0))

    (ct,) = pulled_back(fun, [1.0], aval())
    assert float(ct) == -12.0, (
        "y is used twice, and counts 5 and 7: together 12, and x the negative"
    )
    (ct,) = pulled_back(lambda x: add(x, x), [5.0], aval())
    assert float(ct) == 10.0, "x + x moves twice as far as x"
    y, x = Var(aval()), Var(aval())
    jaxpr = Jaxpr([], [x], [y, y, x], [JaxprEqn(primitives.neg_p, [x], [y], {})])
    (ct,) = run_backwards(jaxpr, [], [linear_of(aval())], [1.0, 10.0, 100.0])
    assert float(ct) == 89.0, "y is a result twice: it counts 1 and 10"


def test_of_three_arguments_results_and_uses_each_counts():
    def fun(x, y, z):
        w = neg(z)
        u = add(add(mul(w, 2.0), mul(w, 3.0)), mul(5.0, w))
        return add(x, u), mul(y, 7.0), add(u, w)

    avals, cotangents = [aval()] * 3, [1.0, 10.0, 100.0]
    with unchanged(cotangents=cotangents):
        cts = pulled_back(fun, cotangents, *avals)
    assert [float(ct) for ct in cts] == [1.0, 70.0, -(10.0 * 101 + 100)]
    ran, silent_p = [], bind.Primitive("silent", multiple_results=True)
    silent_p.def_impl(lambda x: ran.append(x) or [])
    x, y = Var(aval()), Var(aval())
    eqns = [JaxprEqn(silent_p, [y], [], {})]
    run_backwards(Jaxpr([], [x, y], [x], eqns), [], [linear_of(aval()), 5.0], [1.0])
    assert ran == [5.0], "a known equation is run, also without results"


def test_a_result_that_is_used_further_on_gets_both_cotangents():
    def fun(x):
        y = neg(x)
        return y, mul(y, 5.0)

    (ct,) = pulled_back(fun, [1.0, 10.0], aval())
    assert float(ct) == -51.0, "y counts 1 as a result, and 10 * 5 as a factor"


def test_a_known_argument_is_a_factor_and_has_no_cotangent():
    closed = jax.make_jaxpr(lambda a, x: mul(sin(a), x))(1.0, 1.0)
    _, ct = run_backwards(closed.jaxpr, [], [2.0, linear_of(aval())], [1.0])
    np.testing.assert_allclose(ct, np.sin(2.0), rtol=1e-6)

    both = jax.make_jaxpr(lambda a, x: (a, mul(a, x)))(1.0, 1.0)  # and here it is a result, too
    _, ct = run_backwards(both.jaxpr, [], [2.0, linear_of(aval())], [1.0, 5.0])
    assert float(ct) == 10.0, "an argument that has a value is not differentiated, result or not"


def test_known_equations_run_with_consts_parameters_and_several_results():
    pair_p = bind.Primitive("pair", multiple_results=True)
    pair_p.def_impl(lambda x: [x + 1, x + 2])
    pair_p.def_abstract_eval(lambda aval: [aval, aval])
    const = jax.numpy.arange(3.0)

    def fun(x):
        return mul(x, pair_p.bind(reduce_sum(const, (0,)))[1])

    (ct,) = pulled_back(fun, [1.0], aval())
    assert float(ct) == 5.0


def test_a_rule_is_given_the_parameters():
    (ct,) = pulled_back(lambda x: reduce_sum(x, (1,)), [row[:2]], aval(2, 3))
    np.testing.assert_array_equal(ct, [[1, 1, 1], [10, 10, 10]])


def test_a_rule_of_several_results_gets_all_cotangents_and_may_add_up_itself(monkeypatch):
    pair_p, seen = bind.Primitive("pair", multiple_results=True), []
    rule = lambda cts, x, y, k: seen.append(cts) or [mul(cts[0], 3.0), y.accum(5.0), 7.0]  # noqa: E731
    monkeypatch.setitem(transpose_rules, pair_p, rule)
    x, y, k, out, unused = (Var(aval()) for _ in range(5))
    jaxpr = Jaxpr([], [x, y, k], [out], [JaxprEqn(pair_p, [x, y, k], [out, unused], {})])
    args = [
        linear_of(aval()),
        linear_of(aval()),
        2.0,
    ]  # a value gets no cotangent, whatever a rule says
    got = run_backwards(jaxpr, [], args, [1.0])
    assert isinstance(seen[0], list) and [type(ct) for ct in seen[0]] == [float, Zero]
    assert float(got[0]) == 3.0
    assert got[1] == 5.0, "the rule has added to this accumulator itself, and gives None"


@each_error
def test_an_error_of_a_transpose_rule_or_of_a_known_equation_goes_on(monkeypatch, error):
    closed = jax.make_jaxpr(lambda a, x: mul(neg(x), sin(a)))(1.0, 1.0)
    for p in (primitives.neg_p, primitives.mul_p):
        with monkeypatch.context() as m, error_passes(error(f"of {p}'s rule")) as raised:
            m.setitem(transpose_rules, p, raises(raised))
            backward_pass(closed.jaxpr, [], [2.0, linear_of(aval())], [1.0])
    with error_passes(error("of sin")) as raised, bind.set_current_trace(Failing(raised)):
        backward_pass(closed.jaxpr, [], [2.0, linear_of(aval())], [1.0])


@pytest.mark.parametrize("used", list(itertools.product([False, True], repeat=3)))
def test_of_three_operands_and_results_each_has_its_cotangent(monkeypatch, used):
    three_p, params = bind.Primitive("three", multiple_results=True), {"by": [2.0]}
    rule = lambda cts, *xs, by: [  # noqa: E731
        None if type(ct) is Zero else mul(ct, by[0]) for ct in cts
    ]
    monkeypatch.setitem(transpose_rules, three_p, rule)
    xs, ys = ([Var(aval()) for _ in range(3)] for _ in range(2))
    jaxpr = Jaxpr([], xs, ys, [JaxprEqn(three_p, xs, ys, params)])
    cts = [ct if flag else Zero(aval()) for ct, flag in zip((1.0, 10.0, 100.0), used)]
    with unchanged(jaxpr=jaxpr, params=params, cts=cts):
        got = run_backwards(jaxpr, [], [linear_of(aval()) for _ in xs], cts)
    found = [0.0 if type(ct) is Zero else float(ct) for ct in got]
    assert found == [2 * ct if flag else 0.0 for ct, flag in zip((1.0, 10.0, 100.0), used)]
    many_p, got = bind.Primitive("many"), []
    rule = lambda ct, *xs, **params: got.append(params) or [ct * k for k in range(len(xs))]  # noqa: E731
    monkeypatch.setitem(transpose_rules, many_p, rule)
    xs, out = [Var(aval()) for _ in range(8)], Var(aval())
    jaxpr = Jaxpr([], xs, [out], [JaxprEqn(many_p, xs, [out], {"by": None, "n": 0})])
    found = run_backwards(jaxpr, [], [linear_of(aval()) for _ in xs], [1.0])
    assert [float(ct) for ct in found] == [*range(8)], "each of eight operands has its cotangent"
    assert got == [{"by": None, "n": 0}], "parameters may be None or 0"


def test_while_an_equation_is_transposed_its_line_is_the_users_line(monkeypatch):
    note_p, lines = bind.Primitive("note"), []
    x, out = Var(aval()), Var(aval())
    jaxpr = Jaxpr([], [x], [out], [JaxprEqn(note_p, [x], [out], {}, ("program.py", 7, "f"))])

    def rule(ct, x):
        lines.append(bind.context.source_info)
        return [ct] if len(lines) == 1 else 1 / 0

    monkeypatch.setitem(transpose_rules, note_p, rule)
    backward_pass(jaxpr, [], [linear_of(aval())], [1.0])
    with pytest.raises(ZeroDivisionError):
        backward_pass(jaxpr, [], [linear_of(aval())], [1.0])
    left, bind.context.source_info = bind.context.source_info, None
    assert lines == [("program.py", 7, "f")] * 2
    lines, noting = [], lambda ct, x: lines.append(bind.context.source_info) or [ct]
    monkeypatch.setitem(transpose_rules, note_p, noting)
    middle = Var(aval())
    eqns = [
        JaxprEqn(note_p, [x], [middle], {}, ("program.py", 1, "f")),
        JaxprEqn(note_p, [middle], [out], {}, ("program.py", 2, "f")),
    ]
    backward_pass(Jaxpr([], [x], [out], eqns), [], [linear_of(aval())], [1.0])
    assert [line for _, line, _ in lines] == [2, 1], "each equation has its own line"
    assert left is None, "afterwards the line is what it was before, also after an error"


def test_an_equation_without_a_transpose_rule_is_named():
    x, out = Var(aval()), Var(aval())
    jaxpr = Jaxpr([], [x], [out], [JaxprEqn(bind.Primitive("new"), [x], [out], {})])
    with pytest.raises(NotImplementedError, match="for 'new' not implemented"):
        backward_pass(jaxpr, [], [linear_of(aval())], [1.0])


def test_the_arguments_accumulators_are_added_to():
    jaxpr = jax.make_jaxpr(lambda x, y, unused: (neg(x), neg(y)))(1.0, 1.0, 1.0).jaxpr
    args = [linear_of(aval(), bind.as_array(10.0)), linear_of(aval()), linear_of(aval())]
    x, y, unused = run_backwards(jaxpr, [], args, [1.0, 1.0])
    assert float(x) == 9.0, "it had 10 already, as a loop has what the iterations before gave"
    assert float(y) == -1.0 and type(unused) is Zero


def test_an_equation_whose_result_has_no_cotangent_is_not_transposed():
    untransposable_p = bind.Primitive("untransposable")
    a, b, c = Var(aval()), Var(aval()), Var(aval())
    eqns = [
        JaxprEqn(primitives.neg_p, [a], [b], {}),
        JaxprEqn(untransposable_p, [a], [c], {}),
    ]
    jaxpr = Jaxpr([], [a], [b, c], eqns)
    (ct,) = run_backwards(jaxpr, [], [linear_of(aval())], [1.0, Zero(aval())])
    assert float(ct) == -1.0
