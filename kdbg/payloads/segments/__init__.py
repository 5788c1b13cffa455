"""Files of a broker's disk: bytes in, the pieces they are made of out, one after the other and in bounded memory.

A log segment is a record set without an end; beside it lie its indexes, a snapshot of its producers, checkpoints. A
file is recognised by what it holds (kinds.py); its name says whose it is (piece.py) and decides where the content
leaves a doubt, as zeros do. `open_file` puts the two together.
"""

from .kinds import File, more_wanted, named_kind, open_file
from .piece import FileKind, LogLocation, SegmentPiece, place_of

__all__ = ["File", "FileKind", "LogLocation", "SegmentPiece", "more_wanted", "named_kind", "open_file", "place_of"]
