"""Tables where they live: the same rows from every place, real engines, and no password anywhere."""

import datetime
import hashlib
import io
import os
import re
import sqlite3
import sys
import types
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import postgres
from fewlabel.addresses import Address
from fewlabel.cli.main import run
from fewlabel.exceptions import TableError
from fewlabel.tables import open_table, read_table, table_writer

QUICK = ["--target", "outcome", "--method", "logistic-regression", "--quiet"]
COLUMNS = {
    "id": "INTEGER",
    "age": "REAL",
    "visits": "INTEGER",
    "city": "TEXT",
    "member": "BOOLEAN",
    "since": "DATE",
    "seen": "TIMESTAMP",
    "zip": "TEXT",
    "note": "TEXT",
    "outcome": "INTEGER",
}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def make_rows(n=120, seed=0):
    """Python's own values: integers and booleans with gaps, dates, moments, numbers in text, words, labels 0 and 1."""
    rng = np.random.default_rng(seed)
    start = datetime.datetime(2023, 1, 1)
    rows = []
    for k in range(n):
        z = rng.normal()
        y = int(z + rng.normal() > 0)
        seen = start + datetime.timedelta(seconds=int(rng.integers(10**8)))
        visits = int(rng.integers(9)) if rng.random() < 0.8 else None
        city = str(rng.choice(["Paris", "Oslo", "Graz"])) if rng.random() < 0.9 else None
        member = bool(rng.random() < 0.5) if rng.random() < 0.9 else None
        note = f"paid {rng.integers(99)} times, {'late' if y else 'on time'}"
        label = y if rng.random() < 0.5 else None
        rows.append(
            [
                3 * k,
                round(40 + 10 * z, 3),
                visits,
                city,
                member,
                seen.date(),
                seen,
                f"{rng.integers(99999):05}",
                note,
                label,
            ]
        )
    return rows


@pytest.fixture(scope="module")
def rows():
    return make_rows()


def frame(rows):
    table = pd.DataFrame(rows, columns=list(COLUMNS)).astype(
        {"visits": "Int64", "member": "boolean", "outcome": "Int64"}
    )
    return table.astype({"city": object})


def arrow(rows):
    return pa.table({name: list(values) for name, values in zip(COLUMNS, zip(*rows))})


def write_sqlite(rows, path="rows.db"):
    with closing(sqlite3.connect(path)) as database:
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        database.execute(f"CREATE TABLE rows ({columns})")
        plain = [[str(v) if isinstance(v, datetime.date) else v for v in row] for row in rows]
        database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(COLUMNS))})", plain)
        database.commit()


def write_duckdb(rows, path="rows.duckdb"):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(path) as database:
        database.register("given", arrow(rows))
        database.execute("CREATE TABLE rows AS SELECT * REPLACE (age::DECIMAL(10, 3) AS age) FROM given")


def write_workbook(rows, path="rows.xlsx"):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    book.active.append(["nothing here"])
    sheet = book.create_sheet("rows")
    for row in [list(COLUMNS), *rows]:
        sheet.append(row)
    book.save(path)


@pytest.fixture(scope="module")
def bank():
    """Address of a server, with the password in it as people write it, and as URLs want it."""
    driver = pytest.importorskip("adbc_driver_postgresql.dbapi")
    folder, reason = postgres.programs()
    if folder is None:
        pytest.skip(reason)
    with postgres.server(folder) as port:
        url = f"postgresql://me:{quote(postgres.PASSWORD, safe='')}@127.0.0.1:{port}/postgres"
        with driver.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TYPE mood AS ENUM ('sad', 'fine')")
            cursor.adbc_ingest("rows", arrow(make_rows()), mode="create")
            cursor.execute("ALTER TABLE rows ALTER COLUMN age TYPE numeric(10, 3)")
            connection.commit()
        yield url


def model_digest(address, *options):
    assert run(["fit", str(address), *QUICK, "--out", "out", *options]) == 0
    return hashlib.sha256(Path("out/model.fewlabel").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def expected(rows, tmp_path_factory):
    """Digest of the model of the CSV file."""
    folder = tmp_path_factory.mktemp("csv")
    frame(rows).to_csv(folder / "rows.csv", index=False)
    before = Path.cwd()
    os.chdir(folder)
    try:
        return model_digest("rows.csv")
    finally:
        os.chdir(before)


# The same model from everywhere -----------------------------------------------------------------------------


def test_parquet(rows, expected):
    frame(rows).to_parquet("rows.parquet")
    assert model_digest("rows.parquet") == expected


def test_sqlite(rows, expected):
    write_sqlite(rows)
    assert model_digest("sqlite:///rows.db") == expected
    assert model_digest("rows.db", "--query", "SELECT * FROM rows;") == expected


def test_duckdb(rows, expected):
    write_duckdb(rows)
    assert model_digest("duckdb:///rows.duckdb", "--table", "rows") == expected


def test_excel(rows, expected):
    write_workbook(rows)
    assert model_digest("rows.xlsx", "--sheet", "rows") == expected


def test_postgresql(bank, expected):
    assert model_digest(bank, "--table", "rows") == expected


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("place", ["folder", "pattern"])
def test_a_folder_and_a_pattern(ending, place, rows, expected):
    Path("parts").mkdir()
    for name, part in (("a", frame(rows)[:50]), ("b", frame(rows)[50:])):
        path = f"parts/{name}.{ending}"
        part.to_parquet(path) if ending == "parquet" else part.to_csv(path, index=False)
    assert model_digest("parts" if place == "folder" else f"parts/*.{ending}") == expected


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "xlsx"])
def test_standard_input(ending, rows, expected, monkeypatch):
    path = Path(f"rows.{ending}")
    if ending == "xlsx":
        write_workbook(rows)
    elif ending == "parquet":
        frame(rows).to_parquet(path)
    else:
        frame(rows).to_csv(path, index=False)
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))
    options = ["--sheet", "rows"] if ending == "xlsx" else []
    assert model_digest("-", *options) == expected


def test_rows_in_another_order_give_the_same_scores(rows):
    """A database promises no order. The components of texts depended on it."""
    frame(rows).to_csv("rows.csv", index=False)
    frame(rows)[::-1].to_csv("back.csv", index=False)
    assert run(["fit", "rows.csv", *QUICK, "--out", "a"]) == 0
    assert run(["fit", "back.csv", *QUICK, "--out", "b"]) == 0
    for name in "ab":
        assert run(["predict", f"{name}/model.fewlabel", "rows.csv", "--out", f"{name}.csv", "-q"]) == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


# Types ------------------------------------------------------------------------------------------------------


def test_sqlite_has_types_by_value_wherever_they_stand(tmp_path):
    """A driver that guesses types from the first rows fails at the last one here."""
    with closing(sqlite3.connect("rows.db")) as database:
        database.execute("CREATE TABLE rows (late NUMERIC, paid BOOLEAN, whole, part, raw BLOB, empty TEXT)")
        database.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", [(None, 1, 1, 1, b"x", None)] * 70_000)
        database.execute("INSERT INTO rows VALUES ('soon', 0, NULL, 1.5, NULL, NULL)")
        database.commit()
    with open_table("rows.db", query="SELECT *, whole + part AS total FROM rows") as source:
        table = pa.ipc.open_file(source.path).read_all()
    kinds = ["string", "bool", "int64", "double", "binary", "null", "int64"]
    assert [str(kind) for kind in table.schema.types] == kinds
    assert table["late"][-1].as_py() == "soon"
    assert table.num_rows == 70_001


def test_postgresql_types(bank):
    query = (
        "SELECT 1::smallint a, 0.1::numeric b, 'NaN'::numeric c, true d, DATE '2024-01-31' e, 'fine'::mood f, "
        "'7d444840-9dc0-11d1-b245-5ffdce74fad2'::uuid g, '{\"x\": 1}'::jsonb h, NULL::text i, "
        "TIMESTAMPTZ '2024-01-31 10:00+02' j, 'infinity'::timestamp k, ARRAY[1] l, 'x'::bytea m"
    )
    with open_table(bank, query=query) as source:
        table = pa.ipc.open_file(source.path).read_all()
    assert [table[name][0].as_py() for name in "abdefghi"] == [
        *(1, 0.1, True, datetime.date(2024, 1, 31), "fine", "7d444840-9dc0-11d1-b245-5ffdce74fad2", '{"x": 1}', None)
    ]
    assert table["b"].type == table["c"].type == pa.float64()
    assert len(read_table(bank, query=query)) == 1


def test_a_query_cannot_write(bank, rows):
    write_sqlite(rows)
    write_duckdb(rows)
    for address in ("sqlite:///rows.db", "duckdb:///rows.duckdb", bank):
        with pytest.raises(TableError), open_table(address, query="DELETE FROM rows RETURNING *"):
            pass
        assert len(read_table(address, table="rows")) == len(rows)


# Scores written back ----------------------------------------------------------------------------------------


@pytest.fixture
def fitted(rows):
    frame(rows).to_csv("rows.csv", index=False)
    assert run(["fit", "rows.csv", *QUICK]) == 0
    assert run(["predict", "model.fewlabel", "rows.csv", "--keep", "id", "--out", "scores.parquet", "-q"]) == 0


def predict_back(address, *options):
    words = ["predict", "model.fewlabel", address, "--table", "rows", "--out", address, "--out-table", "scores"]
    return run([*words, "--keep", "id", "-q", *options])


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "postgresql"])
def test_scores_go_back_to_the_database(engine, rows, fitted, request, capsys):
    if engine == "postgresql":
        address = request.getfixturevalue("bank")
    else:
        address = f"{engine}:///rows.{engine}"
        (write_sqlite if engine == "sqlite" else write_duckdb)(rows, f"rows.{engine}")
    assert predict_back(address) == 0
    written = read_table(address, table="scores").sort_values("id", ignore_index=True)
    file = pd.read_parquet("scores.parquet").astype({"id": "int64", "label": str})
    pd.testing.assert_frame_equal(written.astype({"label": str}), file, check_dtype=False, check_exact=True)

    assert predict_back(address) == 1
    assert "choose --if-exists replace or append" in capsys.readouterr().err
    assert predict_back(address, "--if-exists", "append") == 0
    assert len(read_table(address, table="scores")) == 2 * len(rows)
    assert predict_back(address, "--if-exists", "replace") == 0
    assert len(read_table(address, table="scores")) == len(rows)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "postgresql"])
def test_all_rows_are_written_or_none(engine, request):
    address = request.getfixturevalue("bank") if engine == "postgresql" else f"{engine}:///new.{engine}"
    chunk = pa.table({"a": [1, 2]})
    address = Address.parse(address)
    with table_writer(address, "kept", "fail") as write:
        write(chunk)

    def fail_after(write):
        write(chunk)
        write(chunk)
        raise KeyboardInterrupt

    for table, if_exists in (("kept", "append"), ("kept", "replace"), ("never", "fail")):
        with pytest.raises(KeyboardInterrupt), table_writer(address, table, if_exists) as write:
            fail_after(write)
    assert len(read_table(address, table="kept")) == 2
    with pytest.raises(TableError, match="has no table 'never'"):
        read_table(address, table="never")


def test_a_result_without_a_key_is_wrong_use(fitted, rows, capsys):
    write_sqlite(rows)
    words = ["predict", "model.fewlabel", "rows.db", "--out", "rows.db"]
    assert run([*words, "--out-table", "scores"]) == 2
    assert "for instance --keep id" in capsys.readouterr().err
    assert run(words) == 2
    assert "--out-table" in capsys.readouterr().err
    assert run(["predict", "model.fewlabel", "rows.csv", "--out", "x.csv", "--out-table", "t"]) == 2


def test_other_commands_read_a_database_too(rows, capsys):
    write_sqlite(rows)
    place = ["sqlite:///rows.db", "--query", "SELECT * FROM rows WHERE id >= 0", "--target", "outcome"]
    for command in (["check"], ["select"], ["prior", "--positive", "1"], ["next", "--n", "4", "--out", "ask.csv"]):
        name, *options = command
        assert run([name, *place, *options]) == 0, capsys.readouterr().err
    said = capsys.readouterr()
    assert "query: 120 rows" in said.out
    assert "fewlabel fit sqlite:///rows.db --target outcome --query 'SELECT * FROM rows WHERE id >= 0'" in said.err
    sheet = pd.read_csv("ask.csv")
    sheet["label"] = [0, 1, 0, 1]
    sheet.to_csv("ask.csv", index=False)
    assert run(["fit", *place, "--method", "logistic-regression", "-q", "--labels", "ask.csv"]) == 0
    card = Path("model_card.md").read_text()
    assert "```sql\nSELECT * FROM rows WHERE id >= 0\n```\n" in card


# Passwords --------------------------------------------------------------------------------------------------


def hidden_in(text):
    parts = re.split(r"\W+", postgres.PASSWORD)
    return not any(secret in text for secret in (postgres.PASSWORD, quote(postgres.PASSWORD, safe=""), *parts[:1]))


def test_no_file_and_no_message_has_the_password(bank, capfd):
    port = re.search(r":(\d+)/", bank)[1]
    plain = f"postgresql://me:{postgres.PASSWORD}@127.0.0.1:{port}/postgres"
    assert (
        run(["fit", plain, "--table", "rows", "--target", "outcome", "-m", "logistic-regression", "--out", "out"]) == 0
    )
    assert run(["check", bank, "--table", "rows", "--target", "outcome"]) == 0
    words = ["next", plain, "--table", "rows", "--target", "outcome", "--n", "3", "--out", "ask.csv"]
    assert run(words) == 0
    assert run(["predict", "out/model.fewlabel", bank, "--table", "rows", "--drift", "drift.html"]) == 0
    for path in [*Path("out").iterdir(), Path("ask.csv"), Path("drift.html")]:
        content = path.read_bytes().decode("latin-1")
        assert hidden_in(content), path
        assert path.suffix == ".fewlabel" or "fewlabel-" not in content, path  # the temporary file
    captured = capfd.readouterr()
    assert hidden_in(captured.out + captured.err)
    assert f"fewlabel fit postgresql://me@127.0.0.1:{port}/postgres --target outcome --table rows" in captured.err


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda url: url.replace("me:", "nobody:"),
        lambda url: re.sub(r":\d+/", ":1/", url),
        lambda url: url.replace("/postgres", "/nowhere"),
        lambda url: url + f"?application_name=x&sslpassword={quote(postgres.PASSWORD)}&unknown=1",
        lambda url: url.replace(quote(postgres.PASSWORD, safe=""), postgres.PASSWORD).replace("me:", "nobody:"),
        lambda url: url.replace("postgresql:", "mysql:"),
        lambda url: url + "?password=" + postgres.PASSWORD + "&port=none",
    ],
)
def test_no_error_has_the_password(change, debug, bank, capfd):
    words = ["fit", change(bank), "--table", "rows", "--target", "outcome", *(["--debug"] if debug else [])]
    try:
        assert run(words) in (1, 2)
        error = ""
    except Exception as raised:
        import traceback

        error = "".join(traceback.format_exception(raised))
    captured = capfd.readouterr()
    assert hidden_in(captured.out + captured.err + error)


def test_an_address_is_shown_without_its_password():
    address = Address.parse("postgres+psycopg://me:p%40ss@host:5433/bank?sslmode=require&password=other")
    assert str(address) == "postgresql://me@host:5433/bank?sslmode=require"
    assert "ss@" not in repr(address)
    assert address.without_secrets("p@ss p%40ss other") == "*** *** ***"
    assert str(Address.parse("postgresql:///bank?host=/tmp")) == "postgresql:///bank?host=%2Ftmp"
    assert Address.parse("sqlite:////data/x.db").path == Path("/data/x.db")


# Wrong use --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.csv"], "there is no file nothing.csv"),
        (["no*.csv"], "no file matches no*.csv"),
        (["rows.csv", "--table", "rows"], "--table is for databases"),
        (["rows.csv", "--sheet", "rows"], "--sheet is for workbooks"),
        (["rows.db", "--table", "rows", "--query", "SELECT 1"], "give one of them"),
        (["mysql://me:pass@host/bank"], "mysql:// is not read"),
        (["rows.db", "rows.csv"], "only text and Parquet files can be read as one table"),
        (["rows.db", "--engine", "dask"], "--engine dask reads text and Parquet files"),
        (["sqlite:///"], "names no file"),
    ],
)
def test_wrong_use_is_one_line(words, said, rows, capsys):
    if "dask" in words:
        pytest.importorskip("dask")
    write_sqlite(rows)
    frame(rows).to_csv("rows.csv", index=False)
    assert run(["fit", *words, "--target", "outcome"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rows.db", "--table", "row"], "has no table 'row'; did you mean 'rows'?"),
        (["two.db"], "name a table with --table, or rows with --query; it has a, b"),
        (["rows.db", "--query", "SELECT nope FROM rows"], "no such column: nope"),
        (["rows.db", "--query", "SELECT * FROM rows WHERE 0"], "sqlite:///rows.db, the query has no rows"),
        (["rows.xlsx", "--sheet", "row"], "has no sheet 'row'; did you mean 'rows'?"),
        (["text.db"], "file is not a database"),
        (["a.csv", "b.csv"], "b.csv has other columns than a.csv: x, z"),
        (["a.csv", "c.csv"], "c.csv, line 3: 3 fields"),
        (["a.csv", "rows.parquet"], "name files of one format"),
    ],
)
def test_errors_name_the_place(words, said, rows, capsys):
    write_sqlite(rows)
    if "rows.xlsx" in words:
        write_workbook(rows)
    frame(rows).to_parquet("rows.parquet")
    Path("text.db").write_text("x,y\n1,2\n" * 100)
    Path("a.csv").write_text("x,outcome\n1,2\n")
    Path("b.csv").write_text("z,outcome\n1,2\n")
    Path("c.csv").write_text("x,outcome\n1,2\n1,2,3\n")
    with closing(sqlite3.connect("two.db")) as database:
        database.execute("CREATE TABLE a (x)")
        database.execute("CREATE TABLE b (x)")
    assert run(["fit", *words, "--target", "outcome"]) == 1
    error = capsys.readouterr().err
    assert said in error.replace("rows.db, the query", "sqlite:///rows.db, the query")
    assert "fewlabel-" not in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("address", "module", "extra"),
    [
        ("duckdb:///rows.duckdb", "duckdb", "duckdb"),
        ("postgresql://host/bank", "adbc_driver_postgresql", "postgresql"),
        ("rows.xlsx", "python_calamine", "excel"),
    ],
)
def test_a_missing_driver_is_named_with_its_extra(address, module, extra, monkeypatch, capsys):
    Path("rows.duckdb").touch()
    Path("rows.xlsx").touch()
    monkeypatch.setitem(sys.modules, module, None)
    assert run(["fit", address, "--target", "outcome"]) == 2
    assert f"pip install 'fewlabel[{extra}]'" in capsys.readouterr().err
