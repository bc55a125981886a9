# SPDX-License-Identifier: MIT
# Benchmarks of the decoder, and its fuzz targets with libFuzzer: make fuzz, then build/fuzz/pb tests/fuzz/corpus/pb.
# The corpus also runs in make check, without libFuzzer: tests/unit/test_fuzz.c.
FUZZ_TARGETS = pb class qmd reader
FUZZ_SRC     = $(DECODE_SRC) $(BUILD)/decode/gen/classes.c
BENCH_DECODE = $(BUILD)/bench/ops $(BUILD)/bench/mklaunches

.PHONY: fuzz bench-decode
fuzz: $(FUZZ_TARGETS:%=$(BUILD)/fuzz/%)

$(BUILD)/fuzz/%: tests/fuzz/%.c $(FUZZ_SRC)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && clang -std=gnu11 -g -O1 -D_GNU_SOURCE -Iinclude -I. \
	    -fsanitize=fuzzer,address,undefined -o $@ $< $(FUZZ_SRC) $(DECODE_LIBS)

$(BUILD)/bench/%: tests/bench/%.c $(BUILD)/libnvsnoop-decode.a
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -o $@ $< $(BUILD)/libnvsnoop-decode.a $(DECODE_LIBS)

bench-decode: $(BENCH_DECODE)
	$(Q)$(BUILD)/bench/ops
