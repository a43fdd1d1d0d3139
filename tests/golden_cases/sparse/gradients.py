"""Recorded cases of jax.experimental.sparse: sparse arrays in transformations."""

from golden_cases.codec import Group
from golden_cases.sparse.coordinates import names  # noqa: F401

GROUPS = [
    Group(
        "sparse, gradients",
        [
            "parts(jax.jit(lambda m: BCOO.fromdense(m, nse=5))(M))",
            "parts(jax.jit(lambda: twice.sum_duplicates(nse=2))())",
            "parts(jax.vmap(lambda a: a.todense())(B))",
            "parts(jax.vmap(lambda a: a.sum())(B))",
            "parts(jax.vmap(lambda a, v: a @ v, (0, None))(B, z))",
            "parts(jax.vmap(lambda a: a * 2)(B))",
            "parts(jax.vmap(lambda a: BCOO.fromdense(a, nse=4))(jnp.stack([M,M])))",
            "parts(jax.vmap(lambda d: (BCOO((d, S.indices), "
            "shape=S.shape)).todense())(jnp.stack([S.data,S.data])))",
            "parts(jax.vmap(lambda d: (BCOO((d, S.indices), shape=S.shape)))(jnp.stack([S.data,S.data])))",
            "parts(jax.vmap(lambda v: S @ v)(jnp.eye(4)))",
            "parts(jax.jit(lambda a: a.T)(S))",
            "parts(jax.jit(lambda a: a)(S))",
            "parts(jax.make_jaxpr(lambda a: a)(S))",
            "parts(sparse.grad(lambda a: (a.todense()**2).sum())(S))",
            "parts(sparse.value_and_grad(lambda a: (a.todense()**2).sum())(S))",
            "parts(sparse.grad(lambda a, v: (a@v).sum())(S, z))",
            "parts(sparse.grad(lambda a, v: (a@v).sum(), argnums=(0,1))(S, z))",
            "parts(sparse.grad(lambda a, v: (a@v).sum(), argnums=1)(S, z))",
            "parts(sparse.grad(lambda a, v: ((a@v).sum(), 3.), has_aux=True)(S, z))",
            "parts(sparse.grad(lambda t: (t['a']@t['b']).sum())({'a':S,'b':z}))",
            "parts(sparse.grad(lambda a: (a@z).sum())(R))",
            "parts(sparse.jacfwd(lambda a: a@z)(S))",
            "parts(sparse.jacrev(lambda a: a@z)(S))",
            "parts(sparse.jacobian(lambda v: S@v)(z))",
            "parts(jax.grad(lambda v: (S@v).sum())(z))",
            "parts(jax.jvp(lambda v: S@v, (z,), (jnp.ones(4),)))",
            "parts(jax.hessian(lambda v: ((S@v)**2).sum())(z))",
            "parts(jax.tree.map(lambda x: x*1, S))",
            "jax.grad(lambda d: (BCOO((d, S.indices), shape=S.shape) @ z)[0] ** 2)(S.data)",
            "jax.grad(lambda m: BCOO.fromdense(m, nse=4).data.sum())(M)",
            "jax.jit(jax.vmap(lambda a, v: (a @ v).sum()))(B, jnp.stack([z, 2 * z]))",
            "jax.jacfwd(lambda d: (BCOO((d, S.indices), shape=S.shape) * M).todense())(S.data)",
            "jax.grad(lambda d: BCOO((d, S.indices), shape=S.shape).sum_duplicates(nse=5).data[1])(S.data)",
            "jax.jvp(lambda d: BCOO((d, S.indices), shape=S.shape).reshape(12)[3:5].todense(), "
            "(S.data,), (2 * S.data,))",
        ],
        ulps=8,
        scaled=True,
    )
]

ERRORS = {
    "sparse, gradients": [
        ("jax.jit(BCOO.fromdense)(M)", []),
        (
            "jax.jit(lambda: twice.sum_duplicates())()",
            [],
        ),
        ("jax.vmap(lambda a: repr(a))(B)", []),
        ("jax.vmap(lambda a: a.todense())(S)", []),
        ("jax.grad(lambda a: (a.todense()**2).sum())(S)", []),
        ("sparse.jacrev(lambda a: a*2)(S)", []),
    ]
}
