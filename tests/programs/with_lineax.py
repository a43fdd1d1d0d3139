"""Direct and iterative solvers of matrices, functions and trees, least squares, and their derivatives."""

import jax
import jax.numpy as jnp
import jax.random as jr
import lineax as lx

matrix = jr.normal(jr.key(0), (3, 3))
vector = jr.normal(jr.key(1), (3,))
solution = lx.linear_solve(lx.MatrixLinearOperator(matrix), vector)
print("README:", solution.value, jnp.linalg.norm(matrix @ solution.value - vector) < 1e-5)

# ---- a function is an operator; conjugate gradients ----

y = jnp.array([0.5, 1.0, 1.5])


def gauss_newton(x):
    return jnp.sum((x**2 + jnp.sin(x) @ jnp.ones((3, 1))) * x) + jnp.sum(x**2)


hessian = lx.JacobianLinearOperator(
    lambda x, args: jax.grad(gauss_newton)(x),
    y,
    tags=(lx.positive_semidefinite_tag, lx.symmetric_tag),
)
out = lx.linear_solve(hessian, vector, lx.CG(rtol=1e-6, atol=1e-6))
print("CG:", out.value, out.stats["num_steps"])
f = lx.FunctionLinearOperator(
    lambda v: 2 * v + jnp.roll(v, 1), jax.ShapeDtypeStruct((3,), jnp.float32)
)
print("function:", lx.linear_solve(f, vector, lx.GMRES(rtol=1e-5, atol=1e-5)).value)
print("as matrix:", f.as_matrix()[0], (f @ f).mv(vector), (f + f).T.mv(vector))

# ---- direct solvers ----

spd = lx.MatrixLinearOperator(matrix @ matrix.T + jnp.eye(3), lx.positive_semidefinite_tag)
print("BiCGStab:", lx.linear_solve(spd, vector, lx.BiCGStab(rtol=1e-5, atol=1e-5)).value)
upper = lx.MatrixLinearOperator(jnp.triu(matrix), lx.upper_triangular_tag)
diagonal = lx.DiagonalLinearOperator(jnp.arange(1.0, 4.0))
tridiagonal = lx.TridiagonalLinearOperator(jnp.full(3, 4.0), jnp.ones(2), jnp.full(2, 0.5))
for operator, solver in (
    (spd, lx.Cholesky()),
    (spd, lx.LU()),
    (spd, lx.QR()),
    (spd, lx.SVD()),
    (upper, lx.Triangular()),
    (diagonal, lx.Diagonal()),
    (tridiagonal, lx.Tridiagonal()),
    (tridiagonal, lx.AutoLinearSolver(well_posed=True)),
):
    print(f"{type(solver).__name__}:", lx.linear_solve(operator, vector, solver).value)

# ---- least squares, trees, errors ----

tall = lx.MatrixLinearOperator(jr.normal(jr.key(2), (5, 3)))
print("least squares:", lx.linear_solve(tall, jnp.arange(5.0), lx.QR()).value)
print(
    "well posed or not:",
    lx.linear_solve(tall, jnp.arange(5.0), lx.AutoLinearSolver(well_posed=None)).value,
)
tree = lx.PyTreeLinearOperator(
    {
        "a": {"a": jnp.array(2.0), "b": jnp.array(1.0)},
        "b": {"a": jnp.array(0.0), "b": jnp.array(4.0)},
    },
    {"a": jax.ShapeDtypeStruct((), jnp.float32), "b": jax.ShapeDtypeStruct((), jnp.float32)},
)
print("tree:", lx.linear_solve(tree, {"a": jnp.array(1.0), "b": jnp.array(2.0)}).value)
singular = lx.linear_solve(lx.MatrixLinearOperator(jnp.zeros((2, 2))), jnp.ones(2), throw=False)
print("singular:", singular.result == lx.RESULTS.successful)

# ---- derivatives, vmap, jit ----


def solve(matrix, vector, solver):
    return jnp.sum(lx.linear_solve(lx.MatrixLinearOperator(matrix), vector, solver).value ** 2)


print("gradient:", jax.grad(solve, (0, 1))(matrix, vector, lx.LU()))
print("gradient:", jax.jit(jax.grad(solve), static_argnums=2)(matrix, vector, lx.QR()))
print(
    "jvp:",
    jax.jvp(lambda v: solve(matrix, v, lx.AutoLinearSolver(well_posed=None)), (vector,), (vector,)),
)
print("vmap:", jax.vmap(lambda m: solve(m, vector, lx.LU()))(jr.normal(jr.key(3), (2, 3, 3))))
state = lx.LU().init(spd, {})
print("state:", jax.jit(lambda v: lx.linear_solve(spd, v, lx.LU(), state=state).value)(vector))
print(
    lx.is_symmetric(hessian),
    lx.is_diagonal(diagonal),
    lx.is_tridiagonal(spd),
    lx.diagonal(tridiagonal),
)
