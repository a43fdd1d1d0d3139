"""odeint: a solver that chooses its own steps, and gradients by the adjoint equation."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.experimental import ode
from tinyjax.experimental.ode import odeint

TIMES = jnp.linspace(0.0, 2.0, 5)


def decay(y, t, rate):
    return -rate * y


def pendulum(y, t, g):
    """y is the angle, and how fast it changes."""
    return jnp.stack([y[1], -g * jnp.sin(y[0])])


def angle_at_the_end(angle, g):
    return odeint(pendulum, jnp.stack([angle, 0.0]), TIMES, g)[-1, 0]


# ---- the method ----


def test_each_stage_looks_as_far_ahead_as_its_weights_reach():
    np.testing.assert_allclose([sum(row) for row in ode.WEIGHTS], ode.TIMES)


def test_both_results_weigh_the_slopes_to_one_and_so_their_difference_to_nothing():
    np.testing.assert_allclose(sum(ode.FIFTH_ORDER), 1)
    np.testing.assert_allclose(sum(ode.FOURTH_ORDER), 1)
    np.testing.assert_allclose(sum(ode.MIDDLE), 1 / 2)


@pytest.mark.parametrize("power", range(5))
def test_a_step_is_exact_for_polynomials_up_to_the_fifth_power(power):
    func = lambda y, t: jnp.full(1, (power + 1) * t**power)  # noqa: E731
    slopes = ode.slopes_of_step(func, jnp.zeros(1), func(0.0, 0.0), 0.0, jnp.float32(1))
    np.testing.assert_allclose(ode.weighted_sum(ode.FIFTH_ORDER, slopes), 1, rtol=1e-6)


def test_the_polynomial_of_a_step_follows_the_solution_within_it():
    func = lambda y, t: -y  # noqa: E731
    y, dt = jnp.ones(1), jnp.float32(0.5)
    polynomial = ode.polynomial_of_step(y, ode.slopes_of_step(func, y, -y, 0.0, dt), dt)
    for s in (0.0, 0.3, 0.5, 0.9, 1.0):
        np.testing.assert_allclose(jnp.polyval(polynomial, s), np.exp([-s / 2]), rtol=1e-4)


@pytest.mark.parametrize(
    "ratio, factor", [(0.0, 10), (1e-9, 10), (0.9**5, 1), (32, 0.45), (1e9, 0.2)]
)
def test_the_next_step_grows_or_shrinks_with_the_fifth_root_of_the_error(ratio, factor):
    size = ode.next_step_size(jnp.float32(1), jnp.float32(ratio))
    np.testing.assert_allclose(size, factor, rtol=1e-5)


# ---- solutions ----


def test_exponential_decay():
    np.testing.assert_allclose(odeint(decay, 1.0, TIMES, 0.5), np.exp(-0.5 * TIMES), rtol=1e-5)


@pytest.mark.slow
def test_a_pendulum_keeps_its_energy():
    angle, speed = odeint(pendulum, jnp.array([2.0, 0.0]), jnp.linspace(0, 10, 50), 9.8).T
    energy = speed**2 / 2 - 9.8 * jnp.cos(angle)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-4)


@pytest.mark.slow
def test_a_smaller_tolerance_gives_a_smaller_error():
    errors = []
    for tolerance in (1e-1, 1e-3, 1e-5):
        y = odeint(decay, 1.0, TIMES, 2.0, rtol=tolerance, atol=tolerance)
        errors.append(float(abs(y[-1] - np.exp(-4.0))))
    assert errors[0] > errors[1] > errors[2]


def test_times_at_which_no_step_ends_are_interpolated():
    coarse = odeint(decay, 1.0, jnp.array([0.0, 2.0]), 0.5)
    fine = odeint(decay, 1.0, jnp.linspace(0, 2, 1001), 0.5)
    np.testing.assert_allclose([fine[0], fine[-1]], coarse, rtol=1e-5)
    np.testing.assert_allclose(fine, np.exp(-0.5 * np.linspace(0, 2, 1001)), rtol=1e-5)


def test_a_pytree_of_states():
    def circle(state, t):
        return {"x": -state["y"], "y": state["x"]}

    states = odeint(circle, {"x": jnp.array([1.0, 0.0]), "y": jnp.array([0.0, 1.0])}, TIMES)
    cos, sin = np.cos(TIMES), np.sin(TIMES)
    np.testing.assert_allclose(states["x"], np.stack([cos, -sin], 1), atol=1e-5)
    np.testing.assert_allclose(states["y"], np.stack([sin, cos], 1), atol=1e-5)


def test_at_most_mxstep_steps_between_two_times():
    assert abs(odeint(decay, 1.0, TIMES, 0.5, mxstep=1)[-1] - np.exp(-1.0)) > 1e-4


@pytest.mark.slow
def test_steps_of_at_most_hmax_see_what_long_ones_would_miss():
    bump = lambda y, t: jnp.exp(-(((t - 50.0) / 0.2) ** 2))  # noqa: E731
    times = jnp.array([0.0, 100.0])
    options = {"rtol": 1e-3, "atol": 1e-3}
    np.testing.assert_allclose(odeint(bump, 0.0, times, **options)[-1], 0, atol=1e-3)
    found = odeint(bump, 0.0, times, hmax=0.3, **options)[-1]
    np.testing.assert_allclose(found, 0.2 * np.sqrt(np.pi), rtol=1e-2)


# ---- derivatives ----


def test_gradient_of_decay_by_its_rate():
    gradient = jax.grad(lambda rate: odeint(decay, 1.0, TIMES, rate)[-1])(0.5)
    np.testing.assert_allclose(gradient, -2 * np.exp(-1.0), rtol=1e-4)


@pytest.mark.slow
def test_gradient_against_finite_differences():
    gradients = jax.grad(angle_at_the_end, (0, 1))(1.0, 3.0)
    h = 1e-2
    by_angle = angle_at_the_end(1.0 + h, 3.0) - angle_at_the_end(1.0 - h, 3.0)
    by_g = angle_at_the_end(1.0, 3.0 + h) - angle_at_the_end(1.0, 3.0 - h)
    np.testing.assert_allclose(gradients, [by_angle / (2 * h), by_g / (2 * h)], rtol=1e-2)


def test_gradient_by_the_time_of_a_result_is_the_slope_there():
    gradient = jax.grad(lambda t: odeint(decay, 1.0, t, 0.5)[-1])(TIMES)
    slope = -0.5 * np.exp(-1.0)
    np.testing.assert_allclose(gradient, [-slope, 0, 0, 0, slope], atol=1e-5)


def test_gradient_by_a_value_that_func_closes_over():
    def at_the_end(rate):
        return odeint(lambda y, t: -rate * y, 1.0, TIMES)[-1]

    np.testing.assert_allclose(jax.grad(at_the_end)(0.5), -2 * np.exp(-1.0), rtol=1e-4)


@pytest.mark.slow
def test_an_integer_argument_has_no_gradient_and_does_not_hinder_others():
    def at_the_end(y0, n):
        return odeint(lambda y, t, n: -0.5 * n * y, y0, TIMES, n)[-1]

    np.testing.assert_allclose(jax.grad(at_the_end)(1.0, 2), np.exp(-2.0), rtol=1e-4)


@pytest.mark.slow
def test_jacrev_of_a_linear_equation_is_its_propagator():
    rotate = lambda y, t: jnp.stack([-y[1], y[0]])  # noqa: E731
    at_the_end = lambda y: odeint(rotate, y, TIMES)[-1]  # noqa: E731
    cos, sin = np.cos(2), np.sin(2)
    jacobian = jax.jacrev(at_the_end)(jnp.array([1.0, 0.5]))
    np.testing.assert_allclose(jacobian, [[cos, -sin], [sin, cos]], atol=1e-4)


@pytest.mark.slow
def test_vmap_over_initial_values_solves_each_by_itself():
    angles = jnp.array([0.1, 1.0, 3.0])
    one_by_one = [angle_at_the_end(angle, 3.0) for angle in angles]
    together = jax.vmap(angle_at_the_end, (0, None))(angles, 3.0)
    np.testing.assert_allclose(together, one_by_one, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_vmap_of_the_gradient():
    angles = jnp.array([0.1, 1.0])
    one_by_one = [jax.grad(angle_at_the_end)(angle, 3.0) for angle in angles]
    together = jax.vmap(jax.grad(angle_at_the_end), (0, None))(angles, 3.0)
    np.testing.assert_allclose(together, one_by_one, rtol=1e-4)


@pytest.mark.slow
def test_jit_of_value_and_gradient():
    f = jax.value_and_grad(angle_at_the_end)
    np.testing.assert_allclose(jax.jit(f)(1.0, 3.0), f(1.0, 3.0), rtol=1e-4)


def test_without_jit_the_solver_is_a_python_loop():
    options = {"rtol": 1e-2, "atol": 1e-2}
    compiled = odeint(decay, 1.0, TIMES[:2], 0.5, **options)
    with jax.disable_jit():
        np.testing.assert_allclose(
            odeint(decay, 1.0, TIMES[:2], 0.5, **options), compiled, rtol=1e-6
        )


def test_the_same_function_is_traced_once():
    traces = []

    def func(y, t):
        traces.append(1)
        return -y

    odeint(func, 1.0, TIMES)
    odeint(func, 2.0, TIMES)
    assert len(traces) == 1


# ---- mistakes ----


def test_func_must_give_what_y0_is():
    with pytest.raises(ValueError, match=r"shapes as y0.*\[\(2,\)\].*\[\(3,\)\]"):
        odeint(lambda y, t: jnp.ones(3), jnp.ones(2), TIMES)


@pytest.mark.parametrize("t", [[0.0, 1.0], jnp.arange(3), jnp.float32(1)])
def test_t_must_be_a_vector_of_floats(t):
    with pytest.raises(TypeError, match="t must be an array of floats with one axis"):
        odeint(decay, 1.0, t, 0.5)
