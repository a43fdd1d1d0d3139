"""One network on eight devices, cut in four ways by `shard_map`: by data, by tensors, fully, and by stages.

By data, each device has all params and an eighth of the batch. By tensors, each has a part of every matrix.
Fully sharded, each keeps an eighth of the params, and gathers the others where they are needed. By stages,
each has one block of the network, and parts of the batch go from device to device, as in a pipeline. Nobody
writes a backward pass: the gradient of an all_gather is a psum_scatter, that of a ppermute sends back. One
CPU acts as eight devices here: that makes nothing faster, but the programs are those of a machine with eight.
"""

import argparse
import math
from functools import partial

import jax
import jax.numpy as jnp
from data import split_digits
from jax import lax, random
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

DEVICES = 8
jax.config.update("jax_num_cpu_devices", DEVICES)  # before the first use of any
WIDTH, INNER, CLASSES = 64, 128, 10
MICROBATCHES = 8


def init_params(key):
    """As many blocks as there are devices, and a last matrix."""
    keys = random.split(key, 3)
    return {
        "up": random.normal(keys[0], (DEVICES, WIDTH, INNER)) / jnp.sqrt(WIDTH),
        "down": 0.3 * random.normal(keys[1], (DEVICES, INNER, WIDTH)) / jnp.sqrt(INNER),
        "out": random.normal(keys[2], (WIDTH, CLASSES)) / jnp.sqrt(WIDTH),
    }


def block(x, up, down):
    return x + jnp.tanh(x @ up) @ down


def cross_entropy(x, out, labels):
    scores = jax.nn.log_softmax(x @ out)
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, CLASSES) * scores, axis=1))


def loss(params, images, labels):
    """On one device."""
    blocks = params["up"], params["down"]
    x, _ = lax.scan(lambda x, layer: (block(x, *layer), None), images, blocks)
    return cross_entropy(x, params["out"], labels)


# ---- the four ways: the loss as one device sees it, over the mesh's axis "d" ----


def by_data(params, images, labels):
    return lax.pmean(loss(params, images, labels), "d")


def by_tensors(params, images, labels):
    """Columns of `up` and rows of `down`: what a block adds is a sum over the devices."""

    def part_of_block(x, layer):
        up, down = layer
        return x + lax.psum(jnp.tanh(x @ up) @ down, "d"), None

    x, _ = lax.scan(part_of_block, images, (params["up"], params["down"]))
    return cross_entropy(x, params["out"], labels)


def fully(params, images, labels):
    """A block is whole for as long as it is computed with."""
    gather = partial(lax.all_gather, axis_name="d", tiled=True)

    def whole_block(x, layer):
        return block(x, *map(gather, layer)), None

    x, _ = lax.scan(whole_block, images, (params["up"], params["down"]))
    return lax.pmean(cross_entropy(x, gather(params["out"]), labels), "d")


def by_stages(params, images, labels):
    """At each tick a device computes its block for one part of the batch, and sends it to the next."""
    stage, last = lax.axis_index("d"), DEVICES - 1
    parts = images.reshape(MICROBATCHES, -1, WIDTH)

    def tick(x, t):
        entering = parts[jnp.minimum(t, MICROBATCHES - 1)]
        y = block(jnp.where(stage == 0, entering, x), params["up"][0], params["down"][0])
        return lax.ppermute(y, "d", [(i, i + 1) for i in range(last)]), y

    nothing = lax.pcast(jnp.zeros_like(parts[0]), "d", to="varying")
    _, ys = lax.scan(tick, nothing, jnp.arange(MICROBATCHES + last))
    x = ys[last:].reshape(-1, WIDTH)  # what the last device has made, from its first part on
    value = cross_entropy(x, params["out"], labels)
    return lax.psum(jnp.where(stage == last, value, 0.0), "d")


# name -> the loss, how params are cut, how the batch is
WAYS = {
    "by data": (by_data, {"up": P(), "down": P(), "out": P()}, P("d")),
    "by tensors": (
        by_tensors,
        {"up": P(None, None, "d"), "down": P(None, "d"), "out": P()},
        P(),
    ),
    "fully": (fully, {"up": P(None, "d"), "down": P(None, "d"), "out": P("d")}, P("d")),
    "by stages": (by_stages, {"up": P("d"), "down": P("d"), "out": P()}, P()),
}


def descend(params, grads):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


@jax.jit
def step_alone(params, images, labels):
    value, grads = jax.value_and_grad(loss)(params, images, labels)
    return descend(params, grads), value


def step_on(mesh, way):
    """A step on all devices. Params that devices share stay equal: their types say so."""
    of_device, specs, batch = WAYS[way]

    def step(params, images, labels):
        value, grads = jax.value_and_grad(of_device)(params, images, labels)
        return descend(params, grads), value

    return jax.jit(
        jax.shard_map(step, mesh=mesh, in_specs=(specs, batch, batch), out_specs=(specs, P()))
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=128, help="images in a step, on all devices")
    parser.add_argument("--picture", metavar="FILE", help="draw how params are cut there")
    options = parser.parse_args()
    if options.batch % DEVICES:
        parser.error(f"--batch must be a multiple of {DEVICES}")

    (images, labels), (test_images, test_labels) = split_digits()
    mesh = Mesh(jax.devices()[:DEVICES], ("d",))
    alone = init_params(random.key(0))
    together = dict.fromkeys(WAYS, alone)
    steps = {way: step_on(mesh, way) for way in WAYS}
    for i, key in enumerate(random.split(random.key(1), options.steps)):
        chosen = random.randint(key, (options.batch,), 0, len(images))
        batch = images[chosen], labels[chosen]
        alone, value = step_alone(alone, *batch)
        for way, step in steps.items():
            together[way], _ = jax.block_until_ready(step(together[way], *batch))  # one at a time
        if i % 50 == 0:
            print(f"step {i:3}: loss {value:.4f}")

    for way, params in together.items():
        shardings = {name: jax.NamedSharding(mesh, spec) for name, spec in WAYS[way][1].items()}
        numbers = sum(math.prod(shardings[name].shard_shape(p.shape)) for name, p in params.items())
        off = max(float(jnp.max(jnp.abs(p - alone[name]))) for name, p in params.items())
        print(f"{way:10}: {numbers:6} params on each device, the same as alone: {off < 1e-3}")
    x, _ = lax.scan(
        lambda x, layer: (block(x, *layer), None), test_images, (alone["up"], alone["down"])
    )
    right = jnp.mean(jnp.argmax(x @ alone["out"], axis=1) == test_labels)
    print(f"result: {right:.1%} of test images read rightly, in each of four ways")
    if options.picture:
        draw(options.picture, mesh)


def draw(file, mesh):
    """How `up` and `down` of all blocks are cut: a colour a device, grey for what all have."""
    from picture import plt, save

    shapes = {"up": (DEVICES, WIDTH, INNER), "down": (DEVICES, INNER, WIDTH)}
    figure, rows = plt.subplots(len(shapes), len(WAYS), figsize=(9, 4.2))
    colours = plt.get_cmap("Set1").colors  # eight that are not grey
    for column, (way, (_, specs, _)) in enumerate(WAYS.items()):
        for row, (name, shape) in enumerate(shapes.items()):
            picture = jnp.full((*shape, 3), 0.85)
            sharding = jax.NamedSharding(mesh, specs[name])
            if not sharding.is_fully_replicated:
                for device, index in sharding.devices_indices_map(shape).items():
                    picture = picture.at[index].set(jnp.array(colours[device.id]))
            gaps = ((0, 0), (8, 8), (8, 8), (0, 0))
            side_by_side = jnp.concatenate(list(jnp.pad(picture, gaps, constant_values=1)), 1)
            axes = rows[row][column]
            axes.imshow(side_by_side, aspect="auto", interpolation="nearest")
            axes.set(xticks=[], yticks=[], frame_on=False, title=way if row == 0 else "")
            axes.set_ylabel(f"8 x {name}" if column == 0 else "")
    figure.suptitle("Which device has which part of the blocks (grey: all have all of it)")
    save(figure, file)


if __name__ == "__main__":
    main()
