"""A class in an old and in a new version, for two processes with ROOT: a read rule makes the new members of the old."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import root_bridge
import root_write

DATASET = "Evolution"
_OLD = """
namespace evolution {
struct Point { float x = 0; float y = 0; ClassDefInlineNV(Point, 2); };
struct Event { int n = 0; Point point; std::vector<Point> points; ClassDefInlineNV(Event, 1); };
}
"""
_NEW = """
namespace evolution {
struct Point { float r = -1; ClassDefInlineNV(Point, 3); };
struct Event { int n = 0; Point point; std::vector<Point> points; ClassDefInlineNV(Event, 1); };
// What rootcling makes of a rule.
inline void polar(char* target, TVirtualObject* stored) {
  const auto member = [&](const char* name) {
    auto* object = static_cast<char*>(stored->GetObject());
    return *reinterpret_cast<float*>(object + stored->GetClass()->GetDataMemberOffset(name));
  };
  reinterpret_cast<Point*>(target)->r = std::hypot(member("x"), member("y"));
}
inline void add_rule() {
  TClass::AddRule("type=read sourceClass=\\"evolution::Point\\" targetClass=\\"evolution::Point\\" version=\\"[2]\\" "
                  "source=\\"float x; float y\\" target=\\"r\\" code=\\"{ }\\"");
  auto* rules = TClass::GetClass("evolution::Point")->GetSchemaRules();
  for (auto* rule : *rules->GetRules())
    static_cast<ROOT::TSchemaRule*>(rule)->SetReadFunctionPointer(polar);
}
inline std::string read(const std::string& path) {
  std::unique_ptr<TFile> file(TFile::Open(path.c_str()));  // ROOT 6.40 takes the description of Point 2 from here
  auto reader = ROOT::RNTupleReader::Open("Evolution", path);
  auto* event = static_cast<Event*>(reader->GetModel().GetDefaultEntry().GetPtr<void>("event").get());
  std::string rows;
  for (const auto entry : reader->GetEntryRange()) {
    reader->LoadEntry(entry);
    rows += (rows.empty() ? "[[" : ",[") + std::to_string(event->n) + "," + std::to_string(event->point.r);
    for (const Point& point : event->points) rows += "," + std::to_string(point.r);
    rows += "]";
  }
  return rows + "]";
}
}
"""


@lru_cache(maxsize=1)
def _with(code: str) -> Any:
    ROOT = root_bridge.load()
    if not ROOT.gInterpreter.Declare(code):
        raise RuntimeError(f"ROOT does not take this:\n{code}")
    return ROOT


def write_old(path: str, entries: int) -> None:
    """Events with points at (3k, 4k)."""
    _with(_OLD)
    points = [[3.0 * k, 4.0 * k] for k in range(entries)]
    events = [[k, points[k], points[:k]] for k in range(entries)]
    root_write.write(path, DATASET, [root_write.Field("event", "evolution::Event", events)])


@lru_cache(maxsize=1)
def _with_rule() -> Any:
    ROOT = _with(_NEW)
    ROOT.evolution.add_rule()
    return ROOT


def write_new(path: str, entries: int) -> None:
    """Events with points at a distance of k."""
    _with_rule()
    points = [[float(k)] for k in range(entries)]
    events = [[k, points[k], points[:k]] for k in range(entries)]
    root_write.write(path, DATASET, [root_write.Field("event", "evolution::Event", events)])


def read_new(path: str) -> list[Any]:
    """[number, distance, distance of each other point] for each event."""
    return json.loads(str(_with_rule().evolution.read(path)))
