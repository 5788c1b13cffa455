"""TLS and SASL for a broker: certificates of an authority of our own, invented users, and what clients must be told."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from pathlib import Path

from .classpath import Unavailable
from .settings import HOST, write

USER, PASSWORD = "alice", "correct-horse"  # for PLAIN and both SCRAMs
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAM, "OAUTHBEARER")
LISTENERS = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
MODULE = "org.apache.kafka.common.security"

OPENSSL = """\
[req]
distinguished_name = name
prompt = no
[name]
CN = kdbg
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = DNS:localhost, IP:%s
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
"""


class Security:
    """The files of a secure cluster, in a folder that goes with it."""

    def __init__(self, folder: Path, host: str = HOST) -> None:
        self.folder = folder
        self._host = host  # what the certificates are for, beside localhost
        self.authority = folder / "authority.pem"  # signed the broker and the client
        self.stranger = folder / "stranger.pem"  # an authority that signed neither
        self.broker = folder / "broker.pem"
        self.client = folder / "client.pem"
        self.client_key = folder / "client.key"

    def create(self) -> None:
        """Make the keys and certificates."""
        self.folder.mkdir()
        (self.folder / "openssl.cnf").write_text(OPENSSL % self._host)
        for authority in (self.authority, self.stranger):
            self._certificate(authority, "authority")
        for leaf in (self.broker, self.client):
            signer = ["-CA", str(self.authority), "-CAkey", str(self.authority.with_suffix(".key"))]
            self._certificate(leaf, "leaf", *signer)
        self._both.write_text(self.broker.with_suffix(".key").read_text() + self.broker.read_text())

    @property
    def _both(self) -> Path:
        return self.folder / "broker-with-key.pem"

    def broker_properties(self) -> dict[str, str]:
        """What the broker is told besides its listeners."""
        tls = {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._both),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority),
            "listener.name.ssl.ssl.client.auth": "requested",  # a client may show a certificate, and need not
        }
        authorisation = {  # all may do all, but the requests about rules and tokens are taken seriously
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
            "super.users": f"User:ANONYMOUS;User:{USER}",
            "delegation.token.secret.key": "an-invented-secret",
        }
        sasl = {"sasl.enabled.mechanisms": ",".join(MECHANISMS)}
        for listener in ("sasl_plaintext", "sasl_ssl"):
            for mechanism, module in _modules().items():
                sasl[f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"] = module
        return tls | authorisation | sasl

    def format_options(self) -> list[str]:
        """How kafka-storage is told the users of SCRAM."""
        users = [f"{mechanism}=[name={USER},password={PASSWORD}]" for mechanism in SCRAM]
        return [word for user in users for word in ("--add-scram", user)]

    def client_properties(self, listener: str, mechanism: str = "") -> Path:
        """A client.properties for Java's clients, as a user would have it."""
        path = self.folder / f"client-{listener}-{mechanism}.properties".lower()
        properties = {"security.protocol": listener}
        if "SSL" in listener:
            properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.authority)}
        if mechanism:
            properties |= {"sasl.mechanism": mechanism, "sasl.jaas.config": _login(mechanism)}
        write(path, properties)
        return path

    def _certificate(self, path: Path, kind: str, *signer: str) -> None:
        openssl = shutil.which("openssl")
        if openssl is None:
            raise Unavailable("openssl is not installed; it makes the secure broker's certificates")
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout"]
        subject = ["-subj", f"/CN={path.stem}", "-days", "3650", "-config", str(self.folder / "openssl.cnf")]
        command = [openssl, "req", "-x509", *key, str(path.with_suffix(".key")), *subject, "-extensions", kind]
        subprocess.run([*command, *signer, "-out", str(path)], check=True, capture_output=True)


def unsecured_token(subject: str = USER, seconds: float = 3600) -> str:
    """A token for OAUTHBEARER as the broker takes it here: a JWT that nobody signed."""
    now = time.time()
    parts = ({"alg": "none"}, {"sub": subject, "iat": now, "exp": now + seconds})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join((*encoded, ""))


def _modules() -> dict[str, str]:
    """Mechanism -> the JAAS line of the broker."""
    scram = f"{MODULE}.scram.ScramLoginModule required;"
    return {
        "PLAIN": f'{MODULE}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";',
        **dict.fromkeys(SCRAM, scram),
        "OAUTHBEARER": f"{MODULE}.oauthbearer.OAuthBearerLoginModule required;",
    }


def _login(mechanism: str) -> str:
    """The JAAS line of a client."""
    if mechanism == "OAUTHBEARER":
        return f'{MODULE}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="{USER}";'
    name = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    return f'{MODULE}.{name}LoginModule required username="{USER}" password="{PASSWORD}";'
