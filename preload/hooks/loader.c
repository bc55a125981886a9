/* SPDX-License-Identifier: MIT */
/* The exported functions of the loader, and pipe2(), which the unwinder calls. dlsym and dlvsym are
 * in arch/, lookup.S. */
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>
#include "preload/base/preload.h"
#include "preload/hooks/export.h"
#include "preload/modules/modules.h"

EXPORT int dlclose(void *handle)
{
	int ret;

	nvs_modules_poll();
	ret = nvs_next()->dlclose(handle);
	nvs_modules_poll();
	return ret;
}

/* The unwinder also calls this in the trap, where the loader's lock must not be taken. */
EXPORT int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	if (nvs_in_trap())
		return nvs_modules_iterate(callback, data);
	return nvs_next()->dl_iterate_phdr(callback, data);
}

EXPORT int pipe2(int fds[2], int flags)
{
	if (nvs_unwinder_is_caller(__builtin_return_address(0)))
		return nvs_unwinder_pipe(fds, flags);
	return nvs_next()->pipe2(fds, flags);
}
