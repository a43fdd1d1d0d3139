"""The names that a recorded call may use: the namespaces, makers of arrays, and a few inputs."""

from typing import Any

import numpy as np

DTYPES = {
    "b8": "bool_",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "f16": "float16",
    "f32": "float32",
    "c64": "complex64",
}


def names(jax, jnp, lax) -> dict[str, Any]:
    """`f32([1, 2])` makes an Array of float32, `bf16(...)` one of bfloat16, and so on."""

    def maker(dtype):
        return lambda data: jnp.array(np.array(data, dtype))

    found = {"jax": jax, "jnp": jnp, "lax": lax, "np": np, "nan": np.nan, "inf": np.inf}
    found |= {short: maker(dtype) for short, dtype in DTYPES.items()}
    found["bf16"] = lambda data: jnp.array(np.array(data, np.float32)).astype(jnp.bfloat16)
    found["weak"] = lambda x: jnp.asarray(x)  # of a Python scalar
    f32, f16, i32, c64 = found["f32"], found["f16"], found["i32"], found["c64"]
    found |= {
        # floats between the functions' special points, at them, and beyond all bounds
        "reals": f32([-3.5, -2, -1.5, -1, -0.5, -0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 7, 20]),
        "edges": f32([-np.inf, -1e30, -1, -0.0, 0, 1, 1e30, np.inf, np.nan]),
        "halves": f16([-2.5, -1, -0.5, 0, 0.5, 1, 1.5, 3]),
        "unit": f32([-1, -0.75, -0.5, -0.1, 0, 0.1, 0.5, 0.75, 1]),
        "ints": i32([-7, -3, -2, -1, 0, 1, 2, 3, 7]),
        "bytes8": found["u8"]([0, 1, 2, 127, 128, 200, 255]),
        "bools": found["b8"]([True, False, True]),
        "complexes": c64([0.5 + 1j, -1 + 0.25j, 2 - 0.5j, -0.5 - 0.75j]),
        "v": f32([1, 2, 3]),
        "w": f32([4, -5, 6]),
        "x5": f32([10, 20, 30, 40, 50]),
        "m": f32([[1, 2, 3], [4, 5, 6]]),
        "n": f32([[1, -2], [0.5, 3], [2, 1]]),
        "im": i32([[3, 1, 2], [6, 5, 4]]),
        "bm": found["b8"]([[1, 0, 1], [0, 0, 1]]),
        "hm": f16([[1, 2, 3], [4, 5, 6]]),
        "sq": f32([[4, 1, 0], [1, 3, 1], [0, 1, 2]]),
        "t": f32(np.arange(24).reshape(2, 3, 4)),
        "empty": f32([]),
        "nans": f32([[1, np.nan, 3], [np.nan, 5, -np.inf]]),
        "idx": i32([0, 2]),
        "oob": i32([-6, -5, -1, 0, 4, 5, 100]),
    }
    return found
