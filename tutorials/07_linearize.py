from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 7. linearize and partial evaluation
#
# After this lesson you can split a program into the part that can be computed now and the part that has
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
# Once, and both: a pair of the number 3.0 and of a tracer that stands for every direction.
# </details>


# %%
def talking(x):
    print("f runs, with", x)
    return f(x)


_, tangent_of = jax.linearize(talking, 3.0)
print(tangent_of(1.0), tangent_of(2.0), tangent_of(3.0))

# %% [markdown]
# Look at what the function got: a pair, as in [lesson 2](02_jvp.py). Its
# [primal](glossary.md#primal) is a number, 3.0. But its [tangent](glossary.md#tangent) is a
# tracer, as in [lesson 6](06_jaxprs.py): an aval without a value. The first half of the pair is
# **[known](glossary.md#known)**, the second half **[unknown](glossary.md#known)**.
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
# ## The trace that decides
#
# tinyjax does not make the whole jaxpr first. It decides for each operation as it comes by, in a trace:
# `PartialEvalTrace`. It has two places to send a primitive to:
#
# - `parent`, if all operands are known. In the simplest case that is the trace that runs NumPy. What
#   comes back is a value, and known again.
# - `unknown`, if one operand is not known. That is a `JaxprTrace`, which writes an equation
#   ([lesson 6](06_jaxprs.py)).
#   What comes back is a tracer of that trace: so that is how an unknown value is recognised. A known
#   array among the operands is for `unknown` a value from outside, and becomes a
#   [constvar](glossary.md#constvar). *That* is a residual.
#
# A few primitives can do a part of themselves now, and a part later: those with jaxprs inside, such as a
# jitted function. They have a rule in `partial_eval_rules`: `rule(trace, args, params)`.
#
# Let us play `linearize` by hand. On top there is a `JVPTrace`. What its rules bind goes to its parent,
# the `PartialEvalTrace`; and that has the trace that was current as its parent:

# %%
from tinyjax.core import context, set_current_trace
from tinyjax.core.tracing import JaxprTrace
from tinyjax.transform.jvp import JVPTrace, JVPTracer
from tinyjax.transform.partial_eval import PartialEvalTrace


class TalkingTrace(PartialEvalTrace):
    def process_primitive(self, primitive, args, params):
        waits = [self.is_unknown(x) for x in args]
        print("later:" if any(waits) else "now:  ", primitive, *args)
        return super().process_primitive(primitive, args, params)


unknown = JaxprTrace()
jvp_trace = JVPTrace(TalkingTrace(context.trace, unknown))
x = jnp.float32(3.0)
with set_current_trace(jvp_trace):
    result = f(JVPTracer(jvp_trace, x, unknown.new_arg(x.aval)))

# %% [markdown]
# Now the result is a pair of a number and a tracer. Ending the inner trace gives the jaxpr of what waits:
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
# no `cos` in the jaxpr, and no `x`. (Above, where the point was the Python number 3.0, it would be a
# literal in place of a constvar.)
#
# Here is the way of one `bind` through the traces, from the top: what `sin(x)` becomes.

# %%
viz.trace_stack(lambda x: jax.linearize(f, x)[0], 3.0)

# %% [markdown]
# That is all of `linearize`, but for pytrees, checks, and inputs without tangents (integers do not move
# in small steps, so they have none).
#
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
# ## Code that nobody needs
#
# There is a `_` in the last jaxpr: `_:f32[] = mul b a` is the result of `f` itself, for which nobody
# asked. Removing such equations is called **[dead code elimination](glossary.md#dead-code-elimination)**.
# It goes through the equations from the last to the first, and keeps what the results need:
#
# <details><summary>Which equations does nobody need here? Which of them can you be sure of
# first?</summary>
#
# `tanh` and `exp`, and `tanh` first: only when it is gone is `exp` needed by nobody.
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
# ## Splitting a jaxpr
#
# Sometimes there is no function to run, but a jaxpr: the body of a loop, or a function under `jit`. It
# must not be run now, and yet be split. `partial_eval_jaxpr` makes *two jaxprs* of one, given which
# inputs are unknown. It runs the jaxpr under a `PartialEvalTrace` whose parent is a `JaxprTrace` too:

# %%
from tinyjax.transform.partial_eval import partial_eval_jaxpr

known, later, unknown_outs, known_outs, residuals = partial_eval_jaxpr(closed, (False, True))
print("known:", known)
print("later:", later)
print("which results wait: ", unknown_outs)
print("known results are:  ", known_outs)
print("the residuals are:  ", residuals)

# %% [markdown]
# The first jaxpr takes the known inputs. The second takes the residuals, then the unknown inputs. The
# last two lines say where to find values: `("out", 1)` is result 1 of the first jaxpr, `("in", 0)` is
# known input 0 of the whole. So the point itself, which is a residual, is not copied through the first
# jaxpr; and a value that is both a result and a residual is computed once. Put together again, the two
# give what the whole gives:

# %%
from tinyjax.core.jaxpr import jaxpr_as_fun
from tinyjax.transform.partial_eval import values_of

values = {"in": [3.0], "out": jaxpr_as_fun(known)(3.0)}
print("now:  ", *values_of(known_outs, values))
print("later:", *jaxpr_as_fun(later)(*values_of(residuals, values), 1.0))

# %% [markdown]
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
# the *linear* function would be zero, and does that again from there. Exercise 07.5 is three lines of
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
# - JAX's `linearize` has one trace for both jobs, `LinearizeTrace`, and shows its tracers as
#   `GradTracer(primal=3.0, typeof(tangent)=f32[])`; tinyjax stacks a `JVPTrace` on a
#   `PartialEvalTrace`. The linear jaxprs are the same.
# - JAX calls its partial evaluation trace `JaxprTrace`.
# - Some operations can't be parted: reverse mode of a `while_loop` is an error in both.
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
# - Partial evaluation computes what the known inputs allow, and writes the rest down as a jaxpr.
# - `linearize` is `jvp` with the point known and the direction unknown; what is left is linear.
# - The values that the linear part needs from the known part are the residuals.
#
# ## Exercises
#
# `python -m tinyjax learn start 07`
#
# ## Where this lives in JAX
#
# - `jax/_src/interpreters/ad.py`: `linearize`, `LinearizeTrace`, `linearize_jaxpr`.
# - `jax/_src/interpreters/partial_eval.py`: `JaxprTrace` (our `PartialEvalTrace`),
#   `partial_eval_jaxpr_nounits`, `dce_jaxpr`.
# - `jax/_src/api.py`: `linearize`.
