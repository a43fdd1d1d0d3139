import re

import numpy as np
import pytest
from source_imports import PACKAGE

import tinyjax as jax
from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.compile.passes.loops import (
    Branches,
    Loop,
    bodies_of,
    control_flow,
    has_unknown_length,
    loop_of,
)
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.core.tracing import make_jaxpr

X = np.arange(3, dtype=np.float32)


def scan_backwards(x):
    return lax.scan(lambda c, row: (c * x.sum() + row, c), x[0], x, reverse=True)


def while_below_a_limit(x):
    return lax.while_loop(lambda c: c.sum() < x[1] + 9, lambda c: c + x, x)


def one_of_three(x):
    return lax.switch(jnp.int32(x[1]), [jnp.sin, jnp.cos, lambda y: y + x], x)


def traced(f):
    return simplify(make_jaxpr(f)(X))


def equation_of(f):
    return next(eqn for eqn in traced(f).eqns if bodies_of(eqn))


def test_a_scan_is_a_loop_of_known_length():
    loop = control_flow(equation_of(scan_backwards))
    assert isinstance(loop, Loop)
    assert (loop.length, loop.reverse, loop.condition) == (3, True, None)
    assert [len(part) for part in (loop.consts, loop.carry, loop.xs)] == [1, 1, 1]
    assert (loop.last_carry, loop.ys) == (loop.eqn.outvars[:1], loop.eqn.outvars[1:])


def test_a_while_loop_goes_on_as_long_as_its_condition_holds():
    loop = control_flow(equation_of(while_below_a_limit))
    assert isinstance(loop, Loop) and loop.length is None and list(loop.bodies) == ["cond", "body"]
    assert [len(part) for part in (loop.condition_consts, loop.consts, loop.carry)] == [1, 1, 1]


def test_a_fori_loop_is_the_loop_that_a_scan_is():
    loop = loop_of(equation_of(lambda x: lax.fori_loop(2, 6, lambda i, c: c * i, x)))
    assert loop is not None and loop.length == 4


def test_a_switch_is_branches_with_an_index():
    found = control_flow(equation_of(one_of_three))
    assert isinstance(found, Branches)
    assert list(found.bodies) == ["branch 0", "branch 1", "branch 2"]
    assert loop_of(found.eqn) is None


@pytest.mark.parametrize("f", [scan_backwards, while_below_a_limit, one_of_three])
def test_the_equation_of_a_record_computes_the_same(f):
    closed = traced(f)
    eqns = [control_flow(e).equation() if bodies_of(e) else e for e in closed.eqns]
    results = eval_jaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts, X)
    for found, expected in zip(results, jax.tree.leaves(f(X)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_each_operand_has_a_variable_inside():
    for f in (scan_backwards, while_below_a_limit):
        loop = loop_of(equation_of(f))
        *before, xs = loop.parts(list(zip(loop.eqn.invars, loop.variables)))
        assert all(outer.aval.shape == inner.aval.shape for part in before for outer, inner in part)
        assert all(outer.aval.shape[1:] == inner.aval.shape for outer, inner in xs)


def test_a_while_loop_within_makes_the_length_unknown():
    within = lambda x: lax.map(while_below_a_limit, x * jnp.ones((2, 1)))  # noqa: E731
    assert has_unknown_length(equation_of(within))
    assert not has_unknown_length(equation_of(scan_backwards))


def test_later_stages_do_not_know_the_primitives():
    folders = ("compile", "runtime", "fast")
    paths = [path for folder in folders for path in (PACKAGE / folder).rglob("*.py")]
    later = [path for path in paths if path.parent.name != "passes"]
    names = r'"(scan|while)"|(scan|while|cond)_p\b|_nconsts|num_carry|num_consts|"branches"'
    names += r'|(body|cond)_jaxpr|primitive.name (==|!=|in) .*"cond"'
    known = {
        path.relative_to(PACKAGE).as_posix() for path in later if re.search(names, path.read_text())
    }
    assert known == {
        "fast/long_loops.py"
    }  # it stands in for scan's impl rule, before there is a program
