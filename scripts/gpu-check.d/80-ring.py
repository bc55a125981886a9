# SPDX-License-Identifier: MIT
"""--ring finds each cause of a slow call: launches behind a blocked stream fill the channel's ring or its part of the
pushbuffer, a copy synchronises, a launch loads code and allocates local memory.
"""

import json
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CAUSES = {"ring": "ring full", "pushbuffer": "pushbuffer full", "copy": "synchronising copy", "local": "memory allocation"}


def waits(suite, name, what):
    row = suite.compare(name, [suite.program("full"), what])
    if row.wrong:
        return row
    out, _, _ = suite.run(f"{name}: --ring", [suite.report, *suite.traces(name), "--ring", "--format=json"])
    rows = json.loads(out)["rows"]
    calls = sorted((r for r in rows if r["kind"] == "call"), key=lambda r: -r["host_us"])
    if not calls or CAUSES[what] not in (calls[0]["cause"] or ""):
        row.wrong.append(f"the longest call waited for {calls[0]['cause'] if calls else 'nothing'}, not {CAUSES[what]}")
        return row
    used = max((r for r in rows if r["kind"] == "channel"), key=lambda r: r["submissions"])
    row.notes.append(f"{calls[0]['api']} {calls[0]['host_us']:.0f} us: {calls[0]['cause']}; channel {used['channel']}: "
                     f"{used['ring_used_max']} of {used['gpfifo_entries']} entries, {used['pushbuffer_used_max_bytes']} bytes")
    return row


def register(suite):
    stubs = ["-L" + os.path.join(suite.cuda, folder, "stubs") for folder in ("lib64", "lib", "targets/x86_64-linux/lib")]
    suite.build("full", ["gcc", "-O2", "-D_GNU_SOURCE", "-I" + ROOT, os.path.join(ROOT, "tests/apps/full.c"), *stubs,
                         "-lcuda", "-lpthread"])
    for what in CAUSES:
        suite.check(f"full: {what}", lambda s, n, w=what: waits(s, n, w), needs=("full",))
