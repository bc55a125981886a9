# SPDX-License-Identifier: MIT
# nvsnoop. `make` builds and never installs; `make demo` and `make check` set up what is missing first.
# ARCH=aarch64 builds for that processor, V=1 shows commands, O=2 sets optimisation, SAN=address,undefined builds tools
# and tests sanitized, COVERAGE=1 instruments, WERROR=1 makes warnings errors. Each folder's own rules are in its module.mk.

HOST    := $(shell uname -m)
# The processor that is built for: each has folders of its own, trap/arch/$(ARCH) and so on.
ARCH    ?= $(HOST)
BUILD   ?= build$(if $(filter-out $(HOST),$(ARCH)),-$(ARCH))
# One name for one folder: the dependency files of objects contain it.
override BUILD := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))
ifeq ($(ARCH),$(HOST))
ifeq ($(origin CC),default)
CC       = gcc
endif
AR      ?= ar
else
# Another processor than this machine's: Debian's cross compiler and libraries, unpacked into a folder.
ROOT    := $(shell scripts/$(ARCH)-root)
ifeq ($(ROOT),)
$(error nothing to build for $(ARCH) with)
endif
TOOL     = $(ROOT)/usr/bin/$(ARCH)-linux-gnu-
CC       = $(TOOL)gcc-12 --sysroot=$(ROOT)
CXX      = $(TOOL)g++-12 --sysroot=$(ROOT)
AR       = $(TOOL)ar
OBJCOPY  = $(TOOL)objcopy
# Before a program that was built.
RUN      = $(ROOT)/usr/bin/qemu-$(ARCH) -L $(ROOT)
endif
O       ?= 2
DESTDIR ?=
PREFIX  ?= /usr/local
bindir  ?= $(PREFIX)/bin
libdir  ?= $(PREFIX)/lib
includedir ?= $(PREFIX)/include
datadir ?= $(PREFIX)/share
mandir  ?= $(datadir)/man
docdir  ?= $(datadir)/doc/nvsnoop
Q        = $(if $(V),,@)
say      = $(if $(V),@:,@printf '  %-8s %s\n' $(1) $(2))

VERSION := $(shell cat VERSION)

WARN     = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla \
           -Wno-unused-parameter -Wno-missing-field-initializers \
           $(if $(findstring clang,$(CC)),-Wno-gnu-variable-sized-type-not-at-end) \
           $(if $(WERROR),-Werror)
COMMON   = -std=gnu11 -g -O$(O) -fno-strict-aliasing -Iinclude -I. -Itrap/arch/$(ARCH) $(WARN) -MMD -MP \
           -include include/old-glibc.h \
           -DNVS_VERSION='"$(VERSION)"'
# The prerequisites of a rule that are linked: after a build, headers are among them.
parts    = $(filter-out %.h,$^)
SANFLAGS = $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
COVFLAGS = $(if $(COVERAGE),--coverage)

# The preloaded part: position independent, nothing exported unless marked, static TLS, no stack protector
# (the trap runs on its own stacks).
PRELOAD_CFLAGS = $(COMMON) -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-stack-protector \
                 -fno-omit-frame-pointer -D_GNU_SOURCE $(PRELOAD_$(ARCH))
# Atomic instructions instead of calls of libgcc.
PRELOAD_aarch64 = -march=armv8.1-a
# The trap must not touch vector registers.
TRAP_CFLAGS    = $(PRELOAD_CFLAGS) -mgeneral-regs-only $(if $(TEST_POINTS),-DNVS_TEST_POINTS)
TOOL_CFLAGS    = $(COMMON) $(SANFLAGS) $(COVFLAGS) -D_GNU_SOURCE
TEST_CFLAGS    = $(TOOL_CFLAGS)

# What the folders add to: programs that `make check` runs, in this order, and what it builds before.
# A test is any executable: exit 0 is passed, 77 skipped (the last line is the reason), anything else failed; a last
# line `N passed, N failed` counts its checks. TEST_AGAIN is built as well, from sources that are also compiled without it.
# SAN_GOALS and UNIT_SAN are built under ASan and UBSan, by one make, since two would build the same files at once.
FAST_TESTS =
TESTS      =
SLOW_TESTS =
TEST_DEPS  =
TEST_AGAIN =
SAN_GOALS  =

.PHONY: all
all:

include sass/module.mk trap/module.mk preload/module.mk preload/launch/module.mk probe/module.mk
include live/module.mk live/exporter/module.mk
-include decode/module.mk tests/softgpu/module.mk
include scripts/module.mk tests/fuzz/module.mk tests/beside/module.mk tests/module.mk

# Objects that contain the version are rebuilt when it changes.
$(patsubst %.c,$(BUILD)/%.o,$(shell grep -rl --include='*.c' NVS_VERSION decode live preload probe)): VERSION

.PHONY: clean
clean:
	$(Q)rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' -type f 2>/dev/null)
