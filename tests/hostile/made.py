# SPDX-License-Identifier: MIT
"""Makes traces by hand, and runs reports on them with hard limits on memory and CPU time."""

import os
import struct
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
REPORT = os.path.join(BUILD, "nvsnoop-report")
LISTED = subprocess.run([REPORT, "--list-reports"], capture_output=True, check=True, text=True).stdout
QUERY = "=SELECT * FROM NVSNOOP_SUBMISSION JOIN PROCESSES"  # the argument of --query, of all tables; N: a submission
# Of traces: option ("" for none), formats, needs.
KNOWN = [(option + QUERY * (argument == "SQL") + "=1" * (argument == "N"), formats.split(","), needs.split(","))
         for option, argument, formats, needs in
         (line.split("\t") for line in LISTED.splitlines()) if "trace" in needs.split(",")]
FORMATS = ("text", "json", "csv")
REPORTS = [[*([option] if option else []), f"--format={form}"] for option, _, _ in KNOWN for form in FORMATS]
CONSUME = os.path.join(BUILD, "tests", "hostile", "consume")  # all that the public decoder offers, as one more report
READINGS = [*REPORTS, ["consume"]]
LINES = tuple(option for option, formats, _ in KNOWN if "lines" in formats)  # which are no tables, and refuse to be CSV
PAIRS = tuple(option for option, _, needs in KNOWN if "pair" in needs)  # which take two traces: the same, here
EXPORTS = tuple(option for option, _, _ in KNOWN if option.startswith(("--export=", "--reproduce=")) or option == "--html")  # which are what they are
FILED = tuple(option for option, formats, _ in KNOWN if {"binary", "file", "folder"} & set(formats))  # and nothing to look at
NONE = 0xffffffff  # no such number
SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a disk's time for files by the thousand is not the report's
HUNG = 240  # seconds without an end, on whatever machine: nothing is measured with it


def report(arguments, folder, memory=2 << 30, cpu=60):
    """One report, killed when it needs more than MEMORY bytes or CPU seconds."""
    program, arguments = (CONSUME, arguments[1:]) if arguments[:1] == ["consume"] else (REPORT, arguments)
    arguments = [*arguments, *(arguments[-1:] if set(arguments) & set(PAIRS) else ())]
    if set(arguments) & set(FILED):
        with tempfile.TemporaryDirectory(prefix="nvsnoop-filed.", dir=SCRATCH) as scratch:
            return within(program, ["-o", os.path.join(scratch, "out"), *arguments], folder, memory, cpu)
    return within(program, arguments, folder, memory, cpu)


def within(program, arguments, folder, memory, cpu):
    """PROGRAM with these limits."""
    limit = f"ulimit -c 0; ulimit -t {cpu}; ulimit -v {memory >> 10}; exec \"$0\" \"$@\""
    try:
        return subprocess.run(["sh", "-c", limit, program, *arguments], cwd=folder, capture_output=True, check=False, timeout=HUNG,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(arguments, -999, b"", b"no end")


def codes(arguments):
    """Exits that are fine for it."""
    refused = LINES + EXPORTS if "--format=csv" in arguments else EXPORTS if "--format=json" in arguments else ()
    if set(arguments) & set(PAIRS):
        return 0, 1, 2
    return (1, 2) if set(arguments) & set(refused) else (0, 1, 3)


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


def framed(records, each=8000):
    """The records in frames of a usual size, behind the first one."""
    frames = [stream([])]
    for at in range(0, len(records), each):
        frames.append(record_bytes(1, struct.pack("<QII", len(frames), 0, 0)) + b"".join(records[at:at + each]))
    return frames


# ---- records ----

def channel(number):
    return record_bytes(16, struct.pack("<IIIIIIIIIIQIIQ", number, 1, number, 0xc86f, 0, 1, 0, number, 1024, 1, 0x200000, 7, 0, 0))


def submission(thread, number, sequence, stack, data):
    entry = struct.pack("<QII", (len(data) // 4) << 42 | 0x200000, 0, len(data))
    return record_bytes(18, struct.pack("<IIQIIIIIIQQQ", thread, number, sequence, 0, 9, sequence % 1024, (sequence + 1) % 1024,
                                        stack, 1, 0, 0, 0) + entry + data)


def call(thread, api, number, *args):
    return record_bytes(34, struct.pack(f"<IIQQQIIHHI{len(args)}Q", thread, api, number, 10, 20, 0, 0, 1, len(args), 0, *args))


def node_set(event, handle, executable=1):
    node = struct.pack("<QQQQII6III", handle, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0)
    return record_bytes(36, struct.pack("<QQIIII", executable, 0, event, 0 if event == 3 else handle, 1, 0) + node)


def thread(number):
    return record_bytes(5, struct.pack("<II16s", number, number, b"t"))


def api(number, name, group, *args):
    text = b"".join(word.encode() + b"\0" for word in (name, group, *args))
    return record_bytes(32, struct.pack("<IIII", number, len(args), 0, len(text)) + text)


def begin(thread, number, depth=1):
    return record_bytes(33, struct.pack("<IIQQII", thread, 0, number, 10, depth, 0))
