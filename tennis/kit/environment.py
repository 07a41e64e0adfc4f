"""The environment of programs that Tennis starts: the variables named below, and no others.

Compilers, kbuild, Python and Ansible take orders from dozens of variables. One that a shell happens
to set, ``KCFLAGS=-O3``, would change a build, and neither the cache's key nor the manifest would
show it.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# part of the key of builds: another number builds it again
BUILT_IN = "1"
# the places of programs, libraries and a person's settings; a preloaded library is for all programs
PLACES = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "LD_PRELOAD")
# how another machine is reached; git and Ansible log in, too
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")
REACH = (
    *PROXIES,
    *(name.upper() for name in PROXIES),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE"),
    *("USER", "LOGNAME", "SHELL", "TERM", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"),
    *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "GIT_SSH_COMMAND"),
    *("GIT_ASKPASS", "GIT_TERMINAL_PROMPT", "KRB5CCNAME", "KRB5_CONFIG"),
    *("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"),
)
ANSIBLE = (
    *("ANSIBLE_VAULT_PASSWORD_FILE", "ANSIBLE_VAULT_IDENTITY_LIST", "ANSIBLE_PRIVATE_KEY_FILE"),
    *("ANSIBLE_REMOTE_USER", "ANSIBLE_HOST_KEY_CHECKING", "ANSIBLE_TIMEOUT", "ANSIBLE_HOME"),
    *("ANSIBLE_SSH_ARGS", "ANSIBLE_SSH_COMMON_ARGS", "ANSIBLE_SSH_EXTRA_ARGS"),
    *("ANSIBLE_BECOME_PASSWORD_FILE", "ANSIBLE_CONNECTION_PASSWORD_FILE"),
)
SIGROK = ("SIGROK_FIRMWARE_DIR", "SIGROKDECODE_DIR", "XDG_DATA_HOME", "XDG_DATA_DIRS")
# for a Tennis that a Tennis starts: its user's choices, and the way to talk to that user
OWN = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "NO_COLOR", "MPLCONFIGDIR", "VIRTUAL_ENV")
_TILDE = re.compile(r"(?:^|(?<==))~(?=/|$)")
# pydantic reads the lists of all packages, and lets any of them change validation
_ALONE = {"PYDANTIC_DISABLE_PLUGINS": "1"}
OWN_KINDS = ("TENNIS_", "XDG_")  # the first letters of names


def settle(words: Sequence[str]) -> list[str]:
    """Remove variables that are not for us; return a command's words without a ``~``.

    A notebook's kernel names a backend that only it has, and 0 columns are a width that nobody
    knows. Bash expands no ``~`` in ``--out=~/x``: a folder of that name is removed with ``rm -r``.
    """
    os.environ.pop("MPLBACKEND", None)
    os.environ.update(_ALONE)
    for name in ("COLUMNS", "LINES"):
        if os.environ.get(name) == "0":
            del os.environ[name]
    return [_TILDE.sub(lambda _: os.path.expanduser("~"), word) for word in words]  # noqa: PTH111


def for_programs(**more: str) -> dict[str, str]:
    """Return the environment of a program, whose words are in English; ``more`` comes last."""
    return _present((*PLACES, *REACH)) | {"LC_ALL": "C"} | more


def for_ansible() -> dict[str, str]:
    """Return the environment of Ansible, which refuses the plain C locale."""
    given = _present((*PLACES, *REACH, *ANSIBLE))
    return given | {"LC_ALL": "C.UTF-8", "ANSIBLE_NOCOLOR": "1"}


def for_sigrok() -> dict[str, str]:
    """Return the environment of sigrok-cli: its firmware and decoders may be elsewhere."""
    return for_programs(**_present(SIGROK))


def for_tennis(**more: str) -> dict[str, str]:
    """Return the environment of another Python with Tennis; ``more`` comes last."""
    own = [name for name in os.environ if name.startswith(OWN_KINDS)]
    return _present((*PLACES, *REACH, *OWN, *own)) | _ALONE | more


def completed(
    command: Sequence[Any], env: Mapping[str, str], **how: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program that has no input to its end; return its exit code and output, as text.

    ``how``: as for ``subprocess.run``, whose errors it raises.
    """
    how |= {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    return subprocess.run(command, env=env, errors="replace", check=False, **how)


def _present(names: Iterable[str]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}
