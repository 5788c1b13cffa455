"""kafka-python 2.0.2 (of 2020), the last that sends bare SASL tokens: installed apart, and run as a script.

    PYTHON old_client.py HOST:PORT USER PASSWORD

asks for the topics and tells whether it was let in. Nothing but install() is for import.
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


def main(address: str, user: str, password: str) -> None:
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


if __name__ == "__main__":
    main(*sys.argv[1:])
