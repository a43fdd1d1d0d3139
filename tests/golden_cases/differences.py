"""Where tinyjax is not yet, or on purpose not, like the recorded JAX. The tests read this list.

NOT_YET: functions that tinyjax does not have. Calls that use one are skipped, and a test fails as
    soon as the function exists, so that its line here is taken out.
DIFFERENCES: single cases (their test id) that give another result, and why that is right. They are
    expected to fail; one that passes is an error.
"""

import re

import pytest

NOT_YET: dict[str, str] = {}

ACCURACY_MODE = "JAX asks for the most accurate of XLA's functions; here there is one"
ADDED_ZEROS = "JAX adds zeros to the cotangent, which are not weakly typed"
ADDED_WEAK = (
    "JAX gives a traced sum of cotangents the weak type of the first; here both must be weak"
)
AT_INFINITY = "a limit, where JAX gives NaN"
CLOSED_CALL = "JAX puts the known loop into a closed_call, of which tinyjax has no need"
CLONED_KEY = (
    "two methods get the same key and one result is kept: it is cloned for jax_debug_key_reuse"
)
DEAD_IN_BRANCHES = "JAX leaves equations in the branches whose results nothing reads"
EMPTY_CALL = "JAX leaves a call of an empty jaxpr where nothing is left to compute again"
LITERAL_RESIDUAL = "JAX hands a literal 0.0 on as a residual; here it stays where it is used"
LITERAL_OF_JIT = "JAX hands a literal on as a result of the jitted function that it stands in"
MASK_TIMES_NAN = (
    "XLA turns a product with a converted bool into a select, which gives 0; by IEEE 754 it is NaN, as it is "
    "in JAX for a mask of floats"
)
NEARER = "JAX is further from the true value"
NAN_AT_END = (
    "JAX multiplies the logarithm of 0 by 0 where x is 0 and df is 2; the density is 1/2 there"
)
NUMPY_SCALAR = (
    "JAX lists Python's numbers and not NumPy's, which are alike once jnp has converted them"
)
ONE_MEMORY = "a device has one memory: what JAX moves to the host's is saved where it is"
OPENED_BY_CHECKIFY = (
    "checkify opens a function with a rule here, and differentiates what it computes"
)
PACKAGE_NAME = "the class says which package it is from"
PYTHON_SCALAR = "JAX wraps a Python scalar that passes through unchanged; here it stays one"
READ_AGAIN = "JAX takes the same elements from a matrix several times"
SUM_BY_OPERATION = (
    "JAX sums an operation's cotangents in its operands' order; here each equation's alone"
)
CLAMPED_INDEX = "JAX clamps the index of a transposed select of two cases"
SPLIT_SQUARE = "JAX computes exp(-x**2) in two parts, for the last digits of large x"
SUM_OVER_NO_AXES = "JAX sums a transposed product over no axes"
TRANSPOSED_FIRST = "JAX's reshape may read its operand in another order; here a transpose does that"
ZERO_SIGN = "-0.0 and 0.0 are equal, so either may be the smaller one"

DIFFERENCES: dict[str, str] = {
    "grad of grad of f": SUM_BY_OPERATION,
    "grad of polynomial": SUM_BY_OPERATION,
    "grad argnums": SUM_BY_OPERATION,
    "grad has_aux": SUM_BY_OPERATION,
    "grad holomorphic": SUM_BY_OPERATION,
    "callbacks: grad of debug.print": SUM_BY_OPERATION,
    "grad of vmap of cond": CLAMPED_INDEX,
    "optimization_barrier in grad": SUM_BY_OPERATION,
    "complex, grad of real part": SUM_BY_OPERATION,
    "jnp.linalg.det 2 x 2": READ_AGAIN,
    "jnp.linalg.det 3 x 3": READ_AGAIN,
    "checkify: by_argument(jax.nn.relu)(2.0)": OPENED_BY_CHECKIFY,
    "custom_root: jax.grad(sqrt)(2.0)": ADDED_ZEROS,
    "custom_root: jax.grad(jax.grad(sqrt))(2.0)": ADDED_ZEROS,
    "grad of lax.erf": SPLIT_SQUARE,
    "refs: jnp.arange(10)[jax.ds(1, 3, 2)]": "JAX takes 2 elements of 3, as it ends before start + size",
    "refs: with_refs, of scan": "JAX adds to the Ref in the loop, slice by slice; here after it",
    "special.rel_entr": ACCURACY_MODE,
    "special.kl_div": ACCURACY_MODE,
    "random.poisson": CLONED_KEY,
    "checkpoint of jit, grad, everything": EMPTY_CALL,
    "checkpoint, of cond": DEAD_IN_BRANCHES,
    "checkpoint, of cond, everything": DEAD_IN_BRANCHES,
    "checkpoint, of scan": CLOSED_CALL,
    "checkpoint, of scan, everything": CLOSED_CALL,
    "checkpoint: jax.grad(jax.grad(lambda c: lax.scan(remat(step), c, v)[0]))(0.5)": ADDED_WEAK,
    "derivatives of scan: jax.grad(total(cumsum), (0, 1))(1.0, v)": ADDED_WEAK,
    "derivatives of scan: jax.grad(total(deep), (0, 1))(0.5, m)": ADDED_WEAK,
    "derivatives of scan: jax.jit(jax.grad(total(deep), (0, 1)))(0.5, m)": ADDED_WEAK,
    "grad of conv in batch groups": TRANSPOSED_FIRST,
    "grad of conv in feature groups": TRANSPOSED_FIRST,
    "vmap of conv in feature groups, kernels": TRANSPOSED_FIRST,
    "vmap of conv, both": TRANSPOSED_FIRST,
    "grad of scan of jit": EMPTY_CALL,
    "grad of var": LITERAL_RESIDUAL,
    "grad through pad": LITERAL_RESIDUAL,
    "jnp.diag of matrix": "JAX has a branch for TPU kernels in it, which no other platform takes",
    "jnp.linalg.inv": SUM_OVER_NO_AXES,
    "jnp.linalg.solve": SUM_OVER_NO_AXES,
    "jnp.linalg.solve of a vector": SUM_OVER_NO_AXES,
    "matrix exponentials: sl.expm(a + 1j * a.T)": NEARER,
    "saved: a NumPy scalar": NUMPY_SCALAR,
    "saved: policy dots offloaded": ONE_MEMORY,
    "saved: policy dots offloaded, of batches": ONE_MEMORY,
    "saved: policy dots, of jit": "JAX does not know the line of the call that it has split",
    "saved: policy names offloaded": ONE_MEMORY,
    "saved: var": LITERAL_OF_JIT,
    "sparse, sparsify: parts(sparse.sparsify(lambda a, b: a+b)(S, S))": (
        "JAX does not see that two arguments have their elements at the same places"
    ),
    "special functions at edges: sp.expi(edges)": AT_INFINITY,
    "special functions at edges: sp.polygamma(1, edges)": AT_INFINITY,
    "lax elementwise: lax.digamma(f32([0.5, 1, 2, 3.5, 10]))": NEARER,
    "lax elementwise: lax.min(edges, f32(0))": ZERO_SIGN,
    "jnp reductions: jnp.percentile(w, 30)": NEARER,
    "products with a mask: b8([0, 1]) * f32([nan, 2])": MASK_TIMES_NAN,
    "products with a mask: jax.jit(lambda mask, x: mask * x)(b8([0, 1]), f32([inf, 2]))": (
        MASK_TIMES_NAN
    ),
    "repr: repr(jnp.float32)": PACKAGE_NAME,
    "repr: repr(jnp.bfloat16)": PACKAGE_NAME,
    "jvp, vjp, jacobians, hessians: jax.vjp(lambda x: (x, x + 1), 1.0, has_aux=True)[::2]": (
        PYTHON_SCALAR
    ),
    "jvp, vjp, jacobians, hessians: jax.value_and_grad(lambda x: (x * x, x), has_aux=True)(2.0)": (
        PYTHON_SCALAR
    ),
    **{
        f"densities: stats.chi2.{call}": NAN_AT_END
        for call in (
            "logpdf(x, f32([3, 2, 0.5, 4]), loc1, scale1)",
            "pdf(x, f32([3, 2, 0.5, 4]), loc1, scale1)",
        )
    },
}


def not_yet(code):
    """Why a call cannot run yet, or None."""
    for name, reason in NOT_YET.items():
        if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", code):
            return f"{name}: {reason}"
    return None


def marks(case_id, call):
    """The marks of a case's test: skipped or expected to fail, if it is listed here."""
    if reason := not_yet(call):
        return [pytest.mark.skip(reason=reason)]
    if case_id in DIFFERENCES:
        return [pytest.mark.xfail(reason=DIFFERENCES[case_id], strict=True)]
    return []
