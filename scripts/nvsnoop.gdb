# nvsnoop under gdb: its doorbells fault by design, which is for the program to handle, not for you to see.
# `source nvsnoop.gdb`, then LD_PRELOAD and NVSNOOP_OUT by `set exec-wrapper env`; or
# gdb -x nvsnoop.gdb -ex 'set follow-fork-mode child' --args nvsnoop ./app
set confirm off
handle SIGSEGV nostop noprint pass
# SIGTRAP stays gdb's own: passed on, its breakpoints would kill the program. The library sees that it is debugged, and
# neither single-steps nor patches then.
handle SIGTRAP stop print nopass
set confirm on
