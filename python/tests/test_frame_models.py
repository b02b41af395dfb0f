"""ONNX models as definitions and as functions of expressions, against onnxruntime itself and NumPy."""

from __future__ import annotations

import pickle

import awkward as ak
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import colonnade
from colonnade import DataFrame


def model_bytes(nodes, inputs, outputs, tensors=()) -> bytes:
    graph = helper.make_graph(
        nodes, "graph", inputs, outputs, [numpy_helper.from_array(array, name) for name, array in tensors]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def number(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def network(width=3, hidden=37, outputs=1, rows="rows", seed=1) -> bytes:
    rng = np.random.default_rng(seed)
    tensors = [
        ("w1", rng.normal(size=(width, hidden)).astype(np.float32)),
        ("b1", rng.normal(size=hidden).astype(np.float32)),
        ("w2", rng.normal(size=(hidden, outputs)).astype(np.float32)),
        ("b2", rng.normal(size=outputs).astype(np.float32)),
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]),
        helper.make_node("Tanh", ["h"], ["a"]),
        helper.make_node("Gemm", ["a", "w2", "b2"], ["z"]),
        helper.make_node("Sigmoid", ["z"], ["score"]),
    ]
    return model_bytes(nodes, [number("x", [rows, width])], [number("score", [rows, outputs])], tensors)


def reference(data: bytes, *columns):
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    table = np.stack([np.asarray(each, dtype=np.float32) for each in columns], axis=1)
    return session.run(None, {"x": table})[0]


@pytest.fixture
def arrays():
    rng = np.random.default_rng(3)
    return {
        "a": rng.normal(size=5000),
        "b": rng.normal(size=5000).astype(np.float32),
        "c": rng.integers(-3, 3, 5000),
    }


def test_a_network_gives_what_onnxruntime_gives(arrays):
    data = network()
    df = DataFrame.from_arrays(arrays).define("score", colonnade.onnx_model(data), ["a", "b", "c"])
    assert df.column_type("score") == "float"
    np.testing.assert_allclose(
        df.take("score").value, reference(data, *arrays.values())[:, 0], rtol=1e-5, atol=1e-7
    )


def test_rows_have_the_same_bits_in_any_block_on_any_thread(arrays, small_parts):
    data = network(hidden=131)
    model = colonnade.onnx_model(data)
    values = {}
    for threads in (1, 3):
        for block_entries in (1, 7, 100, 100_000):
            df = DataFrame.from_arrays(arrays, threads=threads, block_entries=block_entries)
            scores = df.define("score", model, ["a", "b", "c"])
            found = scores.take("score")
            some = scores.filter("c == 1").take("score")
            every = found.value
            values[threads, block_entries] = every
            np.testing.assert_array_equal(some.value, every[arrays["c"] == 1])
            small_parts(df, threads)
    first = values[1, 1]
    for found in values.values():
        np.testing.assert_array_equal(found, first)


def test_models_are_functions_of_expressions_and_of_lists():
    data = network(width=2)
    v = ak.Array([[1.0, 2.0], [], [3.0]])
    df = DataFrame.from_arrays({"v": v, "x": [0.5, 0.6, 0.7]})
    df.with_functions({"dnn": colonnade.onnx_model(data)})
    assert df.column_type("dnn(v, x)") == "std::vector<float>"
    flat = reference(data, [1, 2, 3], [0.5, 0.5, 0.7])[:, 0]
    found = df.take("dnn(v, x) * 2").value
    assert ak.num(found).to_list() == [2, 0, 1]
    np.testing.assert_allclose(ak.flatten(found), 2 * flat, rtol=1e-6)
    best = df.filter("v.size() > 0 && Max(dnn(v, x)) > 0").count()
    assert best.value == 2


def test_vectors_in_and_out():
    data = network(width=3, outputs=4)
    rng = np.random.default_rng(8)
    table = rng.normal(size=(50, 3)).astype(np.float32)
    df = DataFrame.from_arrays({"v": ak.from_regular(ak.Array(table)), "few": ak.Array([[1.0]] * 50)})
    scores = df.define("p", colonnade.onnx_model(data), ["v"])
    assert scores.column_type("p") == "std::vector<float>"
    np.testing.assert_allclose(ak.to_numpy(scores.take("p").value), reference(data, *table.T), rtol=1e-5)
    with pytest.raises(colonnade.UsageError, match="the input 'x' takes 3 numbers, not lists of 1"):
        _ = df.define("p", colonnade.onnx_model(data), ["few"]).take("p").value
    jagged = DataFrame.from_arrays({"v": ak.Array([[1.0, 2, 3], [1.0]])})
    with pytest.raises(colonnade.UsageError, match="lists of different lengths for one input"):
        _ = jagged.define("p", colonnade.onnx_model(data), ["v"]).take("p").value


def two_inputs() -> bytes:
    nodes = [
        helper.make_node("Cast", ["n"], ["f"], to=TensorProto.DOUBLE),
        helper.make_node("Add", ["x", "f"], ["total"]),
        helper.make_node("Mul", ["x", "f"], ["product"]),
    ]
    inputs = [number("x", ["rows"], TensorProto.DOUBLE), number("n", ["rows"], TensorProto.INT64)]
    outputs = [number("total", ["rows"], TensorProto.DOUBLE), number("product", ["rows"], TensorProto.DOUBLE)]
    return model_bytes(nodes, inputs, outputs)


def test_inputs_name_columns_and_outputs_are_chosen():
    df = DataFrame.from_arrays({"x": np.arange(100) / 7, "n": np.arange(100), "s": ["a"] * 100})
    x, n = df.take("x"), df.take("n")
    total = df.define("t", colonnade.onnx_model(two_inputs())).take("t")
    product = df.define("t", colonnade.onnx_model(two_inputs(), "product")).take("t")
    np.testing.assert_array_equal(total.value, x.value + n.value)
    np.testing.assert_array_equal(product.value, x.value * n.value)
    with pytest.raises(colonnade.NotFoundError, match="no output 'score'"):
        colonnade.onnx_model(two_inputs(), "score")
    model = colonnade.onnx_model(two_inputs(), name="sum")
    for columns, said in [
        (["x", "x"], r"argument 2 is a double, not int64: it is sum\(x: float64, n: int64\)"),
        (["s", "n"], "argument 1 is a std::string"),
        (["x"], "got 1 arguments"),
    ]:
        with pytest.raises((colonnade.TypeMismatchError, colonnade.UsageError), match=said):
            df.with_functions({"sum3": model}).take(f"sum3({', '.join(columns)})")


@pytest.mark.parametrize("rows", [1, 16])
def test_models_with_a_fixed_number_of_rows(rows, arrays):
    data = network(rows=rows)
    df = DataFrame.from_arrays(arrays)
    found = df.range(0, 100).define("s", colonnade.onnx_model(data), ["a", "b", "c"]).take("s").value
    expected = reference(network(), *(each[:100] for each in arrays.values()))[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_files_and_what_is_none(tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(network())
    model = colonnade.onnx_model(path)
    assert repr(model) == "<Model net(x: float32[3]) -> score: float32[1]>"
    assert pickle.loads(pickle.dumps(model)) == model
    assert model(1.0, 2.0, 3.0) == pytest.approx(reference(network(), [1], [2], [3])[0, 0])
    with pytest.raises(colonnade.FileMissingError, match="no such model"):
        colonnade.onnx_model(tmp_path / "none.onnx")
    path.write_bytes(b"no model")
    with pytest.raises(colonnade.FormatError, match="not a model that onnxruntime reads"):
        colonnade.onnx_model(path)
    image = model_bytes(
        [helper.make_node("Identity", ["x"], ["y"])],
        [number("x", ["n", 3, 8, 8])],
        [number("y", ["n", 3, 8, 8])],
    )
    with pytest.raises(colonnade.UnsupportedError, match="the input 'x' of the model"):
        colonnade.onnx_model(image)
    with pytest.raises(colonnade.UsageError, match="the parameters of"):
        DataFrame.from_arrays({"a": [1.0]}).define("s", model)


def test_models_travel_with_the_plan(tmp_path, arrays):
    with colonnade.create(tmp_path / "f.root", "Events") as w:
        w.extend(arrays)
    found = []
    for executor in (None, 2):
        df = DataFrame("Events", tmp_path / "f.root", executor=executor)
        scores = df.define("score", colonnade.onnx_model(network()), ["a", "b", "c"])
        found.append(scores.histo1d(("h", "", 50, 0, 1), "score").value.values())
    np.testing.assert_array_equal(*found)
