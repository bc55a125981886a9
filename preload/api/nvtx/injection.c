/* SPDX-License-Identifier: MIT */
/* Sets NVTX_INJECTION64_PATH, which NVTX reads only once. The launcher sets it; in a program
 * started with LD_PRELOAD our constructor does. A tool that is set already is left alone. */
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "preload/api/nvtx/nvtx.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/writer/session.h"

static char entry[sizeof(NVS_ENV_NVTX) + 2 * PATH_MAX];

/* Path of this library. Returns -1 if unknown. */
static int own_path(char *path, size_t size)
{
	const char *folder = nvs_options()->folder;
	const struct link_map *own = nvs_own_object();
	size_t n;

	if (!own || !*own->l_name)
		return -1;
	n = *own->l_name == '/' ? 0 : strlen(folder) + 1;
	if ((n == 1) || n + strlen(own->l_name) >= size)
		return -1;
	if (n) {
		strcpy(path, folder);
		strcat(path, "/");
	}
	strcpy(path + n, own->l_name);
	return 0;
}

/* setenv() allocates, and frees memory that another thread may be reading. Here the old list stays
 * in place. */
void nvs_nvtx_set_environment(void)
{
	size_t name = sizeof(NVS_ENV_NVTX) - 1, n = 0;
	char **list;
	long p;

	if (nvs_options()->disabled || getenv(NVS_ENV_NVTX))
		return;
	memcpy(entry, NVS_ENV_NVTX "=", name + 1);
	if (own_path(entry + name + 1, sizeof(entry) - name - 1))
		return;
	while (environ[n])
		n++;
	p = nvs_syscall(SYS_mmap, 0, (long)((n + 2) * sizeof(*list)), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p < 0 && p > -4096)
		return;
	list = (void *)p;
	memcpy(list, environ, n * sizeof(*list));
	list[n] = entry;
	__atomic_store_n(&environ, list, __ATOMIC_RELEASE);
}

static bool is_own(const char *path)
{
	char own[2 * PATH_MAX];
	struct stat a, b;

	return !own_path(own, sizeof(own)) &&
	       (!strcmp(path, own) || (!nvs_sys_stat(path, &a) && !nvs_sys_stat(own, &b) &&
				       a.st_dev == b.st_dev && a.st_ino == b.st_ino));
}

void nvs_nvtx_record_other(void)
{
	const char *path = getenv(NVS_ENV_NVTX);

	if (path && *path && !nvs_nvtx_attached() && !is_own(path))
		nvs_record_attr(NVS_ATTR_NVTX, path, strnlen(path, 400));
}
