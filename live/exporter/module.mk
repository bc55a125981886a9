# SPDX-License-Identifier: MIT
# nvsnoop-exporter. libmicrohttpd is looked up by the program when it runs; without its header only --textfile is there.
EXPORTER_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(wildcard live/exporter/*.c))

all: $(BUILD)/nvsnoop-exporter

$(BUILD)/nvsnoop-exporter: $(EXPORTER_OBJ) $(BUILD)/liblive.a $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a
	$(call say,LD,$@)
	$(Q)$(CC) $(TOOL_CFLAGS) $(LDFLAGS) -o $@ $^ $(DECODE_LIBS) -ldl

# Processes with live pages made by hand.
$(BUILD)/tests/live/comers: tests/live/comers.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -o $@ $(parts)

TESTS      += tests/live/exporter tests/live/cluster tests/live/gputime tests/live/manifests
SLOW_TESTS += tests/live/http tests/live/pprof tests/live/soak
TEST_DEPS  += $(BUILD)/nvsnoop-exporter $(BUILD)/tests/live/comers
SAN_GOALS  += $(BUILD)/san/nvsnoop-exporter
