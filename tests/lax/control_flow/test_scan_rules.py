"""The rules of scan, with other parameters, ranks, dtypes and numbers of operands."""

import numpy as np
import pytest
from explain_errors import explain_errors
from judged import SMALL_FLOAT, each_error, error_passes, identity_primitive, raises

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.transform.batching import batch_rules
from tinyjax.transform.transposition import transpose_rules


def only_scan(fun, *args):
    (eqn,) = [e for e in jax.make_jaxpr(fun)(*args).eqns if e.primitive is lax.scan_p]
    return eqn


# ---- vmap ----


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2])
def test_the_loop_of_a_batch_keeps_every_parameter(reverse, unroll):
    def loop(xs):
        return lax.scan(lambda c, x: (2 * c + x, c), 1.0, xs, reverse=reverse, unroll=unroll)

    xs = jnp.arange(12.0).reshape(3, 4)
    one, many = only_scan(loop, xs[0]).params, only_scan(jax.vmap(loop), xs).params
    kept = {name: value for name, value in many.items() if name != "jaxpr"}
    assert kept == {name: one[name] for name in kept} and kept.keys() == one.keys() - {"jaxpr"}
    last, ys = jax.vmap(loop)(xs)
    for i in range(3):
        want_last, want_ys = loop(xs[i])
        np.testing.assert_array_equal(last[i], want_last)
        np.testing.assert_array_equal(ys[i], want_ys)


@pytest.mark.parametrize(
    "dims", [(0, 1, 2), (1, 0, 1), (2, 1, 0), (None, None, 3), (None, 1, None)]
)
def test_batch_dims_may_be_anywhere(dims):
    w, c, xs = np.arange(6.0).reshape(2, 3), np.arange(3.0), np.arange(30.0).reshape(5, 2, 3)
    one = [x.astype(np.float32) for x in (w, c, xs)]
    given = [x if d is None else np.stack([x, 2 * x], min(d, x.ndim)) for x, d in zip(one, dims)]
    dims = tuple(d if d is None else min(d, x.ndim) for x, d in zip(one, dims))

    def loop(w, c, xs):
        return lax.scan(lambda c, x: (c + (w * x).sum(0), (x + c, c)), c, xs)

    with explain_errors("a batch dim may be any axis of its operand"):
        last, ys = jax.vmap(loop, dims)(*given)
    for i in range(2):
        part = [x if d is None else np.take(x, i, d) for x, d in zip(given, dims)]
        want = loop(*part)
        np.testing.assert_allclose(last[i], want[0], rtol=1e-6)
        for got, y in zip(ys, want[1]):
            np.testing.assert_allclose(got[i], y, rtol=1e-6)


def many(weights, carry, xs):
    """A loop of three consts, three parts of the carry, three xs and four ys."""
    a, b, c = weights

    def step(carry, x):
        p, q, r = carry
        u, v, w = x
        return (p * a + u, q * b + v * p, r + c * w), (p * u, q * c, r * w, v * a)

    return lax.scan(step, carry, xs)


@pytest.mark.parametrize("mapped", range(9))
def test_of_three_consts_three_carries_and_three_xs_any_may_be_mapped(mapped):
    leaves = [np.float32(k + 1) for k in range(6)] + [
        np.arange(4, dtype=np.float32) + k for k in range(3)
    ]
    given = [np.stack([x, -2 * x]) if k == mapped else x for k, x in enumerate(leaves)]
    axes = [0 if k == mapped else None for k in range(9)]

    def loop(*leaves):
        return jax.tree.leaves(many(leaves[:3], leaves[3:6], leaves[6:]))

    with explain_errors(
        "any const, any part of the carry and any of xs may be the one that is mapped"
    ):
        found = jax.vmap(loop, axes)(*given)
    for i in range(2):
        want = loop(*[x[i] if k == mapped else x for k, x in enumerate(given)])
        for got, expected in zip(found, want, strict=True):
            np.testing.assert_allclose(got[i], expected, rtol=1e-6)


def test_a_loop_may_have_no_xs_no_carry_or_no_ys_and_any_dtype():
    def loop(n, x):
        (n, b), _ = lax.scan(lambda c, _: ((c[0] + 1, c[1] * x), None), (n, x), length=3)
        return n, b, lax.scan(lambda _, y: (None, y * x), None, jnp.ones((2, 1), "float16"))[1]

    n, b, ys = jax.vmap(loop)(jnp.arange(2, dtype="int8"), jnp.array([1, 2], "float16"))
    assert n.tolist() == [3, 4] and n.dtype == np.int8
    assert b.tolist() == [1, 16] and b.dtype == np.float16
    assert ys.tolist() == [[[1], [1]], [[2], [2]]]
    total = lambda xs: lax.scan(lambda c, x: (c + lax.axis_index("i") * x, None), 0.0, xs)[0]  # noqa: E731
    with explain_errors("a body may use the name of the axis"):
        assert jax.vmap(total, axis_name="i")(jnp.ones((2, 3))).tolist() == [0, 3]
    n, b, ys = jax.vmap(loop)(jnp.array([1]), jnp.array([2], "float16"))
    assert (n.tolist(), b.tolist(), ys.tolist()) == ([4], [16], [[[2], [2]]]), "of one example"
    with explain_errors("a loop may have no steps"):
        last, none = jax.vmap(lambda xs: lax.scan(lambda c, x: (c, c * x), 1.0, xs))(
            jnp.ones((2, 0))
        )
    assert last.tolist() == [1, 1] and none.shape == (2, 0)


@each_error
def test_an_error_of_a_rule_in_the_body_goes_on(error):
    p = identity_primitive()
    with error_passes(error()) as raised:
        batch_rules[p] = raises(raised)
        jax.vmap(lambda xs: lax.scan(lambda c, x: (c, p.bind(x)), 0.0, xs))(jnp.ones((2, 3)))


# ---- transposition ----


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2])
def test_the_way_back_keeps_every_parameter_and_turns_the_direction(reverse, unroll):
    def loss(w, c, xs):
        step = lambda c, x: (w * c + x, (c * x, w + x))  # noqa: E731
        c, (ys, zs) = lax.scan(step, c, xs, reverse=reverse, unroll=unroll)
        return c + (ys * jnp.arange(4.0)).sum() + (zs * zs).sum()

    def written_out(w, c, xs):
        ys, zs = [None] * 4, [None] * 4
        for i in reversed(range(4)) if reverse else range(4):
            ys[i], zs[i] = c * xs[i], w + xs[i]
            c = w * c + xs[i]
        return c + sum(y * i for i, y in enumerate(ys)) + sum(z * z for z in zs)

    args = (0.5, 2.0, jnp.array([1.0, -2.0, 3.0, 0.5]))
    eqns = jax.make_jaxpr(jax.grad(loss, (0, 1, 2)))(*args).eqns
    forward, back = [e.params for e in eqns if e.primitive is lax.scan_p]
    assert (forward["reverse"], back["reverse"]) == (reverse, not reverse)
    assert (forward["unroll"], back["unroll"]) == (unroll, unroll)
    got, want = jax.grad(loss, (0, 1, 2))(*args), jax.grad(written_out, (0, 1, 2))(*args)
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("result", range(7))
def test_of_three_carries_and_four_results_any_may_be_the_one_that_counts(result):
    """Against what jvp says, one operand at a time."""
    args = (0.5, -1.5, 2.0), (1.0, 2.0, 3.0), tuple(jnp.arange(3.0) + k for k in range(3))

    def loss(*args):
        return jnp.sum(jax.tree.leaves(many(*args))[result] ** 2)

    with explain_errors("any result may be the only one that has a cotangent"):
        got = jax.grad(loss, (0, 1, 2))(*args)
    leaves, tree = jax.tree.flatten(args)
    for k, slope in enumerate(jax.tree.leaves(got)):
        ones = [jnp.ones_like(x) if i == k else jnp.zeros_like(x) for i, x in enumerate(leaves)]
        moved = jax.jvp(loss, args, jax.tree.unflatten(tree, ones))[1]
        np.testing.assert_allclose(jnp.sum(slope), moved, rtol=1e-4, atol=1e-5)


def test_cotangents_have_the_ranks_and_dtypes_of_their_operands():
    w, xs = jnp.ones((2, 1, 3), SMALL_FLOAT), jnp.ones((4, 3), "float16")

    def loss(w, c, xs):
        step = lambda c, x: (c + w.astype("float32").sum() * x.astype("float32"), None)  # noqa: E731
        return lax.scan(step, c, xs)[0].sum()

    got = jax.grad(loss, (0, 1, 2))(w, jnp.ones(3), xs)
    assert [(x.shape, x.dtype.name) for x in got] == [
        ((2, 1, 3), SMALL_FLOAT),
        ((3,), "float32"),
        ((4, 3), "float16"),
    ]
    np.testing.assert_array_equal(got[0], jnp.full((2, 1, 3), 12, SMALL_FLOAT))
    for length in (1, 2):
        power = lambda xs: lax.scan(lambda c, x: (c * c * x, None), 2.0, xs)[0]  # noqa: E731
        found = jax.grad(power)(jnp.ones(length))
        assert found.tolist() == ([4] if length == 1 else [32, 16]), f"{length} steps"


@each_error
def test_an_error_of_a_transpose_rule_in_the_body_goes_on(error):
    p = identity_primitive()
    jax.interpreters.ad.deflinear2(p, lambda ct, x: [ct])
    with error_passes(error()) as raised:
        transpose_rules[p] = raises(raised)
        jax.grad(lambda c: lax.scan(lambda c, x: (p.bind(c) * x, None), c, jnp.ones(3))[0])(1.0)
