#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""For each trace: whether the Python module and the reports use the same names of functions and kernels. Prints True
or the differences.
"""
import json
import subprocess
import sys
from collections import Counter
import nvsnoop


def rows(*words):
    done = subprocess.run(["nvsnoop-report", *words, "--format=json", "-n", "0"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["rows"]


for path in sys.argv[1:]:
    trace = nvsnoop.open(path)
    apis = Counter(s["api"] for s in trace.submissions())
    reported = Counter()
    for row in rows("--by-api", path):
        reported[row["api"]] += row["submissions"]
    kernels = {(launch["kernel"], launch["mangled"]) for launch in trace.launches() if launch["mangled"]}
    known = {(row["kernel"], row["mangled"]) for row in rows("--by-kernel", path)}
    print(path, +apis == +reported or (apis - reported, reported - apis), kernels <= known or kernels - known)
