"""What libraries build their own transformations with: jax.extend.linear_util, api_util, partial_eval."""

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core.bind import ShapedArray
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.extend import core as extend_core
from tinyjax.extend import linear_util as lu
from tinyjax.interpreters import partial_eval as pe


@lu.transformation
def doubled(factor, *args):
    out = yield args, {}
    yield out * factor


@lu.transformation_with_aux
def counted(*args):
    out = yield args, {}
    yield out, len(args)


def test_a_transformation_is_around_the_function():
    assert doubled(lu.wrap_init(lambda x, y: x + y), 2).call_wrapped(1, 2) == 6
    assert lu.wrap_init(pow, {"exp": 3}).call_wrapped(2) == 8


def test_transformations_nest():
    assert doubled(doubled(lu.wrap_init(abs), 3), 2).call_wrapped(-1) == 6


def test_a_transformation_of_functions_takes_the_function():
    fun = lu.transformation2(lambda f, n, x: f(x) + n, lu.wrap_init(abs), 10)
    assert fun.call_wrapped(-1) == 11


def test_an_auxiliary_result_is_there_after_the_call():
    fun, count = counted(lu.wrap_init(max))
    with pytest.raises(lu.StoreException, match="has not been called"):
        count()
    assert fun.call_wrapped(1, 5) == 5 and count() == 2


def test_a_function_of_leaves_knows_its_results_tree():
    leaves, in_tree = jax.tree.flatten(((1, {"a": 2}), {}))
    fun, out_tree = jax.api_util.flatten_fun(
        lu.wrap_init(lambda x, y: {"sum": x + y["a"]}), in_tree
    )
    assert fun.call_wrapped(*leaves) == [3]
    assert out_tree() == jax.tree.structure({"sum": 0})
    fun, _ = jax.api_util.flatten_fun_nokwargs(lu.wrap_init(max), jax.tree.structure((0, 0)))
    assert fun.call_wrapped(1, 2) == [2]


def test_what_is_known_is_computed_and_the_rest_is_written_down():
    fun = lu.wrap_init(lambda x, y: [jnp.sin(x), x * y])
    known = pe.PartialVal.known(jnp.float32(2))
    unknown = pe.PartialVal.unknown(ShapedArray((), jnp.float32))
    jaxpr, (sine, product), consts = pe.trace_to_jaxpr_nounits(fun, [known, unknown])
    assert sine.is_known() and sine[1] == jnp.sin(2.0)
    assert not product.is_known() and product.get_aval() == ShapedArray((), jnp.float32)
    assert eval_jaxpr(jaxpr, consts, 5.0) == [10]


def test_the_state_of_transformations_can_be_compared():
    def state():
        return extend_core.get_opaque_trace_state(convention="test")

    outside, inside = state(), []
    jax.vmap(lambda x: inside.append(state()) or x)(jnp.ones(2))
    assert outside == state() and inside[0] != outside


def test_within_take_current_trace_no_transformation_is_active():
    def f(x):
        with extend_core.take_current_trace() as trace:
            assert trace is not extend_core.find_top_trace()
            three = float(jnp.sum(jnp.ones(3)))
        return x * three

    assert jax.jit(f)(2.0) == 6


def test_libraries_may_say_which_files_are_theirs():
    from tinyjax._src import traceback_util
    from tinyjax.extend import source_info_util

    source_info_util.register_exclusion("library.py")
    traceback_util.register_exclusion("library.py")
    assert "library.py" in traceback_util._exclude_paths
    assert traceback_util.api_boundary(abs) is abs
