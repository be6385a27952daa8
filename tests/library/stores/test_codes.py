"""Codes of a byte give nearly the products of the vectors that they stand for."""

import numpy as np
import pytest
from numpy.typing import NDArray

from seesay.library.stores import codes
from seesay.library.stores.codes import PRODUCT, Codes, Scheme, encode_blocks

Floats = NDArray[np.float32]


def vectors(n: int, dim: int, rank: int, seed: int = 0) -> Floats:
    """Unit vectors that lie in few directions, and a little beside them."""
    rng = np.random.default_rng(seed)
    axes = np.random.default_rng(1).standard_normal((rank, dim))
    rows = rng.standard_normal((n, rank)) @ axes + 0.02 * rng.standard_normal((n, dim)) + 0.3
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def coded(rows: Floats, scheme: Scheme, width: int = 37) -> Codes:
    parts = list(encode_blocks(scheme, [rows[start : start + width] for start in range(0, len(rows), width)]))
    flat = np.concatenate([part.reshape(-1) for part in parts])
    return Codes(scheme, flat, np.concatenate([part.sum(0, dtype=np.int32) for part in parts]))


def test_vectors_in_few_directions_keep_these_alone() -> None:
    assert Scheme.fit(vectors(500, 192, 10)).directions.shape == (192, 64)


def test_vectors_in_all_directions_keep_all_of_them() -> None:
    assert Scheme.fit(vectors(500, 100, 100)).directions.shape == (100, 100)


@pytest.mark.parametrize("rank", [10, 192])
def test_products_are_nearly_exact_whatever_the_blocks(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes, "WIDTH", 50)
    rows, query = vectors(333, 192, rank), vectors(1, 192, rank, seed=2)[0]
    found = coded(rows, Scheme.fit(vectors(500, 192, rank, seed=3))).products(query)
    exact = rows @ query
    assert np.abs(found - exact).max() < 0.1 * exact.std()
    assert np.corrcoef(found, exact)[0, 1] > 0.999


def test_a_vector_beyond_the_sample_is_cut_and_does_not_turn_around() -> None:
    scheme = Scheme.fit(vectors(500, 64, 64))
    far = 5 * vectors(1, 64, 64, seed=4)
    assert float(coded(far, scheme).products(far[0])[0]) > 0


def test_a_query_of_zeros_gives_zeros() -> None:
    rows = vectors(20, 64, 10)
    np.testing.assert_array_equal(coded(rows, Scheme.fit(rows)).products(np.zeros(64, np.float32)), 0)


def test_a_scheme_is_read_back_as_it_was_written() -> None:
    scheme = Scheme.fit(vectors(100, 64, 10))
    again = Scheme.from_array(scheme.to_array(), scheme.step)
    np.testing.assert_array_equal(again.centre, scheme.centre)
    np.testing.assert_array_equal(again.directions, scheme.directions)


def test_the_graph_of_the_product_is_the_one_that_is_meant() -> None:
    onnx = pytest.importorskip("onnx")
    helper, types = onnx.helper, onnx.TensorProto
    row, matrix, sums = (
        helper.make_tensor_value_info(name, kind, shape)
        for name, kind, shape in (
            ("query", types.UINT8, [1, "k"]),
            ("codes", types.INT8, ["k", "n"]),
            ("sums", types.INT32, [1, "n"]),
        )
    )
    node = helper.make_node("MatMulInteger", ["query", "codes"], ["sums"])
    graph = helper.make_graph([node], "product", [row, matrix], [sums])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    found = onnx.load_from_string(PRODUCT.read_bytes())
    assert (found.graph, found.opset_import) == (model.graph, model.opset_import)
