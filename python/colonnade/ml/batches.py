"""Batches of a DataFrame's columns, shuffled by a seed."""

from __future__ import annotations

import atexit
import math
import os
import threading
import zlib
from _thread import RLock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeGuard, TypeVar, cast

import numpy as np

from colonnade.annotations import checked_methods
from colonnade.errors import TypeMismatchError, UsageError
from colonnade.frame import DataFrame
from colonnade.frame.expressions import Expression, ExpressionLike
from colonnade.frame.steps import ENTRY, Steps
from colonnade.misuse import mapping_of, shown, whole_number
from colonnade.reading.dataset import DataSet
from colonnade.threads import start_thread

from .rows import ArrayLibrary, Column, Form, Jagged, Rows, Table, converter, form_of, installed, joined
from .windows import ENTRIES, Part, Piece, Share, Window, Windows

if TYPE_CHECKING:
    from torch.utils.data import IterableDataset

__all__ = ["Batch", "Batches"]

T = TypeVar("T")

MATRIX = ""
"""The name of the table of all features, which no column has."""


class Batch(NamedTuple):
    """Rows of one batch."""

    features: Any
    """By name, or a matrix of shape (rows, features)."""
    target: Any
    """None if there is none; by name if there are several."""
    weight: Any
    """None if there is none."""
    entry: Any
    """The numbers of the entries."""


@dataclass(frozen=True)
class _Settings:
    features: tuple[str, ...]
    target: tuple[str, ...]
    weight: str | None
    batch_size: int
    shuffle: bool
    seed: int
    matrix: bool
    library: ArrayLibrary
    drop_last: bool
    class_weights: Mapping[Any, float] | None
    rank: int
    world_size: int


class _Position(NamedTuple):
    """Where an iteration goes on."""

    epoch: int = 0
    window: int = 0
    row: int = 0
    """The row in the window."""
    rows: int = 0
    """The rows of the window, which filters or other data would change; 0 at its begin."""


@checked_methods
class Batches:
    """Batches of columns for training, in NumPy, PyTorch or JAX arrays.

    One iteration over all rows is an epoch; the next iteration is the next epoch, in another order. Stretches of
    entries are read in random order, by all threads, and rows are permuted within windows of several stretches; the
    next window is read meanwhile. The order follows from the data, the seed, the epoch, `window` and the number of
    ranks alone. Batches of files can be pickled, with their position; the callables of their definitions go with them.

    Args:
        data: a DataFrame with its filters and definitions, or a data set.
        features: columns, wildcards, expressions, or all columns if None; numbers or lists of numbers. Each is named
            once; one that a wildcard matches, too, is there once.
        target: one column of numbers or several, or none.
        weight: a column with one number per row.
        batch_size: rows of a batch.
        shuffle: False for the order of entries.
        seed: of the order, 0 or more.
        window: entries that are permuted together; twice as many are in memory.
        pad: the length to which lists are cut or filled, for all or by name; lists are `Jagged` otherwise.
        pad_value: what they are filled with.
        dtype: the type of the features, bool, an integer or a float, as "float32"; their own types if None. Targets
            and weights keep theirs.
        matrix: give features as one matrix, padded lists as several columns of it.
        library: "np", "torch" or "jax". Jagged features of "torch" are nested tensors.
        drop_last: leave out a last batch with fewer rows.
        class_weights: what the weight is multiplied by for each value of the target; "balanced" for the number of rows
            over the number of classes times the rows of the class.
        in_memory: keep the columns after the first epoch.
        threads: number of threads that read; those of the DataFrame if None.

    Raises:
        NotFoundError: unknown columns.
        TypeMismatchError: a column that is neither numbers nor lists of numbers, or an argument of the wrong kind.
        UsageError: contradictory settings, a column that is named twice, numbers that are too small, or a range of
            entries above.
        UnsupportedError: the package of `library` is not installed.
        ConversionError: of the iteration: a value that `dtype`, or an integer of JAX without 64 bits, cannot hold.
    """

    def __init__(
        self,
        data: DataFrame | DataSet,
        features: Sequence[ExpressionLike] | None = None,
        *,
        target: ExpressionLike | Sequence[ExpressionLike] | None = None,
        weight: ExpressionLike | None = None,
        batch_size: int = 1024,
        shuffle: bool = True,
        seed: int = 0,
        window: int = 1 << 20,
        pad: Mapping[str, int] | int | None = None,
        pad_value: float = 0,
        dtype: Any = None,
        matrix: bool = False,
        library: ArrayLibrary = "np",
        drop_last: bool = False,
        class_weights: Literal["balanced"] | Mapping[Any, float] | None = None,
        in_memory: bool = False,
        threads: int | None = None,
    ) -> None:
        frame = _frame_of(data)
        batch_size, window = _at_least(1, "batch_size", batch_size), _at_least(1, "window", window)
        targets = _texts(frame, [] if target is None else _listed(target))
        weights = _texts(frame, [] if weight is None else [weight])
        inputs = _texts(frame, _inputs(frame, features, [*targets, *weights]))
        steps = Steps(frame, {**inputs, **targets, **weights, ENTRY: ENTRY}, threads)
        if steps.is_after_range:
            raise UsageError("batches cannot be made after a range", "DataFrame(..., entries=(first, last))")
        forms = [_form(frame, name, text, pad, dtype, pad_value) for name, text in inputs.items()]
        single = {_own(name): _form(frame, name, text) for name, text in {**targets, **weights}.items()}
        _check_forms(forms, matrix, list(single.values()))
        _check_pad(pad, forms)
        converter(library)
        tables, plain = _tables(forms, matrix)
        columns = {form.name: form for form in forms} | single
        self._windows = Windows(steps, columns, tables, [*plain, *single], Share(), window, keeps=in_memory)
        self._share = Share()
        self._settings = _Settings(
            tuple(inputs),
            tuple(targets),
            next(iter(weights), None),
            batch_size,
            shuffle,
            _at_least(0, "seed", seed),
            matrix,
            library,
            drop_last,
            None,
            0,
            1,
        )
        if class_weights is not None:
            self._weigh(class_weights)
        self._wants_balance = isinstance(class_weights, str)
        self._at = _Position()
        self._iterations = 0

    def __repr__(self) -> str:
        settings = self._settings
        target = f", target {', '.join(settings.target)}" if settings.target else ""
        return f"<Batches of {settings.batch_size} rows: {', '.join(settings.features)}{target}>"

    # ---- Parts of the rows

    def split(self, fraction: float, seed: int = 0) -> tuple[Batches, Batches]:
        """Split the rows into training and validation rows; the latter keep the order of entries.

        A hash of the number of an entry decides, so that an entry is on the same side with any filters.

        Args:
            fraction: the approximate fraction of training rows.
            seed: of the hash; another one gives another split. Only the first split uses it.
        """
        if not 0 < fraction < 1:
            raise UsageError(f"{shown(fraction)} is not a fraction of the rows", "a number between 0 and 1")
        first, rest = self._share.cut(float(fraction), int(seed))
        return self._with(first), self._with(rest, shuffle=False)

    def for_rank(self, rank: int, world_size: int) -> Batches:
        """Return the share of one of several processes that train together.

        All get the same number of full batches, as many as the rows are enough for; an additional pass over the
        filters counts them. An epoch with fewer rows than `world_size * batch_size` is a UsageError when it begins.
        """
        _require_member("rank", rank, "world_size", world_size)
        return self._with(self._share, rank=int(rank), world_size=int(world_size))

    # ---- Epochs

    def __iter__(self) -> Iterator[Batch]:
        """Continue at the position, and move it with each batch.

        A later iteration takes the position over: this one is a UsageError then. One for which `set_epoch` or
        `load_state_dict` sets another position goes on to the end of its epoch, and moves it no more.
        """
        self._iterations = number = self._iterations + 1
        own = self._at
        for parts, position in self._parts(own):
            if self._iterations != number:
                raise UsageError(
                    "a later iteration over these batches has taken over their position",
                    "one iteration at a time, or copy.copy(batches), which has a position of its own",
                )
            if self._at is own:
                self._at = own = position
            yield self._batch(parts)
        if self._at is own:
            self.set_epoch(own.epoch + 1)

    def __len__(self) -> int:
        """Return the number of batches of an epoch; the first call computes the filters."""
        settings, rows = self._settings, self.num_rows
        if settings.world_size == 1:
            full, rest = divmod(rows, settings.batch_size)
            return full + (rest > 0 and not settings.drop_last)
        batches = rows // (settings.batch_size * settings.world_size)
        if rows and not batches:
            raise UsageError(
                f"{rows} rows are not a batch of {settings.batch_size} for each of {settings.world_size} ranks",
                f"batch_size={max(rows // settings.world_size, 1)} or less",
            )
        return batches

    @property
    def num_rows(self) -> int:
        """The number of rows of an epoch, before they are shared among ranks."""
        return int(self._windows.counts().sum())

    @property
    def epoch(self) -> int:
        """The number of the epoch that the next iteration begins or continues."""
        return self._at.epoch

    def set_epoch(self, epoch: int) -> None:
        """Begin the next iteration with this epoch, 0 or more."""
        self._at = _Position(_at_least(0, "epoch", epoch))

    def state_dict(self) -> dict[str, int]:
        """Return the position of the iteration, after the last batch, and a number that tells other orders."""
        return {**self._at._asdict(), "order": self._order()}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Continue another iteration over the same data with the same settings.

        `batch_size`, `drop_last`, `threads`, and what is in a batch, may be others, and at the begin of an epoch all.

        Raises:
            TypeMismatchError: no whole numbers by name.
            UsageError: a negative number, or the state of another order: other entries, another seed, window, split or
                rank, or of ranks another `batch_size`. The next iteration raises it where other rows pass the filters.
        """
        numbers = {"rows": 0, "order": self._order(), **mapping_of(state, "what state_dict() returned")}
        *places, order = (_at_least(0, name, numbers.get(name)) for name in (*_Position._fields, "order"))
        position = _Position(*places)
        if order != self._order() and position != _Position(position.epoch):
            raise UsageError(
                "the state is of other data or settings, which put the rows in another order",
                "the data, seed, window, split and rank of that iteration; or set_epoch(...)",
            )
        self._at = position

    def as_torch(self) -> IterableDataset[Batch]:
        """Return a `torch.utils.data.IterableDataset` for `DataLoader(dataset, batch_size=None, num_workers=...)`.

        The order is the same for any number of workers. Reading uses all threads of one process: workers help only
        if Python code takes most of the time.

        Raises:
            UnsupportedError: PyTorch is not installed.
        """
        installed("torch")
        from .torch import BatchDataset

        return BatchDataset(self)

    def shared_batches(self, worker: int, workers: int) -> Iterator[Batch]:
        """Iterate over every `workers`-th batch from the present position on, beginning with number `worker`."""
        _require_member("worker", worker, "workers", workers)
        parts = self._parts(self._at)
        return (self._batch(each) for number, (each, _) in enumerate(parts) if number % workers == worker)

    # ---- Inside

    def _with(self, share: Share, **changes: Any) -> Batches:
        other = object.__new__(Batches)
        other._share = share
        other._settings = replace(self._settings, **changes)
        other._windows = self._windows.of(share, other._settings.world_size)
        other._at = _Position()
        other._iterations = 0
        other._wants_balance = self._wants_balance
        if self._wants_balance:
            other._weigh("balanced")
        return other

    def _generator(self, *place: int) -> np.random.Generator | None:
        settings = self._settings
        return np.random.default_rng([settings.seed, *place]) if settings.shuffle else None

    def _order(self) -> int:
        """A number that is another one for what puts rows in another order, filters and the values of files aside."""
        settings = self._settings
        ranks = (settings.rank, settings.world_size, settings.batch_size) if settings.world_size > 1 else ()
        seed = settings.seed if settings.shuffle else None
        return zlib.crc32(repr((seed, ranks, *self._windows.identity)).encode())

    def _plan(self, epoch: int) -> list[list[Piece]]:
        settings, generator = self._settings, self._generator(epoch)
        if settings.world_size == 1:
            return self._windows.plan(generator)
        rows = len(self) * settings.batch_size
        return self._windows.plan(generator, (settings.rank * rows, (settings.rank + 1) * rows))

    def _parts(self, start: _Position) -> Iterator[tuple[list[Part], _Position]]:
        """Yield the parts of each batch, and the start of the next one."""
        settings = self._settings
        epoch, window, row, rows = start
        plan = self._plan(epoch)
        if window > len(plan):
            raise _no_such_position(f"window {window} of {len(plan)}")

        def load(number: int) -> Window:
            place = number * settings.world_size + settings.rank
            return self._windows.rows_of(plan[number], self._generator(epoch, place))

        parts: list[Part] = []
        held = 0
        for number, whole in _ahead(load, range(window, len(plan))):
            first, count = row if number == window else 0, len(whole)
            if first > count:
                raise _no_such_position(f"row {first} of {count}")
            if number == window and rows not in (0, count):
                raise _no_such_position(f"window of {rows} rows, but one of {count}")
            while first < count:
                last = min(first + settings.batch_size - held, count)
                parts.append(Part(whole, first, last))
                held, first = held + last - first, last
                if held < settings.batch_size:
                    continue
                yield parts, _Position(epoch, number, first, count)
                parts, held = [], 0
        if parts and not settings.drop_last:
            yield parts, _Position(epoch, len(plan))

    def _weigh(self, weights: Literal["balanced"] | Mapping[Any, float]) -> None:
        if len(self._settings.target) != 1:
            raise UsageError("class weights need a single target", "target='is_signal'")
        if isinstance(weights, str) and weights == "balanced":
            found: dict[Any, int] = {}
            for values in self._windows.values(_own(self._settings.target[0])):
                for value, count in zip(*np.unique(values, return_counts=True), strict=True):
                    found[_class(value)] = found.get(_class(value), 0) + int(count)
            rows = sum(found.values())
            weights = {value: rows / (len(found) * count) for value, count in found.items()}
        given = mapping_of(weights, "class_weights={0: 1, 1: 2}, or 'balanced'")
        factors = {_class(value): _factor(value, factor) for value, factor in given.items()}
        self._settings = replace(self._settings, class_weights=factors)

    def _batch(self, parts: list[Part]) -> Batch:
        settings = self._settings
        rows = joined([part.rows() for part in parts])
        convert = converter(settings.library)
        targets = {name: convert(rows[_own(name)]) for name in settings.target}
        weight = self._weight(rows)
        if settings.matrix:
            features = convert(rows[MATRIX])
        else:
            features = {name: _converted(rows[name], convert, settings.library) for name in settings.features}
        return Batch(
            features,
            None if not targets else targets if len(targets) > 1 else next(iter(targets.values())),
            None if weight is None else convert(weight),
            convert(rows[ENTRIES].astype(np.int64)),  # type: ignore[union-attr]
        )

    def _weight(self, rows: Rows) -> Any:
        settings = self._settings
        weight = None if settings.weight is None else rows[_own(settings.weight)]
        if settings.class_weights is None:
            return weight
        target = np.asarray(rows[_own(settings.target[0])])
        classes, numbers = np.unique(target, return_inverse=True)
        known = [_class(each) for each in classes.tolist()]
        unknown = [each for each in known if each not in settings.class_weights]
        if unknown:
            raise UsageError(
                f"there is no weight for the class {unknown[0]!r}", "class_weights for all of them"
            )
        factors = np.array([settings.class_weights[each] for each in known])[numbers]
        return factors if weight is None else factors * weight


def _class(value: Any) -> Any:
    """The key of a class. NaN is one, though each is different from any other."""
    plain = value.item() if isinstance(value, np.generic) else value
    return math.nan if isinstance(plain, float) and math.isnan(plain) else plain


def _factor(value: Any, factor: Any) -> float:
    if isinstance(factor, bool) or not isinstance(factor, Real):
        raise TypeMismatchError(f"class_weights[{shown(value)}]={shown(factor)} is not a number")
    try:
        return float(factor)
    except OverflowError:
        raise UsageError(f"class_weights[{shown(value)}]={shown(factor)} is too large for a double") from None


def _converted(column: Column, convert: Callable[[Any], Any], library: ArrayLibrary) -> Any:
    if not isinstance(column, Jagged):
        return convert(column)
    if library == "torch":
        from .torch import nested

        return nested(column)
    return Jagged(convert(column.values), convert(column.offsets))


_threads: dict[SimpleQueue[int | None], tuple[SimpleQueue[None], RLock]] = {}
"""What the threads that load windows wait for, what tells their end, and the lock that they hold while they load."""
_MOST_SECONDS_BEFORE_FORK = 10
_forking = threading.local()
"""The locks that a thread holds while it forks."""


def _ahead(load: Callable[[int], T], numbers: Sequence[int]) -> Iterator[tuple[int, T]]:
    """Yield the loaded object of each number; the next one is loaded meanwhile.

    Ctrl-C may come at any moment. The queues are in C: an exception of a signal's handler leaves a condition locked.
    """
    wanted: SimpleQueue[int | None] = SimpleQueue()
    loaded: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()
    ended: SimpleQueue[None] = SimpleQueue()
    loading = RLock()

    def work() -> None:
        try:
            while (number := wanted.get()) is not None:
                with loading:
                    loaded.put((load(number), None))
        except BaseException as error:
            loaded.put((None, error))
        finally:
            ended.put(None)

    start_thread(work)
    try:
        _threads[wanted] = ended, loading
        for place, number in enumerate(numbers):
            if place == 0:
                wanted.put(number)
            if wanted not in _threads:
                raise UsageError(
                    "an iteration over batches cannot go on in a forked child, or while the program ends",
                    "in a child another iteration, over a copy.copy(batches)",
                )
            value, error = loaded.get()
            if error is not None:
                raise error
            if place + 1 < len(numbers):
                wanted.put(numbers[place + 1])
            yield number, value  # type: ignore[misc]
            del value
    finally:
        _end(wanted)


def _end(wanted: SimpleQueue[int | None]) -> None:
    """End a thread, and wait until it has."""
    wanted.put(None)
    if known := _threads.pop(wanted, None):
        known[0].get()


@atexit.register
def _end_all() -> None:
    """End the threads of iterations that were left: once the interpreter is torn down, they could never say so."""
    for wanted in list(_threads):
        _end(wanted)


def _before_fork() -> None:
    """Wait until no thread loads: a child would never get what one has locked, such as the data frame.

    One that itself waits for the caller, a callable of that data frame, is not waited for to the end.
    """
    _forking.held = []
    for _, loading in list(_threads.values()):
        if loading.acquire(timeout=_MOST_SECONDS_BEFORE_FORK):
            _forking.held.append(loading)


def _after_fork() -> None:
    for loading in getattr(_forking, "held", []):  # none if imported during the fork
        loading.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_threads.clear)


def _frame_of(data: DataFrame | DataSet) -> DataFrame:
    if isinstance(data, DataFrame):
        return data
    if isinstance(data, DataSet):
        return DataFrame(data)
    raise TypeMismatchError(
        f"batches are not made of a {type(data).__name__}", "a colonnade.DataFrame, or a data set"
    )


def _is_list(columns: object) -> bool:
    return isinstance(columns, Iterable) and not isinstance(columns, str | Expression)


def _listed(target: ExpressionLike | Sequence[ExpressionLike]) -> Sequence[ExpressionLike]:
    targets = list(cast("Sequence[ExpressionLike]", target if _is_list(target) else [target]))
    _check_different(targets, "target")
    return targets


def _inputs(
    frame: DataFrame, features: Sequence[ExpressionLike] | None, others: Sequence[str]
) -> Sequence[ExpressionLike]:
    if features is None:
        return [name for name in frame._select(None) if name not in others]
    if not _is_list(features):
        one = str(features) if isinstance(features, str | Expression) else "x"
        raise UsageError("features must be a list of columns", f"[{one!r}]")
    features = list(features)
    names: dict[str, ExpressionLike] = {}
    _check_different([each for each in features if not _is_pattern(each)], "feature")
    for each in features:
        names |= {str(one): one for one in (frame._select(each) if _is_pattern(each) else [each])}
    return list(names.values())


def _is_pattern(feature: ExpressionLike) -> TypeGuard[str]:
    return isinstance(feature, str) and any(c in feature for c in "*?")


def _check_different(columns: Sequence[ExpressionLike], what: str) -> None:
    """Refuse columns that are named twice: a batch has each once, and a matrix fewer columns than were named."""
    names = list(map(str, columns))
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"the {what} '{twice}' is named twice", "each name once")


def _texts(frame: DataFrame, expressions: Sequence[ExpressionLike]) -> dict[str, str]:
    return {str(each): frame._text(each) for each in expressions}


def _form(
    frame: DataFrame,
    name: str,
    text: str,
    pad: Mapping[str, int] | int | None = None,
    dtype: Any = None,
    fill: float = 0,
) -> Form:
    return form_of(name, frame._graph.column_type(frame._node, text), pad, dtype, fill)


def _own(name: str) -> str:
    """The name of a target or weight among the rows: a feature of the same name may have another type."""
    return f"own {name}"


def _check_forms(features: Sequence[Form], matrix: bool, single: Sequence[Form]) -> None:
    if not features:
        raise UsageError("no features are named", "the names of columns, or None for all")
    for form in single:
        if form.is_list:
            raise UsageError(f"'{form.name}' holds lists, but targets and weights must be numbers")
    for form in features:
        if matrix and form.is_list and form.length is None:
            raise UsageError(f"lists of '{form.name}' do not fit in a matrix", f"pad={{{form.name!r}: 4}}")


def _check_pad(pad: Mapping[str, int] | int | None, features: Sequence[Form]) -> None:
    lists = [form.name for form in features if form.is_list]
    for name in pad if isinstance(pad, Mapping) else ():
        if name not in lists:
            raise UsageError(f"'{name}' in pad= is no list among the features", f"one of {lists}")


def _tables(features: Sequence[Form], matrix: bool) -> tuple[dict[str, Table], list[str]]:
    """The tables of the features, and those that are in none."""
    if matrix:
        return {MATRIX: Table.of(features)}, []
    padded = {form.name: Table.of([form]) for form in features if form.length is not None}
    return padded, [form.name for form in features if form.length is None]


def _at_least(least: int, name: str, value: object) -> int:
    number = whole_number(name, value)
    if number < least:
        raise UsageError(f"{name}={number} is too small", f"{least}, {least + 1}, ...")
    return number


def _require_member(name: str, number: int, total_name: str, total: int) -> None:
    if not 0 <= number < total:
        raise UsageError(
            f"{name}={number} does not exist with {total_name}={total}", f"0 <= {name} < {total_name}"
        )


def _no_such_position(what: str) -> UsageError:
    return UsageError(f"there is no {what}: the state is of other data or settings", "set_epoch(0)")
