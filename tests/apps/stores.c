/* SPDX-License-Identifier: MIT */
/*
 * stores [NAME]: rings the doorbell with every form of store that a compiler or a programmer may
 * use, ROUNDS times each. Checks that the GPU saw the token on its page, that the work was done,
 * and that the instruction has the same effects as without a tool. With NAME only forms whose name
 * contains NAME. Software GPU only.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "app.h"
#include "tests/softgpu/softgpu.h"

#define ROUNDS 5
#define TOKEN 0xa /* of the first channel of the first context; immediates have it built in */

typedef volatile void *addr_t;

static void wrong(const char *what)
{
	fprintf(stderr, "stores: %s\n", what);
	exit(1);
}

#include "store_forms.h"

static uint32_t try_form(struct softgpu_channel *ch, const struct softgpu_channel_info *info,
			 size_t i)
{
	uint32_t bells, n;

	softgpu_set_store(forms[i].store);
	for (int r = 0; r < ROUNDS; r++) {
		bells = softgpu_channel_bells(info->client, info->handle);
		n = softgpu_submit_count(ch);
		if (softgpu_wait(ch, softgpu_payload(ch)) || softgpu_counted(ch) != n) {
			fprintf(stderr, "stores: %s: the work did not arrive\n", forms[i].name);
			return 1;
		}
		/* The page is looked at before work is: what was waited for was rung for, unless
		 * PUT alone did it. */
		for (int k = 0;
		     k < 2000 && softgpu_channel_bells(info->client, info->handle) == bells; k++) {
			struct timespec ts = {0, 1000000};

			softgpu_kick(info->gpu);
			nanosleep(&ts, NULL);
		}
		if (softgpu_channel_bells(info->client, info->handle) != bells + 1) {
			fprintf(stderr, "stores: %s: the GPU did not see the token\n",
				forms[i].name);
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct softgpu_channel_info info;
	struct softgpu_channel *ch;
	uint32_t bad = 0, tried = 0;

	app_context(0);
	ch = softgpu_channel_at(0);
	softgpu_channel_info(ch, &info);
	EXPECT(info.token == TOKEN, "token %x", info.token);
	CK(cuCtxSynchronize());
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (argc > 1 && !strstr(forms[i].name, argv[1]))
			continue;
		bad += try_form(ch, &info, i);
		tried++;
	}
	softgpu_set_store(NULL);
	printf("stores: %u forms, %u wrong\n", tried, bad);
	return bad || !tried;
}
