"""Keys and certificates, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from .talks import certificate


@pytest.fixture(scope="session")
def pems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files with a key and its certificate, by the kind of key."""
    folder = tmp_path_factory.mktemp("pems")
    return {kind: certificate(folder, kind) for kind in ("rsa", "ec")}
