from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 2. jvp: a value carries its tangent
#
# After this lesson you can push a derivative through a function by hand; write the trace that does it for
# any function; and teach it your own primitive by writing a derivative rule.
#
# You need lesson 1: [primitive](glossary.md#primitive), [rule](glossary.md#rule),
# [trace](glossary.md#trace) and [tracer](glossary.md#tracer). Of derivatives you need one sentence:
#
# > The derivative of `f` at `x` is how fast `f(x)` moves when `x` moves.
#
# If `x` moves by a very small step, `f(x)` moves by the derivative times that step.
#
# ## Why not just try it?
#
# That sentence suggests a way to find a derivative: take a small step, and look.
#
# <details><summary>The smaller the step, the better the slope? Which of these seven steps comes nearest,
# and what does the smallest one give?</summary>
#
# 0.001 comes nearest. With 1e-7 the slope is 0: the nearest float32 to `3.0 + 1e-7` is 3.0 itself.
# </details>

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def f(x):
    return jnp.sin(x) * x


for step in [0.1, 0.01, 0.001, 1e-4, 1e-5, 1e-6, 1e-7]:
    print(f"step {step:<6}  slope {float((f(3.0 + step) - f(3.0)) / step):.6f}")

print("truly        slope", jax.jvp(f, (3.0,), (1.0,))[1])

# %% [markdown]
# With a large step the answer is wrong because `f` is no straight line. With a small step it is wrong
# because two nearly equal numbers of 7 digits are subtracted, and few digits are left. In between three
# digits are right. The last line has all digits, and there is no step in it. How?
#
# ## By hand
#
# `f` is made of two operations, `sin` and `mul`. Of each we know how it moves:
#
# - `sin(x)` moves by `cos(x)` times the movement of `x`.
# - A product is like the area of a rectangle. If side `x` grows by a little, the area grows by that
#   little times `y`; if side `y` grows, by that little times `x`; if both do, by the sum
#   (the corner, little times little, is too small to count).
#
# So walk through `f` line by line, and beside each value write down how fast it moves. We begin with `x`,
# which is 3, and moves at speed 1:

# %%
import numpy as np

x, x_dot = 3.0, 1.0
s, s_dot = np.sin(x), np.cos(x) * x_dot
y, y_dot = s * x, s_dot * x + s * x_dot

print(f"x = {x:9.6f}   moves at {x_dot:9.6f}")
print(f"s = {s:9.6f}   moves at {s_dot:9.6f}")
print(f"y = {y:9.6f}   moves at {y_dot:9.6f}")

# %% [markdown]
# That is all of **[forward mode](glossary.md#forward-mode)**: derivatives that go the same way as the
# values. Three more words for it:
#
# - The value itself is the **[primal](glossary.md#primal)**.
# - How fast it moves is its **[tangent](glossary.md#tangent)**; in code it is written with a dot,
#   `x_dot`. A tangent has the shape and dtype of its primal.
# - What one primitive does to a pair of primal and tangent is its **[JVP rule](glossary.md#jvp-rule)**.
#
# (**[JVP](glossary.md#jvp)** is short for *Jacobian-vector product*. You will see why in lesson 8; until
# then, read it as "push a tangent through".)
#
# Nothing but Python's operators is needed for that: in exercise 02.1 you write a number that carries its
# tangent along, and find out by yourself how a quotient moves.
#
# ## The trace that does it
#
# We did two things to each operation: computed the value, and computed the tangent. A trace can do that
# for us. Its tracer carries the pair:

# %%
from tinyjax import core, lax
from tinyjax.core import primitives


class Pair(core.Tracer):
    def __init__(self, trace, primal, tangent):
        self._trace, self.aval = trace, core.get_aval(primal)
        self.primal, self.tangent = primal, tangent


# %% [markdown]
# Next the rules, a function for each primitive. A rule is given primals and tangents of all operands, and
# gives primal and tangent of the result:


# %%
def sin_rule(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    return lax.sin(x), lax.mul(x_dot, lax.cos(x))


def mul_rule(primals, tangents):
    (x, y), (x_dot, y_dot) = primals, tangents
    return lax.mul(x, y), lax.add(lax.mul(x_dot, y), lax.mul(x, y_dot))


def add_rule(primals, tangents):
    (x, y), (x_dot, y_dot) = primals, tangents
    return lax.add(x, y), lax.add(x_dot, y_dot)


rules = {primitives.sin_p: sin_rule, primitives.mul_p: mul_rule, primitives.add_p: add_rule}

# %% [markdown]
# And the trace. For each primitive it takes the operands apart, calls the rule, and wraps what comes
# out. A number such as the `2.0` in `2.0 * x` is no `Pair`: it does not move, and so its tangent is 0.


# %%
class PairTrace(core.Trace):
    def __init__(self, parent):
        self.parent = parent

    def process_primitive(self, primitive, args, params):
        primals = [x.primal if isinstance(x, Pair) else x for x in args]
        tangents = [x.tangent if isinstance(x, Pair) else 0.0 for x in args]
        with core.set_current_trace(self.parent):
            return Pair(self, *rules[primitive](primals, tangents, **params))


def push(function, x, x_dot):
    """The value of a function of one argument, and how fast it moves if x moves at x_dot."""
    trace = PairTrace(core.context.trace)
    with core.set_current_trace(trace):
        out = function(Pair(trace, x, x_dot))
    return out.primal, out.tangent


print(push(f, 3.0, 1.0))

# %% [markdown]
# There it is: twenty lines, and `f` is differentiated without being touched.
#
# One line deserves a second look: `with core.set_current_trace(self.parent)`. The rules bind primitives
# themselves. These must not come back to our trace, or each `mul` would ask `mul_rule`, which binds
# `mul`, and so on for ever. They go to the **[parent](glossary.md#parent)**, the trace that was current
# when ours began: here `EvalTrace`, which computes. Lesson 3 is about what happens when the parent is
# something else.
#
# `push` fails with a `KeyError` on functions that contain, say, `cos`: there is no rule for it yet. Add
# one, and try `push(jnp.cos, 3.0, 1.0)`.
#
# The work is done by rules, so `push` knows all functions that can be made of primitives with rules,
# loops and branches included. Whatever Python does around them is simply done:


# %%
def power(x, n):
    out = 1.0
    for _ in range(n):
        out = out * x
    return out


print("x**5 at 2:", push(lambda x: power(x, 5), 2.0, 1.0))
print("should be:", 2.0**5, 5 * 2.0**4)

# %% [markdown]
# ## The real one
#
# `jax.jvp(fun, primals, tangents)` does what `push` does, for any number of arguments, of any shape. The
# tangents say in which direction the arguments move.
#
# <details><summary>A rectangle of 2 by 3. How fast does its area move if both sides move at speed 1? And
# if both move at speed 2?</summary>
#
# At speed 5, 3 for the width and 2 for the height; and at speed 10. It is a product, but its *tangent*
# has no product of two speeds in it.
# </details>


# %%
def area(width, height):
    return width * height


print("width moves:  ", jax.jvp(area, (2.0, 3.0), (1.0, 0.0)))
print("height moves: ", jax.jvp(area, (2.0, 3.0), (0.0, 1.0)))
print("both move:    ", jax.jvp(area, (2.0, 3.0), (1.0, 1.0)))
print("twice as fast:", jax.jvp(area, (2.0, 3.0), (2.0, 2.0)))

# %% [markdown]
# The tangent of the result is *linear* in the tangents: the third line is the sum of the first two, and
# the fourth is twice the third. One run gives one direction. To know how a function of a million
# weights moves with each of them, you would need a million runs; for that there is a better way, in
# lesson 8. For a few directions, one run each is just right: if both sides are measured with errors, how
# exact is the area? That is exercise 02.5.
#
# For arrays, each element has its own speed:

# %%
x = jnp.array([0.0, 1.0, 2.0, 3.0])
print("all move:          ", jax.jvp(f, (x,), (jnp.ones(4),))[1])
print("only the last moves:", jax.jvp(f, (x,), (jnp.array([0.0, 0.0, 0.0, 1.0]),))[1])

# %% [markdown]
# ## The real rules
#
# They are in a table like ours, and there is one for nearly every primitive:

# %%
from tinyjax.transform import jvp as jvp_module

print(len(jvp_module.jvp_rules), "rules")
print([str(p) for p in list(jvp_module.jvp_rules)[:11]])

# %% [markdown]
# Most rules have one form: each operand adds its share to the tangent. `mul_rule` above is a sum of two
# shares. So tinyjax, as JAX, lets you write the shares alone: one function for each operand, from its
# tangent and the primals to its share. `defjvp` makes a rule of them.
#
# In lesson 1 we made a primitive `cube`, and `jvp` complained that it has no rule. Now we can help. The
# derivative of `x**3` is `3 * x**2`:

# %%
from tinyjax.transform.jvp import defjvp

cube_p = core.Primitive("cube")
cube_p.def_impl(lambda x: x * x * x)
cube_p.def_abstract_eval(lambda x: x)

defjvp(cube_p, lambda x_dot, x: lax.mul(x_dot, lax.mul(3.0, lax.mul(x, x))))

print(jax.jvp(cube_p.bind, (2.0,), (1.0,)))
print(jax.jvp(lambda x: f(cube_p.bind(x)), (2.0,), (1.0,)))

# %% [markdown]
# We wrote one rule for one primitive, and every function that contains it has a derivative. The rule is
# written with functions of `lax`, not of NumPy: it binds primitives, and so it can itself be
# differentiated, batched and compiled. (It is for float32 alone: `lax` is strict, and takes Python's `3.0`
# for a float32. The operators of arrays convert a number: `x_dot * 3.0 * x * x` is for all floats.)
#
# A rule needs no formula of its primitive. Where a planet is on its ellipse has to be searched for: in
# exercise 02.4 you find out how the answer moves, without another search.
#
# ## What does not move
#
# Our `push` handles `2.0 * f(x)` correctly, but wastes work. Let us look at what is computed.
# `make_jaxpr` writes down the operations instead of computing them (lesson 6); each line is one
# primitive.
#
# <details><summary>Our <code>push</code> and <code>jax.jvp</code> give the same numbers for <code>2.0 *
# f(x)</code>. Which of them does more operations, and which ones?</summary>
#
# `push` does two more: a product with 0.0, which is the tangent of `2.0`, and the addition of that
# product.
# </details>


# %%
def g(x):
    return 2.0 * f(x)


print(jax.make_jaxpr(lambda x: push(g, x, 1.0))(3.0))
print(jax.make_jaxpr(lambda x: jax.jvp(g, (x,), (1.0,)))(3.0))

# %% [markdown]
# Ours multiplies by the tangent of `2.0`, which is 0, and adds the product. The real one has two
# operations less. It knows that `2.0` does not move, and says so by a **[Zero](glossary.md#zero)**: an
# object that stands for a tangent of zeros, without memory and without arithmetic. (`add_any` is the
# addition of two tangents of one value.)

# %%
print(jvp_module.zero_tangent(2.0))
print(jvp_module.zero_tangent(np.ones((2, 3), np.float32)))

# %% [markdown]
# In `defjvp`'s rules, an operand whose tangent is a Zero has no share. If all are Zeros, no rule is
# called at all. At the very end, `jvp` makes an array of a Zero that is left, so that you never see
# one:

# %%
print(jax.jvp(lambda x: jnp.cos(1.0), (3.0,), (1.0,)))

# %% [markdown]
# Three more kinds of rules cover most of the table:
#
# - **Linear primitives**, such as `neg`, `reduce_sum`, `reshape`: the tangent goes the same way as
#   the primal. The sum of an array moves by the sum of the movements.
# - **Steps**, such as comparisons and rounding: the result stays where it is until it jumps. The
#   tangent is Zero.
# - **Integers** do not move smoothly at all. Their tangents have a dtype of their own, `float0`, which
#   holds nothing (NumPy prints it as `[('float0', 'V')]`).
#
# <details><summary>1.4 moves at speed 1: how fast does it move when it is rounded? And which dtype has
# the tangent of an <code>argmax</code>?</summary>
#
# It does not move, until it jumps. And `float0`: an index cannot move a little.
# </details>

# %%
v, v_dot = jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 10.0, 100.0])
print("the sum moves by        ", jax.jvp(jnp.sum, (v,), (v_dot,))[1])
print("1.4, rounded, moves by  ", jax.jvp(jnp.round, (1.4,), (1.0,))[1])
print("which is largest? Tangent", jax.jvp(jnp.argmax, (v,), (v_dot,))[1].dtype)

# %% [markdown]
# ## What it costs
#
# A product becomes three products and a sum; a sine becomes a sine, a cosine and a product. Whatever
# the function, value and tangent together take a small number of times what the value takes alone. And
# nothing has to be remembered: when a line is done, its pair is there, and what came before can be
# forgotten.
#
# Let us watch the real one at work. Each JVP rule binds its own primitives:

# %%
from tinyjax import viz

with viz.record() as recording:
    jax.jvp(f, (3.0,), (1.0,))

depth = {None: -1}
for event in recording.events:
    depth[event.number] = depth[event.parent] + 1
    if event.stage in ("bind", "jvp rule"):
        results = ", ".join(f"{value.role} {value.text}".strip() for value in event.results)
        print("    " * depth[event.number] + f"{event.stage} {event.name}: {results}")

# %% [markdown]
# Walk through it yourself: `python -m tinyjax step tutorials/wave.py:slope --args 3.0`.
#
# ## Where tinyjax differs from JAX
#
# In this lesson, nearly nowhere. `jvp`, `JVPTrace`, `JVPTracer`, `Zero`, `defjvp` and the form of the
# rules are JAX's. JAX has rules for more primitives, and its error messages differ in wording.
#
# As a picture: each box shows primal and tangent of its result.

# %%
viz.jvp(f, 3.0)

# %% [markdown]
# ## Summary
#
# - A tangent is how fast a value moves; it is pushed through a program one primitive at a time.
# - A JVP rule takes primals and tangents, gives primal and tangent; it is linear in the tangents.
# - The result is exact, costs a few times the function, and is for one direction at a time.
#
# ## Do you know?
#
# <details><summary>A function has a thousand arguments. How many runs of <code>jvp</code> give all
# partial derivatives?</summary>
#
# A thousand: each run is for one direction. Reverse mode (lesson 8) needs one run.
# </details>
#
# <details><summary>What is saved where a tangent is a <code>Zero</code>?</summary>
#
# The rule of that operand is not called, and nothing is added for it. Constants cost nothing.
# </details>
#
# <details><summary>Why does a rule call <code>mul</code> and <code>cos</code>, and not NumPy?</summary>
#
# They bind, so the trace from before sees them: it may differentiate the rule again, or batch it. NumPy's
# functions pass every trace by.
# </details>
#
# ## Exercises
#
# Write the real rules: `python -m tinyjax learn start 02`. The trace itself, `JVPTrace`, is
# waiting in lesson 3, and the function `jvp` in lesson 4: in your copy of the file they call finished ones.
#
# ## Where this lives in JAX
#
# - `jax/_src/interpreters/ad.py`: `jvp`, `JVPTrace`, `JVPTracer`, `Zero`, `defjvp`, `instantiate_zeros`.
# - `jax/_src/lax/lax.py`: the rules, each beside its primitive; look for `ad.defjvp(sin_p, ...)`.
# - `jax/_src/api.py`: `jvp`, which users call.
