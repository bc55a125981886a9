# SPDX-License-Identifier: MIT
# A libcuda.so.1 without a GPU, and libraries that were linked with it, for the test of the API layer.
API_APPS = $(addprefix $(BUILD)/apps/api/,libcuda.so.1 plugin.so plugin_lazy.so thrower.so midway.so halfway.so) \
            $(addprefix $(BUILD)/apps/,ctor.so ctor_linked ctor_opens bypass bypass_plugin.so interposer.so)
TEST_DEPS += $(API_APPS)
TESTS     += tests/apps/api/check tests/apps/api/header tests/apps/api/memory
API_LINK  = -fPIC -shared -Wl,-rpath,'$$ORIGIN' -Wl,--no-as-needed

$(BUILD)/apps/api/libcuda.so.1: tests/apps/api/fakecuda.c tests/apps/api/fakecuda.h
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -O1 -g -fPIC -shared -fvisibility=hidden -fexceptions -Wl,-Bsymbolic-functions \
	    -Wl,-soname,libcuda.so.1 -o $@ $<

$(BUILD)/apps/api/plugin.so: tests/apps/api/plugin.c $(BUILD)/apps/api/libcuda.so.1
	$(call say,LD,$@)
	$(Q)$(CC) -O1 -g $(API_LINK) -Wl,-z,now -Wl,-z,relro -o $@ $^

$(BUILD)/apps/api/plugin_lazy.so: tests/apps/api/plugin.c $(BUILD)/apps/api/libcuda.so.1
	$(call say,LD,$@)
	$(Q)$(CC) -O1 -g $(API_LINK) -Wl,-z,lazy -fplt -o $@ $^

$(BUILD)/apps/api/thrower.so: tests/apps/api/thrower.cc $(BUILD)/apps/api/libcuda.so.1
	$(call say,LD,$@)
	$(Q)$(CXX) -O1 -g $(API_LINK) -o $@ $^

$(BUILD)/apps/api/midway.so: tests/apps/api/midway.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -O1 -g -fPIC -shared -Wl,-z,relro -o $@ $<

$(BUILD)/apps/api/halfway.so: tests/apps/api/halfway.c $(BUILD)/apps/api/libcuda.so.1 $(BUILD)/apps/api/midway.so
	$(call say,LD,$@)
	$(Q)$(CC) -O1 -g $(API_LINK) -Wl,-z,now -Wl,-z,relro -o $@ $^

# Against the stand-in driver.
$(BUILD)/apps/ctor.so: tests/apps/api/ctor.c $(BUILD)/softgpu/libcuda.so
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -fPIC -shared -o $@ $< -L$(BUILD)/softgpu -lcuda

$(BUILD)/apps/ctor_linked: tests/apps/api/ctor_main.c $(BUILD)/apps/ctor.so
	$(call say,LD,$@)
	$(Q)$(CC) $(COMMON) -DLINKED -o $@ $(parts) -Wl,-rpath,'$$ORIGIN' -Wl,-rpath-link,$(BUILD)/softgpu

$(BUILD)/apps/ctor_opens: tests/apps/api/ctor_main.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -o $@ $< -ldl

# They open the stand-in driver by themselves.
$(BUILD)/apps/bypass: tests/apps/api/bypass.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -D_GNU_SOURCE -o $@ $< -ldl -lpthread

$(BUILD)/apps/bypass_plugin.so: tests/apps/api/bypass_plugin.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -D_GNU_SOURCE -fPIC -shared -Wl,-z,lazy -fplt -o $@ $< -ldl

$(BUILD)/apps/interposer.so: tests/apps/api/interposer.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(COMMON) -D_GNU_SOURCE -fPIC -shared -o $@ $< -ldl
