/* SPDX-License-Identifier: MIT */
/*
 * Finds and reads all live pages: which folders to scan, which files to trust, which processes are
 * new or have ended. A page stays open from the first read on, so that its last totals can still be
 * read after its name was unlinked.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "decode/base/compare.h"
#include "live/read/process_alive.h"
#include "live/read/page.h"

#define MAX_FILES 4096 /* per user */
#define READY_S 60 /* a page becomes ready shortly after its file appears */
#define MAX_BYTES (1ull << 30) /* read from one user's pages per pass */

struct nvs_pages {
	struct nvs_page_file **files;
	uint32_t n, room;
	struct nvs_page_file **shown;
	uint32_t nshown;
	uint32_t flags;
	struct nvs_machine_id here;
	char *folder; /* the only folder to scan; NULL: all */
	uint64_t now;
	uint32_t refused;
	const char *why;
	int watch; /* inotify descriptor; 0: none */
	struct watched *watched_folders;
	uint32_t nwatched;
	uint64_t watched; /* CLOCK_MONOTONIC when watching began */
	uint32_t hint; /* index of the last file found */
	bool no_memory;
};

/* A watched folder. */
struct watched {
	int number; /* inotify watch descriptor */
	uint32_t uid;
	bool fired; /* a page appeared that was not opened yet, or was not ready */
	char *path;
};

/* A folder being scanned, and what its user may still use of the limits. */
struct folder {
	const char *path;
	int fd;
	uint32_t uid, files;
	uint64_t budget;
};

int nvs_pages_open(struct nvs_pages **pages, uint32_t flags)
{
	struct rlimit files;

	*pages = calloc(1, sizeof(**pages));
	if (!*pages)
		return -ENOMEM;
	(*pages)->flags = flags;
	nvs_machine_id_read(&(*pages)->here);
	/* Each process takes one descriptor: the default limit is soon reached. */
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max < 2 * MAX_FILES ? files.rlim_max : 2 * MAX_FILES;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	return 0;
}

static void remove_file(struct nvs_pages *pages, uint32_t i)
{
	nvs_page_free(pages->files[i]);
	free(pages->files[i]);
	pages->files[i] = pages->files[--pages->n];
}

void nvs_pages_close(struct nvs_pages *pages)
{
	if (!pages)
		return;
	while (pages->n)
		remove_file(pages, pages->n - 1);
	if (pages->watch)
		close(pages->watch);
	while (pages->nwatched)
		free(pages->watched_folders[--pages->nwatched].path);
	free(pages->watched_folders);
	free(pages->files);
	free(pages->shown);
	free(pages->folder);
	free(pages);
}

int nvs_pages_restrict(struct nvs_pages *pages, const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	free(pages->folder);
	pages->folder = strdup(folder);
	return pages->folder ? 0 : -ENOMEM;
}

/* ---- one file ---- */

static void refuse_file(struct nvs_pages *pages, const char *why)
{
	pages->refused++;
	pages->why = why;
}

/* Returns the PID in nvsnoop.PID.live or nvsnoop.PID.N.live, or 0 for any other name. */
static uint32_t parse_pid(const char *name)
{
	static const char head[] = "nvsnoop.";
	unsigned long pid;
	char *end;

	if (strncmp(name, head, strlen(head)) || !isdigit((unsigned char)name[strlen(head)]))
		return 0;
	pid = strtoul(name + strlen(head), &end, 10);
	/* "." and a number from 1 to NVS_LIVE_NAMES - 1 */
	if (end[0] == '.' && end[1] >= '1' && end[1] <= '9')
		end += 2 + (isdigit((unsigned char)end[2]) != 0);
	return pid <= INT32_MAX && !strcmp(end, NVS_LIVE_SUFFIX) ? (uint32_t)pid : 0;
}

/* Returns why a file cannot be a page made by the folder's owner UID, or NULL. */
static const char *wrong_kind(const struct stat *st, uint32_t uid)
{
	return !S_ISREG(st->st_mode)	       ? "it is not a regular file"
	       : st->st_uid != uid	       ? "its owner is not the owner of its folder"
	       : (st->st_mode & 07777) != 0600 ? "its mode is not 0600"
					       : NULL;
}

static struct nvs_page_file *find_file(struct nvs_pages *pages, const struct stat *st)
{
	for (uint32_t i = 0; i < pages->n; i++) {
		/* Files mostly come in the same order. */
		uint32_t at = (pages->hint + 1 + i) % pages->n;
		struct nvs_page_file *file = pages->files[at];

		if (file->ino == st->st_ino && file->dev == st->st_dev) {
			pages->hint = at;
			return file;
		}
	}
	return NULL;
}

static struct nvs_page_file *add_file(struct nvs_pages *pages)
{
	struct nvs_page_file *file;

	if (pages->n == pages->room) {
		uint32_t room = pages->room ? 2 * pages->room : 64;
		struct nvs_page_file **more = realloc(pages->files, room * sizeof(*more));

		if (!more)
			return NULL;
		pages->files = more;
		pages->room = room;
	}
	file = calloc(1, sizeof(*file));
	if (file) {
		file->fd = -1;
		pages->files[pages->n++] = file;
	}
	return file;
}

/* A killed process leaves its page behind. Unlinks it if the name still refers to this file. */
static void unlink_dead_page(const struct nvs_pages *pages, const struct nvs_page_file *file,
			     const struct folder *folder, const char *name)
{
	const struct nvs_live *head = &file->head;
	struct stat st;

	if (folder->uid != geteuid() ||
	    (!nvs_can_look_up_pid(&pages->here, head) &&
	     !memcmp(head->boot, pages->here.boot, sizeof(head->boot)) &&
	     pages->now - head->heard < NVS_LIVE_ABANDONED_NS))
		return;
	if (!fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_ino == file->ino &&
	    st.st_dev == file->dev)
		unlinkat(folder->fd, name, 0);
}

/* Returns true for a page whose process was killed before it was ready: nobody can use it. */
static bool never_ready(const struct folder *folder, const struct nvs_page_file *file,
			const struct stat *st)
{
	return folder->uid == geteuid() && !file->head.magic && S_ISREG(st->st_mode) &&
	       time(NULL) - st->st_mtime > READY_S;
}

/* Opens a new name, and adds it if it is a page of a live process. */
static void open_page(struct nvs_pages *pages, struct folder *folder, const char *name,
		      uint32_t pid)
{
	int fd = openat(folder->fd, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct nvs_page_file *file, probe = {.fd = fd};
	const char *why;
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		if (errno != ENOENT)
			refuse_file(pages, "it cannot be opened");
		if (fd >= 0)
			close(fd);
		return;
	}
	why = wrong_kind(&st, folder->uid);
	if (!why && nvs_page_read_head(&probe, (uint64_t)st.st_size, &folder->budget))
		why = probe.wrong;
	if (!why && probe.head.pid != pid)
		why = "the PID in it differs from its name";
	if (!why && !nvs_process_has_uid(&pages->here, &probe.head, folder->uid) &&
	    nvs_process_alive(&pages->here, &probe.head, pages->now))
		why = "its process belongs to another user";
	file = why ? NULL : add_file(pages);
	if (!file) {
		if (why && never_ready(folder, &probe, &st))
			unlinkat(folder->fd, name, 0);
		else if (why)
			refuse_file(pages, why);
		else
			pages->no_memory = true;
		close(fd);
		return;
	}
	*file = probe;
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->listed = true;
	file->page.uid = folder->uid;
	if (asprintf(&file->path, "%s/%s", folder->path, name) < 0)
		file->path = NULL;
	file->page.path = file->path ? file->path : "";
	if (nvs_process_alive(&pages->here, &file->head, pages->now))
		return;
	/* It ended after watching began: its last totals are still to be shown. */
	if (pages->watch && file->head.heard >= pages->watched)
		return;
	file->buried = true;
	unlink_dead_page(pages, file, folder, name);
}

/* ---- folders ---- */

static void scan_folder(struct nvs_pages *pages, struct folder *folder)
{
	DIR *dir = fdopendir(dup(folder->fd));
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		uint32_t pid = parse_pid(entry->d_name);
		struct nvs_page_file *file;
		struct stat st;

		if (!pid || fstatat(folder->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (folder->files++ == MAX_FILES) {
			refuse_file(pages, "its user has too many");
			break;
		}
		file = find_file(pages, &st);
		if (file && (file->buried || file->page.gone) && !file->listed)
			unlink_dead_page(pages, file, folder, entry->d_name);
		if (file)
			file->listed = true;
		else
			open_page(pages, folder, entry->d_name, pid);
	}
	if (dir)
		closedir(dir);
}

/* Adds an inotify watch for FOLDER. If another folder had this PATH before, its watch is removed.
 *  */
static void watch_folder(struct nvs_pages *pages, const struct folder *folder, const char *path)
{
	struct watched *more;
	char own[64];
	int number;

	if (!pages->watch)
		return;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", folder->fd);
	number = inotify_add_watch(pages->watch, own, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
	for (uint32_t i = 0; i < pages->nwatched; i++) {
		struct watched *w = pages->watched_folders + i;

		if (w->number == number)
			return;
		if (number < 0 || strcmp(w->path, path))
			continue;
		inotify_rm_watch(pages->watch, w->number);
		w->number = number;
		w->uid = folder->uid;
		return;
	}
	more = number < 0 ? NULL
			  : realloc(pages->watched_folders, (pages->nwatched + 1) * sizeof(*more));
	if (!more)
		return;
	pages->watched_folders = more;
	more[pages->nwatched] = (struct watched){number, folder->uid, false, strdup(path)};
	pages->nwatched += more[pages->nwatched].path != NULL;
}

/* Scans PATH if it is a folder of user UID into which nobody else may write. Returns false if
 * something else has that name. */
static bool scan_if_owned(struct nvs_pages *pages, struct folder *folder, const char *path)
{
	struct stat st;
	bool good;

	folder->path = path;
	folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder->fd < 0)
		return errno == ENOENT;
	good = !fstat(folder->fd, &st) && st.st_uid == folder->uid && !(st.st_mode & 022);
	if (good) {
		watch_folder(pages, folder, path);
		scan_folder(pages, folder);
	}
	close(folder->fd);
	return good;
}

/* Another user owns /tmp/TAKEN: scans the folders whose names begin with TAKEN and a dot. */
static void scan_alternatives(struct nvs_pages *pages, struct folder *folder, const char *taken)
{
	DIR *dir = opendir("/tmp");
	size_t n = strlen(taken);
	struct dirent *entry;
	char path[PATH_MAX];

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, taken, n) || entry->d_name[n] != '.')
			continue;
		snprintf(path, sizeof(path), "/tmp/%s", entry->d_name);
		scan_if_owned(pages, folder, path);
	}
	if (dir)
		closedir(dir);
}

static void scan_user(struct nvs_pages *pages, uint32_t uid)
{
	struct folder folder = {.uid = uid, .budget = MAX_BYTES};
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char path[64];

	if (uid == geteuid() && runtime && *runtime == '/')
		scan_if_owned(pages, &folder, runtime);
	snprintf(path, sizeof(path), NVS_LIVE_SHARED "/%u", uid);
	scan_if_owned(pages, &folder, path);
	snprintf(path, sizeof(path), "/run/user/%u", uid);
	scan_if_owned(pages, &folder, path);
	snprintf(path, sizeof(path), "/tmp/nvsnoop-%u", uid);
	if (!scan_if_owned(pages, &folder, path))
		scan_alternatives(pages, &folder, strrchr(path, '/') + 1);
}

/* Returns the number after HEAD in NAME, or UINT32_MAX if NAME has another form. */
static uint32_t parse_uid(const char *name, const char *head)
{
	size_t n = strlen(head);
	unsigned long uid;
	char *end;

	if (strncmp(name, head, n) || !isdigit((unsigned char)name[n]) ||
	    (name[n] == '0' && name[n + 1]))
		return UINT32_MAX;
	uid = strtoul(name + n, &end, 10);
	return *end || uid >= UINT32_MAX ? UINT32_MAX : (uint32_t)uid;
}

/* Scans the folders of all users that have one in PATH. Users in ASKED were scanned already. */
static void scan_users(struct nvs_pages *pages, const char *path, const char *head,
		       uint32_t **asked, size_t *n)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		uint32_t uid = parse_uid(entry->d_name, head), *more;
		size_t i = 0;

		while (i < *n && (*asked)[i] != uid)
			i++;
		if (uid == UINT32_MAX || i < *n || *n >= MAX_FILES)
			continue;
		more = realloc(*asked, (*n + 1) * sizeof(*more));
		if (!more)
			break;
		*asked = more;
		more[(*n)++] = uid;
		scan_user(pages, uid);
	}
	if (dir)
		closedir(dir);
}

/* The user to whom the pages in PATH must belong: root may read any user's. */
static uint32_t expected_owner(const char *path)
{
	struct stat st;

	return geteuid() || lstat(path, &st) ? geteuid() : st.st_uid;
}

static void scan_all(struct nvs_pages *pages)
{
	uint32_t *asked;
	size_t n = 1;

	if (pages->folder) {
		struct folder folder = {.uid = expected_owner(pages->folder), .budget = MAX_BYTES};

		scan_if_owned(pages, &folder, pages->folder);
		return;
	}
	asked = malloc(sizeof(*asked));
	if (!asked) {
		pages->no_memory = true;
		return;
	}
	*asked = geteuid();
	scan_user(pages, *asked);
	if (!*asked) {
		scan_users(pages, NVS_LIVE_SHARED, "", &asked, &n);
		scan_users(pages, "/run/user", "", &asked, &n);
		scan_users(pages, "/tmp", "nvsnoop-", &asked, &n);
	}
	free(asked);
}

/* ---- reading ---- */

/* Reads a page. Returns whether it is to be shown. */
static bool read_page(struct nvs_pages *pages, struct nvs_page_file *file, uint64_t *budget)
{
	struct stat st;
	bool gone;
	int r;

	/* The last totals have been shown. */
	if (file->buried || file->page.gone) {
		file->buried = true;
		return false;
	}
	if (fstat(file->fd, &st) || wrong_kind(&st, file->page.uid)) {
		refuse_file(pages, "its type, owner or mode was changed");
		return false;
	}
	/* Checked before reading: what is read of a live process may not be its last state. */
	gone = !nvs_page_read_head(file, (uint64_t)st.st_size, budget) &&
	       !nvs_process_alive(&pages->here, &file->head, pages->now);
	r = nvs_page_read(file, (uint64_t)st.st_size, budget, pages->now, pages->flags);
	if (r) {
		pages->no_memory |= r == -ENOMEM || !file->wrong;
		refuse_file(pages, file->wrong ? file->wrong : "not enough memory to read it");
		/* A page that cannot be read may have ended too. */
		file->buried = !nvs_process_alive(&pages->here, &file->head, pages->now);
		return false;
	}
	file->page.gone = gone;
	file->page.pid_namespace = file->head.pid_namespace == pages->here.pid_namespace
					   ? 0
					   : file->head.pid_namespace;
	return true;
}

static int compare_by_uid(const void *a, const void *b)
{
	const struct nvs_page_file *one = *(struct nvs_page_file *const *)a;
	const struct nvs_page_file *two = *(struct nvs_page_file *const *)b;

	return NVS_CMP(one->page.uid, two->page.uid);
}

/* By PID and namespace. Of one process live pages come before ended ones, newer before older. */
static int compare_by_pid(const void *a, const void *b)
{
	const struct nvs_page *one = &(*(struct nvs_page_file *const *)a)->page;
	const struct nvs_page *two = &(*(struct nvs_page_file *const *)b)->page;

	return NVS_CMP(one->pid, two->pid)
		       ?: NVS_CMP(one->pid_namespace, two->pid_namespace)
		       ?: one->gone - two->gone
		       ?: NVS_CMP(two->begun_ns, one->begun_ns);
}

static void read_all(struct nvs_pages *pages)
{
	uint64_t budget = 0;
	uint32_t n = 0;

	qsort(pages->files, pages->n, sizeof(*pages->files), compare_by_uid);
	for (uint32_t i = 0; i < pages->n; i++) {
		struct nvs_page_file *file = pages->files[i];

		if (!i || pages->files[i - 1]->page.uid != file->page.uid)
			budget = MAX_BYTES;
		file->shown = read_page(pages, file, &budget);
		if (file->shown)
			pages->shown[n++] = file;
	}
	qsort(pages->shown, n, sizeof(*pages->shown), compare_by_pid);
	pages->nshown = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!pages->nshown ||
		    !nvs_page_is(&pages->shown[i]->page, &pages->shown[pages->nshown - 1]->page))
			pages->shown[pages->nshown++] = pages->shown[i];
}

int nvs_pages_update(struct nvs_pages *pages)
{
	struct nvs_page_file **more;

	pages->refused = pages->nshown = 0;
	pages->why = NULL;
	pages->no_memory = false;
	pages->now = nvs_mono_ns();
	for (uint32_t i = 0; i < pages->n; i++)
		pages->files[i]->listed = false;
	scan_all(pages);
	/* An ended page keeps its entry while its name exists, so that it is not opened again. */
	for (uint32_t i = pages->n; i-- > 0;)
		if (pages->files[i]->buried && !pages->files[i]->listed)
			remove_file(pages, i);
	if (!pages->n)
		return pages->no_memory ? -ENOMEM : 0;
	more = realloc(pages->shown, pages->n * sizeof(*more));
	if (!more)
		return -ENOMEM;
	pages->shown = more;
	/* The pages' clocks are read now, so take the time again. */
	pages->now = nvs_mono_ns();
	read_all(pages);
	return pages->no_memory ? -ENOMEM : 0;
}

int nvs_pages_watch(struct nvs_pages *pages)
{
	int fd = pages->watch ? pages->watch : inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	pages->watch = fd > 0 ? fd : 0;
	pages->watched = nvs_mono_ns();
	return pages->watch ? fd : -1;
}

/* A page was created in a folder, or the folder was deleted. */
static void handle_event(struct nvs_pages *pages, const struct inotify_event *e)
{
	for (uint32_t i = 0; i < pages->nwatched; i++) {
		struct watched *w = pages->watched_folders + i;

		if (w->number != e->wd && !(e->mask & IN_Q_OVERFLOW))
			continue;
		w->fired |= e->mask & IN_Q_OVERFLOW || (e->len && parse_pid(e->name));
		if (e->mask & IN_IGNORED) {
			free(w->path);
			*w = pages->watched_folders[--pages->nwatched];
			return;
		}
	}
}

static void handle_events(struct nvs_pages *pages)
{
	char buffer[8192] __attribute__((aligned(8)));
	ssize_t n;

	while ((n = read(pages->watch, buffer, sizeof(buffer))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const void *)(buffer + at);

			handle_event(pages, e);
			at += (ssize_t)(sizeof(*e) + e->len);
		}
}

bool nvs_pages_open_new(struct nvs_pages *pages)
{
	bool unready = false;

	if (!pages->watch)
		return false;
	handle_events(pages);
	pages->now = nvs_mono_ns();
	for (uint32_t i = 0; i < pages->nwatched; i++) {
		struct watched *w = pages->watched_folders + i;
		struct folder folder = {.uid = w->uid, .budget = MAX_BYTES};

		if (!w->fired)
			continue;
		pages->refused = 0;
		scan_if_owned(pages, &folder, w->path);
		w->fired = pages->refused;
		unready |= w->fired;
	}
	return unready;
}

bool nvs_page_is(const struct nvs_page *page, const struct nvs_page *other)
{
	return page->pid == other->pid && page->pid_namespace == other->pid_namespace;
}

uint32_t nvs_pages_count(const struct nvs_pages *pages)
{
	return pages->nshown;
}

const struct nvs_page *nvs_pages_get(const struct nvs_pages *pages, uint32_t index)
{
	return &pages->shown[index]->page;
}

uint32_t nvs_pages_refused(const struct nvs_pages *pages, const char **why)
{
	*why = pages->why;
	return pages->refused;
}
