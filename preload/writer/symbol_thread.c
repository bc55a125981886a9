/* SPDX-License-Identifier: MIT */
/* Names the addresses in recorded stacks: decides which are named in which object, and passes
 * records between the writer and the thread that searches. */
#include <string.h>
#include "preload/base/hash.h"
#include "preload/base/preload.h"
#include "preload/writer/symbol_thread.h"
#include "preload/writer/session.h"
#include "preload/writer/symbols.h"

#define PIECE_BYTES (8u << 10)
#define MAX_ADDRESSES (1u << 18)
#define MAX_OBJECTS (1u << 16)
#define NO_OBJECT UINT32_MAX
#define PAUSE 10 /* the pause after a search, in multiples of its duration */
#define FIRST_PAUSE_MS 100
#define NAP_MS 1000

/* A block of records. One thread pushes blocks to a list; another takes the whole list. */
struct record_block {
	struct record_block *next;
	size_t bytes, used, taken;
	uint8_t records[];
};

/* A module; it is kept after it was unloaded, since its addresses may be named then. */
struct named_module {
	struct nvs_rec_module *rec;
	uint64_t gone; /* ticks; UINT64_MAX: loaded */
	uint32_t waiting; /* addresses in it that need names */
};

struct address {
	uint64_t pc, time; /* when it was first seen in a stack */
	uint32_t object; /* index; NO_OBJECT: none so far */
	bool done; /* it has been searched */
};

struct nvs_naming {
	struct nvs_recorder *session;
	struct record_block *_Atomic in, *_Atomic out; /* lists to the thread and from it */
	struct record_block *filling; /* the writer's: not pushed yet */
	struct record_block *taking; /* the writer's: it reads records from this */
	_Atomic uint32_t wake, finishing, done; /* futexes */
	_Atomic uint32_t asked, answered; /* requests to name all addresses now */

	/* fields of the thread */
	bool files;
	struct record_block *found; /* not pushed yet */
	struct named_module *objects;
	uint32_t nobjects, objects_room;
	struct address *addresses;
	uint32_t naddresses, addresses_room;
	uint32_t *slots; /* hash by address: index + 1 */
	uint32_t nslots;
	bool news; /* there are new addresses or modules */
	_Alignas(16) uint8_t scratch[NVS_SCRATCH_BYTES];
};

struct nvs_naming *nvs_naming_new(struct nvs_recorder *session)
{
	struct nvs_naming *n = nvs_alloc(sizeof(*n));

	if (n)
		n->session = session;
	return n;
}

/* ---- lists of records ---- */

static void push_piece(struct record_block *_Atomic *row, struct record_block **piece)
{
	struct record_block *p = *piece;

	if (!p)
		return;
	*piece = NULL;
	p->next = atomic_load(row);
	while (!atomic_compare_exchange_weak(row, &p->next, p))
		;
}

/* Takes all blocks of a list, in the order of pushing. */
static struct record_block *take_all(struct record_block *_Atomic *row)
{
	struct record_block *p = atomic_exchange(row, NULL), *first = NULL;

	while (p) {
		struct record_block *next = p->next;

		p->next = first;
		first = p;
		p = next;
	}
	return first;
}

static struct record_block *free_piece(struct record_block *p)
{
	struct record_block *next = p->next;

	nvs_free(p, sizeof(*p) + p->bytes);
	return next;
}

/* Returns space for a record of SIZE bytes in *PIECE, which is pushed when it is full. */
static void *reserve_record(struct record_block *_Atomic *row, struct record_block **piece,
			    size_t size)
{
	size_t bytes = size > PIECE_BYTES ? size : PIECE_BYTES;
	void *at;

	if (*piece && (*piece)->bytes - (*piece)->used < size)
		push_piece(row, piece);
	if (!*piece) {
		*piece = nvs_alloc(sizeof(**piece) + bytes);
		if (!*piece)
			return NULL;
		(*piece)->bytes = bytes;
	}
	at = (*piece)->records + (*piece)->used;
	(*piece)->used += size;
	return at;
}

void nvs_naming_add_record(void *naming, const struct nvs_rec *rec)
{
	struct nvs_naming *n = naming;
	size_t min_bytes = rec->type == NVS_REC_STACK	      ? sizeof(struct nvs_rec_stack)
			   : rec->type == NVS_REC_MODULE      ? sizeof(struct nvs_rec_module)
			   : rec->type == NVS_REC_MODULE_GONE ? sizeof(struct nvs_rec_module_gone)
							      : 0;
	void *to;

	/* A record that the program has overwritten may be shorter than its type. */
	if (!min_bytes || rec->size < min_bytes || atomic_load(&n->done))
		return;
	to = reserve_record(&n->in, &n->filling, rec->size);
	if (to)
		memcpy(to, rec, rec->size);
}

static void wake_thread(struct nvs_naming *n)
{
	atomic_store(&n->wake, 1);
	nvs_sys_futex_wake(&n->wake);
}

void nvs_naming_hand_over(struct nvs_naming *n)
{
	if (!n || !n->filling)
		return;
	push_piece(&n->in, &n->filling);
	wake_thread(n);
}

struct nvs_rec *nvs_naming_next_record(struct nvs_naming *n)
{
	struct nvs_rec *rec;

	if (!n)
		return NULL;
	while (n->taking && n->taking->taken == n->taking->used)
		n->taking = free_piece(n->taking);
	if (!n->taking)
		n->taking = take_all(&n->out);
	if (!n->taking)
		return NULL;
	rec = (void *)(n->taking->records + n->taking->taken);
	n->taking->taken += rec->size;
	return rec;
}

bool nvs_naming_finish(struct nvs_naming *n, unsigned ms)
{
	if (!n)
		return true;
	push_piece(&n->in, &n->filling);
	atomic_store(&n->finishing, 1);
	wake_thread(n);
	nvs_sys_futex_wait(&n->done, 0, ms);
	return atomic_load(&n->done);
}

void nvs_naming_ask(struct nvs_naming *n)
{
	if (!n)
		return;
	push_piece(&n->in, &n->filling);
	atomic_fetch_add(&n->asked, 1);
	wake_thread(n);
}

bool nvs_naming_has_answered(const struct nvs_naming *n)
{
	return !n || atomic_load(&n->done) || atomic_load(&n->asked) == atomic_load(&n->answered);
}

void nvs_naming_give_up(struct nvs_naming *n)
{
	atomic_store(&n->done, 1);
}

/* ---- objects ---- */

static void see_module(struct nvs_naming *n, const struct nvs_rec_module *rec)
{
	struct nvs_rec_module *copy;

	if (rec->rec.size < sizeof(*rec) + rec->build_id_length + rec->path_length ||
	    n->nobjects >= MAX_OBJECTS || !NVS_GROW(n->objects, n->nobjects, n->objects_room, 256))
		return;
	copy = nvs_alloc(rec->rec.size + 1);
	if (!copy)
		return;
	memcpy(copy, rec, rec->rec.size);
	n->objects[n->nobjects++] = (struct named_module){copy, UINT64_MAX, 0};
	n->news = true;
}

static void see_module_gone(struct nvs_naming *n, const struct nvs_rec_module_gone *rec)
{
	for (uint32_t i = n->nobjects; i-- > 0;)
		if (n->objects[i].rec->module == rec->module) {
			n->objects[i].gone = rec->rec.time;
			return;
		}
}

/* Returns how long before the object was noticed TIME is; it may have been used by then. */
static uint64_t time_off(const struct named_module *o, uint64_t time)
{
	return time < o->rec->rec.time ? o->rec->rec.time - time : 0;
}

static uint32_t object_of(const struct nvs_naming *n, uint64_t pc, uint64_t time)
{
	uint32_t best = NO_OBJECT;

	for (uint32_t i = 0; i < n->nobjects; i++) {
		const struct named_module *o = &n->objects[i];

		if (pc < o->rec->start || pc >= o->rec->end || time > o->gone)
			continue;
		if (best == NO_OBJECT || time_off(o, time) <= time_off(&n->objects[best], time))
			best = i;
	}
	return best;
}

/* ---- addresses ---- */

static uint32_t slot_of(const struct nvs_naming *n, uint64_t pc)
{
	return nvs_hash(pc, 32) & (n->nslots - 1);
}

static void insert_slot(struct nvs_naming *n, uint32_t index)
{
	uint32_t s = slot_of(n, n->addresses[index].pc);

	NVS_HASH_PROBE(s, n->nslots, n->slots[s]);
	n->slots[s] = index + 1;
}

static bool more_slots(struct nvs_naming *n)
{
	uint32_t *old = n->slots, had = n->nslots;

	if (n->naddresses < n->nslots / 2)
		return true;
	n->nslots = had ? had * 2 : 1024;
	n->slots = nvs_alloc(n->nslots * sizeof(*n->slots));
	if (!n->slots) {
		n->slots = old;
		n->nslots = had;
		return false;
	}
	for (uint32_t i = 0; i < n->naddresses; i++)
		insert_slot(n, i);
	nvs_free(old, had * sizeof(*old));
	return true;
}

/* Returns true if the known entry is still valid at TIME. Another object may be at the address by
 * now, and objects are noticed after their first use. */
static bool is_still_valid(const struct nvs_naming *n, struct address *a, uint64_t time)
{
	if (a->object == NO_OBJECT)
		a->object = object_of(n, a->pc, a->time);
	return a->object == NO_OBJECT || n->objects[a->object].gone >= time;
}

static void see_address(struct nvs_naming *n, uint64_t pc, uint64_t time)
{
	if (!more_slots(n))
		return;
	for (uint32_t s = slot_of(n, pc); n->slots[s]; s = (s + 1) & (n->nslots - 1)) {
		struct address *a = &n->addresses[n->slots[s] - 1];

		if (a->pc == pc && is_still_valid(n, a, time))
			return;
	}
	if (n->naddresses >= MAX_ADDRESSES ||
	    !NVS_GROW(n->addresses, n->naddresses, n->addresses_room, 256))
		return;
	n->addresses[n->naddresses] =
		(struct address){.pc = pc, .time = time, .object = object_of(n, pc, time)};
	insert_slot(n, n->naddresses++);
	n->news = true;
}

static void see_stack(struct nvs_naming *n, const struct nvs_rec_stack *rec)
{
	for (uint32_t i = 0; i < rec->nframes && sizeof(*rec) + (i + 1) * 8ull <= rec->rec.size;
	     i++)
		see_address(n, rec->pc[i] - (i ? 1 : 0), rec->rec.time);
}

static void see_all(struct nvs_naming *n)
{
	for (struct record_block *p = take_all(&n->in); p; p = free_piece(p))
		while (p->taken < p->used) {
			const struct nvs_rec *rec = (const void *)(p->records + p->taken);

			p->taken += rec->size;
			if (rec->type == NVS_REC_MODULE)
				see_module(n, (const void *)rec);
			else if (rec->type == NVS_REC_MODULE_GONE)
				see_module_gone(n, (const void *)rec);
			else
				see_stack(n, (const void *)rec);
		}
}

/* ---- names ---- */

struct name_sink {
	struct nvs_naming *n;
	uint32_t module;
};

static void record_name(void *arg, const struct nvs_name *name)
{
	const struct name_sink *t = arg;
	bool same = *name->name && !strcmp(name->name, name->exported) &&
		    name->offset == name->exported_offset;
	size_t length = strlen(name->name), exported = same ? 0 : strlen(name->exported);
	size_t size = (sizeof(struct nvs_rec_name) + length + exported + 7) & ~7ul;
	struct nvs_rec_name *rec = reserve_record(&t->n->out, &t->n->found, size);

	t->n->addresses[name->wanted->place].done = true;
	if (!rec)
		return;
	*rec = (struct nvs_rec_name){
		.rec = {NVS_REC_NAME, same ? NVS_NAME_EXPORTED : 0, (uint32_t)size, 0},
		.module = t->module,
		.address = name->wanted->address,
		.offset = length ? name->offset : 0,
		.exported_offset = exported ? name->exported_offset : 0,
		.name_length = (uint16_t)length,
		.exported_length = (uint16_t)exported,
	};
	memcpy(rec->text, name->name, length);
	memcpy(rec->text + length, name->exported, exported);
}

/* Shell sort: the C library's qsort() may use the program's allocator. */
static void sort_wanted(struct nvs_wanted *w, size_t n)
{
	for (size_t gap = n / 2; gap; gap /= 2)
		for (size_t i = gap; i < n; i++) {
			struct nvs_wanted one = w[i];
			size_t k = i;

			for (; k >= gap && w[k - gap].address > one.address; k -= gap)
				w[k] = w[k - gap];
			w[k] = one;
		}
}

/* Checked before each object: a sandbox installed meanwhile may kill for opening a file. */
static bool may_search(struct nvs_naming *n)
{
	/* At the end the writer waits for this thread, so it checks itself. */
	if (!atomic_load(&n->finishing) && !nvs_writer_check_sandbox(n->session))
		return false;
	return !nvs_session_is_confined();
}

static void find_in(struct nvs_naming *n, uint32_t object, struct nvs_wanted *wanted, size_t count)
{
	const struct named_module *o = &n->objects[object];
	const struct nvs_rec_module *rec = o->rec;
	const char *path = (const char *)rec->tail + rec->build_id_length;
	struct nvs_elf_module in = {
		.path = strchr(path, '/') ? path : "",
		.build_id = rec->tail,
		.build_id_length = rec->build_id_length,
		.bias = rec->bias,
		.start = rec->start,
		.loaded = o->gone == UINT64_MAX,
	};
	struct name_sink t = {n, rec->module};

	if (!count || !may_search(n))
		return;
	for (size_t i = 0; i < count; i++) {
		n->addresses[wanted[i].place].done = true;
		wanted[i].address -= rec->bias;
	}
	sort_wanted(wanted, count);
	nvs_symbols_find(n->scratch, &in, n->files, wanted, count, record_name, &t);
}

static void find_jitted(struct nvs_naming *n, struct nvs_wanted *wanted, size_t count)
{
	struct name_sink t = {n, NVS_NONE};

	if (!count || !n->files || !may_search(n))
		return;
	sort_wanted(wanted, count);
	nvs_perfmap_find(n->scratch, n->session->pid, wanted, count, record_name, &t);
}

/* Names the COUNT waiting addresses in OBJECT. */
static void find_names(struct nvs_naming *n, uint32_t object, size_t count)
{
	size_t k = 0;
	struct nvs_wanted *wanted = count ? nvs_alloc(count * sizeof(*wanted)) : NULL;

	if (!wanted)
		return;
	for (uint32_t i = 0; i < n->naddresses; i++)
		if (!n->addresses[i].done && n->addresses[i].object == object) {
			wanted[k].address = n->addresses[i].pc;
			wanted[k++].place = i;
		}
	if (object == NO_OBJECT)
		find_jitted(n, wanted, count);
	else
		find_in(n, object, wanted, count);
	nvs_free(wanted, count * sizeof(*wanted));
}

/* Names all waiting addresses. Some wait until their object is noticed, or until the perf map has
 * them. */
static void name_waiting(struct nvs_naming *n)
{
	size_t made = 0;

	n->news = false;
	for (uint32_t i = 0; i < n->naddresses; i++) {
		struct address *a = &n->addresses[i];

		if (a->object == NO_OBJECT)
			a->object = object_of(n, a->pc, a->time);
		if (a->done)
			continue;
		if (a->object == NO_OBJECT)
			made++;
		else
			n->objects[a->object].waiting++;
	}
	for (uint32_t i = 0; i < n->nobjects; i++) {
		find_names(n, i, n->objects[i].waiting);
		n->objects[i].waiting = 0;
	}
	find_names(n, NO_OBJECT, made);
	push_piece(&n->out, &n->found);
}

static uint64_t now_ms(void)
{
	return nvs_clock_mono_ns() / 1000000;
}

void nvs_naming_run(struct nvs_naming *n, bool files)
{
	uint64_t next = now_ms() + FIRST_PAUSE_MS;
	bool last = false;

	n->files = files;
	while (!last) {
		uint64_t now = now_ms();
		uint32_t asked;

		if (!atomic_exchange(&n->wake, 0))
			nvs_sys_futex_wait(&n->wake, 0,
					   n->news && next > now ? (unsigned)(next - now) : NAP_MS);
		last = atomic_load(&n->finishing);
		asked = atomic_load(&n->asked);
		see_all(n);
		now = now_ms();
		/* A sandbox installed meanwhile may forbid opening files. */
		if (last || asked != atomic_load(&n->answered) ||
		    (n->news && now >= next && nvs_writer_check_sandbox(n->session))) {
			name_waiting(n);
			next = now_ms() + FIRST_PAUSE_MS + PAUSE * (now_ms() - now);
		}
		atomic_store(&n->answered, asked);
	}
	atomic_store(&n->done, 1);
	nvs_sys_futex_wake(&n->done);
}
