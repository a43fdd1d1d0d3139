"""Kernels at work: what they load and store, counted by hand for small ones."""

import json
import re
from collections import Counter

import numpy as np
import pytest
from small_kernels import F32, OUT, A, X, kernel, reversed_in_groups

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.kernel_ir import Barrier, Const, For, Load, Store, Value
from tinyjax.compile.schedules.reorder import tile
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.studio import viz
from tinyjax.studio.viz.accesses import CACHE_LINES, accesses_of, traffic_of
from tinyjax.studio.viz.player_text import frame

ITEM_BYTES = {"x_in": 4, "y_out": 4}


def accesses(*body):
    return accesses_of(kernel(*body), [np.arange(8, dtype=np.float32), np.zeros(8, np.float32)])


def elements(found):
    return [(access.array, list(access.elements), access.is_store) for access in found]


def stencil(x):
    return x[:-2] + x[1:-1] + x[2:]


def matmul(a, b):
    return a @ b


def stages_of(f, *args, **options):
    (stages,) = viz.kernel(f, *args, **options).kernels
    return stages


# ---- accesses ----


def test_an_access_has_its_elements_line_and_loops():
    i = index_var("i1", 0, 2)
    found = accesses(For(i, index(0), index(2), [Load(A, X, i * 3), Store(OUT, i, A)]))
    assert elements(found) == [
        ("x_in", [0], False), ("y_out", [0], True), ("x_in", [3], False), ("y_out", [1], True),
    ]  # fmt: skip
    assert [(a.time, a.line, dict(a.loops)) for a in found[2:]] == [
        (2, 2, {"i1": 1}), (3, 3, {"i1": 1}),
    ]  # fmt: skip


def test_lanes_are_one_access_up_to_the_end_and_by_the_stride():
    wide = Value("w", F32, 4)
    found = accesses(
        Load(wide, X, index(3)),
        Store(OUT, index(0), wide, index(3)),
        Load(Value("v", F32, 4), X, index(1), None, 2),
    )
    assert [list(a.elements) for a in found] == [[3, 4, 5, 6], [0, 1, 2], [1, 3, 5, 7]]


def test_work_items_run_at_once_and_wait_for_each_other_at_a_barrier():
    made = reversed_in_groups(Barrier())
    found = accesses_of(made, [np.arange(8, dtype=np.float32), np.zeros(8, np.float32)])
    first = [a for a in found if a.time == 0]
    assert sorted(a.item for a in first) == list(range(8)) and {a.array for a in first} == {"x_in"}
    assert [a.time for a in found if a.item == 5] == [0, 1, 2, 3]


def test_an_item_that_is_late_at_a_barrier_makes_its_group_wait():
    local = index_var("local_id", 0, 3)
    i = index_var("i1", 0, 3)
    late = For(i, index(0), local, [Load(Value("l", F32), X, i)])
    found = accesses_of(
        reversed_in_groups(late, Barrier()),
        [np.arange(8, dtype=np.float32), np.zeros(8, np.float32)],
    )
    last = {a.item: a.time for a in found}
    assert set(last.values()) == {6}, "item 3 has loaded and stored, and loaded three times before"


# ---- numbers ----


def test_each_element_once_is_loaded_and_stored_and_never_again():
    traffic = stages_of(lambda x: x * 2, jnp.arange(4.0))[0].traffic
    counts = traffic.accesses, traffic.steps, traffic.loads, traffic.stores, traffic.redundant
    assert counts == (8, 8, 4, 4, 0)
    assert traffic.moved == 32 and traffic.fetched == 32, "a line of 16 bytes in, one out"
    assert traffic.reuse is None and not traffic.distances


def test_a_stencil_loads_twice_out_of_three_times_what_it_had():
    traffic = stages_of(stencil, jnp.arange(6.0))[0].traffic
    assert (traffic.loads, traffic.stores, traffic.redundant) == (12, 4, 6)
    # x2 x1 x0 o0 x3 x2 ...: x1 x0 o0 x3 lie between the two times of x2.
    assert traffic.distances == Counter({4: 6}) and traffic.reuse == 4


def test_a_product_of_two_by_two_loads_each_element_twice():
    traffic = stages_of(matmul, jnp.eye(2), jnp.eye(2))[0].traffic
    assert (traffic.loads, traffic.stores, traffic.redundant) == (16, 4, 8)
    assert traffic.moved == 80 and traffic.fetched == 48, "each of the three matrices is one line"
    # a00 b00 a01 b10 o | a00 b01 a01 b11 o | a10 b00 a11 b10 o | a10 b01 a11 b11 o
    assert traffic.distances == Counter({4: 4, 7: 1, 8: 2, 9: 1})


def test_lanes_loaded_together_count_as_elements_and_as_one_access():
    last = stages_of(lambda x: x * 2, jnp.arange(16.0))[-1]
    traffic = last.traffic
    assert (traffic.accesses, traffic.loads, traffic.stores, traffic.moved) == (8, 16, 16, 128)


def test_the_longest_work_item_is_as_many_steps():
    naive, *_, last = stages_of(lambda x: x * 2, jnp.arange(64.0))
    assert last.kernel.items == 4 and naive.traffic.steps == 128
    assert last.traffic.steps == 8, "four vectors of four in, and out"


def test_the_line_touched_longest_ago_leaves_the_cache():
    item_bytes = {"x_in": 16}  # an element a line
    order = [*range(CACHE_LINES), 0, CACHE_LINES, 0, 1]

    class Touch:
        time, item, group, array, is_load, is_store = 0, 0, 0, "x_in", True, False

        def __init__(self, position):
            self.elements = range(position, position + 1)

    traffic = traffic_of(list(map(Touch, order)), item_bytes)
    assert traffic.fetched == 16 * (CACHE_LINES + 2), "0 was touched again, so 1 left"
    assert traffic.redundant == 3


def test_local_memory_counts_apart():
    found = accesses_of(
        reversed_in_groups(Barrier()), [np.arange(8, dtype=np.float32), np.zeros(8, np.float32)]
    )
    traffic = traffic_of(found, ITEM_BYTES)
    assert (traffic.loads, traffic.stores, traffic.local) == (8, 8, 16)


def test_a_tile_is_fetched_less_often_and_sums_in_registers_load_less():
    a, b = jnp.ones((8, 12)), jnp.ones((12, 16))
    schedule = [
        *tile(("i1", "i2"), 4, 4, "a tile"),
        Vectorize("i2_inner", 4),
        UnrollAndJam("i1_inner", 4),
    ]
    naive, *_, tiled, wide, jammed = [s.traffic for s in stages_of(matmul, a, b, schedule=schedule)]
    assert tiled.loads == naive.loads and tiled.fetched < naive.fetched / 2
    assert wide.loads == 1920 and jammed.loads == 768, "a: 12 x 8 x 4 times; b: 12 x 16 x 2 times"


# ---- what is played ----


def test_each_directive_makes_a_stage_with_its_reason():
    stages = stages_of(lambda x: x * 2, jnp.arange(64.0))
    assert stages[0].title == "naive loop nest"
    assert [stage.title.partition("(")[0] for stage in stages[1:]] == [
        "Vectorize",
        "Parallelize",
    ]
    assert stages[1].why == "neighbours in memory"


def test_a_gather_loads_where_its_values_say():
    stages = stages_of(lambda x, i: x[i], jnp.arange(20.0), jnp.array([3, 1, 19]))
    loaded = [a.elements.start for a in stages[0].accesses if a.array == "a_in" and a.is_load]
    assert loaded == [3, 1, 19]


def test_on_a_gpu_groups_sum_in_local_memory():
    last = stages_of(jnp.sum, jnp.arange(256.0), machine="gpu")[-1]
    assert last.kernel.local_size == 8 and last.traffic.local > 0
    assert {a.item % 8 for a in last.accesses if a.time == 0} == set(range(8))


def test_random_keys_are_words():
    assert viz.kernel(lambda key: jax.random.bits(key, (3,)), jax.random.key(0)).kernels


@pytest.mark.parametrize(
    "f, arg, options, message",
    [
        (lambda x: x * 2, jnp.ones(3000), {}, "call jax.viz.kernel with smaller arrays"),
        (jnp.sort, jnp.ones(3), {}, "has no kernel: all of it runs on the host"),
        (jnp.sin, jnp.ones(3), {"machine": "abacus"}, "'cpu', 'gpu' or a Target, not 'abacus'"),
        (lambda x: jnp.sort(x * 2) * 3, jnp.ones(3), {"schedule": [Vectorize("i1", 4)]},
         "a schedule is for one kernel, and this function has 2"),
        (jnp.sin, jnp.ones(3), {"schedule": [Vectorize("i7", 4)]}, "it has no axis 'i7'"),
    ],
)  # fmt: skip
def test_what_can_not_be_played_says_why(f, arg, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        viz.kernel(f, arg, **options)


def test_what_is_no_function_or_no_directive_is_named():
    with pytest.raises(TypeError, match="such as Vectorize.*, and 'a' is none"):
        viz.kernel(jnp.sin, jnp.ones(3), schedule=["a"])
    for chart in (viz.kernel, viz.memory):
        with pytest.raises(TypeError, match=f"got 3 as the function to viz.{chart.__name__}"):
            chart(3, 1)


# ---- text and page ----


def test_in_a_terminal_it_is_a_table_and_frames():
    played = viz.kernel(matmul, jnp.eye(2), jnp.eye(2))
    text = str(played)
    assert re.search(r"naive loop nest +20 +20 +16 +4 +8 +80 +48 +0 +", text)
    assert frame(played.kernels[0][0], 6).splitlines() == [
        "step 7 of 20",
        "  b:f32 = b_in[i3 * 2 + i2]    # i1=0, i2=1, i3=0",
        "a_in   b_in   c_out",
        "|··|   |·0|   |· |",
        "|  |   |· |   |  |",
    ]


def test_a_page_has_every_access_and_names_nothing_to_load(tmp_path):
    played = viz.kernel(matmul, jnp.eye(2), jnp.eye(2))
    page = played.save(tmp_path / "page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'(?s)id="data">(.*?)</script>', page)[1])
    stage = data["kernels"][0]["stages"][0]
    assert len(stage["accesses"]) == 20 and stage["traffic"][:5] == [20, 20, 16, 4, 8]
    assert stage["accesses"][6] == [6, 0, 6, 1, 1, 1, 1, 1, 0, 1, 0]
    assert [grid["type"] for grid in stage["grids"]] == ["f32[2,2]"] * 3
    assert not re.search(r"https?://|src=|@import|url\(", page)
    assert played._repr_html_().startswith('<iframe srcdoc="')


def test_the_page_of_explain_plays_small_kernels_and_says_why_not_large_ones():
    def kernels(page):
        return json.loads(re.search(r'(?s)id="data">(.*?)</script>', page.html)[1])["kernels"]

    assert kernels(viz.explain(stencil, jnp.arange(6.0)))[0]["stages"]
    assert "smaller arrays" in kernels(viz.explain(stencil, jnp.arange(6000.0)))
    assert "no kernel" in kernels(viz.explain(jnp.sort, jnp.arange(6.0)))


def test_constants_need_no_memory():
    assert accesses(Store(OUT, index(2), Const(1.0, F32)))[0].array == "y_out"
