# SPDX-License-Identifier: MIT
# The software GPU, the stand-in driver, and the victims that run on them. `make softgpu` builds all of it.
SOFTGPU     = $(BUILD)/softgpu
SG_BOTH     = $(addprefix tests/softgpu/,log.c options.c release.c)
SG_GPU_SRC  = $(wildcard tests/softgpu/gpu/*.c) $(SG_BOTH)
SG_CUDA_SRC = $(wildcard tests/softgpu/driver/*.c tests/softgpu/driver/arch/$(ARCH)/*.S) $(SG_BOTH)
SG_APPS     = $(patsubst tests/apps/%.c,$(BUILD)/apps/%,$(wildcard tests/apps/*.c)) \
              $(patsubst tests/apps/%.cc,$(BUILD)/apps/%,$(wildcard tests/apps/*.cc))
SG_PLUGINS  = $(patsubst tests/apps/plugins/%.c,$(BUILD)/apps/%.so,$(wildcard tests/apps/plugins/*.c)) \
              $(patsubst tests/apps/plugins/%.cc,$(BUILD)/apps/%.so,$(wildcard tests/apps/plugins/*.cc))
SG_CFLAGS   = $(COMMON) -fPIC -fvisibility=hidden -D_GNU_SOURCE
# Call chains as the real driver has them: every level a frame of its own, with unwind tables.
SG_CUDA_CFLAGS = $(SG_CFLAGS) -fno-optimize-sibling-calls -fasynchronous-unwind-tables -fomit-frame-pointer
CXX        ?= g++

SG_GPU_OBJ  = $(SG_GPU_SRC:%.c=$(SOFTGPU)/gpu/%.o)
SG_CUDA_OBJ = $(addprefix $(SOFTGPU)/cuda/,$(addsuffix .o,$(basename $(SG_CUDA_SRC))))

TESTS += tests/softgpu/run tests/softgpu/counted

.PHONY: softgpu
softgpu: $(SOFTGPU)/libsoftgpu.so $(SOFTGPU)/libcuda.so $(if $(wildcard tests/softgpu/logcheck.c),$(SOFTGPU)/logcheck) \
         $(SG_APPS) $(SG_PLUGINS) $(BUILD)/apps/lzma/user.so

$(SOFTGPU)/gpu/%.o: %.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(SG_CFLAGS) -c -o $@ $<

$(SOFTGPU)/cuda/%.o: %.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(SG_CUDA_CFLAGS) -c -o $@ $<

$(SOFTGPU)/cuda/%.o: %.S
	$(call say,AS,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(SG_CUDA_CFLAGS) -c -o $@ $<

$(SOFTGPU)/libsoftgpu.so: $(SG_GPU_OBJ) $(BUILD)/libinterp.a
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ -Wl,-soname,libsoftgpu.so -Wl,-z,now -Wl,-z,defs -Wl,--as-needed $^ \
	    -Wl,--exclude-libs,ALL -lm -lpthread -ldl

$(SOFTGPU)/libcuda.so.1: $(SG_CUDA_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic-functions -Wl,--as-needed $^ \
	    -lpthread -ldl

$(SOFTGPU)/libcuda.so: $(SOFTGPU)/libcuda.so.1
	$(Q)ln -sf libcuda.so.1 $@

# Holds a trace against the truth; reads it with the decoder's library.
$(SOFTGPU)/logcheck: tests/softgpu/logcheck.c $(BUILD)/libnvsnoop-decode.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -o $@ $(parts) $(DECODE_LIBS)

$(BUILD)/apps/%: tests/apps/%.c $(SOFTGPU)/libcuda.so
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -Itests/apps/arch/$(ARCH) -D_GNU_SOURCE -o $@ $< -L$(SOFTGPU) -lcuda -lpthread -ldl

$(BUILD)/apps/%: tests/apps/%.cc $(SOFTGPU)/libcuda.so
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CXX) -std=c++17 -g -O$(O) -Iinclude -I. -MMD -MP -o $@ $< -L$(SOFTGPU) -lcuda \
	    -lpthread -ldl

$(BUILD)/apps/%.so: tests/apps/plugins/%.c $(SOFTGPU)/libcuda.so
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -Itests/apps/arch/$(ARCH) -D_GNU_SOURCE -fPIC -shared -o $@ $< -L$(SOFTGPU) -lcuda

$(BUILD)/apps/%.so: tests/apps/plugins/%.cc $(SOFTGPU)/libcuda.so
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CXX) -std=c++17 -g -O$(O) -fPIC -shared -MMD -MP -o $@ $<

# A module with a liblzma of its own beside it.
$(BUILD)/apps/lzma/liblzma.so.5: tests/apps/lzma/lzma.c tests/apps/lzma/lzma.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -fPIC -shared -o $@ -Wl,-soname,$(@F) \
	    -Wl,--version-script=tests/apps/lzma/lzma.map $<

$(BUILD)/apps/lzma/user.so: tests/apps/lzma/user.c $(BUILD)/apps/lzma/liblzma.so.5
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -fPIC -shared -o $@ $^ -Wl,-rpath,'$$ORIGIN'
