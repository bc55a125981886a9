# SPDX-License-Identifier: MIT
"""Reads nvsnoop traces: iterators of dicts over the callbacks of libnvsnoop-decode.

    import nvsnoop

    for launch in nvsnoop.open("trace.zst").launches():
        print(launch["kernel"], launch["grid"], launch["block"])

A thread reads the trace during the iteration, at most a few hundred items ahead, so memory does not grow with the
trace. It makes two passes, so that thread names, times and call sites are known from the first item on; standard input
("-") is read once, and values not known yet are None. Errors of the library raise Error with its message. Text that is
not UTF-8 contains surrogates (surrogateescape); escape() makes it printable. Keys and types are those of docs/schema.md,
except that `nodes` and `edges` are lists; keys not listed there, and all in `of`, are named as in nvsnoop/decode.h,
calls.h and ops.h. Unknown values are None.

The library is $NVSNOOP_DECODE_LIBRARY, else the one in this file's installation prefix, else the system's.
"""

import ctypes
import os
import queue
import threading
from ctypes import CFUNCTYPE, POINTER, byref, c_bool, c_char, c_char_p, c_int, c_int64, c_size_t, c_uint8, c_uint16, \
    c_uint32, c_uint64, c_void_p

ABI = 1
NONE = 0xffffffff
CHUNK = 256  # items passed through the queue at once; a large one counts as several
PAGE = 4096  # bytes that count as one item


class Error(Exception):
    """An error of the library, with its message."""


# ---- structures, as in the headers ----

class nvs_error(ctypes.Structure):
    _fields_ = [("text", c_char * 1024)]


class nvs_read_options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("partial", c_bool), ("no_spool", c_bool), ("spool", c_char_p),
                ("progress", c_void_p), ("progress_arg", c_void_p)]


class nvs_rec(ctypes.Structure):
    _fields_ = [("type", c_uint16), ("flags", c_uint16), ("size", c_uint32), ("time", c_uint64)]


class nvs_rec_submission(ctypes.Structure):
    _fields_ = [("rec", nvs_rec), ("thread", c_uint32), ("channel", c_uint32), ("sequence", c_uint64),
                ("doorbell", c_uint32), ("token", c_uint32), ("old_put", c_uint32), ("new_put", c_uint32),
                ("stack", c_uint32), ("nentries", c_uint32), ("progress_address", c_uint64),
                ("progress", c_uint64 * 2)]


class nvs_gp_entry(ctypes.Structure):
    _fields_ = [("entry", c_uint64), ("state", c_uint32), ("bytes", c_uint32)]


class nvs_trace_thread(ctypes.Structure):
    _fields_ = [("thread", c_uint32), ("tid", c_uint32), ("name", c_char * 17), ("submissions", c_uint64)]


class nvs_submission(ctypes.Structure):
    _fields_ = [("rec", POINTER(nvs_rec_submission)), ("number", c_uint64), ("nentries", c_uint32),
                ("marks", c_uint32), ("entries", POINTER(nvs_gp_entry)), ("data", c_void_p), ("ndata", c_size_t),
                ("thread", POINTER(nvs_trace_thread)), ("channel", c_void_p), ("get", c_uint32)]


class _copy(ctypes.Structure):
    _fields_ = [("mode", c_uint8), ("use", c_uint8), ("element", c_uint8), ("macro", c_uint8), ("lines", c_uint32),
                ("width", c_uint64), ("src", c_uint64), ("dst", c_uint64), ("bytes", c_uint64),
                ("src_pitch", c_uint32), ("dst_pitch", c_uint32), ("value", c_uint8 * 16), ("left", c_uint16)]


class _code(ctypes.Structure):
    _fields_ = [("mode", c_uint8), ("dst", c_uint64), ("bytes", c_uint64), ("tag", c_uint64)]


class _launch(ctypes.Structure):
    _fields_ = [("descriptor", c_uint64), ("parent", c_uint64), ("depth", c_uint32), ("action", c_uint8),
                ("qmd", c_uint32), ("launches", c_uint32)]


class _sem(ctypes.Structure):
    _fields_ = [("op", c_uint8), ("by", c_uint8), ("reduction", c_uint8), ("address", c_uint64),
                ("payload", c_uint64), ("value", c_uint64)]


class _method(ctypes.Structure):
    _fields_ = [("method", c_uint16), ("value", c_uint32)]


class _of(ctypes.Union):
    _fields_ = [("copy", _copy), ("code", _code), ("launch", _launch), ("sem", _sem), ("method", _method)]


class nvs_op(ctypes.Structure):
    _fields_ = [("kind", c_uint8), ("subch", c_uint8), ("cls", c_uint16), ("flags", c_uint32), ("at", c_uint64),
                ("of", _of)]


class nvs_grid(ctypes.Structure):
    _fields_ = [("program", c_uint64), ("grid", c_uint32 * 3), ("block", c_uint32 * 3), ("cluster", c_uint32 * 3),
                ("registers", c_uint32), ("shared_bytes", c_uint32), ("local_bytes", c_uint32)]


class nvs_tally(ctypes.Structure):
    _fields_ = [("launches", c_uint64), ("triggers", c_uint64), ("unknown_launches", c_uint64),
                ("copies", c_uint64 * 3), ("copied", c_uint64 * 3), ("memsets", c_uint64),
                ("memset_bytes", c_uint64), ("uploads", c_uint64), ("upload_bytes", c_uint64), ("codes", c_uint64),
                ("code_bytes", c_uint64), ("releases", c_uint64), ("acquires", c_uint64), ("waits", c_uint64),
                ("caches", c_uint64), ("unseen", c_uint64)]


class nvs_call(ctypes.Structure):
    _fields_ = [("api", c_void_p), ("thread", c_uint32), ("number", c_uint64), ("begin", c_uint64),
                ("end", c_uint64), ("result", c_uint32), ("depth", c_uint32), ("flags", c_uint32),
                ("submissions", c_uint64), ("entries", c_uint64), ("bytes", c_uint64), ("stack", c_uint32),
                ("selected", c_bool), ("uncounted", c_bool), ("tally", nvs_tally), ("nargs", c_uint32),
                ("absent", c_uint32), ("args", c_void_p), ("strings", c_void_p),
                ("asked_submissions", c_uint64), ("asked_entries", c_uint64), ("asked_bytes", c_uint64)]


class nvs_arg(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("kind_name", c_char_p), ("kind", c_int), ("absent", c_bool),
                ("value", c_uint64), ("string", c_void_p), ("length", c_uint32)]


class nvs_operation(ctypes.Structure):
    _fields_ = [("op", POINTER(nvs_op)), ("submission", POINTER(nvs_submission)), ("call", POINTER(nvs_call)),
                ("grid", POINTER(nvs_grid)), ("parameters", c_void_p), ("parameter_bytes", c_uint32)]


class nvs_launch(ctypes.Structure):
    _fields_ = [("call", POINTER(nvs_call)), ("function", c_uint64), ("kernel", c_char_p), ("has_shape", c_bool),
                ("has_attributes", c_bool), ("grid", c_uint32 * 3), ("block", c_uint32 * 3), ("dynamic", c_uint32),
                ("registers", c_uint32), ("shared", c_uint32), ("local", c_uint32), ("max_threads", c_uint32),
                ("parameter_bytes", c_uint32), ("parameters", c_void_p)]


class nvs_graph_node(ctypes.Structure):
    _fields_ = [("node", c_uint64), ("parent", c_uint64), ("function", c_uint64), ("bytes", c_uint64),
                ("type", c_uint32), ("flags", c_uint32), ("grid", c_uint32 * 3), ("block", c_uint32 * 3),
                ("shared", c_uint32), ("reserved", c_uint32)]


class nvs_graph_link(ctypes.Structure):
    _fields_ = [("from_node", c_uint32), ("to_node", c_uint32), ("type", c_uint32)]


class nvs_graph(ctypes.Structure):
    _fields_ = [("event", c_uint32), ("number", c_uint32), ("exec", c_uint64), ("graph", c_uint64),
                ("origin", c_uint32), ("nnodes", c_uint32), ("nodes", POINTER(nvs_graph_node)),
                ("partial", c_bool), ("call", POINTER(nvs_call)), ("launches", c_void_p), ("edges_known", c_bool),
                ("nedges", c_uint32), ("edges", POINTER(nvs_graph_link))]


class nvs_finding(ctypes.Structure):
    _fields_ = [("kind", c_int), ("text", c_char_p), ("count", c_uint64)]


class nvs_trace_image(ctypes.Structure):
    _fields_ = [("image", c_uint32), ("kind", c_uint32), ("flags", c_uint32), ("thread", c_uint32),
                ("call", c_uint64), ("handle", c_uint64), ("time", c_uint64), ("given", c_uint64), ("size", c_uint64),
                ("data", c_void_p), ("ndata", c_uint64), ("whole", c_bool)]


class nvs_callsite(ctypes.Structure):
    _fields_ = [("api", c_char_p), ("runtime_api", c_char_p), ("site", c_char_p), ("site_module", c_char_p),
                ("is_public", c_bool), ("site_frame", c_uint32)]


_SUBMISSION = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(nvs_submission), POINTER(nvs_call))
_OPERATION = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(nvs_operation))
_CALL = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(nvs_call))
_LAUNCH = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(nvs_launch))
_GRAPH = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(nvs_graph))
_RECORD = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(nvs_rec))
_FINDING = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(nvs_finding))
_IMAGE = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(nvs_trace_image))


class nvs_consumer(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("flags", c_uint32), ("submission", _SUBMISSION), ("operation", _OPERATION),
                ("call", _CALL), ("launch", _LAUNCH), ("graph", _GRAPH), ("record", _RECORD), ("finding", _FINDING),
                ("image", _IMAGE)]


READ_CALLS, READ_TALLIES, READ_PARAMETERS = 1, 2, 4
CALL_UNWOUND, CALL_ABANDONED, CALL_CAPTURED = 2, 4, 8
NODE_CONDITIONAL, NODE_DISABLED, NODE_NO_PARAMS = 1, 2, 4
KIND_SIGNED, KIND_STRING = 2, 5
COPY, MEMSET, UPLOAD, CODE, LAUNCH, TRIGGER, RELEASE, ACQUIRE = range(8)
FINDINGS = {1: "problem", 2: "remark", 3: "note"}
IMAGES = {1: "ptx", 2: "cubin", 3: "fatbin"}
EVENTS = {1: "instantiated", 2: "updated", 3: "node-set", 4: "child-set", 256: "launched"}
ORIGINS = {0: None, 1: "capture", 2: "nodes"}


def _load():
    name = f"libnvsnoop-decode.so.{ABI}"
    prefix = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3)
    beside = [path for path in (os.path.join(prefix, folder, name) for folder in ("lib", "lib64"))
              if os.path.exists(path)]
    lib = ctypes.CDLL(os.environ.get("NVSNOOP_DECODE_LIBRARY") or (beside + [name])[0])
    for function, result, *arguments in (
            ("nvs_struct_size", c_size_t, c_char_p),
            ("nvs_trace_open", c_int, POINTER(c_void_p), c_char_p, POINTER(nvs_read_options), POINTER(nvs_error)),
            ("nvs_trace_close", None, c_void_p),
            ("nvs_trace_read", c_int, c_void_p, POINTER(nvs_consumer), c_void_p, POINTER(nvs_error)),
            ("nvs_trace_callsite", POINTER(nvs_callsite), c_void_p, c_uint32),
            ("nvs_trace_callsite_line", c_char_p, c_void_p, c_uint32),
            ("nvs_trace_demangle", c_char_p, c_void_p, c_char_p),
            ("nvs_clock_since_start", c_bool, c_void_p, c_uint64, POINTER(c_int64)),
            ("nvs_call_api_name", c_char_p, POINTER(nvs_call)),
            ("nvs_submission_api", c_char_p, c_void_p, POINTER(nvs_submission), POINTER(nvs_call)),
            ("nvs_call_group", c_int, POINTER(nvs_call)),
            ("nvs_call_group_name", c_char_p, c_int),
            ("nvs_call_arg_at", nvs_arg, POINTER(nvs_call), c_uint32),
            ("nvs_call_error", c_char_p, c_uint32),
            ("nvs_graph_kernel", c_void_p, POINTER(nvs_graph), c_uint32),
            ("nvs_op_kind_name", c_char_p, c_uint32),
            ("nvs_copy_mode_name", c_char_p, c_uint32),
            ("nvs_trace_short", c_bool),
            ("nvs_escape", c_char_p, c_char_p, c_size_t, c_char_p, c_size_t)):
        entry = getattr(lib, function)
        entry.restype, entry.argtypes = result, arguments
    for kind in list(globals().values()):
        if isinstance(kind, type) and kind.__name__.startswith("nvs_"):
            size = lib.nvs_struct_size(kind.__name__.encode())
            if size != ctypes.sizeof(kind):
                raise ImportError(f"{lib._name}: struct {kind.__name__} has {size} bytes there and "
                                  f"{ctypes.sizeof(kind)} in {__file__}: they are not of one version")
    return lib


_lib = _load()


# ---- conversion to Python ----

def _text(raw):
    return None if raw is None else raw.decode("utf-8", "surrogateescape")


def escape(text):
    """Returns TEXT with control characters and invalid UTF-8 as \\xNN."""
    raw = text.encode("utf-8", "surrogateescape")
    room = 4 * len(raw) + 1
    return _lib.nvs_escape(ctypes.create_string_buffer(room), room, raw, len(raw)).decode()


def short():
    """Returns True if the memory or time limit for the traces' size was reached, so that results are incomplete."""
    return _lib.nvs_trace_short()


def _fields(item, *left_out):
    """Returns a structure's numeric members by name."""
    found = {}
    for name, kind in item._fields_:
        if name not in left_out:
            value = getattr(item, name)
            found[name] = list(value) if issubclass(kind, ctypes.Array) else value
    return found


def _ns(trace, ticks):
    ns = c_int64()
    return ns.value if ticks and _lib.nvs_clock_since_start(trace, ticks, byref(ns)) else None


def _argument(arg):
    if arg.absent:
        return None
    if arg.kind == KIND_STRING:
        return _text(ctypes.string_at(arg.string, arg.length)) if arg.string else None
    return c_int64(arg.value).value if arg.kind == KIND_SIGNED else arg.value


def _arguments(call):
    args = (_lib.nvs_call_arg_at(call, i) for i in range(call.nargs))
    return {_text(arg.name): _argument(arg) for arg in args}


def _known(number):
    return None if number == NONE else number


def _call_head(trace, call):
    return {"api": _text(_lib.nvs_call_api_name(call)) or None, "thread": _known(call.thread), "call": call.number,
            "begin_ns": _ns(trace, call.begin), "end_ns": _ns(trace, call.end), "result": call.result,
            "error": _text(_lib.nvs_call_error(call.result)),
            "ran": bool(call.end and not call.result and
                        not call.flags & (CALL_UNWOUND | CALL_ABANDONED | CALL_CAPTURED))}


def _call(trace, call):
    return {**_call_head(trace, call), "group": _text(_lib.nvs_call_group_name(_lib.nvs_call_group(call))),
            "depth": call.depth, "flags": call.flags, "stack_number": _known(call.stack),
            **{key: None if call.uncounted else value for key, value in (
                ("submissions", call.submissions), ("entries", call.entries), ("command_bytes", call.bytes))},
            "args": _arguments(call)}


def _kernel(trace, name):
    """Returns a kernel's name under the keys that the reports use."""
    return {"kernel": _text(_lib.nvs_trace_demangle(trace, name)) if name else None, "mangled": _text(name) or None}


def _submission(trace, s, call):
    rec, site = s.rec.contents, _lib.nvs_trace_callsite(trace, s.rec.contents.stack).contents
    return {"submission": s.number, **_fields(rec, "rec", "progress", "progress_address", "nentries", "stack"),
            "thread": _known(rec.thread), "stack_number": _known(rec.stack),
            "flags": rec.rec.flags, "marks": s.marks, "time_ns": _ns(trace, rec.rec.time), "entries": s.nentries,
            "tid": s.thread.contents.tid or None, "thread_name": _text(s.thread.contents.name) or None,
            "call": call.contents.number if call else None, "api": _text(_lib.nvs_submission_api(trace, s, call)),
            "runtime_api": _text(site.runtime_api) or None, "callsite": _text(site.site) or None,
            "module": _text(site.site_module) or None,
            "line": _text(_lib.nvs_trace_callsite_line(trace, rec.stack)) or None,
            "data": ctypes.string_at(s.data, s.ndata)}


def _operation(operation):
    op, s = operation.op.contents, operation.submission.contents
    found = {"op": _text(_lib.nvs_op_kind_name(op.kind)), "submission": s.number,
             "thread": _known(s.rec.contents.thread), "channel": s.rec.contents.channel,
             "call": operation.call.contents.number if operation.call else None,
             "subchannel": op.subch, "class": f"{op.cls:04x}", "flags": op.flags, "at": op.at}
    part = (op.of.copy if op.kind in (COPY, MEMSET, UPLOAD) else op.of.code if op.kind == CODE else
            op.of.launch if op.kind in (LAUNCH, TRIGGER) else op.of.sem if op.kind in (RELEASE, ACQUIRE) else
            op.of.method)
    found["of"] = _fields(part, "qmd")
    if "mode" in found["of"]:
        found["of"]["mode"] = _text(_lib.nvs_copy_mode_name(part.mode))
    if operation.grid:
        found.update(_fields(operation.grid.contents, "program"), program_address=operation.grid.contents.program)
    if op.kind == LAUNCH:
        found["parameter_data"] = _parameters(operation)
    return found


def _parameters(item):
    return ctypes.string_at(item.parameters, item.parameter_bytes) if item.parameters else None


def _launch_dict(trace, launch):
    return {**_kernel(trace, launch.kernel), "grid": list(launch.grid) if launch.has_shape else None,
            "block": list(launch.block) if launch.has_shape else None, "function_handle": launch.function,
            "dynamic_shared_bytes": launch.dynamic, "parameter_data": _parameters(launch),
            **{key: getattr(launch, name) if launch.has_attributes else None for key, name in (
                ("registers", "registers"), ("static_shared_bytes", "shared"), ("local_bytes", "local"),
                ("max_threads", "max_threads"))},
            **_call_head(trace, launch.call.contents)}


def _image(trace, image):
    return {"image": _known(image.image), "kind": IMAGES.get(image.kind), "flags": image.flags,
            "thread": _known(image.thread), "call": image.call, "handle": image.handle, "time_ns": _ns(trace, image.time),
            "given_bytes": image.given or None, "image_bytes": image.size, "whole": image.whole,
            "data": ctypes.string_at(image.data, image.ndata) if image.data else None}


def _edges(graph):
    """Returns (from, to, type) with indices of nodes, or None if unknown."""
    return [(e.from_node, e.to_node, e.type) for e in (graph.edges[i] for i in range(graph.nedges))] if graph.edges_known else None


def _nodes(trace, graph, known):
    """Many nodes share a kernel, whose name may be long: KNOWN caches the names."""
    nodes, names = [], {None: _kernel(trace, None)}
    for i in range(graph.nnodes):
        node = graph.nodes[i]
        name = _lib.nvs_graph_kernel(graph, i) if not node.type else None
        if name not in names:
            raw = ctypes.string_at(name)
            if raw not in known:
                known[raw] = _kernel(trace, raw)
            names[name] = known[raw]
        told = not node.type and not node.flags & NODE_NO_PARAMS
        nodes.append({**_fields(node, "flags", "reserved", "grid", "block", "function"),
                      "function_handle": node.function,
                      **names[name],
                      "grid": list(node.grid) if told else None, "block": list(node.block) if told else None,
                      "disabled": bool(node.flags & NODE_DISABLED),
                      "conditional": bool(node.flags & NODE_CONDITIONAL)})
    return nodes


# ---- reading ----

def _length(values):
    """Returns the total length of text and bytes in VALUES."""
    n = 0
    for value in values:
        if isinstance(value, (str, bytes)):
            n += len(value)
        elif isinstance(value, dict):
            n += _length(value.values())
    return n


class _Reading:
    """One pass over a trace in a separate thread, which sends items through a short queue."""

    def __init__(self, trace):
        self.trace = trace
        self.queue = queue.Queue(2)
        self.chunk, self.weight = [], 0
        self.stopped = threading.Event()
        self.failure = None

    def add(self, item, weight=1):
        self.chunk.append(item)
        self.weight += weight + _length(item.values()) // PAGE
        if self.weight >= CHUNK:
            self.put(self.chunk)
            self.chunk, self.weight = [], 0

    def put(self, chunk):
        while not self.stopped.is_set():
            try:
                return self.queue.put(chunk, timeout=0.1)
            except queue.Full:
                pass

    def guard(self, kind, take):
        """Wraps TAKE as a callback of KIND: an exception in it ends the pass and is raised in the iterating thread."""
        def callback(_, trace, *items):
            try:
                take(self, trace, *items)
            except BaseException as failure:
                self.failure = failure
                return 1
            return int(self.stopped.is_set())
        return kind(callback)

    def read(self, flags, callbacks):
        options = nvs_read_options(ctypes.sizeof(nvs_read_options), self.trace.partial, self.trace.no_spool,
                                   os.fsencode(self.trace.spool) if self.trace.spool else None)
        error, handle = nvs_error(), c_void_p()
        consumer = nvs_consumer(ctypes.sizeof(nvs_consumer), flags)
        for name, kind, take in callbacks:
            setattr(consumer, name, self.guard(kind, take))
        path = os.fsencode(self.trace.path)
        try:
            failed = _lib.nvs_trace_open(byref(handle), path, byref(options), byref(error))
            if not failed and path != b"-":
                failed = _lib.nvs_trace_read(handle, None, None, byref(error))
            if not failed and not self.stopped.is_set():
                failed = _lib.nvs_trace_read(handle, byref(consumer), None, byref(error))
            if failed < 0:
                # The library's messages name the command-line option.
                raise Error((_text(error.text) or os.strerror(-failed)).replace("--partial", "partial=True"))
        finally:
            _lib.nvs_trace_close(handle)

    def work(self, flags, callbacks):
        try:
            self.read(flags, callbacks)
        except BaseException as failure:
            self.failure = self.failure or failure
        self.put(self.chunk)
        self.put(None)

    def __call__(self, flags, *callbacks):
        threading.Thread(target=self.work, args=(flags, callbacks), daemon=True).start()
        try:
            for chunk in iter(self.queue.get, None):
                yield from chunk
        finally:
            self.stopped.set()
        if self.failure:
            raise self.failure


class Trace:
    """A trace file. Each iterator makes its own pass; several may run at the same time."""

    def __init__(self, path, partial=False, no_spool=False, spool=None):
        self.path, self.partial, self.no_spool, self.spool = path, partial, no_spool, spool

    def submissions(self):
        """Submissions, each with the concatenated bytes of its segments in `data`."""
        return _Reading(self)(READ_CALLS, ("submission", _SUBMISSION, lambda r, trace, s, call: r.add(
            _submission(trace, s.contents, call))))

    def operations(self):
        """Operations of submissions; `of` has the members of the operation's kind. A launch also has its grid, and its
        parameters as bytes in `parameter_data`; None: unknown."""
        return _Reading(self)(READ_CALLS | READ_PARAMETERS, (
            "operation", _OPERATION, lambda r, _, operation: r.add(_operation(operation.contents))))

    def calls(self):
        """CUDA API calls, when they have returned, with their arguments in `args`; None: not recorded."""
        return _Reading(self)(0, ("call", _CALL, lambda r, trace, call: r.add(_call(trace, call.contents))))

    def launches(self, parameters=False):
        """Calls that launch a kernel; `ran` is True if they did. For launches of graphs see graphs(). With
        parameters=True also the bytes of their parameters, for which all submissions are decoded."""
        return _Reading(self)(READ_PARAMETERS if parameters else 0, ("launch", _LAUNCH,
                                  lambda r, trace, launch: r.add(_launch_dict(trace, launch.contents))))

    def graphs(self):
        """Executable graphs, when they are created, changed and launched. Events between which a graph does not change
        share its list of nodes."""
        known, names = {}, {}

        def take(reading, trace, graph):
            graph = graph.contents
            weight = 1
            if graph.event != 256 or graph.number not in known:
                known[graph.number] = _nodes(trace, graph, names), _edges(graph)
                weight += graph.nnodes + graph.nedges
            reading.add({"event": EVENTS.get(graph.event), "graph": graph.number, "graph_handle": graph.graph,
                         **_fields(graph, "event", "number", "graph", "nodes", "origin", "call", "launches", "edges", "edges_known", "nedges"),
                         "origin": ORIGINS.get(graph.origin), "nodes": known[graph.number][0], "edges": known[graph.number][1],
                         **(_call_head(trace, graph.call.contents) if graph.call else {})}, weight)
        return _Reading(self)(0, ("graph", _GRAPH, take))

    def records(self):
        """Every other record: its header, and the whole record in `data`."""
        return _Reading(self)(0, ("record", _RECORD, lambda r, trace, rec: r.add(
            {**_fields(rec.contents), "data": ctypes.string_at(rec, rec.contents.size)})))

    def images(self):
        """Loads of code, recorded with code=on; `data` has the code in the load that it was recorded with."""
        return _Reading(self)(0, ("image", _IMAGE, lambda r, trace, image: r.add(_image(trace, image.contents))))

    def findings(self):
        """The findings of --verify."""
        return _Reading(self)(0, ("finding", _FINDING, lambda r, _, finding: r.add(
            {"kind": FINDINGS[finding.contents.kind], "text": _text(finding.contents.text),
             "count": finding.contents.count})))


def open(path, partial=False, no_spool=False, spool=None):
    """Opens the trace at PATH; the other arguments are as the options of nvsnoop-report."""
    return Trace(path, partial, no_spool, spool)
