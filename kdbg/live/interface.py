"""The kernel's ring of captured packets (packet(7), TPACKET_V3): a socket goes in, batches of packets come out.

The kernel writes packets into memory that it shares with this process, a block of them at a time; there is no call for
each packet, nor a limit of the system on the size. A block is handed over when it is full, or after a short time.
See the kernel's Documentation/networking/packet_mmap.rst.
"""

from __future__ import annotations

import ctypes
import logging
import mmap
import os
import socket
import struct
import sys
from pathlib import Path
from typing import NamedTuple

from ..errors import CaptureRefused

SOL_PACKET = 263
ADD_MEMBERSHIP, RX_RING, STATISTICS, VERSION, IGNORE_OUTGOING = 1, 5, 6, 10, 23
"""Options of packet sockets."""
TPACKET_V3, PROMISCUOUS = 2, 1
BLOCK, FRAME = 1 << 19, 1 << 11
"""Bytes of a block, which holds the largest packet, and of what the kernel calls a frame, which means nothing here."""
HAND_OVER = 10
"""Milliseconds after which a block is handed over that is not full."""
KERNEL, USER = 0, 1
"""Whose a block is: the bits of its status."""
VLAN_VALID, VLAN_TPID_VALID, VLAN = 0x10, 0x40, 0x8100
LOOPBACK, OUTGOING = 772, 4
"""The kind of hardware that is none, and of packets that are on their way out."""
_block = struct.Struct("=8xIII").unpack_from
_packet = struct.Struct("=IIIIIIHH4xIH").unpack_from
_address = struct.Struct("=iHB").unpack_from
ADDRESS = 48 + 4
"""Where the interface of a packet is told, counted from its header."""


class RingPacket(NamedTuple):
    """A packet: number of its interface, nanoseconds since the epoch, bytes captured, bytes on the wire."""

    interface: int
    time: int
    data: bytes
    sent: int


class Ring:
    """The packets of a packet socket, which must have its filter by now; `buffer` is the size of the ring in bytes.

    Packets leaving by a loopback interface come back by it, and are taken once. `ethernet`: they begin with the header
    of Ethernet, into which VLAN tags, which the kernel takes out, are put back.
    """

    dropped: int = 0

    def __init__(self, sock: socket.socket, buffer: int, *, ethernet: bool) -> None:
        self.ethernet = ethernet
        self.socket = sock
        self.blocks: int = max(buffer // BLOCK, 4)
        size = self.blocks * BLOCK
        sock.setsockopt(SOL_PACKET, VERSION, TPACKET_V3)
        request = struct.pack("=7I", BLOCK, self.blocks, FRAME, size // FRAME, HAND_OVER, 0, 0)
        sock.setsockopt(SOL_PACKET, RX_RING, request)
        self._memory = mmap.mmap(sock.fileno(), size)
        self._next = 0
        self.count()  # the kernel has counted what the socket could not hold before it had the ring
        self.dropped = 0

    def take(self) -> list[RingPacket] | None:
        """Return the packets of the next block; None where the kernel has handed over none."""
        place = self._next * BLOCK
        status, count, first = _block(self._memory, place)
        if not status & USER:
            return None
        taken, memory, at = list[RingPacket](), self._memory, place + first
        for _ in range(count):
            step, seconds, rest, size, sent, status, start, network, tag, protocol = _packet(memory, at)
            interface, hardware, kind = _address(memory, at + ADDRESS)
            if kind != OUTGOING or hardware != LOOPBACK:
                begin = at + (start if self.ethernet else network)
                data = memory[begin : begin + size]
                if status & VLAN_VALID and self.ethernet:
                    protocol = protocol if status & VLAN_TPID_VALID else VLAN
                    data = b"%b%b%b" % (data[:12], struct.pack(">HH", protocol, tag & 0xFFFF), data[12:])
                    sent += 4
                taken.append(RingPacket(interface, seconds * 1_000_000_000 + rest, data, sent))
            at += step
        struct.pack_into("=I", memory, place + 8, KERNEL)
        self._next = (self._next + 1) % self.blocks
        return taken

    def count(self) -> int:
        """Return how many packets the kernel has dropped since the beginning."""
        self.dropped += struct.unpack("=III", self.socket.getsockopt(SOL_PACKET, STATISTICS, 12))[1]
        return self.dropped


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
    """A socket that has packets from now on; `link` is their link type."""

    socket: socket.socket
    link: int


def open_interface(name: str, expression: str, snaplen: int) -> OpenSocket:
    """Open an interface, or `ANY`; raise `CaptureRefused` where that is not possible, with what to do.

    `expression` is a filter as tcpdump has them, `snaplen` how many bytes of a packet are wanted.
    """
    if not hasattr(socket, "AF_PACKET"):
        remedy = "on other systems use tcpdump -U -w - … | kdbg decode -"
        raise CaptureRefused(name, "kdbg watch requires Linux", remedy)
    names = [each for _, each in socket.if_nameindex()]
    if name != ANY and name not in names:
        raise CaptureRefused(name, "no such interface", f"use one of {', '.join([*names, ANY])}")
    logging.getLogger("scapy").setLevel(logging.CRITICAL)  # what matters is raised
    try:
        hardware = _hardware(name) if name != ANY else None
        link = ETHERNET if hardware in (ETHERNET, LOOPBACK) else RAW_IP
        return OpenSocket(_open(name, hardware, link, expression, snaplen), link)
    except PermissionError:
        python = os.path.realpath(sys.executable)
        remedy = f"use sudo kdbg watch …, or once sudo setcap cap_net_raw+ep {python}; kdbg proxy needs no privileges"
        raise CaptureRefused(name, "no permission to capture packets", remedy) from None
    except CaptureRefused:
        raise
    except OSError as error:
        raise CaptureRefused(name, f"capturing failed: {error.strerror or error}") from None


def _hardware(name: str) -> int:
    """Return the kernel's number for the kind of an interface."""
    return int(Path(f"/sys/class/net/{name}/type").read_text())


def _open(name: str, hardware: int | None, link: int, expression: str, snaplen: int) -> socket.socket:
    """Have the kernel give a socket only the packets that a filter lets through; what came before the socket gets its
    ring is forgotten then."""
    kind = socket.SOCK_RAW if link == ETHERNET else socket.SOCK_DGRAM
    sock = socket.socket(socket.AF_PACKET, kind, socket.htons(ALL_PROTOCOLS))
    try:
        if name != ANY:
            sock.bind((name, ALL_PROTOCOLS))
        if link == ETHERNET:
            request = struct.pack("=IHH8x", socket.if_nametoindex(name), PROMISCUOUS, 0)
            sock.setsockopt(SOL_PACKET, ADD_MEMBERSHIP, request)
        if hardware == LOOPBACK:
            sock.setsockopt(SOL_PACKET, IGNORE_OUTGOING, 1)  # else each packet would come twice
        program = _program(expression, link, snaplen)
        room = ctypes.create_string_buffer(program)
        sock.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, struct.pack("HP", len(program) // 8, ctypes.addressof(room)))
    except BaseException:
        sock.close()
        raise
    return sock


def _program(expression: str, link: int, snaplen: int) -> bytes:
    """Return the instructions of a filter; raise `CaptureRefused` where it makes no sense, or nothing compiles it."""
    from scapy.arch.common import compile_filter
    from scapy.error import Scapy_Exception

    try:
        compiled = compile_filter(expression, linktype=ETHERNET if link == ETHERNET else DLT_RAW)
    except ImportError:
        problem = "not installed; kdbg needs it to compile filters"
        raise CaptureRefused("libpcap", problem, "apt install libpcap0.8") from None
    except Scapy_Exception as error:
        raise CaptureRefused("--bpf", str(error)) from None
    code = b""
    for number in range(compiled.bf_len):
        one = compiled.bf_insns[number]
        wanted = snaplen if one.code == RETURN and one.k else one.k
        code += struct.pack("HBBI", one.code, one.jt, one.jf, wanted)
    return code
