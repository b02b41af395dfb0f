"""Going through entries with ROOT's own RNTupleProcessor; see ../test_processors.py for what is described."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import root_bridge

__all__ = ["process_entries"]


# Python cannot hand over vectors of std::unique_ptr.
_COMBINING = """
#include <ROOT/RNTupleProcessor.hxx>
namespace colonnade_test {
using Processor = ROOT::Experimental::RNTupleProcessor;
std::unique_ptr<Processor> chain_of(const std::vector<Processor*>& parts) {
  std::vector<std::unique_ptr<Processor>> owned;
  for (Processor* part : parts) owned.emplace_back(part);
  return Processor::CreateChain(std::move(owned));
}
std::unique_ptr<Processor> join_of(Processor* first, Processor* other, const std::vector<std::string>& on) {
  return Processor::CreateJoin(std::unique_ptr<Processor>(first), std::unique_ptr<Processor>(other), on);
}
}
"""


@lru_cache(maxsize=1)
def _with_combining() -> Any:
    ROOT = root_bridge.load()
    ROOT.gInterpreter.Declare(_COMBINING)
    return ROOT


def _released(processor: Any) -> Any:
    return processor.__smartptr__().release()


def _made(ROOT: Any, described: list[Any]) -> Any:
    kind, *rest = described
    if kind == "single":
        spec = ROOT.Experimental.RNTupleOpenSpec(*rest[0])
        return ROOT.Experimental.RNTupleProcessor.Create(spec)
    if kind == "chain":
        return ROOT.colonnade_test.chain_of([_released(_made(ROOT, each)) for each in rest[0]])
    first, other = _made(ROOT, rest[0]), _made(ROOT, rest[1])
    return ROOT.colonnade_test.join_of(_released(first), _released(other), rest[2])


def process_entries(described: list[Any], fields: list[str], types: dict[str, str]) -> list[Any]:
    """For each entry its number, the current one, how many there were, the part, and the values of fields."""
    ROOT = _with_combining()
    processor = _made(ROOT, described)
    asked = [processor.RequestField[types[field.rpartition(".")[2]]](field) for field in fields]
    rows = []
    for entry in processor:
        values = [each.__deref__() if each.HasValue() else None for each in asked]
        place = (processor.GetCurrentEntryNumber(), processor.GetNEntriesProcessed())
        rows.append([int(entry), *map(int, place), int(processor.GetCurrentProcessorNumber()), values])
    return rows
