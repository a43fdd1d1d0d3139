"""Programs that say `import jax`, with tinyjax instead; and names that are not there yet."""

import importlib
import json
import os
import subprocess
import sys

import pytest

import tinyjax
from tinyjax.core.missing_names import NAMES_FILE, getattr_of

PROGRAM = """
import sys

import jax
import jax.numpy as jnp
from jax import grad, lax
from jax.numpy.linalg import norm

print(jax.__name__, sys.argv[1:], grad(lambda x: jnp.sin(x) * x)(3.0))
sys.exit(3)
"""


def python(*arguments, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | environment,
        timeout=120,
    )


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


# ---- tinyjax run ----


def test_a_jax_program_runs_on_tinyjax(program):
    done = python("-m", "tinyjax", "run", program, "--steps", "10")
    assert done.stdout == "tinyjax ['--steps', '10'] -2.8288574\n", done.stderr


@pytest.mark.slow
def test_the_exit_status_is_the_programs(program):
    assert python("-m", "tinyjax", "run", program).returncode == 3


@pytest.mark.slow
def test_a_program_that_compares_versions_meets_that_of_jax(tmp_path):
    path = tmp_path / "versions.py"
    path.write_text("import jax; print(jax.__version__, jax.__version_info__ >= (0, 10))")
    done = python("-m", "tinyjax", "run", path)
    assert done.stdout == f"{json.loads(NAMES_FILE.read_text())['version']} True\n", done.stderr


@pytest.mark.slow
def test_private_modules_that_libraries_read_say_what_they_lack():
    code = """
import os
import tinyjax; tinyjax.install_as_jax()
import jax
from jax._src import compiler, xla_bridge
print(xla_bridge._backends, xla_bridge.get_backend().platform, *jax._src.xla_bridge._backends)
try: hasattr(compiler, "backend_compile")
except NotImplementedError as error: print(error)
"""
    done = python("-c", code)
    assert done.stdout.startswith("{} cpu cpu\ntinyjax compiles to OpenCL"), done.stderr


@pytest.mark.slow
def test_a_module_runs_too(program):
    done = python("-m", "tinyjax", "run", "-m", "program", cwd=program.parent)
    assert done.stdout.startswith("tinyjax []"), done.stderr


@pytest.mark.slow
def test_a_program_imports_what_is_beside_it(tmp_path):
    (tmp_path / "beside.py").write_text(
        "import jax.numpy as jnp\ndef f(x): return x + one\none = 1.0"
    )
    (tmp_path / "program.py").write_text("from beside import f\nprint(f(2.0))")
    assert python("-m", "tinyjax", "run", tmp_path / "program.py").stdout == "3.0\n"
    explain = ["explain", f"{tmp_path / 'program.py'}:f", "--args", "2.0", "--text"]
    assert "add" in python("-m", "tinyjax", *explain).stdout


@pytest.mark.slow
def test_a_program_that_is_not_there_is_named(tmp_path):
    done = python("-m", "tinyjax", "run", "nothing.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "tinyjax run: there is no file 'nothing.py'\n")


def test_jax_itself_stays_outside_where_it_is_installed(program, tmp_path):
    """A folder `jax` that comes first on the path stands for it here."""
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("raise AssertionError('this is JAX')")
    done = python("-m", "tinyjax", "run", program, cwd=tmp_path)
    assert done.stdout.startswith("tinyjax []"), done.stderr


@pytest.mark.slow
def test_the_other_commands_take_jax_programs_too(tmp_path):
    (tmp_path / "model.py").write_text("import jax.numpy as jnp\ndef f(x): return jnp.sin(x) * x\n")
    explain = ["-m", "tinyjax", "explain", "model.py:f", "--args", "3.0", "--text"]
    done = python(*explain, cwd=tmp_path)
    assert "b:f32[] = sin a" in done.stdout, done.stderr


PRIMITIVES = """
import jax, jax.numpy as jnp, numpy as np
from functools import partial
from jax import core
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

add_p = Primitive("multiply_add")
def multiply_add(x, y, z): return add_p.bind(x, y, z)

@add_p.def_impl
def impl(x, y, z): return np.asarray(x) * y + z

@add_p.def_abstract_eval
def abstract_eval(x, y, z): return core.ShapedArray(x.shape, x.dtype)

def jvp(primals, tangents):
    x, y, z = primals
    tx, ty, tz = map(ad.instantiate_zeros, tangents)
    return multiply_add(x, y, z), multiply_add(tx, y, multiply_add(x, ty, tz))

def transpose(ct, x, y, z):
    if ad.is_undefined_primal(x): return multiply_add(ct, y, jnp.zeros_like(ct)), None, ct
    return None, multiply_add(x, ct, jnp.zeros_like(ct)), ct

ad.primitive_jvps[add_p] = jvp
ad.primitive_transposes[add_p] = transpose
batching.primitive_batchers[add_p] = lambda args, dims: (multiply_add(*args), dims[0])
mlir.register_lowering(add_p, mlir.lower_fun(lambda x, y, z: x * y + z, multiple_results=False))

def f(a, b): return multiply_add(a, a, b)
print(f(2., 10.), jax.jit(f)(2., 10.), jax.grad(f)(2., 10.), jax.jit(jax.grad(f))(2., 10.))
print(jax.jvp(f, (2., 10.), (1., 1.))[1], jax.vmap(f)(jnp.array([2., 3.]), jnp.array([10., 20.])))
print(jax.make_jaxpr(f)(2., 10.))
for name in ("jax.extend.mlir.dialects", "jax._src.lib.mlir", "jax.interpreters.pxla"):
    try: __import__(name)
    except ImportError as error: print("mlir.register_lowering(p, mlir.lower_fun(f))" in str(error))
"""


@pytest.mark.slow
def test_a_primitive_written_as_on_jax_s_page_runs(tmp_path):
    path = tmp_path / "primitives.py"
    path.write_text(PRIMITIVES)
    done = python("-m", "tinyjax", "run", path)
    assert done.stdout.splitlines() == [
        *["14.0 14.0 4.0 4.0", "5.0 [14. 29.]"],
        *["{ lambda ; a:f32[] b:f32[]. let c:f32[] = multiply_add a a b in (c,) }"],
        *["True"] * 3,
    ], done.stderr


# ---- as a function ----


def test_each_module_of_jax_is_that_of_tinyjax():
    code = """
import tinyjax; tinyjax.install_as_jax(); tinyjax.install_as_jax()
import jax, jax.numpy, jax.example_libraries.optimizers as o
import tinyjax.example_libraries.optimizers as ours
print(jax is tinyjax, jax.numpy is tinyjax.numpy, o is ours, ours.__spec__.name, jax.__spec__.name)
"""
    assert python("-c", code).stdout.split() == ["True"] * 3 + [
        "tinyjax.example_libraries.optimizers",
        "tinyjax",
    ]


def test_after_jax_has_been_imported_it_is_too_late(monkeypatch):
    install_as_jax = tinyjax.install_as_jax  # imported on first use
    monkeypatch.setitem(sys.modules, "jax", object())
    monkeypatch.setattr(sys, "meta_path", [])
    with pytest.raises(RuntimeError, match=r"before any `import jax`"):
        install_as_jax()


# ---- names that are not there yet ----


@pytest.fixture
def jax_has_more(monkeypatch):
    """As if JAX had a function jax.numpy.later, and a module jax.numpy.soon."""
    names = {"jax.numpy": ["later", "soon"], "jax.numpy.soon": []}
    monkeypatch.setattr("tinyjax.core.missing_names.jax_names", lambda: names)


def test_a_name_that_is_not_there_yet_says_so(jax_has_more):
    with pytest.raises(
        AttributeError, match="jax.numpy.later is a name of JAX that tinyjax does not"
    ):
        tinyjax.numpy.later  # noqa: B018


def test_importing_it_says_so_too(jax_has_more):
    with pytest.raises(ImportError, match="jax.numpy.later is a name of JAX"):
        from tinyjax.numpy import later  # noqa: F401
    with pytest.raises(ImportError, match="jax.numpy.soon is a name of JAX"):
        importlib.import_module("tinyjax.numpy.soon")


def test_a_name_that_jax_has_not_either_is_just_not_there(jax_has_more):
    with pytest.raises(AttributeError, match="module 'tinyjax.numpy' has no attribute 'laetr'"):
        tinyjax.numpy.laetr  # noqa: B018
    assert not hasattr(tinyjax.numpy, "laetr")


def test_a_module_that_jax_has_not_either_is_just_not_there():
    code = "import tinyjax; tinyjax.install_as_jax(); import jax.nonsense"
    assert "stands in for JAX here, has none of this name" in python("-c", code).stderr


def test_the_recorded_names_are_read_when_one_is_missing():
    assert "numpy" in json.loads(NAMES_FILE.read_text())["names"]["jax"]
    code = "import tinyjax.core.missing_names as m; print(m.jax_names.cache_info().currsize)"
    assert python("-c", code).stdout == "0\n"
    with pytest.raises(AttributeError):
        getattr_of("tinyjax.numpy")("__wrapped__")


@pytest.mark.slow
def test_what_few_programs_need_is_imported_when_it_is_asked_for():
    code = "import sys, tinyjax as jax; print('graphviz' in sys.modules, jax.viz.dot.__name__)"
    assert python("-c", code).stdout == "False dot\n"


# ---- names that are imported when they are first asked for ----


def test_a_package_imports_its_lazy_names_when_asked_for_them(monkeypatch):
    monkeypatch.setattr(
        tinyjax.nn, "_LAZY_NAMES", {"initializers": ("orthonormal",)}, raising=False
    )
    monkeypatch.setattr(tinyjax.nn.initializers, "orthonormal", 3, raising=False)
    assert "orthonormal" in dir(tinyjax.nn)
    assert tinyjax.nn.orthonormal == 3
    del tinyjax.nn.orthonormal


def test_modules_that_few_programs_need_are_imported_when_asked_for():
    code = "import sys, tinyjax; print('tinyjax.studio.viz' in sys.modules, tinyjax.viz.__name__)"
    assert python("-c", code).stdout == "False tinyjax.studio.viz\n"
    code = "import tinyjax; print(tinyjax.example_libraries.optimizers.adam.__name__)"
    assert python("-c", code).stdout == "adam\n"


def test_import_tinyjax_leaves_what_few_programs_need_for_later():
    later = "scipy pyopencl graphviz pytest tinyjax.runtime.executable tinyjax.profiler tinyjax.studio.viz"
    code = f"import sys, tinyjax; print(sorted(set('{later}'.split()) & set(sys.modules)))"
    assert python("-c", code).stdout == "[]\n"


@pytest.mark.slow
def test_a_star_brings_lazy_names_too(tmp_path):
    path = tmp_path / "star.py"
    path.write_text("from jax.scipy.special import *; print(ndtr(0.0))")
    assert python("-m", "tinyjax", "run", path).stdout == "0.5\n"
