"""Compare eager, batched and jitted runs of random programs, with JAX too where it is installed.

    python tools/check_random_programs.py --count 1000         # a thousand programs, some minutes
    python tools/check_random_programs.py --seed 5000 --jax    # others; what JAX gives is compared too
    python tools/check_random_programs.py --derivatives --jax  # programs that ask for derivatives
    python tools/check_random_programs.py --webassembly --naive  # kernels and their loop nests in wasmtime

The programs are those of tests/random_programs. One that differs is cut down and printed as a script,
and the run goes on; at the end it lists what was covered. Programs run in a separate process, which
may take so much memory and time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import resource
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent / "tests"
BATCH = 10  # programs that are compiled together
RENEWED = 50  # batches that a worker takes: wasmtime does not give all address space back


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="that of the first program")
    parser.add_argument("--jax", action="store_true", help="compare with JAX, too")
    parser.add_argument("--derivatives", action="store_true", help="programs with derivatives")
    parser.add_argument(
        "--interpret",
        action="store_true",
        help="interpret small kernels, which are built else: faster",
    )
    parser.add_argument(
        "--webassembly",
        action="store_true",
        help="the same, and all kernels run as WebAssembly, too",
    )
    parser.add_argument(
        "--shared", action="store_true", help="the same, and built kernels that work-items share"
    )
    parser.add_argument(
        "--idioms", action="store_true", help="programs of networks, solvers, stencils and so on"
    )
    parser.add_argument("--naive", action="store_true", help="and so do their naive loop nests")
    parser.add_argument(
        "--oclgrind", action="store_true", help="run small programs under Oclgrind instead: use few"
    )
    parser.add_argument("--report", type=Path, help="a file for what was covered, as JSON")
    parser.add_argument("--gibibytes", type=float, default=6, help="memory that programs may take")
    parser.add_argument("--seconds", type=float, default=120, help="time for ten programs")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options)
    raise SystemExit(check(options))


# ---- the process that asks ----


def check(options: argparse.Namespace) -> int:
    """Checks all programs, prints what differs, and counts the kinds of differences."""
    seen: Counter[str] = Counter()
    covered: dict[str, Counter[str]] = {}
    checked = loops = 0
    worker = Worker(options)
    for seed in range(options.seed, options.seed + options.count, BATCH):
        seeds = range(seed, min(seed + BATCH, options.seed + options.count))
        answer = worker.ask(seeds)
        if "died" in answer:  # each alone, to find out which
            answer = together([worker.ask([seed]) for seed in seeds])
        checked, loops = checked + answer["checked"], loops + answer["loops"]
        for difference in answer["differ"]:
            report(seen, difference)
        for topic, counts in answer.get("covered", {}).items():
            covered.setdefault(topic, Counter()).update(counts)
        print(
            f"{checked} programs, {loops} with control flow",
            end="\r" if sys.stdout.isatty() else "\n",
            flush=True,
        )
    print(f"{checked} programs, {loops} with control flow: {len(seen)} kinds of differences")
    for kind, count in seen.most_common():
        print(f"{count:6} {kind}")
    for topic, counts in sorted(covered.items()):
        print(f"{topic}: " + ", ".join(f"{thing}: {n}" for thing, n in counts.most_common()))
    if options.report:
        numbers = {"seed": options.seed, "programs": checked, "with control flow": loops}
        options.report.write_text(json.dumps(numbers | {"differ": seen} | covered, indent=1))
    return bool(seen)


def together(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The answers of all as one; those who died are differences."""
    died = [a["died"] for a in answers if "died" in a]
    differ = [d for a in answers for d in a.get("differ", [])]
    covered: dict[str, Counter[str]] = {}
    for topic, counts in [pair for a in answers for pair in a.get("covered", {}).items()]:
        covered.setdefault(topic, Counter()).update(counts)
    return {
        "covered": covered,
        "checked": sum(a.get("checked", 1) for a in answers),
        "loops": sum(a.get("loops", 0) for a in answers),
        "differ": [*differ, *({"kind": how, "text": how} for how in died)],
    }


def report(seen: Counter[str], difference: dict[str, str]) -> None:
    """Prints a difference, if it is the first of its kind."""
    seen[difference["kind"]] += 1
    if seen[difference["kind"]] == 1:
        print(f"\n---- {difference['kind']}\n{difference['text']}\n", flush=True)


class Worker:
    """A process that runs programs, restarted when it has died, and now and then."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.process: subprocess.Popen[str] | None = None
        self.asked = 0

    def ask(self, seeds: Sequence[int]) -> dict[str, Any]:
        """What the worker says of the programs, or {'died': how}."""
        if self.process and self.asked % RENEWED == 0:
            self.stop(self.process)
        process = self.process = self.process or self.started()
        assert process.stdin and process.stdout
        self.asked += 1
        process.stdin.write(json.dumps(list(seeds)) + "\n")
        process.stdin.flush()
        seconds = self.options.seconds * len(seeds) / BATCH + 60
        ready = select.select([process.stdout], [], [], seconds)[0]
        line = process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.stop(process)
        how = f"died of signal {-process.returncode}" if ready else "took too long"
        return {"died": f"{how}: seed {seeds[0]}"}

    def stop(self, process: subprocess.Popen[str]) -> None:
        process.kill()
        process.wait()
        self.process = None

    def started(self) -> subprocess.Popen[str]:
        flags = [
            f"--{name}"
            for name in (
                *("jax", "derivatives", "interpret", "webassembly", "naive", "shared", "idioms"),
                "oclgrind",
            )
            if getattr(self.options, name)
        ]
        memory = ["--gibibytes", str(self.options.gibibytes)]
        return subprocess.Popen(
            [sys.executable, __file__, "--worker", *flags, *memory],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip


# ---- the process that runs ----


def work(options: argparse.Namespace) -> None:
    """Reads lists of seeds, a line each, and writes what differs."""
    limit = int(options.gibibytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    os.environ.setdefault("TINYJAX_BACKGROUND_BUILD", "0")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
    sys.path.insert(0, str(TESTS))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what programs print goes elsewhere
    if options.oclgrind:
        errors = importlib.import_module("random_programs.oclgrind").set_up()
        for line in sys.stdin:
            answers.write(
                json.dumps(under_oclgrind(json.loads(line), errors, options.idioms)) + "\n"
            )
            answers.flush()
    importlib.import_module("poisoned_memory").install()
    reference = (
        importlib.import_module("jax.ad_checkpoint") and sys.modules["jax"] if options.jax else None
    )
    for line in sys.stdin:
        answers.write(json.dumps(answer_for(json.loads(line), reference, options)) + "\n")
        answers.flush()


def answer_for(seeds: list[int], reference: Any, options: argparse.Namespace) -> dict[str, Any]:
    """How many programs of these seeds were checked, what differs, and what was covered."""
    from random_programs import draw, draw_derivatives  # type: ignore[import-not-found]
    from random_programs.compare import WAYS, disagreements, refused_otherwise  # type: ignore[import-not-found]
    from random_programs.contenders import Coverage, contenders_of  # type: ignore[import-not-found]
    from random_programs.known import reason_for  # type: ignore[import-not-found]
    from random_programs.shrink import shrunk  # type: ignore[import-not-found]

    chosen = {
        "interpreted": options.interpret or options.webassembly,
        "WebAssembly": options.webassembly,
        "naive loop nests": options.naive,
        "shared kernels": options.shared,
    }
    contenders = partial(contenders_of, kinds=[kind for kind, wanted in chosen.items() if wanted])
    if options.derivatives:
        programs, ways = [draw_derivatives(seed) for seed in seeds], ("jit", "JAX")
    else:  # some derivatives are of batches
        programs, ways = [draw(seed, options.idioms) for seed in seeds], (*WAYS, "JAX")
    coverage = Coverage()
    differ = []
    for found in disagreements(programs, reference, ways, contenders, coverage):
        reason = reason_for(f"{found.how}: {found.message}\n{found.program.source()}")
        if reason is None:
            found = shrunk(found, reference)
            differ.append({"kind": kind_of_difference(found), "text": text_of(found)})
        else:
            coverage.add("known differences", [reason])
    for program in programs if reference is not None else []:
        for text in refused_otherwise(program, reference):
            kind = anonymous(" / ".join(text.splitlines()[:2]))
            if reason := reason_for(text):
                coverage.add("known differences", [reason])
            else:
                differ.append({"kind": f"refused: {kind}", "text": f"seed {program.seed}\n{text}"})
    loops = sum(program.has_control_flow for program in programs)
    return {"checked": len(programs), "loops": loops, "differ": differ, "covered": coverage}


def under_oclgrind(seeds: list[int], errors: Path, with_idioms: bool) -> dict[str, Any]:
    """The same, of what small programs do under Oclgrind."""
    from random_programs import draw
    from random_programs.contenders import Coverage
    from random_programs.oclgrind import complaints  # type: ignore[import-not-found]

    programs, coverage = [draw(seed, with_idioms) for seed in seeds], Coverage()
    differ = [
        {"kind": kind_of_difference(found), "text": text_of(found)}
        for found in complaints(programs, errors, coverage)
    ]
    loops = sum(program.has_control_flow for program in programs)
    return {"checked": len(programs), "loops": loops, "differ": differ, "covered": coverage}


def text_of(found: Any) -> str:
    program = found.program
    head = f"seed {program.seed}, {found.how}: {found.message}"
    return f"{head}\n\n{program.snippet(found.how)}"


def kind_of_difference(found: Any) -> str:
    """What two differences of the same cause are likely to have in common."""
    calls = re.findall(
        r"(?:jnp|lax|jax)\.[\w.]+|[-+*/%@&|^<>=~]+(?= )|\.at|\[[^\]]*:", found.program.source()
    )
    calls = sorted({c for c in calls if not c.startswith(("jnp.full", "["))} - {"="})
    message = anonymous(found.message) if not found.output else ""
    return f"{found.how}: {message} {' '.join(calls)}"


def anonymous(message: str) -> str:
    """The message without names and numbers."""
    return re.sub(r"[\d., ()\[\]-]*\d[\d., ()\[\]-]*", "#", message)[:160]


if __name__ == "__main__":
    main()
