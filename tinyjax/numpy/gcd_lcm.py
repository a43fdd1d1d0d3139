"""gcd and lcm: Euclid's algorithm, for as many steps as the slowest element of an array needs."""

from __future__ import annotations

from typing import Any

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.numpy.promotion import promote_dtypes
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.ufuncs import absolute, floor_divide, multiply
from tinyjax.numpy.util import broadcast_arrays, constant_like, ensure_arraylike, weak_constant_like
from tinyjax.transform.jit.api import jitted


@jitted
def gcd(x1: Any, x2: Any) -> Array:
    """The greatest common divisor of integers; as numpy.gcd. Raises ValueError for other dtypes."""
    x1, x2 = promote_dtypes(*ensure_arraylike("gcd", x1, x2))
    _check_integers("gcd", x1)
    x1, x2 = broadcast_arrays(x1, x2)

    def any_is_left(pair: Any) -> Any:
        return lax.reduce_or(lax.ne(pair[1], constant_like(pair[1], 0)), tuple(range(x1.ndim)))

    def step(pair: Any) -> Any:
        """Euclid's: (a, b) becomes (b, a modulo b), the larger first; (a, 0) stays as it is."""
        a, b = pair
        zero = weak_constant_like(b, 0)
        a, b = where_(lax.ne(b, zero), b, a), where_(lax.ne(b, zero), lax.rem(a, b), zero)
        return where_(lax.lt(a, b), b, a), where_(lax.lt(a, b), a, b)

    return lax.while_loop(any_is_left, step, (absolute(x1), absolute(x2)))[0]


@jitted
def lcm(x1: Any, x2: Any) -> Array:
    """The least common multiple of integers; as numpy.lcm. Raises ValueError for other dtypes."""
    x1, x2 = promote_dtypes(*ensure_arraylike("lcm", x1, x2))
    _check_integers("lcm", x1)
    x1, x2 = absolute(x1), absolute(x2)
    divisor = gcd(x1, x2)
    zero = weak_constant_like(divisor, 0)
    return where_(lax.eq(divisor, zero), zero, multiply(x1, floor_divide(x2, divisor)))


def _check_integers(name: str, x: Array) -> None:
    if dtypes.kind(x.dtype) not in "iu":
        raise ValueError(f"Arguments to jax.numpy.{name} must be integers, got {x.dtype.name}.")
