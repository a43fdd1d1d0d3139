"""Custom rules, of any number of arguments, results and residuals, drawn at random."""

import numpy as np
from drawn import draws, equal, listed

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core import bind
from tinyjax.core.array import ShapedArray
from tinyjax.core.tracing import JaxprTrace
from tinyjax.transform.custom.forward_rules import _sum_of_rules
from tinyjax.transform.custom.vjp_call import (
    _custom_lin_transpose,
    _custom_vjp_linearize,
)
from tinyjax.transform.jvp import Zero
from tinyjax.transform.transposition import UndefinedPrimal, transpose_rules

scalar = ShapedArray((), np.dtype("float32"))


def test_of_any_arguments_the_parts_of_the_tangent_are_added_in_their_order():
    for draw in draws(40):
        n, shape = draw.count(1), draw.shape(2)
        leaves = [np.float32(draw.choice([0, 1e8, draw.uniform(-1e6, 1e6)])) for _ in range(n)]
        form = draw.choice([lambda x: x, lambda x: [x, (x,)], lambda x: {"b": x, "a": x}])
        calls, primals = [], tuple(float(i) for i in range(n))
        out = form(np.ones(shape, np.float32))
        has_rule = draw.flags(n, 0.8)
        has_rule[draw.randrange(n)] = True
        tangents = tuple(float(x) if shape == () else np.full(shape, x) for x in leaves)

        def rule(i, form=form, calls=calls):
            return lambda t, out, *args: calls.append((i, out, args)) or form(t)  # noqa: B023

        def function(*args, calls=calls, out=out):
            calls.append(args)
            return out

        jvps = [rule(i) if flag else None for i, flag in enumerate(has_rule)]
        found, moved = _sum_of_rules(function, jvps, primals, tangents)
        total = np.float32(0)
        for x, flag in zip(leaves, has_rule):
            total = np.float32(total + x) if flag else total
        about = {"tangents": leaves, "rules": has_rule, "result": out}
        assert found is out, listed(about)
        expected = [np.full(shape, total)] * len(jax.tree.leaves(out))
        equal(jax.tree.leaves(moved), expected, dtype=np.float32, **about)
        assert jax.tree.structure(moved) == jax.tree.structure(out), listed(about)
        ruled = [i for i, flag in enumerate(has_rule) if flag]
        assert calls[0] == primals, f"{listed(about)}: the function is called first"
        assert [i for i, *_ in calls[1:]] == ruled, f"{listed(about)}: each is called once"
        for _, given, args in calls[1:]:
            assert given is out and args == primals, f"{listed(about)}: a rule got {given}, {args}"


def test_of_any_tangents_those_that_move_are_bound_with_all_that_the_transpose_needs():
    for draw in draws(40):
        n, trace = draw.count(1), JaxprTrace()
        nonzeros = draw.flags(n)
        nonzeros[draw.randrange(n)] = True
        kinds = [draw.choice([np.float32, np.float16, np.int32]) for _ in range(draw.count())]
        outs = [bind.as_array(np.ones(draw.shape(2), kind)) for kind in kinds]
        if draw.random() < 0.3:  # weakly typed
            kinds, outs = [*kinds, np.float32], [*outs, 2.0]
        residuals = [bind.as_array(draw.whole(draw.shape(2))) for _ in range(draw.count())]
        names, symbolic = ("f", f"f_fwd{n}", "f_bwd"), draw.random() < 0.5
        bwd, calls = object(), []
        fwd = lambda *args, r=(outs, residuals, bwd), calls=calls: calls.append(args) or r  # noqa: E731
        params = {"fwd": fwd, "names": names, "symbolic_zeros": symbolic, "fun": None}
        primals = [draw.choice([float(i), np.zeros((0, 2), np.float32)]) for i in range(n)]
        found, linear = _custom_vjp_linearize(primals, nonzeros, **params)
        about = {"nonzeros": nonzeros, "results": kinds, "residuals": len(residuals)}
        assert list(found) == outs, listed(about)
        (given,) = calls
        same = len(given[0]) == n and all(x is y for x, y in zip(given[0], primals))
        assert same and list(given[1]) == nonzeros, f"{listed(about)}: fwd got {given}"
        tangents = [trace.new_arg(scalar) if flag else Zero(scalar) for flag in nonzeros]
        with bind.set_current_trace(trace):
            moved = linear(*tangents)
        still = [kind is np.int32 for kind in kinds]
        assert [type(t) is Zero for t in moved] == still, f"{listed(about)}: found {moved}"
        (eqn,) = trace.eqns
        assert len(eqn.invars) == len(residuals) + sum(nonzeros), f"{listed(about)}: {eqn}"
        for t, out in zip(moved, outs):
            assert t.aval == bind.get_aval(out).to_tangent_aval(), f"{listed(about)}: {moved}"
        got = {k: eqn.params[k] for k in ("num_res", "bwd", "in_zeros", "names", "symbolic_zeros")}
        got["in_zeros"], zeros = list(got["in_zeros"]), [not flag for flag in nonzeros]
        expected = dict(zip(got, (len(residuals), bwd, zeros, names, symbolic)))
        assert got == expected, f"{listed(about)}: expected {expected}, found {got}"
        avals = [bind.get_aval(x).to_tangent_aval() for x in outs]
        assert list(eqn.params["out_avals"]) == avals, f"{listed(about)}: {eqn.params['out_avals']}"


def test_of_any_residuals_the_cotangents_of_bwd_go_to_what_moved():
    for draw in draws(40):
        in_zeros, num_res = draw.flags(draw.count(1)), draw.count()
        residuals = [object() for _ in range(num_res)]
        cts = [object() for _ in range(draw.count())]
        given = [draw.choice([None, Zero(scalar), 0.0, float(i)]) for i, _ in enumerate(in_zeros)]
        calls = []
        bwd = lambda *args, calls=calls, given=given: calls.append(args) or list(given)  # noqa: E731
        operands = [UndefinedPrimal(scalar) for flag in in_zeros if not flag]
        params = {"num_res": num_res, "bwd": bwd, "in_zeros": in_zeros, "names": ("f", "g", "h")}
        found = _custom_lin_transpose(cts, *residuals, *operands, **params, out_avals=[])
        (got,) = calls
        about = f"{num_res} residuals, in_zeros {in_zeros}, bwd gives {given}"
        assert [list(x) for x in got] == [residuals, cts], f"{about}: bwd was called with {got}"
        expected = [None] * num_res + [x for x, zero in zip(given, in_zeros) if not zero]
        assert list(found) == expected, f"{about}: expected {expected}, found {found}"


def test_of_any_functions_with_rules_the_gradient_is_that_of_the_rules():
    for draw in draws(8):
        n, m = draw.count(1), draw.randint(1, 3)
        factors = [[float(draw.randint(-3, 3)) for _ in range(n)] for _ in range(m)]
        count = draw.randint(0, n - 1)  # of the last arguments, which are integers

        @jax.custom_vjp
        def fun(*xs, m=m):
            return [sum(xs) * 1.0 for _ in range(m)]

        def fwd(*xs, m=m):
            return [sum(xs) * 2.0 for _ in range(m)], (len(xs), [xs[0]])

        def bwd(residuals, cts, factors=factors, count=count):
            size, (x,) = residuals
            sums = [sum(row[i] * ct for row, ct in zip(factors, cts)) for i in range(size)]
            return tuple(x * s for s in sums[: size - count]) + (None,) * count

        fun.defvjp(fwd, bwd)
        args = [float(draw.randint(1, 3)) for _ in range(n - count)] + [2] * count
        weights = [float(10**j) for j in range(m)]
        total = lambda *xs, fun=fun, w=weights: sum(k * y for k, y in zip(w, fun(*xs)))  # noqa: E731
        numbers = tuple(i for i in range(n - count) if i == 0 or draw.random() < 0.6)
        value, found = jax.value_and_grad(total, numbers)(*args)
        columns = [sum(w * row[i] for w, row in zip(weights, factors)) for i in numbers]
        about = {"factors": factors, "args": args, "argnums": numbers}
        equal(value, np.float32(sum(weights) * 2 * sum(args)), **about)
        equal(list(found), [args[0] * c for c in columns], **about)
        second = jax.grad(lambda *xs, t=total: jax.grad(t)(*xs))(*args)  # of x times columns[0]
        equal(second, columns[0], **about, order=2)
        batch = jnp.array([args[0], 5.0])
        found = jax.vmap(lambda x, t=total, a=args: jax.grad(t)(x, *a[1:]))(batch)
        equal(found, np.array([args[0], 5.0]) * columns[0], **about, vmap=batch)


def test_the_cotangents_of_real_and_imag_are_exact_of_any_number():
    numbers = [0.0, -0.0, 1.0, -2.5, 1 / 3, np.inf, -np.inf, np.nan, 1e30, 1e-40]
    for dtype, whole in [(np.float32, np.complex64), (np.float64, np.complex128)]:
        with jax.enable_x64(dtype is np.float64):
            array = np.array(numbers, dtype)
            for ct in (jnp.asarray(array), array, *map(jnp.asarray, array)):
                x = UndefinedPrimal(ShapedArray(np.shape(ct), np.dtype(whole)))
                (of_real,) = transpose_rules[lax.real_p](ct, x)
                (of_imag,) = transpose_rules[lax.imag_p](ct, x)
                ct, zeros = np.asarray(ct), np.zeros(np.shape(ct), dtype)
                for found, real, imag in [(of_real, ct, zeros), (of_imag, zeros, -ct)]:
                    found = np.asarray(found)
                    assert found.dtype == whole, f"expected {whole}, found {found.dtype}"
                    for part, expected in ((found.real, real), (found.imag, imag)):
                        equal(part, expected, ct=ct)
                        equal(np.signbit(part), np.signbit(expected), signs_of=ct)


def test_of_any_real_function_the_gradient_is_the_slopes_along_both_axes():
    for draw in draws(15):
        shape = draw.shape(2, (1, 2, 3))
        a, b, c = (float(draw.randint(-3, 3)) for _ in range(3))
        z = draw.whole(shape, np.complex64)

        def fun(z, a=a, b=b, c=c):
            x, y = lax.real(z), lax.imag(z)
            return jnp.sum(a * x * x + b * x * y + c * y)

        x, y = z.real, z.imag
        expected = (2 * a * x + b * y) - 1j * (b * x + c)
        equal(jax.grad(fun)(z), expected, dtype=np.complex64, z=z, factors=(a, b, c))
