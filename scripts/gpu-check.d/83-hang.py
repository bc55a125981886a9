# SPDX-License-Identifier: MIT
"""--hang explains a spinning kernel, a semaphore that is never written, two streams that wait for each other, a full ring,
and a collective that a rank left, each while it runs and after kill -9.
"""

import json
import os
import signal
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOW = {"spin": ("cuStreamSynchronize", "not done"), "semaphore": ("cuStreamSynchronize", "waits"),
       "cross": ("cuCtxSynchronize", "waits"), "ring": ("cuLaunchKernel", "waits")}


def told(suite, folder):
    traces = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".zst"))
    done = subprocess.run([suite.report, "--hang", "--format=json", *traces], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["rows"] if traces and not done.returncode else []


def until_still(suite, folder, calls, api):
    """Waits until the library has recorded CALLS of API that hang; returns the rows. Other calls may be slow too: contexts."""
    end, rows = time.monotonic() + suite.timeout, []
    while sum(r["kind"] == "call" and r["api"] == api and bool(r["callsite"]) and r["age_s"] > 1 for r in rows) < calls:
        if time.monotonic() > end:
            break
        time.sleep(0.2)
        rows = told(suite, folder)
    return rows


def judge(row, when, rows, api, state):
    calls = [r for r in rows if r["kind"] == "call"]
    channels = [r for r in rows if r["kind"] == "channel"]
    if not any(r["api"] == api for r in calls):
        row.wrong.append(f"{when}: no call in {api}, only {[r['api'] for r in calls]}")
    if not any(r["state"] == state for r in channels):
        row.wrong.append(f"{when}: no channel {state}: {[r['state'] for r in channels]}")
    row.notes += [f"{when}: {r['says']}" for r in rows if r["kind"] == "trace"]


def judge_top(row, suite, folder, pids, api):
    """Checks nvsnoop-top, which finds the traces by the live pages."""
    top = os.path.join(os.path.dirname(suite.report), "nvsnoop-top")
    done = subprocess.run([top, "--hang", "--folder=" + folder, *map(str, pids)], capture_output=True, text=True, check=False)
    if done.returncode or api not in done.stdout or "live page only" in done.stdout:
        row.wrong.append(f"nvsnoop-top --hang: {done.returncode}: {done.stdout}{done.stderr}")


def hangs(suite, name, how):
    api, state = HOW.get(how, ("cuStreamSynchronize", "not done"))
    row, folder, n = suite.row(name), suite.folder(name), 3 if how == "rank" else 1
    os.chmod(folder, 0o700)
    peers = os.path.join(folder, "peers")
    with open(peers, "wb") as file:
        file.truncate(4096)
    children = [subprocess.Popen([suite.program("hang"), how], cwd=suite.work, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, env=suite.environment({
                                     **suite.preload(folder), "XDG_RUNTIME_DIR": folder, "RANK": str(i), "WORLD_SIZE": str(n), "LEAVES": "1",
                                     "PEERS": peers})) for i in range(n)]
    try:
        judge(row, "running", until_still(suite, folder, n - (n > 1), api), api, state)
        judge_top(row, suite, folder, [child.pid for child in children if child.poll() is None], api)
    finally:
        for child in children:
            child.send_signal(signal.SIGKILL)
            child.wait()
    rows = told(suite, folder)
    judge(row, "killed", rows, api, state)
    undone = sorted(r["collective_undone"] or 0 for r in rows if r["kind"] == "trace")
    if how == "rank" and undone != [0, 3, 3]:
        row.wrong.append(f"collectives not done: {undone}")
    return row


def register(suite):
    stubs = ["-L" + os.path.join(suite.cuda, folder, "stubs") for folder in ("lib64", "lib", "targets/x86_64-linux/lib")]
    suite.build("hang", ["gcc", "-O2", "-D_GNU_SOURCE", "-I" + ROOT, os.path.join(ROOT, "tests/apps/hang.c"), *stubs,
                         "-lcuda", "-lpthread"])
    for how in (*HOW, "rank"):
        suite.check(f"hang: {how}", lambda s, n, h=how: hangs(s, n, h), needs=("hang",))
