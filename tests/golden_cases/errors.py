"""Bad calls: the exception's class must be JAX's, and its message must name what was wrong.

Each case is an expression and the texts that our message must contain (letter case aside). JAX's
own first line is recorded for the reader; ours uses other words, and may name more. "a|b" asks for
one of the two. The helpers below are for calls that need statements.
"""

from functools import partial
from types import SimpleNamespace

SHAPES = [
    ("v + x5", ["(3,)", "(5,)"]),
    ("m + n", ["(2, 3)", "(3, 2)"]),
    ("jnp.add(v, x5)", ["(3,)", "(5,)"]),
    ("lax.add(v, m)", ["add"]),
    ("lax.add(v, ints[:3])", ["float32", "int32"]),
    ("lax.sin(ints)", ["sin", "int32"]),
    ("lax.add(bools, bools)", ["add", "bool"]),
    ("v @ x5", ["(3,)", "(5,)"]),
    ("jnp.dot(m, m)", ["(2, 3)|(3,)"]),
    ("jnp.matmul(m, 2.0)", ["matmul"]),
    ("jnp.matmul(t, n)", ["(2, 3, 4)|(4,)", "(3, 2)|(3,)"]),
    ("jnp.vdot(v, x5)", ["3", "5"]),
    ("jnp.einsum('ij,jk->ik', m, m)", ["3", "2"]),
    ("jnp.einsum('ij,jk', m)", ["einsum"]),
    ("jnp.tensordot(m, m, 1)", ["tensordot|(2, 3)|(3,)"]),
    ("lax.dot_general(m, m, (((1,), (0,)), ((), ())))", ["3", "2"]),
    ("jnp.concatenate([m, v])", ["concatenate"]),
    ("jnp.concatenate([m, n])", ["(2, 3)", "(3, 2)"]),
    ("jnp.concatenate([m, m], axis=2)", ["axis", "2"]),
    ("jnp.concatenate([])", ["at least one"]),
    ("jnp.concatenate(m[0, 0])", ["concatenate"]),
    ("jnp.stack([v, x5])", ["shape"]),
    ("jnp.stack([])", ["at least one"]),
    ("jnp.reshape(m, (4, 2))", ["(2, 3)", "(4, 2)"]),
    ("m.reshape(5, -1)", ["(2, 3)", "5"]),
    ("m.reshape(-1, -1)", ["-1"]),
    ("m.reshape(2.0, 3.0)", ["float|2.0"]),
    ("jnp.broadcast_to(v, (2, 4))", ["(3,)|[3]", "(2, 4)|[2,4]"]),
    ("jnp.broadcast_to(m, (3,))", ["(2, 3)", "(3,)"]),
    ("lax.broadcast_in_dim(v, (2, 4), (1,))", ["broadcast_in_dim"]),
    ("jnp.broadcast_shapes((2,), (3,))", ["(2,)", "(3,)"]),
    ("jnp.squeeze(m, 0)", ["squeeze"]),
    ("jnp.transpose(m, (0,))", ["(0,)"]),
    ("jnp.transpose(m, (0, 0))", ["(0, 0)"]),
    ("jnp.where(bools, v, x5)", ["(3,)", "(5,)"]),
    ("jnp.where(bools, v)", ["where"]),
    ("lax.select(bools, v, ints[:3])", ["float32", "int32"]),
    ("lax.select(v, v, v)", ["bool"]),
    ("lax.clamp(v, x5, v)", ["(3,)", "(5,)"]),
    ("lax.pad(v, 0, ((1, 1, 0),))", ["float32", "int32"]),
    ("lax.slice(v, (0,), (9,))", ["9"]),
    ("lax.dynamic_slice(v, (0,), (9,))", ["9", "(3,)"]),
    ("lax.dynamic_slice(v, (0, 0), (1,))", ["indices"]),
    ("lax.dynamic_update_slice(v, x5, (0,))", ["(3,)", "(5,)"]),
    ("lax.squeeze(m, (0,))", ["squeeze"]),
    ("lax.concatenate([m, v], 0)", ["concatenate"]),
    ("jnp.split(x5, 2)", ["split"]),
    ("jnp.linspace(0, 1, -1)", ["num"]),
    ("jnp.eye(-1)", ["-1"]),
    ("jnp.zeros((2, -1))", ["-1"]),
    ("jnp.zeros((2, 2.5))", ["2.5"]),
    ("jnp.repeat(v, x5)", ["(5,)|5", "(3,)|3"]),
    ("jnp.cross(x5, x5)", ["cross"]),
    ("jnp.trace(v)", ["axis|trace"]),
    ("jnp.diag(t)", ["diag"]),
]

AXES_AND_TYPES = [
    ("jnp.sum(m, axis=2)", ["axis 2"]),
    ("jnp.sum(m, axis=(0, 0))", ["axis"]),
    ("jnp.sum(m, axis=1.5)", ["float"]),
    ("jnp.max(empty)", ["max"]),
    ("jnp.argmax(empty)", ["argmax"]),
    ("jnp.max(m, where=m > 2)", ["initial"]),
    ("jnp.cumsum(m, axis=4)", ["axis 4"]),
    ("jnp.sort(m, axis=3)", ["axis 3"]),
    ("jnp.expand_dims(v, 5)", ["5"]),
    ("jnp.moveaxis(m, 0, 5)", ["5"]),
    ("jnp.take(m, idx, axis=7)", ["axis 7"]),
    ("jnp.sin('a')", ["sin", "str"]),
    ("jnp.sin([1.0, 2.0])", ["sin", "list"]),
    ("jnp.sum([1, 2])", ["sum", "list"]),
    ("jnp.sin(None)", ["sin", "NoneType"]),
    ("jnp.add([1], 2)", ["add", "list"]),
    ("jnp.add('a', 2)", ["add", "str"]),
    ("jnp.dot([1], v)", ["dot", "list"]),
    ("jnp.exp({'a': 1})", ["exp", "dict"]),
    ("jnp.reshape([1, 2], (2, 1))", ["reshape", "list"]),
    ("jnp.where([True], v, v)", ["where", "list"]),
    ("v + 'a'", ["str"]),
    ("v + [1, 2, 3]", ["list"]),
    ("v < 'a'", ["<"]),
    ("v @ 2.0", ["matmul"]),
    ("v & 1", ["float32"]),
    ("~v", ["float32"]),
    ("v << 1", ["float32"]),
    ("-bools", ["bool"]),
    ("bools - bools", ["bool"]),
    ("jnp.array('a')", ["'a'|str"]),
    ("jnp.array([1, 'a'])", []),
    ("jnp.array(object())", ["object"]),
    ("jnp.array(None)", ["None"]),
    ("jnp.asarray({'a': 1})", ["{'a': 1}|dict"]),
    ("jnp.zeros(3, 'float31')", ["float31"]),
    ("v.astype('nope')", ["nope"]),
    ("jnp.array(2**40)", ["1099511627776"]),
    ("jnp.array(300, jnp.int8)", ["300"]),
    ("i32(1) + 2**40", ["1099511627776"]),
    ("jnp.round(True)", []),
    ("jax.nn.sigmoid(ints)", ["int32"]),
    ("jnp.clip(complexes, 0, 1)", ["complex"]),
    ("jnp.floor(complexes)", ["complex64"]),
    ("lax.max(v, 1j)", ["float32"]),
    ("jnp.bitwise_and(v, 1)", ["float32"]),
    ("jnp.left_shift(v, 1)", ["float32"]),
    ("jnp.promote_types('float32', 'foo')", ["foo"]),
    ("jnp.linalg.norm(v, ord='bad')", ["ord"]),
    ("jnp.convolve(m, m)", ["convolve"]),
    ("jnp.pad(v, 1, mode='bad')", ["bad"]),
    ("jnp.meshgrid(v, v, indexing='zz')", ["indexing"]),
    ("jnp.searchsorted(v, v, side='up')", ["up"]),
    ("jnp.add(v)", ["add"]),
    ("jnp.sum(m, bogus=1)", ["bogus"]),
    ("jnp.no_such_function(v)", ["no_such_function"]),
    ("jax.no_such_function(v)", ["no_such_function"]),
    ("v.no_such_method()", ["no_such_method"]),
]

CONVERSIONS = [
    ("float(v)", []),
    ("int(v)", []),
    ("bool(v)", ["truth|bool"]),
    ("bool(empty)", []),
    ("float(c64(1j))", []),
    ("len(f32(1))", ["len"]),
    ("iter(f32(1))", ["0-d"]),
    ("f32(1).__index__()", ["integer"]),
    ("[1, 2][f32(1)]", []),
    ("range(v)", []),
    ("hash(v)", ["unhashable"]),
    ("v.item()", []),
    ("traced(lambda x: 1 if x > 0 else 2)(1.0)", ["jit", "bool[]"]),
    ("traced(lambda x: bool(x))(1.0)", ["bool"]),
    ("traced(lambda x: x and 1)(1.0)", ["bool"]),
    ("traced(lambda x: [0] * int(x))(1)", ["int"]),
    ("traced(lambda x: float(x))(1.0)", ["float"]),
    ("traced(lambda x: complex(x))(1.0)", ["complex"]),
    ("traced(lambda x: [1, 2][x])(1)", ["int32[]"]),
    ("traced(lambda x: list(range(x)))(3)", ["int32[]"]),
    ("traced(lambda x: np.asarray(x))(v)", ["float32[3]"]),
    ("traced(lambda x: np.sin(x))(v)", ["float32[3]"]),
    ("traced(lambda x: x.item())(1.0)", []),
    ("traced(lambda x: x.tolist())(v)", []),
    ("traced(lambda x: hash(x))(1.0)", ["unhashable"]),
    ("traced(lambda x: {x: 1})(1.0)", ["unhashable"]),
    ("traced(lambda x: x[x > 1])(v)", ["bool[3]"]),
    ("traced(lambda x, b: x[b])(v, bools)", ["bool[3]"]),
    ("traced(lambda n: jnp.zeros(n))(3)", ["shape"]),
    ("traced(lambda n: jnp.arange(n))(3)", ["arange"]),
    ("traced(lambda x, n: x.reshape(n))(v, 3)", ["shape"]),
    ("traced(lambda x, n: jnp.ones(3)[:n])(v, 2)", ["slice"]),
    ("traced(lambda x: jnp.nonzero(x))(v)", ["nonzero"]),
    ("traced(lambda x: jnp.unique(x))(v)", ["unique"]),
    ("traced(lambda x: jnp.where(x))(v)", ["where"]),
    ("traced(lambda x, n: jnp.repeat(x, n))(v, 2)", ["repeat"]),
    ("traced(lambda x, n: jnp.sum(x, axis=n))(m, 0)", ["axis"]),
    ("traced(lambda x, n: jax.nn.one_hot(x, n))(1, 3)", ["one_hot"]),
    ("traced(lambda x: jnp.linspace(0, 1, x))(3)", ["linspace"]),
    ("jax.vmap(lambda x: 1 if x > 0 else 2)(v)", ["bool[]"]),
    ("jax.vmap(lambda x: float(x))(v)", ["float"]),
    ("jax.grad(lambda x: float(x))(1.0)", ["float"]),
    ("jax.grad(lambda x: np.sin(x))(1.0)", ["float32[]"]),
    ("jax.make_jaxpr(lambda x: 1 if x > 0 else 2)(1.0)", ["bool[]"]),
    ("next(iter(jax.jit(lambda x: [e for e in x])(1.0)))", ["0-d"]),
]

INDEXING = [
    ("v.__setitem__(0, 1.0)", [".at["]),
    ("traced(lambda x: x.__setitem__(0, 1.0))(v)", [".at["]),
    ("iadd_item(v)", [".at["]),
    ("v[0, 0]", ["too many"]),
    ("v['a']", ["'a'"]),
    ("v[1.5]", ["integer"]),
    ("v[f32([0, 1])]", ["float32"]),
    ("v[[0, 1]]", ["list|sequence"]),
    ("v[[True, False, True]]", ["list|sequence"]),
    ("v[b8([1, 0])]", ["3", "2"]),
    ("v[None, ..., ..., 0]", ["ellipsis"]),
    ("v[1.0:2]", ["float"]),
    ("v[::0]", ["zero"]),
    ("m[idx, i32([0, 1, 2])]", ["(2,)", "(3,)"]),
    ("v.at[0].set(w)", ["(3,)"]),
    ("v.at[0:2].set(w)", ["(3,)|[3]", "(2,)|[2]"]),
    ("v.at[idx].add(w)", ["(3,)|[3]", "(2,)|[2]"]),
    ("v.at[0].set('a')", ["'a'|str"]),
    ("v.at[0].set(1, mode='bad')", ["bad"]),
    ("v.at[0].get(mode='bad')", ["bad"]),
    ("v.at[0, 0].set(1)", ["too many"]),
    ("v.at['a'].set(1)", ["'a'"]),
    ("jnp.take(v, 1.5)", ["indices"]),
    ("jnp.take_along_axis(v, m, axis=0)", []),
    ("jnp.put_along_axis(v, idx, 1, 0)", ["inplace"]),
    ("f32(1)[0]", ["too many"]),
    ("jnp.take(v, idx, mode='bad')", ["bad"]),
    ("jnp.delete(v, 7)", ["7"]),
]

DERIVATIVES = [
    ("jax.grad(lambda x: x)(1)", ["int32"]),
    ("jax.grad(lambda x: x * 1.0)(True)", ["bool"]),
    ("jax.grad(jnp.sin)(v)", ["scalar", "(3,)"]),
    ("jax.grad(lambda x: (x, x))(1.0)", ["scalar"]),
    ("jax.grad(lambda x: {'a': x})(1.0)", ["scalar"]),
    ("jax.grad(lambda x: None)(1.0)", ["None"]),
    ("jax.grad(lambda x: 'a')(1.0)", ["str"]),
    ("jax.grad(lambda x: x.astype(int))(1.0)", ["int32"]),
    ("jax.grad(lambda x: x > 1)(1.0)", ["bool"]),
    ("jax.grad(lambda x: x * 1j)(1.0)", ["complex64"]),
    ("jax.grad(lambda z: z * z)(1j)", ["holomorphic"]),
    ("jax.grad(lambda x: x, holomorphic=True)(1.0)", ["holomorphic", "float32"]),
    ("jax.grad(lambda z: jnp.real(z), holomorphic=True)(1j)", ["holomorphic"]),
    ("jax.grad('a')", ["callable"]),
    ("jax.grad(None)", ["callable"]),
    ("jax.grad(lambda x: x, argnums=1)(1.0)", ["argnums", "1"]),
    ("jax.grad(lambda x: x, argnums='x')(1.0)", ["argnums|str"]),
    ("jax.grad(lambda x: x, argnums=(0, 2))(1.0)", ["argnums"]),
    ("jax.grad(lambda x: x)()", ["argnums"]),
    ("jax.grad(lambda x: 1.0)('a')", ["str"]),
    ("jax.grad(lambda x: x[0])([1, 2.0])", ["int32"]),
    ("jax.grad(lambda x: x * x, has_aux=True)(1.0)", ["pair|two-element|has_aux"]),
    ("jax.value_and_grad(lambda x: (x, 1, 2), has_aux=True)(1.0)", ["pair|two-element|has_aux"]),
    ("jax.value_and_grad(lambda x: x)(1)", ["int32"]),
    ("jax.jvp(jnp.sin, (1.0,), (1,))", ["float32", "int32"]),
    ("jax.jvp(jnp.sin, (v,), (x5,))", ["(3,)", "(5,)"]),
    ("jax.jvp(jnp.sin, (1,), (1,))", ["int32"]),
    ("jax.jvp(jnp.sin, (v,), (f16([1, 2, 3]),))", ["float32", "float16"]),
    ("jax.jvp(jnp.sin, 1.0, 1.0)", ["tuple"]),
    ("jax.jvp(jnp.sin, (1.0,), (1.0, 1.0))", ["primals", "tangents"]),
    ("jax.jvp(lambda d: d['a'], ({'a': 1.0},), ({'b': 1.0},))", ["primals", "tangents"]),
    ("jax.jvp('a', (1.0,), (1.0,))", ["callable"]),
    ("jax.jvp(lambda x: 'a', (1.0,), (1.0,))", ["str"]),
    ("jax.vjp(jnp.sin, v)[1](x5)", ["(3,)|[3]", "(5,)|[5]"]),
    ("jax.vjp(jnp.sin, 1.0)[1](1)", ["float32", "int32"]),
    ("jax.vjp(jnp.sin, v)[1]((v, v))", ["tree"]),
    ("jax.vjp(lambda x: (x, x), v)[1](v)", ["tree"]),
    ("jax.vjp(jnp.sin, 1.0)[1](1.0, 2.0)", []),
    ("jax.vjp(jnp.sin, 1.0)[1](f16(1))", ["float32", "float16"]),
    ("jax.vjp('a', 1.0)", ["callable"]),
    ("jax.vjp(lambda x: x, 'a')", ["str"]),
    ("jax.linearize(jnp.sin, v)[1](x5)", ["float32[3]", "float32[5]"]),
    ("jax.linearize(jnp.sin, 1.0)[1](1.0, 1.0)", []),
    ("jax.linearize(jnp.sin, 1.0)[1]({'a': 1.0})", ["tree"]),
    ("jax.linear_transpose(jnp.sin, 1.0)(1.0)", ["sin"]),
    ("jax.linear_transpose(lambda x: 2 * x, 1.0)(v)", ["float32[3]|(3,)|cotangent"]),
    ("jax.linear_transpose(lambda x: 2 * x, 1.0)((1.0, 2.0))", ["tree"]),
    ("jax.jacfwd(lambda x: x)(1)", ["int32"]),
    ("jax.jacrev(lambda x: x)(1)", ["int32"]),
    ("jax.jacrev(lambda x: x.astype(int))(1.0)", ["int32"]),
    ("jax.jacfwd(lambda z: z)(1j)", ["holomorphic"]),
    ("jax.jacfwd(lambda x: x, holomorphic=True)(1.0)", ["holomorphic"]),
    ("jax.hessian(lambda x: x)(1)", ["int32"]),
    ("jax.jacfwd('a')", ["callable"]),
]

VMAP = [
    ("jax.vmap(jnp.add)(v, x5)", ["3", "5"]),
    ("jax.vmap(lambda d, x: x)({'a': v}, x5)", ["3", "5"]),
    ("jax.vmap(jnp.sin)(1.0)", ["rank"]),
    ("jax.vmap(jnp.sin, in_axes=1)(v)", ["1", "rank"]),
    ("jax.vmap(jnp.sin, in_axes=-2)(v)", ["-2", "rank"]),
    ("jax.vmap(jnp.add, in_axes=(0,))(v, v)", ["in_axes", "2"]),
    ("jax.vmap(jnp.add, in_axes=(0, 0, 0))(v, v)", ["in_axes"]),
    ("jax.vmap(jnp.sin, in_axes='a')(v)", ["in_axes"]),
    ("jax.vmap(jnp.sin, in_axes=1.0)(v)", ["in_axes"]),
    ("jax.vmap(jnp.add, in_axes=(0, 'a'))(v, v)", ["in_axes"]),
    ("jax.vmap(lambda d: d['a'], in_axes=({'b': 0},))({'a': v})", ["in_axes"]),
    ("jax.vmap(jnp.sin, in_axes=None)(v)", ["in_axes"]),
    ("jax.vmap(lambda: 1)()", ["vmap"]),
    ("jax.vmap(jnp.sin, out_axes=2)(v)", ["axis 2|out_axes", "2"]),
    ("jax.vmap(jnp.sin, out_axes=None)(v)", ["out_axes"]),
    ("jax.vmap(lambda x: (x, x), out_axes=(0, 0, 0))(v)", ["out_axes"]),
    ("jax.vmap(lambda x: x, out_axes='a')(v)", ["out_axes"]),
    ("jax.vmap(jnp.sin, axis_size=4)(v)", ["4", "3"]),
    ("jax.vmap(lambda x: 'a')(v)", ["str"]),
    ("jax.vmap('a')", ["callable"]),
    ("jax.vmap(None)", ["callable"]),
    ("jax.vmap(lambda x, y: x)(v)", ["y"]),
    ("jax.vmap(lambda x: x)('a')", ["str"]),
    ("jax.vmap(lambda x: x)(None)", []),
    ("jax.vmap(lambda x: x @ x)(m[None])", ["(2, 3)|(3,)"]),
]

JIT = [
    ("jax.jit('a')", ["callable"]),
    ("jax.jit(None)(1)", ["callable"]),
    ("jax.jit(lambda x: x)('a')", ["str"]),
    ("jax.jit(lambda x: x)(object())", ["object"]),
    ("jax.jit(lambda x: 'a')(1.0)", ["str"]),
    ("jax.jit(lambda x: object())(1.0)", ["object"]),
    ("jax.jit(lambda x: x)(1.0, 2.0)", []),
    ("jax.jit(lambda x: x)()", ["x"]),
    ("jax.jit(lambda x, n: x, static_argnums=1)(1.0, [1])", ["unhashable", "list"]),
    ("jax.jit(lambda x, n: x, static_argnums=1)(1.0, np.ones(2))", ["ndarray"]),
    ("jax.jit(lambda x, n: x, static_argnames='n')(1.0, n={})", ["dict"]),
    ("jax.jit(lambda x, n: x, static_argnums=1)(1.0, v)", []),
    (
        "jax.jit(lambda x: x, static_argnums=2)(1.0)",
        ["Jitted function has static_argnums=(2,), but only accepts 1"],
    ),
    ("jax.jit(lambda x: x, static_argnums='a')(1.0)", ["static_argnums|str"]),
    ("jax.jit(lambda x: x, static_argnames='y')(1.0)", ["y"]),
    ("jax.jit(lambda x: x, static_argnames=1)(1.0)", ["static_argnames|int"]),
    ("jax.jit(lambda x: x, donate_argnums=3)(1.0)", ["donate_argnums"]),
    ("jax.jit(lambda x: x, static_argnums=0, donate_argnums=0)(1.0)", ["donate_argn"]),
    ("jax.jit(lambda x: x, backend='nope')(1.0)", ["nope"]),
    ("jax.jit(lambda x: x)({1: 1.0, 'a': 2.0})", []),
    ("jax.jit(lambda x: x).lower(1.0).compile()(v)", ["float32[3]"]),
    ("jax.jit(lambda x: x).lower(1.0).compile()(1.0, 2.0)", []),
    ("jax.make_jaxpr('a')", ["callable"]),
    ("jax.make_jaxpr(lambda x: x)('a')", ["str"]),
    ("jax.make_jaxpr(lambda x: 'a')(1.0)", ["str"]),
    ("jax.eval_shape(lambda x: x + v, x5)", ["(3,)", "(5,)"]),
    ("jax.eval_shape(lambda x: x, 'a')", ["str"]),
    ("leak_from_jit() + 1", ["leak"]),
    ("leak_from_vmap() + 1", ["leak"]),
    ("leak_from_make_jaxpr() + 1", ["leak"]),
    ("jax.jit(lambda x: x + leak_from_jit())(1.0)", ["leak"]),
    ("traced(lambda x: v + x)(x5)", ["(3,)", "(5,)"]),
    ("traced(lambda x: x.no_such)(1.0)", ["no_such"]),
    ("jax.device_put('a')", ["str"]),
    ("jax.devices('nope')", ["nope"]),
    ("jax.config.update('jax_no_such_option', True)", ["jax_no_such_option"]),
    ("jax.config.jax_no_such_option", ["jax_no_such_option"]),
    ("jax.block_until_ready(donated())", ["deleted"]),
    ("donated_twice()", ["deleted", "float32[3]"]),
    (
        "jax.jit(lambda x: x, donate_argnames='y')",
        ["Jitted function has", "'y'", "donate_argnames"],
    ),
]

TREES = [
    ("jax.tree.map(lambda a, b: a, {'a': 1}, {'b': 1})", ["'a'", "'b'"]),
    ("jax.tree.map(lambda a, b: a, [1, 2], [1])", ["2", "1"]),
    ("jax.tree.map(lambda a, b: a, (1, 2), [1, 2])", ["tuple", "list"]),
    ("jax.tree.map(lambda a, b: a, [1], 1)", ["list"]),
    ("jax.tree.unflatten(jax.tree.structure([1, 2]), [1])", ["2", "1"]),
    ("jax.tree.unflatten(jax.tree.structure([1, 2]), [1, 2, 3])", ["2"]),
    ("jax.tree.leaves({1: 0, 'a': 0})", []),
    ("jax.tree_util.register_pytree_node(list, lambda x: (x, None), lambda a, x: x)", ["list"]),
    ("jax.tree_util.tree_reduce(lambda a, b: a + b, [])", []),
]

RANDOM = [
    ("jax.random.uniform(0, (3,))", ["key"]),
    ("jax.random.uniform(v)", ["key"]),
    ("jax.random.uniform(u32([1, 2, 3]))", ["key"]),
    ("jax.random.uniform('a')", ["key"]),
    ("jax.random.uniform(jax.random.split(jax.random.key(0)))", ["single", "key"]),
    ("jax.random.split(jax.random.split(jax.random.key(0)))", ["single", "key"]),
    ("jax.random.uniform(jax.random.key(0), 'a')", []),
    ("jax.random.uniform(jax.random.key(0), (3,), int)", ["dtype"]),
    ("jax.random.normal(jax.random.key(0), (3,), int)", ["dtype"]),
    ("jax.random.key(1.5)", ["float"]),
    ("jax.random.key('a')", ["'a'|str"]),
    ("jax.random.PRNGKey(v)", ["PRNGKey"]),
    ("jax.random.key(0, impl='nope')", ["nope"]),
    ("jax.random.randint(jax.random.key(0), (3,), 0, 2, float)", ["dtype"]),
    ("jax.random.bits(jax.random.key(0), (3,), jnp.int32)", ["dtype"]),
    ("jax.random.fold_in(jax.random.key(0), v)", ["fold_in"]),
    ("jax.random.fold_in(jax.random.PRNGKey(1), -1)", ["-1"]),
    ("jax.random.choice(jax.random.key(0), 3, (5,), replace=False)", ["replace"]),
    ("jax.random.choice(jax.random.key(0), v, p=x5)", ["p"]),
    ("jax.random.choice(jax.random.key(0), 'a')", ["'a'|str"]),
    ("jax.random.bernoulli(jax.random.key(0), 1)", ["float"]),
    ("jax.random.bernoulli(jax.random.key(0), 0.5, 'a')", []),
    ("jax.random.bernoulli(jax.random.key(0), v, (2,))", ["(3,)", "(2,)"]),
    ("jax.random.categorical(jax.random.key(0), m, shape=(3,))", ["(3,)"]),
    ("jax.random.permutation(jax.random.key(0), 2.5)", []),
    ("jax.random.wrap_key_data(v)", ["key|(3,)"]),
    ("jax.random.key(0) + 1", ["add"]),
    ("jnp.sin(jax.random.key(0))", ["key<fry>"]),
    ("np.asarray(jax.random.key(0))", []),
    ("jax.grad(lambda k: 1.0)(jax.random.key(0))", ["key<fry>"]),
    ("int(jax.random.key(0))", []),
]

SECTIONS = {
    "shapes": SHAPES,
    "axes and types": AXES_AND_TYPES,
    "conversions": CONVERSIONS,
    "indexing": INDEXING,
    "derivatives": DERIVATIVES,
    "vmap": VMAP,
    "jit": JIT,
    "trees": TREES,
    "random": RANDOM,
}


# ---- calls that need statements ----


def helpers(jax, jnp, lax):
    def leak_from(transform):
        box = SimpleNamespace()

        def keeps_its_tracer(x):
            box.leak = x * 2
            return x

        transform(keeps_its_tracer)
        return box.leak

    def iadd_item(x):
        x[0] += 1

    def donated():
        x = jnp.arange(3.0)
        x.delete()
        return x + 1

    def donated_twice():
        x, f = jnp.arange(3.0), jax.jit(lambda x: x + 1, donate_argnums=0)
        f(x)
        return f(x)

    return {
        "donated_twice": donated_twice,
        "traced": jax.jit,
        "leak_from_jit": partial(leak_from, lambda f: jax.jit(f)(1.0)),
        "leak_from_vmap": partial(leak_from, lambda f: jax.vmap(f)(jnp.ones(3))),
        "leak_from_make_jaxpr": partial(leak_from, lambda f: jax.make_jaxpr(f)(1.0)),
        "iadd_item": iadd_item,
        "donated": donated,
    }


def missing_from(message, named):
    """The texts that a message should contain, one of "a|b", and does not."""
    return [
        text
        for text in named
        if not any(choice.lower() in message.lower() for choice in text.split("|"))
    ]


def public_class(error, jax):
    """The name of the exception's class, or of its nearest base that users can import."""
    for cls in type(error).__mro__:
        if cls.__module__ == "builtins":
            return cls.__name__
        if getattr(jax.errors, cls.__name__, None) is cls:
            return f"jax.errors.{cls.__name__}"
    raise AssertionError("every exception has a builtin base")
