"""Cases that are not compared number by number, and what of them is compared instead.

NumPy and OpenBLAS choose their code by the processor, and then other last bits are as right; of some results
more than last bits may differ. COMPARISONS says, for single cases (by their test id), what must be equal.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Comparison(NamedTuple):
    """reason: why the numbers themselves are not compared as those of the case's group.
    view: what must be equal, made of a result's arrays: theirs, ours.
    ulps: how far it may be off, if not by as much as others of the group.
    """

    reason: str
    view: Callable[[list[np.ndarray]], Any] = list
    ulps: int | None = None


def schur_forms(arrays):
    """Of pairs T, Q: the matrix that they make, Q^H Q, and what must be 0 of T."""
    forms = []
    for t, q in zip(arrays[::2], arrays[1::2], strict=True):
        adjoint = q.conj().swapaxes(-1, -2)
        below = np.diagonal(t, -1, -2, -1)  # of real forms: no two in turn
        rest = below if t.dtype.kind == "c" else below[..., 1:] * below[..., :-1]
        forms += [q @ t @ adjoint, adjoint @ q, np.tril(t, -2), rest]
    return forms


def finite(arrays):
    return [np.isfinite(x) for x in arrays]


def points_on_circle(angles):
    return [np.exp(1j * x) for x in angles]


PHASES = "a matrix has many Schur forms: they differ by the phase of each column of Q"
SINGULAR = "a matrix without an inverse: NaN and inf are all that LAPACK can give"
ANGLES = "a difference of angles near pi: 0 may be an ulp of pi"

COMPARISONS = {
    "Schur, Hessenberg, tridiagonal: "
    "ll.schur(square), ll.schur(c), ll.schur(stack), ll.schur(nan * square)": (
        Comparison(PHASES, schur_forms)
    ),
    "Schur, Hessenberg, tridiagonal: "
    "jsl.schur(turning), jsl.schur(turning, 'complex'), jsl.schur(c)": (
        Comparison(PHASES, schur_forms)
    ),
    "linear systems: nl.inv(g * 0)": Comparison(SINGULAR, finite),
    "rotations: Rotation.identity().as_euler('xyz')": Comparison(ANGLES, points_on_circle),
    "jnp transcendental: jnp.cosh(reals)": Comparison(
        "JAX's cosh(20) is 8 ulps off, and NumPy's may be 4", ulps=12
    ),
    "convolution: dtypes: grads(lambda x, w: jnp.real(lax.conv(x + 1j, w - 2j, (1,), 'SAME')), "
    "draws(1, 2, 5), draws(3, 2, 2))": Comparison("sums of complex products, in an order", ulps=8),
    "special functions of one: sp.gamma(positive)": Comparison(
        "JAX's gamma(10) is 32 ulps off, and exp makes 4 ulps of log(gamma(10)) = 12.8 into 51",
        ulps=84,
    ),
}
