"""TChain and RNTupleProcessor with ROOT's spelling: data sets one after the other, and side by side.

`ROOT.RDataFrame(chain)` takes a `TChain` with its friends. A processor goes through entries one by one, as
`ROOT::Experimental::RNTupleProcessor` does; it reads them in blocks. It is based on `colonnade.open`,
`DataSet.with_friends` and `DataSet.join`.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, TextIO

from colonnade.errors import NotFoundError, UnsupportedError, UsageError
from colonnade.misuse import column_name, path_text
from colonnade.reading import opening
from colonnade.reading.dataset import DataSet
from colonnade.reading.opening import PathLike

from .histograms import refuse
from .made import histogram_in
from .templates import Templated
from .writing import OutputFile, is_output

__all__ = ["RNTupleOpenSpec", "RNTupleProcessor", "RNTupleProcessorOptionalPtr", "TChain", "TFile"]


class TChain:
    """Files whose data sets form one, and its friends: `chain.Add("f*.root")`, `chain.AddFriend(other, "f")`."""

    def __init__(self, name: str = "", title: str = "") -> None:
        """`title` is ignored."""
        self.name = name
        self.files: list[tuple[str, str]] = []
        self.friends: dict[str, TChain] = {}

    def Add(self, file: PathLike | TChain, *_: Any) -> int:
        """Add a file, files by wildcards, or those of another chain, and return how many were given.

        "f.root/Other" and "f.root?#Other" name another data set.
        """
        if isinstance(file, TChain):
            self.files += file.files
            return len(file.files)
        path, name = path_text(file), self.name
        for mark in ("?#", ".root/"):
            head, found, tail = path.rpartition(mark)
            if found and tail and not tail.endswith(".root"):
                path, name = head + mark.removesuffix("/").removesuffix("?#"), tail
                break
        self.files.append((path, name))
        return 1

    def AddFile(self, name: PathLike, nentries: int = 0, tname: str = "") -> int:
        """Add a file, whose data set may have another name, `tname`; `nentries` is ignored."""
        if not tname:
            return self.Add(name)
        self.files.append((path_text(name), column_name(tname, "data set")))
        return 1

    def AddFriend(self, friend: TChain | str, second: Any = "", *_: Any) -> None:
        """Put another chain beside this one: `AddFriend(chain, "alias")`, or `AddFriend("Name", "f.root")`.

        "alias = Name" gives the friend another name than that of its data set.
        """
        if isinstance(friend, TChain):
            other, alias = friend, second or friend.name
        else:
            alias, _equals, name = friend.rpartition("=")
            name = name.strip()
            other, alias = TChain(name), alias.strip() or name
            for file in [second] if isinstance(second, str | os.PathLike) else list(second or ()):
                other.Add(file)
            other.files = other.files or [(path, name) for path, _ in self.files]
        self.friends[alias.rpartition("/")[2]] = other

    def GetName(self) -> str:
        """Return the name of the data set."""
        return self.name

    def GetEntries(self) -> int:
        """Return the number of entries of all files."""
        return opening.open(self.pairs(), missing="skip").num_entries

    def pairs(self) -> list[tuple[str, str]]:
        """The files, each with the name of its data set."""
        if not self.files:
            raise UsageError(f"the chain '{self.name}' has no files", 'chain.Add("f.root")')
        return self.files

    def __getattr__(self, name: str) -> NoReturn:
        advice = "RDataFrame(chain), or colonnade.open for arrays"
        if name == "BuildIndex":
            advice = (
                f'RDataFrame(chain).AsDataFrame().join("{self.name}", files, on=["key"], how="left") '
                "instead of a friend"
            )
        refuse("a TChain", name, advice)


class TFile:
    """A file with data sets, which `Get` and brackets return as chains: `file["Events"]`.

    `RDataFrame("Events", file)` and `RDataFrame(file.Get("Events"))` make data frames. With the options "RECREATE",
    "NEW", "CREATE" and "UPDATE" it is a file for histograms, an `OutputFile`.
    """

    def __new__(cls, name: PathLike, option: str = "READ", *_: Any) -> Any:
        """Make a file for histograms with an option that says so."""
        return OutputFile(name, option) if is_output(option) else super().__new__(cls)

    def __init__(self, name: PathLike, option: str = "READ", *_: Any) -> None:
        """Open a file.

        Raises:
            NotFoundError: there is none.
            UsageError: there is no such option.
        """
        self.path = path_text(name)
        if option.upper() not in ("", "READ"):
            raise UsageError(f"a TFile has no option '{option}'", "READ, RECREATE, NEW, CREATE, UPDATE")
        opening.datasets(self.path)  # it raises where there is no file

    @classmethod
    def Open(cls, name: PathLike, option: str = "READ", *_: Any) -> Any:
        """Open a file."""
        return cls(name, option)

    def Get(self, name: str) -> Any:
        """Return a data set as a chain, or a histogram, which needs uproot; None, as in ROOT, if there is none.

        Raises:
            UnsupportedError: it is something else.
        """
        try:
            return self[name]
        except NotFoundError:
            return histogram_in(self.path, name)

    def __getitem__(self, name: str) -> TChain:
        chain = TChain(column_name(name, "data set"))
        chain.AddFile(self.path, 0, name)
        opening.open(chain.pairs())  # it raises where there is no such data set
        return chain

    def GetName(self) -> str:
        """Return the path."""
        return self.path

    def IsOpen(self) -> bool:
        """Return True: a file that cannot be opened raises."""
        return True

    def IsZombie(self) -> bool:
        """Return False: a file that cannot be opened raises."""
        return False

    def Close(self) -> None:
        """Do nothing: data frames open the file themselves."""

    def __enter__(self) -> TFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.Close()

    def __fspath__(self) -> str:
        return self.path

    def __getattr__(self, name: str) -> NoReturn:
        refuse("a TFile", name, "Get(name), or uproot.open for histograms")


class RNTupleOpenSpec(NamedTuple):
    """The name of a data set, and its file."""

    name: str
    storage: str


class RNTupleProcessorOptionalPtr:
    """A field of the current entry of a processor, which may lack a value."""

    def __init__(self, processor: RNTupleProcessor, name: str) -> None:
        self._processor, self._name = processor, name

    def HasValue(self) -> bool:
        """Return whether the current entry has a value: the file has the field, and a join found a match."""
        return self._processor._value(self._name)[0]

    def GetPtr(self) -> Any:
        """Return the value, or None."""
        return self._processor._value(self._name)[1]

    GetRawPtr = GetPtr

    def BindRawPtr(self, value: object) -> NoReturn:
        """Raises `UnsupportedError`: values are returned, and not written to memory of the caller."""
        raise UnsupportedError("values cannot be written to memory that the caller owns", "GetPtr()")

    def __deref__(self) -> Any:
        """Return the value.

        Raises:
            UsageError: there is none.
        """
        has_value, value = self._processor._value(self._name)
        if not has_value:
            raise UsageError(
                f"'{self._name}' has no value in entry {self._processor.GetCurrentEntryNumber()}",
                "check HasValue() first",
            )
        return value

    __call__ = __deref__


class _Block(NamedTuple):
    first: int
    number: int
    """The entries of the inner processor."""
    values: dict[str, list[Any]]
    """The fields, without missing ones."""
    found: dict[str, list[bool]]


_AT_ONCE = 4096


class RNTupleProcessor(ABC):
    """Iterates over the entries of chained and joined data sets: `for entry in processor`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._fields: dict[str, RNTupleProcessorOptionalPtr] = {}
        self._entry = self._processed = 0
        self._block: _Block | None = None

    # ---- Making

    @staticmethod
    def Create(ntuple: Any, processorName: str = "") -> RNTupleProcessor:
        """Make a processor of one data set, given by its name and file."""
        spec = RNTupleOpenSpec(*ntuple)
        return _Single([spec], processorName or spec.name)

    @staticmethod
    def CreateChain(ntuples: Sequence[Any], processorName: str = "") -> RNTupleProcessor:
        """Make a processor of data sets, or of other processors, one after the other.

        A field that some of them lack has no value there.
        """
        inner = [
            each if isinstance(each, RNTupleProcessor) else RNTupleProcessor.Create(each) for each in ntuples
        ]
        if not inner:
            raise UsageError("a chain needs at least one part")
        return _Chain(inner, processorName or inner[0]._name)

    @staticmethod
    def CreateJoin(
        primary: Any, auxiliary: Any, joinFields: Sequence[str] = (), processorName: str = ""
    ) -> RNTupleProcessor:
        """Make a processor with the fields of two: "x" of the first, and "aux.y" of the other.

        Args:
            primary: a pair of name and file, or a processor; iteration is over its entries.
            auxiliary: the other one.
            joinFields: integer fields that both have, by which entries are found; if there are none, entries have the
                same number. Of several entries with the same fields the first one is used.
            processorName: by default the name of the first one.
        """
        sides = [
            each if isinstance(each, RNTupleProcessor) else RNTupleProcessor.Create(each)
            for each in (primary, auxiliary)
        ]
        return _Join(sides[0], sides[1], list(joinFields), processorName or sides[0]._name)

    # ---- Reading

    @Templated
    def RequestField(self, name: str, value: object = None) -> RNTupleProcessorOptionalPtr:
        """Request a field before the iteration; its type in `RequestField["float"](name)` is optional.

        Raises:
            NotFoundError: no part has it.
        """
        if value is not None:
            raise UnsupportedError("values cannot be written to memory that the caller owns", "GetPtr()")
        if not self._has(name):
            raise NotFoundError(f"no field '{name}' in the processor '{self._name}'", field=name)
        self._block = None
        return self._fields.setdefault(name, RNTupleProcessorOptionalPtr(self, name))

    def __iter__(self) -> Iterator[int]:
        self._processed = 0
        for block in self._blocks(list(self._fields), _AT_ONCE):
            self._block = block
            for entry in range(block.first, block.first + len(block.found[""])):
                self._entry = entry
                self._processed += 1
                yield entry

    def _value(self, name: str) -> tuple[bool, Any]:
        block = self._block
        if block is None:
            raise UsageError("the processor is at no entry", "for entry in processor: ...")
        at = self._entry - block.first
        return (True, block.values[name][at]) if block.found[name][at] else (False, None)

    def GetNEntriesProcessed(self) -> int:
        """Return the number of entries processed."""
        return self._processed

    def GetCurrentEntryNumber(self) -> int:
        """Return the number of the current entry."""
        return self._entry

    def GetCurrentProcessorNumber(self) -> int:
        """Return the number of the chain's member with the current entry."""
        return self._block.number if self._block else 0

    def GetProcessorName(self) -> str:
        """Return its name."""
        return self._name

    def PrintStructure(self, output: TextIO | None = None) -> None:
        """Print the files in boxes: files of chains below each other, files of joins side by side."""
        print("\n".join(self._picture()), file=output or sys.stdout)

    def __getattr__(self, name: str) -> NoReturn:
        refuse("an RNTupleProcessor", name, "colonnade.open for arrays, RDataFrame for all else")

    # ---- Of each kind

    @abstractmethod
    def _has(self, name: str) -> bool: ...

    @abstractmethod
    def _blocks(self, names: list[str], at_once: int) -> Iterator[_Block]: ...

    @abstractmethod
    def _data_set(self) -> DataSet: ...

    @abstractmethod
    def _picture(self) -> list[str]: ...

    def _joined(self) -> set[str]:
        """What is before the names of fields that a join may lack."""
        return set()


class _OfDataSet(RNTupleProcessor):
    """A processor of one data set."""

    _opened: DataSet | None = None

    def _data_set(self) -> DataSet:
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    @abstractmethod
    def _open(self) -> DataSet: ...

    def _has(self, name: str) -> bool:
        return name in self._data_set().schema

    def _blocks(self, names: list[str], at_once: int) -> Iterator[_Block]:
        data_set = self._data_set()
        for first in range(0, data_set.num_entries, at_once):
            last = min(first + at_once, data_set.num_entries)
            read = data_set.arrays(names, entry_start=first, entry_stop=last) if names else None
            values = {name: read[name].to_list() for name in names} if read is not None else {}
            found = {"": [True] * (last - first)} | self._found(names, first, last)
            yield _Block(first, 0, values, found)

    def _found(self, names: list[str], first: int, last: int) -> dict[str, list[bool]]:
        return dict.fromkeys(names, [True] * (last - first))


class _Single(_OfDataSet):
    def __init__(self, specs: list[RNTupleOpenSpec], name: str) -> None:
        super().__init__(name)
        self._specs = specs

    def _open(self) -> DataSet:
        name, files = self._specs[0].name, [path_text(spec.storage) for spec in self._specs]
        return opening.open(files, name) if len(files) > 1 else opening.open(files[0], name)

    def _picture(self) -> list[str]:
        return [line for spec in self._specs for line in _box(spec)]


class _Join(_OfDataSet):
    def __init__(self, first: RNTupleProcessor, other: RNTupleProcessor, keys: list[str], name: str) -> None:
        super().__init__(name)
        self._first, self._other, self._keys = first, other, keys

    def _open(self) -> DataSet:
        first, other = self._first._data_set(), self._other._data_set()
        alias = self._other._name
        if alias in first.schema or alias == self._first._name:
            raise UsageError(f"'{alias}' names both sides of a join", "processorName")
        if not self._keys:
            return first.with_friends({alias: other})
        return first.join(
            other, on=self._keys, how="left", prefix=f"{alias}.", duplicates="first", columns=["*"]
        )

    def _found(self, names: list[str], first: int, last: int) -> dict[str, list[bool]]:
        found = super()._found(names, first, last)
        # The fields of a join within a join, "A.B.x", begin with the names of both, and need a match in both.
        for alias in self._joined():
            of_alias = [name for name in names if name.startswith(f"{alias}.")]
            if of_alias:
                entry = f"{alias}.entry"
                entries = self._data_set().arrays([entry], entry_start=first, entry_stop=last)[entry]
                matched = [bool(each) for each in (entries >= 0).to_list()]
                for name in of_alias:
                    found[name] = [a and b for a, b in zip(found[name], matched, strict=True)]
        return found

    def _joined(self) -> set[str]:
        alias = self._other._name
        inside = {f"{alias}.{each}" for each in self._other._joined()}
        return self._first._joined() | inside | ({alias} if self._keys else set())

    def _picture(self) -> list[str]:
        left, right = self._first._picture(), self._other._picture()
        height = max(len(left), len(right))
        blank = " " * len(left[0])
        rows = zip(left + [blank] * (height - len(left)), right + [""] * (height - len(right)), strict=True)
        return [f"{a} {b}".rstrip() for a, b in rows]


class _Chain(RNTupleProcessor):
    def __init__(self, inner: list[RNTupleProcessor], name: str) -> None:
        super().__init__(name)
        self._inner = inner

    def _has(self, name: str) -> bool:
        return any(each._has(name) for each in self._inner)

    def _blocks(self, names: list[str], at_once: int) -> Iterator[_Block]:
        begin = 0
        for number, each in enumerate(self._inner):
            known = [name for name in names if each._has(name)]
            count = 0
            for block in each._blocks(known, at_once):
                size = len(block.found[""])
                nowhere = {name: [False] * size for name in names if name not in known}
                yield _Block(begin + block.first, number, block.values, nowhere | block.found)
                count = block.first + size
            begin += count

    def _data_set(self) -> DataSet:
        parts: list[Any] = []
        for each in self._inner:
            if isinstance(each, _Single):
                parts += [(path_text(spec.storage), spec.name) for spec in each._specs]
            else:
                parts.append(each._data_set())
        return opening.open(parts, missing="fill")

    def _joined(self) -> set[str]:
        return set().union(*(each._joined() for each in self._inner))

    def _picture(self) -> list[str]:
        return [line for each in self._inner for line in each._picture()]


_WIDTH = 27


def _box(spec: RNTupleOpenSpec) -> list[str]:
    edge = f"+{'-' * (_WIDTH + 2)}+"
    lines = [spec.name, path_text(spec.storage)]
    return [edge, *(f"| {line[:_WIDTH]:<{_WIDTH}} |" for line in lines), edge]
