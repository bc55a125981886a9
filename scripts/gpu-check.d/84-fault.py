# SPDX-License-Identifier: MIT
"""--fault names what faulted: no certainty is wrong, each instruction is right, and 95 % have the right launch first."""

import importlib.util
import os
import re

RUNS = 44


def module(suite):
    spec = importlib.util.spec_from_file_location("faults", suite.source("faults.py"))
    faults = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(faults)
    return faults


def faults(suite, name):
    row, folder = suite.row(name), suite.folder(name)
    trouble = module(suite).make(folder, os.path.join(suite.cuda, "bin/nvcc"))
    if trouble:
        row.wrong.append(f"not built: {trouble[-200:]}")
        return row
    out, err, status = suite.run(name, [suite.source("faults.py"), folder, "--nvsnoop", suite.launcher, "--report", suite.report,
                                        "--runs", str(RUNS)], timeout=600)
    text = (out + err).decode(errors="replace")
    found = re.search(rb"^all +(\d+) +(\d+) \| +(\d+) +(\d+) +(\d+) \|", out, re.M)
    if status or not found:
        row.wrong.append(f"exit {status}: {text[-400:]}")
        return row
    faulted, certain, first = int(found[2]), int(found[3]), int(found[4])
    row.notes.append(f"{faulted} faults, {certain} submissions certain, {first} first")
    if faulted < RUNS or certain + first < 0.95 * faulted:
        row.wrong.append(f"the right submission is first in {certain + first} of {faulted}")
    return row


def register(suite):
    suite.check("faults", faults, alone=True)
