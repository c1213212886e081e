"""Whether the runs are as the module's author wants them. Plain Python: run.json is enough."""

import json
from pathlib import Path

run = json.loads(Path("results/share/run.json").read_text())
gaimd, reno = (flow["goodput_mbit"] for flow in run["flows"])
print(f"gaimd {gaimd:.2f} Mb/s, Reno {reno:.2f} Mb/s, digest {run['digest']}")
assert 0.5 < gaimd / reno < 2, "gaimd and Reno do not share"
assert run["bottleneck"]["utilisation"] > 0.9, "the link is not used"
