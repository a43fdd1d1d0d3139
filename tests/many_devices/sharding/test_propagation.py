"""How results are split: the table, and what no table entry knows."""

import numpy as np
import pytest
from cpu_devices import cpu_devices
from drawn import drawn, shown

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.many_devices.sharding.axes import Use
from tinyjax.many_devices.sharding.mesh import Mesh
from tinyjax.many_devices.sharding.named_sharding import NamedSharding
from tinyjax.many_devices.sharding.partition_spec import P
from tinyjax.many_devices.sharding.propagation import propagate, rules


@pytest.fixture
def mesh():
    return Mesh(np.array(cpu_devices(4)).reshape(2, 2), ("x", "y"))


@pytest.fixture
def x(mesh):
    return jax.device_put(jnp.arange(16.0).reshape(4, 4), NamedSharding(mesh, P("x", "y")))


def test_the_first_claim_wins():
    shapes, specs = [(4, 4), (4, 4)], [(("x",), ()), (("y",), ("x",))]
    use = Use("add", shapes, specs, [(4, 4)], {}, {"x": 2, "y": 2})
    assert propagate(use) == [(("x",), ())]


X, Y, XY, NONE = ("x",), ("y",), ("x", "y"), ()
SIZES = {"x": 4, "y": 2}


def split_as(name, shapes, specs, out_shape, sizes=SIZES, **params):
    """The spec of the one result."""
    (spec,) = propagate(Use(name, shapes, specs, [out_shape], params, sizes))
    return spec


def test_a_transpose_takes_each_axis_with_what_it_is_split_over():
    got = split_as("transpose", [(4, 2, 8)], [(X, Y, NONE)], (8, 4, 2), permutation=(2, 0, 1))
    assert got == (NONE, X, Y), "permutation[i] is an axis of the operand"


def test_of_three_axes_and_more_each_takes_what_is_its_own():
    shapes, specs = [(4, 2, 8, 3)], [(X, Y, NONE, NONE)]
    got = split_as("transpose", shapes, specs, (3, 4, 2, 8), permutation=(3, 0, 1, 2))
    assert got == (NONE, X, Y, NONE)
    assert split_as("transpose", [(8,)], [(XY,)], (8,), permutation=(0,)) == (XY,)


def test_no_mesh_axis_splits_two_axes_whether_alone_or_among_others():
    def added(first, second):
        return split_as("add", [(8, 8), (8, 8)], [first, second], (8, 8))

    assert added((XY, NONE), (NONE, X)) == (XY, NONE), "x and y are taken: x can't split once more"
    assert added((XY, NONE), (NONE, Y)) == (XY, NONE)
    assert added((X, NONE), (NONE, XY)) == (X, NONE)
    assert added((X, NONE), (NONE, Y)) == (X, Y)
    assert added((NONE, NONE), (Y, X)) == (Y, X)
    assert added((("y", "x"), NONE), (NONE, XY)) == (("y", "x"), NONE)
    three = [(X, Y, NONE), (NONE, NONE, X)]
    assert split_as("add", [(8, 8, 8)] * 2, three, (8, 8, 8)) == (X, Y, NONE), "axis 0 has x"


def product(lhs, rhs, summed=((1,), (0,)), batch=((), ()), shapes=((8, 8), (8, 8)), out=(8, 8)):
    return split_as("dot_general", [*shapes], [lhs, rhs], out, dimension_numbers=(summed, batch))


def test_a_product_has_the_rows_of_one_and_the_columns_of_the_other():
    assert product((X, NONE), (NONE, Y)) == (X, Y)
    assert product((NONE, X), (X, NONE)) == (NONE, NONE), "what is summed over is gone"
    assert product((X, Y), (Y, NONE)) == (X, NONE)
    assert product((NONE, X), (Y, NONE), summed=((0,), (1,))) == (X, Y), "rows are summed over"


def test_in_a_product_of_batches_the_batch_axes_are_first_and_those_of_both():
    shapes = ((8, 4, 8), (4, 8, 8))
    given = {"summed": ((1,), (0,)), "batch": ((2,), (1,)), "shapes": shapes, "out": (8, 8, 8)}
    assert product((NONE, NONE, X), (NONE, NONE, NONE), **given) == (X, NONE, NONE)
    assert product((NONE, NONE, NONE), (NONE, X, Y), **given) == (X, NONE, Y)
    assert product((Y, NONE, NONE), (NONE, NONE, X), **given) == (NONE, Y, X)
    given = {"summed": ((1, 2), (0, 1)), "shapes": ((8, 4, 8), (4, 8, 8)), "out": (8, 8)}
    assert product((X, NONE, NONE), (NONE, NONE, Y), **given) == (X, Y)


def test_in_a_product_the_rows_claim_before_the_columns():
    assert product((X, NONE), (NONE, X)) == (X, NONE), "x can't split both"


def test_what_types_cant_have_split_is_said_of_a_product():
    def refused(lhs, rhs):
        params = {"dimension_numbers": (((1,), (0,)), ((), ()))}
        return rules["dot_general"](
            Use("dot_general", [(8, 8)] * 2, [lhs, rhs], [(8, 8)], params, SIZES)
        ).whole

    assert list(refused((NONE, X), (X, NONE))) == [(0, 1)], "a sum over what both have split"
    assert refused((X, NONE), (NONE, Y)) == {}
    numbers = (((0, 2), (2, 0)), ((), ()))
    for lhs, rhs, both in [
        ((X, NONE, Y), (NONE, NONE, X), (0, 0)),
        ((X, NONE, Y), (X, NONE, NONE), (0, 2)),
    ]:
        use = Use(
            "dot_general",
            [(8, 8, 8)] * 2,
            [lhs, rhs],
            [(8, 8)],
            {"dimension_numbers": numbers},
            SIZES,
        )
        told = "axis 0 of lhs is summed with axis 2 of rhs, and 2 with 0"
        assert list(rules["dot_general"](use).whole) == [both], told


def test_a_claim_of_nothing_is_none():
    assert split_as("add", [(4, 4), (4, 4)], [(NONE, NONE), (X, Y)], (4, 4)) == (X, Y)


def test_an_axis_takes_the_first_claim_that_fits():
    got = split_as("mul", [(4, 4), (4, 4)], [(X, X), (X, Y)], (4, 4))
    assert got == (X, Y), "axis 0 has x; axis 1 can't have it too, and takes what the other claims"
    got = split_as("mul", [(4, 4), (4, 4)], [(NONE, XY), (X, NONE)], (4, 4))
    assert got == (X, NONE), "x and y can't split axis 1, as axis 0 has x"


def test_parts_are_equal():
    assert split_as("slice", [(8,)], [(X,)], (6,)) == (NONE,), "six are not four equal parts"
    assert split_as("slice", [(8,)], [(Y,)], (6,)) == (Y,)
    got = split_as("slice", [(16,)], [(XY,)], (4,))
    assert got == (NONE,), "four are not eight parts"
    assert split_as("slice", [(8, 8)], [(X, Y)], (0, 8)) == (X, Y), (
        "four parts of nothing are equal"
    )


def test_what_has_no_rule_is_whole_everywhere():
    use = Use("a_new_primitive", [(4,)], [(("x",),)], [(4,), (2, 2)], {}, {"x": 2})
    assert propagate(use) == [((),), ((), ())]


def test_what_cannot_be_split_evenly_is_whole(x):
    assert jax.jit(lambda x: x[:3])(x).sharding.spec == P(None, "y")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.reshape(2, 8) @ x.reshape(8, 2),
        lambda x: jnp.sort(x, 0)[::-1].cumsum(1),
        lambda x: jax.lax.scan(lambda c, r: (c @ x, c * r), x[0], x),
        lambda x: jax.grad(lambda a: (jnp.tanh(a) @ a.T).sum())(x),
        lambda x: jax.vmap(lambda r: jnp.outer(r, r).reshape(-1)[r.astype(int)])(x % 4),
    ],
)
def test_shardings_change_no_value(x, f):
    plain = jnp.asarray(np.asarray(x))
    for got, want in zip(jax.tree.leaves((f(x), jax.jit(f)(x))), jax.tree.leaves((f(plain),) * 2)):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_in_a_product_of_many_axes_each_is_in_its_order():
    shapes, out = ((2, 4, 8, 3), (3, 4, 8, 2)), (4, 8, 8)
    given = {"summed": ((0, 3), (3, 0)), "batch": ((1,), (1,)), "shapes": shapes, "out": out}
    for lhs, rhs, want in [
        ((NONE, X, Y, NONE), (NONE, NONE, NONE, NONE), (X, Y, NONE)),
        ((NONE, NONE, NONE, NONE), (NONE, X, Y, NONE), (X, NONE, Y)),
        ((NONE, NONE, Y, NONE), (NONE, X, NONE, NONE), (X, Y, NONE)),
        ((NONE, Y, X, NONE), (NONE, X, NONE, NONE), (Y, X, NONE)),
    ]:
        assert product(lhs, rhs, **given) == want, f"of {lhs} and {rhs}"


def test_a_product_may_have_three_batch_axes_and_an_axis_three_claims():
    shapes, out = ((2, 4, 8, 8), (2, 4, 8, 8)), (2, 4, 8, 8, 8)
    given = {"summed": ((), ()), "batch": ((0, 1, 2), (0, 1, 2)), "shapes": shapes, "out": out}
    got = product((NONE, NONE, X, NONE), (NONE, NONE, NONE, Y), **given)
    assert got == (NONE, NONE, X, NONE, Y)
    rows = {"summed": ((), ()), "shapes": ((8, 8, 4), (8, 8, 4)), "out": (8, 8, 4, 8, 8, 4)}
    got = product((NONE, NONE, X), (NONE, NONE, Y), **rows)
    assert got == (NONE, NONE, X, NONE, NONE, Y)
    use = Use("add", [(8,)] * 3, [(NONE,), (NONE,), (X,)], [(8,)], {}, SIZES)
    assert propagate(use) == [(X,)], "the third operand alone claims"


# ---- that are drawn ----

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)  # as sizes, they tell axes from each other


@drawn(20, most=3)
def test_in_drawn_products_each_axis_is_that_of_its_size(rng, most):
    """Axes have different sizes, each with a mesh axis of that size; paired axes share one."""
    ends = np.cumsum(rng.integers(0, most + 1, 4))
    batch, summed, rows, columns, _ = np.split(rng.permutation(PRIMES), ends)
    batch, summed, rows, columns = (part.tolist() for part in (batch, summed, rows, columns))
    lhs = rng.permutation(batch + summed + rows).astype(int).tolist()
    rhs = rng.permutation(batch + summed + columns).astype(int).tolist()
    numbers = tuple(
        tuple(tuple(operand.index(n) for n in part) for operand in (lhs, rhs))
        for part in (summed, batch)
    )
    sizes = {f"m{n}": n for n in PRIMES}
    specs = [tuple((f"m{n}",) for n in operand) for operand in (lhs, rhs)]
    out = batch + [n for n in lhs if n in rows] + [n for n in rhs if n in columns]
    with shown(lhs=lhs, rhs=rhs, dimension_numbers=numbers):
        params = {"dimension_numbers": numbers}
        use = Use("dot_general", [tuple(lhs), tuple(rhs)], specs, [tuple(out)], params, sizes)
        (found,) = rules["dot_general"](use).results
        sources = [{(0, lhs.index(n))} if n in lhs else set() for n in out]
        sources = [s | ({(1, rhs.index(n))} if n in rhs else set()) for s, n in zip(sources, out)]
        assert [set(source) for source in found] == sources, f"the axes are {sources}, not {found}"
        whole = set(rules["dot_general"](use).whole)
        want = {(0, lhs.index(n)) for n in summed}
        assert whole == want, f"what is summed over, {want}, can't be split, not {whole}"
        order = rng.permutation(len(lhs)).tolist()
        moved = tuple(lhs[axis] for axis in order)
        operand = [tuple(lhs)], specs[:1]
        got = split_as("transpose", *operand, moved, permutation=tuple(order), sizes=sizes)
        assert got == tuple((f"m{n}",) for n in moved), f"{got}, where the sizes are {moved}"


@drawn(40, most=5)
def test_drawn_claims_are_heard_in_order(rng, most):
    """Two or more operands; a split that doesn't divide the axis, or by a mesh axis in use, is ignored."""
    sizes = {name: int(rng.choice([1, 2, 2, 3])) for name in "abcdef"}
    shape = tuple(rng.choice([6, 12, 4, 36], most).tolist())

    def draw_spec():
        names, spec = rng.permutation([*sizes]).tolist(), []
        for _ in shape:
            spec.append(tuple(names.pop() for _ in range(min(len(names), rng.integers(0, 4)))))
        return tuple(spec)

    specs = [draw_spec() for _ in range(rng.integers(1, most + 1))]
    want, taken = [], set()
    for axis, size in enumerate(shape):
        names = ()
        for spec in specs:
            claim, parts = spec[axis], np.prod([sizes[name] for name in spec[axis]], dtype=int)
            if not names and claim and size % parts == 0 and not taken.intersection(claim):
                names = claim
        taken |= set(names)
        want.append(names)
    with shown(shape=shape, specs=specs, mesh=sizes):
        got = split_as("add", [shape] * len(specs), specs, shape, sizes=sizes)
        assert got == tuple(want), f"the result should be split as {tuple(want)}, not as {got}"
