# SPDX-License-Identifier: MIT
"""A trace of PyTorch has its names on any machine: with other paths in it, so that no file is found, each report is the
same; and the names that the library recorded are those that the reader finds in the files.
"""

import ctypes
import importlib.util
import json
import os
import signal
import struct
import subprocess
import sys
import time

ENV = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "PYTHONHASHSEED": "0"}
REPORTS = (["--by-callsite"], ["--by-api"], ["--by-kernel"], ["--dump", "--range=1000-1200"])
AT_WORK = 1 << 20  # bytes of trace after which the training loop is running
MODULE, NAME = 6, 37  # record types


def frames(path):
    """Yields each frame of a trace, decompressed."""
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_findFrameCompressedSize.restype = zstd.ZSTD_decompress.restype = ctypes.c_size_t
    zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    with open(path, "rb") as file:
        data = file.read()
    while data:
        size = zstd.ZSTD_findFrameCompressedSize(data, ctypes.c_size_t(len(data)))
        if size > len(data):
            return  # the last one is incomplete
        if data[:1] != b"\x5e":  # the seek table
            room = ctypes.create_string_buffer(zstd.ZSTD_getFrameContentSize(data, ctypes.c_size_t(size)))
            zstd.ZSTD_decompress(room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(size))
            yield room.raw
        data = data[size:]


def pack(frame):
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_compress.restype = zstd.ZSTD_compressBound.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(zstd.ZSTD_compressBound(ctypes.c_size_t(len(frame))))
    size = zstd.ZSTD_compress(room, ctypes.c_size_t(len(room)), frame, ctypes.c_size_t(len(frame)), 3)
    return room.raw[:size]


def copy(trace, to, names, files):
    """Copies a trace, without names unless NAMES, and with wrong paths unless FILES. Returns the number and bytes of names."""
    count = size = 0
    with open(to, "wb") as out:
        for frame in frames(trace):
            records, at = [], 0
            while at < len(frame):
                kind, _, length = struct.unpack_from("<HHI", frame, at)
                record = bytearray(frame[at:at + length])
                at += length
                if kind == NAME:
                    count, size = count + 1, size + length
                if kind == MODULE and not files:
                    path = 48 + struct.unpack_from("<H", record, 20)[0]
                    if record[path:path + 1] == b"/":
                        record[path + 1:path + 2] = b"_"
                if kind != NAME or names:
                    records.append(bytes(record))
            out.write(pack(b"".join(records)))
    if os.path.exists(trace + ".spool") and not os.path.exists(to + ".spool"):
        os.link(trace + ".spool", to + ".spool")
    return count, size


def reports(suite, name, trace):
    told = {}
    for argument in REPORTS:
        for form in ("text", "json"):
            out, err, status = suite.run(f"{name}: {argument[0]}", [suite.report, trace, *argument, f"--format={form}"])
            told[argument[0], form] = tuple(text.decode(errors="replace").replace(trace, "TRACE") for text in (out, err)) + (status,)
    return told


def differing(one, other):
    """Lines of all reports that differ."""
    lines = []
    for key, told in one.items():
        a, b = told[0].splitlines(), other[key][0].splitlines()
        lines += [f"{key[0]}: {x[:200]} / {y[:200]}" for x, y in zip(a, b) if x != y]
        if len(a) != len(b) or told[1:] != other[key][1:]:
            lines.append(f"{key[0]}: {len(a)} and {len(b)} lines, {told[1:]} and {other[key][1:]}")
    return lines


def judge(suite, name, row, trace):
    """Adds source lines first, because another machine does not have them."""
    out, _, _ = suite.run(f"{name}: --embed", [suite.report, "--embed", trace])
    row.notes.append(out.decode(errors="replace").split(": ", 1)[-1].strip())
    copies = [trace + end for end in (".here", ".away", ".bare")]  # of equal length, for equal column widths
    count, size = copy(trace, copies[0], True, True)
    copy(trace, copies[1], True, False)
    copy(trace, copies[2], False, True)
    here, there, by_files = (reports(suite, name, path) for path in copies)
    for what, other in (("without files", there), ("with files instead of names", by_files)):
        lines = differing(here, other)
        suite.log(f"{name}: {what}, lines that differ", "\n".join(lines))
        if lines:
            row.wrong.append(f"{len(lines)} lines differ, {what}: {lines[0]}")
    rows = json.loads(here["--by-callsite", "json"][0])["rows"]
    named = sum(not (r["callsite"] or "").startswith((f"{r['module']}+0x", "0x")) for r in rows if r["callsite"])
    row.notes.append(f"{count} names, {size} bytes decompressed; {named} of {len(rows)} rows of --by-callsite have a name")
    if not count or not named:
        row.wrong.append("it has no names")


def training(suite, name):
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    row = suite.compare(name, [sys.executable, suite.source("train.py")], env=ENV)
    for trace in suite.traces(name)[:1]:
        judge(suite, name, row, trace)
    return row


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return int((file.read().split() or ["0"])[0])


def killed(suite, name):
    """kill -9 of a training loop: the launcher adds the missing names."""
    if importlib.util.find_spec("torch") is None:
        return suite.skip(name, "torch is not installed")
    row, folder = suite.row(name), suite.folder(name)
    trace = os.path.join(folder, "killed.zst")
    with subprocess.Popen([suite.launcher, "--quiet", "-o", trace, "--", sys.executable, suite.source("loops.py"), "--rounds",
                           "100000"], env=suite.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as launcher:
        limit = time.monotonic() + suite.timeout
        while time.monotonic() < limit and launcher.poll() is None:
            if os.path.exists(trace) and os.path.getsize(trace) >= AT_WORK:
                break
            time.sleep(0.1)
        os.kill(child_of(launcher.pid), signal.SIGKILL)
        before = time.monotonic()
        status = launcher.wait()
    row.output = "killed"
    row.notes.append(f"the launcher took {time.monotonic() - before:.2f} s for {os.path.getsize(trace) >> 20} MiB")
    if status != -signal.SIGKILL:
        row.wrong.append(f"the launcher exited with {status}")
    judge(suite, name, row, trace)
    if "(0 new)" not in row.notes[1]:
        row.wrong.append("the launcher did not add all names")
    return row


def register(suite):
    suite.check("names of PyTorch on any machine", training)
    suite.check("names after kill -9", killed)
