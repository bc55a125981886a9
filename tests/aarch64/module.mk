# SPDX-License-Identifier: MIT
# aarch64 without such a machine. `make check-aarch64` cross-builds everything and runs the tests that are listed here
# under qemu-user; tests/aarch64/skipped says which it cannot run, and why. Emulation shows what the code does, not what
# order other processors see its stores in: the host's order applies.
EMULATED  = $(UNIT) tests/softgpu/run tests/kill/few tests/cli/run tests/golden/read \
            $(filter tests/life/%,$(TESTS)) tests/aarch64/signed tests/aarch64/pages
TESTS    += tests/aarch64/few

.PHONY: check-aarch64 check-emulated emulated-deps
check-aarch64:
	$(Q)scripts/aarch64-root >/dev/null
	$(Q)$(MAKE) --no-print-directory $(jobs) ARCH=aarch64 emulated-deps
	$(Q)$(MAKE) --no-print-directory ARCH=aarch64 check-emulated

emulated-deps: all softgpu points $(UNIT) $(filter-out $(TSAN),$(TEST_DEPS))

check-emulated:
	$(Q)ARCH=$(ARCH) BUILD=$(abspath $(BUILD)) CC='$(CC)' scripts/under-qemu tests/run --log $(BUILD)/tests/log --timeout 1800 \
	    --jobs $(TEST_JOBS) --skip tests/aarch64/skipped $(if $(TEST),--only '$(TEST)') $(EMULATED)
