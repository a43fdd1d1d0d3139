"""Numbers of 8 bits and less: what they hold, how they round, and that nothing widens them unasked."""

from golden_cases.codec import Group

_FLOATS = (
    "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
    "float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn"
).split()
_INTEGERS = ["int2", "int4", "uint2", "uint4"]

_OF_EACH = [
    "wide.astype({d})",
    "ints.astype({d})",
    "wide.astype({d}).astype('float32')",
    "jnp.array([1, 2], {d}) + jnp.ones(2, {d})",
    "jnp.ones(2, {d}) * 2",
    "wide.astype({d}) > 1",
    "jnp.max(unit.astype({d}))",
    "jnp.promote_types({d}, {d}).name",
    "jnp.issubdtype({d}, jnp.floating)",
    "jnp.issubdtype({d}, jnp.signedinteger)",
    "{d}(1)",
]
_OF_FLOATS = [
    "jnp.sqrt(jnp.abs(reals).astype({d}))",
    "jnp.ones(2, {d}) * 1.5",
    "jnp.promote_types({d}, 'int32').name",
    "jax.grad(lambda x: x.astype({d}).astype('float32').sum())(v)",
    "float(jnp.finfo({d}).max)",
]
_OF_INTEGERS = ["-ints.astype({d})", "~ints.astype({d})", "jnp.iinfo({d}).max"]
_OTHERS = [
    "jax.jit(lambda x: x + x)(v.astype('float8_e4m3fn'))",
    "jax.jit(lambda x: (x.astype('float32') * 2).astype(x.dtype))(v.astype(jnp.float8_e5m2))",
    "jax.vmap(lambda r: r * 2)(m.astype(jnp.int4))",
    "m.astype(jnp.float8_e4m3fn) @ n.astype(jnp.float8_e4m3fn)",
    "jnp.dot(v.astype('float8_e5m2'), w.astype('float8_e5m2'), preferred_element_type='float32')",
    "m.astype(jnp.int4) @ im.T.astype(jnp.int4)",
    "m.astype(jnp.int4).at[0].set(1)",
    "jnp.take(m.astype(jnp.int4), 0, 0)",
    "jnp.sort(reals.astype(jnp.float8_e4m3fn))",
    "jnp.where(v > 1, v.astype('float8_e5m2'), 0)",
    "jnp.concatenate([v.astype('int4'), w.astype('int4')])",
    "lax.bitcast_convert_type(v.astype(jnp.float8_e4m3fn), jnp.uint8)",
    "jax.random.uniform(jax.random.key(0), (3,), jnp.float8_e5m2)",
    "str(v.astype(jnp.float8_e4m3fn))",
    "str(jax.dtypes.canonicalize_dtype(None))",
    "str(jnp.result_type(None))",
    "str(jnp.result_type(None, jnp.int32))",
    "str(jax.dtypes.result_type(1, None))",
]

GROUPS = [
    Group(
        "small dtypes",
        [
            *(call.format(d=f"jnp.{d}") for d in _FLOATS + _INTEGERS for call in _OF_EACH),
            *(call.format(d=f"jnp.{d}") for d in _FLOATS for call in _OF_FLOATS),
            *(call.format(d=f"jnp.{d}") for d in _INTEGERS for call in _OF_INTEGERS),
            *_OTHERS,
        ],
        ulps=0,
    ),
]

ERRORS = {
    "small dtypes: no implicit promotion": [
        ("v.astype('float8_e4m3fn') + v", ["float8_e4m3fn", "float32"]),
        ("v.astype('float8_e4m3fn') + v.astype('float8_e5m2')", ["float8_e4m3fn", "float8_e5m2"]),
        ("v.astype('int4') + ints[:3]", ["int4", "int32"]),
        ("v.astype('int4') * 1.5", ["int4", "float"]),
        ("jnp.promote_types('int4', 'int8')", ["int4", "int8"]),
        ("jnp.array([1.0, 2.0], 'float4_e2m1fn') + v[:2]", ["float4_e2m1fn", "float32"]),
        ("jax.random.uniform(jax.random.key(0), (3,), jnp.float4_e2m1fn)", ["float4_e2m1fn"]),
        ("lax.bitcast_convert_type(v.astype('int4'), jnp.uint8)", ["int4", "uint8"]),
    ],
    "dtypes that must be given": [
        ("lax.convert_element_type(v, None)", ["dtype must be specified"]),
        ("lax.bitcast_convert_type(v, None)", ["dtype must be specified"]),
        ("lax.iota(None, 3)", ["dtype must be specified"]),
        ("jnp.can_cast(None, jnp.float32)", ["'None' not accepted"]),
        ("jnp.can_cast(jnp.float32, None)", ["'None' not accepted"]),
    ],
}


def jaxprs(jax, jnp, lax):
    v = jnp.arange(3.0)
    return {
        f"astype({name})": lambda name=name: jax.make_jaxpr(lambda x: x.astype(name))(v)
        for name in _FLOATS + _INTEGERS
    }


def names(jax, jnp, lax):
    return {"wide": jnp.array([0.3, 1.5, -2, 7.5, 300, 1000, -1e5, jnp.inf, jnp.nan])}
