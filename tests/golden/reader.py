#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads a trace by docs/trace-format.md only, and sums it up by API, kernel and copy direction.

It uses none of the project's code: if it disagrees with nvsnoop-report (tests/golden/read), one of the two, or the
document, is wrong. It reads one whole trace, without spool and without earlier parts.
"""
import bisect
import collections
import json
import re
import struct
import subprocess
import sys

FRAME, HEADER, CLOCK, SUBMISSION, API, CALL_BEGIN, CALL, KERNEL, GRAPH = 1, 2, 4, 18, 32, 33, 34, 35, 36
MAGIC, VERSION = 0x31504F4F4E53564E, 2
DELTA, DELTA_TYPES, SLOTS, MASK = 0x8000, (SUBMISSION, CALL_BEGIN, CALL), 4096, 0xFFFFFFFF
FRAME_AGAIN, SUB_CONTINUED, API_PASSED, CALL_CAPTURED, CALL_SITED, KERNEL_NAMED = 1, 4, 1, 8, 32, 2
NOT_RETURNED = 2 | 4  # a CALL left by an exception or a jump
NOT_READY = 600  # an answer of cuStreamQuery and its kin, no failure
GRAPH_LAST, INSTANTIATED, UPDATED, NODE_SET, CHILD_SET = 1, 1, 2, 3, 4
NODE_CONDITIONAL, NODE_DISABLED, ONLY_DISABLED = 1, 2, 0xFFFFFFFF
WITH_BYTES = (0, 1, 4)  # HERE, FOLLOWS, SKIPPED
MEMORY_TYPES = {1: "H", 2: "D"}  # CUmemorytype: host, device

Record = collections.namedtuple("Record", "type flags time data")


def read(rec, layout, at=16):
    """The fields of a record from an offset on; one alone is no tuple."""
    fields = struct.unpack_from("<" + layout, rec.data, at)
    return fields if len(fields) > 1 else fields[0]


def restore(kind, data, slots):
    """A SUBMISSION, CALL_BEGIN or CALL as it was before it was stored as a difference."""
    words = list(struct.unpack(f"<{len(data) // 4}I", data))
    base = kind & ~DELTA
    h = ((base * 31 + words[1]) * 0x9E3779B1 ^ words[4] * 0xC2B2AE35 ^ words[5] * 0x85EBCA6B) & MASK
    slot = (h ^ h >> 15) % SLOTS
    if kind & DELTA:
        earlier = slots[slot]
        if (earlier[0] & 0xFFFF, earlier[1], earlier[4:6]) != (base, words[1], words[4:6]):
            sys.exit("a difference to a record that is not like it")
        words[0] &= ~DELTA
        for i in (2, 3, *range(6, len(words))):
            words[i] = words[i] + earlier[i] & MASK
    slots[slot] = words
    return struct.pack(f"<{len(words)}I", *words)


def records(path):
    plain = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
    at, slots, started, skip = 0, {}, False, False
    while at < len(plain):
        kind, flags, size = struct.unpack_from("<HHI", plain, at)
        if size < 16 or size % 8 or at + size > len(plain):
            sys.exit(f"{path}: a record of {size} bytes at {at}")
        data = plain[at:at + size]
        at += size
        if kind == FRAME:
            slots = {}
            skip = bool(flags & FRAME_AGAIN) and started
            started = started or not flags & FRAME_AGAIN
        if skip:
            continue
        if kind & ~DELTA in DELTA_TYPES and size >= 24:
            data = restore(kind, data, slots)
        yield Record(kind & ~DELTA, flags, struct.unpack_from("<Q", data, 8)[0], data)


class Clock:
    """Ticks as nanoseconds, on the straight line through the two CLOCK records around them."""

    def __init__(self, monotonic, points):
        self.points = sorted(set(points)) if not monotonic else [(0, 0), (1, 1)]

    def ns(self, ticks):
        i = min(max(bisect.bisect(self.points, (ticks, 0)), 1), len(self.points) - 1)
        (t0, n0), (t1, n1) = self.points[i - 1], self.points[i]
        return n0 + (ticks - t0) * (n1 - n0) / (t1 - t0)


class Graph:
    """An executable graph; a node is [handle, parent, function, type, flags]."""

    def __init__(self):
        self.nodes, self.event = [], []

    def child(self, handle):
        """The range of nodes inside the child graph node of this handle."""
        start = next((i for i, n in enumerate(self.nodes) if n[0] == handle), len(self.nodes) - 1) + 1
        end, inside = start, {handle}
        while end < len(self.nodes) and self.nodes[end][1] in inside:
            inside.add(self.nodes[end][0])
            end += 1
        return start, end

    def replace(self, start, end, new):
        old = self.nodes[start:end]
        if [self.shape(old, n) for n in old] == [self.shape(new, n) for n in new]:
            kept = NODE_CONDITIONAL | NODE_DISABLED
            new = [[o[0], o[1], *n[2:4], n[4] & ~kept | o[4] & kept] for o, n in zip(old, new)]
        self.nodes[start:end] = new

    @staticmethod
    def shape(nodes, node):
        parents = [i for i, n in enumerate(nodes) if n[0] == node[1]]
        return node[3], parents[0] if parents else None

    def apply(self, event):
        new, self.event = self.event, []
        if event == INSTANTIATED:
            self.nodes = new
        elif event == UPDATED:
            self.replace(0, len(self.nodes), new)
        elif event == CHILD_SET and new:
            self.replace(*self.child(new[0][0]), new[1:])
        elif event == NODE_SET and new:
            for node in [n for n in self.nodes if n[0] == new[0][0]]:
                if new[0][3] != ONLY_DISABLED:
                    node[2:4] = new[0][2:4]
                node[4] = node[4] & ~NODE_DISABLED | new[0][4] & NODE_DISABLED


class Trace:
    def __init__(self, path):
        self.api_of = collections.defaultdict(lambda: ("[unknown]", "", []))
        self.kernels, self.made, self.graphs = {}, {}, {}
        self.at_depth, self.open, self.times, self.runs = {}, {}, [], []
        self.apis = collections.defaultdict(collections.Counter)
        self.copies = collections.defaultdict(collections.Counter)
        self.without = collections.Counter()
        points, self.monotonic = [], False
        take = {SUBMISSION: self.submission, API: self.api, CALL_BEGIN: self.begin, CALL: self.call,
                KERNEL: self.kernel, GRAPH: self.graph}
        for rec in records(path):
            if rec.type == HEADER:
                magic, _, oldest = read(rec, "QII")
                if magic != MAGIC or oldest > VERSION:
                    sys.exit(f"{path}: not a trace of version {VERSION} or before")
                self.monotonic = read(rec, "I", 56) == 1
            elif rec.type == CLOCK:
                points.append((rec.time, read(rec, "Q")))
            elif rec.type in take:
                take[rec.type](rec)
        self.finish(Clock(self.monotonic, points))

    def api(self, rec):
        number, nargs, _, length = read(rec, "4I")
        name, group, *args = rec.data[32:32 + length].decode().split("\0")
        if not rec.flags & API_PASSED:
            self.api_of[number] = (name, group, [a.split(":") for a in args[:nargs]])

    def submission(self, rec):
        thread, entries = read(rec, "I"), read(rec, "I", 52)
        call = self.at_depth.get((thread, rec.flags >> 8))
        row = self.apis[self.api_of[call][0]] if call is not None and rec.flags >> 8 else self.without
        row["submissions"] += not rec.flags & SUB_CONTINUED
        row["entries"] += entries
        for _, state, size in struct.iter_unpack("<QII", rec.data[80:80 + 16 * entries]):
            row["command_bytes"] += size if state in WITH_BYTES else 0

    def begin(self, rec):
        thread, api, number, begin, depth = read(rec, "IIQQI")
        self.at_depth[thread, depth] = api
        self.open[thread, number] = (api, begin)

    def call(self, rec):
        thread, api, number, begin, end, result, absent, _, nargs, _ = read(rec, "IIQQQIIHHI")
        begin = self.open.pop((thread, number), (api, begin))[1]
        name, group, kinds = self.api_of[api]
        at = 64 + 8 * bool(rec.flags & CALL_SITED)
        values = struct.unpack_from(f"<{nargs}Q", rec.data, at)
        args = {k[0]: v for i, (k, v) in enumerate(zip(kinds, values)) if not absent >> i & 1}
        by_kind = {k[1]: args[k[0]] for k in reversed(kinds) if k[0] in args}
        ran = not rec.flags & (CALL_CAPTURED | NOT_RETURNED) and result == 0
        row = self.apis[name]
        row["calls"] += 1
        if rec.flags & NOT_RETURNED:
            row["not_returned"] += 1
        else:
            row["failed"] += result not in (0, NOT_READY)
            self.times.append((row, begin, end or rec.time))
        if "name" in args and ["name", "str"] in kinds:
            text = rec.data[at + 8 * nargs:][:args["name"] & MASK].decode(errors="replace")
            self.made[by_kind.get("function", by_kind.get("kernel"))] = text
        if ran and group == "copy":
            self.copy(name, args)
        elif ran and group == "launch" and ("function" in by_kind or "kernel" in by_kind):
            self.run("direct", by_kind.get("function", by_kind.get("kernel")))
        elif ran and group == "graph-launch" and by_kind.get("exec") in self.graphs:
            for _, _, function, kind, flags in self.graphs[by_kind["exec"]].nodes:
                if kind == 0 and not flags & (NODE_DISABLED | NODE_CONDITIONAL):
                    self.run("graph", function)

    def copy(self, name, args):
        found = re.match(r"cuMemcpy([HDA]to[HDA])", name)
        ends = [MEMORY_TYPES.get(args.get(side + "MemoryType")) for side in ("src", "dst")]
        row = self.copies[found[1] if found else "to".join(ends) if all(ends) else "other"]
        row["calls"] += 1
        volume = args.get("WidthInBytes", 0) * args.get("Height", 1) * args.get("Depth", 1)
        row["bytes"] += args.get("ByteCount", volume)

    def kernel(self, rec):
        function, length = read(rec, "Q"), read(rec, "I", 44)
        told = rec.flags & KERNEL_NAMED
        name = rec.data[48:48 + length].decode(errors="replace") if told else self.made.get(function)
        self.kernels.setdefault(function, []).append(name)

    def run(self, how, function):
        known = len(self.kernels.get(function, []))
        self.runs.append((how, function, max(known - 1, 0)))  # not told yet: by the first that comes

    def graph(self, rec):
        handle, _, event, _, count = read(rec, "QQIII")
        graph = self.graphs.setdefault(handle, Graph())
        for i in range(count):
            node, parent, function, _, kind, flags = read(rec, "QQQQII", 48 + 72 * i)
            graph.event.append([node, parent, function, kind, flags])
        if rec.flags & GRAPH_LAST:
            graph.apply(event)

    def finish(self, clock):
        for row, begin, end in self.times:
            row["host_us"] += (clock.ns(end) - clock.ns(begin)) / 1000
        for api, _ in self.open.values():
            self.apis[self.api_of[api][0]].update(calls=1, not_returned=1)
        self.launches = collections.defaultdict(collections.Counter)
        for how, function, which in self.runs:
            names = self.kernels.get(function, [self.made.get(function)])
            self.launches[names[which] or f"[function {function:#x}]"][how] += 1


if __name__ == "__main__":
    trace = Trace(sys.argv[1])
    print(json.dumps({"apis": trace.apis, "without_call": trace.without, "kernels": trace.launches,
                      "copies": trace.copies}, indent=1))
