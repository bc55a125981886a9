/* SPDX-License-Identifier: MIT */
/* The host of a channel: splits a segment into methods, executes host methods (semaphores,
 * barriers) and passes the rest to the engine on their subchannel. */
#include <string.h>
#include "gpu.h"

/* ---- memory as the channel sees it ---- */

/* Entry 0 of the error notifier, as the kernel driver writes it. */
static void notify(const struct sg_channel *ch, uint32_t number, uint64_t ns)
{
	volatile uint32_t *n = ch->notifier ? (volatile uint32_t *)ch->notifier->map : NULL;

	if (!n)
		return;
	n[0] = (uint32_t)(ns >> 32);
	n[1] = (uint32_t)ns;
	n[2] = number;
	__atomic_store_n(&n[3], 0xffff0001u, __ATOMIC_RELEASE);
}

void sg_end_group(struct sg_channel *ch, uint32_t number, uint64_t va)
{
	struct sg_log_fetch *r = sg_log_begin(SG_LOG_FAULT, sizeof(*r), ch->gpu->minor);
	uint64_t now = sg_options.clock ? sg_clock(ch->gpu) : sg_now();

	if (r) {
		r->serial = ch->serial;
		r->index = ch->get;
		r->entry = va;
		sg_log_commit(r);
	}
	ch->gpu->errors.client = ch->client;
	ch->gpu->errors.group = ch->group;
	for (struct sg_channel *o = ch->gpu->channels; o; o = o->next) {
		if (o->client != ch->client || o->group != ch->group || o->dead)
			continue;
		o->dead = true;
		notify(o, number, now);
	}
}

void sg_fault(struct sg_channel *ch, uint64_t va)
{
	ch->gpu->errors = (struct sg_errors){.mmu = SG_MMU_INFO};
	sg_end_group(ch, SG_MMU_FAULT, va);
}

static bool transfer(struct sg_channel *ch, uint64_t va, uint8_t *p, uint64_t n, bool write)
{
	uint64_t left;

	while (n) {
		uint8_t *at = sg_vaspace_find(ch->vaspace, va, &left);

		if (!at) {
			sg_fault(ch, va);
			return false;
		}
		left = left < n ? left : n;
		memcpy(write ? at : p, write ? p : at, left);
		va += left;
		p += left;
		n -= left;
	}
	return true;
}

bool sg_read(struct sg_channel *ch, uint64_t va, void *to, uint64_t n)
{
	return transfer(ch, va, to, n, false);
}

bool sg_write(struct sg_channel *ch, uint64_t va, const void *from, uint64_t n)
{
	return transfer(ch, va, (uint8_t *)from, n, true);
}

static uint32_t *word(struct sg_channel *ch, uint64_t va)
{
	uint64_t left;
	uint8_t *p = sg_vaspace_find(ch->vaspace, va & ~3ull, &left);

	if (!p)
		sg_fault(ch, va);
	return (uint32_t *)p;
}

void sg_release(struct sg_channel *ch, uint64_t va, uint64_t payload, bool wide, bool stamp)
{
	uint32_t *p = word(ch, va);

	if (!p)
		return;
	if (payload >= SG_MARK && sg_options.ill == SG_MUTE)
		return;
	if (payload >= SG_MARK && sg_options.ill == SG_FAULT) {
		sg_fault(ch, va);
		return;
	}
	if (stamp) {
		uint64_t now = (sg_options.clock ? sg_clock(ch->gpu) : sg_now()) & ~31ull;

		__atomic_store_n((uint64_t *)(p + 2), now, __ATOMIC_RELAXED);
		p[1] = wide ? (uint32_t)(payload >> 32) : 0;
	} else if (wide) {
		__atomic_store_n((uint64_t *)p, payload, __ATOMIC_RELEASE);
		return;
	}
	__atomic_store_n(p, (uint32_t)payload, __ATOMIC_RELEASE);
}

/* It does not start at 0, as on real GPUs. */
uint64_t sg_clock(const struct sg_gpu *g)
{
	return (1ull << 40) + g->spent;
}

/* Inline: 32 ns plus 1 per 16 bytes; copy engine: 512 ns plus 1 per 32 bytes. They are equal at
 * 15,360 bytes. */
void sg_spend(struct sg_channel *ch, bool inline_data, uint64_t bytes)
{
	ch->gpu->spent += inline_data ? 32 + bytes / 16 : 512 + bytes / 32;
}

/* Operations in the engines' numbering: ADD MIN MAX INC DEC AND OR XOR. */
void sg_reduce(struct sg_channel *ch, uint64_t va, uint32_t payload, uint32_t op, bool is_signed)
{
	uint32_t *p = word(ch, va), old;

	if (!p)
		return;
	switch (op) {
	case 0:
		__atomic_fetch_add(p, payload, __ATOMIC_ACQ_REL);
		break;
	case 5:
		__atomic_fetch_and(p, payload, __ATOMIC_ACQ_REL);
		break;
	case 6:
		__atomic_fetch_or(p, payload, __ATOMIC_ACQ_REL);
		break;
	case 7:
		__atomic_fetch_xor(p, payload, __ATOMIC_ACQ_REL);
		break;
	case 3: /* up to payload, then from 0 */
		old = *p;
		__atomic_store_n(p, old >= payload ? 0 : old + 1, __ATOMIC_RELEASE);
		break;
	case 4:
		old = *p;
		__atomic_store_n(p, !old || old > payload ? payload : old - 1, __ATOMIC_RELEASE);
		break;
	default:
		old = *p;
		if (is_signed ? (int32_t)payload < (int32_t)old : payload < old)
			old = op == 1 ? payload : old;
		else
			old = op == 2 ? payload : old;
		__atomic_store_n(p, old, __ATOMIC_RELEASE);
	}
}

/* ---- host methods ---- */

static bool acquired(uint64_t value, uint64_t payload, uint32_t op, bool wide)
{
	switch (op) {
	case 0:
		return value == payload;
	case 2:
		return value >= payload;
	case 3:
		return wide ? (int64_t)(value - payload) >= 0
			    : (int32_t)((uint32_t)value - (uint32_t)payload) >= 0;
	case 4:
		return (value & payload) != 0;
	case 5:
		return (~value & payload) != 0;
	}
	return true;
}

/* Maps the host's reductions (IMIN IMAX IXOR IAND IOR IADD INC DEC) to the engines' numbering. */
static const uint8_t host_reduction[8] = {1, 2, 7, 5, 6, 0, 3, 4};

static bool sem_execute(struct sg_channel *ch, uint32_t exec)
{
	uint64_t va = (uint64_t)(ch->host[0x60 / 4] & 0x1ffffff) << 32 | (ch->host[0x5c / 4] & ~3u);
	uint64_t payload = ch->host[0x64 / 4];
	bool wide = exec >> 24 & 1;
	uint32_t op = exec & 7, *p;

	if (wide)
		payload |= (uint64_t)ch->host[0x68 / 4] << 32;
	if (op == 1) {
		if (exec >> 20 & 1 && !sg_engine_idle(ch)) /* RELEASE_WFI */
			return false;
		sg_release(ch, va, payload, wide, exec >> 25 & 1);
		return true;
	}
	if (op == 6) {
		sg_reduce(ch, va, (uint32_t)payload, host_reduction[exec >> 27 & 7], !(exec >> 31));
		return true;
	}
	p = word(ch, va);
	return p && acquired(wide ? __atomic_load_n((uint64_t *)p, __ATOMIC_ACQUIRE)
				  : __atomic_load_n(p, __ATOMIC_ACQUIRE),
			     payload, op, wide);
}

/* SEMAPHOREA..D of older hosts. */
static bool old_semaphore(struct sg_channel *ch, uint32_t d)
{
	uint64_t va = (uint64_t)(ch->host[0x10 / 4] & 0xff) << 32 | (ch->host[0x14 / 4] & ~3u);
	uint32_t payload = ch->host[0x18 / 4], *p;

	switch (d & 31) {
	case 2:
		sg_release(ch, va, payload, false, !(d >> 24 & 1));
		return true;
	case 1:
	case 4:
	case 8:
		p = word(ch, va);
		return p && acquired(__atomic_load_n(p, __ATOMIC_ACQUIRE), payload,
				     (d & 31) == 1   ? 0
				     : (d & 31) == 4 ? 3
						     : 4,
				     false);
	}
	return true;
}

/* Returns false if the channel must wait and retry the same word. */
static bool host_method(struct sg_channel *ch, uint32_t method, uint32_t data)
{
	ch->host[method / 4] = data;
	switch (method) {
	case 0:
		ch->bound[ch->subch] = (uint16_t)data;
		return true;
	case 0x1c:
		return old_semaphore(ch, data);
	case 0x6c:
		return sem_execute(ch, data);
	}
	return method != 0x78 || sg_engine_idle(ch); /* NOP, WFI, MEM_OP, FB_FLUSH */
}

/* ---- methods ---- */

static uint16_t class_on(const struct sg_channel *ch, uint32_t subch)
{
	if (ch->engine >= 9) /* a copy runlist ignores the subchannel */
		return 0xc8b5;
	if (ch->bound[subch])
		return ch->bound[subch];
	return subch == 4 ? 0xc8b5 : subch == 1 ? 0xcbc0 : 0;
}

static bool method(struct sg_channel *ch, uint32_t method, uint32_t data)
{
	if (method < 0x100)
		return host_method(ch, method, data);
	switch (class_on(ch, ch->subch) & 0xff) {
	case 0xc0:
	case 0x40: /* inline-to-memory has the same methods */
		return sg_compute_method(ch, method, data);
	case 0xb5:
		sg_copy_method(ch, method, data);
		break;
	}
	return true;
}

static void header(struct sg_channel *ch, uint32_t w)
{
	uint32_t op = w >> 29;

	ch->count = 0;
	ch->subch = w >> 13 & 7;
	ch->method = (w & 0xfff) << 2;
	switch (op) {
	case 1:
	case 3:
	case 5:
		ch->kind = (uint8_t)op;
		ch->count = w >> 16 & 0x1fff;
		break;
	case 4:
		method(ch, ch->method, w >> 16 & 0x1fff);
		break;
	case 0:
	case 2:
		if ((w >> 16 & 3) == 0) {
			ch->kind = op == 0 ? 1 : 3;
			ch->count = w >> 18 & 0x7ff;
			ch->method = w & 0x1ffc;
		}
		break;
	case 7:
		ch->pos = ch->len; /* the rest of the segment is ignored */
		break;
	}
}

bool sg_execute(struct sg_channel *ch)
{
	while (ch->pos < ch->len && !ch->dead) {
		if (!ch->count) {
			uint32_t at = ch->pos;

			header(ch, ch->buf[at]);
			if (ch->pos == at)
				ch->pos++;
			continue;
		}
		if (ch->kind == 3 && ch->method == 0x1b4 &&
		    (class_on(ch, ch->subch) & 0xff) != 0xb5) {
			uint32_t n = ch->len - ch->pos;

			n = n < ch->count ? n : ch->count;
			sg_compute_inline(ch, ch->buf + ch->pos, n);
			ch->pos += n;
			ch->count -= n;
			continue;
		}
		if (!method(ch, ch->method, ch->buf[ch->pos]))
			return ch->dead;
		ch->pos++;
		ch->count--;
		if (ch->kind == 1 || ch->kind == 5)
			ch->method += 4;
		if (ch->kind == 5)
			ch->kind = 3;
	}
	/* The host has gone on while the kernel ran. */
	if (ch->due && !ch->dead)
		sg_end_group(ch, ch->due, 0);
	return true;
}
