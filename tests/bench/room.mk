# SPDX-License-Identifier: MIT
# Benchmarks of the decoder: how fast command streams are decoded, and traces to measure whole reports on.
BENCH_DECODE = $(BUILD)/bench/ops $(BUILD)/bench/mklaunches $(BUILD)/bench/measure

$(BUILD)/bench/%: tests/bench/%.c $(BUILD)/libnvsnoop-decode.a
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -o $@ $< $(BUILD)/libnvsnoop-decode.a $(DECODE_LIBS)

.PHONY: bench-decode
bench-decode: $(BUILD)/nvsnoop-report $(BENCH_DECODE)
	$(Q)BUILD=$(BUILD) scripts/bench-decode
