# SPDX-License-Identifier: MIT
PRELOAD_SRC = $(filter-out preload/launch/%,$(wildcard preload/*/*.c))
PRELOAD_ASM = $(wildcard preload/*/*.S)
PRELOAD_OBJ = $(PRELOAD_SRC:%.c=$(BUILD)/%.o) $(PRELOAD_ASM:%.S=$(BUILD)/%.o) $(BUILD)/preload/api/table.o \
              $(SASS_PRELOAD_OBJ)

all: $(BUILD)/libnvsnoop.so

$(BUILD)/preload/%.o: preload/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(PRELOAD_CFLAGS) -c -o $@ $<

$(BUILD)/preload/%.o: preload/%.S
	$(call say,AS,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(PRELOAD_CFLAGS) -c -o $@ $<

# Runs between the program and an entry point, whose arguments may stand in vector registers.
$(BUILD)/preload/api/call.o: preload/api/call.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TRAP_CFLAGS) -c -o $@ $<

$(BUILD)/preload/api/table.c: api/cuda.api api/gen-table
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && api/gen-table preload $< >$@.new && mv $@.new $@

$(BUILD)/preload/api/table.o: $(BUILD)/preload/api/table.c
	$(call say,CC,$@)
	$(Q)$(CC) $(PRELOAD_CFLAGS) -c -o $@ $<

# libzstd is linked in and hidden; libunwind comes by dlopen: DT_NEEDED is libc alone.
$(BUILD)/libnvsnoop.so: $(TRAP_OBJ) $(PRELOAD_OBJ) preload/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ -Wl,-soname,libnvsnoop.so -Wl,--version-script=preload/exports.map \
	    -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,--exclude-libs,ALL -Wl,--as-needed \
	    $(TRAP_OBJ) $(PRELOAD_OBJ) -l:libzstd.a
