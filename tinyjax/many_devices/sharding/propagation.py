"""How results are split: from the way operands are, by one table with an entry for each primitive.

After this file you can say along which mesh axes each axis of a result lies. The rules, two here and the
others in axes.py, say what becomes of the operands' axes. Then "an axis that survives keeps what it is
split over; the first claim wins". What the table does not have gives results that are whole everywhere,
which is right for any program: how a value is split never changes it. types.py refuses what types can't
say. Builds on axes and reshaping.

Source: https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
"""

from __future__ import annotations

from typing import Any

from tinyjax.many_devices.sharding.axes import (
    Axes,
    Rule,
    Shape,
    Source,
    Spec,
    Use,
    along,
    broadcast_in_dim,
    clamp,
    concatenate,
    convolution,
    each,
    elementwise,
    gather,
    gather_windows,
    matrices,
    nothing,
    of_keys,
    reduction,
    same_axes,
    scatter,
    scatter_windows,
    select,
    split_sums,
    squeeze,
    stack,
    triangular_solve,
    unstack,
    update_slice,
    whole,
)
from tinyjax.many_devices.sharding.reshaping import reshaped

# ---- two rules ----


def transpose(use: Use) -> Axes:
    """Axis i of the result is axis permutation[i] of the operand."""
    return Axes([[[(0, axis)] for axis in use.params["permutation"]]])


def dot_general(use: Use) -> Axes:
    """The batch axes, which are axes of both operands; then the others of lhs, then those of rhs, in order,
    but for those that are summed over: `split_sums` says which of these types can't have split."""
    (lhs_summed, rhs_summed), (lhs_batch, rhs_batch) = use.params["dimension_numbers"]
    batch = [[(0, a), (1, b)] for a, b in zip(lhs_batch, rhs_batch)]
    lhs = [a for a in range(len(use.shapes[0])) if a not in (*lhs_summed, *lhs_batch)]
    rhs = [b for b in range(len(use.shapes[1])) if b not in (*rhs_summed, *rhs_batch)]
    whole = split_sums(use, list(lhs_summed), list(rhs_summed))
    return Axes([[*batch, *[[(0, a)] for a in lhs], *[[(1, b)] for b in rhs]]], whole)


# ---- the table ----

ELEMENTWISE = """
abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e bessel_jv cbrt ceil clz
complex complex_digamma complex_loggamma conj convert_element_type copy cos cosh cosine_integral dawsn
digamma div eq eq_to erf erf_inv erfc erfcx exp exp2 expi expm1 expn floor fresnel_cosine fresnel_sine ge gt
hyp1f1 hyp1f1_slope0 hyp1f1_slope1 hyp2f1 hyp2f1_slope0 hyp2f1_slope1 hyp2f1_slope2 igamma igamma_grad_a
igammac imag integer_pow is_finite le le_to lgamma log log1p logistic lt lt_to max min mul name ndtri ne neg
nextafter not or owens_t poch polygamma population_count pow random_clone random_fold_in random_gamma
random_gamma_grad random_seed real reduce_precision regularized_incomplete_beta rem round rsqrt shift_left
shift_right_arithmetic shift_right_logical sign sin sine_integral sinh spence
spherical_harmonic_polar_part sqrt square stop_gradient sub tan tanh threefry2x32 wofz xor zeta
""".split()
REDUCTIONS = """
argmax argmin reduce reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor
""".split()
WINDOWS = """
bitcast_convert_type dynamic_slice fft pad reduce_window reduce_window_max reduce_window_min
reduce_window_sum rev slice split tile
""".split()
SCATTERS = "scatter scatter-add scatter-max scatter-min scatter-mul scatter-sub".split()
CUMULATIVE = "cumlogsumexp cummax cummin cumprod cumsum".split()
ONE_BY_ONE = "optimization_barrier pbroadcast pmax pmin ppermute psum psum_invariant pvary".split()
OF_THE_HOST = "axis_index debug_callback debug_print empty2 io_callback iota pure_callback".split()
OF_KEYS = "random_bits random_split random_unwrap random_wrap".split()
_SORTED = "Arguments to sort must be unsharded over the sorting dimension."
_SUMMED = "Input should be unsharded over the axis being reduced."
_BEST = "The input should be unsharded over the axis along which to find the largest elements."
_ABOUT_BEST = "reduction dimension {axis} of an approximate top_k must be unsharded."

rules: dict[str, Rule] = {
    **dict.fromkeys(ELEMENTWISE, elementwise),
    **dict.fromkeys(REDUCTIONS, reduction),
    **dict.fromkeys(WINDOWS, same_axes),
    **dict.fromkeys(SCATTERS, scatter),
    **dict.fromkeys(CUMULATIVE, along("axis", _SUMMED)),
    **dict.fromkeys(ONE_BY_ONE, each),
    **dict.fromkeys(OF_THE_HOST, nothing),
    **dict.fromkeys(OF_KEYS, of_keys),
    **dict.fromkeys(("cholesky", "eig", "eigh", "lu", "qr", "svd"), matrices(2)),
    **dict.fromkeys(("geqrf", "hessenberg", "schur", "tridiagonal"), matrices(2)),
    "approx_top_k": along("reduction_dimension", _ABOUT_BEST),
    "broadcast_in_dim": broadcast_in_dim,
    "clamp": clamp,
    "concatenate": concatenate,
    "conv_general_dilated": convolution,
    "dot_general": dot_general,
    "dynamic_update_slice": update_slice,
    "gather": gather,
    "householder_product": matrices(2, 1),
    "lu_pivots_to_permutation": matrices(1),
    "ormqr": matrices(2, 1, 2),
    "select_and_gather_add": gather_windows,
    "select_and_scatter_add": scatter_windows,
    "select_n": select,
    "sort": along("dimension", _SORTED),
    "squeeze": squeeze,
    "stack": stack,
    "symmetric_product": matrices(2, 2),
    "top_k": along("axis", _BEST),
    "transpose": transpose,
    "triangular_solve": triangular_solve,
    "tridiagonal_solve": matrices(1, 1, 1, 2),
    "unstack": unstack,
}
# What types can't be told of: a program that has such arrays calls these within `auto_axes`.
WITHOUT_RULE = """
all_gather all_gather_invariant all_to_all cholesky_update reduce_scatter
""".split()


# ---- from axes to specs ----


def propagate(use: Use) -> list[Spec]:
    """The specs of the results. What is not split into equal parts, or over a mesh axis that an axis
    before it has, is whole."""
    if use.name == "reshape":
        return [reshaped(use) or whole(use.out_shapes[0])]
    rule = rules.get(use.name)
    if rule is None or not any(any(spec) for spec in use.specs):
        return [whole(shape) for shape in use.out_shapes]
    results = rule(use).results
    return [_first_claims(use, axes, shape) for axes, shape in zip(results, use.out_shapes)]


def _first_claims(use: Use, axes: list[list[Source]], shape: Shape) -> Spec:
    """The spec of a result, given what its axes are. Each is split as the first of its sources whose claim
    fits: that is split at all, into equal parts, over mesh axes of which no axis before has any. Else: ()."""
    spec: list[tuple] = []
    taken: set[Any] = set()
    for sources, size in zip(axes, shape):
        claims = (use.specs[operand][axis] for operand, axis in sources)
        fitting = (c for c in claims if c and not taken & {*c} and size % use.parts(c) == 0)
        names = next(fitting, ())
        taken.update(names)
        spec.append(names)
    return tuple(spec)
