"""Staged incidents: each failure made with real brokers and real clients, and recorded; and what is lively but healthy.

    python -m tests.incidents --list              the incidents, their causes, who is concerned
    python -m tests.incidents NAME… [--out DIR]   make these anew; `--all` makes all, on each cluster in turn
    python -m tests.incidents --all --no-cures    without the runs that have the advice applied

An incident is one entry of `scenarios/`: a name, the code of its cause, who, how it is staged, what undoes it, what
its capture must show (`incident.py`). Captures are kept in `captures/`: `NAME.pcap.gz`, where there is a cure
`NAME.cured.pcap.gz`, and `truth.jsonl` with the truth about each. Brokers are those of tests/brokers at addresses of
loopback (`clusters.py`), in a network namespace of our own; delay, loss and cuts are made by a line of two tun devices
(`line.py`), load balancers and firewalls by `proxies.py`, certificates by `certificates.py`; one incident wants a
PostgreSQL server. Clients are librdkafka, Java, kafka-python, aiokafka, franz-go and KafkaJS (`clients/`), and one made
by hand where a fault needs it (`handmade.py`); Kafka Streams, Connect and MirrorMaker are built on them
(`platforms.py`). Other authors' brokers are kfake, Tansu and librdkafka's mock cluster (`other_brokers.py`). All names
and passwords are invented. A cause may be staged before kdbg has a rule for it: `NO_RULE_YET` in
`codes.py` lists those.
"""

from pathlib import Path

CAPTURES = Path(__file__).parent / "captures"
