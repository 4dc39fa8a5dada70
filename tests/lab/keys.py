"""Keys made by ssh-keygen, in every kind and format that sshx reads."""

import base64
import hashlib
import os
import subprocess
from dataclasses import dataclass

_KEYGEN_ARGUMENTS = {
    "ed25519": ["-t", "ed25519"],
    "ecdsa256": ["-t", "ecdsa", "-b", "256"],
    "ecdsa384": ["-t", "ecdsa", "-b", "384"],
    "ecdsa521": ["-t", "ecdsa", "-b", "521"],
    "rsa": ["-t", "rsa", "-b", "3072"],
}
_FORMAT_ARGUMENTS = {"openssh": [], "pem": ["-m", "PEM"], "pkcs8": ["-m", "PKCS8"]}

KINDS = tuple(_KEYGEN_ARGUMENTS)
FORMATS = tuple(_FORMAT_ARGUMENTS)


@dataclass(frozen=True)
class Key:
    """A private key file with its `.pub` beside it."""

    path: str
    kind: str

    @property
    def public_path(self):
        return self.path + ".pub"

    @property
    def public_line(self):
        """`type base64`, without the comment."""
        with open(self.public_path, encoding="ascii") as file:
            return " ".join(file.read().split()[:2])

    @property
    def type(self):
        """The key type's wire name (`ssh-ed25519` …)."""
        return self.public_line.split()[0]

    @property
    def blob(self):
        return base64.b64decode(self.public_line.split()[1])

    @property
    def fingerprint(self):
        """`SHA256:…` as ssh-keygen -l prints it."""
        digest = hashlib.sha256(self.blob).digest()
        return "SHA256:" + base64.b64encode(digest).decode("ascii").rstrip("=")


def generate_key(path, kind="ed25519", key_format="openssh", passphrase=""):
    """Makes a key of `kind` (KINDS) in `key_format` (FORMATS) at `path`; ssh-keygen refuses ed25519 in PEM."""
    argv = ["ssh-keygen", "-q", "-N", passphrase, "-C", f"lab-{kind}", "-f", path]
    subprocess.run(
        argv + _KEYGEN_ARGUMENTS[kind] + _FORMAT_ARGUMENTS[key_format],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    os.chmod(path, 0o600)
    return Key(path, kind)
