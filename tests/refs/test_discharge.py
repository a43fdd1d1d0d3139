"""Programs with Refs as programs without."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.jaxpr import all_jaxprs, check_jaxpr
from tinyjax.refs.discharge import discharge_refs, without_refs
from tinyjax.refs.ref import REF_PRIMITIVES


def sums(x):
    """The running sums of x, in a Ref that another loop's body makes."""

    def outer(carry, row):
        total = jax.new_ref(jnp.zeros(()))

        def inner(i, _):
            jax.ref.addupdate(total, ..., row[i])

        lax.fori_loop(0, row.shape[0], inner, None)
        return carry + total[...], total[...]

    return lax.scan(outer, 0.0, x)


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_no_ref_is_left_in_any_jaxpr():
    closed = without_refs(jax.make_jaxpr(sums)(X))
    check_jaxpr(closed.jaxpr)
    assert not any(
        eqn.primitive in REF_PRIMITIVES for jaxpr in all_jaxprs(closed.jaxpr) for eqn in jaxpr.eqns
    )


def test_values_come_in_and_go_out_in_place_of_refs():
    closed = jax.make_jaxpr(lambda r, x: r.__setitem__(0, x))(jax.new_ref(jnp.zeros(2)), 1.0)
    new = discharge_refs(closed, (True, False))
    assert [str(aval) for aval in new.in_avals] == ["float32[2]", "~float32[]"]
    assert [str(aval) for aval in new.out_avals] == ["float32[2]"]


@pytest.mark.parametrize("transform", [jax.jit, lambda f: f])
def test_a_ref_within_a_loop_within_a_loop(transform):
    total, each = transform(sums)(X)
    assert total == 15 and list(each) == [3, 12]
    gradient = transform(jax.grad(lambda x: (sums(x)[1] ** 2).sum()))(X)
    assert np.array_equal(gradient, [[6] * 3, [24] * 3])


def test_a_function_with_a_rule_of_its_own_may_write_to_a_ref():
    @jax.custom_jvp
    def noted(r, x):
        r[...] = x
        return x * 2

    noted.defjvps(None, lambda t, out, r, x: 2 * t)

    def f(x):
        r = jax.new_ref(0.0)
        return noted(r, x) + r[...]

    assert jax.jit(f)(3.0) == 9


def test_a_loop_in_a_checkpoint():
    def f(x):
        r = jax.new_ref(x)

        def body(i, _):
            r[...] = jnp.sin(r[...])

        lax.fori_loop(0, 2, body, None)
        return r[...]

    assert np.isclose(jax.grad(jax.checkpoint(f))(1.0), jax.grad(f)(1.0))


def test_a_jitted_function_finds_its_ref_again_at_the_next_call():
    count = jax.new_ref(0)

    @jax.jit
    def up():
        count[...] += 1
        return count[...]

    assert [int(up()), int(up()), int(up())] == [1, 2, 3]


def test_gradients_are_collected_in_a_ref():
    norms = jax.new_ref(jnp.zeros(3))

    @jax.jit
    def step(i, x):
        gradient = jax.grad(lambda x: (x**3).sum())(x)
        norms[i] = jnp.sum(gradient)
        return x - 0.1 * gradient

    x = jnp.ones(2)
    for i in range(3):
        x = step(i, x)
    assert norms[0] == 6 and norms[2] < norms[1] < norms[0]


def test_what_a_condition_reads_a_body_may_not_write():
    ref = jax.new_ref(0.0)

    def body(i):
        ref[...] += 1.0
        return i + 1

    with pytest.raises(ValueError, match="only one reference"):
        lax.while_loop(lambda i: ref[...] < 3, body, 0)


def test_a_condition_that_writes_is_refused():
    ref = jax.new_ref(0.0)

    def cond(i):
        ref[...] += 1.0
        return i < 3

    with pytest.raises(ValueError, match="only its body may"):
        lax.while_loop(cond, lambda i: i + 1, 0)


def test_a_rule_of_its_own_keeps_a_gradient_in_a_ref_of_a_scalar():
    @jax.custom_vjp
    def noted(ref, x):
        return x

    def backward(ref, ct):
        ref[...] = ct
        return None, ct

    noted.defvjp(lambda ref, x: (x, ref), backward)
    ref = jax.new_ref(0.0)
    gradient = jax.grad(lambda x: noted(ref, 2 * x) ** 2)
    assert gradient(1.0) == jax.jit(gradient)(1.0) == 8 and ref[...] == 4


def test_a_differentiated_function_returns_no_ref():
    with pytest.raises(ValueError, match="differentiated returned .*Return what it holds"):
        jax.grad(jax.new_ref)(1.0)


def test_second_derivatives():
    def f(x):
        r = jax.new_ref(x)
        r[...] *= x
        jax.ref.addupdate(r, 0, x[1] * r[1])
        return jnp.sum(r[...])

    def pure(x):
        y = x * x
        return jnp.sum(y) + x[1] * y[1]

    x = jnp.array([2.0, 3.0])
    v = jnp.array([1.0, -1.0])
    forward = lambda g: jax.jvp(jax.grad(g), (x,), (v,))[1]  # noqa: E731
    reverse = lambda g: jax.grad(lambda x: jax.grad(g)(x) @ v)(x)  # noqa: E731
    assert np.allclose(forward(f), forward(pure)) and np.allclose(reverse(f), forward(pure))


def test_lowered_and_compiled_as_any_other():
    def f(x):
        r = jax.new_ref(x)
        r[0] = 5.0
        return r[...]

    lowered = jax.jit(f).lower(jnp.ones(2))
    assert "new_ref" not in lowered.as_text("jaxpr")
    assert list(lowered.compile()(jnp.ones(2))) == [5, 1]


def test_a_compiled_program_writes_to_its_arguments():
    ref = jax.new_ref(jnp.ones(2))
    compiled = jax.jit(lambda r, x: r.__setitem__(0, x) or x + 1).lower(ref, 2.0).compile()
    assert compiled(ref, 3.0) == 4 and list(ref[...]) == [3, 1]
