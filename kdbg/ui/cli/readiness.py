"""`kdbg readiness`: captures in, clients that an upgrade would stop out."""

from __future__ import annotations

from typing import Any

import click

from . import UNDECODED
from .filters import connection_filter_options, take_filters
from .options import files_argument, input_options, look_options, text_or_json
from .output import take_look


@click.command(context_settings={"max_content_width": 100})
@files_argument()
@click.option(
    "--kafka", "release", default="4.0", metavar="RELEASE", help="Set the target broker release (default: 4.0)."
)
@text_or_json("per client and line")
@look_options
@connection_filter_options
@input_options
def command(files: tuple[str, ...], release: str, format: str, **options: Any) -> int:
    """List clients that a broker upgrade would break.

    For each client kdbg prints the API and the version that brokers of the target release no longer support. The exit
    status is 1 if the upgrade would break a client.

    \b
    kdbg readiness captures/old-versions.pcap
    kdbg readiness week.pcap --kafka 4.1 --format json
    """
    from ...analysis.diagnosis.readiness import client_object, readiness, would_stop
    from ...errors import InputError
    from ...protocol.grammars import releases
    from ...views.render.diagnosis import ReadinessView
    from .ledgers import LedgerOutput, ledger_runner, read_ledgers

    look = take_look(options)
    runner = ledger_runner(files, take_filters(options))
    output = LedgerOutput(format, look, runner.writer, files)
    if releases.rank(release) > releases.rank(releases.newest()):
        raise InputError(f"unknown release {release}; the newest that kdbg knows is {releases.newest()}")
    for file in runner.open(files):
        with file:
            clients = readiness(read_ledgers(runner, file), release)
            if would_stop(clients) and not runner.status:
                runner.status = UNDECODED
            objects = (client_object(client, release) for client in clients)
            output.write(file, objects, ReadinessView(look, release).lines(clients))
    runner.close()
    return runner.status
