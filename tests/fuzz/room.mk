# SPDX-License-Identifier: MIT
# Fuzz targets. tests/fuzz/fuzz_NAME.c is one; its line `/* FUZZ: decode report trap/insn.o */` says what it needs.
# `make fuzz SECONDS=600` searches with libFuzzer; `make check` runs the corpus under ASan and UBSan. What is needed
# is compiled here anew, sanitized, since the preloaded parts never are.
FUZZ_SRC   = $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_NAMES = $(FUZZ_SRC:tests/fuzz/fuzz_%.c=%)
FUZZ_FLAGS = $(TEST_CFLAGS) -fPIC -Wno-unused-result
SECONDS   ?= 60
FUZZ       ?= $(FUZZ_NAMES)

$(BUILD)/fuzzed/%.o: %.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(FUZZ_FLAGS) -c -o $@ $<

fuzz_words = $(shell sed -n 's,.*FUZZ: *\(.*\) \*/.*,\1,p' $(1))
fuzz_objs  = $(addprefix $(BUILD)/fuzzed/,$(filter %.o,$(1))) \
             $(if $(filter decode,$(1)),$(BUILD)/fuzzed/tests/fuzz/files.o $(BUILD)/fuzzed/tests/fuzz/reading.o) \
             $(if $(filter report,$(1)),$(filter-out %/report.o,$(REPORT_OBJ))) \
             $(if $(filter decode,$(1)),$(BUILD)/libnvsnoop-decode.a)

# $(1): NAME, $(2): words of its FUZZ line
define fuzz_rule
$(BUILD)/fuzz/replay-$(1): $(BUILD)/fuzzed/tests/fuzz/fuzz_$(1).o $(BUILD)/fuzzed/tests/fuzz/replay.o $(call fuzz_objs,$(2))
	$$(call say,LD,$$@)
	$$(Q)mkdir -p $$(@D) && $$(CC) $$(TEST_CFLAGS) -o $$@ $$^ $(DECODE_LIBS)
$(BUILD)/fuzz/search-$(1): $(BUILD)/fuzzed/tests/fuzz/fuzz_$(1).o $(call fuzz_objs,$(2))
	$$(call say,LD,$$@)
	$$(Q)mkdir -p $$(@D) && $$(CC) $$(TEST_CFLAGS) -fsanitize=fuzzer -o $$@ $$^ $(DECODE_LIBS)
endef
$(foreach f,$(FUZZ_SRC),$(eval $(call fuzz_rule,$(f:tests/fuzz/fuzz_%.c=%),$(call fuzz_words,$(f)))))

.PHONY: fuzz fuzz-replay fuzz-search
fuzz-replay: $(FUZZ_NAMES:%=$(BUILD)/fuzz/replay-%)
fuzz-search: $(FUZZ:%=$(BUILD)/fuzz/search-%)

# Finds go to build/fuzz/find; the corpus that was found grows beside them and is begun with ours.
fuzz:
	$(Q)$(MAKE) --no-print-directory $(jobs) BUILD=$(BUILD)/clang-fuzz CC=clang SAN=address,undefined,fuzzer-no-link \
	    FUZZ='$(FUZZ)' fuzz-search
	$(Q)BUILD=$(BUILD)/clang-fuzz tests/fuzz/search $(SECONDS) $(FUZZ)

TEST_DEPS  += fuzz-check
SLOW_TESTS += tests/fuzz/check
.PHONY: fuzz-check
fuzz-check:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/san SAN=address,undefined fuzz-replay

# Seeds made and taken from a real session; what a search finds is added by hand, under a name that tells.
$(BUILD)/fuzz/mkseeds: $(BUILD)/fuzzed/tests/fuzz/mkseeds.o $(BUILD)/libnvsnoop-decode.a
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -o $@ $^ $(DECODE_LIBS)
.PHONY: fuzz-seeds
fuzz-seeds: $(BUILD)/fuzz/mkseeds
	$(Q)$< tests/fuzz/corpus tests/golden/h200.trace.zst
