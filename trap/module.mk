# SPDX-License-Identifier: MIT
TRAP_SRC = $(wildcard trap/*/*.c trap/arch/$(ARCH)/*.c) $(TEST_POINTS)
TRAP_ASM = $(wildcard trap/arch/$(ARCH)/*.S)
TRAP_OBJ = $(TRAP_SRC:%.c=$(BUILD)/%.o) $(TRAP_ASM:%.S=$(BUILD)/%.o)

# Compilers call these of their own accord, and libc's use vector registers: ours do not (mem.S).
TRAP_OWN    = memcpy memmove memset memcmp bcmp
TRAP_RENAME = $(foreach f,$(TRAP_OWN),--redefine-sym $(f)=nvs_$(f))
OBJCOPY    ?= objcopy

# A frame of the trap may come to lie on the interrupted thread's stack, or beside the signal's own on an alternate
# one of 8 KiB: a larger one is a warning. callsite.c's large one is only ever on the trap's own stack.
TRAP_FRAME = 1024
$(BUILD)/trap/stack/callsite.o: TRAP_FRAME = 4096

# The object appears under its name only when it is renamed, so that a stop in between leaves none behind.
$(BUILD)/trap/%.o: trap/%.c trap/module.mk
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TRAP_CFLAGS) -Wframe-larger-than=$(TRAP_FRAME) -MF $(@:.o=.d) -MT $@ -c -o $@.tmp $< && \
	    $(OBJCOPY) $(TRAP_RENAME) $@.tmp $@ && rm -f $@.tmp

$(BUILD)/trap/%.o: trap/%.S
	$(call say,AS,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TRAP_CFLAGS) -c -o $@ $<
