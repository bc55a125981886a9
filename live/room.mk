# SPDX-License-Identifier: MIT
# What shows processes while they run: the reader of their live pages, and nvsnoop-top.
LIVE_READ_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(wildcard live/read/*.c))

$(BUILD)/live/%.o: live/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -c -o $@ $<

$(BUILD)/liblive.a: $(LIVE_READ_OBJ)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^
