"""The data of the examples: after `digits()` or `karate_club()` there is something real to train on.

The files are those that tinyjax ships, read from this repository, so that the examples run under JAX
where tinyjax is not installed. Cora is not shipped: give `cora` a file or a folder.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

SHIPPED = Path(__file__).resolve().parent.parent / "tinyjax" / "studio" / "data"


def digits():
    """1,797 handwritten digits: images, float32[1797,64] from 0 to 1, and labels, int32[1797]."""
    with np.load(SHIPPED / "digits.npz") as archive:
        images, labels = archive["images"], archive["labels"]
    return images.reshape(-1, 64).astype(np.float32) / 16, labels.astype(np.int32)


def split_digits(seed=0, training=1437):
    """The digits shuffled, as (images, labels) to train with and (images, labels) to test with."""
    images, labels = digits()
    order = np.random.RandomState(seed).permutation(len(images))
    train, test = order[:training], order[training:]
    return (images[train], labels[train]), (images[test], labels[test])


class Graph(NamedTuple):
    """Nodes with features and a class each, undirected edges, and which nodes to train and test with."""

    features: np.ndarray  # float32[nodes, features]
    labels: np.ndarray  # int32[nodes]
    edges: np.ndarray  # int32[edges, 2], each pair once, without loops
    train: np.ndarray  # int32: indices of nodes
    test: np.ndarray


def karate_club():
    """34 members of a karate club and their friendships; whom each followed when the club split.

    There are no features but the member itself. To train with: the instructor and the
    administrator, over whose quarrel it split."""
    club = json.loads((SHIPPED / "karate_club.json").read_text())
    labels = np.array(club["clubs"], np.int32)
    edges = np.array(club["edges"], np.int32)
    train = np.array([0, 33], np.int32)
    return Graph(np.eye(34, dtype=np.float32), labels, edges, train, np.arange(1, 33))


def cora(place):
    """The Cora citation network: 2,708 papers, their words, who cites whom, and seven subjects.

    `place` is an npz file with the split that is commonly used (Yang et al. 2016), or a folder with
    `cora.content` and `cora.cites`, which has no split: then the first 20 papers of each subject are to
    train with, and the last 1,000 papers (a third, if there are fewer than 3,000 in all) to test with."""
    place = Path(place)
    return _cora_of_folder(place) if place.is_dir() else _cora_of_npz(place)


def _cora_of_npz(file):
    with np.load(file) as a:
        features = np.zeros((int(a["num_nodes"]), int(a["num_features"])), np.float32)
        features[a["feature_row"], a["feature_col"]] = 1
        edges, train, test = (a[name].astype(np.int32) for name in ("edges", "train", "test"))
        return Graph(features, a["labels"].astype(np.int32), edges, train, test)


def _cora_of_folder(folder):
    """Lines of cora.content: paper, its words as 0 and 1, its subject. Of cora.cites: cited, citing."""
    papers = [line.split() for line in (folder / "cora.content").read_text().splitlines()]
    number = {paper[0]: i for i, paper in enumerate(papers)}
    subjects = sorted({paper[-1] for paper in papers})
    labels = np.array([subjects.index(paper[-1]) for paper in papers], np.int32)
    features = np.array([paper[1:-1] for paper in papers], np.float32)
    cites = [line.split() for line in (folder / "cora.cites").read_text().splitlines()]
    pairs = {
        tuple(sorted((number[a], number[b])))
        for a, b in cites
        if a in number and b in number and a != b
    }
    testing = min(1000, len(papers) // 3)
    known, test = np.arange(len(papers) - testing), np.arange(len(papers) - testing, len(papers))
    train = [known[labels[known] == k][:20] for k in range(len(subjects))]
    edges = np.array(sorted(pairs), np.int32).reshape(-1, 2)
    return Graph(features, labels, edges, np.concatenate(train), test)
