# SPDX-License-Identifier: MIT
"""Makes traces by hand, and reports them within hard limits of memory and processor time."""

import os
import resource
import struct
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
REPORT = os.path.join(BUILD, "nvsnoop-report")
REPORTS = ["--by-api", "--by-callsite", "--channels", "--verify", "--dump", "--ops", "--sync", "--format=json", "--format=csv"]
HUNG = 240  # seconds without an end, on whatever machine: nothing is measured with it


def report(arguments, folder, memory=2 << 30, cpu=60):
    """One report, killed when it needs more than MEMORY bytes or CPU seconds."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    try:
        return subprocess.run([REPORT, *arguments], cwd=folder, capture_output=True, check=False, timeout=HUNG,
                              stdin=subprocess.DEVNULL, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(arguments, -999, b"", b"no end")


def record_bytes(kind, body, flags=0, time=1000):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<HHIQ", kind, flags, 16 + len(body), time) + body


def stream(records):
    frame = record_bytes(1, struct.pack("<QII", 0, 0, 0))
    header = record_bytes(2, struct.pack("<QII16sIIIIQQ", 0x31504f4f4e53564e, 1, 1, b"s" * 16, 4711, 1, 1, 3, 10**18, 65536))
    return frame + header + b"".join(records)


def pack(path, *frames):
    with open(path, "wb") as out:
        for frame in frames:
            out.write(subprocess.run(["zstd", "-qc", "--check"], input=frame, capture_output=True, check=True).stdout)
