# nvsnoop under gdb: doorbell stores fault by design, and the library handles the SIGSEGV.
# `source nvsnoop.gdb`, then LD_PRELOAD and NVSNOOP_OUT by `set exec-wrapper env`; or
# gdb -x nvsnoop.gdb -ex 'set follow-fork-mode child' --args nvsnoop ./app
set confirm off
handle SIGSEGV nostop noprint pass
# SIGTRAP is not passed on, because breakpoints would then kill the program. The library detects the debugger and
# neither single-steps nor patches.
handle SIGTRAP stop print nopass
set confirm on
