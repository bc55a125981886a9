# SPDX-License-Identifier: MIT
# Benchmarks of the decoder: how fast command streams are decoded, and traces to measure whole reports on.
BENCH_DECODE = $(BUILD)/bench/ops $(BUILD)/bench/mklaunches $(BUILD)/bench/stray $(BUILD)/bench/mkraw $(BUILD)/bench/measure

$(BUILD)/bench/%: tests/bench/%.c $(BUILD)/libnvsnoop-decode.a
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -o $@ $< $(BUILD)/libnvsnoop-decode.a $(DECODE_LIBS)

# Part of nvsnoop-report, without its command line.
$(BUILD)/bench/stray: tests/bench/stray.c $(filter $(BUILD)/decode/query/% $(BUILD)/decode/analysis/%,$(REPORT_OBJ)) $(BUILD)/libnvsnoop-decode.a $(BUILD)/libcli.a $(BUILD)/libsass.a
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -o $@ $(filter-out %.h,$^) $(REPORT_LIBS)

# Which kernels of a library can count: no benchmark of time.
$(BUILD)/bench/rewritable: tests/bench/rewritable.c $(BUILD)/libsass.a
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -o $@ $< $(BUILD)/libsass.a -l:libzstd.a

# The trap alone; x86-64.
$(BUILD)/bench/doorbell: tests/bench/doorbell.c $(BUILD)/libtrap.a
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -rdynamic -o $@ $< $(BUILD)/libtrap.a -lpthread -ldl

.PHONY: bench-decode
bench-decode: $(BUILD)/nvsnoop-report $(BENCH_DECODE)
	$(Q)BUILD=$(BUILD) scripts/bench-decode

# The library with a switch in it that a benchmark turns: scripts/bench-inside.
$(BUILD)/tests/bench/switch.o: tests/bench/switch.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(PRELOAD_CFLAGS) -c -o $@ $<

$(BUILD)/bench/libnvsnoop.so: $(TRAP_OBJ) $(PRELOAD_OBJ) $(BUILD)/tests/bench/switch.o preload/exports.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && sed 's/^global:/global: nvs_bench_*;/' preload/exports.map >$(@D)/exports.map && \
	    $(CC) -shared -o $@ -Wl,-soname,libnvsnoop.so -Wl,--version-script=$(@D)/exports.map \
	    -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,--exclude-libs,ALL -Wl,--as-needed \
	    $(TRAP_OBJ) $(PRELOAD_OBJ) $(BUILD)/tests/bench/switch.o -l:libzstd.a

# Runs where the library does, on old systems too: nothing of the decoder in it.
$(BUILD)/bench/inside: tests/bench/inside.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -D_GNU_SOURCE -o $@ $< -ldl

# Built by make check too, so that it stays buildable; its switch is x86-64 code.
TEST_DEPS += $(if $(filter x86_64,$(ARCH)),$(BUILD)/bench/libnvsnoop.so)
.PHONY: bench-library
bench-library: $(BUILD)/bench/libnvsnoop.so $(BUILD)/bench/inside
