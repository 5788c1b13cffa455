"""A capture of groups whose members come and go in every way that the protocols have; times are those of asked.py."""

from __future__ import annotations

from typing import Any

from tests.traffic import Talk, pcap

from .asked import answers, asks

REBALANCE, UNKNOWN, FENCED, ID_REQUIRED = 27, 25, 110, 79
"""REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, MEMBER_ID_REQUIRED."""


def capture() -> bytes:
    return pcap(alpha(), beta(), delta(), operator(), epsilon(), zeta())


def joins(
    talk: Talk, times: tuple[int, int], member: str, generation: int, *, asked: str | None = None,
    members: tuple[str, ...] = (), group: str = "trips", **said: Any,
) -> None:  # fmt: skip
    """Joins, and is told `members` if it leads; `asked` is the id that it comes with, where that is another."""
    asks(talk, times[0], "JoinGroup", 9, group_id=group, member_id=member if asked is None else asked,
         protocol_type="consumer", **said)  # fmt: skip
    told = [{"member_id": one, "metadata": b""} for one in members]
    answers(talk, times[1], generation_id=generation, protocol_type="consumer", protocol_name="range", leader="a-1",
            member_id=member, members=told)  # fmt: skip


def alpha() -> Talk:
    """Leads the group from its beginning, and hangs up behind its farewell."""
    talk = Talk(("10.0.0.1", 50001), client_id="alpha", most=60_000)
    asks(talk, 1000, "JoinGroup", 9, group_id="trips", member_id="", protocol_type="consumer", reason="")
    answers(talk, 1005, error_code=ID_REQUIRED, member_id="a-1")
    joins(talk, (1010, 1020), "a-1", 1, members=("a-1",), reason="it needs an id")
    joins(talk, (2010, 2100), "a-1", 2, members=("a-1", "b-1", "g-9"), reason="the group rebalances")
    joins(talk, (3010, 6000), "a-1", 3, members=("a-1",), reason="the group rebalances")
    joins(talk, (8010, 8100), "a-1", 4, members=("a-1", "d-1"))
    joins(talk, (9010, 9100), "a-1", 5, members=("a-1", "d-2"))
    joins(talk, (10_010, 10_050), "a-1", 6, members=("a-1",))
    asks(talk, 11_000, "LeaveGroup", 5, group_id="trips", members=[{"member_id": "a-1", "reason": "done"}])
    return talk.end()


def beta() -> Talk:
    """Does not join again when it is asked to, and comes back too late."""
    talk = Talk(("10.0.0.3", 50003), client_id="beta", most=60_000)
    joins(talk, (2000, 2100), "b-1", 2, asked="")
    asks(talk, 3000, "Heartbeat", 4, group_id="trips", generation_id=2, member_id="b-1")
    answers(talk, 3002, error_code=REBALANCE)
    asks(talk, 7000, "Heartbeat", 4, group_id="trips", generation_id=2, member_id="b-1")
    answers(talk, 7002, error_code=UNKNOWN)
    return talk.end()


def delta() -> Talk:
    """A static member that is started anew, and gets another id."""
    talk = Talk(("10.0.0.4", 50004), client_id="delta", most=60_000)
    joins(talk, (8000, 8100), "d-1", 4, asked="", group_instance_id="d")
    joins(talk, (9000, 9100), "d-2", 5, asked="", group_instance_id="d")
    return talk.end()


def operator() -> Talk:
    """Takes the static member out, by its instance id; another that it names is not there."""
    talk = Talk(("10.0.0.5", 50005), client_id="operator", most=60_000)
    out = [{"member_id": "", "group_instance_id": "d", "reason": "an admin says so"}, {"member_id": "nobody"}]
    asks(talk, 10_000, "LeaveGroup", 5, group_id="trips", members=out)
    told = [{"member_id": "", "group_instance_id": "d", "error_code": 0},
            {"member_id": "nobody", "group_instance_id": None, "error_code": UNKNOWN}]  # fmt: skip
    answers(talk, 10_005, error_code=0, members=told)
    return talk.end()


def epsilon() -> Talk:
    """A static member of the newer protocol: it is fenced, joins again, and leaves for a while."""
    talk = Talk(("10.0.0.6", 50006), client_id="epsilon", most=60_000)
    steps = ((12_000, 0, 1, 0), (13_000, 1, 0, FENCED), (13_100, 0, 3, 0), (14_000, -2, -2, 0))
    for at, epoch, told, error in steps:
        asks(talk, at, "ConsumerGroupHeartbeat", 0, group_id="rides", member_id="e-1", member_epoch=epoch,
             instance_id="e")  # fmt: skip
        answers(talk, at + 2, error_code=error, member_epoch=told, member_id="e-1")
    return talk.end()


def zeta() -> Talk:
    """Has its id before the capture begins."""
    talk = Talk(("10.0.0.7", 50007), client_id="zeta", most=60_000)
    joins(talk, (15_000, 15_010), "z-1", 7, group="late")
    return talk.end()
