"""Graphs batched and padded, a graph network and a graph convolution, forward and gradient."""

import jax
import jax.numpy as jnp
import jraph
import numpy as np

# ---- the README's graph: three nodes, two edges ----

graph = jraph.GraphsTuple(
    nodes=jnp.array([[0.0], [1.0], [2.0]]),
    senders=jnp.array([0, 1]),
    receivers=jnp.array([2, 2]),
    edges=jnp.array([[5.0], [6.0]]),
    n_node=jnp.array([3]),
    n_edge=jnp.array([2]),
    globals=jnp.array([[1.0]]),
)
two = jraph.batch([graph, graph._replace(nodes=graph.nodes + 1)])
print("batched:", two.n_node, two.senders, two.receivers, two.nodes.ravel())
print("unbatched:", len(jraph.unbatch(two)), jraph.unbatch(two)[1].nodes.ravel())
padded = jraph.pad_with_graphs(two, n_node=10, n_edge=6, n_graph=3)
print(
    "padded:",
    padded.n_node,
    jraph.get_node_padding_mask(padded),
    jraph.get_number_of_padding_with_graphs_graphs(padded),
)

# ---- a graph network that learns the sum of a graph's nodes ----


def network(params, graph):
    def update_edge(edges, sent, received, globals_):
        return jnp.tanh(jnp.concatenate([edges, sent, received, globals_], axis=1) @ params["edge"])

    def update_node(nodes, sent, received, globals_):
        return jnp.tanh(jnp.concatenate([nodes, sent, received, globals_], axis=1) @ params["node"])

    def update_global(nodes, edges, globals_):
        return jnp.concatenate([nodes, edges, globals_], axis=1) @ params["global"]

    return jraph.GraphNetwork(update_edge, update_node, update_global)(graph)


keys = jax.random.split(jax.random.key(0), 3)
params = {
    "edge": jax.random.normal(keys[0], (4, 4)) * 0.3,
    "node": jax.random.normal(keys[1], (10, 4)) * 0.3,
    "global": jax.random.normal(keys[2], (9, 1)) * 0.3,
}
out = network(params, padded)
print("network:", out.globals.ravel(), out.nodes[2], out.edges[1])
target = jnp.array([[3.0], [6.0], [0.0]])


def loss(params):
    mask = jraph.get_graph_padding_mask(padded)[:, None]
    return jnp.sum(mask * (network(params, padded).globals - target) ** 2)


step = jax.jit(lambda p: jax.tree.map(lambda w, g: w - 0.01 * g, p, jax.grad(loss)(p)))
for i in range(30):
    if i % 10 == 0:
        print("loss:", loss(params))
    params = step(params)
print("gradient:", [round(float(g), 3) for g in jax.grad(loss)(params)["global"].ravel()])

# ---- layers ----

convolution = jraph.GraphConvolution(
    lambda nodes: nodes @ jnp.array([[1.0, -1.0]]), add_self_edges=True
)
print("GraphConvolution:", convolution(padded).nodes[:3])
attention = jraph.GAT(
    attention_query_fn=lambda nodes: nodes,
    attention_logit_fn=lambda sent, received, edges: jnp.sum(
        sent * received, axis=1, keepdims=True
    ),
    node_update_fn=lambda nodes: jax.nn.relu(nodes),
)
print(
    "GAT:",
    attention(
        graph._replace(nodes=jnp.ones((3, 2)), senders=jnp.arange(3), receivers=jnp.arange(3))
    ).nodes[0],
)
data, segments = jnp.array([1.0, 2.0, 4.0, 8.0]), jnp.array([0, 0, 1, 1])
for name in ("sum", "mean", "max", "variance", "normalize", "softmax"):
    print(f"segment_{name}:", getattr(jraph, f"segment_{name}")(data, segments, 2))
gradients = jax.grad(lambda d: jraph.segment_softmax(d, segments, 2)[1])(data)
print(
    "softmax's gradient:",
    gradients,
    np.asarray(jraph.concatenated_args(lambda x: x * 2)(data, data)).shape,
)
