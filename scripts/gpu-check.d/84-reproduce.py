# SPDX-License-Identifier: MIT
"""Launches of the golden program and of a training become programs of their own: 90 % give the same bytes, and each other
one has its reason."""

import importlib.util
import os
import re
import sys


def replayed(suite, name, argv):
    row = suite.row(name)
    out, err, status = suite.run(name, [sys.executable, suite.source("reproduce.py"), os.path.join(suite.folder(name), "made"),
                                        "--nvsnoop", suite.launcher, "--report", suite.report, "--", *argv], timeout=1800)
    text = (out + err).decode(errors="replace")
    found = re.search(r"^(\d+ kernels launched directly, .*)$", text, re.M)
    if found:
        row.notes.append(found[1])
    row.notes += [line[:300] for line in text.splitlines() if re.match(r"submission \d+, |\d+ of \d+ starts: ", line)]
    if status or not found:
        row.wrong.append(f"exit {status}: {text[-400:]}")
    return row


def training(suite, name):
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    return replayed(suite, name, [sys.executable, suite.source("train.py")])


def register(suite):
    suite.check("reproducers: golden", lambda s, n: replayed(s, n, [s.program("golden-static")]), ["golden-static"], alone=True)
    suite.check("reproducers: PyTorch training", training, alone=True)
