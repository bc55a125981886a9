#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints each kernel that ran according to a trace: its name, grid and block."""
import sys
import nvsnoop


def show(name, kernel):
    if kernel["grid"]:
        print(nvsnoop.escape(name or ""), "grid", *kernel["grid"], "block", *kernel["block"])


trace = nvsnoop.open(sys.argv[1])
try:
    for launch in trace.launches():
        if launch["ran"]:
            show(launch["mangled"], launch)
    for graph in trace.graphs():
        for node in graph["nodes"] if graph.get("ran") else ():
            if node["mangled"] is not None and not node["disabled"]:
                show(node["mangled"], node)
except nvsnoop.Error as error:
    sys.exit(str(error))
