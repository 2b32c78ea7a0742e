"""Large transfers arrive byte-exact in bounded memory; tests/accept/transfer.py does it with 2 GiB."""
import pathlib
import sys

import pytest

import program

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "accept"))

import transfer  # noqa: E402

MEBIBYTE = 1024 * 1024


@pytest.mark.parametrize("framing", transfer.FRAMINGS)
@pytest.mark.parametrize("direction", transfer.DIRECTIONS)
def test_transfer(direction, framing):
    outcome = transfer.measure(program.release_path(), direction, framing, 64 * MEBIBYTE)
    assert outcome.exact, outcome
    assert outcome.peak < 16 * MEBIBYTE, outcome


def test_pattern_notices_what_may_go_wrong():
    """A byte changed, lost or doubled, and two buffers exchanged."""
    right = bytes(transfer.DOUBLED[:300000])
    assert transfer.Pattern(300000).matches([right])
    assert transfer.Pattern(300000).matches([right[:1], right[1:65536], right[65536:]])
    wrong = [right[:1000] + bytes([right[1000] ^ 1]) + right[1001:], right[:-1], right + b"x",
             right[:1000] + right[1001:], right[:1000] + right[999:-1],
             right[65536:131072] + right[:65536] + right[131072:]]
    for data in wrong:
        assert not transfer.Pattern(300000).matches([data])
