/* SPDX-License-Identifier: MIT */
/* The resource manager: objects, their memory and mappings, channels. Structures are those of the
 * release. A size of another release is refused, as the kernel module does. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "gpu.h"

#define BUCKETS 512
#define U32(p, off) (*(uint32_t *)((char *)(p) + (off)))
#define U64(p, off) (*(uint64_t *)((char *)(p) + (off)))

static struct sg_object *objects[BUCKETS];
static uint32_t next_client = 0xc1d0005d, next_handle = 0xcaf00000;

static struct sg_object **bucket(uint32_t client, uint32_t handle)
{
	return &objects[(client * 31 + handle) % BUCKETS];
}

struct sg_object *sg_object_find(uint32_t client, uint32_t handle)
{
	struct sg_object *o = *bucket(client, handle);

	while (o && (o->client != client || o->handle != handle))
		o = o->next;
	return o;
}

static struct sg_object *object_new(uint32_t client, uint32_t parent, uint32_t handle, uint32_t cls)
{
	struct sg_object *o = calloc(1, sizeof(*o)), *up = sg_object_find(client, parent);

	o->client = client;
	o->parent = parent;
	o->handle = handle;
	o->object_class = cls;
	o->minor = up ? up->minor : SG_NO_GPU;
	o->next = *bucket(client, handle);
	*bucket(client, handle) = o;
	return o;
}

/* ---- free ---- */

/* The GPU polls a doorbell page while any object refers to it. */
static void drop_bell(struct sg_object *o)
{
	struct sg_gpu *g = &sg_gpus[o->minor];

	for (uint32_t i = 0; i < BUCKETS; i++)
		for (struct sg_object *c = objects[i]; c; c = c->next)
			if (c != o && c->memory == o->memory)
				return;
	sg_gpu_lock(g);
	for (uint32_t i = 0; i < g->nbells; i++) {
		if (g->bells[i] == o->memory) {
			g->bells[i] = NULL;
			sg_memory_put(o->memory);
		}
	}
	sg_gpu_unlock(g);
}

bool sg_is_bell(uint32_t minor, const struct sg_memory *m)
{
	const struct sg_gpu *g = &sg_gpus[minor];

	for (uint32_t i = 0; i < g->nbells; i++)
		if (g->bells[i] == m)
			return true;
	return false;
}

bool sg_is_usermode(uint32_t object_class)
{
	return object_class == sg_options.usermode;
}

static void object_free(struct sg_object *o)
{
	struct sg_object **p;

	for (uint32_t i = 0; i < BUCKETS; i++) {
		for (struct sg_object *c = objects[i]; c; c = c->next) {
			if (c->client == o->client && c->parent == o->handle && c != o) {
				object_free(c);
				i = (uint32_t)-1; /* the lists have changed: start over */
				break;
			}
		}
	}
	if (sg_is_usermode(o->object_class))
		drop_bell(o);
	if (o->minor < SG_MAX_GPUS)
		sg_gpu_lock(&sg_gpus[o->minor]);
	if (o->channel)
		sg_channel_free(o->channel);
	sg_memory_put(o->memory);
	sg_vaspace_put(o->vaspace);
	if (o->minor < SG_MAX_GPUS)
		sg_gpu_unlock(&sg_gpus[o->minor]);
	for (p = bucket(o->client, o->handle); *p != o; p = &(*p)->next)
		;
	*p = o->next;
	free(o);
}

void sg_rm_file_gone(struct sg_file *f)
{
	for (uint32_t i = 0; i < BUCKETS; i++) {
		for (struct sg_object *o = objects[i]; o; o = o->next) {
			if (o->client == o->handle && o->owner == f->ino) {
				object_free(o);
				i = (uint32_t)-1;
				break;
			}
		}
	}
}

/* ---- alloc ---- */

static uint32_t runlist_of(uint32_t engine)
{
	static const uint8_t copy[] = {0, 0, 1, 3, 10, 11, 12, 13};

	return engine >= 9 && engine < 9 + sizeof(copy) ? copy[engine - 9] : 0;
}

static uint32_t new_chid(struct sg_gpu *g)
{
	for (uint32_t id = 10; id < 2048; id++) {
		if (!(g->chids[id / 32] >> id % 32 & 1)) {
			g->chids[id / 32] |= 1u << id % 32;
			return id;
		}
	}
	return 0;
}

static struct sg_vaspace *channel_vaspace(struct sg_object *o, const void *p)
{
	struct sg_object *up = sg_object_find(o->client, o->parent);
	struct sg_object *share = sg_object_find(o->client, U32(p, 24));
	uint32_t h = U32(p, 28);
	struct sg_object *v;

	if (!h && share)
		h = share->vaspace_handle;
	if (!h && up)
		h = up->vaspace_handle;
	v = sg_object_find(o->client, h);
	return v ? v->vaspace : NULL;
}

static void log_channel(const struct sg_channel *ch)
{
	struct sg_log_channel *r = sg_log_begin(SG_LOG_CHANNEL, sizeof(*r), ch->gpu->minor);

	if (!r)
		return;
	r->serial = ch->serial;
	r->client = ch->client;
	r->handle = ch->handle;
	r->token = ch->token;
	r->entries = ch->entries;
	sg_log_commit(r);
}

static uint32_t alloc_channel(struct sg_object *o, void *p)
{
	struct sg_object *up = sg_object_find(o->client, o->parent);
	struct sg_object *userd = sg_object_find(o->client,
						 U32(p, sg_form(SG_CHANNEL_USERD_MEMORY)));
	struct sg_object *error = sg_object_find(o->client, U32(p, 0));
	struct sg_vaspace *v = channel_vaspace(o, p);
	uint64_t off = U64(p, sg_form(SG_CHANNEL_USERD_OFFSET));
	uint32_t entries = U32(p, 16);
	struct sg_gpu *g;
	struct sg_channel *ch;

	if (!up || o->minor >= SG_MAX_GPUS)
		return NV_ERR_INVALID_OBJECT_PARENT;
	if (!v || !userd || !userd->memory || off + 512 > userd->memory->size || off % 512 ||
	    !entries || (entries & (entries - 1)) || entries > SG_RING_MAX)
		return NV_ERR_INVALID_ARGUMENT;
	g = &sg_gpus[o->minor];
	ch = calloc(1, sizeof(*ch));
	ch->gpu = g;
	ch->client = o->client;
	ch->handle = o->handle;
	ch->group = o->parent;
	ch->object_class = o->object_class;
	ch->engine = up->engine ? up->engine : U32(p, sg_form(SG_CHANNEL_ENGINE));
	ch->ring = U64(p, 8);
	ch->entries = entries;
	ch->rung = SG_NO_GPU;
	ch->vaspace = v;
	ch->userd_memory = sg_memory_get(userd->memory);
	ch->userd = (volatile uint32_t *)(userd->memory->map + off);
	ch->notifier = error ? sg_memory_get(error->memory) : NULL;
	ch->scheduled = up->scheduled;
	ch->serial = sg_log_serial();
	sg_gpu_lock(g);
	v->refs++;
	ch->token = runlist_of(ch->engine) << 16 | new_chid(g);
	ch->userd[0x88 / 4] = ch->userd[0x8c / 4] = 0;
	ch->next = g->channels;
	g->channels = ch;
	sg_gpu_unlock(g);
	if (ch->notifier) /* info32 of the second notification */
		U32(ch->notifier->map, 24) = ch->token;
	o->channel = ch;
	log_channel(ch);
	sg_gpu_start(g);
	return NV_OK;
}

static const char *node_name(uint32_t minor)
{
	return minor ? "/dev/nvidia1" : "/dev/nvidia0";
}

static uint32_t alloc_memory(struct sg_object *o, uint64_t *size, uint64_t *limit)
{
	if (!*size || *size > 1ull << 40)
		return NV_ERR_INVALID_ARGUMENT;
	o->memory = sg_memory_new(o->object_class == 0x40 ? node_name(o->minor) : "/dev/nvidiactl",
				  *size);
	if (!o->memory)
		return NV_ERR_NO_MEMORY;
	*size = o->memory->size;
	*limit = o->memory->size - 1;
	return NV_OK;
}

static uint32_t alloc_usermode(struct sg_object *o, const uint8_t *bar1)
{
	struct sg_gpu *g;
	uint32_t i;

	if (o->minor >= SG_MAX_GPUS)
		return NV_ERR_INVALID_OBJECT_PARENT;
	g = &sg_gpus[o->minor];
	o->memory = sg_memory_new(node_name(o->minor), 0x10000);
	if (!o->memory)
		return NV_ERR_NO_MEMORY;
	*(uint32_t *)o->memory->map = o->object_class; /* CFG0 */
	sg_gpu_lock(g);
	for (i = 0; i < g->nbells && g->bells[i]; i++)
		;
	if (i < 64) {
		g->bells[i] = sg_memory_get(o->memory);
		g->bar1 = (g->bar1 & ~(1ull << i)) | (uint64_t)(bar1 && *bar1) << i;
		if (i == g->nbells)
			g->nbells = i + 1;
	}
	sg_gpu_unlock(g);
	return i < 64 ? NV_OK : NV_ERR_INSUFFICIENT_RESOURCES;
}

/* Applies the parameters of the object's class. */
static uint32_t alloc_class(struct sg_object *o, void *p)
{
	uint32_t cls = o->object_class;

	if ((cls & 0xff) == 0x6f && cls > 0xa000)
		return p ? alloc_channel(o, p) : NV_ERR_INVALID_PARAM_STRUCT;
	if (sg_is_usermode(cls))
		return alloc_usermode(o, p);
	switch (cls) {
	case 0x80:
		o->minor = p ? U32(p, 0) : 0;
		return o->minor < sg_options.gpus ? NV_OK : NV_ERR_INVALID_DEVICE;
	case 0x3e:
	case 0x40:
		return p ? alloc_memory(o, &U64(p, 64), &U64(p, 88)) : NV_ERR_INVALID_PARAM_STRUCT;
	case 0xde:
		o->memory = sg_memory_new("/dev/nvidiactl", 0xa30);
		return o->memory ? NV_OK : NV_ERR_NO_MEMORY;
	case 0x90f1:
		o->vaspace = sg_vaspace_new();
		return NV_OK;
	case 0xa06c:
		o->vaspace_handle = p ? U32(p, 8) : 0;
		o->engine = p ? U32(p, 12) : 1;
		return NV_OK;
	case 0x9067:
		o->vaspace_handle = p ? U32(p, 0) : 0;
		return NV_OK;
	case 0x50a0:
		o->vaspace_handle = p ? U32(p, 108) : 0;
		o->dma_base = 0x700000000000ull;
		return NV_OK;
	case 0x70:
		o->vaspace_handle = p ? U32(p, 16) : 0;
		o->dma_base = 0x700000000000ull;
		return NV_OK;
	}
	return NV_OK;
}

static uint32_t rm_alloc(struct sg_file *f, uint32_t *root, uint32_t parent, uint32_t *handle,
			 uint32_t cls, void *params)
{
	struct sg_object *o;
	uint32_t status;

	if (cls == 0 || cls == 1 || cls == 0x41) {
		uint32_t client = *handle ? *handle : next_client++;

		if (sg_object_find(client, client))
			return NV_ERR_INSERT_DUPLICATE_NAME;
		o = object_new(client, 0, client, cls);
		o->owner = f->ino;
		*handle = client;
		return NV_OK;
	}
	if (!sg_object_find(*root, *root))
		return NV_ERR_INVALID_CLIENT;
	if (!sg_object_find(*root, parent))
		return NV_ERR_INVALID_OBJECT_PARENT;
	if (*handle && sg_object_find(*root, *handle))
		return NV_ERR_INSERT_DUPLICATE_NAME;
	while (!*handle || sg_object_find(*root, *handle))
		*handle = next_handle++;
	o = object_new(*root, parent, *handle, cls);
	status = alloc_class(o, params);
	if (status)
		object_free(o);
	return status;
}

/* VID_HEAP_CONTROL, functions 2 (ALLOC_SIZE) and 3 (FREE). */
static uint32_t vid_heap(uint32_t *a)
{
	struct sg_object *o = sg_object_find(a[0], a[11]);
	bool virtual = a[13] & 0x80000, video = !(a[14] >> 25 & 3);
	uint32_t status;

	if (a[2] == 3) {
		if (!o)
			return NV_ERR_INVALID_OBJECT_HANDLE;
		object_free(o);
		return NV_OK;
	}
	if (a[2] != 2)
		return NV_ERR_NOT_SUPPORTED;
	if (!sg_object_find(a[0], a[1]))
		return NV_ERR_INVALID_OBJECT_PARENT;
	if (a[11] && o)
		return NV_ERR_INSERT_DUPLICATE_NAME;
	while (!a[11] || sg_object_find(a[0], a[11]))
		a[11] = next_handle++;
	o = object_new(a[0], a[1], a[11], virtual ? 0x50a0 : video ? 0x40 : 0x3e);
	if (virtual) {
		o->vaspace_handle = a[3];
		o->dma_base = 0x700000000000ull;
		return NV_OK;
	}
	status = alloc_memory(o, &U64(a, 88), &U64(a, 112));
	if (status)
		object_free(o);
	return status;
}

/* NVOS02: class 0071 pins pages of the program. */
static uint32_t alloc_os_memory(uint32_t *a)
{
	uint64_t at = U64(a, 24), size = U64(a, 32) + 1;
	struct sg_object *o;

	if (a[3] != 0x71)
		return NV_ERR_INVALID_CLASS;
	if (!sg_object_find(a[0], a[1]))
		return NV_ERR_INVALID_OBJECT_PARENT;
	while (!a[2])
		a[2] = next_handle++;
	if (sg_object_find(a[0], a[2]))
		return NV_ERR_INSERT_DUPLICATE_NAME;
	o = object_new(a[0], a[1], a[2], 0x71);
	o->pinned = at;
	o->memory = sg_memory_pin(at, size);
	if (!o->memory) {
		object_free(o);
		return NV_ERR_INVALID_ADDRESS;
	}
	return NV_OK;
}

static uint32_t rm_dup(uint32_t *a)
{
	struct sg_object *src = sg_object_find(a[3], a[4]), *o;

	if (!src)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	if (!sg_object_find(a[0], a[1]))
		return NV_ERR_INVALID_OBJECT_PARENT;
	while (!a[2])
		a[2] = next_handle++;
	if (sg_object_find(a[0], a[2]))
		return NV_ERR_INSERT_DUPLICATE_NAME;
	o = object_new(a[0], a[1], a[2], src->object_class);
	o->memory = sg_memory_get(src->memory);
	o->pinned = src->pinned;
	if (src->vaspace) {
		o->vaspace = src->vaspace;
		o->vaspace->refs++;
	}
	return NV_OK;
}

/* ---- mapping ---- */

static uint32_t rm_map(uint32_t *a)
{
	struct sg_object *o = sg_object_find(a[0], a[2]);
	uint64_t off = U64(a, 16), n = U64(a, 24);
	bool device = o && (o->object_class == 0x40 || sg_is_usermode(o->object_class));
	struct sg_file *f = sg_file_of((int)a[12]);

	if (!o || !o->memory)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	if (!f || f->node != (device ? SG_NODE_GPU : SG_NODE_CTL) ||
	    (device && f->minor != o->minor))
		return NV_ERR_INVALID_ARGUMENT;
	if (!n || off > o->memory->size || n > o->memory->size - off)
		return NV_ERR_INVALID_LIMIT;
	if (f->area)
		return NV_ERR_STATE_IN_USE;
	f->area = sg_memory_get(o->memory);
	f->area_offset = off;
	f->area_size = n;
	U64(a, 32) = (device ? 0x100000000000ull : 0x100000000ull) + ((uint64_t)f->ino << 20) + off;
	return NV_OK;
}

static struct sg_vaspace *dma_space(uint32_t client, struct sg_object *dma)
{
	struct sg_object *v = dma && !dma->vaspace ? sg_object_find(client, dma->vaspace_handle)
						   : dma;

	return v ? v->vaspace : NULL;
}

/* NVOS46 */
static uint32_t rm_map_dma(uint32_t *a, uint64_t *address)
{
	struct sg_object *dma = sg_object_find(a[0], a[2]), *o = sg_object_find(a[0], a[3]);
	struct sg_vaspace *v = dma_space(a[0], dma);
	uint64_t va = *address, n = U64(a, 24);
	uint32_t status;

	if (!v || !o || !o->memory || dma->minor >= SG_MAX_GPUS)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	if (!(a[8] >> 15 & 1)) {
		dma->dma_base = (dma->dma_base + 0x1fffff) & ~0x1fffffull;
		va = dma->dma_base;
		dma->dma_base += n;
	}
	sg_gpu_lock(&sg_gpus[dma->minor]);
	status = sg_vaspace_map(v, va, n, o->memory, U64(a, 16));
	sg_gpu_unlock(&sg_gpus[dma->minor]);
	*address = va;
	return status;
}

/* NVOS47. Without a size, or with 0: the whole mapping that starts there. */
static uint32_t rm_unmap_dma(uint32_t *a, uint32_t size)
{
	struct sg_object *dma = sg_object_find(a[0], a[2]), *o = sg_object_find(a[0], a[3]);
	struct sg_vaspace *v = dma_space(a[0], dma);
	uint64_t n = size == 48 ? U64(a, 32) : 0;

	if (!v || !o || !o->memory || dma->minor >= SG_MAX_GPUS)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	sg_gpu_lock(&sg_gpus[dma->minor]);
	sg_vaspace_unmap(v, U64(a, 24), n ? n : o->memory->size);
	sg_gpu_unlock(&sg_gpus[dma->minor]);
	return NV_OK;
}

/* ---- calls ---- */

static uint32_t rm_free(uint32_t *a)
{
	struct sg_object *o = sg_object_find(a[0], a[2]);

	if (!o)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	object_free(o);
	return NV_OK;
}

static void card_info(void *arg, uint32_t size)
{
	memset(arg, 0, size);
	for (uint32_t i = 0; i < sg_options.gpus && (i + 1) * 72 <= size; i++) {
		char *c = (char *)arg + i * 72;

		c[0] = 1;
		c[8] = (char)(6 + i);
		U32(c, 12) = 0x233510de;
		U32(c, 16) = 6 + i;
		U32(c, 20) = 0x29;
		U64(c, 24) = 0x40020000000ull + i * 0x1000000ull;
		U64(c, 32) = 0x1000000;
		U64(c, 40) = 0x100000000000ull;
		U64(c, 48) = 0x4000000000ull;
		U32(c, 56) = i;
	}
}

static const struct {
	uint8_t nr;
	uint16_t size;
} sizes[] = {{0x27, 56}, {0x29, 16}, {0x2a, 32}, {0x34, 28}, {0x35, 24}, {0x4a, 184}, {0x4e, 56},
	     {0x4f, 32}, {0x5e, 40}, {0xc9, 4},	 {0xce, 16}, {0xcf, 16}, {0xd2, 72},  {0xd6, 8}};

static bool size_fits(uint32_t nr, uint32_t size)
{
	switch (nr) {
	case 0x2b:
		return size == 32 || size == sg_form(SG_ALLOC_SIZE);
	case 0x57:
		return size == sg_form(SG_MAP_DMA_SIZE);
	case 0x58:
		return size == sg_form(SG_UNMAP_DMA_SIZE);
	case 0xc8:
		return size % 72 == 0;
	case 0xd7:
		return size == sg_form(SG_NUMA_INFO_SIZE);
	case 0xda:
		return size == 8 && sg_form(SG_WAIT_OPEN_COMPLETE);
	}
	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].nr == nr && sizes[i].size == size)
			return true;
	return false;
}

static void memory_call(uint32_t nr, uint32_t size, uint32_t *a)
{
	switch (nr) {
	case 0x27:
		a[10] = alloc_os_memory(a);
		break;
	case 0x4a:
		a[5] = vid_heap(a);
		break;
	case 0x4e:
		a[10] = rm_map(a);
		break;
	case 0x4f:
		a[6] = sg_object_find(a[0], a[2]) ? NV_OK : NV_ERR_INVALID_OBJECT_HANDLE;
		break;
	case 0x57:
		a[size / 4 - 2] = rm_map_dma(a, (uint64_t *)a + size / 8 - 2);
		break;
	case 0x58:
		a[size / 4 - 2] = rm_unmap_dma(a, size);
		break;
	case 0x5e:
		a[8] = sg_object_find(a[0], a[2]) ? NV_OK : NV_ERR_INVALID_OBJECT_HANDLE;
		break;
	}
}

int sg_rm_ioctl(struct sg_file *f, uint32_t nr, uint32_t size, void *arg)
{
	uint32_t *a = arg;

	if (!size_fits(nr, size))
		return -EINVAL;
	if (nr == 0x27 ? f->node != SG_NODE_GPU : f->node != SG_NODE_CTL && nr < 0xc8 && nr != 0x2b)
		return -EINVAL;
	switch (nr) {
	case 0x29:
		a[3] = rm_free(a);
		break;
	case 0x2a:
		a[7] = sg_rm_control(a[0], a[1], a[2], (void *)U64(a, 16), a[6]);
		break;
	case 0x2b:
		a[sg_form(size == 32 ? SG_ROOT_STATUS : SG_ALLOC_STATUS) / 4] =
			rm_alloc(f, &a[0], a[1], &a[2], a[3], (void *)U64(a, 16));
		break;
	case 0x34:
		a[6] = rm_dup(a);
		break;
	case 0x35:
		a[5] = NV_OK;
		break;
	case 0xc8:
		card_info(arg, size);
		break;
	case 0xce:
	case 0xcf:
		a[3] = NV_OK;
		break;
	case 0xd2:
		a[1] = 1;
		sg_driver_release_text((char *)arg + 8);
		break;
	case 0xd6:
		U64(a, 0) = 0x40000000;
		break;
	case 0xd7:
		a[0] = 0xffffffff;
		break;
	case 0xda:
		a[0] = 1;
		a[1] = 0;
		break;
	default:
		memory_call(nr, size, a);
	}
	return 0;
}
