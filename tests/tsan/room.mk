# SPDX-License-Identifier: MIT
# Data races: the rings, the capture, the publication and the merge in one program under ThreadSanitizer. The trap's own
# mem.S is not needed: no vector register is anybody's here.
TSAN        = $(BUILD)/tests/tsan/doorbells
TSAN_SRC    = tests/tsan/doorbells.c $(wildcard trap/*.c) preload/merge.c
TSAN_CFLAGS = $(COMMON) -O1 -fsanitize=thread -fno-omit-frame-pointer -ftls-model=initial-exec -D_GNU_SOURCE \
              $(if $(findstring clang,$(CC)),,-Wno-tsan)

# One command: its parts are nobody else's, and -MMD would name each file after the program.
$(TSAN): $(TSAN_SRC) $(TRAP_ASM) $(wildcard trap/*.h preload/*.h include/nvsnoop/*.h)
	$(call say,TSAN,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(filter-out -MMD -MP,$(TSAN_CFLAGS)) -o $@ $(TSAN_SRC) $(TRAP_ASM) -lpthread

TEST_DEPS += $(TSAN)
TESTS     += tests/tsan/run
