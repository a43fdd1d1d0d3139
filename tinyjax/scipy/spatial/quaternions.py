"""Quaternions (x, y, z, w) of norm 1, along the last axis, and the other ways to write a rotation.

The four numbers are the axis times sin(angle / 2), and cos(angle / 2). q and -q are the same rotation. Near
the angle 0 a quotient such as sin(a / 2) / a is a series in a**2, so that it has the right derivative there,
too.

Sources: J. Diebel, "Representing Attitude: Euler Angles, Unit Quaternions, and Rotation Vectors", 2006
S. W. Shepperd, "Quaternion from Rotation Matrix", J. Guidance and Control 1(3), 1978: from_matrix
M. D. Shuster, "A Survey of Attitude Representations", J. Astronautical Sciences 41(4), 1993: mrp
E. Bernardes, S. Viollet, "Quaternion to Euler angles conversion", PLoS ONE 17(11), 2022: to_euler
F. L. Markley et al., "Averaging Quaternions", J. Guidance, Control and Dynamics 30(4), 2007: mean
"""

from __future__ import annotations

import math
from typing import Any

from tinyjax import numpy as jnp
from tinyjax.numpy.linalg.decompositions import eigh

SMALL = 1e-6  # of an angle's square: below, the series' next term is less than a double's rounding
DEGENERATE = 1e-7  # how near the middle Euler angle is to where the two others turn about one axis


def normalized(q: Any) -> Any:
    return q / _norm(q)[..., None]


def conjugate(q: Any) -> Any:
    return q * jnp.array([-1, -1, -1, 1], dtype=q.dtype)


def canonical(q: Any) -> Any:
    """q or -q, chosen so that the first nonzero element, in the order w, x, y, z, is positive."""
    x, y, z, w = _elements(q)
    first = jnp.where(w != 0, w, jnp.where(x != 0, x, jnp.where(y != 0, y, z)))
    return jnp.where(first[..., None] < 0, -q, q)


def product(p: Any, q: Any) -> Any:
    """The rotation q, then p."""
    a, b = p[..., :3], q[..., :3]
    c, d = p[..., 3:], q[..., 3:]
    vector = c * b + d * a + jnp.cross(a, b)
    return jnp.concatenate([vector, c * d - (a * b).sum(-1, keepdims=True)], axis=-1)


def angle(q: Any) -> Any:
    return 2 * jnp.arctan2(_norm(q[..., :3]), abs(q[..., 3]))


def mean(q: Any, weights: Any) -> Any:
    """The q that maximizes the weighted sum of its squared products with all: a matrix's eigenvector."""
    _, vectors = eigh((weights * q.T) @ q)
    return vectors[:, -1]


# ---- matrices ----


def to_matrix(q: Any) -> Any:
    x, y, z, w = _elements(q)
    rows = [
        [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w],
    ]
    return jnp.stack([jnp.stack(row, -1) for row in rows], -2)


def from_matrix(m: Any) -> Any:
    """Sums of m's elements are all products of two of 4 q's elements; the row of the largest is best."""
    diagonal = [m[..., i, i] for i in range(3)]
    trace = sum(diagonal)
    xx, yy, zz = (1 - trace + 2 * d for d in diagonal)
    xy, xz, yz = (m[..., i, j] + m[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    xw, yw, zw = (m[..., i, j] - m[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
    ww = 1 + trace
    rows = [[xx, xy, xz, xw], [xy, yy, yz, yw], [xz, yz, zz, zw], [xw, yw, zw, ww]]
    products = jnp.stack([jnp.stack(row, -1) for row in rows], -2)
    best = jnp.argmax(jnp.stack([xx, yy, zz, ww], -1), axis=-1)
    return normalized(jnp.take_along_axis(products, best[..., None, None], axis=-2)[..., 0, :])


# ---- three numbers along the axis ----


def from_rotvec(v: Any) -> Any:
    square, small, angle = _square_and_root(v)
    scale = jnp.where(small, 1 / 2 - square / 48 + square**2 / 3840, jnp.sin(angle / 2) / angle)
    w = jnp.where(small, 1 - square / 8 + square**2 / 384, jnp.cos(angle / 2))
    return jnp.concatenate([scale[..., None] * v, w[..., None]], axis=-1)


def to_rotvec(q: Any) -> Any:
    """With w >= 0 the angle is in 0 to pi; its quotient with sin(angle / 2) is arcsin's series near 0."""
    q = jnp.where(q[..., 3:] < 0, -q, q)
    square, small, sine = _square_and_root(q[..., :3])
    large = 2 * jnp.arctan2(sine, q[..., 3]) / sine
    return jnp.where(small, 2 + square / 3 + 3 * square**2 / 20, large)[..., None] * q[..., :3]


def from_mrp(m: Any) -> Any:
    square = (m * m).sum(-1, keepdims=True)
    return jnp.concatenate([2 * m, 1 - square], axis=-1) / (1 + square)


def to_mrp(q: Any) -> Any:
    q = jnp.where(q[..., 3:] < 0, -q, q)
    return q[..., :3] / (1 + q[..., 3:])


# ---- Euler angles ----


def from_euler(axes: list[int], angles: Any, moving: bool) -> Any:
    """About axes that move with the body each next turn comes first in space."""
    whole = None
    for i, axis in enumerate(axes):
        half = angles[..., i] / 2
        elements = [jnp.zeros_like(half)] * 3 + [jnp.cos(half)]
        elements[axis] = jnp.sin(half)
        turn = jnp.stack(elements, -1)
        if whole is None:
            whole = turn
        else:
            whole = product(whole, turn) if moving else product(turn, whole)
    return whole


def to_euler(axes: list[int], q: Any, moving: bool) -> Any:
    """About moving axes these are the angles about fixed ones, in the opposite order.

    With axes i, j, k of which the third is the first, (w, i) and (j, k) are the cosines and sines of the
    half sum and the half difference of the outer angles, times those of the middle one's half. With three
    axes, q is turned by a quarter about j first."""
    i, j, k = axes[::-1] if moving else axes
    elements = _elements(q)
    repeated = i == k
    if repeated:
        k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) // 2
    w, x, y, z = elements[3], elements[i], elements[j], sign * elements[k]
    a, b, c, d = (w, x, y, z) if repeated else (w - y, x + z, y + w, z - x)

    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    at_0, at_pi = abs(middle) <= DEGENERATE, abs(middle - math.pi) <= DEGENERATE
    first, third = half_sum - half_difference, half_sum + half_difference
    # Only the sum, or only the difference, is known: it is all given to the first letter's angle.
    if moving:
        first = jnp.where(at_0 | at_pi, 0, first)
        third = jnp.where(at_0, 2 * half_sum, jnp.where(at_pi, 2 * half_difference, third))
    else:
        first = jnp.where(at_0, 2 * half_sum, jnp.where(at_pi, -2 * half_difference, first))
        third = jnp.where(at_0 | at_pi, 0, third)
    if not repeated:
        third, middle = sign * third, middle - math.pi / 2
    angles = jnp.stack([third, middle, first] if moving else [first, middle, third], -1)
    return (angles + math.pi) % (2 * math.pi) - math.pi


# ---- parts ----


def _elements(q: Any) -> list[Any]:
    return [q[..., i] for i in range(4)]


def _norm(v: Any) -> Any:
    return jnp.sqrt((v * v).sum(-1))


def _square_and_root(v: Any) -> tuple[Any, Any, Any]:
    """The squared norm, whether it is small, and the norm; 1 where it is small, whose slope is finite."""
    square = (v * v).sum(-1)
    small = square <= SMALL
    return square, small, jnp.sqrt(jnp.where(small, 1, square))
