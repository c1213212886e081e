"""The plugins for tc, which are made for a structure that tc keeps to itself."""

import subprocess
from pathlib import Path

import pytest

from sandglass.install import builds, plugins

PLUGIN = builds.ROOT / "kmods" / "sch_pi2" / "q_pi2.c"
# A program that is laid out as tc is: it exports its kinds, and loads a plugin.
TC = """
#include <dlfcn.h>
#include <stdio.h>
struct { void *next; const char *id; void *rest[REST]; } pfifo_qdisc_util = { 0, "pfifo" };
int main(int argc, char **argv)
{
	puts(argc > 1 && dlopen(argv[1], RTLD_LAZY) ? "loaded" : dlerror());
	return 0;
}
"""


@pytest.mark.parametrize(("members", "fits"), [(6, True), (5, False), (7, False)])
def test_a_plugin_refuses_a_tc_that_it_was_not_made_for(
    tmp_path: Path, members: int, fits: bool
) -> None:
    subprocess.run(plugins.compilation(PLUGIN, tmp_path), check=True)
    (tmp_path / "tc.c").write_text(TC)
    program = tmp_path / "tc"
    command = ["cc", f"-DREST={members}", "-rdynamic", "-o", str(program), str(tmp_path / "tc.c")]
    subprocess.run(command, check=True)
    done = subprocess.run(
        [program, plugins.plugin(PLUGIN, tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout == "loaded\n") == fits
    assert ("do not fit this tc" in done.stderr) != fits
    assert done.returncode == (0 if fits else 1)
