"""Recorded cases of jax.experimental.pallas: what kernels give, how they print, what is refused."""

import importlib

import numpy as np
from golden_cases.codec import Group

X = np.arange(24, dtype=np.float32).reshape(4, 6)


def names(jax, jnp, lax):
    pl = importlib.import_module(f"{jax.__name__}.experimental.pallas")

    def struct(*shape, dtype=jnp.float32):
        return jax.ShapeDtypeStruct(shape, dtype)

    def call(kernel, out=None, **options):
        return pl.pallas_call(kernel, out or struct(4, 6), interpret=True, **options)

    def double(x, o):
        o[...] = x[...] * 2

    def both(x, a, b):
        @pl.when(pl.program_id(1) == 0)
        def _():
            a[...] = jnp.zeros_like(a)

        a[...] += x[...].sum(1)
        b[...] = x[...] * 2 + pl.num_programs(1)

    def running(x, o, s):
        @pl.when(pl.program_id(0) == 0)
        def _():
            s[...] = jnp.zeros_like(s)

        s[...] += x[...]
        o[...] = s[...]

    def sine(x, o):
        o[...] = jnp.sin(x[...]) * x[...]

    def shifted(x, o):
        o[0] = x[1] + 1

    rows = pl.BlockSpec((None, 6), lambda i: (i, 0))
    pairs = pl.BlockSpec((2, 6), lambda i: (i, 0))
    columns = [pl.BlockSpec((2,), lambda i, k: (i,)), pl.BlockSpec((2, 2), lambda i, k: (i, k))]
    by_rows = {"grid": 4, "in_specs": [rows], "out_specs": rows}
    by_pairs = {"grid": (2,), "in_specs": [pairs], "out_specs": pairs}
    scratch = {"scratch_shapes": [pl.ANY((6,), jnp.float32)]}
    outs = [struct(4), struct(4, 6)]
    two = call(both, outs, grid=(2, 3), in_specs=columns[1:], out_specs=columns, name="two")
    return {
        **locals(),
        "x": X,
        "two": two,
        "cumsum": call(running, **by_rows, **scratch),
        "shift": call(shifted, **by_pairs, input_output_aliases={0: 0}),
    }


GROUPS = [
    Group(
        "pallas",
        [
            "call(double)(x)",
            "call(double, **by_rows)(x)",
            "jax.jit(call(double, **by_rows))(x)",
            "two(x)",
            "jax.vmap(two)(jnp.stack([x, x + 1]))",
            "jax.vmap(two, in_axes=2)(jnp.stack([x, x + 1], 2))",
            "lax.scan(lambda c, _: (two(c)[1], c.sum()), x, None, length=3)",
            "cumsum(x)",
            "jax.vmap(cumsum)(jnp.stack([x, x + 1]))",
            "shift(x)",
            "jax.vmap(shift)(jnp.stack([x, x + 1]))",
            "call(lambda x, o: None)(x)",
            "call(lambda x, o: None, struct(2, dtype=jnp.int32))(x)",
            "call(lambda o: o.__setitem__(pl.program_id(0), pl.program_id(0)), struct(5, dtype=jnp.int32),"
            " grid=5)()",
            "call(double, struct(7), grid=3, in_specs=[pl.BlockSpec((3,), lambda i: i)],"
            " out_specs=pl.BlockSpec((3,), lambda i: i))(x.reshape(24)[:7])",
            "call(double, struct(7), grid=3, in_specs=[pl.BlockSpec((3,), lambda i: i + 1)],"
            " out_specs=pl.BlockSpec((3,), lambda i: i))(x.reshape(24)[:7])",
            "call(double, struct(7), grid=3,"
            " in_specs=[pl.BlockSpec((pl.Element(3, (1, 1)),), lambda i: 2 * i)],"
            " out_specs=pl.BlockSpec((3,), lambda i: i))(x.reshape(24)[:7])",
            "call(lambda x, o: o.at[0:2].set(x.at[1:][1:]))(x)",
            "call(lambda x, o: pl.loop(0, 4, step=2)(lambda i: o.__setitem__(i, x[i])))(x)",
            "[pl.cdiv(9, 2), pl.align_to(9, 4), pl.next_power_of_2(9), pl.strides_from_shape((2, 3, 4))]",
            "pl.run_state(lambda r: r.__setitem__(0, r[1] + 1))(x)",
        ],
    ),
    Group("pallas, differentiated", ["jax.jvp(call(sine, **by_rows), (x,), (x + 1,))"], ulps=16),
]


def jaxprs(jax, jnp, lax):
    f = names(jax, jnp, lax)
    call, double, pl, batch = f["call"], f["double"], f["pl"], X[None].repeat(3, 0)
    jaxpr = jax.make_jaxpr
    whole = {"in_specs": [pl.BlockSpec(memory_space=pl.ANY)], "out_specs": pl.no_block_spec}
    cost = pl.CostEstimate(flops=24, transcendentals=0, bytes_accessed=192)
    return {
        "pallas: a kernel": lambda: jaxpr(call(double, **whole, cost_estimate=cost))(X),
        "pallas: blocks": lambda: jaxpr(call(double, **f["by_rows"]))(X),
        "pallas: two outputs": lambda: jaxpr(f["two"])(X),
        "pallas: vmap": lambda: jaxpr(jax.vmap(f["two"]))(batch),
        "pallas: vmap of another axis": lambda: jaxpr(jax.vmap(f["two"], in_axes=1))(batch),
        "pallas: jvp": lambda: jaxpr(
            lambda x: jax.jvp(call(f["sine"], **f["by_rows"]), (x,), (x,))
        )(X),
        "pallas: scratch": lambda: jaxpr(f["cumsum"])(X),
        "pallas: aliases": lambda: jaxpr(f["shift"])(X),
    }


ERRORS = {
    "pallas": [
        ("call(lambda x, o: 1)(x)", ["should return None", "PyTreeDef(*)"]),
        (
            "call(lambda r, o: o.__setitem__(..., r[...] + x))(x)",
            ["captures constants", "f32[4,6]"],
        ),
        ("call(double, in_specs=[])(x)", ["Pytree for `in_specs` and `inputs` do not match"]),
        (
            "call(double, out_specs=[rows])(x)",
            ["Pytree for `out_specs` and `out_shape` do not match"],
        ),
        ("call(double, in_specs=rows)(x)", ["`in_specs` must be a tuple or a list"]),
        ("call(double, in_specs=[pl.BlockSpec((2,))])(x)", ["Block shape for args[0]", "(4, 6)"]),
        (
            "call(double, in_specs=[pl.BlockSpec(('a', 6))])(x)",
            ["Unsupported block dimension type"],
        ),
        (
            "call(double, grid=4, in_specs=[pl.BlockSpec((2, 6), lambda i: i)])(x)",
            ["return 2 values"],
        ),
        (
            "call(double, grid=4, in_specs=[pl.BlockSpec((2, 6), lambda i: (i, 0.5))])(x)",
            ["must return integer scalars. Output[1]"],
        ),
        ("call(double, grid=(1.5,))(x)", ["Grid must be a tuple of integers", "1.5"]),
        ("call(double, grid=1, grid_spec=pl.GridSpec(grid=1))(x)", ["If `grid_spec` is specified"]),
        (
            "call(double, input_output_aliases={1: 0})(x)",
            ["input index 1 outside the range [0, 1)"],
        ),
        ("call(double, struct(5))(x)", ["Invalid shape for `swap`", "(5,)", "(4, 6)"]),
        ("call(double, struct(4, 6, dtype=jnp.int32))(x)", ["Invalid dtype for `swap`", "int32"]),
        ("call(double, 3)(x)", ["Invalid out_shape type"]),
        (
            "call(lambda x, o: pl.program_id(1), grid=3)(x)",
            ["Axis 1 is out of bounds for grid (3,)"],
        ),
        (
            "call(double, in_specs=[pl.BlockSpec((pl.BoundedSlice(4), 6), lambda: (pl.ds(0, 4), 0))])(x)",
            ["Unsupported block dim type"],
        ),
        (
            "jax.grad(lambda x: call(double)(x).sum())(x)",
            ["Linearization failed to produce known values"],
        ),
        ("jax.jvp(shift, (x,), (x,))", ["JVP with aliasing not supported"]),
        (
            "pl.CostEstimate(flops=1.5, transcendentals=0, bytes_accessed=0)",
            ["flops is not an int"],
        ),
        ("pl.next_power_of_2(-1)", ["requires a non-negative integer"]),
    ],
}
