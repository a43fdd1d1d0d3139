"""fori_loop: a loop over a range of numbers, a scan where its bounds are known, else a while_loop."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def power(x, n):
    return lax.fori_loop(0, n, lambda i, y: y * x, 1.0)


def primitives(fun, *args):
    return [eqn.primitive.name for eqn in jax.make_jaxpr(fun)(*args).eqns]


def test_the_body_sees_each_number_and_the_value_so_far():
    assert int(lax.fori_loop(2, 5, lambda i, total: 10 * total + i, 1)) == 1234


def test_an_empty_range_gives_the_first_value():
    assert int(lax.fori_loop(5, 2, lambda i, x: x + 1, 7)) == 7


def test_an_empty_range_is_a_scan_of_no_steps():
    (eqn,) = jax.make_jaxpr(lambda x: lax.fori_loop(5, 2, lambda i, x: x + 1.0, x))(1.0).eqns
    assert (eqn.primitive.name, eqn.params["length"]) == ("scan", 0)


def test_unroll_is_handed_on():
    loop = lambda x: lax.fori_loop(0, 6, lambda i, x: x * 2.0, x, unroll=3)  # noqa: E731
    (eqn,) = jax.make_jaxpr(loop)(1.0).eqns
    assert eqn.params["unroll"] == 3


def test_the_value_may_be_a_tree():
    out = lax.fori_loop(0, 3, lambda i, c: {"a": c["a"] + i, "b": c["b"] * 2}, {"a": 0, "b": 1.5})
    assert (int(out["a"]), float(out["b"])) == (3, 12)


def test_known_bounds_make_a_scan():
    assert primitives(lambda x: power(x, 3), 2.0) == ["scan"]


def test_bounds_known_while_tracing_alone_make_a_while_loop():
    assert primitives(power, 2.0, 3) == ["while"]


def test_both_give_the_same():
    assert float(power(2.0, 5)) == float(jax.jit(power)(2.0, 5)) == 32


def test_known_bounds_have_reverse_mode():
    assert float(jax.grad(power)(2.0, 3)) == 12


def test_other_bounds_have_forward_mode_and_reverse_mode_says_what_to_do():
    assert float(jax.jvp(lambda x: jax.jit(power)(x, 3), (2.0,), (1.0,))[1]) == 12
    with pytest.raises(ValueError, match="scan.*static"):
        jax.grad(jax.jit(power))(2.0, 3)


def test_vmap_over_the_bound_runs_as_long_as_the_longest():
    np.testing.assert_array_equal(jax.vmap(power, (None, 0))(2.0, jnp.array([0, 3, 1])), [1, 8, 2])


def test_a_python_bound_takes_the_dtype_of_the_other():
    jaxpr = jax.make_jaxpr(lambda n: lax.fori_loop(0, n, lambda i, x: x + i, 0))(np.int8(3))
    assert jaxpr.eqns[0].invars[0].aval.dtype == np.int8


def test_without_jit_the_body_is_plain_python():
    seen = []
    with jax.disable_jit():
        lax.fori_loop(0, 3, lambda i, x: seen.append(int(i)) or x, 0.0)
        assert lax.fori_loop(3, 0, lambda i, x: seen.append(int(i)) or x, 7.0) == 7.0
    assert seen == [0, 1, 2]


def traced(n):
    return jax.jit(lambda n: lax.fori_loop(0, n, lambda i, x: x, 0, unroll=2))(n)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: lax.fori_loop(0, 3, None, 0), TypeError, "body_fun.*callable"),
        (lambda: lax.fori_loop(0, 3.0, lambda i, x: x, 0), TypeError, "int32 and float32"),
        (lambda: lax.fori_loop(0, np.uint8(3), lambda i, x: x, 0), TypeError, "int32 and uint8"),
        (lambda: lax.fori_loop(0, 3, lambda i, x: (x, x), 0), TypeError, r"\[1\].*tuple"),
        (lambda: traced(3), ValueError, "unroll"),
    ],
)
def test_bad_calls_raise_what_jax_raises(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_bound_that_is_too_large_for_its_dtype_is_an_error():
    with pytest.raises(OverflowError, match="too large for int32"):
        lax.fori_loop(0, 2**40, lambda i, x: x, 0.0)


def test_bounds_are_scalars():
    with pytest.raises(TypeError, match="scalars"):
        lax.fori_loop(jnp.arange(2), 3, lambda i, x: x, 0.0)
