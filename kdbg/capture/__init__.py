"""Where packets come from: a capture file, a pipe or a stream of bytes goes in, TCP segments come out.

Knows nothing of Kafka and prints nothing. scapy is imported for tunnels and rare link types alone, when one is met.
"""

from kdbg.capture.files import Capture, open_capture
from kdbg.capture.packet import Packet

__all__ = ["Capture", "Packet", "open_capture"]
