"""Incidents → captures and the truth about them, cluster by cluster, in a network of our own."""

from __future__ import annotations

import gzip
import json
import random
import traceback
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from ..recording.network import enter_private_network
from .clusters import CLUSTERS, COLD
from .incident import Incident, Staging
from .stage import PATIENCE, SETUP, Stage, until

TRUTH = "truth.jsonl"
CURED = ".cured"


def make(incidents: Iterable[Incident], out: Path, *, cured: bool = True) -> list[str]:
    """Stage these, and those of them that have a cure once more with it; return the names of what failed.

    The process leaves the machine's network for good. Each cluster is started once.
    """
    enter_private_network()
    out.mkdir(parents=True, exist_ok=True)
    chosen, failed = list(incidents), []
    for name in sorted({incident.cluster for incident in chosen}):
        with CLUSTERS[name].made() as cluster:
            cluster.start()
            if name not in COLD:
                _warmed(Stage(cluster, out))
            for incident in (one for one in chosen if one.cluster == name):
                for path, staging in runs(incident, out, cured=cured):
                    stage = Stage(cluster, path)
                    try:
                        _staged(stage, staging)
                    except Exception:
                        traceback.print_exc()
                        failed.append(path.name)
                    else:
                        told(incident, out, stage, healthy=incident.healthy or CURED in path.name)
                    cluster.heal()
    return failed


def _warmed(stage: Stage) -> None:
    """Have the topics of groups and of transactions made, so that no incident is the first to want them."""
    with stage.consumer(SETUP, SETUP) as reader:
        stage.topic(SETUP)
        until(lambda: _committed(reader))
    with stage.producer(SETUP, transactional_id=SETUP) as writer:
        writer.init_transactions(PATIENCE)


def _committed(reader: Consumer) -> bool:
    """Commit an offset; the coordinator of a cluster that has just started may not be there yet."""
    with suppress(KafkaException):
        reader.commit(offsets=[TopicPartition(SETUP, 0, 0)], asynchronous=False)
        return True
    return False


def runs(incident: Incident, out: Path, *, cured: bool) -> list[tuple[Path, Staging]]:
    """What there is to record of an incident: itself, and itself with the advice applied."""
    both = [(out / f"{incident.name}.pcap", incident.stage)]
    if cured and incident.cured is not None:
        both.append((out / f"{incident.name}{CURED}.pcap", incident.cured))
    return both


def told(incident: Incident, out: Path, stage: Stage, *, healthy: bool) -> None:
    """Compress a capture and write its line of the truth."""
    path = stage.out
    compressed = path.with_suffix(".pcap.gz")
    compressed.write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
    path.unlink()
    print(f"{compressed}: {compressed.stat().st_size:,} bytes", flush=True)
    line = {
        "name": path.stem,
        "file": compressed.name,
        "cause_code": "none" if healthy else incident.cause,
        "healthy": healthy,
        "who": {} if healthy else dict(incident.who) | stage.who,
        "since": round(stage.since, 3),
        "advice": incident.advice,
        "looks_like": incident.looks_like or (incident.cause if healthy else ""),
    }
    lines = {one["name"]: one for one in truth(out)} | {path.stem: line}
    text = "".join(json.dumps(lines[name], ensure_ascii=False) + "\n" for name in sorted(lines))
    (out / TRUTH).write_text(text)


def truth(folder: Path) -> list[dict[str, Any]]:
    """The truth about the captures of a folder, a dict each."""
    path = folder / TRUTH
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _staged(stage: Stage, staging: Staging) -> None:
    random.seed(stage.out.name)
    try:
        staging(stage)
    finally:
        stage.close()
