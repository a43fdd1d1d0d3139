"""The model of gcn.py in PyTorch, for its side-by-side: `gcn.py --torch` runs it."""

import time

import numpy as np
import torch
from gcn import DECAY, HIDDEN, RATE, mixing_matrix
from torch import nn
from torch.nn import functional


class Layer(nn.Module):
    """Weights, then mixing; dropout first."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, mixing):
        return mixing @ (dropout(x, self.training) @ self.weight)


def dropout(x, training):
    """Of a sparse matrix only what is kept there."""
    if not x.is_sparse:
        return functional.dropout(x, 0.5, training)
    values = functional.dropout(x.values(), 0.5, training)
    known = {"is_coalesced": True, "check_invariants": False}  # x was checked once
    return torch.sparse_coo_tensor(x.indices(), values, x.shape, **known)


class Network(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.first, self.second = Layer(*sizes[:2]), Layer(*sizes[1:])

    def forward(self, features, mixing):
        return self.second(functional.relu(self.first(features, mixing)), mixing)


def train(graph, sparse, epochs, seed):
    """Trains; returns the accuracy on the test nodes and the seconds that an epoch took."""
    torch.manual_seed(seed)
    nodes = len(graph.labels)
    rows, columns, values = mixing_matrix(graph.edges, nodes)
    indices = torch.from_numpy(np.stack([rows, columns]).astype(np.int64))
    entries = torch.from_numpy(values)
    mixing = torch.sparse_coo_tensor(indices, entries, (nodes, nodes), check_invariants=False)
    mixing = mixing.coalesce()
    features = torch.from_numpy(graph.features / graph.features.sum(axis=1, keepdims=True))
    if sparse:
        features = features.to_sparse().coalesce()
    else:
        mixing = mixing.to_dense()
    labels, known, test = (
        torch.from_numpy(a.astype(np.int64)) for a in (graph.labels, graph.train, graph.test)
    )
    network = Network((graph.features.shape[1], HIDDEN, int(graph.labels.max()) + 1))
    groups = [
        {"params": network.first.parameters(), "weight_decay": DECAY},
        {"params": network.second.parameters()},
    ]
    optimizer = torch.optim.Adam(groups, lr=RATE)

    took = []
    for _ in range(epochs):
        began = time.perf_counter()
        optimizer.zero_grad()
        scores = network(features, mixing)
        functional.cross_entropy(scores[known], labels[known]).backward()
        optimizer.step()
        took.append(time.perf_counter() - began)
    network.eval()
    with torch.no_grad():
        said = network(features, mixing).argmax(dim=1)
    return float((said[test] == labels[test]).float().mean()), float(np.median(took))
