# SPDX-License-Identifier: MIT
# The page of --html, in a browser.
TESTS     += tests/html/check tests/html/counters
TEST_DEPS += $(BUILD)/tests/html/hostile $(BUILD)/tests/html/bounded

$(BUILD)/tests/html/hostile: tests/html/hostile.c $(BUILD)/apps/nvtx/libnvtx.so $(SOFTGPU)/libcuda.so
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -D_GNU_SOURCE -o $@ $< -L$(SOFTGPU) -lcuda -L$(BUILD)/apps/nvtx -lnvtx \
	    -Wl,-rpath,'$$ORIGIN/../../apps/nvtx' -lpthread

# nvsnoop-report whose page has its bounds from the environment.
PAGE_SRC = $(wildcard decode/export/html/*.c)

$(BUILD)/tests/html/bounded: $(PAGE_SRC) tests/html/bounds.h $(BUILD)/decode/export/html/page.o $(REPORT_OBJ) $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -DNVS_HTML='"$(HTML)"' -include decode/base/budget.h -include tests/html/bounds.h $(LDFLAGS) -o $@ \
	    $(PAGE_SRC) $(filter-out $(PAGE_SRC:%.c=$(BUILD)/%.o),$(REPORT_OBJ)) $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a $(REPORT_LIBS)
