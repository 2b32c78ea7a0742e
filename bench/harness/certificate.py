"""A certificate of 127.0.0.1 that nobody has to believe, made by the openssl program."""
import shutil
import subprocess

from harness.lab import Failure


def make(lab):
    """The paths of the certificate and its key, and of a file with both."""
    if shutil.which("openssl") is None:
        raise Failure("openssl is not there")
    certificate, key, both = (lab.path(name) for name in ("tls.pem", "tls.key", "tls.both"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", certificate,
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-days", "2"], check=True, capture_output=True)
    with open(both, "w") as file:
        for part in certificate, key:
            with open(part) as content:
                file.write(content.read())
    return certificate, key, both
