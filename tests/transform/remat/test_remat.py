"""jax.checkpoint: what grad keeps of a function, and what it computes again."""

from functools import partial

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import ad_checkpoint, lax
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.core.jaxpr import subjaxprs
from tinyjax.transform.remat.named_policies import checkpoint_name
from tinyjax.transform.remat.saved_residuals import print_saved_residuals, saved_residuals

policies = jax.checkpoint_policies
x, w = np.full((2, 3), 0.5, np.float32), np.full((3, 4), 0.25, np.float32)


def layer(x, w):
    return jnp.sin(jnp.sin(checkpoint_name(x @ w, "product")))


def loss(x, w):
    return layer(x, w).sum()


def count(primitive: str, jaxpr) -> int:
    """How many equations of a primitive a jaxpr has, also in those within it."""
    inner = sum(count(primitive, sub) for eqn in jaxpr.eqns for sub in subjaxprs(eqn.params))
    return inner + sum(eqn.primitive.name == primitive for eqn in jaxpr.eqns)


# ---- values ----


def test_the_function_and_its_gradient_are_the_same():
    value, gradient = jax.value_and_grad(jax.checkpoint(loss))(x, w)
    want_value, want_gradient = jax.value_and_grad(loss)(x, w)
    np.testing.assert_allclose(value, want_value, rtol=1e-6)
    np.testing.assert_allclose(gradient, want_gradient, rtol=1e-6)


@pytest.mark.parametrize("policy", [None, policies.dots_saveable, policies.everything_saveable])
def test_also_compiled_batched_and_twice(policy):
    def gradient(f):
        return jax.jit(jax.vmap(jax.grad(jax.grad(f))))(jnp.arange(3.0))

    f = lambda x: jnp.sin(jnp.sin(x) * x)  # noqa: E731
    remat = jax.checkpoint(f, policy=policy)
    np.testing.assert_allclose(gradient(remat), gradient(f), rtol=1e-5)


# ---- what is kept ----


@pytest.mark.parametrize(
    "policy, kept",
    [
        (None, 2),  # x and w
        (policies.nothing_saveable, 2),
        (policies.dots_saveable, 3),  # and the product
        (policies.dots_with_no_batch_dims_saveable, 3),
        (policies.save_only_these_names("product"), 3),
        (policies.save_only_these_names("other"), 2),
        (policies.save_any_names_but_these("product"), 2),
        (policies.everything_saveable, 4),  # two cosines
    ],
)
def test_a_policy_says_how_many_residuals_there_are(policy, kept):
    assert len(saved_residuals(jax.checkpoint(layer, policy=policy), x, w)) == kept


def test_what_is_offloaded_is_saved_as_a_device_has_one_memory(capsys):
    policy = policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["product"],
        offload_src="device",
        offload_dst="pinned_host",
    )
    print_saved_residuals(jax.checkpoint(layer, policy=policy), x, w)
    assert "named 'product' from" in capsys.readouterr().out
    dots = policies.offload_dot_with_no_batch_dims("device", "pinned_host")
    assert len(saved_residuals(jax.checkpoint(layer, policy=dots), x, w)) == 3


@pytest.mark.parametrize(
    "answer, kept", [(ad_checkpoint.Saveable, 4), (ad_checkpoint.Recompute, 2), (False, 2)]
)
def test_a_policy_may_answer_by_name(answer, kept):
    f = jax.checkpoint(layer, policy=lambda *_, **__: answer)
    assert len(saved_residuals(f, x, w)) == kept


def test_of_many_layers_only_their_inputs_are_kept():
    def network(depth, layer):
        def apply(x):
            for _ in range(depth):
                x = layer(x)
            return x

        return apply

    inner = lambda x: jnp.sin(jnp.sin(jnp.sin(x)))  # noqa: E731
    assert len(saved_residuals(network(10, inner), 0.5)) == 30
    assert len(saved_residuals(network(10, jax.checkpoint(inner)), 0.5)) == 10
    assert len(saved_residuals(jax.checkpoint(network(10, inner)), 0.5)) == 1


def test_what_needs_no_residual_keeps_none():
    assert saved_residuals(jax.checkpoint(lambda x: x + 1), 1.0) == []


def test_a_policy_reaches_into_a_jit():
    f = jax.checkpoint(jax.jit(layer), policy=policies.dots_saveable)
    assert len(saved_residuals(f, x, w)) == 3


def test_a_checkpoint_within_one_keeps_nothing_either():
    f = jax.checkpoint(lambda x: jax.checkpoint(jnp.sin)(jnp.sin(x)))
    assert len(saved_residuals(f, 0.5)) == 1


def test_saved_residuals_say_where_each_is_from(capsys):
    f = jax.checkpoint(layer, policy=policies.save_only_these_names("product"))
    print_saved_residuals(f, x, w=w)
    first, second, third = capsys.readouterr().out.splitlines()
    assert (first, second) == ("f32[2,3] from the argument x", "f32[3,4] from the argument w")
    assert third.startswith("f32[2,4] named 'product' from ") and "(layer)" in third


def test_an_argument_that_is_a_tree_is_named_by_its_path():
    kept = saved_residuals(lambda params: params["a"][0] * params["a"][1], {"a": [1.0, 2.0]})
    assert [origin for _, origin in kept] == [
        "from the argument params['a'][0]",
        "from the argument params['a'][1]",
    ]


# ---- loops and branches ----


def step(c, x):
    return jnp.sin(jnp.sin(c)) * x, c


def loop(c, xs):
    return lax.scan(step, c, xs)[0]


def numbers_kept(fun, *args) -> int:
    return sum(aval.size for aval, _ in saved_residuals(fun, *args))


def test_a_scan_keeps_numbers_for_each_step_unless_its_body_or_all_of_it_is_computed_again():
    c, xs = np.float32(0.5), np.ones(100, np.float32)
    body = lambda c, xs: lax.scan(jax.checkpoint(step), c, xs)[0]  # noqa: E731
    assert numbers_kept(loop, c, xs) == 400  # two cosines, a sine, and x
    assert numbers_kept(body, c, xs) == 200  # c and x
    assert numbers_kept(jax.checkpoint(loop), c, xs) == 101  # c and xs
    gradients = [jax.grad(f)(c, xs) for f in (loop, body, jax.checkpoint(loop))]
    np.testing.assert_allclose(gradients[1:], gradients[0], rtol=1e-6)


def test_a_policy_reaches_into_a_scan_and_a_cond():
    def named(c, x):
        c = lax.cond(x > 0, lambda: jnp.sin(c), lambda: checkpoint_name(jnp.cos(c), "saved"))
        return jnp.sin(c), None

    def f(c, xs):
        return lax.scan(named, c, xs)[0]

    c, xs = np.float32(0.5), np.array([1, -1, 2], np.float32)
    kept = {
        name: numbers_kept(jax.checkpoint(f, policy=policies.save_only_these_names(name)), c, xs)
        for name in ("saved", "other")
    }
    assert kept["other"] == 4 and kept["saved"] > 4
    remat = jax.checkpoint(f, policy=policies.save_only_these_names("saved"))
    np.testing.assert_allclose(jax.grad(remat)(c, xs), jax.grad(f)(c, xs), rtol=1e-6)


def test_a_while_loop_without_a_derivative_may_stand_in_a_checkpoint():
    def f(x):
        n = lax.while_loop(lambda n: n < 10, lambda n: n * 2, jnp.int32(1))
        return jnp.sin(x) * n

    np.testing.assert_allclose(jax.grad(jax.checkpoint(f))(0.5), 16 * np.cos(0.5), rtol=1e-6)


# ---- what is computed again ----


def test_the_backward_pass_computes_again_what_was_not_kept():
    sines = {
        policy: count("sin", jax.make_jaxpr(jax.grad(jax.checkpoint(loss, policy=policy)))(x, w))
        for policy in (None, policies.everything_saveable)
    }
    assert sines == {None: 3, policies.everything_saveable: 2}  # the outer sine is needed but once


def test_the_compiler_does_not_merge_it_with_the_forward_pass():
    def sines(**options):
        f = jax.value_and_grad(jax.checkpoint(loss, **options))
        return count("sin", simplify(jax.make_jaxpr(f)(x, w)).jaxpr)

    assert sines() == 3
    assert sines(prevent_cse=(True, False)) == 3
    assert sines(prevent_cse=False) == 2


def test_an_effect_happens_once():
    traces = []

    @jax.checkpoint
    def f(x):
        traces.append(x)
        return jnp.sin(jnp.sin(x))

    jax.grad(f)(1.0)
    assert len(traces) == 1


# ---- names ----


def test_a_name_changes_nothing_but_the_jaxpr():
    named = lambda t: checkpoint_name(t, "here")  # noqa: E731
    assert named({"a": 1.0})["a"] == 1.0
    assert jax.grad(lambda x: named(x) ** 2)(3.0) == 6.0
    assert "name[name=here]" in str(jax.make_jaxpr(named)(1.0))


# ---- options and errors ----


@pytest.mark.parametrize("names", ["flag", ("flag", "other"), ["flag"]])
def test_an_argument_that_is_passed_by_a_static_name_is_a_python_value_inside(names):
    def f(x, flag, y=1.0):
        return x * x * y if flag else x

    remat = jax.checkpoint(f, static_argnames=names)
    assert jax.grad(remat)(3.0, flag=True, y=2.0) == 12
    assert jax.grad(remat)(3.0, flag=False) == 1
    with pytest.raises(jax.errors.TracerBoolConversionError):  # a name says nothing of positions
        remat(3.0, True)


def test_static_arguments_are_python_values_inside():
    @partial(jax.checkpoint, static_argnums=(1, -1))
    def f(x, twice, power, names):
        assert names == ["unhashable"]
        return jnp.sin(jnp.sin(x)) ** power if twice else x

    want = jax.grad(lambda x: jnp.sin(jnp.sin(x)) ** 2)(0.5)
    np.testing.assert_allclose(jax.grad(f)(0.5, True, 2.0, ["unhashable"]), want, rtol=1e-6)


def test_a_value_that_is_needed_while_tracing_names_the_remedy():
    with pytest.raises(jax.errors.TracerBoolConversionError) as raised:
        jax.checkpoint(lambda x: x if x > 0 else -x)(1.0)
    assert "jax.checkpoint(..., static_argnums=0)" in str(raised.value)


def test_checkpoint_keeps_the_functions_name():
    assert jax.remat(loss).__name__ == "loss"


def test_closed_over_tracers_are_differentiated():
    f = lambda x: jax.checkpoint(lambda y: jnp.sin(x * y))(2.0)  # noqa: E731
    np.testing.assert_allclose(jax.grad(f)(0.5), 2 * np.cos(1.0), rtol=1e-6)


def test_a_policy_of_ones_own_sees_primitive_avals_and_parameters():
    asked = []

    def policy(primitive, *avals, **params):
        asked.append((primitive.name, [aval.shape for aval in avals], sorted(params)))
        return primitive is lax.dot_general_p

    jax.grad(jax.checkpoint(loss, policy=policy))(x, w)
    name, shapes, params = asked[0]
    assert (name, shapes) == ("dot_general", [(2, 3), (3, 4)]) and "dimension_numbers" in params


def test_a_residual_is_from_a_line_a_column_and_a_function(capsys):
    def f(x):
        return x * jnp.sin(x)

    print_saved_residuals(f, 1.0)
    line = f.__code__.co_firstlineno + 1
    _, sine, cosine = capsys.readouterr().out.splitlines()
    place = f"{__file__}:{line}:19 ({f.__qualname__})"
    assert sine == f"f32[] output of sin from {place}"
    assert cosine == f"f32[] output of cos from {place}"
