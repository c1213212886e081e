"""What packages' scripts set up, read from them: as their authors write them."""

from pathlib import Path

import pytest

from sandglass.install import maintainers
from sandglass.install.maintainers import Scripts

USERS = """#!/bin/sh
set -e
case "$1" in
configure|reconfigure)
    if ! getent group daemons >/dev/null 2>&1; then
        addgroup --system --quiet daemons
    fi
    adduser \\
        --system --ingroup daemons \\
        --home /nonexistent --no-create-home --gecos "Some daemons" routed
    useradd --system --gid nogroup --home-dir /var/lib/misc --shell /usr/sbin/nologin other
    usermod -a -G adm routed  # it's for the logs
    ;;
esac
"""
NAMES = """#!/bin/sh -e
for name in tool tool-save; do
    update-alternatives --install /usr/bin/$name $name /usr/bin/$name-old 10
done
update-alternatives --install /bin/tool tool /usr/bin/tool-new 50 \\
    --slave /usr/share/man/man1/tool.1.gz tool.1.gz /usr/share/man/man1/tool-new.1.gz
update-alternatives --install /usr/bin/tool tool /usr/bin/not-there 99
"""
FILES = """#!/bin/bash
logs=/var/log/tool
mkdir -p $logs /var/lib/tool
[ -d /run/tool ] || mkdir /run/tool
chown routed:adm "$logs"
chmod 2750 "$logs"
if [ ! -e /etc/tool.conf ]; then cp /usr/share/tool/tool.conf /etc/tool.conf; fi
cp /usr/share/tool/tool.conf /etc/passwd
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {
        "etc/passwd": "root:*:0:0:root:/root:/bin/bash\nold:*:100:4::/:/bin/sh\n",
        "etc/group": "root:*:0:\nadm:*:4:\nnogroup:*:65534:\n",
        "usr/share/tool/tool.conf": "settings\n",
        "usr/bin/tool-old": "old",
        "usr/bin/tool-save-old": "",
        "usr/bin/tool-new": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def after(script: str) -> dict[str, Scripts]:
    return {"package": Scripts("", script)}


def test_users_and_groups_are_added_once(root: Path) -> None:
    for _ in range(2):
        assert maintainers.set_up(root, after(USERS)) == {}
    assert (root / "etc/passwd").read_text().splitlines()[2:] == [
        "routed:*:101:100:Some daemons:/nonexistent:/usr/sbin/nologin",
        "other:*:102:65534::/var/lib/misc:/usr/sbin/nologin",
    ]
    assert (root / "etc/group").read_text().splitlines() == [
        "root:*:0:", "adm:*:4:routed", "nogroup:*:65534:", "daemons:*:100:",
    ]  # fmt: skip


def test_a_name_is_that_of_the_best_program_that_is_there(root: Path) -> None:
    (root / "bin").symlink_to("usr/bin")
    assert maintainers.set_up(root, after(NAMES)) == {}
    assert (root / "usr/bin/tool").readlink() == Path("tool-new")
    assert (root / "usr/bin/tool-save").readlink() == Path("tool-save-old")
    assert not (root / "usr/share/man").exists()


def test_what_lies_in_memory_is_made_at_a_start(root: Path) -> None:
    maintainers.set_up(root, after(FILES))
    assert (root / "var/log/tool").is_dir()
    assert (root / "etc/tool.conf").read_text() == "settings\n"
    assert (root / "etc/passwd").read_text().startswith("root:")
    assert (root / maintainers.AT_START).read_text().splitlines() == [
        "d /run/tool - - -",
        "z /var/log/tool - routed adm",
        "z /var/log/tool 2750 - -",
    ]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ('chown frr: "$filename"', "chown frr: $filename"),
        ("a2enmod -q mpm_event || true", "a2enmod -q mpm_event"),
        ("chmod g+s /etc/tool", "chmod g+s /etc/tool"),
        ('usermod --shell "$SHELL" old', "usermod --shell $SHELL old"),
        ("echo 'it", "all of it, as its quotes are not understood"),
    ],
)
def test_what_is_not_done_is_told(root: Path, line: str, left: str) -> None:
    assert maintainers.set_up(root, after(f"#!/bin/sh\n{line}\n")) == {"package": [left]}


@pytest.mark.parametrize(
    "line",
    [
        "invoke-rc.d tool start || exit 1",
        'deb-systemd-helper enable "tool"',
        "say() { echo; }; say",
    ],
)
def test_services_and_words_are_nothing_left(root: Path, line: str) -> None:
    assert maintainers.set_up(root, after(f"#!/bin/sh\n{line}\n")) == {}


def test_of_what_is_before_the_files_only_users_and_directories_count(root: Path) -> None:
    script = "#!/bin/sh\naddgroup --system early\ntouch /etc/ld.so.nohwcap\n"
    assert maintainers.set_up(root, {"package": Scripts(script, "")}) == {}
    assert "early:*:100:" in (root / "etc/group").read_text()
    assert not (root / "etc/ld.so.nohwcap").exists()


def test_users_that_a_package_declares_are_there(root: Path) -> None:
    declared = root / "usr/lib/sysusers.d/tool.conf"
    declared.parent.mkdir(parents=True)
    declared.write_text('# a comment\nu tool - "A tool" /var/lib/tool\ng extra 55\nm tool adm\n')
    maintainers.set_up(root, {})
    assert (
        "tool:*:101:100:A tool:/var/lib/tool:/usr/sbin/nologin" in (root / "etc/passwd").read_text()
    )
    assert "adm:*:4:tool\n" in (root / "etc/group").read_text()
    assert "extra:*:55:\n" in (root / "etc/group").read_text()
