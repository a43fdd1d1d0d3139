"""Cutting arrays as specs say, and putting their parts together."""

import math

import numpy as np
import pytest
from drawn import drawn, shown

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.many_devices.shard_map.nested_vmap import join, split
from tinyjax.sharding import PartitionSpec as P

AXES = (("x", 4), ("y", 2))
TABLE = np.arange(48.0, dtype=np.float32).reshape(8, 6)


def equal(got, want, told):
    np.testing.assert_array_equal(np.asarray(got), want, told)


# ---- split ----


def test_a_part_is_a_block_of_neighbours():
    parts = split(jnp.asarray(TABLE), P("x", "y"), AXES)
    assert parts.shape == (4, 2, 2, 3), "the mesh's axes, then those of a part"
    for i, j in np.ndindex(4, 2):
        block = TABLE[2 * i : 2 * i + 2, 3 * j : 3 * j + 3]
        equal(parts[i, j], block, f"the part of the device at x={i}, y={j}")


def test_mesh_axes_are_in_the_meshs_order_whatever_that_of_the_spec():
    parts = split(jnp.asarray(TABLE.T), P("y", "x"), AXES)
    assert parts.shape == (4, 2, 3, 2)
    for i, j in np.ndindex(4, 2):
        block = TABLE.T[3 * j : 3 * j + 3, 2 * i : 2 * i + 2]
        equal(parts[i, j], block, f"the part of the device at x={i}, y={j}")
    assert split(jnp.asarray(TABLE), P("x", "y"), AXES[::-1]).shape == (2, 4, 2, 3), "y is first"


@pytest.mark.parametrize("names, counts", [(("x", "y"), (2, 1)), (("y", "x"), (1, 4))])
def test_of_several_names_for_one_axis_the_first_counts_most(names, counts):
    parts = split(jnp.asarray(TABLE), P(names), AXES)
    assert parts.shape == (4, 2, 1, 6)
    for i, j in np.ndindex(4, 2):
        row = counts[0] * i + counts[1] * j
        equal(parts[i, j], TABLE[row : row + 1], f"{names}: x={i}, y={j} has row {row}")


def test_what_the_spec_does_not_name_is_whole():
    equal(split(jnp.asarray(TABLE), P(), AXES), TABLE, "no axis in front, where none is named")
    parts = split(jnp.asarray(TABLE), P(None, "y"), AXES)
    assert parts.shape == (2, 8, 3), "of the mesh's axes, those that the spec names"
    equal(parts[1], TABLE[:, 3:], "all rows")
    assert split(jnp.asarray(TABLE), P("y"), AXES).shape == (2, 4, 6), "a spec may be short"
    parts = split(jnp.asarray(TABLE), P("x", "y"), (("x", 1), ("y", 2)))
    assert parts.shape == (1, 2, 8, 3), "an axis of one device is in front too"
    assert split(jnp.ones((0, 6)), P("x"), AXES).shape == (4, 0, 6), "parts of nothing"


# ---- join ----

SPECS = [P(), P("x"), P(None, "y"), P("x", "y"), P(("x", "y")), P(("y", "x")), P("y")]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_join_is_the_opposite_of_split(spec):
    names = [name for name, _ in AXES if name in spec.names]
    equal(
        join(split(jnp.asarray(TABLE), spec, AXES), spec, names), TABLE, f"split and joined: {spec}"
    )


def test_the_axes_in_front_may_be_in_any_order():
    parts = jnp.transpose(split(jnp.asarray(TABLE), P("x", "y"), AXES), (1, 0, 2, 3))
    equal(join(parts, P("x", "y"), ["y", "x"]), TABLE, "y is in front of x")
    parts = jnp.transpose(split(jnp.asarray(TABLE), P(("y", "x")), AXES), (1, 0, 2, 3))
    equal(join(parts, P(("y", "x")), ["y", "x"]), TABLE, "y is in front of x")


@pytest.mark.parametrize("at", [0, 1])
def test_along_an_axis_that_is_not_named_the_first_devices_part_is_taken(at):
    """Two more copies of the parts of x, of which the second is another."""
    parts = split(jnp.asarray(TABLE), P("x"), AXES)
    copies = jnp.stack([parts, parts + 100], axis=at)
    names = ["y", "x"] if at == 0 else ["x", "y"]
    equal(join(copies, P("x"), names), TABLE, "along y, the part of the first device")


def test_parts_that_no_spec_names_are_one():
    copies = jnp.stack([jnp.stack([TABLE, TABLE + 1])] * 4)
    equal(join(copies, P(), ["x", "y"]), TABLE, "the part of the very first device")


def test_names_are_left_as_they_were():
    names = ["y", "x"]
    join(jnp.ones((2, 4, 2, 6)), P("x"), names)
    assert names == ["y", "x"]
    assert join(jnp.ones((2, 4, 2, 6)), P("x"), ("y", "x")).shape == (8, 6), "names may be a tuple"
    assert join(jnp.ones((2, 4, 2, 6)), P("x"), [7, "x"]).shape == (8, 6), "a name may be no text"


def test_both_are_programs_that_can_be_traced():
    def there_and_back(x):
        return join(split(x, P("x", "y"), AXES), P("x", "y"), ["x", "y"])

    jaxpr = jax.make_jaxpr(there_and_back)(TABLE)
    assert {eqn.primitive.name for eqn in jaxpr.eqns} <= {"reshape", "transpose", "copy_p"}
    equal(jax.jit(there_and_back)(TABLE), TABLE, "split and joined")


MANY_AXES = (("a", 2), ("b", 3), ("c", 2), ("d", 2))
CUBE = np.arange(4 * 6 * 12 * 2.0, dtype=np.float32).reshape(4, 6, 12, 2)
MANY_SPECS = [
    P("a", "b", "c", "d"),
    P("d", "b", "a", "c"),
    P(None, None, ("c", "b", "a")),
    P(("a", "c"), "b", ("d",), None),
    P(None, "b", None, "a"),
    P(("c", "d"), None, ("a", "b")),
]


@pytest.mark.parametrize("spec", MANY_SPECS, ids=str)
def test_arrays_of_four_axes_are_cut_over_four_mesh_axes(spec):
    parts = np.asarray(split(jnp.asarray(CUBE), spec, MANY_AXES))
    sizes, named = dict(MANY_AXES), [name for name, _ in MANY_AXES if name in spec.names]
    for place in np.ndindex(*[sizes[name] for name in named]):
        at, block = dict(zip(named, place)), CUBE
        for axis, names in enumerate(spec):
            for name in names if isinstance(names, tuple) else (names,) if names else ():
                block = np.split(block, sizes[name], axis)[at[name]]
        equal(parts[place], block, f"{spec}: the part of the device at {at}")


@pytest.mark.parametrize("spec", MANY_SPECS, ids=str)
def test_parts_of_four_axes_are_joined_whatever_is_in_front(spec):
    named = [name for name, _ in MANY_AXES if name in spec.names]
    parts = split(jnp.asarray(CUBE), spec, MANY_AXES)
    turned = jnp.moveaxis(parts, 0, len(named) - 1)
    equal(join(turned, spec, named[1:] + named[:1]), CUBE, f"{spec}, the first name is the last")
    others = [name for name, _ in MANY_AXES if name not in named]
    both = jnp.broadcast_to(parts, (*[2] * len(others), *parts.shape))
    equal(join(both, spec, others + named), CUBE, f"{spec}, {others} have the same each")


# ---- meshes that are drawn ----


NAMES = ["x", "xs", "s", "x, s", "xx"]  # of which one is a part of another


@drawn(30, most=4)
def test_drawn_arrays_are_cut_and_joined_block_by_block(rng, most):
    """A device has the block whose number is made of its places along the axes that are named."""
    sizes = {name: int(rng.integers(1, 4)) for name in rng.permutation(NAMES)[: most + 1]}
    rank, share = int(rng.integers(1, most + 1)), rng.random()
    entries = [[] for _ in range(rank)]
    for name in rng.permutation(list(sizes)).tolist():
        if rng.random() < share:
            entries[rng.integers(rank)].append(name)
    counts = [[sizes[name] for name in entry] for entry in entries]
    x = np.arange(100_000)[: math.prod(map(math.prod, counts)) * 2**rank]
    x = x.reshape([2 * math.prod(count) for count in counts])
    spec = P(*(tuple(entry) if len(entry) != 1 else entry[0] for entry in entries))
    in_front = [name for name in sizes if name in spec.names]

    def block(place):
        """That of the device at this place, a dict."""
        at = [
            np.ravel_multi_index([place[n] for n in e] or [0], c or [1])
            for e, c in zip(entries, counts)
        ]
        return x[tuple(slice(2 * i, 2 * i + 2) for i in at)]

    def blocks(names):
        """Of the devices along these axes; at other places than the first of an unnamed axis: another."""
        parts = np.empty([*(sizes[name] for name in names), *[2] * rank], x.dtype)
        for at in np.ndindex(*parts.shape[: len(names)]):
            place = dict(zip(names, at))
            parts[at] = block(place) - 7 * sum(i for n, i in place.items() if n not in spec.names)
        return parts

    with shown(mesh=sizes, spec=spec, shape=x.shape):
        got = split(jnp.asarray(x, "int32"), spec, tuple(sizes.items()))
        equal(got, blocks(in_front), f"the parts of the devices, {in_front} in front")
        names = rng.permutation(
            [n for n in sizes if n in spec.names or rng.random() < 0.8]
        ).tolist()
        got = join(jnp.asarray(blocks(names), "int32"), spec, names)
        equal(got, x, f"what is joined of parts with {names} in front")
