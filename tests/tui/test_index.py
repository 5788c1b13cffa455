"""What is known of every exchange: columns that grow and are forgotten, rows in their order, jumps between them."""

from __future__ import annotations

from array import array
from typing import Any
from uuid import UUID

import pytest

from kdbg.errors import InputError
from kdbg.ui.tui.app import OF_NAMES, OF_WHO, found
from kdbg.ui.tui.index import BY_WHO, COLUMNS, HALF, SORTS, WRONG, Batch, Index, Order, Parcel, Start, Who

SHOP = Who(0, 1, "c:1", "b:1", "Produce", 9, "shop")
TILL = Who(0, 2, "c:2", "b:1", "Fetch", 12, "till")
NOBODY = Who(1, 1, "a:9", "b:2", "Fetch", 11, None)
PEOPLE = [SHOP, TILL, NOBODY]
TOPIC = UUID(int=5)
Row = dict[str, int]


def batch(at: int, rows: list[Row], file: int = 0, **new: Any) -> Batch:
    """A batch of a parcel at a place of the spool; what a row leaves out is 0."""
    columns = {name: array(code, [row.get(name, 0) for row in rows]).tobytes() for name, code in COLUMNS.items()}
    told: dict[str, Any] = {"who": [], "names": [], "topics": []} | new
    return Batch(columns, Parcel(at, at + 10, 1, 2, 3, file), len(rows), told["who"], told["names"], told["topics"])


def index() -> Index:
    """Two exchanges of a file, then three, then two of another file."""
    found = Index()
    names = [(), ("orders",), ("orders", "carts"), (7,)]
    found.add(batch(0, [
        {"number": 1, "who": 0, "time": 50, "latency": 5, "flags": WRONG, "topics": 1, "request": 9},
        {"number": 2, "who": 1, "time": 40, "latency": -1, "topics": 2, "request": 7},
    ], who=PEOPLE, names=names, topics=[(TOPIC, "orders")]))  # fmt: skip
    found.add(batch(100, [
        {"number": 4, "who": 0, "time": 30, "latency": 3, "producers": 3, "request": 9},
        {"number": 5, "who": 1, "time": 20, "latency": 9, "flags": WRONG | HALF, "groups": 1, "request": 8},
        {"number": 9, "who": 0, "time": 10, "latency": 1, "topics": 1, "flags": HALF, "producers": 3, "request": 1},
    ]))  # fmt: skip
    found.add(batch(200, [{"number": 1, "who": 2, "groups": 2}, {"number": 2, "who": 2, "time": 60}], file=1))
    return found


def test_an_index_grows_by_batches() -> None:
    found = index()
    assert (len(Index()), len(found), found.first) == (0, 7, 0)
    assert [found.value("number", at) for at in range(7)] == [1, 2, 4, 5, 9, 1, 2]
    assert [found.who_of(at) for at in (0, 1, 2, 6)] == [SHOP, TILL, SHOP, NOBODY]
    assert [found.names_of("topics", at) for at in (0, 1, 2, 4)] == [("orders",), ("orders", "carts"), (), ("orders",)]
    assert found.topics == [{TOPIC: "orders"}, {}]
    assert [found.place(at) for at in (0, 1, 2, 4, 5)] == [
        (Parcel(at, at + 10, 1, 2, 3, file), place)
        for at, place, file in ((0, 0, 0), (0, 1, 0), (100, 0, 0), (100, 2, 0), (200, 0, 1))
    ]  # fmt: skip
    size = sum(len(column) * column.itemsize for column in found.columns.values())
    assert size == 7 * sum(array(code).itemsize for code in COLUMNS.values())
    late = Index()
    late.add(batch(0, [{}], file=2))
    assert late.topics == [{}, {}, {}]


def test_exchanges_are_found_by_number_and_file() -> None:
    found = index()
    assert [found.find(number) for number in (0, 1, 2, 3, 4, 9, 10)] == [None, 0, 1, None, 2, 4, None]
    assert [found.find(number, 1) for number in (0, 1, 2, 3)] == [None, 5, 6, None]
    assert found.find(1, 2) is Index().find(1) is None
    found.forget(1)
    assert [found.find(number) for number in (1, 2, 4, 9)] == [None, None, 2, 4]


def test_the_first_exchanges_are_forgotten_by_whole_parcels() -> None:
    for count, gone, first, at in (
        (0, 0, 0, 0),
        (1, 1, 2, 100),
        (2, 1, 2, 100),
        (3, 2, 5, 200),
        (5, 2, 5, 200),
        (99, 2, 5, 200),
    ):
        found = index()
        assert found.forget(count) == at
        assert (found.first, len(found), len(found.parcels)) == (first, 7, 3 - gone)
        assert found.value("number", 6) == 2
        assert found.place(6) == (Parcel(200, 210, 1, 2, 3, 1), 1)
        assert found.place(first)[1] == 0
        if first:
            with pytest.raises(InputError):
                found.place(first - 1)
    twice = index()
    assert [twice.forget(1), twice.forget(1), twice.forget(1)] == [100, 200, 0]
    assert (twice.first, len(twice)) == (5, 7)
    assert Index().forget(5) == 0


def test_who_goes_through_the_spool_starts_where_it_is_known() -> None:
    found = index()
    assert found.start == Start(0, 0, 0, ((TOPIC, "orders"),))
    found.forget(1)
    assert found.start == Start(100, 2, 0, ((TOPIC, "orders"),))
    found.forget(9)
    assert found.start == Start(200, 5, 1, ())
    assert Index().start == Start() == Start(0, 0, -1, ())


def rows(order: Order) -> list[int]:
    return [order[row] for row in range(len(order))]


def test_rows_stand_in_the_order_of_a_column() -> None:
    found = index()
    orders = {
        "": ([0, 1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0]), "number": ([0, 5, 1, 6, 2, 3, 4], [4, 3, 2, 1, 6, 0, 5]),
        "time": ([5, 4, 3, 2, 1, 0, 6], [6, 0, 1, 2, 3, 4, 5]), "ends": ([5, 6, 0, 2, 4, 1, 3], [1, 3, 0, 2, 4, 5, 6]),
        "client id": ([5, 6, 0, 2, 4, 1, 3], [1, 3, 0, 2, 4, 5, 6]),
        "api": ([5, 6, 1, 3, 0, 2, 4], [0, 2, 4, 1, 3, 5, 6]),
        "request": ([5, 6, 4, 1, 3, 0, 2], [0, 2, 3, 1, 4, 5, 6]),
        "response": ([0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6]),
        "latency": ([1, 5, 6, 4, 2, 0, 3], [3, 0, 2, 4, 5, 6, 1]),
        "flags": ([1, 2, 5, 6, 0, 4, 3], [3, 4, 0, 1, 2, 5, 6]),
    }  # fmt: skip
    assert {*orders} == {"", *SORTS}
    for by, (up, down) in orders.items():
        order = Order(found)
        order.sort(by)
        assert (rows(order), order.by, order.descending) == (up, by, False), by
        order.sort(by, descending=True)
        assert (rows(order), order.by, order.descending) == (down, by, True), by
        assert [order.row_of(at) for at in range(7)] == [down.index(at) for at in range(7)]
        assert (len(order), order.unsorted) == (7, 0)
        order.choose(filtered=True)
        order.take(array("I", [1, 3, 4, 6]).tobytes())
        order.sort(by)
        assert rows(order) == [at for at in up if at in (1, 3, 4, 6)]
    assert {*BY_WHO} == {"ends", "client id", "api"}
    assert BY_WHO["client id"](NOBODY) == ""


def test_rows_that_come_stand_behind_those_that_are_sorted() -> None:
    found = Index()
    found.add(batch(0, [{"number": 9}, {"number": 4}], who=PEOPLE, names=[()]))
    order = Order(found)
    assert (order.by, order.descending, order.unsorted) == ("", False, 0)
    order.sort("number")
    found.add(batch(1, [{"number": 5}]))
    assert (rows(order), order.unsorted, len(order)) == ([1, 0, 2], 1, 3)
    assert [order.row_of(at) for at in (0, 1, 2, 3)] == [1, 0, 2, None]


def test_a_filter_shows_what_it_lets_through() -> None:
    order = Order(index())
    order.take(b"ignored: there is no filter")
    assert (rows(order), len(order)) == ([0, 1, 2, 3, 4, 5, 6], 7)
    assert [order.row_of(at) for at in (-1, 0, 6, 7)] == [None, 0, 6, None]
    order.sort("time")
    order.choose(filtered=True)
    assert (rows(order), order.row_of(0), order.sorted) == ([], None, None)
    order.take(array("I", [1, 4]).tobytes())
    order.take(array("I", [6]).tobytes())
    assert rows(order) == [1, 4, 6]
    assert [order.row_of(at) for at in (0, 1, 3, 4, 5, 6, 7)] == [None, 0, None, 1, None, 2, None]
    order.choose(filtered=False)
    assert len(order) == 7


def test_what_is_forgotten_is_no_row_any_more() -> None:
    found = index()
    plain, filtered, ordered = Order(found), Order(found), Order(found)
    filtered.choose(filtered=True)
    filtered.take(array("I", [0, 2, 5]).tobytes())
    ordered.sort("latency", descending=True)
    found.forget(1)
    for order in (plain, filtered, ordered):
        order.forgot()
    assert (rows(plain), rows(filtered), rows(ordered)) == ([2, 3, 4, 5, 6], [2, 5], [3, 2, 4, 5, 6])
    assert [plain.row_of(at) for at in (1, 2, 6, 7)] == [None, 0, 4, None]
    assert (ordered.by, ordered.descending) == ("latency", True)
    for by in BY_WHO:
        ordered.sort(by)
        assert sorted(rows(ordered)) == [2, 3, 4, 5, 6]


def test_jumps() -> None:
    order = Order(index())

    def jump(kind: str, row: int, direction: int = 1) -> int | None:
        return found(order, row, kind, direction, {2, 5})

    walks = {
        "error": [0, 3], "mark": [2, 5], "connection": [0, 2, 4], "client": [0, 2, 4], "topic": [0, 1, 4],
    }  # fmt: skip
    for kind, fits in walks.items():
        assert [jump(kind, row) for row in fits] == [*fits[1:], None], kind
        assert [jump(kind, row, -1) for row in fits] == [None, *fits[:-1]], kind
    assert [jump("connection", row) for row in (1, 5, 6)] == [3, 6, None]
    assert [jump("client", row) for row in (1, 5)] == [3, 6]
    assert [jump("producer", 2), jump("producer", 4), jump("producer", 4, -1), jump("producer", 0)] == [
        4,
        None,
        2,
        None,
    ]
    assert [jump("group", 3), jump("group", 5), jump("group", 5, -1), jump("group", 0)] == [5, None, 3, None]
    assert [jump("error", 1), jump("error", 1, -1), jump("mark", 6, -1)] == [3, 0, 5]
    assert found(order, 0, "mark", 1) is None
    assert {"error", "mark", *OF_WHO, *OF_NAMES} == {*walks, "producer", "group"}
    order.sort("", descending=True)
    assert [jump("error", 0), jump("error", 3), jump("error", 6, -1)] == [3, 6, 3]
    order.choose(filtered=True)
    assert jump("error", 0) is None
