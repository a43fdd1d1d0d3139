"""Optimizers: how gradients become the next parameters.

An optimizer is three functions of one array, which `optimizer` turns into functions of a whole tree of
parameters. What an optimizer remembers from step to step (a velocity, a mean of squares) is no hidden state
but a pytree that goes in and comes out, so that a training step is a pure function, and jit, vmap and scan
can take it.

    init, update, get_params = adam(1e-3)
    state = init(params)
    for i in range(100):
        state = update(i, jax.grad(loss)(get_params(state)), state)

These are examples, as they are in JAX; Optax has many more, and puts them together from parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.core.tree_util.pytrees import tree_leaves, tree_map
from tinyjax.example_libraries.optimizer_states import (  # noqa: F401
    JoinPoint,
    Optimizer,
    OptimizerState,
    optimizer,
    pack_optimizer_state,
    unpack_optimizer_state,
)

Schedule = Callable[[Any], Any]  # from the number of the step to the step's size


# ---- optimizers ----
#
# In all of them `step_size` is a number or a schedule. x is one array of parameters, g its gradient.


def _with_zeros(count: int) -> Callable[[Any], tuple]:
    """Makes the first state (x, ...): with `count` arrays of zeros beside x."""
    return lambda x: (x, *[jnp.zeros_like(x) for _ in range(count)])


def _first(state: tuple) -> Any:
    """The parameters in a state (x, ...)."""
    return state[0]


@optimizer
def sgd(step_size: float | Schedule) -> Optimizer:
    """Stochastic gradient descent: a step against the gradient. The state is x alone."""
    step_size = make_schedule(step_size)

    def init(x):
        return x

    def update(i, g, x):
        return x - step_size(i) * g

    def get_params(x):
        return x

    return Optimizer(init, update, get_params)


@optimizer
def momentum(step_size: float | Schedule, mass: float) -> Optimizer:
    """Gradient descent with momentum: gradients add up to a velocity, of which each step keeps the
    part `mass`; x moves by -step_size times the velocity. The state is (x, velocity), from zeros."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * velocity, velocity

    return Optimizer(_with_zeros(1), update, _first)


@optimizer
def nesterov(step_size: float | Schedule, mass: float) -> Optimizer:
    """Momentum in Nesterov's way: x moves by what the velocity will be one step later, were the
    gradient the same. The state is (x, velocity)."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * (mass * velocity + g), velocity

    return Optimizer(_with_zeros(1), update, _first)


@optimizer
def adagrad(step_size: float | Schedule, momentum: float = 0.9) -> Optimizer:
    """Adagrad: each number's step is divided by the root of the sum of its squared gradients so far.

    The state is (x, sum of squares, mean of the steps).
    Source: Duchi, Hazan, Singer, "Adaptive subgradient methods for online learning and stochastic
    optimization" (2011)."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, squares, mean = state
        squares = squares + jnp.square(g)
        mean = (1.0 - momentum) * (g * _inverse_root(squares)) + momentum * mean
        return x - step_size(i) * mean, squares, mean

    return Optimizer(_with_zeros(2), update, _first)


def _inverse_root(x: Any) -> Any:
    """1 / sqrt(x), and 0 where x is 0: a number that had no gradient yet does not move."""
    return jnp.where(x > 0, 1.0 / jnp.sqrt(x), 0.0)


@optimizer
def rmsprop(step_size: float | Schedule, gamma: float = 0.9, eps: float = 1e-8) -> Optimizer:
    """RMSProp: as Adagrad, but with a mean of the squares that forgets old ones; `gamma` is what it
    keeps of itself at each step. The state is (x, mean of squares)."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, mean_square = state
        mean_square = mean_square * gamma + jnp.square(g) * (1.0 - gamma)
        return x - step_size(i) * g / jnp.sqrt(mean_square + eps), mean_square

    return Optimizer(_with_zeros(1), update, _first)


@optimizer
def rmsprop_momentum(
    step_size: float | Schedule, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> Optimizer:
    """RMSProp whose steps add up to a velocity. The state is (x, mean of squares, velocity)."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, mean_square, velocity = state
        mean_square = mean_square * gamma + jnp.square(g) * (1.0 - gamma)
        velocity = momentum * velocity + step_size(i) * g / jnp.sqrt(mean_square + eps)
        return x - velocity, mean_square, velocity

    return Optimizer(_with_zeros(2), update, _first)


@optimizer
def adam(
    step_size: float | Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> Optimizer:
    """Adam: a running mean m of the gradients, divided by the root of one of their squares, v.

    At step i, with `keep` b1 for m and b2 for v, a mean becomes (1 - keep) * new + keep * mean. Both
    begin at zero, which makes the first means too small: dividing by 1 - keep ** (i + 1) makes up for
    that. x moves by -step_size * m / (sqrt(v) + eps), of the means so corrected. The state is
    (x, m, v), with the means as they are before the correction; all keep the dtype of x.
    Source: Kingma, Ba, "Adam: a method for stochastic optimization" (2015)."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        m_corrected = m / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        v_corrected = v / (1 - jnp.asarray(b2, m.dtype) ** (i + 1))
        return x - step_size(i) * m_corrected / (jnp.sqrt(v_corrected) + eps), m, v

    return Optimizer(_with_zeros(2), update, _first)


@optimizer
def adamax(
    step_size: float | Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> Optimizer:
    """AdaMax: Adam with the largest recent gradient in place of the root of the mean square.

    The state is (x, m, largest); b2 is what `largest` keeps of itself at each step.
    Source: as adam's, section 7.1."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, m, largest = state
        m = (1 - b1) * g + b1 * m
        largest = jnp.maximum(b2 * largest, jnp.abs(g))
        corrected_size = step_size(i) / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        return x - corrected_size * m / (largest + eps), m, largest

    return Optimizer(_with_zeros(2), update, _first)


@optimizer
def sm3(step_size: float | Schedule, momentum: float = 0.9) -> Optimizer:
    """SM3: as Adagrad, but in place of a sum of squares for each number it keeps one for each row and
    each column (and so on for further axes), and takes the smallest of those that a number lies in.

    The state is (x, mean of the steps, a vector for each axis, the shape of x). As in JAX, the shape
    is among the leaves: jit the gradients, but not the update, which reshapes with it.
    Source: Anil, Gupta, Koren, Singer, "Memory-efficient adaptive optimization" (2019)."""
    step_size = make_schedule(step_size)

    def along(axis: int, vector: Any, ndim: int) -> Any:
        """The vector as an array that broadcasts along all axes but one."""
        return vector.reshape([-1 if a == axis else 1 for a in range(ndim)])

    def init(x):
        at_least_1d = jnp.atleast_1d(x)
        vectors = [jnp.zeros(size, at_least_1d.dtype) for size in at_least_1d.shape]
        return at_least_1d, jnp.zeros_like(at_least_1d), vectors, x.shape

    def update(i, g, state):
        x, mean, vectors, shape = state
        bounds = [along(axis, vector, x.ndim) for axis, vector in enumerate(vectors)]
        squares = reduce(jnp.minimum, bounds) + jnp.square(g)
        mean = (1.0 - momentum) * (g * _inverse_root(squares)) + momentum * mean
        axes = range(x.ndim)
        vectors = [squares.max(tuple(a for a in axes if a != axis)) for axis in axes]
        return x - step_size(i) * mean, mean, vectors, shape

    def get_params(state):
        x, _, _, shape = state
        return x.reshape(shape)

    return Optimizer(init, update, get_params)


# ---- schedules: a step size that depends on the step's number ----


def constant(step_size: float) -> Schedule:
    """The same size at each step."""
    return lambda i: step_size


def exponential_decay(step_size: float, decay_steps: float, decay_rate: float) -> Schedule:
    """Multiplied by `decay_rate` every `decay_steps` steps, and in between accordingly."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: float, decay_steps: float, decay_rate: float, staircase: bool = False
) -> Schedule:
    """step_size / (1 + decay_rate * i / decay_steps); `staircase` rounds i / decay_steps down."""
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(
    step_size: float, decay_steps: float, final_step_size: float, power: float = 1.0
) -> Schedule:
    """From step_size to final_step_size in `decay_steps` steps, which it keeps from there on: in a
    straight line, or as a power of what is left of the way."""

    def schedule(i: Any) -> Any:
        left = (1 - jnp.minimum(i, decay_steps) / decay_steps) ** power
        return left * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """values[0] up to and with step boundaries[0], then values[1], and so on.

    Both are 1-d; there is one value more than there are boundaries: ValueError if not."""
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if not boundaries.ndim == values.ndim == 1:
        raise ValueError(
            "boundaries and values must be sequences of numbers, got arrays of shapes "
            f"{boundaries.shape} and {values.shape}"
        )
    if len(boundaries) != len(values) - 1:
        raise ValueError(
            "boundaries must be one shorter than values, for the last value has no end; got "
            f"{len(boundaries)} boundaries and {len(values)} values"
        )
    return lambda i: values[jnp.sum(i > boundaries)]


def make_schedule(scalar_or_schedule: float | Schedule) -> Schedule:
    """A number as a constant schedule; a schedule as it is. Raises TypeError for anything else."""
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if np.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(
        f"a step size is a number or a function of the step, got {type(scalar_or_schedule)}"
    )


# ---- gradients as a whole ----


def l2_norm(tree: Any) -> Any:
    """The length of all arrays of a tree taken as one long vector."""
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(tree)))


def clip_grads(grad_tree: Any, max_norm: float) -> Any:
    """The gradients, scaled down together to the length `max_norm` if they are longer."""
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)
