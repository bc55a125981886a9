#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""faults.py FOLDER: many faults of tests/gpu/faulty.cu, each in a process of its own, and what --fault says of them.

FOLDER has the programs faulty and illegal.cubin; make() builds them. Prints one line for each kind of fault: in how many
runs the submission and the kernel were named with certainty, in how many the right one was the first candidate, and how
often the instruction was right where the driver reported a program counter. A certainty that is wrong fails, and is shown
with its seed. With --sanitizer=N also what compute-sanitizer says of N of them, and how long both take.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ["beyond", "freed", "loaded", "table", "null", "misaligned", "trapped", "asserted", "overflowed", "shared",
         "illegal"]
WHERE = ["direct", "streams", "same", "graph", "graphsame"]
TRUTH = re.compile(r"truth: kernel (\w+) grid (\d+) where (\w+) node (-?\d+) seed (\d+) error (\w+)")
STORES = {"loaded": "LDG", "overflowed": "STL", "shared": "STS"}  # the others: STG


def make(folder, nvcc="nvcc"):
    """Builds the program, and a cubin with an instruction that does not exist. Returns an error, or None."""
    cubin = os.path.join(folder, "illegal.cubin")
    stubs = os.path.join(os.path.dirname(os.path.dirname(nvcc)) or "/usr/local/cuda", "lib64/stubs")
    for command in ([nvcc, "-O2", "-lineinfo", "-arch=native", "-cudart", "static", "-o", os.path.join(folder, "faulty"),
                     os.path.join(HERE, "faulty.cu"), "-L" + stubs, "-lcuda"],
                    [nvcc, "-O2", "-arch=native", "-cubin", "-o", cubin, os.path.join(HERE, "illegal.cu")]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr
    spoil(cubin)
    return None


def spoil(cubin):
    """Overwrites the instruction that has the constant, but for its scheduling."""
    with open(cubin, "rb") as file:
        data = bytearray(file.read())
    at = data.index(bytes.fromhex("78563412")) - 4
    data[at:at + 12] = b"\xff" * 12
    with open(cubin, "wb") as file:
        file.write(data)


def fault_lines():
    """The line of faulty.cu that faults, by kernel."""
    lines, kernel = {}, None
    with open(os.path.join(HERE, "faulty.cu"), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = re.match(r"__global__ void (\w+)|static __device__ .* int (dive)", line)
            kernel = (found[1] or "overflowed") if found else kernel
            if "/* faults */" in line:
                lines[kernel] = f"faulty.cu:{number}"
    return lines


class Run:
    """One process: what it did, and what the report says."""

    def __init__(self, options, number, kind, where, seed):
        # An instruction that does not exist faults whatever the arguments are.
        self.kind, self.seed = kind, seed
        self.where = {"same": "streams", "graphsame": "graph"}.get(where, where) if kind == "illegal" else where
        self.trace = os.path.join(options.folder, f"{number}.zst")
        env = dict(os.environ, FAULTY_CUBIN=os.path.join(options.folder, "illegal.cubin"))
        argv = [os.path.join(options.folder, "faulty"), kind, self.where, str(seed)]
        begin = time.monotonic()
        done = subprocess.run([options.nvsnoop, "-q", "--code=on", "-o", self.trace, *argv], env=env, capture_output=True,
                              text=True, errors="replace", timeout=120, check=False)
        self.truth = TRUTH.search(done.stdout)
        said = subprocess.run([options.report, "--fault", "--format=json", self.trace], capture_output=True, text=True,
                              timeout=120, check=False)
        self.seconds = time.monotonic() - begin
        self.rows = json.loads(said.stdout)["rows"] if not said.returncode else []
        self.sanitizer = sanitize(argv, env, kind) if number < options.sanitizer else None
        self.wrong = []
        if not self.truth:
            self.wrong.append(f"the program said nothing: {done.returncode} {done.stderr[-200:]}")
        elif said.returncode:
            self.wrong.append(f"the report failed: {said.stderr[-200:]}")
        self.judge()
        if not options.keep and not self.wrong:
            os.remove(self.trace)

    def faulted(self):
        return bool(self.truth) and self.truth[6] != "cudaSuccess"

    def judge(self):
        launches = [r for r in self.rows if r["kind"] == "launch"]
        faults = [r for r in self.rows if r["kind"] == "fault"]
        first = launches[0] if launches else None
        self.named = bool(faults)
        self.certain = self.first = self.kernel_certain = self.kernel_first = False
        self.counter = bool(faults and faults[0]["program_counter"])
        self.instruction = None
        if not self.truth or not first:
            return
        if not self.faulted():
            self.wrong.append("a fault that the program did not have")
            return
        graph = self.where.startswith("graph")
        right = "GraphLaunch" in (first["api"] or "") if graph else (first["grid_block"] or "").startswith(
            self.truth[2] + "x1x1/")
        kernel = (first["kernel"] or "").split("(")[0] == self.kind
        self.first, self.certain = right, right and first["certain"]
        self.kernel_first, self.kernel_certain = right and kernel, right and kernel and first["certain_kernel"]
        if first["certain"] and not right:
            self.wrong.append("a wrong submission is called certain")
        if first["certain_kernel"] and not kernel:
            self.wrong.append(f"kernel {first['kernel']} is called certain")
        if first["certain_node"] and graph and first["node"] is not None and first["node"] != int(self.truth[4]):
            self.wrong.append(f"node {first['node']} is called certain, it is {self.truth[4]}")
        if self.counter:
            self.judge_instruction(first)

    def judge_instruction(self, first):
        expected = LINES.get(self.kind)
        if self.kind == "illegal":
            self.instruction = (first["instruction"] or "").startswith("ffffffffffffffff")
        else:
            self.instruction = first["code_line"] == expected and first["instruction"] == STORES.get(self.kind, "STG")
        if not self.instruction:
            self.wrong.append(f"instruction {first['instruction']} at {first['code_line']} instead of {expected}")


LINES = fault_lines()


def sanitize(argv, env, kind):
    """(whether compute-sanitizer names the kernel, seconds); None: it is not installed."""
    begin = time.monotonic()
    try:
        done = subprocess.run(["compute-sanitizer", "--tool", "memcheck", *argv], env=env, capture_output=True, text=True,
                              errors="replace", timeout=120, check=False)
    except OSError:
        return None
    text = done.stdout + done.stderr
    return bool(re.search(rf" at .*\b{kind}\b|\b{kind}\(args\)", text)), time.monotonic() - begin


def share(runs, name):
    return sum(bool(getattr(run, name)) for run in runs)


def print_table(runs):
    print(f"{'fault':12} runs faulted | submission: certain first none | kernel: certain first none | instruction | wrong")
    groups = collections.defaultdict(list)
    for run in runs:
        groups[run.kind].append(run)
    for kind, group in [*groups.items(), ("all", runs)]:
        those = [run for run in group if run.faulted()]
        cells = []
        for certain, first in (("certain", "first"), ("kernel_certain", "kernel_first")):
            n = share(those, certain), share(those, first)
            cells.append(f"{n[0]:7} {n[1] - n[0]:5} {len(those) - n[1]:4}")
        counted = [run for run in those if run.counter]
        print(f"{kind:12} {len(group):4} {len(those):7} |             {cells[0]} |         {cells[1]} | "
              f"{share(counted, 'instruction'):4} of {len(counted):3} | {sum(bool(run.wrong) for run in group):5}")


def print_sanitizer(runs):
    both = [run for run in runs if run.sanitizer and run.faulted()]
    if not both:
        return
    print(f"compute-sanitizer on {len(both)} of them: names the kernel in {sum(run.sanitizer[0] for run in both)}, takes "
          f"{sum(run.sanitizer[1] for run in both) / len(both):.2f} s each; nvsnoop --code=on and --fault: first candidate "
          f"right in {share(both, 'kernel_first')}, {sum(run.seconds for run in both) / len(both):.2f} s")


def run_all(options):
    draw = random.Random(options.seed)
    plan = [(i, KINDS[i % len(KINDS)], WHERE[i // len(KINDS) % len(WHERE)], draw.randrange(1, 1 << 31))
            for i in range(options.runs)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(lambda p: Run(options, *p), plan))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--nvsnoop", default="nvsnoop")
    parser.add_argument("--report", default="nvsnoop-report")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--sanitizer", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="keep all traces")
    options = parser.parse_args()
    runs = run_all(options)
    print(f"seed {options.seed}")
    print_table(runs)
    print_sanitizer(runs)
    for run in runs:
        for text in run.wrong:
            print(f"{run.kind} {run.where} {run.seed}: {text}; {run.trace}")
        if run.faulted() and not run.first:
            print(f"not first: {run.kind} {run.where} {run.seed}")
    sys.exit(any(run.wrong for run in runs))


if __name__ == "__main__":
    main()
