"""What the scripts of Debian packages' maintainers set up: read from them, as none of them is run.

A package's preinst and postinst are programs for the shell, and most do a few things with a few
helpers: names of programs by update-alternatives, users and groups, directories, and who owns
them (Debian Policy, chapters 6 and 9). Those are done here where their words are plain. What is
left of a script is told.
"""

import itertools
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

AT_START = "usr/lib/tmpfiles.d/maintainers.conf"
"""What is done at a lab's start, by agent/tmpfiles.py: what lies in memory, and who owns what."""
MADE_BY_SERVICES = {"isc-dhcp-server": "f /var/lib/dhcp/dhcpd.leases - - -"}
"""What a package's service makes when it is first started, which on a machine is at once."""
FIRST_ID, LAST_ID = 100, 999
"""Of system users and groups (Debian Policy 9.2.2)."""
NOGROUP = "nogroup"
NO_HOME, NO_LOGIN = "/nonexistent", "/usr/sbin/nologin"
MERGED = re.compile(r"^/(bin|sbin|lib|lib64)(?=/)")
"""Directories that are links into /usr."""
IN_MEMORY = ("/run", "/tmp")
KEYWORDS = "! case do done elif else esac fi for function if then time until while { }"
# These change nothing that a lab has: they ask, speak, compile, or look after services, which
# nothing in a lab starts by itself. The last are the words that the scripts are called with.
WITHOUT_EFFECT = """
: . [ [[ break cd command continue echo eval exec exit export false local logger printf pwd
read return set shift source test trap true type umask unset wait aa-enabled awk base64
basename cat cmp cut date diff dirname egrep expr fgrep find getent getfacl grep head id ls
md5sum mktemp perl pidof readlink runlevel sed seq sha512sum sleep sort stat tail tr uname
uniq wc which xargs db_beginblock db_capb db_endblock db_fget db_fset db_get db_go db_input
db_metaget db_purge db_register db_reset db_set db_settitle db_stop db_subst db_title
db_unregister db_version deb-systemd-helper deb-systemd-invoke dpkg dpkg-divert
dpkg-maintscript-helper dpkg-query dpkg-trigger apparmor_parser depmod install-info
invoke-rc.d ldconfig mv py3clean py3compile pypy3compile restorecon rm rmdir runit-helper
service setcap systemctl systemd-sysusers systemd-tmpfiles ucfr udevadm update-initramfs
update-menus update-rc.d update-xmlcatalog abort-deconfigure abort-remove abort-upgrade
configure reconfigure triggered upgrade
"""
IRRELEVANT = re.compile(r"/etc/init\.d/|apparmor")
PROGRAM = re.compile(r"[a-z/][\w./+-]*")
ASSIGNED = re.compile(r"(\w+)=(.*)", re.S)
Words = list[str]


@dataclass(frozen=True)
class Alternative:
    """What one of several programs would have a name point to."""

    priority: int
    path: str
    others: dict[str, str]
    """Further names that go with it, each with what it points to."""


class Scripts(NamedTuple):
    """Those of a package; empty where it has none."""

    before: str
    """preinst: what is run before its files are there."""
    after: str
    """postinst: what is run when they are."""


@dataclass
class Setup:
    """What maintainers' scripts have set up of a root so far."""

    root: Path
    alternatives: dict[str, list[Alternative]] = field(default_factory=dict)
    at_start: list[str] = field(default_factory=list)


Verb = Callable[[Setup, Words], bool]


def set_up(root: Path, scripts: Mapping[str, Scripts]) -> dict[str, list[str]]:
    """Do in a root what the scripts of its packages would do; returns what is left of each.

    It has to have /etc/passwd and /etc/group. What files hold that are there stays.

    Args:
        root: of the file system, with the files of all packages.
        scripts: of each package, in the order in which they are set up.
    """
    setup, left = Setup(root), {}
    for name, script in scripts.items():
        list(_followed(setup, script.before, BEFORE))  # the rest is about older versions
        if name in MADE_BY_SERVICES:
            setup.at_start.append(MADE_BY_SERVICES[name])
        if undone := list(_followed(setup, script.after, VERBS)):
            left[name] = list(dict.fromkeys(undone))
    for file in sorted((root / "usr/lib/sysusers.d").glob("*.conf")):
        _declare_users(setup, file.read_text())
    for link, offered in setup.alternatives.items():
        _choose(root, link, offered)
    place = root / AT_START
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(f"{line}\n" for line in setup.at_start))
    return left


def _followed(setup: Setup, text: str, verbs: Mapping[str, Verb]) -> Iterator[str]:
    """Do what a script would, as far as it is plain and done by `verbs`; yields the rest."""
    if not text:
        return
    if not re.match(r"#! ?/bin/(ba|da)?sh\b", text):
        yield text.partition("\n")[0]
        return
    try:
        found = list(commands(text))
    except ValueError:
        yield "all of it, as its quotes are not understood"
        return
    functions = re.findall(r"^\s*(?:function\s+)?([\w-]+)\s*\(\)", text, re.M)
    without_effect = {*WITHOUT_EFFECT.split(), *functions}
    for words in found:
        verb, line = Path(words[0]).name, " ".join(words)
        if verb in without_effect or not PROGRAM.fullmatch(words[0]):
            continue
        if IRRELEVANT.search(line) or line.count("`") % 2:
            continue
        plain = not any(re.search(r"[$`*?{]", word) for word in words)
        if not (plain and verb in verbs and verbs[verb](setup, words[1:])):
            yield line


def commands(text: str) -> Iterator[Words]:
    """The simple commands of a shell script, in its order, whatever they depend on.

    Each without what it redirects, and with the value of a variable that has one value; for each
    value of a loop's. Raises ValueError when a quote has no end.
    """
    text = re.sub(r"<<-?\s*(['\"]?)(\w+)\1(.*?)\n.*?^\t*\2$", r"\3", text, flags=re.M | re.S)
    text = re.sub(r"(?m)(?:^|(?<=[\s;]))#.*$", "", text.replace("\\\n", " "))
    text = re.sub(r"[0-9]?>+ ?&?[\w/$.\"-]*|<&?-? ?[\w/\"$]+", " ", text)
    lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars="();|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    found = list(_divided(lexer))
    values, loops = {"DPKG_ROOT": {""}}, {}
    for words in found:
        if words[1:2] == ["in"]:
            loops[words[0]] = words[2:]
        for match in filter(None, map(ASSIGNED.fullmatch, words)):
            values.setdefault(match[1], set()).add(_filled(match[2], {}))
    once = {name: next(iter(given)) for name, given in values.items() if len(given) == 1}
    for words in found:
        rest = list(itertools.dropwhile(ASSIGNED.fullmatch, words))
        if not rest or rest[1:2] == ["in"]:
            continue
        named = re.findall(r"\$\{?(\w+)", " ".join(rest))
        loop = next((name for name in named if name in loops), None)
        for known in [once | {loop: value} for value in loops[loop]] if loop else [once]:
            yield [_filled(word, known) for word in rest]


def _divided(tokens: Iterable[str]) -> Iterator[Words]:
    """The words of a script, those of each command together."""
    words: Words = []
    for token in [*tokens, ";"]:
        if set(token) <= set("();|&") or (not words and token in KEYWORDS.split()):
            if words and not (token == ")" and len(words) == 1):  # else the pattern of a case
                yield words
            words = []
        else:
            words.append(token)


def _filled(word: str, known: Mapping[str, str]) -> str:
    """A word of a script with its variables' values, those that are known."""

    def value(match: re.Match[str]) -> str:
        name, default = match[1] or match[2], match[3]
        return known.get(name, match[0] if default is None else default)

    return re.sub(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::-([^${}]*))?\})", value, word)


def _options(words: Words, takes: str) -> tuple[dict[str, str], Words]:
    """The options of a command, and its other words; `takes` are those that take a word."""
    options: dict[str, str] = {}
    rest: Words = []
    given = iter(words)
    for word in given:
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            rest.append(word)
        elif equals:
            options[name] = value
        else:
            options[word] = next(given, "") if word in takes.split() else ""
    return options, rest


# Names of programs


def _alternatives(setup: Setup, words: Words) -> bool:
    if "--install" not in words:
        return True  # it takes one away, or asks
    at = words.index("--install")
    link, _, path, priority = words[at + 1 : at + 5]
    others = {}
    for number, word in enumerate(words):
        if word == "--slave":
            others[words[number + 1]] = words[number + 3]
    setup.alternatives.setdefault(_merged(link), []).append(
        Alternative(int(priority), path, others)
    )
    return True


def _choose(root: Path, link: str, offered: list[Alternative]) -> None:
    """Have a name point to what is there of the highest priority."""
    there = [each for each in offered if (root / each.path[1:]).exists()]
    if not there:
        return
    best = max(there, key=lambda each: each.priority)
    for name, path in {link: best.path, **best.others}.items():
        _link(root, name, path)


def _link(root: Path, name: str, target: str) -> None:
    """A relative symbolic link, unless there is something of its name, or nothing at its end."""
    place, end = map(_merged, (name, target))
    if os.path.lexists(root / place[1:]) or not (root / end[1:]).exists():
        return
    (root / place[1:]).parent.mkdir(parents=True, exist_ok=True)
    (root / place[1:]).symlink_to(os.path.relpath(end, Path(place).parent))


def _merged(path: str) -> str:
    return MERGED.sub(r"/usr\g<0>", path)


# Users


def _entries(setup: Setup, file: str) -> list[list[str]]:
    return [line.split(":") for line in (setup.root / "etc" / file).read_text().splitlines()]


def _next_id(setup: Setup, file: str) -> str:
    taken = {int(entry[2]) for entry in _entries(setup, file)}
    return str(next(number for number in range(FIRST_ID, LAST_ID) if number not in taken))


def _group(setup: Setup, name: str, number: str = "") -> None:
    if not any(entry[0] == name for entry in _entries(setup, "group")):
        with (setup.root / "etc/group").open("a") as file:
            file.write(f"{name}:*:{number or _next_id(setup, 'group')}:\n")


def _user(
    setup: Setup, name: str, group: str, *, home: str, shell: str, note: str, number: str = ""
) -> None:
    """Add one. A group may be its name or its number."""
    if any(entry[0] == name for entry in _entries(setup, "passwd")):
        return
    gids = {entry[0]: entry[2] for entry in _entries(setup, "group")}
    number = number or _next_id(setup, "passwd")
    with (setup.root / "etc/passwd").open("a") as file:
        file.write(f"{name}:*:{number}:{gids.get(group, group)}:{note}:{home}:{shell}\n")


def _member(setup: Setup, user: str, group: str) -> None:
    entries = _entries(setup, "group")
    for entry in entries:
        if entry[0] == group and user not in entry[3].split(","):
            entry[3] = ",".join(filter(None, [entry[3], user]))
    text = "".join(":".join(entry) + "\n" for entry in entries)
    (setup.root / "etc/group").write_text(text)


def _addgroup(setup: Setup, words: Words) -> bool:
    options, names = _options(words, "--gid -g -K --key")
    _group(setup, names[0], options.get("--gid") or options.get("-g") or "")
    return True


def _adduser(setup: Setup, words: Words) -> bool:
    takes = "--home --shell --ingroup --gid --uid --gecos --comment --conf --firstuid --lastuid"
    options, names = _options(words, takes)
    if len(names) == 2 and "--system" not in options:
        _member(setup, *names)
        return True
    if "--group" in options and "--system" not in options:
        return _addgroup(setup, names)
    [name] = names
    own = "--group" in options
    if own:
        _group(setup, name)
    home = options.get("--home", NO_HOME)
    group = name if own else options.get("--ingroup") or options.get("--gid") or NOGROUP
    _user(
        setup,
        name,
        group,
        home=home,
        shell=options.get("--shell", NO_LOGIN),
        note=options.get("--gecos") or options.get("--comment") or "",
        number=options.get("--uid", ""),
    )
    if "--no-create-home" not in options and home != NO_HOME:
        _directory(setup, home)
        _owned(setup, "z", [home], "-", name, group)
    return True


def _useradd(setup: Setup, words: Words) -> bool:
    takes = "--gid -g --uid -u --home-dir --home -d --shell -s --comment -c -G --groups"
    options, [name] = _options(words, takes)

    def option(*names: str, default: str = "") -> str:
        return next((options[each] for each in names if each in options), default)

    group = option("--gid", "-g")
    if not group:
        _group(setup, name)
    _user(
        setup,
        name,
        group or name,
        home=option("--home-dir", "--home", "-d", default=NO_HOME),
        shell=option("--shell", "-s", default=NO_LOGIN),
        note=option("--comment", "-c"),
        number=option("--uid", "-u"),
    )
    return True


def _usermod(setup: Setup, words: Words) -> bool:
    options, names = _options(words, "-G -aG --groups")
    groups = options.get("-G") or options.get("-aG") or options.get("--groups")
    if not groups or len(names) != 1:
        return False
    for group in groups.split(","):
        _member(setup, names[0], group)
    return True


def _gpasswd(setup: Setup, words: Words) -> bool:
    if len(words) != 3 or words[0] != "-a":
        return False
    _member(setup, words[1], words[2])
    return True


def _declare_users(setup: Setup, text: str) -> None:
    """As a file of sysusers.d says (sysusers.d(5))."""
    for line in text.splitlines():
        words = [*shlex.split(line, comments=True), *["-"] * 6]
        kind, name, number, note, home, shell = ("" if each == "-" else each for each in words[:6])
        if kind == "g":
            _group(setup, name, number if number.isdigit() else "")
        elif kind == "m":
            _member(setup, name, number)
        elif kind.startswith("u"):
            own, _, group = number.partition(":")
            if not group:
                _group(setup, name)
            shown = {"home": home or "/", "shell": shell or NO_LOGIN, "note": note}
            _user(setup, name, group or name, number=own if own.isdigit() else "", **shown)


# Files


def _directory(
    setup: Setup, path: str, mode: str = "-", owner: str = "-", group: str = "-"
) -> None:
    if path.startswith(IN_MEMORY):
        setup.at_start.append(f"d {path} {mode} {owner} {group}")
        return
    (setup.root / path[1:]).mkdir(parents=True, exist_ok=True)
    if (mode, owner, group) != ("-", "-", "-"):
        _owned(setup, "z", [path], mode, owner, group)


def _owned(setup: Setup, kind: str, paths: Words, mode: str, owner: str, group: str) -> bool:
    """Have files get their owners and mode at a start, where they lie in memory by then."""
    for path in paths:
        if path.startswith(("/etc/", "/var/", *IN_MEMORY)):
            setup.at_start.append(f"{kind} {path} {mode} {owner or '-'} {group or '-'}")
    return all(path.startswith("/") for path in paths)


def _mkdir(setup: Setup, words: Words) -> bool:
    options, paths = _options(words, "-m --mode")
    if not all(path.startswith("/") for path in paths):
        return False
    for path in paths:
        _directory(setup, path, options.get("-m") or options.get("--mode") or "-")
    return True


def _install(setup: Setup, words: Words) -> bool:
    options, paths = _options(words, "-m --mode -o --owner -g --group")
    settings = [options.get(name, "-") for name in ("-m", "-o", "-g")]
    if "-d" in options:
        for path in paths:
            _directory(setup, path, *settings)
        return True
    return len(paths) == 2 and _copy(setup, paths)


def _chown(setup: Setup, words: Words) -> bool:
    options, [whose, *paths] = _options(words, "")
    owner, _, group = whose.replace(".", ":").partition(":")
    return _owned(setup, "Z" if "-R" in options else "z", paths, "-", owner, group)


def _chgrp(setup: Setup, words: Words) -> bool:
    group, *paths = words
    return _chown(setup, [f":{group}", *paths])


def _chmod(setup: Setup, words: Words) -> bool:
    options, [mode, *paths] = _options(words, "")
    if not mode.isdigit() or "-R" in options:
        return False
    return _owned(setup, "z", paths, mode, "-", "-")


def _override(setup: Setup, words: Words) -> bool:
    """Of dpkg-statoverride."""
    if "--add" not in words:
        return True  # it asks
    owner, group, mode, path = words[-4:]
    return _owned(setup, "z", [path], mode, owner, group)


def _copy(setup: Setup, words: Words) -> bool:
    _, paths = _options(words, "--sum-file")
    if len(paths) != 2 or not all(path.startswith("/") for path in paths):
        return False
    source, target = (setup.root / path[1:] for path in paths)
    if target.is_dir():
        target /= source.name
    if source.is_file() and not os.path.lexists(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    return True


def _symlink(setup: Setup, words: Words) -> bool:
    options, paths = _options(words, "")
    if len(paths) != 2 or not any("s" in name for name in options):
        return False
    target, name = paths
    _link(setup.root, name, os.path.normpath(Path(name).parent / target))
    return True


def _touch(setup: Setup, words: Words) -> bool:
    _, paths = _options(words, "-r --reference")
    if not all(path.startswith("/") for path in paths):
        return False
    for path in paths:
        place = setup.root / path[1:]
        if not os.path.lexists(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
    return True


BEFORE: dict[str, Verb] = {
    "addgroup": _addgroup,
    "adduser": _adduser,
    "groupadd": _addgroup,
    "mkdir": _mkdir,
    "useradd": _useradd,
    "usermod": _usermod,
}
VERBS: dict[str, Verb] = {
    **BEFORE,
    "chgrp": _chgrp,
    "chmod": _chmod,
    "chown": _chown,
    "cp": _copy,
    "dpkg-statoverride": _override,
    "gpasswd": _gpasswd,
    "install": _install,
    "ln": _symlink,
    "touch": _touch,
    "ucf": _copy,
    "update-alternatives": _alternatives,
}
"""The helpers that are imitated; each returns whether it could be."""
