/* SPDX-License-Identifier: MIT */
/* Shared by bypass.c and bypass_plugin.c. */
#ifndef TESTS_APPS_API_BYPASS_H
#define TESTS_APPS_API_BYPASS_H

typedef int bypass_fn(int launches);
bypass_fn bypass_plugin;
int bypass_with(void *cuda, int launches);
/* Three launches by dlsym(), and HIDDEN that nothing can see. */
int bypass_hidden(void *cuda, int hidden);
/* Two launches, of which one is hidden, and HIDDEN more of other code that takes their place. */
int bypass_replaced(void *cuda, int hidden);

static const char bypass_ptx[] = ".version 7.0\n"
				 ".target sm_70\n"
				 ".address_size 64\n"
				 ".visible .entry softgpu_add(.param .u64 p, .param .u64 v)\n"
				 "{\n"
				 "	ret;\n"
				 "}\n";
static const char bypass_other_ptx[] = ".version 7.0\n"
				       ".target sm_70\n"
				       ".address_size 64\n"
				       ".visible .entry nothing()\n"
				       "{\n"
				       "	ret;\n"
				       "}\n";

#endif
