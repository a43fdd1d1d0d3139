"""Recorded cases of jax.checkpoint: what it saves, computes again, and refuses."""

import importlib

import numpy as np
from golden_cases.codec import Group


def _checkpoint_name(jax):
    """As in JAX, jax.ad_checkpoint needs an import of its own."""
    return importlib.import_module(f"{jax.__name__}.ad_checkpoint").checkpoint_name


def jaxprs(jax, jnp, lax):
    jaxpr, grad, remat = jax.make_jaxpr, jax.grad, jax.checkpoint
    policies, name = jax.checkpoint_policies, _checkpoint_name(jax)
    m = np.ones((2, 2), np.float32)
    v = np.ones(3, np.float32)

    def sin_sin(x):
        return jnp.sin(jnp.sin(x))

    def layer(x, w):
        return jnp.sin(x @ w).sum()

    def named(x):
        return jnp.sin(name(jnp.sin(name(jnp.sin(x), "a")), "b")) * 2

    def close(x):
        return remat(lambda y: jnp.sin(y * x))(x)

    def flag(x, twice):
        return jnp.sin(jnp.sin(x)) if twice else jnp.sin(x)

    def step(c, x):
        return jnp.sin(c * x), jnp.cos(c)

    return {
        "checkpoint": lambda: jaxpr(remat(sin_sin))(1.0),
        "checkpoint, grad": lambda: jaxpr(grad(remat(sin_sin)))(1.0),
        "checkpoint, value_and_grad": lambda: jaxpr(jax.value_and_grad(remat(sin_sin)))(1.0),
        "checkpoint, grad of grad": lambda: jaxpr(grad(grad(remat(sin_sin))))(1.0),
        "checkpoint, linearize": lambda: jaxpr(lambda x: jax.linearize(remat(sin_sin), x)[1](1.0))(
            1.0
        ),
        "checkpoint, jvp": lambda: jaxpr(lambda x: jax.jvp(remat(sin_sin), (x,), (1.0,)))(1.0),
        "checkpoint, vmap": lambda: jaxpr(jax.vmap(remat(sin_sin)))(v),
        "checkpoint, vmap of grad": lambda: jaxpr(jax.vmap(grad(remat(sin_sin))))(v),
        "checkpoint, jit of grad": lambda: jaxpr(jax.jit(grad(remat(sin_sin))))(1.0),
        "checkpoint of jit, grad": lambda: jaxpr(grad(remat(jax.jit(sin_sin))))(1.0),
        "checkpoint of jit, grad, everything": lambda: jaxpr(
            grad(remat(jax.jit(sin_sin), policy=policies.everything_saveable))
        )(1.0),
        "checkpoint of jit, grad, names": lambda: jaxpr(
            grad(remat(jax.jit(named), policy=policies.save_only_these_names("a")))
        )(1.0),
        "checkpoint of checkpoint, grad": lambda: jaxpr(grad(remat(remat(sin_sin))))(1.0),
        "checkpoint, closure": lambda: jaxpr(grad(close))(1.0),
        "checkpoint, constant": lambda: jaxpr(grad(remat(lambda x: jnp.sum(jnp.sin(x * v)))))(1.0),
        "checkpoint, static_argnums": lambda: jaxpr(
            grad(lambda x: remat(flag, static_argnums=(1,))(x, True))
        )(1.0),
        "checkpoint, prevent_cse False": lambda: jaxpr(grad(remat(sin_sin, prevent_cse=False)))(
            1.0
        ),
        "checkpoint, prevent_cse by argument": lambda: jaxpr(
            grad(remat(layer, prevent_cse=(False, True)))
        )(m, m),
        "checkpoint, layer": lambda: jaxpr(grad(remat(layer), (0, 1)))(m, m),
        "checkpoint, everything_saveable": lambda: jaxpr(
            grad(remat(sin_sin, policy=policies.everything_saveable))
        )(1.0),
        "checkpoint, nothing_saveable": lambda: jaxpr(
            grad(remat(sin_sin, policy=policies.nothing_saveable))
        )(1.0),
        "checkpoint, dots_saveable": lambda: jaxpr(
            grad(remat(layer, policy=policies.dots_saveable))
        )(m, m),
        "checkpoint, dots without batch": lambda: jaxpr(
            jax.vmap(
                grad(remat(layer, policy=policies.dots_with_no_batch_dims_saveable)), (0, None)
            )
        )(np.ones((5, 2, 2), np.float32), m),
        "checkpoint, names": lambda: jaxpr(
            grad(remat(named, policy=policies.save_only_these_names("b")))
        )(1.0),
        "checkpoint, names but": lambda: jaxpr(
            grad(remat(named, policy=policies.save_any_names_but_these("b")))
        )(1.0),
        "checkpoint, both policies": lambda: jaxpr(
            grad(
                remat(
                    lambda x, w: layer(named(x), w),
                    policy=policies.save_from_both_policies(
                        policies.dots_saveable, policies.save_only_these_names("a")
                    ),
                )
            )
        )(m, m),
        "checkpoint_name": lambda: jaxpr(lambda x: name({"y": x}, "a"))(1.0),
        "checkpoint_name, jvp": lambda: jaxpr(lambda x: jax.jvp(named, (x,), (1.0,)))(1.0),
        "checkpoint, in scan": lambda: jaxpr(grad(lambda c, xs: lax.scan(remat(step), c, xs)[0]))(
            1.0, v
        ),
        "checkpoint, of scan": lambda: jaxpr(grad(remat(lambda c, xs: lax.scan(step, c, xs)[0])))(
            1.0, v
        ),
        "checkpoint, of scan, everything": lambda: jaxpr(
            grad(remat(lambda c, xs: lax.scan(step, c, xs)[0], policy=policies.everything_saveable))
        )(np.float32(1), v),
        "checkpoint, of cond": lambda: jaxpr(
            grad(remat(lambda x: lax.cond(x > 0, jnp.sin, lambda x: jnp.cos(jnp.sin(x)), x)))
        )(1.0),
        "checkpoint, of cond, everything": lambda: jaxpr(
            grad(
                remat(
                    lambda x: lax.cond(x > 0, jnp.sin, lambda x: jnp.cos(jnp.sin(x)), x),
                    policy=policies.everything_saveable,
                )
            )
        )(1.0),
        "checkpoint, of while": lambda: jaxpr(
            grad(
                remat(
                    lambda x: (
                        jnp.sin(x)
                        * lax.while_loop(lambda i: i < 3, lambda i: i + 1, 0).astype("float32")
                    )
                )
            )
        )(1.0),
    }


def names(jax, jnp, lax):
    policies, name = jax.checkpoint_policies, _checkpoint_name(jax)

    def f(x):
        return jnp.sin(name(jnp.sin(x), "a")) * x

    def flag(x, twice):
        return jnp.sin(jnp.sin(x)) if twice else jnp.sin(x)

    def step(c, x):
        return jnp.sin(c * x), jnp.cos(c)

    def loop(c, xs):
        return lax.scan(step, c, xs)[0]

    def branch(x):
        return lax.cond(x > 0, jnp.sin, lambda y: jnp.cos(jnp.sin(y)) * x, x)

    return {
        "remat": jax.checkpoint,
        "policies": policies,
        "offload": lambda offloaded, saved: policies.save_and_offload_only_these_names(
            names_which_can_be_saved=saved,
            names_which_can_be_offloaded=offloaded,
            offload_src="device",
            offload_dst="pinned_host",
        ),
        "f": f,
        "flag": flag,
        "step": step,
        "loop": loop,
        "branch": branch,
        "layer": lambda x, w: (jnp.sin(jnp.sin(x) @ w) ** 2).sum(),
        "named": name,
    }


_POLICIES = (
    "None",
    "policies.nothing_saveable",
    "policies.everything_saveable",
    "policies.dots_saveable",
    "policies.dots_with_no_batch_dims_saveable",
    "policies.save_only_these_names('a')",
    "policies.save_any_names_but_these('a')",
    "policies.save_anything_except_these_names('a')",
    "policies.save_from_both_policies(policies.dots_saveable, policies.save_only_these_names('a'))",
    "policies.offload_dot_with_no_batch_dims('device', 'pinned_host')",
    "offload(['a'], [])",
)

GROUPS = [
    Group(
        "checkpoint",
        [
            *(
                f"jax.{transformation}(remat({function}, policy={policy})){args}"
                for policy in _POLICIES
                for transformation, function, args in (
                    ("value_and_grad", "f", "(0.5)"),
                    ("value_and_grad", "layer", "(m, n)"),
                    ("grad", "loop", "(f32(0.5), v)"),
                    ("grad", "branch", "(0.5)"),
                    ("hessian", "f", "(0.5)"),
                )
            ),
            "remat(f)(v)",
            "remat(f, prevent_cse=False)(2.0)",
            "jax.vmap(jax.grad(remat(f)))(v)",
            "jax.jit(jax.vmap(jax.grad(remat(f))))(v)",
            "jax.grad(lambda x: remat(jax.vmap(f))(x).sum())(v)",
            "jax.jvp(remat(f), (0.5,), (2.0,))",
            "jax.linearize(remat(f), 0.5)[1](2.0)",
            "jax.grad(remat(flag, static_argnums=(1,)))(0.5, True)",
            "jax.grad(remat(flag, static_argnums=-1))(0.5, False)",
            "remat(flag, static_argnums=1, static_argnames='no such argument')(0.5, True)",
            "jax.grad(remat(lambda d, *, k: d['x'] * k['y']))({'x': 2.0}, k={'y': 3.0})",
            "jax.grad(remat(lambda x, i: x[i]))(v, 1)",
            "jax.grad(lambda c: lax.scan(remat(step), c, v)[0])(0.5)",
            "jax.grad(lambda c: lax.scan(remat(step, prevent_cse=False), c, v)[0])(0.5)",
            "jax.grad(jax.grad(lambda c: lax.scan(remat(step), c, v)[0]))(0.5)",
            "jax.vmap(jax.grad(remat(loop)), (0, None))(v, w)",
            "jax.grad(remat(remat(f)))(0.5)",
            "jax.grad(remat(jax.jit(f)))(0.5)",
            "jax.vjp(remat(layer), m, n)[1](1.0)",
            "named({'a': v}, 'x')",
            "jax.vmap(lambda x: named(x, 'x'))(v)",
        ],
        ulps=16,
        scaled=True,
    )
]

ERRORS = {
    "checkpoint": [
        ("remat(1)(2.0)", []),
        ("remat(f, concrete=True)", ["concrete"]),
        ("remat(f, concrete=False)", ["concrete"]),
        ("remat(f, prevent_cse=1)", ["prevent_cse", "int"]),
        ("remat(f, static_argnums='a')(1.0)", ["static_argnums", "a"]),
        ("remat(f, static_argnums=1)(1.0)", ["static_argnums", "1"]),
        ("remat(f, static_argnums=(1.5,))(1.0)", ["static_argnums", "1.5"]),
        ("remat(flag)(1.0, True)", ["bool"]),
        ("remat(f)('a')", ["str"]),
        ("remat(f)(object())", ["object"]),
        ("remat(lambda x: 'a')(1.0)", ["str"]),
        ("jax.grad(remat(f, policy=lambda *_, **__: 1))(1.0)", ["policy", "1", "int"]),
        ("jax.grad(remat(f, policy=lambda *_, **__: None))(1.0)", ["policy", "None"]),
        ("jax.grad(remat(f, policy=policies.save_only_these_names))(1.0)", ["policy"]),
        (
            "jax.grad(remat(f, policy=policies.save_from_both_policies(lambda *_, **__: 1, "
            "policies.dots_saveable)))(1.0)",
            ["polic", "1"],
        ),
        ("offload(['a', 'b'], ['a'])", ["exclusive", "'a'"]),
        ("policies.no_such_policy", ["no_such_policy"]),
    ]
}
