"""The hooks of the house, each with a toy feature that registers at it; CONTRIBUTING.md lists them."""

import functools
import importlib
from types import SimpleNamespace

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile import lowered
from tinyjax.compile.kernel.rules import OnHost, lowering_rules
from tinyjax.core import array, bind, jaxpr, pretty_printer, shortcuts
from tinyjax.core.avals import get_aval
from tinyjax.runtime import devices, placement
from tinyjax.runtime.devices import Device
from tinyjax.runtime.step_program import HostStep
from tinyjax.runtime.step_program_builder import host_steps
from tinyjax.transform.jit.primitive import run_compiled


def test_watchers_get_the_results_of_eager_operations(monkeypatch):
    seen = []
    monkeypatch.setattr(bind, "watchers", [lambda *call: seen.append((call[0].name, call[3]))])
    y = jnp.sin(jnp.arange(3.0))
    assert seen[-1][0] == "sin" and seen[-1][1][0] is y


def test_prepare_operands_changes_what_an_equation_reads():
    def negated(primitive, operands, params):
        return [-operands[0]] if primitive.name == "sin" else operands

    bind.prepare_operands.append(negated)
    try:
        closed = jax.make_jaxpr(jnp.sin)(2.0)
    finally:
        bind.prepare_operands.remove(negated)
    assert [eqn.primitive.name for eqn in closed.eqns] == ["neg", "sin"]


def test_prepare_operands_sees_operands_before_they_are_converted():
    def doubled(primitive, operands, params):
        return [2 * x for x in operands] if len(operands) == 2 else operands

    bind.prepare_operands.append(doubled)
    try:
        found = jnp.add(np.int32(3), np.float32(0.5))
    finally:
        bind.prepare_operands.remove(doubled)
    assert found == 7.0


def test_check_values_rejects_operands_and_results():
    def no_int8(taker, values):
        if any(getattr(value, "dtype", None) == np.int8 for value in values):
            raise TypeError(f"{taker} and an int8")

    def to_int8(x):
        return jnp.int8(3)

    bind.check_values.append(no_int8)
    try:
        with pytest.raises(TypeError, match="make_jaxpr of negative and an int8"):
            jax.make_jaxpr(jnp.negative)(np.int8(1))
        with pytest.raises(TypeError, match="ResultsOf.* and an int8"):
            jax.make_jaxpr(to_int8)(1.0)
    finally:
        bind.check_values.remove(no_int8)


def test_bind_bodies_binds_the_primitives_that_have_jaxprs():
    seen = []

    def record(primitive, args, params):
        seen.append(primitive.name)
        return bind.context.trace.process_primitive(primitive, args, params)

    bind.bind_bodies.insert(0, record)
    try:
        jax.lax.cond(True, jnp.sin, jnp.cos, 0.5)
        jax.jit(jnp.tanh)(0.5)
    finally:
        bind.bind_bodies.remove(record)
    assert seen == ["cond", "jit"]


def test_prepare_jaxpr_changes_what_is_compiled():
    def cos_for_sin(closed, is_compiled):
        cos = jax.make_jaxpr(jnp.cos)(0.0).eqns[0].primitive
        eqns = [e.replace(primitive=cos) if e.primitive.name == "sin" else e for e in closed.eqns]
        return closed.replace(jaxpr=closed.jaxpr.replace(eqns=eqns))

    jaxpr.prepare_jaxpr.append(cos_for_sin)
    try:
        assert jax.jit(lambda x: jnp.sin(x))(0.0) == 1.0
    finally:
        jaxpr.prepare_jaxpr.remove(cos_for_sin)


def test_printed_params_says_which_parameters_are_printed(monkeypatch):
    monkeypatch.setitem(
        pretty_printer.printed_params, "reduce_sum", lambda eqn, context: [("toy", 1)]
    )
    assert "reduce_sum[toy=1]" in str(jax.make_jaxpr(jnp.sum)(jnp.ones(3)))


def test_aval_fields_adds_a_field_to_types(monkeypatch):
    class Unit(str):
        def text(self, shape):
            return f"{[*shape]}{{{self}}}"

    monkeypatch.setitem(array.aval_fields, "unit", lambda extra, unit: Unit(unit))
    assert get_aval(jnp.ones(3)).update(unit="m").str_short(short_dtypes=True) == "f32[3]{m}"


def test_places_runs_jitted_calls(monkeypatch):
    names = []

    def run(closed, device, arrays, params):
        names.append(params["name"])
        return run_compiled(closed, device, arrays, params)

    def nothing(*_):
        return ()

    def add_one(x):
        return x + 1

    places = SimpleNamespace(
        run=run,
        requests_of_operation=nothing,
        requests_of_call=nothing,
        call_in_parts=lambda *_: None,
    )
    monkeypatch.setattr(placement, "places", places)
    assert jax.jit(add_one)(2.0) == 3.0
    assert names == ["add_one"]


def test_add_devices_adds_devices(monkeypatch):
    abacus = Device("abacus", 0, "beads")
    monkeypatch.setattr(devices, "add_devices", [lambda found: found | {"abacus": [abacus]}])
    fresh = functools.cache(devices._devices_by_platform.__wrapped__)
    monkeypatch.setattr(devices, "_devices_by_platform", fresh)
    assert jax.devices("abacus") == [abacus]


def test_stages_print_a_program_in_a_dialect(monkeypatch):
    stage = lowered.Stage(lambda it: it.plan.all_kernels(), lambda it: ["beads, to and fro"])
    monkeypatch.setitem(lowered.STAGES, "abacus", stage)
    assert jax.jit(jnp.sin).lower(1.0).as_text("abacus") == "beads, to and fro"


def test_shortcut_modules_says_where_the_shortcut_of_a_function_is(monkeypatch, tmp_path):
    (tmp_path / "toy_plain.py").write_text(
        "from tinyjax.core.shortcuts import with_shortcut\n"
        "@with_shortcut\ndef answer(x): return x + 41\n"
    )
    (tmp_path / "toy_shortcut.py").write_text(
        "from toy_plain import answer\nfrom tinyjax.core.shortcuts import shortcut_for\n"
        "@shortcut_for(answer)\ndef at_once(plain, x): return 42\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(shortcuts, "are_on", lambda: True)
    monkeypatch.setitem(shortcuts.shortcut_modules, "toy_plain.answer", "toy_shortcut")
    assert importlib.import_module("toy_plain").answer(2) == 42


def test_device_kinds_has_the_modules_of_further_platforms(monkeypatch, tmp_path):
    (tmp_path / "abacus").mkdir()
    (tmp_path / "abacus" / "__init__.py").write_text("")
    (tmp_path / "abacus" / "devices.py").write_text(
        "from tinyjax.runtime.devices import Device\n"
        'def find_devices(): return [Device("abacus", 0, "beads")]\n'
    )
    monkeypatch.setattr(jax, "__path__", [*jax.__path__, str(tmp_path)])
    monkeypatch.setitem(devices.device_kinds, "abacus", "abacus.devices")
    fresh = functools.cache(devices._devices_by_platform.__wrapped__)
    monkeypatch.setattr(devices, "_devices_by_platform", fresh)
    (abacus,) = jax.devices("abacus")
    assert abacus.device_kind == "beads" and abacus.kind.__name__ == "tinyjax.abacus.devices"


def test_host_steps_says_who_runs_a_kind_of_step(monkeypatch):
    class ByBeads(OnHost):
        kind = "beads"

    steps = []

    def beads_step(builder, eqn, operands, outputs):
        steps.append(eqn.primitive.name)
        return HostStep(eqn, operands, [output.slot for output in outputs])

    monkeypatch.setitem(host_steps, "beads", beads_step)
    monkeypatch.setitem(lowering_rules, jax.lax.sin_p, ByBeads("for a test"))
    assert jax.jit(lambda x: jnp.sin(x) + 1.0)(0.0) == 1.0
    if jax.devices()[0].runs_kernels:
        assert steps == ["sin"]
