"""Random tables, conditions and projections: engines answer over a data set as over a table in memory."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import polars.testing
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

import colonnade
import colonnade.polars

FLOATS = [0.0, -0.0, 1.5, -2.25, 1e30, math.inf, -math.inf, math.nan, 5e-324]
TEXTS = ["", "a", "ab", "b", "é", "µ'x", "long " * 40, "%", "_a"]
NUMBERS = {
    "i8": pa.int8(), "u8": pa.uint8(), "i16": pa.int16(), "u16": pa.uint16(), "i32": pa.int32(), "u32": pa.uint32(),
    "i64": pa.int64(), "u64": pa.uint64(),
}  # fmt: skip
REALS = {"f": pa.float32(), "d": pa.float64()}


def a_number(dice: random.Random, kind: pa.DataType) -> int:
    bits = kind.bit_width
    low, high = (
        (0, 2**bits - 1) if pa.types.is_unsigned_integer(kind) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    )
    return dice.choice([dice.randint(0, 9), dice.randint(-9, 9) if low else 3, low, high])


def a_value(dice: random.Random, kind: pa.DataType) -> Any:
    if pa.types.is_integer(kind):
        return a_number(dice, kind)
    if pa.types.is_floating(kind):
        return dice.choice([*FLOATS, dice.gauss(0, 2)])
    if pa.types.is_boolean(kind):
        return dice.random() < 0.5
    if pa.types.is_struct(kind):
        return {field.name: a_value(dice, field.type) for field in kind}
    if pa.types.is_list(kind):
        return [a_value(dice, kind.value_type) for _ in range(dice.choice([0, 0, 1, 3]))]
    return dice.choice(TEXTS)


def a_table(dice: random.Random, rows: int) -> pa.Table:
    """Columns of all types; those whose name begins with n have missing values."""
    kinds = {**NUMBERS, **REALS, "b": pa.bool_(), "s": pa.string()}
    chosen = {name: kinds[name] for name in dice.sample(sorted(kinds), 6)}
    plain = sorted(chosen)
    chosen |= {f"n{name}": chosen[name] for name in dice.sample(plain, 3)}
    chosen["v"] = pa.list_(dice.choice([pa.int32(), pa.float64(), pa.string()]))
    chosen["r"] = pa.struct([("a", pa.int32()), ("t", pa.string()), ("w", pa.list_(pa.float32()))])
    columns = {
        name: pa.array(
            [None if name[0] == "n" and dice.random() < 0.3 else a_value(dice, kind) for _ in range(rows)],
            kind,
        )
        for name, kind in chosen.items()
    }
    return pa.table({"row": pa.array(range(rows), pa.int64()), **columns})


def put(table: pa.Table, path: Path, dice: random.Random) -> Path:
    schema_of = {True: "std::optional<{}>", False: "{}"}
    names = {
        "int8": "std::int8_t", "uint8": "std::uint8_t", "int16": "std::int16_t", "uint16": "std::uint16_t",
        "int32": "std::int32_t", "uint32": "std::uint32_t", "int64": "std::int64_t", "uint64": "std::uint64_t",
        "float": "float", "double": "double", "bool": "bool", "string": "std::string",
    }  # fmt: skip
    schema: dict[str, Any] = {}
    for field in table.schema:
        if pa.types.is_list(field.type):
            schema[field.name] = f"std::vector<{names[str(field.type.value_type)]}>"
        elif pa.types.is_struct(field.type):
            schema[field.name] = {"a": "std::int32_t", "t": "std::string", "w": "std::vector<float>"}
        else:
            schema[field.name] = schema_of[field.name[0] == "n"].format(names[str(field.type)])
    with colonnade.create(path, "Events", schema) as writer:
        at = 0
        while at < table.num_rows:
            step = dice.randint(1, 40)
            writer.extend(table.slice(at, step))
            writer.commit_cluster()
            at += step
    return path


def literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, float):
        return f"'{value}'::double" if not math.isfinite(value) else f"({value!r}::double)"
    return str(value).lower() if isinstance(value, bool) else f"({value})"


def a_condition(dice: random.Random, table: pa.Table, depth: int = 2) -> str:
    """A condition in SQL."""
    if depth and dice.random() < 0.5:
        parts = [a_condition(dice, table, depth - 1) for _ in range(2)]
        return dice.choice(["({} and {})", "({} or {})", "(not {} or {})"]).format(*parts)
    scalars = [f for f in table.schema if not pa.types.is_nested(f.type)]
    field = dice.choice(scalars)
    column = f'"{field.name}"'
    values = [v for v in table[field.name].to_pylist() if v is not None]
    value = literal(dice.choice(values) if values and dice.random() < 0.7 else a_value(dice, field.type))
    forms = [
        f"{column} {dice.choice(['=', '<>', '<', '<=', '>', '>='])} {value}",
        f"{column} is {dice.choice(['', 'not '])}null",
        f"{column} in ({value}, {literal(a_value(dice, field.type))}, {literal(a_value(dice, field.type))})",
        f"{column} between {value} and {literal(a_value(dice, field.type))}",
        f"{column} is distinct from {value}",
        f"len(v) {dice.choice(['=', '>'])} {dice.randint(0, 3)}",
        f"r.a {dice.choice(['<', '=', '>'])} {dice.randint(-3, 9)}",
        f"r.t = {literal(dice.choice(TEXTS))}",
        f"len(r.w) > {dice.randint(0, 2)}",
        "row % 3 = 1",
    ]
    if pa.types.is_floating(field.type):
        forms += [f"isnan({column})", f"abs({column}) < 1"]
    if pa.types.is_string(field.type):
        forms += [f"{column} like '%a%'", f"length({column}) > 1", f"{column} || 'x' > 'ax'"]
    return dice.choice(forms)


def same(a: Any, b: Any) -> bool:
    """Whether values are the same bits, NaN and signs of zeros included."""
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and bool(a == b)


def a_query(dice: random.Random, table: pa.Table) -> str:
    condition = a_condition(dice, table)
    columns = ", ".join(f'"{name}"' for name in dice.sample(table.column_names, dice.randint(1, 5)))
    return dice.choice(
        [
            f"select row, {columns} from source where {condition} order by row",
            f"select count(*), min(row), max(row) from source where {condition}",
            f"select row, r.t, len(v), r.w from source where {condition} order by row limit {dice.randint(0, 9)}",
            f"select b, count(*) from (select row % 5 as b from source where {condition}) group by b order by b",
            f"select s.row from source s join source t on s.row = t.row + 1 where s.{'row'} > 3 order by s.row",
            f"select row from source where row in (select row from source where {condition}) order by row",
        ]
    )


def a_source(dice: random.Random, data_set: colonnade.DataSet) -> Any:
    """A data set, or a data frame of it."""
    return dice.choice([data_set, colonnade.DataFrame(data_set)])


@pytest.mark.parametrize("seed", range(40))
def test_duckdb(tmp_path: Path, seed: int) -> None:
    """Against DuckDB's own tables, which push no conditions into Arrow: NaN is the largest number and equals itself."""
    dice = random.Random(seed)
    table = a_table(dice, dice.choice([0, 1, 150]))
    own = duckdb.connect()
    own.register("arrow", table)
    own.sql("create table source as select * from arrow")
    with colonnade.open(put(table, tmp_path / "f.root", dice)) as data_set:
        scanned = duckdb.connect()
        scanned.register("source", a_source(dice, data_set).to_arrow_dataset())
        for _ in range(12):
            query = a_query(dice, table)
            expected = own.sql(query).to_arrow_table().to_pylist()
            found = scanned.sql(query).to_arrow_table().to_pylist()
            assert same(found, expected), query


@pytest.mark.parametrize("seed", range(40))
def test_polars(tmp_path: Path, seed: int) -> None:
    dice = random.Random(1000 + seed)
    table = a_table(dice, dice.choice([0, 1, 150]))
    with colonnade.open(put(table, tmp_path / "f.root", dice)) as data_set:
        eager = pl.DataFrame(data_set.to_arrow())
        assert same(eager.to_dicts(), table.to_pylist())
        for _ in range(12):
            condition, columns = (
                a_polars_condition(dice, table),
                dice.sample(table.column_names, dice.randint(1, 5)),
            )
            queries = [colonnade.polars.scan(a_source(dice, data_set)), eager.lazy()]
            if dice.random() < 0.3:
                first, rows = dice.randint(0, 50), dice.randint(0, 60)
                queries = [query.slice(first, rows) for query in queries]
            queries = [query.filter(condition) for query in queries]
            if dice.random() < 0.3:
                rows = dice.randint(0, 20)
                queries = [query.head(rows) for query in queries]
            if dice.random() < 0.3:
                queries = [
                    query.with_columns(twice=pl.col("row") * 2).filter(pl.col("twice") % 4 == 0)
                    for query in queries
                ]
            found, expected = (query.select(columns).collect() for query in queries)
            polars.testing.assert_frame_equal(found, expected, check_exact=True)
            assert same(found.to_dicts(), expected.to_dicts()), str(condition)


def a_polars_condition(dice: random.Random, table: pa.Table, depth: int = 2) -> pl.Expr:
    if depth and dice.random() < 0.5:
        left, right = (a_polars_condition(dice, table, depth - 1) for _ in range(2))
        return dice.choice([left & right, left | right, ~left | right, left.xor(right)])
    field = dice.choice([f for f in table.schema if not pa.types.is_nested(f.type)])
    column = pl.col(field.name)
    values = [v for v in table[field.name].to_pylist() if v is not None]
    value = dice.choice(values) if values and dice.random() < 0.7 else a_value(dice, field.type)
    forms = [
        column == value, column != value, column < value, column >= value, column.is_null(), column.eq_missing(value),
        column.is_in([value]), column.is_between(pl.lit(value), pl.lit(value)),
        pl.col("v").list.len() > dice.randint(0, 2),
        pl.col("r").struct.field("a") > dice.randint(-3, 9), pl.col("row") % 3 == 1, pl.lit(dice.random() < 0.5),
        pl.col("row") > pl.col("row").mean(), pl.col("r").struct.field("w").list.len() > 0,
    ]  # fmt: skip
    if pa.types.is_floating(field.type):
        forms += [column.is_nan(), column.is_finite(), column.abs() < 1]
    if pa.types.is_string(field.type):
        forms += [column.str.contains("a", literal=True), column.str.len_chars() > 1]
    return dice.choice(forms)


@pytest.mark.parametrize("seed", range(30))
def test_pyarrow_datasets(tmp_path: Path, seed: int) -> None:
    dice = random.Random(2000 + seed)
    table = a_table(dice, dice.choice([0, 1, 150]))
    plain = ds.InMemoryDataset(table)
    with colonnade.open(put(table, tmp_path / "f.root", dice)) as data_set:
        scanned = a_source(dice, data_set).to_arrow_dataset()
        for _ in range(12):
            condition = a_pyarrow_condition(dice, table)
            columns: Any = dice.choice(
                [
                    dice.sample(table.column_names, dice.randint(0, 5)),
                    {"twice": pc.field("row") * 2, "inner": pc.field("r", "a"), "v": pc.field("v")},
                    {"fourth": pc.field(4), "inner": pc.field("r", 1)},
                    ["r.t", "row"],
                    None,
                ]
            )
            found, expected = (
                each.to_table(columns=columns, filter=condition, batch_size=dice.choice([1, 7, 1000]))
                for each in (scanned, plain)
            )
            assert found.num_rows == expected.num_rows, str(condition)
            assert same(found.to_pylist(), expected.to_pylist()), str(condition)
            assert scanned.count_rows(filter=condition) == plain.count_rows(filter=condition)


def a_pyarrow_condition(dice: random.Random, table: pa.Table, depth: int = 2) -> pc.Expression:
    if depth and dice.random() < 0.5:
        left, right = (a_pyarrow_condition(dice, table, depth - 1) for _ in range(2))
        return dice.choice([left & right, left | right, ~left | right])
    field = dice.choice([f for f in table.schema if not pa.types.is_nested(f.type)])
    column = pc.field(dice.choice([field.name, table.column_names.index(field.name)]))
    value = pa.scalar(a_value(dice, field.type), field.type)
    forms = [
        column == value, column != value, column < value, column >= value, column.is_null(), column.is_valid(),
        column.isin(pa.array([value.as_py()], field.type)), pc.field("r", "a") > dice.randint(-3, 9),
        pc.list_value_length(pc.field("v")) > dice.randint(0, 2), pc.field("row") > 3, pc.scalar(dice.random() < 0.5),
    ]  # fmt: skip
    if pa.types.is_floating(field.type):
        forms += [column.is_nan(), column.is_null(nan_is_null=True)]
    return dice.choice(forms)


def test_duckdb_finds_variables(tmp_path: Path) -> None:
    """A data set that a variable holds is a table in a query."""
    dice = random.Random(5)
    table = a_table(dice, 40)
    events = colonnade.open(put(table, tmp_path / "f.root", dice))  # noqa: F841 - DuckDB finds variables by name
    assert duckdb.sql("select count(*), sum(row) from events where row > 10").fetchall() == [
        (29, sum(range(11, 40)))
    ]
    assert duckdb.sql("select row from events order by row desc limit 1").fetchall() == [(39,)]
    # More than once: nothing of the data set is used up.
    assert duckdb.sql("select count(*) from events a join events b on a.row = b.row").fetchall() == [(40,)]
