# SPDX-License-Identifier: MIT
# Kills: a build of the library that ends the process at named places, and the harness that counts what is lost.

POINTS   = $(BUILD)/points/libnvsnoop.so
KILL     = $(BUILD)/tests/kill/kill
KILL_SRC = tests/kill/kill.c tests/kill/truth.c

$(BUILD)/tests/kill/points.o: tests/kill/points.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TRAP_CFLAGS) -c -o $@ $<

.PHONY: points
points:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/points TEST_POINTS=tests/kill/points.c $(POINTS)

$(KILL): $(KILL_SRC) $(BUILD)/libnvsnoop-decode.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -o $@ $(parts) $(DECODE_LIBS)

IMAGES    = $(BUILD)/tests/images
FAULTLIST = $(BUILD)/tests/faultlist

$(IMAGES): tests/life/images.c $(BUILD)/libnvsnoop-decode.a
$(FAULTLIST): tests/life/faultlist.c $(BUILD)/libnvsnoop-decode.a
$(IMAGES) $(FAULTLIST):
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -o $@ $(parts) $(DECODE_LIBS)

TEST_DEPS  += $(KILL) $(IMAGES) $(FAULTLIST)
TEST_AGAIN += points
SLOW_TESTS += tests/kill/few
TESTS      += tests/life/processes tests/life/stderr tests/life/loss tests/life/churn tests/life/patch tests/life/layouts \
              tests/life/storm tests/life/confined tests/life/trigger tests/life/levels \
              tests/life/onezero tests/life/running tests/life/windows tests/life/unrung tests/life/ranks tests/life/keeplast \
              tests/life/timing tests/life/live tests/life/ondemand tests/life/hangs tests/life/code tests/life/unseen tests/life/libcuda tests/life/faulted tests/life/races

# The whole count: 250 at each place and 1,000 at random moments, by trap and by patch.
.PHONY: kill-check
kill-check:
	$(Q)scripts/install-deps
	$(Q)$(MAKE) --no-print-directory $(jobs) all softgpu points $(KILL)
	$(Q)BUILD=$(BUILD) $(KILL) --each 250 --random 1000 $(KILL_ARGS)
