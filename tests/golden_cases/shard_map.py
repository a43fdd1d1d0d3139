"""Calls of shard_map on a mesh of eight devices: values, types, printed jaxprs and errors, recorded from JAX.

    XLA_FLAGS=--xla_force_host_platform_device_count=8 python tests/golden_cases/shard_map.py

prints what JAX answers. Each line is a function and its arguments. `sm(f, in_specs, out_specs)` maps over
the mesh of four devices along "x", or with `mesh=grid` over that of four along "x" and two along "y"."""

import contextlib
import functools
import importlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

IN_GRID = "in grid: "  # of calls that are made where jax.set_mesh has set it
ERROR_WORDS = 5  # how many words of a message are compared

ROWS = "a scalar that was made a row of one element is taken out by reshape here, by squeeze in JAX"
# Calls whose jaxpr is printed otherwise, by a part of them, and why. (JAX also lays the cotangent 1.0 over
# the mesh, by a reshard; the rest is compared.)
PRINTED_OTHERWISE = {
    "sm(lambda c: c ** 3, X, X)(b)": ROWS,
    "lambda c, d: (c * d, c), pv(1.0), b)[1]": "a known 0.0 is a residual, which JAX makes again",
    "lax.cond(b[0] > 2, jnp.sin, jnp.cos, b), X, X)(a)": "JAX leaves what nothing reads",
    "jnp.sin(lax.psum(b, 'x').sum())[None] * b": ROWS,
    "nocheck(lambda b: jnp.sin(b[0] * b.sum()) * b": ROWS,
    "psum(jnp.float32(2)": "a sum of known numbers is a known number here, as under vmap",
    "to='invarying') ** 2": "a part is taken by a function of jax.numpy, which is a jit",
    "pv(1.0), b)[0]": "the weak type of a carry is converted in another place",
    "jax.hessian": "JAX converts the standard basis once more, and lays it over the mesh",
    "spmd(sm(jax.jit": "JAX's types within scan don't say that examples vary over the mesh",
    "jnp.sum(b * b), 'x')": "JAX sums an operation's cotangents in its operands' order",
}
# Calls with another message than JAX's: a part of the call, and why.
SAID_OTHERWISE = {
    "axis_index_groups": "JAX says nothing",
    "psum(a, 'z')": "JAX asserts, and says nothing",
    "axis_index('z')": "other words for an axis that is not bound",
    "psum(a, 'y'), X, P(), mesh=grid, axis_names": "other words for an axis that is not bound",
    "psum(b, 'i'), axis_name='i'": "JAX asserts where an axis is vmap's; here it is summed over",
    "a if a[0] > 1": "other words for a tracer as a bool",
    "'text'": "other words for what is no array",
}

CALLS = """
sm(lambda a: jnp.sin(a) * 2.0, X, X), x
sm(lambda a: a + jnp.ones(2), X, X), x
sm(lambda a: a + np.arange(2.0, dtype=np.float32), X, X), x
sm(lambda a: a, X, X), x
sm(lambda a: a, X, X), x > 3
sm(lambda a: a, P(), P()), x
sm(lambda a: a, P(), X), x
sm(lambda a: a, None, X), x
sm(lambda a: 1.0, X, P()), x
sm(lambda a: jnp.ones(2), X, X), x
sm(lambda a: jnp.ones(2), X, P()), x
sm(lambda a: jnp.zeros_like(a), X, X), x
sm(lambda a: jnp.full_like(a, 3.0), X, X), x
sm(lambda a: jnp.ones_like(a) + jnp.arange(2.0), X, X), x
sm(lambda a, b: a * b, (X, P()), X), x, w
sm(lambda a, b: a * b, (X, P()), X), x, 3.0
sm(lambda a, b: a * b, (P(), P()), P()), w, w
sm(lambda a, b: a @ b, (X, P()), X), m, m.T
sm(lambda a, b: a @ b, (P(None, 'x'), P('x')), P()), m8, m8
sm(lambda a, b: lax.psum(a @ b, 'x'), (P(None, 'x'), P('x')), P()), m8, m8
sm(lambda a: jnp.where(a > 2, a, 0.0), X, X), x
sm(lambda a: a.at[0].set(1.0), X, X), x
sm(lambda a: a.at[0].add(w[0]), X, X), x
sm(lambda a, b: jnp.concatenate([a, b]), (X, P()), X), x, w
sm(lambda a, b: lax.dynamic_slice(b, (lax.axis_index('x'),), (2,)), (X, P()), X), x, x
sm(lambda a, b: lax.dynamic_update_slice(b, a, (0,)), (X, P()), X), x, x
sm(lambda a, b: b[lax.axis_index('x')][None], (X, P()), X), x, x
sm(lambda a, b: lax.sort((a, b)), (X, P()), X), x, w
sm(lambda a: jnp.sort(-a), X, X), x
sm(lambda a: jnp.cumsum(a), X, X), x
sm(lambda a: jnp.argmax(a)[None], X, X), x
sm(lambda a: jnp.max(a, keepdims=True), X, X), x
sm(lambda a: jnp.clip(a, 1.0, 3.0), X, X), x
sm(lambda a: jnp.pad(a, 1), X, X), x
sm(lambda a: a.reshape(1, 2).T, X, X), x
sm(lambda a: a.astype(jnp.int32) % 3, X, X), x
sm(lambda a: jnp.stack([a, -a]), X, P(None, 'x')), x
sm(lambda a: jnp.stack([a, -a], 1), X, X), x
sm(lambda a: (a, -a), X, X), x
sm(lambda a: (a, -a), X, (X, X)), x
sm(lambda a: {'s': a, 'm': lax.pmean(a, 'x')}, X, {'s': X, 'm': P()}), x
sm(lambda t: {'s': t['a'] + t['b']}, ({'a': X, 'b': P()},), X), {'a': x, 'b': w}
sm(lambda t: t, X, X), {'a': x, 'b': (x, x)}
sm(lambda t: t, X, X), ()
sm(lambda a: None, X, None), x
sm(lambda: jnp.arange(3.0), (), P()),
sm(lambda: lax.axis_index('x')[None], (), X),
sm(lambda a: a, P(None, 'x'), P('x')), m.T
sm(lambda a: a, P('x', None), P(None, 'x')), m
sm(lambda a: pv(a), P(), X), x
sm(lambda a: pv(a, ('x', 'y')), P(), P(('x', 'y')), mesh=grid), x
sm(lambda a: pv(a, 'y'), X, P(('x', 'y')), mesh=grid), x
sm(lambda a: pv({'a': a, 'b': 1.0}), P(), {'a': X, 'b': P()}), x
sm(lambda a: pv(a), X, X), x
sm(lambda a: pv(a, ('x', 'y')), X, P(('x', 'y')), mesh=grid), x
sm(lambda a: lax.pcast(a, 'x', to='nothing'), X, X), x
sm(lambda a: lax.pcast(a, 'x'), X, X), x
sm(lambda a: lax.psum(a, 'x'), X, P()), x
sm(lambda a: lax.psum(a, 'x'), X, X), x
sm(lambda a: lax.psum(a, 'x'), P(), P()), x
sm(lambda a: lax.psum(a > 2, 'x'), X, P()), x
sm(lambda a: lax.psum({'a': a, 'b': 1.0}, 'x'), X, P()), x
sm(lambda a: a * lax.psum(1, 'x'), X, X), x
sm(lambda a: lax.psum(jnp.float32(2), 'x'), X, P()), x
sm(lambda a: lax.pmean(a, 'x'), X, P()), x
sm(lambda a: lax.pmean(a, 'x'), P(), P()), x
sm(lambda a: lax.pmax(a, 'x'), X, P()), x
sm(lambda a: lax.pmax(a, 'x'), X, X), x
sm(lambda a: lax.pmax(a, 'x'), P(), P()), x
sm(lambda a: lax.pmin(a, 'x'), X, P()), x
sm(lambda a: lax.all_gather(a, 'x'), X, X), x
sm(lambda a: lax.all_gather(a, 'x', tiled=True), X, X), x
sm(lambda a: lax.all_gather(a, 'x', axis=1), X, X), x
sm(lambda a: lax.all_gather(a, 'x', axis=1, tiled=True), X, X), m
sm(lambda a: lax.all_gather(a, 'x', tiled=True), P(), X), x
sm(lambda a: lax.all_gather(a, 'x', tiled=True), X, P()), x
sm(lambda a: lax.all_gather(a, 'x', tiled=True, to='invarying'), X, P()), x
sm(lambda a: lax.all_gather(a, 'x', axis=1, to='invarying'), X, P()), x
sm(lambda a: lax.psum_scatter(a, 'x', tiled=True), P(), X), x
sm(lambda a: lax.psum_scatter(a, 'x', tiled=True), X, X), jnp.arange(32.0)
sm(lambda a: lax.psum_scatter(a, 'x'), X, X), jnp.arange(32.0).reshape(16, 2)
sm(lambda a: lax.psum_scatter(a, 'x', scatter_dimension=1, tiled=True), X, X), m8
sm(lambda a: lax.psum_scatter(a, 'x'), X, X), x
sm(lambda a: lax.all_to_all(a, 'x', 0, 0, tiled=True), X, X), jnp.arange(32.0)
sm(lambda a: lax.all_to_all(a, 'x', 1, 0, tiled=True), X, P(None, 'x')), m8
sm(lambda a: lax.all_to_all(a, 'x', 0, 0), X, X), jnp.arange(16.0)
sm(lambda a: lax.all_to_all(a, 'x', 0, 1), X, X), jnp.arange(32.0).reshape(16, 2)
sm(lambda a: lax.all_to_all(a, 'x', 0, 0, tiled=True), P(), X), x
sm(lambda a: lax.all_to_all(a, 'x', 0, 0, tiled=True), X, X), x
sm(lambda a: lax.ppermute(a, 'x', [(0, 1), (1, 2), (2, 3), (3, 0)]), X, X), x
sm(lambda a: lax.ppermute(a, 'x', [(0, 1), (1, 2)]), X, X), x
sm(lambda a: lax.ppermute(a, 'x', [(0, 1)]), P(), X), x
sm(lambda a: lax.ppermute({'a': a, 'b': a[0]}, 'x', [(0, 1)])['a'], X, X), x
sm(lambda a: lax.pshuffle(a, 'x', [3, 2, 1, 0]), X, X), x
sm(lambda a: lax.pshuffle(a, 'x', [3, 3, 1, 0]), X, X), x
sm(lambda a: lax.pswapaxes(a, 'x', 0), X, X), jnp.arange(16.0)
sm(lambda a: a + lax.axis_index('x'), X, X), x
sm(lambda a: a * lax.axis_size('x'), X, X), x
sm(lambda a: lax.psum(a, 'x', axis_index_groups=[[0, 1], [2, 3]]), X, X), x
sm(lambda a: lax.psum(a, 'z'), X, X), x
sm(lambda a: lax.axis_index('z') + a, X, X), x
sm(lambda a: lax.psum(a, XY), PXY, P(), mesh=grid), x
sm(lambda a: lax.psum(a, ('y', 'x')), PXY, P(), mesh=grid), x
sm(lambda a: lax.psum(a, 'x'), PXY, P('y'), mesh=grid), x
sm(lambda a: lax.psum(a, 'y'), PXY, P('x'), mesh=grid), x
sm(lambda a: lax.psum(lax.psum(a, 'y'), 'x'), PXY, P(), mesh=grid), x
sm(lambda a: lax.psum(a, 'y'), X, X, mesh=grid), x
sm(lambda a: lax.psum(a, XY), X, P(), mesh=grid), x
sm(lambda a: lax.psum(a, XY), P(), P(), mesh=grid), x
sm(lambda a: lax.pmean(a, XY), PXY, P(), mesh=grid), x
sm(lambda a: lax.pmax(a, XY), PXY, P(), mesh=grid), x
sm(lambda a: lax.pmax(a, XY), X, P(), mesh=grid), x
sm(lambda a: lax.pmin(a, 'y'), PXY, P('x'), mesh=grid), x
sm(lambda a: lax.all_gather(a, XY), PXY, PXY, mesh=grid), x
sm(lambda a: lax.all_gather(a, ('y', 'x')), PXY, PXY, mesh=grid), x
sm(lambda a: lax.all_gather(a, XY, tiled=True), PXY, PXY, mesh=grid), x
sm(lambda a: lax.all_gather(a, ('y', 'x'), axis=1), P('x', 'y'), P('x', None, 'y'), mesh=grid), m
sm(lambda a: lax.all_gather(a, 'y', axis=1, tiled=True), P('x', 'y'), P('x', 'y'), mesh=grid), m
sm(lambda a: lax.all_gather(a, XY, tiled=True, to='invarying'), PXY, P(), mesh=grid), x
sm(lambda a: lax.psum_scatter(a, XY, tiled=True), P(), PXY, mesh=grid), x
sm(lambda a: lax.psum_scatter(a, ('y', 'x'), tiled=True), P(), P(('y', 'x')), mesh=grid), x
sm(lambda a: lax.psum_scatter(a, ('y', 'x')), P(), PXY, mesh=grid), m8
sm(lambda a: lax.psum_scatter(a, XY, scatter_dimension=1, tiled=True), PXY, PXY, mesh=grid), m8
sm(lambda a: lax.psum_scatter(a, 'y', tiled=True), X, PXY, mesh=grid), x
sm(lambda a: lax.all_to_all(a, XY, 1, 0, tiled=True), PXY, P(None, XY), mesh=grid), m8
sm(lambda a: lax.all_to_all(a, ('y', 'x'), 1, 0, tiled=True), PXY, P(None, XY), mesh=grid), m8
sm(lambda a: lax.all_to_all(a, 'y', 1, 0, tiled=True), PXY, PXY, mesh=grid), m8
sm(lambda a: lax.ppermute(a, XY, [(i, (i + 1) % 8) for i in range(8)]), PXY, PXY, mesh=grid), x
sm(lambda a: lax.ppermute(a, ('y', 'x'), [(i, (i + 1) % 8) for i in range(8)]), PXY, PXY, mesh=grid), x
sm(lambda a: lax.ppermute(a, XY, [(0, 5), (7, 1)]), PXY, PXY, mesh=grid), x
sm(lambda a: lax.ppermute(a, 'y', [(0, 1), (1, 0)]), PXY, PXY, mesh=grid), x
sm(lambda a: lax.pshuffle(a, XY, [7, 6, 5, 4, 3, 2, 1, 0]), PXY, PXY, mesh=grid), x
sm(lambda a: a + lax.axis_index(XY), PXY, PXY, mesh=grid), x
sm(lambda a: a + lax.axis_index(('y', 'x')), PXY, PXY, mesh=grid), x
sm(lambda a: a * lax.axis_size(XY), PXY, PXY, mesh=grid), x
sm(lambda a: a, P('x', 'y'), P('y', 'x'), mesh=grid), m8
sm(lambda a: a, P('x', 'y'), P(None, XY), mesh=grid), m8
sm(lambda a: a, P(None, ('y', 'x')), P(('x', 'y')), mesh=grid), m8
sm(lambda a: a, P(('y', 'x')), P(('x', 'y')), mesh=grid), x
sm(lambda a: a, P('x'), P('x'), mesh=grid), x
sm(lambda a: a, P('x'), P('x', 'y'), mesh=grid), m
sm(lambda a: a, P('x'), P('y'), mesh=grid), x
sm(lambda a, b: a @ b, (P('x', None), P(None, 'y')), P('x', 'y'), mesh=grid), m8, m8
sm(lambda a, b: lax.psum(a @ b, 'y'), (P('x', 'y'), P('y')), X, mesh=grid), m8, m8
sm(lambda a: lax.psum(a, 'x'), X, P(), mesh=grid, axis_names={'x'}), x
sm(lambda a: lax.psum(a, 'y'), X, P(), mesh=grid, axis_names={'x'}), x
sm(lambda a: a, PXY, PXY, mesh=grid, axis_names={'x'}), x
sm(lambda a: a, X, X, mesh=grid, axis_names={'z'}), x
sm(lambda a: lax.scan(lambda c, b: (c + b, c), pv(0.0), a)[1], X, X), x
sm(lambda a: lax.scan(lambda c, b: (c + b, c), 0.0, a)[1], X, X), x
sm(lambda a: lax.scan(lambda c, b: (c + lax.psum(b, 'x'), c), 0.0, a), X, P()), x
sm(lambda a: lax.scan(lambda c, b: (lax.ppermute(c, 'x', ring), c), a, None, length=4)[1], X, P(None, 'x')), x
sm(lambda a: lax.fori_loop(0, 3, lambda i, c: c * 2 + i, a), X, X), x
sm(lambda a: lax.fori_loop(0, 3, lambda i, c: c + lax.pmean(c, 'x'), a), X, X), x
sm(lambda a: lax.while_loop(lambda c: c[0] < 9, lambda c: c * 2 + 1, a), X, X), x
sm(lambda a, b: lax.while_loop(lambda c: c[0] < 9, lambda c: c * 2 + 1, b), (X, P()), P()), x, w
sm(lambda a: lax.cond(a[0] > 2, lambda b: b, lambda b: -b, a), X, X), x
sm(lambda a: lax.cond(a[0] > 2, lambda b: b, lambda b: jnp.ones(2), a), X, X), x
sm(lambda a: lax.cond(a[0] > 2, lambda b: b, lambda b: pv(jnp.ones(2)), a), X, X), x
sm(lambda a, b: lax.cond(b[0] > 2, total, lambda a: lax.pmax(a, 'x'), a), (X, P()), P()), x, w
sm(lambda a: lax.switch(lax.axis_index('x'), [lambda b: b, lambda b: -b, lambda b: 2 * b], a), X, X), x
sm(lambda a: lax.map(lambda b: b * lax.psum(b, 'x'), a), X, X), x
sm(lambda a: lax.associative_scan(jnp.add, a), X, X), x
sm(lambda a: jax.jit(jnp.sin)(a), X, X), x
sm(lambda a: jax.jit(lambda b: b + lax.psum(b, 'x'))(a), X, X), x
sm(lambda a: jax.jit(lambda b, c: b * c)(a, w), X, X), x
sm(lambda a: jax.vmap(lambda b: b + lax.psum(b, 'x'))(a), X, X), x
sm(lambda a: jax.vmap(lambda b: b + lax.psum(b, 'i'), axis_name='i')(a), X, X), x
sm(lambda a: jax.vmap(lambda b: lax.all_gather(b, 'x'))(a), X, P('x', None)), x
sm(lambda a: jax.vmap(lambda b: b + lax.psum(b, ('x', 'i')), axis_name='i')(a), X, X), x
sm(lambda a: jax.nn.relu(a - 3), X, X), x
sm(lambda a: jax.nn.softmax(a), X, X), x
sm(lambda a: jax.checkpoint(lambda b: jnp.sin(b))(a), X, X), x
sm(lambda k: jax.random.normal(jax.random.fold_in(k, lax.axis_index('x')), (2,)), P(), X), jax.random.key(0)
sm(lambda k: jax.vmap(lambda k: jax.random.uniform(k, (2,)))(k), X, X), jax.random.split(jax.random.key(0), 4)
sm(lambda a: jax.jvp(lambda b: b * b, (a,), (a,)), X, X), x
sm(lambda a: jax.grad(lambda b: jnp.sin(b).sum())(a), X, X), x
sm(lambda a, b: jax.grad(lambda c: jnp.sum(jnp.sin(c * a)))(b), (X, P()), P()), x, w
sm(lambda a, b: jax.value_and_grad(lambda c: lax.pmean(jnp.sum((c - a) ** 2), 'x'))(b), (X, P()), P()), x, w
sm(lambda a: jax.grad(lambda b: lax.psum(jnp.sin(b).sum(), 'x'))(a), X, X), x
sm(lambda a: jax.grad(lambda b: lax.pmean(jnp.sin(b).sum(), 'x'))(a), X, X), x
sm(lambda a: jax.grad(lambda b: (lax.all_gather(b, 'x') ** 2).sum())(a), X, X), x
sm(lambda a: jax.grad(lambda b: (lax.all_gather(b, 'x', to='invarying') ** 2).sum())(a), X, X), x
sm(lambda a: jax.grad(lambda b: (lax.psum_scatter(b, 'x', tiled=True) ** 2).sum())(a), P(), P()), x
sm(lambda a: jax.grad(lambda b: (lax.ppermute(b, 'x', ring) ** 2).sum())(a), X, X), x
sm(lambda a: jax.grad(lambda b: (lax.all_to_all(b, 'x', 1, 0, tiled=True) ** 2).sum())(a), X, X), m8
sm(lambda a: jax.grad(lambda b: lax.scan(lambda c, d: (c * d, c), pv(1.0), b)[0])(a), X, X), x + 1
sm(lambda a: jax.grad(lambda b: jax.checkpoint(lambda b: jnp.sin(b).sum())(b))(a), X, X), x
sm(lambda a: jax.grad(lambda b: jax.nn.relu(b - 3).sum())(a), X, X), x
sm(lambda a: jax.jacfwd(lambda b: b * lax.psum(b, 'x'))(a), X, X), x
sm(lambda a: jax.linearize(jnp.sin, a)[1](a), X, X), x
sm(lambda a: jax.vjp(lambda b: b * w, a)[1](a)[0], X, X), x
jax.grad(lambda a: sm(lambda b: jnp.sin(b), X, X)(a).sum()), x
jax.grad(lambda a: sm(lambda b: lax.psum(jnp.sum(b * b), 'x'), X, P())(a)), x
jax.grad(lambda b: sm(lambda a, b: lax.psum(jnp.sum(jnp.sin(a * b)), 'x'), (X, P()), P())(x, b)), w
jax.grad(lambda b: sm(lambda a, b: a * b, (X, P()), X)(x, b).sum()), w
jax.grad(lambda b: sm(lambda a: a * b[0], X, X)(x).sum()), w
jax.grad(lambda a: sm(lambda b: lax.all_gather(b, 'x') ** 2, X, X)(a).sum()), x
jax.grad(lambda a: sm(lambda b: lax.psum_scatter(b, XY, tiled=True) ** 2, P(), PXY, mesh=grid)(a).sum()), x
jax.grad(lambda a: sm(lambda b: lax.ppermute(b, XY, [(0, 5), (7, 1)]) ** 2, PXY, PXY, mesh=grid)(a).sum()), x
jax.grad(lambda a: sm(lambda b: lax.all_gather(b, ('y', 'x')) ** 2, PXY, PXY, mesh=grid)(a).sum()), x
jax.value_and_grad(lambda a: jax.checkpoint(sm(lambda b: jnp.sin(jnp.sin(b)), X, X))(a).sum()), x
jax.grad(lambda a: jax.grad(lambda b: sm(lambda c: c ** 3, X, X)(b).sum())(a).sum()), x
jax.grad(lambda a: sm(lambda b: lax.scan(lambda c, d: (c * d, c), pv(1.0), b)[1], X, X)(a).sum()), x
jax.grad(lambda a: sm(lambda b: lax.cond(b[0] > 2, jnp.sin, jnp.cos, b), X, X)(a).sum()), x
jax.grad(lambda a: sm(lambda b: jnp.sin(lax.psum(b, 'x').sum())[None] * b, X, X)(a).sum()), x
jax.jvp, sm(lambda a: a * lax.psum(a, 'x'), X, X), (x,), (x,)
jax.vmap(sm(lambda a: a * lax.psum(a, 'x'), X, X)), m8
jax.vmap(sm(lambda a: a * lax.psum(a, 'x'), X, X), in_axes=1, out_axes=1), m8
jax.vmap(sm(lambda a, b: a * b, (X, P()), X), in_axes=(None, 0)), x, m
jax.vmap(sm(lambda a: a * 2, Y, Y, mesh=grid), spmd_axis_name='x'), m8
jax.vmap(sm(lambda a: a * lax.psum(a, 'y'), Y, Y, mesh=grid), in_axes=1, out_axes=1, spmd_axis_name='x'), m8
jax.vmap(sm(lambda a, b: a * b, (Y, P()), Y, mesh=grid), in_axes=(0, None), spmd_axis_name='x'), m8, w[0]
spmd(sm(jax.jit(lambda a: lax.scan(lambda c, _: (c * a, c), a, None, length=2)[0]), Y, Y, mesh=grid)), m8
jax.vmap(sm(lambda a: a * 2, P(), P(), mesh=grid), spmd_axis_name=XY), m8
jax.grad(lambda a: spmd(sm(lambda b: lax.psum((b ** 2).sum(), 'y'), Y, P(), mesh=grid))(a).sum()), m8
jax.vmap(sm(lambda a: a * 2, Y, Y, mesh=grid), spmd_axis_name='y'), m8
jax.jit(sm(lambda a: a * lax.psum(a, 'x'), X, X)), x
jax.hessian(lambda a: sm(lambda b: b ** 3, X, X)(a).sum()), x
lambda a: lax.scan(lambda c, _: (sm(lambda b: b + lax.pmean(b, 'x'), X, X)(c), c.sum()), a, None, length=2), x
lambda a: lax.cond(True, sm(jnp.sin, X, X), lambda b: b, a), x
nocheck(lambda a: a, X, P()), x
nocheck(lambda a: a + lax.psum(a, 'x'), X, X), x
nocheck(lambda a: lax.psum(a, 'x'), P(), P()), x
nocheck(lambda a: lax.pmean(a, 'x'), X, P()), x
nocheck(lambda a: lax.all_gather(a, 'x', tiled=True), X, P()), x
nocheck(lambda a: lax.psum(a, 'x', axis_index_groups=[[0, 1], [2, 3]]), X, X), x
nocheck(lambda a: lax.all_gather(a, 'x', axis_index_groups=[[0, 3], [1, 2]]), X, X), x
nocheck(lambda a: lax.axis_index('x')[None] + a, X, X), x
nocheck(lambda a: lax.scan(lambda c, b: (c + b, c), 0.0, a)[1], X, X), x
nocheck(lambda a: jax.grad(lambda b: lax.psum(jnp.sin(b).sum(), 'x'))(a), X, X), x
nocheck(lambda a: lax.all_gather(a, ('y', 'x')), PXY, P(), mesh=grid), x
jax.grad(lambda b: nocheck(lambda a, b: lax.psum(jnp.sum(jnp.sin(a * b)), 'x'), (X, P()), P())(x, b)), w
jax.grad(lambda b: nocheck(lambda a, b: a * b, (X, P()), X)(x, b).sum()), w
jax.grad(lambda a: nocheck(lambda b: lax.psum_scatter(b, 'x', tiled=True), P(), X)(a).sum()), x
jax.grad(lambda a: nocheck(lambda b: jnp.sin(b[0] * b.sum()) * b, X, X, mesh=grid)(a).sum()), x
jax.vmap(nocheck(lambda a: lax.psum(a, 'x'), X, P())), m8
sm(sm(lambda a: a, X, X), X, X), x
sm(sm(lambda a: a + lax.psum(a, 'y'), Y, Y, None, axis_names={'y'}), X, X, grid, axis_names={'x'}), x
sm(lambda a: a, X, P()), x
sm(lambda a: a, PXY, X, mesh=grid), x
sm(lambda a: (a, a), X, (X, P())), x
sm(lambda a: lax.psum(a, 'x'), PXY, P(), mesh=grid), x
sm(lambda a: a, X, X), x[:7]
sm(lambda a: a, X, X), 3.0
sm(lambda a: a.sum(), X, X), x
sm(lambda a: a, P('x', 'x'), X), m
sm(lambda a: a, P('z'), X), x
sm(lambda a: a, X, P('z')), x
sm(lambda a: a, 'x', X), x
sm(lambda a: a, X, 'x'), x
sm(lambda a: a, (X, X), X), x
sm(lambda a: (a, a), X, (X,)), x
sm(lambda t: t, ({'a': X, 'c': X},), X), {'a': x, 'b': x}
sm(lambda a, *, k: a, X, X), x
sm(lambda a: a, X, X, mesh=None), x
sm(3, X, X), x
sm(lambda a: a if a[0] > 1 else -a, X, X), x
sm(lambda a: a * float(a[0]), X, X), x
sm(lambda a: 'text', X, X), x
sm(lambda a: a, X, X), 'text'
jax.shard_map(lambda a: a, mesh=line, out_specs=X), x
jax.shard_map(mesh=line, in_specs=X, out_specs=X)(jnp.sin), x
old(lambda a: lax.psum(a, 'x'), line, in_specs=X, out_specs=P()), x
old(lambda a: a, line, X, P(), check_rep=False), x
in grid: jax.smap(lambda a: a + lax.psum(a, 'x'), in_axes=0, out_axes=0, axis_name='x'), x
in grid: jax.smap(lambda a: lax.psum(a, 'x'), in_axes=0, out_axes=None, axis_name='x'), x
in grid: jax.smap(lambda a, b: a + b, in_axes=(0, None), out_axes=1, axis_name='x'), m8, 1.0
in grid: jax.smap(lambda a: a, in_axes='a', out_axes=0, axis_name='x'), x
in grid: jax.smap(lambda a: a, in_axes=0, out_axes='a', axis_name='x'), x
in grid: jax.smap(lambda a: a, in_axes=0, out_axes=0, axis_name='z'), x
in grid: jax.smap(lambda a: a, in_axes=0, out_axes=0, axis_name=('x', 'y')), x
in grid: smap0(smap0(lambda a: a + lax.psum(a, 'y'), axis_name='y'), axis_name='x'), x
in grid: jax.shard_map(lambda a: a, in_specs=P('x'), out_specs=P('x')), x
in grid: jax.shard_map(lambda a: a, in_specs=P('x'), out_specs=P('x'), mesh=line), x
jax.smap(lambda a: a, in_axes=0, out_axes=0, axis_name='x'), x
""".strip().splitlines()


def names(jax, jnp, np, P, Mesh, old, devices):
    """The names in the calls; `devices` are eight."""
    line = Mesh(np.array(devices[:4], object), ("x",))
    grid = Mesh(np.array(devices, object).reshape(4, 2), ("x", "y"))

    def sm(f, in_specs, out_specs, mesh=line, **options):
        return jax.shard_map(f, in_specs=in_specs, out_specs=out_specs, mesh=mesh, **options)

    def pv(a, axes="x"):
        return jax.lax.pcast(a, axes, to="varying")

    x = jnp.arange(8.0)
    return {
        "jax": jax,
        "jnp": jnp,
        "np": np,
        "lax": jax.lax,
        "P": P,
        "X": P("x"),
        "Y": P("y"),
        "XY": ("x", "y"),
        "PXY": P(("x", "y")),
        "line": line,
        "grid": grid,
        "sm": sm,
        "nocheck": functools.partial(sm, check_vma=False),
        "old": old,
        "pv": pv,
        "smap0": functools.partial(jax.smap, in_axes=0, out_axes=0),
        "total": lambda a: jax.lax.psum(a, "x"),
        "spmd": functools.partial(jax.vmap, spmd_axis_name="x"),
        "ring": [(i, (i + 1) % 4) for i in range(4)],
        "x": x,
        "w": jnp.array([2.0, 5.0]),
        "m": jnp.arange(16.0).reshape(8, 2) / 4,
        "m8": jnp.arange(64.0).reshape(8, 8) / 8,
    }


def answer(call, names, jax, encode):
    """What a call gives: {"value", "jaxpr"}, or {"error": [class, the first words]}; of what can be traced
    and not run, both an error and a jaxpr."""
    found = {}
    mesh = names["grid"] if call.startswith(IN_GRID) else None
    try:
        with jax.set_mesh(mesh) if mesh else contextlib.nullcontext():
            fun, *args = eval(call.removeprefix(IN_GRID), dict(names))
            if fun is jax.jvp:
                fun, args = functools.partial(jax.jvp, args[0]), args[1:]
            found["jaxpr"] = printed(str(jax.make_jaxpr(fun)(*args))).splitlines()
            found["value"] = encode(jax.block_until_ready(fun(*args)), jax)
    except Exception as error:
        found["error"] = [type(error).__name__, " ".join(str(error).split()[:ERROR_WORDS])]
    return found


def printed(jaxpr):
    """Sets are printed in no order: in that of the mesh."""
    return jaxpr.replace("frozenset({'y', 'x'})", "frozenset({'x', 'y'})")


def answers_of_jax():
    """What JAX answers, in a process of its own, which has eight devices: as text, a call a paragraph."""
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    run = [sys.executable, "-P", __file__]
    result = subprocess.run(
        run, env=os.environ | flags, capture_output=True, text=True, timeout=900
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def main():
    warnings.simplefilter("ignore")
    sys.path.append(str(Path(__file__).parent))
    jax, np, codec = map(importlib.import_module, ("jax", "numpy", "codec"))
    importlib.import_module("scan_params").print_as_numbers()
    sharding = importlib.import_module("jax.sharding")
    old = importlib.import_module("jax.experimental.shard_map").shard_map
    spoken_of = names(jax, jax.numpy, np, jax.P, sharding.Mesh, old, jax.devices())
    found = {call: answer(call, spoken_of, jax, codec.encode) for call in CALLS}
    parts = [
        f" {json.dumps(call)}: {{\n"
        + ",\n".join(f"  {json.dumps(k)}: {_text(v)}" for k, v in parts.items())
        + "\n }"
        for call, parts in found.items()
    ]
    print("{\n" + ",\n".join(parts) + "\n}")


def _text(part):
    """A printed jaxpr has a line a line."""
    if isinstance(part, list) and len(part) > 1 and part[0].startswith(("{ lambda", "let ")):
        return "[\n" + ",\n".join(f"   {json.dumps(line)}" for line in part) + "\n  ]"
    return json.dumps(part)


if __name__ == "__main__":
    main()
