/* SPDX-License-Identifier: MIT */
/*
 * Detects at exit that the program used the GPU although the library observed nothing. Uses neither
 * the loader nor unusual system calls: a sandbox may be active, and the loader's lock may be held.
 */
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include "preload/api/intercept/api.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/rm/rm.h"
#include "preload/writer/session.h"

#define LAST_FD 1024

/* glibc 2.35 and later set r_version to 2: a list of further namespaces (dlmopen). */
struct namespace
{
	struct r_debug debug;
	const struct namespace *next;
};

/* r_debug, which the loader stores for debuggers in the program's own dynamic section. */
static const struct namespace *find_namespaces(void)
{
	const ElfW(Phdr) *ph = (const void *)getauxval(AT_PHDR);
	unsigned long n = getauxval(AT_PHNUM);
	uintptr_t bias = 0;

	for (unsigned long i = 0; ph && i < n; i++)
		if (ph[i].p_type == PT_PHDR)
			bias = (uintptr_t)ph - ph[i].p_vaddr;
	for (unsigned long i = 0; ph && i < n; i++) {
		const ElfW(Dyn) *d = (const void *)(bias + ph[i].p_vaddr);

		if (ph[i].p_type != PT_DYNAMIC)
			continue;
		for (; d->d_tag != DT_NULL; d++)
			if (d->d_tag == DT_DEBUG)
				return (const void *)d->d_un.d_ptr;
	}
	return NULL;
}

static bool is_libcuda_loaded(void)
{
	const struct namespace *list = find_namespaces();

	while (list) {
		for (const struct link_map *m = list->debug.r_map; m; m = m->l_next)
			if (m->l_name && nvs_api_is_libcuda(m->l_name))
				return true;
		list = list->debug.r_version >= 2 ? list->next : NULL;
	}
	return false;
}

static bool has_unseen_gpu(void)
{
	for (int fd = 0; fd < LAST_FD; fd++) {
		enum nvs_fd_kind kind;

		if (nvs_fd_tracked(fd))
			continue;
		kind = nvs_fd_kind(fd);
		if (kind == NVS_FD_CTL || kind == NVS_FD_GPU)
			return true;
	}
	return false;
}

/* Pid of the process that may report it: a forked child has its parent's files. 0 if the library is
 * not preloaded and so observes nothing. */
static int own_pid;

__attribute__((constructor)) static void remember_process(void)
{
	own_pid = nvs_is_preloaded() ? nvs_sys_getpid() : 0;
}

void nvs_session_report_bypass(void)
{
	int saved = errno;

	if (own_pid == nvs_sys_getpid() && !nvs_session() && !nvs_options()->disabled &&
	    is_libcuda_loaded() && has_unseen_gpu())
		nvs_summary_report_bypass();
	errno = saved;
}
