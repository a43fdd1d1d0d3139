"""The stages of jit, one at a time."""

import numpy as np
import pytest
from cpu_devices import cpu_devices

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.cost import group_cost
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.plan import make_plan
from tinyjax.compile.target import CPU
from tinyjax.core.jaxpr import ClosedJaxpr
from tinyjax.runtime.devices import default_device, devices

needs_opencl = pytest.mark.usefixtures("opencl")  # no device is looked for while this is imported
VECTOR = jax.ShapeDtypeStruct((1000,), np.float32)
MATRIX = jax.ShapeDtypeStruct((64, 32), np.float32)


@pytest.fixture
def opencl():
    if devices("cpu")[0].cl_device is None:
        pytest.skip("there is no OpenCL device")


def f(x):
    return jnp.sin(x) * x


# ---- trace ----


def test_trace_gives_the_jaxpr():
    traced = jax.jit(f).trace(1.0)
    assert "sin a" in str(traced.jaxpr) and traced.fun_name == "f"


def test_all_stages_know_the_arguments_and_results():
    def g(x, *, y):
        return {"sum": x + y[0]}

    traced = jax.jit(g, donate_argnums=0).trace(VECTOR, y=(VECTOR,))
    lowered = traced.lower()
    for stage in (traced, lowered, lowered.compile()):
        assert stage.in_tree == jax.tree.structure(((1,), {"y": (2,)}))
        assert stage.out_info == {"sum": VECTOR}
        assert stage.out_tree == jax.tree.structure({"sum": 1})
        (x,), kwargs = stage.args_info
        assert (x.shape, x.dtype, x.donated) == ((1000,), np.float32, True)
        assert not kwargs["y"][0].donated
        assert stage.donate_argnums == (0,)
        assert stage.in_avals[0][0].str_short() == "float32[1000]"
    assert traced.out_avals["sum"].str_short() == "float32[1000]"


# ---- lower ----


@needs_opencl
def test_lower_shows_opencl_c_and_the_schedule_before_anything_is_built():
    text = jax.jit(f).lower(jax.ShapeDtypeStruct((8,), np.float32)).as_text()
    assert "__kernel void" in text and "sin_8(" in text
    assert "schedule" in text and "launch" in text


@needs_opencl
def test_each_dialect_is_a_stage_of_the_compiler():
    lowered = jax.jit(lambda x: jax.jit(f)(x)).lower(VECTOR)
    assert "jit[" in lowered.as_text("jaxpr") and "jit[" not in lowered.as_text("simplified")
    assert isinstance(lowered.compiler_ir("simplified"), ClosedJaxpr)
    assert lowered.as_text("groups").startswith("0: kernel")
    assert lowered.as_text("kernel").startswith("kernel k0_sin_mul")
    assert all(isinstance(kernel, Kernel) for kernel in lowered.compiler_ir())
    compiled = lowered.compile()
    assert compiled.compiler_ir("groups") is lowered.compiler_ir("groups")
    assert compiled.as_text("schedule") == lowered.as_text("schedule")


def test_an_unknown_dialect_is_an_error():
    for ask in (jax.jit(f).lower(1.0).as_text, jax.jit(f).lower(1.0).compiler_ir):
        with pytest.raises(ValueError, match="unknown dialect: 'stablehlo'"):
            ask("stablehlo")


def test_an_unknown_stage_is_answered_in_short_by_the_stages_and_the_one_that_was_meant():
    def long(x):
        for _ in range(30):
            x = jnp.cumsum(jnp.sin(x))
        return x

    with pytest.raises(ValueError, match="'kernel', .*Did you mean 'rewrite_rules'") as raised:
        jax.jit(long).lower(VECTOR).as_text("rewrite_rule")
    assert len(str(raised.value)) < 500


# ---- what it costs ----

# What jax.jit(f).lower(...).compile().cost_analysis() says, by JAX 0.12 on a CPU: flops, transcendentals,
# and bytes accessed where its program is fused as ours.
COSTS = {
    "sum of two": (lambda x, y: x + y, (VECTOR, VECTOR), 1000, 0, 12000),
    "product and sum": (lambda x, y, z: x * y + z, (VECTOR,) * 3, 2000, 0, 16000),
    "sine": (jnp.sin, (VECTOR,), 0, 1000, 8000),
    "tanh of exp": (lambda x: jnp.tanh(jnp.exp(x)), (VECTOR,), 0, 2000, 8000),
    "quotient": (lambda x: 1 / x, (VECTOR,), 1000, 0, 8000),
    "square root": (jnp.sqrt, (VECTOR,), 0, 1000, 8000),
    "where": (lambda x: jnp.where(x > 0, x, -x), (VECTOR,), 3000, 0, 8000),
    "conversion": (lambda x: x.astype(jnp.int32), (VECTOR,), 1000, 0, 8000),
    "power": (lambda x: x**2.5, (VECTOR,), 0, 1000, 8000),
    "cube": (lambda x: x**3, (VECTOR,), 2000, 0, 8000),
    "sigmoid": (jax.nn.sigmoid, (VECTOR,), 3000, 1000, 8000),
    "integers": (lambda x: x + x, (jax.ShapeDtypeStruct((1000,), np.int32),), 1000, 0, 8000),
    "transposed": (lambda x: x.T + 1, (MATRIX,), 2048, 0, 16384),
    "broadcast": (lambda x: jnp.broadcast_to(x, (10, 1000)), (VECTOR,), 0, 0, 44000),
    "sums of rows": (lambda x: x.sum(1), (MATRIX,), 1984, 0, None),
    # 64 fewer than JAX has: the greatest of a number and -inf is the number.
    "softmax": (lambda x: jax.nn.softmax(x, -1), (MATRIX,), 8128 - 64, 2048, None),
    "product": (lambda x: x @ x.T, (MATRIX,), 262144, 0, None),
    "sort": (jnp.sort, (VECTOR,), 10000, 0, 8000),
}


@needs_opencl
@pytest.mark.parametrize("name", COSTS)
def test_costs_are_those_that_jax_counts(name):
    fun, args, flops, functions, accessed = COSTS[name]
    cost = jax.jit(fun).lower(*args).compile().cost_analysis()
    assert (cost.get("flops", 0), cost.get("transcendentals", 0)) == (flops, functions)
    assert accessed is None or cost["bytes accessed"] == accessed


def test_before_fusion_each_equation_reads_and_writes_memory():
    cost = jax.jit(lambda x, y, z: x * y + z).lower(VECTOR, VECTOR, VECTOR).cost_analysis()
    assert cost == {"flops": 2000, "bytes accessed": 24000}


def costs_on_a_cpu(f, *args):
    """The cost of each step, without a device."""
    plan = make_plan(simplify(jax.make_jaxpr(f)(*args)), CPU)
    return [group_cost(plan, number) for number in range(len(plan.groups))]


def test_a_kernel_reads_and_writes_memory_once_whatever_it_computes():
    costs = costs_on_a_cpu(lambda x, y, z: jnp.sin(x * y) + z, VECTOR, VECTOR, VECTOR)
    counts = {"flops": 2000, "transcendentals": 1000, "bytes accessed": 16000}
    assert [cost.as_dict() for cost in costs] == [counts]


@pytest.mark.parametrize("dtype, size", [("float32", 4), ("float16", 2), ("int8", 1)])
def test_all_equations_of_a_kernel_count_and_memory_by_its_dtype(dtype, size):
    def f(x, y):
        for _ in range(20):
            x = x * y
        return x

    x = jax.ShapeDtypeStruct((1000,), dtype)
    (cost,) = costs_on_a_cpu(f, x, x)
    assert cost.as_dict() == {"flops": 20000, "bytes accessed": 3 * size * 1000}
    (cost,) = costs_on_a_cpu(lambda a, b, c, d: (a * b + c * d, a * d), x, x, x, x)
    assert cost.as_dict() == {"flops": 4000, "bytes accessed": 6 * size * 1000}
    (cost,) = costs_on_a_cpu(lambda x: jnp.sin(jnp.sin(jnp.sin(x))), VECTOR)
    assert cost.as_dict()["transcendentals"] == 3000


def test_a_host_step_has_the_cost_of_its_equation():
    _, of_sort = costs_on_a_cpu(lambda x: jnp.sort(jnp.sin(x)), VECTOR)
    assert of_sort.as_dict() == {"flops": 10000, "bytes accessed": 8000}


def test_a_branch_on_the_host_costs_what_the_dearer_one_does():
    def on_the_host(x):
        return lax.sort((jnp.sin(x), x), num_keys=2)[0]

    def g(x):
        return lax.cond(x[0] > 0, on_the_host, lambda x: x + 1, x)

    *_, branch = costs_on_a_cpu(g, VECTOR)
    assert (branch.flops, branch.transcendentals) == (10000, 1000)
    assert branch.bytes == 24000, (
        "of its two steps, one reads and writes 4000 bytes, and one twice as many"
    )


@pytest.mark.parametrize("dearest", range(3))
def test_of_three_branches_the_dearest_counts_and_each_step_for_itself(dearest):
    def on_the_host(x, keys):
        return lax.sort((jnp.sin(x), x), num_keys=keys)[0]

    branches = [lambda x: x + 1, lambda x: x * 2]
    branches.insert(dearest, lambda x: on_the_host(x, 2))

    def g(i, x):
        return lax.switch(i, branches, x), lax.cond(i > 0, lambda x: jnp.sort(x), jnp.cos, x)

    costs = costs_on_a_cpu(g, jax.ShapeDtypeStruct((), np.int32), VECTOR)
    assert [c.flops for c in costs if c.flops > 100] == [10000, 10000]
    assert max(c.transcendentals for c in costs) == 1000
    assert max(c.bytes for c in costs) == 24000


def test_a_loop_counts_one_round_and_a_branch_that_which_costs_most():
    def g(x):
        x = lax.fori_loop(0, 10, lambda i, c: c * 2 + 1, x)
        return lax.cond(x[0] > 0, lambda x: x + 1, jnp.sin, x)

    cost = jax.jit(g).lower(VECTOR).cost_analysis()
    assert cost["transcendentals"] == 1000 and 3000 <= cost["flops"] < 3010


@needs_opencl
def test_the_table_of_costs_has_a_line_for_each_step():
    text = jax.jit(lambda x: jnp.sort(jnp.sin(x))).lower(VECTOR).as_text("cost")
    head, kernel, host, total = text.splitlines()
    assert kernel.endswith("0: k0_sin") and host.endswith("1: host sort") and total.endswith("all")


@needs_opencl
def test_each_step_has_its_cost():
    compiled = jax.jit(lambda x: jnp.sort(jnp.sin(x))).lower(VECTOR).compile()
    kernel, host = compiled.compiler_ir("cost")
    assert (kernel.flops, kernel.transcendentals, kernel.bytes) == (0, 1000, 8000)
    assert kernel.bytes + host.bytes == compiled.cost_analysis()["bytes accessed"]


@needs_opencl
def test_memory_is_known_before_the_run():
    def g(x):
        return jnp.sort(x * 2) + 1

    memory = jax.jit(g).lower(VECTOR).compile().memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (4000, 4000)
    assert memory.temp_size_in_bytes == 4000  # what is sorted; its memory, or its result's, is g's
    assert memory.peak_memory_in_bytes == 12000
    donated = jax.jit(lambda x: x + 1, donate_argnums=0).lower(VECTOR).compile().memory_analysis()
    assert (donated.alias_size_in_bytes, donated.peak_memory_in_bytes) == (4000, 4000)


# ---- compile ----


def test_compile_gives_a_callable():
    compiled = jax.jit(f).lower(1.0).compile()
    np.testing.assert_allclose(compiled(2.0), np.sin(2.0) * 2, rtol=1e-6)


def test_a_compiled_function_refuses_other_shapes_and_dtypes():
    compiled = jax.jit(lambda x, d: x + d["y"]).lower(VECTOR, {"y": VECTOR}).compile()
    x = np.ones(1000, np.float32)
    with pytest.raises(
        TypeError, match=r"args\[0\] compiled with float32\[1000\] and called with flo"
    ):
        compiled(x[:3], {"y": x})
    with pytest.raises(TypeError, match=r"args\[1\]\['y'\] compiled .* called with int32\[1000\]"):
        compiled(x, {"y": x.astype(np.int32)})


def test_a_compiled_function_refuses_other_trees():
    compiled = jax.jit(lambda x, d: x + d["y"]).lower(1.0, {"y": 2.0}).compile()
    with pytest.raises(TypeError, match=r"input pytree does not match .* at args\[1\]"):
        compiled(1.0, {"z": 2.0})
    with pytest.raises(TypeError, match="at args, .* at kwargs"):
        compiled(1.0, d={"y": 2.0})


@pytest.mark.parametrize("transform", [jax.jit, jax.grad, jax.vmap])
def test_a_compiled_function_is_not_transformed(transform):
    compiled = jax.jit(f).lower(1.0).compile()
    with pytest.raises(TypeError, match="transform the jitted function itself"):
        transform(compiled)(jnp.ones(2) if transform is jax.vmap else 1.0)


def test_a_compiled_function_refuses_what_was_donated():
    compiled = jax.jit(lambda x: x + 1, donate_argnums=0).lower(VECTOR).compile()
    x = jnp.ones(1000)
    compiled(x)
    with pytest.raises(
        RuntimeError, match=r"shape=float32\[1000\]: args\[0\] was deleted or donated"
    ):
        compiled(x)


def test_the_runtime_executable_takes_and_gives_flat_lists():
    executable = jax.jit(f).lower(1.0).compile().runtime_executable()
    (y,) = executable([jnp.asarray(2.0)])
    np.testing.assert_allclose(y, np.sin(2.0) * 2, rtol=1e-6)


def test_a_compiled_function_says_where_its_arguments_and_results_are():
    here = jax.sharding.SingleDeviceSharding(default_device())
    compiled = jax.jit(lambda x, *, y: [x + y]).lower(VECTOR, y=VECTOR).compile()
    assert compiled.input_shardings == ((here,), {"y": here})
    assert compiled.output_shardings == [here]


def test_a_compiled_function_has_its_static_arguments_inside():
    compiled = jax.jit(lambda x, n: x * n, static_argnums=1).lower(1.0, 3).compile()
    assert compiled(2.0) == 6.0
    with pytest.raises(TypeError, match="static arguments are part of the program"):
        compiled(2.0, 3)


def test_what_has_stages_is_a_wrapped_function():
    assert isinstance(jax.jit(f), jax.stages.Wrapped) and not isinstance(f, jax.stages.Wrapped)


# ---- shardings ----


@pytest.fixture(scope="module")
def split():
    return jax.sharding.NamedSharding(
        jax.sharding.Mesh(cpu_devices(2), "x"), jax.sharding.PartitionSpec("x")
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda split: jax.jit(f, out_shardings=split),
        lambda split: jax.jit(lambda x: jax.lax.with_sharding_constraint(f(x), split)),
    ],
)
def test_a_compiled_program_puts_its_results_where_it_was_asked_to(make, split):
    compiled = make(split).lower(jnp.ones(4)).compile()
    assert compiled.output_shardings == compiled(jnp.ones(4)).sharding == split


def test_an_argument_that_was_put_nowhere_is_where_the_traced_one_was(split):
    compiled = jax.jit(f).lower(jax.device_put(jnp.ones(4), split)).compile()
    assert compiled(np.ones(4, np.float32)).sharding == split


def test_an_argument_that_is_split_in_another_way_than_the_traced_one_is_refused(split):
    x = jax.device_put(jnp.ones(4), split)
    whole = jax.device_put(x, split.replicated)
    with pytest.raises(ValueError, match=r"args\[0\]:\n  Passed: .*P\(\).*\n  Required: .*P\('x'"):
        jax.jit(f).lower(x).compile()(whole)
    with pytest.raises(ValueError, match="Required: CpuDevice"):
        jax.jit(f).lower(jnp.ones(4)).compile()(x)
    unread = jax.jit(lambda x, y: x + 1).lower(x, x).compile()
    assert unread.input_shardings == ((split, None), {})
    assert unread(x, whole).sharding == split
