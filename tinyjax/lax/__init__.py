"""`jax.lax`: the primitives as functions, one file per family. This file only re-exports them.

Sources: https://docs.jax.dev/en/latest/jax.lax.html, and for each function
https://docs.jax.dev/en/latest/_autosummary/jax.lax.<name>.html
"""

# ruff: noqa: F401
# The names of a family are listed together.
# ruff: isort: skip_file
# fmt: off

from typing import TYPE_CHECKING

from tinyjax.lax.control_flow import (
    cond_rules, remat_rules, scan_reverse, scan_rules, while_lowering, while_rules,
)
from tinyjax.lax.control_flow.associative_scan import associative_scan
from tinyjax.lax.control_flow.cond import cond, cond_p, switch
from tinyjax.lax.control_flow.fori_loop import fori_loop
from tinyjax.lax.control_flow.map import map
from tinyjax.lax.control_flow.scan import scan, scan_p
from tinyjax.lax.control_flow.solves import custom_linear_solve, custom_root
from tinyjax.lax.control_flow.while_loop import while_loop, while_p
from tinyjax.transform.custom.forward_rules import stop_gradient, stop_gradient_p
from tinyjax.lax import scatter_derivatives  # has rules only
from tinyjax.lax.all_gather import all_gather, all_gather_p, psum_scatter, reduce_scatter_p
from tinyjax.lax.arithmetic import (
    abs, abs_p, cbrt, div, div_p, integer_pow, integer_pow_p, max, max_p, min, min_p,
    one_minus_square, one_minus_square_p,
    reciprocal, rem, rem_p, rsqrt, sign, sign_p, sqrt, square, square_p, sub, sub_p,
)
from tinyjax.lax.bitwise import (
    and_p, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, clz, clz_p, not_p, or_p,
    population_count, population_count_p, shift_left, shift_left_p, shift_right_arithmetic,
    shift_right_arithmetic_p, shift_right_logical, shift_right_logical_p, xor_p,
)
from tinyjax.lax.select_and_scatter import select_and_gather_add_p, select_and_scatter_add_p
from tinyjax.lax.comparison import (
    eq, eq_p, eq_to_p, ge, ge_p, gt, le, le_p, le_to_p, lt, lt_p, lt_to_p, ne, ne_p,
)
from tinyjax.lax.complex_numbers import complex, complex_p, conj, conj_p, imag, imag_p, real, real_p
from tinyjax.lax.conversion import (
    bitcast_convert_type, bitcast_convert_type_p, convert_element_type, convert_type, copy, copy_p,
    dtype,
)
from tinyjax.lax.creation import (
    broadcasted_iota, empty, full, full_like, iota, ones_like_array, zeros_like_array,
)
from tinyjax.lax.cumulative import (
    cumlogsumexp, cumlogsumexp_p, cummax, cummax_p, cummin, cummin_p, cumprod, cumprod_p, cumsum,
    cumsum_p,
)
from tinyjax.lax.dot_product import DotDimensionNumbers, batch_matmul, dot, dot_general
from tinyjax.lax.dynamic_slicing import (
    dynamic_index_in_dim, dynamic_slice, dynamic_slice_in_dim, dynamic_slice_p,
    dynamic_update_index_in_dim, dynamic_update_slice, dynamic_update_slice_in_dim,
    dynamic_update_slice_p,
)
from tinyjax.lax.all_to_all_ppermute import (
    all_to_all, all_to_all_p, pbroadcast, pbroadcast_p, ppermute, ppermute_p, pshuffle, pswapaxes,
)
from tinyjax.lax.exponential import (
    acosh, acosh_p, asinh, asinh_p, atanh, atanh_p, cosh, cosh_p, exp, exp2, expm1, log, log1p,
    log2, logistic, pow, pow_p, sinh, sinh_p, tanh,
)
from tinyjax.lax.gathering import gather, gather_p, index_take
from tinyjax.lax.general_reduction import reduce, reduce_p
from tinyjax.lax.joining import (
    concatenate, concatenate_p, split, split_p, stack, stack_p, tile, tile_p, unstack, unstack_p,
)
from tinyjax.lax.log_sums import logaddexp, logaddexp2
from tinyjax.lax.parallel import (
    axis_index, axis_index_p, axis_size, pmax, pmax_p, pmean, pmin, pmin_p, psum, psum_p,
)
from tinyjax.lax.polynomial import polynomial, polynomial_p
from tinyjax.lax.precision import Precision
from tinyjax.lax.reduce_precision import reduce_precision, reduce_precision_p
from tinyjax.lax.reduce_window import (
    reduce_window, reduce_window_max_p, reduce_window_min_p, reduce_window_p, reduce_window_sum_p,
)
from tinyjax.lax.reductions import (
    argmax, argmax_p, argmin, argmin_p, reduce_and, reduce_and_p, reduce_max,
    reduce_min, reduce_or, reduce_or_p, reduce_prod, reduce_prod_p, reduce_sum,
    reduce_xor, reduce_xor_p,
)
from tinyjax.lax.rounding import (
    RoundingMethod, ceil, ceil_p, floor, floor_p, is_finite, is_finite_p, nextafter, nextafter_p,
    round, round_p,
)
from tinyjax.lax.scattering import (
    scatter, scatter_add, scatter_add_p, scatter_apply, scatter_max, scatter_max_p, scatter_min,
    scatter_min_p, scatter_mul, scatter_mul_p, scatter_p, scatter_sub, scatter_sub_p,
)
from tinyjax.lax.selection import clamp, clamp_p, select, select_n, select_n_p
from tinyjax.lax.shape import (
    broadcast, broadcast_in_dim, broadcast_like, broadcast_shapes, broadcast_to_rank, collapse, expand_dims,
    reshape, rev, rev_p, squeeze, squeeze_p, transpose,
)
from tinyjax.lax.slicing import index_in_dim, pad, pad_p, slice, slice_in_dim, slice_p
from tinyjax.lax.sliding_windows import padtype_to_pads, reduce_window_shape_tuple
from tinyjax.lax.sorting import sort, sort_key_val, sort_p, top_k, top_k_p
from tinyjax.lax.special import (
    digamma, digamma_p, erf, erf_inv, erf_inv_p, erf_p, erfc, erfc_p, lgamma, lgamma_p, polygamma,
    polygamma_p,
)
from tinyjax.lax.trigonometric import acos, acos_p, asin, asin_p, atan, atan2, atan2_p, atan_p, tan
from tinyjax.lax.windows import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from tinyjax.core.primitives import add, add_p, cos, gt_p, mul, neg, neg_p, sin, transpose_p

if TYPE_CHECKING:
    from tinyjax.lax.ignored_jax_params import *  # noqa: F403

# Imported on first access: {the module: its names}.
_LAZY_NAMES = {
    "approximate": ("approx_max_k", "approx_min_k", "approx_top_k_p"),
    "tinyjax.many_devices.invariant_collectives": ("pcast",),
    "tinyjax.many_devices.constraints": ("sharding_constraint_p", "with_sharding_constraint"),
    "barriers": ("optimization_barrier", "optimization_barrier_p"),
    "convolution_dims": (
        "ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "conv_dimension_numbers",
        "conv_general_permutations", "conv_general_shape_tuple", "conv_shape_tuple",
        "conv_transpose_shape_tuple",
    ),
    "convolution_functions": (
        "conv", "conv_general_dilated", "conv_general_dilated_local",
        "conv_general_dilated_patches", "conv_transpose", "conv_with_general_padding",
    ),
    "fourier": ("FftType", "fft", "fft_p"),
    "incomplete_gamma": (
        "igamma", "igamma_grad_a", "igamma_grad_a_p", "igamma_p", "igammac", "igammac_p",
        "random_gamma_grad",
    ),
    "platforms": ("platform_dependent",),
    "special_on_host": (
        "bessel_i0e", "bessel_i0e_p", "bessel_i1e", "bessel_i1e_p", "betainc",
        "regularized_incomplete_beta_p", "zeta", "zeta_p",
    ),
    "ignored_jax_params": (
        "broadcast_in_dim_p", "cbrt_p", "conv_general_dilated_p", "convert_element_type_p", "cos_p",
        "dot_general_p", "exp_p", "exp2_p", "expm1_p", "iota_p", "log_p", "log1p_p", "log2_p", "logistic_p",
        "mul_p", "reduce_max_p", "reduce_min_p", "reduce_sum_p",
        "reshape_p", "rsqrt_p", "sin_p", "sqrt_p", "tan_p", "tanh_p",
    ),
}
