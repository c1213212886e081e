"""Pages of runs: how large, how long until they are written and seen, how smoothly they zoom.

The browser is Chromium without a screen and without a graphics card, 1400 by 900 pixels. A frame of
the zoom draws all panels that are on the screen, over a stretch that grows and shrinks.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from rich.console import Console
from rich.table import Table

from sandglass.install import builds
from tests.view.browser import PROGRAM, Browser

MILLION = {
    "title": "More than a million packets",
    "topology": "dumbbell",
    "pairs": 4,
    "rtt": "20ms",
    "bottleneck": {"rate": "200mbit", "queue": {"kind": "fq_codel"}},
    "flows": [{"workload": "bulk", "from": f"s{n}", "to": f"d{n}"} for n in range(1, 5)],
    "duration": "60s",
}
EXAMPLES = ("codel", "ten_flows_ovs", "parking_lot")
ZOOM_MS = 3000
# To a thousandth of the run and back; in between no two frames are of one stretch.
ZOOM = f"""new Promise(done => {{
  const begin = performance.now();
  const about = state.whole / 3;
  let frames = 0;
  const next = now => {{
    const part = (now - begin) / {ZOOM_MS};
    if (part >= 1) return done(frames / (now - begin) * 1000);
    const span = state.whole * 10 ** (-3 * Math.sin(Math.PI * Math.max(0, part)));
    show(about - span / 3, about + span * 2 / 3);
    frames++;
    requestAnimationFrame(next);
  }};
  requestAnimationFrame(next);
}})"""


def sandglass(*words: str | Path) -> float:
    """Seconds that a command takes."""
    begin = time.monotonic()
    command = [builds.ROOT / "sandglass", *words]
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
        sys.exit("sandglass: a command failed: there is nothing to measure")
    return time.monotonic() - begin


def runs(folder: Path) -> dict[str, list[Path]]:
    """The runs of each page."""
    (folder / "million.yaml").write_text(yaml.safe_dump(MILLION))
    files = {name: builds.ROOT / "examples" / f"{name}.yaml" for name in EXAMPLES}
    pages = {}
    for name, file in {**files, "million": folder / "million.yaml"}.items():
        pages[name] = [folder / name]
        sandglass("run", file, "--out", folder / name)
    for kind in ("pie", "fq_codel"):
        change = f"bottleneck.queue.kind={kind}"
        sandglass("run", files["codel"], "--out", folder / kind, "--set", change)
    return {**pages, "three runs": [folder / name for name in ("codel", "pie", "fq_codel")]}


def seen(browser: Browser, page: Path) -> tuple[float, float]:
    """Seconds from opening the page to its first panel, and frames per second while zooming."""
    browser.open(page)
    first = browser.run("performance.getEntriesByName('first panel')[0].startTime") / 1e3
    browser.settle()
    return first, browser.run(ZOOM)


def main() -> int:
    if shutil.which(PROGRAM) is None:
        sys.exit(f"sandglass: install Debian's package {PROGRAM} to measure pages")
    head = ("page", "packets", "MB", "written, s", "first panel, s", "frames/s")
    table = Table(*head, box=None, pad_edge=False)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        pages = runs(folder)
        with Browser(folder / "profile") as browser:
            for title, directories in pages.items():
                page = folder / "page.html"
                written = sandglass("view", *directories, "--out", page)
                first, frames = seen(browser, page)
                packets = browser.run(
                    "streams.reduce((n, s) => n + (s.kind === 'packets' ? s.rows : 0), 0)"
                )
                size = page.stat().st_size / 1e6
                cells = (f"{size:.2f}", f"{written:.2f}", f"{first:.2f}", f"{frames:.0f}")
                table.add_row(title, str(packets), *cells)
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
