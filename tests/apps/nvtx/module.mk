# SPDX-License-Identifier: MIT
# Programs with ranges of NVTX: with a client of our own, and with its headers where CUDA has brought them.
NVTX_HEADERS = $(firstword $(wildcard /usr/local/cuda/include/nvtx3/nvToolsExt.h /usr/include/nvtx3/nvToolsExt.h))
NVTX_APPS    = $(addprefix $(BUILD)/apps/nvtx/,libnvtx.so other.so ranges scoped cost \
                 $(if $(NVTX_HEADERS),ranges_headers))
TEST_DEPS   += $(NVTX_APPS)
TESTS       += tests/apps/nvtx/check
NVTX_LINK    = -L$(SOFTGPU) -lcuda -L$(BUILD)/apps/nvtx -lnvtx -Wl,-rpath,'$$ORIGIN' -lpthread

$(BUILD)/apps/nvtx/libnvtx.so $(BUILD)/apps/nvtx/other.so: $(BUILD)/apps/nvtx/%.so: tests/apps/nvtx/%.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -D_GNU_SOURCE -fPIC -shared -o $@ $< -lpthread -ldl

$(BUILD)/apps/nvtx/ranges $(BUILD)/apps/nvtx/cost: $(BUILD)/apps/nvtx/%: tests/apps/nvtx/%.c \
    $(BUILD)/apps/nvtx/libnvtx.so $(SOFTGPU)/libcuda.so
	$(call say,LD,$@)
	$(Q)$(CC) $(COMMON) -D_GNU_SOURCE -o $@ $< $(NVTX_LINK)

$(BUILD)/apps/nvtx/scoped: tests/apps/nvtx/scoped.cc $(BUILD)/apps/nvtx/libnvtx.so $(SOFTGPU)/libcuda.so
	$(call say,LD,$@)
	$(Q)$(CXX) -std=c++17 -g -O$(O) -Iinclude -I. -MMD -MP -o $@ $< $(NVTX_LINK)

$(BUILD)/apps/nvtx/ranges_headers: tests/apps/nvtx/ranges.c $(SOFTGPU)/libcuda.so
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -D_GNU_SOURCE -DHEADERS -isystem $(dir $(NVTX_HEADERS:/nvToolsExt.h=)) -o $@ $< \
	    -L$(SOFTGPU) -lcuda -lpthread -ldl
