"""erf and erfc of float64, within 4 units in the last place.

The method is that of float32, in compile/kernel/functions/special.py. The polynomials interpolate at
Chebyshev's points.

Source: M. Shepherd and J. Laframboise, Mathematics of Computation 36 (1981), for erfc
"""

from __future__ import annotations

from tinyjax.compile.kernel.functions.exponentials import exp
from tinyjax.compile.kernel.functions.notation import (
    Number,
    as_float,
    as_int,
    clamp,
    definition_of,
    mul_add,
    polynomial,
    select,
    with_sign_of,
)


# erf(x) for x from -0.9 to 0.9
def small_erf_double(x: Number) -> Number:
    z = x * x
    p = polynomial(
        z, 1.0264742936451028e-08, -1.5547485573271175e-07, 1.637600569928181e-06,
        -1.4919948045407385e-05, 0.00012055088747916487, -0.0008548320279034282,
        0.005223977509042423, -0.02686617063339135, 0.11283791670894319, -0.3761263890318252,
        0.12837916709551253,
    )  # fmt: skip
    return mul_add(p, x, x)


def erfc_from_half(a: Number) -> Number:
    """As erfc of float32, for 0.45 <= a <= 27.3 and q = (a - 3) / (a + 3)."""
    q = (a - 3.0) / (a + 3.0)
    p = polynomial(
        q, 1.266835228018172e-08, 6.736219639121636e-08, -9.38319558628839e-08,
        -5.746861967829753e-07, 3.126578437797445e-07, 3.4429628437651675e-06,
        -7.06505465933378e-07, -2.0087668824720046e-05, 4.940523030455023e-06,
        0.00012509573701712556, -0.00010515776123032225, -0.0007798316295219667,
        0.0018886900726915437, 0.0025293917466579457, -0.02377051489531733, 0.06830802734814304,
        -0.11927366341627721, 0.12964515870264484, -0.04756229435343516, -0.13562110612458023,
        1.2530080582697296,
    )  # fmt: skip
    h = as_float(as_int(a) & -0x8000000)
    rest = (h - a) * (h + a)
    e = mul_add(rest * rest, mul_add(rest, 1 / 6, 0.5), rest) + 1.0
    return p / mul_add(2.0, a, 1.0) * e * exp(-h * h)


@definition_of("float64")
def erf_float64(x: Number) -> Number:
    size = abs(x)
    far = 1.0 - erfc_from_half(clamp(size, 0.45, 6.0))
    return with_sign_of(select(size > 0.9, far, small_erf_double(x)), x)


@definition_of("float64")
def erfc_float64(x: Number) -> Number:
    y = erfc_from_half(clamp(abs(x), 0.45, 27.3))
    right = select(abs(x) < 0.5, 1.0 - small_erf_double(x), select(x < 0.0, 2.0 - y, y))
    return select(x != x, x, right)
