# SPDX-License-Identifier: MIT
# The class tables as C, made from the text tables of this folder.
CLASS_TABLES = $(wildcard decode/gpu/classes/*.txt)
DECODE_OBJ  += $(BUILD)/decode/gpu/gen/classes.o

$(BUILD)/decode/gpu/gen/classes.c: scripts/gen-classes $(CLASS_TABLES)
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && scripts/gen-classes $@ $(CLASS_TABLES)

$(BUILD)/decode/gpu/gen/classes.o: $(BUILD)/decode/gpu/gen/classes.c decode/module.mk
	$(call say,CC,$@)
	$(Q)$(CC) $(DECODE_CFLAGS) -c -o $@ $<
