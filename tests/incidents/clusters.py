"""The clusters that incidents are staged on, each at addresses of its own, with the settings that they need."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..brokers.cluster import Cluster
from ..brokers.releases import release
from ..brokers.security import MODULE, PASSWORD, USER
from ..brokers.settings import CONTROLLER, PLAINTEXT
from .certificates import AUTHORITY, BROKER, BROKER_ELSEWHERE, BROKER_EXPIRED, HOST, pem
from .foreign import HOME

CONTROLLER_PORT = 9990
SSL, SASL_PLAINTEXT, SASL_SSL, SASL_SHORT = "SSL", "SASL_PLAINTEXT", "SASL_SSL", "SASL_SHORT"
USERS = {USER: PASSWORD, "bob": "battery-staple"}
NEAR, FAR = "10.99.0.1", "10.99.0.2"
"""The broker's and the client's end of the line that is slow, lossy or cut."""
BLACK_HOLE = ("127.0.0.98", 9092)
MIDDLE = ("127.0.0.50", 9092)
"""Where the box is that stands between clients and a broker."""
ADVERTISED = {
    "TOLD_LOCALHOST": (9192, "localhost:9092"),
    "TOLD_BLACK_HOLE": (9193, f"{BLACK_HOLE[0]}:{BLACK_HOLE[1]}"),
    "TOLD_NO_NAME": (9194, "kafka-0.kafka.internal.invalid:9092"),
    "TOLD_WRONG_PORT": (9195, "127.0.0.11:9029"),
    "TOLD_OTHER_NETWORK": (9196, "10.20.30.40:9092"),
    "TOLD_LOCALHOST_FROM_AFAR": (9198, "localhost:9092"),
    "TOLD_MIDDLEBOX": (9197, f"{MIDDLE[0]}:{MIDDLE[1]}"),
}
"""Listeners that tell clients of another address than their own: port, and what they tell; most of it is of no use."""
LINE_PORT = 9099
ANYWHERE = "0.0.0.0"
"""What is bound here is there when the line is, and before."""
FRESH = "fresh"
"""The cluster that nobody has used before an incident does."""
LONELY = "lonely"
LOG_DIRS = (HOME / "disk-1", HOME / "disk-2")
DISKS = "disks"
COLD = (FRESH, LONELY, DISKS)
"""Clusters whose topics for offsets and transactions are not made before an incident."""


QUICK = {"group.min.session.timeout.ms": "1000"}
"""What all are told, so that incidents need not last long."""


@dataclass(frozen=True)
class Wanted:
    """A cluster as it is to be: release, nodes' addresses, whether it has TLS and SASL, what its brokers are told."""

    release: str
    hosts: tuple[str, ...]
    secure: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)

    def made(self) -> Cluster:
        """The cluster, not yet started."""
        kafka = release(self.release)
        for disk in LOG_DIRS:
            shutil.rmtree(disk, ignore_errors=True)
        names = {PLAINTEXT: 9092} | ({SSL: 9093, SASL_PLAINTEXT: 9094, SASL_SSL: 9095} if self.secure else {})
        ports = names | ({} if kafka.zookeeper else {CONTROLLER: CONTROLLER_PORT})
        nodes = len(self.hosts)
        settings = QUICK | (_listeners(self.hosts[0], ports) if self.secure else {}) | dict(self.settings)
        return Cluster(
            kafka, nodes=nodes, secure=self.secure, hosts=self.hosts, ports=(ports,) * nodes, extra=settings
        )  # fmt: skip


def _listeners(host: str, ports: Mapping[str, int]) -> dict[str, str]:
    """Those that every secure broker has, one whose sessions are short, one at the line, and the wrong ones."""
    bound = {name: f"{host}:{port}" for name, port in ports.items()}
    bound |= {SASL_SHORT: f"{host}:9097", "LINE": f"{ANYWHERE}:{LINE_PORT}"}
    told = {name: address for name, address in bound.items() if name != CONTROLLER} | {"LINE": f"{NEAR}:{LINE_PORT}"}
    for name, (port, address) in ADVERTISED.items():
        bound[name], told[name] = f"{ANYWHERE if 'AFAR' in name else host}:{port}", address
    protocols = {name: name if name in (SSL, SASL_PLAINTEXT, SASL_SSL) else PLAINTEXT for name in bound}
    protocols[SASL_SHORT] = SASL_PLAINTEXT
    return {
        "listeners": ",".join(f"{name}://{address}" for name, address in bound.items()),
        "advertised.listeners": ",".join(f"{name}://{address}" for name, address in told.items()),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        **_logins(),
    }


def _logins() -> dict[str, str]:
    """PLAIN and SCRAM-SHA-256 are let in, no other mechanism; PLAIN at one listener for two seconds at a time."""
    users = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
    plain = f"{MODULE}.plain.PlainLoginModule required {users};"
    return {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": plain,
        "listener.name.sasl_ssl.plain.sasl.jaas.config": plain,
        "listener.name.sasl_short.plain.sasl.jaas.config": plain,
        "listener.name.sasl_short.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_short.connections.max.reauth.ms": "2000",
        "super.users": "User:ANONYMOUS",
    }


def _guarded() -> dict[str, str]:
    """Listeners that differ in their certificates and in what they take; who logs in; delegation tokens."""
    ports = {PLAINTEXT: 9092, SSL: 9093, SASL_PLAINTEXT: 9094, "MUTUAL": 9101, "EXPIRED": 9102, "ELSEWHERE": 9103,
             "NEWEST": 9104, "CIPHER": 9105, "TOKENS": 9106,
             "TOLD_PLAINTEXT": 9107}  # fmt: skip
    protocols = dict.fromkeys(ports, SSL) | {name: name for name in (PLAINTEXT, SASL_PLAINTEXT)}
    protocols |= {"TOKENS": SASL_PLAINTEXT, CONTROLLER: PLAINTEXT}
    bound = ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())
    told = bound.replace(f":{ports['TOLD_PLAINTEXT']}", f":{ports[PLAINTEXT]}")
    module = f"{MODULE}.oauthbearer.OAuthBearerLoginModule required;"
    return {
        "listeners": f"{bound},{CONTROLLER}://{HOST}:{CONTROLLER_PORT}",
        "advertised.listeners": told,
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "ssl.keystore.type": "PEM", "ssl.keystore.location": str(pem(BROKER)),
        "ssl.truststore.type": "PEM", "ssl.truststore.location": str(pem(AUTHORITY)),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.expired.ssl.keystore.location": str(pem(BROKER_EXPIRED)),
        "listener.name.elsewhere.ssl.keystore.location": str(pem(BROKER_ELSEWHERE)),
        "listener.name.newest.ssl.enabled.protocols": "TLSv1.3",
        "listener.name.cipher.ssl.enabled.protocols": "TLSv1.2",
        "listener.name.cipher.ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        **_logins(),
        "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "listener.name.tokens.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.tokens.oauthbearer.sasl.jaas.config": module,
        "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": f"{MODULE}.scram.ScramLoginModule required;",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        "super.users": f"User:ANONYMOUS;User:{USER};User:CN=client",
        "delegation.token.secret.key": "an-invented-secret",
    }  # fmt: skip


CLUSTERS: dict[str, Wanted] = {
    "one": Wanted("4", ("127.0.0.11",), secure=True, settings={
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
        "log.cleaner.backoff.ms": "500",
    }),
    "three": Wanted("4", ("127.0.0.21", "127.0.0.22", "127.0.0.23"), settings={
        "replica.lag.time.max.ms": "10000", "auto.leader.rebalance.enable": "false",
        "controlled.shutdown.enable": "true",
    }),
    "strict": Wanted("4", ("127.0.0.31",), settings={
        "auto.create.topics.enable": "false", "max.incremental.fetch.session.cache.slots": "0",
        "connections.max.idle.ms": "4000", "socket.request.max.bytes": "200000",
    }),
    FRESH: Wanted("4", ("127.0.0.51",)),
    "old": Wanted("2.8", ("127.0.0.41",)),
    "guarded": Wanted("4", (HOST,), settings=_guarded()),
    LONELY: Wanted("4", ("127.0.0.71",), settings={
        "offsets.topic.replication.factor": "3", "transaction.state.log.replication.factor": "3",
        "transaction.state.log.min.isr": "2", "delete.topic.enable": "false",
    }),
    DISKS: Wanted("4", ("127.0.0.91",), settings={
        "log.dirs": ",".join(map(str, LOG_DIRS)), "metadata.log.dir": str(LOG_DIRS[0]),
    }),
    "narrow": Wanted("4", ("127.0.0.81",), settings={
        "auto.create.topics.enable": "false", "group.max.size": "2",
        "group.max.session.timeout.ms": "30000", "group.consumer.migration.policy": "disabled",
        "transactional.id.expiration.ms": "3000", "group.share.min.record.lock.duration.ms": "1000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
        "group.share.record.lock.duration.ms": "1000",
    }),
}  # fmt: skip
"""`one` has every listener; `three` replicates; `strict` makes no topics, keeps no fetch sessions, and takes
no more than 200,000 bytes at a time; `old` is of before KRaft; `lonely` is one broker that wants three replicas of its
own topics, and deletes none; `disks` has two log directories; `narrow` has low limits for groups and transactions."""
