# SPDX-License-Identifier: MIT
# The class tables as C, made from the text tables of this folder.
CLASS_TABLES = $(wildcard decode/classes/*.txt)
DECODE_OBJ  += $(BUILD)/decode/gen/classes.o

$(BUILD)/decode/gen/classes.c: scripts/gen-classes $(CLASS_TABLES)
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && scripts/gen-classes $@ $(CLASS_TABLES)

$(BUILD)/decode/gen/classes.o: $(BUILD)/decode/gen/classes.c
	$(call say,CC,$@)
	$(Q)$(CC) $(TOOL_CFLAGS) -c -o $@ $<
