"""Small products and decompositions use one thread of BLAS, and the user's number is restored."""

import sys

import numpy as np
import pytest

from tinyjax import lax
from tinyjax.lax import blas_threads
from tinyjax.lax.blas_threads import Threads
from tinyjax.lax.linalg import matrices


@pytest.fixture
def count():
    return [4]


@pytest.fixture
def threads(count):
    found = Threads("sys")
    found.functions = [lambda: count[0], lambda number: count.__setitem__(0, number)]
    return found


def test_the_last_block_that_ends_restores_the_number(threads, count):
    with threads:
        with threads:
            assert count == [1]
        assert count == [1]
    assert count == [4]


def test_an_error_in_a_block_restores_the_number(threads, count):
    with pytest.raises(ValueError, match="from within"), threads:
        raise ValueError("from within")
    assert count == [4]


def test_a_number_set_in_a_block_stays(threads, count):
    with threads:
        threads.limit(3)
    assert count == [3]


@pytest.mark.parametrize("module", ["sys", "no module", "_socket"])
def test_without_openblas_nothing_is_set(module):
    threads = Threads(module)
    threads.limit(7)
    with threads:
        assert not threads.functions


def test_a_module_that_is_not_imported_stays_so():
    with Threads("this"):
        assert "this" not in sys.modules


@pytest.mark.parametrize("size, used", [(8, 4), (128, 1), (256, 4)])
def test_small_products_use_one_thread(monkeypatch, threads, count, size, used):
    found, plain = [], np.matmul
    monkeypatch.setattr(blas_threads, "NUMPY", threads)
    monkeypatch.setattr(np, "matmul", lambda x, y: found.append(count[0]) or plain(x, y))
    x = np.random.default_rng(0).random((2, size, size)).astype(np.float32)
    np.testing.assert_allclose(lax.batch_matmul(x, x), plain(x, x), rtol=1e-5)
    assert (found, count) == ([used], [4])


@pytest.mark.parametrize("size, used", [(20, 4), (40, 1), (128, 1), (400, 4)])
def test_decompositions_of_small_matrices_use_one_thread(monkeypatch, threads, count, size, used):
    found, plain = [], matrices.by_numpy
    monkeypatch.setattr(blas_threads, "NUMPY", threads)
    monkeypatch.setattr(blas_threads, "SCIPY", threads)
    monkeypatch.setattr(matrices, "by_numpy", lambda *args: found.append(count[0]) or plain(*args))
    lax.linalg.eigh(np.eye(size, dtype=np.float32))
    assert (found, count) == ([used], [4])
