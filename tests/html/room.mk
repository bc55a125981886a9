# SPDX-License-Identifier: MIT
# The page of --html, in a browser.
TESTS     += tests/html/check
TEST_DEPS += $(BUILD)/tests/html/hostile

$(BUILD)/tests/html/hostile: tests/html/hostile.c $(BUILD)/apps/nvtx/libnvtx.so $(SOFTGPU)/libcuda.so
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -D_GNU_SOURCE -o $@ $< -L$(SOFTGPU) -lcuda -L$(BUILD)/apps/nvtx -lnvtx \
	    -Wl,-rpath,'$$ORIGIN/../../apps/nvtx' -lpthread
