"""Recorded cases of jax.scipy.special, and what it needs of jax.lax and jax.numpy."""

import importlib

import numpy as np
from golden_cases.codec import Group

# ---- inputs ----


def names(jax, jnp, lax):
    """`sp` is jax.scipy.special; the floats are of 32 bits, `d(...)` makes them of 64."""

    def slopes(fun, *args, of=0):
        """The derivative of an elementwise function by one of its operands."""
        one = jnp.ones_like(args[of])
        partial = lambda x: fun(*args[:of], x, *args[of + 1 :])  # noqa: E731
        return jax.jvp(partial, (args[of],), (one,))[1]

    return {
        "sp": importlib.import_module(f"{jax.__name__}.scipy.special"),
        "d": lambda data: jnp.array(np.array(data, np.float64)),
        "slopes": slopes,
        "positive": jnp.array(np.float32([0.01, 0.3, 0.5, 1, 1.5, 2, 3.7, 10, 40])),
        "other": jnp.array(np.float32([2, 0.4, 0.5, 1, 3.5, 0.2, 4.5, 8, 50])),
        "quarters": jnp.array(np.float32([-2.75, -1.5, -0.25, 0.25, 0.75, 1.75, 2.5])),
        # edges but 1, where lgamma is 0 and JAX is not
        "outer": jnp.array(np.float32([-np.inf, -1e30, -1, -0.0, 0, 1e30, np.inf, np.nan])),
        "inner": jnp.array(np.float32([0.05, 0.25, 0.5, 0.75, 0.95])),
    }


# ---- values ----

_OF_REALS = "gammasgn gamma digamma factorial erf erfc erfinv entr expit logit".split()
_LOGARITHMS = "gammaln loggamma".split()
_BESSEL = "i0 i0e i1 i1e".split()
_STRONG = "dawsn erfcx exp1 expi fresnel sici".split()
_OF_TWO = (
    "betaln beta gammainc gammaincc xlogy xlog1py rel_entr kl_div boxcox boxcox1p comb".split()
)
_DTYPES = ("2.0", "2", "True", "i32([1, 2])", "f16([0.5, 2])", "bf16([0.5, 2])")

GROUPS = [
    Group(
        "special functions of one",
        [
            *(f"sp.{f}(quarters)" for f in _OF_REALS),
            *(f"sp.{f}(positive)" for f in ("gammasgn", "gamma", "digamma", *_BESSEL, *_STRONG)),
            *(f"sp.{f}(-positive)" for f in ("factorial", *_BESSEL, *_STRONG)),
            "sp.spence(positive)",
            "sp.ndtr(quarters)",
            "sp.ndtri(inner)",
            "sp.log_ndtr(f32([-40, -12]), 0)",
            "sp.log_ndtr(f32([-40, -12]), series_order=1)",
            "sp.bernoulli(0)",
            "sp.bernoulli(1)",
            "sp.bernoulli(i32(12))",
            "sp.softmax(m)",
            "sp.softmax(m, axis=1)",
            "sp.log_softmax(m)",
            "sp.log_softmax(m, axis=0)",
            "jnp.i0(quarters)",
            "jnp.kaiser(5, 2.0)",
            "jnp.kaiser(4, 14)",
            "jnp.kaiser(1, 2.0)",
            "jnp.kaiser(0, 2.0)",
        ],
        ulps=32,
    ),
    Group(
        "special functions at edges",
        [
            *(f"sp.{f}(edges)" for f in (*_OF_REALS, *_BESSEL, *_STRONG)),
            *(f"sp.{f}(outer)" for f in _LOGARITHMS),
            "sp.exp1(f32([-inf, -1, -0.0, 0, 1, 1e30, nan]))",
            "sp.expi(f32([-1, 1, 1e30, nan]))",
            "sp.polygamma(1, f32([-inf, -1, -0.0, 0, 1, nan]))",
            *(f"sp.{f}(edges)" for f in ("ndtr", "ndtri", "log_ndtr", "spence")),
            "jnp.i0(edges)",
            *(
                f"sp.{f}({x}, edges)"
                for f in ("xlogy", "xlog1py", "gammainc", "gammaincc", "betaln")
                for x in ("f32(0)", "f32(1.5)", "f32(inf)")
            ),
            *(f"sp.{f}(edges, f32(2))" for f in ("rel_entr", "kl_div", "boxcox", "comb")),
            "sp.poch(f32([-0.5, 0, 1, nan]), f32(2))",
            *(f"sp.boxcox({x}, f32(0))" for x in ("positive", "edges")),
            "sp.betainc(f32(0), f32(2), f32([0, 0.3, 1]))",
            "sp.betainc(f32(2), f32(0), f32([0, 0.3, 1]))",
            "sp.betainc(f32(2), f32(inf), f32([0, 0.3, 1]))",
            "sp.betainc(f32(inf), f32(inf), f32([0, 0.3, 1]))",
            "sp.betainc(f32(2), f32(-1), f32([0, 0.3, 1]))",
            "sp.betainc(f32(2), f32(3), edges)",
            "sp.zeta(f32([1, 1, 1, 0.5, 2, 2, 2]), f32([1, 0, -0.5, 1, 0, -1, -0.5]))",
            "sp.polygamma(1, edges)",
            "sp.polygamma(0, quarters)",
        ],
        ulps=32,
    ),
    Group(
        "special functions of two and more",
        [
            *(f"sp.{f}(positive, other)" for f in _OF_TWO),
            *(f"sp.{f}({x})" for f in _LOGARITHMS for x in ("quarters", "positive")),
            "sp.multigammaln(positive + 1, 3)",
            "sp.multigammaln(positive, 1)",
            "sp.log_ndtr(quarters)",
            "sp.log_ndtr(f32([-40, -12, -9, 4.5, 6, 12]))",
            "sp.comb(i32([5, 5, 5, 3]), i32([2, 0, 6, 3]))",
            "sp.comb(5, 2, repetition=True)",
            "sp.poch(positive[:8], other[:8])",
            "sp.poch(quarters, 2)",
            "sp.poch(f32(2), f32([0, 1, -1, 0.5]))",
            "sp.betaln(f32([1e-3, 1, 1e3, 1e6]), f32([1e6, 1e6, 1e4, 1e6]))",
            "sp.betainc(positive, other, f32(0.3))",
            "sp.zeta(positive + 1, other)",
            "sp.zeta(f32([2, 4]), f32([-0.5, -1.5]))",
            "sp.polygamma(1, positive)",
            "sp.polygamma(i32([0, 1, 2, 5]), f32(1.5))",
            "sp.owens_t(quarters, f32([[0.5], [-1], [3]]))",
            "sp.expn(i32([[0], [1], [4], [20]]), positive)",
            "sp.hyp1f1(quarters, f32(1.5), f32(0.7))",
            "sp.hyp1f1(f32(1.2), f32([1.5, 4]), f32([[-1], [0], [5]]))",
            "sp.hyp2f1(quarters, f32(1.5), f32(2.3), f32(0.4))",
            "sp.hyp2f1(f32(1), f32(0.5), f32(2.5), f32([-0.7, 0, 0.95, 1, 1.5]))",
            "lax.random_gamma_grad(positive, other)",
            "lax.igamma_grad_a(positive, other)",
            "lax.random_gamma_grad(f32([0.5, 0, -1, nan, 2]), f32([0, 1, 1, 1, -1]))",
        ],
        ulps=512,  # JAX computes with float32s
        scaled=True,
    ),
    Group(
        "special functions in double precision",
        [
            *(f"sp.{f}(d([-3.3, -0.5, 0.2, 1, 2.5, 30]))" for f in (*_BESSEL, "gamma", "dawsn")),
            *(
                f"sp.{f}(d([0.2, 1, 2.5, 8]))"
                for f in ("exp1", "expi", "fresnel", "sici", "spence")
            ),
            *(f"sp.{f}(d([-2, 0.2, 1, 8, 20]))" for f in ("erfcx", "ndtr", "log_ndtr")),
            "sp.ndtri(d([1e-20, 0.02, 0.5, 0.9]))",
            *(
                f"sp.{f}(d([0.2, 1, 2.5, 30]), d([0.1, 3, 2.6, 30]))"
                for f in ("betaln", "beta", "gammainc", "gammaincc")
            ),
            "sp.betainc(d([0.2, 1, 2.5, 30]), d([0.1, 3, 2.6, 30]), 0.4)",
            "sp.zeta(d([1.5, 2, 10]), d([0.5, 1, 3]))",
            "sp.owens_t(d([0.2, 1, 3]), d([0.1, 3, -1]))",
            "sp.expn(3, d([0.2, 1, 8]))",
            "sp.hyp1f1(d([0.2, 1, -3]), 1.5, d([0.1, 3, 2]))",
            "sp.hyp2f1(d([0.2, 1, -3]), 1.5, 2.5, d([0.1, 0.8, 0.5]))",
            "sp.bessel_jn(d([2.0, 5.5]), v=3)",
            "slopes(lambda z: sp.bessel_jn(z, v=2)[1:], d([2.0, 5.5]))",
            "lax.igamma_grad_a(d([0.2, 1, 2.5, 30]), d([0.1, 3, 2.6, 28]))",
            "lax.random_gamma_grad(d([0.2, 1, 2.5, 30, 300]), d([0.1, 3, 2.6, 28, 330]))",
            "slopes(sp.zeta, d([1.5, 2, 10]), d([0.5, 1, 3]))",
            "slopes(sp.zeta, d([1.5, 2, 10]), d([0.5, 1, 3]), of=1)",
        ],
        ulps=4096,  # 12 digits
        scaled=True,
        config={"jax_enable_x64": True},
    ),
    Group(
        "special functions of other dtypes",
        [
            *(f"sp.{f}({x})" for f in (*_OF_REALS, *_BESSEL) for x in _DTYPES if f != "erfinv"),
            *(
                f"sp.{f}({x})"
                for f in _LOGARITHMS
                for x in ("3.0", "3", "i8([3, 4])", "f16([0.5, 2])")
            ),
            *(f"sp.{f}({x})" for f in (*_STRONG, "wofz") for x in _DTYPES[:5] if f != "expi"),
            *(f"sp.{f}({x}, 1.5)" for f in _OF_TWO for x in _DTYPES),
            *(
                f"sp.{f}({x})"
                for f in ("ndtr", "ndtri", "log_ndtr", "spence")
                for x in ("0.5", "f32(0.5)")
            ),
            *(f"sp.betainc({x}, 1, 0.5)" for x in _DTYPES),
            *(f"sp.poch({x}, 1.5)" for x in _DTYPES),
            *(f"sp.zeta({x}, 1)" for x in ("2.0", "2", "f16(2)")),
            *(f"sp.polygamma({n}, 2.0)" for n in ("1", "i32(1)", "u8(1)")),
            "sp.polygamma(1, i32(2))",
            "sp.multigammaln(3, 2)",
            "sp.multigammaln(f16(3), 2)",
            "sp.owens_t(1, 2)",
            "sp.expn(2, 1)",
            "sp.hyp1f1(1, 2, 0.5)",
            "sp.hyp2f1(1, 2, 3, 0.5)",
            "sp.softmax(ints)",
            "jnp.i0(2)",
            "jnp.i0(f16(2))",
            "jnp.kaiser(3, f16(2))",
        ],
        ulps=64,
    ),
    Group(
        "special functions of complex numbers",
        [
            "sp.gamma(complexes)",
            "sp.loggamma(complexes)",
            "sp.loggamma(c64([-2, 3, 1j, 20 + 3j]))",
            "sp.erfcx(complexes)",
            "sp.wofz(complexes)",
            "sp.wofz(c64([0, 3, -1 - 2j]))",
            "jax.jvp(sp.gamma, (complexes,), (1j * complexes,))",
            "jax.jvp(sp.wofz, (complexes,), (1j * complexes,))",
            "sp.sph_harm_y(i32([2, 3, 1, 4]), i32([1, -2, 0, 4]), f32([0.5, 1, 2, 3]), f32([0.3, 2, 1, -4]))",
            "sp.sph_harm_y(i32([2]), i32([-1]), 0.5, 0.3)",
            "sp.sph_harm_y(i32([2, 7]), i32([1, -1]), f32([0.5, 1]), f32([1, 2]), n_max=7)",
            "jax.jvp(lambda t, p: sp.sph_harm_y(i32([2, 3]), i32([1, -2]), t, p), "
            "(f32([0.5, 1]), f32([0.3, 2])), (f32([1, 2]), f32([1, 0.5])))",
        ],
        ulps=128,
        scaled=True,
    ),
    Group(
        "derivatives of special functions",
        [
            *(
                f"slopes(sp.{f}, quarters)"
                for f in (
                    "gammaln",
                    "gamma",
                    "digamma",
                    "erf",
                    "erfc",
                    "expit",
                    *_BESSEL,
                    "dawsn",
                    "erfcx",
                )
            ),
            *(
                f"slopes(sp.{f}, inner)"
                for f in ("entr", "logit", "erfinv", "ndtri", "spence", "exp1", "expi")
            ),
            "slopes(sp.ndtr, quarters)",
            "slopes(sp.log_ndtr, f32([-40, -12, -3, 0, 3, 8]))",
            "slopes(lambda x: sp.fresnel(x)[0], quarters)",
            "slopes(lambda x: sp.fresnel(x)[1], quarters)",
            "slopes(lambda x: sp.sici(x)[0], quarters)",
            "slopes(lambda x: sp.sici(x)[1], quarters)",
            *(
                f"slopes(sp.{f}, positive, other, of={i})"
                for f in _OF_TWO
                for i in (0, 1)
                if f != "comb"
            ),
            "slopes(sp.poch, positive[:8], other[:8])",
            "slopes(sp.poch, positive[:8], other[:8], of=1)",
            "slopes(sp.xlogy, f32([0, 0, 2]), f32([0, 1, 0]))",
            "slopes(sp.xlogy, f32([0, 0, 2]), f32([0, 1, 0]), of=1)",
            "slopes(sp.betainc, f32(2), f32(3.5), inner, of=2)",
            "slopes(sp.polygamma, i32(2), positive, of=1)",
            "slopes(sp.owens_t, quarters, f32(0.4))",
            "slopes(sp.owens_t, quarters, f32(0.4), of=1)",
            "slopes(sp.expn, 3, positive, of=1)",
            *(f"slopes(sp.hyp1f1, f32(1.2), f32(2.3), inner, of={i})" for i in (2,)),
            *(f"jax.grad(sp.hyp1f1, {i})(1.2, 2.3, 0.7)" for i in range(3)),
            *(f"jax.grad(sp.hyp2f1, {i})(1.2, 2.3, 2.9, 0.4)" for i in range(4)),
            "slopes(lambda a: sp.multigammaln(a, 3), positive + 1)",
            "slopes(jnp.i0, f32([-1, 0, 2]))",
            "jax.grad(jax.grad(sp.i1e))(0.5)",
            "jax.grad(jax.grad(sp.gammaln))(2.5)",
            "jax.grad(jax.grad(sp.log_ndtr))(-2.5)",
            "jax.grad(sp.xlogy, (0, 1))(2.0, 3.0)",
            "jax.vmap(jax.grad(sp.gammainc, (0, 1)))(positive, other)",
            "jax.jit(jax.vmap(jax.grad(sp.gammaincc, (0, 1))))(positive, other)",
            "jax.jit(jax.hessian(lambda x: sp.logsumexp(sp.gammaln(x))))(inner)",
            "jax.grad(lambda x: jnp.kaiser(5, x).sum())(2.0)",
        ],
        ulps=512,
        scaled=True,
    ),
    Group(
        "special functions, batched and compiled",
        [
            "jax.vmap(sp.betainc, (0, None, None))(positive, 2.0, 0.3)",
            "jax.vmap(lambda n: sp.polygamma(n, 1.5))(i32([1, 2]))",
            "jax.vmap(sp.hyp1f1, (None, None, 0))(1.0, 2.0, inner)",
            "jax.jit(sp.gammaln)(f32([0.5, 4]))",
            "jax.jit(sp.beta)(positive, 1.5)",
            "jax.jit(lambda x: sp.i0e(x) + sp.exp1(x) * sp.ndtr(x))(positive)",
            "jax.jit(sp.multigammaln, static_argnums=1)(positive + 1, 2)",
            "jax.lax.map(sp.dawsn, quarters)",
        ],
        ulps=64,
    ),
]

# ---- jaxprs ----

_PRINTED_OF_ONE = (
    "gammaln gammasgn gamma loggamma factorial digamma erf erfc erfinv expit logit entr ndtr i0 i0e i1 i1e "
    "softmax log_softmax"
).split()
_PRINTED_OF_TWO = "gammainc gammaincc xlogy xlog1py rel_entr kl_div comb zeta".split()


def jaxprs(jax, jnp, lax):
    sp = names(jax, jnp, lax)["sp"]
    x, y = np.float32([0.5, 0.25]), np.float32([1.5, 2])
    jaxpr, grad = jax.make_jaxpr, jax.grad

    def printed(fun, *args):
        return lambda: jaxpr(fun)(*args)

    return (
        {f"special.{name}": printed(getattr(sp, name), x) for name in _PRINTED_OF_ONE}
        | {f"special.{name}": printed(getattr(sp, name), x, y) for name in _PRINTED_OF_TWO}
        | {
            "special.betainc": printed(sp.betainc, x, y, x),
            "special.multigammaln": printed(lambda a: sp.multigammaln(a, 3), x),
            "special.polygamma": printed(lambda a: sp.polygamma(2, a), x),
            "jnp.i0": printed(jnp.i0, x),
            "jnp.kaiser": printed(lambda b: jnp.kaiser(4, b), 1.0),
            "grad of jnp.i0": printed(grad(jnp.i0), 1.0),
        }
        | {
            f"grad of special.{name}": printed(grad(getattr(sp, name)), x[0])
            for name in ("gammaln", "gamma", "digamma", "logit", "entr", "i0e")
        }
        | {
            f"grad of special.{name}": printed(grad(getattr(sp, name), (0, 1)), x[0], y[0])
            for name in ("gammainc", "gammaincc", "xlogy")
        }
        | {"grad of special.betainc": printed(grad(sp.betainc, 2), x[0], y[0], x[1])}
    )


# ---- errors ----

_REAL_ONLY = (
    *(f"sp.{f}(complexes)" for f in ("gammasgn", "entr", "dawsn", "exp1", "expi", "sici")),
    *(f"sp.{f}(complexes, 1)" for f in ("beta", "kl_div", "rel_entr", "expn", "poch")),
    "sp.hyp1f1(1, 2, 1j)",
    "sp.betainc(1, 2, 1j)",
    "sp.polygamma(1, 1j)",
)

ERRORS = {
    "special": [
        *((call, ["complex"]) for call in _REAL_ONLY),
        *(
            (f"sp.{f}({x})", ["int32" if x == "ints" else "float16", "not supported"])
            for f in ("ndtr", "ndtri", "log_ndtr", "spence")
            for x in ("ints", "halves")
        ),
        ("sp.gammaln(1j)", ["lgamma", "complex64"]),
        ("sp.gammaln([1.0])", ["gammaln", "list"]),
        ("sp.gammainc(1.0, None)", ["gammainc", "NoneType"]),
        ("sp.fresnel(1j)", ["complex"]),
        ("sp.factorial(3, exact=True)", ["exact=True"]),
        ("sp.polygamma(1.0, 2.0)", ["polygamma", "integer"]),
        ("sp.zeta(2.0)", ["Riemann", "q"]),
        ("sp.log_ndtr(0.5, 31)", ["series_order", "30"]),
        ("sp.log_ndtr(0.5, -1)", ["series_order", "non-negative"]),
        ("sp.log_ndtr(0.5, 1.5)", ["series_order"]),
        ("sp.bernoulli(2.0)", ["integer"]),
        ("sp.bernoulli(-1)", ["n must be", "non-negative"]),
        ("jax.jit(sp.bernoulli)(3)", ["bernoulli"]),
        ("jax.jit(sp.multigammaln)(3.0, 2)", ["d argument of multigammaln"]),
        ("jax.jit(jnp.kaiser)(4, 2.0)", ["M argument of jnp.kaiser"]),
        ("jnp.i0(1j)", ["i0", "complex64"]),
        ("sp.sph_harm_y(i32([2]), i32([1]), f32([0.5]), f32([0.3]), 1)", ["diff_n"]),
        ("jax.grad(sp.betainc)(1.0, 2.0, 0.5)", ["a and b"]),
        ("jax.grad(lambda m: lax.polygamma(m, 2.0))(1.0)", ["polygamma", "m"]),
        ("jax.grad(lax.zeta)(2.0, 1.0)", ["zeta"]),
        ("jax.grad(lax.igamma_grad_a)(2.0, 1.0)", ["igamma_grad_a"]),
        ("lax.igamma(i32(1), i32(2))", ["igamma", "int32"]),
        ("lax.igamma(f32(1), f16(2))", ["igamma", "float32", "float16"]),
        ("lax.bessel_i0e(i32(1))", ["bessel_i0e", "int32"]),
        ("lax.betainc(f32([1, 2]), f32([1, 2, 3]), f32(0.5))", ["(2,)", "(3,)"]),
    ],
}
