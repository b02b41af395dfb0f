"""The Python in README.md and docs/ runs as it stands there: page by page, in order, over files with made-up events."""

from __future__ import annotations

import concurrent.futures
import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import awkward as ak
import click
import numpy as np
import pytest
import uproot

import colonnade
from colonnade.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    if "```python" in path.read_text(encoding="utf-8")
)
ELSEWHERE = (
    "s3://bucket",
    "https://eospublic",
    "root://eospublic",
    "dask_jobqueue",
    "spark://head",
    "MPIPoolExecutor",
    "IPython.display",
)
"""Snippets with one of these need machines, or programs, that no test has. They are compiled only."""


def snippets(page: str) -> list[tuple[int, str]]:
    """The Python of a page: the number of the line before it, and the text."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [(text[: each.start(1)].count("\n"), each[1]) for each in found]


def is_elsewhere(code: str) -> bool:
    lines = [line.partition("#")[0] for line in code.splitlines()]
    return any(mark in line for line in lines for mark in ELSEWHERE)


def events(rng: np.random.Generator, count: int) -> dict[str, object]:
    muons = rng.integers(0, 4, count)
    muons[0] = 2

    def of_muons(values: np.ndarray) -> ak.Array:
        return ak.unflatten(values.astype(np.float32), muons)

    total = int(muons.sum())
    jets = ak.unflatten(
        ak.zip({"pt": rng.exponential(30, 2 * count), "eta": rng.normal(size=2 * count)}), [2] * count
    )
    return {
        "run": np.repeat(7, count),
        "event": np.arange(count),
        "x": rng.normal(size=count),
        "met": rng.exponential(40, count),
        "genWeight": rng.normal(1, 0.1, count),
        "is_signal": rng.integers(0, 2, count).astype(bool),
        "nMuon": muons.astype(np.uint32),
        "Muon_pt": of_muons(rng.exponential(30, total)),
        "Muon_eta": of_muons(rng.normal(size=total)),
        "Muon_phi": of_muons(rng.uniform(-3, 3, total)),
        "Muon_mass": of_muons(np.full(total, 0.105)),
        "Muon_charge": ak.unflatten(rng.choice([-1, 1], total).astype(np.int32), muons),
        "jets": jets,
        "pt": jets.pt[:, 0],
    }


def write(path: str, data: dict[str, object], name: str = "Events") -> None:
    with colonnade.create(path, name) as writer:
        writer.extend(data)


def tree() -> None:
    pt = ak.Array([[40.0, 12.0], [], [9.0], [33.0, 31.0, 8.0]])
    muons = ak.zip({"pt": pt, "eta": pt / 50})
    with uproot.recreate("nano.root") as file:
        file.mktree("Events", {"Muon": muons.type.content}).extend({"Muon": muons})


def corrections() -> None:
    from correctionlib import schemav2 as cs

    inputs = [("eta", "real"), ("pt", "real"), ("systematic", "string")]
    correction = cs.Correction(
        name="NUM_TightID",
        version=1,
        inputs=[cs.Variable(name=name, type=kind) for name, kind in inputs],
        output=cs.Variable(name="sf", type="real"),
        data=1.25,
    )
    made = cs.CorrectionSet(schema_version=2, corrections=[correction])
    Path("muon_sf.json.gz").write_bytes(gzip.compress(made.model_dump_json(exclude_unset=True).encode()))


def network() -> None:
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["score"])],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 3])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["rows", 1])],
        [numpy_helper.from_array(np.ones((3, 1), dtype=np.float32), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    Path("net.onnx").write_bytes(model.SerializeToString())


def library() -> None:
    """Build the library of functions that docs/dataframe.md shows, by the command that it shows."""
    text = (ROOT / "docs/dataframe.md").read_text(encoding="utf-8")
    (code,) = [
        code
        for code in re.findall(r"^```cpp\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        if "FUNCTIONS(" in code
    ]
    (command,) = re.findall(r"^c\+\+ .*libfunctions.so$", text, re.MULTILINE)
    Path("functions.cpp").write_text(code, encoding="utf-8")
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(command, shell=True, check=True, env={**os.environ, "PATH": search})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    for path in ("f.root", "run1.root", "run2.root", "a.root", "b.root", "more/c.root"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        write(path, events(rng, 1000))
    calibration = {"run": [7], "event": [1], "scale": [1.5]}
    write("calibration.root", calibration, "Calibration")
    write("weights.root", {"w": np.ones(2000)}, "Weights")
    tree()
    corrections()
    network()
    library()
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_snippets_run_as_they_stand(page: str, folder: Path) -> None:
    with concurrent.futures.ThreadPoolExecutor(2) as client:
        names = {"colonnade": colonnade, "files": ["run1.root", "run2.root"], "client": client}
        for line, code in snippets(page):
            compiled = compile("\n" * line + code, page, "exec")
            if not is_elsewhere(code):
                exec(compiled, names)


def test_most_snippets_are_run() -> None:
    every = [(page, code) for page in PAGES for _, code in snippets(page)]
    left_out = [(page, code) for page, code in every if is_elsewhere(code)]
    assert len(every) > 25
    assert len(left_out) <= 8
    for mark in ELSEWHERE:  # marks of snippets that are gone go, too
        assert any(mark in code for _, code in left_out), mark


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_pages_say_where_to_go_next(page: str) -> None:
    last = (ROOT / "docs" / page).read_text(encoding="utf-8").rstrip().rpartition("\n\n")[2]
    assert last.startswith("See also: ")
    links = re.findall(r"\]\(([\w-]+\.md)\)", last)
    assert len(links) >= 2
    assert page not in links


@pytest.mark.parametrize(
    "page", ["README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
)
def test_links_lead_somewhere(page: str) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_one_header_includes_all_but_the_data_frame_and_functions() -> None:
    folder = ROOT / "include" / "colonnade"

    def reached(name: str) -> set[str]:
        found, new = set(), {name}
        while new:
            found |= new
            texts = [(folder / each).read_text(encoding="utf-8") for each in new]
            new = {each for text in texts for each in re.findall(r'#include "colonnade/(.+?)"', text)} - found
        return found

    public = {path.name for path in folder.glob("*.h")}
    assert public <= reached("colonnade.h") | reached("dataframe.h") | {"functions.h"}
    assert "dataframe.h" not in reached("colonnade.h")


def test_every_page_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [path.name for path in (ROOT / "docs").glob("*.md") if f"docs/{path.name}" not in text]
    assert missing == []


PAGES_WITH_COMMANDS = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS)
def test_commands_and_their_options_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    spans = [span for span in re.findall(r"`([^`\n]+)`", text) if span.startswith("colonnade ")]
    lines = [line.partition("#")[0] for block in blocks for line in block.splitlines()] + spans
    for line in lines:
        words = line.replace("[", " ").replace("]", " ").split()
        if len(words) < 2 or words[0] != "colonnade":
            continue
        command = app.commands.get(words[1])
        assert command is not None or words[1].startswith("-") or words[1].isupper(), line
        if isinstance(command, click.Group) and len(words) > 2 and words[2] in command.commands:
            command = command.commands[words[2]]
        options = [option for each in (command.params if command else []) for option in each.opts]
        for word in words[2:] if command else []:
            if word.startswith("--") and word != "--help":
                assert word.partition("=")[0] in options, line


def test_all_commands_are_documented() -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert [name for name in app.commands if f"`colonnade {name}" not in text] == []


@pytest.mark.parametrize("name", sorted(app.commands))
def test_every_command_explains_itself(name: str, run) -> None:
    status, out, _ = run(name, "--help")
    assert status == 0
    command = app.commands[name]
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            assert option.help, option.name
            assert option.opts[0] in out
