"""The lab: real OpenSSH servers, agents and keys in a scratch directory, and the built `sshx` run against them.

Everything a test starts is private to it: no fixed port, no file outside the scratch directory, and nothing
survives the test, not even when the test itself is killed.
"""

from tests.lab.accounts import Account, login_kinds
from tests.lab.agent import Agent
from tests.lab.case import LabCase, TargetCase, main
from tests.lab.documents import Documents
from tests.lab.keys import Key, generate_key
from tests.lab.lab import Lab
from tests.lab.processes import eventually
from tests.lab.server import Server, ServerOptions
from tests.lab.sshx import Completed, Running, Sshx
from tests.lab.terminal import Terminal

__all__ = [
    "Account",
    "Agent",
    "Completed",
    "Documents",
    "Key",
    "Lab",
    "LabCase",
    "Running",
    "Server",
    "ServerOptions",
    "Sshx",
    "TargetCase",
    "Terminal",
    "eventually",
    "generate_key",
    "login_kinds",
    "main",
]
