"""Special functions that kernels compute as float32, beside SciPy's in float64: in the interpreter, compiled,
and as WebAssembly; on a grid, at borders, and where they are NaN, infinite or 0."""

import functools

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax
from tinyjax.compile.kernel.interpret import apply_op
from tinyjax.compile.kernel.scalar_ops import scalar_ops
from tinyjax.core.tracing import make_jaxpr
from tinyjax.lax.lowering import special as definitions_of_special  # noqa: F401  (fills definitions)
from tinyjax.runtime.devices import Device
from tinyjax.runtime.executable import compile_jaxpr
from tinyjax.scipy.special.normal_distribution import ndtri_p

pytest.importorskip("scipy")
f32 = functools.partial(np.array, dtype=np.float32)
SPECIAL = f32([0, 1, -1, 0.5, 2, -2.25, 30, 300, np.inf, -np.inf, np.nan])


def grid(*ranges):
    """Random operands of each range, and all combinations of special values. A range of negative numbers is
    that of a power of ten."""
    rng = np.random.default_rng(0)
    usual = [rng.uniform(*r, 2000) if r[0] >= -1 else 10 ** rng.uniform(*r, 2000) for r in ranges]
    special = np.meshgrid(*[SPECIAL] * len(ranges))
    return [np.concatenate([a, b.ravel()]).astype(np.float32) for a, b in zip(usual, special)]


def whole(n, *others):
    return np.rint(n), *others


# name -> operands, and the error that is allowed, in units in the last place
CASES = {
    "bessel_i0e": (grid((-1, 100)), 5),
    "bessel_i1e": (grid((-1, 100)), 4),
    "ndtri": ([np.concatenate([*grid((0, 1)), *grid((-37, -1))])], 6),
    "zeta": (grid((1, 20), (0, 30)), 1),
    "polygamma": (whole(*grid((0, 5), (0, 30))), 1),
    "igamma": (grid((0, 20), (0, 20)), 2),
    "igammac": (grid((0.1, 20), (0, 20)), 2),
    "igamma_grad_a": (grid((0, 20), (0, 20)), 2),
    "random_gamma_grad": (grid((0, 20), (0, 20)), 2),
    "regularized_incomplete_beta": (grid((0, 30), (0, 30), (0, 1)), 2),
}
FUNCTIONS = {name: getattr(lax, name, None) for name in CASES} | {
    "ndtri": ndtri_p.bind, "regularized_incomplete_beta": lax.betainc
}  # fmt: skip


def compiled(name, args, device):
    closed = make_jaxpr(FUNCTIONS[name])(*args)
    (found,) = compile_jaxpr(closed, device)([*map(jax.numpy.asarray, args)])
    return found


def in_wasm(name, args):
    pytest.importorskip("wasmtime")
    return compiled(name, args, Device("wasm", 0, "WebAssembly"))


RUN = {
    "interpreter": lambda name, args: apply_op(name, np.dtype("float32"), args),
    "compiled": lambda name, args: compiled(name, args, jax.devices("cpu")[0]),
    "wasm": in_wasm,
}


@pytest.mark.parametrize("how", RUN)
@pytest.mark.parametrize("name", CASES)
def test_a_function_in_kernels_is_scipys(name, how):
    args, allowed = CASES[name]
    with np.errstate(all="ignore"):
        exact = scalar_ops[name].numpy(*[x.astype(np.float64) for x in args])
        found, wanted = np.asarray(RUN[how](name, args)), exact.astype(np.float32)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
        is_number = np.isfinite(wanted)
        np.testing.assert_array_equal(found[~is_number], wanted[~is_number])
        is_normal = is_number & (np.abs(wanted) > 1.2e-38)  # smaller ones are 0 in kernels
        error = np.where(is_normal, np.abs(found - exact) / np.spacing(np.abs(wanted)), 0)
    assert np.max(np.abs(found[~is_normal & is_number])) < 1.2e-38
    assert error.max() <= allowed, [x[error.argmax()] for x in args]


def test_they_are_part_of_a_kernel():
    x = np.full(10, 0.5, np.float32)
    for name, function in FUNCTIONS.items():
        args = [x] * len(CASES[name][0])
        text = jax.jit(lambda *args, f=function: f(*args) + 1).lower(*args).as_text("schedule")
        assert "host" not in text, name


@pytest.mark.parametrize("a", [1e5, 1e8, 1e12])
def test_a_large_gamma_variate_is_nearly_normal(a):
    """Within 6 digits, where the series would have more than 100000 terms."""
    from scipy import stats

    deviations = f32(np.linspace(-3, 3, 31))
    x = f32(a + np.sqrt(a) * deviations)
    moved = (x - np.float64(f32(a))) / np.sqrt(a)
    # Source: Edgeworth's series, https://dlmf.nist.gov/8.11.E10
    normal = stats.norm.cdf(moved) - stats.norm.pdf(moved) * (moved**2 - 1) / (3 * np.sqrt(a))
    found = jax.jit(lax.igamma)(np.full_like(x, a), x)
    np.testing.assert_allclose(found, normal, rtol=3e-3 if a < 1e6 else 1e-5 + 30 / a)


@pytest.mark.parametrize("x", [3, 5, 7, 11])
@pytest.mark.parametrize("q", [-0.5, -3.5, -50.5])
def test_terms_of_an_odd_zeta_cancel_left_and_right_of_0(x, q):
    from scipy import special

    found = jax.jit(lax.zeta)(*np.float32([[x], [q]]))
    np.testing.assert_allclose(found, special.zeta(x, 1.0 - q), rtol=1e-6)


def test_zeta_left_of_0_begins_with_the_terms_there():
    from scipy import special

    x, q = f32([2, 2, 4, 3, 2.5]), f32([-0.5, -7.25, -3.5, -1.25, -1.5])
    wanted = special.zeta(x.astype(float), q.astype(float))
    np.testing.assert_allclose(jax.jit(lax.zeta)(x, q), wanted, rtol=1e-6)


def test_one_minus_a_small_tail_has_its_digits():
    from scipy import special

    a, x = f32([1e-3, 5, 200]), f32([0.5, 60, 400])
    wanted = special.gammaincc(a.astype(float), x.astype(float))
    np.testing.assert_allclose(jax.jit(lax.igammac)(a, x), wanted, rtol=1e-6)
