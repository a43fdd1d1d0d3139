"""Values, dtypes, shapes and weak types equal JAX's, of functions and of their derivatives."""

import json
import os
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from golden_cases import chapters, codec, derivatives, inputs, promotion, values
from golden_cases.comparisons import COMPARISONS, schur_forms
from golden_cases.differences import NOT_YET, marks

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

GOLDEN = Path(__file__).parent / "golden"
FILES = {  # file -> its groups, and what they may use besides the inputs
    "values": (values.GROUPS, {}),
    "derivatives": (derivatives.GROUPS, {}),
} | {
    f"{chapter}.values": (groups, chapters.names(chapter, jax, jnp, lax))
    for chapter, groups in chapters.having("GROUPS").items()
}
RECORDED = {
    name: calls
    for file in FILES
    for name, calls in json.loads((GOLDEN / f"{file}.json").read_text()).items()
}
# Loops of many equations, compiled for each call
SLOW = (
    *("odeint", "odeint in float64", "iterative solvers", "minimize", "limited memory"),
    *("distributions under transformations", "counts under transformations", "linear systems"),
    *("distributions, the old layout of the counters", "matrix exponentials"),
)
GROUPS = {group.name: (group, names) for groups, names in FILES.values() for group in groups}


def _case(group, call):
    case_id = f"{group}: {call}"
    slow = [pytest.mark.slow] if group in SLOW else []
    return pytest.param(group, call, id=case_id, marks=[*marks(case_id, call), *slow])


@pytest.fixture
def configured():
    """Set options for one test; what they were before comes back afterwards."""
    before = {}

    def set_options(options):
        for option, value in options.items():
            before[option] = getattr(jax.config, option)
            jax.config.update(option, value)

    yield set_options
    for option, value in before.items():
        jax.config.update(option, value)


def _difference(got, want, group, comparison):
    if comparison is None:
        return codec.difference(got, want, group.ulps, group.scaled)
    if codec.types(got) != codec.types(want):
        return f"expected the types {codec.types(want)}, got {codec.types(got)}"
    got, want = (codec.encode(comparison.view(codec.arrays(x)), jax) for x in (got, want))
    return codec.difference(got, want, comparison.ulps or group.ulps, group.scaled)


CASES = [_case(name, call) for name, calls in RECORDED.items() for call in calls]
# Where .ci/run computes as on other processors, a part is enough: "0::3" are a third.
PART = slice(*(int(n) if n else None for n in os.environ.get("GOLDEN_PART", "::").split(":")))


@pytest.mark.filterwarnings("ignore")  # JAX's warnings are not recorded; NumPy's of NaN are noise
@pytest.mark.parametrize("name, call", CASES[PART])
def test_value(name, call, configured):
    group, more_names = GROUPS[name]
    configured(group.config)
    got = codec.encode(eval(call, inputs.names(jax, jnp, lax) | more_names), jax)
    found = _difference(got, RECORDED[name][call], group, COMPARISONS.get(f"{name}: {call}"))
    assert found is None, f"\n{call}\n{found}\n JAX gave {RECORDED[name][call]}\n     got {got}"


@pytest.mark.parametrize("x64", [False, True], ids=["32 bit", "64 bit"])
def test_promotion_table(x64):
    recorded = (GOLDEN / ("promotion_x64.txt" if x64 else "promotion.txt")).read_text()
    assert promotion.table(jax, jnp, x64) == recorded


def test_every_call_is_recorded():
    assert {name: list(calls) for name, calls in RECORDED.items()} == {
        name: group.calls for name, (group, _) in GROUPS.items()
    }


def test_every_comparison_is_of_a_case():
    assert COMPARISONS.keys() <= {f"{name}: {call}" for name in RECORDED for call in RECORDED[name]}


@pytest.mark.parametrize("name", NOT_YET)
def test_what_is_not_yet_there_is_not_there(name):
    first, *rest = name.split(".")
    start = {"jax": jax, "jnp": jnp, "lax": lax}[first]
    with pytest.raises(AttributeError):
        reduce(getattr, rest, start)


# ---- the comparison itself ----


@pytest.mark.parametrize(
    "got",
    [
        ["float32[2]", [1.0, 2.00001]],
        ["~float32[2]", [1.0, 2.0]],
        ["float32[2,1]", [1.0, 2.0]],
        ["float16[2]", [1.0, 2.0]],
        ["float32[1]", [1.0]],
        ["float32[2]", [float("nan"), 2.0]],
        {"repr": "[1. 2.]"},
    ],
)
def test_a_wrong_result_is_noticed(got):
    assert codec.difference(got, ["float32[2]", [1.0, 2.0]], ulps=4, scaled=False)


def test_a_float_may_be_some_units_in_the_last_place_off():
    want = ["float32[2]", [1.0, float("inf")]]
    got = ["float32[2]", [1.0 + 2.0**-22, float("inf")]]
    assert codec.difference(got, want, ulps=2, scaled=False) is None
    assert codec.difference(got, want, ulps=1, scaled=False)


def test_the_sign_of_zero_counts_unless_scaled():
    got, want = ["float32[]", [-0.0]], ["float32[]", [0.0]]
    assert codec.difference(got, want, ulps=4, scaled=False)
    assert codec.difference(got, want, ulps=4, scaled=True) is None


def test_schur_forms_that_differ_in_phases_are_equal():
    t, q = np.array([[1, 2j], [0, 3]]), np.array([[0.6, 0.8j], [-0.8, 0.6j]])
    phases = np.diag([1j, -1])
    others = schur_forms([phases.conj() @ t @ phases, q @ phases])
    for form, other in zip(schur_forms([t, q]), others, strict=True):
        np.testing.assert_allclose(form, other, atol=1e-15)


def test_schur_forms_of_another_matrix_or_that_are_none_are_noticed():
    t, q = np.array([[1, 2j], [0, 3]]), np.array([[0.6, 0.8j], [-0.8, 0.6j]])
    matrix, _, _, below = schur_forms([t, q])
    assert not np.allclose(schur_forms([2 * t, q])[0], matrix)
    assert np.all(below == 0)
    assert np.all(schur_forms([t.T, q])[3] != 0)
