"""Submissions that are right, wrong, endless, crashing, and that talk to the grader.

Each is graded by a process of its own, as a teacher would. Nothing that a program says or does gets
points but what is asked for, and none keeps the grader from its grade.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sandglass.install.builds import ROOT
from tests.grading.conftest import Grade

pytestmark = pytest.mark.lab
ROUTER = ROOT / "examples/assignments/router"
LIMITS = "time_limit: {virtual: 20s, processor: 10s}"
ANSWER = f"""\
  - id: answer
    title: The answer
    points: 10
    kind: output
    command: answer.py
    lines: xyzzy-42
    status: 0
    {LIMITS}
"""
"""What the secret word in it is, no submission may learn."""
PINGS = """\
  - id: pings
    title: They reach each other
    points: 10
    kind: pings
    network: router.py
    hosts: {h1: 10.0.1.100, h2: 10.0.2.100}
    pairs: {h1: {h2: 1}, h2: {h1: 1}}
    time_limit: {virtual: 60s, processor: 30s}
"""
PATH = """\
  - id: path
    title: The way
    points: 10
    kind: output
    network: router.py
    at: h1
    command: python3 look.py
    files: [look.py]
    lines: seen from h1-eth0
    absent: fake
    time_limit: {virtual: 60s, processor: 30s}
"""
LOOK = """\
import json, socket
print("seen from", socket.if_nameindex()[-1][1])
"""
METRIC = """\
  - id: metric
    title: Goodput
    points: 10
    kind: metric
    experiment: experiment.yaml
    metric: flows.0.goodput_mbit
    bounds: {at_least: 9}
    seeds: [5]
    time_limit: {virtual: 10s, processor: 30s}
"""
EXPERIMENT = """\
topology: dumbbell
rtt: 10ms
bottleneck: {rate: 10mbit, queue: {kind: fq_codel}}
flows: [{workload: bulk, from: s1, to: d1, cc: cubic}]
duration: 3s
"""
DOORS = """\
import ctypes, os, pathlib
libc = ctypes.CDLL(None)
for door in range(28, 40):
    place = f"/tmp/door{door}"
    os.makedirs(place)
    libc.mount(b"none", place.encode(), b"hostfs", 0, str(door).encode())
"""
"""Mounts all that the lab's kernel hands out."""
MODULE = """\
  - id: module
    title: Goodput
    points: 10
    kind: metric
    module: kmods
    base: base.yaml
    set: {bottleneck.queue: {kind: mine}}
    metric: flows.0.goodput_mbit
    bounds: {at_least: 5}
    time_limit: {processor: 30s}
"""
SKELETON = ROOT / "examples/assignments/aqm/skeleton/kmods/sch_mine"
SOLUTION = (ROUTER / "solution/router.py").read_text()
PROMPT = "print('mininet> ', flush=True); input()\n"


@dataclass(frozen=True)
class Made:
    """A submission with what it should get."""

    files: dict[str, str]
    points: float
    said: str = ""
    """A regular expression for the detail."""
    checks: str = ANSWER
    mine: dict[str, str] = field(default_factory=dict)


def answer(text: str, points: float = 0, said: str = "") -> Made:
    return Made({"answer.py": text}, points, said)


def router(text: str, points: float = 0, said: str = "") -> Made:
    return Made({"router.py": text}, points, said, PINGS)


def experiment(text: str, points: float = 0, said: str = "") -> Made:
    return Made({"experiment.yaml": text}, points, said, METRIC)


def module(law: str, points: float = 0, said: str = "") -> Made:
    """The skeleton of an AQM with other words in the place of its law."""
    files = {f"kmods/sch_mine/{each.name}": each.read_text() for each in SKELETON.iterdir()}
    source = "kmods/sch_mine/sch_mine.c"
    files[source] = files[source].replace("return false;", law)
    return Made(files, points, said, MODULE, {"base.yaml": EXPERIMENT})


SUBMISSIONS = {
    "right": answer("print('xyzzy-42')", 10),
    "wrong": answer("print('xyzzy-41')", 0, "no the output has no line"),
    "silent": answer("pass", 0, "no the output has no line"),
    "missing": Made({"other.py": "print('xyzzy-42')"}, 0, r"answer\.py"),
    "an exception": answer("print('xyzzy-42'); 1 / 0", 0, "the status is 1; expected: 0"),
    "a crash": answer("import os; os.abort()", 0, "the status is 134"),
    "an exit": answer("import os; os._exit(0)", 0, "no the output has no line"),
    "Python 2": answer("print 'xyzzy-42'", 0, "the status is 1"),
    "no text": answer("import os; os.write(1, bytes(range(256)))", 0, "no the output has no line"),
    "a busy loop": answer("while True: pass", 0, "more than 10s of a processor"),
    "a sleeping loop": answer(
        "import time\nwhile True: time.sleep(1)", 0, "did not end within 20s of the lab's time"
    ),
    "endless output": answer("while True: print('xyzzy-42' * 1000)", 0, "said more than 8 MB"),
    "a fork bomb": answer("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"),
    "all memory": answer("x = []\nwhile True: x.append(bytearray(1 << 24))", 0),
    "a full disk": answer(
        "with open('x', 'wb') as f:\n  while True: f.write(bytes(1 << 24))", 0, "the status is"
    ),
    "a lab that is ended": answer(
        "open('/proc/sysrq-trigger', 'w').write('c'); import time; time.sleep(5)", 0
    ),
    "everybody is killed": answer(
        "import os, signal, time\nos.kill(-1, signal.SIGKILL)\n"
        "for n in range(1, 300):\n  try: os.kill(n, signal.SIGKILL)\n  except OSError: pass\n"
        "time.sleep(1)",
        0,
    ),
    "a forged result": answer(
        "import json, os\n"
        "told = json.dumps({'status': 0, 'problem': None, 'said': 'xyzzy-42', 'right': 1})\n"
        "for place in ('/dev/console', '/dev/tty0', '/dev/stdout', '/proc/1/fd/1'):\n"
        "  try: open(place, 'w').write(f'\\n{\"0\" * 32}{told}\\n')\n"
        "  except OSError: pass\n",
        0,
        "no the output has no line",
    ),
    "results written": answer(
        "import json, pathlib\n" + DOORS + "told = json.dumps({'right': 1, 'of': 1, 'said': []})\n"
        "for place in ['.', *pathlib.Path('/tmp').glob('door*')]:\n"
        "  for name in ('answer.json', 'result.json', 'results.json', '../answer.json'):\n"
        "    try: pathlib.Path(place, name).write_text(told)\n"
        "    except OSError: pass\n",
        0,
        "no the output has no line",
    ),
    "secrets sought": answer(
        DOORS + "import re\n"
        "for base, folders, names in [each for n in range(28, 40)\n"
        "                             for each in os.walk(f'/tmp/door{n}')]:\n"
        "  folders[:] = [f for f in folders if f not in ('usr', 'sandglass', 'lib')]\n"
        "  for name in names:\n"
        "    try: text = pathlib.Path(base, name).read_text()[:10000]\n"
        "    except (OSError, ValueError): continue\n"
        "    if found := re.search('xyzz' + 'y-[0-9]+', text): print(found[0])\n"
        "for n in os.listdir('/proc'):\n"
        "  for part in ('environ', 'cmdline', 'mem'):\n"
        "    try: text = open(f'/proc/{n}/{part}', 'rb').read()\n"
        "    except OSError: continue\n"
        "    print(re.findall(b'xyzz' + b'y-[0-9]+', text))\n",
        0,
        "no the output has no line",
    ),
    "a router": router(SOLUTION, 10),
    "no router": router((ROUTER / "skeleton/router.py").read_text(), 0, "0 of 2 pairs"),
    "a router without a prompt": router(SOLUTION.replace("CLI(net)", "pass"), 0, "ended before"),
    "wrong addresses": router(SOLUTION.replace("10.0.{number}", "10.1.{number}"), 0, "the address"),
    "a claim of pings": router(
        "print('*** Results: 0% dropped (2/2 received)')\n" + PROMPT, 0, "the network has no h1"
    ),
    "a host that answers for the other": router(
        SOLUTION.replace(
            "    CLI(net)",
            "    for name, own in (('h1', 2), ('h2', 1)):\n"
            "        net[name].cmd(f'ip addr add 10.0.{own}.100/32 dev lo')\n"
            "    CLI(net)",
        ).replace("ip_forward=1", "ip_forward=0"),
        0,
        "0 of 2 pairs",
    ),
    "a router that answers for the hosts": router(
        SOLUTION.replace(
            "    CLI(net)",
            "    for n in (1, 2): router.cmd(f'ip addr add 10.0.{n}.100/32 dev lo')\n    CLI(net)",
        ),
        0,
        "0 of 2 pairs",
    ),
    "hosts of another network": router(
        SOLUTION.replace(
            "    CLI(net)",
            "    import subprocess\n"
            "    for name in ('h1', 'h2'):\n"
            "        subprocess.Popen(['unshare', '-n', 'sh', '-c', 'sleep 60; :',"
            " f'mininet:{name}'])\n"
            "    CLI(net)",
        ),
        0,
        "two nodes h1",
    ),
    "a switch in the router's place": router(
        SOLUTION.replace("/24", "/16")
        .replace('net.addHost("r1", cls=Router, ip="10.0.1.1/16")', 'net.addSwitch("s1")')
        .replace('            intfName2=f"r1-eth{number}",\n', "")
        .replace('            params2={"ip": f"10.0.{number}.1/16"},\n', "")
        .replace(
            "controller=None",
            "controller=None, switch=__import__('mininet.nodelib', fromlist=['x']).LinuxBridge",
        ),
        0,
        "reaches it through 0 routers; expected: reaches it through 1 router",
    ),
    "a command beside the network": Made({"router.py": SOLUTION}, 10, "", PATH, {"look.py": LOOK}),
    "a command that is tampered with": Made(
        {
            "router.py": SOLUTION.replace(
                "    CLI(net)",
                "    import os, subprocess\n"
                "    open('/etc/ld.so.preload', 'w').write('/tmp/none.so')\n"
                "    open('/tmp/python3', 'w').write('#!/bin/sh\\necho fake\\n')\n"
                "    os.chmod('/tmp/python3', 0o755)\n"
                "    site = '/root/.local/lib/python3.11/site-packages'\n"
                "    os.makedirs(site)\n"
                "    open(f'{site}/usercustomize.py', 'w').write('print(\"fake\")')\n"
                "    subprocess.run(['mount', '--bind', '/tmp/python3', '/usr/bin/python3.11'])\n"
                "    CLI(net)",
            ),
            "json.py": "print('fake')",
            "look.py": "print('fake')",
        },
        10,
        "",
        PATH,
        {"look.py": LOOK},
    ),
    "an experiment": experiment(EXPERIMENT, 10, "holds Goodput: 9"),
    "a slow one": experiment(EXPERIMENT.replace("10mbit", "5mbit"), 0, "fails Goodput: 4"),
    "one that is none": experiment("flows: [1, 2", 0, r"^experiment\.yaml:\d"),
    "one that lasts": experiment(EXPERIMENT.replace("3s", "1h"), 0, "10s are allowed"),
    "one that brings a program": Made(
        {
            "experiment.yaml": EXPERIMENT.replace("dumbbell", "own.py"),
            "own.py": (ROOT / "topologies/dumbbell.py").read_text(),
        },
        0,
        "own.py is a program",
        METRIC,
    ),
    "one that runs a program": experiment(
        EXPERIMENT.replace("workload: bulk,", "workload: command, argv: [ls],").replace(
            ", cc: cubic", ""
        ),
        0,
        "the workload command runs a program",
    ),
    "one that reads the grader's file": experiment(
        EXPERIMENT.replace("rate: 10mbit", "rate: {trace: COURSE}"), 0, "outside of the submission"
    ),
    "a module": module("return false;", 10, "holds Goodput: "),
    "a module that does not compile": module(
        "return fals;",
        0,
        r"\Athe module cannot be built\nkmods/sch_mine/sch_mine\.c: In function .*\n"
        r"kmods/sch_mine/sch_mine\.c:\d+:\d+: error: .*fals",
    ),
    "a module that crashes": module("return *(volatile bool *)NULL;", 0, "a NULL pointer in mine_"),
    "a module that loops": module(
        "for (;;)\n\t\tcpu_relax();\n\treturn false;", 0, "more than 30s of a processor"
    ),
    "no module": Made({"x.c": "int x;"}, 0, "has no kmods", MODULE, {"base.yaml": EXPERIMENT}),
    "one that is its own alias": experiment("a: &a [*a]\n" + EXPERIMENT, 0, r"^experiment\.yaml:1"),
}
QUICK = {"right", "wrong", "a crash", "a forged result", "a router", "a claim of pings"}


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough)
        for name in SUBMISSIONS
    ],
)
def test_it_gets_what_it_should(name: str, grade: Grade, tmp_path: Path) -> None:
    made = SUBMISSIONS[name]
    course = str(tmp_path / "course" / "GRADE.yaml")
    files = {file: text.replace("COURSE", course) for file, text in made.files.items()}
    (check,) = grade(made.checks, files, mine=made.mine)["checks"]
    assert check["points"] == made.points, check["detail"]
    assert re.search(made.said, check["detail"], re.MULTILINE), check["detail"]
    if "xyzzy-42" not in str(made.files):  # then it is not to say so
        assert "\n  xyzzy-42" not in check["detail"]
    assert str(tmp_path) not in check["detail"]
