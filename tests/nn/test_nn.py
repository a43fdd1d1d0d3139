"""Activations, softmax and its family, initializers: values and gradients are those of JAX 0.12."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import nn
from tinyjax.nn import initializers

POINTS = jnp.array([-2.0, -1.0, 0.0, 0.5, 3.0, -100.0, 100.0])

# name -> values and derivatives at POINTS, where exp overflows and where kinks are
ACTIVATIONS = {
    "relu": (
        [0, 0, 0, 0.5, 3, 0, 100],
        [0, 0, 0, 1, 1, 0, 1],
    ),
    "relu6": (
        [0, 0, 0, 0.5, 3, 0, 6],
        [0, 0, 0, 1, 1, 0, 0],
    ),
    "sigmoid": (
        [0.1192029, 0.2689414, 0.5, 0.6224594, 0.9525741, 0, 1],
        [0.1049936, 0.1966119, 0.25, 0.2350037, 0.0451767, 0, 0],
    ),
    "softplus": (
        [0.1269280, 0.3132617, 0.6931472, 0.9740770, 3.0485873, 0, 100],
        [0.1192029, 0.2689414, 0.5, 0.6224594, 0.9525741, 0, 1],
    ),
    "silu": (
        [-0.2384058, -0.2689414, 0, 0.3112297, 2.8577223, 0, 100],
        [-0.0907842, 0.0723295, 0.5, 0.7399612, 1.0881041, 0, 1],
    ),
    "gelu": (
        [-0.0454023, -0.1588080, 0, 0.3457140, 2.9963627, 0, 100],
        [-0.0860993, -0.0829641, 0.5, 0.8673699, 1.0115839, 0, 1],
    ),
    "elu": (
        [-0.8646647, -0.6321205, 0, 0.5, 3, -1, 100],
        [0.1353353, 0.3678795, 1, 1, 1, 0, 1],
    ),
    "celu": (
        [-0.8646647, -0.6321205, 0, 0.5, 3, -1, 100],
        [0.1353353, 0.3678795, 1, 1, 1, 0, 1],
    ),
    "selu": (
        [-1.5201663, -1.1113307, 0, 0.5253505, 3.1521029, -1.7580993, 105.0700989],
        [0.2379328, 0.6467686, 1.7580993, 1.0507010, 1.0507010, 0, 1.0507010],
    ),
    "leaky_relu": (
        [-0.02, -0.01, 0, 0.5, 3, -1, 100],
        [0.01, 0.01, 1, 1, 1, 0.01, 1],
    ),
    "hard_tanh": (
        [-1, -1, 0, 0.5, 1, -1, 1],
        [0, 1, 1, 1, 0, 0, 0],
    ),
    "hard_sigmoid": (
        [1 / 6, 1 / 3, 0.5, 0.5833334, 1, 0, 1],
        [1 / 6, 1 / 6, 1 / 6, 1 / 6, 0, 0, 0],
    ),
    "hard_silu": (
        [-1 / 3, -1 / 3, 0, 0.2916667, 3, 0, 100],
        [-1 / 6, 1 / 6, 0.5, 2 / 3, 1, 0, 1],
    ),
    "log_sigmoid": (
        [-2.1269281, -1.3132617, -0.6931472, -0.4740770, -0.0485874, -100, 0],
        [0.8807970, 0.7310585, 0.5, 0.3775407, 0.0474259, 1, 0],
    ),
    "soft_sign": (
        [-2 / 3, -0.5, 0, 1 / 3, 0.75, -0.9900990, 0.9900990],
        [1 / 9, 0.25, 1, 4 / 9, 0.0625, 9.803e-05, 9.803e-05],
    ),
    "squareplus": (
        [0.4142135, 0.6180340, 1, 1.2807764, 3.3027756, 0.0099983, 100.0099945],
        [0.1464466, 0.2763932, 0.5, 0.6212678, 0.9160252, 9.994e-05, 0.9999],
    ),
    "mish": (
        [-0.2525015, -0.3034014, 0, 0.3752452, 2.9865355, 0, 100],
        [-0.1083551, 0.0592168, 0.6, 0.8864244, 1.0211061, 0, 1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_values_and_derivatives_of_activations(name):
    activation, (values, derivatives) = getattr(nn, name), ACTIVATIONS[name]
    np.testing.assert_allclose(activation(POINTS), values, rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(
        jax.vmap(jax.grad(activation))(POINTS), derivatives, rtol=2e-6, atol=2e-6
    )


def test_activations_keep_dtypes_and_weak_types():
    assert nn.relu(jnp.arange(3)).dtype == jnp.int32
    assert nn.silu(jnp.ones(2, "bfloat16")).dtype == jnp.bfloat16
    assert nn.relu(1.5).weak_type
    with pytest.raises(TypeError, match="logistic"):
        nn.sigmoid(1)


def test_relu_lets_nan_through():
    assert jnp.isnan(nn.relu(jnp.nan))


def test_glu_gates_one_half_with_the_other():
    np.testing.assert_allclose(nn.glu(jnp.array([1.0, 2.0, 0.0, 0.0])), [0.5, 1.0])
    with pytest.raises(ValueError, match="even size"):
        nn.glu(jnp.ones(3))


# ---- softmax and its family ----


def test_softmax_of_large_logits():
    np.testing.assert_array_equal(nn.softmax(jnp.array([1000.0, 0.0])), [1, 0])
    np.testing.assert_array_equal(nn.log_softmax(jnp.array([1000.0, 0.0])), [0, -1000])
    np.testing.assert_array_equal(nn.softmax(jnp.array([-jnp.inf, 0.0])), [0, 1])
    assert jnp.isnan(nn.softmax(jnp.array([-jnp.inf, -jnp.inf]))).all()


def test_softmax_along_an_axis_and_under_a_mask():
    x = jnp.array([[1.0, 2.0], [3.0, 5.0]])
    np.testing.assert_allclose(nn.softmax(x, axis=0).sum(0), [1, 1], rtol=1e-6)
    np.testing.assert_allclose(nn.softmax(x, axis=None).sum(), 1, rtol=1e-6)
    mask = jnp.array([[True, False], [True, True]])
    np.testing.assert_array_equal(nn.softmax(x, where=mask)[0], [1, 0])


def test_the_gradient_of_softmax_is_that_of_its_formula():
    x = jnp.array([0.5, -1.0, 2.0])
    y = nn.softmax(x)
    jacobian = jax.jacrev(nn.softmax)(x)
    np.testing.assert_allclose(jacobian, jnp.diag(y) - jnp.outer(y, y), atol=1e-6)


def test_logsumexp_at_infinities():
    assert nn.logsumexp(jnp.array([-jnp.inf, -jnp.inf])) == -jnp.inf
    assert nn.logsumexp(jnp.array([jnp.inf, 0.0])) == jnp.inf
    gradient = jax.grad(nn.logsumexp)(jnp.array([-jnp.inf, 0.0]))
    np.testing.assert_array_equal(gradient, [0, 1])


def test_logsumexp_with_weights_gives_the_sign_apart():
    value, sign = nn.logsumexp(jnp.zeros(3), b=jnp.array([1.0, -2.0, -1.0]), return_sign=True)
    np.testing.assert_allclose([value, sign], [np.log(2), -1], rtol=1e-6)
    assert jnp.isnan(nn.logsumexp(jnp.zeros(2), b=jnp.array([1.0, -2.0])))


def test_logmeanexp_of_a_constant_is_the_constant():
    x = jnp.full((2, 4), 3.0)
    np.testing.assert_allclose(nn.logmeanexp(x, axis=1), [3, 3], rtol=1e-6)
    np.testing.assert_allclose(nn.logmeanexp(x, where=x > 0), 3, rtol=1e-6)


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
def test_standardize_gives_mean_0_and_variance_1(algorithm):
    x = nn.standardize(jnp.array([[1.0, 2.0, 6.0]]), algorithm=algorithm)
    np.testing.assert_allclose([x.mean(), x.var()], [0, 1], atol=1e-5)


# ---- one-hot vectors ----


def test_one_hot_ignores_indices_out_of_range():
    expected = [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_array_equal(nn.one_hot(jnp.array([2, 3, -1]), 3), expected)


def test_one_hot_puts_its_axis_where_it_is_asked_for():
    assert nn.one_hot(jnp.zeros((2, 4), int), 3, axis=1).shape == (2, 3, 4)
    assert nn.one_hot(1, 3, dtype=jnp.int8).dtype == jnp.int8
    with pytest.raises(TypeError, match="num_classes"):
        jax.jit(lambda n: nn.one_hot(jnp.arange(2), n))(3)


# ---- initializers ----

GLOROT_NORMAL = [
    [1.046842336654663, 1.2329133749008179, -0.29671576619148254],
    [-0.05394943431019783, 0.12079361826181412, -0.65617436170578],
]
HE_UNIFORM = [
    [1.5507639646530151, 1.6578493118286133, -0.5809593200683594],
    [-0.10853563249111176, 0.24210159480571747, -1.158731460571289],
]


def test_initializers_draw_what_jax_draws():
    key = jax.random.key(0)
    glorot, he = initializers.glorot_normal(), initializers.he_uniform()
    np.testing.assert_allclose(glorot(key, (2, 3)), GLOROT_NORMAL, rtol=2e-6)
    np.testing.assert_allclose(he(key, (2, 3)), HE_UNIFORM, rtol=2e-6)


@pytest.mark.parametrize("distribution", ["normal", "truncated_normal", "uniform"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_variance_scaling_gives_the_variance_it_says(distribution, dtype):
    draw = initializers.variance_scaling(2.0, "fan_in", distribution)
    x = np.asarray(draw(jax.random.key(1), (100, 50), dtype))
    assert abs(x.var() - 2 / 100) < 2e-3


def test_a_convolution_counts_its_window():
    x = initializers.lecun_normal()(jax.random.key(0), (3, 3, 16, 32))
    assert abs(np.asarray(x).var() - 1 / (9 * 16)) < 5e-4


def test_initializers_without_randomness():
    assert initializers.constant(2)(None, (2,)).tolist() == [2, 2]
    assert initializers.ones(None, (1,), "float16").dtype == jnp.float16


def test_variance_scaling_names_mistakes():
    key = jax.random.key(0)
    with pytest.raises(ValueError, match="at least 2D"):
        initializers.he_normal()(key, (3,))
    with pytest.raises(ValueError, match="invalid mode"):
        initializers.variance_scaling(1.0, "fan_over", "normal")(key, (2, 2))
    with pytest.raises(ValueError, match="invalid distribution"):
        initializers.variance_scaling(1.0, "fan_in", "dice")(key, (2, 2))
