# SPDX-License-Identifier: MIT
"""NVTX ranges of PyTorch, which has its own copy of NVTX, are recorded with what was done in them."""

import importlib.util
import json
import sys


def rows_of(suite, name, *arguments):
    out, _, _ = suite.run(f"{name}: {arguments[0]}", [suite.report, *suite.traces(name), *arguments, "--format=json"])
    return json.loads(out)["rows"] if out else []


def training(suite, name):
    """The numbers of ranges and launches by path are those that the program counts; so is what --nvtx selects."""
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    row = suite.compare(name, [sys.executable, suite.source("train_nvtx.py")],
                        env={"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "PYTHONHASHSEED": "0"})
    told = rows_of(suite, name, "--by-nvtx")
    by_path = {r["path"]: r for r in told if r["domain"] == "default" and r["kind"] == "push"}
    said = {words[1]: words[2:] for words in row.words if words[0] == "range"}
    if not said or set(by_path) != set(said):
        row.wrong.append(f"ranges {sorted(by_path)} instead of {sorted(said)}")
        return row
    for path, (count, launches) in said.items():
        r = by_path[path]
        if r["count"] != int(count) or r["not_ended"] or not r["wall_us_total"]:
            row.wrong.append(f"{path}: {r['count']} ranges, {r['not_ended']} open, instead of {count}")
        if launches != "-" and r["launch_calls"] != int(launches):
            row.wrong.append(f"{path}: {r['launch_calls']} launches instead of {launches}")
    one = next(path for path in said if path.endswith("/burst2"))
    selected = sum(r["calls"] for r in rows_of(suite, name, "--by-api", "--nvtx=burst2") if r["api"].startswith("cuLaunchK"))
    if selected != int(said[one][1]):
        row.wrong.append(f"--nvtx=burst2 selects {selected} launches instead of {said[one][1]}")
    others = {(r["kind"], r["range"]): r for r in told if r["kind"] != "push"}
    if others.get(("start", "training"), {}).get("not_ended") != 0 or \
            others.get(("mark", "gradients"), {}).get("count") != int(said["step"][0]):
        row.wrong.append(f"started ranges and marks: {sorted(others)}")
    step = by_path["step"]
    row.notes.append(f"{sum(int(c) for c, _ in said.values())} ranges; per step {step['wall_us_mean']:.0f} us, "
                     f"{step['launch_calls'] / step['count']:.0f} launches, forward "
                     f"{by_path['step/forward']['launch_calls'] / step['count']:.0f}")
    return row


def register(suite):
    suite.check("PyTorch, training with NVTX ranges", training)
