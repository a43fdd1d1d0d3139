"""Tracing: a function runs once on tracers, and a jaxpr is what it did."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax.primitives import add, gt, mul, sin


def test_a_traced_function_runs_on_tracers_that_show_avals(capsys):
    def f(x):
        print(x)
        return sin(x)

    jax.make_jaxpr(f)(np.ones(3, np.float32))
    assert capsys.readouterr().out == "JaxprTracer(float32[3])\n"


def test_python_control_flow_is_gone_from_the_jaxpr():
    def f(x):
        for _ in range(3):
            x = sin(x)
        return x

    assert [eqn.primitive.name for eqn in jax.make_jaxpr(f)(1.0).eqns] == ["sin"] * 3


def test_scalars_become_literals_and_arrays_constvars():
    array = np.ones(3, np.float32)
    closed = jax.make_jaxpr(lambda x: mul(add(x, 2.0), array))(1.0)
    assert str(closed.jaxpr.eqns[0]) == "a:f32[] = add b 2.0:f32[]"
    assert closed.consts[0] is array


def test_an_array_used_twice_is_one_constvar():
    array = np.ones(3, np.float32)
    closed = jax.make_jaxpr(lambda x: mul(add(array, x), array))(np.float32(1))
    assert len(closed.consts) == 1


def test_each_equation_remembers_the_users_line():
    closed = jax.make_jaxpr(lambda x: sin(x))(1.0)
    file, _, function = closed.eqns[0].source_info
    assert file == __file__ and function == "<lambda>"


def test_a_branch_on_a_tracer_is_an_error_that_names_the_remedy():
    def f(x):
        return x if gt(x, 0.0) else add(x, 1.0)

    with pytest.raises(jax.errors.TracerBoolConversionError, match="jnp.where.*lax.cond"):
        jax.make_jaxpr(f)(1.0)


def test_numpy_can_not_have_the_values_of_a_tracer():
    with pytest.raises(jax.errors.TracerArrayConversionError, match="jax.numpy function"):
        jax.make_jaxpr(np.sin)(1.0)


def test_a_tracer_is_no_python_integer():
    with pytest.raises(jax.errors.TracerIntegerConversionError, match="static"):
        jax.make_jaxpr(lambda i: [1, 2, 3][i])(0)


@pytest.mark.parametrize("convert", [int, float, complex])
def test_a_tracer_is_no_python_number(convert):
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.make_jaxpr(convert)(1)


def test_a_leaked_tracer_is_found_when_it_is_used_and_its_line_is_named():
    leaked = []

    def f(x):
        leaked.append(sin(x))
        return x

    jax.make_jaxpr(f)(1.0)
    with pytest.raises(jax.errors.UnexpectedTracerError, match=r"test_tracing.py:\d+ \(f\)"):
        sin(leaked[0])
    with pytest.raises(jax.errors.UnexpectedTracerError):
        jax.make_jaxpr(lambda x: add(x, leaked[0]))(1.0)


@pytest.mark.parametrize("transform", [jax.vmap, jax.grad, jax.jit], ids=["vmap", "grad", "jit"])
def test_the_line_that_made_a_leaked_tracer_is_named_under_each_transformation(transform):
    leaked = []

    def f(x):
        leaked.append(sin(x))
        return x

    transform(f)(np.ones(3, np.float32) if transform is jax.vmap else 1.0)
    with pytest.raises(jax.errors.UnexpectedTracerError, match=r"test_tracing.py:\d+ \(f\)"):
        sin(leaked[0])


def test_a_result_that_is_no_array_is_an_error():
    with pytest.raises(
        TypeError, match="'text'.*not a valid JAX type|not a valid JAX type.*'text'"
    ):
        jax.make_jaxpr(lambda x: (x, "text"))(1.0)


def test_static_arguments_are_values_while_tracing():
    closed = jax.make_jaxpr(lambda n, x: mul(x, float(n)), static_argnums=0)(3, 1.0)
    assert str(closed) == "{ lambda ; a:f32[]. let b:f32[] = mul a 3.0:f32[] in (b,) }"


def test_eval_shape_computes_nothing():
    x = jax.ShapeDtypeStruct((10**6, 10**6), np.float32)
    out = jax.eval_shape(lambda x: {"y": sin(x)}, x)
    assert out == {"y": jax.ShapeDtypeStruct((10**6, 10**6), np.float32)}


def test_make_jaxpr_takes_functions_only():
    with pytest.raises(TypeError, match="Expected a callable value"):
        jax.make_jaxpr(3)


def test_eval_shape_keeps_weak_types_and_key_dtypes():
    assert jax.eval_shape(lambda x: x * 2, jax.numpy.asarray(1.0)).weak_type
    assert "key<fry>" in repr(jax.eval_shape(jax.random.split, jax.random.key(0)))
