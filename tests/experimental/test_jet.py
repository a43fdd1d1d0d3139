"""jet: all derivatives along a curve at once, compared with jvp of jvp of jvp."""

import math

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.experimental import jet as jet_module
from tinyjax.experimental import jet_trace
from tinyjax.experimental.jet import jet

ORDER = 4


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def curve(x, t):
    """x and its first derivatives 1, 0.5, -1 and 2 as a function of time."""
    return x + t + 0.5 * t**2 / 2 - t**3 / 6 + 2 * t**4 / 24


def by_jet(f, *primals):
    primals = [jnp.asarray(x, "float64") for x in primals]
    series = [[jnp.full(x.shape, term) for term in (1.0, 0.5, -1.0, 2.0)] for x in primals]
    out, terms = jet(f, primals, series)
    return [out, *terms]


def by_repeated_jvp(f, *primals):
    def derivatives(order, t):
        """Those of order 0 to `order`."""
        if order == 0:
            return [f(*[curve(jnp.asarray(x, "float64"), t) for x in primals])]
        lower, higher = jax.jvp(lambda t: derivatives(order - 1, t), (t,), (1.0,))
        return [*lower, higher[-1]]

    return derivatives(ORDER, 0.0)


# ---- series ----


def test_the_terms_are_the_derivatives_along_a_curve():
    out, (first, second) = jet(jnp.sin, (0.5,), ((1.0, 0.0),))
    np.testing.assert_allclose([out, first, second], [np.sin(0.5), np.cos(0.5), -np.sin(0.5)])


def test_without_factorials_they_are_taylor_coefficients():
    out, terms = jet(jnp.exp, (0.0,), ((1.0, 0.0, 0.0),), factorial_scaled=False)
    np.testing.assert_allclose([out, *terms], [1, 1, 1 / 2, 1 / 6])


def test_a_product_of_series_is_their_convolution():
    assert jet_trace.product([1, 2, 3], [4, 5, 6], lambda x, y: x * y) == [4, 13, 28]


def test_a_quotient_undoes_a_product():
    u, w = [3.0, -1.0, 2.0], [2.0, 0.5, 4.0]
    v = jet_module.quotient(u, w)
    np.testing.assert_allclose(jet_trace.product(v, w, lambda x, y: x * y), u)


def test_the_tenth_derivative_is_found_without_ten_nested_ones():
    _, terms = jet(lambda x: 1 / (1 - x), (0.0,), ([1.0] + [0.0] * 9,))
    np.testing.assert_allclose(terms, [math.factorial(k) for k in range(1, 11)])


# ---- rules ----

X = np.array([-0.7, 0.2, 0.6])
Y = np.array([1.5, 0.4, 2.2])
UNARY = {
    name: getattr(jnp, name)
    for name in (
        "sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arctanh exp exp2 expm1 log1p square "
        "abs cumsum cumprod"
    ).split()
} | {
    "logistic": jax.nn.sigmoid,
    "relu": jax.nn.relu,
    "softplus": jax.nn.softplus,
    "erf": lax.erf,
    "erfc": lax.erfc,
    "erf_inv": lax.erf_inv,
    "lgamma": lambda x: lax.lgamma(x * x + 1),
    "bessel_i1e": lax.bessel_i1e,
    "fft": lambda x: jnp.fft.fft(x * x).real,
    "cube": lambda x: x**3,
    "inverse square": lambda x: x**-2,
    "no power": lambda x: x**0,
    "clip": lambda x: jnp.clip(x, -0.5, 0.3),
    "where": lambda x: jnp.where(x > 0, x, x * x),
    "max and min": lambda x: x.max() * x.min(),
    "index": lambda x: x[1:] * x[0],
    "add at": lambda x: jnp.zeros(3).at[np.array([0, 0, 2])].add(x * x),
    "outer": lambda x: x.reshape(3, 1) @ x.reshape(1, 3),
    "stack": lambda x: jnp.stack([x, x * x])[::-1],
    "to integers": lambda x: (4 * x).astype(int) * x,
    "cummax": lambda x: lax.cummax(x * x),
}


@pytest.mark.parametrize("f", UNARY.values(), ids=UNARY)
def test_functions_of_one_array(f):
    np.testing.assert_allclose(by_jet(f, X), by_repeated_jvp(f, X), rtol=1e-9, atol=1e-9)


POSITIVE = {
    "sqrt": jnp.sqrt,
    "rsqrt": lax.rsqrt,
    "cbrt": jnp.cbrt,
    "log": jnp.log,
    "arccosh": lambda y: jnp.arccosh(1 + y),
    "power": lambda y: y**1.5,
    "exponent": lambda y: 2.0**y,
}


@pytest.mark.parametrize("f", POSITIVE.values(), ids=POSITIVE)
def test_functions_of_one_positive_array(f):
    np.testing.assert_allclose(by_jet(f, Y), by_repeated_jvp(f, Y), rtol=1e-9, atol=1e-9)


BINARY = {
    "add": jnp.add,
    "subtract": jnp.subtract,
    "multiply": jnp.multiply,
    "divide": jnp.divide,
    "dot": jnp.dot,
    "arctan2": jnp.arctan2,
    "maximum": jnp.maximum,
    "minimum": jnp.minimum,
    "power": lambda x, y: jnp.power(y, x),
    "rem": lambda x, y: lax.rem(x, y),
    "fmod": lambda x, y: lax.rem(4 * x, y),
}


@pytest.mark.parametrize("f", BINARY.values(), ids=BINARY)
def test_functions_of_two_arrays(f):
    np.testing.assert_allclose(by_jet(f, X, Y), by_repeated_jvp(f, X, Y), rtol=1e-9, atol=1e-9)


def test_where_two_are_equally_large_the_terms_are_their_mean():
    _, terms = jet(jnp.maximum, (1.0, 1.0), ((2.0,), (4.0,)))
    assert terms == [3.0]


# ---- programs ----


def test_a_network_in_jit():
    @jax.jit
    def network(x):
        hidden = jnp.tanh(jnp.outer(Y, X) @ x)
        return jax.nn.log_softmax(hidden)

    np.testing.assert_allclose(by_jet(network, X), by_repeated_jvp(network, X), rtol=1e-9)


def test_trees_of_results_and_constants_among_them():
    out, terms = jet(lambda x: {"a": x * x, "b": 3.0}, (2.0,), ((1.0, 0.0),))
    assert out == {"a": 4.0, "b": 3.0} and terms == {"a": [4.0, 2.0], "b": [0.0, 0.0]}


def test_a_custom_rule_of_first_order_is_not_used():
    @jax.custom_jvp
    def cube(x):
        return x**3

    cube.defjvp(lambda primals, tangents: (cube(*primals), 100.0))
    assert jet(cube, (2.0,), ((1.0, 0.0),))[1] == [12.0, 12.0]
    assert jet(jax.jit(cube), (2.0,), ((1.0, 0.0),))[1] == [12.0, 12.0]


def test_python_control_flow_sees_the_value():
    assert jet(lambda x: x * x if x > 0 else x, (2.0,), ((1.0, 0.0),))[1] == [4.0, 2.0]


def test_jet_in_jet():
    slope = lambda x: jet(jnp.sin, (x,), ((1.0,),))[1][0]  # noqa: E731
    _, terms = jet(slope, (0.5,), ((1.0, 0.0),))
    np.testing.assert_allclose(terms, [-np.sin(0.5), -np.cos(0.5)])


def test_jit_vmap_and_grad_of_jet():
    third = lambda x: jet(jnp.sin, (x,), ((1.0, 0.0, 0.0),))[1][2]  # noqa: E731
    np.testing.assert_allclose(jax.jit(jax.vmap(third))(X), -np.cos(X))
    np.testing.assert_allclose(jax.vmap(jax.grad(third))(X), np.sin(X))


# ---- mistakes ----


def test_a_primitive_without_a_rule_is_named():
    with pytest.raises(NotImplementedError, match="jet rule for 'scan' not implemented"):
        jet(lambda x: lax.fori_loop(0, 3, lambda i, x: x * x, x), (1.0,), ((1.0,),))


def test_terms_have_the_shape_of_their_primal():
    with pytest.raises(
        ValueError, match=r"term 1 for argument 0 has shape \(2,\), its primal \(\)"
    ):
        jet(jnp.sin, (1.0,), ((1.0, jnp.ones(2)),))
