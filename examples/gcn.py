"""A graph convolutional network: classifies a node by its features and those of its neighbours.

Each layer multiplies the nodes' numbers by a matrix of weights, and then *mixes* them: each node gets a
mean over itself and its neighbours (Kipf and Welling 2017, https://arxiv.org/abs/1609.02907). Mixing is
the product with one fixed matrix, nodes x nodes, in which nearly all is 0. With --sparse, only what is not
0 is kept, as (row, column, value), and a product is a gather and a `segment_sum`.

    gcn.py                              the karate club: two members are known, who went with whom?
    gcn.py --cora cora.npz --sparse     the subjects of 2,708 papers, from 140 that are known
    gcn.py --cora cora.npz --torch      the same model in PyTorch too, with the time that an epoch takes
"""

import argparse
import importlib.util
import sys
import time
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from data import cora, karate_club
from jax import random
from jax.example_libraries import optimizers

HIDDEN, RATE, DECAY = 16, 0.01, 5e-4  # as in the paper, and dropout of a half

# ---- matrices, dense or sparse ----


class Sparse(NamedTuple):
    """The entries of a matrix that are not 0."""

    rows: jax.Array
    columns: jax.Array
    values: jax.Array


def times(matrix, x, height):
    """matrix @ x, for a matrix that has `height` rows."""
    if isinstance(matrix, Sparse):
        parts = matrix.values[:, None] * x[matrix.columns]
        return jax.ops.segment_sum(parts, matrix.rows, num_segments=height)
    return matrix @ x


def mixing_matrix(edges, nodes):
    """1 for neighbours and for oneself, each entry divided by the roots of how many both have."""
    loops = np.arange(nodes)
    rows = np.concatenate([edges[:, 0], edges[:, 1], loops])
    columns = np.concatenate([edges[:, 1], edges[:, 0], loops])
    neighbours = np.bincount(rows, minlength=nodes)
    values = 1 / np.sqrt(neighbours[rows] * neighbours[columns])
    return Sparse(rows.astype(np.int32), columns.astype(np.int32), values.astype(np.float32))


def dense(matrix, shape):
    result = np.zeros(shape, np.float32)
    result[matrix.rows, matrix.columns] = matrix.values
    return result


def matrices(graph, sparse):
    """The features, each row divided by its sum, and the mixing matrix."""
    rows, columns = np.nonzero(graph.features)
    values = graph.features[rows, columns] / graph.features.sum(axis=1)[rows]
    features = Sparse(rows.astype(np.int32), columns.astype(np.int32), values.astype(np.float32))
    mixing = mixing_matrix(graph.edges, len(graph.labels))
    if not sparse:
        features = dense(features, graph.features.shape)
        mixing = dense(mixing, (len(graph.labels),) * 2)
    return jax.tree.map(jnp.asarray, (features, mixing))


# ---- the network ----


def init_params(key, sizes):
    """Glorot's: uniform, so that numbers keep their size on the way forward and back."""

    def matrix(key, m, n):
        limit = jnp.sqrt(6 / (m + n))
        return random.uniform(key, (m, n), minval=-limit, maxval=limit)

    return [matrix(k, m, n) for k, m, n in zip(random.split(key, 2), sizes, sizes[1:])]


def dropout(key, x):
    """Half of the entries as 0, the others twice as large; without a key, all as they are."""
    if key is None:
        return x
    if isinstance(x, Sparse):
        return x._replace(values=dropout(key, x.values))
    return jnp.where(random.bernoulli(key, 0.5, x.shape), 2 * x, 0)


def hidden_layer(params, features, mixing, nodes, key=None):
    return jax.nn.relu(times(mixing, times(dropout(key, features), params[0], nodes), nodes))


def scores(params, features, mixing, nodes, key=None):
    """float32[nodes, classes]; with a key, of a network in training."""
    k1, k2 = (None, None) if key is None else random.split(key)
    hidden = hidden_layer(params, features, mixing, nodes, k1)
    return times(mixing, dropout(k2, hidden) @ params[1], nodes)


def loss(params, features, mixing, labels, train, key):
    """The cross entropy of the nodes that are known, and weight decay for the first layer."""
    log_probabilities = jax.nn.log_softmax(scores(params, features, mixing, len(labels), key))
    right = log_probabilities[train, labels[train]]
    return -jnp.mean(right) + DECAY / 2 * jnp.sum(params[0] ** 2)


@partial(jax.jit, static_argnames="nodes")
def accuracy(params, features, mixing, nodes, labels, test):
    said = jnp.argmax(scores(params, features, mixing, nodes), axis=1)
    return jnp.mean(said[test] == labels[test])


init, update, get_params = optimizers.adam(RATE)


@jax.jit
def step(i, state, features, mixing, labels, known, key):
    """An epoch: one step of Adam on all nodes that are known."""
    grads = jax.grad(loss)(get_params(state), features, mixing, labels, known, key)
    return update(i, grads, state)


def train(graph, sparse, epochs, seed):
    """Trains; returns the params, the accuracy after each tenth epoch, and the seconds that an epoch took."""
    features, mixing = matrices(graph, sparse)
    nodes, classes = len(graph.labels), int(graph.labels.max()) + 1
    labels, known, test = map(jnp.asarray, (graph.labels, graph.train, graph.test))
    first, *keys = random.split(random.key(seed), 1 + epochs)
    state = init(init_params(first, (graph.features.shape[1], HIDDEN, classes)))
    history, took = [], []
    for i, key in enumerate(keys):
        began = time.perf_counter()
        state = step(i, state, features, mixing, labels, known, key)
        jax.block_until_ready(state)
        took.append(time.perf_counter() - began)
        if (i + 1) % 10 == 0:
            right = accuracy(get_params(state), features, mixing, nodes, labels, test)
            history.append(float(right))
    return get_params(state), history, float(np.median(took))


# ---- the program ----


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--cora", metavar="PLACE", help="an npz file, or a folder with cora.content"
    )
    parser.add_argument("--sparse", action="store_true", help="keep only what is not 0 in matrices")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=5, help="how many networks to train")
    parser.add_argument("--torch", action="store_true", help="train the same model in PyTorch too")
    parser.add_argument("--picture", metavar="FILE", help="draw the result there")
    options = parser.parse_args()
    if options.torch and importlib.util.find_spec("torch") is None:
        parser.error("PyTorch is not installed here (pip install torch)")

    graph = cora(options.cora) if options.cora else karate_club()
    kind = "sparse" if options.sparse else "dense"
    print(f"{len(graph.labels)} nodes, {len(graph.edges)} edges; {kind} matrices")
    histories = []
    for seed in range(options.seeds):
        params, history, seconds = train(graph, options.sparse, options.epochs, seed)
        histories.append(history)
        print(f"seed {seed}: {history[-1]:.3f} of {len(graph.test)} test nodes")
        report_time("here", seconds)
    if options.torch:
        import gcn_torch

        results = [
            gcn_torch.train(graph, options.sparse, options.epochs, s) for s in range(options.seeds)
        ]
        print(f"PyTorch: {np.mean([right for right, _ in results]):.1%} on average")
        report_time("PyTorch", float(np.median([seconds for _, seconds in results])))
    mean = np.mean([history[-1] for history in histories])
    print(f"result: {mean:.1%} of the test nodes on average over {options.seeds} seeds")
    if options.picture:
        draw(options.picture, graph, params, histories, options.sparse)


def report_time(name, seconds):
    """On the error stream, as times differ from run to run."""
    print(f"  {name}: {1000 * seconds:.2f} ms an epoch", file=sys.stderr)


def draw(file, graph, params, histories, sparse):
    from picture import plt, save

    figure, (learning, places) = plt.subplots(1, 2, figsize=(10, 4.2))
    for history in histories:
        learning.plot(10 * np.arange(1, len(history) + 1), history)
    title = f"{len(histories)} networks, which differ in their seed"
    learning.set(title=title, xlabel="epoch", ylabel="test nodes that are right")

    nodes = len(graph.labels)
    of_graph = *matrices(graph, sparse), nodes
    if nodes < 100:
        draw_graph(places, graph, np.asarray(scores(params, *of_graph)).argmax(axis=1))
    else:
        hidden = np.asarray(hidden_layer(params, *of_graph))
        hidden = hidden - hidden.mean(axis=0)
        plane = np.linalg.svd(hidden, full_matrices=False)[2][:2]  # in which they differ most
        for k in range(int(graph.labels.max()) + 1):
            places.plot(*plane @ hidden[graph.labels == k].T, ".", markersize=3, label=str(k))
        places.legend(title="true class", markerscale=3)
        places.set_title("The hidden layer of the last")
    save(figure, file)


def draw_graph(axes, graph, said):
    """Colours: what the network says. Squares: those whose class is 1. A ring: wrong."""
    from picture import AMBER, GREY, ORANGE, SKY

    places = layout(graph)
    x, y = places.T
    axes.plot(x[graph.edges.T], y[graph.edges.T], color=GREY, linewidth=0.5, zorder=1)
    for k, color in enumerate([SKY, AMBER]):
        for truth, shape in enumerate("os"):
            some = (said == k) & (graph.labels == truth)
            edge = color if k == truth else ORANGE
            axes.scatter(x[some], y[some], 170, color, marker=shape, edgecolors=edge, linewidths=2)
    for i, place in enumerate(places):
        axes.text(*place, str(i), color="black", size="small", ha="center", va="center")
    axes.set_title("Colours: what the last says; shapes: what is true")
    axes.axis("off")


def layout(graph):
    """A place for each node, by going downhill: edges are springs, and all nodes push each other away."""
    nodes = len(graph.labels)
    a, b = graph.edges.T

    def energy(places):
        apart = jnp.sum((places[:, None] - places[None]) ** 2, axis=-1) + 0.01
        pushes = jnp.sum(1 / jnp.sqrt(apart)) / 2
        return pushes + jnp.sum((places[a] - places[b]) ** 2) / 4

    def move(places, _):
        return places - 0.05 * jnp.clip(jax.grad(energy)(places), -5, 5), None

    start = random.normal(random.key(2), (nodes, 2))
    return np.asarray(jax.jit(lambda p: jax.lax.scan(move, p, length=500)[0])(start))


if __name__ == "__main__":
    main()
