# SPDX-License-Identifier: MIT
# Other tools and runtimes beside the library, strangers' files, and stacks that change: a test for each by its name.
BESIDE      = signals gdb valgrind asan tsan jemalloc segfault faulthandler python java go
SLOW_TESTS += $(BESIDE:%=tests/beside/%) tests/hostile/run tests/hostile/sizes tests/hostile/tables tests/hostile/symbols tests/unwind/run tests/unwind/away

TEST_DEPS  += $(BUILD)/tests/hostile/consume
$(BUILD)/tests/hostile/consume: tests/hostile/consume.c tests/fuzz/consumer.c $(PUBLIC)/libnvsnoop-decode.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -o $@ $(filter %.c,$^) $(PUBLIC)/libnvsnoop-decode.a $(DECODE_LIBS)
