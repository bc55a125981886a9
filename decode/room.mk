# SPDX-License-Identifier: MIT
# The reader library and nvsnoop-report. Files report*.c and dump*.c are the tool, all others the library.
DECODE_SRC = $(filter-out decode/report%.c decode/dump%.c,$(wildcard decode/*.c))
REPORT_SRC = $(wildcard decode/report*.c decode/dump*.c)
DECODE_OBJ = $(DECODE_SRC:%.c=$(BUILD)/%.o)
REPORT_OBJ = $(REPORT_SRC:%.c=$(BUILD)/%.o)
DECODE_LIBS = -lzstd -lelf
include decode/classes/classes.mk

all: $(BUILD)/nvsnoop-report

$(BUILD)/decode/%.o: decode/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -c -o $@ $<

$(BUILD)/libnvsnoop-decode.a: $(DECODE_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/nvsnoop-report: $(REPORT_OBJ) $(BUILD)/libnvsnoop-decode.a
	$(call say,LD,$@)
	$(Q)$(CC) $(TOOL_CFLAGS) $(LDFLAGS) -o $@ $(REPORT_OBJ) $(BUILD)/libnvsnoop-decode.a $(DECODE_LIBS)

# Makers of traces for tests.
$(BUILD)/tests/golden/%: tests/golden/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -o $@ $< -lzstd -lelf -ldl
