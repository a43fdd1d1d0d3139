"""viz.kernel shows the programs of a pallas_call, with the blocks that each is given."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import viz
from tinyjax.experimental import pallas as pl


def call(kernel, shape, **options):
    return pl.pallas_call(kernel, jax.ShapeDtypeStruct(shape, jnp.float32), **options)


def double(x_ref, o_ref):
    o_ref[...] = 2 * x_ref[...]


def programs(f, *args):
    return viz.kernel(f, *args).kernels[0][0]


def touched(stage, item):
    return [(a.array, list(a.elements), a.is_store) for a in stage.accesses if a.item == item]


def test_each_program_has_its_block_and_of_the_last_one_what_is_there():
    spec = pl.BlockSpec((4,), lambda i: (i,))
    stage = programs(call(double, (6,), grid=2, in_specs=[spec], out_specs=spec), np.ones(6))
    assert touched(stage, 0) == [
        ("args[0]", [0, 1, 2, 3], False), ("outputs", [0, 1, 2, 3], True),
    ]  # fmt: skip
    assert touched(stage, 1) == [("args[0]", [4, 5], False), ("outputs", [4, 5], True)]
    assert [a.time for a in stage.accesses] == [0, 1, 2, 3]
    assert stage.kernel.items == 2 and dict(stage.accesses[-1].loops) == {"program_id(0)": 1}


def test_a_tile_is_its_rows_and_what_is_loaded_again_counts():
    tile, column = (pl.BlockSpec((2, 2), m) for m in (lambda i, j: (i, j), lambda i, j: (0, i)))
    f = call(double, (4, 4), grid=(2, 2), in_specs=[column], out_specs=tile)
    stage = programs(jax.jit(f), np.ones((2, 4)))
    assert touched(stage, 3) == [
        ("args[0]", [2, 3], False), ("args[0]", [6, 7], False),
        ("outputs", [10, 11], True), ("outputs", [14, 15], True),
    ]  # fmt: skip
    assert (stage.traffic.loads, stage.traffic.stores, stage.traffic.redundant) == (16, 16, 8)


@pytest.mark.slow
def test_what_is_compiled_follows_if_it_is_small():
    spec = pl.BlockSpec((256,), lambda i: (i,))
    few, many = (
        viz.kernel(call(double, (n,), grid=n // 256, in_specs=[spec], out_specs=spec), np.ones(n))
        for n in (256, 8192)
    )
    assert [len(played.kernels) for played in (few, many)] == [2, 1]
    assert "loads a block (256,) of args[0]" in str(many)
    with pytest.raises(ValueError, match="too many programs and blocks"):
        viz.kernel(call(lambda x_ref, o_ref: None, (1,), grid=6000), np.ones(1))
