"""kafka-python 2.0.2 (of 2020), the last that sends bare SASL tokens: installed apart, and run as a script.

    PYTHON old_client.py login HOST:PORT USER PASSWORD

asks for the topics and tells whether it was let in;

    PYTHON old_client.py group HOST:PORT RELEASE

takes the broker for one of Kafka 0.8.1 or 0.8.2, sends letters, reads them and commits. Only install() and run() are
for import.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(tempfile.gettempdir()) / "kdbg-kafka-python-2.0.2"
PYTHON = HOME / "bin" / "python"


def install() -> None:
    """Make the old client's environment, unless it is there; needs the network, so not once in a private one."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True)
        subprocess.run([str(PYTHON), "-m", "pip", "install", "--quiet", "kafka-python==2.0.2"], check=True)


def run(*arguments: str) -> None:
    subprocess.run([str(PYTHON), __file__, *arguments], check=True, timeout=60)


def login(address: str, user: str, password: str) -> None:
    from kafka import KafkaConsumer
    from kafka.errors import KafkaError

    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN"}
    once = {"reconnect_backoff_ms": 10_000, "api_version_auto_timeout_ms": 1000}
    try:
        consumer = KafkaConsumer(
            bootstrap_servers=address,
            client_id="vault-reader",
            sasl_plain_username=user,
            sasl_plain_password=password,
            **login,
            **once,
        )
        print(user, "sees", sorted(consumer.topics()))
        consumer.close()
    except KafkaError as error:
        print(user, "is not let in:", error)


def group(address: str, release: str) -> None:
    from kafka import KafkaConsumer, KafkaProducer

    topic = f"letters-{release}"
    common = {"bootstrap_servers": address, "api_version": tuple(int(part) for part in release.split("."))}
    letterbox = KafkaProducer(**common, client_id="letterbox", compression_type="gzip", linger_ms=50)
    for number in range(4):
        letterbox.send(topic, f"letter {number}: dear reader".encode(), key=b"sender")
    letterbox.flush()
    letterbox.close()
    reading = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "consumer_timeout_ms": 5000}
    postman = KafkaConsumer(topic, **common, **reading, client_id="postman", group_id="delivery")
    for _ in range(4):
        next(postman)
    postman.commit()
    postman.close()


if __name__ == "__main__":
    {"login": login, "group": group}[sys.argv[1]](*sys.argv[2:])
