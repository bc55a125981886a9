# SPDX-License-Identifier: MIT
"""Small kernels that count their own instructions: memory and sums equal the interpreter's, for each place of the counting
code and of its registers, and for sums beyond 32 bits.
"""

import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The kernel code library without fatbins, which need zstd's header.
SOURCES = ["tests/gpu/victims.c", "tests/sass/*.c", "sass/[bceu]*.c", "sass/flow.c", "sass/heap.c", "sass/insn.c", "sass/tally.c",
           "sass/rewrite/*.c"]


def check(suite, name):
    row = suite.row(name)
    out, err, status = suite.run(name, [suite.program("victims"), ROOT, "--long"])
    if status == 77:
        return suite.skip(name, out.decode(errors="replace").strip())
    said = re.search(rb"(\d+) right, (\d+) wrong", out)
    if status or not said:
        lines = (out + err).decode(errors="replace").strip().splitlines()
        row.wrong.append(lines[0] if lines else f"exit {status}")
    if said:
        row.notes.append(f"{int(said[1])} variants of counted kernels are right, {int(said[2])} wrong")
    return row


def register(suite):
    stubs = ["-L" + os.path.join(suite.cuda, folder, "stubs") for folder in ("lib64", "lib", "targets/x86_64-linux/lib")]
    sources = [path for pattern in SOURCES for path in sorted(glob.glob(os.path.join(ROOT, pattern)))]
    suite.build("victims", ["gcc", "-O2", "-D_GNU_SOURCE", "-frounding-math", "-I" + ROOT,
                            "-I" + os.path.join(ROOT, "include"), "-I" + os.path.join(suite.cuda, "include"), *sources,
                            *stubs, "-lcuda", "-lm"])
    suite.check("small kernels with counting", check, needs=("victims",))
