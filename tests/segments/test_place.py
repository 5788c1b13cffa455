"""What a path says of a file: topic, partition, first offset, and the suffix that tells kinds apart."""

from __future__ import annotations

from kdbg.payloads.segments import LogLocation, place_of

from ..cases import for_each

LOG = "00000000000000000042.log"
DELETED = "orders-0.0123456789abcdef0123456789abcdef-delete"


@for_each(
    ("name", "place"),
    [
        (f"/var/lib/kafka/orders-0/{LOG}", LogLocation("orders", 0, 42, ".log")),
        (f"orders-7/{LOG}.deleted", LogLocation("orders", 7, 42, ".log")),
        (f"orders-7/{LOG}.cleaned", LogLocation("orders", 7, 42, ".log")),
        (f"orders-7/{LOG}.swap.gz", LogLocation("orders", 7, 42, ".log")),
        (f"{DELETED}/{LOG}", LogLocation("orders", 0, 42, ".log")),
        (f"C:\\kafka\\orders-1\\{LOG}", LogLocation("orders", 1, 42, ".log")),
        (f"__consumer_offsets-12/{LOG}", LogLocation("__consumer_offsets", 12, 42, ".log")),
        (f"a-b-3/{LOG}", LogLocation("a-b", 3, 42, ".log")),
        ("orders-0/00000000000000000042.timeindex", LogLocation("orders", 0, 42, ".timeindex")),
        ("orders-0/leader-epoch-checkpoint", LogLocation("orders", 0, None, "leader-epoch-checkpoint")),
        ("__cluster_metadata-0/00000000000000000007-0000000002.checkpoint",
         LogLocation("__cluster_metadata", 0, 7, ".checkpoint")),
        ("bootstrap.checkpoint", LogLocation("__cluster_metadata", 0, None, "bootstrap.checkpoint")),
        (LOG, LogLocation(None, None, 42, ".log")),
        ("stdin", LogLocation(None, None, None, "stdin")),
        ("", LogLocation(None, None, None, "")),
        ("orders-99999999999/server.log", LogLocation(None, None, None, "server.log")),
        ("in the way-1/42.log", LogLocation(None, None, None, "42.log")),
    ],
)  # fmt: skip
def test_a_path_says_whose_a_file_is(name: str, place: LogLocation) -> None:
    assert place_of(name) == place
