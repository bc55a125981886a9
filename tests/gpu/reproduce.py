#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""reproduce.py FOLDER -- PROGRAM ARGUMENT...: records the program with --snapshot=*, makes each direct launch that has a
snapshot a program of its own, and runs it in both placements.

Prints how many replay with 0 bytes differing, each other one with the reason, and how many of --starts starts of one
program get the recorded addresses. Exit status 1 if fewer than 90 % of the launches replay, or if one that does not was not refused
with its reason beforehand and does not say why either. FOLDER must not exist.
"""

import argparse
import json
import os
import re
import subprocess
import sys

LIMIT = 300
SHARE = 0.9


def run(command, folder=None):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
    return done.returncode, done.stdout + done.stderr


def direct_launches(report, trace):
    """(submission, kernel), the first of each kernel: those have a snapshot."""
    done = subprocess.run([report, "--timeline", "--format=json", "-n", "0", trace], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["rows"]
    kernels = {(r["thread"], r["call"]): r["kernel"] for r in rows if r["kind"] == "call" and r["kernel"]}
    first = {}
    for r in rows:
        kernel = kernels.get((r["thread"], r["call"])) if r["kind"] == "submission" else None
        if kernel and "kernel" in r["detail"]:
            first.setdefault(kernel, r["submission"])
    return sorted((number, kernel) for kernel, number in first.items())


def replay(report, trace, number, folder, libraries):
    """(what came of it in each placement, text); a launch that was refused has one result."""
    status, text = run([report, f"--reproduce={number}", "--deep", "-o", folder, trace])
    if status:
        return ["refused"], text
    status, text = run(["make", "-C", folder, f"CUDA={libraries}"])
    if status:
        return ["does not compile"], text
    results = []
    for place in ((), ("moved",)):
        status, text = run(["./reproduce", *place], folder)
        results.append({0: "alike", 1: "differs", 2: "could not run"}.get(status, f"exit {status}"))
        if status:
            return results, text
    return results, text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--nvsnoop", default="nvsnoop")
    parser.add_argument("--report", default="nvsnoop-report")
    parser.add_argument("--libraries", default="/usr/lib/x86_64-linux-gnu", help="where libcuda.so is")
    parser.add_argument("--size", default="1G", help="of --snapshot-size")
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    os.mkdir(options.folder, 0o700)
    trace = os.path.join(options.folder, "trace.zst")
    status, text = run([options.nvsnoop, "-q", "-o", trace, "--snapshot=*", f"--snapshot-size={options.size}", "--", *options.program])
    if status:
        sys.exit(f"the program, recorded: exit {status}: {text[-500:]}")
    alike, refused, silent, example = 0, 0, 0, None
    launches = direct_launches(options.report, trace)
    for number, kernel in launches:
        folder = os.path.join(options.folder, str(number))
        results, text = replay(options.report, trace, number, folder, options.libraries)
        if all(result == "alike" for result in results) and re.search(r"^0 of [1-9]\d* bytes", text, re.M):
            alike += 1
            example = example or folder
            continue
        refused += results[-1] == "refused"
        silent += not text.strip()
        print(f"submission {number}, {kernel[:100]}: {', '.join(results)}: {' '.join(text.split())[-300:]}")
    fixed = sum("at the recorded addresses" in run(["./reproduce"], example)[1] for _ in range(options.starts)) if example else 0
    print(f"{len(launches)} kernels launched directly, {alike} replay with 0 bytes differing, {refused} refused; "
          f"recorded addresses in {fixed} of {options.starts} starts")
    sys.exit(alike < SHARE * len(launches) or silent > 0 or not launches)


main()
