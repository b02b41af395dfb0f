"""Steps of ROOT in the history of a file, and what it reads from it; see ../test_random_histories.py."""

from __future__ import annotations

from typing import Any

import root_bridge


def _folder(file: Any, path: str) -> Any:
    return file.GetDirectory(path) if path else file


def write_data_set(
    path: str, folder: str, name: str, rows: list[list[Any]], late: int, compression: int
) -> None:
    """Rows of a number and a text; from entry `late` on there is a third column, ten times the number."""
    ROOT = root_bridge.load()
    file = ROOT.TFile(path, "UPDATE")
    model = ROOT.RNTupleModel.Create()
    model.MakeField["std::int32_t"]("n")
    model.MakeField["std::string"]("s")
    options = ROOT.RNTupleWriteOptions()
    options.SetCompression(compression)
    writer = ROOT.RNTupleWriter.Append(model, name, _folder(file, folder), options)
    entry = writer.CreateEntry()
    for number, (n, s) in enumerate(rows):
        if number == late:
            updater = writer.CreateModelUpdater()
            updater.BeginUpdate()
            updater.MakeField["std::int64_t"]("late")
            updater.CommitUpdate()
            entry = writer.CreateEntry()
        entry["n"], entry["s"] = n, s
        if number >= late:
            entry["late"] = 10 * n
        writer.Fill(entry)
        if number % 7 == 6:
            writer.CommitCluster()
    writer.CommitDataset()
    del entry, writer
    file.Close()


def write_objects(path: str, folder: str, names: list[str], bins: int, option: str) -> None:
    """Histograms with as many bins, all with the same content."""
    ROOT = root_bridge.load()
    file = ROOT.TFile(path, "UPDATE")
    _folder(file, folder).cd()
    for name in names:
        histogram = ROOT.TH1F(name, "", bins, 0, 1)
        histogram.SetDirectory(ROOT.nullptr)
        histogram.SetBinContent(1, bins)
        histogram.Write("", getattr(ROOT.TObject, option) if option else 0)
    file.Close()


def make_folder(path: str, folder: str) -> None:
    """A folder in the file, which is made if need be."""
    ROOT = root_bridge.load()
    file = ROOT.TFile(path, "UPDATE")
    file.mkdir(folder)
    file.Close()


def delete(path: str, objects: list[str]) -> None:
    """All cycles of objects."""
    ROOT = root_bridge.load()
    file = ROOT.TFile(path, "UPDATE")
    for each in objects:
        folder, _, name = each.rpartition("/")
        _folder(file, folder).Delete(f"{name};*")
    file.Close()


def read(path: str, objects: list[str]) -> dict[str, Any]:
    """What ROOT finds by a name: the rows of a data set, the bins and the content of a histogram."""
    ROOT = root_bridge.load()
    file = ROOT.TFile.Open(path)
    found: dict[str, Any] = {}
    for each in objects:
        folder, _, name = each.rpartition("/")
        thing = _folder(file, folder).Get(name)
        if not thing:
            found[each] = None
        elif isinstance(thing, ROOT.TH1):
            found[each] = [thing.GetNbinsX(), thing.GetBinContent(1)]
        else:
            reader = ROOT.RNTupleReader.Open(thing)
            views = [reader.GetView["std::int32_t"]("n"), reader.GetView["std::string"]("s")]
            if reader.GetDescriptor().FindFieldId("late") != ROOT.kInvalidDescriptorId:
                views.append(reader.GetView["std::int64_t"]("late"))
            found[each] = [
                [str(view(i)) if k == 1 else int(view(i)) for k, view in enumerate(views)]
                for i in range(reader.GetNEntries())
            ]
            del views, reader
    file.Close()
    return found
