# SPDX-License-Identifier: MIT
TRAP_SRC = $(wildcard trap/*.c)
TRAP_ASM = $(wildcard trap/*.S)
TRAP_OBJ = $(TRAP_SRC:%.c=$(BUILD)/%.o) $(TRAP_ASM:%.S=$(BUILD)/%.o)

$(BUILD)/trap/%.o: trap/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TRAP_CFLAGS) -c -o $@ $<

$(BUILD)/trap/%.o: trap/%.S
	$(call say,AS,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TRAP_CFLAGS) -c -o $@ $<
