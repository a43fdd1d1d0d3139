import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def schedule(f, *shapes, dtype=np.float32):
    """What the compiler chose for the one kernel of a function; reasons are left out."""
    args = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
    text = jax.jit(f).lower(*args).as_text("schedule of k0")
    return [line.partition("  # ")[0] for line in text.splitlines()]


def test_elements_are_numbered_as_they_lie_in_memory():
    assert schedule(lambda x, y: x * y, (20, 100), (20, 100)) == [
        "Fuse(('i1', 'i2'))",
        "Vectorize('i1_i2', 16)",
    ]


def test_rows_stay_where_flat_indices_would_be_divided():
    lines = schedule(lambda x, y: x * y, (4, 5, 100), (5, 1))
    assert lines == ["Vectorize('i3', 16)", "Partition('i3_outer')"]


def test_neighbouring_axes_are_one_where_that_takes_no_division():
    lines = schedule(lambda x, y: x * y, (4, 5, 6, 100), (4, 1, 1, 100))
    assert lines[0] == "Fuse(('i2', 'i3'))"
    lines = schedule(lambda x, y: x * y, (4, 5, 100), (5, 100))
    assert lines[0] == "Fuse(('i2', 'i3'))"


def test_rows_are_one_where_there_are_too_few_to_share_out():
    lines = schedule(lambda x, y: x * y, (4, 50, 4000), (50, 1))
    assert lines[1:] == ["Fuse(('i1', 'i2'), may_divide=True)", "Parallelize('i1_i2', 200)"]


def test_large_arrays_are_shared_out():
    assert schedule(lambda x: x + 1, (1_000_000,))[-1] == "Parallelize('i1_outer', 245)"
    lines = schedule(lambda x, y: x * y, (3, 1_000_000), (1_000_000,))
    assert lines[-2:] == ["Parallelize('i1', 3)", "Parallelize('i2_outer', 245)"]


def test_doubles_have_vectors_of_half_the_width():
    with jax.enable_x64(True):
        assert "Vectorize('i1', 8)" in schedule(lambda x: x + 1, (100,), dtype=np.float64)


def test_what_is_not_in_vectors_says_why():
    (line,) = schedule(lambda x: x[::17] + 1, (900,))
    assert line == (
        "# not Vectorize('i1', 16, overlap=True): neighbours are apart in memory, at "
        "a_in[(min(i1_outer * 16, 37) + i1_inner) * 17]"
    )


def test_lanes_gather_what_data_scatters_if_they_compute_more():
    def f(x, places):
        return jnp.exp(x.at[places].get(mode="clip")) + x[places]

    rng = np.random.default_rng(0)
    x, places = rng.normal(size=103), rng.integers(-200, 200, 103)
    args = jnp.array(x, "float32"), jnp.array(places, "int32")
    lowered = jax.jit(f).lower(*args)
    assert "Vectorize('i1', 16, gather=True, overlap=True)" in lowered.as_text("schedule of k0")
    np.testing.assert_allclose(lowered.compile()(*args), f(*args), rtol=1e-6)


@pytest.mark.parametrize("columns", [5, 7, 13, 20, 25, 130, 300])
def test_rows_of_any_length_are_added_in_vectors(columns):
    def f(y, x, rows):
        return y.at[rows].add(x), jnp.cumsum(x, 0), jax.ops.segment_max(x, rows, num_segments=9)

    rng = np.random.default_rng(0)
    rows = rng.integers(-12, 9, 60).astype(np.int32)
    y, x = (jnp.array(rng.integers(-9, 9, (n, columns)), "float32") for n in (9, 60))
    lowered = jax.jit(f).lower(y, x, rows)
    assert f"Vectorize('i1', {min(16, 1 << (columns - 1).bit_length())})" in lowered.as_text(
        "schedule of k0"
    )
    for compiled, eager in zip(lowered.compile()(y, x, rows), f(y, x, rows)):
        np.testing.assert_array_equal(compiled, eager)
    donated = jax.jit(lambda y, x, rows: y.at[rows].add(x), donate_argnums=0)
    np.testing.assert_array_equal(donated(jnp.array(y), x, rows), f(y, x, rows)[0])


def test_lanes_gather_from_the_carry_of_a_loop():
    def f(carry, x):
        def step(carry, x):
            at = jnp.arange(103)
            return jnp.where(at >= x, carry[at - x] + 1, carry), None

        return lax.scan(step, carry, x)[0]

    carry, x = np.arange(103, dtype=np.float32), np.array([0, 5, 102, 200, 7], np.int32)
    lowered = jax.jit(f).lower(carry, x)
    assert "gather=True" in lowered.as_text("schedule of k0")
    np.testing.assert_array_equal(lowered.compile()(carry, x), f(carry, x))


def test_elements_in_reverse_are_vectors():
    assert schedule(lambda x: lax.rev(x, (0,)) + 1, (100,)) == [
        "Vectorize('i1', 16, gather=True, overlap=True)"
    ]


@pytest.mark.parametrize("columns", [9, 10, 16])
def test_columns_of_a_matrix_are_strided_vectors_unless_other_loops_read_what_is_between(columns):
    def column(x):
        return x[:, 3] * 2 - x[:, columns - 1]

    strided = "Vectorize('i1', 16, gather=True, overlap=True)"
    assert schedule(column, (100, columns))[0] == strided
    assert strided not in schedule(lambda x: x[:, :4] + x[:, 4:8], (100, columns))
    x = np.random.default_rng(0).normal(size=(100, columns)).astype(np.float32)
    np.testing.assert_array_equal(jax.jit(column)(x), column(x))


@pytest.mark.parametrize("columns, width", [(5, 8), (8, 8), (11, 16), (20, 16), (40, 16)])
def test_rows_end_in_a_part_of_a_vector_whose_size_is_known(columns, width):
    def f(x, y):
        return (x - 1) * y

    lines = schedule(f, (300, columns), (columns,))
    assert f"Vectorize('i2', {width})" in lines
    assert ("Partition('i2_outer')" in lines) == (columns > width)
    x, y = (np.random.default_rng(0).normal(size=n).astype("f") for n in ((300, columns), columns))
    np.testing.assert_array_equal(jax.jit(f)(x, y), f(x, y))


@pytest.mark.parametrize("columns, costly", [(3, "i1"), (4, "i1"), (7, "i1"), (8, "i2")])
def test_functions_of_short_rows_fill_vectors_across_rows(columns, costly):
    shapes = (300, columns), (columns,)
    axes = [
        next(line.split("'")[1] for line in schedule(f, *shapes) if line.startswith("Vectorize"))
        for f in (lambda x, y: x * y, lambda x, y: jnp.sin(x) * y)
    ]
    assert axes == ["i1" if columns < 4 else "i2", costly]


def test_the_few_elements_of_rows_are_computed_together():
    lines = schedule(lambda x, y: x[..., ::-1] * y, (40, 3), (3,))
    assert lines == ["UnrollAndJam('i2', 3)", "Vectorize('i1', 16, gather=True, overlap=True)"]


def test_a_flat_result_has_loops_over_the_axes_before():
    """Then indices need no division, and a row's borders are cut off."""
    lines = schedule(lambda x: jnp.pad(x, 1).ravel(), (40, 50))
    assert "Vectorize('i2', 16, overlap=True)" in lines


def test_sums_are_in_vectors_where_elements_are_not():
    lines = schedule(lambda x: lax.reduce_sum(x, (0, 2)), (30, 4, 50))
    assert "Vectorize('i3', 16)" in lines


def test_other_long_sums_have_several_accumulators():
    lines = schedule(lambda x, y: x.T @ y, (300, 2), (300, 3))
    assert lines[0] == "UnrollAndJam('i3', 8)"


def test_what_is_combined_along_no_axis_needs_no_accumulators():
    lines = schedule(lambda x: lax.reduce_xor_p.bind(x, axes=()), (2, 67), dtype=np.int8)
    assert not any(line.startswith("UnrollAndJam") for line in lines)


@pytest.mark.parametrize("shape", [(300, 333), (2, 300, 333)])
def test_a_large_transposed_array_is_read_in_tiles(shape):
    lines = schedule(lambda x: jnp.swapaxes(x, -1, -2) + 1, shape)
    rows, columns = len(shape) - 1, len(shape)  # 333 rows are 11 tiles of 31
    assert lines[0] == f"Split('i{rows}', 31, overlap=True)"
    assert lines[1] == f"Split('i{columns}', 32, overlap=True)"
    assert lines[2].startswith("Reorder(") and lines[-2].startswith("Parallelize(")
    assert lines[-1] == f"Vectorize('i{columns}_inner', 16, gather=True)"


@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex64", "bool"])
@pytest.mark.parametrize("columns", [2, 5, 17, 25, 33])
def test_tall_and_wide_transposed_arrays_are_shared_among_work_items(columns, dtype):
    tall = (np.arange(columns * 70001) % 251).astype(dtype).reshape(-1, columns)
    f = jax.jit(lambda x: x.T[:, ::-1])
    for x in (tall, np.ascontiguousarray(tall.T)):
        (kernel,) = f.lower(x).compiler_ir("kernel")
        assert kernel.items > 1
        np.testing.assert_array_equal(f(x), x.T[:, ::-1])


def test_a_row_whose_number_is_a_remainder_is_read_up_to_its_end():
    f = jax.vmap(lambda x: lax.map(lambda row: row * 2, x, batch_size=2))
    x = np.arange(3.0 * 17 * 17, dtype=np.float32).reshape(3, 17, 17)
    np.testing.assert_array_equal(jax.jit(f)(x), x * 2)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_small_integers_are_in_vectors_too(dtype):
    def f(x, y):
        chosen = jnp.where(x > y, x * y - 3, (x << 2) ^ (x >> 1))
        scaled = (x.astype(jnp.float32) * 1.7 - 60).astype(dtype)
        return chosen, scaled, jnp.minimum(-x, y).max(0), (x != y).sum(1)

    x, y = (np.random.default_rng(n).integers(-200, 200, (9, 40)).astype(dtype) for n in (0, 1))
    assert "x16" in jax.jit(f).lower(x, y).as_text("kernel")
    for found, wanted in zip(jax.jit(f)(x, y), f(*map(jnp.asarray, (x, y))), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_vectors_of_a_maximum_overlap_where_a_row_is_no_multiple():
    x = np.random.default_rng(0).permutation(4 * 70).reshape(4, 70).astype(np.float32)
    f = jax.jit(lambda x: jax.lax.map(lambda row: jnp.sin(row).max(), x))
    text = f.lower(x).as_text("opencl")
    assert "float16" in text and "_masked" not in text
    np.testing.assert_allclose(f(x), np.sin(x).max(1), rtol=1e-6)


@pytest.mark.parametrize(("operations", "is_cut"), [(2, True), (100, False)])
def test_two_iterations_are_not_written_twice_if_they_are_long(operations, is_cut):
    def padded(x):
        y = jnp.pad(x, ((1, 0), (0, 0)))
        for _ in range(operations):
            y = y * x + x
        return y

    assert ("Partition('i1')" in schedule(padded, (1, 40))) == is_cut


def test_short_rows_that_data_chooses_are_gathered_in_lanes():
    def f(x, rows):
        distance = x[rows] - x[0]
        return distance, (distance**2).sum(-1)

    x = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    rows = np.random.default_rng(1).integers(0, 50, 99).astype(np.int32)
    lowered = jax.jit(f).lower(x, rows)
    assert "Vectorize('i1', 16, gather=True, overlap=True)" in lowered.as_text("schedule of k0")
    for found, wanted in zip(lowered.compile()(x, rows), f(x, rows)):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
