/* SPDX-License-Identifier: MIT */
/*
 * Makes tests/golden/h200.trace.zst from a session that an early prototype recorded on an H200:
 * mkgolden CAPTURE TRACE. The capture has little-endian records without padding: u32 magic, token,
 * channel, old put, new put, entries, tid, frames; return addresses; for each entry u64, u32
 * readable, its dwords. The last record may be incomplete because another thread was writing; it
 * is omitted.
 */
#include "tests/unit/mktrace.h"

#define CAP_MAGIC 0x4c425244u
#define CHANNELS 20

struct cap {
	uint32_t magic, token, channel, old_put, new_put, entries, tid, frames;
};

struct cap_stack {
	uint32_t n;
	uint64_t pc[64];
};

static struct cap_stack stacks[4096];
static uint32_t nstacks;

static uint32_t tids[64], ntids;

static uint32_t thread_of(struct mk *m, uint32_t tid)
{
	for (uint32_t i = 0; i < ntids; i++)
		if (tids[i] == tid)
			return i;
	MK_NEED(ntids < 64);
	tids[ntids] = tid;
	mk_thread(m, ntids, tid, "golden");
	return ntids++;
}

static void get(FILE *f, void *dst, size_t n)
{
	MK_NEED(fread(dst, 1, n, f) == n);
}

static void session(struct mk *m)
{
	static const char command[] = "./golden";

	mk_attr(m, NVS_ATTR_COMMAND, command, sizeof(command));
	mk_attr(m, NVS_ATTR_EXE, "golden", 6);
	mk_attr(m, NVS_ATTR_DRIVER, "580.159.04", 10);
	mk_h200(m);
}

static void map(struct mk *m, uint32_t number, uint32_t class, uint64_t address, uint64_t size,
		uint32_t gpu)
{
	struct nvs_rec_gpu_map *g = mk_rec(m, NVS_REC_GPU_MAP, sizeof(*g));
	struct nvs_rec_cpu_map *c;

	g->map = number;
	g->handle = 0x5c000000 + number;
	g->object_class = class;
	g->gpu = gpu;
	g->address = address;
	g->size = size;
	c = mk_rec(m, NVS_REC_CPU_MAP, sizeof(*c));
	c->map = number + 1;
	c->kind = NVS_MAP_MEMORY;
	c->handle = 0x5c000000 + number;
	c->object_class = class;
	c->gpu = gpu;
	c->address = address;
	c->size = size;
}

/* Rings and USERD, pushbuffer, semaphores; GPU address = CPU address. */
static void mappings(struct mk *m)
{
	struct nvs_rec_cpu_map *c = mk_rec(m, NVS_REC_CPU_MAP, sizeof(*c));

	c->kind = NVS_MAP_DOORBELL;
	c->object_class = 0xc661;
	c->address = 0x7f0000000000;
	c->size = 0x10000;
	map(m, 1, 0x40, 0x200600000, 2 << 20, 0);
	map(m, 2, 0x3e, 0x200800000, 56 << 20, NVS_NONE);
	map(m, 3, 0x3e, 0x204600000, 2 << 20, NVS_NONE);
}

/* The next record's head; false: there is no further one that is whole. Leaves F behind its head.
 *  */
static bool next(FILE *f, struct cap *c)
{
	long start;
	bool whole;

	if (fread(c, sizeof(*c), 1, f) != 1)
		return false;
	MK_NEED(c->magic == CAP_MAGIC && c->channel < CHANNELS);
	start = ftell(f);
	whole = fseek(f, c->frames * 8l, SEEK_CUR) == 0;
	for (uint32_t i = 0; i < c->entries && whole; i++) {
		struct {
			uint64_t entry;
			uint32_t readable;
		} __attribute__((packed)) e;

		whole = fread(&e, sizeof(e), 1, f) == 1 && (uint32_t)e.entry != CAP_MAGIC &&
			(!e.readable ||
			 fseek(f, (long)(e.entry >> 42 & 0x1fffff) * 4, SEEK_CUR) == 0);
	}
	return whole && fseek(f, start, SEEK_SET) == 0;
}

/* The token of a channel is what its first submission stored. */
static void channels(struct mk *m, FILE *f)
{
	uint32_t token[CHANNELS];
	struct cap c;

	memset(token, 0xff, sizeof(token));
	while (next(f, &c)) {
		if (token[c.channel] == NVS_NONE)
			token[c.channel] = c.token;
		MK_NEED(fseek(f, c.frames * 8l, SEEK_CUR) == 0);
		for (uint32_t i = 0; i < c.entries; i++) {
			uint64_t entry;
			uint32_t readable;

			get(f, &entry, sizeof(entry));
			get(f, &readable, sizeof(readable));
			if (readable)
				MK_NEED(fseek(f, (long)(entry >> 42 & 0x1fffff) * 4, SEEK_CUR) ==
					0);
		}
	}
	for (uint32_t i = 0; i < CHANNELS; i++)
		mk_channel(m, i)->token = token[i];
	rewind(f);
}

static uint32_t stack_of(struct mk *m, FILE *f, uint32_t n)
{
	struct cap_stack s = {.n = n};

	MK_NEED(n <= 64 && nstacks < 4096);
	get(f, s.pc, n * sizeof(*s.pc));
	for (uint32_t i = 0; i < nstacks; i++)
		if (!memcmp(stacks + i, &s, sizeof(s)))
			return i;
	stacks[nstacks] = s;
	mk_stack(m, nstacks, n, s.pc);
	return nstacks++;
}

static void submission(struct mk *m, FILE *f, const struct cap *c)
{
	uint32_t stack = stack_of(m, f, c->frames), dwords[64], first = 0;
	struct nvs_rec_submission *s;
	static uint32_t words[1 << 21];
	uint64_t entries[64];
	uint32_t *at = words;

	MK_NEED(c->entries <= 64);
	for (uint32_t i = 0; i < c->entries; i++) {
		uint32_t readable;

		get(f, &entries[i], sizeof(entries[i]));
		get(f, &readable, sizeof(readable));
		dwords[i] = entries[i] >> 42 & 0x1fffff;
		MK_NEED(readable || !dwords[i]);
		get(f, at, dwords[i] * 4ul);
		at += dwords[i];
	}
	MK_NEED(c->old_put == m->channel[c->channel].put);
	m->time += 990;
	s = mk_submission(m, thread_of(m, c->tid), c->channel, stack, c->entries, dwords, first);
	MK_NEED(s->new_put == c->new_put);
	s->token = c->token;
	for (uint32_t i = 0; i < c->entries; i++)
		s->entries[i].entry = entries[i];
	memcpy(s->entries + c->entries, words, (size_t)((uint8_t *)at - (uint8_t *)words));
}

int main(int argc, char **argv)
{
	FILE *f = argc == 3 ? fopen(argv[1], "rb") : NULL;
	struct cap c;
	struct mk m;

	if (!f) {
		fprintf(stderr, "usage: mkgolden CAPTURE TRACE\n");
		return 2;
	}
	mk_open(&m, argv[2]);
	session(&m);
	mappings(&m);
	channels(&m, f);
	while (next(f, &c)) {
		submission(&m, f, &c);
		if (m.len > 256 << 10)
			mk_next_frame(&m);
	}
	for (uint32_t i = 0; i < CHANNELS; i++)
		mk_channel_gone(&m, i);
	mk_finish(&m);
	fclose(f);
	return 0;
}
