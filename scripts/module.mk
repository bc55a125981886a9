# SPDX-License-Identifier: MIT
# What a user types: demo, install, bundle, bench; and the checks of the project's own form.

FAST_TESTS += scripts/check-layers scripts/trace-format scripts/check-format scripts/check-exports scripts/check-trap scripts/check-docs
TESTS      += scripts/readme scripts/gpu-bench

.PHONY: help demo bench
help:
	@echo 'make                 build into $(BUILD)/; installs nothing'
	@echo 'make demo            set up, build, record a program (GPU or software GPU), report it'
	@echo 'make check           set up, build, run all tests; TEST=word runs some'
	@echo 'make kill-check      kills a program thousands of times, and counts what is lost'
	@echo 'make bench           cost of a submission on the software GPU, and speed of reports'
	@echo 'make fuzz            search with libFuzzer: SECONDS=600 each, FUZZ="pb qmd" for some targets'
	@echo 'make install         into PREFIX ($(PREFIX)), below DESTDIR'
	@echo 'make uninstall       takes that away again'
	@echo 'make bundle          $(BUILD)/bundle: a folder that runs where nothing is installed'
	@echo 'make deb             $(BUILD)/deb: packages for Debian and Ubuntu'
	@echo 'make format-check    clang-format; make format puts it right'
	@echo 'make clean           removes $(BUILD)/'
	@echo 'scripts/gpu-check    all checks on a real GPU (needs nvcc)'
	@echo 'V=1 shows commands; CC=clang, O=0, SAN=address,undefined, COVERAGE=1, WERROR=1'

# What is needed is installed before anything is built, so these two make again.
demo:
	$(Q)scripts/install-deps
	$(Q)$(MAKE) --no-print-directory $(jobs) all softgpu
	$(Q)BUILD=$(BUILD) scripts/demo

BENCH_ARGS ?=
bench:
	$(Q)scripts/install-deps
	$(Q)$(MAKE) --no-print-directory $(jobs) all softgpu
	$(Q)BUILD=$(BUILD) scripts/bench $(BENCH_ARGS)
	$(Q)$(MAKE) --no-print-directory bench-decode

# ---- install ----

TOOLS = nvsnoop nvsnoop-report nvsnoop-probe nvsnoop-top nvsnoop-exporter
MAN   = $(TOOLS:%=%.1)
SHARE = $(wildcard share/nvsnoop/*)
all: $(MAN:%=$(BUILD)/man/%)
$(BUILD)/man/%.1: man/%.1.in man/make-page man/DATE VERSION docs/glossary.md $(BUILD)/%
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && man/make-page $< $(BUILD)/$* >$@.new && mv $@.new $@

INSTALLED = $(TOOLS:%=$(DESTDIR)$(bindir)/%) $(SHARE:share/%=$(DESTDIR)$(datadir)/%) \
            $(DESTDIR)$(libdir)/nvsnoop/libnvsnoop.so $(UNWIND_FILES:%=$(DESTDIR)$(libdir)/nvsnoop/%) \
            $(DESTDIR)$(libdir)/$(PUBLIC_SO) $(DESTDIR)$(libdir)/libnvsnoop-decode.so \
            $(DESTDIR)$(libdir)/libnvsnoop-decode.a $(DESTDIR)$(libdir)/pkgconfig/nvsnoop-decode.pc \
            $(DECODE_HEADERS:include/%=$(DESTDIR)$(includedir)/%) \
            $(DESTDIR)$(datadir)/nvsnoop/nvsnoop.gdb $(DESTDIR)$(datadir)/nvsnoop/python/nvsnoop.py \
            $(SQL:decode/%=$(DESTDIR)$(datadir)/nvsnoop/%) \
            $(MAN:%=$(DESTDIR)$(mandir)/man1/%) \
            $(TOOLS:%=$(DESTDIR)$(datadir)/bash-completion/completions/%) \
            $(DESTDIR)$(datadir)/zsh/site-functions/_nvsnoop \
            $(TOOLS:%=$(DESTDIR)$(datadir)/fish/vendor_completions.d/%.fish) \
            $(DOCS:%=$(DESTDIR)$(docdir)/%)
SQL       = $(wildcard decode/sql/*.sql)
DOCS      = README.md NEWS LICENSE $(wildcard docs/*.md docs/img/*.svg docs/img/*.png)

# As pkg-config writes it, so that it can be told another prefix.
below_prefix = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))

.PHONY: install uninstall
install: all
	$(Q)install -d $(sort $(dir $(INSTALLED)))
	$(Q)install -m 755 $(TOOLS:%=$(BUILD)/%) $(DESTDIR)$(bindir)
	$(Q)install -m 755 $(BUILD)/libnvsnoop.so $(UNWINDER) $(DESTDIR)$(libdir)/nvsnoop
	$(Q)install -m 644 $(PUBLIC)/$(PUBLIC_SO) $(PUBLIC)/libnvsnoop-decode.a $(DESTDIR)$(libdir)
	$(Q)ln -sf $(PUBLIC_SO) $(DESTDIR)$(libdir)/libnvsnoop-decode.so
	$(Q)install -m 644 $(DECODE_HEADERS) $(DESTDIR)$(includedir)/nvsnoop
	$(Q)sed -e 's,@prefix@,$(PREFIX),' -e 's,@libdir@,$(call below_prefix,$(libdir)),' \
	    -e 's,@includedir@,$(call below_prefix,$(includedir)),' -e 's,@version@,$(VERSION),' \
	    scripts/nvsnoop-decode.pc.in >$(DESTDIR)$(libdir)/pkgconfig/nvsnoop-decode.pc
	$(Q)install -m 644 scripts/nvsnoop.gdb $(SHARE) $(DESTDIR)$(datadir)/nvsnoop
	$(Q)install -m 644 decode/python/nvsnoop.py $(DESTDIR)$(datadir)/nvsnoop/python
	$(Q)install -m 644 $(SQL) $(DESTDIR)$(datadir)/nvsnoop/sql
	$(Q)install -m 644 $(MAN:%=$(BUILD)/man/%) $(DESTDIR)$(mandir)/man1
	$(Q)for tool in $(TOOLS); do \
	    install -m 644 scripts/completion/completion.bash $(DESTDIR)$(datadir)/bash-completion/completions/$$tool && \
	    install -m 644 scripts/completion/nvsnoop.fish $(DESTDIR)$(datadir)/fish/vendor_completions.d/$$tool.fish || \
	    exit 1; done
	$(Q)install -m 644 scripts/completion/_nvsnoop $(DESTDIR)$(datadir)/zsh/site-functions
	$(Q)for page in $(DOCS); do install -m 644 $$page $(DESTDIR)$(docdir)/$$page; done

uninstall:
	$(Q)rm -f $(INSTALLED)
	$(Q)rm -rf $(DESTDIR)$(datadir)/nvsnoop/python/__pycache__
	$(Q)rmdir $(DESTDIR)$(libdir)/nvsnoop $(DESTDIR)$(datadir)/nvsnoop/python $(DESTDIR)$(datadir)/nvsnoop/sql $(DESTDIR)$(datadir)/nvsnoop $(DESTDIR)$(includedir)/nvsnoop \
	    $(addprefix $(DESTDIR)$(docdir),/docs/img /docs /) 2>/dev/null || true

# ---- bundle: to be copied to where no package of ours is ----

BUNDLE = $(BUILD)/bundle
TEST_AGAIN += bundle
SLOW_TESTS += scripts/check-bundle

# Packages of what the bundle brings, as files or linked in, whose licences go with it.
BUNDLED = $(if $(UNWINDER),libunwind8) libelf-dev libzstd-dev zlib1g-dev libiberty-dev libsqlite3-dev libncurses-dev

.PHONY: bundle
bundle: all $(addprefix $(BUNDLE)/,nvsnoop-report nvsnoop-probe nvsnoop-top nvsnoop-exporter)
	$(Q)rm -rf $(addprefix $(BUNDLE)/,man completion licences prometheus sql)
	$(Q)install -d $(addprefix $(BUNDLE)/,man completion licences prometheus sql)
	$(Q)install -m 644 $(SHARE) $(BUNDLE)/prometheus
	$(Q)install -m 755 $(BUILD)/nvsnoop $(BUILD)/libnvsnoop.so $(UNWINDER) $(BUNDLE)
	$(Q)install -m 644 $(MAN:%=$(BUILD)/man/%) $(BUNDLE)/man
	$(Q)install -m 644 $(wildcard scripts/completion/*) $(BUNDLE)/completion
	$(Q)install -m 644 $(SQL) $(BUNDLE)/sql
	$(Q)for package in $(BUNDLED); do install -m 644 /usr/share/doc/$$package/copyright $(BUNDLE)/licences/$$package || \
	    echo "bundle: without the licence of $$package it is not to be handed on" >&2; done
	$(Q)install -m 644 LICENSE $(BUNDLE) && install -m 644 scripts/bundle-readme.md $(BUNDLE)/README.md
	$(call say,BUNDLE,$(BUNDLE))

# The C library and its mathematics are there on every machine, and would not be had without each other.
BUNDLE_LIBS = -Wl,-Bstatic -Wl,--start-group $(filter-out -lm,$(REPORT_LIBS)) -Wl,--end-group -Wl,-Bdynamic -lm

$(BUNDLE)/nvsnoop-report: $(REPORT_OBJ) $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a scripts/old-glibc.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -o $@ $^ $(BUNDLE_LIBS) && rm -f $@.d

$(BUNDLE)/nvsnoop-probe: $(PROBE_OBJ) $(PROBE_FOLLOW) $(TRAP_OBJ) $(ASSEMBLE_OBJ) $(BUILD)/libsass.a $(BUILD)/libcli.a \
                         $(BUILD)/libnvsnoop-decode.a scripts/old-glibc.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) $(PROBE_LD) -o $@ $^ -lm $(BUNDLE_LIBS) -ldl && rm -f $@.d

# Terminals are known from the machine's own descriptions.
$(BUNDLE)/nvsnoop-top: $(TOP_OBJ) $(BUILD)/liblive.a $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a scripts/old-glibc.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -o $@ $^ -Wl,-Bstatic -Wl,--start-group $(TOP_LIBS) $(DECODE_LIBS) \
	    -Wl,--end-group -Wl,-Bdynamic && rm -f $@.d

$(BUNDLE)/nvsnoop-exporter: $(EXPORTER_OBJ) $(BUILD)/liblive.a $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a scripts/old-glibc.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -o $@ $^ $(BUNDLE_LIBS) -ldl && rm -f $@.d

# ---- Debian packages ----

SLOW_TESTS += scripts/check-deb

.PHONY: deb
deb: all
	+$(Q)BUILD=$(BUILD) scripts/make-deb
	$(call say,DEB,$(BUILD)/deb)

# ---- form ----

.PHONY: format format-check
format:
	$(Q)scripts/check-format --mend
format-check:
	$(Q)scripts/check-format
