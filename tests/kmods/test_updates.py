"""How often an AQM updates its probability: ours as it is told, mainline's PIE a tick later."""

import json
from pathlib import Path

import numpy as np
import pytest

from sandglass.lab import lab
from sandglass.records import records

US, MS = 1_000, 1_000_000
SAMPLE_NS = 5 * US
UPDATES = 8
# How long an update takes is what tupdate says, a whole number of ticks or not, short or long.
OURS = {
    "pi2": ("pi2", "tupdate 32ms", 32 * MS),
    "pi2-broken-ticks": ("pi2", "tupdate 7.5ms", 7_500 * US),
    "pi2-many-ticks": ("pi2", "tupdate 100ms", 100 * MS),
    "pie_draft": ("pie_draft", "tupdate 30ms", 30 * MS),
    "pie_draft-broken-ticks": ("pie_draft", "tupdate 7.5ms", 7_500 * US),
}
MAINLINE = {"pie": ("pie", "tupdate 15ms", 16 * MS)}
MEASURED_S = 0.15  # until pie_draft knows the link's rate, before which it does not act
GAINS = "alpha 1 beta 0"  # neither reaches the end of the scale nor moves by nothing


@pytest.mark.lab
def test_updates_come_exactly_once_in_tupdate(tmp_path: Path) -> None:
    """To the microsecond. Mainline's timer takes a tick more, as docs/limits.md says."""
    wanted = OURS | MAINLINE
    plan = {
        name: (kind, f"{options} {GAINS}", MEASURED_S + (UPDATES + 3) * period / 1e9)
        for name, (kind, options, period) in wanted.items()
    }
    (tmp_path / "updates.json").write_text(json.dumps(plan))
    lab.run_program("tests/kmods/updates.py", tmp_path)
    for name, (_, _, period) in wanted.items():
        samples = records.read(tmp_path / f"{name}.bin", records.QUEUE)
        xstats = np.ascontiguousarray(samples["xstats"])
        prob = xstats.view(np.uint64).reshape(len(samples), -1)[:, 0]
        changed = samples["time_ns"][1:][prob[1:] != prob[:-1]][: UPDATES + 1]
        assert len(changed) == UPDATES + 1, name
        assert np.abs(np.diff(changed) - period).max() <= SAMPLE_NS, name
        assert (changed[-1] - changed[0]) / UPDATES == pytest.approx(period, abs=US), name
