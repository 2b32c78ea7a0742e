"""Certificates for tests, made by the openssl program: an authority and what it signs."""
import subprocess


def openssl(*arguments, **options):
    return subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True,
                          **options)


class Pair:
    """A certificate and its key, in files of PEM."""

    def __init__(self, directory, name):
        self.name = name
        self.certificate = directory / f"{name}.pem"
        self.key = directory / f"{name}.key"

    def yaml(self):
        return f"{{ certificate: {self.certificate}, key: {self.key} }}"


class Authority(Pair):
    def __init__(self, directory, name="authority"):
        super().__init__(directory, name)
        self.directory = directory
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", self.key, "-out", self.certificate, "-subj", f"/CN={name}", "-days", 30)

    def issue(self, name, names="DNS:localhost,IP:127.0.0.1", days=30):
        """days < 0: it has expired."""
        pair = Pair(self.directory, name)
        request, extensions = self.directory / f"{name}.csr", self.directory / f"{name}.ext"
        extensions.write_text(f"subjectAltName={names}\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-keyout", pair.key, "-out", request, "-subj", f"/CN={name}")
        begin = ("-not_before", "20200101000000Z", "-not_after", "20200201000000Z")
        self.sign(request, pair, extensions, begin if days < 0 else ("-days", days))
        return pair

    def sign(self, request, pair, extensions, dates):
        command = ["x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key,
                   "-CAcreateserial", "-extfile", extensions, "-out", pair.certificate]
        if dates[0] == "-days":
            openssl(*command, *dates)
        else:  # `openssl ca` is the one that sets dates everywhere
            self.sign_with_dates(request, pair, extensions, dates)

    def sign_with_dates(self, request, pair, extensions, dates):
        database = self.directory / "index.txt"
        database.write_text("")
        configuration = self.directory / "ca.cnf"
        configuration.write_text(
            "[ca]\ndefault_ca=it\n[it]\n"
            f"database={database}\nnew_certs_dir={self.directory}\nrand_serial=yes\n"
            "default_md=sha256\npolicy=any\n[any]\ncommonName=supplied\n")
        openssl("ca", "-batch", "-config", configuration, "-in", request, "-out", pair.certificate,
                "-cert", self.certificate, "-keyfile", self.key, "-extfile", extensions, "-notext",
                "-startdate", dates[1], "-enddate", dates[3])
