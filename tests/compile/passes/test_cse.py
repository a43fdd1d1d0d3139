"""What is computed once."""

import numpy as np
from judged import unchanged

import tinyjax as jax
import tinyjax.core.primitives as primitives
from tinyjax import debug, numpy
from tinyjax.compile.passes.cse import cse
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.core import Primitive
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.core.tracing import make_jaxpr


class Table:
    """A parameter with a text that does not say all of it."""

    def __init__(self, rows):
        self.rows = rows

    def __repr__(self):
        return repr(self.rows)


def primitive_names(f, *args):
    return [eqn.primitive.name for eqn in simplify(make_jaxpr(f)(*args)).eqns]


def test_the_same_computation_is_done_once():
    assert primitive_names(lambda x: primitives.mul(primitives.sin(x), primitives.sin(x)), 1.0) == [
        "sin",
        "mul",
    ]


def test_literals_of_different_sign_or_type_are_told_apart():
    def f(x):
        return primitives.mul(primitives.mul(x, 0.0), primitives.mul(x, -0.0))

    assert primitive_names(f, 1.0) == ["mul", "mul", "mul"]


def test_what_reads_a_dropped_equation_reads_the_first_and_may_be_dropped_too():
    def f(x):
        return primitives.add(primitives.sin(primitives.cos(x)), primitives.sin(primitives.cos(x)))

    found = cse(make_jaxpr(f)(1.0))
    assert [eqn.primitive.name for eqn in found.eqns] == ["cos", "sin", "add"]


def test_where_nothing_is_computed_twice_the_jaxpr_itself_is_given():
    closed = make_jaxpr(lambda x: primitives.sin(primitives.cos(x)))(1.0)
    assert cse(closed) is closed


def test_consts_stay():
    array = numpy.arange(3.0)
    f = lambda x: primitives.mul(primitives.mul(x, array), primitives.mul(x, array))  # noqa: E731
    closed = make_jaxpr(f)(1.0)
    assert list(cse(closed).consts) == list(closed.consts) != []


def test_equations_with_effects_are_all_kept():
    def f(x):
        debug.print("{}", x)
        debug.print("{}", x)
        return x

    assert primitive_names(f, 1.0) == ["debug_print"] * 2
    shout = jax.jit(lambda x: debug.print("{}", x) or primitives.sin(x))
    found = cse(make_jaxpr(lambda x: primitives.add(shout(x), shout(x)))(1.0))
    names = [eqn.primitive.name for eqn in found.eqns]
    assert names == ["jit", "jit", "add"], "also where what prints is in a jaxpr within"


def test_a_result_that_was_computed_before_is_given():
    closed = simplify(make_jaxpr(lambda x: (primitives.sin(x), primitives.sin(x)))(1.0))
    assert [eqn.primitive.name for eqn in closed.eqns] == ["sin"]
    assert closed.jaxpr.outvars == closed.eqns[0].outvars * 2


def test_equations_with_other_parameters_compute_something_else():
    def f(x):
        rows, columns = primitives.reduce_sum(x, (0,)), primitives.reduce_sum(x, (1,))
        return rows - columns

    square = np.arange(4, dtype=np.float32).reshape(2, 2)
    assert primitive_names(f, square) == ["reduce_sum", "reduce_sum", "sub"]
    found = cse(make_jaxpr(f)(square))
    np.testing.assert_array_equal(eval_jaxpr(found.jaxpr, found.consts, square)[0], [1, -1])
    casts = lambda x: (x.astype("int8"), x.astype("int16"), x.astype("int8"))  # noqa: E731
    assert primitive_names(casts, 1.5) == ["convert_element_type"] * 2
    turned = lambda x: (x.transpose(0, 2, 1), x.transpose(2, 1, 0))  # noqa: E731
    assert primitive_names(turned, np.ones((2, 2, 2))) == ["transpose"] * 2


def test_operands_in_another_order_and_other_constants_are_something_else():
    a, b = numpy.arange(3.0), numpy.arange(3.0) + 1

    def f(x, y):
        return x - y, y - x, x - a, x - b, x - a, x - y

    closed = make_jaxpr(f)(numpy.ones(3), numpy.ones(3))
    found = cse(closed)
    assert len(found.eqns) == 4
    outs = found.jaxpr.outvars
    assert outs[5] is outs[0] and outs[4] is outs[2] and len(set(outs)) == 4

    def many(x):
        return [x * k for k in (-1, -2, -1.0, -2.0, 3.0, 4.0, 5.0, -1, 6.0, -2.0)]

    outs = cse(make_jaxpr(many)(numpy.ones(3, "int32"))).jaxpr.outvars
    assert outs[7] is outs[0] and outs[9] is outs[3], "also when much stands in between"
    assert len(set(outs)) == 8, "-1 and -2 are different, though their hashes are not"
    large = Primitive("large")
    large.def_abstract_eval(lambda x, **_: x)
    tables = [np.arange(5000), np.arange(5000)]
    tables[1][2500] = 7
    kept = [Table(table) for table in tables]
    closed = make_jaxpr(lambda x: [large.bind(x, table=t) for t in (*kept, kept[0])])(1.0)
    assert len(cse(closed).eqns) == 2, "parameters of the same text may be different"
    closed = make_jaxpr(lambda x: [large.bind(x, axis=k) for k in (-1, -2, -1)])(1.0)
    assert len(cse(closed).eqns) == 2, "so may parameters with the same hash"
    twice = cse(make_jaxpr(lambda: (numpy.arange(3), numpy.arange(3)))())
    assert twice.jaxpr.outvars[0] is twice.jaxpr.outvars[1], "also what has no operands"


def test_of_several_results_each_has_its_own_place_and_what_is_given_stays():
    both = jax.jit(lambda x: (primitives.sin(x), primitives.cos(x)))
    closed = make_jaxpr(lambda x: (*both(x), *both(x), *both(x)))(1.0)
    with unchanged(eqns=closed.eqns, outvars=closed.jaxpr.outvars):
        found = cse(closed)
    first, second = found.eqns[0].outvars
    assert len(found.eqns) == 1 and found.jaxpr.outvars == [first, second] * 3


class Row:
    """A parameter that counts how often it is compared with another one."""

    compared = 0

    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return hash(self.number)

    def __eq__(self, other):
        Row.compared += 1
        return self.number == other.number


def test_an_equation_is_not_compared_with_each_one_before():
    of_row = Primitive("of_row")
    of_row.def_abstract_eval(lambda x, **_: x)
    rows = [Row(number) for number in [*range(200), *range(200)]]
    closed = make_jaxpr(lambda x: [of_row.bind(x, row=row) for row in rows])(1.0)
    before = Row.compared
    found = cse(closed)
    compared = Row.compared - before
    assert len(found.eqns) == 200
    assert compared < 4000, f"400 equations were compared {compared} times: their keys have hashes"
