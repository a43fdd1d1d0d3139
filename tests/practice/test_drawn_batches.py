"""Lesson 5 with inputs drawn at random, small ones first, against a loop over the examples in NumPy."""

# ruff: noqa: B023 (a function that is made in a loop runs in its round)

import numpy as np
import pytest
from drawn import cases, drawn_array, drawn_shape, is_about, one_of
from judged import SMALL_FLOAT, same_for_all
from practice import moving_mean
from practice.each_with_each import distances, predictions
from practice.line_up import batch_product

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core import bind, primitives
from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.bind import Primitive, Trace
from tinyjax.transform import batching
from tinyjax.transform.batching import AxisData, BatchTrace, BatchTracer

NUMBERS = ("float32", "int32", "float16", "complex64")
KINDS = ("float32", "int32", "bool", SMALL_FLOAT.name)
PARAMS = ({}, {}, {"scale": 2}, {"a": 0, "b": None, "c": False, "d": ()}, {"keepdims": False})


def part(x, dim, i):
    """Example `i` of an operand."""
    return x if dim is None else np.take(x, i, dim)


def at(x, size, dim, rng):
    """The examples `x`, which are along axis 0, along a batch dim that is drawn."""
    dim = int(rng.integers(x.ndim)) if dim is None else dim
    return np.moveaxis(x, 0, dim), dim


def emptied(x, dim):
    """An operand with none of its examples."""
    return x if dim is None else np.take(x, [], dim)


def new_primitive(fun, seen, multiple=False):
    """A primitive that computes by NumPy, and notes the parameters that it is bound with."""
    p = Primitive("p")
    p.multiple_results = multiple

    def impl(*xs, **params):
        seen.append(params)
        return fun(*map(np.asarray, xs), **params)

    def aval_of(*avals, **params):
        out = fun(*[np.zeros(a.shape, a.dtype) for a in avals], **params)
        made = [ShapedArray(np.shape(y), np.asarray(y).dtype) for y in (out if multiple else [out])]
        return made if multiple else made[0]

    p.def_impl(impl)
    p.def_abstract_eval(aval_of)
    return p


# ---- rules with axes ----


def test_whatever_is_drawn_an_axis_is_moved_as_numpy_does():
    for rng, size in cases(200):
        x = drawn_array(rng, drawn_shape(rng, size, most=7, least=1))
        source, destination = (int(rng.integers(-x.ndim, x.ndim)) for _ in "sd")
        got, want = batching.moveaxis(x, source, destination), np.moveaxis(x, source, destination)
        assert is_about(got, want), (
            f"axis {source} of shape {x.shape} to {destination}: {got.shape}"
        )
        dim, n = one_of(rng, (None, source % x.ndim)), int(one_of(rng, (1, 2, 0, x.shape[0])))
        got = batching.bdim_at_front(x, dim, n)
        want = np.broadcast_to(x, (n, *x.shape)) if dim is None else np.moveaxis(x, dim, 0)
        assert is_about(got, want), f"bdim_at_front of shape {x.shape}, {dim}, {n}: {np.shape(got)}"


def test_whatever_is_drawn_axes_are_those_of_an_example():
    for rng, size in cases(80):
        shape = drawn_shape(rng, size, most=6, least=1)
        x, dim = at(drawn_array(rng, (2, *shape)), 2, None, rng)
        axes = tuple(int(a) for a in rng.permutation(len(shape))[: rng.integers(len(shape) + 1)])
        params, seen = one_of(rng, PARAMS[:4]), []
        p = new_primitive(lambda x, axes, **_: x.sum(tuple(map(int, axes))), seen)
        out, out_dim = batching._reducer_rule(p, (x,), (dim,), axes=axes, **params)
        about = f"the sums along {axes} of examples of shape {shape}, batch dim {dim}"
        assert len(seen) == 1 and seen[0] == {"axes": seen[0]["axes"], **params}, f"{about}: {seen}"
        assert type(seen[0]["axes"]) is tuple, f"{about}: axes are {seen[0]['axes']}"
        want = [part(x, dim, i).sum(axes) for i in range(2)]
        assert is_about(np.moveaxis(np.asarray(out), out_dim, 0), want), (
            f"{about}: {out}, {out_dim}"
        )
        permutation = tuple(int(a) for a in rng.permutation(len(shape)))
        out, out_dim = batching._transpose_rule((x,), (dim,), permutation=permutation)
        want = [part(x, dim, i).transpose(permutation) for i in range(2)]
        about = f"{permutation} of examples of shape {shape}, batch dim {dim}"
        assert out_dim == 0, f"{about}: the batch dim comes in front, not at {out_dim}"
        assert is_about(np.moveaxis(np.asarray(out), out_dim, 0), want), (
            f"{about}: {out}, {out_dim}"
        )


# ---- products ----


def test_whatever_is_drawn_the_batch_has_the_products_of_the_examples():
    kinds = (np.float32, np.float64, np.int32, np.float16, np.complex64, np.bool_)
    for rng, size in cases(100):
        full, n = drawn_shape(rng, size, most=4), int(rng.integers(1, 4))
        operands, dims = [], []
        for _ in "xy":
            shape = tuple(k if rng.integers(4) else 1 for k in full)[rng.integers(len(full) + 1) :]
            z = drawn_array(rng, (n, *shape)) * 4
            z, dim = at(z.astype(one_of(rng, kinds)), n, None, rng)
            if rng.integers(4) == 0 and None not in dims:
                z, dim = part(z, dim, 0), None
            operands.append(z)
            dims.append(dim)
        if rng.integers(4) == 0 and None not in dims:  # one array, twice: two batch dims
            same = drawn_array(rng, (n,) * int(rng.integers(1, 4)))
            operands = [same, same]
            dims = [int(rng.integers(same.ndim)) for _ in "xy"]
        x, y = operands
        want = np.stack([part(x, dims[0], i) * part(y, dims[1], i) for i in range(n)])
        before = x.copy(), y.copy()
        got = batch_product(x, dims[0], y, dims[1])
        about = f"shapes {x.shape} and {y.shape}, batch dims {dims}, {x.dtype} and {y.dtype}"
        assert got.shape == want.shape and got.dtype == want.dtype, (
            f"{about}: {got.dtype}{got.shape}"
        )
        assert np.array_equal(got, want, equal_nan=True), f"{about}: {got}, not {want}"
        assert np.array_equal(x, before[0]) and np.array_equal(y, before[1]), f"{about}: changed"
        none = batch_product(emptied(x, dims[0]), dims[0], emptied(y, dims[1]), dims[1])
        assert (none.shape, none.dtype) == ((0, *want.shape[1:]), want.dtype), (
            f"{about}, of which there is no example: {none!r}"
        )


def test_of_whatever_operands_the_rule_computes_each_example():
    for rng, size in cases(100):
        count, n, seen = int(rng.integers(1, size + 2)), int(rng.integers(1, 4)), []
        full, multiple = drawn_shape(rng, size, most=3), bool(rng.integers(2))
        if rng.integers(3) == 0:  # sizes that may be taken for one another
            full, n = one_of(rng, ((1,), (1, 1), (2,), (2, 2))), int(rng.integers(1, 3))
        vals, dims, results = [], [], int(rng.integers(4))
        for _ in range(count):
            shape = tuple(k if rng.integers(3) else 1 for k in full) if rng.integers(3) else ()
            x, dim = at(drawn_array(rng, (n, *shape)), n, one_of(rng, (0, None, None)), rng)
            if rng.integers(3) == 0:
                x, dim = part(x, dim, 0), None
            if dim is None and not shape:
                x = one_of(rng, (x, float(x), np.float32(x)))
            vals.append(x)
            dims.append(dim)
        if all(d is None for d in dims):
            vals[0], dims[0] = at(drawn_array(rng, (n, *full)), n, None, rng)

        def fun(*xs, **_):
            total = sum((k + 1) * x for k, x in enumerate(xs))
            return [total, -total, 2 * total][:results] if multiple else total

        def strict(*xs, **params):  # as primitives do: no rank but the others' and 0
            assert len({np.ndim(x) for x in xs} - {0}) < 2, f"shapes {[np.shape(x) for x in xs]}"
            return fun(*xs)

        p, params = new_primitive(strict, seen, multiple), one_of(rng, PARAMS)
        if rng.integers(6) == 0:
            vals, n = [emptied(x, d) for x, d in zip(vals, dims)], 0
        out, out_dim = batching._broadcasting_rule(p, tuple(vals), tuple(dims), **params)
        about = f"operands of shapes {[np.shape(x) for x in vals]} with batch dims {dims}"
        assert seen == [params], f"{about}: {p} is bound with {seen}, not once with {params}"
        if n == 0:
            for y, d in zip(out, out_dim) if multiple else [(out, out_dim)]:
                assert np.shape(y)[d] == 0, f"{about}: of no examples, a result of {np.shape(y)}"
            continue
        wants = [fun(*[part(np.asarray(x), d, i) for x, d in zip(vals, dims)]) for i in range(n)]
        if multiple:
            for k, (y, d) in enumerate(zip(out, out_dim, strict=True)):
                assert is_about(np.moveaxis(np.asarray(y), d, 0), [w[k] for w in wants]), (
                    f"{about}: {y}"
                )
        else:
            assert is_about(np.moveaxis(np.asarray(out), out_dim, 0), wants), (
                f"{about}: {out}, {out_dim}"
            )


# ---- the trace ----


class Parent(Trace):
    """Answers with what it is handed."""

    def process_primitive(self, primitive, args, params):
        return "the parent's", primitive, tuple(args), params


def test_whatever_is_drawn_the_rule_or_the_parent_gets_the_primitive():
    for rng, size in cases(150):
        name = one_of(rng, (None, "i", 0, ""))
        trace, p, seen = BatchTrace(Parent(), AxisData(name, 2)), Primitive("p"), []
        p.multiple_results, p.takes_functions = bool(rng.integers(2)), rng.integers(5) == 0
        count = int(rng.integers(2 * size + 2))
        moves = [rng.integers(3) == 0 for _ in range(count)]
        vals = [drawn_array(rng, (2, 2, 2)) if m else float(k) for k, m in enumerate(moves)]
        dims = tuple(int(rng.integers(3)) if m else None for m in moves)
        args = [BatchTracer(trace, x, d) if d is not None else x for x, d in zip(vals, dims)]
        params = one_of(rng, PARAMS)
        outs = [
            one_of(rng, (drawn_array(rng, (2, 3)), 1.0)) for _ in range(rng.integers(2 * size + 1))
        ]
        out_dims = [int(rng.integers(2)) if isinstance(x, np.ndarray) else None for x in outs]
        if not p.multiple_results:
            outs, out_dims = drawn_array(rng, (2, 3)), one_of(rng, (0, 1, None))

        def rule(*given, of_axis, **named):
            seen.append((of_axis, given, named, bind.context.trace))
            return outs, out_dims

        has_axis_rule, has_rule = bool(rng.integers(2)), bool(rng.integers(2))
        if has_axis_rule:
            batching.axis_batch_rules[p] = lambda *given, **named: rule(
                *given, of_axis=True, **named
            )
        if has_rule:
            batching.batch_rules[p] = lambda *given, **named: rule(*given, of_axis=False, **named)
        about = f"of {count} operands {moves} are mapped, an axis {name!r}, rules {has_axis_rule, has_rule}"
        needed = any(moves) or p.takes_functions or (name is not None and has_axis_rule)
        try:
            if needed and not has_axis_rule and not has_rule:
                with pytest.raises(NotImplementedError, match="p"):
                    made = trace.process_primitive(p, tuple(args), params)
                    pytest.fail(f"{about}: there is no rule, but {made} is what came")
                continue
            got = trace.process_primitive(p, one_of(rng, (tuple(args), args)), params)
        finally:
            batching.axis_batch_rules.pop(p, None)
            batching.batch_rules.pop(p, None)
        if not needed:
            assert not seen and got == ("the parent's", p, tuple(vals), params), f"{about}: {got}"
            continue
        ((of_axis, given, named, current),) = seen
        assert of_axis == has_axis_rule, f"{about}: the rule with the axis comes first"
        assert given[0] is trace.axis if of_axis else True, f"{about}: {given}"
        given_vals, given_dims = given[-2:]
        assert len(given) == 2 + of_axis and type(given_vals) is tuple, f"{about}: {given}"
        assert all(x is y for x, y in zip(given_vals, vals, strict=True)), f"{about}: {given_vals}"
        assert given_dims == dims and named == params and current is trace.parent, (
            f"{about}: {seen}"
        )
        assert type(got) is list or not p.multiple_results, f"{about}: several results are a list"
        triples = (
            zip(got, outs, out_dims, strict=True) if p.multiple_results else [(got, outs, out_dims)]
        )
        for x, out, d in triples:
            if d is None:
                assert x is out, f"{about}: a result without a batch dim is itself, not {x}"
            else:
                assert type(x) is BatchTracer and x.val is out and x.batch_dim == d, (
                    f"{about}: {x}, {d}"
                )


# ---- vmap ----


def test_of_whatever_arguments_the_results_are_those_of_a_loop():
    for rng, size in cases(40):
        n, count = int(rng.integers(1, 4)), int(rng.integers(1, 2 * size + 2))
        args, in_axes = [], []
        for _ in range(count):
            x, dim = at(drawn_array(rng, (n, *drawn_shape(rng, size, most=3))), n, None, rng)
            kind = int(rng.integers(5))
            if kind == 0:
                args.append({"a": x, "b": (x, 2.0)})
                in_axes.append({"a": dim, "b": (dim - x.ndim, None)})
            elif kind == 1:
                args.append([x, x])
                in_axes.append(dim)
            else:
                args.append(x)
                in_axes.append(one_of(rng, (dim, dim, dim - x.ndim)))
        for _ in range(rng.integers(3)):
            args.append(one_of(rng, (3.0, drawn_array(rng, (n, 2)))))
            in_axes.append(None)
        keywords = {"k": drawn_array(rng, (n, 2))} if rng.integers(2) else {}
        in_axes = one_of(rng, (tuple(in_axes), list(in_axes)))
        given = list(in_axes)
        name = one_of(rng, (None, "i", 0, ""))
        out_axes = (
            int(one_of(rng, (0, -1))),
            {"all": int(rng.integers(2)), "same": None, "index": 0},
        )

        def leaf_parts(tree, axes, i):
            if isinstance(tree, dict):
                return [
                    p
                    for k in sorted(tree)
                    for p in leaf_parts(tree[k], axes[k] if isinstance(axes, dict) else axes, i)
                ]
            if isinstance(tree, (list, tuple)):
                return [
                    p
                    for k, t in enumerate(tree)
                    for p in leaf_parts(t, axes[k] if isinstance(axes, tuple) else axes, i)
                ]
            return [part(np.asarray(tree, np.float32), axes, i)]

        def fun(*args, **keywords):
            leaves = [*jax.tree.leaves(args), *jax.tree.leaves(keywords)]
            total = sum([x.sum() if jnp.ndim(x) else x for x in leaves], start=0.0)
            index = lax.axis_index(name) if name is not None else 0.0
            return leaves[0] * 2.0, {
                "all": jnp.stack([total, 1.0, -total]),
                "same": 7.0,
                "index": index + 0.0,
            }

        mapped = jax.vmap(fun, in_axes=in_axes, out_axes=out_axes, axis_name=name,
                          axis_size=one_of(rng, (None, n)))  # fmt: skip
        if isinstance(in_axes, list):
            in_axes.append("changed after")
        first, rest = mapped(*args, **keywords)
        about = f"arguments {jax.tree.map(np.shape, (args, keywords))}, in_axes {given}, the axis {name!r}"
        wants, totals = [], []
        for i in range(n):
            parts = [p for a, d in zip(args, given) for p in leaf_parts(a, d, i)]
            parts += [x[i] for x in keywords.values()]
            wants.append(parts[0] * 2)
            totals.append(sum(float(p.sum()) for p in parts))
        assert is_about(np.moveaxis(np.asarray(first), out_axes[0], 0), wants), f"{about}: {first}"
        want = np.stack([[t, 1.0, -t] for t in totals], out_axes[1]["all"])
        assert is_about(np.asarray(rest["all"]), want, 1e-3), f"{about}: {rest['all']}, not {want}"
        assert float(rest["same"]) == 7.0, f"{about}: {rest['same']}"
        want = np.arange(n) if name is not None else np.zeros(n)
        assert is_about(np.asarray(rest["index"]), want.astype(float)), f"{about}: {rest['index']}"


def test_one_axis_of_the_results_is_that_of_all_and_a_tree_of_one_stays_a_tree():
    for form in (
        lambda x: x,
        lambda x: (x,),
        lambda x: {"a": x},
        lambda x: [[x], None],
        lambda x: [],
    ):
        got = jax.vmap(lambda x: form(x * 2.0))(np.ones(2, np.float32))  # noqa: B023
        assert jax.tree.structure(got) == jax.tree.structure(form(1.0)), f"{form(1.0)}: {got}"
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for axis in (0, 1, 2, -1, -2, -3):
        for name, fun in (
            ("one", lambda x: x * 2.0),
            ("tree", lambda x: {"a": x * 2.0, "b": [x * 3.0]}),
        ):
            got = jax.tree.leaves(jax.vmap(fun, out_axes=axis)(x))
            for k, y in enumerate(got):
                want = np.moveaxis(x * (2.0 + k), 0, axis)
                assert is_about(y, want), (
                    f"result {k} of {name} with out_axes={axis}: {y}, not {want}"
                )


def test_each_call_has_its_own_number_of_arguments_and_its_own_shapes():
    def fun(*xs, **keywords):
        first = [x.sum() for x in xs]
        return (*first, {name: k.sum() for name, k in keywords.items()}, first[:1] or 2.0)

    one, two = np.ones((2, 3), np.float32), np.ones((4, 2, 2), np.float32)
    calls = [((one,), {}), ((one, one), {"a": one}), ((two,) * 3, {}), ((one,), {"b": one})]
    same_for_all(lambda: jax.vmap(fun), [*calls, ((), {"a": two})])
    same_for_all(
        lambda: jax.vmap(fun, in_axes=-1, axis_name="i"), [*calls[:1], *calls[2:3], *calls[:1]]
    )
    same_for_all(lambda: jax.vmap(fun, in_axes=None, axis_size=2), calls)
    same_for_all(lambda: jax.vmap(jax.vmap(fun)), [calls[1], calls[2], calls[0]])


def test_the_size_that_is_given_may_be_0_and_axes_are_no_bools():
    for size in (0, 1, 3):
        got = jax.vmap(lambda: 2.0, axis_size=size)()
        assert got.shape == (size,), f"of {size} examples without arguments: {got}"
        got = jax.vmap(lambda x: x * 2.0, axis_size=size)(np.ones((size, 2), np.float32))
        assert got.shape == (size, 2), f"of {size} examples of two: {got}"
        with pytest.raises(ValueError):
            made = jax.vmap(lambda x: x, axis_size=size)(np.ones((size + 1, 2), np.float32))
            pytest.fail(f"{size + 1} examples are not {size}, but {made} is what came")
    for in_axes, args in (((0, 0), 1), ((0,), 2), ((0, None, 0), 2), ((), 1)):
        with pytest.raises(ValueError, match=rf"in_axes.*{len(in_axes)}.*{args}"):
            made = jax.vmap(lambda *a, k: k, in_axes=in_axes)(*[np.ones(2)] * args, k=np.ones(2))
            pytest.fail(
                f"in_axes {in_axes} of {args} arguments is an error, but {made} is what came"
            )
    for in_axes in (True, False, 0.0, "0", {"a": 0}, np.int32(0)):
        with pytest.raises(TypeError, match="vmap in_axes must be an int, None, or a tuple"):
            jax.vmap(lambda x: x, in_axes=in_axes)
            pytest.fail(f"{in_axes!r} is no axis")


# ---- each with each ----


def formed(form, kind, one, more):
    """What a function returns: a number, an array or a tree, of any dtype."""
    one, more = (jnp.asarray(x * 8.0).astype(kind) for x in (one, more))
    return {"one": one, "more": more, "tree": {"b": (more, one), "a": [one]}}[form]


def are_equal(found, want):
    """Whether two trees have equal leaves, of the same dtypes."""
    same = jax.tree.map(lambda x, y: x.dtype == y.dtype and is_about(x, y), found, want)
    return jax.tree.all(same)


def test_of_whatever_points_the_table_is_that_of_two_loops():
    for rng, size in cases(20):
        shape, m, n = drawn_shape(rng, size, most=3), *(int(rng.integers(4)) for _ in "mn")
        points = {"at": drawn_array(rng, (m, *shape)), "w": drawn_array(rng, (m,))}
        others = {"at": drawn_array(rng, (n, *shape)), "w": drawn_array(rng, (n,))}
        dtypes = {k: one_of(rng, NUMBERS) for k in points}
        points, others = ({k: v.astype(dtypes[k]) for k, v in t.items()} for t in (points, others))
        others = points if rng.integers(3) == 0 else others
        form, kind = one_of(rng, ("one", "more", "tree")), one_of(rng, KINDS)
        calls, kinds = [], []

        def fun(p, q):
            calls.append((jnp.shape(p["at"]), jnp.shape(q["at"])))
            kinds.append([{k: str(v.dtype) for k, v in t.items()} for t in (p, q)])
            return formed(form, kind, p["w"] - 2.0 * q["w"], p["at"] * 3.0 - q["at"])

        got = distances(fun, points, others)
        assert calls == [(shape, shape)], f"the distance is asked for once, of points, not {calls}"
        assert kinds == [[dtypes, dtypes]], f"points of {dtypes} are given as {kinds}"
        assert [*map(jnp.shape, jax.tree.leaves(got))][-1][:2] == (m, len(others["w"]))
        for i in range(m):
            for j in range(len(others["w"])):
                want = fun(
                    {k: v[i] for k, v in points.items()}, {k: v[j] for k, v in others.items()}
                )
                found = jax.tree.map(lambda t: t[i, j], got)
                assert are_equal(found, want), (
                    f"of points {i} and {j} of shape {shape}: {found}, not {want}"
                )


def test_of_whatever_models_the_table_is_that_of_two_loops():
    for rng, size in cases(20):
        m, n, k = (int(rng.integers(1, size + 2)) for _ in "mnk")
        models = {"weight": drawn_array(rng, (m, k)), "bias": drawn_array(rng, (m,))}
        models["scale"] = one_of(rng, (2.0, np.float32(-0.5), jnp.asarray(3.0)))
        models = {str(key): models[key] for key in rng.permutation([*models])}
        form, kind = one_of(rng, ("one", "more", "tree")), one_of(rng, KINDS)
        inputs, calls, kinds = drawn_array(rng, (k, n)), [], []
        dtypes = [one_of(rng, NUMBERS) for _ in range(3)]
        inputs = inputs.astype(dtypes[2])
        for name, dtype in zip(("weight", "bias"), dtypes):
            models[name] = models[name].astype(dtype)

        def fun(model, x):
            calls.append(
                [jnp.shape(z) for z in (model["weight"], model["bias"], model["scale"], x)]
            )
            kinds.append([str(z.dtype) for z in (model["weight"], model["bias"], x)])
            more = model["scale"] * model["weight"][:, None] - x[None, :]
            return formed(form, kind, model["bias"] * x[0] + model["scale"], more)

        got = predictions(fun, models, inputs)
        assert calls == [[(k,), (), (), (k,)]], f"predict is called once, of one model: {calls}"
        assert kinds == [dtypes], f"weights, biases and inputs of {dtypes} are given as {kinds}"
        for i in range(m):
            for j in range(n):
                model = {
                    "weight": models["weight"][i],
                    "bias": models["bias"][i],
                    "scale": models["scale"],
                }
                want, found = fun(model, inputs[:, j]), jax.tree.map(lambda t: t[i, j], got)
                assert are_equal(found, want), (
                    f"what model {i} of {m} says to input {j}: {found}, not {want}"
                )


# ---- a batching rule ----


def test_whatever_is_drawn_the_means_are_those_of_each_example():
    kinds = tuple(map(np.dtype, ("float32", "float16", SMALL_FLOAT, "complex64")))
    bound = []

    class Notes(Trace):
        def process_primitive(self, primitive, args, params):
            bound.append((primitive, params))
            with bind.set_current_trace(before):
                return primitive.bind(*args, **params)

    before = bind.context.trace
    for rng, size in cases(60):
        shape = (*drawn_shape(rng, size, most=3), int(rng.integers(1, 6)))
        window, n = int(rng.integers(1, shape[-1] + 1)), int(rng.integers(4))
        x = drawn_array(rng, (n, *shape)).astype(one_of(rng, kinds))
        x, dim = at(x, n, None, rng)
        bound.clear()
        x = ArrayImpl(np.ascontiguousarray(x), ShapedArray(x.shape, x.dtype))
        with bind.set_current_trace(Notes()):
            out, out_dim = moving_mean.moving_mean_batch((x,), (dim,), window=window)
        about = f"means of {window} of shape {shape}, {n} examples at {dim}, {x.dtype}"
        means = [params for p, params in bound if p is moving_mean.moving_mean_p]
        assert means == [{"window": window}], f"{about}: the primitive is bound with {means}"
        moved = [p for p, _ in bound if p is primitives.transpose_p]
        if dim < len(shape):
            assert (out_dim, moved) == (dim, []), f"{about}: the batch dim stays where it is"
        want = np.asarray(x).astype(complex)
        want = np.moveaxis(want, dim, 0)
        want = sum(want[..., k : k + shape[-1] - window + 1] for k in range(window)) / window
        got = np.moveaxis(np.asarray(out), out_dim, 0)
        assert got.dtype == x.dtype, f"{about}: {got.dtype}"
        rough = 0.05 if x.dtype.itemsize == 2 else 1e-4
        assert is_about(got.astype(complex), want, rough), f"{about}: {got}, not {want}"
