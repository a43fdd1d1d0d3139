"""What a call does: the steps of a step program, and the launch of a kernel. No device is needed for it."""

from types import SimpleNamespace

import numpy as np
import pytest
from drawn import drawn, shown
from judged import each_error, error_passes, raises, unchanged

from tinyjax.runtime.queue import Queue
from tinyjax.runtime.step_program import KernelStep, Output, StepProgram

F32 = np.dtype("float32")


class Events:
    """A queue that notes what it is asked for. Its memory is text."""

    last_event = None
    on_step = None

    def __init__(self):
        self.seen = []

    def allocate(self, shape, dtype):
        self.seen.append("allocate")
        return "new memory"

    def launch(self, kernel, items, local_size, memories, inline):
        self.seen.append((kernel, items, local_size, list(memories), inline))
        self.last_event = "event"

    def recycle(self, memory):
        self.seen.append(f"recycle {memory}")

    def keep(self, things, nbytes):
        self.seen.append("keep")
        self.kept = things, nbytes


# ---- the step of a kernel ----


def kernel_step(arguments, outputs=(), inline=False):
    made = [Output(slot, (3,), F32, is_result=True) for slot in outputs]
    return KernelStep("kernel", 100, 4, inline, arguments, made)


def test_a_kernel_is_launched_on_the_memory_of_its_arguments_in_their_order():
    queue, slots = Events(), ["a", "b", "c"]
    kernel_step([2, 0, 2]).run(queue, slots)
    assert queue.seen == [("kernel", 100, 4, ["c", "a", "c"], False)]


def test_its_outputs_have_memory_before_it_is_launched():
    queue, slots = Events(), ["a", None, None]
    kernel_step([0, 1, 2], outputs=[1, 2], inline=True).run(queue, slots)
    launched = ("kernel", 100, 4, ["a", "new memory", "new memory"], True)
    assert queue.seen == ["allocate", "allocate", launched]
    assert slots == ["a", "new memory", "new memory"]


def test_an_output_that_has_its_place_already_is_made_there():
    queue, slots = Events(), ["a", "a place"]
    kernel_step([0, 1], outputs=[1]).run(queue, slots)
    assert queue.seen == [("kernel", 100, 4, ["a", "a place"], False)]


# ---- the launch ----


class Kernel:
    """Notes its arguments; two threads must not set them in turn."""

    def __init__(self, lock):
        self.lock, self.args = lock, {}

    def set_arg(self, number, buffer):
        assert self.lock.held, "an argument is set while another thread may launch the same kernel"
        self.args[number] = buffer

    def set_args(self, *buffers):
        for number, buffer in enumerate(buffers):
            self.set_arg(number, buffer)


class Lock:
    held = False

    def __enter__(self):
        self.held = True

    def __exit__(self, *error):
        self.held = False


@pytest.mark.parametrize("inline", [False, True])
def test_a_launch_sets_the_buffers_and_enqueues_and_no_other_thread_comes_between(inline):
    queue, seen = Queue.__new__(Queue), []
    queue.lock = Lock()
    kernel = Kernel(queue.lock)

    def enqueue(*args):
        assert queue.lock.held, "it is enqueued when other threads may have set arguments"
        seen.append((*args, dict(args[0].args)))

    queue._enqueue = enqueue
    memories = (SimpleNamespace(cl=f"buffer {n}") for n in range(12))
    queue.launch(kernel, 101, 4, memories, inline)
    assert seen == [(kernel, 101, 4, inline, {n: f"buffer {n}" for n in range(12)})]
    queue.launch(kernel, 7, 4, [SimpleNamespace(cl=None)] * 12, inline)
    told = "what has no elements has no buffer, and is an argument too"
    assert seen[1:] == [(kernel, 7, 4, inline, dict.fromkeys(range(12)))], told
    other, memories = Kernel(queue.lock), [SimpleNamespace(cl="a buffer")] * 2
    for each in (other, kernel, other):
        each.args = {}
        queue.launch(each, 7, 4, memories, inline)
        told = "each launch sets the arguments of its own kernel"
        assert seen[-1] == (each, 7, 4, inline, {0: "a buffer", 1: "a buffer"}), told
    assert not queue.lock.held


@each_error
def test_an_error_of_a_launch_goes_on_and_other_threads_may_launch(error):
    for name in ("_enqueue", "set_arg"):
        with error_passes(error(f"in {name}")) as raised:
            queue = Queue.__new__(Queue)
            queue.lock, queue._enqueue = Lock(), lambda *args: None
            kernel = Kernel(queue.lock)
            setattr(queue if name == "_enqueue" else kernel, name, raises(raised))
            try:
                queue.launch(kernel, 100, 4, [SimpleNamespace(cl="buffer")])
            finally:
                assert not queue.lock.held, "the lock is held for ever"


# ---- a call ----


class Step:
    """Notes when it runs, and puts its name into a slot."""

    def __init__(self, name, slot=None, last_uses=(), launches=True):
        self.name, self.slot, self.last_uses, self.launches = name, slot, list(last_uses), launches

    def run(self, queue, slots):
        queue.seen.append(self.name)
        if self.slot is not None:
            slots[self.slot] = f"made by {self.name}"
        if self.launches:
            queue.last_event = self.name


def step_program_of(*steps, slots=4, results=(3,), constants=("constant",)):
    """Slots: a constant, two arguments, and what the steps make."""
    step_program = StepProgram.__new__(StepProgram)
    step_program.queue, step_program.nbytes = Events(), 1234
    step_program.steps, step_program.results = list(steps), list(results)
    step_program.template = [*constants, *[None] * (slots - len(constants))]
    step_program.first_arg = len(constants)
    return step_program


def test_steps_run_in_order_and_results_are_what_their_slots_hold():
    step_program = step_program_of(Step("first", 3), Step("second", 4), slots=5, results=(4, 1, 0))
    assert step_program.run(["x", "y"]) == ["made by second", "x", "constant"]
    assert step_program.queue.seen == ["first", "second", "keep"]


def test_each_call_has_a_list_of_its_own():
    step_program = step_program_of(Step("step", 3), results=(3, 2))
    step_program.run(["x", "y"])
    assert step_program.template == ["constant", None, None, None], "the template has changed"
    assert step_program.run(["v", "w"]) == ["made by step", "w"]


def test_a_call_within_a_call_and_what_the_queue_keeps_have_lists_of_their_own():
    step_program = step_program_of(Step("step", 3), results=(3, 1, 2))
    kept = []
    for args in (["x", "y"], ["v", "w"]):
        step_program.run(args)
        kept.append(step_program.queue.kept[0][1])
    assert [slots[1:3] for slots in kept] == [["x", "y"], ["v", "w"]], (
        "the queue still needs what the first call worked on when a second one begins"
    )
    inner = []

    class Again(Step):
        """A step that runs its own program once more, as another thread may."""

        def run(self, queue, slots):
            if not inner:
                inner.append(None)
                inner[0] = step_program.run(["v", "w"])
            super().run(queue, slots)

    step_program.steps.append(Again("again"))
    assert step_program.run(["x", "y"]) == ["made by step", "x", "y"], "a call began within a call"
    assert inner == [["made by step", "v", "w"]]


def test_what_dies_with_a_step_is_recycled_right_after_it():
    step_program = step_program_of(
        Step("first", 3), Step("second", 4, last_uses=[3]), Step("third"), slots=5
    )
    step_program.run(["x", "y"])
    seen = ["first", "second", "recycle made by first", "third", "keep"]
    assert step_program.queue.seen == seen


def test_a_result_may_have_its_place():
    class Looks(Step):
        def run(self, queue, slots):
            queue.seen.append(f"finds {slots[3]}")

    step_program = step_program_of(Looks("looks"), results=(1, 3))
    assert step_program.run(["x", "y"], [(1, "a place")]) == ["x", "a place"]
    assert step_program.queue.seen[0] == "finds a place", "the steps run before the place is there"


def test_the_queue_keeps_step_program_and_memory_until_what_was_launched_is_done():
    step_program = step_program_of(
        Step("first", 3), Step("second", 4, last_uses=[3]), slots=5, results=(4,)
    )
    step_program.run(["x", "y"])
    (kept, slots), nbytes = step_program.queue.kept
    assert kept is step_program and nbytes == 1234
    assert slots == ["constant", "x", "y", "made by first", "made by second"]


def test_where_nothing_was_launched_nothing_is_kept():
    step_program = step_program_of(Step("on the host", 3, launches=False))
    step_program.run(["x", "y"])
    assert step_program.queue.seen == ["on the host"]


def test_a_profiler_runs_the_steps_itself():
    step_program, told = step_program_of(Step("first", 3), Step("second", last_uses=[3])), []

    def on_step(of, step, slots):
        told.append((of, step.name))
        step.run(of.queue, slots)

    step_program.queue.on_step = on_step
    step_program.run(["x", "y"])
    assert told == [(step_program, "first"), (step_program, "second")]
    assert step_program.queue.seen == ["first", "second", "recycle made by first", "keep"]
    step_program.queue.on_step = None
    step_program.run(["x", "y"])
    step_program.queue.on_step = on_step
    assert len(told) == 2, "when the profiler is gone, the steps run without it"
    step_program.run(["x", "y"])
    assert len(told) == 4, "and when it is there again, it runs them"


def test_of_three_outputs_places_results_and_values_that_die_each_has_its_turn():
    slots = ["a", None, None, None]
    kernel_step([0, 3], outputs=[1, 2, 3]).run(Events(), slots)
    assert slots == ["a", *["new memory"] * 3]
    step = Step("step", 8, last_uses=[3, 4, 5])
    step_program = step_program_of(
        *(Step(name, slot) for name, slot in zip("abc", (3, 4, 5))),
        step,
        slots=9,
        results=(6, 7, 8, 0, 1),
    )
    args, places = ["x", "y"], [(2, "third"), (1, "second"), (0, "first")]
    with unchanged(args=args, places=places, template=step_program.template, last=step.last_uses):
        results = step_program.run(args, places)
    assert results == ["first", "second", "made by step", "constant", "x"]
    died = [f"recycle made by {name}" for name in "abc"]
    assert step_program.queue.seen == ["a", "b", "c", "step", *died, "keep"]
    many = step_program_of(Step("step", 12), slots=13, results=(*range(6), 8, 9, 10, 11, 12))
    results = many.run([*"uvwxy"], [(number, f"place {number}") for number in (6, 7, 8, 9)])
    assert results == ["constant", *"uvwxy", *(f"place {n}" for n in range(6, 10)), "made by step"]
    slots = [None] * 9
    kernel_step([0], outputs=range(9)).run(Events(), slots)
    assert slots == ["new memory"] * 9, "each output has memory"


@each_error
@pytest.mark.parametrize("by_profiler", [False, True])
def test_an_error_of_a_step_goes_on_and_no_step_runs_after_it(error, by_profiler):
    step_program = step_program_of(Step("first", 3), Step("second", 3), Step("third", 3))
    with error_passes(error()) as raised:
        step_program.steps[1].run = raises(raised)
        if by_profiler:
            step_program.queue.on_step = lambda of, step, slots: step.run(of.queue, slots)
        try:
            step_program.run(["x", "y"])
        finally:
            assert step_program.queue.seen[0] == "first" and "third" not in step_program.queue.seen
            assert step_program.template == ["constant", None, None, None]
    with error_passes(error()) as raised:
        kernel_step([0]).run(SimpleNamespace(launch=raises(raised)), ["a"])


@drawn(30, most=14)
def test_drawn_step_programs_run_as_a_list_of_names_does(rng, most):
    constants = [f"constant {n}" for n in range(rng.integers(0, 4))]
    args = [f"argument {n}" for n in range(rng.integers(0, most + 1))]
    first, made = len(constants) + len(args), int(rng.integers(1, most + 1))
    steps, slots = [], [*constants, *args, *[None] * made, None, None]
    for n in range(made):
        dies = rng.choice(first + n + 1, size=rng.integers(0, first + n + 1), replace=False)
        steps.append(Step(f"step {n}", first + n, dies.tolist(), launches=bool(rng.integers(2))))
    results = rng.integers(0, len(slots) - 2, int(rng.integers(1, most + 1))).tolist()
    places = [(len(results) + k, f"place {k}") for k in rng.permutation(2).tolist()]
    results += [len(slots) - 2, len(slots) - 1]
    with shown(constants=constants, args=args, steps=made, results=results):
        program = step_program_of(
            *steps, slots=len(slots), results=tuple(results), constants=tuple(constants)
        )
        got, seen = program.run(args, places), []
        for step in steps:
            slots[step.slot] = f"made by {step.name}"
            seen += [step.name, *(f"recycle {slots[n]}" for n in step.last_uses)]
        seen += ["keep"] * any(step.launches for step in steps)
        slots[-2:] = "place 0", "place 1"
        assert program.queue.seen == seen, f"the steps should be {seen}, not {program.queue.seen}"
        assert got == [slots[n] for n in results], f"the results are {got}"
        if seen[-1] == "keep":
            assert program.queue.kept == ((program, slots), 1234), (
                "all slots are kept, the last too"
            )


@drawn(20, most=20)
def test_drawn_kernels_are_launched_on_all_of_their_arguments(rng, most):
    slots = [f"memory {n}" for n in range(most)]
    arguments, outputs = rng.integers(0, most, (2, most)).tolist()
    outputs = [n for n in dict.fromkeys(outputs) if rng.integers(2)]
    items, inline = int(rng.choice([1, 7, 4096])), bool(rng.integers(2))
    with shown(arguments=arguments, outputs=outputs, items=items, inline=inline):
        step, events = kernel_step(arguments, outputs, inline), Events()
        step.items = items
        given = [None if n in outputs else memory for n, memory in enumerate(slots)]
        step.run(events, given)
        want = ["new memory" if n in outputs else memory for n, memory in enumerate(slots)]
        launched = ("kernel", items, 4, [want[n] for n in arguments], inline)
        assert events.seen == ["allocate"] * len(outputs) + [launched], f"{events.seen}"
        queue, seen = Queue.__new__(Queue), []
        queue.lock, queue._enqueue = Lock(), lambda *args: seen.append((*args, dict(kernel.args)))
        kernel = Kernel(queue.lock)
        queue.launch(kernel, items, 4, (SimpleNamespace(cl=n) for n in arguments), inline)
        assert seen == [(kernel, items, 4, inline, dict(enumerate(arguments)))], f"{seen}"
