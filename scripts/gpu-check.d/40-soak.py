# SPDX-License-Identifier: MIT
"""Ten million submissions from eight threads are all recorded, with constant memory use."""

import re

LAUNCHES = 10000000
BURST = 8 * 512
FLAT_KIB = 8192  # limit of growth between the first quarter and the end


def soak(suite, name):
    row = suite.row(name)
    folder = suite.folder(name)
    out, err, status = suite.run(f"{name}: with", [suite.program("soak"), str(LAUNCHES)],
                                 suite.preload(folder), timeout=2 * suite.timeout)
    ran = sum(int(n) for n in re.findall(rb"(\d+) kernels ran", out))
    expected = -(-LAUNCHES // BURST) * BURST
    row.output = "right" if status == 0 and ran == expected else "WRONG"
    if row.output == "WRONG":
        row.wrong.append(f"exit {status}, {ran} kernels ran instead of {expected}")
    report = suite.read(name, row, folder)
    if report and report.of("cuLaunchKernel") != expected:
        row.wrong.append(f"{report.of('cuLaunchKernel')} submissions of cuLaunchKernel instead of {expected}")
    memory = [int(n) for n in re.findall(rb"rss-anon \d (\d+)", err)]
    if len(memory) == 4:
        row.notes.append("RssAnon MiB by quarter: " + " ".join(f"{kib / 1024:.0f}" for kib in memory))
        if memory[3] - memory[0] > FLAT_KIB:
            row.wrong.append(f"memory grew by {memory[3] - memory[0]} KiB")
    else:
        row.wrong.append("the program did not print its memory use")
    return row


def register(suite):
    suite.cuda_build("soak", "soak.cu", "-cudart", "static")
    # Alone: with other checks at the same time the writer falls behind and uses more buffers.
    suite.check("soak: 10 million, 8 threads", soak, ["soak"], alone=True)
