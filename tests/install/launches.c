/* SPDX-License-Identifier: MIT */
/* Prints each kernel that ran. cc launches.c $(pkg-config --cflags --libs nvsnoop-decode) */
#include <nvsnoop/decode.h>
#include <stdio.h>
#include <string.h>

static int print(const char *kernel, const uint32_t *grid, const uint32_t *block)
{
	char name[4096];

	nvs_escape(name, sizeof(name), kernel, strlen(kernel));
	return printf("%s grid %u %u %u block %u %u %u\n", name, grid[0], grid[1], grid[2],
		      block[0], block[1], block[2]) < 0;
}

static int on_launch(void *arg, struct nvs_trace *trace, const struct nvs_launch *l)
{
	return nvs_call_ran(l->call) && l->has_shape ? print(l->kernel, l->grid, l->block) : 0;
}

static int on_graph(void *arg, struct nvs_trace *trace, const struct nvs_graph *g)
{
	for (uint32_t i = 0; g->call && nvs_call_ran(g->call) && i < g->nnodes; i++)
		if (!g->nodes[i].type && !(g->nodes[i].flags & NVS_NODE_DISABLED))
			print(nvs_graph_kernel(g, i), g->nodes[i].grid, g->nodes[i].block);
	return 0;
}

int main(int argc, char **argv)
{
	struct nvs_consumer c = {.size = sizeof(c), .launch = on_launch, .graph = on_graph};
	struct nvs_error err;
	struct nvs_trace *t;

	if (nvs_trace_open(&t, argc > 1 ? argv[1] : "-", NULL, &err) ||
	    nvs_trace_read(t, &c, NULL, &err))
		return fprintf(stderr, "%s\n", err.text), 1;
	nvs_trace_close(t);
	return 0;
}
