# SPDX-License-Identifier: MIT
# nvsnoop. `make` builds and never installs; `make demo` and `make check` set up what is missing first.
# V=1 shows commands, O=2 sets optimisation, SAN=address,undefined builds tools and tests sanitized,
# COVERAGE=1 instruments. Each room's own rules stand in its room.mk.

BUILD   ?= build
CC      ?= gcc
AR      ?= ar
O       ?= 2
PREFIX  ?= /usr/local
DESTDIR ?=
Q        = $(if $(V),,@)
say      = $(if $(V),@:,@printf '  %-8s %s\n' $(1) $(2))

WARN     = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla \
           -Wno-unused-parameter
COMMON   = -std=gnu11 -g -O$(O) -fno-strict-aliasing -Iinclude -I. $(WARN) -MMD -MP
SANFLAGS = $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
COVFLAGS = $(if $(COVERAGE),--coverage)

# The preloaded part: position independent, nothing exported unless said, static TLS, no stack protector
# (the trap runs on stacks of its own).
PRELOAD_CFLAGS = $(COMMON) -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-stack-protector \
                 -fno-omit-frame-pointer -D_GNU_SOURCE
# What runs in the trap may not touch vector registers.
TRAP_CFLAGS    = $(PRELOAD_CFLAGS) -mgeneral-regs-only
TOOL_CFLAGS    = $(COMMON) $(SANFLAGS) $(COVFLAGS) -D_GNU_SOURCE
TEST_CFLAGS    = $(TOOL_CFLAGS)

.PHONY: all
all:

include trap/room.mk preload/room.mk
-include decode/room.mk tests/softgpu/room.mk tests/room.mk scripts/room.mk

.PHONY: clean
clean:
	$(Q)rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
