"""weir as ./dev install puts it somewhere, for those who build against it."""
import subprocess

from program import ROOT, environment


class Installation:
    def __init__(self, prefix):
        self.prefix = prefix
        done = subprocess.run([ROOT / "dev", "install", prefix], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def environment(self):
        """As in a shell where PATH and PKG_CONFIG_PATH say where weir is."""
        clean = environment()
        return {**clean, "PATH": f"{self.prefix}/bin:{clean['PATH']}",
                "PKG_CONFIG_PATH": f"{self.prefix}/lib/pkgconfig"}

    def flags(self):
        return subprocess.run(["pkg-config", "--cflags", "weir"], env=self.environment(),
                              check=True, capture_output=True, text=True).stdout.split()
