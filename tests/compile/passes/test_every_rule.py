"""Every rule of the table, tried on the special values of every dtype of its kinds."""

import itertools
import warnings

import ml_dtypes
import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax
from tinyjax.compile.passes.patterns import parse, primitive_named
from tinyjax.compile.passes.rewrite_rules import ARITHMETIC, RULES, rewrite_rules
from tinyjax.compile.record import recording, run_pass
from tinyjax.core.bind import impl_rules
from tinyjax.core.dtypes import kind
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.tracing import make_jaxpr

PRIMITIVES = {p.name: p for p in impl_rules}
ALL_RULES = [rule for rules in RULES.values() for rule in rules]
FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    1e-40,
    -1e-40,
    6e-8,
    6e4,
    3e38,
    -3e38,
    np.inf,
    -np.inf,
    np.nan,
    2**24 + 1,
]
PARTS = [0.0, -0.0, 1.0, -1.5, -1e-40, np.inf, -np.inf, np.nan]  # of complex numbers
INTEGERS = [0, 1, -1, 5, 127, -128, 2**31 - 1, -(2**31)]


def special(dtype):
    """Values of a dtype that break what is true of most."""
    if dtype == "complex64":
        return np.array(list(itertools.product(PARTS, PARTS)), np.float32).view(dtype)[:, 0]
    values = FLOATS if dtype in ("float16", ml_dtypes.bfloat16, "float32") else INTEGERS
    with np.errstate(all="ignore"):
        return np.array(values).astype(dtype)


SPECIAL = {
    "b": [special("bool")],
    "i": [special("int8"), special("int32")],
    "u": [special("uint8"), special("uint32")],
    "f": [special("float16"), special(ml_dtypes.bfloat16), special("float32")],
    "c": [special("complex64")],
    "V": [],  # keys: tests/compile/passes/test_lower_prng_keys.py moves them about
}


def values_of(rule):
    return [x for each in rule.kinds for x in SPECIAL[each]]


def without_nan_bits(x):
    """The bits, but those of NaNs: what a NaN's sign and payload are, IEEE 754 leaves open."""
    x = np.asarray(x)
    is_nan = x != x
    return x.dtype, x.shape, is_nan.tobytes(), np.where(is_nan, x.dtype.type(0), x).tobytes()


def changed_bits(f, *args, expected_rule=None):
    """Whether the rules change a bit of what f gives; the rule has to be among those that fired."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        closed = make_jaxpr(f)(*args)
        with recording() as records:
            simpler = run_pass("rewrite_rules", rewrite_rules, closed)
        fired = {event.why.partition(": ")[0] for event in records[0].events}
        assert expected_rule is None or str(expected_rule) in fired
        before, after = eager_jaxpr_fun(closed)(*args), eager_jaxpr_fun(simpler)(*args)
    return [without_nan_bits(x) for x in before] != [without_nan_bits(x) for x in after]


# ---- what a line of the table says ----


def pattern_of(rule, x):
    """A function that computes the pattern of a line, with numbers of x's dtype; and its arguments: every
    pair of values of x, under both conditions."""
    grid = np.meshgrid(x, x, [False, True])
    letters = dict(zip("xyc", map(np.ravel, grid)))
    if rule.primitive == "select_n":
        number = np.bool_
    else:
        number = x.dtype.type

    def value(part, env):
        if isinstance(part, tuple):
            primitive = primitive_named(part[0], str(rule))
            return primitive.bind(*(value(p, env) for p in part[1:]))
        return number(part) if isinstance(part, float) else env[part]

    def f(*args):
        env = dict(zip(letters, args))
        operands = [value(part, env) for part in rule.operands]
        params = {} if rule.power is None else {"y": rule.power}
        return primitive_named(rule.primitive, str(rule)).bind(*operands, **params)

    return f, list(letters.values())


def operands_of(rule):
    """Values of dtypes of which the pattern makes a result of the rule's kinds: lt of floats is a bool."""
    found = {}
    for x in itertools.chain(*SPECIAL.values()):
        try:
            out = make_jaxpr(pattern_of(rule, x)[0])(*pattern_of(rule, x)[1]).out_avals[0]
        except (TypeError, OverflowError):
            continue  # the primitive does not take it, or there is no such number
        if kind(out.dtype) in rule.kinds:
            found.setdefault(kind(out.dtype), []).append(x)
    assert found.keys() == set(rule.kinds), f"{rule}: no value has a result of each of its kinds"
    return [x for xs in found.values() for x in xs]


LINES = [parse(line) for line in ARITHMETIC.strip().splitlines()]


def first_changed(f, *args):
    """The first values of the letters for which the rules change a bit: a counterexample."""
    for values in zip(*args):
        if changed_bits(f, *[value[None] for value in values]):
            return dict(zip("xyc", values))


@pytest.mark.parametrize("rule", LINES, ids=str)
def test_a_line_of_the_table_changes_no_bit_of_special_values(rule):
    for x in operands_of(rule):
        f, args = pattern_of(rule, x)
        if changed_bits(f, *args, expected_rule=rule):
            pytest.fail(f"{rule}: not for {x.dtype}s {first_changed(f, *args)}", pytrace=False)


@pytest.mark.parametrize(
    "line", ["abs (abs x) | abs x | if", "abs (abs x) | abs x | it | why", "abs x | x | u |"]
)
def test_a_line_that_lacks_a_column_or_has_other_kinds_is_refused(line):
    with pytest.raises(ValueError, match=r"^abs .*: a rule is pattern \| replacement \| kinds"):
        parse(line)


def test_a_replacement_of_two_operations_is_refused():
    with pytest.raises(ValueError, match="one operation; write a @rule function"):
        parse("abs (sub x y) | abs (sub y x) | f | the sign goes anyway")


@pytest.mark.parametrize("line", ["nge x | x | i | why", "not (nge x) | x | i | why"])
def test_an_unknown_primitive_in_a_pattern_is_named_with_its_line(line):
    rule = parse(line)
    f, args = pattern_of(rule, special("int32"))
    with pytest.raises(ValueError, match=r"nge.* = x: there is no primitive 'nge'.* ge"):
        f(*args)


def test_an_unknown_primitive_in_a_replacement_is_named_with_its_line(monkeypatch):
    monkeypatch.setitem(RULES, "neg", [parse("neg x | abz x | i | why")])
    with pytest.raises(ValueError, match=r"neg x \| abz x .*: there is no primitive 'abz'.* abs"):
        rewrite_rules(make_jaxpr(lax.neg)(special("int32")))


@pytest.mark.parametrize("rule", [rule for rule in LINES if "y" in rule.pattern.split()], ids=str)
def test_a_line_changes_no_bit_where_both_letters_are_one_variable(rule):
    for x in operands_of(rule):
        f, (xs, _, conditions) = pattern_of(rule, x)
        if changed_bits(lambda x, c, f=f: f(x, x, c), xs, conditions):
            pytest.fail(f"{rule}: not for {x.dtype}s where x is y", pytrace=False)


@pytest.mark.parametrize(
    "line",
    [
        "add x 0 | x | f | -0.0 + 0.0 is 0.0",
        "sub x x | 0 | f | inf - inf is NaN",
        "mul x 0 | 0 | f | NaN * 0.0 is NaN",
        "neg (sub x y) | sub y x | f | where x is y, it is -0.0",
        "min x -inf | -inf | f | of NaN it is NaN",
        "neg x | x | i | but for 0",
        "max x 0 | x | i | but for what is less",
        "eq x x | 1 | b | of NaN it is False",
    ],
)
def test_a_wrong_line_is_found_by_special_values(monkeypatch, line):
    rule = parse(line)
    monkeypatch.setitem(RULES, rule.primitive, [rule])
    f_and_args = [pattern_of(rule, x) for x in operands_of(rule)]
    assert any(changed_bits(f, *args, expected_rule=rule) for f, args in f_and_args)


# ---- rules that have a function ----

REVERSED, ROUND = (1, 0), (2, 0, 1)
EXAMPLES = {
    "reshape x": lambda x: PRIMITIVES["reshape"].bind(x, new_sizes=x.shape),
    "transpose x": lambda x: PRIMITIVES["transpose"].bind(x, permutation=(0,)),
    "transpose (transpose x)": lambda x: lax.transpose(
        lax.transpose(x.reshape(1, 2, -1), ROUND), ROUND
    ),
    "reshape (reshape x)": lambda x: x.reshape(2, -1).reshape(-1, 2),
    "broadcast_in_dim x": lambda x: PRIMITIVES["broadcast_in_dim"].bind(
        x, shape=x.shape, broadcast_dimensions=(0,)
    ),
    "broadcast_in_dim (broadcast_in_dim x)": lambda x: lax.broadcast_in_dim(
        lax.broadcast_in_dim(x, (2, *x.shape), (1,)), (2, 3, *x.shape), (0, 2)
    ),
    "slice x": lambda x: PRIMITIVES["slice"].bind(
        x, start_indices=(0,), limit_indices=x.shape, strides=None
    ),
    "concatenate x ...": lambda x: PRIMITIVES["concatenate"].bind(x, x[:0], dimension=0),
    "squeeze (slice (stack x ...))": lambda x: PRIMITIVES["squeeze"].bind(
        PRIMITIVES["slice"].bind(
            PRIMITIVES["stack"].bind(x[::-1], x, axis=0),
            start_indices=(1, 0),
            limit_indices=(2, x.size),
            strides=None,
        ),
        dimensions=(0,),
    ),
}
for reduction in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min"):
    EXAMPLES[f"{reduction}[axes=()] x"] = lambda x, p=PRIMITIVES[reduction]: p.bind(x, axes=())
# Tracing leaves out most conversions to the dtype that is there; divisions are tried below, by many numbers.
CONVERSIONS = [rule for rule in ALL_RULES if rule.primitive == "convert_element_type"]
DIVISIONS = [rule for rule in ALL_RULES if rule.pattern == "div x 2**n"]


def test_every_rule_has_an_example():
    known = {*EXAMPLES, *(r.pattern for r in [*LINES, *CONVERSIONS, *DIVISIONS])}
    assert known == {rule.pattern for rule in ALL_RULES}


@pytest.mark.parametrize("pattern", EXAMPLES)
def test_a_rule_with_a_function_changes_no_bit_of_special_values(pattern):
    (rule,) = (rule for rule in ALL_RULES if rule.pattern == pattern)
    for x in values_of(rule):
        if (
            x.dtype != "bool" or "sum" not in pattern and "prod" not in pattern
        ):  # these take numbers
            assert not changed_bits(EXAMPLES[pattern], x, expected_rule=rule), x.dtype


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("divisor", [*(2.0**n for n in range(-98, 99, 9)), -4.0, 3.0, 0.1, np.inf])
def test_a_division_by_a_number_changes_no_bit(divisor, dtype):
    x = special("float32").astype(dtype)
    if dtype == "float64":
        x = np.append(x, [5e-324, 1e308])
    (rule,) = DIVISIONS
    expected = rule if abs(np.frexp(divisor)[0]) == 0.5 else None
    with jax.enable_x64(dtype == "float64"):
        assert not changed_bits(lambda x: x / x.dtype.type(divisor), x, expected_rule=expected)
