/* SPDX-License-Identifier: MIT */
/* The options of this process, read from its environment once. A forked child keeps them, even if
 * the environment has changed since. */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include "preload/base/preload.h"
#include "preload/base/sys.h"

static struct nvs_options settings;
static _Atomic uint32_t settings_state; /* 0 not read, 1 being read, 2 read */

static void read_out(struct nvs_options *o)
{
	const char *out = getenv(NVS_ENV_OUT);

	strcpy(o->out, NVS_DEFAULT_OUT);
	if (!out || !*out)
		return;
	if (strlen(out) < sizeof(o->out))
		strcpy(o->out, out);
	else
		strcpy(o->error, NVS_ENV_OUT ": too long");
	o->untraced = !strcmp(o->out, NVS_OUT_NONE);
}

/* Relative names refer to the working directory at the start, wherever the program goes (a daemon
 * goes to the root). */
static void read_folder(struct nvs_options *o)
{
	long n = nvs_syscall(SYS_getcwd, (long)o->folder, sizeof(o->folder), 0, 0, 0, 0);

	if (n <= 0 || *o->folder != '/')
		o->folder[0] = '\0';
}

static void read_options(struct nvs_options *o)
{
	static const char prefix[] = NVS_ENV_OPTIONS ": ";
	const char *given = getenv(NVS_ENV_OPTIONS);
	size_t n = sizeof(prefix) - 1;

	nvs_option_defaults(&o->values);
	if (!given && getenv(NVS_ENV_WRONG))
		strcpy(o->error, NVS_WRONG_TEXT);
	if (!given || !*given)
		return;
	if (strlen(given) >= sizeof(o->given)) {
		strcpy(o->error, NVS_ENV_OPTIONS ": too long");
		return;
	}
	strcpy(o->given, given);
	memcpy(o->error, prefix, n);
	if (!nvs_options_parse(&o->values, given, o->error + n, sizeof(o->error) - n))
		o->error[0] = '\0';
}

/* Options that need a trace are dropped without an error: out=none may be set for a whole tree of
 * processes. */
static void drop_trace_options(struct nvs_options *o)
{
	struct nvs_option_values *v = &o->values;

	if (!o->untraced)
		return;
	v->timing = 0;
	v->max_size = v->keep_last = v->delay_ns = v->duration_ns = 0;
	v->trigger[0] = '\0';
	v->from_profiler = false;
	v->buffer_bytes = NVS_MIN_BUFFER_BYTES;
	v->spool = false;
}

static void read_variable(const char *name, char *to, size_t size)
{
	const char *value = getenv(name);

	if (value && strlen(value) < size)
		strcpy(to, value);
}

static void read_start(struct nvs_options *o)
{
	const char *start = getenv(NVS_ENV_START);
	uint64_t width = UINT64_MAX;

	/* An interruption between the readings widens them: keep the narrowest of five. */
	for (int i = 0; i < 5; i++) {
		uint64_t before = __builtin_ia32_rdtsc();
		uint64_t ns = nvs_read_clock(CLOCK_MONOTONIC);
		uint64_t after = __builtin_ia32_rdtsc();

		if (after - before >= width)
			continue;
		width = after - before;
		o->loaded_ns = ns;
		o->loaded_tsc = before + width / 2;
	}
	o->start_ns = o->loaded_ns;
	if (start && strtoull(start, NULL, 10) && strtoull(start, NULL, 10) < o->start_ns)
		o->start_ns = strtoull(start, NULL, 10);
}

static void read_places(struct nvs_options *o)
{
	struct stat st;

	if (!nvs_sys_fstat(2, &st)) {
		o->stderr_dev = st.st_dev;
		o->stderr_ino = st.st_ino;
	}
	if (!nvs_sys_lstat("/", &st)) {
		o->root_dev = st.st_dev;
		o->root_ino = st.st_ino;
	}
}

/* Valgrind emulates the CPU; the faults that it reports lack details that the trap needs. */
static bool under_valgrind(void)
{
	const char *list = getenv("LD_PRELOAD");

	return list && strstr(list, "/vgpreload_");
}

static void read_settings(void)
{
	if (getauxval(AT_SECURE)) {
		nvs_option_defaults(&settings.values);
		settings.disabled = true;
		return;
	}
	read_places(&settings);
	if (under_valgrind()) {
		settings.disabled = true;
		settings.refused = "nothing is recorded under Valgrind";
	}
	read_options(&settings);
	read_out(&settings);
	drop_trace_options(&settings);
	read_folder(&settings);
	read_variable(NVS_ENV_SUMMARY, settings.summary, sizeof(settings.summary));
	if (settings.summary[0] != '/')
		settings.summary[0] = '\0';
	/* Here because the live page is created while other threads may change the environment. */
	read_variable("XDG_RUNTIME_DIR", settings.runtime_dir, sizeof(settings.runtime_dir));
	read_start(&settings);
	nvs_rank_read(&settings.rank);
}

const struct nvs_options *nvs_options(void)
{
	static const struct nvs_options not_yet = {.disabled = true};
	uint32_t state = 0;
	uint64_t saved;

	if (atomic_load_explicit(&settings_state, memory_order_acquire) == 2)
		return &settings;
	/* The caller runs before the C library is initialised, for example a sanitizer. */
	if (!environ)
		return &not_yet;
	/* A signal handler that asks as well would wait for the code that it has interrupted. */
	saved = nvs_sys_block_async();
	if (atomic_compare_exchange_strong(&settings_state, &state, 1)) {
		read_settings();
		atomic_store_explicit(&settings_state, 2, memory_order_release);
	}
	nvs_sys_sigmask(SIG_SETMASK, &saved, NULL);
	/* Another thread may be reading them; it takes microseconds and waits for nothing. */
	return nvs_sys_wait_while(&settings_state, 1) ? &settings : &not_yet;
}

const struct link_map *nvs_own_object(void)
{
	static struct link_map *_Atomic own;
	struct link_map *found = atomic_load(&own);
	Dl_info info;

	if (!found && dladdr1(&settings, &info, (void **)&found, RTLD_DL_LINKMAP))
		atomic_store(&own, found);
	return found;
}

/*
 * A preloaded library comes before the C library and the loader in the link map. They are found by
 * name and address, since a program may define the functions itself: a shell has its own getenv().
 */
bool nvs_is_preloaded(void)
{
	const struct link_map *own = nvs_own_object(), *m;

	if (!own)
		return true;
	for (m = own; m; m = m->l_next)
		if (strstr(m->l_name, "/libc.so") || (m->l_addr && m->l_addr == getauxval(AT_BASE)))
			return true;
	return false;
}
