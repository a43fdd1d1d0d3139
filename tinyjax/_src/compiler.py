"""Where chex.restrict_backends puts its check into JAX's compiler. tinyjax's is in tinyjax.opencl."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(
        f"tinyjax compiles to OpenCL and has no jax._src.compiler.{name}: a program can't choose "
        "which devices to compile for. The environment variable JAX_PLATFORMS says which are used"
    )
