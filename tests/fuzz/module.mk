# SPDX-License-Identifier: MIT
# Fuzz targets: tests/fuzz/NAME.c is one; its line `/* FUZZ: decode report trap/arch/x86_64/insn.o */` says what it needs.
# `make fuzz SECONDS=600 [FUZZ='pb qmd']` searches with libFuzzer, each target so long; `make check` runs the corpus under ASan and UBSan. What is needed
# is compiled here anew, sanitized, since the preloaded parts never are.
FZ_NAMES = pb class qmd reader trace report spool options names code assemble live sass rewrite
FZ_FLAGS = $(TEST_CFLAGS) -fPIC
SECONDS ?= 60
FUZZ    ?= $(FZ_NAMES)

$(BUILD)/fuzzed/%.o: %.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(FZ_FLAGS) -c -o $@ $<

fz_words = $(shell sed -n 's,.*FUZZ: *\(.*\) \*/.*,\1,p' tests/fuzz/$(1).c)
fz_objs  = $(addprefix $(BUILD)/fuzzed/,tests/fuzz/$(1).o $(filter %.o,$(2))) \
           $(if $(filter decode,$(2)),$(addprefix $(BUILD)/fuzzed/tests/fuzz/,files.o reading.o consumer.o)) \
           $(if $(filter report,$(2)),$(filter-out %/main.o,$(REPORT_OBJ)) $(addprefix $(BUILD)/fuzzed/tests/fuzz/,strict.o keys.o)) \
           $(if $(filter sass,$(2)),$(BUILD)/libsass.a) $(if $(filter cli report,$(2)),$(BUILD)/libcli.a) \
           $(if $(filter decode,$(2)),$(BUILD)/libnvsnoop-decode.a)

# $(1): NAME, $(2): its objects
define fuzz_rule
$(BUILD)/fuzz/replay-$(1): $(2) $(BUILD)/fuzzed/tests/fuzz/replay.o
	$$(call say,LD,$$@)
	$$(Q)mkdir -p $$(@D) && $$(CC) $$(TEST_CFLAGS) -o $$@ $(BUILD)/fuzzed/tests/fuzz/replay.o $(2) $(REPORT_LIBS)
$(BUILD)/fuzz/search-$(1): $(2)
	$$(call say,LD,$$@)
	$$(Q)mkdir -p $$(@D) && $$(CC) $$(TEST_CFLAGS) -fsanitize=fuzzer -o $$@ $(2) $(REPORT_LIBS)
endef
$(foreach f,$(FZ_NAMES),$(eval $(call fuzz_rule,$(f),$(call fz_objs,$(f),$(call fz_words,$(f))))))

.PHONY: fuzz fuzz-replay fuzz-search fuzz-seeds
fuzz-replay: $(FZ_NAMES:%=$(BUILD)/fuzz/replay-%)
fuzz-search: $(patsubst %,$(BUILD)/fuzz/search-%,$(filter $(FZ_NAMES),$(FUZZ)))

# Finds go to build/clang-fuzz/fuzz/find; the corpus that was found grows beside them and is begun with ours.
fuzz:
	$(Q)$(MAKE) --no-print-directory $(jobs) BUILD=$(BUILD)/clang-fuzz CC=clang SAN=address,undefined,fuzzer-no-link \
	    FUZZ='$(FUZZ)' fuzz-search
	$(Q)BUILD=$(BUILD) tests/fuzz/search $(SECONDS) $(FUZZ)

SAN_GOALS  += fuzz-replay
SLOW_TESTS += tests/fuzz/check

# Seeds; what a search finds is added by hand, under a name that tells.
$(BUILD)/fuzz/mkseeds: $(BUILD)/fuzzed/tests/fuzz/mkseeds.o
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -o $@ $^ -lzstd
fuzz-seeds: $(BUILD)/fuzz/mkseeds
	$(Q)$< tests/fuzz/corpus
