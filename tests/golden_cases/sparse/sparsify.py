"""Recorded cases of jax.experimental.sparse: functions of ordinary arrays on sparse ones."""

import numpy as np
from golden_cases.codec import Group
from golden_cases.sparse import coordinates

X = np.array([[1.0, 0, 0], [0, -2, 0], [1, 1, 0], [0, 0, 3], [-1, 0, 1]], np.float32)


def names(jax, jnp, lax):
    def loss(params, X, y):  # noqa: N803
        y_hat = 0.5 * (jnp.tanh((X @ params[1:] + params[0]) / 2) + 1)
        return -jnp.mean(jnp.log(jnp.where(y, y_hat, 1 - y_hat)))

    def fit_logreg(X, y):  # noqa: N803
        def step(_, params):
            return params - 0.5 * jax.grad(loss)(params, X, y)

        return lax.fori_loop(0, 5, step, jnp.zeros(X.shape[1] + 1))

    return coordinates.names(jax, jnp, lax) | {"fit_logreg": fit_logreg, "X": jnp.asarray(X)}


GROUPS = [
    Group(
        "sparse, sparsify",
        [
            "parts(sparse.sparsify(lambda a: a)(S))",
            "parts(sparse.sparsify(lambda M, v: 2 * jnp.dot(jnp.log1p(M.T), v) + 1)(S, y))",
            "parts(sparse.sparsify(jnp.sin)(S))",
            "parts(sparse.sparsify(lambda a: jnp.cos(sparse.todense(a)))(S))",
            "parts(sparse.sparsify(jnp.sum)(S))",
            "parts(sparse.sparsify(lambda a: a.sum(0))(S))",
            "parts(sparse.sparsify(jnp.sum)(M))",
            "parts(sparse.sparsify(lambda a, b: a+b)(S, S))",
            "parts(sparse.sparsify(lambda a, b: a+b)(S, M))",
            "parts(sparse.sparsify(lambda a, b: a*b)(S, M))",
            "parts(sparse.sparsify(lambda a, b: a*b)(S, 2.0))",
            "parts(sparse.sparsify(lambda a, b: a/b)(S, 2.0))",
            "parts(sparse.sparsify(lambda a: a/M)(S))",
            "parts(sparse.sparsify(lambda a: jnp.reshape(a, -1))(S))",
            "parts(sparse.sparsify(lambda a: a[0])(S))",
            "parts(sparse.sparsify(lambda a: a[:, 0])(S))",
            "parts(sparse.sparsify(lambda a: a[None])(S))",
            "parts(sparse.sparsify(lambda a: a[1:, 2])(S))",
            "parts(sparse.sparsify(lambda a: jnp.concatenate([a, a]))(S))",
            "parts(sparse.sparsify(lambda a: jnp.concatenate([a, a], 1))(S))",
            "parts(sparse.sparsify(lambda a: jnp.stack([a, a]))(S))",
            "parts(sparse.sparsify(lambda a: jnp.transpose(a))(S))",
            "parts(sparse.sparsify(lambda a: jnp.broadcast_to(a, (2,3,4)))(S))",
            "parts(sparse.sparsify(lambda a: jnp.squeeze(a[:1]))(S))",
            "parts(sparse.sparsify(lambda a: jnp.einsum('ij,j->i', a, z))(S))",
            "parts(sparse.sparsify(lambda a: jnp.einsum('ij,kj->ik', a, a))(S))",
            "parts(sparse.sparsify(lambda a: jnp.abs(a))(S))",
            "parts(sparse.sparsify(lambda a: -a)(S))",
            "parts(sparse.sparsify(lambda a: a**2)(S))",
            "parts(sparse.sparsify(lambda a: jnp.sqrt(a))(S))",
            "parts(sparse.sparsify(lambda a: a.astype(int))(S))",
            "parts(sparse.sparsify(lambda a: lax.cond(True, lambda x: x@z, lambda x: 2*x@z, a))(S))",
            "parts(sparse.sparsify(lambda a: lax.cond(True, lambda x: x, lambda x: 2*x, a))(S))",
            "parts(sparse.sparsify(lambda a: lax.fori_loop(0, 3, lambda i, x: 2*x, a))(S))",
            "parts(sparse.sparsify(lambda a: lax.fori_loop(0, 3, lambda i, v: a@(a.T@v), y))(S))",
            "parts(sparse.sparsify(lambda a: lax.while_loop(lambda c: c[1]<3, lambda c: (c[0]*2, "
            "c[1]+1), (a, 0)))(S))",
            "parts(sparse.sparsify(jax.jit(lambda a: a @ z))(S))",
            "parts(jax.jit(sparse.sparsify(lambda a: a @ z))(S))",
            "parts(sparse.sparsify(lambda a: jax.grad(lambda v: (a@v).sum())(z))(S))",
            "parts(jax.grad(sparse.sparsify(lambda v: (S@v).sum()))(z))",
            "parts(sparse.sparsify(lambda a: lax.rev(a, (0,)))(S))",
            "parts(sparse.sparsify(lambda a: lax.slice(a, (0,1),(2,3)))(S))",
            "parts(sparse.sparsify(lambda a: lax.dynamic_slice(a, (1,1),(2,2)))(S))",
            "parts(sparse.sparsify(lambda a: a@z)(R))",
            "parts(sparse.sparsify(lambda a: jnp.sin(a))(R))",
            "parts(sparse.sparsify(lambda a: jnp.broadcast_to(a, (2,3,4)))(R))",
            "parts(sparse.sparsify(lambda a: jnp.concatenate([a, a]))(R))",
            "sparse.sparsify(fit_logreg)(BCOO.fromdense(X), X[:, 0] > 0)",
        ],
        ulps=8,
        scaled=True,
    )
]

ERRORS = {
    "sparse, sparsify": [
        ("sparse.sparsify(jnp.cos)(S)", []),
        ("sparse.sparsify(lambda a: a + 1)(S)", []),
        ("sparse.sparsify(lambda a: jnp.concatenate([a, M]))(S)", []),
        ("sparse.sparsify(lambda a: jnp.max(a))(S)", []),
        ("sparse.sparsify(lambda a: jnp.exp(a))(S)", []),
        ("sparse.sparsify(lambda a: jnp.where(M>1, a, 0.))(S)", []),
        ("sparse.sparsify(lambda a: a.at[0,0].set(1.))(S)", []),
        ("sparse.sparsify(lambda a: jnp.maximum(a, 0.))(S)", []),
        ("sparse.sparsify(lambda a: a*2)(R)", []),
        ("sparse.sparsify(jnp.sum)(R)", []),
        ("sparse.sparsify(lambda a: a.T)(R)", []),
    ]
}
