"""Wrong use and failures: one message that says where and what to do, never a traceback."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sandglass.errors import SandglassError, UsageError
from sandglass.install import builds
from sandglass.terminal import guarded
from tests.cli.conftest import Cli

EXAMPLE = builds.ROOT / "examples" / "codel.yaml"
STUDY = builds.ROOT / "examples" / "studies" / "rtt.yaml"
STUDY_BY = f"{builds.ROOT}/sandglass study {STUDY}"
FIGURE = builds.ROOT / "pipelines" / "abe" / "fig03.yaml"
FIGURE_BY = f"{builds.ROOT}/sandglass study {FIGURE}"
PODS = builds.ROOT / "profiles" / "kubernetes"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rnu"], "rnu"),
        (["run"], "EXPERIMENT.yaml"),
        (["run", "absent.yaml"], "absent.yaml"),
        (["run", "absent.yaml", "--seed", "one"], "--seed"),
        (["run", "absent.yaml", "--backend", "cloud"], "'lab', 'host'"),
        (["run", str(EXAMPLE), "--record", "packets,noise"], "noise"),
        (["run", str(EXAMPLE), "--set", "rtt=100"], "rtt"),
        (["run", str(EXAMPLE), "--seed", "-1"], "--seed"),
        (["verify", "absent.yaml", "--times", "1"], "--times"),
        (["setup", "--remove"], "--host"),
        (["show", "absent"], "absent does not exist"),
        (["run", str(STUDY)], f"is a study, an experiment varied\n  Do it: {STUDY_BY}"),
        (["run", str(FIGURE)], f"is a figure of a paper\n  Do it: {FIGURE_BY}"),
        (["run", str(EXAMPLE), "--lab", "nothing"], "no lab is called nothing"),
        (["reproduce"], "984 runs   Alternative Backoff"),
        (["check", "/dev/zero"], "/dev/zero: has more than 1000 kB"),
        (["reproduce", "abc"], "did you mean 'abe'?"),
        (["reproduce", "abe/fig3"], "did you mean 'fig03'?"),
        (["reproduce", "abe", "--profile", "slow"], "'smoke', 'quick', 'paper'"),
        (["bench", "absent"], "absent"),
        (["study", str(EXAMPLE), "--profile", "absent"], "absent is no profile of Snakemake's"),
        (["study", str(EXAMPLE), "--profile", str(PODS)], "a study cannot run on Kubernetes"),
    ],
)
def test_wrong_use_exits_2_and_says_what_is_wrong(
    sandglass: Cli, empty_cache: Path, words: list[str], said: str
) -> None:
    done = sandglass(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not empty_cache.exists(), "wrong use must be told before anything is installed"


def test_an_executor_that_is_missing_is_told_by_its_name(sandglass: Cli, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("jobs: 4\nexecutor: cluster-absent  # of ours\n")
    done = sandglass("study", str(EXAMPLE), "--profile", str(tmp_path))
    assert done.returncode == 2
    assert "Snakemake's executor cluster-absent is not installed" in done.stderr
    assert "/sandglass setup --cluster" in done.stderr


def test_show_of_a_broken_file_names_it(sandglass: Cli, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"title": ')
    done = sandglass("show", str(tmp_path))
    assert done.returncode == 2
    assert f"{tmp_path}/run.json" in done.stderr
    assert "Traceback" not in done.stderr


def failing(error: BaseException) -> Callable[[], object]:
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (SandglassError("the lab hung", "raise the limit"), 1, "the lab hung\n  raise the limit\n"),
        (UsageError("no such qdisc"), 2, "no such qdisc\n"),
        (OSError(28, "No space left on device", "/x/run"), 1, "/x/run: No space left on device\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_failures_have_their_exit_status(
    capsys: pytest.CaptureFixture[str], error: BaseException, status: int, said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        guarded(failing(error))
    assert ended.value.code == status
    assert capsys.readouterr().err == f"sandglass: {said}"


def test_a_defect_of_ours_keeps_its_traceback_in_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SANDGLASS_CACHE", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        guarded(failing(ZeroDivisionError("division by zero")))
    log = tmp_path / "logs" / "failure.log"
    said = capsys.readouterr().err
    assert ended.value.code == 1
    assert str(log) in said
    assert "Traceback" not in said
    assert "ZeroDivisionError: division by zero" in log.read_text()


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    program = "from sandglass.terminal import guarded; guarded(lambda: print('x' * 10**6))"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
