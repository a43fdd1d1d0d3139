"""Recorded cases of print_saved_residuals: what grad keeps of a function, in JAX's words and order.

Of places only the function's name is compared: JAX's have a column, and names as f.<locals>.g, too.
"""

import contextlib
import functools
import importlib
import io
import re

import numpy as np

V = np.arange(1, 4, dtype=np.float32)
M, N = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
X = np.float32(0.5)


def _printed(jax, fun, *args, **kwargs):
    ad_checkpoint = importlib.import_module(f"{jax.__name__}.ad_checkpoint")
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        ad_checkpoint.print_saved_residuals(fun, *args, **kwargs)
    place = re.escape(__file__) + r":[\d:]+ \(([\w.<>]+<locals>\.)?"
    return re.sub(place, "(", text.getvalue())


def jaxprs(jax, jnp, lax):
    kept = functools.partial(_printed, jax)
    cases = _plain(jax, jnp) | _rules_and_loops(jax, jnp, lax) | _policies(jax, jnp)
    return {f"saved: {name}": functools.partial(kept, *call) for name, call in cases.items()} | {
        "saved: keyword arguments": lambda: kept(lambda **k: k["x"] * k["y"], x=V, y=V),
        "saved: trees": lambda: kept(
            lambda params, *, scale: params["a"][0] * params["b"] + scale["z"] * params["b"],
            {"a": [V, V], "b": V},
            scale={"z": V},
        ),
    }


def _plain(jax, jnp):
    constant = jnp.arange(3.0)

    def plain(x):
        return jnp.sin(jnp.cos(x))

    def network(layers, x):
        for w, b in layers:
            x = jnp.tanh(x @ w + b)
        return x

    def twice(x):
        y = jnp.sin(x)
        return y * y, y * x

    def normalized(x):
        return (x - x.mean()) / jnp.sqrt(((x - x.mean()) ** 2).mean() + 1e-5)

    layers = [(np.ones((3, 3), np.float32), V), (np.ones((3, 3), np.float32), V)]
    return {
        "two functions": (plain, V),
        "a product": (lambda x, y: x * y, V, V),
        "a product of numbers": (lambda x, y: x * y, 2.0, 3.0),
        "one operand twice": (lambda x: x * x, V),
        "a result twice": (twice, V),
        "positional arguments": (lambda *a: a[0] * a[1], V, V),
        "powers and quotients": (lambda x, y: (x**y, x**2, x / y, jnp.maximum(x, y)), V, V),
        "integers": (lambda x, i: x * i, V, np.arange(3)),
        "an index": (lambda x, i: x[i], V, 1),
        "nothing": (lambda x: x + 1, V),
        "no derivative": (lambda x: 3, V),
        "a literal": (lambda x: x * 2.0, V),
        "literals": (lambda x: x * 2.0 + x / 3.0 + x * 2.0, V),
        "a NumPy scalar": (lambda x: x * np.float32(2), V),
        "a constant": (lambda x: x * constant, V),
        "NumPy constants": (lambda x: x * np.ones(3, np.float32) * V, V),
        "partial": (functools.partial(lambda x, y: x * y, 2.0), 3.0),
        "a jit": (lambda x: jax.jit(plain)(x) * x, V),
        "a constant in a jit": (lambda x: jax.jit(lambda x: x * constant)(x), V),
        "relu": (lambda x: jax.nn.relu(x), V),
        "softmax": (lambda x: jax.nn.softmax(x), V),
        "log_softmax": (lambda x: -jax.nn.log_softmax(x)[1], V),
        "var": (lambda x: jnp.var(x), V),
        "a normalized vector": (normalized, V),
        "a network": (network, layers, M),
        "a network, checkpoint": (jax.checkpoint(network), layers, M),
        "vmap": (jax.vmap(plain), V),
        "grad": (jax.grad(plain), 1.0),
        "checkpoint beside": (lambda x: (jax.checkpoint(plain)(x), plain(x)), V),
    }


def _rules_and_loops(jax, jnp, lax):
    @jax.custom_vjp
    def sine(x):
        return jnp.sin(x)

    sine.defvjp(lambda x: (jnp.sin(x), (x, jnp.cos(x))), lambda kept, g: (kept[1] * g,))

    @jax.custom_jvp
    def sine_forward(x):
        return jnp.sin(x)

    sine_forward.defjvps(lambda t, out, x: t * jnp.cos(x))

    def step(c, x):
        return jnp.sin(c) * x, c

    def branches(x):
        return lax.cond(x > 0, jnp.sin, lambda x: jnp.cos(jnp.sin(x)), x)

    return {
        "custom_vjp": (lambda x: sine(jnp.exp(x)), V),
        "custom_jvp": (lambda x: sine_forward(jnp.exp(x)), V),
        "scan": (lambda c, xs: lax.scan(step, c, xs), X, V),
        "scan of checkpoint": (lambda c, xs: lax.scan(jax.checkpoint(step), c, xs), X, V),
        "fori_loop": (lambda x: lax.fori_loop(0, 3, lambda i, x: jnp.sin(x), x), X),
        "cond": (branches, X),
    }


def _policies(jax, jnp):
    name = importlib.import_module(f"{jax.__name__}.ad_checkpoint").checkpoint_name
    p = jax.checkpoint_policies

    def layer(x, w, u):
        return jnp.sin(jnp.sin(name(x @ w, "product"))), jnp.tanh(name(jnp.cos(u), "cos"))

    def batched(x, w, u):
        products = jax.vmap(lambda x: x @ w)(jnp.stack([x, x])), jnp.einsum("aij,ajk->aik", x, x)
        return jnp.sin(products[0]), jnp.sin(products[1])

    offloaded = p.save_and_offload_only_these_names(
        names_which_can_be_saved=["cos"],
        names_which_can_be_offloaded=["product"],
        offload_src="device",
        offload_dst="pinned_host",
    )
    saved = p.save_and_offload_only_these_names(
        names_which_can_be_saved=["cos"],
        names_which_can_be_offloaded=[],
        offload_src="device",
        offload_dst="pinned_host",
    )
    policies = {
        "None": None,
        "nothing": p.nothing_saveable,
        "everything": p.everything_saveable,
        "dots": p.dots_saveable,
        "checkpoint_dots": p.checkpoint_dots,
        "dots without batch": p.dots_with_no_batch_dims_saveable,
        "checkpoint_dots without batch": p.checkpoint_dots_with_no_batch_dims,
        "these names": p.save_only_these_names("product"),
        "names but": p.save_any_names_but_these("product"),
        "anything but": p.save_anything_except_these_names("product"),
        "both": p.save_from_both_policies(p.dots_saveable, p.save_only_these_names("cos")),
        "dots offloaded": p.offload_dot_with_no_batch_dims("device", "pinned_host"),
        "names offloaded": offloaded,
        "no names offloaded": saved,
    }
    squares = np.ones((2, 3, 3), np.float32)
    return {
        "named": (lambda x: jnp.sin(name(jnp.sin(x), "inner")) * 2, V),
        **{
            f"policy {key}": (jax.checkpoint(layer, policy=policy), M, N, V)
            for key, policy in policies.items()
        },
        "policy dots, of jit": (jax.checkpoint(jax.jit(layer), policy=p.dots_saveable), M, N, V),
        **{
            f"policy {key}, of batches": (jax.checkpoint(batched, policy=policy), squares, N, V)
            for key, policy in policies.items()
            if key.startswith("dots")
        },
    }
