/* SPDX-License-Identifier: MIT */
/* The parent's side of the helper: starts it, sends questions, and ends it. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "decode/trace/helper.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int helper_fd = -1;
static pid_t helper, parent;
static unsigned deaths;
static uint64_t spent_ms; /* CPU time of former children */

static uint64_t to_ms(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_usec / 1000;
}

static void end_helper(void)
{
	struct rusage used;

	if (helper_fd < 0)
		return;
	close(helper_fd);
	helper_fd = -1;
	/* After a fork of this process, the helper is another process's child. */
	if (parent != getpid())
		return;
	kill(helper, SIGKILL);
	while (wait4(helper, NULL, 0, &used) < 0)
		if (errno != EINTR)
			return;
	spent_ms += to_ms(used.ru_utime) + to_ms(used.ru_stime);
}

static void set_limit(int what, uint64_t value)
{
	struct rlimit r;

	if (getrlimit(what, &r))
		return;
	if (r.rlim_max != RLIM_INFINITY && value > r.rlim_max)
		value = r.rlim_max;
	if (r.rlim_cur == RLIM_INFINITY || value < r.rlim_cur)
		r.rlim_cur = value;
	setrlimit(what, &r);
}

/* Address space of this process in bytes; huge with a sanitizer. */
static uint64_t address_space(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (f && fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool start_helper(void)
{
	uint64_t space = address_space();
	int fds[2];

	if (deaths >= NVS_HELPER_DEATHS || spent_ms >= NVS_HELPER_TOTAL_S * 1000 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return false;
	parent = getpid();
	helper = fork();
	if (!helper) {
		set_limit(RLIMIT_CPU, NVS_HELPER_TOTAL_S - spent_ms / 1000);
		if (space)
			set_limit(RLIMIT_AS, space + NVS_HELPER_MEMORY);
		nvs_helper_serve(fds[1]);
	}
	close(fds[1]);
	helper_fd = fds[0];
	if (helper < 0) {
		close(helper_fd);
		helper_fd = -1;
	}
	return helper > 0;
}

/* Returns the length of the answer, or -1 if the helper has died or hangs. */
static ssize_t get_answer(const struct nvs_helper_question *question, char *text, size_t room)
{
	size_t size = offsetof(struct nvs_helper_question, text) + question->length;
	struct pollfd wait = {.fd = helper_fd, .events = POLLIN};
	ssize_t n;

	while (send(helper_fd, question, size, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -1;
	do
		n = poll(&wait, 1, NVS_HELPER_WAIT_MS);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		return -1;
	/* An answer begins with an extra byte, so that an empty answer differs from end of file. */
	do
		n = recv(helper_fd, text, room, 0);
	while (n < 0 && errno == EINTR);
	return n - 1;
}

static char *ask_helper(const struct nvs_helper_question *question)
{
	size_t room = NVS_HELPER_MAX_TEXT + 1;
	char *text = malloc(room), *answer = NULL;
	ssize_t n = -1;

	if (!text)
		return NULL;
	pthread_mutex_lock(&lock);
	if (helper_fd >= 0 && parent != getpid())
		end_helper();
	if (question->id_length && nvs_helper_load_libdw())
		end_helper();
	if (helper_fd >= 0 || start_helper()) {
		n = get_answer(question, text, room);
		if (n < 0 || (size_t)n >= room) {
			n = -1;
			deaths++;
			end_helper();
		}
	}
	/* More names are missing than the one that exceeded the limits. */
	if (n < 0 && (deaths >= NVS_HELPER_DEATHS || spent_ms >= NVS_HELPER_TOTAL_S * 1000))
		nvs_budget_set_exceeded();
	pthread_mutex_unlock(&lock);
	if (n > 0)
		answer = strndup(text + 1, (size_t)n);
	free(text);
	return answer;
}

char *nvs_helper_name(const char *name)
{
	struct nvs_helper_question question = {
		.length = (uint32_t)strnlen(name, sizeof(question.text))};

	if ((strncmp(name, "_Z", 2) && strncmp(name, "_R", 2)) ||
	    question.length == sizeof(question.text))
		return NULL;
	memcpy(question.text, name, question.length);
	return ask_helper(&question);
}

char *nvs_helper_line(const char *path, const uint8_t *id, uint32_t id_length, uint64_t offset)
{
	struct nvs_helper_question question = {
		.length = (uint32_t)strnlen(path, sizeof(question.text)),
		.id_length = id_length,
		.offset = offset};

	if (!id_length || id_length > sizeof(question.id) ||
	    question.length == sizeof(question.text))
		return NULL;
	memcpy(question.id, id, id_length);
	memcpy(question.text, path, question.length);
	return ask_helper(&question);
}

void nvs_helper_stop(void)
{
	pthread_mutex_lock(&lock);
	end_helper();
	deaths = 0;
	spent_ms = 0;
	pthread_mutex_unlock(&lock);
}
