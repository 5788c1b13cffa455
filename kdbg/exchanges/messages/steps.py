"""Error codes that are a normal step of a protocol: nothing went wrong, the client goes on as it was told.

Whoever colours, counts or filters errors asks here which of them are worth looking at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...protocol.wire import Api
    from .error_codes import ErrorFound
    from .exchange import Exchange

EVERY: frozenset[int] = frozenset()
NORMAL_STEPS: dict[int, frozenset[int]] = {
    14: EVERY,  # COORDINATOR_LOAD_IN_PROGRESS: a coordinator that has just started or moved asks to be asked again
    27: frozenset({8, 11, 12, 14, 28}),  # REBALANCE_IN_PROGRESS: OffsetCommit, JoinGroup, Heartbeat, SyncGroup, and in
    #                                      transactions TxnOffsetCommit: the member joins again
    35: frozenset({18}),  # UNSUPPORTED_VERSION of ApiVersions: the answer names the versions to go on with
    79: frozenset({11}),  # MEMBER_ID_REQUIRED of JoinGroup: the answer has the id to join with (KIP-394)
}
"""Error codes, and the keys of the APIs in whose messages they are normal; `EVERY` stands for all of them."""


def is_normal_step(api: Api | None, code: int) -> bool:
    """Return whether an error code in a message of this API is a normal step of its protocol."""
    keys = NORMAL_STEPS.get(code)
    return keys is not None and (not keys or (api is not None and api.key in keys))


def errors_of(exchange: Exchange) -> list[ErrorFound]:
    """Return the errors of an exchange without normal steps."""
    return [error for error in exchange.errors if not is_normal_step(exchange.api, error.code)]


def went_wrong(exchange: Exchange, *, shallow: bool = False) -> bool:
    """Return whether an exchange has an error that is no normal step, or a finding that is no mere note."""
    if any(not is_normal_step(exchange.api, code) for *_, codes in exchange.outlines() for code in codes):
        return True
    return any(finding.severity != "note" for finding in exchange.all_findings(shallow=shallow))
