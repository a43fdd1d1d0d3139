import numpy as np
import pytest
from drawn import draws
from judged import Thrown, error_passes, raises, unchanged
from practice.laws import DTYPES, LAWS, Law, entry, hard_numbers, same_bits

from tinyjax import lax
from tinyjax.compile.passes.patterns import parse
from tinyjax.compile.passes.rewrite_rules import RULES, rewrite_rules
from tinyjax.core.tracing import ShapeDtypeStruct, make_jaxpr

F32 = np.float32


def array(*numbers, dtype=F32):
    return np.array(numbers, dtype)


# ---- the same bits ----


def test_zeros_of_other_signs_are_equal_and_not_the_same():
    assert same_bits(array(0.0, 1.0), array(0.0, 1.0))
    assert not same_bits(array(0.0, 1.0), array(-0.0, 1.0))


def test_each_element_counts():
    assert not same_bits(array(1.0, 2.0, 3.0), array(1.0, 2.0, 3.0000002))
    assert not same_bits(array(np.inf, 1.0), array(-np.inf, 1.0))
    wide = np.ones((2, 2, 2, 2))
    last = wide.copy()
    last[-1, -1, -1, -1] += 2.0**-52
    assert not same_bits(wide, last), "of any rank, to the last bit"


def test_of_a_nan_any_bits_will_do_but_it_is_no_number():
    other = np.array([0x7FC00001], np.uint32).view(F32)
    assert same_bits(array(np.nan), other), "two NaNs of other bits"
    assert not same_bits(array(np.nan), array(1.0))
    assert not same_bits(array(1.0), array(np.nan))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.float64, np.float16])
def test_any_dtype_is_compared(dtype):
    assert same_bits(array(1, 2, dtype=dtype), array(1, 2, dtype=dtype))
    assert not same_bits(array(1, 2, dtype=dtype), array(1, 3, dtype=dtype))


def test_the_answer_is_a_bool():
    assert same_bits(array(1.0), array(1.0)) is True and same_bits(array(1.0), array(2.0)) is False


# ---- hard numbers ----


@pytest.mark.parametrize("dtype", DTYPES.values())
def test_hard_numbers_are_an_array_of_their_dtype(dtype):
    numbers = hard_numbers(dtype)
    assert numbers.dtype == dtype and numbers.ndim == 1


WRONG = {  # for floats, with what breaks them
    "x + 0.0 = x (-0.0)": (lambda x: x + F32(0), lambda x: x),
    "x * 0.0 = 0.0 (infinity, NaN, negative numbers)": (lambda x: x * F32(0), lambda x: 0 * abs(x)),
    "x - 0.0 - x = 0.0 (infinity)": (lambda x: np.where(np.isnan(x), 0, x - x), lambda x: abs(x * 0)),
    "max(x, -1e38) = x (-infinity, and the largest number below 0)": (
        lambda x: np.maximum(x, F32(-1e38)), lambda x: x),
    "x * 2 / 2 = x (large)": (lambda x: np.where(np.isinf(x), x, x * F32(2) / F32(2)), lambda x: x),
    "x / 2 * 2 = x (very small)": (lambda x: x / F32(2**20) * F32(2**20), lambda x: x),
    "round(x) = x (fractions)": (lambda x: np.round(x), lambda x: x),
    "x + 1 - 1 = x (fractions that are rounded)": (
        lambda x: np.where((abs(x) > 0.001) & (abs(x) < 1e7), x + F32(1) - F32(1), x), lambda x: x),
    "x if x == x else 0 = x (NaN)": (lambda x: np.where(x == x, x, F32(0)), lambda x: x),
    "abs(x) = x (negative)": (lambda x: np.where(np.isinf(x) | (x == 0), x, abs(x)), lambda x: x),
}  # fmt: skip


@pytest.mark.parametrize("law", WRONG)
def test_a_law_that_is_wrong_for_floats_is_wrong_for_a_hard_number(law):
    left, right = WRONG[law]
    numbers = hard_numbers(F32)
    with np.errstate(all="ignore"):
        a, b = (np.asarray(side(numbers), F32) for side in (left, right))
    is_same = (a.view("u4") == b.view("u4")) | (np.isnan(a) & np.isnan(b))
    assert not is_same.all(), f"no hard number shows that this is wrong: {law}"


@pytest.mark.parametrize("dtype", DTYPES.values())
def test_numbers_at_the_ends_are_hard(dtype):
    if dtype is F32:
        wanted = {-np.inf, np.inf, np.finfo(F32).max.item(), 0.0}
    else:
        limits = np.iinfo(dtype)
        wanted = {0, 1, limits.min, limits.max} | ({-1} if limits.min else set())
    missing = wanted - set(hard_numbers(dtype).tolist())
    assert not missing, f"{missing} are not among the hard numbers of {np.dtype(dtype)}"


# ---- lines of the table ----


def kinds_of(law):
    line = entry(law)
    return line.split("|")[2].strip() if line else ""


KINDS = ["iuf", "iu", "iuf", "if", "iuf", "iu", "iu"]


@pytest.mark.parametrize("number", range(len(LAWS)))
def test_a_law_is_for_the_kinds_for_which_it_changes_no_bit(number):
    law = LAWS[number]
    assert kinds_of(law) == KINDS[number], f"{law.before} = {law.after}"


def test_all_pairs_of_numbers_are_tried():
    law = Law("max x y", "x", lambda x, y: np.where((x == 0) & (y > 1e9), y, x), lambda x, y: x, "")
    assert entry(law) == "", "0 as x and the largest number as y break it"
    for law in (
        Law("max x y", "x", lambda x, y: np.where((y == 0) & (x > 1e9), y, x), lambda x, y: x, ""),
        Law("max x y", "x", lambda x, y: np.where((x == 1) & (y == 0), y, x), lambda x, y: x, ""),
        Law("max x y", "x", lambda x, y: np.where((x == 0) & (y == 1), y, x), lambda x, y: x, ""),
    ):
        assert entry(law) == "", "a pair in the other order breaks it"
    law = Law("sub (add x x) x", "x", lambda x, y: x + x - x, lambda x, y: x, "")
    assert kinds_of(law) == "iu", "twice the largest float32 is infinite"
    for kinds in ("f", "iu", "uf", "if", "u", "i"):
        law = Law(
            "max x y",
            "x",
            lambda x, y: x,
            lambda x, y, k=kinds: x if x.dtype.kind in k else x + x.dtype.type(1),
            "w",
        )
        assert entry(law) == f"max x y | x | {kinds} | w", "kinds are tried each for itself"


def test_a_law_for_no_kind_has_no_line():
    assert entry(Law("add x y", "x", lambda x, y: x + y, lambda x, y: x, "no")) == ""


def test_a_line_is_one_of_the_table_and_the_compiler_uses_it(monkeypatch):
    line = entry(LAWS[0])
    assert line == "sub x (neg y) | add x y | iuf | the sign is turned twice"
    monkeypatch.setitem(RULES, "sub", [*RULES["sub"], parse(line)])
    number = ShapeDtypeStruct((3,), np.dtype("float32"))
    after = rewrite_rules(make_jaxpr(lambda x, y: lax.sub(x, lax.neg(y)))(number, number))
    assert after.eqns[-1].primitive.name == "add"


def test_arrays_of_any_rank_and_of_other_floats_are_compared_and_stay_as_they_are():
    for dtype in (np.float64, np.float16, np.float32):
        a = np.array([[0.0, np.nan], [np.inf, -1.5]], dtype)
        b = a.copy()
        with unchanged(a=a, b=b):
            assert same_bits(a, b) and not same_bits(a, -b)
        b[1, 1] = -1.5 * (1 + np.finfo(dtype).eps)
        assert not same_bits(a, b), f"of {dtype.__name__} the last bit differs"
    assert same_bits(array(), array()), "of no elements none differs"


def test_an_error_of_a_law_goes_on_and_numpys_settings_are_left():
    with np.errstate(divide="warn", over="raise"):
        before = np.geterr()
        entry(Law("mul x y", "x", lambda x, y: x * y, lambda x, y: x, "why"))
        assert np.geterr() == before
    before = np.geterr()
    with error_passes(Thrown()) as error:
        entry(Law("a", "b", raises(error), lambda x, y: x, "why"))
    entry(Law("mul x y", "x", lambda x, y: x * y, lambda x, y: x, "why"))
    assert np.geterr() == before


def test_of_any_bits_arrays_are_compared_one_element_after_another():
    for draw in draws(60):
        kinds = [np.float32, np.float64, np.float16, np.int32, np.uint32, np.int64, np.uint8]
        dtype = np.dtype(draw.choice(kinds))
        size = dtype.itemsize

        def bits(draw=draw, dtype=dtype):
            hard = [0.0, -0.0, np.inf, np.nan, -np.nan, 1.0, 1e-7] if dtype.kind == "f" else [0, 1]
            drawn = draw.randbytes(dtype.itemsize)
            return draw.choice([np.array([draw.choice(hard)], dtype).tobytes(), drawn])

        count = draw.randint(0, 2 * draw.size)
        a = [bits() for _ in range(count)]
        b = [x if draw.random() < 0.9 else bits() for x in a]
        if count and draw.random() < 0.2:
            k = draw.randrange(count)
            b[k] = bytes([a[k][0] ^ 1, *a[k][1:]])  # the last bit alone is another
        if dtype.kind == "f" and draw.random() < 0.3 and count:
            a[0] = np.array([np.nan], dtype).tobytes()
            b[0] = draw.choice([(-np.array([np.nan], dtype)).tobytes(), a[0], bits()])
        x, y = (np.frombuffer(b"".join(parts), dtype) for parts in (a, b))
        is_nan = [[v != v for v in array.tolist()] for array in (x, y)]
        expected = all(p == q or m and n for p, q, m, n in zip(a, b, *is_nan))
        assert len(b"".join(a)) == count * size
        shaped = draw.random() < 0.3 and count % 2 == 0
        x, y = (array.reshape(2, -1) if shaped else array for array in (x, y))
        found = same_bits(x, y)
        assert found is expected, f"of {x!r}\nand {y!r}: expected {expected}, found {found}"
