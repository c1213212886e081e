"""Programs of the user's own as flows, from directories that are none of the checkout."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sandglass.errors import SandglassError
from sandglass.experiment import reading
from sandglass.install import builds
from sandglass.papers.bundle import subject
from sandglass.records import flow_folders
from sandglass.results import series
from sandglass.run import runs
from sandglass.studies.metric import Aggregate
from tests.lab.experiments import Lab, Mapped, Run, dumbbell, flow, run, written

pytestmark = pytest.mark.lab
QUEUE = {"kind": "pfifo", "limit": 100}
CLIENT = """
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
int part(int number);
int main(int count, char **words)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(atoi(words[2])) };
	int number, connection = socket(AF_INET, SOCK_STREAM, 0);
	FILE *log;
	inet_pton(AF_INET, words[1], &to.sin_addr);
	if (connect(connection, (struct sockaddr *)&to, sizeof(to)))
		return perror("connect"), 1;
	for (number = 0; number < 4; number++) {
		printf("t=%d.5 part=%d\\n", number, part(number));
		if (write(connection, "0123456789", part(number)) < 0)
			return perror("write"), 1;
		usleep(100000);
	}
	log = fopen(words[3], "w");
	fprintf(log, "sent by process %d\\n", getpid() > 0);
	return fopen("client.log", "w") ? fputs("the files can be written to\\n", stderr) : 0;
}
"""
LIBRARY = "int part(int number) { return number + 2; }"
SERVER = """#!/usr/bin/env python3
import json, os, socket, sys
from helper.words import GREETING

listener = socket.create_server(("", int(sys.argv[1])))
out = os.environ["SANDGLASS_OUT"]
os.makedirs(f"{out}/of/clients")
os.symlink("/etc/passwd", f"{out}/link")
print(GREETING, os.getcwd(), *sorted(os.listdir(".")))
total = 0
while True:
    connection, _ = listener.accept()
    while data := connection.recv(100):
        total += len(data)
        print(json.dumps({"got": {"bytes": total}, "who": GREETING}))
    with open(f"{out}/of/clients/total", "w") as file:
        file.write(f"{total}\\n")
    os.chmod(file.name, 0o6755)
"""
GO = """package main

import (
	"fmt"
	"math/rand"
	"net"
	"os"
	"time"
)

func main() {
	connection, err := net.Dial("tcp", os.Args[1]+":4000")
	if err != nil {
		panic(err)
	}
	done := make(chan int)
	for number := range 3 {
		go func() {
			time.Sleep(time.Duration(rand.Intn(100)) * time.Millisecond)
			done <- number
		}()
	}
	for range 3 {
		fmt.Printf("goroutine=%d\\n", <-done)
		connection.Write(make([]byte, 1000))
	}
}
"""
PART = {"parts": {"pattern": r"t=(?P<t>\S+) part=(?P<part>\d+)"}}


def compiled(home: Path, name: str, code: str, *options: str) -> None:
    """A program or a library with the C library of the lab, whatever this machine's is."""
    root = builds.chosen_root()
    assert root
    command = ["gcc", *builds.dynamic_with(root / builds.ROOT_FILES), "-x", "c", "-", "-x", "none"]
    command += ["-o", str(home / name), *options]
    subprocess.run(command, input=code, text=True, check=True, cwd=home)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with programs of C and Python."""
    there = tmp_path_factory.mktemp("own")
    compiled(there, "libpart.so", LIBRARY, "-shared", "-fPIC")
    compiled(there, "client", CLIENT, "-L.", "-lpart", "-Wl,-rpath,$ORIGIN")
    compiled(there, "alone", CLIENT + LIBRARY, "-static")
    (there / "server").write_text(SERVER)
    (there / "server").chmod(0o755)
    (there / "helper").mkdir()
    (there / "helper" / "words.py").write_text("GREETING = 'hello'\n")
    return there


def command(*argv: str, source: str = "s1", to: str = "d1", **keys: object) -> Mapped:
    return flow("command", source, to, argv=list(argv), **keys)


def together() -> Mapped:
    server = command(
        *("./server", "4000"),
        source="d1",
        to="s1",
        role="server",
        files=["helper"],
        series={"received": {"json": ["got.bytes"]}, "never": {"pattern": "(?P<x>nothing)"}},
    )
    dynamic = command("./client", "{to}", "4000", "{out}/log", files=["libpart.so"], series=PART)
    static = command("./alone", "{to}", "4000", "{out}/log", start="1s")
    return dumbbell(server, dynamic, static, queue=QUEUE, duration="2s")


@pytest.fixture(scope="module")
def done(home: Path) -> Run:
    return run(together(), home)


def test_programs_of_c_and_python_run_alike_wherever_they_lie(done: Run, home: Path) -> None:
    elsewhere = home.parent / f"{home.name}-elsewhere"
    shutil.copytree(home, elsewhere, ignore=shutil.ignore_patterns("run*"))
    (elsewhere / "not-named").write_text("")
    again = run(together(), elsewhere)
    assert again.content["digest"] == done.content["digest"]
    server, dynamic, static = done.content["flows"]
    assert (server["status"], dynamic["status"], static["status"]) == (None, 0, 0)
    said = (done.path / server["output"]).read_text().splitlines()
    assert said[0] == "hello /run/sandglass-flows/own alone client helper libpart.so server"
    assert said[-1] == '{"got": {"bytes": 28}, "who": "hello"}'
    own = done.content["own_files"]
    names = ["alone", "client", "helper/words.py", "libpart.so", "server"]
    assert own == {name: hashlib.sha256((home / name).read_bytes()).hexdigest() for name in names}
    assert str(home) not in (done.path / "plan.json").read_text()


def test_a_server_is_there_before_the_others_and_until_they_end(done: Run) -> None:
    server, *clients = done.content["flows"]
    assert server["start_s"] == -0.25
    assert server["end_s"] >= max(2, *(client["end_s"] for client in clients))
    packets = done.packets()
    assert {*packets["flow"]} == {2, 3}, "those of a connection are its client's"
    assert {*done.table("acks")["flow"]} == {2, 3}


def test_what_programs_say_becomes_series(done: Run) -> None:
    told = done.table("series")
    parts = told.filter(told["flow"] == 2)
    assert parts.select("time_ns", "series", "name", "value").rows() == [
        (number * 10**9 + 500_000_000, "parts", "part", number + 2) for number in range(4)
    ], "at the times that the lines tell"
    received = told.filter(told["flow"] == 1)
    assert received["value"].to_list()[-1] == 28
    assert received["time_ns"].is_sorted()
    assert 1_350_000_000 < received["time_ns"][-1] < 1_370_000_000, "when the line was written"
    assert "flow 1 (command) has no line of the series never" in done.content["warnings"]
    metric = Aggregate("series", "max(value)", "series = 'received'")
    assert metric.value(series.load(done.path, {})) == 28


def test_what_programs_leave_is_kept_as_data(done: Run) -> None:
    left = {str(path.relative_to(done.path)) for path in done.path.glob("command-*/**/*")}
    files = {"command-1/of/clients/total", "command-2/log", "command-3/log"}
    assert left == files | {"command-1/of", "command-1/of/clients"}
    total = done.path / "command-1/of/clients/total"
    assert total.read_text() == "28\n"
    assert total.stat().st_mode & 0o7111 == 0, "nobody starts it by mistake"
    kept = [text for text in done.content["warnings"] if "'link'" in text]
    assert kept == ["flow 1 (command) left what is no file of its own, which is not kept: 'link'"]


def test_a_run_from_the_cache_has_them_and_a_changed_program_none(
    done: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDGLASS_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("SANDGLASS_RUNS_LIMIT")
    source = written(dumbbell(command("sh", "-c", "echo 1 >{out}/1", files=["server"]),
                              queue=QUEUE, duration="1s"), home / "cached.yaml")  # fmt: skip
    first = runs.run(reading.load(source), source, tmp_path / "first", cached=True)
    second = runs.run(reading.load(source), source, tmp_path / "second", cached=True)
    assert (first.cached, second.cached) == (False, True)
    assert (second.path / "command-1" / "1").read_text() == "1\n"
    (home / "server").write_text(SERVER + "# changed\n")
    try:
        third = runs.run(reading.load(source), source, tmp_path / "third", cached=True)
    finally:
        (home / "server").write_text(SERVER)
    assert not third.cached


def test_a_bundle_has_the_files_where_the_experiment_finds_them(done: Run, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    found = subject.of_run(done.path, tmp_path / "scratch", records=True)
    assert "results/runs/run/command-1/of/clients/total" in found.files
    place = tmp_path / "unpacked"
    for name, path in found.files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place / name)
    experiment = reading.load(place / "experiments/run/experiment.yaml")
    plan = json.loads((done.path / "plan.json").read_text())
    assert {name: file.sha256 for name, file in experiment.own_files.items()} == {
        name: file["sha256"] for name, file in plan["own_files"]["files"].items()
    }


def test_a_server_that_fails_is_told_before_its_clients(tmp_path: Path) -> None:
    (tmp_path / "server").write_text("#!/bin/sh\nsleep 0.5; echo no more; exit 3\n")
    (tmp_path / "server").chmod(0o755)
    server = command("./server", source="d1", to="s1", role="server")
    client = command("sh", "-c", "sleep 0.7; echo nobody answers; exit 1")
    with pytest.raises(SandglassError) as caught:
        run(dumbbell(client, server, queue=QUEUE, duration="1s"), tmp_path)
    message = caught.value.message
    assert message.startswith("flow 2: ./server ended with status 3 at 0.25")
    assert message.endswith(" s, before the flows that it serves: no more")


def test_a_server_that_ends_by_itself_is_unfinished(lab: Lab) -> None:
    server = command("true", source="d1", to="s1", role="server")
    found = lab(dumbbell(server, flow("ping", duration="1s"), queue=QUEUE, duration="1s"))
    assert found.content["flows"][0]["unfinished"] == "server ended"
    assert found.content["warnings"] == ["flow 1 (command) is unfinished: server ended"]


@pytest.mark.skipif(not shutil.which("go"), reason="there is no Go here")
def test_a_program_of_go_runs_alike_twice(tmp_path: Path) -> None:
    (tmp_path / "client.go").write_text(GO)
    environment = os.environ | {"CGO_ENABLED": "0", "GO111MODULE": "off"}
    subprocess.run(["go", "build", "client.go"], cwd=tmp_path, env=environment, check=True)
    sink = command("iperf", "-s", "-p", "4000", source="d1", to="s1", role="server")
    client = command("./client", "{to}", series={"done": {"pattern": r"goroutine=(?P<number>\d)"}})
    experiment = dumbbell(sink, client, queue=QUEUE, duration="1s")
    one, other = (run(experiment, tmp_path, name=name) for name in ("one", "other"))
    assert one.content["digest"] == other.content["digest"]
    assert sorted(one.table("series")["value"]) == [0, 1, 2]


def test_more_than_a_flow_may_leave_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the guest's root could leave it, who writes to the run's directory itself."""
    monkeypatch.setattr(flow_folders, "MOST_LEFT", 10)
    folder = tmp_path / "command-12"
    folder.mkdir()
    (folder / "log").write_text("0123456789")
    flow_folders.check(tmp_path)
    (folder / "more").write_text("0")
    with pytest.raises(SandglassError, match="command-12 has 2 files"):
        flow_folders.check(tmp_path)
