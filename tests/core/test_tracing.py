"""Tracing: a function runs once on tracers, and a jaxpr is what it did."""

from types import SimpleNamespace

import numpy as np
import pytest
from judged import SMALL_FLOAT, Thrown, each_error, error_passes, raises, unchanged

import tinyjax as jax
from tinyjax.core import bind, primitives
from tinyjax.core.array import LiteralArray, ShapedArray
from tinyjax.core.jaxpr import Literal, Var
from tinyjax.core.primitives import add, gt, mul, sin
from tinyjax.core.tracing import JaxprTrace, trace_to_jaxpr
from tinyjax.transform.jvp import JVPTrace, JVPTracer

scalar = ShapedArray((), np.dtype("float32"))


# ---- what a trace writes, by hand ----


def test_checks_see_the_operands_of_each_equation():
    def refuse(primitive, avals):
        assert avals == [scalar]
        raise Thrown(primitive)

    trace = JaxprTrace()
    bind.check_values.append(refuse)
    try:
        with pytest.raises(Thrown):
            trace.process_primitive(primitives.sin_p, [trace.new_arg(scalar)], {})
    finally:
        bind.check_values.remove(refuse)


def test_a_tracer_is_written_as_the_atom_that_it_holds():
    trace = JaxprTrace()
    tracer = trace.new_arg(scalar)
    assert trace.atom(tracer) is tracer.atom


@pytest.mark.parametrize("x", [2.0, 3, True, 1j, np.float32(2)], ids=repr)
def test_a_scalar_is_written_as_a_literal(x):
    literal = JaxprTrace().atom(x)
    assert isinstance(literal, Literal)
    assert literal.val is x and literal.aval == bind.get_aval(x)


def test_a_literal_array_is_written_as_what_it_says():
    literal = JaxprTrace().atom(LiteralArray(np.float32(0.1), scalar, 0.1))
    assert isinstance(literal, Literal) and literal.val == 0.1
    assert type(literal.val) is float, "what is `written`"
    for aval in (scalar, scalar.update(weak_type=True), ShapedArray((), np.dtype("float16"))):
        literal = JaxprTrace().atom(LiteralArray(aval.dtype.type(0.5), aval, 0.5))
        assert literal.aval == aval, "the aval is the array's, not that of what is written"


def test_an_array_that_is_no_scalar_is_a_constvar():
    trace, array = JaxprTrace(), np.ones(3, np.float32)
    atom = trace.atom(array)
    assert isinstance(atom, Var) and atom.aval == bind.get_aval(array)
    struct = jax.ShapeDtypeStruct((), np.float32)
    assert isinstance(trace.atom(struct), Var), "a struct has no value to write, also without axes"


def test_what_has_a_type_of_another_kind_is_a_constvar_also_without_axes():
    class TypeOfBox(ShapedArray):
        __slots__ = ()

    box = SimpleNamespace(_aval_of_struct=object.__new__(TypeOfBox))
    for name in ShapedArray.__slots__:
        setattr(box._aval_of_struct, name, getattr(bind.get_aval(1.0), name))
    atom = JaxprTrace().atom(box)
    assert isinstance(atom, Var) and atom.aval is box._aval_of_struct


def test_an_array_from_outside_is_one_constvar_however_often_it_is_used():
    trace, array = JaxprTrace(), bind.as_array(np.float32(2))
    assert trace.atom(array) is trace.atom(array)
    assert [value for _, value in trace.consts.values()] == [array]
    trace, array = JaxprTrace(), np.ones(3)
    assert trace.atom(array) is trace.atom(array), "an array of NumPy too"


def test_a_tracer_of_another_trace_is_a_constvar():
    outer, inner = JaxprTrace(), JaxprTrace()
    tracer = outer.new_arg(scalar)
    assert inner.atom(tracer) is not tracer.atom, "a variable belongs to one jaxpr"
    assert [value for _, value in inner.consts.values()] == [tracer]
    trace = JVPTrace(bind.context.trace)
    tracer = JVPTracer(trace, 2.0, 1.0)
    inner.atom(tracer)
    assert [value for _, value in inner.consts.values()][1:] == [tracer], "of any kind of trace"


def test_a_tracer_whose_trace_has_finished_is_not_written():
    trace = JaxprTrace()
    tracer = trace.new_arg(scalar)
    trace.finish([tracer])
    with pytest.raises(jax.errors.UnexpectedTracerError, match="leaked"):
        JaxprTrace().atom(tracer)


@pytest.mark.parametrize(
    "x",
    [
        np.array(2.0, np.float32),
        np.array(True),
        np.array(3, np.uint64),
        np.float64(3),
        SMALL_FLOAT.type(2),
        np.complex128(1j),
        np.int8(0),
        0.0,
        False,
        float("nan"),
    ],
    ids=repr,
)
def test_a_scalar_of_any_dtype_is_a_literal_also_an_ndarray_without_axes(x):
    trace = JaxprTrace()
    literal = trace.atom(x)
    assert isinstance(literal, Literal), f"{x!r} is a scalar of Python or NumPy"
    assert literal.val is x and literal.aval == bind.get_aval(x) and not trace.consts


@pytest.mark.parametrize("shape", [(0,), (1,), (1, 1)])
def test_what_has_axes_is_a_constvar_also_of_one_element_or_none(shape):
    trace = JaxprTrace()
    for x in (np.ones(shape, np.float32), bind.as_array(np.ones(shape, np.float32))):
        assert isinstance(trace.atom(x), Var)
    assert isinstance(trace.atom(bind.as_array(2.0)), Var), "nor is an array without axes a literal"


def test_a_random_key_is_a_constvar_and_what_is_no_array_an_error():
    trace = JaxprTrace()
    assert isinstance(trace.atom(jax.random.key(0)), Var)
    tracers = [trace.new_arg(scalar) for _ in range(3)]
    assert [trace.atom(x) for x in tracers] == [x.atom for x in tracers] == trace.invars
    for x in ("text", None, [1.0]):
        with pytest.raises(TypeError, match="not a valid JAX type"):
            trace.atom(x)


def test_an_operation_is_written_as_an_equation():
    trace = JaxprTrace()
    x = trace.new_arg(ShapedArray((2, 3), np.dtype("float32")))
    params = {"axes": (0,)}
    out = trace.add_eqn(primitives.reduce_sum_p, [x], params)
    (eqn,) = trace.eqns
    assert (eqn.primitive, eqn.invars, eqn.params) == (primitives.reduce_sum_p, [x.atom], params)
    any_p, any_params = bind.Primitive("any"), {"a": False, "b": None, "c": 0, "d": ()}
    any_p.def_abstract_eval(lambda aval, **_: aval)
    trace.add_eqn(any_p, [x], any_params)
    assert trace.eqns.pop().params == any_params
    assert eqn.outvars == [out.atom] and out.atom is not x.atom
    assert out.aval.shape == eqn.outvars[0].aval.shape == (3,)


def test_operands_that_are_no_tracers_are_written_as_atoms():
    trace = JaxprTrace()
    trace.add_eqn(primitives.mul_p, [trace.new_arg(scalar), 2.0], {})
    literal = trace.eqns[0].invars[1]
    assert isinstance(literal, Literal) and literal.val == 2.0


def test_an_equation_with_several_results_gives_a_tracer_of_each():
    pair_p = bind.Primitive("pair", multiple_results=True)
    pair_p.def_abstract_eval(lambda aval: [aval, aval.update(shape=(5,))])
    trace = JaxprTrace()
    outs = trace.add_eqn(pair_p, [trace.new_arg(scalar)], {})
    assert isinstance(outs, list), "multiple_results: a list of tracers"
    first, second = outs
    assert trace.eqns[0].outvars == [first.atom, second.atom]
    assert (first.aval.shape, second.aval.shape) == ((), (5,))
    assert first.line and second.line, "each knows the user's line"


def test_a_primitive_with_several_results_may_have_one_or_none():
    for avals in ([scalar], []):
        some_p = bind.Primitive("some", multiple_results=True)
        some_p.def_abstract_eval(lambda *_, avals=avals: avals)
        outs = JaxprTrace().add_eqn(some_p, [], {})
        assert isinstance(outs, list) and len(outs) == len(avals), "multiple_results: always a list"
    trace = JaxprTrace()
    weak = primitives.sin_p, [trace.new_arg(scalar.update(weak_type=True))], {}
    assert (
        trace.process_primitive(*weak).aval.weak_type and trace.eqns[-1].outvars[0].aval.weak_type
    )
    silent_p = bind.Primitive("silent", multiple_results=True)
    silent_p.def_abstract_eval(lambda *_: [])
    assert trace.process_primitive(silent_p, [1.0], {}) == []
    assert trace.eqns[-1].primitive is silent_p, "an equation may have no results"


def test_an_equation_knows_the_users_line_that_made_it():
    trace = JaxprTrace()
    out = trace.add_eqn(primitives.sin_p, [trace.new_arg(scalar)], {})
    file, _, function = trace.eqns[0].source_info
    assert file == __file__ and function.startswith("test_an_equation_knows")
    assert out.line is not None, "the tracer of the result knows it too"
    first = trace_to_jaxpr(lambda x: [mul(sin(x),
                                          add(x, x))], [scalar])  # fmt: skip
    lines = [eqn.source_info[1] for eqn in first.eqns]
    assert lines[1] == lines[0] + 1, "each equation has its own line"


def test_a_primitive_without_an_abstract_eval_rule_cannot_be_written():
    with pytest.raises(NotImplementedError, match="Abstract evaluation for 'new' not implemented"):
        JaxprTrace().add_eqn(bind.Primitive("new"), [], {})


def test_equal_operations_have_an_equation_and_a_variable_each():
    both_p = bind.Primitive("both", multiple_results=True)
    both_p.def_abstract_eval(lambda aval: [aval, aval, aval])
    trace = JaxprTrace()
    x = trace.new_arg(scalar)
    first, second = trace.add_eqn(both_p, [x], {}), trace.add_eqn(both_p, [x], {})
    three_p = bind.Primitive("three")
    three_p.def_abstract_eval(lambda *avals: avals[2])
    assert JaxprTrace().add_eqn(three_p, [1.0, 2.0, np.ones(3)], {}).aval.shape == (3,)
    assert len(trace.eqns) == 2 and len({id(t.atom) for t in [x, *first, *second]}) == 7, (
        "each result has a variable of its own, also where their avals are one"
    )


@each_error
def test_an_error_of_an_abstract_eval_rule_goes_on_and_nothing_is_written(error):
    p, trace = bind.Primitive("p"), JaxprTrace()
    with error_passes(error()) as raised:
        p.def_abstract_eval(raises(raised))
        trace.add_eqn(p, [trace.new_arg(scalar)], {})
    assert trace.eqns == []


def test_operands_and_parameters_are_left_as_they_are():
    p, trace = bind.Primitive("p"), JaxprTrace()
    p.def_abstract_eval(lambda *avals, **params: avals[-1])
    args, params = [trace.new_arg(scalar), 2.0, np.ones((2, 1, 3), np.float16)], {"axes": [0]}
    with unchanged(args=args, params=params):
        out = trace.add_eqn(p, args, params)
    assert out.aval.str_short() == "float16[2,1,3]" and trace.eqns[0].params == params
    assert [atom.aval.shape for atom in trace.eqns[0].invars] == [(), (), (2, 1, 3)]


# ---- a traced function ----


def test_after_an_error_of_the_traced_function_the_trace_before_is_current_again():
    with error_passes(Thrown()) as error:
        trace_to_jaxpr(raises(error), [scalar])
    with error_passes(TypeError()) as error, bind.set_current_trace(JaxprTrace()):
        trace_to_jaxpr(raises(error), [scalar, scalar])


def test_of_many_results_each_is_checked():
    with pytest.raises(TypeError, match="at output component 3"):
        trace_to_jaxpr(lambda x: [x, x, x, "text"], [scalar])


def test_a_function_is_traced_once_at_each_call_with_an_argument_an_aval():
    seen = []

    def fun(*xs):
        seen.append([x.aval.shape for x in xs])
        return [sin(x) for x in xs] + [2.0]

    vector = ShapedArray((0, 1, 3), np.dtype("float16"))
    for avals in ([scalar, vector, scalar], [], [vector]):
        with unchanged(avals=avals):
            jaxpr = trace_to_jaxpr(fun, avals).jaxpr
        assert [v.aval for v in jaxpr.invars] == avals and len(jaxpr.eqns) == len(avals)
        assert [v.aval for v in jaxpr.outvars[:-1]] == avals
    assert seen == [[(), (0, 1, 3), ()], [], [(0, 1, 3)]]
    calls = []
    trace_to_jaxpr(lambda *xs: calls.append(xs) or [], [scalar] * 5)
    assert len(calls) == 1, "also a function without results is called once"


def test_an_argument_knows_the_line_that_asked_for_the_trace():
    lines = []
    trace_to_jaxpr(lambda x: lines.append(x.line) or [x], [scalar])
    assert __file__ in str(lines[0]), "new_arg(aval, user_line())"


def test_each_result_is_checked_and_told_by_its_position():
    with pytest.raises(TypeError, match="at output component 1"):
        trace_to_jaxpr(lambda x: [x, "text"], [scalar])


def test_the_check_for_leaks_finds_one_and_only_that():
    kept = []
    with jax.checking_leaks():
        try:
            trace_to_jaxpr(lambda x: [sin(x)], [scalar])
        except jax.errors.UnexpectedTracerError:
            pytest.fail("nothing leaked: what in your code holds arguments or results to the end?")
        with pytest.raises(jax.errors.UnexpectedTracerError, match="Leaked trace"):
            trace_to_jaxpr(lambda x: [kept.append(sin(x)) or x], [scalar])
    with (
        jax.checking_leaks(),
        pytest.raises(jax.errors.UnexpectedTracerError, match="Leaked trace"),
    ):
        trace_to_jaxpr(lambda x: [kept.append(sin(x))][:0], [scalar])


# ---- make_jaxpr ----


def test_a_traced_function_runs_on_tracers_that_show_avals(capsys):
    def f(x):
        print(x)
        return sin(x)

    jax.make_jaxpr(f)(np.ones(3, np.float32))
    assert capsys.readouterr().out == "JitTracer(float32[3])\n"


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


def test_a_struct_that_a_traced_function_closes_over_has_a_type_and_no_value():
    struct = jax.ShapeDtypeStruct((3,), np.float32)
    assert jax.eval_shape(lambda x: (struct, x), 1.0)[0] == struct
    assert str(jax.make_jaxpr(lambda: struct)()) == "{ lambda a:f32[3]; . let  in (a,) }"
    total = lambda: jax.vmap(lambda x: x * jax.numpy.sin(struct).sum())(jax.numpy.ones(2))  # noqa: E731
    assert jax.eval_shape(total).shape == (2,)
    for call in (jax.jit(lambda: struct), jax.jit(total), lambda: jax.jit(lambda x: x)(struct)):
        with pytest.raises(TypeError, match="A ShapeDtypeStruct does not have a value"):
            call()


def test_make_jaxpr_takes_functions_only():
    with pytest.raises(TypeError, match="Expected a callable value"):
        jax.make_jaxpr(3)


def test_eval_shape_keeps_weak_types_and_key_dtypes():
    assert jax.eval_shape(lambda x: x * 2, jax.numpy.asarray(1.0)).weak_type
    assert "key<fry>" in repr(jax.eval_shape(jax.random.split, jax.random.key(0)))
