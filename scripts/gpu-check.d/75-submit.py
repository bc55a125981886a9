# SPDX-License-Identifier: MIT
"""nvsnoop-probe submit: the example of the man page, and a copy that the driver sent, with the probe's addresses, copy the
right bytes and complete every release."""

import json
import os
import re

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "man", "nvsnoop-probe.1.in")
PATTERN = bytes(1 + i % 251 for i in range(1 << 20))  # content of $src
OURS = (("OFFSET_IN_(UPPER|LOWER)", "$src"), ("OFFSET_OUT_(UPPER|LOWER)", "$dst"), ("SET_SEMAPHORE_[AB]", "$sem"),
        ("SEM_ADDR_(LO|HI)", "$sem+64"))


def example():
    with open(PAGE, encoding="utf-8") as page:
        text = page.read()
    return text[text.index(".nf", text.index("where copy.txt")) + 4:].split(".fi")[0].replace("\\-", "-")


def sent(suite, name, row, text, size, env=None):
    """Sends TEXT, which copies SIZE bytes of $src to $dst. Returns the rows of its releases."""
    path = os.path.join(suite.folder(name + " text"), "text")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    out, err, status = suite.run(name, [suite.probe, "submit", path, "--dst=" + path + ".dst", "--format=json"], env)
    if status:
        row.wrong.append(f"exit {status}: {err.decode(errors='replace').strip()[-200:]}")
        return []
    with open(path + ".dst", "rb") as file:
        data = file.read()
    if data[:size] != PATTERN[:size] or any(data[size:]):
        row.wrong.append(f"$dst is not the first {size} bytes of $src followed by zeros")
    rows = json.loads(out)["rows"]
    late = [r for r in rows if r["state"] != "came"]
    if not rows or late:
        row.wrong.append(f"{len(late)} of {len(rows)} releases are missing")
    return rows


def by_hand(suite, name):
    row = suite.row(name)
    rows = sent(suite, name, row, example(), 4096, suite.preload(suite.folder(name)))
    if row.wrong:
        return row
    row.notes.append(f"{rows[1]['since_last_ns']} ns from one release to the next")
    if not 0 < rows[1]["since_last_ns"] < 1e9:
        row.wrong.append("the second release is not after the first")
    return row


def as_dumped(suite, name):
    """Sends a copy of the driver again: one by which the probe finds its channels, from a recording of the probe."""
    row = suite.row(name)
    sent(suite, name, row, example(), 4096, suite.preload(suite.folder(name)))
    traces = suite.traces(name)
    if row.wrong or not traces:
        row.wrong += [] if traces else ["no trace was written"]
        return row
    out, _, _ = suite.run(f"{name}: --dump", [suite.report, traces[0], "--dump", "--api=cuMemcpyHtoDAsync_v2"])
    texts = re.split(r"^(?=#)", out.decode(errors="replace"), flags=re.M)[1:]
    fit = [t for t in texts if t.count(" OFFSET_IN_UPPER ") == 1 and t.count(" LINE_LENGTH_IN ") == 1 and "ACQ" not in t
           and "TYPE=NON_PIPELINED" in t and not re.search(r"^ +s[0-35-7] ", t, flags=re.M)]
    if not fit:
        return suite.skip(name, f"none of {len(texts)} submissions is a single copy without a wait")
    text = fit[0]
    for method, buffer in OURS:
        text = re.sub(rf"^( *s\d \w+ \w+ {method}) .*$", rf"\1 {buffer}", text, flags=re.M)
    size = int(re.search(r" LINE_LENGTH_IN +([0-9a-f]+)", text).group(1), 16)
    rows = sent(suite, name, row, text, size)
    row.notes.append(f"{size} bytes, {len(rows)} releases")
    return row


def register(suite):
    suite.check("probe: hand-written commands", by_hand)
    suite.check("probe: a copy of the driver, sent again", as_dumped)
