"""Each primitive declares its facts; the message names the missing one, and where it goes."""

import re
from pathlib import Path

import numpy as np
import pytest
from primitive_examples import EXAMPLES

import tinyjax as jax
from tinyjax.core import dtypes
from tinyjax.core.bind import Primitive, impl_rules
from tinyjax.core.facts import axes_words
from tinyjax.experimental import checkify
from tinyjax.many_devices.sharding.propagation import rule_of

SOURCE = Path(jax.__file__).parent
DEFINES = re.compile(r'_p = (?:\w*Primitive|unary|nary|elementwise|host_primitive)\(\s*"([\w-]+)"')
# The file of tinyjax that defines the primitive of a name.
FILES = {
    name: path.relative_to(SOURCE).as_posix()
    for path in SOURCE.rglob("*.py")
    for name in DEFINES.findall(path.read_text())
}

# Those that run jaxprs or Python functions have what these do; group_ ones are many_devices' own.
PRIMITIVES = [
    p
    for p in impl_rules
    if not p.impl_binds_primitives and not p.name.startswith("group_") and p.name in FILES
]


def check(primitives, fact: str, how: str) -> None:
    lines = [f"{fact}: add {how} where {FILES[p.name]} defines {p.name}_p" for p in primitives]
    if lines:
        pytest.fail("\n".join(lines), pytrace=False)


def test_each_says_whether_it_makes_nan():
    missing = [p for p in PRIMITIVES if p.facts.makes_nan is None]
    check(missing, "makes_nan", "makes_nan=True or False")


def test_each_elementwise_one_has_a_cost():
    missing = [p for p in PRIMITIVES if p.facts.axes == "elementwise" and p.facts.cost is None]
    check(missing, "cost", "cost=1")


def test_each_says_which_axes_its_result_has():
    known = {"unclear", "reshape"}
    missing = [p for p in PRIMITIVES if not rule_of(p.name) and not {p.name, p.facts.axes} & known]
    words = "another word of the table in many_devices/sharding/propagation.py"
    check(missing, "axes", f'axes="elementwise", {words}, or "unclear",')


def test_each_that_takes_keys_says_what_it_does_with_them():
    eqns = [
        eqn
        for examples in EXAMPLES.values()
        for eqn in jax.make_jaxpr(examples[0].fun)(*examples[0].args).jaxpr.eqns
    ]
    takes_keys = {
        e.primitive for e in eqns if e.invars and e.invars[0].aval.dtype == dtypes.key_dtype
    }
    missing = [p for p in PRIMITIVES if p in takes_keys and p.facts.keys is None]
    check(missing, "keys", 'keys="used", "same", "part" or "other"')


def test_a_missing_fact_is_said_with_its_place():
    with pytest.raises(
        pytest.fail.Exception, match="add cost=1 where lax/exponential.py defines exp_p"
    ):
        check([jax.lax.exp_p], "cost", "cost=1")


def test_a_name_that_is_no_fact_is_refused():
    with pytest.raises(TypeError, match="price"):
        Primitive("thrice", price=1)


def test_a_primitive_of_a_user_needs_no_facts():
    thrice_p = Primitive("thrice")
    thrice_p.def_impl(lambda x: 3 * x)
    thrice_p.def_abstract_eval(lambda x: x)
    f = lambda x: thrice_p.bind(x) + 1  # noqa: E731
    x = np.arange(3.0, dtype=np.float32)
    assert "thrice" not in axes_words
    lowered = jax.jit(f).lower(x)
    assert lowered.compile()(x).tolist() == [1, 4, 7]
    assert lowered.compile().cost_analysis()["flops"] == 3
    error, out = checkify.checkify(f, errors=checkify.float_checks)(x)
    assert error.get() is None and out.tolist() == [1, 4, 7]
    with pytest.raises(NotImplementedError, match="jet rule for 'thrice'"):
        jax.experimental.jet.jet(f, (x,), ((x,),))
