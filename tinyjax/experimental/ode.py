"""Ordinary differential equations: `odeint(func, y0, t)` solves dy/dt = func(y, t).

A gradient needs no memory of the steps: the adjoint of the equation is a differential equation too, and is
solved backwards.

Sources: J. R. Dormand and P. J. Prince, "A family of embedded Runge-Kutta formulae", 1980 (the method).
L. F. Shampine, "Some practical Runge-Kutta formulas", 1986, https://doi.org/10.2307/2008219 (between
the steps). E. Hairer, S. P. Norsett, G. Wanner, "Solving Ordinary Differential Equations I", II.4 (the
steps' sizes). R. Chen and others, "Neural Ordinary Differential Equations", 2018,
https://arxiv.org/abs/1806.07366, appendices B and C (the adjoint).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.avals import get_aval
from tinyjax.core.eval_shape import eval_shape
from tinyjax.core.tree_util.pytrees import tree_leaves, tree_map, tree_structure
from tinyjax.numpy.ravel_pytree import ravel_pytree
from tinyjax.transform.batching import vmap
from tinyjax.transform.custom.closures import closure_convert
from tinyjax.transform.custom.reverse_rules import custom_vjp
from tinyjax.transform.jit.api import jit
from tinyjax.transform.vjp import vjp

# ---- the method's numbers ----

# After the first, each stage looks at the time t + TIMES[i] * dt, at y + dt * (WEIGHTS[i] @ slopes).
TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1)
WEIGHTS = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
# The last stage looks at the result of fifth order itself, so that its slope is the next step's first.
# A result of fourth order comes from the same slopes; the difference of the two estimates the error.
FIFTH_ORDER = (*WEIGHTS[-1], 0)
FOURTH_ORDER = (1951 / 21600, 0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60)
ERROR = tuple([fifth - fourth for fifth, fourth in zip(FIFTH_ORDER, FOURTH_ORDER)])
# Shampine's result at t + dt / 2, from the same slopes.
MIDDLE = (
    *(6025192743 / 60171106304, 0, 51252292925 / 130801643196, -2691868925 / 90256659456),
    *(187940372067 / 3189068634112, -1776094331 / 39487288512, 11237099 / 470086768),
)


# ---- one step ----


def weighted_sum(weights: tuple[float, ...], slopes: list[Any]) -> Any:
    return sum(w * slope for w, slope in zip(weights, slopes) if w)


def slopes_of_step(func: Callable, y: Any, slope: Any, t: Any, dt: Any) -> list[Any]:
    """The slopes of the seven stages of a step from (t, y), of which the first is known."""
    slopes = [slope]
    for time, weights in zip(TIMES, WEIGHTS):
        y_stage = y + dt.astype(y.dtype) * weighted_sum(weights, slopes)
        slopes.append(func(y_stage, t + time * dt))
    return slopes


def polynomial_of_step(y: Any, slopes: list[Any], dt: Any) -> Any:
    """The solution within a step: coefficients, the highest power first, of a polynomial in s from 0
    (before) to 1 (after). It has the right value at 0, 1/2 and 1 and the right slope at 0 and 1."""
    h = dt.astype(y.dtype)
    rise_0, rise_1 = h * slopes[0], h * slopes[-1]
    to_middle, to_end = h * weighted_sum(MIDDLE, slopes), h * weighted_sum(FIFTH_ORDER, slopes)
    fourth = 16 * to_middle - 8 * to_end - 2 * rise_0 + 2 * rise_1
    third = -32 * to_middle + 14 * to_end + 5 * rise_0 - 3 * rise_1
    second = 16 * to_middle - 5 * to_end - 4 * rise_0 + rise_1
    return jnp.stack([fourth, third, second, rise_0, y])


def error_ratio(error: Any, y0: Any, y1: Any, rtol: float, atol: float) -> Any:
    """The root mean square of a step's errors, each divided by what is allowed: at most 1 is good."""
    allowed = atol + rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1))
    return jnp.sqrt(jnp.mean(jnp.abs(error / allowed) ** 2))


def next_step_size(dt: Any, ratio: Any) -> Any:
    """What would have made the error a bit less than allowed, for it grows as dt to the fifth; at most
    ten times the last size, and not smaller than that after a good step, nor than a fifth of it."""
    least = jnp.where(ratio < 1, 1.0, 0.2)
    factor = jnp.clip(0.9 * ratio ** (-1 / 5), least, 10.0)
    return dt * jnp.where(ratio == 0, 10.0, factor).astype(dt.dtype)


def first_step_size(func: Callable, y: Any, slope: Any, t: Any, rtol: float, atol: float) -> Any:
    """A size for the first step, from the slope and how it changes along a trial step."""
    allowed = atol + rtol * jnp.abs(y)
    norm = lambda x: jnp.linalg.norm(x / allowed)  # noqa: E731
    d0, d1 = norm(y), norm(slope)
    trial = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1)
    slope_after = func(y + trial.astype(y.dtype) * slope, t + trial.astype(t.dtype))
    d2 = norm(slope_after - slope) / trial
    still = (d1 <= 1e-15) & (d2 <= 1e-15)
    by_slopes = (0.01 / jnp.maximum(d1, d2)) ** (1 / 5)
    size = jnp.where(still, jnp.maximum(1e-6, trial * 1e-3), by_slopes)
    return jnp.minimum(100 * trial, size).astype(t.dtype)


# ---- all steps ----


class State(NamedTuple):
    """How far the solver is: at (t, y), and how y went between last_t and t."""

    y: Any
    slope: Any
    t: Any
    dt: Any  # of the step to come
    last_t: Any
    polynomial: Any


class Tolerance(NamedTuple):
    rtol: float
    atol: float
    mxstep: float
    hmax: float


def solve(func: Callable, tolerance: Tolerance, y0: Any, ts: Any) -> Any:
    """The solution from (ts[0], y0) on, at all of `ts`; y0 is a vector."""
    rtol, atol, mxstep, hmax = tolerance

    def step(state: State) -> State:
        y, slope, t, dt, _, _ = state
        slopes = slopes_of_step(func, y, slope, t, dt)
        h = dt.astype(y.dtype)
        y_after = y + h * weighted_sum(FIFTH_ORDER, slopes)
        ratio = error_ratio(h * weighted_sum(ERROR, slopes), y, y_after, rtol, atol)
        dt_after = jnp.clip(next_step_size(dt, ratio), 0, hmax)
        polynomial = polynomial_of_step(y, slopes, dt)
        taken = State(y_after, slopes[-1], t + dt, dt_after, t, polynomial)
        tried = state._replace(dt=dt_after)
        return tree_map(functools.partial(jnp.where, ratio <= 1), taken, tried)

    def solve_until(state: State, target: Any) -> tuple[State, Any]:
        """Steps until the target is reached or passed, and the solution at the target."""

        def goes_on(counted: Any) -> Any:
            steps, state = counted
            return (state.t < target) & (steps < mxstep) & (state.dt > 0)

        _, state = lax.while_loop(goes_on, lambda c: (c[0] + 1, step(c[1])), (0, state))
        s = (target - state.last_t) / (state.t - state.last_t)
        return state, jnp.polyval(state.polynomial, s.astype(y0.dtype))

    slope = func(y0, ts[0])
    dt = jnp.clip(first_step_size(func, y0, slope, ts[0], rtol, atol), 0, hmax)
    state = State(y0, slope, ts[0], dt, ts[0], jnp.stack([y0] * 5))
    _, ys = lax.scan(solve_until, state, ts[1:])
    return jnp.concatenate([y0[None], ys])


# ---- the adjoint ----


@functools.partial(custom_vjp, nondiff_argnums=(0, 1))
def solution(func: Callable, tolerance: Tolerance, y0: Any, ts: Any, args: Any) -> Any:
    """`solve`, for func(y, t, *args), with its derivative by y0, ts and args."""
    return solve(lambda y, t: func(y, t, *args), tolerance, y0, ts)


def _solution_fwd(func: Callable, tolerance: Tolerance, y0: Any, ts: Any, args: Any) -> Any:
    ys = solution(func, tolerance, y0, ts, args)
    return ys, (ys, ts, args)  # not the steps, nor what they computed


def _solution_bwd(func: Callable, tolerance: Tolerance, residuals: Any, ys_bar: Any) -> Any:
    """From the last time back to the first: y again, and the cotangents of y, t and args.

    With a = y_bar, da/dt = -(a @ df/dy), and likewise for t and args, whose cotangents add up what
    they contribute on the way. Time runs backwards, as -t, for a solver that goes forward."""
    ys, ts, args = residuals

    def backwards(state: Any, minus_t: Any, *args: Any) -> Any:
        y, y_bar, _, _ = state
        slope, pullback = vjp(func, y, -minus_t, *args)
        y_bar_slope, t_bar_slope, *args_bar_slope = pullback(y_bar)
        return -slope, y_bar_slope, t_bar_slope, tree_map(real_zeros, args_bar_slope)

    def to_time_before(carry: Any, at_time: Any) -> Any:
        y_bar, t0_bar, args_bar = carry
        y, y_bar_here, t, t_before = at_time
        t_bar = jnp.dot(func(y, t, *args), y_bar_here).real  # the result, were it read a bit later
        state = (y, y_bar + y_bar_here, t0_bar - t_bar, args_bar)
        times = jnp.stack([-t, -t_before])
        states = odeint(backwards, state, times, *args, **tolerance._asdict())
        _, y_bar, t0_bar, args_bar = tree_map(lambda x: x[1], states)
        return (y_bar, t0_bar, args_bar), t_bar

    args_bar = tree_map(lambda x: real_zeros(jnp.zeros_like(x)), list(args))
    init = (jnp.zeros_like(ys[0]), jnp.zeros_like(ts[0]), args_bar)
    at_times = (ys[1:], ys_bar[1:], ts[1:], ts[:-1])
    (y_bar, t0_bar, args_bar), ts_bar = lax.scan(to_time_before, init, at_times, reverse=True)
    return y_bar + ys_bar[0], jnp.concatenate([t0_bar[None], ts_bar]), tuple(args_bar)


def real_zeros(x: Any) -> Any:
    """Of an integer or its cotangent (float0), a zero that the solver can carry; others as they are."""
    return x if dtypes.is_inexact(x.dtype) else jnp.zeros(np.shape(x))


solution.defvjp(_solution_fwd, _solution_bwd)


# ---- the front door ----


def odeint(
    func: Callable,
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = np.inf,
    hmax: float = np.inf,
) -> Any:
    """The solution of dy/dt = func(y, t, *args) from y(t[0]) = y0 on, at the times `t`.

    `y0` is a pytree of arrays of floats or complex numbers; func gives one of the same structure and
    shapes; `t` is a vector of increasing floats, and `args` are pytrees of arrays. The result is as y0,
    with a new first axis of length len(t). A step's error is kept below atol + rtol * abs(y); between
    two of the times there are at most mxstep steps, each at most hmax long. Reverse mode (by y0, t,
    args and what func closes over) solves the adjoint equation; there is no forward mode.
    Raises TypeError for arguments that are no arrays, or of other dtypes, and ValueError if func gives
    another structure or other shapes than y0 has."""
    _check_arguments(y0, t, args)
    converted, closed_over = closure_convert(func, y0, t[0], *args)
    args = (*args, *closed_over)
    _check_derivative(y0, eval_shape(converted, y0, t[0], *args))
    return _odeint(converted, Tolerance(rtol, atol, mxstep, hmax), y0, t, *args)


@functools.partial(jit, static_argnums=(0, 1))
def _odeint(func: Callable, tolerance: Tolerance, y0: Any, t: Any, *args: Any) -> Any:
    y0, unravel = ravel_pytree(y0)
    on_vectors = lambda y, t, *args: ravel_pytree(func(unravel(y), t, *args))[0]  # noqa: E731
    return vmap(unravel)(solution(on_vectors, tolerance, y0, t, args))


def _check_arguments(y0: Any, t: Any, args: tuple) -> None:
    for arg in tree_leaves(args):
        if not isinstance(arg, Array | np.ndarray | np.generic | bool | int | float | complex):
            raise TypeError(
                f"odeint's *args must be arrays, scalars or pytrees of them, but one is {arg!r}: "
                "func can close over what is none"
            )
    for x in tree_leaves(y0):
        if not dtypes.is_inexact(get_aval(x).dtype):
            raise TypeError(f"odeint's y0 must be floats or complex numbers, but got {x!r}")
    aval = get_aval(t) if isinstance(t, Array | np.ndarray) else None
    if aval is None or dtypes.kind(aval.dtype) != "f" or aval.ndim != 1:
        raise TypeError(f"odeint's t must be an array of floats with one axis, but got {t!r}")


def _check_derivative(y0: Any, slope: Any) -> None:
    (expected, given) = [
        (tree_structure(x), [jnp.shape(e) for e in tree_leaves(x)]) for x in (y0, slope)
    ]
    if expected != given:
        raise ValueError(
            "odeint's func must give the derivative of y, of the same structure and shapes as y0: "
            f"expected {expected[0]} with shapes {expected[1]}, got {given[0]} with {given[1]}"
        )
