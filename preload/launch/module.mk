# SPDX-License-Identifier: MIT
# The launcher: a tool of its own, which shares only the option parser with the library.
LAUNCH_SRC = $(wildcard preload/launch/*.c)
LAUNCH_OBJ = $(LAUNCH_SRC:%.c=$(BUILD)/%.o)
LAUNCH_BASE = $(patsubst %,$(BUILD)/preload/launch/%.o,option_table names text fault_text)
# Of decode/cli what needs the C library alone.
LAUNCH_CLI = $(patsubst decode/cli/%.c,$(BUILD)/preload/launch/%.o,$(wildcard decode/cli/options.c decode/cli/units.c decode/cli/fault_names.c))

all: $(BUILD)/nvsnoop

$(BUILD)/preload/launch/%.o: preload/launch/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -DNVS_LIBDIR='"$(libdir)/nvsnoop"' -c -o $@ $<

# Built anew with the tools' flags: the library's object is made for its own.
# Four of the library's files, as a program has them.
$(BUILD)/preload/launch/%.o: preload/base/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -c -o $@ $<

$(BUILD)/preload/launch/%.o: decode/cli/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -c -o $@ $<

$(BUILD)/nvsnoop: $(LAUNCH_OBJ) $(LAUNCH_BASE) $(LAUNCH_CLI)
	$(call say,LD,$@)
	$(Q)$(CC) $(TOOL_CFLAGS) -o $@ $^
