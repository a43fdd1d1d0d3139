"""Explicit and implicit solvers with adaptive steps, dense output, events, gradients, an SDE and a CDE."""

import diffrax as dfx
import jax
import jax.numpy as jnp
import jax.random as jr

# ---- the README's ----

term = dfx.ODETerm(lambda t, y, args: -y)
solution = dfx.diffeqsolve(term, dfx.Dopri5(), t0=0, t1=1, dt0=0.1, y0=jnp.array([2.0, 3.0]))
print("README:", solution.ts, solution.ys)

# ---- Lotka and Volterra: adaptive steps, saved points, dense output, events ----


def predators(t, y, args):
    alpha, beta, gamma, delta = args
    return alpha * y[0] - beta * y[0] * y[1], -gamma * y[1] + delta * y[0] * y[1]


def solve(args, solver=None, saveat=None, **more):
    return dfx.diffeqsolve(
        dfx.ODETerm(predators),
        solver or dfx.Tsit5(),
        0,
        4,
        0.1,
        (10.0, 10.0),
        args,
        max_steps=500,
        saveat=saveat or dfx.SaveAt(t1=True),
        stepsize_controller=dfx.PIDController(rtol=1e-3, atol=1e-3),
        **more,
    )


args = (0.1, 0.02, 0.4, 0.02)
for solver in (dfx.Tsit5(), dfx.Dopri8(), dfx.Kvaerno3()):
    out = solve(args, solver)
    print(f"{type(solver).__name__}:", *out.ys, out.stats["num_steps"] < 200)
out = solve(args, saveat=dfx.SaveAt(ts=jnp.linspace(0, 4, 4)))
print("saved:", out.ts, *out.ys)
dense = solve(args, saveat=dfx.SaveAt(dense=True))
print("dense:", *dense.evaluate(1.5), *dense.derivative(1.5))
steps = solve(args, saveat=dfx.SaveAt(steps=True))
print("steps:", steps.ts[1] > 0, jnp.isinf(steps.ts[-1]))
event = dfx.Event(lambda t, y, args, **kw: y[0] < 9.5)
print("event:", solve(args, event=event).ts < 4)

# ---- gradients through the solve ----


def prey(args, **more):
    return solve(args, **more).ys[0][-1]


print("gradient:", *jax.grad(prey)(args))
print("backsolve:", *jax.grad(lambda a: prey(a, adjoint=dfx.BacksolveAdjoint()))(args))
print("jit:", *jax.jit(jax.grad(prey))(args))
print("vmap:", jax.vmap(lambda rate: prey((rate, *args[1:])))(jnp.array([0.1, 0.2, 0.3])))

# ---- a stochastic one ----

brownian = dfx.VirtualBrownianTree(0.0, 1.0, tol=1e-3, shape=(), key=jr.key(0))
drift = dfx.ODETerm(lambda t, y, args: -y)
diffusion = dfx.ControlTerm(lambda t, y, args: 0.1 * t, brownian)
sde = dfx.diffeqsolve(
    dfx.MultiTerm(drift, diffusion),
    dfx.EulerHeun(),
    0,
    1,
    0.05,
    1.0,
    saveat=dfx.SaveAt(ts=jnp.linspace(0, 1, 5)),
)
print("SDE:", sde.ys)
print("path:", brownian.evaluate(0.3), brownian.evaluate(0.0, 0.7))
interpolation = dfx.LinearInterpolation(jnp.arange(4.0), jnp.arange(4.0) ** 2)
controlled = dfx.ControlTerm(lambda t, y, args: -y, interpolation)
print("CDE:", dfx.diffeqsolve(controlled, dfx.Heun(), 0, 3, 0.25, 1.0).ys)
