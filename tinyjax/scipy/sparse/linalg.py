"""`jax.scipy.sparse.linalg`: A x = b by iteration, where A is only a function: cg, bicgstab, gmres.

No matrix is needed (b may be any pytree). Conjugate gradients need A symmetric and positive definite, the
others nothing, at the price of two products a step, or of keeping all directions. Solutions are
differentiable: by custom_linear_solve, not through the loop.

Sources: R. Barrett and others, "Templates for the Solution of Linear Systems", 1994,
https://netlib.org/linalg/html_templates/Templates.html (all three methods)
https://docs.jax.dev/en/latest/jax.scipy.html#module-jax.scipy.sparse.linalg
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.avals import get_aval
from tinyjax.core.missing_names import getattr_of
from tinyjax.core.tree_util.pytrees import tree_leaves, tree_map, tree_structure

# ---- vectors that are pytrees ----

_add = functools.partial(tree_map, operator.add)
_sub = functools.partial(tree_map, operator.sub)


def _scale(factor: Any, tree: Any) -> Any:
    return tree_map(lambda x: factor * x, tree)


def _dot(x: Any, y: Any) -> Any:
    """<x, y>, with the conjugate of x."""
    parts = tree_map(lambda a, b: jnp.vdot(a, b, precision="highest"), x, y)
    return functools.reduce(operator.add, tree_leaves(parts))


def _square(x: Any) -> Any:
    """|x| squared, a real number."""
    return _dot(x, x).real


def _size(tree: Any) -> int:
    return sum([x.size for x in tree_leaves(tree)])


# ---- conjugate gradients ----


def _cg(A: Callable, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Callable) -> Any:
    """Directions p that are conjugate (p.A p' = 0), so that no step spoils an earlier one."""
    enough = jnp.maximum(jnp.square(tol) * _square(b), jnp.square(atol))

    def going_on(state: Any) -> Any:
        _, r, gamma, _, k = state
        size = gamma if M is _identity else _square(r)
        return (size > enough) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, gamma, p, k = state
        image = A(p)
        alpha = gamma / _dot(p, image).real
        x, r = _add(x, _scale(alpha, p)), _sub(r, _scale(alpha, image))
        z = M(r)
        new_gamma = _dot(r, z).real
        return x, r, new_gamma, _add(z, _scale(new_gamma / gamma, p)), k + 1

    r = _sub(b, A(x0))
    p = M(r)
    return lax.while_loop(going_on, step, (x0, r, _dot(r, p).real, p, 0))[0]


# ---- stabilised bi-conjugate gradients ----


def _bicgstab(A: Callable, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Callable) -> Any:
    """Each step goes along p, and then down the steepest slope of what is left.

    p comes from products with a `shadow` of the first residual; where one of them is 0, it restarts."""
    enough = jnp.maximum(jnp.square(tol) * _square(b), jnp.square(atol))

    def going_on(state: Any) -> Any:
        r, k = state[1], state[-1]
        return (_square(r) > enough) & (k < maxiter)

    def beginning(x: Any, r: Any, k: Any) -> Any:
        return x, r, one, one, one, r, r, r, k

    def step(state: Any) -> Any:
        x, r, alpha, omega, rho, p, q, shadow, k = state
        new_rho = _dot(shadow, r)
        p = _add(r, _scale(new_rho / rho * (alpha / omega), _sub(p, _scale(omega, q))))
        p_hat = M(p)
        q = A(p_hat)
        alpha = new_rho / _dot(shadow, q)
        s = _sub(r, _scale(alpha, q))
        half_way = _add(x, _scale(alpha, p_hat))
        early = _square(s) < enough  # the half step was enough
        s_hat = M(s)
        t = A(s_hat)
        omega = _dot(t, s) / _dot(t, t)
        whole = _add(half_way, _scale(omega, s_hat))
        x = tree_map(lambda a, b: jnp.where(early, a, b), half_way, whole)
        r = tree_map(lambda a, b: jnp.where(early, a, b), s, _sub(s, _scale(omega, t)))
        broken_down = (omega == 0) | (alpha == 0) | (new_rho == 0)
        after = (x, r, alpha, omega, new_rho, p, q, shadow, k + 1)
        return tree_map(lambda a, b: jnp.where(broken_down, a, b), beginning(x, r, k + 1), after)

    one = jnp.ones((), jnp.result_type(*tree_leaves(b)))
    return lax.while_loop(going_on, step, beginning(x0, _sub(b, A(x0)), 0))[0]


# ---- generalised minimal residuals ----


def _gmres(
    A: Callable, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Callable,
    restart: int, stop_early: bool,
) -> Any:  # fmt: skip
    """Cycles of at most `restart` directions, each restarted from what is left of b."""
    size_of_b = jnp.sqrt(_square(b))
    atol = jnp.maximum(tol * size_of_b, atol)
    enough = jnp.sqrt(_square(M(b))) * jnp.minimum(1, atol / size_of_b)

    def going_on(state: Any) -> Any:
        _, r, k = state
        return (k < maxiter) & (jnp.sqrt(_square(r)) > enough)

    def cycle(state: Any) -> Any:
        x, r, k = state
        moved = _minimal_residual(lambda v: M(A(v)), r, restart, enough if stop_early else 0)
        x = _add(x, moved)
        return x, M(_sub(b, A(x))), k + 1

    return lax.while_loop(going_on, cycle, (x0, M(_sub(b, A(x0))), 0))[0]


def _minimal_residual(A: Callable, r: Any, restart: int, enough: Any) -> Any:
    """The x among the combinations of r, A r, A A r, ... (`restart` of them) with the least |A x - r|.

    Their orthogonal basis V (Arnoldi) makes A a matrix H of one row more than columns, upper triangular
    but for one diagonal below; rotations of neighbouring rows (Givens) make it a triangle R, column by
    column, and the rotated right side has the length of what is left in its last element."""
    length = jnp.sqrt(_square(r))
    dtype = jnp.result_type(length, *tree_leaves(r))
    eps = jnp.finfo(dtype).eps
    rows = jnp.arange(restart + 1)

    def column(V: Any, k: Any) -> Any:
        return tree_map(lambda v: v[..., k], V)

    def going_on(state: Any) -> Any:
        _, _, _, side, k, broken_down = state
        return (k < restart) & (abs(side[k]) > enough) & ~broken_down

    def step(state: Any) -> Any:
        V, R, rotations, side, k, _ = state
        w = A(column(V, k))
        before = jnp.sqrt(_square(w))
        h = jnp.zeros(restart + 1, dtype)
        for _ in range(2):  # once more, for the digits that the first subtraction lost
            parts = [jnp.tensordot(v.conj(), x, x.ndim) for v, x in _with_axis_first(V, w)]
            part = functools.reduce(operator.add, parts)
            w = _sub(w, _combination(V, part))
            h = h + part
        norm = jnp.sqrt(_square(w))
        broken_down = norm <= eps * before
        h = h.at[k + 1].set(jnp.where(broken_down, 0, norm))
        unit = tree_map(lambda x: jnp.where(broken_down, 0, x / norm), w)
        V = tree_map(lambda v, u: v.at[..., k + 1].set(u), V, unit)

        h = lax.fori_loop(0, k, lambda i, h: _rotate(h, i, rotations[i]), h)
        hypotenuse = jnp.sqrt(abs(h[k]) ** 2 + abs(h[k + 1]) ** 2)
        turn = jnp.stack([h[k], h[k + 1]]).conj() / hypotenuse
        rotations = rotations.at[k].set(turn)
        R = R.at[:, k].set(jnp.where(rows <= k, _rotate(h, k, turn), 0)[:-1])
        return V, R, rotations, _rotate(side, k, turn), k + 1, broken_down

    V = tree_map(lambda x: jnp.zeros((*x.shape, restart + 1), dtype).at[..., 0].set(x / length), r)
    side = jnp.zeros(restart + 1, dtype).at[0].set(length)
    state = (V, jnp.eye(restart, dtype=dtype), jnp.zeros((restart, 2), dtype), side, 0, False)
    V, R, _, side, k, _ = lax.while_loop(going_on, step, state)
    y = _back_substitution(R, jnp.where(rows < k, side, 0)[:-1])
    return _combination(tree_map(lambda v: v[..., :-1], V), y)


def _combination(V: Any, weights: Any) -> Any:
    return tree_map(lambda v: v @ weights, V)


def _with_axis_first(V: Any, w: Any) -> list[tuple[Any, Any]]:
    pairs = zip(tree_leaves(V), tree_leaves(w))
    return [(jnp.moveaxis(v, -1, 0), x) for v, x in pairs]


def _rotate(h: Any, i: Any, turn: Any) -> Any:
    """Rows i and i + 1 turned: (a, b) becomes (|(a, b)|, 0) where turn is (a, b)'s conjugate over that."""
    a, b = h[i], h[i + 1]
    return (
        h.at[i]
        .set(turn[0] * a + turn[1] * b)
        .at[i + 1]
        .set(turn[0].conj() * b - turn[1].conj() * a)
    )


def _back_substitution(R: Any, b: Any) -> Any:
    """y with R y = b for an upper triangle R, from the last row to the first."""

    def row(i: Any, y: Any) -> Any:
        i = b.size - 1 - i
        return y.at[i].set((b[i] - R[i] @ y) / R[i, i])

    return lax.fori_loop(0, b.size, row, jnp.zeros_like(b))


# ---- what all three share ----


def _identity(x: Any) -> Any:
    return x


def _as_function(A: Any, name: str) -> Callable:
    if callable(A):
        return A
    is_array = isinstance(A, Array) or hasattr(A, "__array__")
    if not is_array and not hasattr(A, "__matmul__"):
        raise TypeError(f"the linear operator {name} must be either a function or an array: {A}")
    A = jnp.asarray(A) if is_array else A
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(
            f"the linear operator {name} must be a square matrix, but has shape: {A.shape}"
        )
    if not is_array:  # a sparse array, say
        return lambda x: A @ x
    return lambda x: jnp.dot(A, x, precision="highest")


def _as_arrays(tree: Any) -> Any:
    return tree_map(lambda x: jnp.asarray(x) if not isinstance(x, (list, str)) else x, tree)


def _solve(method: Callable, A: Any, b: Any, x0: Any, M: Any, maxiter: Any, **options: Any) -> Any:
    x0 = tree_map(jnp.zeros_like, b) if x0 is None else x0
    A = _as_function(A, "A")
    M = _identity if M is None else _as_function(M, "M")
    b, x0 = _as_arrays(b), _as_arrays(x0)
    if tree_structure(x0) != tree_structure(b):
        raise ValueError(
            "x0 and b must have matching tree structure: "
            f"{tree_structure(x0)} vs {tree_structure(b)}"
        )
    shapes = [[x.shape for x in tree_leaves(tree)] for tree in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"arrays in x0 and b must have matching shapes: {shapes[0]} vs {shapes[1]}"
        )
    maxiter = 10 * _size(b) if maxiter is None else maxiter

    def solve(matvec: Callable, b: Any) -> Any:
        return method(matvec, b, x0, maxiter=maxiter, M=M, **options)

    real = not any([dtypes.kind(get_aval(x).dtype) == "c" for x in tree_leaves(b)])
    symmetric = method is _cg and real
    return lax.custom_linear_solve(A, b, solve, solve, symmetric=symmetric)


def cg(
    A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, maxiter: Any = None, M: Any = None
) -> tuple[Any, None]:  # fmt: skip
    """(x, None) with A x = b by conjugate gradients, for A that is Hermitian and positive definite.

    `A` and the preconditioner `M` (near the inverse of A) are functions of a pytree like `b`, or square
    matrices. From the guess `x0`, until |b - A x| <= max(tol * |b|, atol) or `maxiter` steps.
    Raises TypeError and ValueError where the operators or `x0` do not fit `b`.
    Source: https://netlib.org/linalg/html_templates/node20.html"""
    return _solve(_cg, A, b, x0, M, maxiter, tol=tol, atol=atol), None


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, maxiter: Any = None, M: Any = None
) -> tuple[Any, None]:  # fmt: skip
    """(x, None) with A x = b by the stabilised method of bi-conjugate gradients, for any A.

    Arguments and errors are those of cg. Where a divisor is 0, as for rotations by 90 degrees, x is NaN.
    Source: https://netlib.org/linalg/html_templates/node41.html"""
    return _solve(_bicgstab, A, b, x0, M, maxiter, tol=tol, atol=atol), None


def gmres(
    A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, restart: int = 20,
    maxiter: Any = None, M: Any = None, solve_method: str = "batched",
) -> tuple[Any, Any]:  # fmt: skip
    """(x, info) with A x = b by generalised minimal residuals, for any A; info is -1 if x is NaN, else 0.

    At most `maxiter` cycles of `restart` products each. `solve_method="incremental"` looks after each
    product whether it is enough, "batched" after each cycle. All else is as in cg.
    Source: https://netlib.org/linalg/html_templates/node29.html"""
    if solve_method not in ("batched", "incremental"):
        raise ValueError(
            f"invalid solve_method {solve_method!r}, must be either 'incremental' or 'batched'"
        )
    restart = min(restart, _size(_as_arrays(b)))
    method = functools.partial(_gmres, restart=restart, stop_early=solve_method == "incremental")
    x = _solve(method, A, b, x0, M, maxiter, tol=tol, atol=atol)
    return x, jnp.where(jnp.isnan(jnp.sqrt(_square(x))), -1, 0)


__getattr__ = getattr_of(__name__)
