# SPDX-License-Identifier: MIT
# Data races, looked for with ThreadSanitizer: doorbells is the buffers, the capture, the publication and the merge in one
# program; tables is the lock, the arena and the rows below preload's tables; packers is what packs the writer's frames.
TSAN        = $(BUILD)/tests/tsan/doorbells $(BUILD)/tests/tsan/tables $(BUILD)/tests/tsan/packers
TSAN_HEADS  = $(wildcard trap/*.h trap/*/*.h trap/*/*/*.h preload/*/*.h preload/*/*/*.h preload/*/*/*/*.h include/nvsnoop/*.h)
TSAN_CFLAGS = $(filter-out -MMD -MP,$(COMMON)) -O1 -fsanitize=thread -fno-omit-frame-pointer \
              -ftls-model=initial-exec -D_GNU_SOURCE $(if $(findstring clang,$(CC)),,-Wno-tsan)

$(BUILD)/tests/tsan/doorbells: tests/tsan/doorbells.c $(TRAP_SRC) $(TRAP_ASM) preload/writer/merge.c preload/writer/keep_last_state.c
$(BUILD)/tests/tsan/tables: tests/tsan/tables.c preload/base/state.c preload/base/arena.c preload/rm/spans.c
$(BUILD)/tests/tsan/packers: tests/tsan/packers.c preload/writer/packer.c preload/writer/delta.c

# In one command each: compiled like this, the parts are of no use to others.
$(TSAN): $(TSAN_HEADS)
	$(call say,TSAN,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TSAN_CFLAGS) -o $@ $(filter %.c %.S,$^) -lpthread -lzstd

TEST_DEPS += $(TSAN)
TESTS     += tests/tsan/run

# nvsnoop-report as it reads many traces at once; not optimised, which would take longer than it saves.
TEST_AGAIN += tsan-report
TESTS      += tests/tsan/readers
.PHONY: tsan-report
tsan-report:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan SAN=thread O=0 $(BUILD)/tsan/nvsnoop-report
