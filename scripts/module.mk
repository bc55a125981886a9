# SPDX-License-Identifier: MIT
# Targets for users: demo, install, bundle, bench; and the checks of formatting and layers.

FAST_TESTS += scripts/check-layers scripts/trace-format scripts/check-format scripts/check-exports scripts/check-trap scripts/check-docs
TESTS      += scripts/readme scripts/gpu-bench

.PHONY: help demo bench
help:
	@echo 'make                 build into $(BUILD)/; install nothing'
	@echo 'make demo            install dependencies, build, record and report a program'
	@echo 'make check           install dependencies, build, run all tests; TEST=word: only some'
	@echo '                     RELEASES=all: also on each driver release of the software GPU'
	@echo 'make kill-check      kill a program thousands of times and count lost submissions'
	@echo 'make bench           measure the cost of a submission and the speed of reports'
	@echo 'make fuzz            fuzz with libFuzzer; SECONDS=600 per target, FUZZ="pb qmd": only these'
	@echo 'make install         install to PREFIX ($(PREFIX)), below DESTDIR'
	@echo 'make uninstall       remove what make install installed'
	@echo 'make bundle          make $(BUILD)/bundle, a folder that runs without installation'
	@echo 'make deb             make packages for Debian and Ubuntu in $(BUILD)/deb'
	@echo 'make format-check    check the formatting; make format corrects it'
	@echo 'make check-aarch64   build for aarch64 and test under qemu-user; ARCH=aarch64 builds only'
	@echo 'make clean           remove $(BUILD)/'
	@echo 'scripts/gpu-check    run all checks on a real GPU (needs nvcc)'
	@echo 'Variables: V=1 (print commands), CC=clang, O=0, SAN=address,undefined, COVERAGE=1, WERROR=1'

# These install the dependencies first and then run make again, which finds them.
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

TOOLS = nvsnoop nvsnoop-report nvsnoop-probe nvsnoop-top nvsnoop-record nvsnoop-exporter
MAN   = $(TOOLS:%=%.1)
SHARE = $(wildcard share/nvsnoop/*.*)
CARDS = $(wildcard share/nvsnoop/cards/*)
K8S   = $(wildcard share/nvsnoop/k8s/*)
UNITS = $(wildcard share/nvsnoop/systemd/*)
all: $(MAN:%=$(BUILD)/man/%)
$(BUILD)/man/%.1: man/%.1.in man/make-page man/DATE VERSION docs/glossary.md $(BUILD)/%
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && RUN='$(RUN)' man/make-page $< $(BUILD)/$* >$@.new && mv $@.new $@

INSTALLED = $(TOOLS:%=$(DESTDIR)$(bindir)/%) $(SHARE:share/%=$(DESTDIR)$(datadir)/%) \
            $(CARDS:share/%=$(DESTDIR)$(datadir)/%) $(K8S:share/%=$(DESTDIR)$(datadir)/%) $(UNITS:share/%=$(DESTDIR)$(datadir)/%) \
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

# Paths relative to ${prefix} in the .pc file, so that pkg-config can be given another prefix.
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
	$(Q)install -m 644 $(CARDS) $(DESTDIR)$(datadir)/nvsnoop/cards
	$(Q)install -m 644 $(K8S) $(DESTDIR)$(datadir)/nvsnoop/k8s
	$(Q)install -m 644 $(UNITS) $(DESTDIR)$(datadir)/nvsnoop/systemd
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
	$(Q)rmdir $(DESTDIR)$(libdir)/nvsnoop $(DESTDIR)$(datadir)/nvsnoop/python $(addprefix $(DESTDIR)$(datadir)/nvsnoop,/sql /cards /k8s /systemd /) $(DESTDIR)$(includedir)/nvsnoop \
	    $(addprefix $(DESTDIR)$(docdir),/docs/img /docs /) 2>/dev/null || true

# ---- bundle: runs on machines without our packages ----

BUNDLE = $(BUILD)/bundle
TEST_AGAIN += bundle
SLOW_TESTS += scripts/check-bundle

# Packages that the bundle contains or links in; their licences are included.
BUNDLED = $(if $(UNWINDER),libunwind8) libelf-dev libzstd-dev libdeflate-dev zlib1g-dev libiberty-dev libsqlite3-dev libncurses-dev

.PHONY: bundle
bundle: all $(addprefix $(BUNDLE)/,nvsnoop-report nvsnoop-probe nvsnoop-top nvsnoop-record nvsnoop-exporter)
	$(Q)rm -rf $(addprefix $(BUNDLE)/,man completion licences prometheus sql)
	$(Q)install -d $(addprefix $(BUNDLE)/,man completion licences prometheus sql)
	$(Q)install -m 644 $(SHARE) $(BUNDLE)/prometheus
	$(Q)install -D -m 644 -t $(BUNDLE)/cards $(CARDS)
	$(Q)install -D -m 644 -t $(BUNDLE)/k8s $(K8S)
	$(Q)install -D -m 644 -t $(BUNDLE)/systemd $(UNITS)
	$(Q)install -m 755 $(BUILD)/nvsnoop $(BUILD)/libnvsnoop.so $(UNWINDER) $(BUNDLE)
	$(Q)install -m 644 $(MAN:%=$(BUILD)/man/%) $(BUNDLE)/man
	$(Q)install -m 644 $(wildcard scripts/completion/*) $(BUNDLE)/completion
	$(Q)install -m 644 $(SQL) $(BUNDLE)/sql
	$(Q)for package in $(BUNDLED); do install -m 644 $(ROOT)/usr/share/doc/$$package/copyright $(BUNDLE)/licences/$$package || \
	    echo "bundle: the licence of $$package is missing; do not distribute the bundle" >&2; done
	$(Q)install -m 644 LICENSE $(BUNDLE) && sed "s/@ARCH@/$(subst _,-,$(ARCH))/" scripts/bundle-readme.md >$(BUNDLE)/README.md
	$(call say,BUNDLE,$(BUNDLE))

# libelf needs zlib. libc and libm are on every machine and must come from the same one.
BUNDLE_LIBS = -Wl,-Bstatic -Wl,--start-group $(filter-out -lm,$(REPORT_LIBS)) -lz -Wl,--end-group -Wl,-Bdynamic -lm

$(BUNDLE)/nvsnoop-report: $(REPORT_OBJ) $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a scripts/old-glibc.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -o $@ $^ $(BUNDLE_LIBS) && rm -f $@.d

$(BUNDLE)/nvsnoop-probe: $(PROBE_OBJ) $(PROBE_FOLLOW) $(TRAP_OBJ) $(ASSEMBLE_OBJ) $(BUILD)/libsass.a $(BUILD)/libcli.a \
                         $(BUILD)/libnvsnoop-decode.a scripts/old-glibc.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) $(PROBE_LD) -o $@ $^ -lm $(BUNDLE_LIBS) -ldl && rm -f $@.d

# nvsnoop-top reads terminal descriptions from the machine that it runs on.
$(BUNDLE)/nvsnoop-top: $(TOP_OBJ) $(RECORD_NAME) $(BUILD)/liblive.a $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a scripts/old-glibc.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -o $@ $^ -Wl,-Bstatic -Wl,--start-group $(TOP_LIBS) $(DECODE_LIBS) \
	    -Wl,--end-group -Wl,-Bdynamic && rm -f $@.d

$(BUNDLE)/nvsnoop-record: $(RECORD_OBJ) $(RECORD_BASE) $(BUILD)/liblive.a $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a scripts/old-glibc.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -o $@ $^ $(BUNDLE_LIBS) && rm -f $@.d

$(BUNDLE)/nvsnoop-exporter: $(EXPORTER_OBJ) $(BUILD)/liblive.a $(BUILD)/libcli.a $(BUILD)/libnvsnoop-decode.a scripts/old-glibc.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TOOL_CFLAGS) -o $@ $^ $(BUNDLE_LIBS) -ldl && rm -f $@.d

# ---- Debian packages ----

SLOW_TESTS += scripts/check-deb

.PHONY: deb
deb: all
	+$(Q)BUILD=$(BUILD) scripts/make-deb
	$(call say,DEB,$(BUILD)/deb)

# ---- formatting ----

.PHONY: format format-check
format:
	$(Q)scripts/check-format --mend
format-check:
	$(Q)scripts/check-format
