"""`jax.scipy.spatial.transform`: rotations of space, and the way from one to another. On demand.

A rotation is kept as a quaternion: four numbers that degenerate nowhere, whose product is the one rotation
after the other. Everything works over the last axis, so that a Rotation holds one or many; it is a pytree
with one leaf. The conversions are in quaternions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tinyjax import numpy as jnp
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.numpy.util import check_arraylike
from tinyjax.scipy.spatial import quaternions


class Rotation(NamedTuple):
    """One rotation of space, or many. quat: quaternions (x, y, z, w) of norm 1, of the shape (..., 4).

    Make one by from_quat and the other from_ methods: they make the norm 1. r[i] and len(r) are those of
    the first axis; p * q is first q, then p."""

    quat: Array

    # ---- from numbers ----

    @classmethod
    def from_quat(cls, quat: Array) -> Rotation:
        """From quaternions (x, y, z, w), of the shape (..., 4) and any norm but 0.

        Raises ValueError if the last axis does not have 4 elements."""
        return cls(quaternions.normalized(_with_axes("quat", quat, 4)))

    @classmethod
    def from_matrix(cls, matrix: Array) -> Rotation:
        """From orthogonal matrices of determinant 1, of the shape (..., 3, 3), else ValueError."""
        return cls(quaternions.from_matrix(_with_axes("matrix", matrix, 3, 3)))

    @classmethod
    def from_rotvec(cls, rotvec: Array, degrees: bool = False) -> Rotation:
        """From vectors along the axis, as long as the angle is large: (..., 3), else ValueError.

        At 0 it has its derivative, where JAX's is NaN."""
        rotvec = _with_axes("rotvec", rotvec, 3)
        return cls(quaternions.from_rotvec(_to_radians(rotvec, degrees)))

    @classmethod
    def from_mrp(cls, mrp: Array) -> Rotation:
        """From modified Rodrigues parameters, tan(angle / 4) along the axis: (..., 3), else ValueError."""
        return cls(quaternions.from_mrp(_with_axes("mrp", mrp, 3)))

    @classmethod
    def from_euler(cls, seq: str, angles: Array, degrees: bool = False) -> Rotation:
        """From turns by `angles`, of the shape (..., n), about the n axes of `seq`, one after the other.

        Small letters ("zyx") are the fixed axes of space, capitals those that turn with the body.
        Raises ValueError if `seq` does not have 1 to 3 such letters, all small or all capital, without
        the same letter twice in a row; or if `angles` does not have as many. TypeError for a list."""
        axes, moving = _axes(seq, counts=(1, 2, 3))
        check_arraylike("Rotation.from_euler", angles)
        angles = _with_axes("angles", jnp.atleast_1d(angles), len(axes))
        return cls(quaternions.from_euler(axes, _to_radians(angles, degrees), moving))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The rotation by nothing. `num` must be None (AssertionError), as in JAX."""
        if num is not None:
            raise AssertionError(f"identity makes one rotation: num must be None, got {num}")
        return cls(jnp.array([0.0, 0.0, 0.0, 1.0], dtype=dtype))

    @classmethod
    def random(cls, random_key: Array, num: int | None = None) -> Rotation:
        """Raises NotImplementedError, as in JAX, with another way to draw rotations."""
        raise NotImplementedError(
            "Rotation.random is not in JAX either. For uniform rotations make the norm of normal draws 1: "
            "Rotation.from_quat(jax.random.normal(key, (num, 4)))"
        )

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """All rotations of a sequence of Rotations in one; each must hold many, not one."""
        return cls(jnp.concatenate([rotation.quat for rotation in rotations]))

    # ---- to numbers ----

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """(..., 4). `canonical`: of q and -q, which turn alike, that with w > 0 (or the first not 0)."""
        quat = quaternions.canonical(self.quat) if canonical else self.quat
        return jnp.roll(quat, 1, axis=-1) if scalar_first else quat

    def as_matrix(self) -> Array:
        """Matrices to multiply columns by: (..., 3, 3)."""
        return quaternions.to_matrix(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """The axis times the angle, which is in 0 to pi: (..., 3)."""
        return _from_radians(quaternions.to_rotvec(self.quat), degrees)

    def as_mrp(self) -> Array:
        """Modified Rodrigues parameters, of a norm up to 1: (..., 3)."""
        return quaternions.to_mrp(self.quat)

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Angles about three axes, as in from_euler: (..., 3). Where two axes coincide one angle is 0.

        Raises ValueError for a `seq` that from_euler would not take, or without 3 letters."""
        axes, moving = _axes(seq, counts=(3,))
        return _from_radians(quaternions.to_euler(axes, self.quat, moving), degrees)

    # ---- what one does with rotations ----

    def __mul__(self, other: Rotation) -> Rotation:  # type: ignore[override]
        """First `other`, then this one."""
        return Rotation(quaternions.normalized(quaternions.product(self.quat, other.quat)))

    def apply(self, vectors: Array, inverse: bool = False) -> Array:
        """The `vectors`, (..., 3), turned, or turned back: (..., 3), by broadcasting. Else ValueError."""
        vectors = _with_axes("vectors", vectors, 3)
        matrix = self.as_matrix()
        matrix = jnp.where(inverse, matrix.mT, matrix)
        return (matrix @ vectors[..., None])[..., 0]

    def inv(self) -> Rotation:
        """The way back."""
        return Rotation(quaternions.conjugate(self.quat))

    def magnitude(self) -> Array:
        """The angles, in 0 to pi: (...)."""
        return quaternions.angle(self.quat)

    def mean(self, weights: Array | None = None) -> Rotation:
        """The rotation nearest to all of many, in the sum of squares, with a weight for each.

        Raises ValueError if `weights` does not have the shape (len(self),)."""
        n = len(self)
        w = jnp.ones(n) if weights is None else jnp.asarray(weights)
        if w.shape != (n,):
            raise ValueError(f"weights of {n} rotations must have the shape ({n},), got {w.shape}")
        return Rotation(quaternions.mean(self.quat, w.astype(self.quat.dtype)))

    @property
    def single(self) -> bool:
        """Whether this is one rotation, without an axis of many."""
        return self.quat.ndim == 1

    def __len__(self) -> int:
        if self.single:
            raise TypeError("a single Rotation has no len()")
        return self.quat.shape[0]

    def __getitem__(self, indexer: Any) -> Rotation:  # type: ignore[override]
        if self.single:
            raise TypeError("a single Rotation has no elements to index")
        return Rotation(self.quat[indexer])


class Slerp(NamedTuple):
    """The way through rotations at given times, each turn with constant speed about one axis.

    Make it by Slerp.init(times, rotations), and call it with times. times: those of the rotations.
    timedelta: their differences. rotations: where each turn starts. rotvecs: each turn."""

    times: Array
    timedelta: Array
    rotations: Rotation
    rotvecs: Array

    @classmethod
    def init(cls, times: Array, rotations: Rotation) -> Slerp:
        """`times` must increase (not checked) and have the shape (len(rotations),), else ValueError.

        Raises TypeError if `rotations` isn't a Rotation, and ValueError if it doesn't hold 2 or more."""
        if not isinstance(rotations, Rotation):
            raise TypeError(f"rotations must be a Rotation, got {type(rotations).__name__}")
        if rotations.single or len(rotations) == 1:
            raise ValueError("rotations must hold 2 or more rotations, got one")
        times = jnp.asarray(times, dtype=rotations.quat.dtype)
        if times.shape != (len(rotations),):
            raise ValueError(
                f"times must have one axis with a time for each of {len(rotations)} rotations, "
                f"got the shape {times.shape}"
            )
        starts, ends = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(times, jnp.diff(times), starts, (starts.inv() * ends).as_rotvec())

    def __call__(self, times: Array) -> Rotation:
        """The rotations at `times`, a number or of one axis (else ValueError). Outside the ends turn on."""
        times = jnp.asarray(times, dtype=self.times.dtype)
        if times.ndim > 1:
            raise ValueError(
                f"times must be a number or have one axis, got the shape {times.shape}"
            )
        i = jnp.maximum(jnp.searchsorted(self.times, times) - 1, 0)
        part = (times - self.times[i]) / self.timedelta[i]
        return self.rotations[i] * Rotation.from_rotvec(self.rotvecs[i] * part[..., None])


def _with_axes(name: str, x: Any, *sizes: int) -> Array:
    x = jnp.asarray(x)
    if x.shape[-len(sizes) :] != sizes:
        wanted = ", ".join(["...", *map(str, sizes)])
        raise ValueError(f"{name} must have the shape ({wanted}), got {x.shape}")
    return x


def _axes(seq: str, counts: tuple[int, ...]) -> tuple[list[int], bool]:
    """The numbers of the axes, and whether they move with the body."""
    if len(seq) not in counts:
        raise ValueError(f"seq must name {' or '.join(map(str, counts))} axes, got {seq!r}")
    if not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        raise ValueError(f"seq must have letters of 'xyz', or letters of 'XYZ', got {seq!r}")
    if any(a == b for a, b in zip(seq, seq[1:])):
        raise ValueError(f"seq must not name an axis twice in a row, got {seq!r}")
    return ["xyz".index(letter) for letter in seq.lower()], seq.isupper()


def _to_radians(angles: Any, degrees: Any) -> Any:
    return jnp.where(degrees, jnp.deg2rad(angles), angles)


def _from_radians(angles: Any, degrees: Any) -> Any:
    return jnp.where(degrees, jnp.rad2deg(angles), angles)


__getattr__ = getattr_of(__name__)
