"""The members of classes in a file, some of which uproot (up to 5.7) misunderstands. It imports uproot.

Of Double32_t and Float16_t it forgets the members before them, and does not know all ways in which they are stored. Of
arrays of objects, texts and containers it reads one. An enum in a container, stored as an integer, it does not know,
nor some containers.
The counter of an array it does not always find. Classes have names such as `Ptr<list<int>>`, and types of members are
`Ptr<list<int> >`.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Any

from uproot import streamers
from uproot.interpretation.identify import parse_typename
from uproot.reading import ReadOnlyFile
from uproot.streamers import Model_TStreamerElement

from colonnade.locks import ProcessLock

from .baskets import named_as_its_base
from .containers import like_known
from .reduced_precision import is_reduced

__all__ = ["mend_streamers"]

_ENUMS = {3: "<int>", 13: "<unsigned int>"}
"""How an enum is stored, by ROOT's number of that type."""
_NAMED = ("multimap<", "unordered_map<", "unordered_multimap<")
"""Fields of split maps have their types."""
_MAP = re.compile(r"map<[^*]*$")
_ITEM = re.compile(r"<[^<>,]*>$")
_BLANKS = re.compile(r" +(?=>)")


def mend_streamers(file: Any) -> None:
    """Let uproot read objects of the classes of a file as ROOT does, once it needs to know them."""
    if file._streamers is None:
        file.__class__ = _File
        file.lock = ProcessLock(reentrant=True)
    else:
        _mend_all(file._streamers)


class _File(ReadOnlyFile):  # type: ignore[misc]
    """A file whose classes are mended when they are first asked for."""

    lock: ProcessLock
    is_mended = False

    @property
    def streamers(self) -> Any:
        if self.is_mended:
            return self._streamers
        with self.lock:
            found = super().streamers
            if not self.is_mended and self._streamers is found:
                _mend_all(found)
                self.is_mended = True
            return found


def _mend_all(streamers: Any) -> None:
    for versions in streamers.values():
        for streamer in versions.values():
            for element in streamer.elements:
                _mend(element)


def _mend(element: Any) -> None:
    kind = _BLANKS.sub("", str(element.typename))
    if kind != element.typename:
        _rename(element, kind)
    if element.classname == "TStreamerBasicType" and is_reduced(kind):
        element.__class__ = _Number
    stored = _ENUMS.get(element.member("fCtype", none_if_missing=True))
    if stored:
        kind = _ITEM.sub(stored, kind)
    if element.classname == "TStreamerSTL" and not kind.startswith(_NAMED):
        _rename(element, like_known(kind))
    if element.classname in _ARRAYS and element.array_length:
        element.__class__ = _ARRAYS[element.classname]
    elif element.classname == "TStreamerBasicPointer":
        element.__class__ = _Counted
    elif element.classname == "TStreamerSTL" and _MAP.search(str(element.typename)):
        element.__class__ = _Maps


def _rename(element: Any, kind: str) -> None:
    while "fTypeName" not in element._members:
        element = element.bases[0]
    element._members["fTypeName"] = kind


class _Member:
    """Adds the code that reads a member to that of its class."""

    name: Any
    typename: Any
    title: Any
    array_length: Any

    def class_code(
        self,
        streamerinfo: Any,
        number: int,
        elements: Any,
        read_members: list[str],
        read_member_n: list[str],
        strided_interpretation: list[str],
        awkward_form: list[str],
        *others: list[Any],
    ) -> None:
        name, length = str(self.name), int(self.array_length)
        containers, member_names = others[4], others[6]
        read, form = self._how(length, containers)
        code = [*read[:-1], f"self._members[{name!r}] = {read[-1]}"]
        read_members += ["        if forth_obj is not None:", "            raise CannotBeForth()"]
        read_members += [f"        {line}" for line in code]
        read_member_n += [f"        if member_index == {number}:", *(f"            {line}" for line in code)]
        strided_interpretation.append(f"        raise CannotBeStrided({name!r})")
        form = f"RegularForm({form}, {length})" if length else form
        awkward_form.append(f"        contents[{name!r}] = {form}")
        member_names.append(name)

    @abstractmethod
    def _how(self, length: int, containers: list[str]) -> tuple[list[str], str]:
        """Code, of which the last line is the value; and the form of one value. `containers` of the class may grow."""


class _Number(_Member, Model_TStreamerElement):  # type: ignore[misc]
    """A number that may be stored with less precision: no basic type, so that its neighbours are read without it."""

    def _how(self, length: int, containers: list[str]) -> tuple[list[str], str]:
        kind = str(self.typename)
        how = (kind, str(self.title), length)
        read = f"read_member(chunk, cursor, context, *{how!r})"
        form = f"NumpyForm({'float64' if kind.startswith('Double32_t') else 'float32'!r})"
        return ["from colonnade.importing.reduced_precision import read_member", read], form


_Number.__name__ = "Model_TStreamerBasicType"  # uproot derives the name of ROOT's from it


class _Objects(_Member):
    """An array of objects."""

    def _how(self, length: int, containers: list[str]) -> tuple[list[str], str]:
        kind = f"c({str(self.typename)!r})"
        read = f"{kind}.read(chunk, cursor, context, file, self._file, self.concrete)"
        return [f"[{read} for _ in range({length})]"], f"{kind}.awkward_form(file, context)"


class _Texts(_Member):
    """An array of TString, which has one header."""

    def _how(self, length: int, containers: list[str]) -> tuple[list[str], str]:
        form = "uproot.containers.AsString(False).awkward_form(file, context)"
        header = "uproot.deserialization.numbytes_version(chunk, cursor, context)"
        return [header, f"[cursor.string(chunk, context) for _ in range({length})]"], form


class _Containers(_Member):
    """An array of containers, or of std::string, which has one header."""

    def _how(self, length: int, containers: list[str]) -> tuple[list[str], str]:
        place = f"_stl_container{len(containers)}"
        containers.append(
            parse_typename(str(self.typename), quote=True, outer_header=True, string_header=True)
        )
        # uproot's own error for members in this order. The reader of the basket catches it and reorders them.
        code = [
            "if uproot.deserialization.numbytes_version(chunk, cursor, context)[2]:",
            "    raise NotImplementedError('memberwise serialization of an array')",
        ]
        one = f"self.{place}.read(chunk, cursor, context, file, self._file, self.concrete, False)"
        return [*code, f"[{one} for _ in range({length})]"], f"cls.{place}.awkward_form(file, context)"


class _OfMaps(_Member):
    """A map, or a container of maps."""

    def _how(self, length: int, containers: list[str]) -> tuple[list[str], str]:
        place = f"_stl_container{len(containers)}"
        made = parse_typename(str(self.typename), quote=True, outer_header=True, string_header=True)
        containers.append(f"__import__('colonnade.importing.maps').importing.maps.with_maps({made})")
        read = f"self.{place}.read(chunk, cursor, context, file, self._file, self.concrete)"
        return [read], f"cls.{place}.awkward_form(file, context)"


@named_as_its_base
class _Counted(streamers.Model_TStreamerBasicPointer):  # type: ignore[misc]
    """An array with a counter, which uproot's faster way of reading does not find among other numbers."""

    def class_code(
        self, streamerinfo: Any, number: int, elements: Any, read_members: list[str], *others: Any
    ) -> None:
        read_members += ["        if forth_obj is not None:", "            raise CannotBeForth()"]
        super().class_code(streamerinfo, number, elements, read_members, *others)


_Maps = named_as_its_base(type("", (_OfMaps, streamers.Model_TStreamerSTL), {}))
_ARRAYS = {
    f"TStreamer{name}": named_as_its_base(type("", (how, getattr(streamers, f"Model_TStreamer{name}")), {}))
    for name, how in {
        "Object": _Objects,
        "ObjectAny": _Objects,
        "String": _Texts,
        "STL": _Containers,
        "STLstring": _Containers,
    }.items()
}
