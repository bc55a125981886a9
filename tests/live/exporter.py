# SPDX-License-Identifier: MIT
"""nvsnoop-exporter for tests: starts it on a free port of 127.0.0.1, sends requests, and ends it."""

import os
import re
import signal
import socket
import subprocess

SAMPLE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"(?:,|$)')


class Exporter:
    def __init__(self, program, folder, *options):
        env = dict(os.environ, XDG_RUNTIME_DIR=folder)
        os.chmod(folder, 0o700)
        self.child = subprocess.Popen([program, "--listen=127.0.0.1:0", *options], stderr=subprocess.PIPE, text=True, env=env)
        self.said = self.child.stderr.readline()
        match = re.search(r"http://127\.0\.0\.1:(\d+)/metrics", self.said)
        if not match:
            raise SystemExit(f"the exporter does not start: {self.said}{self.child.stderr.read()}")
        self.port = int(match.group(1))

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def talk(self, request):
        """All that comes back until the other side has closed."""
        with self.connect() as s:
            s.sendall(request)
            text = b""
            try:
                while part := s.recv(1 << 20):
                    text += part
            except ConnectionResetError:
                pass
            return text

    def metrics(self, accept=None):
        line = f"Accept: {accept}\r\n" if accept else ""
        head, _, body = self.talk(f"GET /metrics HTTP/1.1\r\nHost: x\r\n{line}\r\n".encode()).partition(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0]:
            return None
        if int(re.search(rb"Content-Length: (\d+)", head).group(1)) != len(body):
            return None
        return body.decode("utf-8")

    def end(self):
        """Exit status and all that it said."""
        self.child.send_signal(signal.SIGTERM)
        said = self.said + self.child.stderr.read()
        return self.child.wait(), said


def samples(text):
    """{(name, frozenset of labels): value}; raises where a line is none, or is there twice."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = SAMPLE.match(line)
        if not match:
            raise ValueError(f"no sample: {line!r}")
        name, labels, value = match.groups()
        key = (name, frozenset(LABEL.findall(labels or "")))
        if LABEL.sub("", labels or "") or key in found:
            raise ValueError(f"labels, or twice: {line!r}")
        found[key] = float(value)
    return found


def pick(found, name, **labels):
    """Values of the samples with that name and these labels among theirs, by their other labels."""
    want = set(labels.items())
    return {frozenset(key[1] - want): value for key, value in found.items() if key[0] == name and want <= key[1]}
