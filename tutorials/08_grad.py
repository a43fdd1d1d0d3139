from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 8. vjp, grad, Jacobians
#
# After this lesson you can say what `grad` does, step by step, with no magic left: `linearize`, and then
# a walk backwards. You can write the rule by which an operation is walked backwards. And you can choose
# between `grad`, `jacfwd`, `jacrev` and a Hessian-vector product.
#
# You need [lesson 7](07_linearize.py) (`linearize`), and from [lesson 5](05_vmap.py) that `vmap` makes
# batches.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import viz


def f(x):
    return jnp.sin(x) * x


print("f(3.0)       ", f(3.0))
print("its gradient ", jax.grad(f)(3.0))
print("by hand      ", f"{(f(3.01) - f(2.99)) / 0.02:.2f}")

# %% [markdown]
# ## One result, many inputs
#
# `jvp` pushes *one* direction through a function. That is fine for one input. But a network has a million
# inputs (its parameters) and *one* result (the loss), and you want to know how the loss moves with each
# of them. That would take a million directions.
#
# The other way round it takes one pass. Start at the result, and ask backwards: what counts, and how
# much?
#
# <details><summary>The sum of <code>f</code> over a thousand inputs is one result. About how many numbers
# have to be computed to find all slopes: a direction at a time, and backwards?</summary>
#
# Nine million, and eight thousand. Each of the thousand directions goes through the whole function, and
# takes nine thousand. Backwards goes through it once.
# </details>

# %%
from collections import Counter


def loss(v):
    return jnp.sum(f(v))


def by_directions(v):
    return jax.vmap(lambda direction: jax.jvp(loss, (v,), (direction,))[1])(jnp.eye(v.size))


v = jnp.arange(1.0, 1001.0)
print("equal:", jnp.allclose(by_directions(v), jax.grad(loss)(v), atol=1e-2))

for name, fun in [("directions", by_directions), ("backwards", jax.grad(loss))]:
    sizes = Counter(eqn.outvars[0].aval.size for eqn in jax.make_jaxpr(fun)(v).eqns)
    print(f"{name:10} computes {sum(n * size for size, n in sizes.items()):,} numbers")

# %% [markdown]
# ## Running backwards
#
# Only linear functions can be run backwards, and [lesson 7](07_linearize.py) gave us a linear function.
# Take a small one:
#
#     z = 2 * x + 5 * y
#
# *Forwards*, you say how far `x` and `y` move, and get how far `z` moves: that is a
# [tangent](glossary.md#tangent). *Backwards*, you say how much `z` counts, and get how much `x` and `y`
# count. If `z` counts 1, then `x` counts 2, and `y` counts 5. If `z` counts 10, they count 20 and 50.
#
# This is a **[cotangent](glossary.md#cotangent)**: how much the final result changes, for each unit by
# which a value changes. Each value has a tangent, which comes from the inputs, and a cotangent, which
# comes from the result.
#
# Now every linear operation can be run backwards, by its own rule:
#
# | forwards | backwards, given the cotangent `ct` of `z` |
# |---|---|
# | `z = -x` | `x` gets `-ct` |
# | `z = x + y` | both get `ct` |
# | `z = x * 5` | `x` gets `ct * 5` |
# | `z = sum(x)` | each element of `x` gets `ct`: the cotangent is *copied* |
# | `z` is `x`, copied three times | `x` gets the *sum* of the three cotangents |
# | `z = x` reshaped, or transposed | `ct` goes back into the shape of `x` |
#
# Sums become copies, and copies become sums. Remember this pair, for most mistakes are made there.
#
# If you know matrices: a linear function is `A @ x`. Backwards it is `A.T @ ct`. That is why running
# backwards is called **[transposition](glossary.md#transposition)**.


# %%
def small(x):  # from two numbers to three
    return jnp.array([2 * x[0] + 5 * x[1], 3 * x[1], x[0]])


forwards = jax.vmap(small)(jnp.eye(2)).T
(backwards,) = jax.vmap(jax.linear_transpose(small, jnp.ones(2)))(jnp.eye(3))
print("A   =", forwards.tolist())
print("A.T =", backwards.T.tolist())

# %% [markdown]
# ## Transpose rules
#
# The rules stand in a table, like all rules. A **[transpose rule](glossary.md#transpose-rule)** takes the
# cotangent of the result, the operands and the parameters. It gives a list (or tuple) with a cotangent
# for each operand.
#
# An operand can be linear. Then it has no value, as the function does not run forwards: the rule gets an
# `UndefinedPrimal`, which has an aval alone. Or an operand is known, as the 5 in `x * 5`. It has a value, and
# its cotangent is `None`.
#
# <details><summary>Forwards, <code>reduce_sum</code> makes one number of three. What does it make
# backwards of the cotangent 7.0?</summary>
#
# Three sevens: each element counts as much as the sum does.
# </details>

# %%
from tinyjax.core import get_aval, primitives
from tinyjax.transform.transposition import UndefinedPrimal, transpose_rules

x = UndefinedPrimal(get_aval(jnp.ones(3)))
ct = jnp.array([1.0, 10.0, 100.0])

print("neg:         ", transpose_rules[primitives.neg_p](ct, x))
print("x * 5:       ", transpose_rules[primitives.mul_p](ct, x, 5.0))
print("x + x:       ", transpose_rules[primitives.add_p](ct, x, x))
print("reduce_sum:  ", transpose_rules[primitives.reduce_sum_p](7.0, x, axes=(0,)))

# %% [markdown]
# One thing is easy to forget. Many operations stretch an operand: a number times an array, or a row of
# shape `(1, 3)` plus a matrix of shape `(2, 3)`. Stretching is copying. So the rule has to *add up* what
# belongs to the copies, until the cotangent has the shape of the operand again. In tinyjax this is done
# by `unbroadcast(aval, ct)`:

# %%
from tinyjax.transform.transposition import unbroadcast

matrix = jnp.arange(6.0).reshape(2, 3)
print("cotangent of the result: ", matrix.tolist())
print("operand of shape (1, 3): ", unbroadcast(get_aval(jnp.ones((1, 3))), matrix).tolist())
print("operand of shape ():     ", unbroadcast(get_aval(1.0), matrix).tolist())

# %% [markdown]
# A product of *two* linear operands, such as `x * x`, is not linear at all, and the rule says so. That
# can't happen after `linearize`: there, one of the two is always known.
#
# ## The backward pass
#
# Here is what `linearize` leaves of `f` at 3.0. It is the linear jaxpr of [lesson 7](07_linearize.py):

# %%
from tinyjax.transform.linearize import linearize_flat

_, linearized = linearize_flat(lambda x: [f(x)], [jnp.float32(3.0)])
a, b, c = (float(r) for r in linearized.residuals)
print(linearized.jaxpr)
print("residuals: a =", a, " b =", b, " c =", c)

# %% [markdown]
# `d` is the direction, and `h` the tangent of the result. We walk from the last equation to the first.
# The result counts 1. Each line below undoes one equation:

# %%
ct_h = 1.0
ct_f = ct_h  # h = add_any f g: both get it
ct_g = ct_h
ct_d = ct_g * c  # g = mul c d
ct_e = ct_f * b  # f = mul e b
ct_d = ct_d + ct_e * a  # e = mul d a: d was used before! so add
print(ct_d)

# %% [markdown]
# That is the derivative. Look at `d` once more. It is used by two equations, so it moves the result in
# two ways, and what it counts is the *sum* of both. Using a value twice is copying it, and copies become
# sums. In the picture below you will find this place as a separate node.
#
# This is the **[backward pass](glossary.md#backward-pass)**, and exercise 08.4 makes a loop of it. On
# notes, as [lesson 7](07_linearize.py) has split them, it takes ten lines, and gives what each name
# counts. With it, the toys of lessons 6 to 8 are a `grad`: write down the jvp, run what is known, and
# the rest backwards.

# %%
from practice.note_trace import take_notes
from practice.notes_backwards import run_backwards
from practice.run_notes import run_notes
from practice.split_notes import filled_in, split_notes

notes = take_notes(lambda x, direction: jax.jvp(f, (x,), (direction,))[1], 3.0, 1.0)
now, later, _ = split_notes(notes.equations, known={"a"})
later = filled_in(later, run_notes(now, {"a": 3.0}))
print(*later, sep="\n")
print(run_backwards(later, notes.result, 1.0))

# %% [markdown]
# `b` is the direction here, and counts what `d` did above. `backward_pass` does the same for every linear
# jaxpr (exercise 08.5). Each linear value has an **[accumulator](glossary.md#accumulator)**, in which its
# cotangents are added up. It is an `UndefinedPrimal` that can count:

# %%
from tinyjax.transform.transposition import ValAccum, backward_pass

accum = ValAccum(get_aval(1.0))
accum.accum(jnp.float32(2.0))
accum.accum(jnp.float32(3.0))
print(accum, "has", accum.freeze())

accums = [ValAccum(v.aval) for v in linearized.jaxpr.invars]
backward_pass(linearized.jaxpr, linearized.residuals, accums, [1.0])
print(accums, "has", accums[0].freeze())

# %% [markdown]
# It takes the jaxpr, the values of its constvars (the [residuals](glossary.md#residual)), its arguments
# (an accumulator for each linear one), and a cotangent for each result. What it does:
#
# 1. **Forwards**: go through the equations. Those without a linear operand are computed: now and then,
#    residuals are combined with each other. Of the others, note the operands, and make an accumulator for
#    each result.
# 2. Give each result of the jaxpr its cotangent. (A variable may be there twice: it adds up.)
# 3. **Backwards**: for each noted equation, from the last to the first, take what its results' accumulators
#    have by now. That is complete: the equations that use a value come after the one that makes it,
#    and have been gone through. If it is nothing, nothing that counts depends on it: skip the equation.
#    Else call the rule, and add the cotangents that it returns to the operands' accumulators.
# 4. The accumulators of the jaxpr's arguments have the answer. They may hold sums before the pass begins: in
#    a loop, each iteration adds to what the others have added.
#
# A cotangent that is zero is a [`Zero`](glossary.md#zero), as for tangents: no memory, no arithmetic.
#
# ## grad, by hand
#
# We have all the parts. `grad` is: linearize at the arguments, run backwards from a cotangent of 1.


# %%
def my_grad(fun):
    def gradient(x):
        _, linearized = linearize_flat(lambda x: [fun(x)], [x])
        accum = ValAccum(get_aval(x))
        backward_pass(linearized.jaxpr, linearized.residuals, [accum], [1.0])
        return accum.freeze()

    return gradient


print(my_grad(f)(3.0), jax.grad(f)(3.0))
print(my_grad(my_grad(f))(3.0), jax.grad(jax.grad(f))(3.0))

# %% [markdown]
# It nests, because every part of it binds primitives: the rules, the additions, and the known half of
# `linearize`.
#
# Other libraries keep a *tape*: a list of all operations that ran, to be played backwards. There is none
# here. What is kept is a small program and its residuals. And where that program is written into a jaxpr,
# nothing but equations is left:
#
# <details><summary>Where in the jaxpr of <code>grad(f)</code> is the transposition?</summary>
#
# Nowhere: its rules have run, and what they bound is here. The products after `_` are the backward pass,
# in the order in which it went.
# </details>

# %%
print(jax.make_jaxpr(jax.grad(f))(3.0))

# %% [markdown]
# ## vjp: results of any shape
#
# `grad` needs one number as a result, for only then "a cotangent of 1" makes sense.
# [`vjp`](glossary.md#vjp) (vector-Jacobian product) is the general form. It gives the result, and a
# function that waits for a cotangent of the result's shape. That function gives a tuple with the
# cotangent of each argument:


# %%
def scaled(x, factor):
    return {"scaled": x * factor, "total": jnp.sum(x)}


out, pull_back = jax.vjp(scaled, jnp.arange(3.0), 2.0)
print(out)
print(pull_back({"scaled": jnp.ones(3), "total": 0.0}))
print(pull_back({"scaled": jnp.zeros(3), "total": 1.0}))

# %% [markdown]
# Around it, `grad` adds what one needs every day:
#
# - `argnums`: which arguments to differentiate by. The others are constants.
# - Arguments may be pytrees; the gradient is a tree of the same structure.
# - `value_and_grad` gives the value too: it was computed anyway.
# - `has_aux=True`: the function returns `(result, anything else)`.


# %%
def squared_error(params, xs, ys):
    guess = params["slope"] * xs + params["offset"]
    return jnp.mean((guess - ys) ** 2)


params = {"slope": 1.0, "offset": 0.0}
xs, ys = jnp.arange(4.0), 3.0 * jnp.arange(4.0) + 1.0
for _ in range(200):
    value, gradient = jax.value_and_grad(squared_error)(params, xs, ys)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient)
print(f"error {value:.1e}, slope {params['slope']:.3f}, offset {params['offset']:.3f}")

# %% [markdown]
# Where did the 0.1 come from? Somebody tried. With 0.3 the error grows without end. Exercise 08.8 finds
# the rate by itself: it halves it until a step makes the error as much smaller as the gradient promises,
# or half of that.

# %%
from practice.descent import descent_step

params, rate = {"slope": 1.0, "offset": 0.0}, 1.0
for _ in range(5):
    params, rate = descent_step(lambda p: squared_error(p, xs, ys), params, rate)
    print(f"rate {rate}, error {squared_error(params, xs, ys):.4f}")

# %% [markdown]
# All of these need one result, and inputs that can move a little. `grad` checks both:
#
# <details><summary><code>grad(f)</code> works at 3.0. Does it at three numbers, and at the integer
# 3?</summary>
#
# Neither: three results have no single slope, and an integer cannot move a little.
# </details>

# %%
for wrong in (lambda: jax.grad(f)(jnp.ones(3)), lambda: jax.grad(f)(3)):
    try:
        wrong()
    except TypeError as error:
        print("TypeError:", error)

# %% [markdown]
# ## Jacobians
#
# A function from several numbers to several numbers has a whole table of derivatives, its
# **[Jacobian](glossary.md#jacobian)**: a row for each result, a column for each input.
#
# - A `jvp` along the direction in which one input moves gives one *column*. `jacfwd` does all of them
#   with `vmap`.
# - A `vjp` with a cotangent in which one result counts gives one *row*. `jacrev` does all of them with
#   `vmap`.


# %%
def g(v):
    return jnp.array([v[0] * v[1], jnp.sin(v[0]) + v[1], v[2]])


v = jnp.array([3.0, 2.0, 1.0])
columns = jax.vmap(lambda direction: jax.jvp(g, (v,), (direction,))[1], out_axes=1)(jnp.eye(3))
rows = jax.vmap(lambda cotangent: jax.vjp(g, v)[1](cotangent)[0])(jnp.eye(3))
print(columns)
print("the same:", jnp.allclose(columns, rows), jnp.allclose(rows, jax.jacrev(g)(v)))

# %% [markdown]
# Both give the same table. Few inputs and many results: take `jacfwd`. Many inputs and few results: take
# `jacrev`. If the arguments or results are arrays, the table of each pair has the shape
# `result.shape + argument.shape`:
#
# <details><summary>A function from shape (2, 3) to shape (3,): which shape has its Jacobian?</summary>
#
# (3, 2, 3): for each result, a slope for each input.
# </details>

# %%
print(jax.jacrev(lambda m: jnp.sum(m, axis=0))(jnp.ones((2, 3))).shape)

# %% [markdown]
# ## Second derivatives
#
# The gradient of a function of n numbers is a function from n numbers to n numbers. Its Jacobian is the
# **[Hessian](glossary.md#hessian)**: how each entry of the gradient moves with each input. `hessian(fun)`
# is `jacfwd(jacrev(fun))`.
#
# For a million inputs the Hessian has a million times a million entries. But often you only need it
# *times a vector*: how the gradient moves if all inputs move in one direction. That is a `jvp` of `grad`,
# and costs a few times what the function costs. The table is never made:


# %%
def hvp(fun, x, direction):
    """The Hessian of `fun` at `x`, times `direction`."""
    return jax.jvp(jax.grad(fun), (x,), (direction,))[1]


def bumpy(v):
    return jnp.sum(f(v)) * v[0]


direction = jnp.array([1.0, 0.0, 2.0])
print(jax.hessian(bumpy)(v) @ direction)
print(hvp(bumpy, v, direction))
print("for a million numbers:", hvp(bumpy, jnp.ones(1_000_000), jnp.ones(1_000_000)).shape)

# %% [markdown]
# Where the loss is a sum of squares, `sum(r(x) ** 2) / 2`, people often leave out what comes from the
# second derivatives of `r`. What is left is `J.T @ J`, with the Jacobian `J` of `r`. Times a vector it
# is one jvp, and one vjp of what comes out. From such products alone, an equation with this matrix is solved
# (by `cg`, conjugate gradients), and with it least squares (exercise 08.9):

# %%
from practice.gauss_newton import gauss_newton_product, gauss_newton_step

table = jax.jacfwd(g)(v)
print(jnp.round(table.T @ (table @ direction), 3))
print(jnp.round(gauss_newton_product(g, v, direction), 3))


def misses(line):  # of a straight line, at four points
    return line["slope"] * jnp.arange(4.0) + line["offset"] - jnp.array([1.0, 3.1, 4.9, 7.0])


print(gauss_newton_step(misses, {"slope": 0.0, "offset": 0.0}))

# %% [markdown]
# ## Stepping through it
#
# To see the two halves happen, the forward one and the backward one, step through them:
#
# ```sh
# python -m tinyjax step tutorials/wave.py:f --args 3.0 --transform grad
# ```
#
# Or put a `breakpoint()` into a rule: every call of `grad` runs the rules, so every call stops there.
#
# ## Where tinyjax differs from JAX
#
# - JAX has two kinds of transpose rules: those that give cotangents, and "fancy" ones, which add to the
#   accumulators themselves (`fancy_transposes`). Here a rule may do either. JAX's accumulators may also be
#   Refs (`RefAccum`), so that a gradient is added up in memory that is there already.
# - In JAX an accumulator is no `UndefinedPrimal`: rules of the first kind get one instead. And JAX's
#   backward pass skips no equation: a rule also gets a cotangent that is zero, and gives zeros back.
#
# ## The picture
#
# Here is `f`, run forwards at a point `a`, and backwards from a cotangent `b`. The picture has the letters of
# this program, and the values for 3.0 and 1.0. Find the place where two cotangents are added.


# %%
def forwards_and_backwards(point, cotangent):
    y, f_vjp = jax.vjp(f, point)
    return y, *f_vjp(cotangent)


print(jax.make_jaxpr(forwards_and_backwards)(3.0, 1.0))

# %%
viz.transpose(f, 3.0)

# %% [markdown]
# ## Summary
#
# - A cotangent is how much a value counts; transposition runs a linear jaxpr backwards, by rules.
# - Copies become sums, and sums become copies: a value that is used twice adds up its cotangents.
# - `grad` is `linearize`, then a backward pass from 1; `vmap` of it gives Jacobians, `jvp` of it a
#   Hessian times a vector.
#
# ## Do you know?
#
# <details><summary>Why must the result of a function for <code>grad</code> be one number?</summary>
#
# The backward pass begins with a cotangent of 1 for it. Several results would each have a gradient of
# their own: that is `jacrev`.
# </details>
#
# <details><summary>What is the transpose of a sum? And of a broadcast?</summary>
#
# A sum becomes a broadcast: each element counts as much as the sum. A broadcast becomes a sum over the
# places that one element went to.
# </details>
#
# <details><summary>A value is used three times. What is its cotangent?</summary>
#
# The sum of the three cotangents that come back from its uses.
# </details>
#
# ## Exercises
#
# `python -m tinyjax learn start 08` makes a folder in which these functions are empty. 08.1 to 08.3 are
# transpose rules; 08.4 is the backward pass on notes, and 08.5 the real one; 08.8 and 08.9 are uses.
#
# ## Where this lives in JAX
#
# - `jax/_src/interpreters/ad.py`: `backward_pass3`, `ValAccum`, `UndefinedPrimal`, `deflinear2`,
#   `defbilinear`.
# - `jax/_src/lax/lax.py`: the rules of each primitive, such as `_reduce_sum_transpose_rule`, and
#   `_unbroadcast`.
# - `jax/_src/api.py`: `vjp`, `grad`, `value_and_grad`, `jacfwd`, `jacrev`, `hessian`.
