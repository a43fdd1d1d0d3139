"""Keys in compiled programs are words; the bits are those of the eager ones."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax, random
from tinyjax import numpy as jnp

needs_opencl = pytest.mark.skipif(
    jax.devices()[0].cl_device is None, reason="there is no OpenCL device"
)
KEY = random.key(7)
KEYS = random.split(KEY, 6)


def raw(tree):
    """The results as NumPy arrays, keys as their words."""

    def numbers(x):
        is_key = jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
        return np.asarray(random.key_data(x) if is_key else x)

    return [numbers(x) for x in jax.tree.leaves(tree)]


def assert_same_bits(f, *args):
    with jax.disable_jit():
        eager = f(*args)
    compiled = jax.jit(f)(*args)
    assert [x.dtype for x in jax.tree.leaves(compiled)] == [x.dtype for x in jax.tree.leaves(eager)]
    for a, b in zip(raw(compiled), raw(eager), strict=True):
        np.testing.assert_array_equal(a, b)


# ---- what is done to keys ----


def test_a_key_is_two_words_in_the_compiled_jaxpr():
    text = jax.jit(random.split).lower(KEY).as_text("simplified")
    assert "key<fry>" not in text and "threefry2x32" in text


def test_a_record_says_what_becomes_of_keys():
    lowered = jax.jit(lambda key: random.bits(random.split(key)[0])).lower(KEY)
    (record,) = (r for r in lowered.passes if r.name == "lower_prng_keys")
    said = [(e.origin.primitive.name, e.change) for e in record.events]
    assert ("random_split", "is arithmetic on words") in said
    assert ("squeeze", "moves pairs of words") in said


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("shape", [(), (2,), (3, 5)])
@pytest.mark.parametrize("keys", [KEY, KEYS.reshape(2, 3)], ids=["key", "keys"])
def test_split_makes_the_same_keys(keys, shape, partitionable):
    def split(key):
        return random.split(key, shape)

    with jax.threefry_partitionable(partitionable):
        assert_same_bits(jax.vmap(jax.vmap(split)) if keys.ndim else split, keys)


@pytest.mark.slow
@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (2, 3)])
def test_bits_are_the_same(shape, dtype, partitionable):
    with jax.threefry_partitionable(partitionable), jax.enable_x64(dtype == "uint64"):
        assert_same_bits(lambda k: random.bits(k, shape, dtype), KEY)
        assert_same_bits(jax.vmap(lambda k: random.bits(k, shape, dtype)), KEYS)


def test_fold_in_makes_the_same_keys():
    assert_same_bits(lambda k, n: random.fold_in(k, n), KEY, 5)
    assert_same_bits(jax.vmap(random.fold_in, (None, 0)), KEY, jnp.arange(-2, 3))


def test_seeds_make_the_same_keys():
    assert_same_bits(lambda n: random.key(n), -1)
    assert_same_bits(jax.vmap(random.key), jnp.arange(3, dtype="uint8"))
    with jax.enable_x64():
        assert_same_bits(random.key, 2**40 + 3)


def test_draws_are_the_same():
    assert_same_bits(lambda k: random.uniform(k, (5,)), KEY)
    assert_same_bits(lambda k: random.randint(k, (5,), -3, 100), KEY)
    assert_same_bits(lambda k: random.bernoulli(k, 0.3, (9,)), KEY)
    assert_same_bits(lambda k: random.permutation(k, 10), KEY)
    assert_same_bits(lambda k: random.choice(k, 10, (4,), replace=False), KEY)


@needs_opencl
def test_bits_are_made_by_kernels():
    def f(key):
        return random.uniform(random.split(key)[1], (5,))

    assert ": host " not in jax.jit(f).lower(KEY).as_text("schedule")


@needs_opencl
def test_normal_numbers_are_one_kernel_and_near_the_eager_ones():
    def f(key):
        return random.normal(key, (1000,))

    assert jax.jit(f).lower(KEY).as_text("schedule").count("launch") == 1
    with jax.disable_jit():
        eager = np.asarray(f(KEY))
    np.testing.assert_array_max_ulp(np.asarray(jax.jit(f)(KEY)), eager, 4)


# ---- what is done to arrays of keys ----


@pytest.mark.parametrize(
    "f",
    [
        lambda ks: ks,
        lambda ks: ks[2],
        lambda ks: ks[1:5:2],
        lambda ks: ks[::-1],
        lambda ks: ks[jnp.array([3, 0, 9])],
        lambda ks: ks.reshape(2, 3).T,
        lambda ks: jnp.stack([ks[0], ks[3]]),
        lambda ks: jnp.concatenate([ks[:2], ks[4:]]),
        lambda ks: jnp.broadcast_to(ks[:, None], (6, 2)),
        lambda ks: jnp.where(jnp.arange(6) < 3, ks, ks[::-1]),
        lambda ks: lax.dynamic_slice(ks, (jnp.argmax(jnp.arange(3)),), (2,)),
        lambda ks: lax.dynamic_update_slice(ks, ks[4:], (1,)),
        lambda ks: ks.at[1].set(ks[5]),
        lambda ks: random.wrap_key_data(random.key_data(ks) + 1),
        lambda ks: random.clone(ks),
    ],
)
def test_arrays_of_keys_are_moved_about_as_words(f):
    assert_same_bits(f, KEYS)


def test_keys_that_a_function_closes_over_are_constants():
    assert_same_bits(lambda x: random.uniform(KEY, (3,)) + random.uniform(KEYS[2]) + x, 1.0)


def test_a_key_among_other_arguments_and_results_stays_a_key():
    x, key = jax.jit(lambda x, key: (x + 1, key))(1.0, KEY)
    assert key.dtype == KEY.dtype and (random.key_data(key) == random.key_data(KEY)).all()


def test_a_callback_gets_keys():
    def f(key):
        return jax.pure_callback(
            lambda k: np.asarray(random.key_data(k)), jax.ShapeDtypeStruct((2,), "uint32"), key
        )

    assert_same_bits(f, KEY)


def test_a_key_can_be_printed(capsys):
    jax.jit(lambda key: jax.debug.print("{}", key))(KEY)
    jax.effects_barrier()
    assert str(random.key_data(KEY)[1]) in capsys.readouterr().out


# ---- loops and branches ----


def metropolis(key, x):
    def step(_, carry):
        key, x = carry
        key, proposing, accepting = random.split(key, 3)
        y = x + random.uniform(proposing, minval=-1.0, maxval=1.0)
        return key, jnp.where(random.uniform(accepting) < jnp.minimum(1, abs(x / y)), y, x)

    return lax.fori_loop(0, 20, step, (key, x))


@needs_opencl
def test_a_loop_with_a_key_in_its_carry_is_one_kernel():
    schedule = jax.jit(metropolis).lower(KEY, 0.5).as_text("schedule")
    assert schedule.count("launch") == 1 and "one kernel" in schedule
    assert_same_bits(metropolis, KEY, 0.5)


def test_a_batch_of_chains_has_a_key_each():
    assert_same_bits(jax.vmap(metropolis, (0, None)), KEYS, 0.5)


def test_keys_are_what_a_scan_walks_through_and_stacks():
    def step(key, other):
        key, used = random.split(key)
        return key, (used, random.bits(other, (2,)))

    assert_same_bits(lambda k, ks: lax.scan(step, k, ks), KEY, KEYS)


def test_a_loop_of_many_steps_moves_keys_too():
    def step(key, row):
        key, used = random.split(key)
        return key, (used, jnp.sort(row + random.uniform(used, row.shape)))  # sorted on the host

    assert_same_bits(lambda k, x: lax.scan(step, k, x), KEY, jnp.zeros((4, 3)))


def test_a_while_loop_draws_until_it_is_content():
    def f(key):
        def body(carry):
            key, _ = carry
            key, used = random.split(key)
            return key, random.uniform(used)

        return lax.while_loop(lambda carry: carry[1] < 0.9, body, (key, 0.0))

    assert_same_bits(f, KEY)
    assert_same_bits(jax.vmap(f), KEYS)


def test_branches_take_and_give_keys():
    for index in range(2):
        assert_same_bits(
            lambda i, ks: lax.cond(i > 0, lambda k: random.fold_in(KEY, 3), lambda k: k[1], ks),
            index,
            KEYS,
        )


def test_dropout_is_differentiated_in_compiled_code():
    def loss(w, key):
        return jnp.sum(jnp.where(random.bernoulli(key, 0.5, w.shape), w * w, 0.0))

    assert_same_bits(jax.grad(loss), jnp.arange(6.0), KEY)
    assert_same_bits(jax.grad(jax.checkpoint(loss)), jnp.arange(6.0), KEY)
