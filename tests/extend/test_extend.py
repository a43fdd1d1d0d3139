"""User-defined primitives and interpreters, written with the names that JAX documents for them."""

import functools

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.extend
import tinyjax.interpreters.batching
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compat import ad, xla
from tinyjax.compile.kernel.rules import Elementwise, lowering_rules
from tinyjax.extend import core, linear_util
from tinyjax.extend.core import Jaxpr, Literal, Primitive, jaxpr_as_fun, primitives
from tinyjax.interpreters import partial_eval
from tinyjax.transform import batching

# ---- a primitive, with all of its rules: x * y + z ----

multiply_add_p = Primitive("multiply_add")


def multiply_add(x, y, z):
    return multiply_add_p.bind(x, y, z)


@multiply_add_p.def_impl
def multiply_add_impl(x, y, z):
    return np.add(np.multiply(x, y), z)


@multiply_add_p.def_abstract_eval
def multiply_add_abstract_eval(xs, ys, zs):
    assert xs.shape == ys.shape == zs.shape
    return jax.core.ShapedArray(xs.shape, xs.dtype)


def multiply_add_jvp(primals, tangents):
    """The derivative is a multiply_add again: of what is linear, tangents."""
    x, y, z = primals
    xt, yt, zt = map(ad.instantiate_zeros, tangents)
    return multiply_add(x, y, z), multiply_add(xt, y, multiply_add(x, yt, zt))


def multiply_add_transpose(ct, x, y, z):
    """A cotangent for each linear operand: at most one of x and y, and z."""
    linear, zero = ad.is_undefined_primal, jnp.zeros_like(ct)
    ct_x = multiply_add(ct, y, zero) if linear(x) else None
    ct_y = multiply_add(x, ct, zero) if linear(y) else None
    return ct_x, ct_y, ct if linear(z) else None


def multiply_add_batch(vals, dims):
    size = next(x.shape[dim] for x, dim in zip(vals, dims) if dim is not None)
    return multiply_add(*[batching.bdim_at_front(x, d, size) for x, d in zip(vals, dims)]), 0


ad.primitive_jvps[multiply_add_p] = multiply_add_jvp
ad.primitive_transposes[multiply_add_p] = multiply_add_transpose
batching.primitive_batchers[multiply_add_p] = multiply_add_batch


def square_add(a, b):
    return multiply_add(a, a, b)


def test_it_runs():
    assert square_add(2.0, 10.0) == 14.0


def test_it_is_traced():
    text = str(jax.make_jaxpr(square_add)(2.0, 10.0))
    assert text == "{ lambda ; a:f32[] b:f32[]. let c:f32[] = multiply_add a a b in (c,) }"


def test_it_is_differentiated_forwards_and_backwards():
    assert jax.jvp(square_add, (2.0, 10.0), (1.0, 1.0)) == (14.0, 5.0)
    assert jax.grad(square_add)(2.0, 10.0) == 4.0
    assert jax.grad(jax.grad(square_add))(2.0, 10.0) == 2.0


def test_it_is_batched():
    two = np.array([2.0, 3.0], np.float32)
    np.testing.assert_array_equal(jax.vmap(square_add)(two, two), [6, 12])


def test_it_is_compiled_without_a_lowering_as_a_step_on_the_host():
    compiled = jax.jit(square_add).lower(2.0, 10.0)
    assert "no rule in lowering_rules" in compiled.as_text()
    assert jax.jit(jax.grad(square_add))(2.0, 10.0) == 4.0


def test_with_an_opencl_lowering_it_is_part_of_a_kernel():
    rule = Elementwise(lambda ctx, x, y, z: ctx.op("add", ctx.op("mul", x, y), z))
    lowering_rules[multiply_add_p] = rule
    try:
        assert "host" not in jax.jit(square_add).lower(2.0, 10.0).as_text()
        assert jax.jit(jax.vmap(jax.grad(square_add)))(jnp.arange(3.0), jnp.ones(3))[2] == 4.0
        assert xla.apply_primitive(multiply_add_p, 2.0, 3.0, 4.0) == 10.0
    finally:
        del lowering_rules[multiply_add_p]


# ---- makers of rules ----


def test_a_rule_that_is_missing_is_named():
    lonely_p = Primitive("lonely")
    lonely_p.def_abstract_eval(lambda x: x)
    for call in (
        lambda: lonely_p.bind(1.0),
        lambda: jax.jit(lonely_p.bind)(1.0),
        lambda: jax.jvp(lonely_p.bind, (1.0,), (1.0,)),
        lambda: jax.vmap(lonely_p.bind)(jnp.ones(2)),
        lambda: ad.get_primitive_transpose(lonely_p),
        lambda: xla.apply_primitive(lonely_p, 1.0),
    ):
        with pytest.raises(NotImplementedError, match="for 'lonely' not implemented"):
            call()


def test_an_impl_rule_alone_is_enough_to_evaluate():
    twice_p = Primitive("twice")
    twice_p.def_impl(lambda x: np.multiply(2, x))
    assert twice_p.bind(3.0) == 6.0
    with pytest.raises(NotImplementedError, match="Abstract evaluation for 'twice'"):
        jax.jit(twice_p.bind)(3.0)


def test_a_linear_primitive_needs_its_transpose_alone():
    triple_p = Primitive("triple")
    triple_p.def_impl(lambda x: 3 * x)
    triple_p.def_abstract_eval(lambda x: x)
    ad.deflinear(triple_p, lambda ct: [triple_p.bind(ct)])
    batching.defvectorized(triple_p)
    assert jax.jvp(triple_p.bind, (1.0,), (2.0,)) == (3.0, 6.0)
    assert jax.grad(triple_p.bind)(1.0) == 3.0
    np.testing.assert_array_equal(jax.vmap(jax.grad(triple_p.bind))(jnp.ones(2)), [3, 3])


def test_an_abstract_eval_may_speak_of_effects():
    p = Primitive("effectful")
    p.multiple_results = True
    p.def_effectful_abstract_eval(lambda x: ([x, x], {"an effect"}))
    p.def_impl(lambda x: [x, x])
    assert len(jax.make_jaxpr(p.bind)(1.0).out_avals) == 2
    assert p.bind(1.0) == [1.0, 1.0]


def test_sums_and_zeros_of_tangents():
    zero = ad.Zero(jax.core.ShapedArray((2,), np.dtype("float32")))
    assert ad.add_tangents(zero, 1.0) == 1.0
    assert ad.add_jaxvals(1.0, 2.0) == 3.0
    np.testing.assert_array_equal(ad.zeros_like_aval(zero.aval), ad.instantiate_zeros(zero))


# ---- an interpreter: the inverse of a function ----

inverse_registry = {
    primitives.exp_p: jnp.log,
    lax.tanh_p: jnp.arctanh,
    lax.neg_p: jnp.negative,
}


def inverse(fun):
    @functools.wraps(fun)
    def wrapped(*args):
        closed = jax.make_jaxpr(fun)(*args)
        return inverse_jaxpr(closed.jaxpr, closed.literals, *args)[0]

    return wrapped


def inverse_jaxpr(jaxpr: Jaxpr, consts, *args):
    """From the last equation to the first: the operand of each from its result."""
    env = {}

    def read(v):
        return v.val if type(v) is Literal else env[v]

    env.update(zip(jaxpr.outvars, args))
    env.update(zip(jaxpr.constvars, consts))
    for eqn in reversed(jaxpr.eqns):
        if eqn.primitive not in inverse_registry:
            raise NotImplementedError(f"{eqn.primitive} does not have registered inverse.")
        env[eqn.invars[0]] = inverse_registry[eqn.primitive](*map(read, eqn.outvars))
    return [read(v) for v in jaxpr.invars]


def f(x):
    return jnp.exp(-jnp.tanh(x))


def test_an_interpreter_inverts_a_function():
    np.testing.assert_allclose(inverse(f)(f(0.5)), 0.5, rtol=1e-5)


def test_what_it_does_can_be_transformed_like_anything_else():
    assert "log" in str(jax.make_jaxpr(inverse(f))(f(0.5)))
    values = jnp.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(jax.jit(jax.vmap(inverse(f)))(f(values)), values, rtol=1e-4)
    product = jax.grad(inverse(f))(f(0.5)) * jax.grad(f)(0.5)
    np.testing.assert_allclose(product, 1.0, rtol=1e-4)


def test_it_refuses_what_it_does_not_know():
    with pytest.raises(NotImplementedError, match="sin does not have"):
        inverse(jnp.sin)(0.5)


def my_eval_jaxpr(jaxpr, consts, *args):
    """The interpreter that changes nothing."""
    env = dict(zip(jaxpr.invars, args)) | dict(zip(jaxpr.constvars, consts))
    read = lambda v: v.val if isinstance(v, Literal) else env[v]  # noqa: E731
    for eqn in jaxpr.eqns:
        subfuns, bind_params = eqn.primitive.get_bind_params(eqn.params)
        outs = eqn.primitive.bind(*subfuns, *map(read, eqn.invars), **bind_params)
        env.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))
    return list(map(read, jaxpr.outvars))


def test_evaluation_is_an_interpreter_of_a_few_lines():
    table = np.arange(4.0, dtype=np.float32)
    closed = jax.make_jaxpr(lambda x: jax.jit(jnp.sin)(x * table).sum() + 1)(2.0)
    want = jnp.sin(2 * table).sum() + 1
    for got in (
        my_eval_jaxpr(closed.jaxpr, closed.consts, 2.0),
        jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 2.0),
        jaxpr_as_fun(closed)(2.0),
    ):
        np.testing.assert_allclose(got, [want], rtol=1e-6)


def test_the_parts_of_a_jaxpr_have_their_names():
    closed = jax.make_jaxpr(lambda x: x * 2.0)(1.0)
    (eqn,) = closed.jaxpr.eqns
    x, two = eqn.invars
    assert isinstance(x, tinyjax.extend.core.Var) and x is closed.jaxpr.invars[0]
    assert isinstance(two, Literal) and two.val == 2.0
    assert eqn.primitive is primitives.mul_p and eqn.params == {}


def test_all_primitives_have_the_names_that_they_have_in_jax():
    for (
        name
    ) in "sin_p scan_p cond_p while_p jit_p remat_p name_p add_jaxvals_p dot_general_p".split():
        assert isinstance(getattr(primitives, name), Primitive)


# ---- parameters that JAX's primitives have besides ----


def test_code_written_for_jax_binds_with_parameters_that_say_nothing():
    x = np.ones((2, 3), np.float32)
    assert lax.reduce_sum_p.bind(x, axes=(0,), out_sharding=None).shape == (3,)
    assert lax.reshape_p.bind(x, new_sizes=(6,), dimensions=None, sharding=None).shape == (6,)
    assert lax.sin_p.bind(x, accuracy=None).shape == (2, 3)


def test_a_parameter_that_would_say_something_is_refused():
    with pytest.raises(TypeError, match="dimensions"):
        lax.reshape_p.bind(np.ones((2, 3)), new_sizes=(6,), dimensions=(1, 0), sharding=None)


def test_equations_have_no_parameters_that_say_nothing():
    (eqn,) = jax.make_jaxpr(lambda x: x.reshape(6))(np.ones((2, 3))).eqns
    assert eqn.params == {"new_sizes": (6,)}
    assert "reshape[dimensions=None new_sizes=(6,) sharding=None]" in str(eqn)


# ---- what Equinox asks for ----


def test_avals_of_a_batch_and_of_what_is_in_it():
    one, batch = (
        jax.core.ShapedArray((2, 3), np.float32),
        jax.core.ShapedArray((2, 5, 3), np.float32),
    )
    assert tinyjax.extend.core.unmapped_aval(5, 1, one) == batch
    assert tinyjax.extend.core.mapped_aval(5, 1, batch) == one
    assert (
        tinyjax.extend.core.mapped_aval(5, None, one)
        == tinyjax.extend.core.unmapped_aval(5, None, one)
        == one
    )


def test_a_batching_rule_that_gets_the_size_and_the_name_of_the_axis():
    p = Primitive("sized")
    p.def_abstract_eval(lambda x: x)

    def rule(axis_size, axis_name, trace_type, vals, dims):
        assert (axis_name, trace_type, dims) == ("i", None, (0,))
        return vals[0] * axis_size, 0

    tinyjax.interpreters.batching.axis_primitive_batchers[p] = rule
    np.testing.assert_array_equal(jax.vmap(p.bind, axis_name="i")(jnp.ones(3)), [3, 3, 3])


def test_tracers_of_one_trace_have_the_trace_that_is_on_top():
    def f(x):
        assert x._trace.main is tinyjax.extend.core.find_top_trace([x]).main
        return x

    assert jax.jvp(f, (1.0,), (2.0,)) == (1.0, 2.0)


def test_what_others_ask_of_a_key_s_type_and_of_tracers():
    assert jax.random.key(0).dtype.type is jax.dtypes.prng_key  # jaxtyping
    tracers = []
    jax.make_jaxpr(tracers.append)(1.0)
    assert isinstance(tracers[0], tinyjax.interpreters.partial_eval.DynamicJaxprTracer)  # Objax


# ---- functions on jaxprs ----


def test_dead_code_leaves_a_jaxpr_and_its_inputs():
    closed = jax.make_jaxpr(lambda x, y, z: (x * 2, y * 3))(1.0, 2.0, 3.0)
    smaller, used = partial_eval.dce_jaxpr(closed.jaxpr, [True, False])
    assert used == [True, False, False] and len(smaller.invars) == len(smaller.eqns) == 1
    smaller, used = partial_eval.dce_jaxpr(closed.jaxpr, [True, False], [False, True, False])
    assert used == [True, True, False] and len(smaller.invars) == 2
    for flags in ([[True]], [[True, False], [True]]):
        with pytest.raises(ValueError, match="a bool for each"):
            partial_eval.dce_jaxpr(closed.jaxpr, *flags)


def test_a_jaxpr_is_written_by_hand_and_run():
    aval = jax.typeof(jnp.ones(2))
    x, y = core.gensym()(aval), core.gensym()(aval)
    eqn = core.new_jaxpr_eqn([x], [y], primitives.sin_p, {}, frozenset())
    jaxpr = Jaxpr([], [x], [y], [eqn])
    assert jnp.array_equal(jax.core.eval_jaxpr(jaxpr, [], jnp.ones(2))[0], jnp.sin(jnp.ones(2)))


def test_a_wrapped_function_is_traced():
    jaxpr, avals, consts = partial_eval.trace_to_jaxpr_dynamic(
        linear_util.wrap_init(lambda x: [jnp.sin(x)]), [jax.typeof(jnp.ones(2))]
    )
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin"]
    assert avals[0].shape == (2,) and consts == []


def test_a_value_is_asked_for_as_a_number():
    assert core.concrete_or_error(int, jnp.int32(3)) == 3
    assert core.concrete_or_error(None, 3.5) == 3.5
    assert jax.grad(lambda x: x * core.concrete_or_error(int, x))(3.0) == 3
    for force in (int, bool, np.asarray, None):
        with pytest.raises(jax.errors.ConcretizationTypeError, match="the number of steps"):
            jax.jit(lambda n: core.concrete_or_error(force, n, "the number of steps"))(3)  # noqa: B023
