"""A machine in bad shape for one program: file systems that are full or read-only, another user database, no account.

Each is made in a private user and mount namespace, so that root and an ordinary user meet the same and nobody else
meets it. Needs a kernel that lets its users make user namespaces, as Debian's does.
"""

import shlex

NOBODY = 4242  # an account that no user database knows


def world(*changes, uid=0):
    """A `prefix` for Sshx.run: the program sees the files after these shell lines, and itself as user `uid`.

    To the kernel it remains the tester: it owns what the tester owns. As 0 it has all rights over that; as any other
    user the permissions bind, also where root runs the tests.
    """
    last = 'exec "$@"' if uid == 0 else f'exec unshare --user --map-user={uid} --map-group={uid} -- "$@"'
    return ("unshare", "--map-root-user", "--mount", "--", "sh", "-ec", "\n".join([*changes, last]), "sh")


def read_only(path):
    """The folder with its files on a file system that cannot be written."""
    # A copy on a file system of its own, since a user namespace may not change the flags of one that it was given.
    return "; ".join(
        (
            f"mkdir -p {_quoted(path, '.ro')}",
            f"mount -t tmpfs -o mode=0700 tmpfs {_quoted(path, '.ro')}",
            f"cp -a {_quoted(path, '/.')} {_quoted(path, '.ro')}",
            f"mount --bind {_quoted(path, '.ro')} {_quoted(path)}",
            f"mount -o remount,bind,ro {_quoted(path)}",
        )
    )


def full(path, free_kib=0):
    """The folder with its files on a disk that has room for `free_kib` (a multiple of 4) more."""
    return "; ".join(
        (
            f"mkdir -p {_quoted(path, '.full')}",
            f"mount -t tmpfs -o mode=0700,size=1m tmpfs {_quoted(path, '.full')}",
            f"cp -a {_quoted(path, '/.')} {_quoted(path, '.full')}",
            f"mkdir -p {_quoted(path, '.full/filled')}",
            f"head -c {free_kib}k /dev/zero >{_quoted(path, '.full/filled/room')}",
            f"cat /dev/zero >{_quoted(path, '.full/filled/rest')} 2>/dev/null || true",
            f"rm {_quoted(path, '.full/filled/room')}",
            f"mount --bind {_quoted(path, '.full')} {_quoted(path)}",
        )
    )


def instead_of(path, other):
    """The file or folder `other` where `path` is."""
    return f"mount --bind {_quoted(other)} {_quoted(path)}"


def empty_folder(path):
    """Nothing in the folder, and nothing can be put there."""
    return f"mount -t tmpfs -o ro tmpfs {_quoted(path)}"


def _quoted(path, suffix=""):
    return shlex.quote(str(path) + suffix)
