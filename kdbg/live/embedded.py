"""A proxy in a thread of this process, for programs and tests: started, used, asked what was said, closed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .client.settings import addresses, show
from .faults import Applied, Faults, Meddling
from .listeners import Address, Listening
from .proxy import Proxy, Upstream
from .recording import Recorded
from .threads import LoopThread

if TYPE_CHECKING:
    from ..views.reading.exchange import Exchange


def proxy(
    brokers: str,
    *,
    faults: Iterable[str] = (),
    seed: int | None = None,
    listen: Address = ("127.0.0.1", 0),
    keep_addresses: bool = False,
) -> RunningProxy:
    """Make a proxy before a cluster, in a thread of this process: a context manager, listening while it is entered.

    `brokers` is `host:port`, several with commas between. Clients take its `address` as bootstrap.servers; the
    addresses that brokers tell them are rewritten, unless `keep_addresses`, so that they stay inside. `faults` are
    rules as `kdbg proxy --fault` takes them; `seed` makes their chances the same again. `exchanges(**filters)` returns
    what was said so far, `applied` are the faults that were done.

    Raises `InputError` for what is no address or no rule, and where `listen` cannot be listened on.
    """
    return RunningProxy(addresses(brokers), faults, seed, listen=listen, change=not keep_addresses)


class RunningProxy:
    """A proxy before a cluster, as a context manager; see `kdbg.proxy`.

    `address` is what clients take as bootstrap.servers. `applied` are the faults that were done so far, `seed` makes
    their chances the same again. `said` are lines that a person would be shown.
    """

    address: str
    applied: list[Applied]
    said: list[str]

    def __init__(
        self, brokers: list[Address], faults: Iterable[str], seed: int | None, *, listen: Address, change: bool
    ) -> None:
        self.applied, self.said, self.address = [], [], ""
        self._rules = Faults(list(faults), seed=seed, tell=self.applied.append)
        self._recorded = Recorded()
        self._brokers, self._listening, self._change = brokers, Listening(*listen), change
        self._thread = LoopThread("kdbg proxy")
        self._proxy: Proxy | None = None
        self._told: Mapping[Address, Address] = {}

    @property
    def seed(self) -> int:
        """The seed of the faults' chances."""
        return self._rules.seed

    @property
    def addresses(self) -> dict[Address, Address]:
        """The brokers that were met so far, each with what clients are told in its place."""
        return dict(self._told)

    @property
    def capture(self) -> bytes:
        """All that was said so far, as a pcap file."""
        return self._recorded.capture

    def exchanges(self, **filters: Any) -> list[Exchange]:
        """Return what was said so far, with the filters of `kdbg.read`."""
        return self._recorded.exchanges(**filters)

    def start(self) -> RunningProxy:
        """Begin to listen; raise `InputError` where that cannot be."""
        self._thread.start()
        try:
            self.address = self._thread.do(self._listen())
        except InputError:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End all connections, and the thread."""
        proxy, self._proxy = self._proxy, None
        if proxy is not None:
            self._thread.do(proxy.close())
        self._thread.close()

    def __enter__(self) -> RunningProxy:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    async def _listen(self) -> str:
        meddle = Meddling if self._rules.rules else None
        self._proxy = Proxy(
            self._listening,
            Upstream(),
            tap=self._recorded,
            change=self._change,
            faults=(lambda peers: meddle(self._rules, peers)) if meddle is not None else (lambda peers: None),
            say=self.said.append,
        )
        self._told = self._proxy.addresses.stand_ins
        return ",".join(map(show, self._proxy.listen(self._brokers)))
