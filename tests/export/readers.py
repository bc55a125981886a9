# SPDX-License-Identifier: MIT
"""Reads exports of nvsnoop-report with other tools, all to the same totals."""

import gzip
import json
import os
import re
import subprocess
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))


class Totals:
    """What there was in a trace: calls by API (how many, ns of those that returned), submissions by process and
    channel (how many, entries, bytes of commands), ranges of NVTX by name and kind (how many, ns of those that ended); what
    the GPU did by process and submission (name, begin, ns)."""

    def __init__(self):
        self.calls = defaultdict(lambda: [0, 0])
        self.channels = defaultdict(lambda: [0, 0, 0])
        self.ranges = defaultdict(lambda: [0, 0])
        self.gpu = {}
        self.wrong = []

    def add(self, row, *values):
        for i, value in enumerate(values):
            row[i] += value


def parse_text(text):
    """protoc's text form: a dict of lists for each message."""
    top = {}
    stack = [top]
    for line in text.splitlines():
        line = line.strip()
        if line.endswith("{"):
            inner = {}
            stack[-1].setdefault(line[:-2], []).append(inner)
            stack.append(inner)
        elif line == "}":
            stack.pop()
        elif line:
            name, value = line.split(": ", 1)
            if value.startswith('"'):
                value = re.sub(rb"\\([0-7]{3}|.)", unquote, value[1:-1].encode()).decode()
            elif re.fullmatch(r"-?\d+", value):
                value = int(value)
            stack[-1].setdefault(name, []).append(value)
    return top


def unquote(match):
    """A character as protoc escapes it."""
    c = match.group(1)
    return bytes([int(c, 8)]) if len(c) == 3 else {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(c, c)


def protoc(schema, message, data):
    done = subprocess.run(["protoc", f"--proto_path={HERE}", f"--decode={message}", f"{HERE}/{schema}"], input=data,
                          capture_output=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr.decode())
    text = done.stdout.decode()
    unknown = re.search(r"^\s*\d+(:| \{)", text, re.M)
    if unknown:
        raise ValueError(f"a field that the schema lacks: {unknown.group()}")
    return parse_text(text)


def first(message, name, none=None):
    return message.get(name, [none])[0]


# ---- Perfetto ----

class Perfetto:
    """A trace's packets as trace_processor takes them: names first, then in order of time."""

    def __init__(self, data):
        self.totals = Totals()
        self.names, self.notes, self.tracks, self.events = {}, {}, {}, []
        self.flows = defaultdict(set)
        self.started = set()
        self.last = {}
        for packet in protoc("perfetto.proto", "nvsnoop.perfetto.Trace", data).get("packet", []):
            self.take(packet)
        self.events.sort(key=lambda e: e[0])
        self.open = defaultdict(list)
        for at, event, sequence in self.events:
            self.event(at, event, sequence)

    def take(self, packet):
        sequence = first(packet, "sequence")
        if (first(packet, "flags") == 1) != (sequence not in self.started):
            self.totals.wrong.append("a sequence's state is cleared in the middle, or never")
        self.started.add(sequence)
        for interned in packet.get("interned", []):
            for name in interned.get("events", []):
                self.names[sequence, first(name, "id")] = first(name, "name", "")
            for name in interned.get("annotations", []):
                self.notes[sequence, first(name, "id")] = first(name, "name", "")
        for track in packet.get("track", []):
            self.tracks[first(track, "uuid")] = track
        for event in packet.get("event", []):
            if first(event, "track") not in self.tracks:
                self.totals.wrong.append(f"an event before its track: {event}")
            event["called"] = self.names.get((sequence, first(event, "name_id")), first(event, "name", ""))
            event["said"] = {self.notes.get((sequence, first(note, "id")), first(note, "name")):
                             next((first(note, key) for key in note if key.endswith("_value")), None)
                             for note in event.get("annotations", [])}
            self.events.append((first(packet, "timestamp"), event, sequence))

    def event(self, at, event, sequence):
        track = first(event, "track")
        kind, category = first(event, "type"), first(event, "categories", "")
        if kind == "BEGIN":
            self.open[track].append((at, event, category))
            if category != "gpu":
                self.begin(track, event, category)
        elif kind == "END":
            if not self.open[track]:
                self.totals.wrong.append(f"an end without a beginning at {at}")
                return
            begin, event, category = self.open[track].pop()
            if category == "gpu":
                self.totals.gpu[self.of(event, begin, sequence)] = (event["called"], begin, at - begin)
                return
            totals = self.totals.ranges[event["called"], self.kind(track)] if category == "nvtx" else self.totals.calls[event["called"]]
            # Until when a call lasted that was left by a jump is not known to the reports.
            totals[1] += 0 if str(event["said"].get("result")).startswith("left") else at - begin
        elif kind == "INSTANT" and category == "submission":
            self.submission(track, event, sequence)
        elif kind == "INSTANT" and category == "release":
            for flow in event.get("flows", []):
                self.flows[flow].add("release")
        elif kind == "INSTANT":
            self.totals.ranges[event["called"], "mark"][0] += 1

    def of(self, event, begin, sequence):
        """Whose GPU's work it is; by its flow it is a call's."""
        for flow in event.get("flows", []):
            self.flows[flow].add("gpu")
        if self.last.get(first(event, "track"), begin) > begin:
            self.totals.wrong.append(f"the GPU's work of a channel is not in order: {event}")
        self.last[first(event, "track")] = begin
        return sequence, event["said"]["submission"]

    def kind(self, track):
        return "push" if "thread" in self.tracks.get(first(self.tracks[track], "parent"), {}) else "start"

    def begin(self, track, event, category):
        if category == "nvtx":
            self.totals.ranges[event["called"], self.kind(track)][0] += 1
            return
        self.totals.calls[event["called"]][0] += 1
        for flow in event.get("flows", []):
            if "call" in self.flows[flow]:
                self.totals.wrong.append(f"two calls of one flow: {flow}")
            self.flows[flow].add("call")

    def submission(self, track, event, sequence):
        number = int(re.search(r"channel (\d+)", first(self.tracks[track], "name")).group(1))
        said = event["said"]
        self.totals.add(self.totals.channels[sequence, number], 1, said["entries"], said["command_bytes"])
        for flow in event.get("flows", []):
            self.flows[flow].add("submission")


def perfetto(path):
    with open(path, "rb") as file:
        read = Perfetto(file.read())
    for flow, parts in read.flows.items():
        if "call" not in parts and "submission" in parts:
            read.totals.wrong.append(f"a submission's flow {flow} has no call")
        if parts == {"call"}:
            read.totals.wrong.append(f"a call's flow {flow} leads nowhere")
    read.totals.kinds = {part for parts in read.flows.values() for part in parts}
    return read.totals


# ---- Chrome ----

def chrome(path):
    """Trace events, as the description of the format has them."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    t = Totals()
    processes = list(dict.fromkeys(e["pid"] for e in events))
    nests, apart, flows = defaultdict(list), {}, defaultdict(list)
    slices = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] in "XB"}
    for e in events:
        category, name = e.get("cat", ""), e["name"]
        if e["ph"] in "stf":
            flows[e["id"]].append(e["ph"])
            if (e["pid"], e["tid"], e["ts"]) not in slices:
                t.wrong.append(f"a flow without a slice: {e}")
        elif category == "submission":
            t.add(t.channels[processes.index(e["pid"]) + 1, e["args"]["channel"]], 1, e["args"]["entries"], e["args"]["command_bytes"])
        elif category == "gpu":
            t.gpu[processes.index(e["pid"]) + 1, e["args"]["submission"]] = (name, round(1000 * e["ts"]), round(1000 * e["dur"]))
        elif category.startswith("nvtx"):
            kind = {"i": "mark"}.get(e["ph"], "start" if category == "nvtx started" else "push")
            ends = {"E": lambda: nests[e["pid"], e["tid"]].pop(), "e": lambda: apart.pop((e["pid"], e["id"]))}.get(e["ph"])
            if ends:
                t.ranges[name, kind][1] += round(1000 * e["ts"]) - round(1000 * ends()["ts"])
                continue
            t.ranges[name, kind][0] += 1
            if e["ph"] == "B":
                nests[e["pid"], e["tid"]].append(e)
            elif e["ph"] == "b":
                apart[e["pid"], e["id"]] = e
        elif e["ph"] in "XB" and category != "release":
            left = str(e["args"].get("result")).startswith("left")
            t.add(t.calls[name], 1, 0 if left else round(1000 * e.get("dur", 0)))
    for number, parts in flows.items():
        if parts.count("s") > 1 or parts.count("f") > 1 or ("s" in parts) != ("t" in parts):
            t.wrong.append(f"flow {number}: {parts}")
    return t


# ---- tables: SQLite, Parquet ----

# The same questions to whatever reads them; names of tables come with their place.
TOTALS = {
    "calls": 'SELECT api, count(*) AS n, coalesce(sum(end_ns - begin_ns), 0) AS ns FROM {call} GROUP BY api',
    "channels": 'SELECT process, channel, count(*) AS n, sum(entries) AS entries, sum(command_bytes) AS bytes'
                ' FROM {submission} GROUP BY process, channel',
    "gpu": "SELECT process, submission, coalesce(work, '-') AS work, begin_ns, coalesce(end_ns, begin_ns) - begin_ns AS ns FROM {gpu_work}",
    "ranges": 'SELECT coalesce("range", \'-\') AS name, kind, count(*) AS n, coalesce(sum(end_ns - begin_ns), 0) AS ns'
              ' FROM {range} GROUP BY 1, 2',
}


TABLES = ("call", "submission", "range", "gpu_work")


def tables(ask, places):
    """ASK runs a query and returns its rows as dicts."""
    t = Totals()
    for row in ask(TOTALS["calls"].format(**places)):
        t.add(t.calls[row["api"]], row["n"], row["ns"])
    for row in ask(TOTALS["channels"].format(**places)):
        t.add(t.channels[row["process"], row["channel"]], row["n"], row["entries"], row["bytes"])
    for row in ask(TOTALS["ranges"].format(**places)):
        t.add(t.ranges[row["name"], row["kind"]], row["n"], row["ns"])
    for row in ask(TOTALS["gpu"].format(**places)):
        t.gpu[row["process"], row["submission"]] = (row["work"], row["begin_ns"], row["ns"])
    lost = ask("SELECT count(*) AS n FROM {submission} s LEFT JOIN {call} c ON s.call = c.call"
               " WHERE s.call IS NOT NULL AND c.call IS NULL".format(**places))[0]["n"]
    if lost:
        t.wrong.append(f"{lost} submissions are of no call")
    return t


def ask_sqlite(path, query):
    done = subprocess.run(["sqlite3", "-readonly", "-json", path, query], capture_output=True, text=True, check=True)
    return json.loads(done.stdout or "[]")


def sqlite(path):
    """By the sqlite3 tool; and what was written for Nsight Systems' tables gets the same from them."""
    def ask(query):
        return ask_sqlite(path, query)

    t = tables(ask, {name: "NVSNOOP_" + name.upper() for name in TABLES})
    if ask("PRAGMA integrity_check") != [{"integrity_check": "ok"}]:
        t.wrong.append("integrity_check")
    theirs = {row["value"]: (row["n"], row["ns"]) for row in ask(
        'SELECT value, count(*) AS n, sum("end" - start) AS ns FROM CUPTI_ACTIVITY_KIND_RUNTIME'
        ' JOIN StringIds ON nameId = id WHERE globalTid / 0x1000000 % 0x1000000 IN (SELECT pid FROM PROCESSES)'
        ' OR globalTid IS NULL GROUP BY value')}
    ours = {row["api"]: (row["n"], row["ns"]) for row in ask(
        "SELECT api, count(*) AS n, sum(end_ns - begin_ns) AS ns FROM NVSNOOP_CALL WHERE end_ns NOT NULL GROUP BY api")}
    if theirs != ours:
        t.wrong.append(f"CUPTI_ACTIVITY_KIND_RUNTIME: {theirs} instead of {ours}")
    ranges = ask("SELECT eventType, coalesce(text, '-') AS text, count(*) AS n FROM NVTX_EVENTS WHERE eventType <> 75 GROUP BY 1, 2")
    kinds = {59: "push", 60: "start", 34: "mark"}
    if {(r["text"], kinds[r["eventType"]]): r["n"] for r in ranges} != {name: n for name, (n, _) in t.ranges.items()}:
        t.wrong.append(f"NVTX_EVENTS: {ranges}")
    named = ask("SELECT globalTid / 0x1000000 AS pid, domainId AS id, text AS name FROM NVTX_EVENTS WHERE eventType = 75 ORDER BY 1, 2")
    domains = ask("SELECT DISTINCT pid, domain_id AS id, domain AS name FROM NVSNOOP_RANGE JOIN NVSNOOP_PROCESS USING (process)"
                  " WHERE domain_id > 0 ORDER BY 1, 2")
    if named != domains:
        t.wrong.append(f"NVTX_EVENTS of domains: {named} instead of {domains}")
    start = ask("SELECT utcEpochNs AS ns, utcTime AS text FROM TARGET_INFO_SESSION_START_TIME")
    began = ask("SELECT min(started_ns) AS ns, strftime('%Y-%m-%d %H:%M:%S', min(started_ns) / 1000000000, 'unixepoch') AS text FROM NVSNOOP_PROCESS")
    if [row["text"] for row in start] != [row["text"] for row in began if row["text"]]:
        t.wrong.append(f"TARGET_INFO_SESSION_START_TIME: {start} instead of {began}")
    if ask("SELECT count(*) AS n FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE callchainId NOT NULL AND callchainId NOT IN (SELECT id FROM CUDA_CALLCHAINS)")[0]["n"]:
        t.wrong.append("a call's stack is not among CUDA_CALLCHAINS")
    return t


# ---- pprof ----

def pprof(path):
    """{type: {stack as folded stacks have it: value}}, and the default type."""
    with gzip.open(path) as file:
        profile = protoc("pprof.proto", "nvsnoop.pprof.Profile", file.read())
    strings = profile["string"]
    functions = {first(f, "id"): strings[first(f, "name", 0)] for f in profile.get("function", [])}
    locations = {first(p, "id"): functions[first(p["line"][0], "function")] for p in profile.get("location", [])}
    types = [strings[first(t, "type")] for t in profile["type"]]
    values = {name: defaultdict(int) for name in types}
    for sample in profile.get("sample", []):
        stack = ";".join(locations[i].replace(";", "\\x3b") for i in reversed(sample["location"]))
        for name, value in zip(types, sample["value"]):
            values[name][stack] += value
    return values, strings[first(profile, "default_type", 0)]


def node(*arguments):
    done = subprocess.run(["node", os.path.join(HERE, "parquet.mjs"), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)


def parquet(path):
    """By DuckDB, as one table over all partitions."""
    places = {name: f"read_parquet('{path}/{name}/*/*/*.parquet', hive_partitioning=true)" for name in TABLES}
    asked = []
    tables(lambda query: asked.append(query) or [defaultdict(int)], places)  # which questions there are
    answers = dict(zip(asked, node("duckdb", *asked)))
    return tables(answers.get, places)


def hyparquet(paths):
    """Rows of these files, as the other reader has them; and DuckDB has the same."""
    read = node("hyparquet", *paths)
    same = node("duckdb", *(f"SELECT * FROM read_parquet('{path}', hive_partitioning=false)" for path in paths))
    return read, [path for path, one, other in zip(paths, read, same) if one["rows"] != other]
