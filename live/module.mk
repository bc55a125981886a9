# SPDX-License-Identifier: MIT
# What shows processes while they run: the reader of their live pages, and nvsnoop-top.
LIVE_READ_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(wildcard live/read/*.c))

$(BUILD)/live/%.o: live/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -c -o $@ $<

$(BUILD)/liblive.a: $(LIVE_READ_OBJ)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^

# Of the library what checks its options and expands names, as the launcher has it.
RECORD_BASE = $(patsubst %,$(BUILD)/preload/launch/%.o,option_table names text)
RECORD_NAME = $(BUILD)/live/record/trace_name.o $(BUILD)/preload/launch/names.o

# ---- nvsnoop-top ----

TOP_OBJ  = $(patsubst %.c,$(BUILD)/%.o,$(wildcard live/top/*.c)) $(BUILD)/decode/query/estimate.o
TOP_LIBS = -lncursesw -ltinfo -lm

all: $(BUILD)/nvsnoop-top

$(BUILD)/nvsnoop-top: $(TOP_OBJ) $(RECORD_NAME) $(BUILD)/liblive.a $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a
	$(call say,LD,$@)
	$(Q)$(CC) $(TOOL_CFLAGS) $(LDFLAGS) -o $@ $^ $(TOP_LIBS) $(DECODE_LIBS)

# ---- nvsnoop-record ----

RECORD_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(wildcard live/record/*.c))

all: $(BUILD)/nvsnoop-record

$(BUILD)/nvsnoop-record: $(RECORD_OBJ) $(RECORD_BASE) $(BUILD)/liblive.a $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a
	$(call say,LD,$@)
	$(Q)$(CC) $(TOOL_CFLAGS) $(LDFLAGS) -o $@ $^ $(DECODE_LIBS)

# ---- tests ----

# Live pages of processes that do nothing.
$(BUILD)/tests/live/mkpages: tests/live/mkpages.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -o $@ $<

TEST_DEPS += $(BUILD)/tests/live/mkpages
TESTS     += tests/live/top
