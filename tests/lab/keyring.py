"""A private D-Bus session, and a real gnome-keyring on it when one is wanted."""

import os
import subprocess

from tests.lab import processes

# No folder of services: nothing is started because somebody asks for it.
_CONFIG = """<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


class Bus:
    """Started by the constructor, ended by `stop`; `address` is what DBUS_SESSION_BUS_ADDRESS must be set to."""

    def __init__(self, directory):
        self.directory = directory
        socket = os.path.join(directory, "bus")
        self.address = f"unix:path={socket}"
        config = os.path.join(directory, "bus.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(_CONFIG.format(socket=socket))
        self._process = _start(["dbus-daemon", f"--config-file={config}", "--nofork"], os.environ)
        processes.eventually(lambda: os.path.exists(socket), "the bus listens")

    def stop(self):
        processes.stop(self._process)


class Keyring:
    """gnome-keyring-daemon on a bus, with a home of its own; locked unless it is given the password that it has."""

    PASSWORD = b"of the keyring"

    def __init__(self, bus, unlocked=True):
        self._environment = {
            **os.environ, "DBUS_SESSION_BUS_ADDRESS": bus.address, "HOME": bus.directory,
            "XDG_DATA_HOME": os.path.join(bus.directory, "data"), "XDG_RUNTIME_DIR": bus.directory,
        }  # fmt: skip
        argv = ["gnome-keyring-daemon", "--foreground", "--components=secrets", f"--control-directory={bus.directory}"]
        self.process = _start([*argv, "--unlock"] if unlocked else argv, self._environment, self.PASSWORD if unlocked else b"")
        processes.eventually(self._answers, "the keyring is on the bus")

    def _answers(self):
        asked = subprocess.run(
            ["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.NameHasOwner",
             "string:org.freedesktop.secrets"],
            env=self._environment, capture_output=True, check=False,
        )  # fmt: skip
        return b"true" in asked.stdout

    def stop(self):
        processes.stop(self.process)


def _start(argv, environment, stdin=b""):
    process = processes.start(
        argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    process.stdin.write(stdin)
    process.stdin.close()
    return process
