"""The modified Bessel functions I0 and I1 of float32, scaled by exp(-|x|).

Up to 6, power series, which grow as exp(x) does; from there on, an expansion in 1 / x. Within 5 units in the
last place.

Source: https://dlmf.nist.gov/10.25.E2 and 10.40.E1, with polynomials fitted so that the largest error is
smallest
"""

from __future__ import annotations

from tinyjax.compile.kernel.functions.exponentials import exp
from tinyjax.compile.kernel.functions.notation import (
    Number,
    definition,
    polynomial,
    select,
    sqrt,
    with_sign_of,
)


@definition
def bessel_i0e(x: Number) -> Number:
    size = abs(x)
    near = polynomial(
        size * size, 1.45854601e-14, 2.07498016e-12, 4.81476747e-10, 6.76279654e-08, 6.78359038e-06,
        4.34017507e-4, 1.56250261e-2, 2.4999997e-1, 1.0,
    )  # fmt: skip
    root = 1.0 / sqrt(size)
    t = root * root
    far = polynomial(
        t, 5.72156787e-1, -7.20737055e-2, 4.01821993e-2, 2.76144613e-2, 4.98739593e-2, 3.98942262e-1
    )  # fmt: skip
    return select(size < 6.0, near * exp(-size), far * root)


@definition
def bessel_i1e(x: Number) -> Number:
    size = abs(x)
    near = polynomial(
        size * size, 2.35753881e-13, 2.88403711e-11, 5.7839098e-09, 6.76221305e-07, 5.42683847e-05,
        2.60411319e-3, 6.25000671e-2, 0.5,
    )  # fmt: skip
    root = 1.0 / sqrt(size)
    t = root * root
    far = polynomial(
        t, -6.73785031e-1, 8.02939832e-2, -5.39901555e-2, -4.62234989e-2, -1.49610937e-1,
        3.98942292e-1,
    )  # fmt: skip
    return with_sign_of(select(size < 6.0, size * near * exp(-size), far * root), x)
