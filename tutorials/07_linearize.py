from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 7. linearize
#
# After this lesson you can split a derivative into the part that can be computed now and the part that has
# to wait; say what `linearize` keeps from its run of a function; and read the linear jaxpr that is left.
#
# You need [lesson 2](02_jvp.py) (`jvp`) and [lesson 6](06_jaxprs.py) (jaxprs and tracing). [Lesson
# 8](08_grad.py) makes `grad` of what you see here.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import viz


def f(x):
    return jnp.sin(x) * x


print(f(3.0))

# %% [markdown]
# ## One point, many directions
#
# `jvp` answers: "I stand at this point. If I move in that direction, how does the result move?" It
# computes the result and its tangent together. If you ask again with another direction, it computes the
# result again too.
#
# `linearize` separates the two. It takes the point, computes the result, and gives you a function that
# knows the point and waits for a direction:

# %%
y, f_jvp = jax.linearize(f, 3.0)
print("result:         ", y)
print("direction 1.0:  ", f_jvp(1.0), " jvp says", jax.jvp(f, (3.0,), (1.0,))[1])
print("direction 2.0:  ", f_jvp(2.0))
print("direction 0.001:", f_jvp(0.001))

# %% [markdown]
# Twice the direction gives twice the tangent. Such a function is called **[linear](glossary.md#linear)**:
# the value for a sum of directions is the sum of the values, always. That holds for the tangent of
# *every* function at a fixed point, and it is why `linearize` has its name: near 3.0, `f` moves as this
# linear function does.
#
# What about the function itself? This one says when it runs:
#
# <details><summary>Three directions are asked for. How often does the function run, and does it get a
# number or a tracer?</summary>
#
# Once, and both: a tracer that has the number 3.0, and of its tangent the type alone.
# </details>


# %%
def talking(x):
    print("f runs, with", x)
    return f(x)


_, tangent_of = jax.linearize(talking, 3.0)
print(tangent_of(1.0), tangent_of(2.0), tangent_of(3.0))

# %% [markdown]
# Look at what the function got: a `LinearizeTracer`, which prints itself as `GradTracer`. It is a pair, as in
# [lesson 2](02_jvp.py). Its [primal](glossary.md#primal) is a number, 3.0. Of its
# [tangent](glossary.md#tangent) there is the type alone, as of a tracer in [lesson 6](06_jaxprs.py). The
# first half of the pair is **[known](glossary.md#known)**, the second half **[unknown](glossary.md#known)**.
#
# ## Now or later
#
# Let us take that apart. Here is the [jaxpr](glossary.md#jaxpr) of the *whole* `jvp`, a function of a
# point and a direction:


# %%
def jvp_of_f(x, direction):
    return jax.jvp(f, (x,), (direction,))


closed = jax.make_jaxpr(jvp_of_f)(3.0, 1.0)
print(closed)

# %% [markdown]
# Say that `a` (the point) is known and `b` (the direction) is not. Which equations can be computed now?
# Those whose operands are all known. The others must wait. And what they give is unknown, so that what
# uses it must wait too. One pass over the equations finds out:
#
# <details><summary><code>a</code> is known, <code>b</code> is not. Which of the seven equations must
# wait?</summary>
#
# Four: the products with `b` or with what was made of it, and their sum. Sine and cosine never wait, and
# neither does the result of `f`.
# </details>

# %%
from tinyjax.core.jaxpr import Literal
from tinyjax.core.pretty_printer import variable_names


def mark(jaxpr, unknown):
    names, unknown = variable_names(jaxpr), set(unknown)
    for eqn in jaxpr.eqns:
        waits = any(not isinstance(v, Literal) and v in unknown for v in eqn.invars)
        if waits:
            unknown.update(eqn.outvars)
        result, operands = names[eqn.outvars[0]], [names[v] for v in eqn.invars]
        print("later:" if waits else "now:  ", result, "=", eqn.primitive, *operands)


point, direction = closed.jaxpr.invars
mark(closed.jaxpr, unknown=[direction])

# %% [markdown]
# This is called **[partial evaluation](glossary.md#partial-evaluation)**: running a part of a program,
# with a part of its inputs. Look at the line between the two parts. Equations that wait use some values
# that are computed now: `c` and `d`, and the input `a`. These have to be kept. They are the
# **[residuals](glossary.md#residual)**.
#
# All that waits is linear in `b`: products with *one* unknown operand, and a sum. `sin` and `cos` are not
# linear, and they are in the part that is computed now.
#
# Exercise 07.1 makes two programs of one, on the notes of [lesson 6](06_jaxprs.py). The first runs at once;
# and with the values of the residuals in the second, nothing of the first is needed any more:

# %%
from practice.note_trace import take_notes
from practice.run_notes import run_notes
from practice.split_notes import filled_in, split_notes

notes = take_notes(jvp_of_f, 3.0, 1.0)
now, later, residuals = split_notes(notes.equations, known={"a"})
values = run_notes(now, {"a": 3.0})
print("residuals:", *residuals)
print(*filled_in(later, {name: values[name] for name in residuals}), sep="\n")

# %% [markdown]
# Run the second for as many directions as you like.
#
# ## One trace
#
# Neither tinyjax nor JAX makes the whole jaxpr first. One trace, `LinearizeTrace`, decides for each operation
# as it comes by. There are three ways for a primitive to go, by its operands:
#
# - To `parent`, if all are known: no operand is a tracer of this trace. In the simplest case that is the
#   trace that runs NumPy. What comes back is a value, and known again.
# - To `unknown`, if one is unknown. That is a `JaxprTrace`, which writes an equation
#   ([lesson 6](06_jaxprs.py)). What comes back is a tracer of that trace: so that is how an unknown value
#   is recognised. A known array among the operands is for `unknown` a value from outside, and becomes a
#   [constvar](glossary.md#constvar). *That* is a residual.
# - If one is a *pair*, the operation is **linearized**. Its JVP rule ([lesson 2](02_jvp.py)) gets the primals
#   and the tangents, and is run in this trace itself. What the rule does with primals goes to `parent`,
#   what it does with a tangent to `unknown`. The result and its tangent are a pair again.
#
# So each operation is parted at once, by its own rule. Let us play `linearize` by hand:

# %%
from tinyjax.core import context, set_current_trace
from tinyjax.core.tracing import JaxprTrace
from tinyjax.transform.linearize import LinearizeTrace, LinearizeTracer


class TalkingTrace(LinearizeTrace):
    def process_primitive(self, primitive, args, params):
        if any(isinstance(x, LinearizeTracer) for x in args):
            print("pair:   ", primitive)
        else:
            print("  later:" if any(map(self.is_unknown, args)) else "  now:  ", primitive, *args)
        return super().process_primitive(primitive, args, params)


unknown = JaxprTrace()
trace = TalkingTrace(context.trace, unknown)
x = jnp.float32(3.0)
with set_current_trace(trace):
    result = f(LinearizeTracer(trace, x, unknown.new_arg(x.aval)))

# %% [markdown]
# `sin` of a pair came by. Its JVP rule asked for the sine and the cosine of 3, which are known, and for a
# product with the tangent, which is not. Then the same for the product of two pairs.
#
# Now the result is a pair of a number and a tracer. `unknown.finish` ends the trace that writes, and returns
# the jaxpr of what waits:
#
# <details><summary>How many numbers does the linear part keep from the run at 3.0, and is there a sine in
# it?</summary>
#
# Three: cos(3), 3 and sin(3). The sine is one of these numbers, not an equation.
# </details>

# %%
linear = unknown.finish([result.tangent])
print("value:    ", result.primal)
print("residuals:", [float(r) for r in linear.consts])
print(linear)

# %% [markdown]
# The residuals are the three constvars: `cos(3.0)`, `3.0` itself, and `sin(3.0)`. There is no `sin` and
# no `cos` in the jaxpr, and no `x`. (`x` is an array here. A Python number 3.0 would stand in the equation
# itself, as a literal.)
#
# Here is the way of one `bind` through the trace: what `sin(x)` becomes.

# %%
viz.trace_stack(lambda x: jax.linearize(f, x)[0], 3.0)

# %% [markdown]
# That is all of `linearize`, but for pytrees, checks, and inputs without tangents (integers do not move
# in small steps, so they have none).
#
# ## Rules that say it themselves
#
# A primitive may have a rule for `linearize` alone, in `linearize_rules`. It looks like `linearize`
# itself: it gets the primals, and gives the result and a linear function of the tangents. (`nonzeros` says
# which operands have a tangent.) This would be one for `sin`:


# %%
def sin_linearize(primals, nonzeros):
    (x,) = primals
    cos_x = jnp.cos(x)  # now
    return jnp.sin(x), lambda tangent: tangent * cos_x  # later


y, later = sin_linearize((3.0,), [True])
print(y, later(1.0), later(2.0))

# %% [markdown]
# The first part runs in `parent`, the linear function in `unknown`. What the function closes over, here
# `cos_x`, is a residual. `sin` needs no such rule: its JVP rule says the same. (In JAX it has this one, and
# the linear jaxprs are the same.) But a jitted function does need one. Its JVP rule makes *one* jit, of
# primals and tangents together, which would have to be taken apart again. So `jit`, `cond` and `scan` have
# rules that make two. Here the first jit computes `f` and the residuals, and the linear part is a jit too:

# %%
jitted_f = jax.jit(f)
print(jax.make_jaxpr(lambda x, t: jax.linearize(jitted_f, x)[1](t))(3.0, 1.0))

# %% [markdown]
# ## if works here
#
# A side effect of the known half: there is a value to ask. So Python's `if` works under `linearize`, and
# under `grad`, as under `jvp`. What you get is the derivative of the branch that was taken:


# %%
def absolute(x):
    return x if x > 0 else -x


print(jax.linearize(absolute, -3.0)[1](1.0))

# %% [markdown]
# ## Where "now" is
#
# "Now" means: whatever trace is current outside. Linearize while tracing, and the known part is written
# into the outer jaxpr. So the whole thing becomes a program again, which `jit` can compile:
#
# <details><summary><code>slope</code> asks for the derivative alone. Is there an equation in its jaxpr
# for the value of <code>f</code>?</summary>
#
# There is: it was computed on the way. Nobody looks at it, and so it is printed as `_`.
# </details>


# %%
def slope(x):
    _, f_jvp = jax.linearize(f, x)
    return f_jvp(1.0)


print(jax.make_jaxpr(slope)(3.0))

# %% [markdown]
# To see what goes which way, operation by operation, step through the same function (`into` shows what is
# within):
#
# ```sh
# python -m tinyjax step tutorials/wave.py:linearized_slope --args 3.0
# ```
#
# ## Unused code
#
# There is a `_` in the last jaxpr: `_:f32[] = mul b a` is the result of `f` itself, for which nobody
# asked. Removing such equations is called **[dead code elimination](glossary.md#dead-code-elimination)**.
# It goes through the equations from the last to the first, and keeps what the results need:
#
# <details><summary>Which equations are not needed here? Which of them can you be sure of
# first?</summary>
#
# `tanh` and `exp`, and `tanh` first: only when it is gone is `exp` not needed either.
# </details>

# %%
from tinyjax.core.jaxpr import dce_jaxpr


def wasteful(x):
    a = jnp.cos(x)
    b = jnp.exp(a)
    jnp.tanh(b)  # nobody looks at this
    return jnp.sin(a)


before = jax.make_jaxpr(wasteful)(3.0).jaxpr
after, used_consts, used_invars = dce_jaxpr(before, used_outputs=[True])
print(before)
print(after)

# %% [markdown]
# Why backwards? `tanh` goes first, since nothing uses its result. After that nothing uses the result of
# `exp` either, and it goes too. In the other direction it would still look needed. Equations with side
# effects, such as a `jax.debug.print`, always stay (`has_effects`). Equations with jaxprs inside may have
# dead code in there: those have a rule in `dce_rules`, which gives a smaller equation. `linearize` cleans
# its linear jaxpr in this way, so that no residual is kept for nothing.
#
# ## A jaxpr in two
#
# How does the rule of `jit` make two? There is no function to run now, but a jaxpr. `linearize_jaxpr` runs
# it under a `LinearizeTrace` whose parent is a `JaxprTrace` too. So it becomes *two jaxprs*: one of the
# primals, one of the tangents. Its second argument says which inputs have tangents:

# %%
from tinyjax.transform.partial_eval import linearize_jaxpr

parts = linearize_jaxpr(jax.make_jaxpr(f)(3.0), (True,))
print("known:", parts.known)
print("later:", parts.later)
print("which results have tangents:", parts.later_outs)
print("the result is:     ", parts.known_outs)
print("the residuals are: ", parts.residuals)

# %% [markdown]
# The second takes the residuals, then the tangents. The last two lines say where to find values:
# `("out", 1)` is result 1 of the first jaxpr, `("in", 0)` is input 0 of the whole. So the point itself,
# which is a residual, is not copied through the first jaxpr; and a value that is both a result and a
# residual is computed once. Put together again:

# %%
from tinyjax.core.jaxpr import jaxpr_as_fun

(y,), residuals = parts.values([3.0], jaxpr_as_fun(parts.known)(3.0))
print("now:  ", y)
print("later:", *jaxpr_as_fun(parts.later)(*residuals, 1.0))

# %% [markdown]
# ## How it was before
#
# Until July 2025 JAX made `linearize` of two transformations: it ran `jvp` under partial evaluation, with
# the primals known and the tangents unknown. That is what `split_notes` did above, and the linear jaxprs
# are the same. But the rule of a loop was split only after it had mixed primals and tangents. Now one trace
# does both jobs, and a primitive can have a rule that never mixes them.
#
# A jaxpr must still be split by partial evaluation where it *does* mix primals and tangents, as in a JVP rule
# of yours that calls a jitted function of both. Such a jit has an unknown operand, and is parted by its rule
# in `partial_eval_rules`. `jax.checkpoint`, which computes residuals a second time, needs that too.
#
# ## What it is good for
#
# Many directions at one point: the residuals are there, and each direction costs the linear part alone.
# With `vmap`, all directions at once:


# %%
def g(v):
    return jnp.array([v[0] * v[1], jnp.sin(v[0]) + v[1]])


_, g_jvp = jax.linearize(g, jnp.array([3.0, 2.0]))
print(jax.vmap(g_jvp)(jnp.eye(2)).T)

# %% [markdown]
# Row by row: how each of the two results moves with each of the two inputs.
#
# Or ask for one direction after the other, each chosen by what the last one gave. That is how large
# systems of equations are solved without a matrix. Newton's method for `g(x) = 0` goes from `x` to where
# the *linear* function would be zero, and does that again from there. Exercise 07.6 is three lines of
# `linearize`:

# %%
from practice.newton import find_root


def hanging(x):  # how far a chain of springs is from rest, with weights on it
    wall = jnp.zeros(1)
    before, after = jnp.concatenate([wall, x[:-1]]), jnp.concatenate([x[1:], wall])
    return 3.0 * x - before - after + x**3 - 1.0


x = find_root(hanging, jnp.zeros(5), steps=5)
print(jnp.round(x, 4), "is a root:", jnp.allclose(hanging(x), 0.0, atol=1e-5))

# %% [markdown]
# How much does it save? Here are ten rounds of something, on a hundred thousand numbers. (Times differ
# from machine to machine.)

# %% varies
import time


def rounds(x):
    for _ in range(10):
        x = jnp.sin(jnp.exp(-x * x) * x)
    return x


def milliseconds(fun):
    fun()
    start = time.perf_counter()
    fun()
    return f"{1000 * (time.perf_counter() - start):6.1f} ms"


xs, ts = jnp.linspace(0.0, 1.0, 100_000), jnp.ones(100_000)
_, rounds_jvp = jax.linearize(rounds, xs)
print("the function itself:", milliseconds(lambda: rounds(xs)))
print("jvp:                ", milliseconds(lambda: jax.jvp(rounds, (xs,), (ts,))))
print("the linear part:    ", milliseconds(lambda: rounds_jvp(ts)))

# %% [markdown]
# But its real use is [lesson 8](08_grad.py): a linear function can be *transposed*, that is, run backwards.
#
# ## Where tinyjax differs from JAX
#
# - JAX still uses partial evaluation for each JVP rule: it runs the rule in a separate trace (JAX's
#   `JaxprTrace`), makes a jaxpr of what waits, and runs that in the trace that writes the linear jaxpr. So
#   JAX's `LinearizeTrace` has two of the three ways, and the other trace has the third. Here the rule is run
#   in the `LinearizeTrace` itself, which writes at once. The linear jaxprs are the same.
# - JAX's linearize rules also get a flag: whether the linear part will be transposed, as `vjp` and `grad` do.
#   They also return which results have tangents, and the residuals, of two kinds (most rules have None of
#   the second). The linear function takes the residuals before the tangents.
# - Some operations can't be parted: reverse mode of a `while_loop` is an error in both. `linearize` of one
#   works in both, and the whole loop waits.
#
# ## The picture
#
# `f` at a point `a`, linearized, and applied to a direction `b`. The picture has the letters of this program.
# What is known is computed now, and has its value at 3.0. What is unknown waits. The arrows from the one to
# the other are the residuals.


# %%
def linearized_at(point, direction):
    y, f_jvp = jax.linearize(f, point)
    return y, f_jvp(direction)


print(jax.make_jaxpr(linearized_at)(3.0, 1.0))

# %%
viz.linearize(f, 3.0)

# %% [markdown]
# ## Summary
#
# - `linearize` runs a function once, with the point known and the direction unknown.
# - One trace parts each operation: what is known is computed, and what involves a tangent is written into a
#   linear jaxpr.
# - The values that the linear part needs from the known part are the residuals.
#
# ## Do you know?
#
# <details><summary>What can you do with the result of <code>linearize</code>, and not with that of
# <code>jvp</code>?</summary>
#
# Run the linear part for many tangents without the function itself, and transpose it.
# </details>
#
# <details><summary>What are the residuals?</summary>
#
# The known values that the linear part reads, such as `cos(x)`. They stay in memory as long as the linear
# function does.
# </details>
#
# <details><summary>Is the linear program of <code>sin</code> linear in <code>x</code>?</summary>
#
# No, in the tangent. At another `x` it has another factor.
# </details>
#
# ## Exercises
#
# `python -m tinyjax learn start 07` makes a folder in which these functions are empty. The two toys, 07.1's
# `split_notes` and 07.6, need no more than this page; 07.5 is the longest.
#
# ## Where this lives in JAX
#
# - `jax/_src/interpreters/ad.py`: `linearize`, `LinearizeTrace`, `linearize_from_jvp` (a JVP rule, parted),
#   `primitive_linearizations` (our `linearize_rules`), `linearize_jaxpr`.
# - `jax/_src/interpreters/partial_eval.py`: `JaxprTrace`, `partial_eval_jaxpr_nounits`, `dce_jaxpr`.
# - JAX's note on the change: <https://docs.jax.dev/en/latest/direct_linearize_migration.html>
# - `jax/_src/api.py`: `linearize`.
