# SPDX-License-Identifier: MIT
PRELOAD_SRC = $(filter-out preload/launch/%,$(wildcard preload/*/*.c preload/*/*/*.c preload/*/arch/$(ARCH)/*.c))
PRELOAD_ASM = $(wildcard preload/*/arch/$(ARCH)/*.S)
PRELOAD_OBJ = $(PRELOAD_SRC:%.c=$(BUILD)/%.o) $(PRELOAD_ASM:%.S=$(BUILD)/%.o) $(BUILD)/preload/api/table.o \
              $(BUILD)/preload/rm/abi_table.o \
              $(SASS_PRELOAD_OBJ) $(BUILD)/preload/cli/units.o $(BUILD)/preload/cli/fault_names.o

# Parses the values of options, as in all programs.
$(BUILD)/preload/cli/%.o: decode/cli/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(PRELOAD_CFLAGS) -c -o $@ $<

all: $(BUILD)/libnvsnoop.so

$(BUILD)/preload/%.o: preload/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(PRELOAD_CFLAGS) -c -o $@ $<

$(BUILD)/preload/%.o: preload/%.S
	$(call say,AS,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(PRELOAD_CFLAGS) -c -o $@ $<

# Runs between the program and an entry point, whose arguments may stand in vector registers.
$(BUILD)/preload/api/intercept/call.o: preload/api/intercept/call.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TRAP_CFLAGS) -c -o $@ $<

$(BUILD)/preload/api/table.c: api/cuda.api api/gen-table
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && api/gen-table preload $< $(ARCH) >$@.new && mv $@.new $@

$(BUILD)/preload/rm/abi_table.c: preload/rm/driver.abi preload/rm/gen-abi
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && preload/rm/gen-abi $< >$@.new && mv $@.new $@

$(BUILD)/preload/api/table.o $(BUILD)/preload/rm/abi_table.o: %.o: %.c
	$(call say,CC,$@)
	$(Q)$(CC) $(PRELOAD_CFLAGS) -c -o $@ $<

# ---- libunwind, which the library opens from beside itself ----
#
# Nothing of ours may be found under a soname that a library of the program's may have. Debian's libunwind.a is not
# position-independent, so libunwind.so.8 is copied under a soname of its own. It needs liblzma, for symbol tables that
# we never read: a stub takes its place. Two calls: in one, patchelf 0.14 writes the second name over the soname.
# Other processors have NVS_USES_LIBUNWIND false.
HOST_UNWIND := $(filter /%,$(shell $(CC) -print-file-name=libunwind.so.8))
UNWIND_FILES = libnvsnoop-unwind.so libnvsnoop-lzma.so
UNWINDER    := $(if $(and $(filter x86_64,$(ARCH)),$(HOST_UNWIND),$(shell command -v patchelf)),$(UNWIND_FILES:%=$(BUILD)/%))

all: $(UNWINDER)
ifeq ($(ARCH)$(UNWINDER),x86_64)
all: no-unwinder
.PHONY: no-unwinder
no-unwinder:
	@echo 'no patchelf or no libunwind.so.8: call sites will be taken by glibc, which is slower (scripts/install-deps)' >&2
endif

$(BUILD)/libnvsnoop-unwind.so: $(HOST_UNWIND) preload/module.mk
	$(call say,COPY,$@)
	$(Q)mkdir -p $(@D) && install -m 644 $< $@.new && patchelf --set-soname $(@F) $@.new && \
	    patchelf --replace-needed liblzma.so.5 libnvsnoop-lzma.so $@.new && mv $@.new $@

$(BUILD)/libnvsnoop-lzma.so: preload/lzma_stub.c preload/lzma_stub.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -fPIC -shared -nostdlib -o $@ -Wl,-soname,$(@F) -Wl,-z,now \
	    -Wl,--version-script=preload/lzma_stub.map $<

# libzstd is linked in and hidden; libunwind comes by dlopen: DT_NEEDED is libc alone.
$(BUILD)/libnvsnoop.so: $(TRAP_OBJ) $(PRELOAD_OBJ) preload/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ -Wl,-soname,libnvsnoop.so -Wl,--version-script=preload/exports.map \
	    -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,--exclude-libs,ALL -Wl,--as-needed \
	    $(TRAP_OBJ) $(PRELOAD_OBJ) -l:libzstd.a
