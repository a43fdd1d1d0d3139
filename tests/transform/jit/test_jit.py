"""jit: traced once per kind of arguments, compiled, reused."""

import copy
import functools
import gc
import inspect
import weakref

import numpy as np
import pytest
from explain_errors import explain_errors

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.transform.jit.static_arguments import split_static


def counted(fun):
    """`fun`, and the list that grows whenever it runs in Python."""
    runs = []

    @functools.wraps(fun)
    def wrapper(*args, **kwargs):
        runs.append(1)
        return fun(*args, **kwargs)

    return wrapper, runs


def test_a_jitted_function_gives_what_the_function_gives():
    f = lambda x: jnp.sin(x) * x  # noqa: E731
    np.testing.assert_allclose(jax.jit(f)(3.0), f(3.0), rtol=1e-6)


@pytest.fixture(params=["call", "eval_shape"])
def use(request):
    """Calls a jitted function, or only traces it for the arguments."""
    return lambda f, *args: f(*args) if request.param == "call" else f.eval_shape(*args)


def test_python_runs_only_while_tracing():
    fun, runs = counted(lambda x: x + 1)
    f = jax.jit(fun)
    assert [float(f(1.0)), float(f(2.0))] == [2.0, 3.0]
    assert len(runs) == 1


OTHERS = {
    "shape": np.ones(3, np.float32),
    "dtype": np.int32(1),
    "weak type": 1.0,
    "tree": {"x": np.float32(1)},
}


def test_a_new_kind_of_argument_is_a_new_trace(use):
    for what, other in OTHERS.items():
        fun, runs = counted(lambda x: jax.tree.map(lambda leaf: leaf * 2, x))
        f = jax.jit(fun)
        with explain_errors(
            "of a call: the leaves of what is traced, then the key, with their tree and avals in it"
        ):
            use(f, np.float32(5)), use(f, other)
        assert len(runs) == 2, f"another {what}, but {len(runs)} traces"


def test_another_value_of_the_same_kind_is_no_new_trace(use):
    fun, runs = counted(lambda x: x * 2)
    f = jax.jit(fun)
    use(f, np.float32(5)), use(f, np.float32(1))
    assert len(runs) == 1, f"the float32s 5 and 1 need one trace, not {len(runs)}"


def test_a_weakly_typed_argument_gives_way_in_promotion():
    f = jax.jit(lambda x, y: x + y)
    assert f(np.float16(1), 2.0).dtype == np.float16
    assert f(np.float16(1), np.float32(2)).dtype == np.float32


def test_a_configuration_change_is_a_new_trace(use):
    fun, runs = counted(lambda x: x + 1)
    f = jax.jit(fun)
    use(f, np.float32(1))
    with jax.enable_x64(True):
        use(f, np.float32(1))
    assert len(runs) == 2, f"without and with enable_x64, but {len(runs)} traces"


def test_another_size_of_an_axis_around_the_call_is_a_new_trace():
    fun, runs = counted(lambda y: y / jax.lax.axis_size("batch"))
    f = jax.jit(fun)

    def example(x):
        assert f.eval_shape(1.0).shape == ()
        return x

    for size in (2, 3, 2):
        jax.vmap(example, axis_name="batch")(np.ones(size, np.float32))
    assert len(runs) == 2, f"within a named axis of size 2, then 3, then 2: {len(runs)} traces"


def test_globals_are_read_once_when_the_function_is_traced():
    scale = {"value": 2.0}
    f = jax.jit(lambda x: x * scale["value"])
    assert float(f(1.0)) == 2.0
    scale["value"] = 10.0
    assert float(f(1.0)) == 2.0


def test_static_arguments_are_python_values_inside():
    fun, runs = counted(lambda x, n: x**n if n > 1 else x)
    f = jax.jit(fun, static_argnums=1)
    assert [float(f(3.0, n)) for n in (1, 2, 2)] == [3.0, 9.0, 9.0]
    assert len(runs) == 2


def test_static_argnames_hold_by_position_too():
    f = jax.jit(
        lambda x, power: x**power if isinstance(power, int) else None, static_argnames="power"
    )
    assert float(f(3.0, power=2)) == 9.0
    assert float(f(3.0, 2)) == 9.0


def test_static_values_that_are_equal_but_of_other_types_are_told_apart(use):
    f = jax.jit(lambda x, n: x * n, static_argnums=1)
    with explain_errors(
        "static arguments are given by static_argnums, then static_argnames, and split off"
    ):
        dtypes = [use(f, np.int32(2), n).dtype for n in (1, 1.0)]
    assert dtypes == [np.int32, np.float32], f"times 1 an int32, times 1.0 a float32: {dtypes}"


def test_static_arguments_are_split_off_each_with_its_place_and_type():
    dynamic, static = split_static((1.0, 2, 3.0), {"x": 4.0, "k": "v"}, (1,), ("k",))
    assert dynamic == ((1.0, 3.0), {"x": 4.0}), "these are traced"
    assert static == ((1, int, 2), ("k", str, "v")), "by number first, then by name"


def test_static_arguments_are_in_order_however_they_were_given():
    _, static = split_static(tuple("abcdefghi"), {"y": 1, "x": 2}, (8, 1), ("y", "x"))
    assert [place for place, _, _ in static] == [1, 8, "x", "y"], "or one call has two keys"


def test_without_static_arguments_all_are_traced():
    assert split_static((1.0,), {"x": 2.0}, (), ()) == (((1.0,), {"x": 2.0}), ())
    assert split_static((1.0,), {"x": 2.0}, (), ("x",)) == (((1.0,), {}), (("x", float, 2.0),))


def test_the_key_comes_with_the_leaves_that_are_traced():
    leaves, key = jax.jit(lambda n, x: x, static_argnums=0).cache_key((2, {"a": 3.0}), {"y": 4.0})
    assert leaves == [3.0, 4.0], "the static argument 2 is no leaf"
    assert len(key[1]) == 2, f"an aval for each leaf: {key[1]}"


def test_an_argument_that_is_no_array_is_named_though_static_ones_stand_before_it():
    f = jax.jit(lambda n, x, y: x, static_argnums=0)
    with explain_errors(
        "avals are named by the function, the static positions, the tree and the leaves"
    ):
        with pytest.raises(TypeError, match=r"\by\b"):
            f.eval_shape(2, 3.0, "text")
    f = jax.jit(lambda n, x, y: x, static_argnums=(-1, -3))
    with explain_errors("static positions are counted from the front"):
        with pytest.raises(TypeError, match=r"\bx\b"):
            f.eval_shape(2, "text", 3.0)


def test_a_static_argument_may_be_counted_from_the_end():
    dynamic, static = split_static((1.0, 2.0, 3), {}, (-1,), ())
    assert (dynamic, static) == (((1.0, 2.0), {}), ((2, int, 3),))


def test_a_static_argument_may_be_missing_in_a_call():
    dynamic, static = split_static((1.0,), {"x": 4.0}, (1,), ("k",))
    assert (dynamic, static) == (((1.0,), {"x": 4.0}), ())


def test_an_unhashable_static_argument_is_an_error_that_names_it():
    f = jax.jit(lambda x, sizes: x, static_argnums=1)
    with pytest.raises(ValueError, match=r"static argument sizes of .*list.*\[1, 2\].*tuple"):
        f(1.0, [1, 2])


def test_an_argument_that_is_no_array_is_named():
    f = jax.jit(lambda n, p, *rest, k=0: p["w"], static_argnums=0)
    with pytest.raises(TypeError, match=r"argument p\['w'\] of <lambda>.*'a'.*static_argnums"):
        f(3, {"w": "a"})
    with pytest.raises(TypeError, match=r"argument rest\[1\] of <lambda>"):
        f(3, {"w": 1.0}, 2.0, object())
    with pytest.raises(TypeError, match=r"argument k of <lambda>"):
        f.lower(3, {"w": 1.0}, k="text")


def test_static_argnums_must_name_a_parameter():
    with pytest.raises(ValueError, match="static_argnums=.5.*only accepts 1"):
        jax.jit(lambda x: x, static_argnums=5)
    with pytest.raises(ValueError, match="argnames.*'size'"):
        jax.jit(lambda x: x, static_argnames="size")


def test_jit_is_a_decorator_in_three_spellings():
    @jax.jit
    def f(x):
        return x + 1

    @functools.partial(jax.jit, static_argnums=(1,))
    def g(x, n):
        return x + n

    @jax.jit(static_argnums=1)
    def h(x, n):
        return x + n

    assert float(f(1.0)) == float(g(1.0, 1)) == float(h(1.0, 1)) == 2.0
    assert f.__name__ == "f"


def test_a_method_can_be_jitted_when_self_is_static():
    class Scaler:
        @functools.partial(jax.jit, static_argnums=0)
        def __call__(self, x):
            return x * 3

    assert float(Scaler()(2.0)) == 6.0


def test_keyword_arguments_and_trees_pass_through():
    f = jax.jit(lambda a, *, b: {"sum": a["x"] + b, "none": None})
    out = f({"x": 1.0}, b=2.0)
    assert float(out["sum"]) == 3.0 and out["none"] is None


def test_disable_jit_runs_the_function_eagerly():
    seen = []
    with jax.disable_jit():
        jax.jit(lambda x: (seen.append(float(x)), x)[1])(1.5)
    assert seen == [1.5]


def test_donated_arguments_are_counted_with_the_static_ones():
    x, y = jnp.zeros(3) + 1, jnp.zeros(3) + 2
    f = jax.jit(lambda s, x, t, y: (x + 1, y + 1), static_argnums=(0, -2), donate_argnums=3)
    f("s", x, "t", y)
    assert y.is_deleted() and not x.is_deleted()


def test_a_generator_function_is_refused():
    def rows(x):
        yield x

    with pytest.raises(TypeError, match="generator"):
        jax.jit(rows)


def test_a_donated_argument_cant_be_used_again():
    x = jnp.ones(3)
    jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(x)
    with pytest.raises(RuntimeError, match=r"deleted with shape=float32\[3\]"):
        jax.jit(lambda x: x + 2)(x)


def test_a_jitted_function_can_close_over_an_outer_tracer():
    outer = jax.jit(lambda y: jax.jit(lambda x: x * y)(3.0) + y)
    assert float(outer(2.0)) == 8.0
    assert float(jax.grad(outer)(2.0)) == 4.0


def test_early_inlining_leaves_no_jit_equation():
    f = jax.jit(lambda x: x + 1, inline=jax.Inline.JAX_EARLY)
    assert (
        str(jax.make_jaxpr(f)(1.0)) == "{ lambda ; a:f32[]. let b:f32[] = add a 1.0:f32[] in (b,) }"
    )


def test_debug_nans_names_the_primitive_that_made_the_nan():
    with jax.debug_nans(True):
        with pytest.raises(FloatingPointError, match="nan.*log"):
            jax.jit(lambda x: jnp.log(x) + 1)(-1.0)


def test_debug_nans_looks_for_the_primitive_without_compiling_more(caplog):
    with jax.debug_nans(True), jax.log_compiles(), pytest.raises(FloatingPointError):
        jax.jit(lambda x: jnp.log(jnp.clip(x, -9.0, 9.0)))(-1.0)
    assert "clip" not in "".join(line for line in caplog.messages if "ompil" in line)


def test_a_result_that_is_an_argument_or_a_constant():
    x, y, z = jax.jit(lambda x: (x, 2.0, jnp.arange(3)))(1.0)
    assert float(x) == 1.0 and float(y) == 2.0
    np.testing.assert_array_equal(z, [0, 1, 2])


def test_jit_takes_functions_only():
    with pytest.raises(TypeError, match="Expected a callable value"):
        jax.jit(3)


def test_an_unknown_backend_is_an_error():
    with pytest.warns(DeprecationWarning, match="device_put"):
        f = jax.jit(lambda x: x, backend="tpu")
    with pytest.raises(RuntimeError, match="tpu"):
        f(1.0)


def test_a_device_is_not_given_by_its_name():
    with pytest.raises(TypeError, match=r"such as jax.devices\(\)\[0\], got 'cpu'"):
        jax.jit(lambda x: x, device="cpu")


def test_a_jitted_function_in_a_container_can_be_copied():
    f = jax.jit(lambda x: x + 1)
    f(1.0)
    assert copy.deepcopy({"f": f})["f"](2.0) == 3.0


def test_jitting_a_function_again_traces_nothing_again():
    def f(x):
        traces.append(x)
        return x * 2.0

    traces = []
    assert [jax.jit(f)(1.0), jax.jit(f)(2.0)] == [2.0, 4.0]
    assert len(traces) == 1


def test_what_was_traced_lives_no_longer_than_the_function():
    def f(x):
        return x * 2.0

    jax.jit(f)(1.0)
    alive = weakref.ref(f)
    del f
    gc.collect()
    assert alive() is None


def test_a_callable_without_a_hash_can_be_jitted():
    class Double:
        __hash__ = None

        def __call__(self, x):
            return x * 2.0

    assert jax.jit(Double())(1.0) == 2.0


def test_cache_size_counts_kinds_of_arguments():
    f = jax.jit(lambda x: x + 1)
    f(1.0)
    f(2.0)
    f(jnp.ones(3))
    assert f._cache_size() == 2


def test_clear_cache_forgets_traces():
    fun, runs = counted(lambda x: x + 1)
    f = jax.jit(fun)
    f(1.0)
    f.clear_cache()
    f(1.0)
    assert len(runs) == 2


@pytest.mark.parametrize(
    "transformed", [jax.jit, lambda f: functools.partial(jax.lax.cond, True, f, f)]
)
def test_clear_caches_forgets_all_traces(transformed):
    fun, runs = counted(lambda x: x + 1)
    f = transformed(fun)
    f(1.0)
    f(1.0)
    jax.clear_caches()
    assert f(1.0) == 2.0
    assert len(runs) == 2


# ---- the rules of jit ----


def the_jit_of(transformed, *args):
    """The only equation of a function's jaxpr, a jit."""
    (eqn,) = jax.make_jaxpr(transformed)(*args).eqns
    assert eqn.primitive.name == "jit"
    return eqn


def test_vmap_of_a_jitted_function_is_one_jit_of_the_batched_jaxpr():
    f = jax.jit(lambda x, y: jnp.sin(x) * y)
    xs = np.ones(3, np.float32)
    eqn = the_jit_of(jax.vmap(f, (0, None)), xs, 2.0)
    assert [aval.shape for aval in eqn.params["jaxpr"].in_avals] == [(3,), ()]
    assert len(eqn.invars) == 2
    (out,) = eval_jaxpr(eqn.params["jaxpr"].jaxpr, [], xs, 2.0)
    np.testing.assert_array_equal(out, 2 * np.sin(xs))


def test_a_batch_of_a_jitted_function_has_its_batch_dims_where_the_jaxpr_has_them():
    f = jax.jit(lambda x, y: (x.T, y))
    xs = np.ones((2, 5, 3), np.float32)
    mapped = jax.vmap(f, (1, None), (0, None))  # an unmapped result has no batch dim to give
    first, second = jax.eval_shape(mapped, xs, 1.0)
    assert (first.shape, second.shape) == ((5, 3, 2), ())


def test_neither_a_batch_nor_a_jvp_donates_anything():
    f, x = jax.jit(lambda x: x * 2, donate_argnums=0), np.ones(3, np.float32)
    assert the_jit_of(jax.vmap(f), x).params["donated_invars"] == (False,)
    both = the_jit_of(lambda x, t: jax.jvp(f, (x,), (t,)), x, x)
    assert both.params["donated_invars"] == (False, False), "x and its tangent"


def test_what_jit_was_told_of_shardings_is_not_of_its_batch_or_jvp():
    place = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    f = jax.jit(jnp.sin, in_shardings=place, out_shardings=place)
    batch = the_jit_of(jax.vmap(f), np.ones(3, np.float32))
    both = the_jit_of(lambda x, t: jax.jvp(f, (x,), (t,)), 3.0, 1.0)
    for what, eqn in {"batch": batch, "jvp": both}.items():
        assert not {"in_shardings", "out_shardings"} & eqn.params.keys(), what


def test_jvp_of_a_jitted_function_is_one_jit_of_the_jvp():
    f = jax.jit(lambda x: jnp.sin(x) * x)
    eqn = the_jit_of(lambda x, t: jax.jvp(f, (x,), (t,)), 3.0, 1.0)
    outs = eval_jaxpr(eqn.params["jaxpr"].jaxpr, [], 3.0, 1.0)
    np.testing.assert_allclose(outs, [np.sin(3) * 3, np.cos(3) * 3 + np.sin(3)], rtol=1e-6)


def test_a_tangent_that_is_zero_is_no_operand_of_the_jit():
    f = jax.jit(lambda x, y: x * y)
    eqn = the_jit_of(lambda x, t: jax.jvp(lambda x: f(x, 2.0), (x,), (t,)), 3.0, 1.0)
    assert len(eqn.invars) == 3, "x, 2.0, and the tangent of x"
    assert len(eqn.params["jaxpr"].in_avals) == 3


def test_a_result_of_a_jitted_function_that_nothing_moves_has_a_zero_tangent():
    f = jax.jit(lambda x: (np.float32(1), x * 2.0))
    jaxpr = jax.make_jaxpr(lambda x, t: jax.jvp(f, (x,), (t,))[1])(3.0, 1.0)
    zero, moved = jaxpr.jaxpr.outvars
    assert zero.val == 0.0 and moved is jaxpr.eqns[0].outvars[-1]


def test_a_jitted_function_shows_the_function_and_its_signature():
    def f(x, y=1):
        return x + y

    assert repr(jax.jit(f)) == f"<PjitFunction of {f!r}>"
    for follow in (True, False):
        assert str(inspect.signature(jax.jit(f), follow_wrapped=follow)) == "(x, y=1)"
