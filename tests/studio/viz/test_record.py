"""The recorder: what happens is an event, in order, and being recorded changes nothing."""

import gc
import inspect
import linecache
import threading
import weakref

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core import bind as core
from tinyjax.core import tracing
from tinyjax.runtime.step_program import StepProgram
from tinyjax.studio import viz
from tinyjax.studio.viz import hooks
from tinyjax.studio.viz.events import place_of
from tinyjax.transform import jvp
from tinyjax.transform.jit import api as jit


def f(x):
    return jnp.sin(x) * x


def events_of(function, *args):
    """The events of a call with nothing remembered from calls before."""
    jax.clear_caches()
    with viz.record() as recording:
        function(*args)
    return recording.events


def named(events, stage):
    return [event.name for event in events if event.stage == stage]


# ---- what is recorded ----


def test_a_bind_has_its_operands_and_results_and_the_line_of_the_program():
    event = events_of(jnp.sin, 3.0)[0]
    assert (event.stage, event.name, event.parent) == ("bind", "sin", None)
    assert [(x.text, x.aval, x.kind) for x in event.operands] == [("3.0", "f32[]", "array")]
    assert [(x.text, x.aval, x.kind) for x in event.results] == [("0.14112", "f32[]", "array")]
    assert event.line.file == __file__


def test_what_happens_within_an_event_names_it_as_its_parent():
    bind, impl, abstract_eval = events_of(jnp.sin, 3.0)
    assert (impl.stage, impl.parent) == ("impl", bind.number)
    assert (abstract_eval.stage, abstract_eval.parent) == ("abstract eval", impl.number)


@pytest.mark.parametrize("rules", [table for table, _ in hooks.TABLES])
def test_the_rule_of_an_event_is_never_a_wrapper_that_only_calls_it(rules):
    for primitive, rule in rules.items():
        place = place_of(rule, primitive)
        code = linecache.getlines(place.file)[place.line - 1 :]
        assert "return rule(*" not in "".join(inspect.getblock(code)), (primitive, place)


@pytest.mark.parametrize(
    ("function", "rule"),
    [
        (lambda x: jnp.sum(x), "_reduce_sum_aval"),
        (jnp.exp, "elementwise_aval"),
        (lambda x: x.reshape(3, 1), "_reshape_aval"),
    ],
)
def test_a_type_check_shows_the_rule_that_was_applied(function, rule):
    events = events_of(jax.make_jaxpr(function), jnp.arange(3.0))
    assert rule in [event.rule.function for event in events if event.stage == "abstract eval"]


def test_the_traces_are_listed_from_the_outermost():
    events = events_of(jax.vmap(jax.grad(f)), jnp.arange(3.0))
    assert events[1].trace == ("EvalTrace", "BatchTrace", "LinearizeTrace")


def test_jvp_applies_a_rule_to_primals_and_tangents():
    events = events_of(lambda: jax.jvp(f, (3.0,), (1.0,)))
    rule = next(event for event in events if event.stage == "jvp rule")
    assert [(x.text, x.role) for x in rule.operands] == [("3.0", "primal"), ("1.0", "tangent")]
    assert [x.role for x in rule.results] == ["primal", "tangent"]
    assert rule.rule.file.endswith("jvp.py")


def test_vmap_applies_a_rule_that_is_told_the_batch_dims():
    events = events_of(jax.vmap(f), jnp.arange(3.0))
    assert named(events, "batch rule") == ["sin", "mul"]
    rule = next(event for event in events if event.stage == "batch rule")
    assert [x.role for x in rule.operands] == ["batch dim 0"]


def test_grad_linearizes_and_then_walks_backwards():
    events = events_of(jax.grad(f), 3.0)
    top = [event.name for event in events if event.parent is None]
    assert top == ["linearize", "backward pass"]
    assert named(events, "equation") == ["mul", "mul", "mul", "add_any"]
    assert named(events, "transpose rule") == ["add_any", "mul", "mul", "mul"]


def test_variables_have_the_names_that_the_printed_jaxpr_has():
    trace, *_ = events_of(jax.make_jaxpr(f), 3.0)
    assert (trace.stage, trace.name, trace.rule.function) == ("trace", "f", "f")
    assert [x.text for x in (*trace.operands, *trace.results)] == ["a", "c"]


def test_jit_is_traced_compiled_in_stages_and_launched():
    events = events_of(jax.jit(f), 3.0)
    assert events[0].stage == "trace"
    stages = named(events, "compile")
    assert stages[:3] == ["compile", "lower_prng_keys", "simplify"]
    launches = [event for event in events if event.stage == "launch"]
    assert launches[-1].params["function"] == "f"
    assert launches[-1].results[0].text.startswith("0.423")


def test_a_pmap_is_one_call_of_a_jitted_function():
    events = events_of(jax.pmap(f), jnp.array([3.0]))
    assert [e.name for e in events if e.parent is None and e.stage == "bind"] == ["jit"]
    launches = [event for event in events if event.stage == "launch"]
    assert launches and launches[0].params["device"].startswith("cpu")


def test_equal_ids_follow_a_value():
    bind_sin, bind_mul = [e for e in events_of(f, jnp.array(3.0)) if e.stage == "bind"]
    assert bind_sin.results[0].id == bind_mul.operands[0].id
    assert bind_sin.operands[0].id == bind_mul.operands[1].id


def test_a_rule_that_the_recorded_program_writes_is_recorded_too():
    def program():
        double_p = core.Primitive("double")
        double_p.def_impl(lambda x: 2 * x)
        double_p.def_abstract_eval(lambda x: x)
        jvp.defjvp(double_p, lambda g, x: double_p.bind(g))
        jax.jvp(lambda x: double_p.bind(x), (3.0,), (1.0,))

    assert named(events_of(program), "jvp rule") == ["double"]


def test_equal_programs_give_equal_events():
    program = jax.jit(jax.vmap(jax.grad(f)))
    assert events_of(program, jnp.arange(3.0)) == events_of(program, jnp.arange(3.0))


# ---- nothing is hidden ----


def test_calls_that_were_made_before_are_recorded():
    jitted = jax.jit(f)
    jitted(3.0), jitted(3.0)  # the second takes the fast path
    with viz.record() as recording:
        jitted(3.0)
    stages = [event.stage for event in recording.events]
    assert stages[:2] == ["bind", "impl"] and "launch" in stages


def test_an_eager_grad_shows_each_rule_also_the_second_time():
    jax.grad(f)(3.0)
    assert named(events_of(jax.grad(f), 3.0), "jvp rule") == ["sin", "mul"]


# ---- nothing is changed ----


def double_in_loop(x):
    return jax.lax.scan(lambda c, y: (c * y, c + y), x, jnp.arange(1.0, 4.0))[0]


@jax.custom_jvp
def identity(x):
    return x


identity.defjvp(lambda primals, tangents: (primals[0], 5.0 * tangents[0]))

PROGRAMS = {
    "eager": f,
    "grad": jax.grad(f),
    "vmap of grad": lambda x: jax.vmap(jax.grad(f))(jnp.stack([x, x])),
    "jit": jax.jit(f),
    "grad of jit": jax.grad(jax.jit(f)),
    "scan": jax.grad(double_in_loop),
    "custom_jvp": jax.grad(identity),
    "hessian": jax.hessian(f),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_results_are_those_without_a_recording(program):
    expected = np.asarray(program(3.0))
    with viz.record():
        recorded = np.asarray(program(3.0))
    assert recorded.tobytes() == expected.tobytes()


def what_can_be_replaced():
    methods = [
        core.Primitive.bind,
        core.HigherOrderPrimitive.bind,
        core.EvalTrace.process_primitive,
    ]
    methods += [tracing.JaxprTrace.add_eqn, tracing.JaxprTrace.finish]
    functions = [tracing.trace_to_jaxpr, jit.trace_to_jaxpr, StepProgram.run]
    return [*methods, *functions, *core.abstract_eval_rules.values(), *jvp.jvp_rules.values()]


def test_afterwards_everything_is_as_before():
    before = what_can_be_replaced()
    events_of(jax.jit(jax.grad(f)), 3.0)
    assert all(now is then for now, then in zip(what_can_be_replaced(), before, strict=True))


def test_afterwards_no_queue_hands_its_steps_to_the_recorder():
    queues = []
    compiled = jax.jit(f).lower(3.0).compile()
    with pytest.MonkeyPatch.context() as patch:
        run = StepProgram.run
        patch.setattr(
            StepProgram, "run", lambda r, *a, **k: (queues.append(r.queue), run(r, *a, **k))[1]
        )
        with viz.record():
            compiled(3.0)
    assert queues and all("on_step" not in vars(queue) for queue in queues)


def test_an_exception_is_noted_and_passed_on_and_everything_is_as_before():
    before = what_can_be_replaced()
    with pytest.raises(TypeError, match="dtype"), viz.record() as recording:
        jax.grad(lambda x: jax.lax.add(x, 1))(3.0)
    linearize, *_, last = recording.events
    assert linearize.error == last.error and last.error.startswith("TypeError: ")
    assert all(now is then for now, then in zip(what_can_be_replaced(), before, strict=True))


def test_a_rule_that_gives_no_pair_fails_as_it_does_without_a_recording():
    thing_p = core.Primitive("thing")
    jvp.jvp_rules[thing_p] = lambda primals, tangents: 3.0

    def differentiate():
        jax.jvp(thing_p.bind, (3.0,), (1.0,))

    with pytest.raises(TypeError) as expected:
        differentiate()
    with pytest.raises(TypeError) as raised, viz.record() as recording:
        differentiate()
    assert str(raised.value) == str(expected.value)
    assert named(recording.events, "jvp rule") == ["thing"]


def test_parameters_may_have_any_name():
    thing_p = core.Primitive("thing")
    thing_p.def_impl(lambda x, *, rule, primitive: x)
    thing_p.def_abstract_eval(lambda x, *, rule, primitive: x)
    events = events_of(lambda: thing_p.bind(3.0, rule=1, primitive=2))
    assert events[0].params == {"rule": "1", "primitive": "2"}


def test_a_profiler_measures_while_a_recording_is_on():
    compiled = jax.jit(f).lower(3.0).compile()
    with viz.record() as recording:
        times = jax.profiler.step_times(lambda: compiled(3.0), repeat=2)
        compiled(3.0)
    assert len(named(recording.events, "launch")) == 3 * len(times)  # of two calls, and one


def test_a_recording_within_a_recording_is_refused_and_the_outer_one_goes_on():
    with viz.record() as recording:
        with pytest.raises(RuntimeError, match="one at a time"), viz.record():
            pass
        jnp.sin(3.0)
    assert named(recording.events, "bind") == ["sin"]


def test_other_threads_are_not_recorded():
    with viz.record() as recording:
        thread = threading.Thread(target=lambda: jax.jit(jax.grad(f))(3.0))
        thread.start()
        thread.join()
    assert recording.events == []


def test_a_recording_keeps_no_array_alive():
    with viz.record():
        x = jnp.sin(jnp.ones(1000))
        alive = weakref.ref(x)
        del x
        gc.collect()
        assert alive() is None


def test_events_over_the_limit_are_counted_and_left_out():
    with viz.record(limit=5) as recording:
        assert jax.grad(f)(3.0) == jax.grad(f)(3.0)
    assert len(recording.events) == 5 and recording.missed > 5
    assert "left out" in repr(recording)
