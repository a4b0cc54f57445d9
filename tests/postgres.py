"""A PostgreSQL server for the tests, from the programs that the system has."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

PASSWORD = "s3cr:t/p@ss?"
_FOLDERS = ("/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt/postgresql")


def programs():
    """The folder with initdb and pg_ctl, and why there is none."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    for root in map(Path, _FOLDERS):
        folders += sorted(root.glob("*/bin"), reverse=True) + [root / "bin"]
    folder = next((folder for folder in folders if (folder / "initdb").exists()), None)
    if folder is None:
        return None, "PostgreSQL is not installed"
    if hasattr(os, "geteuid") and os.geteuid() == 0 and _account() is None:
        return None, "PostgreSQL does not run as root, and there is no account postgres"
    return folder, ""


def _account():
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return None


@contextmanager
def server(folder):
    """Start a server with one user, me, who has a password; yield its port."""
    as_root = os.geteuid() == 0
    account = {"user": "postgres", "group": _account().pw_gid, "extra_groups": []} if as_root else {}
    with tempfile.TemporaryDirectory(prefix="pg-") as home:
        os.chmod(home, 0o700)
        password = Path(home, "password")
        password.write_text(PASSWORD)
        if as_root:
            shutil.chown(home, "postgres")
            shutil.chown(password, "postgres")
        data = f"{home}/data"
        quiet = {"cwd": home, "check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **account}
        who = ["-U", "me", "--auth=scram-sha-256", f"--pwfile={password}", "--no-sync", "-E", "UTF8"]
        subprocess.run([folder / "initdb", "-D", data, *who], **quiet)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = f"-p {port} -k {home} -c listen_addresses=127.0.0.1 -c fsync=off"
        subprocess.run([folder / "pg_ctl", "-D", data, "-w", "-o", options, "-l", f"{home}/log", "start"], **quiet)
        try:
            yield port
        finally:
            subprocess.run([folder / "pg_ctl", "-D", data, "-m", "immediate", "stop"], **quiet)
