# SPDX-License-Identifier: MIT
# Tests: how they are built, and `make check`.
#
# Each tests/unit/NAME.c is a program. A line `/* LINK: decode -lelf */` in it lists what it is linked with: the name of a
# folder stands for its archive, names that end in .o are in the build folder, anything else is passed to the linker.
# Programs that link decode or sass and neither trap nor preload are also built and run under ASan and UBSan.

# Those in the folder of a processor are about its code.
UNIT_SRC   = $(wildcard tests/unit/*.c tests/unit/$(ARCH)/*.c)
UNIT       = $(UNIT_SRC:%.c=$(BUILD)/%)
UNIT_SAN   = $(patsubst %.c,$(BUILD)/san/%,$(shell grep -ls 'LINK:.*\(decode\|sass\|bench\)' $(UNIT_SRC) /dev/null | \
               xargs -r grep -Ls 'LINK:.*\(trap\|preload\)'))

$(BUILD)/libtrap.a: $(TRAP_OBJ)
$(BUILD)/libpreload.a: $(PRELOAD_OBJ)
$(BUILD)/libtrap.a $(BUILD)/libpreload.a:
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/unit/%.o: tests/unit/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -Itests/unit/$(ARCH) -Itests/apps/arch/$(ARCH) -c -o $@ $<

# Archives in the order in which they need each other; libraries last.
link_words = $(shell sed -n 's,.*LINK: *\(.*\) \*/.*,\1,p' $(1))
link_archives = $(if $(filter preload,$(1)),$(BUILD)/libpreload.a $(BUILD)/libtrap.a) \
             $(if $(filter trap,$(1)),$(BUILD)/libtrap.a) $(if $(filter live,$(1)),$(BUILD)/liblive.a) \
             $(if $(filter bench,$(1)),$(BUILD)/libbench.a) $(if $(filter cli,$(1)),$(BUILD)/libcli.a) $(if $(filter decode,$(1)),$(BUILD)/libnvsnoop-decode.a) $(if $(filter interp,$(1)),$(BUILD)/libinterp.a) \
             $(if $(filter bench sass,$(1)),$(BUILD)/libsass.a)
link_objs  = $(patsubst %,$(BUILD)/%,$(filter %.o,$(1)))
# Hooks must be linked in although nothing refers to them: libraries that a test loads bind to them.
comma = ,
link_hooks = $(if $(filter preload,$(1)),$(addprefix -Wl$(comma)-u$(comma),pipe2 pthread_create sigaction))
link_rest  = $(filter-out trap preload live bench cli decode sass interp %.o,$(1)) $(call link_hooks,$(1)) \
             $(if $(filter preload trap,$(1)),-l:libzstd.a) $(if $(filter decode,$(1)),$(DECODE_LIBS)) $(if $(filter bench sass,$(1)),-lzstd) $(if $(filter bench interp,$(1)),-lm) -lpthread -ldl

# $(1): build/tests/unit/NAME, $(2): words of its LINK line
define unit_rule
$(1): $(1).o $(call link_objs,$(2)) $(call link_archives,$(2))
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(TEST_CFLAGS) -rdynamic -o $$@ $$^ $(call link_rest,$(2))
endef
$(foreach t,$(UNIT_SRC),$(eval $(call unit_rule,$(t:%.c=$(BUILD)/%),$(call link_words,$(t)))))

.PHONY: unit
unit: $(UNIT)

# ---- victims that look libcuda up themselves, and run without it ----

$(BUILD)/apps/bench $(BUILD)/apps/throw $(BUILD)/apps/reload: $(BUILD)/apps/%: tests/apps/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -D_GNU_SOURCE -o $@ $< -ldl -lpthread

include tests/sass/module.mk tests/kill/module.mk tests/tsan/module.mk tests/apps/api/module.mk tests/apps/nvtx/module.mk tests/html/module.mk

# It judges what remains of frames on its own stack, which without optimisation are others.
$(BUILD)/tests/unit/test_abandoned.o: override O = 2

# ---- make check ----

TEST_DEPS  += softgpu
TEST_DEPS  += $(BUILD)/bench/mklaunches $(BUILD)/bench/stray
TESTS      += tests/cli/run tests/cli/complete tests/export/check tests/export/sql
TEST_DEPS  += $(BUILD)/tests/export/vocabulary
$(BUILD)/tests/export/vocabulary: tests/export/vocabulary.c $(PUBLIC)/libnvsnoop-decode.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -o $@ $< $(PUBLIC)/libnvsnoop-decode.a $(DECODE_LIBS)

TESTS      += tests/golden/read tests/reproduce/parameters tests/reproduce/programs
TESTS      += tests/models/run
SLOW_TESTS += scripts/check-clang

JOBS ?= $(shell n=$$(nproc); [ $$n -gt 4 ] && n=4; echo $$n)
jobs  = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(JOBS))

# Tests again on other driver releases of the software GPU: a few of them always, with RELEASES=all all of them on each.
# tests/life/unseen always has the demo on each release. RELEASES=610.57.04: all of them on that one.
AT_RELEASES := $(shell cat tests/softgpu/releases)
AT_TESTS     = $(filter-out tests/life/unseen tests/life/libcuda,$(filter tests/life/%,$(TESTS))) tests/kill/few tests/softgpu/run
AT_FEW       = $(addprefix tests/life/,churn code levels onezero patch running)
AGAIN        = $(foreach r,$(if $(filter-out all,$(RELEASES)),$(RELEASES),$(AT_RELEASES)), \
                 $(addprefix $(r):,$(if $(RELEASES),$(AT_TESTS),$(if $(filter 580.%,$(r)),,$(AT_FEW)))))

CHECK_ALL = $(FAST_TESTS) $(UNIT) $(TESTS) $(UNIT_SAN) $(SLOW_TESTS) $(AGAIN)

.PHONY: check check-build check-run test-deps second-compiler second-preloaded
test-deps: $(UNIT) $(TEST_DEPS) $(TEST_AGAIN)

# What scripts/check-clang builds. TEST_AGAIN, the fuzz targets and what runs under ThreadSanitizer are the same sources
# built in another way: only their own files and the trap's test points are new to a compiler.
# The preloaded part is built first and separately, because only it is optimised then.
second-preloaded: $(BUILD)/libnvsnoop.so $(BUILD)/libtrap.a $(BUILD)/libpreload.a
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/points TEST_POINTS=tests/kill/points.c $(BUILD)/points/libtrap.a

OWN_FILES = $(patsubst %.c,$(BUILD)/fuzzed/%.o,$(wildcard tests/fuzz/*.c tests/tsan/*.c))
second-compiler: all $(UNIT) $(filter-out $(TSAN),$(TEST_DEPS)) $(OWN_FILES)

check:
	$(Q)scripts/install-deps
	$(Q)$(MAKE) --no-print-directory $(jobs) check-build
	$(Q)$(MAKE) --no-print-directory check-run

check-build: all test-deps
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/san SAN=address,undefined $(UNIT_SAN) $(SAN_GOALS)

# TEST=word runs only the tests with that word in their name. TEST_JOBS is the number of tests at a time, by default two
# on two cores; no test depends on when it runs.
TEST_JOBS ?= $(shell n=$$(nproc); [ $$n -gt 2 ] && n=2; echo $$n)
check-run:
	$(Q)BUILD=$(abspath $(BUILD)) CC='$(CC)' tests/run --log $(BUILD)/tests/log \
	    --jobs $(TEST_JOBS) --timeout 600 $(if $(TEST),--only '$(TEST)') $(CHECK_ALL)

# It needs all lists.
include tests/aarch64/module.mk
