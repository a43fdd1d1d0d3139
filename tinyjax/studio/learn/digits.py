"""The end of the course: train a network to read digits. Lesson 16 explains the program.

    python -m tinyjax.studio.learn.digits FUNCTIONS_FILE

`learn finish` runs it on a copy of tinyjax with the learner's functions, which the JSON file lists:
[["tinyjax/core/bind.py", "Primitive.bind"], ...].
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax, random
from tinyjax.example_libraries import optimizers
from tinyjax.studio import data

SRC = Path(jax.__file__).parents[1]
TRAINING = 1437  # images; the other 360 are for the test
BATCH = 128
EPOCHS = 30

# ---- the program ----


def f(x: jax.Array) -> jax.Array:
    """The lessons' example, used here as the activation function."""
    return jnp.sin(x) * x


def predict(params: Any, image: jax.Array) -> jax.Array:
    """The scores of the ten digits for one image."""
    (w1, b1), (w2, b2) = params
    return f(image @ w1 + b1) @ w2 + b2


def loss_of_one(params: Any, image: jax.Array, label: jax.Array) -> jax.Array:
    return -jax.nn.log_softmax(predict(params, image))[label]


def loss(params: Any, images: jax.Array, labels: jax.Array) -> jax.Array:
    return jnp.mean(jax.vmap(loss_of_one, in_axes=(None, 0, 0))(params, images, labels))


def first_params(key: jax.Array, sizes: tuple[int, ...] = (64, 32, 10)) -> Any:
    keys = random.split(key, len(sizes) - 1)
    return [
        (random.normal(k, (m, n)) / jnp.sqrt(m), jnp.zeros(n))
        for k, m, n in zip(keys, sizes, sizes[1:])
    ]


def trainer() -> tuple[Any, Any, Any]:
    """The initial state; a function that trains a state for one epoch, in batches shuffled by a key, and
    returns the new state and the mean loss; and a function from a state to its parameters."""
    init, update, get_params = optimizers.adam(0.01)
    state = init(first_params(random.key(0)))
    return state, jax.jit(partial(epoch, update, get_params)), get_params


def epoch(
    update: Any, get_params: Any, first: int, state: Any, key: Any, images: Any, labels: Any
) -> Any:
    order = random.permutation(key, TRAINING)[: TRAINING // BATCH * BATCH].reshape(-1, BATCH)

    def step(carry: Any, chosen: jax.Array) -> Any:
        i, state = carry
        value, grads = jax.value_and_grad(loss)(get_params(state), images[chosen], labels[chosen])
        grads = optimizers.clip_grads(grads, 10.0)
        return (i + 1, update(i, grads, state)), value

    (_, state), losses = lax.scan(step, (first, state), order)
    return state, jnp.mean(losses)


# ---- running it ----


def functions_at_work(action: Callable[[], Any]) -> tuple[Any, set[tuple[str, str]]]:
    """The result of `action`, and the file and name of each tinyjax function that it called."""
    seen = set()

    def note(frame: FrameType, event: str, arg: Any) -> None:
        seen.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        result = action()
    finally:
        sys.setprofile(None)
    inside = [(Path(file), name) for file, name in seen if file.startswith(str(SRC))]
    return result, {(file.relative_to(SRC).as_posix(), name) for file, name in inside}


def main(functions: set[tuple[str, str]]) -> None:
    images, labels = data.digits()
    print("Tracing and compiling ...", flush=True)

    def begin() -> tuple:
        keys = random.split(random.key(1), EPOCHS)
        state, run, get_params = trainer()
        return keys, run, get_params, run(0, state, keys[0], images, labels)

    (keys, run, get_params, (state, mean)), at_work = functions_at_work(begin)
    for number, key in enumerate(keys):
        if number > 0:
            state, mean = run(number * (TRAINING // BATCH), state, key, images, labels)
        if number % 5 == 0 or number == EPOCHS - 1:
            print(f"epoch {number:2}   loss {float(mean):.3f}", flush=True)
    scores = jax.vmap(predict, in_axes=(None, 0))(get_params(state), images[TRAINING:])
    answers = np.asarray(scores).argmax(axis=1)
    show(images[TRAINING:], answers, 4)
    right = int(np.sum(answers == labels[TRAINING:]))
    print(f"\n{right} of the {len(answers)} digits that it had not seen are read rightly.")
    if not functions:
        print("All functions are the reference: none of yours has passed yet.")
        return
    print(
        f"{len(functions & at_work)} of your {len(functions)} functions, those in practice/ included, "
        "were at work.\nThe others are for what this program does not do: toys and uses of practice/, other "
        "primitives,\nsecond derivatives, custom rules, loops that end on a condition, more devices."
    )


def show(images: np.ndarray, answers: np.ndarray, count: int) -> None:
    """The first images side by side as text, and the digit predicted for each."""
    print()
    for row in range(8):
        pixels = [image[8 * row :][:8] for image in images[:count]]
        print("   ".join("".join(" .:-=+*%#@"[int(9 * p)] * 2 for p in part) for part in pixels))
    print("   ".join(f"{f'a {answer}':^16}" for answer in answers[:count]))


if __name__ == "__main__":
    main({(file, name) for file, name in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))})
