"""Sums over devices, and what grad makes of them: types tell which devices have equal values."""

import numpy as np
import pytest
from cpu_devices import cpu_devices
from drawn import drawn, floats, same, shape_of_rank, shown

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.sharding import Mesh
from tinyjax.sharding import PartitionSpec as P

A = np.linspace(0, 2, 8, dtype=np.float32).reshape(4, 2)


@pytest.fixture(scope="module")
def mesh():
    return Mesh(np.array(cpu_devices(4), object).reshape(2, 2), ("x", "y"))


def of_parts(mesh, f, *in_specs, out=None):
    return jax.shard_map(
        f, mesh=mesh, in_specs=in_specs, out_specs=P("x", "y") if out is None else out
    )


def test_a_loss_of_all_devices_is_one_number_and_each_has_its_gradient_once(mesh):
    grad = jax.grad(lambda a: lax.psum(jnp.sum(jnp.sin(a)), ("x", "y")))
    got = of_parts(mesh, grad, P("x", "y"))(A)
    np.testing.assert_allclose(got, np.cos(A), rtol=1e-6, err_msg="counted once, not once a device")


def test_the_gradient_of_what_all_devices_share_is_the_sum_of_theirs(mesh):
    grad = jax.grad(lambda w, a: jnp.sum(w * a))
    got = of_parts(mesh, grad, P(), P("x", "y"), out=P())(np.float32(1), A)
    np.testing.assert_allclose(got, A.sum(), rtol=1e-6)


def test_a_cotangent_is_summed_over_the_axes_along_which_the_value_was_one(mesh):
    grad = jax.grad(lambda w, a: jnp.sum(w * a))
    got = of_parts(mesh, grad, P("x"), P("x", "y"), out=P("x"))(np.ones((4, 1), np.float32), A)
    np.testing.assert_allclose(
        got, A.sum(1, keepdims=True), rtol=1e-6, err_msg="over y, not over x"
    )


def test_a_psum_over_one_axis_of_two(mesh):
    """The sum over y of the squares of sums over x."""

    def loss(a):
        return lax.psum(jnp.sum(lax.psum(jnp.sin(a), "x") ** 2), "y")

    got = of_parts(mesh, jax.grad(loss), P("x", "y"))(A)
    sums = np.sin(A[:2]) + np.sin(A[2:])
    want = 2 * np.concatenate([sums, sums]) * np.cos(A)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_cotangents_have_the_types_of_what_they_belong_to(mesh):
    """The cotangent of what varies does, and that of what is equal is equal."""
    seen = {}

    def look(a, w, c):
        total, back = jax.vjp(lambda a: lax.psum(a, "x"), a)
        seen["a"] = jax.typeof(back(total)[0]).vma
        spread, back = jax.vjp(lambda w: lax.pcast(w, "x", to="varying"), w)
        seen["w"] = jax.typeof(back(spread)[0]).vma
        one, back = jax.vjp(lambda c: lax.psum(c, "x"), c)
        seen["c"] = jax.typeof(back(one)[0]).vma
        both, back = jax.vjp(lambda a: lax.psum(a, ("x", "y")), a)
        seen["both"] = jax.typeof(back(both)[0]).vma
        return total

    of_parts(mesh, look, P("x", "y"), P(None, "y"), P("x"), out=P(None, "y"))(A, A[:2], A)
    assert seen == {"a": {"x", "y"}, "w": {"y"}, "c": {"x"}, "both": {"x", "y"}}


# ---- without types, under vmap ----


def psums(fun, *args, **env):
    """The parameters of the psums of a gradient."""
    jaxpr = jax.make_jaxpr(jax.grad(fun), axis_env=list(env.items()))(*args)
    return [eqn.params for eqn in jaxpr.eqns if eqn.primitive.name == "psum"]


def test_a_sum_over_positions_is_spread_out():
    w = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    got = jax.grad(lambda a: jnp.sum(lax.psum(a, 1) * w))(A)
    np.testing.assert_allclose(got, np.stack([w, w], 1))
    both = jax.grad(lambda a: lax.psum(a, (0, 1)) * 3.0)(A)
    np.testing.assert_array_equal(both, np.full_like(A, 3), "over two positions")


def test_a_sum_over_a_name_and_a_position_is_spread_out_and_summed():
    grad = jax.grad(lambda a: lax.psum(jnp.sin(a), ("i", 0)))
    got = jax.vmap(grad, axis_name="i")(A)
    np.testing.assert_allclose(got, 4 * np.cos(A), rtol=1e-6, err_msg="each of four got the sum")
    name = ("a name", "of two")
    got = jax.vmap(jax.grad(lambda a: lax.psum(jnp.sin(a), (name, 0))), axis_name=name)(A)
    np.testing.assert_allclose(got, 4 * np.cos(A), rtol=1e-6, err_msg="a name may be no text")
    named = [params["axes"] for params in psums(lambda a: lax.psum(a, ("i", 0)), A[0], i=4)]
    assert named == [("i", 0), ("i",)], "the cotangent is summed over the names alone"
    grad = jax.grad(lambda a: lax.psum(jnp.sin(a), (0, "i", 1)))
    got = jax.vmap(grad, axis_name="i")(A[:, None])
    np.testing.assert_allclose(got, 4 * np.cos(A[:, None]), rtol=1e-6, err_msg="in any order")
    grad = jax.grad(lambda a: lax.psum(jnp.sin(a), ("i", "j")))
    got = jax.vmap(jax.vmap(grad, axis_name="j"), axis_name="i")(A)
    np.testing.assert_allclose(got, 8 * np.cos(A), rtol=1e-6, err_msg="over two names")


def test_a_cotangent_is_summed_in_the_same_groups():
    groups = [[0, 3], [1, 2]]
    found = psums(lambda a: lax.psum(a, "i", axis_index_groups=groups), np.float32(1), i=4)
    assert [params["axis_index_groups"] for params in found] == [((0, 3), (1, 2))] * 2


@drawn(24, most=4)
def test_drawn_sums_over_names_and_positions_have_the_cotangents_that_numpy_adds_up(rng, most):
    """Each example has its own weights for its result."""
    names, sizes = [*"ijkl"][:most], rng.integers(1, 4, most).tolist()
    own, share = shape_of_rank(rng, int(rng.integers(most // 2, most + 2)), 2), rng.random() + 0.3
    axes = [axis for axis in (*names, *range(len(own))) if rng.random() < share] or names[:1]
    axes = tuple(axes[i] for i in rng.permutation(len(axes)))
    positions = tuple(most + axis for axis in axes if axis not in names)
    x = floats(rng, *sizes, *own)
    weights = floats(rng, *np.delete(x.shape, positions))
    with shown(axes=axes, names=names, sizes=sizes, own_axes=own):
        slope = jax.grad(lambda x, w: jnp.sum(lax.psum(2 * x, axes) * w))
        for name in reversed(names):
            slope = jax.vmap(slope, axis_name=name)
        over = tuple(names.index(axis) for axis in axes if axis in names)
        cts = 2 * np.expand_dims(weights, positions).sum(over, keepdims=True)
        same(slope(x, weights), np.broadcast_to(cts, x.shape), "the cotangents")


@pytest.mark.parametrize("summed", ["xyz", "zx", "y"])
def test_over_three_mesh_axes_any_may_be_summed_over(summed):
    """The sum of the squares of sums over some of the axes; and a weight that is one along them."""
    mesh = Mesh(np.array(cpu_devices(8), object).reshape(2, 2, 2), tuple("xyz"))
    a, over = np.linspace(0, 2, 8, dtype=np.float32), tuple("xyz".index(name) for name in summed)
    rest = tuple(name for name in "xyz" if name not in summed)

    seen = []

    def loss(w, a):
        total = lax.psum(jnp.sin(a), tuple(summed))
        return jnp.sum(total**2) + jnp.sum(w * a)

    specs = P(rest), P(tuple("xyz"))
    w = np.ones(2 ** len(rest), np.float32)

    def slopes(w, a):
        total, back = jax.vjp(lambda a: lax.psum(a, tuple(summed)), a)
        seen.append(jax.typeof(back(total)[0]).vma)
        return jax.grad(loss, (0, 1))(w, a)

    with jax.disable_jit():
        by_w, by_a = jax.shard_map(slopes, mesh=mesh, in_specs=specs, out_specs=specs)(w, a)
    assert seen[0] == {*"xyz"}, f"the cotangent of what varies varies along all axes, not {seen[0]}"
    cube = a.reshape(2, 2, 2)
    each_counts = 2 ** len(summed)  # all devices along these axes have the sum in their loss
    want = 2 * each_counts * np.sin(cube).sum(over, keepdims=True) * np.cos(cube) + 1
    same(by_a, want.reshape(-1), f"by what {summed} is summed over")
    same(by_w, cube.sum(over).reshape(-1), f"by what is one along {summed}")
