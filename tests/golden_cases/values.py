"""Calls whose value, dtype, shape and weak type must equal JAX's; see codec.Group."""
from golden_cases.codec import Group

# ---- elementwise ----

_REAL = "sin cos tan arctan sinh cosh tanh arcsinh exp exp2 expm1 cbrt sinc deg2rad rad2deg".split()
_POSITIVE = "log log2 log10 log1p sqrt reciprocal".split()
_UNIT = "arcsin arccos arctanh".split()
_EXACT = ("floor ceil trunc rint round sign abs fabs negative positive square "
          "signbit isnan isinf isfinite isposinf isneginf logical_not nan_to_num").split()
_OF_INTS = ("sin exp log1p sqrt cbrt reciprocal floor ceil rint round sign abs negative positive "
            "square isnan isfinite logical_not invert bitwise_count nan_to_num "
            "bitwise_not").split()
_OF_COMPLEX = ("sin cos tan tanh sinh cosh exp expm1 log log1p sqrt square reciprocal abs negative "
               "sign conj real imag angle arcsin arctan isnan isfinite logical_not").split()
_OF_SCALARS = "sin exp sqrt abs negative floor sign square reciprocal isnan round".split()

ELEMENTWISE = [
    Group("jnp transcendental", [
        *(f"jnp.{f}(reals)" for f in _REAL),
        *(f"jnp.{f}(edges)" for f in _REAL if f not in ("sin", "cos", "tan", "sinc")),
        *(f"jnp.{f}(f32([-inf, inf, nan, -0.0, 0]))" for f in ("sin", "cos", "tan")),
        *(f"jnp.{f}({x})" for f in _POSITIVE for x in ("jnp.abs(reals)", "edges")),
        *(f"jnp.{f}({x})" for f in _UNIT for x in ("unit", "edges")),
        "jnp.arccosh(f32([1, 1.5, 2, 100]))", "jnp.arccosh(edges)", "jnp.sin(f32([100, 1e4]))",
        "jnp.log1p(f32([1e-7, -1e-7]))", "jnp.expm1(f32([1e-7, -1e-7]))",
    ], ulps=8),
    Group("jnp elementwise, exact", [
        f"jnp.{f}({x})" for f in _EXACT for x in ("reals", "edges")], ulps=0),
    Group("jnp elementwise of float16", [
        f"jnp.{f}(halves)" for f in _REAL + _POSITIVE + _EXACT if f != "sinc"], ulps=2),
    Group("jnp elementwise of bfloat16", [
        f"jnp.{f}(bf16([-1.5, 0.5, 3]))" for f in ("sin", "exp", "tanh", "abs", "floor", "square")],
        ulps=1),
    Group("jnp elementwise of ints", [f"jnp.{f}(ints)" for f in _OF_INTS], ulps=8),
    Group("jnp elementwise of uint8", [f"jnp.{f}(bytes8)" for f in _OF_INTS], ulps=8),
    Group("jnp elementwise of bools", [
        f"jnp.{f}(bools)" for f in ("sin exp sqrt abs floor isnan logical_not invert").split()
    ], ulps=8),
    Group("jnp elementwise of complex", [f"jnp.{f}(complexes)" for f in _OF_COMPLEX], ulps=8,
          scaled=True),
    Group("jnp elementwise of Python scalars", [
        f"jnp.{f}({x})" for f in _OF_SCALARS for x in ("2", "-1.5", "True")
        if (f, x) not in (("negative", "True"), ("sign", "True"), ("round", "True"))], ulps=8),
    Group("lax elementwise", [
        *(f"lax.{f}(unit)" for f in ("erf erfc erf_inv logistic tanh sin cos exp expm1 asin "
                                     "atan sinh asinh cbrt square is_finite floor").split()),
        "lax.erf(reals)", "lax.erfc(reals)", "lax.logistic(reals)", "lax.logistic(edges)",
        "lax.erf(edges)", "lax.lgamma(f32([0.5, 1, 2, 3.5, 10]))",
        "lax.digamma(f32([0.5, 1, 2, 3.5, 10]))", "lax.rsqrt(f32([0.25, 1, 2, 9]))",
        "lax.round(f32([-2.5, -0.5, 0.5, 1.5, 2.5]))",
        "lax.round(f32([-2.5, -0.5, 0.5, 1.5, 2.5]), lax.RoundingMethod.TO_NEAREST_EVEN)",
        "lax.integer_pow(reals, 3)", "lax.integer_pow(reals, -2)", "lax.integer_pow(ints, 4)",
        "lax.pow(jnp.abs(reals), f32(1.7))", "lax.pow(reals, 2)", "lax.rem(reals, f32(2))",
        "lax.rem(ints, i32(3))", "lax.rem(ints, i32(0))", "lax.div(ints, i32(2))",
        "lax.div(ints, i32(-2))", "lax.population_count(bytes8)", "lax.clz(u32([0, 1, 256]))",
        "lax.clz(bytes8)", "lax.nextafter(f32([1, 0, -1]), f32(2))", "lax.sign(edges)",
        "lax.bitcast_convert_type(f32([1, -2, 0]), jnp.uint32)", "lax.max(edges, f32(0))",
        "lax.min(edges, f32(0))", "lax.shift_right_logical(i32([-8, 8]), i32(1))",
        "lax.shift_right_arithmetic(i32([-8, 8]), i32(1))", "lax.shift_left(i32(1), i32(31))",
        "lax.shift_left(i32([1, 1]), i32([32, 40]))", "lax.clamp(-1.0, reals, 1.0)",
        "lax.clamp(f32(-1), edges, f32(1))", "lax.select(bools, v, w)",
        "lax.select_n(i32([0, 1, 2]), v, w, -v)", "lax.convert_element_type(reals, jnp.int32)",
        "lax.reduce_precision(f32([1.2345678, 3e38]), 5, 10)", "lax.complex(v, w)",
        "lax.atan2(f32([0, -0.0, 1, -1]), f32([-1, -1, 0, 0]))", "lax.conj(complexes)",
    ], ulps=8),
]

# ---- two operands ----

_ARITHMETIC = "add subtract multiply divide floor_divide remainder power maximum minimum".split()
_COMPARE = "equal not_equal less less_equal greater greater_equal".split()
_BITS = "bitwise_and bitwise_or bitwise_xor".split()
_NONZERO_PAIRS = [
    "reals, f32(2)", "reals, -1.5", "ints, 2", "ints, i32(-3)", "ints, 2.0", "bytes8, 3",
    "bytes8, u8(7)", "halves, f32(2)", "halves, 2", "m, v", "i8([100, -100, 7]), i8([3, 3, 2])",
]
_PYTHON_OPERATORS = [
    "v + 1", "1 + v", "v - 1.5", "1 - v", "2 * ints", "ints * 2.0", "ints / 2", "2 / v", "v / w",
    "ints // 2", "ints // -2", "ints % 3", "ints % -3", "7 // ints[:2]", "-7 % i32(3)",
    "reals // 2",
    "reals % 2", "reals % -2", "divmod(ints, 3)", "divmod(7.5, v)", "v ** 2", "v ** -1", "v ** 0.5",
    "2 ** v", "2 ** ints[4:]", "ints ** 2", "v ** w", "f32(0) ** 0", "i32(0) ** 0", "-v", "+v",
    "abs(w)", "~ints", "~bools", "-bytes8", "v @ w", "m @ n", "v @ n", "m @ v", "v < w", "v <= 2",
    "2 > v", "v >= w", "v == 2", "v != w", "ints & 6", "ints | 8", "ints ^ 5", "1 | ints",
    "bools & True", "bools ^ bools", "ints << 2", "ints >> 1", "bytes8 >> 1", "bytes8 << 1",
    "1 << i32([0, 5, 30])", "v + w[:, None]", "bools + bools", "bools * 2", "bools + 1.5",
    "complexes * 2", "complexes + 1j", "complexes / (1 + 1j)", "complexes ** 2", "abs(complexes)",
    "round(reals)", "round(f32([1.26, -1.25]), 1)", "round(ints)", "i8(127) + i8(1)",
    "u8(0) - u8(1)", "i32(2**31 - 1) + 1", "i32(-2**31) // -1", "ints // 0", "ints % 0", "v / 0",
    "i8(100) * 3", "v + np.float32(2)", "v + np.ones(3)", "ints + np.int64(3)",
    "f16(1) + np.float32(1)", "i8([1]) + np.arange(1)", "np.ones(3, np.float32) * v",
    "i32(7) / 2", "b8(True) / b8(True)", "v == None", "v.__eq__('a')", "v + True",
]
BINARY = [
    Group("jnp arithmetic of two", [
        f"jnp.{f}({pair})" for f in _ARITHMETIC for pair in _NONZERO_PAIRS
        if (f, pair) != ("power", "ints, i32(-3)")], ulps=8),
    Group("jnp comparison of two", [
        f"jnp.{f}({pair})" for f in _COMPARE
        for pair in ("reals, 1", "edges, edges", "ints, 2.0", "bytes8, 127", "bools, True")]),
    Group("jnp bits and logic of two", [
        *(f"jnp.{f}({pair})" for f in _BITS for pair in ("ints, 6", "bytes8, 5", "bools, True")),
        *(f"jnp.logical_{f}({pair})" for f in ("and", "or", "xor")
          for pair in ("bools, False", "ints, 1", "v, 0.0")),
        "jnp.left_shift(ints, 3)", "jnp.right_shift(ints, 1)", "jnp.right_shift(bytes8, 2)",
        "jnp.left_shift(bytes8, 9)", "jnp.right_shift(ints, 40)", "jnp.gcd(ints, 6)",
        "jnp.lcm(ints, 4)",
    ]),
    Group("jnp other functions of two", [
        "jnp.arctan2(f32([1, -1, 0, -0.0]), f32([-1, -1, -1, -1]))", "jnp.hypot(v, w)",
        "jnp.logaddexp(v, w)", "jnp.logaddexp(edges, 0.0)", "jnp.logaddexp2(v, w)",
        "jnp.fmod(reals, 2)", "jnp.fmod(ints, 3)", "jnp.fmod(ints, -3)", "jnp.mod(reals, 1.5)",
        "jnp.remainder(edges, 2.0)", "jnp.fmax(edges, 0)", "jnp.fmin(edges, 0)",
        "jnp.maximum(edges, 0)", "jnp.minimum(0, edges)", "jnp.copysign(reals, -1)",
        "jnp.heaviside(edges, 0.5)", "jnp.float_power(ints[5:], 2)", "jnp.nextafter(v, w)",
        "jnp.power(ints[5:], 3)", "jnp.power(f32([0, 0, 2]), f32([0, 2, -1]))",
        "jnp.power(edges, 2)", "jnp.power(edges, 0.5)", "jnp.power(2, 3)", "jnp.power(2.0, 3)",
        "jnp.ldexp(v, ints[6:])", "jnp.divmod(reals, 2)", "jnp.divmod(ints, -2)", "jnp.modf(reals)",
        "jnp.frexp(v)", "jnp.true_divide(ints, 2)", "jnp.add(1, 2)", "jnp.add(1, 2.0)",
        "jnp.add(True, False)", "jnp.multiply(2, True)",
        "jnp.equal(nan, nan)", "jnp.isclose(v, v + 1e-6)", "jnp.allclose(v, v)",
        "jnp.array_equal(v, v)", "jnp.array_equal(v, m)", "jnp.array_equiv(v, m)",
        "jnp.clip(reals, -1, 1)", "jnp.clip(ints, 0, 2.5)", "jnp.clip(reals, min=0)",
        "jnp.clip(edges, max=1.0)", "jnp.clip(bytes8, 3, 200)", "jnp.where(bools, v, w)",
        "jnp.where(bools, v, 0)", "jnp.where(bools, 1, 2.0)", "jnp.where(bools, ints[:3], 1.5)",
        "jnp.where(True, v, m)", "jnp.where(ints, ints, -1)", "jnp.where(bools)",
        "jnp.where(bools[:, None], v, 0)", "jnp.select([v < 2, v > 2], [v, w], 7)",
        "jnp.piecewise(reals, [reals < 0, reals >= 1], [-1.0, 1.0, 0.0])",
        "jnp.interp(f32([0.5, 1.5, 9]), v, w)", "jnp.polyval(v, w)",
        "jnp.convolve(v, w)", "jnp.convolve(v, w, mode='same')", "jnp.correlate(v, w)",
    ], ulps=8),
    Group("operators of Python", _PYTHON_OPERATORS, ulps=4),
]

# ---- reductions, cumulative functions, sorting ----

_REDUCE = "sum prod max min mean var std any all argmax argmin count_nonzero".split()
_NAN_REDUCE = "nansum nanprod nanmax nanmin nanmean nanvar nanstd nanargmax nanargmin".split()
_AXES = ["m", "m, axis=0", "m, axis=-1", "m, axis=1, keepdims=True"]
REDUCTIONS = [
    Group("jnp reductions", [
        *(f"jnp.{f}({a})" for f in _REDUCE for a in _AXES),
        *(f"jnp.{f}({x})" for f in _REDUCE for x in ("im", "bm", "hm", "bytes8", "nans")),
        *(f"jnp.{f}(t, axis=(0, 2))" for f in _REDUCE if not f.startswith("arg")),
        *(f"jnp.{f}(empty)" for f in ("sum", "prod", "any", "all", "mean", "var")),
        *(f"jnp.{f}(jnp.zeros((0, 3)), axis=1)" for f in ("sum", "max", "mean", "argmax")),
        *(f"jnp.{f}(2.5)" for f in ("sum", "max", "mean", "any", "argmax")),
        *(f"jnp.{f}(3)" for f in ("sum", "prod", "min", "mean")),
        *(f"jnp.{f}(i8([100, 100]))" for f in ("sum", "prod", "mean", "max")),
        *(f"jnp.{f}(complexes)" for f in ("sum", "prod", "mean", "max", "min", "var", "any")),
        "jnp.sum(m, where=m > 2)", "jnp.sum(m, initial=10)", "jnp.sum(m, axis=1, initial=0.5)",
        "jnp.prod(m, where=m > 2, axis=0)", "jnp.max(m, where=m < 4, initial=0)",
        "jnp.max(m, initial=100)", "jnp.min(m, axis=0, where=m > 1, initial=9)",
        "jnp.max(empty, initial=-1)", "jnp.mean(m, where=m > 2)", "jnp.mean(m, axis=0, where=bm)",
        "jnp.any(bm, axis=0)", "jnp.all(bm, axis=1, keepdims=True)", "jnp.any(m, where=bm)",
        "jnp.all(m, where=bm, axis=0)", "jnp.var(m, ddof=1)", "jnp.std(m, axis=0, ddof=1)",
        "jnp.var(m, where=bm)", "jnp.sum(m, dtype=jnp.int32)", "jnp.sum(im, dtype=jnp.float32)",
        "jnp.sum(m, dtype=jnp.float16)", "jnp.mean(im, dtype=jnp.float16)", "jnp.sum(m, axis=())",
        "jnp.sum(bools)", "jnp.sum(u8([255, 255]))", "jnp.sum(f16([60000, 60000, -60000]))",
        "jnp.mean(f16([60000, 60000]))", "jnp.sum(bf16([1, 2, 3]))", "jnp.ptp(m, axis=1)",
        "jnp.average(m)", "jnp.average(m, axis=1, weights=v)", "jnp.median(w)",
        "jnp.median(m, axis=1)", "jnp.median(f32([4, 1, 3, 2]))", "jnp.quantile(w, 0.25)",
        "jnp.quantile(m, f32([0.1, 0.9]), axis=1)", "jnp.percentile(w, 30)", "jnp.amax(m, axis=0)",
        "jnp.amin(m)", "jnp.argmax(f32([1, 3, 3]))", "jnp.argmin(f32([2, 1, 1]))",
        "jnp.argmax(f32([1, nan, 3, nan]))", "jnp.argmax(m, axis=0, keepdims=True)",
        "jnp.argmax(bools)", "jnp.trace(sq)", "jnp.trace(sq, offset=1)",
    ], ulps=8),
    Group("jnp reductions that skip NaN", [
        f"jnp.{f}({a})" for f in _NAN_REDUCE for a in ("nans[:, :2]", "m, axis=1", "nans.T[0]")
    ], ulps=8),
    Group("jnp cumulative", [
        *(f"jnp.{f}({a})" for f in ("cumsum", "cumprod") for a in (
            "m", "m, axis=0", "im, axis=1", "bools", "hm, axis=1", "empty",
            "i8([100, 100])", "f32([1, nan, 2])")),
        "jnp.cumsum(m, dtype=jnp.int32)", "jnp.nancumsum(nans[:, :2])",
        "lax.cumsum(v, reverse=True)",
        "lax.cummax(w)", "lax.cummin(w)", "lax.cummax(w, reverse=True)", "lax.cumprod(v)",
        "lax.cumlogsumexp(w)", "jnp.diff(w)", "jnp.diff(m, axis=0)", "jnp.diff(w, n=2)",
        "jnp.ediff1d(w)", "jnp.trapezoid(w)", "jnp.gradient(w)",
    ], ulps=8),
    Group("jnp sorting and sets", [
        "jnp.sort(w)", "jnp.sort(im)", "jnp.sort(im, axis=0)", "jnp.sort(im, axis=None)",
        "jnp.sort(w, descending=True)", "jnp.sort(edges)", "jnp.sort(bools)", "jnp.sort(bytes8)",
        "jnp.argsort(w)", "jnp.argsort(im)", "jnp.argsort(im, axis=0)",
        "jnp.argsort(f32([2, 1, 2, 1]))",
        "jnp.argsort(f32([2, 1, 2, 1]), descending=True)", "jnp.argsort(f32([1, nan, 0]))",
        "jnp.lexsort((v, w))", "lax.sort((i32([2, 1, 2]), v), num_keys=1)", "lax.top_k(w, 2)",
        "lax.top_k(im, 1)", "jnp.searchsorted(x5, f32([5, 20, 45, 99]))",
        "jnp.searchsorted(x5, f32([20, 30]), side='right')", "jnp.unique(i32([3, 1, 3, 2]))",
        "jnp.unique(i32([3, 1, 3]), size=4, fill_value=0)",
        "jnp.unique(i32([3, 1, 3]), return_counts=True, return_inverse=True)",
        "jnp.nonzero(i32([0, 3, 0, 5]))", "jnp.nonzero(bm)", "jnp.nonzero(i32([0, 3]), size=3)",
        "jnp.flatnonzero(bm)", "jnp.argwhere(bm)", "jnp.bincount(i32([1, 1, 3]))",
        "jnp.bincount(i32([1, 1, 3]), length=6)", "jnp.histogram(w, bins=2)",
        "jnp.digitize(w, f32([0, 5]))", "jnp.isin(ints, i32([1, 2]))", "jnp.partition(w, 1)",
        "jnp.intersect1d(ints, i32([1, 2, 9]))", "jnp.union1d(i32([1]), i32([3, 1]))",
    ]),
]

# ---- creation, casts, dtypes ----

CREATION = [
    Group("jnp creation", [
        "jnp.zeros(3)", "jnp.zeros((2, 1), int)", "jnp.ones(2, jnp.float16)", "jnp.ones(())",
        "jnp.full(2, 7)", "jnp.full((1, 2), 1.5)", "jnp.full(2, 7, jnp.uint8)",
        "jnp.full(2, v[:2])",
        "jnp.empty(2)", "jnp.zeros_like(m)", "jnp.zeros_like(3)", "jnp.ones_like(im, dtype=bool)",
        "jnp.full_like(m, 2)", "jnp.full_like(im, 2.7)", "jnp.zeros_like(weak(1))", "jnp.arange(4)",
        "jnp.arange(4.0)", "jnp.arange(1, 7, 2)", "jnp.arange(5, 0, -2)", "jnp.arange(0, 1, 0.25)",
        "jnp.arange(3, dtype=jnp.float16)", "jnp.arange(0)", "jnp.linspace(0, 1, 5)",
        "jnp.linspace(0, 1, 4, endpoint=False)", "jnp.linspace(0, 10, 3, dtype=int)",
        "jnp.linspace(0, 1, 3, retstep=True)", "jnp.linspace(0, 1, 1)", "jnp.linspace(v, w, 3)",
        "jnp.logspace(0, 2, 3)", "jnp.geomspace(1, 100, 3)", "jnp.eye(3)", "jnp.eye(2, 3, k=1)",
        "jnp.identity(2, int)", "jnp.tri(3)", "jnp.tril(sq)", "jnp.triu(sq, k=1)", "jnp.diag(v)",
        "jnp.diag(sq)", "jnp.diag(v, k=-1)", "jnp.diagonal(m)", "jnp.diagflat(m)", "jnp.vander(v)",
        "jnp.meshgrid(v, w)", "jnp.meshgrid(v, w[:2], indexing='ij')", "jnp.indices((2, 2))",
        "jnp.mgrid[0:2, 0:3]", "jnp.ogrid[0:2, 0:3]", "jnp.tril_indices(3)",
        "jnp.triu_indices(3, 1)",
        "jnp.diag_indices(2)", "jnp.array([1, 2])", "jnp.array([1, 2.5])", "jnp.array(3)",
        "jnp.array(3.0)", "jnp.array(True)", "jnp.array([])", "jnp.array([[1, 2], [3, 4]], float)",
        "jnp.array([v[0], 1, 2])", "jnp.array([v, w])", "jnp.array(v, dtype=int)",
        "jnp.array(np.arange(3))", "jnp.array(np.float64(1.5))", "jnp.array([1, 2j])",
        "jnp.array(v, ndmin=2)", "jnp.asarray(3)", "jnp.asarray(3.0)", "jnp.asarray(True)",
        "jnp.asarray(2j)", "jnp.asarray([1, 2])", "jnp.asarray(np.arange(2.0))",
        "jnp.asarray(weak(1), dtype=jnp.int32)", "jnp.asarray(1, dtype=jnp.float16)",
        "jnp.float32(1)", "jnp.int8([1, 2])", "jnp.bool_(0)", "jnp.uint32(7)", "jnp.complex64(1)",
        "jnp.bfloat16(1.5)", "lax.iota(jnp.int32, 3)", "lax.full((2,), 3)", "lax.full((2,), 3.5)",
        "lax.broadcasted_iota(jnp.int32, (2, 3), 1)", "lax.full_like(m, 3)",
        "jnp.fromfunction(jnp.add, (2, 2))",
    ], ulps=2),
    Group("casts", [
        *(f"{x}.astype({d!r})" for x in ("reals", "ints", "bytes8", "bools")
          for d in ("bool", "int8", "uint8", "int32", "uint32", "float16", "float32", "complex64")),
        "edges.astype('int32')", "edges.astype('uint8')", "edges.astype('bool')",
        "edges.astype('float16')", "f32([300, -300]).astype('int8')",
        "f32([300, -3]).astype('uint8')",
        "f32([1e6, 65519, 65520]).astype('float16')",
        "f32([1.005859375, 3.3]).astype(jnp.bfloat16)",
        "complexes.astype('float32')", "jnp.astype(v, int)", "v.astype(float)", "v.view(jnp.int32)",
        "u8([1, 2, 3, 4]).view(jnp.uint32)", "weak(1).astype('int32')",
        "weak(1.5).astype('float32')",
        "lax.convert_element_type(1, float)", "lax.convert_element_type(v, jnp.float32)",
    ]),
    Group("dtypes", [
        "jnp.result_type(1, 2.0)", "jnp.result_type(jnp.int8, 1)", "jnp.result_type(v, im)",
        "jnp.result_type(jnp.int32, jnp.uint32)", "jnp.result_type(jnp.float16, jnp.bfloat16)",
        "jnp.promote_types('int8', 'uint8')", "jnp.promote_types(jnp.bool_, jnp.float16)",
        "jnp.issubdtype(jnp.float32, jnp.floating)", "jnp.issubdtype(jnp.int8, jnp.inexact)",
        "jnp.issubdtype(jnp.bfloat16, jnp.floating)", "jnp.finfo(jnp.float32).eps",
        "jnp.finfo(jnp.float32).max", "jnp.iinfo(jnp.int8).min",
        "float(jnp.finfo(jnp.bfloat16).eps)",
        "v.dtype", "weak(1).dtype", "jnp.zeros(2, np.float64).dtype", "jnp.dtype('float32')",
        "jax.dtypes.canonicalize_dtype('float64')", "jax.dtypes.canonicalize_dtype('int64')",
        "jnp.isdtype(jnp.float32, 'real floating')", "jnp.can_cast('int8', 'int16')",
        "jnp.iscomplexobj(v)", "jnp.isrealobj(v)", "jnp.isscalar(1.0)", "jnp.ndim(m)",
        "jnp.shape(m)",
        "jnp.size(m)", "jax.dtypes.scalar_type_of(1.5)", "jnp.promote_types('int32', 'float16')",
    ]),
    Group("x64", [
        "jnp.zeros(2)", "jnp.arange(3)", "jnp.array(1.5)", "jnp.array([1, 2])", "jnp.array(3)",
        "jnp.sin(1.0)", "jnp.sin(jnp.array([1.0, 2.0]))", "jnp.array([1.0]) + f32([1])",
        "f32([1]) + 1.5",
        "i32([1]) + jnp.array([1])", "jnp.sum(i32([1, 2]))", "jnp.sum(b8([1, 1]))",
        "jnp.mean(i32([1, 2]))",
        "jnp.array([1]) / 3", "jnp.array(2**40) * 2", "jnp.array([1.0]).astype('complex128')",
        "jnp.exp(f32([1]))", "jnp.linspace(0, 1, 3)", "jnp.argmax(v)", "jnp.int64(2**40)",
        "jax.random.uniform(jax.random.key(0), (2,))", "jax.random.normal(jax.random.key(0), (2,))",
        "jax.random.randint(jax.random.key(0), (3,), 0, 100)",
        "jax.random.bits(jax.random.key(0), (2,), jnp.uint64)",
        "jax.grad(jnp.sin)(1.0)", "jnp.result_type(1, 2.0)", "jnp.result_type('int64', 'uint64')",
    ], ulps=8, config={"jax_enable_x64": True}),
]

# ---- shapes, products ----

SHAPES = [
    Group("jnp shapes", [
        "jnp.reshape(m, (3, 2))", "jnp.reshape(m, -1)", "jnp.reshape(m, (3, -1))",
        "jnp.reshape(m, (3, 2), order='F')", "m.reshape(6)", "m.reshape(3, 2)",
        "m.reshape((1, -1))",
        "jnp.ravel(m)", "jnp.ravel(m, order='F')", "m.flatten()", "jnp.transpose(m)", "m.T", "t.mT",
        "jnp.transpose(t, (2, 0, 1))", "t.transpose(1, 0, 2)", "jnp.swapaxes(t, 0, 2)",
        "jnp.moveaxis(t, 0, -1)", "jnp.moveaxis(t, (0, 1), (2, 0))", "jnp.rollaxis(t, 2)",
        "jnp.squeeze(v[None, :, None])", "jnp.squeeze(v[None, :, None], 0)",
        "jnp.expand_dims(v, 1)",
        "jnp.expand_dims(v, (0, 2))", "jnp.atleast_1d(1.0)", "jnp.atleast_2d(v)",
        "jnp.atleast_3d(v)",
        "jnp.broadcast_to(v, (2, 3))", "jnp.broadcast_arrays(v, m)",
        "jnp.broadcast_shapes((2, 1), (3,))",
        "jnp.stack([v, w])", "jnp.stack([v, w], axis=1)", "jnp.stack([v, ints[:3]])",
        "jnp.concatenate([v, w])", "jnp.concatenate([m, m], axis=1)", "jnp.concatenate([v, ints])",
        "jnp.concatenate([m, m], axis=None)", "jnp.concatenate([f16([1]), ints])",
        "jnp.append(v, 4)",
        "jnp.hstack([v, w])", "jnp.vstack([v, w])", "jnp.dstack([v, w])",
        "jnp.column_stack([v, w])",
        "jnp.block([[sq, sq]])", "jnp.split(x5[:4], 2)", "jnp.split(x5, [1, 3])",
        "jnp.array_split(x5, 2)",
        "jnp.hsplit(m, 3)", "jnp.vsplit(m, 2)", "jnp.tile(v, 2)", "jnp.tile(v, (2, 1))",
        "jnp.repeat(v, 2)", "jnp.repeat(m, 2, axis=0)", "jnp.repeat(v, i32([1, 0, 2]))",
        "jnp.flip(m)",
        "jnp.flip(m, 1)", "jnp.fliplr(m)", "jnp.flipud(m)", "jnp.rot90(m)", "jnp.roll(v, 1)",
        "jnp.roll(m, -1, axis=1)", "jnp.roll(m, 1)", "jnp.pad(v, 1)",
        "jnp.pad(m, ((1, 0), (0, 2)))",
        "jnp.pad(v, 2, mode='edge')", "jnp.pad(v, 2, mode='reflect')", "jnp.pad(v, 2, mode='wrap')",
        "jnp.pad(v, 1, constant_values=7)", "jnp.delete(v, 1)", "jnp.insert(v, 1, 9)",
        "jnp.resize(v, 5)",
        "jnp.unravel_index(4, (2, 3))", "jnp.ravel_multi_index((1, 2), (2, 3))",
        "jnp.trim_zeros(i32([0, 1, 0]))",
        "lax.pad(m, 0.0, ((1, 0, 1), (-1, 0, 0)))", "lax.rev(m, (0, 1))", "lax.broadcast(v, (2,))",
        "lax.broadcast_in_dim(v, (3, 2), (0,))", "lax.slice(m, (0, 1), (2, 3))",
        "lax.squeeze(v[None], (0,))",
        "lax.slice(x5, (0,), (5,), (2,))", "lax.concatenate([m, m], 0)", "lax.expand_dims(v, (1,))",
        "lax.transpose(m, (1, 0))", "lax.reshape(m, (3, 2))", "lax.collapse(t, 0, 2)",
    ]),
    Group("products", [
        "jnp.dot(v, w)", "jnp.dot(m, v)", "jnp.dot(m, n)", "jnp.dot(v, 2)", "jnp.dot(ints, ints)",
        "jnp.dot(bools, bools)", "jnp.dot(t, f32([1, 2, 3, 4]))",
        "jnp.dot(im, v)", "jnp.dot(hm, hm.T)", "jnp.matmul(m, n)", "jnp.matmul(t, t.mT)",
        "jnp.matmul(t, jnp.ones((4, 2)))", "jnp.matmul(v, t.swapaxes(1, 2)[..., :3].mT)",
        "jnp.matmul(im, im.T)", "jnp.vdot(m, m)", "jnp.vdot(complexes, complexes)",
        "jnp.inner(m, v)",
        "jnp.inner(v, w)", "jnp.outer(v, w)", "jnp.outer(v, ints)", "jnp.tensordot(m, n, 1)",
        "jnp.tensordot(t, t, axes=([0, 1], [0, 1]))", "jnp.tensordot(v, w, 0)", "jnp.kron(v, w)",
        "jnp.cross(v, w)", "jnp.einsum('ij,jk->ik', m, n)", "jnp.einsum('ij->ji', m)",
        "jnp.einsum('ij->', m)", "jnp.einsum('ii', sq)", "jnp.einsum('ii->i', sq)",
        "jnp.einsum('i,j', v, w)", "jnp.einsum('bij,bjk->bik', t, t.mT)",
        "jnp.einsum('...j,j', m, v)",
        "jnp.einsum('ij,j,j->i', m, v, w)", "jnp.einsum('ij,jk', im, n)", "jnp.vecdot(m, v)",
        "jnp.linalg.norm(m)", "jnp.linalg.norm(m, axis=1)", "jnp.linalg.norm(w, ord=1)",
        "jnp.linalg.norm(w, ord=jnp.inf)", "jnp.linalg.norm(v, keepdims=True)",
        "jnp.linalg.matrix_transpose(m)",
        "jnp.linalg.norm(sq, ord=1)", "lax.dot(m, n)", "lax.dot(im, im.T)",
        "lax.batch_matmul(t, t.mT)",
        "lax.dot_general(m, n, (((1,), (0,)), ((), ())))",
        "lax.dot_general(t, t, (((2,), (2,)), ((0,), (0,))))",
        "lax.dot(i8([100, 100]), i8([100, 100]), preferred_element_type=jnp.int32)",
        "lax.dot(i8([100, 100]), i8([100, 100]))",
    ], ulps=8, scaled=True),
]

# ---- indexing and updates ----

_MODES = ["", ", mode='drop'", ", mode='clip'", ", mode='promise_in_bounds'"]
INDEXING = [
    Group("reading by index", [
        "x5[0]", "x5[-1]", "x5[7]", "x5[-7]", "x5[1:3]", "x5[-2:]", "x5[::2]", "x5[::-1]",
        "x5[4:1:-2]",
        "x5[10:]", "x5[3:1]", "x5[i32(1)]", "x5[i32(9)]", "x5[np.int64(2)]", "x5[idx]", "x5[oob]",
        "x5[u8([1, 200])]", "x5[x5 > 25]", "x5[b8([0, 0, 0, 0, 0])]",
        "x5[np.array([0, 2])]", "x5[None]", "x5[..., None]", "x5[()]", "x5[jnp.zeros((0,), int)]",
        "m[0]", "m[1, 2]", "m[-1, -1]", "m[:, 1]", "m[..., 0]", "m[1:, ::-1]", "m[idx[:1]]",
        "m[:, idx]",
        "m[idx, idx]", "m[idx[:1], 1:]", "m[idx[:, None] // 2, idx]", "m[bm]", "m[b8([1, 0])]",
        "m[i32(5), i32(-9)]",
        "m[:, b8([1, 0, 1])]", "m[None, :, None, 1]", "m[True]", "m[0][1]", "t[0, :, 1]",
        "t[:, idx, 1]",
        "t[0, :, idx]", "t[idx % 2, :, idx]", "t[..., idx]", "t[:, None, 1]", "t[1, 1:3, ::2]",
        "t[i32(1)][i32(1)]",
        "v[weak(1)]", "[e for e in v]", "len(m)", "list(i32([1, 2]))", "tuple(m)", "3.0 in v",
        "v.item(1)",
        "jnp.take(x5, idx)", "jnp.take(x5, oob)", "jnp.take(x5, oob, mode='clip')",
        "jnp.take(x5, oob, mode='wrap')",
        "jnp.take(x5, oob, mode='fill', fill_value=-1)", "jnp.take(m, idx, axis=1)",
        "jnp.take(m, 4)", "jnp.take(ints, i32(100))",
        "jnp.take(bytes8, i32(100))", "jnp.take(bools, i32(100))",
        "jnp.take_along_axis(m, i32([[2], [0]]), axis=1)",
        "jnp.take_along_axis(im, jnp.argsort(im), axis=1)", "jnp.compress(bools, v)",
        "jnp.extract(v > 1, v)",
        "jnp.choose(i32([0, 1, 0]), [v, w])", "x5.at[oob].get()", "x5.at[oob].get(mode='clip')",
        "x5.at[oob].get(mode='fill')", "x5.at[oob].get(mode='fill', fill_value=-1)",
        "x5.at[1:3].get()", "x5.at[9].get(mode='fill', fill_value=0)",
        "ints.at[i32([50])].get(mode='fill')",
        "x5.at[oob].get(mode='fill', wrap_negative_indices=False)",
        "lax.dynamic_slice(x5, (i32(1),), (2,))", "lax.dynamic_slice(x5, (i32(4),), (3,))",
        "lax.dynamic_slice(x5, (-2,), (2,))",
        "lax.dynamic_slice(m, (1, 9), (1, 2))", "lax.dynamic_index_in_dim(x5, 9)",
        "lax.dynamic_slice_in_dim(x5, 3, 2)",
        "lax.index_in_dim(m, 1, 0)", "lax.slice_in_dim(x5, 1, 4)",
    ]),
    Group("updating by index", [
        *(f"x5.at[1].{op}(3)"
          for op in ("set", "add", "multiply", "divide", "power", "min", "max", "subtract")),
        *(f"x5.at[oob].{op}(2.0{mode})"
          for op in ("set", "add", "multiply", "min", "max") for mode in _MODES[:3]),
        *(f"ints.at[i32([0, 0, 2])].{op}(i32([5, 6, 7]))"
          for op in ("add", "min", "max", "multiply")),
        "x5.at[1].apply(jnp.negative)", "x5.at[1:3].set(0)", "x5.at[1:3].set(f32([7, 8]))",
        "x5.at[::2].add(1)",
        "x5.at[-1].set(1)", "x5.at[9].set(1)", "x5.at[-9].set(1)", "x5.at[9].set(1, mode='clip')",
        "x5.at[...].set(1)",
        "x5.at[x5 > 25].set(0)", "x5.at[x5 > 25].multiply(2)", "x5.at[idx].set(f32([1, 2]))",
        "x5.at[:].add(x5)",
        "x5.at[idx].add(1, unique_indices=True, indices_are_sorted=True)", "m.at[0].set(9)",
        "m.at[0].set(v)",
        "m.at[:, 1].add(1)", "m.at[1, 2].set(0)", "m.at[idx[:1], 1].set(7)",
        "m.at[:, idx].multiply(2)",
        "m.at[idx % 2, idx].add(1)", "m.at[1:, ::-1].set(v)", "m.at[i32([0, 0])].add(1)",
        "m.at[bm].set(0)",
        "m.at[None].set(1)", "t.at[:, 0, idx].set(0).sum()", "t.at[0, :, 1].add(v).sum()",
        "ints.at[0].add(True)",
        "bytes8.at[0].set(255)", "bools.at[1].set(True)", "x5.at[1].set(i32(7))",
        "f16([1, 2]).at[0].add(0.5)",
        "complexes.at[0].set(1j)", "ints.at[0].set(i8(3))", "weak(1.0).at[()].set(2)",
        "jnp.zeros(3).at[idx].add(v[:2])",
        "x5.at[oob].set(2.0, wrap_negative_indices=False)",
        "lax.dynamic_update_slice(x5, f32([1, 2]), (i32(4),))",
        "lax.dynamic_update_slice(x5, f32([1, 2]), (-2,))",
        "lax.dynamic_update_slice(m, f32([[0]]), (1, 1))",
        "lax.dynamic_update_index_in_dim(x5, 0.0, 2, 0)",
        "lax.dynamic_update_slice_in_dim(x5, f32([7]), 2, 0)",
        "jnp.put_along_axis(m, i32([[0], [1]]), 9, 1, inplace=False)",
        "jnp.fill_diagonal(sq, 7, inplace=False)", "jnp.place(v, v > 1, w, inplace=False)",
    ]),
    Group("methods and attributes", [
        *(f"m.{f}()"
          for f in ("sum prod max min mean var std any all argmax argmin cumsum cumprod sort "
                    "argsort flatten ravel squeeze transpose copy conj round tolist nonzero "
                    "trace diagonal").split()),
        "m.sum(axis=0)", "m.sum(1, keepdims=True)", "m.clip(2, 4)", "m.dot(v)", "m.take(idx)",
        "v.repeat(2)", "m.swapaxes(0, 1)",
        "m.astype(int)", "m.shape", "m.ndim", "m.size", "m.nbytes", "m.itemsize", "v.real",
        "complexes.imag", "m.weak_type",
        "float(f32(1.5))", "int(i32(3))", "bool(b8(True))", "complex(c64(1j))", "int(f32(2.7))",
        "m.item(2)", "i32(3).__index__()",
        "[10, 20, 30][i32(1)]", "np.asarray(v)", "np.sin(v)", "np.float32(2) * v",
        "v.block_until_ready()", "hash(v.aval) is not None",
        "v.aval", "weak(1).aval", "m.at[0].get()", "f'{f32(1.5):.3f}'", "f'{i32(3)}'", "f'{v}'",
        "jnp.asarray(v) is v", "v.is_fully_addressable",
        "jax.tree.map(lambda a: a + 1, {'a': v, 'b': (1, None)})", "jax.device_get(v)",
        "jax.device_put(1.5)", "jax.device_put({'a': 1})",
        "isinstance(v, jax.Array)", "isinstance(v, jnp.ndarray)", "isinstance(1.0, jax.Array)",
        "v.to_device(v.devices().pop()).sum()",
    ], ulps=4),
    Group("vectorize, apply and friends", [
        "jnp.vectorize(lambda a, b: a + b)(v, w[:, None])",
        "jnp.vectorize(jnp.dot, signature='(n),(n)->()')(m, v)",
        "jnp.apply_along_axis(jnp.sum, 1, m)", "jnp.apply_over_axes(jnp.sum, t, [0, 2])",
        "jnp.frompyfunc(jnp.add, 2, 1).reduce(v)",
        "jnp.add.reduce(v)", "jnp.add.at(v, idx, 1, inplace=False)", "jnp.add.outer(v, w)",
        "jnp.add.accumulate(v)",
        "jax.jit(lambda a: a * 2)(v)", "jax.jit(lambda a: a * 2)(3)",
        "jax.jit(lambda a: a + 1)(True)", "jax.jit(lambda: 1)()",
        "jax.jit(lambda a: {'x': a, 'y': (a, None)})(1.0)",
        "jax.jit(lambda a, n: a * n, static_argnums=1)(v, 3)",
        "jax.vmap(lambda a: a * 2)(v)", "jax.vmap(lambda a: 1.0)(v)",
        "jax.vmap(lambda a, b: a + b, (0, None))(v, 1)",
        "jax.vmap(jnp.dot, (None, 0))(n, jnp.ones((4, 2)))", "jax.vmap(lambda a: a, out_axes=1)(m)",
        "jax.vmap(lambda d: d['a'] * d['b'], ({'a': 0, 'b': None},))({'a': v, 'b': 2})",
    ], ulps=4),
]

# ---- jax.nn ----

_ACTIVATIONS = ("relu relu6 sigmoid softplus soft_sign silu log_sigmoid elu celu selu gelu "
                "leaky_relu hard_tanh hard_sigmoid hard_silu squareplus mish tanh identity "
                "sparse_plus sparse_sigmoid").split()
NN = [
    Group("jax.nn", [
        *(f"jax.nn.{f}(reals)" for f in _ACTIVATIONS),
        *(f"jax.nn.{f}(halves)"
          for f in ("relu", "sigmoid", "softplus", "silu", "gelu", "elu", "tanh")),
        *(f"jax.nn.{f}(edges)"
          for f in ("relu", "sigmoid", "softplus", "relu6", "elu", "leaky_relu", "log_sigmoid")),
        *(f"jax.nn.{f}(ints)" for f in ("relu", "relu6", "leaky_relu", "elu")),
        *(f"jax.nn.{f}(1.5)" for f in ("relu", "sigmoid", "softplus", "elu")),
        "jax.nn.gelu(reals, approximate=False)", "jax.nn.elu(reals, 0.5)",
        "jax.nn.leaky_relu(reals, 0.2)", "jax.nn.relu(-1)",
        "jax.nn.glu(f32([1, 2, 3, 4]))", "jax.nn.softmax(m)", "jax.nn.softmax(m, axis=0)",
        "jax.nn.softmax(m, where=bm)",
        "jax.nn.softmax(f32([1000, 0]))", "jax.nn.softmax(f32([-inf, 0]))",
        "jax.nn.softmax(f32([-inf, -inf]))", "jax.nn.softmax(hm)",
        "jax.nn.log_softmax(m)", "jax.nn.log_softmax(m, axis=0)",
        "jax.nn.log_softmax(f32([1000, 0]))", "jax.nn.logsumexp(m)",
        "jax.nn.logsumexp(m, axis=1)", "jax.nn.logsumexp(m, axis=0, keepdims=True)",
        "jax.nn.logsumexp(v, b=w)", "jax.nn.logsumexp(f32([-inf, -inf]))",
        "jax.nn.logsumexp(v, b=w, return_sign=True)", "jax.nn.logsumexp(f32([inf, 0]))",
        "jax.nn.logmeanexp(v)", "jax.nn.standardize(m)",
        "jax.nn.one_hot(idx, 3)", "jax.nn.one_hot(2, 3)", "jax.nn.one_hot(i32([-1, 3]), 3)",
        "jax.nn.one_hot(idx, 3, dtype=jnp.int32)",
        "jax.nn.one_hot(i32([[0, 1], [2, 0]]), 3)", "jax.nn.one_hot(idx, 3, axis=0)",
        "jax.scipy.special.logsumexp(v)", "jax.scipy.special.expit(reals)",
        "jax.scipy.special.logit(f32([0.1, 0.5, 0.9]))", "jax.scipy.special.erf(reals)",
        "jax.scipy.special.xlogy(v, f32([0, 1, 2]))",
        "jax.scipy.special.gammaln(v)", "jax.scipy.stats.norm.logpdf(v)",
        "jax.scipy.stats.norm.cdf(w)", "jax.scipy.special.xlogy(0.0, 0.0)",
        "jax.nn.dot_product_attention(*[jnp.ones((1, 2, 1, 4))] * 3)",
    ], ulps=16),
    Group("jax.nn.initializers", [
        f"jax.nn.initializers.{f}(jax.random.key(3), (3, 2))" for f in (
            "zeros", "ones", "constant(2.5)", "normal()", "uniform()", "glorot_normal()",
            "glorot_uniform()", "he_normal()",
            "he_uniform()", "lecun_normal()", "lecun_uniform()", "truncated_normal()",
            "variance_scaling(1.0, 'fan_avg', 'uniform')")
    ], ulps=16),
]

# ---- jax.random ----

_KEY = "jax.random.key(0)"
_RANDOM = [
    "jax.random.PRNGKey(0)", "jax.random.PRNGKey(-1)", "jax.random.PRNGKey(2**31)",
    "jax.random.key(42)",
    "jax.random.key_data(jax.random.key(7))", "jax.random.split(jax.random.PRNGKey(0))",
    f"jax.random.split({_KEY})",
    f"jax.random.split({_KEY}, 5)", f"jax.random.split({_KEY}, (2, 3))",
    f"jax.random.fold_in({_KEY}, 7)", f"jax.random.fold_in({_KEY}, 2**31 + 5)",
    f"jax.random.bits({_KEY})",
    *(f"jax.random.bits({_KEY}, {s})" for s in ("(3,)", "(4,)", "(5,)", "(2, 3)", "(0,)", "(17,)")),
    *(f"jax.random.bits({_KEY}, (5,), jnp.{d})" for d in ("uint8", "uint16", "uint32")),
    "jax.random.uniform(jax.random.PRNGKey(0))",
    *(f"jax.random.uniform({_KEY}, {a})" for a in (
        "(3,)", "(2, 4)", "(3,), minval=-1, maxval=2", "(4,), jnp.float16", "(4,), jnp.bfloat16",
        "(2, 1, 3)", "(0,)",
        "(3,), minval=v, maxval=v + 1")),
    *(f"jax.random.normal({_KEY}, {a})"
      for a in ("()", "(3,)", "(2, 4)", "(4,), jnp.float16", "(4,), jnp.bfloat16",
                 "(2,), jnp.complex64")),
    *(f"jax.random.randint({_KEY}, {a})" for a in (
        "(), 0, 10", "(5,), 0, 10", "(5,), -5, 5", "(5,), 0, 256, jnp.uint8",
        "(5,), -100, 100, jnp.int8", "(2, 3), 0, 2**31 - 1",
        "(3,), 5, 5", "(3,), i32([0, 10, 20]), i32([5, 15, 25])", "(4,), 0, 1000, jnp.int16")),
    *(f"jax.random.bernoulli({_KEY}{a})"
      for a in ("", ", 0.3, (6,)", ", f32([0.1, 0.5, 0.9])", ", 0.5, (2, 3)", ", 1.0, (3,)")),
    *(f"jax.random.permutation({_KEY}, {a})"
      for a in ("5", "x5", "m", "m, axis=1", "m, axis=1, independent=True", "1")),
    *(f"jax.random.choice({_KEY}, {a})" for a in (
        "5", "5, (3,)", "x5, (2, 2)", "5, (3,), replace=False",
        "x5, (3,), p=f32([0.1, 0.2, 0.3, 0.2, 0.2])",
        "5, (3,), replace=False, p=f32([0.1, 0.2, 0.3, 0.2, 0.2])", "m, (2,), axis=1")),
    *(f"jax.random.categorical({_KEY}, {a})"
      for a in ("v", "m", "m, axis=0", "v, shape=(4,)", "v, shape=(2,), replace=False")),
    *(f"jax.random.{a}" for a in (
        f"exponential({_KEY}, (3,))", f"gumbel({_KEY}, (3,))", f"laplace({_KEY}, (3,))",
        f"logistic({_KEY}, (3,))", f"cauchy({_KEY}, (3,))",
        f"truncated_normal({_KEY}, -1.0, 1.0, (3,))", f"rademacher({_KEY}, (5,))",
        f"rayleigh({_KEY}, 1.0, (3,))", f"weibull_min({_KEY}, 1.0, 2.0, (3,))",
        f"pareto({_KEY}, 2.0, (3,))", f"maxwell({_KEY}, (3,))", f"lognormal({_KEY}, 0.5, (3,))",
        f"ball({_KEY}, 2, 2.0, (2,))",
        f"multivariate_normal({_KEY}, v, sq)", f"triangular({_KEY}, 0.0, 0.5, 1.0, (3,))",
        "wrap_key_data(u32([1, 2]))")),
    f"jax.vmap(lambda k: jax.random.normal(k, (2,)))(jax.random.split({_KEY}, 3))",
    f"jax.jit(lambda k: jax.random.uniform(k, (3,)))({_KEY})",
    f"jax.random.key_impl({_KEY})", f"{_KEY}.dtype", f"{_KEY}.shape",
    f"jax.random.split({_KEY}, 3)[1]", f"jax.random.clone({_KEY})",
    f"jnp.issubdtype({_KEY}.dtype, jax.dtypes.prng_key)", f"jnp.stack([{_KEY}, jax.random.key(1)])",
    f"jax.random.split({_KEY}, 2).reshape(2, 1)",
]
RANDOM = [
    Group("jax.random", _RANDOM, ulps=16),
    Group("jax.random, not partitionable",
          [call for call in _RANDOM if "key(0)" in call or "PRNGKey(0)" in call], ulps=16,
          config={"jax_threefry_partitionable": False}),
]

# ---- how things print ----

REPR = [
    Group("repr", [
        f"{how}({x})" for how in ("repr", "str") for x in (
            "f32([1, 2])", "f32(1.5)", "weak(1)", "weak(1.5)", "weak(True)", "weak(1j)", "m", "t",
            "bm", "i8([1, -2])", "empty", "jnp.zeros((0, 3))",
            "f32([1e-10, 1e10, nan, inf])", "f32([0.1, 0.123456789])", "jnp.arange(2000)",
            "jnp.arange(2000.0).reshape(40, 50)", "c64([1, 2j])",
            "f16([1.5])", "bf16([1.5, 2])", "jax.random.key(0)",
            "jax.random.split(jax.random.key(0))", "jnp.arange(30)", "jnp.linspace(0, 1, 20)",
            "u32(7)")
    ] + [
        "repr(v.aval)", "str(v.aval)", "repr(weak(1).aval)", "str(weak(1).aval)",
        "repr(jax.ShapeDtypeStruct((2, 3), jnp.float32))", "v.aval.str_short()",
        "repr(jax.tree.structure({'a': 1, 'b': (2, None)}))", "repr(jax.tree.structure(1))",
        "repr(jnp.float32)", "repr(jax.jit(jnp.sin).lower(1.0).in_tree)",
        "repr(v.at)", "repr(v.at[1:3])", "repr(jax.random.key(0).dtype)",
        "repr(jnp.finfo(jnp.float32))[:40]", "repr(jnp.bfloat16)", "repr(lax.sin_p)",
        "repr(jax.tree_util.tree_leaves_with_path({'a': [1]}))",
    ]),
]

GROUPS = [*ELEMENTWISE, *BINARY, *REDUCTIONS, *CREATION, *SHAPES, *INDEXING, *NN, *RANDOM, *REPR]
