"""What a recorded run says of fusion's decisions."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.plan import make_plan
from tinyjax.compile.record import recording
from tinyjax.compile.target import CPU
from tinyjax.core.primitives import sin

X = np.ones((6, 6), np.float32)


def decisions(f, *args):
    """The events of fusion, and its result."""
    closed = simplify(jax.make_jaxpr(f)(*args))
    with recording() as records:
        make_plan(closed, CPU)
    (record,) = (r for r in records if r.name == "fusion")
    return [str(event) for event in record.events], record


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: sin(x) + 1, "b: recomputed in k0  # one kernel reads it"),
        (lambda x: sin(x) + 1, "c: stored  # the program returns it"),
        (lambda x: (sin(x), x + 1), "c: joins k0  # it has that shape, and what it reads is there"),
        (lambda x: (y := jnp.sort(x), y + x), "b: stored  # the program returns it"),
        (
            lambda x: (y := sin(x), y + y.T),
            "d: does not join k0  # this reads other elements of what it makes",
        ),
        (lambda x: jnp.exp(x).sum(1), "b: joins k0  # only this kernel reads it"),
    ],
)
def test_each_decision_has_its_reason(f, said):
    events, _ = decisions(f, X)
    assert said in events


def test_a_cheap_value_is_recomputed_by_each_kernel_that_reads_it():
    events, _ = decisions(lambda x: ((y := x * 2) + 1, y.T[:3]), X)
    assert "b: recomputed in k0, k1  # it costs less than to store and read it" in events


def test_an_event_has_the_equation_that_it_is_about():
    _, record = decisions(lambda x: sin(x) + 1, X)
    assert [e.origin.primitive.name for e in record.events] == ["add", "add", "sin"]


def test_the_record_has_the_jaxpr_before_and_the_groups_after():
    _, record = decisions(lambda x: sin(x) + 1, X)
    assert "sin a" in str(record.before) and str(record.after).startswith("0: kernel")
