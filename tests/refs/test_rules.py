"""vmap of programs with Refs gives what each example would have given."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

I = jnp.array([0, 1])  # noqa: E741


def write(index):
    def f(x, i):
        r = jax.new_ref(x)
        at = index(i)
        old = r[at]
        r[at] = old * 2.0
        jax.ref.addupdate(r, at, old)
        return jax.ref.swap(r, at, old), r[...]

    return f


INDICES = {
    "numbers": lambda i: (1, 0),
    "all": lambda i: ...,
    "one axis": lambda i: (slice(None), 1),
    "mapped": lambda i: i,
    "mapped, behind a slice": lambda i: (slice(None), i),
    "an array": lambda i: (slice(1, 3), I),
    "an array of mapped": lambda i: (0, I + i),
    "arrays apart": lambda i: (I, slice(None), I + i),
    "a slice of traced start": lambda i: (slice(None), lax.axis_index("n") * 0 + 1),
}


@pytest.mark.parametrize("in_axes", [0, 1, 2])
@pytest.mark.parametrize("name", INDICES)
def test_each_example_has_its_own_elements(name, in_axes):
    shape = (3, 3, 3) if name == "arrays apart" else (3, 3)
    x = jnp.arange(4.0 * np.prod(shape)).reshape(4, *shape)
    if name == "a slice of traced start":
        f = write(lambda i: (slice(None), jax.ds(jnp.int32(1), 2)))
    else:
        f = write(INDICES[name])
    i = jnp.array([0, 1, 1, 0])
    batch = jax.vmap(f, in_axes=(in_axes, 0), out_axes=0)(jnp.moveaxis(x, 0, in_axes), i)
    each = [f(x[k], i[k]) for k in range(4)]
    for got, *expected in zip(batch, *each):
        assert np.array_equal(got, np.stack(expected))


def test_a_ref_that_all_examples_share_is_read():
    ref = jax.new_ref(jnp.arange(6.0).reshape(2, 3))
    got = jax.vmap(lambda i, j: ref[i, j])(jnp.array([0, 1]), jnp.array([2, 0]))
    assert list(got) == [2, 3]


def test_a_branch_that_differs_from_example_to_example():
    def f(x):
        r = jax.new_ref(x)
        lax.cond(x > 0, lambda: r.__setitem__(..., x * 2), lambda: None)
        return r[...]

    assert list(jax.vmap(f)(jnp.array([1.0, -1.0]))) == [2, -1]


def test_a_loop_whose_length_differs_from_example_to_example():
    def f(n):
        r = jax.new_ref(0)

        def body(i):
            r[...] += i
            return i + 1

        lax.while_loop(lambda i: i < n, body, 0)
        return r[...]

    assert list(jax.vmap(f)(jnp.array([2, 4]))) == [1, 6]


def test_a_value_that_is_not_differentiated_moves_no_tangent():
    ref = jax.new_ref(0.0)

    def f(x):
        ref[...] = lax.stop_gradient(x * x)
        return x * ref[...]

    assert jax.grad(f)(3.0) == 9


def test_an_integer_ref_has_no_tangent():
    def f(x):
        r = jax.new_ref(2)
        r[...] += 1
        return x * r[...]

    assert jax.grad(f)(5.0) == 3
