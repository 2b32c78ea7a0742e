"""The client of tests that are about HTTP of any version: with WEIR_CLIENT=h2, one of HTTP/2."""
import os

import client

OVER_H2 = os.environ.get("WEIR_CLIENT") == "h2"

if OVER_H2:
    from client_over_h2 import ClientOverH2 as Client
else:
    Client = client.Client

__all__ = ["Client", "OVER_H2"]
