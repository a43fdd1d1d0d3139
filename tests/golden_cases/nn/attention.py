"""jax.nn.dot_product_attention, and the initializers that draw orthogonal matrices."""

import numpy as np
from golden_cases.codec import Group

_CALLS = [
    "attend(q, k, x)",
    "attend(q[0], k[0], x[0])",
    "attend(q, k, x, scale=0.1)",
    "attend(q, k, x, bias)",
    "attend(q, k, x, bias[:1, :1])",
    "attend(q, k, x, bias[0, 0])",
    "attend(q, k, x, mask=bias > 0)",
    "attend(q, k, x, mask=(bias > 0)[:1, :, :1])",
    "attend(q, k, x, mask=jnp.zeros((1, 1, 3, 4), bool))",
    "attend(q, k, x, bias, bias > -1, is_causal=True)",
    "attend(q, k, x, is_causal=True)",
    "attend(q, k, x, local_window_size=(1, 0))",
    "attend(q, k, x, local_window_size=1, is_causal=True)",
    "attend(q, k, x, query_seq_lengths=i32([1, 3]))",
    "attend(q, k, x, key_value_seq_lengths=i32([2, 3]))",
    "attend(q, k, x, query_seq_lengths=i32([2, 1]), key_value_seq_lengths=i32([2, 3]))",
    "attend(q, k, x, implementation='xla')",
    "attend(q, k, x, bias, return_residual=True)",
    "attend(q[0], k[0], x[0], return_residual=True)",
    "attend(k, k, x)",
    "jax.jit(lambda q: attend(q, k, x, is_causal=True))(q)",
    "jax.vmap(attend)(q, k, x)",
]
_DERIVATIVES = [
    "jax.grad(lambda q, k, x: (attend(q, k, x) ** 2).sum(), (0, 1, 2))(q, k, x)",
    "jax.grad(lambda b: (attend(q, k, x, b, is_causal=True) ** 2).sum())(bias)",
    "jax.grad(lambda q: attend(q, k, x, mask=bias > 0)[0, 0].sum())(q)",
    "jax.jvp(lambda k: attend(q, k, x, local_window_size=1), (k,), (x,))",
]
_INITIALIZERS = [
    "init.orthogonal()(key, (3, 2))",
    "init.orthogonal()(key, (2, 5))",
    "init.orthogonal(2.0, column_axis=0)(key, (2, 3, 2))",
    "init.orthogonal(dtype='complex64')(key, (2, 2))",
    "init.delta_orthogonal()(key, (3, 2, 3))",
    "init.delta_orthogonal(0.5)(key, (2, 3, 2, 2))",
    "random.orthogonal(key, 3, (2,))",
    "random.orthogonal(key, 2, m=3)",
    "jax.jit(lambda key: random.orthogonal(key, 3, (), 'complex64', m=2))(key)",
    "random.multivariate_normal(key, v, sq, (2,), method='svd') ** 2",
    "random.multivariate_normal(key, v, 4 * jnp.eye(3), (2,), method='eigh')",
]

GROUPS = [
    Group("attention", _CALLS, ulps=8, scaled=True),
    Group("attention: derivatives", _DERIVATIVES, ulps=32, scaled=True),
    Group(
        "attention of 16 bits",
        [
            f"attend(q.astype({d}), k.astype({d}), x.astype({d}), bias)"
            for d in ("jnp.float16", "jnp.bfloat16")
        ],
        ulps=2,
        scaled=True,
    ),
    Group("orthogonal matrices", _INITIALIZERS, ulps=32, scaled=True),
]

ERRORS = {
    "attention: operands": [
        ("attend(q, k[..., :4], x)", ["value shape"]),
        ("attend(q, k, x[:, :3])", ["value shape"]),
        ("attend(q[0], k, x)", ["query shape"]),
        ("attend(q[:, :, :3], k, x)", ["multiple", "3 vs 2"]),
        ("attend(q.astype('float16'), k, x)", ["query dtype", "float16"]),
        ("attend(q, k, x.astype('float16'))", ["value dtype", "float16"]),
        ("attend(q, k, x, bias[:, :, :2])", ["broadcast"]),
        ("attend(q, k, x, mask=bias)", ["mask dtype", "bool"]),
        ("attend(q, k, x, mask=bias[:, :, :2] > 0)", ["broadcast"]),
        ("attend(q, k, x, local_window_size=(1, 2, 3))", []),
        ("attend(q, k, x, query_seq_lengths=i32([1, 2, 3]))", ["query_seq_lengths", "(3,)"]),
        ("attend(q, k, x, key_value_seq_lengths=v[:2])", ["key_value_seq_lengths", "int32"]),
        ("attend(q, k, x, implementation='cudnn')", ["cuDNN"]),
        ("attend(q, k, x, implementation='fast')", ["implementation", "fast"]),
    ],
    "orthogonal matrices": [
        ("init.orthogonal()(key, (3,))", ["2D"]),
        ("init.orthogonal(dtype=int)(key, (2, 2))", ["float or complex", "int32"]),
        ("init.orthogonal()(0, (2, 2))", ["key"]),
        ("init.delta_orthogonal()(key, (3, 3))", ["3D, 4D or 5D"]),
        ("init.delta_orthogonal()(key, (3, 4, 3))", ["fan_in", "fan_out"]),
    ],
}


def jaxprs(jax, jnp, lax):
    attend, q = jax.nn.dot_product_attention, jnp.ones((1, 4, 2, 8))
    bias = jnp.zeros((1, 2, 4, 4))

    def show(f, *args):
        return lambda: jax.make_jaxpr(f)(*args)

    return {
        "dot_product_attention": show(lambda q: attend(q, q, q), q),
        "dot_product_attention without a batch": show(lambda q: attend(q, q, q), q[0]),
        "dot_product_attention with a bias": show(lambda q: attend(q, q, q, bias), q),
        "dot_product_attention with a mask": show(
            lambda q, m: attend(q, q, q, mask=m), q, bias > 0
        ),
        "dot_product_attention, causal": show(lambda q: attend(q, q, q, is_causal=True), q),
        "dot_product_attention of heads that share keys": show(
            lambda q, k: attend(q, k, k), jnp.ones((1, 4, 4, 8)), q
        ),
        "random.orthogonal": show(
            lambda key: jax.random.orthogonal(key, 3, (2,)), jax.random.key(0)
        ),
    }


def names(jax, jnp, lax):
    def normal(*shape):
        return jnp.array(np.random.default_rng(sum(shape)).standard_normal(shape), "float32")

    return {
        "attend": jax.nn.dot_product_attention,
        "init": jax.nn.initializers,
        "random": jax.random,
        "key": jax.random.key(0),
        "q": normal(2, 3, 4, 5),
        "k": normal(2, 4, 2, 5),
        "x": normal(2, 4, 2, 5)[::-1],
        "bias": normal(2, 4, 3, 4),
    }
