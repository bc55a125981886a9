# SPDX-License-Identifier: MIT
"""What a submission is called, and what it copied, as each way for programs has it: {number: (API, kernel that its call
launches, {mode: [copies, bytes]})}. Code is not among the copies. None: unknown.
"""

import importlib
import json
import os
import sqlite3
import subprocess
import sys

import readers

MODES = ("engine", "inline", "macro")


def together(submissions, operations, kernels):
    """SUBMISSIONS: (number, (thread, call), API). OPERATIONS: (what, number of the submission that copied, mode, bytes).
    KERNELS: {(thread, call): name}."""
    found = {number: (api, kernels.get(call) or None, {mode: [0, 0] for mode in MODES}) for number, call, api in submissions}
    for what, number, mode, size in operations:
        sign = {"copy": 1, "code": -1}.get(what)
        if sign and number in found:
            found[number][2][mode][0] += sign
            found[number][2][mode][1] += sign * size
    return {number: (api, kernel, {mode: sums for mode, sums in copies.items() if sums != [0, 0]}) for number, (api, kernel, copies) in found.items()}


def of_python(build, trace):
    os.environ["NVSNOOP_DECODE_LIBRARY"] = os.path.join(build, "public/libnvsnoop-decode.so.1")
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.join(readers.HERE, "../../decode/python"))
    nvsnoop = importlib.import_module("nvsnoop")
    opened = nvsnoop.open(trace)
    return together(((s["submission"], (s["thread"], s["call"]), nvsnoop.escape(s["api"])) for s in opened.submissions()),
                    ((o["op"], o["of"].get("tag", o["submission"]), o["of"].get("mode"), o["of"].get("bytes")) for o in opened.operations()),
                    {(c["thread"], c["call"]): nvsnoop.escape(c["kernel"] or "") for c in opened.launches()})


def of_c(build, trace):
    done = subprocess.run([os.path.join(build, "tests/export/vocabulary"), trace], capture_output=True, check=True)
    lines = [line.split("\t") for line in done.stdout.decode().splitlines()]
    return together(((int(line[1]), (line[2], line[3]), line[4]) for line in lines if line[0] == "submission"),
                    ((line[0], int(line[1]), line[2], int(line[3])) for line in lines if line[0] in ("copy", "code")),
                    {(line[1], line[2]): line[3] for line in lines if line[0] == "launch"})


def plain(text):
    """Text of JSON as exports have it."""
    return text and "".join(f"\\x{ord(c):02x}" if ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 else c for c in text)


def of_json(build, trace):
    def printed(option):
        return subprocess.run([os.path.join(build, "nvsnoop-report"), option, "--format=json", trace], stdin=subprocess.DEVNULL,
                              capture_output=True, check=True).stdout.decode()
    lines = [json.loads(line) for line in printed("--ops").splitlines()]
    rows = json.loads(printed("--timeline"))["rows"]
    return together(((s["submission"], (s["thread"], s["call"]), plain(s["api"])) for s in lines if s["kind"] == "submission"),
                    ((o["op"], o.get("copied_by", o["submission"]), o.get("mode"), o.get("written_bytes")) for o in lines if o["kind"] == "op"),
                    {(row["thread"], row["call"]): plain(row["kernel"]) for row in rows if row["kind"] == "call"})


def of_tables(ask, submissions, calls):
    """Of an export with tables."""
    copies = ", ".join(f"s.{mode}_copies, s.{mode}_copy_bytes" for mode in MODES)
    found = {}
    for row in ask(f"SELECT s.submission, s.api, c.kernel, {copies} FROM {submissions} s"
                   f" LEFT JOIN {calls} c ON c.process = s.process AND c.call = s.call"):
        sums = {mode: [row[f"{mode}_copies"], row[f"{mode}_copy_bytes"]] for mode in MODES}
        found[row["submission"]] = row["api"], row["kernel"], {mode: pair for mode, pair in sums.items() if pair not in ([0, 0], [None, None])}
    return found


def of_sqlite(path):
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    found = of_tables(database.execute, "NVSNOOP_SUBMISSION", "NVSNOOP_CALL")
    database.close()
    return found


def of_parquet(path):
    return of_tables(lambda query: readers.node("duckdb", query)[0],
                     *(f"read_parquet('{path}/{name}/*/*/*.parquet', hive_partitioning=false)" for name in ("submission", "call")))
