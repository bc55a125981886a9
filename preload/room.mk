# SPDX-License-Identifier: MIT
PRELOAD_SRC = $(wildcard preload/*.c)
PRELOAD_OBJ = $(PRELOAD_SRC:%.c=$(BUILD)/%.o)

all: $(BUILD)/libnvsnoop.so

$(BUILD)/preload/%.o: preload/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(PRELOAD_CFLAGS) -c -o $@ $<

# libzstd is linked in and hidden; libunwind comes by dlopen: DT_NEEDED is libc alone.
$(BUILD)/libnvsnoop.so: $(TRAP_OBJ) $(PRELOAD_OBJ) preload/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ -Wl,-soname,libnvsnoop.so -Wl,--version-script=preload/exports.map \
	    -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,--exclude-libs,ALL -Wl,--as-needed \
	    $(TRAP_OBJ) $(PRELOAD_OBJ) -l:libzstd.a
