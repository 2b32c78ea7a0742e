"""h2spec in its strict mode, against weir as a reverse proxy. It follows RFC 7540; the law is RFC 9113."""
import pytest

import h2spec
from certificates import Authority
from origin import always, ok

# What weir does otherwise, and the sentence of RFC 9113 that lets it.
EXCEPTIONS = {
    # 5.1, closed: "An endpoint MAY treat receipt of any other type of frame on a closed stream as a
    # connection error (Section 5.4.1) of type STREAM_CLOSED". DATA is counted and dropped.
    "http2/5.1 closed: Sends a DATA frame after sending RST_STREAM frame",
    "http2/5.1 closed: Sends a DATA frame",
    # 5.3.2: the priorities of RFC 7540 are deprecated, and that a stream cannot depend on itself is
    # no rule any more. weir says SETTINGS_NO_RFC7540_PRIORITIES (RFC 9218 2.1) and ignores them.
    "http2/5.3.1 Sends PRIORITY frame that depend on itself",
}
CASES = 140  # there are 146: a run that broke off is no success


@pytest.mark.skipif(not h2spec.binary(), reason="there is no h2spec: no Go, or no modules")
@pytest.mark.parametrize("carrier", ["h2c", "tls"])
def test_every_case(start_weir, make_origin, tmp_path, carrier):
    origin = make_origin(always(ok(b"some text " * 100)))
    file = tmp_path / "weir.yaml"
    tls = carrier == "tls" and f"tls: {{ certificates: [ {Authority(tmp_path).issue('it').yaml()} ] }}"
    file.write_text(f"listen: [ {{ address: 127.0.0.1:0, protocols: [ h2 ], {tls or ''} }} ]\n"
                    f"upstream: {{ it: {{ servers: [ '{origin.authority.decode()}' ] }} }}\n"
                    "fixed_upstream: it\n")
    weir = start_weir("-c", str(file))
    outcomes = h2spec.run(weir.address[1], tmp_path, *["--tls", "--insecure"][:2 * bool(tls)])
    assert {case for case, outcome in outcomes.items() if outcome != "passed"} == EXCEPTIONS
    assert len(outcomes) >= CASES
