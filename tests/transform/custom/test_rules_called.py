"""How rules of a user's own are called: by how many arguments, with which errors, dtypes and trees."""

import numpy as np
import pytest
from explain_errors import explain_errors
from judged import SMALL_FLOAT, each_error, error_passes, raises

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.transform.custom.forward_rules import _sum_of_rules

# ---- defjvps ----


@each_error
def test_an_error_of_a_rule_of_defjvps_goes_on(error):
    product = jax.custom_jvp(lambda x, y: x * y)
    with error_passes(error()) as raised:
        product.defjvps(lambda t, out, x, y: t * y, raises(raised))
        jax.jvp(product, (2.0, 3.0), (1.0, 1.0))
    function = jax.custom_jvp(lambda x: x)
    with error_passes(error()) as raised:
        function.defjvps(lambda t, out, x: raises(raised)())
        jax.jvp(function, (2.0,), (1.0,))


def test_a_rule_that_returns_nothing_is_an_error():
    for rule in (lambda t, out, x, y: None, lambda t, out, x, y: t * y):
        product = jax.custom_jvp(lambda x, y: x * y)
        product.defjvps(rule, lambda t, out, x, y: None)
        with pytest.raises(TypeError):
            found = jax.jvp(product, (2.0, 3.0), (1.0, 1.0))
            pytest.fail(f"a rule has no return, and the result and its tangent are {found}")


def test_of_four_arguments_any_may_have_no_rule_and_each_rule_is_called_once():
    seen = []

    def rule(k):
        return lambda t, out, *xs: seen.append((k, float(out), *map(float, xs))) or t * 10.0**k

    for without in range(4):
        f = jax.custom_jvp(lambda a, b, c, d: a + b + c + d)
        f.defjvps(*[None if k == without else rule(k) for k in range(4)])
        _, tangent = jax.jvp(f, (1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 3.0, 4.0))
        want = sum((k + 1) * 10**k for k in range(4) if k != without)
        assert float(tangent) == want, f"the rule of argument {without} is None: it adds nothing"
    assert len(seen) == 12 and seen[-1] == (2, 10, 1, 2, 3, 4)


def test_the_function_is_called_once_whatever_number_of_rules_there_is():
    calls = []
    rules = [lambda t, out, *xs: t] * 3
    fun = lambda *xs: calls.append(xs) or sum(xs)  # noqa: E731
    _, tangent = _sum_of_rules(fun, rules, (1.0, 2.0, 3.0), (1.0, 10.0, 100.0))
    assert float(tangent) == 111.0, "one rule may be that of several arguments"
    assert calls == [(1.0, 2.0, 3.0)], f"once, with the primals, and not {calls}"
    one = jnp.ones(2)
    rules = [lambda t, out, *xs, k=k: t * 10.0**k for k in range(3)]
    _, tangent = _sum_of_rules(lambda *xs: xs[0], rules, (one, one, one), (one, one, one))
    assert tangent.tolist() == [111.0, 111.0], "one array may be several arguments and tangents"
    parts = (np.float32(1e8), np.float32(-1e8), np.float32(1.0))
    _, tangent = _sum_of_rules(lambda *xs: xs[0], [lambda t, *_: t] * 3, parts, parts)
    assert float(tangent) == 1.0, "parts are added up from the first to the last"
    ten = (1.0,) * 10
    _, tangent = _sum_of_rules(lambda *xs: xs[0], [lambda t, *_: t] * 10, ten, ten)
    assert float(tangent) == 10.0, "each of ten parts counts"


def test_parts_keep_their_dtypes_and_ranks_and_results_may_be_trees_without_leaves():
    x = jnp.ones((2, 1, 3), SMALL_FLOAT)
    f = jax.custom_jvp(lambda x, n: ({"a": x * 2, "n": n}, ()))
    f.defjvps(lambda t, out, x, n: ({"a": t * 3, "n": np.zeros((), jax.dtypes.float0)}, ()), None)
    with explain_errors(
        "what is an integer has a tangent of float0, and all else one of its dtype"
    ):
        out, tangent = jax.jvp(lambda x: f(x, 5), (x,), (x,))
    assert tangent[0]["a"].dtype == x.dtype and tangent[0]["a"].shape == x.shape
    np.testing.assert_array_equal(np.asarray(tangent[0]["a"]), np.asarray(3 * x))
    assert tangent[1] == () and int(out[0]["n"]) == 5


# ---- custom_vjp ----


@each_error
@pytest.mark.parametrize("which", ["fwd", "bwd"])
def test_an_error_of_fwd_or_bwd_goes_on(which, error):
    f = jax.custom_vjp(lambda x: x)
    with error_passes(error()) as raised:
        rules = {"fwd": lambda x: (x, None), "bwd": lambda _, ct: (ct,)} | {which: raises(raised)}
        f.defvjp(rules["fwd"], rules["bwd"])
        jax.grad(f)(1.0)


def test_of_four_arguments_any_may_be_differentiated():
    f = jax.custom_vjp(lambda a, b, c, d: a)
    f.defvjp(
        lambda a, b, c, d: (a, (b, c)), lambda r, ct: tuple(ct * 10.0**k * r[0] for k in range(4))
    )
    args = (1.0, 2.0, 3.0, 4.0)
    for k in range(4):
        assert float(jax.grad(f, k)(*args)) == 2 * 10**k, f"by argument {k}"
    assert [float(x) for x in jax.grad(f, (3, 1))(*args)] == [2000, 20]
    out, back = jax.vjp(lambda b, d: f(1.0, b, 3.0, d), 2.0, 4.0)
    assert [float(x) for x in back(1.0)] == [20, 2000]


@pytest.mark.parametrize("dtype", ["float16", SMALL_FLOAT.name])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_results_and_residuals_may_be_many_one_or_none_of_any_dtype(count, dtype):
    def fwd(x):
        return [x] * count, [x.astype("int8")] * count

    def bwd(residuals, cts):
        return (sum((ct * 3 for ct in cts), jnp.zeros((2, 1), dtype)),)

    f = jax.custom_vjp(lambda x: [x] * count)
    f.defvjp(fwd, bwd)
    out, back = jax.vjp(f, jnp.full((2, 1), 3, dtype))
    (found,) = back([jnp.ones((2, 1), dtype)] * count)
    assert len(out) == count and found.dtype == dtype
    assert found.tolist() == [[3.0 * count]] * 2
    names = lambda fun: [  # noqa: E731
        eqn.params["names"]
        for eqn in jax.make_jaxpr(lambda x: jax.jvp(fun, (x,), (x,)))(1.0).eqns
        if eqn.primitive.name == "custom_lin"
    ]
    g = jax.custom_vjp(lambda x: x)
    g.defvjp(lambda x: (1.0, [x * k for k in range(6)]), lambda rs, ct: (sum(rs) * ct,))
    out, back = jax.vjp(g, 1.0)
    assert float(back(1.0)[0]) == 15.0, "six residuals"
    assert [len(three) for three in names(g)] == [3], "the names of function, fwd and bwd"
    many = jax.custom_vjp(lambda x: [x] * 9)
    many.defvjp(lambda x: ([x] * 9, None), lambda _, cts: (sum(cts),))
    assert float(jax.vjp(many, 1.0)[1]([1.0] * 9)[0]) == 9.0, "each of nine cotangents counts"


# ---- transposes ----


@pytest.mark.parametrize("shape", [(), (0,), (2, 1, 3)])
@pytest.mark.parametrize("x64", [False, True])
def test_cotangents_of_real_and_imaginary_parts_are_complex_of_the_same_precision(shape, x64):
    with jax.enable_x64(x64):
        z = jnp.full(shape, 1 + 2j, "complex128" if x64 else "complex64")
        for part, want in ((jnp.real, 3 + 0j), (jnp.imag, -3j)):
            with explain_errors(f"a cotangent of {z.dtype}{list(shape)}"):
                (found,) = jax.vjp(part, z)[1](jnp.full(shape, 3, z.real.dtype))
            assert (found.shape, found.dtype) == (shape, z.dtype)
            np.testing.assert_array_equal(found, np.full(shape, want))
            endless = jnp.full(shape, np.inf, z.real.dtype)
            (found,) = jax.vjp(part, z)[1](endless)
            zero = np.imag if part is jnp.real else np.real
            assert not zero(found).any(), "one part is 0, also of an infinite cotangent"
            ct = jnp.full(shape, 3, z.real.dtype)
            closed = jax.make_jaxpr(lambda ct: jax.vjp(part, z)[1](ct))(ct)  # noqa: B023
            (found,) = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, ct)
            np.testing.assert_array_equal(found, np.full(shape, want))
