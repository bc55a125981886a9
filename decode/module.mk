# SPDX-License-Identifier: MIT
# The decoder's library, for the project's own programs (libnvsnoop-decode.a) and for others (public/), and
# nvsnoop-report, which is decode/report with decode/export on top of the former.
DECODE_SRC = $(wildcard decode/base/*.c decode/trace/*.c decode/gpu/*.c decode/calls/*.c)
DECODE_CLI_SRC = $(wildcard decode/cli/*.c)
REPORT_SRC = $(wildcard decode/query/*.c decode/analysis/*.c decode/report/*.c decode/report/*/*.c decode/export/*.c \
                        decode/export/*/*.c)
DECODE_OBJ = $(DECODE_SRC:%.c=$(BUILD)/%.o)
DECODE_CLI_OBJ = $(DECODE_CLI_SRC:%.c=$(BUILD)/%.o)
REPORT_OBJ = $(REPORT_SRC:%.c=$(BUILD)/%.o) $(SASS_OBJ)
DECODE_LIBS = -lzstd -lelf -liberty -lpthread
REPORT_LIBS = -lsqlite3 -ldeflate -lm $(DECODE_LIBS)
# Only names in public headers are exported.
DECODE_CFLAGS = $(TOOL_CFLAGS) -fPIC -fvisibility=hidden
include decode/gpu/classes/classes.mk tests/bench/module.mk

all: $(BUILD)/nvsnoop-report

$(BUILD)/decode/%.o: decode/%.c decode/module.mk
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(DECODE_CFLAGS) -include decode/base/budget.h -c -o $@ $<

# What entry points do, generated from the list from which the library's table is generated.
DECODE_OBJ += $(BUILD)/decode/calls/gen/entries.o
$(BUILD)/decode/calls/gen/entries.c: api/cuda.api api/gen-table
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && api/gen-table decode $< >$@.new && mv $@.new $@

$(BUILD)/decode/calls/gen/entries.o: $(BUILD)/decode/calls/gen/entries.c
	$(call say,CC,$@)
	$(Q)$(CC) $(DECODE_CFLAGS) -c -o $@ $<

# The page of --html: its script and style, and their hashes for the Content-Security-Policy. The explanations of columns
# are those of their keys in docs/schema.md.
HTML    = $(BUILD)/decode/export/html
HTML_JS = $(addprefix decode/export/html/,base.js table.js charts.js track.js timeline.js lanes.js moves.js panel.js range.js flame.js stream.js search.js page.js)

$(HTML)/page.js: $(HTML_JS)
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && { printf '"use strict";{\n' && cat $^ && printf '}\n'; } >$@.new && ! grep -ql '</script' $@.new && mv $@.new $@

$(HTML)/page.css $(HTML)/page.html: $(HTML)/%: decode/export/html/%
	$(Q)mkdir -p $(@D) && cp $< $@

$(HTML)/keys: docs/schema.md decode/module.mk
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && sed -n 's/^| \(`[a-z].*`\) | [a-z, ]* | \(..*\) |$$/\1|\2/p' $< >$@.new && mv $@.new $@

sha256 = $$(env printf "$$(sha256sum <$(1) | sed 's/ .*//; s/../\\x&/g')" | base64)
$(HTML)/policy: $(HTML)/page.js $(HTML)/page.css
	$(call say,GEN,$@)
	$(Q)printf "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; img-src data:; base-uri 'none'; form-action 'none'" \
	    "$(call sha256,$(HTML)/page.js)" "$(call sha256,$(HTML)/page.css)" >$@

$(BUILD)/decode/export/html/page.o: $(addprefix $(HTML)/,page.js page.css page.html keys policy)
$(BUILD)/decode/export/html/page.o: TOOL_CFLAGS += -DNVS_HTML='"$(HTML)"'

$(BUILD)/decode/export/reproduce/program.o: decode/export/reproduce/body.txt

$(BUILD)/libnvsnoop-decode.a: $(DECODE_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# What a terminal or a script sees, for all tools; it needs decode/base of the reader library.
$(BUILD)/libcli.a: $(DECODE_CLI_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/nvsnoop-report: $(REPORT_OBJ) $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a
	$(call say,LD,$@)
	$(Q)$(CC) $(TOOL_CFLAGS) $(LDFLAGS) -o $@ $(REPORT_OBJ) $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a $(REPORT_LIBS)

# ---- for others: what the public headers declare, and nothing else ----

DECODE_HEADERS = $(addprefix include/nvsnoop/,allocation.h decode.h calls.h count.h fault.h graph.h image.h nvtx.h ops.h record.h snapshot.h spool.h trace.h)
DECODE_ABI     = 1# raised when a program that was linked before does not work any more
PUBLIC         = $(BUILD)/public
PUBLIC_SO      = libnvsnoop-decode.so.$(DECODE_ABI)
OBJCOPY       ?= objcopy

all: $(PUBLIC)/$(PUBLIC_SO) $(PUBLIC)/libnvsnoop-decode.a

$(PUBLIC)/exports.map: scripts/gen-exports $(DECODE_HEADERS)
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && scripts/gen-exports NVSNOOP_DECODE_$(DECODE_ABI) $@ $(DECODE_HEADERS)

# Bound at load time: the child of the helper must not enter the loader.
$(PUBLIC)/$(PUBLIC_SO): $(DECODE_OBJ) $(PUBLIC)/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) $(DECODE_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(PUBLIC)/exports.map \
	    -Wl,-z,now $(if $(SAN),,-Wl,-z,defs) -o $@ $(DECODE_OBJ) $(DECODE_LIBS)

# One object, in which internal names are local.
$(PUBLIC)/libnvsnoop-decode.a: $(DECODE_OBJ)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(CC) $(DECODE_CFLAGS) -r -nostdlib -o $(@:.a=.o) $^ && \
	    $(OBJCOPY) --localize-hidden $(@:.a=.o) && $(AR) rcs $@ $(@:.a=.o)

# Programs that make traces for tests, and the libraries in their call stacks.
GOLDEN = $(addprefix $(BUILD)/tests/golden/,mkanswers mkcases mkcalls mkcounts mkfaults mkfindings mkgolden mkranks mkring mkwork) \
         $(BUILD)/tests/golden/fake/libcuda.so.1 $(BUILD)/tests/golden/fake/libcudart.so.13
TEST_DEPS += $(GOLDEN)

$(BUILD)/tests/golden/%: tests/golden/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -o $@ $< -lzstd -ldl

# Stripped, like the real ones.
$(BUILD)/tests/golden/fake/libcuda.so.1: tests/golden/fake/libcuda.c
$(BUILD)/tests/golden/fake/libcudart.so.13: tests/golden/fake/libcudart.c
$(BUILD)/tests/golden/fake/%:
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -O1 -fPIC -shared -s -Wl,--build-id -Wl,-soname,$(@F) -o $@ $<

# nvsnoop-report with one more report, the example of CONTRIBUTING.md.
TOY = $(BUILD)/tests/toy/nvsnoop-report
TEST_DEPS += $(TOY)
$(TOY): tests/cli/toy.c $(REPORT_OBJ) $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) $(LDFLAGS) -o $@ $< $(REPORT_OBJ) $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a $(REPORT_LIBS)
