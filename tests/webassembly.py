"""Kernels run as WebAssembly, in wasmtime."""

import atexit
import ctypes

import numpy as np
import pytest

from tinyjax.core.dtypes import kind
from tinyjax.wasm.engines import math_function
from tinyjax.wasm.webassembly import webassembly

wasmtime = pytest.importorskip("wasmtime")

GAP = 64  # bytes between arrays: nobody may write there


def new_engine():
    """One whose memories take little of the address space: as it is, each has 4 GiB."""
    config = wasmtime.Config()
    config.memory_reservation = 2**26
    return wasmtime.Engine(config)


ENGINE = new_engine()
atexit.register(ENGINE.close)  # later, wasmtime's functions may be gone


class Machine:
    """An engine that holds the module of some kernels, and memory."""

    def __init__(self, *kernels):
        self.module = webassembly(kernels)
        self.store = wasmtime.Store(ENGINE)
        self.memory = wasmtime.Memory(self.store, wasmtime.MemoryType(wasmtime.Limits(1, None)))
        compiled = wasmtime.Module(ENGINE, bytes(self.module))
        imports = wasmtime.Linker(ENGINE)
        imports.define(self.store, "env", "memory", self.memory)
        for needed in compiled.imports:
            if needed.module == "Math":
                imports.define_func("Math", needed.name, needed.type, math_function(needed.name))
        self.exports = imports.instantiate(self.store, compiled).exports(self.store)

    def bytes(self, size):
        """That many bytes of the memory, as an array."""
        missing = size - self.memory.data_len(self.store)
        if missing > 0:
            self.memory.grow(self.store, -(-missing // 65536))
        start = ctypes.cast(self.memory.data_ptr(self.store), ctypes.c_void_p).value
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(start))

    def run(self, kernel, arrays, *ranges):
        """Runs the work-items, by default all, on arrays, which are changed; nothing beside them may be."""
        at, places = GAP, []
        for buffer, array in zip(kernel.buffers, arrays, strict=True):
            assert array.dtype in (buffer.dtype, np.result_type(buffer.dtype, 1j))
            assert array.nbytes == buffer.size * buffer.dtype.itemsize
            places.append(slice(at, at + array.nbytes))
            at += -(-array.nbytes // 16) * 16 + GAP
        private = self.exports["private_bytes"].value(self.store)
        memory = self.bytes(at + private + GAP)
        memory[:] = 0xA5
        for place, array in zip(places, arrays):
            memory[place] = array.reshape(-1).view(np.uint8)
        for first, past in ranges or [(0, kernel.items)]:
            addresses = [place.start for place in places]
            self.exports[kernel.name](self.store, *addresses, at, first, past)
        for place, array in zip(places, arrays):
            array.reshape(-1).view(np.uint8)[:] = memory[place]
            memory[place] = 0xA5
        memory[at : at + private] = 0xA5
        assert (memory == 0xA5).all(), f"{kernel.name} wrote beside its memory"


def run_kernel(kernel, memory):
    """As interpret_kernel, but in a WebAssembly engine."""
    Machine(kernel).run(kernel, memory)


def assert_same_bits(found, expected):
    """Equal in all bits, but those of a NaN."""
    assert found.dtype == expected.dtype
    bits = [
        np.ascontiguousarray(x).reshape(-1).view(f"u{x.dtype.itemsize}") for x in (found, expected)
    ]
    same = bits[0] == bits[1]
    if kind(found.dtype) == "f":
        same |= (np.isnan(found) & np.isnan(expected)).reshape(-1)
    at = np.flatnonzero(~same)
    wrong, right = found.reshape(-1)[at], expected.reshape(-1)[at]
    assert same.all(), f"{wrong}, expected {right}, at {at}"
