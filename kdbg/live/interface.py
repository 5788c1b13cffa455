"""An interface of this machine, opened for capturing: its name and a filter go in, a packet socket comes out (Linux).

scapy opens interfaces of Ethernet and compiles filters; all others, and all interfaces at once, are read from the IP
header on.
"""

from __future__ import annotations

import ctypes
import logging
import os
import socket
import struct
import sys
from pathlib import Path
from typing import NamedTuple

from kdbg.errors import CaptureRefused
from kdbg.live.ring import IGNORE_OUTGOING, LOOPBACK, SOL_PACKET

ANY = "any"
ETHERNET, RAW_IP = 1, 101
"""Link types of captures."""
DLT_RAW = 12
"""What libpcap calls the latter where it compiles filters."""
ALL_PROTOCOLS = 3
ATTACH_FILTER = 26
RETURN = 0x06
"""The instruction of a filter that says how many bytes of a packet are wanted."""


class OpenSocket(NamedTuple):
    """A socket that has packets from now on; `link` is their link type. `owner` closes it when it is forgotten."""

    socket: socket.socket
    link: int
    owner: object = None


class InterfaceRefused(CaptureRefused):
    """An interface that cannot be captured on."""


def names() -> list[str]:
    """Return the names of the interfaces that there are."""
    return [name for _, name in socket.if_nameindex()]


def open_interface(name: str, expression: str, snaplen: int) -> OpenSocket:
    """Open an interface, or `ANY`; raise `InterfaceRefused` where that is not possible, with what to do.

    `expression` is a filter as tcpdump has them, `snaplen` how many bytes of a packet are wanted.
    """
    if not hasattr(socket, "AF_PACKET"):
        raise InterfaceRefused(
            name, "kdbg watch requires Linux", ("on other systems use tcpdump -U -w - … | kdbg decode -")
        )
    if name != ANY and name not in names():
        raise InterfaceRefused(name, "no such interface", f"use one of {', '.join([*names(), ANY])}")
    logging.getLogger("scapy").setLevel(logging.CRITICAL)  # what matters is raised
    try:
        if name != ANY and _hardware(name) in (ETHERNET, LOOPBACK):
            return _ethernet(name, expression, snaplen)
        return OpenSocket(_any(name, expression, snaplen), RAW_IP)
    except PermissionError:
        raise InterfaceRefused(name, "no permission to capture packets", rights()) from None
    except InterfaceRefused:
        raise
    except OSError as error:
        raise InterfaceRefused(name, f"capturing failed: {error.strerror or error}") from None


def rights() -> str:
    """Return what to do where there is no right to capture."""
    python = os.path.realpath(sys.executable)
    return f"use sudo kdbg watch …, or once sudo setcap cap_net_raw+ep {python}; kdbg proxy needs no privileges"


def _hardware(name: str) -> int:
    """Return the kernel's number for the kind of an interface."""
    return int(Path(f"/sys/class/net/{name}/type").read_text())


def _ethernet(name: str, expression: str, snaplen: int) -> OpenSocket:
    from scapy.arch.linux import L2ListenSocket

    opened = L2ListenSocket(iface=name, promisc=True)
    sock: socket.socket = opened.ins
    if _hardware(name) == LOOPBACK:
        sock.setsockopt(SOL_PACKET, IGNORE_OUTGOING, 1)  # else each packet would come twice
    _filter(sock, expression, ETHERNET, snaplen)
    return OpenSocket(sock, ETHERNET, opened)


def _any(name: str, expression: str, snaplen: int) -> socket.socket:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL_PROTOCOLS))
    try:
        if name != ANY:
            sock.bind((name, ALL_PROTOCOLS))
        _filter(sock, expression, DLT_RAW, snaplen)  # what came before is forgotten when the socket gets its ring
    except BaseException:
        sock.close()
        raise
    return sock


def _filter(sock: socket.socket, expression: str, link: int, snaplen: int) -> None:
    """Have the kernel give the socket only the packets that fit, and of each only so many bytes."""
    program = _program(expression, link, snaplen)
    room = ctypes.create_string_buffer(program)
    sock.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, struct.pack("HP", len(program) // 8, ctypes.addressof(room)))


def _program(expression: str, link: int, snaplen: int) -> bytes:
    """Return the instructions of a filter; raise `InterfaceRefused` where it makes no sense, or nothing compiles it."""
    from scapy.arch.common import compile_filter
    from scapy.error import Scapy_Exception

    try:
        compiled = compile_filter(expression, linktype=link)
    except ImportError:
        raise InterfaceRefused(
            "libpcap", "not installed; kdbg needs it to compile filters", "apt install libpcap0.8"
        ) from None
    except Scapy_Exception as error:
        raise InterfaceRefused("--bpf", str(error)) from None
    code = b""
    for number in range(compiled.bf_len):
        one = compiled.bf_insns[number]
        wanted = snaplen if one.code == RETURN and one.k else one.k
        code += struct.pack("HBBI", one.code, one.jt, one.jf, wanted)
    return code
