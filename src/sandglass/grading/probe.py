"""Looks at a student's program in the lab, out of its reach. Usage: python3 probe.py RUN_DIRECTORY

The program is root, as Mininet wants it, with processes and mounts of its own, and without
the capabilities that lead out of them. So it neither sees nor stops this one, changes no
file that this one reads, and has none of what is secret: that comes into this process after the
program's has been split off, and is removed from the lab before the program starts. What it writes,
to the console too, is not what counts: the answer is a line that begins with the secret word.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any

CODE = str(Path(__file__).absolute().parents[3])
sys.path[0:1] = [f"{CODE}/src", CODE]

from sandglass.agent import kernel, script  # noqa: E402
from sandglass.cage import system_calls as system  # noqa: E402

PUBLIC, SECRET, FILES = "public.json", "secret.json", "files"
"""In the run's directory: what the program may know of its task, what it may not, and files."""
PRIVATE = "/run/sandglass/private"
PROMPT = b"mininet> "
PIECE = 1 << 16
MOST_KEPT = 200_000
"""Bytes of what is said that are looked at."""
MOST_SAID = 8_000_000
"""Bytes after which a program is ended: it would say more for ever."""
MOST_THREADS = 1500
"""In the lab at once, against a program that forks for ever; a host of Mininet's has three."""
TTL = 64
TRIES, TRY_S = 3, 1.0
ECHO, REPLY = 8, 0  # ICMP's types (RFC 792)
HOST = b"mininet:"
"""What the last word of a process begins with that is a node of Mininet's."""
DROPPED = (2, 16, 17, 19, 22, 25, 27, 34, 38, 39, 40)
"""CAP_DAC_READ_SEARCH, SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_BOOT, SYS_TIME, MKNOD, SYSLOG,
PERFMON, BPF and CHECKPOINT_RESTORE, of <linux/capability.h>."""
HELPERS = "/proc/sys/kernel/usermodehelper/bset"
LOADS_MODULES = "65536 0"
"""The one capability, SYS_MODULE, that is left to programs which the kernel starts."""

_libc = ctypes.CDLL(None, use_errno=True)


def _enter(handle: int, kind: int) -> None:
    """Enter a namespace that is open."""
    if _libc.setns(handle, kind):
        raise OSError(ctypes.get_errno(), "cannot enter a namespace")


def _own_mounts() -> None:
    """Have mounts that nobody else sees, or changes."""
    system.unshare(system.CLONE_NEWNS)
    system.mount("none", "/", None, system.MS_REC | system.MS_PRIVATE)


class Program:
    """A program with what it has said so far."""

    def __init__(self, process: int, said: int, typed: int) -> None:
        self.process, self.pipe, self.typed = process, said, typed
        self.said, self.total = bytearray(), 0
        self.status: int | None = None

    @property
    def floods(self) -> bool:
        return self.total > MOST_SAID

    def read(self) -> bool:
        """Take what it says; returns whether there may be more."""
        piece = os.read(self.pipe, PIECE)
        self.total += len(piece)
        self.said += piece[: max(0, MOST_KEPT - len(self.said))]
        return bool(piece)

    def end(self) -> None:
        """End it, and whatever it has started."""
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process, signal.SIGKILL)
            self.wait()

    def wait(self) -> None:
        _, status = os.waitpid(self.process, 0)
        self.status = script.as_a_shell(status)


def sealed(environment: dict[str, str]) -> tuple[Program, int]:
    """The process that will be the student's program, sealed off.

    It waits for its command, in JSON, to be written to the pipe that is handed out with it.
    """
    said, says = os.pipe()
    reads, typed = os.pipe()
    told, tell = os.pipe()
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    system.unshare(system.CLONE_NEWPID)
    process = os.fork()
    if process == 0:
        try:
            _own_mounts()
            system.unmount(sys.argv[1], system.MNT_DETACH)
            system.mount("proc", "/proc", "proc", 0)
            for capability in DROPPED:
                system.prctl(system.PR_CAPBSET_DROP, capability)
            os.setsid()
            for place, handle in enumerate((reads, says, says)):
                os.dup2(handle, place)
            os.close(tell)
            command = b""
            while piece := os.read(told, PIECE):
                command += piece
            os.closerange(3, script.FILES)
            if command:
                _first(json.loads(command), environment)
        except OSError as error:
            os.write(says, f"sandglass: {error}\n".encode())
        finally:
            os._exit(script.STATUS_NOT_FOUND)
    _enter(own, system.CLONE_NEWPID)
    for handle in (own, says, reads, told):
        os.close(handle)
    return Program(process, said, typed), tell


def _first(command: list[str], environment: dict[str, str]) -> None:
    """Be the first process of a namespace: start the command, bury the dead, end as it does."""
    main = os.fork()
    if main == 0:
        script.become(command, environment)
    while True:
        process, status = os.wait()
        if process == main:
            os._exit(script.as_a_shell(status))


def trusted(
    command: list[str], environment: dict[str, str], given: str, node: int | None
) -> Program:
    """A program of the teacher's, in the network of a node."""
    said, says = os.pipe()
    reads, typed = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            if node is not None:
                _join(node)
            for place, handle in enumerate((reads, says, says)):
                os.dup2(handle, place)
            os.closerange(3, script.FILES)
            os.execvpe(command[0], command, environment)
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        finally:
            os._exit(script.STATUS_NOT_FOUND)
    for handle in (says, reads):
        os.close(handle)
    program = Program(process, said, typed)
    _type(program, given)
    return program


def _type(program: Program, given: str) -> None:
    """Give a program what it reads, and the end of it."""
    if os.fork() == 0:
        os.close(program.pipe)
        with contextlib.suppress(BrokenPipeError, OSError):
            left = given.encode()
            while left:
                left = left[os.write(program.typed, left) :]
        os._exit(0)
    os.close(program.typed)


def hear(program: Program, beside: list[Program], until: float, text: bytes | None = None) -> bool:
    """Listen to a program until it has said a text, or its end; False: not until then.

    Those beside it are listened to as well, so that none waits for us.
    """
    there = [program, *beside]
    while not program.floods:
        if text is not None and text in program.said:
            return True
        left = until - time.monotonic()
        if left <= 0:
            return False
        for ready in select.select([each.pipe for each in there], [], [], left)[0]:
            one = next(each for each in there if each.pipe == ready)
            if one.read():
                continue
            there.remove(one)
            if one is program:
                program.wait()
                return True
    return False


def _join(node: int) -> None:
    """Be in the network of a process."""
    handle = os.open(f"/proc/{node}/ns/net", os.O_RDONLY)
    _enter(handle, system.CLONE_NEWNET)
    os.close(handle)


def nodes() -> dict[str, dict[int, int]]:
    """A process of each node of Mininet's, by its name and the number of its network."""
    found: dict[str, dict[int, int]] = {}
    for place in sorted(Path("/proc").glob("[1-9]*"), key=lambda place: int(place.name)):
        with contextlib.suppress(OSError):  # it has ended
            words = (place / "cmdline").read_bytes().split(b"\0")
            names = [word[len(HOST) :].decode() for word in words if word.startswith(HOST)]
            network = (place / "ns/net").stat().st_ino
            for name in names:
                found.setdefault(name, {}).setdefault(network, int(place.name))
    return found


def node(name: str) -> int:
    """The process of a node. Raises LookupError, with words, where there is none, or several."""
    found = nodes()
    if name not in found:
        raise LookupError(f"the network has no {name}: it has {', '.join(found) or 'no hosts'}")
    if len(found[name]) > 1:
        raise LookupError(f"the network has two nodes {name}")
    (process,) = found[name].values()
    return process


def sockets(addresses: dict[str, str]) -> dict[str, socket.socket]:
    """A socket for ICMP on each host, for its address. Raises LookupError where it has none."""
    found = {}
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    for name, address in addresses.items():
        process = node(name)
        try:
            _join(process)
            found[name] = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
            found[name].setsockopt(socket.IPPROTO_IP, socket.IP_TTL, TTL)
            found[name].bind((address, 0))
        except OSError:
            raise LookupError(f"{name} has not the address {address}") from None
        finally:
            _enter(own, system.CLONE_NEWNET)
    os.close(own)
    return found


def echo(payload: bytes) -> bytes:
    """An echo request (RFC 792)."""
    head = struct.pack("!BBHHH", ECHO, 0, 0, os.getpid() & 0xFFFF, 1)
    words = struct.unpack(f"!{(len(head) + len(payload)) // 2}H", head + payload)
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!BBHHH", ECHO, 0, ~total & 0xFFFF, os.getpid() & 0xFFFF, 1) + payload


def ping(
    there: dict[str, socket.socket],
    addresses: dict[str, str],
    pair: tuple[str, str],
    word: str,
    program: Program,
) -> int | None:
    """Through how many routers one host reaches another, and is answered; None: it does not.

    The request has to come to the other host: whoever answers for it is no way to it.
    """
    one, other = (there[name] for name in pair)
    for number in range(TRIES):
        payload = hashlib.sha256(f"{word} {pair} {number}".encode()).digest()
        try:
            one.sendto(echo(payload), (addresses[pair[1]], 0))
        except OSError:  # there is no route
            return None
        until, routers = time.monotonic() + TRY_S, None
        while (left := until - time.monotonic()) > 0:
            ready = select.select([one.fileno(), other.fileno(), program.pipe], [], [], left)[0]
            if program.pipe in ready and not program.read():
                return None
            for each in (other, one):
                if each.fileno() not in ready:
                    continue
                packet = each.recv(PIECE)
                kind = packet[(packet[0] & 15) * 4]
                if packet[-len(payload) :] != payload:
                    continue
                if each is other and kind == ECHO:
                    routers = TTL - packet[8]
                if each is one and kind == REPLY and routers is not None:
                    return routers
    return None


def withdraw(files: dict[str, bytes]) -> None:
    """Have mounts of our own, where nothing of the student's decides what our programs do."""
    _own_mounts()
    system.unmount("/etc", system.MNT_DETACH)
    Path(PRIVATE).mkdir()
    kernel.mount("tmpfs", PRIVATE, "mode=700")
    for name, content in files.items():
        path = Path(PRIVATE, name)
        path.write_bytes(content)
        path.chmod(0o755)
    os.chdir(PRIVATE)


def probe(task: dict[str, Any], secret: dict[str, Any], files: dict[str, bytes]) -> dict[str, Any]:
    """What is found out of a program; `task` is split off by now, and runs from here on."""
    program, tell, environment = task["program"], task["tell"], task["environment"]
    until = time.monotonic() + secret["virtual_s"]
    network = bool(secret["network"])
    if network:
        withdraw(files)
    os.write(tell, json.dumps(task["command"]).encode())
    os.close(tell)
    if not network:
        _type(program, task["input"])
    told: dict[str, Any] = {"problem": None}
    try:
        if not hear(program, [], until, PROMPT if network else None):
            told["problem"] = "floods" if program.floods else "late"
        elif network and program.status is not None:
            told["problem"] = "ended"
        elif network:
            hear(program, [], time.monotonic() + secret["settle_s"])
            told |= looked(program, secret, environment, until)
    except LookupError as error:
        told["problem"] = str(error.args[0])
    program.end()
    told.setdefault("said", program.said.decode(errors="replace"))
    return {"status": program.status, **told}


def looked(
    program: Program, secret: dict[str, Any], environment: dict[str, str], until: float
) -> dict[str, Any]:
    """What there is to see of a network that is at its prompt."""
    if addresses := secret["hosts"]:
        there = sockets(addresses)
        pairs = [(one, other) for one in addresses for other in addresses if one != other]
        found = {
            " ".join(pair): ping(there, addresses, pair, secret["word"], program) for pair in pairs
        }
        return {"pairs": found}
    own = {**environment, "PWD": PRIVATE, "HOME": PRIVATE}  # Python runs what lies in a home
    at = node(secret["at"]) if secret["at"] else None
    asked = trusted(secret["command"], own, secret["input"], at)
    problem = None
    if not hear(asked, [program], until):
        problem = "floods" if asked.floods else "late"
    asked.end()
    return {"said": asked.said.decode(errors="replace"), "status": asked.status, "problem": problem}


def main(directory: str) -> int:
    kernel.sleep_exactly()
    kernel.write_sysctl("kernel.printk", script.MESSAGES_SHOWN, None)
    script.plain(sys.stdout.fileno())
    home = Path(directory)
    public = json.loads((home / PUBLIC).read_text())
    kernel.restart_random(public["seed"])
    environment = script.prepare(public["here"])
    script.overlay(script.HERE, script.HERE)  # what is written there goes with the lab
    os.chdir(script.HERE)
    kernel.restart_random(public["seed"])
    kernel.write_sysctl("kernel.threads-max", MOST_THREADS, None)
    Path(HELPERS).write_text(LOADS_MODULES)
    if os.fork() == 0:
        script.beat(directory)
    program, tell = sealed(environment)
    task = {**public, "program": program, "tell": tell, "environment": environment}
    secret = json.loads((home / SECRET).read_text())
    files = {path.name: path.read_bytes() for path in sorted((home / FILES).iterdir())}
    for path in [home / SECRET, home / PUBLIC, *(home / FILES).iterdir()]:
        path.unlink()
    told = probe(task, secret, files)
    print(f"\n{secret['word']}{json.dumps(told)}", flush=True)
    kernel.write_sysctl("kernel.printk", script.MESSAGES_HIDDEN, None)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
