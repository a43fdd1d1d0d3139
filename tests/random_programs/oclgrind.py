"""Small programs under Oclgrind, which reports reads and writes beside a kernel's memory, and races.

What kernels give is not compared: adding up vectors of bools and choosing among two choices of vectors, it
gives other numbers than OpenCL's devices, the interpreter and WebAssembly do.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from random_programs.compare import Disagreement, disagreements
from random_programs.contenders import MAX_INTERPRETED, Coverage
from random_programs.program import Program
from tinyjax.compile import lowered
from tinyjax.compile.target import CPU, GPU

#: What the simulator does not know, such as rotations: nothing is wrong with a kernel that needs it.
LACKING = re.compile(r"OCLGRIND FATAL ERROR.*\n(.*)")
COMPLAINT = re.compile(
    r"^(?:Invalid|Uninitialized|.*data race|.*[Dd]ivergence|Unaligned).*", re.MULTILINE
)


def set_up() -> Path:
    """Before any device is opened. Gives the file that this process's complaints go to.

    Kernels are not optimized: in a loop, Oclgrind's LLVM 14 reads a[(i + 1) % 4] and a[(i + 2) % 4] as
    neighbours."""
    os.environ |= {"TINYJAX_OPENCL": "oclgrind", "OCLGRIND_DATA_RACES": "1"}
    os.environ |= {"OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable", "PYOPENCL_NO_CACHE": "1"}
    errors = tempfile.NamedTemporaryFile("ab", prefix="oclgrind", delete=False)
    os.dup2(errors.fileno(), 2)
    return Path(errors.name)


def complaints(programs: Sequence[Program], errors: Path, coverage: Coverage) -> list[Disagreement]:
    """What fails, and what is complained of. Kernels are for a GPU if the seeds' tens are odd. Programs of
    large arrays are left out."""
    programs = [program for program in programs if program.max_size <= MAX_INTERPRETED]
    if not programs:
        return []
    errors.write_text("")
    target = GPU if programs[0].seed // 10 % 2 else CPU
    covered = Coverage()
    with patch.object(lowered, "target_of", lambda device: target):
        found = disagreements(programs, ways=["jit", "jit of vmap"], coverage=covered)
    found = [failure for failure in found if not failure.output]
    text = errors.read_text()
    complaint, lacking = COMPLAINT.search(text), LACKING.search(text)
    if len(programs) > 1 and (found or complaint):
        return [c for program in programs for c in complaints([program], errors, coverage)]
    if lacking:
        coverage.add("programs that Oclgrind can't run", [lacking[1]])
        return []
    coverage.add("programs under Oclgrind", [target.name] * len(programs))
    for topic, counts in covered.items():
        coverage.setdefault(topic, Counter()).update(counts)
    if complaint:
        found.append(Disagreement(programs[0], "jit", "Oclgrind", "", complaint[0]))
    return found
