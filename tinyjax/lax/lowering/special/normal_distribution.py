"""The inverse of the normal distribution, of float32: within 6 units in the last place; erf_inv of float64.

As in erf_inv of float32, the result is (2 p - 1) times a function of w = -log(4 p (1 - p)): a polynomial in w
in the middle, sqrt(w) times one in 1 / sqrt(w) in the tails. Both are fitted so that the largest error is
smallest.

Source: M. Giles, "Approximating the erfinv function", GPU Computing Gems (2012), for w
"""

from __future__ import annotations

import functools
import math

from tinyjax.compile.kernel.functions import exponentials
from tinyjax.compile.kernel.functions.notation import (
    Number,
    definition,
    definition_of,
    mul_add,
    op,
    polynomial,
    select,
    sqrt,
)
from tinyjax.lax import special


@definition
def ndtri(p: Number) -> Number:
    w = -exponentials.log(4.0 * p * (1.0 - p))
    root = sqrt(w)
    in_middle = w < 6.0
    t = select(in_middle, w - 3.0, 1.0 / root - 0.25)
    middle_and_tail = (
        (-8.24026269e-09, -564.838562), (-6.1302754e-09, -590.479309), (6.44289969e-07, -3.59374666),
        (-2.66626739e-06, 40.4802437), (-1.80414372e-05, 9.50586891), (0.000276445295, -0.714137316),
        (-0.00118238362, 0.794164002), (-0.00811557844, 0.113775887), (0.341716886, -0.280271709),
        (2.29603529, 1.35756874),
    )  # fmt: skip
    r = polynomial(t, *(select(in_middle, *pair) for pair in middle_and_tail))
    return mul_add(2.0, p, -1.0) * (r * select(in_middle, 1.0, root))


@definition_of("float64")
def erf_inv_float64(y: Number) -> Number:
    log, exp, erf, erfc = (functools.partial(op, name) for name in ("log", "exp", "erf", "erfc"))
    size = abs(y)
    inside = select(size < 1.0, y, 0.0)
    at_ends = select(size == 1.0, y * math.inf, math.nan)
    found = special.erf_inv_float64(inside, log, sqrt, exp, erf, erfc, select)
    return select(size < 1.0, found, at_ends)
