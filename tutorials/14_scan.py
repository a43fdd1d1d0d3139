from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 14. scan and fori_loop
#
# After this lesson you can write a loop of any length as one equation, read that equation, and follow its
# derivative: one loop that runs forwards and keeps what is needed, and one that runs backwards and uses it.
# You will also know why `jax.grad` works through one `fori_loop` and not through another.

# %%
import time

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax, viz


def f(x):
    return jnp.sin(x) * x


# %% [markdown]
# ## A Python loop is written out
#
# Here is a small recurrent network, of one neuron. It has a state `h`. Each iteration reads one input `x`,
# and the next state is `w * f(h) + x`. With a Python loop, tracing sees every iteration: the jaxpr grows with
# the length of the input, and so does the time to trace and to compile it.
#
# <details><summary>One iteration is a few operations. How many equations are 400 of them, in a Python
# loop?</summary>
#
# 2400, six for each input.
# </details>


# %%
def python_loop(w, h, xs):
    for x in xs:
        h = w * f(h) + x
    return h


w, h = jnp.float32(0.5), jnp.float32(3.0)
for length in (4, 40, 400):
    jaxpr = jax.make_jaxpr(python_loop)(w, h, jnp.ones(length))
    print(f"{length} inputs: {len(jaxpr.eqns)} equations")

# %% [markdown]
# ## scan
#
# **[`lax.scan(step, init, xs)`](glossary.md#scan)** is the same loop. `step` takes the
# [carry](glossary.md#carry) and one `x`, and gives the next carry and one `y`. The result is the last
# carry, and all `y` stacked. In Python it would be this:


# %%
def scan_in_python(step, carry, xs):
    ys = []
    for x in xs:
        carry, y = step(carry, x)
        ys.append(y)
    return carry, jnp.stack(ys)


def run(w, h, xs):
    def step(h, x):
        h = w * f(h) + x
        return h, h

    return lax.scan(step, h, xs)


xs = jnp.array([0.5, -0.25, 1.0, 0.125])
print(run(w, h, xs))
print(scan_in_python(lambda h, x: (w * f(h) + x,) * 2, h, xs))

# %% [markdown]
# Carry, **[`xs` and `ys`](glossary.md#xs-and-ys)** may be any [pytrees](04_pytrees.py). All arrays in
# `xs` have the same length along axis 0. That is the length of the loop, and it is known when the program
# is made. This is the difference to [while_loop](13_cond_and_while.py), and everything good about `scan`
# comes from it.

# %%
print(jax.make_jaxpr(run)(w, h, xs))

# %% [markdown]
# One equation, whatever the length. (Exercise 14.5 makes such an equation of a loop of yours.) The operands
# come in three groups, and two numbers say where each begins. First the [consts](glossary.md#const), which
# are the same at each step (`num_consts=1`: `w`, over which `step` closes). Then the first carry
# (`num_carry=1`: `h`). The rest are `xs`. The body takes one slice of each of these; a body of `f32[]` for
# an operand `f32[4]`.
#
# As a picture: the frame is the body. What goes in stands in a row at the top, what comes out in a row at the
# bottom. Consts are pink, carries green, slices yellow, and the dashed arrow leads from one step to the next.

# %%
viz.dot(jax.make_jaxpr(run)(w, h, xs))

# %% [markdown]
# As in a `while_loop`, the carry must keep its type. Here `step` makes a vector of a scalar:

# %%
try:
    lax.scan(lambda h, x: (jnp.stack([h, x]), None), h, xs)
except TypeError as error:
    print(error)

# %% [markdown]
# ## fori_loop is one of the two
#
# **[`lax.fori_loop(lower, upper, body, init)`](glossary.md#fori-loop)** is `val = body(i, val)` for `i`
# from `lower` up to `upper`. It is no primitive. With bounds that are known while tracing, it is a
# `scan` without `xs`, whose carry is `(i, val)`. With bounds that are not, it is a `while_loop`. The
# same line of Python may be either:


# %%
def repeated(x, n):
    """f(f(...f(x))), n times."""
    return lax.fori_loop(0, n, lambda i, x: f(x), x)


print(repeated(3.0, 2), f(f(3.0)))
print(jax.make_jaxpr(lambda x: repeated(x, 2))(3.0).eqns[-1].primitive)
print(jax.make_jaxpr(repeated)(3.0, 2).eqns[-1].primitive)

# %% [markdown]
# That decides whether there is a gradient. `jit` makes an argument unknown unless it is
# [static](10_jit.py):
#
# <details><summary><code>repeated</code> has a gradient. Has <code>jax.jit(repeated)</code>?</summary>
#
# No: to `jit` the 2 is an argument like others, the bound is unknown, and the loop is a `while`. It has
# one if `n` is static.
# </details>

# %%
print(jax.grad(repeated)(3.0, 2))
try:
    jax.grad(jax.jit(repeated))(3.0, 2)
except ValueError as error:
    print(str(error)[:73], "...")
print(jax.grad(jax.jit(repeated, static_argnums=1))(3.0, 2))

# %% [markdown]
# ## Forwards: tangents ride along
#
# The `jvp` of a scan is a scan. Its body is the jvp of the body: it carries `h` and the tangent of `h`.
# Which parts of the carry have a tangent is again a [fixed point](13_cond_and_while.py). Here the first `h`
# is a constant; the first iteration gives it a tangent, through `w`, so the loop starts with a tangent of
# 0.

# %%
print(jax.make_jaxpr(lambda w, w_dot: jax.jvp(lambda w: run(w, h, xs)[0], (w,), (w_dot,)))(w, 1.0))

# %% [markdown]
# ## Backwards, by hand
#
# Reverse mode asks: how much does the last `h` change if an input does? Go from the last iteration to
# the first. `ct_h` is the [cotangent](glossary.md#cotangent) of the state: how much the result changes with
# it. In each iteration three things happen. The input `x` was added to the state, so its cotangent is `ct_h`.
# The weight `w` was multiplied by `f(h)`; it is used in *every* iteration, so its cotangents add up. And the
# state before is behind `w * f`.


# %%
def backward_by_hand(w, h, xs):
    states = []
    for x in xs:
        states.append(h)  # what the way back needs: the residuals
        h = w * f(h) + x
    ct_h, ct_w, ct_xs = 1.0, 0.0, []
    for h in reversed(states):
        ct_xs.insert(0, ct_h)
        ct_w = ct_w + ct_h * f(h)
        ct_h = ct_h * w * jax.grad(f)(h)
    return ct_w, ct_h, jnp.stack(ct_xs)


def last(w, h, xs):
    return lax.scan(lambda h, x: (w * f(h) + x, None), h, xs)[0]


print(*backward_by_hand(w, h, xs))
print(*jax.grad(last, argnums=(0, 1, 2))(w, h, xs))

# %% [markdown]
# That was one loop. For any step, [`jax.vjp`](08_grad.py) gives the way back through it, and knows what it
# has to keep: `forwards` collects these functions, and `backwards` calls them, each once (exercise 14.3).
# Here each state is also a `y`, with its own cotangent, which is 0.

# %%
from practice.loop_backwards import backwards, forwards


def step(w, h, x):
    h = w * f(h) + x
    return h, h


_, _, ways_back = forwards(step, w, h, xs)
ct_w, ct_h, ct_xs = backwards(ways_back, jnp.float32(1), [jnp.float32(0)] * 4, jnp.float32(0))
print(ct_w, ct_h, jnp.stack(ct_xs))

# %% [markdown]
# ## Backwards, by rules
#
# `jax.grad` gets there by its usual two steps, [linearize](07_linearize.py) and [transpose](08_grad.py).
# The result is two scans.
#
# <details><summary>How many numbers does the first loop hand to the second for each step? In which
# direction does the second one run?</summary>
#
# Four; and from the last step to the first, as `reverse=True` says.
# </details>

# %%
print(jax.make_jaxpr(jax.grad(last, argnums=(0, 1, 2)))(w, h, xs))

# %% [markdown]
# *The first scan* is the loop itself. Partial evaluation has added ys to it: what the linear part needs of
# each step, stacked. Those are the [residuals](glossary.md#residual): `cos(h)`, `h`, `sin(h)`, and the
# product `sin(h) * h`: four numbers a step. They are its four results `f32[4]`.
#
# *The second scan* has `reverse=True`: it goes from the last step to the first. Its operands show where
# everything went.
#
# | in the forward loop | in the backward loop |
# |---|---|
# | a const (`w`) | the sum of its cotangents is part of the carry, and begins at 0.0 |
# | the carry (`h`) | the carry: its cotangent, from the last step (1.0) to the first |
# | `xs`, a slice a step | `ys`: a cotangent a step, stacked |
# | `ys` | `xs`: the cotangents of ys, a slice a step |
# | residuals, stacked | `xs` too |
# | what is the same at each step (`w` again: the linear part multiplies by it) | a const |
#
# That is all that the rule has to arrange. The body of the second loop is the linear part of the body,
# transposed as any jaxpr is.
#
# ## What it costs
#
# The residuals are kept until the way back: numbers per step, times the number of steps.
# [`jax.checkpoint`](glossary.md#checkpoint) around the body keeps the carry, and computes the rest once more.


# %%
def checkpointed(w, h, xs):
    return lax.scan(jax.checkpoint(lambda h, x: (w * f(h) + x, None)), h, xs)[0]


def scans(fun, *args):
    return [eqn for eqn in jax.make_jaxpr(fun)(*args).eqns if eqn.primitive is lax.scan_p]


for fun in (last, checkpointed):
    forward, backward = scans(jax.grad(fun), w, h, xs)
    print(fun.__name__, "keeps", *[v.aval.str_short() for v in forward.outvars[1:]])

# %% [markdown]
# There is a choice between: a `checkpoint` around every few steps keeps one state for each of these
# segments, and computes a segment again when the way back comes to it (exercise 14.6).
#
# ## vmap
#
# A batch of scans is one scan, of a batched body. The loop's axis stays in front in `xs` and `ys`, where
# the loop needs it, and the batch dim comes behind it. What no example changes, stays one for all: `w`
# here. (Exercise 14.1 writes such a loop by hand, 14.2 the rule.)
#
# <details><summary>Three examples, each with four inputs; <code>w</code> and <code>h</code> are the same
# for all. Which shapes will the operands of the one scan have?</summary>
#
# `w` stays a number. `h` becomes three. The inputs are 4 by 3: the loop's axis in front.
# </details>

# %%
batch = jnp.stack([xs, 2 * xs, 3 * xs])
(eqn,) = scans(jax.vmap(run, in_axes=(None, None, 0)), w, h, batch)
print("operands", *[v.aval.str_short() for v in eqn.invars])
print("results ", *[v.aval.str_short() for v in eqn.outvars])

# %% [markdown]
# The `h` that goes in is one for all; the carry is one for each, after the first step at the latest. That
# is the fixed point once more.
#
# ## Compiled
#
# Inside `jit` a small scan is a loop in a single kernel. The state lives in a register: `carry_1` below.

# %%
print(jax.jit(run).lower(w, h, xs).as_text("kernel"))

# %% [markdown]
# So compiling takes as long for a million steps as for four. Below is the same for 100 steps, written out
# and not: how long it takes from the function to its first result. (`compile` waits until the program is
# built. [Lesson 12](12_fusion.py) measures with more care.)

# %% varies
inputs = jnp.linspace(-1, 1, 100)
for fun in (python_loop, last):
    began = time.perf_counter()
    compiled = jax.jit(fun).lower(w, h, inputs).compile()
    jax.block_until_ready(compiled(w, h, inputs))
    print(f"{fun.__name__:11} {time.perf_counter() - began:.2f} s")

# %% [markdown]
# ## Looking into the loop
#
# Under `jax.disable_jit()` a scan is a Python loop over your `step`. A `print` there sees values, and so
# does pdb: `breakpoint()` in `step` stops in every iteration. (`jax.debug.print` does so also in compiled
# code.)


# %%
def talking_step(h, x):
    print(f"h = {h:.4f}, x = {x:.4f}")
    return w * f(h) + x, None


with jax.disable_jit():
    lax.scan(talking_step, h, xs)

# %% [markdown]
# ## Where tinyjax differs from JAX
#
# The jaxprs are JAX's. `unroll` asks the compiler to write out that many steps in a row; tinyjax takes it,
# shows it in the jaxpr, and does not need it. JAX's scan is compiled by XLA, always, also when it is called
# outside of `jit`; tinyjax then evaluates its jaxpr with NumPy, step by step, which is slow for a loop of
# many small steps. Put a `jit` around it.
#
# ## The picture
#
# The graph of the gradient: the forward loop, and beside it the backward loop. The residuals are the yellow
# `ys` that arrows lead across from.

# %%
viz.dot(jax.make_jaxpr(jax.grad(last, argnums=(0, 1, 2)))(w, h, xs))

# %% [markdown]
# ## Summary
#
# - A `scan` is one equation for a loop of known length: consts, a carry from step to step, a slice of `xs`
#   in, a slice of `ys` out.
# - Its gradient is two scans: one forwards that stacks residuals, and one in reverse that carries
#   cotangents and adds up those of consts.
# - `fori_loop` is a scan if its bounds are known while tracing, and can be differentiated; else it is a
#   while_loop, and can not.
#
# ## Do you know?
#
# <details><summary>A scan of 100 steps gives a carry and <code>ys</code>. Which of them has an axis of
# 100?</summary>
#
# `ys`, in front: a slice for each step. The carry is that of the last step.
# </details>
#
# <details><summary>Why does a scan compile faster than the same loop in Python?</summary>
#
# Its body is traced once, and is one equation, however many steps there are.
# </details>
#
# <details><summary>What does the gradient of a scan keep in memory?</summary>
#
# The residuals of each step, stacked: the memory grows with the number of steps. `jax.checkpoint`
# computes them again instead.
# </details>
#
# ## Exercises
#
# Write scan's batching rule and its transposition, a recurrence, and a `checkpoint` where it pays:
# `python -m tinyjax learn start 14`
#
# ## Where this lives in JAX
#
# - `jax/_src/lax/control_flow/loops.py`: `scan`, `_scan_impl`, `_scan_jvp`, `_scan_partial_eval`,
#   `_scan_transpose_fancy`, `_scan_batching_rule`, and `fori_loop`
# - In JAX, `_scan_impl` is what is lowered to XLA: a `while_loop` that reads slices of xs and writes slices
#   of ys.
