"""Real Apache Kafka brokers for the tests: fetched from Maven Central once, started on loopback, stopped by pid.

    python -m tests.brokers start 4        a broker until Ctrl-C; also `--secure`, `--nodes 3`, `--unstable`
    python -m tests.brokers list           the releases, and the JDK they run on
    python -m tests.brokers fetch          bring every release into the cache, as CI does beforehand

The tests ask for them by fixture (`conftest.py`): `broker` is each release in turn, `broker_3_9`, `broker_4`,
`unstable_broker`, `secure_broker`, `secure_cluster`, `cluster`. A broker starts when the first test asks for it, and is
shared by all that follow.

`registry.py` does the same for a Schema Registry, Apicurio's.

Every test below this folder has the mark `xdist_group("brokers")`: under `pytest -n 2 --dist loadgroup` one worker runs
them all, and no release is started twice. Not so with pytest 9.2 and pytest-xdist 3.8, where the mark does nothing
(pytest-dev/pytest-xdist#1386) and each worker starts brokers of its own, which costs time and no more: better to run
this folder by itself, without -n.

Without Java or Maven these tests skip and say why; with `CI` or `KDBG_REQUIRE_BROKERS=1` set they fail instead.
`KDBG_BROKER_CACHE` (~/.cache/kdbg/brokers) holds the jars; after a failed run the brokers' logs are kept there too.
"""
