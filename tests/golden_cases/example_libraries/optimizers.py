"""Recorded cases of jax.example_libraries.optimizers."""

import importlib

import numpy as np
from golden_cases.codec import Group


def names(jax, jnp, lax):
    optimizers = importlib.import_module(f"{jax.__name__}.example_libraries.optimizers")
    params = {
        "w": jnp.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]]),
        "b": (jnp.array([0.5, 0.0, -0.5]), jnp.float32(2.0)),
    }
    target = jax.tree.map(lambda x: jnp.ones_like(x) / 4, params)

    def loss(params):
        parts = jax.tree.map(lambda x, y: jnp.sum((x - y) ** 4) / 20, params, target)
        return sum(jax.tree.leaves(parts))

    def trained(optimizer, steps=5, params=params, loss=loss, wrap=lambda f: f):
        """The parameters after some steps; `wrap` is put around a step (jit, say)."""
        init, update, get_params = optimizer

        def step(i, state):
            return update(i, jax.grad(loss)(get_params(state)), state)

        step, state = wrap(step), init(params)
        for i in range(steps):
            state = step(i, state)
        return get_params(state)

    def in_a_loop(optimizer, steps=5):
        init, update, get_params = optimizer
        step = lambda i, s: update(i, jax.grad(loss)(get_params(s)), s)  # noqa: E731
        return get_params(lax.fori_loop(0, steps, step, init(params)))

    def state_after(optimizer, steps=3):
        """What the optimizer remembers: the leaves of its state."""
        init, update, get_params = optimizer
        state = init(params)
        for i in range(steps):
            state = update(i, jax.grad(loss)(get_params(state)), state)
        return jax.tree.leaves(state)

    def packed_again(optimizer):
        state = optimizer.init_fn(params)
        marked = optimizers.unpack_optimizer_state(state)
        again = optimizers.pack_optimizer_state(marked)
        points = jax.tree.leaves(marked)
        return [list(point)[0] for point in points], again == state, jax.tree.leaves(again)

    def values(schedule, *steps):
        return [schedule(i) for i in steps]

    return {
        "optimizers": optimizers,
        "params": params,
        "trained": trained,
        "in_a_loop": in_a_loop,
        "state_after": state_after,
        "packed_again": packed_again,
        "values": values,
        "halves_params": [jnp.array([1.0, -2.0, 0.5], jnp.float16)],
        "total": lambda params: sum(jnp.sum(x**2) for x in jax.tree.leaves(params)),
        "some_zeros": lambda params: jnp.sum(params[0] ** 2 * np.array([1, 0, 1], np.float32)),
        "changing": optimizers.optimizer(
            lambda: (lambda x: x, lambda i, g, x: (x, g), lambda x: x)
        ),
        "shrink": optimizers.optimizer(
            lambda: (lambda x: {"x": x}, lambda i, g, s: {"x": s["x"] / 2}, lambda s: s["x"])
        ),
    }


MAKERS = [
    "optimizers.sgd(0.1)",
    "optimizers.momentum(0.05, 0.9)",
    "optimizers.nesterov(0.05, 0.9)",
    "optimizers.adagrad(0.1)",
    "optimizers.adagrad(0.1, momentum=0.5)",
    "optimizers.rmsprop(0.1)",
    "optimizers.rmsprop(0.1, gamma=0.5, eps=1e-2)",
    "optimizers.rmsprop_momentum(0.05)",
    "optimizers.rmsprop_momentum(0.05, gamma=0.8, momentum=0.5)",
    "optimizers.adam(0.1)",
    "optimizers.adam(0.1, b1=0.5, b2=0.9, eps=1e-3)",
    "optimizers.adamax(0.1)",
    "optimizers.adamax(0.1, b1=0.5, b2=0.9, eps=1e-3)",
    "optimizers.sm3(0.1)",
    "optimizers.sm3(0.1, momentum=0.5)",
]
SCHEDULES = [
    "optimizers.constant(0.1)",
    "optimizers.exponential_decay(0.1, 10, 0.5)",
    "optimizers.inverse_time_decay(0.1, 10, 2.0)",
    "optimizers.inverse_time_decay(0.1, 10, 2.0, staircase=True)",
    "optimizers.polynomial_decay(0.1, 20, 0.01)",
    "optimizers.polynomial_decay(0.1, 20, 0.01, power=2.0)",
    "optimizers.piecewise_constant([3, 20], [0.5, 0.1, 0.02])",
    "optimizers.make_schedule(0.25)",
    "optimizers.make_schedule(lambda i: 0.5 ** i)",
]
JITTED = [maker for maker in MAKERS if "sm3" not in maker]

CALLS = [
    *[f"trained({maker})" for maker in MAKERS],
    *[f"trained({maker}, wrap=jax.jit)" for maker in JITTED],
    *[f"in_a_loop({maker})" for maker in JITTED],
    *[f"state_after({maker})" for maker in MAKERS],
    "trained(optimizers.sgd(0.1), params=v, loss=total)",
    "trained(optimizers.sm3(0.1), params=t, loss=total)",
    "trained(optimizers.sm3(0.1), params=jnp.float32(3), loss=total)",
    "trained(optimizers.adagrad(0.1), params=[v], loss=some_zeros)",
    "trained(optimizers.sm3(0.1), params=[v], loss=some_zeros)",
    "trained(optimizers.adam(0.1), params=halves_params, loss=total)",
    "trained(optimizers.momentum(0.1, 0.9), params=halves_params, loss=total)",
    "trained(optimizers.sgd(lambda i: 0.1 / (i + 1)))",
    "trained(optimizers.sgd(optimizers.piecewise_constant([1, 3], [0.1, 0.05, 0.01])))",
    "trained(optimizers.adam(optimizers.exponential_decay(0.1, 2, 0.5)), wrap=jax.jit)",
    "trained(optimizers.adam(optimizers.polynomial_decay(0.1, 3, 0.01)), wrap=jax.jit)",
    "trained(shrink(), 2)",
    "packed_again(optimizers.sgd(0.1))",
    "packed_again(optimizers.adam(0.1))",
    "optimizers.l2_norm(params)",
    "optimizers.l2_norm(v)",
    "optimizers.clip_grads(params, 1.0)",
    "optimizers.clip_grads(params, 100.0)",
    "jax.jit(optimizers.clip_grads)([v, w], 3.0)",
    *[f"values({schedule}, 0, 3, 4, 10, 25, jnp.int32(12))" for schedule in SCHEDULES],
]

GROUPS = [Group("optimizers", CALLS, ulps=16, scaled=True)]

ERRORS = {
    "optimizers": [
        (
            "optimizers.sgd(0.1).update_fn(0, [v], optimizers.sgd(0.1).init_fn((v,)))",
            ["gradients", "PyTreeDef([*])", "PyTreeDef((*,))"],
        ),
        ("changing().update_fn(0, v, changing().init_fn(v))", ["state", "PyTreeDef((*, *))"]),
        ("optimizers.piecewise_constant([1, 2], [0.1, 0.2])", ["boundaries", "2", "one shorter"]),
        ("optimizers.piecewise_constant(1, [0.1, 0.2])", ["boundaries", "()", "(2,)"]),
        ("optimizers.make_schedule([0.1, 0.2])", ["step size", "list"]),
        ("optimizers.sgd(v)", ["step size"]),
    ],
}
