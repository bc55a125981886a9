# SPDX-License-Identifier: MIT
"""Makes a Java class without a Java compiler, which a run-time environment does not include.

    class Main {
        static native int run(int n);
        static int length(int[] a) { return a.length; }
        public static void main(String[] args) {
            System.load(LIBRARY);
            int caught = 0, sum = 0;
            for (int i = 0; i < ROUNDS; i++) {
                for (int k = 0; k < CALLS; k++)
                    sum += length(new int[k & 7]);
                try { length(null); } catch (NullPointerException e) { caught++; }
                sum += run(1);
            }
            System.out.println(caught);
            System.out.println(sum);
        }
    }

Version 49 of the format, whose verifier needs no stack maps.
"""

import struct


class Pool:
    def __init__(self):
        self.entries = []
        self.known = {}

    def add(self, tag, data):
        key = (tag, data)
        if key not in self.known:
            self.entries.append(bytes([tag]) + data)
            self.known[key] = len(self.entries)
        return self.known[key]

    def text(self, value):
        data = value.encode()
        return self.add(1, struct.pack(">H", len(data)) + data)

    def number(self, value):
        return self.add(3, struct.pack(">i", value))

    def cls(self, name):
        return self.add(7, struct.pack(">H", self.text(name)))

    def string(self, value):
        return self.add(8, struct.pack(">H", self.text(value)))

    def member(self, tag, cls, name, kind):
        pair = self.add(12, struct.pack(">HH", self.text(name), self.text(kind)))
        return self.add(tag, struct.pack(">HH", self.cls(cls), pair))

    def field(self, cls, name, kind):
        return self.member(9, cls, name, kind)

    def method(self, cls, name, kind):
        return self.member(10, cls, name, kind)


class Code:
    """Byte code with labels: jumps are laid down as 16-bit distances at the end."""

    def __init__(self):
        self.out = bytearray()
        self.labels, self.jumps = {}, []

    def op(self, code, *operands):
        self.out.append(code)
        for fmt, value in operands:
            self.out += struct.pack(">" + fmt, value)

    def jump(self, code, label):
        self.jumps.append((len(self.out), label))
        self.op(code, ("h", 0))

    def label(self, name):
        self.labels[name] = len(self.out)

    def bytes(self):
        for at, label in self.jumps:
            struct.pack_into(">h", self.out, at + 1, self.labels[label] - at)
        return bytes(self.out)


def code_attribute(pool, code, stack, local, handlers=()):
    body = struct.pack(">HHI", stack, local, len(code)) + code + struct.pack(">H", len(handlers))
    for handler in handlers:
        body += struct.pack(">HHHH", *handler)
    body += struct.pack(">H", 0)
    return struct.pack(">HI", pool.text("Code"), len(body)) + body


def method(pool, access, name, kind, code=None):
    head = struct.pack(">HHHH", access, pool.text(name), pool.text(kind), 1 if code else 0)
    return head + (code or b"")


def main_method(pool, library, rounds, calls):
    caught, total, i, k = 1, 2, 3, 4
    length = pool.method("Main", "length", "([I)I")
    c = Code()
    c.op(0x13, ("H", pool.string(library)))  # ldc_w
    c.op(0xb8, ("H", pool.method("java/lang/System", "load", "(Ljava/lang/String;)V")))
    for variable in (caught, total, i):
        c.op(0x03)  # iconst_0
        c.op(0x36, ("B", variable))  # istore
    c.label("round")
    c.op(0x15, ("B", i))  # iload
    c.op(0x13, ("H", pool.number(rounds)))
    c.jump(0xa2, "end")  # if_icmpge
    c.op(0x03)
    c.op(0x36, ("B", k))
    c.label("call")
    c.op(0x15, ("B", k))
    c.op(0x13, ("H", pool.number(calls)))
    c.jump(0xa2, "null")
    c.op(0x15, ("B", total))
    c.op(0x15, ("B", k))
    c.op(0x10, ("b", 7))  # bipush
    c.op(0x7e)  # iand
    c.op(0xbc, ("B", 10))  # newarray int
    c.op(0xb8, ("H", length))
    c.op(0x60)  # iadd
    c.op(0x36, ("B", total))
    c.op(0x84, ("B", k), ("b", 1))  # iinc
    c.jump(0xa7, "call")  # goto
    c.label("null")
    c.op(0x01)  # aconst_null
    c.op(0xb8, ("H", length))
    c.op(0x57)  # pop
    c.label("after")
    c.jump(0xa7, "run")
    c.label("handler")
    c.op(0x57)
    c.op(0x84, ("B", caught), ("b", 1))
    c.label("run")
    c.op(0x15, ("B", total))
    c.op(0x04)  # iconst_1
    c.op(0xb8, ("H", pool.method("Main", "run", "(I)I")))
    c.op(0x60)
    c.op(0x36, ("B", total))
    c.op(0x84, ("B", i), ("b", 1))
    c.jump(0xa7, "round")
    c.label("end")
    for variable in (caught, total):
        c.op(0xb2, ("H", pool.field("java/lang/System", "out", "Ljava/io/PrintStream;")))
        c.op(0x15, ("B", variable))
        c.op(0xb6, ("H", pool.method("java/io/PrintStream", "println", "(I)V")))
    c.op(0xb1)  # return
    handler = (c.labels["null"], c.labels["after"], c.labels["handler"], pool.cls("java/lang/NullPointerException"))
    return code_attribute(pool, c.bytes(), 4, 5, [handler])


def main_class(library, rounds, calls):
    pool = Pool()
    length = code_attribute(pool, bytes([0x2a, 0xbe, 0xac]), 1, 1)  # aload_0 arraylength ireturn
    methods = [method(pool, 0x108, "run", "(I)I"), method(pool, 0x8, "length", "([I)I", length),
               method(pool, 0x9, "main", "([Ljava/lang/String;)V", main_method(pool, library, rounds, calls))]
    this, parent = pool.cls("Main"), pool.cls("java/lang/Object")
    head = struct.pack(">IHHH", 0xcafebabe, 0, 49, len(pool.entries) + 1) + b"".join(pool.entries)
    return head + struct.pack(">HHHHHH", 0x21, this, parent, 0, 0, len(methods)) + b"".join(methods) + \
        struct.pack(">H", 0)
