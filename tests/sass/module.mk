# SPDX-License-Identifier: MIT
# The interpreter of kernel code, and the victims that it runs, for tests of counting. Its floating point changes the
# direction of rounding as it goes.
INTERP_OBJ = $(patsubst tests/sass/%.c,$(BUILD)/tests/sass/%.o,$(wildcard tests/sass/*.c))

$(BUILD)/tests/sass/%.o: tests/sass/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -fPIC -frounding-math -c -o $@ $<

$(BUILD)/libinterp.a: $(INTERP_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
