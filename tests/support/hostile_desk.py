"""Run as root in a mount namespace of its own: provisions, students set traps, provisions again.

The first argument is a folder for what is kept, the second one the checkout. /etc is a copy; /home,
/run, /var/lib and /var/mail are empty. Ansible, useradd, sshd and tennis-bench are the real ones.
Prints a JSON object: what each attempt came to.
"""

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

FOLDER, CHECKOUT = Path(sys.argv[1]), Path(sys.argv[2])
BENCH = CHECKOUT / "ansible/roles/base/files/tennis_bench.py"
ANNA, BEN, GONE = "tennis-anna", "tennis-ben", "tennis-gone"
DATA = Path("/var/lib/tennis/data")
PLAY = """
- hosts: localhost
  gather_facts: false
  vars:
    base_passwords_kept: []
    base_way_in: {stdout_lines: [root, "1"]}
    ansible_managed: a test
  tasks:
    - ansible.builtin.include_role: {name: base, tasks_from: users.yml}
    - ansible.builtin.include_role: {name: base, tasks_from: folders.yml}
    - ansible.builtin.template:
        src: CHECKOUT/ansible/roles/base/templates/sshd.conf.j2
        dest: /etc/ssh/sshd_config.d/10-tennis.conf
        validate: /usr/sbin/sshd -t -f %s
"""


def run(*words: object, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*map(str, words)], capture_output=True, text=True, check=False, timeout=280, **more
    )


def must(*words: object) -> str:
    done = run(*words)
    if done.returncode:
        sys.exit(f"{words}: {done.stdout[-3000:]} {done.stderr[-2000:]}")
    return done.stdout


def login(user: str, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell as a student, without any right."""
    words = ("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "env", "-i")
    return run(*words, f"HOME=/home/{user}", "PATH=/usr/bin:/bin", "sh", "-c", line, cwd="/")


def key(name: str) -> str:
    must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", FOLDER / name)
    return (FOLDER / f"{name}.pub").read_text().strip()


def provision(users: dict[str, str]) -> str:
    """Run the real tasks; return the recap."""
    named = [{"name": name, "keys": [text]} for name, text in users.items()]
    (FOLDER / "play.yml").write_text(PLAY.replace("CHECKOUT", str(CHECKOUT)))
    (FOLDER / "users.json").write_text(json.dumps({"base_users": named}))
    playbook = Path(sys.executable).with_name("ansible-playbook")
    done = run(
        *(playbook, "-i", "localhost,", "-c", "local", FOLDER / "play.yml"),
        *("-e", f"@{FOLDER / 'users.json'}", "-e", f"ansible_python_interpreter={sys.executable}"),
        cwd=CHECKOUT / "ansible",
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8", "HOME": str(FOLDER)},
    )
    if done.returncode:
        sys.exit(f"{done.stdout[-5000:]} {done.stderr[-2000:]}")
    return done.stdout.splitlines()[-2]


def owner(path: str) -> list[object]:
    found = os.stat(path)  # noqa: PTH116 follows links, as root would
    return [found.st_uid, found.st_gid, oct(stat.S_IMODE(found.st_mode))]


def bench(*words: str, sudo_user: str = "") -> dict[str, object]:
    """Run tennis-bench as sudo runs it."""
    done = run(
        sys.executable, BENCH, *words, env={"PATH": os.environ["PATH"], "SUDO_USER": sudo_user}
    )
    return {"code": done.returncode, "said": done.stdout, "wrong": done.stderr[-300:]}


def isolate() -> None:
    shutil.copytree("/etc", FOLDER / "etc", symlinks=True)
    must("mount", "--bind", FOLDER / "etc", "/etc")
    for path in ("/home", "/run", "/var/lib", "/var/mail"):
        must("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", path)
    Path("/run/sshd").mkdir()
    must("groupadd", "--system", "tennis")
    shutil.rmtree("/etc/ssh/sshd_config.d", ignore_errors=True)
    Path("/etc/ssh/sshd_config.d").mkdir(parents=True)
    Path("/etc/ssh/sshd_config").write_text(
        "Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\nPidFile none\n"
        f"HostKey {FOLDER / 'host'}\n"
    )


def serve() -> int:
    """Start sshd; return its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    must("/usr/sbin/sshd", "-p", port, "-o", "ListenAddress=127.0.0.1", "-E", FOLDER / "sshd.log")
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            break
    return port


def lets_in(port: int, user: str, name: str) -> bool:
    options = ["BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null"]
    options += ["IdentitiesOnly=yes", "IdentityAgent=none"]
    words = [word for option in options for word in ("-o", option)]
    where = ("-p", port, "-i", FOLDER / name, *words, f"{user}@127.0.0.1")
    done = run("ssh", "-F", "none", *where, "id -un")
    return done.stdout.strip() == user


def main() -> None:
    isolate()
    key("host")
    named = {name: key(name) for name in (ANNA, BEN, GONE)}
    key("friend")
    found: dict[str, object] = {}
    provision(named)
    safe = {path: owner(path) for path in ("/etc", "/etc/passwd", "/root", "/")}

    # --- traps in the homes ---
    friend = (FOLDER / "friend.pub").read_text()
    login(ANNA, "rm -rf ~/.ssh; ln -s /etc ~/.ssh")
    login(BEN, "rm -rf ~/.ssh; mkdir -m 700 ~/.ssh; ln -s /etc/passwd ~/.ssh/authorized_keys")
    login(BEN, "mkfifo ~/.profile")
    login(GONE, f"umask 77; mkdir -p ~/.ssh; echo '{friend}' > ~/.ssh/authorized_keys")
    found["writes a key of root's folder"] = login(
        ANNA, f"echo '{friend}' >> /etc/ssh/tennis-keys/{ANNA}"
    ).returncode
    found["puts a key into root's folder"] = login(
        ANNA, f"echo '{friend}' > /etc/ssh/tennis-keys/root"
    ).returncode

    # --- traps among the data ---
    found["puts a link in the data's place"] = login(
        ANNA, f"rmdir {DATA}; mv {DATA} {DATA}.old; ln -s /etc {DATA}.new"
    ).returncode
    found["writes the lease"] = login(ANNA, "echo '{}' > /var/lib/tennis/lease.json").returncode
    found["makes the locks' folder first"] = login(ANNA, "mkdir /run/tennis").returncode
    login(ANNA, f"ln -s /etc {DATA}/etc; ln -s / {DATA}/root")
    login(ANNA, f"mkdir {DATA}/rally; mkfifo {DATA}/rally/manifest.json")
    login(ANNA, f"mkdir {DATA}/late; echo > {DATA}/late/manifest.json; "
          f"touch -d '2200-01-01' {DATA}/late/manifest.json")  # fmt: skip
    # deeper than a program's calls may nest, and than a path may be long
    deep = "import os\nos.chdir('DATA')\nfor _ in range(3000):\n os.mkdir('a'); os.chdir('a')"
    login(ANNA, f'/usr/bin/python3 -c "{deep.replace("DATA", str(DATA))}"')
    found["status of the deep"] = bench("status")
    login(ANNA, f"cd {DATA}; mkdir many; cd many; seq 21000 | xargs touch")
    login(BEN, f"rm -rf {DATA}/rally; mv {DATA}/late {DATA}/mine")
    # a login whose new files its group may write, as where each login has a group
    login(ANNA, f"umask 2; mkdir {DATA}/groups; touch {DATA}/groups/manifest.json")
    login(BEN, f"rm {DATA}/groups/manifest.json; touch {DATA}/groups/mine")
    found["writes in another one's folder"] = [p.name for p in (DATA / "groups").iterdir()]
    found["removes another one's data"] = sorted(path.name for path in DATA.iterdir())

    found["changed by the next run"] = provision({ANNA: named[ANNA], BEN: named[BEN]})
    found["safe"] = safe == {path: owner(path) for path in safe}
    found["in passwd"] = friend in Path("/etc/passwd").read_text()

    # --- who gets in ---
    login(ANNA, f"rm ~/.ssh; umask 77; mkdir ~/.ssh; echo '{friend}' > ~/.ssh/authorized_keys")
    port = serve()
    found["own keys"] = [lets_in(port, ANNA, ANNA), lets_in(port, BEN, BEN)]
    found["a friend's key in the own home"] = lets_in(port, ANNA, "friend")
    found["somebody who is no longer named"] = [
        lets_in(port, GONE, GONE),
        lets_in(port, GONE, "friend"),
    ]
    found["root by a student's key"] = lets_in(port, "root", ANNA)

    # --- root's own programs among such data ---
    since = time.monotonic()
    found["status"] = bench("status")
    found["status_s"] = time.monotonic() - since
    found["lease"] = bench("lease", "red", "3600", sudo_user=ANNA)
    found["another login in the same name"] = bench("release", "red", sudo_user=BEN)
    found["release"] = bench("release", "red", sudo_user=ANNA)
    (saved,) = Path("/var/lib/tennis/saved").iterdir()
    found["saved"] = owner(str(saved))[2]
    login(BEN, f"rm -rf {saved}/late; touch {saved}/mine; mv {saved}/rally {DATA}/")
    found["changes what was saved"] = sorted(path.name for path in saved.iterdir())
    found["safe at the end"] = safe == {path: owner(path) for path in safe}
    print(json.dumps(found))


main()
