"""All passes, in their order."""

import pytest

import tinyjax.core.primitives as primitives
from tinyjax.compile.passes import rewrite_rules
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.passes.rewrite_rules import rewrite
from tinyjax.core.tracing import make_jaxpr


def primitive_names(f, *args):
    return [eqn.primitive.name for eqn in simplify(make_jaxpr(f)(*args)).eqns]


def test_what_becomes_equal_is_computed_once():
    def f(x):
        return primitives.mul(primitives.sin(primitives.mul(x, 1.0)), primitives.sin(x))

    assert primitive_names(f, 1.0) == ["sin", "mul"]


def test_the_work_grows_as_the_program():
    def rules_tried(count):
        def f(x):
            for _ in range(count):
                x = primitives.sin(primitives.mul(x, 1.0))
            return x

        calls = []
        with pytest.MonkeyPatch.context() as patch:
            tried = lambda *a: (calls.append(1), rewrite(*a))[1]  # noqa: E731
            patch.setattr(rewrite_rules, "rewrite", tried)
            simplify(make_jaxpr(f)(1.0))
        return len(calls)

    assert rules_tried(1000) == 10 * rules_tried(100)
