"""The whole table of binary type promotion as text: jnp.add of every dtype with every other.

A row is the left operand, a column the right one, a cell the result's dtype; '~' marks weak types.
`int`, `float` and `complex` are Python scalars (so is what an array made of one promotes as).
"""

NARROW = [
    "bool",
    "int8",
    "int16",
    "int32",
    "uint8",
    "uint16",
    "uint32",
    "bfloat16",
    "float16",
    "float32",
    "complex64",
]
WIDE = ["int64", "uint64", "float64", "complex128"]
SCALARS = {"int": 1, "float": 1.0, "complex": 1j}


def table(jax, jnp, x64):
    jax.config.update("jax_enable_x64", x64)
    try:
        operands = {name: jnp.ones((), name) for name in NARROW + (WIDE if x64 else [])} | SCALARS
        rows = [
            [a, *(_name(jnp.add(x, y)) for y in operands.values())] for a, x in operands.items()
        ]
    finally:
        jax.config.update("jax_enable_x64", False)
    lines = [["+", *operands], *rows]
    return "\n".join("".join(cell.ljust(12) for cell in line).rstrip() for line in lines) + "\n"


def _name(x):
    return ("~" if x.weak_type else "") + str(x.dtype)
