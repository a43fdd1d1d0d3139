"""Instructions as bytes: those of an assembler that is not ours."""

import pytest
from webassembly import wasmtime

from tinyjax.wasm.module import (
    OPCODES,
    Function,
    Module,
    signed,
    unsigned,
)

GIVEN = {
    "br": (0,), "br_if": (0,), "call": ("f",), "i8x16.shuffle": tuple(range(16)),
    "i32.const": (-300,), "i64.const": (-(2**63),), "f32.const": (0.1,), "f64.const": (-1e300,),
    "v128.const": ("f32x4", 0.5, -0.0, float("inf"), 3e-40),
}  # fmt: skip


def sample(name):
    """The instruction, given something."""
    if name.startswith("local."):
        return (name, "x")
    if ".load" in name or ".store" in name:
        return (name, 300, 1) if name.endswith("_lane") else (name, 300)
    return (name, 1) if name.endswith("_lane") else (name, *GIVEN.get(name, ()))


@pytest.mark.parametrize("name", sorted(OPCODES.keys() - {"else", "end"}))
def test_an_instruction_has_the_bytes_that_an_assembler_gives_it(name):
    body = [("block",), ("br", 0), sample(name), *[("end",)] * (name in ("block", "loop", "if"))]
    body += [("br", 0), ("end",)]  # after a branch, whatever an instruction finds is right
    module = Module([Function("f", [("x", "i32")], None, [], body, exported=True)])
    assert bytes(wasmtime.wat2wasm(str(module))).startswith(bytes(module))


def test_numbers_have_seven_bits_a_byte():
    assert unsigned(624485) == bytes([0xE5, 0x8E, 0x26])
    assert signed(-123456) == bytes([0xC0, 0xBB, 0x78])
    assert (signed(63), signed(64)) == (bytes([63]), bytes([0xC0, 0]))
