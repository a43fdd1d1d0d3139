"""A feature is a folder that can be deleted: what remains is imported, passes its tests, and says where it is
needed which folder is missing."""

import pytest
from copied_package import copy_without, run_in, run_tests_in

FEATURES = ("many_devices", "refs", "wasm", "sparse", "pallas", "compat", "studio")
ALL = (*FEATURES, "fast")
# Those that could notice, in half a minute.
NOTICING = [
    "core/test_avals.py",
    "core/test_bind.py",
    "core/test_jaxpr.py",
    "core/test_tracing.py",
    "transform/jit/test_jit.py",
    "transform/jit/test_stages.py",
    "transform/remat",
    "transform/test_batching.py",
    "transform/test_jvp.py",
    "transform/test_partial_eval.py",
    "transform/test_vjp.py",
    "lax/control_flow/test_scan.py",
    "lax/control_flow/test_cond.py",
    "lax/test_dot_product.py",
    "lax/test_transfer.py",
    "numpy/test_slices.py",
    "runtime/test_step_program.py",
]
# Those that reach most hooks are for the features that are left when one is deleted.
OF_HOOKS = [
    "core/test_bind.py",
    "core/test_jaxpr.py",
    "transform/jit/test_jit.py",
    "transform/jit/test_stages.py",
    "transform/remat",
    "transform/test_batching.py",
    "lax/control_flow/test_cond.py",
    "lax/test_transfer.py",
]


@pytest.mark.slow
@pytest.mark.parametrize("deleted", [*((name,) for name in FEATURES), ALL], ids=" ".join)
def test_features_can_be_deleted(tmp_path, deleted):
    copy_without(tmp_path, *deleted)
    run_in(tmp_path, "-c", "import tinyjax, tinyjax.experimental")
    run_tests_in(tmp_path, NOTICING if deleted == ALL else OF_HOOKS)


IN_MANY_DEVICES = "is in the folder tinyjax/many_devices, which is not there"
IN_COMPAT = IN_MANY_DEVICES.replace("many_devices", "compat")
IN_STUDIO = IN_MANY_DEVICES.replace("many_devices", "studio")


@pytest.mark.slow
def test_a_missing_feature_is_named(tmp_path):
    copy_without(tmp_path, *ALL)
    (tmp_path / "asked.py").write_text(
        "import tinyjax as jax\n"
        "f = lambda x: x + 1\n"
        "for ask in (\n"
        "    lambda: jax.jit(f).lower(1.0).as_text('webassembly'),\n"
        "    lambda: jax.jit(f, in_shardings=1),\n"
        "    lambda: jax.sharding.Mesh,\n"
        "    lambda: exec('from tinyjax.sharding import Mesh'),\n"
        "    lambda: exec('from tinyjax import make_mesh'),\n"
        "    lambda: jax.new_ref,\n"
        "    lambda: jax.ref,\n"
        "    lambda: exec('from tinyjax.experimental.pallas import ds'),\n"
        "    lambda: jax.numpy.ones(3).sharding,\n"
        "    lambda: jax.named_scope,\n"
        "    lambda: jax.interpreters.mlir,\n"
        "    lambda: jax.numpy.trapz,\n"
        "    lambda: exec('from tinyjax import install_as_jax'),\n"
        "    lambda: jax.STEPS,\n"
        "    lambda: jax.viz,\n"
        "    lambda: jax.profiler,\n"
        "    lambda: jax.debug.breakpoint,\n"
        "):\n"
        "    try: ask()\n"
        "    except (AttributeError, ImportError) as error: print(error)\n"
    )
    assert run_in(tmp_path, "asked.py").splitlines() == [
        "what this needs is in the folder tinyjax/wasm, which is not there",
        f"what this needs {IN_MANY_DEVICES}",
        f"jax.sharding {IN_MANY_DEVICES}",
        f"tinyjax.sharding {IN_MANY_DEVICES}",
        f"jax.make_mesh {IN_MANY_DEVICES}",
        "jax.new_ref is in the folder tinyjax/refs, which is not there",
        "jax.ref is in the folder tinyjax/refs, which is not there",
        "tinyjax.experimental.pallas is in the folder tinyjax/pallas, which is not there",
        f"ArrayImpl.sharding {IN_MANY_DEVICES}",
        f"jax.named_scope {IN_COMPAT}",
        f"jax.interpreters.mlir {IN_COMPAT}",
        "module 'tinyjax.numpy' has no attribute 'trapz'",
        f"jax.install_as_jax {IN_COMPAT}",
        f"jax.STEPS {IN_STUDIO}",
        f"jax.viz {IN_STUDIO}",
        f"jax.profiler {IN_STUDIO}",
        f"jax.debug.breakpoint {IN_STUDIO}",
    ]
