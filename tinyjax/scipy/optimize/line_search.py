"""How far to go along a direction: a step that fulfils Wolfe's conditions.

The step must go far enough that the slope has become much flatter, and not so far that the function has
hardly sunk. First the step is doubled until such a point is passed, then the bracket around it is narrowed.

Source: J. Nocedal, S. J. Wright, "Numerical Optimization", 2nd edition, algorithms 3.5 and 3.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core.tree_util.pytrees import tree_map
from tinyjax.transform.vjp import value_and_grad

SUFFICIENT_DECREASE = 1e-4  # of the value, as part of what the first slope promised
CURVATURE = 0.9  # the slope that may be left, as part of the first one
MOST_ZOOMS = 30


class Point(NamedTuple):
    """A place on the line: how far, and the function's value, slope along the line, and gradient there."""

    a: Any
    value: Any
    slope: Any
    gradient: Any


class Found(NamedTuple):
    """Where the search ended. `status` is 0, 3 if the bracket shrank to nothing, 5 if there is none."""

    point: Point
    status: Any
    evaluations: Any


def _choose(condition: Any, x: Any, y: Any) -> Any:
    return tree_map(lambda a, b: jnp.where(condition, a, b), x, y)


def _is_too_high(point: Point, start: Point) -> Any:
    return point.value > start.value + SUFFICIENT_DECREASE * point.a * start.slope


def _is_flat(point: Point, start: Point) -> Any:
    return abs(point.slope) <= -CURVATURE * start.slope


def line_search(
    fun: Callable, x: Any, p: Any, value: Any, gradient: Any, value_before: Any, maxiter: Any
) -> Found:
    """A step from x along p, down from `value`; `value_before` is that of the step before, for a guess."""

    def at(a: Any) -> Point:
        a = a.astype(value.dtype)
        f, g = value_and_grad(fun)(x + a * p)
        return Point(a, f, jnp.dot(g, p), g)

    start = Point(jnp.zeros_like(value), value, jnp.dot(gradient, p), gradient)
    guess = 1.01 * 2 * (value - value_before) / start.slope
    first = at(jnp.where((guess > 0) & (guess < 1), guess, 1.0))
    (before, last, i), good, beyond = _forwards(at, start, first, maxiter)
    rises = (last.value >= before.value) & (i > 1)
    last_is_low = _is_flat(last, start) | ~(_is_too_high(last, start) | rises)
    low, high = _choose(last_is_low, last, before), _choose(last_is_low, before, last)
    done = ~beyond | good
    point, found, j = _back(at, start, low, high, done)
    status = jnp.where(good | (beyond & found), 0, jnp.where(beyond, 3, 5))
    return Found(_choose(done, last, point), status, i + j)


def _forwards(at: Callable, start: Point, first: Point, maxiter: Any) -> tuple[Any, Any, Any]:
    """Doubles the step until a good point has been passed: the last two points and how many there were;
    whether the last one is good, and whether a good one is before it."""

    def passed(state: Any) -> tuple[Any, Any]:
        before, last, i = state
        higher = _is_too_high(last, start) | ((last.value >= before.value) & (i > 1))
        return _is_flat(last, start) & ~higher, higher | (last.slope >= 0)

    def going_on(state: Any) -> Any:
        good, beyond = passed(state)
        return ~good & ~beyond & (state[2] < maxiter)

    def double(state: Any) -> Any:
        _, last, i = state
        return last, at(2 * last.a), i + 1

    state = lax.while_loop(going_on, double, (start, first, 1))
    return state, *passed(state)


def _back(at: Callable, start: Point, low: Point, high: Point, done: Any) -> tuple[Any, Any, Any]:
    """Narrows the bracket between its better end and the other: the better end at last, whether it is
    good, and after how many rounds."""

    def narrowing(state: Any) -> Any:
        low, high, _, found, j = state
        least = 1e-10 if jnp.finfo(start.value.dtype).bits == 64 else 1e-5
        return ~found & (abs(high.a - low.a) > least) & (j < MOST_ZOOMS)

    def narrow(state: Any) -> Any:
        low, high, old, _, j = state
        point = at(_between(low, high, old, j > 0))
        higher = _is_too_high(point, start) | (point.value >= low.value)
        turn = ~higher & (point.slope * (high.a - low.a) >= 0)
        new_low = _choose(higher, low, point)
        new_high = _choose(higher, point, _choose(turn, low, high))
        found = ~higher & _is_flat(point, start)
        return new_low, new_high, _choose(higher | turn, high, low), found, j + 1

    low, _, _, found, j = lax.while_loop(narrowing, narrow, (low, high, high, done, 0))
    return low, found, j


def _between(low: Point, high: Point, old: Point, has_old: Any) -> Any:
    """The minimum of a parabola through low and high, with the slope of low; with a third point, of a cubic.

    The middle, if that minimum is near an end or outside."""
    width = high.a - low.a
    parabola = low.slope * width**2 / (2 * (low.slope * width - (high.value - low.value)))
    at_parabola = low.a + parabola

    # The cubic's b and c, of a t**3 + b t**2 + slope t + value, from its values at the two other points.
    t, s = width, old.a - low.a
    rise_t, rise_s = high.value - low.value - low.slope * t, old.value - low.value - low.slope * s
    a = (rise_t * s**2 - rise_s * t**2) / (t**2 * s**2 * (t - s))
    b = (rise_s * t**3 - rise_t * s**3) / (t**2 * s**2 * (t - s))
    at_cubic = low.a + (-b + jnp.sqrt(b**2 - 3 * a * low.slope)) / (3 * a)

    def inside(x: Any, margin: float) -> Any:
        part = (x - low.a) / width
        return (part > margin) & (part < 1 - margin)

    fallback = jnp.where(inside(at_parabola, 0.1), at_parabola, low.a + width / 2)
    return jnp.where(has_old & inside(at_cubic, 0.2), at_cubic, fallback)
