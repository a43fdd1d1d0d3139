from tinyjax.studio.learn.ask import ask_first

ask_first()  # with --ask: questions come before their answers

# %% [markdown]
# # 9. Custom rules and complex numbers
#
# JAX knows the derivative of each primitive, and works out all others from these. Sometimes you
# know better. After this lesson you can
#
# - give a function your own derivative rule, a **[custom rule](glossary.md#custom-rule)**,
#   forward (`custom_jvp`) or backward (`custom_vjp`), and choose between the two;
# - say when that is needed: where the derivative that JAX works out is inexact, cannot be had, or
#   is not what you want;
# - follow such a function through `jvp`, `vmap`, `jit` and `grad`;
# - say what `grad` gives for a function of complex numbers, and which sign it has.
#
# You need [lesson 2](02_jvp.py) (JVP rules), [lesson 7](07_linearize.py) (linearize, residuals) and
# [lesson 8](08_grad.py) (transpose rules).

# %%
import inspect

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax, viz
from tinyjax.core import Primitive, impl_rules
from tinyjax.transform.custom import calls
from tinyjax.transform.jvp import jvp_rules

# %% [markdown]
# ## The running example, with a custom rule
#
# The derivative of `sin(x) * x` is `cos(x) * x + sin(x)`. Until now, JAX found that out. Now we
# say it. A function under [`jax.custom_jvp`](glossary.md#custom-jvp) asks for a [JVP
# rule](glossary.md#jvp-rule): given the [primals](glossary.md#primal) and the
# [tangents](glossary.md#tangent), the rule gives the result and its tangent.
#
# <details><summary>The rule prints a line. Which of the three calls will ask it: <code>f</code>,
# <code>jvp</code>, <code>grad</code>?</summary>
#
# The last two. The rule is about tangents alone, and yet `grad` goes by it.
# </details>


# %%
@jax.custom_jvp
def f(x):
    return jnp.sin(x) * x


@f.defjvp
def f_jvp(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    print("the rule runs")
    return f(x), x_dot * (jnp.cos(x) * x + jnp.sin(x))


print(f(3.0))
print(*jax.jvp(f, (3.0,), (1.0,)))
print(jax.grad(f)(3.0))

# %% [markdown]
# A call runs the function, and the rule is not asked. `jvp` asks it. So does `grad`, for reverse
# mode is made of `jvp`: the [lesson on `grad`](08_grad.py) linearized the jvp and
# [transposed](glossary.md#transposition) what was left. The rule says nothing of
# [cotangents](glossary.md#cotangent), and does not have to. It must be linear in the tangents, as
# each derivative is; then it can be transposed.
#
# ## Three lines are the whole idea
#
# A custom_jvp function is bound as one primitive, whose *parameters are Python functions*: the
# function and the rule. Each transformation takes the one that it needs. Here is such a primitive,
# with an impl rule and a JVP rule:

# %%
my_call_p = Primitive("my_call", impl_binds_primitives=True)
impl_rules[my_call_p] = lambda x, fun, rule: fun(x)
jvp_rules[my_call_p] = lambda primals, tangents, fun, rule: rule(primals, tangents)


def my_f(x):
    return my_call_p.bind(x, fun=lambda x: jnp.sin(x) * x, rule=f_jvp)


print(my_f(3.0))
print(*jax.jvp(my_f, (3.0,), (1.0,)))

# %% [markdown]
# (With `impl_binds_primitives` the impl rule gets tinyjax's arrays. Other rules get NumPy's; but this one
# binds other primitives.) That works, for one number at a time. `make_jaxpr`, `vmap` and `jit` need more
# rules. In tinyjax, custom_jvp and custom_vjp functions are two primitives of the same kind, and this is what
# they share:

# %%
print(inspect.getsource(calls.CallWithRules))

# %% [markdown]
# It puts rules into five tables:
#
# - `impl_rules`: as ours, it runs the function.
# - `abstract_eval_rules`: the results' avals are those of the function's jaxpr.
# - `staging_rules`: a trace that writes a jaxpr traces the function. Its derivative rules stay functions.
# - `partial_eval_rules` and `transpose_rules`: for a call whose argument is a tangent, within the rule of
#   another function. Such a call is linear, and its own derivative rule is not needed. The one runs the
#   function, and the other runs its jaxpr backwards.
#
# The JVP rule of `custom_jvp_call` is in
# [forward_rules.py](../tinyjax/transform/custom/forward_rules.py). It is ours, with one addition. While we
# differentiate `g(x, 2.0)` by `x`, the tangent of the second argument is known to be zero. Inside JAX that is
# an object [`Zero`](glossary.md#zero), not an array. Most people's rules expect arrays, and so they get
# arrays of zeros. A rule that wants to know which are zero asks for it, by `symbolic_zeros=True`. (The
# tangents of integers, of dtype `float0`, hold nothing; rules get them as they are.)
#
# What do the other transformations do with it? Look at the jaxpr:

# %%
print(jax.make_jaxpr(f)(3.0))

# %% [markdown]
# One equation. It has the function as a jaxpr, `call_jaxpr`, and it remembers the rule, of which
# only the name is printed. So the rule is there for whatever comes later:
#
# | transformation | what becomes of `custom_jvp_call` |
# |---|---|
# | none | the function runs |
# | `jvp`, and so `linearize` and `grad` | the rule runs instead |
# | `vmap` | the equation stays: now with the function batched, and the rule batched |
# | `jit` | the compiler puts the function's equations in place of the call: derivatives were taken before |
#
# The order does not matter: the derivative of the batched function is by the rule, and so is that
# of the jitted one.

# %%
print(jax.vmap(jax.grad(f))(jnp.arange(3.0)))
print(jax.grad(jax.jit(f))(3.0))

# %% [markdown]
# To see where the rule is asked for, put `breakpoint()` into `f_jvp` and run this file. In pdb,
# `up` leads from the rule to `_custom_jvp_jvp`, and from there to the trace.
#
# ## First reason: numbers that overflow
#
# The function `log(1 + exp(x))` is a smooth version of `max(x, 0)`: far to the right it is `x`,
# and its slope is 1.
#
# <details><summary>At 100 the value is 100 and the slope is 1, to seven digits. What will a float32
# say?</summary>
#
# Infinite, and no number. `exp(100)` is larger than any float32.
# </details>


# %%
def log1pexp(x):
    return jnp.log(1.0 + jnp.exp(x))


print(log1pexp(3.0), jax.grad(log1pexp)(3.0))
print(log1pexp(100.0), jax.grad(log1pexp)(100.0))

# %% [markdown]
# At 100, the result is infinite and the slope is no number. Both should be known: 100, and 1. The
# first is easily fixed: `logaddexp(x, 0)` computes the same function without large numbers
# between. What happened to the slope? Read the jaxpr, and follow the values:

# %%
print(jax.make_jaxpr(jax.grad(log1pexp))(100.0))
b = jnp.exp(100.0)
c = 1.0 + b
d = 1.0 / c
print("b =", b, " c =", c, " d =", d, " e = d * b =", d * b)

# %% [markdown]
# Each equation is right. `exp(100)` does not fit into a float32, and becomes `inf`. One over that
# is 0. And 0 times `inf` is `nan`, not a number. The chain rule multiplies the derivatives of the
# parts; here, one of them is far too large, and the other far too small. Mathematics does not
# mind, a float32 does. A way of computing that keeps away from such cases is called **[numerically
# stable](glossary.md#numerically-stable)**. We know one for the product, because we know the whole
# function: the slope is `exp(x) / (1 + exp(x))`, which is called the logistic function or sigmoid.


# %%
@jax.custom_jvp
def log1pexp(x):
    return jnp.logaddexp(x, 0.0)


log1pexp.defjvps(lambda x_dot, out, x: x_dot * jax.nn.sigmoid(x))
print(log1pexp(100.0), jax.grad(log1pexp)(100.0))

# %% [markdown]
# `defjvps` is the short way to write a rule: one function an argument, from its tangent (with the
# result, and the primals) to what it adds to the result's tangent. For an argument that moves
# nothing, write `None`.
#
# A rule is a function like others. So it is differentiated in its turn for the
# second derivative, and must be stable too. With `1 - 1 / (1 + exp(x))` in place of `sigmoid(x)`,
# the slope would be right, and the second derivative would be `nan` at 100:

# %%
xs = jnp.array([3.0, 100.0])
print("second derivatives:  ", jax.vmap(jax.grad(jax.grad(log1pexp)))(xs))
log1pexp.defjvps(lambda x_dot, out, x: x_dot * (1 - 1 / (1 + jnp.exp(x))))
print("with the other rule: ", jax.vmap(jax.grad(jax.grad(log1pexp)))(xs))

# %% [markdown]
# ## Second reason: there is nothing to differentiate
#
# Which `x` near 3 has `sin(x) * x = y`? There is no formula for it. There is a loop: Newton's
# method goes from a guess along the slope to where the line meets `y`, and again from there, until
# it is close enough.


# %%
def f(x):  # the plain one again
    return jnp.sin(x) * x


def inverse(y):
    """The x near 3 with f(x) = y."""
    return lax.while_loop(
        lambda x: abs(f(x) - y) > 1e-6,
        lambda x: x - (f(x) - y) / jax.grad(f)(x),
        3.0,
    )


x = inverse(0.5)
print(x, f(x))
try:
    jax.grad(inverse)(0.5)
except ValueError as error:
    print(error)

# %% [markdown]
# (`lax.while_loop(condition, body, start)` is a loop inside a jaxpr. The [lesson on
# `while_loop`](13_cond_and_while.py) is about it.) Reverse mode cannot go through the loop, for
# the reason given. And even where it can, it would be a waste: the road to the answer does not
# matter, only the answer. That `x` is *implied* by `f(x) = y`; such an `x` is called an **[implicit
# function](glossary.md#implicit-function)** of `y`. Move `y` by a little `y_dot`. Then `f(x)` must
# move by as much:
#
#     f'(x) * x_dot = y_dot         so        x_dot = y_dot / f'(x)
#
# No loop in it. That is the rule:

# %%
inverse = jax.custom_jvp(inverse)


@inverse.defjvp
def inverse_jvp(primals, tangents):
    (y,), (y_dot,) = primals, tangents
    x = inverse(y)
    return x, y_dot / jax.grad(f)(x)


print("by the rule:       ", jax.grad(inverse)(0.5))
print("by two near points:", round(float(inverse(0.501) - inverse(0.499)) / 0.002, 3))
print("second derivative: ", jax.grad(jax.grad(inverse))(0.5))
print("of a batch:        ", jax.vmap(jax.grad(inverse))(jnp.array([0.3, 0.4, 0.5])))

# %% [markdown]
# Look at the second derivative. The rule calls `inverse` again, not the loop, so differentiating it uses the
# rule once more. This is the pattern for solvers of all kinds: equations, minima, steady states.
# (`jax.lax.custom_root` writes such a rule for you.)
#
# With several numbers, dividing by a slope becomes multiplying by the inverse of a matrix. Exercise 09.2
# does that for a *fixed point*, an `x` that a step leaves where it is: how it moves with what the step
# depends on.

# %%
from practice.fixed_point import fixed_point


def step(x, a):
    return jnp.tanh(a * x[::-1]) + 1.0


a, start = jnp.array([0.5, 0.2]), jnp.zeros(2)
x = fixed_point(step, a, start)
print(jnp.round(x, 4), "is", jnp.round(step(x, a), 4))
print(jnp.round(jax.jacrev(fixed_point, argnums=1)(step, a, start), 4))

# %% [markdown]
# ## Third reason: another gradient, on purpose
#
# Sometimes the backward pass should do something that is no derivative at all. When gradients
# explode during training, people cut them. Forward, this function does nothing. Backward, it cuts
# what comes:
#
# <details><summary><code>clip_gradient</code> returns its argument. At 3.0, the slope of
# <code>f</code> is -2.83. What is that of <code>f(clip_gradient(x))</code>?</summary>
#
# -1. The value is that of `f`; what goes back is cut.
# </details>


# %%
@jax.custom_vjp
def clip_gradient(x):
    return x


def clip_gradient_fwd(x):
    return x, None  # the result, and what the backward pass will need: nothing


def clip_gradient_bwd(residuals, ct):
    return (jnp.clip(ct, -1.0, 1.0),)  # a cotangent for each argument


clip_gradient.defvjp(clip_gradient_fwd, clip_gradient_bwd)
print(jax.grad(f)(3.0))
print(jax.grad(lambda x: f(clip_gradient(x)))(3.0))

# %% [markdown]
# The cotangent that came back to `clip_gradient` was -2.83, and left it as -1. As a rule about tangents
# this could not be written: clipping is not linear, so it is no jvp of anything. (Exercise 09.5 limits the
# length of a whole tree of gradients, as one does in training.)
#
# [`custom_vjp`](glossary.md#custom-vjp) takes two functions. `fwd` runs where the function would,
# and gives the result and [residuals](glossary.md#residual), whatever `bwd` needs later. `bwd` is
# given the residuals and the cotangent of the result, and gives a tuple with a cotangent for each
# argument. (`None` stands for a zero.) The running example once more, with prints that show who
# runs when:
#
# <details><summary>When do <code>fwd</code> and <code>bwd</code> run: both at <code>jax.vjp</code>, both
# when its function is called, or one at each?</summary>
#
# One at each. What `fwd` has kept is all that `bwd` gets of the first half, besides the cotangent.
# </details>


# %%
@jax.custom_vjp
def f_back(x):
    return jnp.sin(x) * x


def f_fwd(x):
    print("fwd")
    s = jnp.sin(x)
    return s * x, (s, x)


def f_bwd(residuals, ct):
    print("bwd")
    s, x = residuals
    return (ct * (jnp.cos(x) * x + s),)


f_back.defvjp(f_fwd, f_bwd)
y, f_vjp = jax.vjp(f_back, 3.0)
print("between the two, y =", y)
print(f_vjp(1.0))

# %% [markdown]
# How does that fit into `grad` = jvp + linearize + transpose? By a trick. The JVP rule runs `fwd`. For
# the tangent it binds a primitive that stands for "some linear function of the tangent", and the
# transpose rule of *that* is `bwd`. With one array in, and one out, it takes two rules of two lines
# (exercise 09.3). In [rule_by_transpose.py](practice/rule_by_transpose.py) the first primitive is
# `with_vjp`, and the other `linear`:

# %%
from practice.rule_by_transpose import with_vjp_p


def f_small(x):
    return with_vjp_p.bind(x, fun=f, fwd=f_fwd_small, bwd=lambda slope, ct: ct * slope)


def f_fwd_small(x):
    return f(x), jnp.cos(x) * x + jnp.sin(x)


print(jax.make_jaxpr(lambda x, x_dot: jax.jvp(f_small, (x,), (x_dot,))[1])(3.0, 1.0))
print(jax.grad(f_small)(3.0))

# %% [markdown]
# The real ones (both are exercise 09.4) take any number of arguments, of results and of residuals. The
# primitives are `custom_vjp_call` and [`custom_lin`](glossary.md#custom-lin):

# %%
print(jax.make_jaxpr(lambda x, x_dot: jax.jvp(f_back, (x,), (x_dot,)))(3.0, 1.0))

# %% [markdown]
# `custom_lin` cannot be run, for nobody knows what it does. But it can be *transposed*, and its
# transpose is `bwd`. Its first `num_res` operands are the residuals, here `s` and `x`; the rest
# are tangents. Those that are zero from the start are no operands, and `in_zeros` says which those
# are. Its transpose rule calls `bwd` with the residuals and the cotangents, and hands on what
# `bwd` gives: to each tangent that is an operand its cotangent, and `None` to each residual. In
# all other tables, the entry of `custom_lin` is a function that raises an error.
#
# Here are both passes at 3.0, with the value of each equation. On the left `f_fwd`, on the right
# `f_bwd`, and between them the residuals:

# %%
viz.transpose(f_back, 3.0)

# %% [markdown]
# So forward mode has nothing to run, and says so:

# %%
try:
    jax.jvp(f_back, (3.0,), (1.0,))
except TypeError as error:
    print(error)

# %% [markdown]
# Which one to take?
#
# | | `custom_jvp` | `custom_vjp` |
# |---|---|---|
# | you say | how tangents go forward | how cotangents come back, from what was kept |
# | forward mode, `jacfwd`, `hessian` | yes | no |
# | reverse mode, `grad` | yes, by transposition | yes |
# | may do what is no derivative | no: it must be linear in the tangents | yes |
# | you choose what is kept in memory | no | yes: the residuals |
#
# In doubt, take `custom_jvp`. Both accept pytrees, and both accept arguments that are no arrays,
# such as functions: name them by `nondiff_argnums`. To take away a derivative altogether there is
# `lax.stop_gradient`: its tangent is zero.
#
# ## Complex numbers
#
# A complex number `x + iy` is two floats in one value, of dtype `complex64`; in Python, `3 + 1j`.
# Sine and product are defined for them, so the running example is too.

# %%
z = 3.0 + 1.0j
print(f(z), jnp.asarray(z).dtype)
try:
    jax.grad(f)(z)
except TypeError as error:
    print(error)

# %% [markdown]
# Why does `grad` refuse? A function from a complex number to a complex number has two inputs and
# two outputs. Its derivative is four numbers, a matrix of 2 x 2. Let us look at them. `jvp` has no
# trouble: a tangent is a small step, and here a step can go along the real axis (1) or along the
# imaginary one (1j).


# %%
def matrix(fun, z):
    """How (real, imaginary) of the result move with the real part of z, and with the imaginary."""
    (_, along_real), (_, along_imag) = (jax.jvp(fun, (z,), (t,)) for t in (1.0 + 0j, 1j))
    return jnp.array([[along_real.real, along_imag.real], [along_real.imag, along_imag.imag]])


print(matrix(f, z))
print(matrix(jnp.conj, z))

# %% [markdown]
# The first matrix has only two different numbers, but for a sign: `[[a, -b], [b, a]]`. That is
# what multiplication by `a + bi` does. So one complex number says it all, and it is the derivative
# `cos(z) * z + sin(z)` that we know. Functions for which that holds everywhere are called
# **[holomorphic](glossary.md#holomorphic)**: sums, products, `sin`, `exp`. The second matrix is that
# of the conjugate, `x - iy`. It is no multiplication, and no single number describes it. The same
# goes for `abs`, `real` and `imag`.
#
# JAX cannot see which kind a function is. So you promise:

# %%
print(jax.grad(f, holomorphic=True)(z), jnp.cos(z) * z + jnp.sin(z))

# %% [markdown]
# If you promise and it is not true, you get a number that means little. No one checks.
#
# The other case that comes up is a *real* function of complex numbers: a loss, say. Then there are
# two slopes, one along each part of `z`, and `grad` puts them into one complex number, with a
# minus sign: for `u(x + iy)`,
#
#     grad(u) = du/dx - i du/dy

# %%
loss = lambda z: jnp.abs(z) ** 2  # noqa: E731  (x * x + y * y)
print(jax.grad(loss)(z))

# %% [markdown]
# The slopes at 3 + 1j are 6 and 2, and `grad` says `6-2j`. Why the minus? Because it makes both
# cases one: the real part of a holomorphic function has the gradient that the function has.

# %%
print(jax.grad(lambda z: f(z).real)(z), jax.grad(f, holomorphic=True)(z))

# %% [markdown]
# To go downhill you need `6+2j`, the direction in which the loss grows fastest. So take the
# conjugate:

# %%
z_right = z_wrong = z
for _ in range(3):
    z_right -= 0.3 * jnp.conj(jax.grad(loss)(z_right))
    z_wrong -= 0.3 * jax.grad(loss)(z_wrong)
    print("with conj:", z_right, "  without:", z_wrong)

# %% [markdown]
# Without it, the real part shrinks and the imaginary part grows. (PyTorch gives the conjugate,
# with which one can go downhill at once. Mind the difference when you carry over a program.)
#
# The sign comes from two small transpose rules. Transposition in JAX does not conjugate. The
# transpose of `real` turns the cotangent of the real part, a real number, into one of the complex
# number. For `u = real(z)` the slopes are 1 along `x` and 0 along `y`, so the cotangent 1 must
# become `1 - 0i`. What must it become for `imag`? The last exercise is about that.

# %%
print(jax.grad(jnp.real)(z), jax.grad(jnp.imag)(z))

# %% [markdown]
# ## Where tinyjax differs from JAX
#
# Names, printed jaxprs and error classes are those of JAX, and are compared with it by tests.
# `optimize_remat` of `custom_vjp` is accepted and does nothing here. JAX has `custom_lin` too, and
# there as here you meet it only if you look.
#
# ## The picture
#
# The gradient of `inverse`. The call is drawn as a closed box: the loop is inside of it, and its result is
# all that the derivative needs. What computes the slope stands outside. (`open_calls=True`, the default,
# opens the box; [lesson 13](13_cond_and_while.py) draws loops.) To walk through it, event by event (first,
# the whole lesson runs):
#
# ```sh
# python -m tinyjax step tutorials/09_custom_rules.py:inverse --args 0.5 --transform grad
# ```

# %%
viz.dot(jax.make_jaxpr(jax.grad(inverse))(0.5), open_calls=False)

# %% [markdown]
# ## Summary
#
# - A custom rule is a parameter of one primitive that calls the function; each transformation
#   takes what it needs.
# - `custom_jvp` says how tangents go forward, and reverse mode is its transpose; `custom_vjp`
#   gives both halves of reverse mode.
# - `grad` of a real function of `x + iy` is `du/dx - i du/dy`; go downhill along its conjugate.
#
# Questions people ask: [what nondiff_argnums is
# for](questions.md#what-is-nondiff_argnums-of-custom_vjp-for).
#
# ## Do you know?
#
# <details><summary><code>custom_jvp</code> serves both modes. When do you need <code>custom_vjp</code>
# instead?</summary>
#
# If the backward pass cannot be had by transposing a rule for tangents: to clip a gradient, say, or to
# choose what is kept in memory. `jvp` of such a function is an error.
# </details>
#
# <details><summary>What do the two functions of a <code>custom_vjp</code> return?</summary>
#
# The forward one returns the result and the residuals. The backward one takes residuals and cotangent,
# and returns a tuple: a cotangent for each argument.
# </details>
#
# <details><summary>What is <code>grad</code> of <code>z.real**2 + 3 * z.imag**2</code> at 1 +
# 2i?</summary>
#
# 2 - 12i, which is `du/dx - i du/dy`. To go downhill, step against its conjugate.
# </details>
#
# ## Exercises
#
# `python -m tinyjax learn start 09` makes a folder in which these functions are empty, for you to
# write again.
#
# ## Where this lives in JAX
#
# - `jax/_src/custom_derivatives.py`: `custom_jvp`, `custom_vjp`, `custom_gradient`,
#   `closure_convert`, `linear_call`
# - `jax/_src/ad_util.py`: `Zero`, `SymbolicZero`, `stop_gradient_p`;
#   `jax/_src/interpreters/ad.py`: `custom_lin_p`
# - `jax/_src/api.py`: `grad` and its checks for `holomorphic`; `jax/_src/lax/lax.py`: `real_p`,
#   `imag_p`, `conj_p`
