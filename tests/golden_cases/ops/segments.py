"""Recorded cases of jax.ops."""

from golden_cases.codec import Group


def names(jax, jnp, lax):
    return {
        "ops": jax.ops,
        "x": jnp.array([1.0, -2, 3, 0.5, 4]),
        "ids": jnp.array([0, 0, 1, 2, 7]),
        "n": jnp.array([5, 2, -3, 4, 1]),
        "rows": jnp.arange(6.0).reshape(3, 2),
        "two": jnp.array([[0, 1], [1, 1]]),
    }


def jaxprs(jax, jnp, lax):
    given = names(jax, jnp, lax)
    x, ids, two = given["x"], given["ids"], given["two"]
    shown = {
        f"{name} of {count} segments": (name, count, {})
        for name in ("segment_sum", "segment_prod", "segment_max", "segment_min")
        for count in (3,)
    }
    shown["segment_prod that promises"] = (
        "segment_prod",
        3,
        {"unique_indices": True, "indices_are_sorted": True, "mode": "clip"},
    )
    shown["segment_sum in buckets"] = ("segment_sum", 3, {"bucket_size": 2})

    def jaxpr(function, count, options, *args):
        return lambda: jax.make_jaxpr(lambda x, i: function(x, i, count, **options))(*args)

    found = {
        name: jaxpr(getattr(jax.ops, function), count, options, x, ids)
        for name, (function, count, options) in shown.items()
    }
    halves = x.astype(jnp.float16)
    found["segment_min of float16"] = jaxpr(jax.ops.segment_min, 3, {}, halves, ids)
    found["segment_max of bool"] = jaxpr(jax.ops.segment_max, 3, {}, x > 0, ids)
    found["segment_max of a matrix"] = jaxpr(jax.ops.segment_max, 3, {}, jnp.ones((2, 3)), two)
    return found


VALUES = """
ops.segment_sum(x, ids)
ops.segment_sum(x, ids, 3)
ops.segment_sum(x, ids, num_segments=0)
ops.segment_sum(x, jnp.array([0, 0, 1, 2, -1]), 3)
ops.segment_sum(x, jnp.array([0, 0, 1, 2, -1]))
ops.segment_sum(rows, jnp.array([0, 0, 1]))
ops.segment_sum(jnp.ones((2, 3)), two, 3)
ops.segment_sum(jnp.ones((2, 2)), two)
ops.segment_sum(x, ids, 3, bucket_size=2)
ops.segment_sum(x, ids, 3, mode='clip')
ops.segment_sum(x, jnp.array([0, 0, 1, 1, 0]), 2, mode='promise_in_bounds')
ops.segment_sum(n, ids, jnp.array(3))
ops.segment_sum(n.astype(jnp.uint8), ids.astype(jnp.int8))
ops.segment_sum(np.array([1, 2]), np.array([0, 1]))
ops.segment_sum(jnp.array([1 + 2j, 3]), jnp.array([0, 0]))
ops.segment_sum(jnp.float32(3), jnp.array([0]))
ops.segment_sum(x[None], ids[None])
ops.segment_prod(x, ids, 4)
ops.segment_prod(n, ids, 4, mode='drop')
ops.segment_prod(x, ids, 4, bucket_size=2)
ops.segment_max(x, ids, 4)
ops.segment_max(n, ids, 4)
ops.segment_max(x > 0, ids, 4)
ops.segment_max(x, ids, 3, bucket_size=2)
ops.segment_max(jnp.ones(0), jnp.ones(0, int), 2)
ops.segment_min(x, ids, 4)
ops.segment_min(n, ids, 4)
ops.segment_min(n.astype(jnp.uint8), ids, 4)
ops.segment_min(x.astype(jnp.bfloat16), ids, 4)
jax.jit(ops.segment_sum, static_argnums=2)(x, ids, 3)
jax.jit(lambda x: ops.segment_max(x, ids, 3))(x)
jax.vmap(lambda x, i: ops.segment_sum(x, i, 3))(jnp.ones((2, 3)), jnp.array([[0, 1, 1], [2, 2, 0]]))
jax.vmap(lambda x: ops.segment_max(x, ids, 3))(jnp.stack([x, -x]))
jax.grad(lambda x: ops.segment_sum(x, ids, 3)[0] ** 2)(x)
jax.grad(lambda x: ops.segment_max(x, ids, 3)[0])(x)
jax.jvp(lambda x: ops.segment_sum(x, ids, 3), (x,), (2 * x,))
"""

GROUPS = [Group("segments", VALUES.strip().split("\n"))]

ERRORS = {
    "segments": [
        ("ops.segment_sum([1, 2], [0, 1])", ["list"]),
        ("ops.segment_sum(x, ids, num_segments=-1)", ["num_segments", "non-negative"]),
        ("ops.segment_sum(x, ids, 3.0)", ["float"]),
        ("ops.segment_sum(x, x)", ["integer"]),
        ("ops.segment_sum(x, jnp.array([0, 0]))", ["(5,)", "(2,)"]),
        ("ops.segment_sum(x[None], ids[0], 3)", []),
        ("ops.segment_sum(x > 0, ids)", ["bool"]),
        ("ops.segment_sum(jnp.ones(0), jnp.ones(0, int))", ["zero-size"]),
        ("jax.jit(ops.segment_sum)(x, ids)", ["num_segments"]),
    ]
}
