"""vmap: a function of one example becomes a function of a batch."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from judged import SMALL_FLOAT, Thrown, each_error, error_passes, raises, unchanged

import tinyjax as jax
from tinyjax.core import bind, primitives
from tinyjax.core.primitives import add, mul, reduce_sum, sin
from tinyjax.transform import batching
from tinyjax.transform.batching import AxisData, BatchTrace, BatchTracer, batch_rules

x = np.arange(6, dtype=np.float32).reshape(2, 3)
cube = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


# ---- moving the batch dim ----


@pytest.mark.parametrize("source", [0, 1, 2, -1])
@pytest.mark.parametrize("destination", [0, 1, 2, -1])
def test_moveaxis_moves_one_axis_and_keeps_the_order_of_the_others(source, destination):
    moved, want = (
        batching.moveaxis(cube, source, destination),
        np.moveaxis(cube, source, destination),
    )
    assert moved.shape == want.shape, (
        f"an array of shape {cube.shape}, axis {source} to {destination}"
    )
    np.testing.assert_array_equal(moved, want)


def test_a_batch_dim_is_brought_to_the_front():
    np.testing.assert_array_equal(batching.bdim_at_front(cube, 2, 4), np.moveaxis(cube, 2, 0))


def test_a_value_that_is_not_mapped_is_repeated_in_front():
    np.testing.assert_array_equal(batching.bdim_at_front(x, None, 4), np.stack([x] * 4))


# ---- rules, called by hand ----


def assert_is_batch(got, operands, dims, fun):
    """That a rule's result holds what `fun` gives for each example."""
    if not (isinstance(got, tuple) and len(got) == 2):
        pytest.fail(f"a rule gives a pair, (value, its batch dim), and not a {type(got).__name__}")
    size = next(op.shape[dim] for op, dim in zip(operands, dims) if dim is not None)
    examples = [
        fun(*[op if dim is None else np.take(op, i, dim) for op, dim in zip(operands, dims)])
        for i in range(size)
    ]
    value, out_dim = got
    want = np.stack(examples, out_dim)
    assert np.shape(value) == want.shape, (
        f"operands {[np.shape(op) for op in operands]} with batch dims {dims}: the value has shape "
        f"{np.shape(value)}, but {size} results of shape {examples[0].shape} along batch dim {out_dim} "
        f"have {want.shape}"
    )
    np.testing.assert_array_equal(value, want, f"shape as expected; batch dims {dims}")


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("axes", [(), (0,), (1,), (0, 1)])
def test_a_reduction_counts_the_axes_of_one_example(dim, axes):
    rule = batch_rules[primitives.reduce_sum_p]
    got = rule((cube,), (dim,), axes=axes)
    assert_is_batch(got, [cube], [dim], lambda example: example.sum(axes))


@pytest.mark.parametrize("dim", [0, 1, 2, 3])
@pytest.mark.parametrize("permutation", list(itertools.permutations(range(3))))
def test_a_transposition_permutes_the_axes_of_one_example(dim, permutation):
    operand = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
    got = batch_rules[primitives.transpose_p]((operand,), (dim,), permutation=permutation)
    assert_is_batch(got, [operand], [dim], lambda example: example.transpose(permutation))


def noting_parameters(seen):
    """A primitive that notes the parameters which it is bound with."""
    p = bind.Primitive("p")
    p.def_abstract_eval(lambda *avals, **params: seen.append(params) or avals[0])
    p.def_impl(lambda *xs, **params: xs[0])
    return p


def test_a_reduction_keeps_its_other_parameters():
    seen = []
    batching._reducer_rule(noting_parameters(seen), (cube,), (1,), axes=(0,), scale=2)
    assert [params["scale"] for params in seen] == [2]


def test_an_elementwise_operation_keeps_its_parameters():
    seen = []
    for dims in ((0, 0), (0, None)):
        batching._broadcasting_rule(noting_parameters(seen), (x, x), dims, scale=2)
    assert seen == [{"scale": 2}] * 2


def test_operands_with_equal_batch_dims_are_multiplied_as_they_are():
    out, dim = batch_rules[primitives.mul_p]((x, x), (1, 1))
    assert_is_batch((out, dim), [x, x], [1, 1], np.multiply)
    assert dim == 1, "where all shapes and batch dims are equal nothing needs to move"


def test_batch_dims_are_brought_together():
    operands, dims = [cube, np.moveaxis(cube, 0, 2)], [0, 2]
    assert_is_batch(batch_rules[primitives.mul_p](operands, dims), operands, dims, np.multiply)


def test_operands_of_one_shape_may_have_other_batch_dims():
    square = np.arange(9, dtype=np.float32).reshape(3, 3)
    rule = batch_rules[primitives.mul_p]
    assert_is_batch(rule((square, square), (0, 1)), (square, square), (0, 1), np.multiply)


def test_an_operand_that_is_not_mapped_is_stretched_over_the_batch():
    for operands, dims in [([cube, cube[:, 1]], [1, None]), ([cube[0], cube], [None, 0])]:
        assert_is_batch(batch_rules[primitives.mul_p](operands, dims), operands, dims, np.multiply)


def test_an_operand_that_is_not_mapped_is_not_repeated():
    given = []
    product = SimpleNamespace(bind=lambda *vals: given.extend(vals), multiple_results=False)
    batching._broadcasting_rule(product, (cube, cube[0]), (0, None))
    shapes = [primitives.shape_of(x) for x in given]
    assert shapes == [(2, 3, 4), (1, 3, 4)], "mul stretches an axis of size 1: nothing is copied"


def test_an_operand_that_is_not_mapped_may_have_the_shape_of_the_whole_batch():
    square = np.arange(9, dtype=np.float32).reshape(3, 3)
    stack = np.stack([square, square + 10, square + 20])
    operands, dims = [stack, square], [0, None]
    assert_is_batch(batch_rules[primitives.mul_p](operands, dims), operands, dims, np.multiply)


def test_a_number_that_is_not_mapped_fits_any_batch():
    got = batch_rules[primitives.mul_p]((x, 2.0), (1, None))
    assert_is_batch(got, [x], [1], lambda example: example * 2)


def test_a_batch_of_numbers_fits_a_batch_of_arrays():
    numbers = np.array([1, 10], np.float32)
    for operands, dims in [([cube, numbers], [0, 0]), ([numbers, x[0]], [0, None])]:
        assert_is_batch(batch_rules[primitives.mul_p](operands, dims), operands, dims, np.multiply)


def test_a_shared_row_may_be_as_long_as_the_batch_of_numbers():
    numbers, row = np.array([1, 10], np.float32), np.array([3, 4], np.float32)
    for operands, dims in [([numbers, row], [0, None]), ([row, numbers], [None, 0])]:
        assert_is_batch(batch_rules[primitives.mul_p](operands, dims), operands, dims, np.multiply)


HYPERCUBE = np.arange(48, dtype=np.float32).reshape(2, 1, 4, 3, 2)


@pytest.mark.parametrize("dim", range(5))
def test_rules_take_arrays_of_five_axes_and_axes_in_any_order(dim):
    for axes in ((2, 0), (1, 3), (3, 2, 1, 0), (3,)):
        got = batch_rules[primitives.reduce_sum_p]((HYPERCUBE,), (dim,), axes=axes)
        assert_is_batch(got, [HYPERCUBE], [dim], lambda example, axes=axes: example.sum(axes))
    permutation = (3, 0, 2, 1)
    got = batch_rules[primitives.transpose_p]((HYPERCUBE,), (dim,), permutation=permutation)
    assert_is_batch(got, [HYPERCUBE], [dim], lambda example: example.transpose(permutation))
    for destination in range(5):
        moved = batching.moveaxis(HYPERCUBE, dim, destination)
        np.testing.assert_array_equal(moved, np.moveaxis(HYPERCUBE, dim, destination))
    np.testing.assert_array_equal(
        batching.bdim_at_front(HYPERCUBE, dim, 9), np.moveaxis(HYPERCUBE, dim, 0)
    )
    six = np.expand_dims(HYPERCUBE, 5)
    permutation = (4, 2, 0, 3, 1)
    got = batch_rules[primitives.transpose_p]((six,), (dim,), permutation=permutation)
    assert_is_batch(got, [six], [dim], lambda example: example.transpose(permutation))
    for axes in ((), (0, 1, 2, 3, 4), (4, 1)):
        got = batch_rules[primitives.reduce_sum_p]((six,), (dim,), axes=axes)
        assert_is_batch(got, [six], [dim], lambda example, axes=axes: example.sum(axes))
    many = np.arange(256).reshape((1, 2, 1, 2, 2, 1, 4, 2, 4))
    for destination in range(9):
        got = batching.moveaxis(many, dim, destination)
        np.testing.assert_array_equal(got, np.moveaxis(many, dim, destination), "nine axes")


@pytest.mark.parametrize(
    "value", [2.0, np.ones((0, 1), np.float16), np.ones((1, 3), bool)], ids=str
)
def test_what_is_not_mapped_is_repeated_whatever_its_rank_and_dtype(value):
    for size in (1, 3):
        out = batching.bdim_at_front(value, None, size)
        assert out.shape == (size, *np.shape(value)) and out.dtype == bind.get_aval(value).dtype


def test_a_rule_leaves_the_lists_that_it_is_given():
    vals, dims = [cube], [1]
    with unchanged(vals=vals, dims=dims):
        batching._reducer_rule(noting_parameters([]), vals, dims, axes=(0, 1), scale=[2])
        batch_rules[primitives.transpose_p](vals, dims, permutation=(1, 0))
        batching._broadcasting_rule(noting_parameters([]), vals * 3, [1, None, 0])


OPERANDS = {
    "three batches": ([cube, cube + 1, cube + 2], [0, 0, 0]),
    "three batch dims": ([cube, np.moveaxis(cube, 0, 1), np.moveaxis(cube, 0, 2)], [0, 1, 2]),
    "one of three is a batch": ([cube[0], cube, cube[1]], [None, 0, None]),
    "a number, numbers and arrays": ([np.float32(3), np.float32([5, 7]), cube], [None, 0, 0]),
    "arrays, a shared one and numbers": ([cube, cube[0], np.float32([5, 7])], [0, None, 0]),
    "the third is somewhere else": ([cube, cube, np.moveaxis(cube, 0, 2)], [0, 0, 2]),
    "four": ([cube, np.float32([1, 2]), np.float32(3), np.moveaxis(cube, 0, 2)], [0, 0, None, 2]),
    "the third alone is a batch": ([cube[0], cube[1], cube], [None, None, 0]),
    "a batch of one": ([cube[:1], cube[1], cube[:1] * 2], [0, None, 0]),
}


@pytest.mark.parametrize("which", OPERANDS)
def test_an_elementwise_operation_may_have_three_operands_and_more(which):
    operands, dims = OPERANDS[which]
    p = bind.Primitive("p")
    p.def_impl(lambda *xs: sum((k + 1) * x for k, x in enumerate(xs)))
    p.def_abstract_eval(
        lambda *avals: avals[0].update(shape=primitives.broadcast_shapes("p", *avals))
    )
    got = batching._broadcasting_rule(p, operands, dims)
    assert_is_batch(got, operands, dims, lambda *xs: sum((k + 1) * x for k, x in enumerate(xs)))
    for at in range(5):  # one of five has more axes than the others
        many, many_dims = [x[:, 0]] * 5, [0] * 5
        many[at], many_dims[at] = np.moveaxis(cube, 0, 0), 0
        if at:
            many[0], many_dims[0] = 2.0, None
        got = batching._broadcasting_rule(p, many, many_dims)
        assert_is_batch(
            got, many, many_dims, lambda *xs: sum((k + 1) * x for k, x in enumerate(xs))
        )


def test_an_elementwise_operation_with_three_results_has_a_batch_dim_for_each():
    p = bind.Primitive("p", multiple_results=True)
    p.def_impl(lambda x, y: [x, y, x])
    p.def_abstract_eval(lambda x, y: [x, y, x])
    for dims in ((1, 1), (1, 0)):
        outs, out_dims = batching._broadcasting_rule(p, (np.ones((3, 3)), np.ones((3, 3))), dims)
        assert len(outs) == len(out_dims) == 3 and len(set(out_dims)) == 1


@each_error
def test_an_error_of_the_operation_goes_on_through_its_rule(error):
    p = bind.Primitive("p")
    p.def_abstract_eval(lambda *avals: avals[0])
    for dims in ((0, 0), (0, None)):
        with error_passes(error()) as raised:
            p.def_impl(raises(raised))
            batching._broadcasting_rule(p, (x, x), dims)


# ---- the trace ----


def new_trace(name=None, size=2):
    return BatchTrace(bind.context.trace, AxisData(name, size))


def new_primitive(rule, **options):
    primitive = bind.Primitive("new", **options)
    batch_rules[primitive] = rule
    return primitive


def test_a_batch_trace_applies_the_rule_and_hides_the_batch_dim_of_its_result():
    trace = new_trace()
    with bind.set_current_trace(trace):
        out = sin(trace.tracer(x, 0))
    assert isinstance(out, BatchTracer), "the result of a batch must be a tracer again"
    assert out.aval.shape == (3,)
    np.testing.assert_array_equal(out.val, np.sin(x))


def test_an_operation_without_a_batch_is_left_to_the_parent():
    with bind.set_current_trace(new_trace()):
        out = sin(x)
        without_operands = jax.lax.iota("float32", 3)
    assert not isinstance(out, BatchTracer), "no operand is mapped: the result has no batch dim"
    np.testing.assert_array_equal(out, np.sin(x))
    np.testing.assert_array_equal(without_operands, [0, 1, 2])


def test_while_a_batching_rule_runs_the_parent_is_the_current_trace():
    seen = []

    def rule(vals, dims):
        seen.append(bind.context.trace)
        return vals[0], dims[0]

    trace, primitive = new_trace(), new_primitive(rule)
    with bind.set_current_trace(trace):
        primitive.bind(trace.tracer(x, 0))
        assert bind.context.trace is trace, "after the rule, this trace must be current again"
    assert seen == [trace.parent]


@each_error
@pytest.mark.parametrize("table", ["batch_rules", "axis_batch_rules"])
def test_an_error_of_a_batching_rule_goes_on_and_the_trace_is_current_again(table, error):
    trace, p = new_trace("i"), bind.Primitive("p")
    p.def_impl(lambda x: x)
    with bind.set_current_trace(trace), error_passes(error()) as raised:
        getattr(batching, table)[p] = raises(raised)
        p.bind(trace.tracer(x, 0))
    with bind.set_current_trace(trace), error_passes(error()) as raised:
        plain = bind.Primitive("plain")
        plain.def_impl(raises(raised))
        plain.bind(1.0)


def test_a_rule_gets_all_operands_and_what_it_gives_may_be_many_one_or_none():
    trace, operands, params = new_trace(), [], {"scale": 2}
    operands += [1.0, trace.tracer(x, 1), x, trace.tracer(cube, 2)]
    for count in (3, 1, 0):
        seen = []

        def rule(vals, dims, *, scale, seen=seen, count=count):
            seen.append((vals[0], vals[1] is x, vals[2] is x, vals[3] is cube, dims, scale))
            return [0.0, x, x][:count], [None, 0, 1][:count]

        p = new_primitive(rule, multiple_results=True)
        with unchanged(operands=operands, params=params):
            outs = trace.process_primitive(p, operands, params)
        assert seen == [(1.0, True, True, True, (None, 1, None, 2), 2)]
        trace.process_primitive(p, [operands[0], operands[0], operands[2], operands[3]], params)
        assert len(seen) == 2, "the last operand alone may be mapped"
        assert isinstance(outs, list) and len(outs) == count
        assert [isinstance(out, BatchTracer) for out in outs] == [False, True, True][:count]


def test_rules_are_given_the_parameters():
    seen = []
    by_dims = lambda vals, dims, **params: seen.append(params) or (vals[0], dims[0])  # noqa: E731
    primitive, trace = new_primitive(by_dims), new_trace()
    with_axis = bind.Primitive("new")
    batching.axis_batch_rules[with_axis] = lambda axis, *args, **params: by_dims(*args, **params)
    with bind.set_current_trace(trace):
        for p in (primitive, with_axis):
            out = p.bind(trace.tracer(x, 0), scale=2, other=None, none=())
            np.testing.assert_array_equal(out.val, x)
    assert seen == [{"scale": 2, "other": None, "none": ()}] * 2, "all of them"


def test_a_primitive_that_takes_functions_is_not_left_to_the_parent():
    primitive = new_primitive(lambda vals, dims: (x, 0))
    primitive.takes_functions = True
    with bind.set_current_trace(new_trace()):
        assert isinstance(primitive.bind(3.0), BatchTracer), "a function may hold tracers"


def test_without_a_name_an_operation_without_a_batch_is_left_to_the_parent():
    primitive = bind.Primitive("new")
    primitive.def_impl(lambda x: x)
    primitive.def_abstract_eval(lambda aval: aval)
    batching.axis_batch_rules[primitive] = lambda axis, vals, dims: (x, 0)
    with bind.set_current_trace(new_trace(None)):
        assert not isinstance(primitive.bind(3.0), BatchTracer)
    plain = bind.Primitive("plain")
    plain.def_impl(lambda x: x)
    with bind.set_current_trace(new_trace("i")):
        assert plain.bind(3.0) == 3.0, "nor does a name ask for a rule, where none names the axis"


def test_several_results_have_a_batch_dim_each():
    primitive = new_primitive(lambda vals, dims: ([vals[0], 1.0], [1, None]), multiple_results=True)
    trace = new_trace(size=3)
    with bind.set_current_trace(trace):
        batch, same_for_all = primitive.bind(trace.tracer(x, 1))
    assert batch.aval.shape == (2,) and same_for_all == 1.0


def test_a_rule_that_says_no_batch_dims_is_an_error():
    primitive = new_primitive(lambda vals, dims: ([vals[0], 1.0], None), multiple_results=True)
    trace = new_trace(size=3)
    with bind.set_current_trace(trace), pytest.raises(TypeError):
        found = primitive.bind(trace.tracer(x, 1))
        pytest.fail(f"of two results no batch dim is known, and what comes is {found}")


def test_a_rule_that_asks_for_the_axis_gets_it():
    axes, primitive = [], bind.Primitive("new")

    def rule(axis, vals, dims):
        axes.append(axis)
        assert type(dims) is tuple, "batch dims go to a rule as a tuple: some are keys of a cache"
        return x, 0

    batching.axis_batch_rules[primitive] = rule
    for trace in (new_trace("i"), new_trace(None)):
        with bind.set_current_trace(trace):
            out = primitive.bind(trace.tracer(x, 0))
        assert axes.pop() is trace.axis and isinstance(out, BatchTracer)
    for name in ("i", 0, "", ()):
        with bind.set_current_trace(new_trace(name)):
            out = primitive.bind(3.0)
        assert isinstance(out, BatchTracer), (
            "an axis with a name, whichever, counts also where no operand is mapped"
        )


def test_a_missing_batching_rule_names_the_primitive():
    trace = new_trace()
    with bind.set_current_trace(trace):
        with pytest.raises(NotImplementedError, match="Batching rule for 'new' not implemented"):
            bind.Primitive("new").bind(trace.tracer(x, 0))


# ---- vmap ----


def test_vmap_maps_the_first_axis_and_stacks_the_results():
    out = jax.vmap(lambda row: reduce_sum(row, (0,)))(x)
    np.testing.assert_array_equal(out, [3.0, 12.0])


def test_inside_vmap_a_tracer_has_the_shape_of_one_example():
    shapes = []
    jax.vmap(lambda row: (shapes.append(row.shape), row)[1])(x)
    assert shapes == [(3,)]


def test_in_axes_chooses_the_mapped_axis_and_none_shares_an_argument():
    out = jax.vmap(lambda column, w: reduce_sum(mul(column, w), (0,)), in_axes=(1, None))(
        x, np.array([1, 10], np.float32)
    )
    np.testing.assert_array_equal(out, [30.0, 41.0, 52.0])


def test_out_axes_chooses_where_the_batch_goes():
    assert jax.vmap(sin, out_axes=1)(x).shape == (3, 2)
    assert jax.vmap(sin, out_axes=-1)(x).shape == (3, 2)


def test_a_result_that_is_the_same_for_all_is_repeated_or_returned_once():
    assert jax.vmap(lambda row: sin(1.0))(x).shape == (2,)
    assert jax.vmap(lambda row: sin(1.0), out_axes=None)(x).shape == ()


def test_axes_can_be_given_for_parts_of_a_tree():
    params = {"w": x, "b": np.float32(1)}
    out = jax.vmap(lambda p: add(p["w"], p["b"]), in_axes=({"w": 1, "b": None},), out_axes=1)(
        params
    )
    np.testing.assert_array_equal(out, x + 1)


def test_within_vmap_the_axis_has_the_name_that_was_given():
    sizes = jax.vmap(lambda row: jax.lax.psum(1, "i"), axis_name="i")(x)
    np.testing.assert_array_equal(sizes, [2, 2])


def test_within_vmap_an_axis_without_a_name_is_no_axis_for_others():
    seen = []
    jax.vmap(lambda row: seen.append(bind.context.axis_env) or row)(x)
    assert seen == [()], f"no axis has a name here, but these are named: {seen}"


def test_a_mapped_function_has_its_name():
    def scored(row):
        return row

    assert jax.vmap(scored).__name__ == "scored", "messages and jaxprs show the name: keep it"


def test_nested_vmaps_map_two_axes():
    out = jax.vmap(jax.vmap(mul, in_axes=(None, 0)), in_axes=(0, None))(
        np.arange(2.0, dtype=np.float32), np.arange(3.0, dtype=np.float32)
    )
    np.testing.assert_array_equal(out, np.outer([0, 1], [0, 1, 2]))


def test_keyword_arguments_are_mapped_along_axis_0():
    np.testing.assert_array_equal(jax.vmap(lambda a, b: add(a, b))(x, b=x), 2 * x)
    found = jax.vmap(lambda x, y: x * y, in_axes=None)(2.0, y=np.arange(3.0))
    np.testing.assert_array_equal(found, [0, 2, 4], "also where in_axes is None")
    for in_axes in (1, (1,), -1, [1]):
        found = jax.vmap(lambda a, b: a + b.sum(), in_axes=in_axes)(x.T, b=x)
        np.testing.assert_array_equal(found, x + x.sum(1, keepdims=True), f"in_axes is {in_axes}")
    found = jax.vmap(lambda **named: named)(**{letter: x[:, :1] for letter in "zyxwv"})
    assert [*found] == [*"vwxyz"] or [*found] == [*"zyxwv"], "all keyword arguments are given"
    for nothing in ((), {}, [], None, [(), {}]):
        assert jax.vmap(lambda row, nothing=nothing: nothing)(x) == nothing, (
            "a result without arrays"
        )


def test_a_batched_and_an_unbatched_operand_need_no_copies():
    text = str(jax.make_jaxpr(jax.vmap(mul, in_axes=(0, None)))(x, x[0]))
    assert "broadcast_in_dim[broadcast_dimensions=(np.int64(1),)] b" in text
    assert "f32[1,3]" in text


def test_mapped_axes_must_have_one_size():
    with pytest.raises(
        ValueError, match=r"(?s)inconsistent.*size 2: axis 0 of argument x.*size 3: .*y"
    ):
        jax.vmap(add)(np.ones(2, np.float32), np.ones(3, np.float32))


def test_in_axes_must_fit_the_arguments():
    with pytest.raises(ValueError, match="in_axes.*1.*2"):
        jax.vmap(add, in_axes=(0,))(x, x)
    with pytest.raises(TypeError, match="in_axes.*int, None,? or a tuple"):
        jax.vmap(add, in_axes="0")
    with pytest.raises(ValueError, match="axis 2.*rank should be at least 3.*is only 2"):
        jax.vmap(sin, in_axes=2)(x)
    with pytest.raises(ValueError, match="at least one non-None"):
        jax.vmap(sin, in_axes=None)(x)
    with pytest.raises(ValueError, match=r"in_axes\[0\]\n.*without \['b'\]"):
        jax.vmap(lambda p: p["a"], in_axes=({"a": 0, "b": None},))({"a": x})


def test_each_result_is_checked_and_told_by_its_position():
    with pytest.raises(TypeError, match="at output component 1"):
        jax.vmap(lambda x: (x, "text"))(x)


def test_a_batched_result_cant_be_declared_unmapped():
    with pytest.raises(ValueError, match="mapped output.*out_axes is None"):
        jax.vmap(sin, out_axes=None)(x)


def test_an_axis_that_does_not_fit_is_named_with_its_argument():
    x = np.ones(3, np.float32)
    with pytest.raises(ValueError, match=r"the argument is params\['w'\]"):
        jax.vmap(lambda params: params, in_axes=1)({"w": x})


def test_many_arguments_of_one_size_are_counted():
    params, x = {str(i): np.ones(2, np.float32) for i in range(9)}, np.ones(3, np.float32)
    with pytest.raises(ValueError, match="size 2: .*, and 6 more\n.*size 3: axis 0 of argument x"):
        jax.vmap(lambda params, x: x)(params, x)


def test_after_an_error_of_the_function_trace_and_axes_are_what_they_were():
    for axis_name in (None, "i"):
        with error_passes(Thrown()) as error:
            jax.vmap(raises(error), axis_name=axis_name)(x)
    with error_passes(TypeError()) as error:
        jax.vmap(lambda row: jax.vmap(raises(error), axis_name="j")(row), axis_name="i")(x)
    assert not isinstance(sin(1.0), bind.Tracer), "what follows is computed as ever"


def test_the_size_of_the_axis_may_be_given_also_without_anything_that_is_mapped():
    out = jax.vmap(lambda: 3.0, axis_size=2)()
    np.testing.assert_array_equal(out, [3.0, 3.0])
    seen = []
    jax.vmap(lambda y: seen.append(bind.context.axis_env) or y, None, 0, "i", 4)(1.0)
    assert seen == [(("i", 4),)]
    with pytest.raises(ValueError):
        jax.vmap(sin, axis_size=3)(x)
        pytest.fail("axis_size is 3, and the argument has 2 rows: that does not fit")


def test_the_trace_knows_all_that_is_said_of_its_axis():
    seen = []
    jax.vmap(
        lambda y: seen.append(bind.context.trace.axis) or y, axis_name="i", spmd_axis_name="d"
    )(x)
    assert (seen[0].name, seen[0].size, seen[0].spmd_axis_name) == ("i", 2, "d")
    for name in (0, "", ()):
        jax.vmap(lambda y: seen.append(bind.context.trace.axis) or y, axis_name=name)(x)
        assert seen[-1].name == name and seen[-1].spmd_axis_name is None, "any name but None is one"


def test_each_call_has_its_own_size_and_leaves_its_arguments():
    calls = []

    def f(tree, y):
        calls.append(1)
        return {"sum": (add(tree["a"][0], y), None, 1.0)}

    mapped = jax.vmap(f, [0, -1], {"sum": (1, None, 0)})
    for size in (3, 1, 0, 3):
        tree, y = {"a": [np.ones((size, 4), np.float32)]}, np.ones((4, size), np.float32)
        with unchanged(tree=tree, y=y):
            out = mapped(tree, y)["sum"]
        assert (out[0].shape, out[1], out[2].shape) == ((4, size), None, (size,))
    assert len(calls) == 4, "the function is called once at each call of the mapped one"


def test_each_result_may_have_an_axis_of_its_own_and_keeps_its_dtype():
    many = jax.vmap(lambda a, b, c, d: (d, c, b, a, a), (0, None, 1, 0), (0, 1, None, 1, 0))
    out = many(x, 2.0, x.T, x[:, 0])
    assert [np.shape(leaf) for leaf in out] == [(2,), (3, 2), (), (3, 2), (2, 3)]
    with pytest.raises(TypeError, match="at output component 3"):
        jax.vmap(lambda x: (x, x, x, "text"))(x)
    bits = np.ones((2, 3), SMALL_FLOAT)
    out = jax.vmap(lambda a, b: (a, [b, a], 1.0), (1, None), (1, [0, -1], None))(bits, np.int8(3))
    assert [leaf.shape for leaf in (out[0], *out[1])] == [(2, 3), (3,), (2, 3)] and out[2] == 1.0
    assert out[0].dtype == SMALL_FLOAT and out[1][0].dtype == np.int8
