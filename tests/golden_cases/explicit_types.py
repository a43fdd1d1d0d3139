"""Arrays whose types say how they are split: calls whose answers are recorded from JAX (many_devices.py):
types, values, printed jaxprs, errors."""

import importlib

DEVICES = 8
ERROR_WORDS = 3

# Calls that give something else here, by a part of them, and why.
OTHERWISE = {
    "lax.slice(a, (0, 0), (3, 4))": "JAX takes slices of values as dynamic ones, and says so",
    "a[0], ex": "a slice here, for which JAX takes a gather",
    "a[:4], ex": "a slice here, for which JAX takes a gather",
    "jnp.zeros_like(a), jnp.ones_like(a)": "JAX fails outside of set_mesh",
    "in_shardings=T('x'))(x)": "in_shardings are part of the arguments' types here",
    "jax.device_put(x, S('x')))": "a mesh of Auto axes is no part of types here",
}

# As in meshes.py; and ex, ey, exy, er: x spread by T('x'), T(None, 'y'), T('x', 'y') and T(); e8: arange(8) by
# T('x'); e3: of shape (4, 8, 2) by T('x', None, 'y'); sq: (8, 8) by T('x'); o(shape, *spec): an array, spread;
# ty(f, *args): the types of f's results, made at once and by jit.
CALLS = """
ex, ex.aval, exy.aval, er.aval, jax.typeof(ey), jax.typeof(o((8,), ('x', 'y')))
ex.sharding, exy.sharding, jax.typeof(ex).sharding, jax.typeof(exy).sharding.spec
ty(lambda a: (a + 1, -a, jnp.sin(a), a * a, a > 1, a ** 2, a.astype(int)), ex)
ty(lambda a, b: a + b, ex, ey), ty(lambda a, b: a + b, ex, er), ty(lambda a, b: a * b, exy, ex)
ty(lambda a, b: a + b, ex, o((4,), 'y')), ty(lambda a: a + jnp.ones(4), ex), ty(lambda a: 2.0 - a, ex)
ty(lambda a, b: a + b, ex, o((8, 4), 'y'))
ty(lambda a, b: a + b, sq, o((8, 8), None, 'x'))
ty(lambda a, b: a * b, exy, o((8, 4), None, 'x'))
ty(lambda a: (a.T, a.sum(0), a.sum(1), a.sum()), exy), ty(lambda a: a.transpose(2, 0, 1), e3)
ty(lambda a: (a.max(0), a.mean(1), jnp.argmax(a, 1), a.var(1), a.min(1, keepdims=True)), ex)
ty(lambda a: jnp.linalg.norm(a), ex), ty(lambda a: (a[:, None], a[None], a[..., None]), ex)
ty(lambda a: jnp.squeeze(a), o((8, 1), 'x')), ty(lambda a: jnp.expand_dims(a, 1), exy)
ty(lambda a: jnp.broadcast_to(a, (3, 8, 4)), ex), ty(lambda a: lax.broadcast_in_dim(a, (8, 4), (0,)), e8)
ty(lambda a: a.reshape(8, 2, 2), ex), ty(lambda a: a.reshape(4, 2, 4), ex), ty(lambda a: a.reshape(32), ex)
ty(lambda a: a.reshape(8, 4, 1), exy), ty(lambda a: a.reshape(8, 2, 2), exy), ty(lambda a: a.reshape(4, 2, 4), exy)
ty(lambda a: a.reshape(32), exy), ty(lambda a: a.reshape(32, 2), e3), ty(lambda a: (a.ravel(), a.flatten()), ex)
ty(lambda a: a.reshape(4, 2, 4), o((8, 4), ('x', 'y'))), ty(lambda a: a.reshape(8, 2, 2), o((8, 4), ('x', 'y')))
ty(lambda a: (a.reshape(4, 2), a.reshape(8, 1), a.reshape(1, 8)), e8), ty(lambda a: a.reshape(8, 4), o((32,), 'x'))
ty(lambda a: a.reshape(4, 8), er), ty(lambda a: a.reshape(4, 2, 4), ey)
ty(lambda a: a.reshape(2, 4, 4), ex)
ty(lambda a: a.reshape(4, 8), ex)
ty(lambda a: a.reshape(32), ey)
ty(lambda a: a.reshape(2, 4), e8)
ty(lambda a: a.reshape(4, 16), e3)
ty(lambda a: a.reshape(-1, 2), ex)
ty(lambda a: a.reshape(2, 4, 4), o((32,), 'x'))
ty(lambda a: a @ jnp.ones((4, 3)), ex), ty(lambda a, b: a @ b, ex, o((4, 8), None, 'y')), ty(lambda a, b: a @ b.T, er, er)
ty(lambda a, b: a @ b.T, ey, er), ty(lambda a, b: jnp.outer(a, b), e8, o((4,), 'y'))
ty(lambda a, b: jnp.einsum('bij,bjk->bik', a, b), o((4, 2, 8), 'x'), o((4, 8, 2), 'x', None, 'y'))
ty(lambda a, b: jnp.einsum('bij,bjk->bik', a, b), o((4, 2, 8), 'x'), o((4, 8, 2), None, None, 'y'))
ty(lambda a: jnp.einsum('ij->ji', a), ex), ty(lambda a: jnp.einsum('ij,ij->i', a, a), ex)
ty(lambda a, b: jnp.tensordot(a, b, ((1,), (1,))), ex, er)
ty(lambda a, b: a @ b, ey, o((4, 8), 'y'))
ty(lambda a, b: a @ b, ey, o((4, 8), 'x'))
ty(lambda a, b: a @ b, ex, o((4, 8), None, 'x'))
ty(lambda a: a.T @ a, ex)
ty(lambda a: a @ a, e8)
ty(lambda a: jnp.vdot(a, a), e8)
jnp.dot(ey, o((4, 8), 'y'), out_sharding=T()).aval, jnp.dot(ey, o((4, 8), 'y'), out_sharding=T('x', 'y')).aval
within(E, lambda: jnp.dot(ey, o((4, 8), 'y'), out_sharding=P('x', None)).aval)
within(E, lambda: jnp.matmul(ex.T, ex, out_sharding=P('y', None)).aval)
jnp.einsum('ij,jk->ik', ey, o((4, 8), 'y'), out_sharding=T(None, None)).aval
jnp.dot(ex, ex.T, out_sharding=P('x', None))
within(E, lambda: jnp.reshape(ey, (32,), out_sharding=P('y')).aval)
within(E, lambda: lax.reshape(ey, (4, 8), out_sharding=P('x', 'y')).aval)
ty(lambda a: (a[:, 0], a[:, :2], a[:, 1:3], jnp.split(a, 2, 1)), ex)
ty(lambda a: lax.slice(a, (0, 0), (4, 4)), ex), ty(lambda a: lax.dynamic_slice(a, (0, 0), (8, 2)), ex)
ty(lambda a: lax.slice(a, (0, 0), (3, 4)), ex)
ty(lambda a: lax.dynamic_slice(a, (0, 0), (2, 4)), ex)
ty(lambda a: a[0], ex)
ty(lambda a: a[:4], ex)
ty(lambda a: a[jnp.arange(2)], ex)
ty(lambda a: jnp.take(a, jnp.array([0, 1]), axis=1), ex), ty(lambda a: a[:, jnp.array([2, 1])], ex)
ty(lambda a: jnp.concatenate([a, a], 0), ex), ty(lambda a: jnp.concatenate([a, a], 1), ex)
ty(lambda a: jnp.concatenate([a, jnp.ones((8, 4))], 1), ex), ty(lambda a: (jnp.stack([a, a]), jnp.vstack([a, a])), ex)
ty(lambda a, b: jnp.concatenate([a, b], 1), ex, o((8, 4), 'y'))
ty(lambda a: (jnp.sort(a, 1), jnp.argsort(a, 1), jnp.cumsum(a, 1), lax.top_k(a, 2)[0], jnp.median(a, 1)), ex)
ty(lambda a: jnp.sort(a, 0), ex)
ty(lambda a: jnp.cumsum(a, 0), ex)
ty(lambda a: (jnp.flip(a, 0), jnp.roll(a, 1, 1), jnp.pad(a, ((0, 0), (1, 1))), jnp.tile(a, (1, 2))), ex)
ty(lambda a: (jnp.where(a > 1, a, 0), jnp.clip(a, 0, 1), lax.clamp(0.0, a, 1.0), jnp.tril(a)), sq)
ty(lambda a: (jax.nn.relu(a), jax.nn.gelu(a), jax.nn.softmax(a), jax.nn.softmax(a, axis=0), jax.nn.logsumexp(a, axis=1)), ex)
ty(lambda a: (jnp.zeros_like(a), jnp.ones_like(a), jnp.full_like(a, 2), lax.full_like(a, 1)), ex)
ty(lambda a: jnp.repeat(a, 2, 1), ex), ty(lambda a: jnp.trace(a), sq), ty(lambda a, b: jnp.meshgrid(a, b), e8, o((4,), 'y'))
ty(lambda a: jnp.fft.fft(a), ex), ty(lambda a: lax.reduce_window(a, 0.0, lax.add, (1, 2), (1, 1), 'VALID'), ex)
ty(lambda a: lax.conv_general_dilated(a, jnp.ones((4, 3, 3, 3)), (1, 1), 'SAME'), o((8, 3, 8, 8), 'x'))
ty(lambda a: jnp.linalg.inv(a), sq)
ty(lambda a: lax.cond(True, lambda b: b * 2, lambda b: b, a), ex)
ty(lambda a: lax.cond(True, lambda b: b * 2, lambda b: reshard(b, T('y')), a), ex)
ty(lambda a: lax.fori_loop(0, 3, lambda i, c: c * 2, a), ex), ty(lambda a: lax.while_loop(lambda c: c.sum() < 9, lambda c: c * 2, a), ex)
ty(lambda a: lax.fori_loop(0, 3, lambda i, c: reshard(c, T('y')), a), ex)
ty(lambda a: lax.scan(lambda c, _: (c * 2, c.sum(0)), a, None, length=3), ex)
ty(lambda a: lax.scan(lambda c, b: (c + b, b * 2), o((4,), 'y'), a), ey), ty(lambda a: lax.map(lambda b: b * 2, a), ey)
ty(lambda a: lax.scan(lambda c, b: (c + b, b), jnp.zeros(4), a), ex)
ty(jax.vmap(lambda a: a * 2), ex), ty(jax.vmap(lambda a: a.sum()), ey), ty(jax.vmap(lambda a: a * 2, in_axes=1, out_axes=1), ex)
ty(jax.vmap(lambda a: a.sum()), ex), ty(jax.vmap(lambda a, b: a @ b, in_axes=(0, None)), ex, o((4, 8), None, 'y'))
ty(lambda a: jax.jvp(jnp.sin, (a,), (a,)), ex), ty(lambda a: jax.linearize(jnp.sin, a)[1](a), ex)
ty(jax.checkpoint(jnp.sin), ex), ty(lambda a: jax.jit(jnp.sin)(a) + 1, ex)
within(E, lambda: ty(jax.grad(lambda a: (a * a).sum()), ex)), within(E, lambda: ty(jax.grad(lambda a: (a.T * 2).sum()), ex))
within(E, lambda: ty(jax.grad(lambda w: (ex @ w).sum()), o((4, 8), None, 'y')))
within(E, lambda: jax.value_and_grad(lambda w: ((ex @ w) ** 2).mean())(o((4, 2))))
jax.jit(lambda a: a * 2, out_shardings=T('y'))(ex).aval, jax.jit(lambda a: a * 2, in_shardings=T('x'))(x).aval
jax.jit(lambda a: a * 2, in_shardings=T('y'))(ex)
reshard(ex, T('y')).aval, reshard(ex, T(None, 'y')).sharding, reshard(x, T('x')), reshard({'a': x}, T('x'))['a'].aval
within(E, lambda: reshard(ex, P(None, 'x')).aval), within(E, lambda: reshard(x, P(('x', 'y'))).aval)
reshard(x, P('x'))
reshard(x, S('x'))
reshard(jnp.ones(3), T('x'))
reshard(x, None)
jax.device_put(jnp.arange(7.0), T('x'))
jax.jit(lambda a, b: a + b)(ex, jax.device_put(x, S('x')))
within(E, lambda: wsc(ex, P('x')).aval)
within(E, lambda: wsc(ex, P('y')))
wsc(ex, T('y'))
within(E, lambda: (jnp.zeros((8, 4), out_sharding=P('x')).aval, jnp.ones((8, 4), out_sharding=P('x', 'y')).aval))
within(E, lambda: (jnp.arange(8, out_sharding=P('x')).aval, jnp.full((8,), 2.0, out_sharding=P('y')).aval))
within(E, lambda: jax.random.normal(jax.random.key(0), (8,), out_sharding=P('x')).aval)
within(E, lambda: (jnp.ones((8, 4)).aval, (jnp.ones((8, 4)) + ex).aval))
within(E, lambda: auto_axes(lambda a: a.reshape(32), out_sharding=P('x'))(ey).aval)
within(E, lambda: auto_axes(lambda a: a.reshape(32))(ey, out_sharding=P('x')).aval)
within(E, lambda: auto_axes(lambda a, b: a @ b, out_sharding=P('x', 'y'))(ey, o((4, 8), 'y')))
within(E, lambda: jax.make_jaxpr(auto_axes(lambda a: a.reshape(32), out_sharding=P('x')))(ey))
within(A, lambda: jax.make_jaxpr(explicit_axes(lambda a: a * 2, in_sharding=P('x')))(x))
within(A, lambda: explicit_axes(lambda a: a * 2, in_sharding=P('x'))(x).aval)
jax.make_jaxpr(lambda a: (a * 2).T.sum(0))(ex)
jax.make_jaxpr(lambda a: a.reshape(4, 2, 4))(ex), jax.make_jaxpr(lambda a: a.reshape(32))(exy)
jax.make_jaxpr(jax.jit(lambda a: a * 2))(ex)
jax.make_jaxpr(lambda a: reshard(a * 2, T('y')))(ex)
jax.make_jaxpr(lambda a: jax.device_put(a, T('x')))(x)
jax.make_jaxpr(lambda a: lax.scan(lambda c, b: (c + b.sum(), b * 2), 0.0, a))(ey)
jax.make_jaxpr(lambda a: lax.cond(a.sum() > 0, jnp.sin, jnp.cos, a))(ex)
jax.make_jaxpr(jax.vmap(lambda a: reshard(a, T('x'))))(o((2, 8)))
jax.make_jaxpr(lambda a: jax.jvp(jnp.sin, (a,), (a,)))(ex)
jax.make_jaxpr(lambda a, b: a @ b)(ex, o((4, 8), None, 'y')), jax.make_jaxpr(lambda a, b: jnp.dot(a, b, out_sharding=T('x')))(ey, o((4, 8), 'y'))
jax.make_jaxpr(lambda a: jax.nn.softmax(a))(ex)
jax.eval_shape(lambda a: a * 2, ex), jax.jit(lambda a: a.T).eval_shape(ex)
jax.jit(lambda a: a.T).lower(ex).compile().output_shardings, (ex + 1).sharding, ex.T.sharding, ex.sum().sharding
jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=T('x')), jax.eval_shape(lambda a: a + 1, jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=T('x')))
""".strip().splitlines()


def names(jax, jnp):
    """The names in the calls."""
    known = importlib.import_module("meshes").names(jax, jnp)
    x, spread = known["x"], known["T"]

    def o(shape, *spec):
        size = 1
        for n in shape:
            size *= n
        return jax.device_put(jnp.arange(float(size)).reshape(shape), spread(*spec))

    def ty(f, *args):
        both = [jax.tree.map(lambda a: a.aval.str_short(True), g(*args)) for g in (f, jax.jit(f))]
        return both[0] if both[0] == both[1] else both

    return known | {
        "wsc": jax.lax.with_sharding_constraint,
        "reshard": jax.sharding.reshard,
        "auto_axes": jax.sharding.auto_axes,
        "explicit_axes": jax.sharding.explicit_axes,
        "o": o,
        "ty": ty,
        "ex": jax.device_put(x, spread("x")),
        "ey": jax.device_put(x, spread(None, "y")),
        "exy": jax.device_put(x, spread("x", "y")),
        "er": jax.device_put(x, spread()),
        "e8": o((8,), "x"),
        "e3": o((4, 8, 2), "x", None, "y"),
        "sq": o((8, 8), "x"),
    }
