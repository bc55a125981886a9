#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""reproduce.py FOLDER -- PROGRAM ARGUMENT...: records the program with --snapshot=*, makes the launch of each kernel that
has a snapshot a program of its own, and runs it in both placements.

Prints how many of the kernels that are launched directly replay with 0 bytes differing, each other one with the reason;
how many of --starts starts of one program get the recorded addresses, and why the others do not. Exit status 1 if fewer
than 90 % replay, or if one that does not has no reason. FOLDER must not exist.
"""

import argparse
import collections
import concurrent.futures
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
    """(submission, kernel), the first of each kernel. It has the snapshot, unless there was no memory for it then."""
    done = subprocess.run([report, "--timeline", "--format=json", "-n", "0", trace], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["rows"]
    kernels = {(r["thread"], r["call"]): r["kernel"] for r in rows if r["kind"] == "call" and r["kernel"]}
    first = {}
    for r in rows:
        kernel = kernels.get((r["thread"], r["call"])) if r["kind"] == "submission" else None
        if kernel and "kernel" in r["detail"]:
            first.setdefault(kernel, r["submission"])
    return sorted((number, kernel) for kernel, number in first.items())


def make(report, trace, number, folder, libraries):
    """(what went wrong or None, what was printed, folder)."""
    status, text = run([report, f"--reproduce={number}", "--deep", "-o", folder, trace])
    if status:
        return "refused", text, folder
    other = re.search(r"^There is a snapshot of this kernel's launch in submission (\d+)\.$", text, re.M)
    if other:
        return make(report, trace, other[1], f"{folder}-{other[1]}", libraries)
    status, built = run(["make", "-C", folder, f"CUDA={libraries}"])
    return ("does not compile", built, folder) if status else (None, text, folder)


def replay(folder):
    """(what came of it in each placement, what was printed)."""
    results, text = [], ""
    for place in ((), ("moved",)):
        status, told = run(["./reproduce", *place], folder)
        text += told
        whole = re.search(r"^0 of [1-9]\d* bytes differ", told, re.M) and "not compared" not in told
        results.append({0: "alike" if whole else "not all compared", 1: "differs", 2: "could not run"}.get(status, f"exit {status}"))
        if results[-1] != "alike":
            break
    return results, text


def reason(text):
    """The lines that say why."""
    why = r"cannot be reproduced|too large|needs --snapshot-size|not compared|bytes differ, the first|failed|CUDA_ERROR|rror:"
    lines = [line for line in text.splitlines() if re.search(why, line)]
    return " | ".join(dict.fromkeys(lines or text.splitlines()[-2:]))[:400]


def start(folder, times):
    """How many starts get the recorded addresses, and why the others do not, each reason with its number."""
    had, why = 0, collections.Counter()
    for _ in range(times):
        text = run(["./reproduce"], folder)[1]
        had += "at the recorded addresses" in text
        why.update({re.sub(r"0x[0-9a-f]+", "0x...", line) for line in text.splitlines() if "cannot be had" in line})
    return had, why


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--nvsnoop", default="nvsnoop")
    parser.add_argument("--report", default="nvsnoop-report")
    parser.add_argument("--libraries", default="/usr/lib/x86_64-linux-gnu", help="where libcuda.so is")
    parser.add_argument("--size", default="256M", help="of --snapshot-size")
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
    with concurrent.futures.ThreadPoolExecutor(max(1, os.cpu_count() // 2)) as pool:
        made = list(pool.map(lambda launch: make(options.report, trace, launch[0], os.path.join(options.folder, str(launch[0])),
                                                 options.libraries), launches))
    for (number, kernel), (wrong, text, folder) in zip(launches, made):
        results, told = ([wrong], "") if wrong else replay(folder)
        text += told
        if results == ["alike"] * 2:
            alike += 1
            example = example or folder
            continue
        refused += results[-1] == "refused"
        silent += not reason(text)
        print(f"submission {number}, {kernel[:100]}: {', '.join(results)}: {reason(text)}")
    had, why = start(example, options.starts) if example else (0, {})
    for line, times in why.items():
        print(f"{times} of {options.starts} starts: {line}")
    print(f"{len(launches)} kernels launched directly, {alike} replay with 0 bytes differing, {refused} refused; "
          f"recorded addresses in {had} of {options.starts} starts")
    sys.exit(alike < SHARE * len(launches) or silent > 0 or not launches)


main()
