"""A client's own tests give the same results through the proxy; wire, broker, file and view agree on the exchanges.

franz-go's module contains its tests: `TESTS` chooses some that take seconds, of producing, consuming and transactions.
Of kafka-python's source distribution, all integration tests that need one broker without TLS and SASL run, about fifty
in twenty seconds, but for `LEFT_OUT`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import kdbg

from .broker import Broker
from .cluster import Cluster
from .loggers import request_log
from .pool import Pool
from .security import Security
from .test_proxy import HOME, PATIENCE, ports_in_a_row, recording

MODULE = "github.com/twmb/franz-go@v1.22.2"
TESTS = "TestIssue(325|810|831|865)|TestClient_ProduceLarge|TestAddRemovePartitions|TestConsumeRegex$|TestPauseIssue489"
COMPLETED = re.compile(r"Completed request:(\{.*\}) \(kafka")
LEFT_OUT = "test_group", "test_kafka_consumer__blocking", "test_transactional_producer_offsets"
"""The first two assert how long something takes, the third does not end here without the proxy either."""
SERVICE = """class ExternalService:
    def __init__(self, host, port): pass
    def stop(self): pass


class SpawnedService: pass
"""
"""What kafka-python's tests import and its source distribution leaves out."""
OUTCOME = re.compile(r"::(\S+) (PASSED|FAILED|SKIPPED|ERROR)")
RESULT = re.compile(r"--- (PASS|FAIL|SKIP): (\S+)")
MEMBERS = 12
MEMBER = """if True:
    import sys, threading
    from confluent_kafka import Consumer
    where = {"bootstrap.servers": sys.argv[1], "security.protocol": "ssl", "ssl.ca.location": sys.argv[2],
             "auto.offset.reset": "earliest", "log_level": 0}
    members = [Consumer(where | {"group.id": "g%d" % (number % 3)}) for number in range(int(sys.argv[3]))]

    def all_at_once(do):
        threads = [threading.Thread(target=do, args=(one,)) for one in members]
        [each.start() for each in threads]
        [each.join() for each in threads]

    def read(one):
        one.subscribe(["proxied"])
        for _ in range(8):
            one.poll(0.5)

    all_at_once(read)
    all_at_once(lambda one: one.close())
"""
Key = tuple[int, int, str | None, int]


def franz_go(address: str) -> dict[str, str]:
    """The results of franz-go's tests, built where they are not yet."""
    go, program = shutil.which("go"), HOME / "go" / "kgo.test"
    if go is None:
        pytest.skip("Go is not installed")
    if not program.exists():
        found = subprocess.run([go, "mod", "download", "-json", MODULE], capture_output=True, text=True, check=False)
        if found.returncode:
            pytest.skip(f"franz-go cannot be had: {found.stdout[-200:]}")
        program.parent.mkdir(parents=True, exist_ok=True)
        command = [go, "test", "-mod=mod", "-modfile", str(_own_mod(Path(json.loads(found.stdout)["Dir"]))), "-c"]
        subprocess.run([*command, "-o", str(program), "./pkg/kgo"], cwd=json.loads(found.stdout)["Dir"], check=True)
    environment = {"KGO_SEEDS": address, "KGO_TEST_RF": "1", "KGO_TEST_RECORDS": "500", "KGO_LOG_LEVEL": "none"}
    command = [str(program), "-test.v", "-test.run", f"^({TESTS})", "-test.parallel=2"]
    return {name: result for result, name in RESULT.findall(_output(command, program.parent, environment))}


def _own_mod(module: Path) -> Path:
    """The module's go.mod and go.sum where they can be written."""
    for name in ("go.mod", "go.sum"):
        (HOME / "go" / f"kgo.{name[3:]}").write_bytes((module / name).read_bytes())
    return HOME / "go" / "kgo.mod"


def kafka_python(address: str) -> dict[str, str]:
    """The results of kafka-python's integration tests, in a process of their own; they use the installed client."""
    kafka = pytest.importorskip("kafka")
    folder = HOME / f"kafka_python-{kafka.__version__}"
    if not (folder / "test" / "service.py").exists():
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(HOME)]
        command.append(f"kafka-python=={kafka.__version__}")
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("the sources of kafka-python cannot be had")
        with tarfile.open(folder.with_name(f"{folder.name}.tar.gz")) as archive:
            inside = [one for one in archive if one.name.startswith(f"{folder.name}/test/")]
            archive.extractall(HOME, inside, filter="data")
        (folder / "test" / "__init__.py").touch()
        (folder / "test" / "service.py").write_text(SERVICE)
    environment = {"KAFKA_URI": f"kafka://{address}", "KAFKA_VERSION": "4.3", "KAFKA_ROOT": str(folder)}
    command = [sys.executable, "-m", "pytest", "-v", "--tb=no", f"--rootdir={folder}", "-p", "no:randomly",
               "-p", "no:cacheprovider", "-k", f"not {' and not '.join(LEFT_OUT)}"]  # fmt: skip
    files = [f"test/integration/test_{name}_integration.py" for name in ("admin", "consumer", "producer")]
    return {name: result[:4] for name, result in OUTCOME.findall(_output([*command, *files], folder, environment))}


def _output(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, env=os.environ | {"PYTEST_ADDOPTS": ""} | environment, cwd=folder, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    return done.stdout


@contextmanager
def proxy(broker: str, view: Path, *options: str) -> Iterator[tuple[str, list[str]]]:
    """`kdbg proxy`, which writes what it shows to `view`: its address, and the lines of its stderr."""
    address = f"127.0.0.1:{ports_in_a_row()}"
    command = [sys.executable, "-m", "kdbg", "proxy", "-b", broker, "-l", address, "-f", "json", *options]
    with view.open("w") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = [process.stderr.readline()]
        reader = threading.Thread(target=lambda: lines.extend(process.stderr or ()))
        reader.start()
        try:
            yield address, lines
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
            reader.join(PATIENCE)


def captured(path: Path, ports: Iterable[int]) -> Counter[Key]:
    found = Counter[Key]()
    for one in kdbg.read_capture(path):
        if one.peers.broker[1] in ports and one.api is not None:
            found[one.api.key, one.version, one.client_id, one.correlation_id] += 1
    return found


def logged(text: str, broker: Broker) -> Counter[Key]:
    found = Counter[Key]()
    for line in COMPLETED.findall(text):
        said = json.loads(line)
        head = said["requestHeader"]
        if said["connection"].startswith(f"127.0.0.1:{broker.port}-"):
            found[head["requestApiKey"], head["requestApiVersion"], head["clientId"], head["correlationId"]] += 1
    return found


def shown(path: Path) -> tuple[Counter[Key], int]:
    """The exchanges of `-f json`, and how many of them have no response."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    found = Counter[Key](
        (each["api_key"], each["api_version"], each["client_id"], each["correlation_id"]) for each in lines
    )
    return found, sum(each["response"] is None for each in lines)


@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump is not installed")
@pytest.mark.nightly  # a minute for each client; by day test_proxy.py has clients of every kind do what these tests do
@pytest.mark.parametrize("own_tests", [franz_go, kafka_python], ids=lambda client: client.__name__)
def test_a_client_s_own_tests_give_the_same_results_and_exchanges(
    own_tests: Callable[[str], dict[str, str]], brokers: Pool, tmp_path: Path
) -> None:
    broker = brokers.cluster("4").brokers[0]
    direct = own_tests(broker.bootstrap)
    assert "PASS" in direct.values()
    view, file, wire = tmp_path / "view.json", tmp_path / "file.pcap", tmp_path / "wire.pcap"
    with request_log(broker):
        before = len(broker.log_text())
        with proxy(broker.bootstrap, view, "--hide-values", "--write", str(file)) as (address, _):
            port = int(address.rpartition(":")[2])
            with recording(wire, [port, broker.port]):
                through = own_tests(address)
        log = broker.log_text()[before:]
    assert through == direct
    seen = captured(wire, range(port, port + 8))
    clients = {client for _, _, client, _ in seen}

    def own(found: Counter[Key]) -> Counter[Key]:
        return Counter({key: count for key, count in found.items() if key[2] in clients})

    assert sum(seen.values()) > 100
    assert own(captured(wire, [broker.port])) == seen
    assert own(logged(log, broker)) == seen
    assert captured(file, [broker.port]) == seen
    assert shown(view)[0] == seen


def test_consumers_that_close_at_once_over_tls_on_both_sides(brokers: Pool, tmp_path: Path) -> None:
    pytest.importorskip("confluent_kafka")
    from confluent_kafka import Producer

    cluster: Cluster = brokers.cluster("4", secure=True)
    security: Security | None = cluster.security
    assert security is not None
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(50):
        producer.produce("proxied", b"%d" % number)
    assert producer.flush(PATIENCE) == 0
    view, authority = tmp_path / "view.json", str(security.authority)
    own = "--listen-cert", str(security.broker), "--listen-key", str(security.broker.with_suffix(".key"))
    with proxy(cluster.brokers[0].listener("SSL"), view, "--ca", authority, *own) as (address, lines):
        command = [sys.executable, "-c", MEMBER, address, authority, str(MEMBERS)]
        subprocess.run(command, check=True, timeout=120)
    exchanges, unanswered = shown(view)
    assert sum(exchanges.values()) > 10 * MEMBERS
    assert unanswered == 0
    assert "Traceback" not in "".join(lines)
