"""The server: it runs what its page asks for, and answers nobody else."""

import contextlib
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandglass.errors import SandglassError
from sandglass.experiment import reading
from sandglass.install import builds
from sandglass.play import gallery, guard
from sandglass.run import runs
from tests.play.conftest import Server, message, serving

pytestmark = pytest.mark.lab
LONG = ["duration=50000s"]
"""A run that nobody waits for the end of."""


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def labs(server: Server) -> list[str]:
    return [line for line in server.children() if line.startswith("linux ")]


def test_its_page_is_sealed(server: Server) -> None:
    """It loads nothing from elsewhere, is shown by no other page, and does not tell its address."""
    for path in ("", "play.js", "play.css"):
        status, headers, body = server.ask("GET", server.path + path)
        assert status == 200
        assert body
        found = {name.lower(): text for name, text in headers.items()}
        assert {name.lower(): text for name, text in guard.HEADERS.items()}.items() <= found.items()
    assert "default-src 'none'" in guard.POLICY
    page = server.ask("GET", server.path)[2].decode()
    assert "://" not in page
    assert "<style" not in page
    assert "<script>" not in page


def test_nobody_else_is_answered(server: Server) -> None:
    """Not by another name, for another site, or without the token."""
    own, other = f"http://{server.place}", "http://example.org"
    port = server.place.rpartition(":")[2]
    run = json.dumps(message([])).encode()
    json_ = {"Content_Type": "application/json"}
    refused: list[tuple[str, str, bytes, dict[str, str]]] = [
        ("GET", "/", b"", {}),
        ("GET", "/play.js", b"", {}),
        ("GET", f"/{'x' * 32}/", b"", {}),
        ("GET", server.path[:-2] + "/", b"", {}),
        ("GET", server.path.upper(), b"", {}),
        ("GET", server.path, b"", {"Host": "example.org"}),
        ("GET", server.path, b"", {"Host": f"example.org:{port}"}),
        ("GET", server.path, b"", {"Host": "127.0.0.1"}),
        ("GET", server.path, b"", {"Origin": other}),
        ("GET", server.path, b"", {"Origin": "null"}),
        ("POST", f"{server.path}run", run, json_),
        ("POST", f"{server.path}run", run, {"Origin": other, **json_}),
        ("POST", f"{server.path}run", run, {"Origin": "null", **json_}),
        ("POST", f"{server.path}run", run, {"Origin": own.replace("http", "https"), **json_}),
        ("POST", f"{server.path}run", run, {"Origin": f"{own}.example.org", **json_}),
        ("POST", "/run", run, {"Origin": own, **json_}),
        ("OPTIONS", f"{server.path}run", b"", {"Origin": other}),
    ]
    for method, path, body, headers in refused:
        status, answered, said = server.ask(method, path, body, **headers)
        assert status == 403, (method, path, headers)
        assert len(said) < 100
        assert "access-control-allow-origin" not in {name.lower() for name in answered}
    status, _, _ = server.ask("GET", server.path, Host=f"localhost:{port}")
    assert status == 200


def test_it_listens_on_the_loopback_address_alone(server: Server) -> None:
    port = int(server.place.rpartition(":")[2])
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    places = [fields[1] for fields in sockets if fields[1].endswith(f":{port:04X}")]
    assert {place.partition(":")[0] for place in places} == {"0100007F"}
    six = Path("/proc/net/tcp6")
    if six.exists():
        assert f":{port:04X} " not in six.read_text()


def malformed(number: int) -> bytes:
    """Something that no page sends, another for each number."""
    chance = random.Random(number)
    good = message(["rtt=20ms"])
    wrong: Any = chance.choice(
        [None, 1, -1, 1e308, True, "", "\0", "../../etc/passwd", "/etc/passwd", [], {}, [[]], [1]]
    )
    kinds: list[Callable[[], bytes]] = [
        lambda: chance.randbytes(chance.randrange(200)),
        lambda: json.dumps(good).encode()[: chance.randrange(len(json.dumps(good)))],
        lambda: json.dumps(wrong).encode(),
        lambda: b"[" * 20_000,
        lambda: b'{"a":' * 5_000,
        lambda: (
            json.dumps({**good, chance.choice([*good]): wrong}).encode() if wrong != [] else b"[]"
        ),
        lambda: json.dumps({key: good[key] for key in [*good][: chance.randrange(4)]}).encode(),
        lambda: json.dumps({**good, "more": 1}).encode(),
        lambda: json.dumps({**good, "settings": ["x"] * 101}).encode(),
        lambda: json.dumps({**good, "settings": ["x" * 601]}).encode(),
        lambda: json.dumps({**good, "settings": ["rtt=\x1b[31m"]}).encode(),
        lambda: json.dumps(
            {**good, "file": chance.choice(["/etc/passwd", "quick.yaml", ""])}
        ).encode(),
        lambda: b"9" * 60_000,
        lambda: b'{"file": "\xff\xfe"}',
        lambda: b" " * 70_000,
    ]
    return kinds[number % len(kinds)]()


def test_a_hundred_malformed_messages_are_refused(server: Server) -> None:
    """And what it answers its page stays the same."""
    for number in range(100):
        what = ("run", "open", "write")[number % 3]
        status, _, said = server.post(what, malformed(number))
        assert status == 400, (number, what, said)
        assert len(said) < 100
        assert b"Traceback" not in said
    assert server.post("open", message([]))[0] == 200


def test_bytes_that_are_no_request_do_not_end_it(server: Server) -> None:
    host, _, port = server.place.rpartition(":")
    for number in range(20):
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(random.Random(number).randbytes(500) + b"\r\n\r\n")
    assert server.ask("GET", server.path)[0] == 200


@pytest.mark.parametrize(
    "setting",
    [
        "topology=/etc/passwd",
        "topology=other.py",
        "flows.0.workload=other.py",
        "bottleneck.rate={trace: /etc/passwd}",
        "bottleneck.rate=../../etc/passwd",
        "bottleneck.queue={kind: codel, x: /etc/passwd}",
        "bottleneck.queue.a/b=1",
        "bottleneck.queue={kind: {a: 1}}",
        "noise={host: /etc/passwd}",
        "title=x",
        "record=[headers]",
        "memory=1000GB",
        "repeat=100000",
        "flows=[]",
        "flows.0={workload: command}",
        "base=other.yaml",
        "hosts.s1.rtt=1ms",
        "rtt=*a",
        "rtt=!!python/object:os.system x",
    ],
)
def test_a_page_sets_its_knobs_and_nothing_else(server: Server, setting: str) -> None:
    """So it never has a file opened that was not handed over."""
    for what in ("run", "write"):
        status, _, body = server.post(what, message([setting]))
        assert (status == 422) if what == "write" else body.startswith(b"refused")
        assert b"a page may not set that" in body or b"--set" in body
        assert b"root:" not in body


def test_a_run_is_that_of_its_command(server: Server, quick: Path, tmp_path: Path) -> None:
    """Its digest, of the command that is shown, of the file that is saved, and of run() are one."""
    settings = ["bottleneck.queue={kind: pie, ecn: true}", "rtt=30ms", "seed=5"]
    found = server.run(settings)
    wanted = runs.run(reading.load(quick, settings), quick, tmp_path / "own").content["digest"]
    assert found["done"]["digest"] == wanted
    assert found["told"]["command"] == (
        f"{found['told']['command'].split(' run ')[0]} run quick.yaml"
        " --set 'bottleneck.queue={kind: pie, ecn: true}' --set rtt=30ms --set seed=5"
    )
    assert found["told"]["picture"][1] == "║ bottleneck 10mbit pie"
    assert found["progress"] == [2.0, 2.0]
    _, _, answer = server.post("write", message(settings))
    saved = quick.parent / "saved.yaml"
    saved.write_text(json.loads(answer)["yaml"])
    assert runs.run(reading.load(saved), saved, tmp_path / "saved").content["digest"] == wanted
    done = subprocess.run(
        found["told"]["command"].replace(" run ", " run --out command ", 1),
        shell=True,
        cwd=quick.parent,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert f"digest {wanted}\n" in done.stdout


def test_what_is_wrong_is_said_as_check_says_it(server: Server, quick: Path) -> None:
    settings = ["rtt=5", "bottleneck.queue={kind: cobel}"]
    told = server.run(settings)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sandglass", "check", quick.name]
        + [word for each in settings for word in ("--set", each)],
        cwd=quick.parent,
        env=os.environ | {"PYTHONPATH": str(builds.ROOT / "src")},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    said = [line.strip() for line in done.stderr.replace("sandglass: ", "").splitlines()]
    assert [*map(str.strip, told["refused"].splitlines())] == said


def test_doubts_are_told(server: Server) -> None:
    told = server.run(["bottleneck.queue={kind: pfifo, limit: 2}"])["told"]
    assert any("below the BDP" in warning for warning in told["warnings"])


def test_a_later_turn_ends_the_run_before(server: Server) -> None:
    """With its lab; another page's run goes on."""
    answers: dict[str, dict[str, Any]] = {}

    def ask(name: str, settings: list[str], page: str) -> threading.Thread:
        def keep() -> None:
            answers[name] = server.run(settings, page=page)

        thread = threading.Thread(target=keep)
        thread.start()
        return thread

    first = ask("first", LONG, "firstpage")
    until(lambda: len(labs(server)) == 1)
    second = ask("second", [], "firstpage")
    first.join(60)
    second.join(120)
    assert answers["first"].keys() <= {"told", "progress", "ended"}
    assert "ended" in answers["first"]
    assert "digest" in answers["second"]["done"]
    until(lambda: not labs(server))


def test_who_goes_away_ends_its_run(server: Server) -> None:
    body = json.dumps(message(LONG, page="goingaway")).encode()
    head = (
        f"POST {server.path}run HTTP/1.1\r\nHost: {server.place}\r\nOrigin: http://{server.place}"
        f"\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    host, _, port = server.place.rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + body)
        until(lambda: len(labs(server)) == 1)
        connection.recv(1)
    until(lambda: not labs(server))
    assert "done" in server.run([])


def test_turns_one_after_the_other_leave_nothing(server: Server, quick: Path) -> None:
    """Each is given up for the next, at any time of its life; the last one is answered."""
    threads = []
    for number in range(20):
        thread = threading.Thread(
            target=server.run, args=([f"seed={number}"],), kwargs={"page": "turningpage"}
        )
        thread.start()
        threads.append(thread)
        time.sleep(0.013 * (number % 7) ** 2)
    for thread in threads:
        thread.join(120)
    assert "done" in server.run(["seed=100"], page="turningpage")
    until(lambda: not labs(server))
    (scratch,) = quick.parent.glob("sandglass-play-*")
    until(lambda: not [*scratch.iterdir()])
    assert len([line for line in server.children() if "play.worker" in line]) <= 2


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_its_end_is_that_of_its_labs(quick: Path, tmp_path: Path, how: signal.Signals) -> None:
    """However it ends; an interrupt leaves nothing on the disk either."""
    file = tmp_path / "quick.yaml"
    file.write_text(quick.read_text())
    with serving(file, cwd=tmp_path) as server:
        asked = threading.Thread(target=lost, args=(server,), daemon=True)
        asked.start()
        until(lambda: len(labs(server)) == 1)
        below = {
            int(pid)
            for pid in os.listdir("/proc")  # noqa: PTH208 those that end meanwhile
            if pid.isdecimal() and f"TMPDIR={tmp_path}".encode() in environment(pid)
        } - {server.process.pid}
        assert below
        server.process.send_signal(how)
        server.process.wait(30)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below))
    if how == signal.SIGINT:
        assert [path.name for path in tmp_path.iterdir()] == ["quick.yaml"]


def lost(server: Server) -> None:
    """A run whose server goes before its end."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        server.run(LONG)


def environment(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def test_a_file_that_is_wrong_is_not_served(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("topology: dumbbell\n")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sandglass", "play", "wrong.yaml"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(builds.ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "flows: is missing" in done.stderr


def lab_is_there(linux: str) -> bool:
    """Whether the lab of a series of Linux is built: its kernel, and the guest of these sources."""
    with builds.on(linux):
        try:
            return bool(builds.lab())
        except SandglassError:
            return False


@pytest.mark.parametrize("card", gallery.cards(), ids=lambda card: card.name)
def test_a_card_is_an_experiment_with_its_knobs(server: Server, card: gallery.Card) -> None:
    if card.linux and not lab_is_there(card.linux):
        pytest.skip(f"there is no lab of Linux {card.linux} here")
    status, _, body = server.post("open", message([], file=card.name))
    assert status == 200
    keys = {knob["key"] for knob in json.loads(body)["knobs"]}
    assert set(card.turn) <= keys
    assert 1 <= card.text.count(". ") <= 2, "two sentences, or three short ones"
    assert "done" in server.run([], file=card.name, page="cardspage")
