"""LBFGS, projected and proximal gradients, roots, Gauss-Newton, implicit derivatives, losses."""

import jax
import jax.numpy as jnp
import jaxopt
import optax
from jaxopt import implicit_diff, objective, projection, prox

key_x, key_w, key_noise = jax.random.split(jax.random.key(0), 3)
X = jax.random.normal(key_x, (30, 3))
y = X @ jax.random.normal(key_w, (3,)) + 0.1 * jax.random.normal(key_noise, (30,))

# ---- ridge regression, and its derivative by the penalty ----


def ridge(params, l2reg, X, y):
    residuals = X @ params - y
    return jnp.mean(residuals**2) + 0.5 * l2reg * jnp.sum(params**2)


lbfgs = jaxopt.LBFGS(fun=ridge, maxiter=50, tol=1e-4)
start = jnp.zeros(3)
params, state = lbfgs.run(start, l2reg=1.0, X=X, y=y)
print("LBFGS:", params, lbfgs.optimality_fun(params, 1.0, X, y) < 1e-3)
print("d params / d l2reg:", jax.jacobian(lambda l2reg: lbfgs.run(start, l2reg, X, y).params)(1.0))


@implicit_diff.custom_root(jax.grad(ridge))
def closed_form(params, l2reg, X, y):
    return jnp.linalg.solve(X.T @ X + len(X) * l2reg / 2 * jnp.eye(3), X.T @ y)


print("custom_root:", jax.jacobian(closed_form, argnums=1)(None, 1.0, X, y))

# ---- constraints, the lasso, roots, least squares ----

box = jaxopt.ProjectedGradient(objective.least_squares, projection.projection_box, maxiter=100)
print("box:", jnp.round(box.run(start, hyperparams_proj=(0.0, 1.0), data=(X, y)).params, 3))
lasso = jaxopt.ProximalGradient(objective.least_squares, prox.prox_lasso, maxiter=100)
print("lasso:", jnp.round(lasso.run(start, hyperparams_prox=0.1, data=(X, y)).params, 3))
print("simplex:", projection.projection_simplex(jnp.array([0.3, 2.0, 1.5])))
bisection = jaxopt.Bisection(lambda x, c: x**3 - c, lower=0.0, upper=3.0, tol=1e-5)
print(
    "bisection:",
    bisection.run(None, 5.0).params,
    jax.grad(lambda c: bisection.run(None, c).params)(5.0),
)
fixed = jaxopt.FixedPointIteration(lambda x, a: jnp.cos(a * x), maxiter=100, tol=1e-6)
print("fixed point:", fixed.run(0.5, 0.9).params, jax.grad(lambda a: fixed.run(0.5, a).params)(0.9))


def rosenbrock(x):
    return jnp.array([10 * (x[1] - x[0] ** 2), 1 - x[0]])


gauss_newton = jaxopt.GaussNewton(rosenbrock, maxiter=30)
print("GaussNewton:", jnp.round(gauss_newton.run(jnp.array([-1.0, 1.5])).params, 3))

# ---- a classifier, by a loop of steps ----

labels = (y > 0).astype(jnp.int32)
sgd = jaxopt.OptaxSolver(
    opt=optax.sgd(0.5),
    fun=lambda p, data: jnp.mean(jax.vmap(jaxopt.loss.binary_logistic_loss)(data[1], data[0] @ p)),
    maxiter=20,
)
w, state = start, sgd.init_state(start, data=(X, labels))
update = jax.jit(sgd.update)
for _ in range(20):
    w, state = update(w, state, data=(X, labels))
print("logistic:", w, state.value)
print(
    "losses:",
    jaxopt.loss.multiclass_logistic_loss(1, jnp.arange(3.0)),
    jaxopt.loss.huber_loss(0.0, 2.0),
)
