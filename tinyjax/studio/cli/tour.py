"""Train a network on handwritten digits, and show each step from Python to OpenCL.

Uses tinyjax as any program would: all of it but the graphs runs on JAX too.
"""

import argparse
import inspect
import os
import re
import shutil
import statistics
import sys
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.studio import viz
from tinyjax.studio.data import digits

LAYERS = (64, 32, 10)
TRAINING_IMAGES = 1437  # four fifths of the images; the rest are for the test
BATCH = 128
STEPS = 300
LEARNING_RATE = 0.2
MOMENTUM = 0.9

# ---- the program ----


def predict(params, image):
    """The scores of the ten digits for one image."""
    (w1, b1), (w2, b2) = params
    hidden = jnp.tanh(image @ w1 + b1)
    return hidden @ w2 + b2


def loss(params, image, target):
    """The cross entropy between the scores of one image and the digit it shows."""
    return -jnp.sum(jax.nn.log_softmax(predict(params, image)) * target)


def batch_loss(params, images, targets):
    """The mean loss over a batch: vmap turns the loss of one image into the losses of many."""
    return jnp.mean(jax.vmap(loss, in_axes=(None, 0, 0))(params, images, targets))


@jax.jit
def step(params, velocity, images, targets):
    """One step of gradient descent with momentum."""
    value, grads = jax.value_and_grad(batch_loss)(params, images, targets)
    velocity = jax.tree.map(lambda v, g: MOMENTUM * v - LEARNING_RATE * g, velocity, grads)
    return jax.tree.map(jnp.add, params, velocity), velocity, value


def initial_params(key):
    """A weight matrix and a bias for each layer."""
    keys = jax.random.split(key, len(LAYERS) - 1)
    return [
        (jax.random.normal(k, (m, n)) / jnp.sqrt(m), jnp.zeros(n))
        for k, m, n in zip(keys, LAYERS, LAYERS[1:])
    ]


def accuracy(params, images, labels):
    """The share of images for which the right digit has the highest score."""
    scores = jax.vmap(predict, in_axes=(None, 0))(params, images)
    return jnp.mean(jnp.argmax(scores, axis=1) == labels)


# ---- the tour ----


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("tinyjax-tour"),
        help="the folder for graphs and listings (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Go through the tour; return the exit status."""
    began = time.perf_counter()
    folder = options.output
    try:
        folder.mkdir(parents=True, exist_ok=True)
        go_through(folder)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        where = error.filename or folder
        print(
            f"cannot write {where}: {error.strerror}. Name another folder by --output.",
            file=sys.stderr,
        )
        return 1
    title("Where to go next")
    print(f"The graphs (.svg) and the whole listings (.txt) are in {folder.resolve()}")
    print("Read tinyjax/core/bind.py first; CONTRIBUTING.md has the order for the rest.")
    print(
        "Learn it in nineteen lessons with exercises: tutorials/README.md, python -m tinyjax learn"
    )
    print("See your own function at each stage: python -m tinyjax explain -h")
    print("Draw it at each stage: python -m tinyjax graph -h")
    print(f"The tour took {time.perf_counter() - began:.0f} seconds.")
    return 0


def go_through(folder: Path) -> None:
    """Show the program, its stages, its training, its times, and its page."""
    images, labels = digits()
    order = jax.random.permutation(jax.random.key(0), len(images))
    images, labels = jnp.asarray(images)[order], jnp.asarray(labels)[order]
    targets = jax.nn.one_hot(labels, 10)
    params = initial_params(jax.random.key(1))
    velocity = jax.tree.map(jnp.zeros_like, params)
    batch = images[:BATCH], targets[:BATCH]

    title("1. A network and its loss, for one image")
    print(inspect.getsource(predict), inspect.getsource(loss), sep="\n")
    show_jaxpr(folder, "loss", jax.make_jaxpr(loss)(params, images[0], targets[0]))

    title("2. Its gradient: jax.grad(loss)")
    show_jaxpr(folder, "grad", jax.make_jaxpr(jax.grad(loss))(params, images[0], targets[0]))

    title(f"3. The loss of {BATCH} images: jax.vmap(loss, in_axes=(None, 0, 0))")
    batched = jax.vmap(loss, in_axes=(None, 0, 0))
    show_jaxpr(folder, "batched", jax.make_jaxpr(batched)(params, *batch))

    device = jax.devices()[0]
    title(
        f"4. A training step, {'compiled' if device.runs_kernels else 'run by NumPy'}: jax.jit(step)"
    )
    print(inspect.getsource(step))
    lowered = step.lower(params, velocity, *batch)
    show_kernels(folder, lowered.as_text("explain"), lowered.as_text("schedule"))
    draw(folder, "step", viz.kernels(lowered))

    title(f"5. Training on {device.device_kind}: {STEPS} steps of {BATCH} images")
    train, test = slice(None, TRAINING_IMAGES), slice(TRAINING_IMAGES, None)
    params = fit(params, velocity, images[train], targets[train])
    correct = float(accuracy(params, images[test], labels[test]))
    print(f"{correct:.1%} of the {len(labels[test])} held-out images are recognised.")

    title("6. What jit saves: milliseconds for a step")
    jitted = milliseconds(step, params, velocity, *batch, repeat=50)
    with jax.disable_jit():
        eager = milliseconds(step, params, velocity, *batch, repeat=5)
    print(f"eager, in NumPy   {eager:8.2f}")
    print(f"{jit_runs(device):18}{jitted:8.2f}   ({eager / jitted:.1f} times as fast)")

    title("7. All of it in one page: python -m tinyjax explain")
    show_page(folder, params, images[0], targets[0])


def fit(params: Any, velocity: Any, images: jax.Array, targets: jax.Array) -> Any:
    """Train with `step` on random batches; return the params."""
    for i, key in enumerate(jax.random.split(jax.random.key(2), STEPS), start=1):
        chosen = jax.random.choice(key, len(images), (BATCH,), replace=False)
        params, velocity, value = step(params, velocity, images[chosen], targets[chosen])
        if i % 10 == 0:
            show_progress(i, STEPS, f"loss {float(value):.3f}")
    return params


# ---- showing ----


def title(text: str) -> None:
    print(f"\n==== {text} ====\n", flush=True)


def show_jaxpr(folder: Path, name: str, jaxpr: Any) -> None:
    print(jaxpr)
    (folder / f"{name}.txt").write_text(f"{jaxpr}\n", encoding="utf-8")
    draw(folder, name, viz.dot(jaxpr))


def draw(folder: Path, name: str, graph: Any) -> None:
    """Write the graph; print where, or why it could not be drawn."""
    try:
        print(f"\ngraph: {viz.save(graph, folder / f'{name}.svg')}")
    except viz.DotNotFound as error:
        print(f"\n{error}")


def show_kernels(folder: Path, program: str, schedule: str, longest: int = 16) -> None:
    """Print the shortest kernel and the schedule; write the whole to a file."""
    path = folder / "step_kernels.txt"
    path.write_text(f"{program}\n\n{schedule}\n", encoding="utf-8")
    if kernels := re.findall(r"^ *\d+ __kernel.*?^ *\d+ }$", program, re.MULTILINE | re.DOTALL):
        print(
            f"The shortest of its {len(kernels)} kernels, with the equation and the line of Python that each"
        )
        print(f"line of OpenCL C is from; all of them are in {path}\n")
        print(f"{min(kernels, key=len)}\n")
    lines = schedule.splitlines()
    print("\n".join(lines[:longest]))
    if len(lines) > longest:
        print(f"... {len(lines) - longest} more lines, see {path}")


def jit_runs(device: jax.Device) -> str:
    return "jit, compiled" if device.runs_kernels else "jit, in NumPy too"


def show_page(folder: Path, *args: Any) -> None:
    """Write the page that explains the gradient of the loss; open it if there is a display."""
    page = viz.explain(loss, *args, transforms=[jax.grad])
    path = page.save(folder / "explain.html").resolve()
    print(f"{page.title}\n{page.summary}\n")
    opened = has_display() and webbrowser.open(path.as_uri())
    print(f"{'Opened in the browser' if opened else 'Open it in a browser'}: {path.as_uri()}")


def has_display() -> bool:
    """Whether a browser can show a page to a person: not in CI, nor through a pipe."""
    is_terminal = sys.stdout.isatty() and "CI" not in os.environ
    has_windows = sys.platform in ("win32", "darwin") or "DISPLAY" in os.environ
    return is_terminal and (has_windows or "WAYLAND_DISPLAY" in os.environ)


def show_progress(done: int, total: int, message: str) -> None:
    """A progress bar, redrawn in place on a terminal; elsewhere, a line for each fifth."""
    width = max(min(30, shutil.get_terminal_size().columns - len(message) - 10), 1)
    bar = ("#" * (width * done // total)).ljust(width, ".")
    line = f"[{bar}] {100 * done // total:3}%  {message}"
    if sys.stdout.isatty():
        print(f"\r{line}", end="\n" if done == total else "", flush=True)
    elif done % (total // 5) == 0:
        print(line, flush=True)


def milliseconds(function: Callable[..., Any], *args: Any, repeat: int) -> float:
    """The median time of a call and its result, after a warm-up call."""
    jax.block_until_ready(function(*args))
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        jax.block_until_ready(function(*args))
        times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times)
