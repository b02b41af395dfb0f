"""What the tests ask of ROOT, see ../root_worker.py. Every function takes and returns plain data."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import drawing_tasks
import histogram_tasks
import rdf_tasks
import root_bridge
import root_dump
import root_evolution
import root_histories
import root_processors
import root_write
import root_write_classes
import root_write_features
import root_write_random
from root_write import Field


@lru_cache(maxsize=1)
def _with_writers() -> Any:
    ROOT = root_bridge.load()
    ROOT.gInterpreter.Declare(f'#include "{root_bridge.CLASSES.parent / "fixture_writers.h"}"')
    return ROOT


def dump(path: str, names: list[str]) -> dict[str, Any]:
    """All data sets of a file, as root_dump.py prints them, without the run-length form."""
    return {
        name: {**content, "values": root_dump.expanded(content["values"])}
        for name, content in root_dump.dump_file(path, names or None).items()
    }


def write_random(seed: int, path: str) -> dict[str, Any]:
    """Write the file of a seed; what ROOT reads from it."""
    return {
        name: {**content, "values": root_dump.expanded(content["values"])}
        for name, content in root_write_random.write_random(seed, path).items()
    }


def write_classes(seed: int, path: str) -> dict[str, Any]:
    """Write the classes of a seed; what ROOT reads from them."""
    return {
        name: {**content, "values": root_dump.expanded(content["values"])}
        for name, content in root_write_classes.write_classes(seed, path).items()
    }


def write_version(seed: int, path: str, version: int) -> dict[str, Any]:
    """Write a version of the classes of a seed; what ROOT reads from them."""
    return {
        name: {**content, "values": root_dump.expanded(content["values"])}
        for name, content in root_write_classes.write_version(seed, path, version).items()
    }


def write_feature(name: str, path: str) -> dict[str, Any]:
    """Write a file with a feature of root_write_features; what ROOT reads from it."""
    return {
        key: {**content, "values": root_dump.expanded(content["values"])}
        for key, content in root_write_features.write_feature(name, path).items()
    }


def structures_of_arrays(path: str, dataset: str) -> list[str]:
    """The names of the fields that ROOT would read into structures of arrays."""
    ROOT = root_bridge.load()
    descriptor = ROOT.RNTupleReader.Open(dataset, path).GetDescriptor()
    found: list[str] = []

    def walk(parent: int) -> None:
        for field in descriptor.GetFieldIterable(parent):
            if field.IsSoACollection():
                found.append(str(descriptor.GetQualifiedFieldName(field.GetId())))
            walk(field.GetId())

    walk(descriptor.GetFieldZeroId())
    return found


def inspect(path: str) -> dict[str, Any]:
    """How ROOT finds the file itself: repaired or not, its keys by directory, and what TFile::Map prints."""
    ROOT = root_bridge.load()
    file = ROOT.TFile.Open(path)
    if not file or file.IsZombie():
        raise OSError(f"ROOT cannot open {path}")
    found = {
        "recovered": bool(file.TestBit(ROOT.TFile.kRecovered)),
        "size": file.GetSize(),
        "end": file.GetEND(),
        "keys": _keys(file),
        "streamer_infos": sorted(info.GetName() for info in file.GetStreamerInfoList()),
    }
    file.Map("extended")
    file.Close()
    return found


def _keys(directory: Any) -> dict[str, Any]:
    return {
        f"{key.GetName()};{key.GetCycle()}": _keys(directory.Get(key.GetName()))
        if key.GetClassName().startswith("TDirectory")
        else key.GetClassName()
        for key in directory.GetListOfKeys()
    }


def write_with_root(path: str) -> None:
    """A file with a histogram, a tree and a data set of ROOT's."""
    ROOT = _with_writers()
    ROOT.colonnade_test.write_tree(path)
    add_with_root(path, "FromROOT", "histogram")


def add_with_root(path: str, dataset: str, histogram: str) -> None:
    """Lets ROOT add a data set of ten entries and a histogram to a file."""
    ROOT = root_bridge.load()
    file = ROOT.TFile.Open(path, "UPDATE")
    made = ROOT.TH1F(histogram, "a histogram", 10, 0.0, 10.0)
    made.SetDirectory(ROOT.nullptr)  # else it is written once more with the data set
    made.Fill(4.5, 3.0)
    file.WriteObject(made, histogram)
    out = root_write.writer([Field("number", "std::int32_t"), Field("floats", "std::vector<float>")])
    out.append(dataset, file, root_write.options())
    fields = [
        Field("number", values=list(range(10))),
        Field("floats", values=[[0.5 * k] * (k % 4) for k in range(10)]),
    ]
    root_write.fill_all(out, fields, clusters=[4])
    out.close()
    file.Close()


def write_attributes(path: str, entries: int, ranges: list[tuple[int, int]]) -> None:
    """Entries, and an attribute set with a row for each range."""
    ROOT = _with_writers()
    firsts, lasts = (ROOT.std.vector["std::uint64_t"]([each[k] for each in ranges]) for k in (0, 1))
    ROOT.colonnade_test.write_attributes(path, entries, firsts, lasts)


def read_attributes(path: str, dataset: str, queries: list[tuple[int, int]]) -> dict[str, Any]:
    """The rows of all attribute sets, and which of them ROOT finds for each query."""
    ROOT = root_bridge.load()
    reader = ROOT.RNTupleReader.Open(dataset, path)
    names = [str(each.GetName()) for each in reader.GetDescriptor().GetAttrSetIterable()]
    found: dict[str, Any] = {}
    for name in names:
        rows = json.loads(str(ROOT.colonnade_test.dump_attribute_set(path, dataset, name)))
        attributes = reader.OpenAttributeSet(name)
        found[name] = {
            "rows": rows,
            "of_entry": [list(attributes.GetAttributes(first)) for first, _ in queries],
            "covering": [list(attributes.GetAttributesContainingRange(*each)) for each in queries],
            "within": [list(attributes.GetAttributesInRange(*each)) for each in queries],
        }
    return found


def read_objects(path: str) -> dict[str, Any]:
    """The content of the histograms, trees and other objects of a file."""
    ROOT = root_bridge.load()
    file = ROOT.TFile.Open(path)
    found: dict[str, Any] = {}
    for key in file.GetListOfKeys():
        if key.GetClassName() not in ("TH1F", "TTree"):
            continue
        content = key.ReadObj()
        if key.GetClassName() == "TH1F":
            found[key.GetName()] = [content.GetBinContent(k) for k in range(content.GetNbinsX() + 2)]
        else:
            found[key.GetName()] = [
                [int(row.event), [float(weight) for weight in row.weights]] for row in content
            ]
    file.Close()
    return found


def merge(dataset: str, inputs: list[str], output: str, mode: str, compression: int = -1) -> None:
    """Merge data sets with RNTupleMerger; compression < 0 leaves the pages as they are."""
    ROOT = root_bridge.load()
    settings = {} if compression < 0 else {"Compression": compression}
    ROOT.colonnade_test.merge(dataset, inputs, output, compression, mode, root_write.options(**settings))


def hadd(inputs: list[str], output: str) -> None:
    """Merge whole files, as the program hadd does."""
    ROOT = root_bridge.load()
    merger = ROOT.TFileMerger(False, False)
    merger.SetPrintLevel(0)
    if not merger.OutputFile(output, "RECREATE"):
        raise OSError(f"cannot create {output}")
    for path in inputs:
        if not merger.AddFile(path, False):
            raise OSError(f"cannot add {path}")
    if not merger.Merge():
        raise OSError("the merger failed")


def write_fields(path: str, dataset: str, fields: list[tuple[str, str, list[Any]]]) -> None:
    """A data set of fields given as (name, type, values)."""
    root_write.write(path, dataset, [Field(*field) for field in fields])


def frame_columns(tree: str, path: str, expressions: dict[str, str], cut: str) -> dict[str, list[Any]]:
    """See rdf_tasks.columns."""
    return rdf_tasks.columns(tree, path, expressions, cut)


def frame_declare(text: str) -> bool:
    """See rdf_tasks.declare."""
    return rdf_tasks.declare(text)


def frame_tutorial(name: str, path: str) -> Any:
    """See rdf_tasks.tutorial."""
    return rdf_tasks.tutorial(name, path)


READ_STREAMED = """
std::string read_streamed(const std::string& path, const std::string& name, const std::string& column) {
  auto model = ROOT::RNTupleModel::Create();
  model->AddField(std::make_unique<ROOT::RStreamerField>(column, "fixture::Streamed"));
  auto reader = ROOT::RNTupleReader::Open(std::move(model), name, path);
  const auto streamed = reader->GetModel().GetDefaultEntry().GetPtr<fixture::Streamed>(column);
  std::string rows;
  for (const auto entry : reader->GetEntryRange()) {
    reader->LoadEntry(entry);
    rows += rows.empty() ? "[[" : ",[";
    rows += std::to_string(streamed->number) + ",\\"" + streamed->text + "\\",[";
    for (std::size_t i = 0; i < streamed->values.size(); ++i)
      rows += (i > 0 ? "," : "") + std::to_string(streamed->values[i]);
    rows += "]]";
  }
  return rows + "]";
}
"""


@lru_cache(maxsize=1)
def _with_streamed() -> Any:
    ROOT = root_bridge.load()
    ROOT.gInterpreter.Declare(READ_STREAMED)
    return ROOT


def read_streamed(path: str, name: str, column: str) -> list[Any]:
    """The objects of a streamer field, of the class fixture::Streamed: its three members each."""
    return json.loads(str(_with_streamed().read_streamed(path, name, column)))


def write_evolving(path: str, entries: int) -> None:
    """See root_evolution.write_old."""
    root_evolution.write_old(path, entries)


def write_evolved(path: str, entries: int) -> None:
    """See root_evolution.write_new: in another process."""
    root_evolution.write_new(path, entries)


def read_evolved(path: str) -> list[Any]:
    """See root_evolution.read_new: in another process."""
    return root_evolution.read_new(path)


def process_entries(described: list[Any], fields: list[str], types: dict[str, str]) -> list[Any]:
    """See root_processors.process_entries."""
    return root_processors.process_entries(described, fields, types)


def history(step: str, *arguments: Any) -> Any:
    """Call a function of root_histories."""
    return getattr(root_histories, step)(*arguments)


def frame_random(seed: int, path: str) -> dict[str, Any]:
    """The random analysis of a seed; see rdf_random.py."""
    return rdf_tasks.random_analysis(seed, path)


def histogram_answers(
    kind: str, model: list[Any], rows: list[list[float]], getters: histogram_tasks.Getters
) -> dict[str, list[Any]]:
    """See histogram_tasks.answers."""
    return histogram_tasks.answers(histogram_tasks.filled(kind, model, rows), getters)


def histogram_arrays(kind: str, model: list[Any], rows: list[list[float]]) -> dict[str, Any]:
    """See histogram_tasks.arrays."""
    return histogram_tasks.arrays(histogram_tasks.filled(kind, model, rows))


def histogram_changes(kind: str, model: list[Any], rows: list[list[list[float]]]) -> dict[str, list[float]]:
    """See histogram_tasks.changes."""
    return histogram_tasks.changes(*(histogram_tasks.filled(kind, model, each) for each in rows))


def drawn_limits(seed: int) -> list[float]:
    """See drawing_tasks.limits."""
    ROOT = root_bridge.load()
    ROOT.TH1.AddDirectory(False)
    return drawing_tasks.limits(ROOT, seed)


def histogram_random_steps(seed: int) -> list[list[Any]]:
    """See histogram_tasks.random_steps."""
    return histogram_tasks.random_steps(seed)


def histogram_steps(
    kind: str, model: list[Any], rows: list[list[float]], calls: list[tuple[str, list[Any]]]
) -> list[list[Any]]:
    """See histogram_tasks.steps."""
    return histogram_tasks.steps(histogram_tasks.filled(kind, model, rows), calls)


def histogram_integrals(
    kind: str, model: list[Any], rows: list[list[float]], calls: list[list[Any]]
) -> list[list[float]]:
    """See histogram_tasks.integrals."""
    return histogram_tasks.integrals(histogram_tasks.filled(kind, model, rows), calls)
