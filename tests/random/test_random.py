"""Keys and draws: the numbers are those of JAX 0.12."""

from importlib.util import find_spec

import numpy as np
import pytest
from drawn import drawn, same, shape_of_rank, shown
from judged import SMALL_FLOAT, stays_as_it_was, unchanged

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import random
from tinyjax.random.distributions import one_to_two
from tinyjax.random.threefry import (
    fold_in_words,
    keys_by_counting,
    rotate_left,
    seed_words,
    threefry2x32,
)

KEY = random.key(0)


# ---- the cipher and keys ----


def test_what_falls_out_at_the_left_comes_back_at_the_right():
    rotated = rotate_left(np.array([0x80000001, 0x0000FFFF], "uint32"), 4)
    assert [hex(x) for x in rotated] == ["0x18", "0xffff0"]
    assert rotated.dtype == np.uint32


def test_all_bits_survive_a_rotation():
    x = np.array([0x12345678, 0xFFFFFFFF, 0], "uint32")
    assert [hex(x) for x in rotate_left(x, 16)] == ["0x56781234", "0xffffffff", "0x0"]
    np.testing.assert_array_equal(rotate_left(rotate_left(x, 13), 19), x)


@pytest.mark.parametrize("shape", [(), (0,), (2, 1, 3)])
def test_words_of_any_shape_are_rotated_by_any_distance_and_stay_as_they_are(shape):
    x = np.full(shape, 0x80000003, "uint32")
    for distance in range(1, 32):
        with unchanged(x=x):
            found = rotate_left(x, distance)
        assert np.shape(found) == shape and np.asarray(found).dtype == np.uint32
        want = (0x80000003 << distance | 0x80000003 >> (32 - distance)) % 2**32
        assert (np.asarray(found) == want).all(), f"by {distance}"


def test_threefry_takes_words_of_any_shapes_that_fit_and_leaves_them_as_they_are():
    key = np.arange(2, dtype="uint32").reshape(2, 1) + np.uint32(2**31)
    x = np.arange(3, dtype="uint32") * np.uint32(2**30)
    with unchanged(key=key, x=x):
        found = threefry2x32(key, key + np.uint32(1), x, x[:1])
        turned = threefry2x32(key, key, x[:1], x)
        assert [word.shape for word in turned] == [word.shape for word in found]
    for i in range(2):
        for j in range(3):
            one = threefry2x32(key[i], key[i] + np.uint32(1), x[j : j + 1], x[:1])
            assert [int(w[i, j]) for w in found] == [int(w[0]) for w in one]
    assert all(word.dtype == np.uint32 for word in found)


def test_words_of_one_call_are_not_changed_by_another():
    first, second = np.uint32([[1, 2], [3, 4]]), np.uint32([[5, 6], [7, 8]])
    stays_as_it_was(rotate_left, (first, 5), (second, 5), (second, 7))
    stays_as_it_was(threefry2x32, (*first, *second), (*second, *first))
    stays_as_it_was(keys_by_counting, (first, (3,)), (second, (3,)))
    stays_as_it_was(fold_in_words, (first, np.array(7)), (second, np.array(7)))


@pytest.mark.parametrize("keys", [(), (3,), (2, 1)])
@pytest.mark.parametrize("shape", [(1,), (0,), (2, 3)])
def test_new_keys_of_keys_of_any_shape_are_those_of_each_alone(keys, shape):
    table = (np.arange(2 * int(np.prod(keys)), dtype="uint32") * np.uint32(0x9E3779B9)).reshape(
        *keys, 2
    )
    with unchanged(table=table):
        found = keys_by_counting(table, shape)
    assert found.shape == (*keys, *shape, 2) and found.dtype == np.uint32
    for place in np.ndindex(*keys):
        np.testing.assert_array_equal(found[place], keys_by_counting(table[place], shape))


def test_threefry_encrypts_the_test_vectors_of_its_paper():
    words = np.array([[0x13198A2E], [0x03707344], [0x243F6A88], [0x85A308D3]], "uint32")
    got = [hex(x) for (x,) in threefry2x32(*words)]
    assert got == ["0xc4923a9c", "0x483df7a0"], f"the paper has 0xc4923a9c 0x483df7a0, not {got}"


def test_threefry_encrypts_zeros_and_ones_as_its_paper_does():
    zeros, ones = np.array([0], "uint32"), np.array([0xFFFFFFFF], "uint32")
    assert [hex(x) for (x,) in threefry2x32(*[zeros] * 4)] == ["0x6b200159", "0x99ba4efe"]
    assert [hex(x) for (x,) in threefry2x32(*[ones] * 4)] == ["0x1cb996fc", "0xbb002be7"]


def test_split_words_encrypt_a_counter():
    words = np.array([[0, 0], [0, 7]], "uint32")
    keys = keys_by_counting(words, (3,))
    assert keys.shape == (2, 3, 2), f"2 keys, 3 of each, 2 words: (2, 3, 2), not {keys.shape}"
    for (k1, k2), of_key in zip(words, keys):
        for i in range(3):
            encrypted = threefry2x32(*(np.array([x], "uint32") for x in (k1, k2, 0, i)))
            assert of_key[i].tolist() == [int(x) for (x,) in encrypted]


def test_each_key_of_a_table_is_folded_with_its_number():
    words = np.arange(12, dtype=np.uint32).reshape(2, 3, 2)
    data = np.arange(6).reshape(2, 3)
    got = fold_in_words(words, data)
    assert got.shape == (2, 3, 2)
    np.testing.assert_array_equal(got[1], fold_in_words(words[1], data[1]))
    one_key, one_number = fold_in_words(words[1, 2], data), fold_in_words(words, np.array(5))
    assert one_key.shape == one_number.shape == (2, 3, 2), "keys and numbers are broadcast"
    np.testing.assert_array_equal(one_key[1, 2], got[1, 2])
    np.testing.assert_array_equal(one_number[1, 2], got[1, 2])
    for dtype in ("int8", "int32", "int64"):
        number = np.array([-3], dtype)
        want = threefry2x32(*words[:1, 1].T, *seed_words(number).T)
        told = f"the seed of {dtype} -3 is encrypted"
        np.testing.assert_array_equal(fold_in_words(words[:1, 1], number), np.stack(want, -1), told)
    with np.errstate(over="ignore"):
        alone = fold_in_words(words[1, 2], np.array(5))
    assert alone.tolist() == got[1, 2].tolist(), "one key and one number, without axes"
    large = [fold_in_words(words[0, :1], np.array([200], dtype)) for dtype in ("uint8", "int32")]
    assert large[0].tolist() == large[1].tolist(), "200 is a number of 8 bits"


def test_folded_words_encrypt_a_number():
    folded = fold_in_words(np.array([[0, 0], [0, 1]], "uint32"), np.array([7, 7], "uint32"))
    assert folded.tolist() == [[2716826189, 292468403], [954670714, 4016809582]]
    (folded,) = fold_in_words(np.array([[5, 1]], "uint32"), np.array([7], "uint32")).tolist()
    assert folded == [1709693199, 1086094739], f"7 encrypted with the key of 5 and 1, not {folded}"
    key, large = np.array([[5, 1]], "uint32"), np.array([(3 << 32) + 7], "uint64")
    want = threefry2x32(*(np.array([x], "uint32") for x in (5, 1, 3, 7)))
    assert (fold_in_words(key, large) == np.stack(want, -1)).all(), (
        "a number of 64 bits is two words, of which the high one is encrypted too"
    )


def test_the_cipher_as_a_primitive_encrypts_the_halves_of_an_array_together():
    from tinyjax.random.keys import threefry_2x32

    zeros, count = (jnp.uint32(0), jnp.uint32(0)), jnp.arange(3, dtype="uint32")
    with jax.threefry_partitionable(False):
        assert threefry_2x32(zeros, count).tolist() == random.bits(KEY, (3,)).tolist()


def test_a_key_holds_the_bits_of_its_seed():
    assert random.PRNGKey(42).tolist() == [0, 42]
    assert random.PRNGKey(-1).tolist() == [0, 2**32 - 1]
    with jax.enable_x64():
        assert random.PRNGKey(2**40 + 3).tolist() == [256, 3]


def test_typed_and_raw_keys_stay_what_they_are():
    assert jnp.issubdtype(random.split(KEY).dtype, jax.dtypes.prng_key)
    raw = random.split(random.PRNGKey(0))
    assert raw.dtype == jnp.uint32
    assert raw.tolist() == random.key_data(random.split(KEY)).tolist()
    assert raw.tolist() == [[1797259609, 2579123966], [928981903, 3453687069]]


def test_fold_in_makes_a_key_from_a_number():
    assert random.key_data(random.fold_in(KEY, 7)).tolist() == [2716826189, 292468403]


def test_key_data_and_wrap_key_data_are_inverse():
    keys = random.split(KEY, (2, 3))
    again = random.wrap_key_data(random.key_data(keys))
    assert again.shape == (2, 3)
    assert (random.key_data(again) == random.key_data(keys)).all()
    assert random.key_impl(keys) == "threefry2x32"


def test_keys_are_indexed_reshaped_and_stacked_like_numbers():
    keys = random.split(KEY, 4)
    data = random.key_data(keys)
    assert random.key_data(keys[2]).tolist() == data[2].tolist()
    assert random.key_data(keys.reshape(2, 2)).tolist() == data.reshape(2, 2, 2).tolist()
    assert (
        random.key_data(jnp.stack([keys[0], keys[3]])).tolist() == data[jnp.array([0, 3])].tolist()
    )


# ---- both layouts of the counters ----


def test_bits_of_every_width():
    assert random.bits(KEY, (3,)).tolist() == [4070199207, 4202968722, 1427181096]
    assert random.bits(KEY, (5,), "uint8").tolist() == [167, 146, 40, 53, 183]
    assert random.bits(KEY, (2,), "uint16").tolist() == [20391, 13970]
    with jax.enable_x64():
        assert random.bits(KEY, ()).dtype == jnp.uint64


def test_the_old_layout_is_a_switch():
    with jax.threefry_partitionable(False):
        assert random.uniform(random.PRNGKey(0)) == np.float32(0.41845703)
        assert random.bits(KEY, (5,), "uint8").tolist() == [143, 35, 95, 55, 29]
        assert random.key_data(random.split(KEY))[0].tolist() == [4146024105, 967050713]


def test_draws_of_the_new_layout_do_not_depend_on_the_size():
    assert random.bits(KEY, (3,)).tolist() == random.bits(KEY, (300,))[:3].tolist()


# ---- draws ----


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_bits_become_the_fraction_of_a_float_from_one_up_to_two(dtype):
    dtype, width = np.dtype(dtype), 8 * np.dtype(dtype).itemsize
    none, half, all_of_them = 0, 2 ** (width - 1), 2**width - 1
    bits = jnp.array(np.array([none, half, all_of_them], f"uint{width}"))
    floats = one_to_two(bits, width, dtype)
    assert floats.dtype == dtype
    told = f"bits 00..0, 10..0 and 11..1 make 1, 1.5 and the {dtype} just below 2"
    np.testing.assert_array_equal(floats, [1, 1.5, 2 - np.finfo(dtype).eps], told)


@pytest.mark.parametrize("shape", [(), (0,), (2, 1), (3, 1, 2)])
def test_of_64_bits_each_that_fits_counts_and_any_rank_will_do(shape):
    with jax.enable_x64():
        bits = jnp.asarray(np.full(shape, 2**64 - 1, "uint64"))
        floats = one_to_two(bits, 64, np.dtype("float64"))
        assert (floats.shape, floats.dtype) == (shape, np.float64)
        assert (floats == 2 - 2.0**-52).all(), f"all bits are set, which is not {floats}"
    jaxpr = jax.make_jaxpr(lambda bits: one_to_two(bits, 32, np.dtype("float32")))(
        np.zeros(shape, "uint32")
    )
    assert jaxpr.eqns, "bits may be traced"


@pytest.mark.skipif(not find_spec("ml_dtypes"), reason="ml_dtypes, which has bfloat16, is missing")
def test_bits_of_another_width_than_the_float_are_converted():
    floats = one_to_two(jnp.array([0, 128, 255], "uint8"), 8, jnp.bfloat16.dtype)
    np.testing.assert_array_equal(floats.astype("float32"), [1, 1.5, 2 - 2**-7])
    floats = one_to_two(jnp.array([0, 2**15, 2**16 - 1], "uint16"), 16, jnp.bfloat16.dtype)
    np.testing.assert_array_equal(floats.astype("float32"), [1, 1.5, 2 - 2**-7])


DRAWS = {
    "uniform": (lambda: random.uniform(KEY, (3,)), [0.947667, 0.9785799, 0.3322915]),
    "normal": (lambda: random.normal(KEY, (3,)), [1.6226422, 2.0252647, -0.4335944]),
    "truncated_normal": (
        lambda: random.truncated_normal(KEY, -1.0, 1.0, (3,)),
        [0.8618594, 0.9412883, -0.2910484],
    ),
    "gumbel": (lambda: random.gumbel(KEY, (3,)), [2.9233725, 3.8326178, -0.0968932]),
    "randint": (lambda: random.randint(KEY, (5,), 0, 10), [9, 0, 2, 3, 1]),
    "randint of a whole range": (lambda: random.randint(KEY, (4,), 0, 256, "uint8"), [101, 80, 200, 61]),
    "bernoulli": (lambda: random.bernoulli(KEY, 0.3, (6,)), [False] * 5 + [True]),
    "permutation": (lambda: random.permutation(KEY, 5), [0, 1, 4, 3, 2]),
    "choice": (lambda: random.choice(KEY, 5, (3,), replace=False), [0, 1, 4]),
    "choice by weight": (
        lambda: random.choice(KEY, 5, (4,), p=jnp.array([0.1, 0.2, 0.3, 0.2, 0.2])),
        [0, 0, 3, 2],
    ),
    "categorical": (lambda: random.categorical(KEY, jnp.zeros((4, 3))), [1, 1, 2, 1]),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_those_of_jax(name):
    draw, expected = DRAWS[name]
    np.testing.assert_allclose(np.asarray(draw()), expected, rtol=2e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_uniform_stays_below_its_upper_end(dtype):
    draws = np.asarray(random.uniform(KEY, (2000,), dtype).astype("float32"))
    assert draws.min() >= 0 and draws.max() < 1
    assert abs(draws.mean() - 0.5) < 0.05


def test_categorical_draws_by_probability():
    logits = jnp.log(jnp.array([0.2, 0.8]))
    assert abs(random.categorical(KEY, logits, shape=(2000,)).mean() - 0.8) < 0.03


def test_permutation_keeps_rows_together():
    x = jnp.arange(6).reshape(3, 2)
    rows = random.permutation(KEY, x).tolist()
    assert sorted(rows) == x.tolist()


# ---- keys under transformations ----


def test_vmap_over_keys_equals_a_loop():
    keys = random.split(KEY, 3)
    batched = jax.vmap(lambda key: random.normal(key, (2,)))(keys)
    assert batched.tolist() == [random.normal(key, (2,)).tolist() for key in keys]


def test_vmap_over_one_of_key_and_number():
    batched = jax.vmap(random.fold_in, in_axes=(None, 0))(KEY, jnp.arange(3))
    assert random.key_data(batched)[2].tolist() == random.key_data(random.fold_in(KEY, 2)).tolist()
    raw = jax.vmap(random.PRNGKey)(jnp.arange(3))
    assert raw.tolist() == [[0, 0], [0, 1], [0, 2]]


def test_jit_draws_what_eager_draws():
    def draw(key):
        k1, k2 = random.split(key)
        return random.uniform(k1, (3,)), random.randint(k2, (4,), 0, 100)

    for compiled, eager in zip(jax.jit(draw)(KEY), draw(KEY)):
        np.testing.assert_array_equal(compiled, eager)


def test_gradients_pass_through_draws():
    # d/dscale of sum(scale * x) is sum(x).
    x = random.normal(KEY, (3,))
    gradient = jax.grad(lambda scale: (scale * random.normal(KEY, (3,))).sum())(2.0)
    np.testing.assert_allclose(gradient, x.sum(), rtol=1e-6)


@pytest.mark.parametrize("a", [0.3, 1.0, 2.5, 40.0])
def test_a_gamma_draw_keeps_its_quantile_while_its_parameter_moves(a):
    from scipy.special import gammainc, gammaincinv

    with jax.enable_x64():
        x, slope = jax.value_and_grad(lambda a: random.gamma(KEY, a))(a)
    quantile, h = gammainc(a, x), 1e-5
    moved = gammaincinv(a + h, quantile) - gammaincinv(a - h, quantile)
    np.testing.assert_allclose(slope, moved / (2 * h), rtol=1e-6)


def test_the_logarithm_of_a_small_gamma_draw_and_its_derivative_are_finite():
    value, slope = jax.value_and_grad(lambda a: random.loggamma(KEY, a))(1e-3)
    assert random.gamma(KEY, 1e-3) == 0
    assert np.isfinite(value) and np.isfinite(slope)


def test_a_compiled_rejection_loop_draws_what_the_eager_one_draws():
    a = jnp.linspace(0.1, 5, 200)
    eager, compiled = random.gamma(KEY, a), jax.jit(random.gamma)(KEY, a)
    np.testing.assert_allclose(compiled, eager, rtol=1e-5)
    # Some of them needed more than one attempt; together they have the mean of their distributions.
    assert abs((eager / a).mean() - 1) < 0.15


def test_jaxprs_show_keys_as_jax_does():
    text = str(jax.make_jaxpr(lambda key: random.bits(random.fold_in(key, 7), (3,)))(KEY))
    assert text == (
        "{ lambda ; a:key<fry>[]. let\n"
        "    b:key<fry>[] = random_fold_in a 7:u32[]\n"
        "    c:u32[3] = random_bits[bit_width=32 shape=(3,)] b\n"
        "  in (c,) }"
    )


# ---- mistakes ----

MISTAKES = [
    (lambda: random.uniform(0), TypeError, "random.key"),
    (lambda: random.uniform([0, 1]), TypeError, "unexpected PRNG key type"),
    (lambda: random.uniform(jnp.zeros(2)), TypeError, "dtype = uint32; got dtype=float32"),
    (lambda: random.uniform(jnp.zeros(3, "uint32")), TypeError, "end with"),
    (lambda: random.uniform(random.split(KEY)), ValueError, "single key.*vmap"),
    (lambda: random.uniform(KEY, (3.0,)), TypeError, "Shapes must be"),
    (lambda: random.uniform(KEY, (-1,)), ValueError, "negative"),
    (lambda: random.beta(KEY, 1.0, 1.0, (-1,)), TypeError, "0 and more"),
    (lambda: jax.jit(lambda n: random.uniform(KEY, (n,)))(3), TypeError, "static"),
    (lambda: random.uniform(KEY, (3,), int), ValueError, "float dtype"),
    (lambda: random.bits(KEY, (3,), int), ValueError, "unsigned"),
    (lambda: random.randint(KEY, (3,), 0, 10, float), TypeError, "integer dtypes"),
    (lambda: random.randint(KEY, (3,), jnp.zeros(2, int), 3), ValueError, "broadcast"),
    (lambda: random.bernoulli(KEY, 1), TypeError, "floating"),
    (lambda: random.permutation(KEY, [1, 2]), TypeError, "permutation requires"),
    (lambda: random.choice(KEY, 5, 3), TypeError, "sequence"),
    (lambda: random.choice(KEY, 5, (6,), replace=False), ValueError, "larger sample"),
    (lambda: random.choice(KEY, 5, (2,), p=jnp.ones(3)), ValueError, "p has shape"),
    (lambda: random.key(KEY), TypeError, "given a PRNG key"),
    (lambda: random.key(jnp.arange(2)), TypeError, "vmap"),
    (lambda: random.key(1.5), TypeError, "must be an integer"),
    (lambda: random.key(2**70), OverflowError, "int"),
    (lambda: random.key(0, impl="dice"), ValueError, "threefry2x32"),
    (lambda: random.fold_in(KEY, jnp.arange(2)), TypeError, "vmap"),
    (lambda: random.fold_in(KEY, -1), OverflowError, "int"),
]


@pytest.mark.parametrize("mistake, error, message", MISTAKES)
def test_mistakes_are_named(mistake, error, message):
    with pytest.raises(error, match=message):
        mistake()


# ---- words and keys that are drawn ----


def encrypted(k1, k2, x1, x2):
    """Threefry of whole numbers of Python."""
    keys, most = (k1, k2, k1 ^ k2 ^ 0x1BD11BDA), 2**32
    x1, x2 = (x1 + k1) % most, (x2 + k2) % most
    for n in range(20):
        distance = (13, 15, 26, 6, 17, 29, 16, 24)[n % 8]
        x1 = (x1 + x2) % most
        x2 = ((x2 << distance | x2 >> (32 - distance)) % most) ^ x1
        if n % 4 == 3:
            group = n // 4 + 1
            x1 = (x1 + keys[group % 3]) % most
            x2 = (x2 + keys[(group + 1) % 3] + group) % most
    return x1, x2


@drawn(20, most=5)
def test_drawn_words_are_encrypted_as_whole_numbers_of_python_are(rng, most):
    shape = shape_of_rank(rng, int(rng.integers(1, most + 1)))
    operands = []
    for _ in range(4):  # each has fewer axes, or axes of one word, and is broadcast
        own = tuple(n if rng.random() < 0.8 else 1 for n in shape)[rng.integers(len(shape)) :]
        operands.append(rng.integers(0, 2**32, own, dtype=np.uint32))
    with shown(shapes=[x.shape for x in operands]):
        got, spread = threefry2x32(*operands), np.broadcast_arrays(*operands)
        words = [encrypted(*map(int, row)) for row in zip(*(x.ravel() for x in spread))]
        for n in range(2):
            want = np.array([pair[n] for pair in words], np.uint32).reshape(spread[0].shape)
            same(got[n], want, f"word {n}")


@drawn(12, most=5)
def test_drawn_keys_are_those_of_each_key_and_number_alone(rng, most):
    keys = rng.integers(0, 2**32, (*shape_of_rank(rng, most - 1, 2), 2), dtype=np.uint32)
    shape = shape_of_rank(rng, int(rng.integers(1, most + 1)), 2)
    shape = keys.shape[:-1] if most > 1 and rng.integers(2) else shape
    dtype = rng.choice(["int32", "int64", "uint64"])
    numbers = rng.integers(0 if dtype[0] == "u" else -(2**31), 2**31, shape).astype(dtype)
    numbers *= rng.choice([1, 2**20 if dtype != "int32" else 1]).astype(dtype)
    with shown(shape_of_keys=keys.shape, shape=shape, numbers=numbers.tolist()):
        made = keys_by_counting(keys, shape)
        assert made.shape == (*keys.shape[:-1], *shape, 2), f"the shape is {made.shape}"
        for at in np.ndindex(*keys.shape[:-1]):
            counters = range(int(np.prod(shape, dtype=int)))
            want = [encrypted(*map(int, keys[at]), 0, n) for n in counters]
            same(made[at], np.array(want, np.uint32).reshape(*shape, 2), f"the keys of key {at}")
        given = keys if shape == keys.shape[:-1] else keys.reshape(-1, 2)[:1]
        folded = fold_in_words(given, numbers)
        for at in np.ndindex(*shape):
            words = seed_words(numbers[at])
            key = keys[at] if given is keys else given[0]
            want = np.array(encrypted(*map(int, key), *map(int, words)), np.uint32)
            same(folded[at], want, f"the key of number {at}")


@drawn(20, most=4)
def test_drawn_bits_are_fractions_of_whole_numbers(rng, most):
    name = ["float16", "float32", "float64", SMALL_FLOAT.name][rng.integers(4)]
    dtype = jnp.dtype(name)
    bits = 8 * dtype.itemsize
    unsigned = np.dtype(f"uint{bits}")
    words = rng.integers(0, 2**bits, shape_of_rank(rng, int(rng.integers(0, most + 1))), unsigned)
    digits = jnp.finfo(dtype).nmant
    want = [1 + (word >> (bits - digits)) / 2**digits for word in words.ravel().tolist()]
    with shown(dtype=name, bits=bits, words=words.tolist()), jax.enable_x64(name == "float64"):
        got = np.asarray(one_to_two(jnp.asarray(words), bits, np.dtype(dtype)))
        same(got.astype("float64"), np.reshape(want, words.shape), "the floats", rtol=0)
        assert got.dtype == dtype, f"they should be {name}s, not {got.dtype}s"
