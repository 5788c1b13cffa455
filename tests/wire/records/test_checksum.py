"""The checksums against their published check values."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.protocol.wire.records.sets import crc32, crc32c

CHECK = b"123456789"
"""The string over which catalogues of CRCs publish their check value."""

RFC3720 = {  # iSCSI, appendix B.4: CRC-32C of 32 bytes each
    bytes(32): 0x8A9136AA,
    b"\xff" * 32: 0x62A8AB43,
    bytes(range(32)): 0x46DD794E,
    bytes(range(31, -1, -1)): 0x113FDB5C,
}


@pytest.mark.parametrize(("function", "expected"), [(crc32, 0xCBF43926), (crc32c, 0xE3069283)])
def test_the_published_check_value_comes_out(function, expected):
    assert function(CHECK) == expected


@pytest.mark.parametrize(("data", "expected"), RFC3720.items())
def test_crc32c_gives_the_values_of_rfc_3720(data, expected):
    assert crc32c(data) == expected


@pytest.mark.parametrize("function", [crc32, crc32c])
def test_nothing_has_the_checksum_zero(function):
    assert function(b"") == 0


@pytest.mark.parametrize("function", [crc32, crc32c])
@given(st.binary(max_size=300), st.integers(0, 20))
def test_a_view_counts_like_its_bytes_and_the_sum_is_unsigned(function, data, start):
    expected = function(data[start:])
    assert function(memoryview(data)[start:]) == expected
    assert 0 <= expected < 2**32


def test_importing_the_module_leaves_the_heavy_package_alone():
    script = "import sys, kdbg.protocol.wire.records.sets; print('fastcrc' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
