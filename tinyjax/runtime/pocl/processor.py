"""A name for the processor, where PoCL's compiler is older than it.

PoCL asks its LLVM for the processor's name. One that this LLVM does not know is called "generic", and for
x86-64 Clang refuses that name, and so every kernel. Or it has the name of an older one: to PoCL 3.0, AMD's
Zen 4 is "znver3", which has no AVX-512. PoCL reads the name at each build, and has no setting for it. So we
write another into its record of the device: the newest of a few processors whose instructions this one has.
They are those that PoCL's functions were compiled for, or newer. LLVM inlines a function only if its caller
has all the features that the function was compiled for: with "x86-64-v4", even `min` stayed a call, and the
game of life took 1.5 times as long. Kernels lack only LLVM's knowledge of how long each instruction takes.

Source: https://gitlab.com/x86-psABIs/x86-64-ABI (the levels); PoCL 3.0, pocl_cl.h (struct _cl_device_id)
"""

from __future__ import annotations

import ctypes
import functools
import io
import struct
from pathlib import Path
from typing import Any

NEWEST_AMD = b"znver3"  # to LLVM 14, which gives it to all later ones that it knows to be AMD's
WITH_AVX512 = ("skylake-avx512", "icelake-server")

RECORD_BYTES = 1024  # of PoCL's record of a device: the name is at byte 640 of PoCL 3.0's
WORD = struct.calcsize("P")

# What each processor adds to the one before it, as Linux names it: the levels v2, v3 and v4 of x86-64, then
# vectors' instructions on bits and bytes. Every x86-64 has the first level.
LEVELS = {
    "nehalem": "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3",
    "haswell": "abm avx avx2 bmi1 bmi2 f16c fma movbe xsave",
    "skylake-avx512": "avx512bw avx512cd avx512dq avx512f avx512vl",
    "icelake-server": (
        "avx512_bitalg avx512_vbmi2 avx512_vnni avx512_vpopcntdq avx512ifma avx512vbmi gfni vaes vpclmulqdq"
    ),
}
NAMES = {level: ctypes.create_string_buffer(level.encode()) for level in ("x86-64", *LEVELS)}


def name_processor(cl_device: Any) -> None:
    """Name the processor by its level in PoCL's record of it, if that has no name or an older one's."""
    try:
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            address = address_of_name(memory, cl_device.int_ptr)
            if address is None:
                return
            known_as = text_at(memory, pointer_at(memory, address))
    except OSError:  # no Linux
        return
    if known_as == b"generic" or (known_as == NEWEST_AMD and level() in WITH_AVX512):
        ctypes.c_void_p.from_address(address).value = ctypes.addressof(NAMES[level()])


def address_of_name(memory: io.RawIOBase, record: int) -> int | None:
    """Where a record points to the processor's name: behind the pointer to the target's, x86_64-...;
    None if the record has none."""
    for address in range(record, record + RECORD_BYTES, WORD):
        if text_at(memory, pointer_at(memory, address)).startswith(b"x86_64-"):
            return address + WORD
    return None


def pointer_at(memory: io.RawIOBase, address: int) -> int:
    memory.seek(address)
    return struct.unpack("P", memory.read(WORD))[0]


def text_at(memory: io.RawIOBase, address: int) -> bytes:
    """The text at an address, at most its first 32 bytes; empty if no memory is there."""
    try:
        memory.seek(address)
        return memory.read(32).partition(b"\0")[0]
    except (OSError, OverflowError):  # any word of the record may be a number
        return b""


@functools.cache
def level() -> str:
    """The name of this processor's level, as far as Linux tells."""
    try:
        return level_of(Path("/proc/cpuinfo").read_text())
    except OSError:
        return "x86-64"


def level_of(cpuinfo: str) -> str:
    """The last of LEVELS whose instructions, and those before, /proc/cpuinfo lists."""
    line = next((line for line in cpuinfo.splitlines() if line.startswith("flags")), "")
    has = set(line.partition(":")[2].split())
    reached = "x86-64"
    for level, adds in LEVELS.items():
        if not has.issuperset(adds.split()):
            break
        reached = level
    return reached
