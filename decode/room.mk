# SPDX-License-Identifier: MIT
# The reader library and nvsnoop-report, which is decode/report and stands on the library.
DECODE_SRC = $(wildcard decode/base/*.c decode/trace/*.c decode/gpu/*.c decode/calls/*.c)
REPORT_SRC = $(wildcard decode/report/*.c)
DECODE_OBJ = $(DECODE_SRC:%.c=$(BUILD)/%.o)
REPORT_OBJ = $(REPORT_SRC:%.c=$(BUILD)/%.o)
DECODE_LIBS = -lzstd -lelf -lpthread
include decode/gpu/classes/classes.mk tests/bench/room.mk

all: $(BUILD)/nvsnoop-report

$(BUILD)/decode/%.o: decode/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -include decode/base/budget.h -c -o $@ $<

$(BUILD)/libnvsnoop-decode.a: $(DECODE_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/nvsnoop-report: $(REPORT_OBJ) $(BUILD)/libnvsnoop-decode.a
	$(call say,LD,$@)
	$(Q)$(CC) $(TOOL_CFLAGS) $(LDFLAGS) -o $@ $(REPORT_OBJ) $(BUILD)/libnvsnoop-decode.a $(DECODE_LIBS)

# Makers of traces for tests, and the libraries that stand in their stacks.
GOLDEN = $(BUILD)/tests/golden/mkcases $(BUILD)/tests/golden/mkcalls $(BUILD)/tests/golden/mkgolden \
         $(BUILD)/tests/golden/fake/libcuda.so.1 $(BUILD)/tests/golden/fake/libcudart.so.13
TEST_DEPS += $(GOLDEN)

$(BUILD)/tests/golden/%: tests/golden/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -o $@ $< -lzstd -ldl

# Stripped, as the real ones are.
$(BUILD)/tests/golden/fake/libcuda.so.1: tests/golden/fake/libcuda.c
$(BUILD)/tests/golden/fake/libcudart.so.13: tests/golden/fake/libcudart.c
$(BUILD)/tests/golden/fake/%:
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -O1 -fPIC -shared -s -Wl,--build-id -Wl,-soname,$(@F) -o $@ $<
