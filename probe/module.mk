# SPDX-License-Identifier: MIT
# nvsnoop-probe submits its own commands. It follows the driver's calls with preload/rm, and exports the hooks of
# preload/hooks so that libcuda's calls reach them. It exports no name of the decoder or of the libraries that this needs.
PROBE_SRC = $(wildcard probe/*.c probe/*/*.c probe/bench/*/*.c submit/*.c)
PROBE_OBJ = $(PROBE_SRC:%.c=$(BUILD)/%.o)
PROBE_CFLAGS = $(TOOL_CFLAGS) -fvisibility=hidden
PROBE_LD     = $(LDFLAGS) -rdynamic -Wl,--exclude-libs,ALL
PROBE_FOLLOW = $(BUILD)/preload/rm/abi_table.o $(patsubst %.c,$(BUILD)/%.o,$(wildcard preload/rm/*.c preload/rm/arch/$(ARCH)/*.c) $(wildcard preload/base/*.c) preload/hooks/device.c)
# The assembler of --dump's text, which the reader library does not have.
ASSEMBLE_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(wildcard decode/assemble/*.c))

all: $(BUILD)/nvsnoop-probe

$(BUILD)/probe/%.o: probe/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(PROBE_CFLAGS) -c -o $@ $<

$(BUILD)/submit/%.o: submit/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(PROBE_CFLAGS) -c -o $@ $<

# The microbenchmarks for their tests, and what they need of the probe: all but a driver's channels.
BENCH_OBJ = $(patsubst %.c,$(BUILD)/%.o,$(wildcard probe/bench/*/*.c) $(addprefix probe/lib/,fatal.c table.c svg.c fit.c driver.c nvml.c peer.c memory.c))
$(BUILD)/libbench.a: $(BENCH_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# It reads the traces of its own runs.
$(BUILD)/nvsnoop-probe: $(PROBE_OBJ) $(PROBE_FOLLOW) $(TRAP_OBJ) $(ASSEMBLE_OBJ) $(BUILD)/libsass.a $(BUILD)/libcli.a \
                         $(BUILD)/libnvsnoop-decode.a
	$(call say,LD,$@)
	$(Q)$(CC) $(TOOL_CFLAGS) $(PROBE_LD) -o $@ $^ $(DECODE_LIBS) -ldl -lm

TESTS     += tests/probe/run tests/probe/submit
TEST_DEPS += $(BUILD)/nvsnoop-probe $(BUILD)/nvsnoop $(BUILD)/libnvsnoop.so

# What the comparison finds where CUPTI would be.
$(BUILD)/tests/cupti/libcupti.so.13: tests/probe/cupti.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -Wno-missing-prototypes -fPIC -shared -o $@ $<
TEST_DEPS += $(BUILD)/tests/cupti/libcupti.so.13

# Every benchmark's kernels through ptxas, where one is: build/tests/bench/kernels 75 80 89 90 100 [NAME...]
$(BUILD)/tests/bench/kernels: tests/bench/kernels.c $(BUILD)/libbench.a $(BUILD)/libsass.a $(BUILD)/libcli.a \
                               $(BUILD)/libnvsnoop-decode.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -o $@ $(parts) $(DECODE_LIBS) -lm -ldl
TESTS     += tests/bench/bench
TEST_DEPS += $(BUILD)/tests/bench/kernels
