"""jax.numpy: NumPy's functions with JAX's dtypes, weak types, errors and equations."""

import inspect

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp

RNG = np.random.default_rng(0)
V = np.array([0.5, -1.5, 2.0, 3.25], np.float32)
W = np.array([1.0, 2.0, -3.0, 0.25], np.float32)
M = RNG.normal(size=(3, 4)).astype(np.float32)
T = RNG.normal(size=(2, 3, 4)).astype(np.float32)
I = np.array([3, -1, 4, 1], np.int32)  # noqa: E741
NAN = np.array([1.0, np.nan, -2.0, 5.0], np.float32)


def test_the_namespace_is_broad():
    functions = [f for n, f in vars(jnp).items() if inspect.isfunction(f) and not n.startswith("_")]
    assert len(set(functions)) >= 280
    assert all(f.__doc__ for f in functions)


# ---- values: as NumPy ----

SAME_AS_NUMPY = {
    "exp": (V,), "log1p": (abs(V),), "tanh": (V,), "arctan2": (V, W), "hypot": (V, W),
    "floor_divide": (I, 2), "remainder": (I, 3), "fmod": (V, W), "power": (abs(V), W),
    "heaviside": (V, 0.5), "copysign": (V, W), "nextafter": (V, W), "maximum": (V, W), "sinc": (V,),
    "rint": (V,), "trunc": (V,), "modf": (V,), "frexp": (V,), "signbit": (V,), "logaddexp": (V, W),
    "gcd": (I, 6), "lcm": (I, 6), "nan_to_num": (NAN,), "isclose": (V, V + 1e-6), "clip": (V, 0, 1),
    "linspace": (0, 1, 5), "logspace": (0, 2, 3), "geomspace": (1, 100, 3), "arange": (2, 9, 3),
    "eye": (2, 3, 1), "tri": (3, 4, 1), "tril": (M, -1), "triu": (T,), "diag": (M,), "vander": (V,),
    "meshgrid": (V, W), "indices": ((2, 3),), "diagonal": (T, 1, 1, 2), "trace": (M,),
    "prod": (M, 0), "var": (M, 1), "std": (M,), "median": (M, 0), "quantile": (V, 0.3),
    "percentile": (M, [10, 90], 1), "ptp": (M, 1), "average": (V, None, abs(W)), "cumsum": (M, 1),
    "cumprod": (V,), "nansum": (NAN,), "nanmean": (NAN,), "nanmax": (NAN,), "nanmedian": (NAN,),
    "nanstd": (NAN,), "nanargmax": (NAN,), "count_nonzero": (I > 0,), "diff": (M, 2),
    "gradient": (V,), "trapezoid": (V, W), "unwrap": (V * 4,), "ediff1d": (V,),
    "moveaxis": (T, 0, -1), "rollaxis": (T, 2), "rot90": (M,), "roll": (M, (1, 2), (0, 1)),
    "flip": (M, 1), "squeeze": (M[None],), "expand_dims": (M, (0, 2)), "atleast_3d": (M,),
    "resize": (V, (3, 3)), "concatenate": ([M, M], 1), "stack": ([V, W], -1), "vstack": ([V, W],),
    "hstack": ([V, W],), "dstack": ([V, W],), "column_stack": ([V, W],), "block": ([[M, M], [M, M]],),
    "split": (V, 2), "array_split": (V, 3), "tile": (M, (2, 1)), "repeat": (V, [1, 0, 2, 1]),
    "broadcast_to": (V, (2, 4)), "where": (V > 0, V, W), "argmax": (M, 1), "nonzero": (M > 0,),
    "argwhere": (M > 0,), "searchsorted": (np.sort(V), W), "digitize": (V, np.sort(W)),
    "bincount": (abs(I),), "histogram": (V, 3), "sort": (M, 0), "argsort": (V,), "lexsort": ((I, V),),
    "unique": (I // 2,), "isin": (I, [3, 4]), "union1d": (I, I + 1), "intersect1d": (I, I + 1),
    "setdiff1d": (I, I + 1), "setxor1d": (I, I + 1), "take": (M, [2, 0], 1), "delete": (V, 1),
    "insert": (V, 1, 9.0), "compress": (V > 0, V), "dot": (M, M.T), "matmul": (T, M.T),
    "vdot": (V, W), "inner": (M, M), "outer": (V, W), "tensordot": (T, T, ([0, 2], [0, 2])),
    "kron": (V, W), "cross": (V[:3], W[:3]), "convolve": (V, W), "correlate": (V, W, "full"),
    "interp": (V, np.sort(V), W), "cov": (M,), "corrcoef": (M,), "polyval": (V, W),
    "polymul": (V, W), "polyder": (V,), "polyint": (V,), "hamming": (5,), "packbits": (I > 0,),
    "unravel_index": (7, (3, 4)), "apply_over_axes": (None, T, [0, 1]),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME_AS_NUMPY)
def test_function_equals_numpy(name):
    args = SAME_AS_NUMPY[name]
    ours_args = [jnp.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
    if args[0] is None:  # functions of a function take their own library's sum
        args, ours_args = (np.sum, *args[1:]), [jnp.sum, *ours_args[1:]]
    if name in ("percentile", "take", "isin", "repeat"):  # jnp takes no lists for arrays
        ours_args[1] = jnp.array(args[1])
    ours, theirs = getattr(jnp, name)(*ours_args), getattr(np, name)(*args)
    several = isinstance(theirs, (tuple, list))
    for x, y in zip(ours if several else [ours], theirs if several else [theirs], strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-6)


def test_only_a_python_number_has_an_axis_to_sum_up_along():
    assert jnp.cumsum(0.5, 0).tolist() == [0.5]
    with pytest.raises(ValueError, match="axis 1 is out of bounds for array of dimension 1"):
        jnp.cumsum(0.5, 1)
    with pytest.raises(ValueError, match="axis 0 is out of bounds for array of dimension 0"):
        jnp.cumsum(jnp.float32(0.5), 0)


# ---- sizes that must be known ----


def test_results_of_unknown_size_need_size_under_jit():
    mask = jnp.array([False, True, True])
    with pytest.raises(jax.errors.ConcretizationTypeError, match="size"):
        jax.make_jaxpr(jnp.nonzero)(mask)
    with pytest.raises(jax.errors.ConcretizationTypeError, match="With size=n"):
        jax.make_jaxpr(jnp.compress)(mask, V)
    (found,) = jax.jit(lambda m: jnp.nonzero(m, size=3, fill_value=-1))(mask)
    assert found.tolist() == [1, 2, -1]
    unique = jax.jit(lambda x: jnp.unique(x, size=4, fill_value=0))(jnp.array([3, 1, 3]))
    assert unique.tolist() == [1, 3, 0, 0]


def test_shapes_must_be_known():
    with pytest.raises(TypeError, match="static_argnums"):
        jax.make_jaxpr(jnp.zeros)(3)
    with pytest.raises(jax.errors.ConcretizationTypeError, match="stop"):
        jax.make_jaxpr(jnp.arange)(3)
    with pytest.raises(jax.errors.ConcretizationTypeError, match="axis"):
        jax.make_jaxpr(lambda x, a: jnp.sum(x, axis=a))(V, 0)


# ---- mistakes ----


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: jnp.sum([1, 2]), TypeError, "sum requires ndarray or scalar arguments, got <class 'list'>"),
        (lambda: jnp.sum(M, axis=4), ValueError, "axis 4 is out of bounds"),
        (lambda: jnp.sum(M, axis=(0, 0)), ValueError, "duplicate"),
        (lambda: jnp.sum(M, where=M), ValueError, "boolean"),
        (lambda: jnp.max(jnp.zeros(0)), ValueError, "no identity"),
        (lambda: jnp.max(M, where=M > 0), ValueError, "initial"),
        (lambda: jnp.add(V, V[:3]), TypeError, "incompatible shapes"),
        (lambda: jnp.add(V, M.T), ValueError, "Incompatible shapes"),
        (lambda: jnp.broadcast_to(V, (3,)), ValueError, "broadcasting"),
        (lambda: jnp.reshape(M, (5, -1)), TypeError, "evenly divide"),
        (lambda: jnp.reshape(M, (-1, -1)), TypeError, "one unknown"),
        (lambda: jnp.array([[1, 2], [3]]), ValueError, "inhomogeneous"),
        (lambda: jnp.array([jnp.ones(3), jnp.ones(4)]), TypeError, r"shapes \(1, 3\), \(1, 4\)"),
        (lambda: jnp.array([1.0, jnp.ones(2)]), TypeError, "different numbers of dimensions"),
        (lambda: jnp.histogram2d(jnp.ones(3), jnp.ones(4)), TypeError, "shapes that differ"),
        (lambda: jnp.minmax(jax.random.key(0)), TypeError, "no order"),
        (lambda: jnp.top_k(jnp.ones(3), 1.5), TypeError, "integer"),
        (lambda: jnp.array("a"), TypeError, "not a valid JAX array type"),
        (lambda: jnp.array([None]), ValueError, "None"),
        (lambda: jnp.zeros(3, 4), TypeError, r"zeros\(\(3, 4\)\)"),
        (lambda: jnp.concatenate([]), ValueError, "at least one"),
        (lambda: jnp.stack([]), ValueError, "at least one"),
        (lambda: jnp.where(V > 0, V), TypeError, "position 2"),
        (lambda: jnp.einsum("ij,jk", M, M), ValueError, "size of label 'j'"),
        (lambda: jnp.matmul(2, M), ValueError, "ndim at least 1"),
        (lambda: jnp.split(V, 3), ValueError, "equal division"),
        (lambda: jnp.pad(V, -1), ValueError, "negative"),
        (lambda: jnp.pad(V, 1, mode="x"), NotImplementedError, "padding mode"),
        (lambda: jnp.sum(V, out=V), NotImplementedError, "out"),
        (lambda: jnp.put(V, 0, 1), ValueError, "inplace=False"),
        (lambda: jnp.bincount(V), TypeError, "integer"),
        (lambda: jnp.left_shift(V, 1), TypeError, "dtype"),
    ],
)  # fmt: skip
def test_mistakes_raise_what_jax_raises(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- traced ----


def test_derivatives_pass_through_jnp():
    def loss(x):
        return jnp.sum(jnp.where(x > 0, x, 0.1 * x) ** 2) + jnp.linalg.norm(x) + jnp.std(x)

    eps = 1e-2
    gradient = jax.grad(loss)(jnp.array(V))
    for i in range(V.size):
        step = np.eye(V.size, dtype=np.float32)[i] * eps
        numeric = (loss(jnp.array(V + step)) - loss(jnp.array(V - step))) / (2 * eps)
        assert float(gradient[i]) == pytest.approx(float(numeric), abs=2e-2)


def test_functions_are_jit_equations_only_while_tracing():
    assert "name=clip" in str(jax.make_jaxpr(lambda x: jnp.clip(x, 0, 1))(V))
    assert "name=" not in str(jax.make_jaxpr(lambda x: jnp.sum(x, 0))(V))
