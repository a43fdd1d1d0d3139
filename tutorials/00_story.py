# %% [markdown]
# # 0. The whole story in one sitting
#
# JAX takes a function of yours and gives you its derivative, its version for batches, or machine code for it.
# This page builds all three, small but whole, on NumPy alone, in less than an hour. Each piece has the name
# of the real one; a comment says of which file of [tinyjax](../tinyjax) it is a sketch. You need Python,
# NumPy, and an idea of what a derivative is. Where there is a question, answer it before you open it.
#
# Or write it yourself: `python -m tinyjax learn start 00` makes a copy of this file with 22 blanks of a line
# or two, and `python -m tinyjax learn watch` judges them whenever you save it.
#
# ## Operations: one door for all
#
# A [primitive](glossary.md#primitive) is an operation with a name. `bind` applies it, but computes nothing:
# it hands it to whoever is in charge, the current [trace](glossary.md#trace). With no transformation at work,
# that is `EvalTrace`, which calls NumPy.

# %%
from collections import namedtuple
from contextlib import contextmanager, suppress
from functools import reduce
from shutil import which

import numpy as np


class Primitive:  # core/bind.py
    def __init__(self, name): self.name = name
    def bind(self, *args, **params): return context.trace.process_primitive(self, args, params)

class EvalTrace:
    def process_primitive(self, primitive, args, params):
        return impl_rules[primitive](*map(np.float32, args), **params)
class context: trace = EvalTrace()

@contextmanager
def set_current_trace(trace):
    before, context.trace = context.trace, trace
    try: yield
    finally: context.trace = before

class Tracer:
    """Stands for a value while a trace is at work; functions compute with it as if it were one."""
    __array_ufunc__ = None  # NumPy is to leave `array * tracer` to us
    def __add__(self, other): return add(self, other)
    def __radd__(self, other): return add(other, self)
    def __mul__(self, other): return mul(self, other)
    def __rmul__(self, other): return mul(other, self)
    def __neg__(self): return neg(self)
    def __sub__(self, other): return add(self, -other)
    def __rsub__(self, other): return add(other, -self)

# %% [markdown]
# Seven primitives will do. What they *mean* stands in tables, one a transformation; the first is for
# `EvalTrace`. (`broadcast` repeats an array along a new axis. `add` and `mul` take arrays of one shape, so a
# single number is repeated first. Python's own numbers fit as they are.)

# %%
primitives = [Primitive(name) for name in "sin cos neg add mul reduce_sum broadcast".split()]
sin_p, cos_p, neg_p, add_p, mul_p, reduce_sum_p, broadcast_p = primitives
sin, cos, neg, reduce_sum, broadcast = [primitives[i].bind for i in (0, 1, 2, 5, 6)]  # core/primitives.py
impl_rules = dict(zip(primitives, [np.sin, np.cos, np.negative, np.add, np.multiply, np.sum]))
impl_rules[broadcast_p] = lambda x, axis, size: np.repeat(np.expand_dims(x, axis), size, axis)

def add(x, y): return add_p.bind(repeated(x, shape_of(y)), repeated(y, shape_of(x)))
def mul(x, y): return mul_p.bind(repeated(x, shape_of(y)), repeated(y, shape_of(x)))
def shape_of(x): return getattr(x, "shape", ())
def is_number(x): return isinstance(x, (int, float))
def f(x): return sin(x) * x

def repeated(x, shape):
    assert () in (shape_of(x), shape) or shape_of(x) == shape, f"{shape_of(x)} does not fit {shape}"
    if shape_of(x) == () and not is_number(x):
        for size in reversed(shape): x = broadcast(x, axis=0, size=size)
    return x

print(f(3.0))

# %% [markdown]
# ## jvp: a value carries its tangent
#
# If `x` moves, how fast does `f(x)` move? Let each value carry its speed along: its
# [tangent](glossary.md#tangent). The value itself is called *primal* then. For a primitive, we need to know
# how its result moves if *one* operand does: one rule for each operand. Their sum is the tangent of the
# result. `JVPTrace` does that to each primitive. What the rules bind goes to `parent`, in charge before.

# %%
class JVPTracer(Tracer):  # transform/jvp.py
    def __init__(self, trace, primal, tangent):
        self.trace, self.primal, self.tangent, self.shape = trace, primal, tangent, shape_of(primal)

def owns(trace, x): return getattr(x, "trace", None) is trace  # was it this very trace that made x?

class JVPTrace:
    def __init__(self, parent): self.parent = parent
    def primal_and_tangent(self, x):
        return (x.primal, x.tangent) if owns(self, x) else (x, None)  # None: it does not move
    def process_primitive(self, primitive, args, params):
        primals, tangents = zip(*map(self.primal_and_tangent, args))
        with set_current_trace(self.parent):
            out = primitive.bind(*primals, **params)
            tangent = tangent_out(jvp_rules[primitive], tangents, primals, params)
            return out if tangent is None else JVPTracer(self, out, tangent)

def tangent_out(rules, tangents, primals, params):
    parts = [rule(t, *primals, **params) for rule, t in zip(rules, tangents) if t is not None]
    return reduce(add, parts) if parts else None

def sin_jvp(t, x): return mul(t, cos(x))
def cos_jvp(t, x): return neg(mul(t, sin(x)))
def mul_jvp_x(t, x, y): return mul(t, y)  # how x * y moves if x does
def mul_jvp_y(t, x, y): return mul(x, t)  # and if y does

jvp_rules = {
    sin_p: [sin_jvp],
    cos_p: [cos_jvp],
    neg_p: [lambda t, x: neg(t)],
    add_p: [lambda t, x, y: t, lambda t, x, y: t],
    mul_p: [mul_jvp_x, mul_jvp_y],
    reduce_sum_p: [lambda t, x, axis: reduce_sum(t, axis=axis)],
    broadcast_p: [lambda t, x, axis, size: broadcast(t, axis=axis, size=size)],
}

def jvp(fun, primals, tangents):
    trace = JVPTrace(context.trace)
    with set_current_trace(trace):
        out = fun(*[JVPTracer(trace, x, t) for x, t in zip(primals, tangents)])
    primal, tangent = trace.primal_and_tangent(out)
    return primal, np.zeros(shape_of(primal), np.float32) if tangent is None else tangent

print(*jvp(f, (3.0,), (1.0,)), " by hand:", np.cos(3.0) * 3.0 + np.sin(3.0))

# %% [markdown]
# A derivative is a function too, and has a derivative. Then two `JVPTrace`s work, one in the other.
#
# <details><summary>In the line "not confused", <code>x</code> moves in the outer <code>jvp</code> and
# <code>y</code> in the inner one. How fast does <code>x * (speed of x + y)</code> move?</summary>
#
# Inside, only `y` moves, so the speed of `x + y` is 1; and `x * 1` moves as fast as `x`: 1. Who takes the
# outer tangent of `x` for an inner one gets 2: [perturbation confusion](glossary.md#perturbation-confusion).
# Here `owns` prevents it: to the inner trace, what another trace made is a constant.
# </details>

# %%
def slope(x): return jvp(f, (x,), (1.0,))[1]

print("slope of the slope:", jvp(slope, (3.0,), (1.0,))[1])
print("not confused:", jvp(lambda x: x * jvp(lambda y: x + y, (1.0,), (1.0,))[1], (3.0,), (1.0,))[1])

# %% [markdown]
# ## vmap: a batch in place of a number
#
# Another transformation, another trace. A `BatchTracer` holds a batch along axis 0, and looks to your
# function like one example. The rules apply the primitive to the whole batch: nothing loops.
#
# <details><summary>Below, <code>xs</code> has three numbers. What shape does <code>slope</code> see, and how
# often is it called?</summary>
#
# `()`, as for one number: a `BatchTracer` leaves the first axis out of its shape. It is called once.
# </details>

# %%
class BatchTracer(Tracer):  # transform/batching.py
    def __init__(self, trace, val): self.trace, self.val, self.shape = trace, val, shape_of(val)[1:]

class BatchTrace:
    def __init__(self, parent, size): self.parent, self.size = parent, size
    def batch_of(self, x):  # what is the same for all examples is repeated
        return x.val if owns(self, x) else x if is_number(x) else broadcast(x, axis=0, size=self.size)
    def process_primitive(self, primitive, args, params):
        with set_current_trace(self.parent):
            if not any(owns(self, x) for x in args): return primitive.bind(*args, **params)
            return BatchTracer(self, batch_rules[primitive](*map(self.batch_of, args), **params))

batch_rules = {p: p.bind for p in primitives[:5]}  # these do the same to every element
def reduce_sum_batch(x, axis): return reduce_sum(x, axis=axis + 1)
batch_rules[reduce_sum_p] = reduce_sum_batch
batch_rules[broadcast_p] = lambda x, axis, size: broadcast(x, axis=axis + 1, size=size)

def vmap(fun):
    def vmap_f(*args):
        trace = BatchTrace(context.trace, shape_of(args[0])[0])
        with set_current_trace(trace):
            out = fun(*[BatchTracer(trace, x) for x in args])
        return trace.batch_of(np.float32(out) if is_number(out) else out)
    return vmap_f

xs = np.float32([1, 2, 3])
print(vmap(slope)(xs))

# %% [markdown]
# ## make_jaxpr: the program as data
#
# This trace computes nothing: it takes notes. Each primitive becomes an equation of a
# [jaxpr](glossary.md#jaxpr). Its tracers have a shape and no value, so the program holds for all values. What
# shape a result has, a table says: `abstract_eval_rules`.

# %%
Jaxpr = namedtuple("Jaxpr", "consts invars eqns outvars")  # core/jaxpr.py
JaxprEqn = namedtuple("JaxprEqn", "primitive invars params outvar")  # operands: variables, or numbers

class Var:
    def __init__(self, shape): self.shape = shape
class JaxprTracer(Tracer):  # core/tracing.py
    def __init__(self, trace, var): self.trace, self.var, self.shape = trace, var, var.shape

class JaxprTrace:
    def __init__(self): self.consts, self.invars, self.eqns = {}, [], []
    def new_arg(self, x):
        self.invars.append(Var(shape_of(x)))
        return JaxprTracer(self, self.invars[-1])
    def atom(self, x):  # what stands for x in the jaxpr; an array from outside becomes a const
        if owns(self, x) or is_number(x): return x.var if owns(self, x) else x
        v = next((v for v, value in self.consts.items() if value is x), Var(shape_of(x)))
        self.consts[v] = x
        return v
    def process_primitive(self, primitive, args, params):
        out = Var(abstract_eval_rules[primitive](*map(shape_of, args), **params))
        self.eqns.append(JaxprEqn(primitive, [self.atom(x) for x in args], params, out))
        return JaxprTracer(self, out)
    def finish(self, *outs): return Jaxpr(self.consts, self.invars, self.eqns, [*map(self.atom, outs)])

abstract_eval_rules = {p: lambda *shapes: max(shapes, key=len) for p in primitives[:5]}  # () or equal
def reduce_sum_shape(shape, axis): return (*shape[:axis], *shape[axis + 1:])
abstract_eval_rules[reduce_sum_p] = reduce_sum_shape
abstract_eval_rules[broadcast_p] = lambda shape, axis, size: (*shape[:axis], size, *shape[axis:])

def make_jaxpr(fun):
    def make(*args):
        trace = JaxprTrace()
        with set_current_trace(trace):
            out = fun(*[trace.new_arg(x) for x in args])
        return trace.finish(*(out if isinstance(out, tuple) else [out]))
    return make
print(*[eqn.primitive.name for eqn in make_jaxpr(f)(3.0).eqns])

# %% [markdown]
# To look at it, give each variable a letter, and a type: `f32[3]` is three float32s. These lines only print.

# %%
def names_in(jaxpr):  # core/pretty_printer.py
    variables = [*jaxpr.consts, *jaxpr.invars, *(eqn.outvar for eqn in jaxpr.eqns)]
    letters = (f"{letter}{n}" for n in ["", *range(99)] for letter in "abcdefghijklmnopqrstuvwxyz")
    name = dict(zip(variables, letters))
    return lambda v: name[v] if isinstance(v, Var) else str(float(v))

def show(jaxpr):
    name = names_in(jaxpr)
    def typed(v): return f"{name(v)}:f32[{','.join(map(str, v.shape))}]"
    print("{ lambda", *map(typed, jaxpr.consts), ";", *map(typed, jaxpr.invars), ". let")
    for p, invars, params, outvar in jaxpr.eqns:
        print("   ", typed(outvar), "=", p.name, *map(name, invars), *params.items())
    print("  in", *map(name, jaxpr.outvars), "}")

show(make_jaxpr(f)(3.0))

# %% [markdown]
# ## linearize: what is known, now; the rest, later
#
# A jaxpr runs by binding its equations one by one, so any trace can transform it again. That is `eval_jaxpr`.
#
# A jaxpr can also be made of the tangents alone. `LinearizeTrace` is a `JVPTrace` that gets what its rules
# bind. What needs primals alone, it has computed now; what needs a tangent waits, and is written down. That
# part is [linear](glossary.md#linear): sums, and products with known numbers. So three traces are at work:
#
# ```text
#                f binds sin and mul
#                        |
#                 LinearizeTrace           the current trace: its jvp rules bind more
#                  /            \
#      no operand has         an operand has
#         a tangent             a tangent
#             |                     |
#         EvalTrace            JaxprTrace
#      computes it now       writes it down
# ```
#
# <details><summary>The derivative of <code>f</code> has a sine and a cosine. Which has to wait?</summary>
#
# Neither: they need no tangent. They were computed at once, and their values are the consts `a` and `b`.
# </details>

# %%
def eval_jaxpr(jaxpr, *args):  # core/jaxpr.py
    env = jaxpr.consts | dict(zip(jaxpr.invars, args))
    for eqn in jaxpr.eqns: eval_eqn(eqn, env)
    return [env.get(v, v) for v in jaxpr.outvars]

def eval_eqn(eqn, env):  # what is not in env is a number, and its own value
    env[eqn.outvar] = eqn.primitive.bind(*[env.get(v, v) for v in eqn.invars], **eqn.params)

class LinearizeTrace(JVPTrace):  # transform/linearize.py
    def __init__(self, known, unknown): self.parent, self.known, self.unknown = self, known, unknown
    def process_primitive(self, primitive, args, params):
        if any(owns(self, x) for x in args): return super().process_primitive(primitive, args, params)
        return self.trace_for(args).process_primitive(primitive, args, params)
    def trace_for(self, args): return self.unknown if any(owns(self.unknown, x) for x in args) else self.known

def linearize(fun, x):
    trace = LinearizeTrace(context.trace, JaxprTrace())
    with set_current_trace(trace):
        out = fun(JVPTracer(trace, x, trace.unknown.new_arg(x)))
    primal, tangent = trace.primal_and_tangent(out)
    return primal, trace.unknown.finish(0.0 if tangent is None else tangent)

y, linear = linearize(f, 3.0)
show(linear)
print("consts:", *linear.consts.values(), " tangent 1.0 becomes", *eval_jaxpr(linear, 1.0))

# %% [markdown]
# ## transpose: backwards, to grad
#
# A million inputs would take a million tangents. But a linear program can also be run *backwards*: say how
# much the result counts, and find how much each value before it does, its [cotangent](glossary.md#cotangent).
# If `z` is `2 * x` and counts 1, then `x` counts 2. What is used twice gets the sum of both.

# %%
# transform/transposition.py: a cotangent for each operand. One that waits has no value: x is its Var.
def mul_transpose(ct, x, y): return [mul(ct, y), None] if isinstance(x, Var) else [None, mul(x, ct)]
def reduce_sum_transpose(ct, x, axis): return [broadcast(ct, axis=axis, size=x.shape[axis])]

transpose_rules = {
    neg_p: lambda ct, x: [neg(ct)],
    add_p: lambda ct, x, y: [ct, ct],
    mul_p: mul_transpose,
    reduce_sum_p: reduce_sum_transpose,
    broadcast_p: lambda ct, x, axis, size: [reduce_sum(ct, axis=axis)],
}

def backward_pass(jaxpr, ct):
    cts = {jaxpr.outvars[0]: ct}
    for p, invars, params, outvar in reversed(jaxpr.eqns):
        if outvar in cts:
            args = [jaxpr.consts.get(v, v) for v in invars]
            for v, ct in zip(invars, transpose_rules[p](cts[outvar], *args, **params)):
                if ct is not None: accumulate(cts, v, ct)
    return cts.get(jaxpr.invars[0], np.zeros(jaxpr.invars[0].shape, np.float32))

def accumulate(cts, v, ct): cts[v] = add(cts[v], ct) if v in cts else ct

def vjp(fun, x):  # transform/vjp.py
    out, linear = linearize(fun, x)
    return out, lambda ct: backward_pass(linear, ct)

def grad(fun):
    def grad_f(x, *others):
        out, pullback = vjp(lambda x: fun(x, *others), x)
        assert shape_of(out) == (), "grad is for functions whose result is one number"
        return pullback(1.0)
    return grad_f

print(grad(f)(3.0), grad(grad(f))(3.0), *jvp(grad(f), (3.0,), (1.0,)))
print(grad(lambda x: reduce_sum(f(x), axis=0))(xs), vmap(grad(f))(xs))
show(make_jaxpr(lambda x, ct: backward_pass(linearize(f, x)[1], ct))(3.0, 1.0))

# %% [markdown]
# The backward pass has become equations, which any trace can process: all of this nests. Here it is for `a` =
# 3 and a cotangent `b` of 1: blue forwards, yellow backwards, dashed what the second half has of the first.
#
# ![The gradient of sin(x) * x at 3.0](rendered/figures/08_grad_1.svg)
#
# ## jit: one kernel for all of it
#
# A chain of elementwise equations becomes one [kernel](glossary.md#kernel), a function in OpenCL C for a
# single element. The device runs it once for each: a *work-item*, with `get_global_id(0)` as its number. What
# NumPy writes to memory, as all sines, is a variable here. (`float *x`? [C in ten lines](11_lowering.py).)
#
# <details><summary><code>slopes</code> has seven equations, too. How many become lines of C?</summary>
#
# Six. The value of the function itself is unused, and what is unused is left out.
# </details>

# %%
c_text = dict(zip(primitives, ["sin({})", "cos({})", "-({})", "{} + {}", "{} * {}"])) | {broadcast_p: "{}"}

def fuse(jaxpr):  # compile/fusion/fuse.py: what the result needs, or None if that is not elementwise
    eqns, needed = [], set(jaxpr.outvars)
    for eqn in reversed(jaxpr.eqns):
        if eqn.outvar in needed: eqns, needed = [eqn, *eqns], needed | set(eqn.invars)
    shapes = set(map(shape_of, jaxpr.outvars))  # of the results: one for all
    is_fused = len(shapes) == 1 and set(map(shape_of, needed)) <= shapes | {()}
    return eqns if is_fused and all(eqn.primitive in c_text for eqn in eqns) else None

def load_line(letter, v): return f"const float {letter} = {letter}_in[{'item' if v.shape else 0}];"
def eqn_line(eqn, name):
    return f"const float {name(eqn.outvar)} = {c_text[eqn.primitive].format(*map(name, eqn.invars))};"

def codegen(jaxpr, eqns):  # compile/codegen/codegen.py
    name, inputs = names_in(jaxpr), [*jaxpr.consts, *jaxpr.invars]
    pointers = [f"global const float *{name(v)}_in" for v in inputs]
    pointers += [f"global float *out{i}" for i in range(len(jaxpr.outvars))]
    lines = [f"kernel void fused({', '.join(pointers)}) {{", "const int item = get_global_id(0);"]
    lines += [load_line(name(v), v) for v in inputs] + [eqn_line(eqn, name) for eqn in eqns]
    lines += [f"out{i}[item] = {name(v)};" for i, v in enumerate(jaxpr.outvars)]
    return "\n  ".join(lines) + "\n}"

slopes = make_jaxpr(vmap(grad(f)))(xs)
print(codegen(slopes, fuse(slopes)))

# %% [markdown]
# What is left: to find a device's driver (*platform*) and *queue*, to copy to and fro, and to keep programs.
#
# <details><summary>The last line calls <code>both</code> with 3.0, with 4.0 and with three numbers. How often
# does it print?</summary>
#
# Twice: `jit` calls a function to trace it. 4.0 has the shape of 3.0, so the program is there already.
# </details>

# %%
try:
    import pyopencl as cl
    assert which("ld"), "PoCL, the driver that pip installs, needs a linker"
    platform = min(cl.get_platforms(), key=lambda p: "Portable" not in p.name)  # PoCL, if it is there
    device = platform.get_devices()[0]
    with suppress(ImportError):  # a processor newer than PoCL needs a name that PoCL knows
        from tinyjax.runtime.pocl.processor import name_processor
        name_processor(device)
    queue = cl.CommandQueue(cl.Context([device]))
    cl.Program(queue.context, "kernel void none() {}").build()
except Exception as error:
    queue = None
    print(f"NumPy runs the jaxprs: there is no OpenCL here ({str(error)[:36] or type(error).__name__})")

def launch(kernel, inputs, shape, count):  # runtime/queue.py
    outs = [np.empty(shape, np.float32) for _ in range(count)]
    arrays, copy = [np.array(x, np.float32) for x in [*inputs, *outs]], cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(queue.context, copy, hostbuf=x) for x in arrays]
    kernel(queue, (outs[0].size,), None, *buffers)
    for out, buffer in zip(outs, buffers[len(inputs):]): cl.enqueue_copy(queue, out, buffer)
    return outs

def compiled(jaxpr):  # compile/lowered.py, runtime/executable.py
    eqns, outvars = fuse(jaxpr), jaxpr.outvars
    if eqns is None or queue is None:
        return lambda *args: eval_jaxpr(jaxpr, *args)
    program = cl.Program(queue.context, codegen(jaxpr, eqns)).build("-cl-single-precision-constant")
    kernel, consts, shape = program.fused, [*jaxpr.consts.values()], shape_of(outvars[0])
    return lambda *args: launch(kernel, [*consts, *args], shape, len(outvars))

def key_of(args): return tuple(map(shape_of, args))  # for other shapes, it is another program

def jit(fun):  # transform/jit/api.py
    programs = {}
    def jit_f(*args):
        if not isinstance(context.trace, EvalTrace): return fun(*args)  # inside of another transformation
        if key_of(args) not in programs: programs[key_of(args)] = compiled(make_jaxpr(fun)(*args))
        outs = programs[key_of(args)](*args)
        return outs[0] if len(outs) == 1 else tuple(outs)
    return jit_f

@jit
def both(x):
    print("both is called")
    return f(x), -f(x) - 1

print(jit(grad(f))(3.0), jit(vmap(grad(f)))(xs), grad(jit(f))(3.0))
print(*both(3.0), *both(4.0), *both(xs))

# %% [markdown]
# That is the whole story. What is missing here, the lessons tell; begin with the [first](01_primitives.py).
#
# | here | in [tinyjax](../tinyjax) | where there is more to it | lesson |
# |---|---|---|---|
# | `bind`, `EvalTrace` | `core/bind.py` | dtypes; errors that say what to do | [1](01_primitives.py) |
# | `jvp` | `transform/jvp.py` | dicts and classes of arrays | [2](02_jvp.py), [3](03_nesting.py) |
# | `vmap` | `transform/batching.py` | any axis; axes with names | [5](05_vmap.py) |
# | `make_jaxpr` | `core/tracing.py` | types; the line of your program | [6](06_jaxprs.py) |
# | `linearize` | `transform/linearize.py` | rules of jit, loops | [7](07_linearize.py) |
# | `backward_pass`, `grad` | `transform/transposition.py`, `vjp.py` | calls, loops | [8](08_grad.py) |
# | `jit` | `transform/jit/` | a primitive, so that it nests | [10](10_jit.py) |
# | `fuse`, `codegen` | `compile/` | sums, loops; what pays | [11](11_lowering.py), [12](12_fusion.py) |
# | `launch` | `runtime/queue.py` | memory used again; nobody waits | [17](17_device.py) |
#
# ## Exercises
# Blanks in a copy of this file, of a line or two and a minute each. `python -m tinyjax learn start 00` makes
# the copy, and `python -m tinyjax learn watch` judges it whenever you save it.
