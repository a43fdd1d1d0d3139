from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 5. vmap: a batch without a loop
#
# After this lesson you can run a function of *one* example on many, say what happens to each
# operation on the way, choose `in_axes` and `out_axes`, and write a batching rule.
#
# You need lessons 1 to 4: `bind`, [traces and tracers](01_primitives.py), `jvp`, and pytrees.

# %%
import inspect

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import viz


def f(x):
    return jnp.sin(x) * x


print(f(3.0))

# %% [markdown]
# ## One example, many examples
#
# Often you know what to do with *one* thing (a number, a picture, a customer), and have a thousand
# of them in an array. Such an array is a *batch*, and each of the things in it is an
# **[example](glossary.md#example)**.
#
# With NumPy you have two ways. You can write a loop. It is slow, for every step of it is Python:

# %%
xs = jnp.array([1.0, 2.0, 3.0, 4.0])
print(jnp.stack([f(x) for x in xs]))

# %% [markdown]
# Or you write the function again for the whole array. Our `f` happens to work on any shape. But here
# is one that does not: it weighs the numbers of one row and adds them up.
#
# <details><summary><code>score</code> gives one number for a row. What does it give for an array of three
# rows?</summary>
#
# One number, and no error: the worst kind of answer.
# </details>

# %%
weights = jnp.array([1.0, 10.0])


def score(row):
    return jnp.sum(f(row) * weights)


rows = jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
print("one row:", score(rows[0]))
print("all rows:", score(rows), "<- one number: the sum ran over the examples too")

# %% [markdown]
# For a matrix you would have to write `jnp.sum(..., axis=1)`, and for a stack of matrices something
# else again. `vmap` does this rewriting for you, while the function runs:

# %%
print(jax.vmap(score)(rows))
print(jnp.stack([score(row) for row in rows]), "<- the loop agrees")

# %% [markdown]
# `vmap` is a [transformation](glossary.md#transformation) like `jvp`: it takes a function and gives a
# function. The new one takes arrays with one axis more and gives arrays with one axis more. **There is no
# loop in it.** Each operation runs once, on everything.
#
# How long does each take for ten thousand numbers? (Times differ from machine to machine.)

# %% varies
import time


def milliseconds(fun):
    fun()
    start = time.perf_counter()
    np.asarray(fun())
    return f"{1000 * (time.perf_counter() - start):9.2f} ms"


many = jnp.linspace(0.0, 1.0, 10_000)
print("loop", milliseconds(lambda: [f(x) for x in many][-1]))
print("vmap", milliseconds(lambda: jax.vmap(f)(many)))

# %% [markdown]
# ## What the function sees
#
# Let us print the argument from within.
#
# <details><summary>There are three rows. How often does <code>show</code> print, and which shape does it
# see?</summary>
#
# Once, and that of one row. All three are in it.
# </details>


# %%
def show(row):
    print("row:", row)
    print("row.shape:", row.shape)
    return score(row)


jax.vmap(show)(rows)

# %% [markdown]
# It printed once, not three times: the function ran once. What it saw is a [tracer](glossary.md#tracer),
# a `BatchTracer`, which prints itself as `VmapTracer`. It claims to be one row (`aval=float32[2]`), and
# carries all three (`batched=float32[3,2]`). It is a pair:
#
# - `val`: the whole array;
# - `batch_dim`: the number of the axis in it that counts the examples, the **[batch
#   dim](glossary.md#batch-dim)**. The tracer hides this axis from your function.
#
# The [aval](glossary.md#aval) of the tracer is the aval of `val` with the batch dim taken out.

# %%
seen = []
jax.vmap(lambda column: seen.append(column) or jnp.sum(column), in_axes=1)(rows)
(column,) = seen
print("val has the shape ", column.val.shape)
print("batch_dim is      ", column.batch_dim)
print("the function sees ", column.aval)

# %% [markdown]
# (We took a tracer out of its transformation to look at it. That is fine for looking. To compute
# with it would be an error: it has leaked, as in lesson 3.)
#
# ## A batching rule
#
# When your function calls `jnp.sin(row)`, that ends in `sin_p.bind(row)`, as in lesson 1. The [current
# trace](glossary.md#current-trace) is now a `BatchTrace`. It takes the tracer apart and looks into a
# table, from primitive to **[batching rule](glossary.md#batching-rule)**:
#
#     rule(values, batch dims, **parameters)  ->  value, its batch dim
#
# A rule is a plain function. You can call it by hand:

# %%
from tinyjax.core import primitives
from tinyjax.transform.batching import batch_rules

x = jnp.arange(6.0).reshape(2, 3)

out, dim = batch_rules[primitives.sin_p]((x,), (1,))
print("sin:", out.shape, "with batch dim", dim)

# %% [markdown]
# `sin` works on each element alone, so it does not matter which axis counts the examples: apply it
# to the whole array, and the batch dim stays where it was. One rule does for all such primitives,
# and it is two lines long:

# %%
from tinyjax.transform import batching

print(inspect.getsource(batching._vectorized_rule))

# %% [markdown]
# ### Rules with axes as parameters
#
# Here it gets interesting. Say `x` has shape `(2, 3, 4)`, and its batch dim is 1. Then there are
# three examples, each of shape `(2, 4)`. Your function said "sum over axis 1". It meant axis 1 *of an
# example*, the one of size 4. In the whole array that is axis 2.
#
# | the function says | axes of the example: size 2, size 4 | axes of the whole array |
# |---|---|---|
# | sum over axis 0 | the one of size 2 | axis 0: it stands before the batch dim |
# | sum over axis 1 | the one of size 4 | axis 2: it stands behind the batch dim, so add 1 |
#
# And the result has lost an axis. If that stood before the batch dim, the batch dim moved one place
# to the left.

# %%
x = jnp.arange(24.0).reshape(2, 3, 4)
for axis in (0, 1):
    out, dim = batch_rules[primitives.reduce_sum_p]((x,), (1,), axes=(axis,))
    print(f"sum over axis {axis} of each example: {x.shape} -> {out.shape}, batch dim 1 -> {dim}")

# %% [markdown]
# Many rules make it easy for themselves: they bring the batch dim to the front first, and then all
# axes of the example are one higher. This is the rule of `reshape`, as it stands in the source:

# %%
print(inspect.getsource(batching._reshape_rule))

# %% [markdown]
# And this is that of `broadcast_in_dim`, which puts axis `i` of its operand at
# `broadcast_dimensions[i]` of the result, and repeats the operand along all others. The result has
# one axis more, in front; so every number in `broadcast_dimensions` grows by one, and the batch dim
# itself goes to 0:

# %%
print(inspect.getsource(batching._broadcast_in_dim_rule))

# %% [markdown]
# Why does the `reduce_sum` rule not do the same? It could. But moving an axis may copy the whole array.
# A rule that leaves the batch dim where it is costs nothing, and a rule may answer with any batch dim
# it likes. That is why it *says* where it is.
#
# ### Several operands
#
# `x * y` needs both batch dims in the same place. And perhaps one operand has none: it is the same for
# all examples. We say it is **[not mapped](glossary.md#not-mapped)**, and write `None` for its batch dim.

# %%
rule = batch_rules[primitives.mul_p]
a = jnp.arange(6.0).reshape(2, 3)

for y, y_dim in [(a, 0), (a.T, 1), (jnp.ones(3), None), (2.0, None), (jnp.ones(2), 0)]:
    out, dim = rule((a, y), (0, y_dim))
    print(f"{a.shape} dim 0  *  {jnp.shape(y)!s:6} dim {y_dim!s:4}  ->  {out.shape} dim {dim}")

# %% [markdown]
# The five lines, one by one. In each, `a` holds two examples of shape `(3,)`.
#
# 1. Both batch dims agree already: multiply the arrays as they are.
# 2. They differ: move both to the front, then multiply.
# 3. `y` is not mapped. It gets an axis of size 1 in front, and `(2, 3) * (1, 3)` stretches it. Nothing
#    is copied.
# 4. `y` is a plain number and fits everywhere.
# 5. Each example has its own *number* in `y`. As arrays `(2, 3)` and `(2,)` do not fit: NumPy lines
#    axes up from the right. So `y` gets axes of size 1 *behind* its batch dim, until both have the same
#    number of axes: `(2, 1)`.
#
# Exercise 05.2 (`practice/line_up.py`) is these five lines in plain NumPy, and 05.3 the rule itself.
#
# ## The trace
#
# `BatchTrace.process_primitive` is what `bind` calls. It has four jobs:
#
# 1. Take each operand apart, into a value and a batch dim. What is no tracer *of this vmap* is not
#    mapped.
# 2. If no operand is mapped, the result is the same for all examples. Then this `vmap` has no part in
#    it: hand the primitive to the [`parent`](glossary.md#parent) trace, the one that was current outside.
# 3. Else look up the rule, and call it. While it runs, `parent` must be the current trace: the
#    operations that the rule itself makes are on whole arrays, and no business of this vmap's.
# 4. Make the result a tracer again.
#
# Two kinds of primitives are special.
#
# - Some need to know more about the axis, such as its size or its name: those with programs inside, and
#   those that combine examples, such as `lax.psum(x, "i")` under `vmap(f, axis_name="i")`. Their
#   rules stand in a table of their own, `axis_batch_rules`, and get the axis as a first argument:
#   `rule(axis, values, dims, **params)`, whether or not the axis has a name. If it has one, job 2 is
#   left out for them: `lax.axis_index("i")` has no operand at all, and yet a different result for each
#   example.
# - Some hold whole Python functions (`primitive.takes_functions`; lesson 9), in which tracers may hide.
#   Job 2 is left out for them too.
#
# Let us watch. This trace does what its parent class does, and talks about it:
#
# <details><summary><code>score</code> multiplies twice. Does the batch enter both products with two
# operands?</summary>
#
# The second one has one: `weights` is the same for all rows, and its batch dim is `None`.
# </details>

# %%
from tinyjax.core import context, set_current_trace
from tinyjax.transform.batching import AxisData, BatchTrace


class TalkingTrace(BatchTrace):
    def process_primitive(self, primitive, args, params):
        out = super().process_primitive(primitive, args, params)
        dims = [self.val_and_dim(x)[1] for x in args]
        val, dim = self.val_and_dim(out)
        print(f"{primitive!s:16} batch dims {dims!s:9} -> {dim!s:4}  result {val.shape}")
        return out


trace = TalkingTrace(context.trace, AxisData(name=None, size=3))
with set_current_trace(trace):
    row = trace.tracer(rows, 0)  # all rows, hidden in one
    result = score(row)

print(trace.val_and_dim(result))

# %% [markdown]
# That was `vmap`, by hand: make a trace, wrap the arguments, make the trace current, call the function,
# unwrap the results. The real one adds what makes it comfortable: pytrees, `in_axes` and `out_axes`, a
# name for the axis, and errors that name the argument.
#
# To walk through it yourself, set a breakpoint in a rule, or let the stepper take you there:
#
# ```sh
# python -m tinyjax step tutorials/wave.py:f --args "jnp.arange(3.0)" --transform vmap
# ```
#
# ## in_axes and out_axes
#
# [`in_axes`](glossary.md#in-axes) names the axis of each argument that counts the examples: one number for
# all arguments, or a tuple with an entry for each. `None` means "the same for all examples". `out_axes`
# says where the batch axis goes in the results.


# %%
def line(x, slope, offset):
    return slope * x + offset


slopes = jnp.array([1.0, 2.0, 3.0])
print("one x, three slopes:  ", jax.vmap(line, in_axes=(None, 0, None))(10.0, slopes, 0.5))
print("three xs, three slopes:", jax.vmap(line, in_axes=(0, 0, None))(slopes, slopes, 0.5))

print("out_axes=0:", jax.vmap(f)(rows).shape, "  out_axes=1:", jax.vmap(f, out_axes=1)(rows).shape)

# %% [markdown]
# An entry may also be a pytree, as far down as you like (lesson 4: a tree [prefix](glossary.md#prefix)).
# One entry for a whole dict means all of its leaves:

# %%
params = {"slope": slopes, "offset": 0.5}


def line_of(params, x):
    return line(x, params["slope"], params["offset"])


print(jax.vmap(line_of, in_axes=({"slope": 0, "offset": None}, None))(params, 10.0))

# %% [markdown]
# All mapped axes must have one size. If not, the message lists the size of each:

# %%
try:
    jax.vmap(line, in_axes=(0, 0, None))(jnp.ones(2), slopes, 0.5)
except ValueError as error:
    print(error)

# %% [markdown]
# Last, an axis can have a name. Within the function, the name stands for all the other examples: here
# each row learns the mean over all rows.

# %%
print(jax.vmap(lambda row: row - jax.lax.pmean(row, "rows"), axis_name="rows")(rows))

# %% [markdown]
# ## A vmap in a vmap
#
# `vmap` of a `vmap` maps two axes. Then there are two `BatchTrace`s, and the parent of the inner one is
# the outer one. Each knows its own tracers alone, just as with nested `jvp` in lesson 3. Think of the
# function that you write as the innermost body of nested loops:

# %%
table = jax.vmap(jax.vmap(jnp.multiply, in_axes=(None, 0)), in_axes=(0, None))
print(table(jnp.arange(1.0, 5.0), jnp.arange(1.0, 8.0)))

# %% [markdown]
# (Exercise 05.6 makes tables of distances between points, and of what many models say to many inputs.)
#
# <details><summary>The outer <code>vmap</code> maps <code>x</code> and the inner one <code>y</code>. What
# does the innermost function see when it prints <code>x</code>?</summary>
#
# One number, hidden in four: a tracer of the outer `vmap`. To the inner one it is an array as any other,
# which all its examples share.
# </details>


# %%
def nested(x, y):
    print("x:", x)
    return x * y


jax.vmap(jax.vmap(nested, in_axes=(None, 0)), in_axes=(0, None))(xs, slopes)

# %% [markdown]
# In the body `x` is a tracer of the *outer* vmap: for the inner one it is not mapped. Here is what becomes
# of `x * y`, from the innermost trace to NumPy:

# %%
viz.trace_stack(table, xs, slopes)

# %% [markdown]
#
# ## vmap and jvp
#
# Transformations compose, in any order. The derivative of `f` at 3.0 is a function of one number; `vmap`
# makes it a function of many:


# %%
def slope_at(x):
    return jax.jvp(f, (x,), (1.0,))[1]


print("at 3.0:    ", slope_at(3.0))
print("everywhere:", jax.vmap(slope_at)(xs))

# %% [markdown]
# Or at *one* point, along *many* directions. The rows of the identity matrix are the directions in
# which one input moves and the others stand still. So this is the whole table of derivatives of a
# function of two numbers, in one call:


# %%
def push(direction):
    return jax.jvp(score, (rows[0],), (direction,))[1]


print(jax.vmap(push)(jnp.eye(2)))

# %% [markdown]
# Lesson 8 makes Jacobians of this.
#
# ## What vmap can't do
#
# A `BatchTracer` stands for many values. So Python can't ask it for *one*:
#
# <details><summary>Under <code>jvp</code>, Python's <code>if</code> worked. Does it under
# <code>vmap</code>?</summary>
#
# No. The tracer stands for four numbers, and the answer would be no, no, yes, yes.
# </details>

# %%
try:
    jax.vmap(lambda x: x if x > 2.0 else -x)(xs)
except jax.errors.TracerBoolConversionError as error:
    print(error)

# %% [markdown]
# Some examples would take one branch, and some the other. What works is to compute both, and choose
# element by element:

# %%
print(jax.vmap(lambda x: jnp.where(x > 2.0, x, -x))(xs))

# %% [markdown]
# ## Where tinyjax differs from JAX
#
# - Without `jit`, JAX compiles each operation; tinyjax calls NumPy for it. The rules are the same, and
#   so are the equations that they write (lesson 6), letter for letter.
#
# ## The picture
#
# A function of two arguments, of which one is mapped along its last axis and one not at all. Follow the
# batch dim from the inputs to the result.


# %%
def weighted(x, w):
    return jnp.sum(f(x) * w)


viz.vmap(weighted, rows.T, weights, in_axes=(1, None))

# %% [markdown]
# ## Summary
#
# - `vmap` runs a function of one example once, on tracers that hide the batch dim of an array.
# - Each primitive has a batching rule: from values and batch dims to a value and its batch dim.
# - What is not mapped passes by; and since rules bind primitives again, `vmap` composes with all else.
#
# Questions people ask: [is vmap as fast as a batch written by
# hand](questions.md#is-vmap-as-fast-as-a-batch-written-by-hand).
#
# ## Do you know?
#
# <details><summary>How often does <code>vmap(f)</code> call <code>f</code> for a batch of a
# thousand?</summary>
#
# Once, with tracers that look like one example.
# </details>
#
# <details><summary>Does <code>in_axes=1</code> transpose an array?</summary>
#
# Not by itself: the tracer notes which axis counts the examples, and each rule uses that. `sin` of such a
# batch is one `sin`.
# </details>
#
# <details><summary>Under <code>vmap</code> the predicate of a <code>cond</code> may differ from example
# to example. What is computed?</summary>
#
# Both branches, for all examples; then the right result is selected for each.
# </details>
#
# ## Exercises
#
# The rules, the trace, `vmap` itself; tables of each with each; and last the rule of a primitive that you
# made in lesson 1, the means of neighbours: `python -m tinyjax learn start 05`
#
# ## Where this lives in JAX
#
# - `jax/_src/interpreters/batching.py`: `BatchTracer`, `BatchTrace.process_primitive`, `defvectorized`,
#   `broadcast_batcher` (our `_broadcasting_rule`), `reducer_batcher`, `bdim_at_front`; `moveaxis` is in
#   `jax/_src/util.py`.
# - `jax/_src/lax/lax.py`: the rules of each primitive, such as `_transpose_batch_rule`.
# - `jax/_src/api.py`: `vmap`.
