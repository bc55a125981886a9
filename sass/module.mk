# SPDX-License-Identifier: MIT
# Kernel code: for tools and tests, and once more for the library that runs within programs.
SASS_SRC         = $(wildcard sass/*.c sass/rewrite/*.c)
SASS_OBJ         = $(SASS_SRC:%.c=$(BUILD)/%.o)
SASS_PRELOAD_OBJ = $(patsubst sass/%.c,$(BUILD)/preload/sass/%.o,$(filter-out sass/heap.c,$(SASS_SRC)))

$(BUILD)/sass/%.o: sass/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

$(BUILD)/preload/sass/%.o: sass/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(PRELOAD_CFLAGS) -c -o $@ $<

$(BUILD)/libsass.a: $(SASS_OBJ)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^
