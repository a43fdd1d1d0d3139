from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 13. cond and while_loop
#
# After this lesson you can put a branch and a loop into a jaxpr, read them there, and say what `jvp`,
# `grad` and `vmap` make of each: which branch is run, what a batch of predicates costs, why a loop that
# does not know its length has no `grad`.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax, viz


def f(x):
    return jnp.sin(x) * x


# %% [markdown]
# ## Why `if` is not enough
#
# Take a function that goes on smoothly to the right of zero, and otherwise elsewhere.


# %%
def with_if(x):
    if x > 0:
        return f(x)
    return x * x


print(with_if(3.0), with_if(-3.0))

# %% [markdown]
# Eagerly that is fine: `x > 0` is an array with a value, and Python asks it for that value. While
# [tracing](06_jaxprs.py) there is none. A [tracer](glossary.md#tracer) stands for all values that may come,
# and `if` wants a single yes or no.

# %%
try:
    jax.make_jaxpr(with_if)(3.0)
except jax.errors.TracerBoolConversionError as error:
    print(error)

# %% [markdown]
# ## cond: one equation with two jaxprs
#
# `lax.cond(predicate, true_fun, false_fun, *operands)` is an `if` that can be traced. The
# **[predicate](glossary.md#predicate)** is a scalar: a bool, or a number that is not 0. Each of the
# functions is a **[branch](glossary.md#branch)**.
#
# <details><summary>In the equation of a <code>cond</code> there are two jaxprs. Which stands first: that
# for true, or that for false?</summary>
#
# That for false: the predicate becomes an index, and false is 0.
# </details>


# %%
def g(x):
    return lax.cond(x > 0, f, lambda x: x * x, x)


print(g(3.0), g(-3.0))
print(jax.make_jaxpr(g)(3.0))

# %% [markdown]
# The primitive `cond` has a parameter, `branches`: a jaxpr for each branch. Its first operand is an index
# into them. `False` is 0, so the false branch stands first. `lax.switch(index, functions, *operands)` is
# the same primitive with more branches.
#
# As a picture: each branch has a frame, and one of the two gives the result.

# %%
viz.dot(jax.make_jaxpr(g)(3.0))

# %% [markdown]
# Both branches are *traced*, always: both are in the jaxpr. One of them is *run*. We can see both facts. A
# Python `print` happens while tracing; `jax.debug.print` happens when the branch is run.


# %%
def talking(name):
    def branch(x):
        print("traced:", name)
        jax.debug.print("ran: " + name)
        return x

    return branch


lax.cond(True, talking("one"), talking("the other"), 1.0)

# %% [markdown]
# Tracing both has a price: the branches must give results of one tree, and of equal shapes and dtypes.
# Otherwise the equation could not say what its result is.

# %%
try:
    lax.cond(True, lambda x: x, lambda x: jnp.stack([x, x]), 3.0)
except TypeError as error:
    print(error)

# %% [markdown]
# ## One rule for all rules
#
# A primitive that holds jaxprs needs rules that transform jaxprs. The rules of `cond` all look alike:
# *transform each branch, and bind `cond` to the results*. Here is `jvp`. Each branch now takes a primal and
# a tangent, and gives both.

# %%
print(jax.make_jaxpr(lambda x, x_dot: jax.jvp(g, (x,), (x_dot,)))(3.0, 1.0))

# %% [markdown]
# There is one difficulty. The branches must still agree, also in whether a result *has* a tangent. In the
# next function one branch depends on `x` and the other does not. So what one branch needs, all must give:
# the second branch gives a tangent of zeros.


# %%
def half(x):
    return lax.cond(x > 0, lambda x: x / 2, lambda x: 7.0, x)


print(jax.make_jaxpr(lambda x, x_dot: jax.jvp(half, (x,), (x_dot,)))(3.0, 1.0))

# %% [markdown]
# The rule needs two passes for this. The first asks each branch which of its results have a tangent; a
# result that has one in *any* branch will have one in all. The second pass makes the branches with
# that. `jvp_jaxpr(branch, nonzeros)` is both: it gives the transformed jaxpr, and a bool for each result.

# %%
from tinyjax.transform.jvp_of_jaxpr import jvp_jaxpr

eqn = jax.make_jaxpr(half)(3.0).eqns[-1]
for branch in eqn.params["branches"]:
    print(jvp_jaxpr(branch, (True,))[1], "forced:", jvp_jaxpr(branch, (True,), (True,))[1])

# %% [markdown]
# ## grad: two conds
#
# Reverse mode is [linearize and transpose](08_grad.py). So the gradient of a `cond` is two: one runs now,
# and gives the [residuals](glossary.md#residual); one runs later, backwards, and reads them. Each takes the
# same index, so the branch that ran is the branch that is transposed.

# %%
print(jax.grad(g)(3.0), jax.grad(g)(-3.0))
print(jax.make_jaxpr(jax.grad(g))(3.0))

# %% [markdown]
# The branches must agree on the residuals too, but they have different ones: `x * x` needs `x`, and `f`
# needs `cos(x)`, `x` and `sin(x)`. So the first `cond` returns places for three float32s (`d`, `e`, `f`).
# A branch that has nothing for a place puts an `empty2` there, an array that is never read.
#
# To walk through all of this, event by event (it runs this lesson first):
#
# ```sh
# python -m tinyjax step tutorials/13_cond_and_while.py:g --args 3.0 --transform grad
# ```
#
# ## vmap: one predicate, or many
#
# With one predicate for the whole batch, `cond` stays a `cond`, of batched branches.

# %%
xs = jnp.array([3.0, -3.0, 0.5])
one_for_all = jax.vmap(lambda p, x: lax.cond(p, f, lambda x: x * x, x), in_axes=(None, 0))
print(jax.make_jaxpr(one_for_all)(True, xs))

# %% [markdown]
# With a predicate for each example, one branch will not do. All branches are run for all examples, and
# `select_n` chooses: its first operand says, element by element, which of the others to take.

# %%
print(jax.vmap(g)(xs))
print(jax.make_jaxpr(jax.vmap(g))(xs))

# %%
viz.vmap(g, xs)

# %% [markdown]
# So inside `vmap` a `cond` saves no work: if one branch is expensive, all examples pay for it.
#
# What are the lines before each branch for, `eq`, `stop_gradient` and `select_n`? They guard the gradient.
# A branch that an example does not take may have an infinite derivative there: `log` at 0, say. Its result
# is thrown away, so its cotangent is 0, and 0 times infinity is `nan`. `jnp.where` has this trap. `cond`
# under `vmap` has not: for examples that take another branch, the operand is made a constant first, by
# `stop_gradient`. No derivative goes that way at all.
#
# <details><summary>At 0, both functions take the branch <code>2 * x</code>. What is the slope there, by
# <code>where</code> and by <code>cond</code>?</summary>
#
# `nan`, and 2.
# </details>


# %%
def by_where(x):
    return jnp.where(x > 0, jnp.log(x), 2 * x)


def by_cond(x):
    return lax.cond(x > 0, jnp.log, lambda x: 2 * x, x)


points = jnp.array([2.0, 0.0])
print(jax.grad(lambda x: by_where(x).sum())(points))
print(jax.grad(lambda x: jax.vmap(by_cond)(x).sum())(points))

# %% [markdown]
# The same can be had of `where`, with one more of it: let each function see a constant where it is not
# asked. Here are three functions, and the index of the one that an example takes. (Exercise 13.3
# writes it, and 13.4 then what `vmap` makes of a `cond`.)

# %%
from practice.switch_of_many import switch_of_many

which = jnp.array([0, 1])
functions = [jnp.log, lambda x: 2 * x, jnp.sqrt]
print(jax.grad(lambda xs: switch_of_many(which, functions, xs).sum())(points))

# %% [markdown]
# ## while_loop
#
# `lax.while_loop(cond_fun, body_fun, init)` applies `body_fun` again and again, as long as `cond_fun`
# holds. What goes from one iteration to the next is the **[carry](glossary.md#carry)**. It is a pytree,
# whose shapes and dtypes stay.
#
# Where is `f` zero, near 3? Newton's method goes along the tangent line to where that is zero, `x - f(x) /
# f'(x)`, and does so again. How many steps it takes depends on the values, so tracing cannot write them
# out.


# %%
def solve(target, x):
    """An x near the given one where f(x) is the target, and the number of steps to it."""

    def goes_on(carry):
        x, _ = carry
        return abs(f(x) - target) > 1e-5

    def step(carry):
        x, steps = carry
        return x - (f(x) - target) / jax.grad(f)(x), steps + 1

    return lax.while_loop(goes_on, step, (x, 0))


x, steps = solve(0.0, 3.0)
print(f"f({x:.4f}) is zero, after {steps} steps")

# %% [markdown]
# Again one equation, with two jaxprs. `cond_jaxpr` gives the predicate, `body_jaxpr` the next carry. The
# `grad` inside the body is already done: it is a few more equations. `target` is not part of the carry. It
# is the same in each iteration; both jaxprs take it as a **[const](glossary.md#const)**, before the carry.
# (Below, `a` is the target.)

# %%
print(jax.make_jaxpr(solve)(0.0, 3.0))

# %% [markdown]
# Run eagerly, the primitive is a Python loop over these two jaxprs. Compiled, it is a loop in C. (`python
# -m tinyjax explain` shows such a kernel beside your lines of Python.)
#
# <details><summary>The body of this loop divides by 2. What will the kernel do?</summary>
#
# It multiplies by 0.5: one half is a power of two, so no bit is another (lesson 11).
# </details>


# %%
def half_until_small(x):
    return lax.while_loop(lambda x: x > 1.0, lambda x: x / 2, x)


print(jax.jit(half_until_small).lower(3.0).as_text("loop nests"))

# %% [markdown]
# This is the kernel in [tinyjax's small language](11b_kernel_to_c.py), as plain as it is at first. A `while`
# may run for ever, and a kernel can't be interrupted. So this one reads `stop` before each iteration: tinyjax
# writes there to end it, for instance after Ctrl-C.
#
# ## The jvp of a loop, and fixed points
#
# The rule for `while_loop` carries tangents along with the primals: one loop, of a longer carry. The
# condition reads the primals alone. If `target` moves a little, so does the solution: by `1 / f'(x)`.

# %%
(x, _), (x_dot, _) = jax.jvp(lambda target: solve(target, 3.0), (0.5,), (1.0,))
print(x, x_dot, 1 / jax.grad(f)(x))

# %% [markdown]
# The two agree to five digits, not seven. The loop stops when `x` is good enough; its tangent is one Newton
# step behind. That is a general truth about derivatives of loops, and one reason to write custom rules
# for [such functions](09_custom_rules.py).
#
# Which parts of the carry need a tangent? Here the first `x` has none: 3.0 is a constant. But after one
# iteration it depends on `target`, and has one. So the rule must ask again, with that part marked, until
# nothing changes any more. Such an answer is called a **[fixed point](glossary.md#fixed-point)**. Take
# a carry of four parts, of which one iteration makes the next four. A toy of it says only what is made of
# what, line by line; `after_one_round` marks what is made of something that is marked. (It is the first half
# of exercise 13.1.)

# %%
from practice.after_one_round import Body, after_one_round

from tinyjax.lax.control_flow.bodies import fixed_point

body = Body(
    takes=("a", "b", "c", "d"),
    lines=(("e", ("a",)), ("f", ("b", "e")), ("g", ("b",)), ("h", ("c",)), ("i", ())),
    gives=("i", "e", "g", "h"),
)


def one_round(has_tangent):
    after = after_one_round(body, has_tangent)
    print(has_tangent, "->", after)
    return after


print(fixed_point(one_round, (True, False, False, False)))

# %% [markdown]
# The first part is made again, of nothing that has a tangent. It keeps its mark, though: before the first
# iteration it had one. Marks are only ever added, so this ends, after at most as many rounds as there are
# parts, and one. The rules of `while_loop` and of [scan](14_scan.py) ask this question of tangents, of batch
# dims, of what is known, and of what is used. All call this one function, `fixed_point` in
# [lax/control_flow/bodies.py](../tinyjax/lax/control_flow/bodies.py) (the second half of that exercise).
#
# ## vmap: until the last one is done
#
# From different starting points Newton's method takes a different number of steps, and may end elsewhere.
# Under `vmap` there is one loop for all. Its predicate is then a vector. The loop goes on while *any*
# example goes on, and an example that is done keeps its carry.
#
# <details><summary>Newton's method from four places at once. One start is close enough already. How often
# does the loop go round, and what becomes of that one meanwhile?</summary>
#
# As often as the slowest needs, which is 4 times. The one that was done at the start is computed with,
# and keeps what it had.
# </details>

# %%
starts = jnp.array([3.0, 2.5, 6.0, 3.14159])
xs, steps = jax.vmap(solve, in_axes=(None, 0))(0.0, starts)
print(xs)
print(steps, "steps, and the loop made", max(steps))

# %% [markdown]
# The same in NumPy, to see what "keeps its carry" means. The mask is the predicate of each example.

# %%
import numpy as np

count = np.array([5, 40, 300])
while (mask := count > 20).any():
    count = np.where(mask, count // 2, count)
    print(mask, count)

# %% [markdown]
# ## No grad, and why
#
# Reverse mode runs the loop backwards, and needs the residuals of every iteration. How many there will
# be is not known when the program is made, and so neither is the memory to keep them in.

# %%
try:
    jax.grad(lambda x: solve(0.5, x)[0])(3.0)
except ValueError as error:
    print(error)

# %% [markdown]
# What to do instead: forward mode, as above; a loop of known length ([lesson 14](14_scan.py)); or
# `jax.custom_vjp`, which for a solver is also cheaper and more exact.
#
# The other thing that goes wrong is a loop that never ends. Near 100,000, say, neighbours among float32s are
# 0.008 apart: a loop that halves an interval until it is no longer than 0.001 goes on for ever. Exercise 13.5
# finds where a function is zero by halving an interval, and ends.
#
# To look at each iteration, run the loop as plain Python. Under `jax.disable_jit()` a `print` in the body,
# and pdb, see every step.


# %%
def newton_step(x):
    print(x)
    return x - f(x) / jax.grad(f)(x)


with jax.disable_jit():
    lax.while_loop(lambda x: abs(f(x)) > 1e-5, newton_step, 2.5)

# %% [markdown]
# ## Where tinyjax differs from JAX
#
# The jaxprs above are JAX's, letter for letter. What runs them is not. Called outside of `jit`, JAX
# compiles a `cond` or a loop by XLA, and runs that. tinyjax evaluates its jaxprs in Python, equation by
# equation, with NumPy; the compiler has no part in it, so that its code can be compared with what this
# gives. In compiled code, JAX hands both to XLA's own conditional and loop. In tinyjax, a small one becomes
# an `if` or a `for` in an OpenCL kernel; a large one becomes a branch or a loop in the schedule, whose body
# launches kernels.
#
# ## The picture
#
# At last the graph of a loop: body and condition both read the carry, which is green, and the dashed arrow
# brings it back for the next iteration.


# %%
def zero_near(x):
    return lax.while_loop(lambda x: abs(f(x)) > 1e-5, lambda x: x - f(x) / jax.grad(f)(x), x)


viz.dot(jax.make_jaxpr(zero_near)(3.0))

# %% [markdown]
# ## Summary
#
# - `cond` and `while_loop` are primitives whose parameters are jaxprs; all rules transform these jaxprs.
# - Branches must agree: on types, tangents, batch dims and residuals. A batch of predicates runs all.
# - A part of a carry keeps what it has once: a fixed point. With no known length there is no `grad`.
#
# Questions people ask: [the gradient of a
# while_loop](questions.md#why-cant-i-take-the-gradient-of-a-while_loop).
#
# ## Do you know?
#
# <details><summary>Why must both branches of a <code>cond</code> have results of the same
# types?</summary>
#
# It is one equation, and its outvars have one type each, whichever branch runs.
# </details>
#
# <details><summary>Why has a <code>while_loop</code> no reverse mode?</summary>
#
# How often it goes round is not known while tracing, so neither is how much memory the residuals need.
# Forward mode needs none, and works.
# </details>
#
# <details><summary>A <code>while_loop</code> under <code>vmap</code>: when does it end?</summary>
#
# When the slowest example is done. Those that are done before keep what they have.
# </details>
#
# ## Exercises
#
# Write the rules of `cond`, the fixed point that loops need, and your own loop:
# `python -m tinyjax learn start 13`
#
# ## Where this lives in JAX
#
# - `jax/_src/lax/control_flow/conditionals.py`: `cond`, `switch`, `_cond_jvp`, `_cond_batching_rule`,
#   `_cond_partial_eval`; `_merge_branch_residuals` finds the places of the residuals
# - `jax/_src/lax/control_flow/loops.py`: `while_loop`, `_while_loop_jvp`, `_while_loop_batching_rule`
