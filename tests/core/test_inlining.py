"""Eager evaluation runs the bodies of loops, branches and rules itself: the compiler has no part in it."""

import functools
import sys
from pathlib import Path

import numpy as np
import pytest
from explain_errors import explain_errors
from judged import Thrown, error_passes, raises

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.passes import rewrite_rules
from tinyjax.core import primitives
from tinyjax.core.inlining import inline_calls
from tinyjax.core.jaxpr import check_jaxpr, eval_jaxpr
from tinyjax.transform.custom import linear_call

PACKAGE = Path(jax.__file__).parent
COMPILER = [PACKAGE / "compile", PACKAGE / "runtime"]

X = jnp.array([-1.0, 2.0, 3.0])


@jax.jit
def jitted(x):
    return jnp.sin(x) * x


def library(x):
    """Of jits, for jnp.where is one in a jaxpr, and of a function with a custom rule."""
    return jnp.where(x > 0, x, x + 1) + jax.nn.relu(x)


def body(x):
    return jitted(library(x))


def linear(r, x):
    return jnp.where(r > 0, x, 2 * x)


def custom_jvp(x):
    f = jax.custom_jvp(lambda x: library(x))
    f.defjvp(lambda primals, tangents: (f(*primals), linear(*primals, *tangents)))
    return lax.map(f, x) + f(x)


def custom_vjp(x):
    f = jax.custom_vjp(lambda x: library(x))
    f.defvjp(lambda x: (library(x), x), lambda x, ct: (linear(x, ct),))
    return lax.map(f, x) + f(x)


def custom_vmap(x):
    f = jax.custom_batching.custom_vmap(lambda x: library(x))
    f.def_vmap(lambda axis_size, in_batched, x: (library(x), in_batched[0]))
    return lax.map(f, x) + f(x)


def custom_root(x):
    solve = lambda f, y: y - f(y)  # noqa: E731
    return lax.custom_root(
        lambda y: y - body(x), x, solve, lambda g, b: linear(X, b) / g(jnp.ones(3))
    )


def custom_linear_solve(x):
    solve = lambda matvec, b: linear(X, b) / matvec(jnp.ones(3))  # noqa: E731
    return lax.custom_linear_solve(lambda y: jnp.abs(x) * y, x, solve, symmetric=True)


def closure_convert(x):
    converted, consts = jax.closure_convert(lambda y: body(x * y), x)
    return converted(x, *consts)


# Each makes new functions, so that no cache has them.
PROGRAMS = {
    "cond": lambda x: lax.cond(x[0] < 0, lambda x: body(x), lambda x: x, x),
    "switch": lambda x: lax.switch(1, [lambda x: x, lambda x: body(x), lambda x: -x], x),
    "cond, batched": lambda x: jax.vmap(lambda y: lax.cond(y > 0, lambda y: body(y), jnp.cos, y))(
        x
    ),
    "scan": lambda x: lax.scan(lambda c, y: (body(c) + y, body(y)), x, x)[1],
    "map": lambda x: lax.map(lambda y: body(y), x),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, y: body(y) + i, x),
    "associative_scan": lambda x: lax.associative_scan(lambda a, b: linear(a, b), x),
    "checkpoint": lambda x: jax.checkpoint(lambda x: body(body(x)))(x),
    "checkpoint in scan": lambda x: lax.scan(jax.checkpoint(lambda c, y: (body(c), y)), x, x)[0],
    "custom_jvp": custom_jvp,
    "custom_root": custom_root,
    "custom_linear_solve": custom_linear_solve,
    "closure_convert": closure_convert,
    "linear_call": lambda x: linear_call(linear, linear, lax.stop_gradient(x), x),
    "linear_transpose": lambda x: jax.linear_transpose(lambda y: linear(x, y), x)(x)[0],
    "reduce": lambda x: lax.reduce(x, 0.0, lambda a, b: linear(a, b), (0,)),
}
NO_FORWARD_MODE = {"custom_vjp": custom_vjp}
NO_REVERSE_MODE = {
    "while_loop": lambda x: lax.while_loop(
        lambda c: jnp.where(c[0] < 3, c[0], 9) < 3, lambda c: (c[0] + 1, body(c[1])), (0, x)
    )[1],
    "fori_loop, unknown bounds": lambda x: lax.fori_loop(
        0, x[1].astype(int), lambda i, y: body(y), x
    ),
    "custom_vmap": custom_vmap,
    "reduce_window": lambda x: lax.reduce_window(x, 0.0, lambda a, b: linear(a, b), (2,)),
}


@functools.cache
def file_of_compiler(file):
    """The file within tinyjax, if it is one of the compiler; but not those that say where arrays are."""
    path = Path(file)
    is_of_compiler = any(folder in path.parents for folder in COMPILER)
    if is_of_compiler and path.name not in ("devices.py", "placement.py"):
        return path.relative_to(PACKAGE)
    return None


def compiler_calls(fun):
    """The functions of the compiler that are called, the second time that `fun` is."""
    fun()  # imports what is imported late
    found = set()

    def note(frame, event, arg):
        if event == "call" and (file := file_of_compiler(frame.f_code.co_filename)):
            found.add(f"{file}: {frame.f_code.co_name}")

    sys.setprofile(note)
    try:
        fun()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("folder", COMPILER, ids=lambda folder: folder.name)
def test_the_compiler_is_where_this_file_looks_for_it(folder):
    calls = compiler_calls(lambda: jax.jit(lambda x: library(x)).lower(X).compile()(X))
    assert any(call.startswith(folder.name) for call in calls)


def cases(*tables):
    return pytest.mark.parametrize(
        "program", [pytest.param(fun, id=name) for table in tables for name, fun in table.items()]
    )


@cases(PROGRAMS, NO_FORWARD_MODE, NO_REVERSE_MODE)
def test_eager_evaluation_never_calls_the_compiler(program):
    assert not compiler_calls(lambda: program(X))
    assert not compiler_calls(lambda: jax.vmap(program)(jnp.stack([X, X])))


@cases(PROGRAMS, NO_REVERSE_MODE)
def test_eager_jvp_never_calls_the_compiler(program):
    assert not compiler_calls(lambda: jax.jvp(program, (X,), (X,)))


@cases(PROGRAMS, NO_FORWARD_MODE)
def test_eager_grad_never_calls_the_compiler(program):
    assert not compiler_calls(lambda: jax.grad(lambda x: program(x).sum())(X))


@pytest.mark.slow
@cases(PROGRAMS)
def test_an_eager_hessian_never_calls_the_compiler(program):
    assert not compiler_calls(lambda: jax.hessian(lambda x: program(x).sum())(X))


# ---- the judge does not ask the accused ----


def half(x):
    return x * 0.5


# What each gives for 8.
HALVES = {
    "cond": (lambda x: lax.cond(x > 0, half, jnp.sin, x), 4),
    "switch": (lambda x: lax.switch(1, [jnp.sin, half], x), 4),
    "scan": (lambda x: lax.scan(lambda c, _: (half(c), None), x, length=2)[0], 2),
    "map": (lambda x: lax.map(half, x[None])[0], 4),
    "fori_loop": (lambda x: lax.fori_loop(0, 3, lambda i, c: half(c), x), 1),
    "while_loop": (
        lambda x: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, half(c[1])), (0, x))[1],
        2,
    ),
    "checkpoint": (lambda x: jax.checkpoint(half)(x), 4),
    "grad of scan": (
        jax.grad(lambda x: lax.scan(lambda c, _: (half(c) * x, None), x, length=1)[0]),
        8,
    ),
    "grad of checkpoint": (jax.grad(jax.checkpoint(lambda x: half(x) * x)), 8),
}


@cases(HALVES)
def test_a_wrong_rewrite_misleads_compiled_code_alone(monkeypatch, program):
    monkeypatch.setitem(
        rewrite_rules.RULES, "mul", [rewrite_rules.parse("mul x 0.5 | x | f | a wrong rule")]
    )
    function, right = program
    x = jnp.float32(8)
    assert float(function(x)) == right
    assert float(jax.jit(function)(x)) != right


# ---- calls opened ----


@jax.jit
def wave(x):
    return primitives.mul(primitives.sin(x), x)


def opened(f, *args):
    """The jaxpr of f, and the same with its calls opened, which is checked: it must compute what f does."""
    before = jax.make_jaxpr(f)(*args)
    after = inline_calls(before)
    check_jaxpr(after.jaxpr)
    with jax.disable_jit():
        found = eval_jaxpr(after.jaxpr, after.consts, *args)
        wanted = jax.tree_util.tree_leaves(f(*args))
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(x, y)
    return before, after


def names(closed):
    return [eqn.primitive.name for eqn in closed.eqns]


def test_the_equations_of_a_call_stand_where_it_stood():
    _, after = opened(lambda x: primitives.neg(wave(primitives.cos(x))), 3.0)
    assert names(after) == ["cos", "sin", "mul", "neg"]


def test_calls_within_calls_are_opened_too():
    _, after = opened(jax.jit(lambda x: primitives.neg(jax.jit(wave)(x))), 3.0)
    assert names(after) == ["sin", "mul", "neg"]


def test_a_function_that_is_called_twice_has_variables_for_each_call():
    _, after = opened(lambda x: wave(wave(x)), 3.0)
    assert names(after) == ["sin", "mul", "sin", "mul"]
    bound = [v for eqn in after.eqns for v in eqn.outvars]
    assert len(set(bound)) == len(bound), f"a variable is bound twice: {after}"


def test_a_call_may_give_back_its_operand_or_a_number():
    call = jax.jit(lambda x, y: (y, x, 2.0, primitives.sin(x)))
    _, after = opened(lambda x, y: (*call(x, y), *call(y, 1.0)), 3.0, 4.0)
    assert names(after) == ["sin", "sin"]


def test_constants_of_a_call_are_constants_of_the_whole_beside_its_own():
    first, second = (np.arange(n, n + 3, dtype=np.float32) for n in (0, 5))
    call = jax.jit(lambda x: primitives.mul(x, second))
    _, after = opened(lambda x: primitives.add(primitives.mul(call(x), first), call(x)), X)
    assert "jit" not in names(after)
    values = [np.asarray(c).tolist() for c in after.consts]
    assert [0.0, 1.0, 2.0] in values and [5.0, 6.0, 7.0] in values


def test_what_is_bound_outside_of_calls_keeps_its_variables_and_the_jaxpr_stays_as_it_was():
    f = lambda x: primitives.neg(wave(primitives.cos(x)))  # noqa: E731
    before, after = opened(f, 3.0)
    assert after.jaxpr.invars == before.jaxpr.invars
    assert after.eqns[0].outvars == before.eqns[0].outvars
    assert after.jaxpr.outvars == before.jaxpr.outvars
    assert names(before) == ["cos", "jit", "neg"], "the jaxpr that was given has changed"


def test_calls_that_keep_names_stay_and_read_what_was_opened_before():
    kept = jax.jit(lambda x: primitives.cos(x))
    keep = lambda eqn: eqn.params.get("name") == "<lambda>"  # noqa: E731
    before = jax.make_jaxpr(lambda x: wave(kept(wave(x))))(3.0)
    after = inline_calls(before, keep)
    check_jaxpr(after.jaxpr)
    assert names(after) == ["sin", "mul", "jit", "sin", "mul"]
    whole = inline_calls(after)
    assert str(whole) == str(inline_calls(before)), "what stays does not read what it did"

    def opened_one(x):
        return kept(wave(x))

    within = inline_calls(jax.make_jaxpr(jax.jit(opened_one))(3.0), keep)
    assert names(within) == ["sin", "mul", "jit"], "keep is asked of calls within calls too"
    before = jax.make_jaxpr(lambda x: wave(wave(primitives.cos(x))))(3.0)
    last = before.eqns[2]
    found = names(inline_calls(before, lambda eqn: eqn is last))
    assert found == ["cos", "sin", "mul", "jit"], "keep is asked of the equation that was given"


def test_what_moves_a_value_to_a_device_is_gone_as_a_program_runs_on_one():
    _, after = opened(lambda x: primitives.sin(jax.device_put(wave(x))), 3.0)
    assert names(after) == ["sin", "mul", "sin"]
    with explain_errors("what moves several values has all of them for its results"):
        _, after = opened(lambda x, y: jax.device_put((y, x)), 3.0, 4.0)
    assert after.jaxpr.outvars == after.jaxpr.invars[::-1], "each of several results is its operand"


def test_equations_know_the_lines_of_python_that_they_are_from():
    before, after = opened(lambda x: wave(x), 3.0)
    inside = before.eqns[0].params["jaxpr"].eqns
    assert [eqn.source_info for eqn in after.eqns] == [eqn.source_info for eqn in inside]


def test_effects_within_calls_stay_each_one_and_in_order():
    shout = jax.jit(lambda x: jax.debug.print("{}", x) or primitives.sin(x))

    def f(x):
        jax.debug.print("{}", x)
        y = shout(x)
        jax.debug.print("{}", x)
        shout(x)
        return jax.jit(shout)(y)

    _, after = opened(f, 3.0)
    assert (
        names(after)
        == ["debug_print", "debug_print", "sin", "debug_print"]
        + [
            "debug_print",
            "sin",
        ]
        * 2
    )


def test_each_call_has_its_own_operands_constants_and_results():
    array = np.arange(3, dtype=np.float32)
    others = [array + 10.0 * k for k in range(3)]

    def several(x, y):
        chosen = jax.lax.select(x > y, x + others[0], y * others[1])
        return primitives.mul(x, y), primitives.add(x, array), chosen - others[2]

    call = jax.jit(several)

    def f(x, y):
        return call(x, y), call(y, x), call(2.0 * x, call(y, y)[1])

    closed, after = opened(f, np.ones(3, np.float32), array + 1)
    check_jaxpr(after.jaxpr)
    args = (np.full(3, 5, np.float32), np.float32([1, 2, 3]))
    got = eval_jaxpr(after.jaxpr, after.consts, *args)
    with jax.disable_jit():
        want = jax.tree.leaves(f(*args))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
    tables = [np.arange(5000.0, dtype=np.float32) for _ in range(2)]
    tables[1][2500] = -1  # which is not printed
    both = [jax.jit(lambda x, t=t: primitives.mul(x, t)) for t in tables]
    opened(lambda x: [call(x) for call in both], np.ones(5000, np.float32))
    many = jax.jit(lambda a, b, c, d, e: a + 10 * b + 100 * c + 1000 * d + 10000 * e)
    opened(lambda x, y: (many(x, x, y, y, x), many(x, y, x, x, y)), 1.0, 2.0)
    _, after = opened(lambda x: jax.jit(lambda x: jax.jit(lambda x: x * 2.0)(x) + 1.0)(x), 1.0)
    assert all(v.aval.weak_type for eqn in after.eqns for v in eqn.outvars), "weak types are kept"
    sorts = lambda x, y: jax.jit(lambda x, y: lax.sort((x, y), num_keys=1))(x, y)  # noqa: E731
    _, after = opened(sorts, np.float32([2, 1, 3]), np.float32([5, 6, 7]))
    assert len({*after.jaxpr.outvars}) == 2, "results of one aval have a variable each"
    _, after = opened(lambda: jax.jit(lambda: jnp.sin(jnp.float32(1.0)))())
    assert all(eqn.primitive.name != "jit" for eqn in after.eqns), "a call without operands too"


def test_an_error_of_keep_goes_on():
    with error_passes(Thrown()) as error:
        inline_calls(jax.make_jaxpr(jax.jit(jnp.sin))(1.0), raises(error))
