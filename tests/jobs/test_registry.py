"""Copies of a process share no connection to a Schema Registry: each would get responses that are for another."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kdbg.exchanges.jobs import AVAILABLE
from kdbg.live.client.schema_registry import SchemaRegistry, client_of


@pytest.mark.skipif(not AVAILABLE, reason="this system cannot copy a process")
def test_a_copy_of_a_process_has_a_connection_of_its_own() -> None:
    asked: list[tuple[str, tuple[str, int]]] = []

    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append((self.path.partition("?")[0], self.client_address))
            data = json.dumps({"schema": json.dumps({"type": "string"})}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        registry = SchemaRegistry(url := f"http://127.0.0.1:{server.server_port}")
        registry.by_id(1)
        copy = multiprocessing.get_context("fork").Process(target=registry.by_id, args=(2,))
        copy.start()
        copy.join(60)
        registry.by_id(3)
        client_of(os.getpid(), url, ()).__exit__()
        server.shutdown()
    paths, ends = zip(*asked, strict=True)
    assert paths == tuple(f"/schemas/ids/{number}" for number in (1, 2, 3))
    assert ends[0] == ends[2] != ends[1]
