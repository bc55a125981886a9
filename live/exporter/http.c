/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server, on libmicrohttpd. The library is loaded at run time, so that --textfile works
 * where it is not installed, or where this program was built without its header. One thread does
 * everything, so counters need no lock.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "live/exporter/http.h"

const char *const nvs_http_code_names[NVS_HTTP_ANSWERS] = {"200", "400", "404", "405", "409",
							   "429", "500", "503", "none"};

#if __has_include(<microhttpd.h>)
#include <dlfcn.h>
#include <microhttpd.h>
#include <sys/socket.h>
#include "live/exporter/accept.h"
#include "live/exporter/profile.h"
#include "live/read/page_set.h"

enum {
	CONNECTIONS = 32,
	HEADER_BYTES = 8 << 10,
	HEADER_MS = 3000,
	WHOLE_MS = 10000,
	OUTSTANDING = 256 << 20,
	PROFILE_MS = 20, /* between two polls of profiles */
};

#define FUNCTIONS(X)                                          \
	X(MHD_add_response_header)                            \
	X(MHD_create_response_from_buffer)                    \
	X(MHD_create_response_from_buffer_with_free_callback) \
	X(MHD_destroy_response)                               \
	X(MHD_get_connection_info)                            \
	X(MHD_get_daemon_info)                                \
	X(MHD_get_timeout)                                    \
	X(MHD_lookup_connection_value)                        \
	X(MHD_queue_response)                                 \
	X(MHD_resume_connection)                              \
	X(MHD_run)                                            \
	X(MHD_start_daemon)                                   \
	X(MHD_stop_daemon)                                    \
	X(MHD_suspend_connection)

#define MEMBER(name) __typeof__(name) *name;
static struct {
	FUNCTIONS(MEMBER)
} mhd;

static bool resolve_symbols(void *library)
{
	void *symbol;

#define LOOK_UP(name)                   \
	symbol = dlsym(library, #name); \
	if (!symbol)                    \
		return false;           \
	memcpy(&mhd.name, &symbol, sizeof(mhd.name));
	FUNCTIONS(LOOK_UP)
	return true;
}

/* A connection with our own deadline: the library's timeout restarts with each byte. */
struct connection {
	struct connection *next, **at;
	struct MHD_Connection *own;
	int fd;
	uint64_t since;
	bool asked, left;
	struct nvs_profile *profile; /* that it asked for */
	bool suspended; /* until the profile is done */
};
static struct connection *connections;
static bool room_again; /* a connection was closed: a waiting client is accepted in the next run */

/* An answer that a client has not received yet. */
struct waiting_answer {
	size_t size;
	char text[];
};
static size_t outstanding;

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct nvs_http *http = arg;
	struct connection *c = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info =
			mhd.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

		c = calloc(1, sizeof(*c));
		if (!c || !info) {
			free(c);
			if (info)
				shutdown(info->connect_fd, SHUT_RDWR);
			return;
		}
		*c = (struct connection){.next = connections,
					 .at = &connections,
					 .own = connection,
					 .fd = info->connect_fd,
					 .since = nvs_mono_ms()};
		if (connections)
			connections->at = &c->next;
		connections = c;
		*context = c;
	} else if (c) {
		if (!c->asked)
			http->answers[NVS_HTTP_NONE]++;
		*c->at = c->next;
		if (c->next)
			c->next->at = c->at;
		nvs_profile_end(c->profile);
		free(c);
		*context = NULL;
		room_again = true;
	}
}

/*
 * libmicrohttpd misses a client that hangs up in the middle of a request if the hangup arrives with
 * the last bytes: it waits for another event, and the connection stays open until its deadline.
 * Resuming the connection makes the library check it again.
 */
static void close_hung_up(struct connection *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

	if (c->asked || c->left || poll(&p, 1, 0) != 1)
		return;
	c->left = true;
	mhd.MHD_suspend_connection(c->own);
	mhd.MHD_resume_connection(c->own);
}

static void close_overdue(void)
{
	uint64_t now = nvs_mono_ms();

	for (struct connection *c = connections; c; c = c->next)
		close_hung_up(c);
	for (struct connection *c = connections; c; c = c->next)
		if (!c->suspended && now - c->since > (c->asked ? WHOLE_MS : HEADER_MS))
			shutdown(c->fd, SHUT_RDWR);
}

static void resume(struct connection *c)
{
	c->suspended = false;
	c->since = nvs_mono_ms();
	mhd.MHD_resume_connection(c->own);
}

/* Resumes connections whose profiles are done. */
static void poll_profiles(void)
{
	for (struct connection *c = connections; c; c = c->next)
		if (c->suspended && nvs_profile_poll(c->profile).status)
			resume(c);
}

static void free_answer(void *text)
{
	struct waiting_answer *w = (struct waiting_answer *)((char *)text - sizeof(*w));

	outstanding -= w->size;
	free(w);
}

/* Returns NULL if too many answers are outstanding, or if there is no memory. */
static struct MHD_Response *create_metrics_answer(struct nvs_http *http, bool openmetrics)
{
	struct nvs_exposition e = {.openmetrics = openmetrics};
	struct MHD_Response *r = NULL;
	struct waiting_answer *w = NULL;

	if (outstanding < OUTSTANDING) {
		http->scrape(http->arg, &e);
		w = e.failed ? NULL : malloc(sizeof(*w) + e.size);
	}
	if (w) {
		w->size = e.size;
		memcpy(w->text, e.text, e.size);
		outstanding += w->size;
		r = mhd.MHD_create_response_from_buffer_with_free_callback(e.size, w->text,
									   free_answer);
		if (!r)
			free_answer(w->text);
	}
	free(e.text);
	return r;
}

static struct MHD_Response *create_text_answer(const char *text)
{
	return mhd.MHD_create_response_from_buffer(strlen(text), (void *)text,
						   MHD_RESPMEM_PERSISTENT);
}

static const char front[] = "<!DOCTYPE html><html lang=\"en\"><head><meta "
			    "charset=\"utf-8\"><title>nvsnoop-exporter</title></head>\n"
			    "<body><h1>nvsnoop-exporter " NVS_VERSION
			    "</h1><p><a href=\"/metrics\">Metrics</a>, <a "
			    "href=\"/debug/pprof/gpu\">GPU profile</a>, <a "
			    "href=\"/debug/pprof/host\">host profile</a></p></body></html>\n";

static enum MHD_Result send_answer(struct MHD_Connection *connection, unsigned int status,
				   struct MHD_Response *r, const char *type)
{
	enum MHD_Result done;

	if (!r)
		return MHD_NO;
	mhd.MHD_add_response_header(r, "Content-Type", type);
	mhd.MHD_add_response_header(r, "Connection", "close");
	mhd.MHD_add_response_header(r, "Cache-Control", "no-store");
	mhd.MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd.MHD_add_response_header(r, "Allow", "GET, HEAD");
	done = mhd.MHD_queue_response(connection, status, r);
	mhd.MHD_destroy_response(r);
	return done;
}

static const char plain[] = "text/plain; charset=utf-8";

/* Reads a number of at most MAX from the request's argument NAME. Returns false if it is malformed.
 * The number keeps its value if there is none. */
static bool read_argument(struct MHD_Connection *connection, const char *name, uint32_t max,
			  uint32_t *number)
{
	const char *text = mhd.MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
	uint64_t value = 0;

	if (!text)
		return true;
	for (const char *at = text; *at; at++) {
		if (*at < '0' || *at > '9' || at - text > 9)
			return false;
		value = 10 * value + (uint64_t)(*at - '0');
	}
	*number = (uint32_t)value;
	return value && value <= max;
}

static enum MHD_Result send_profile(struct nvs_http *http, struct connection *c)
{
	static const struct {
		int status;
		enum nvs_http_answer answer;
	} answers[] = {{MHD_HTTP_OK, NVS_HTTP_OK},
		       {MHD_HTTP_NOT_FOUND, NVS_HTTP_NOT_FOUND},
		       {MHD_HTTP_CONFLICT, NVS_HTTP_CONFLICT},
		       {429, NVS_HTTP_TOO_MANY},
		       {MHD_HTTP_INTERNAL_SERVER_ERROR, NVS_HTTP_FAILED}};
	struct nvs_profile_answer a = nvs_profile_poll(c->profile);
	struct MHD_Response *r = mhd.MHD_create_response_from_buffer(
		a.size, (void *)(uintptr_t)a.data, MHD_RESPMEM_MUST_COPY);

	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		http->answers[answers[i].answer] += answers[i].status == a.status;
	if (r && a.status == MHD_HTTP_OK) {
		mhd.MHD_add_response_header(r, "Content-Disposition",
					    "attachment; filename=\"profile.pb.gz\"");
		if (*a.left_out)
			mhd.MHD_add_response_header(r, "Nvsnoop-Left-Out", a.left_out);
	}
	nvs_profile_end(c->profile);
	c->profile = NULL;
	return send_answer(c->own, (unsigned int)a.status, r,
			   a.status == MHD_HTTP_OK ? "application/octet-stream" : plain);
}

/* Begins a profile, and answers when it is done. */
static enum MHD_Result handle_profile(struct nvs_http *http, struct connection *c, bool gpu)
{
	struct nvs_profile_terms terms = {.gpu = gpu, .seconds = NVS_PROFILE_SECONDS};

	if (c->profile)
		return send_profile(http, c);
	if (!read_argument(c->own, "seconds", NVS_PROFILE_SECONDS_MAX, &terms.seconds) ||
	    !read_argument(c->own, "pid", INT32_MAX, &terms.pid)) {
		http->answers[NVS_HTTP_BAD]++;
		return send_answer(c->own, MHD_HTTP_BAD_REQUEST,
				   create_text_answer("seconds is a number from 1 to 60; pid is "
						      "the number of a process\n"),
				   plain);
	}
	c->profile = nvs_profile_start(&terms);
	if (!c->profile)
		return MHD_NO;
	if (nvs_profile_poll(c->profile).status)
		return send_profile(http, c);
	c->suspended = true;
	mhd.MHD_suspend_connection(c->own);
	return MHD_YES;
}

static enum MHD_Result handle_request(void *arg, struct MHD_Connection *connection, const char *url,
				      const char *method, const char *version, const char *upload,
				      size_t *upload_size, void **request)
{
	struct nvs_http *http = arg;
	const union MHD_ConnectionInfo *info =
		mhd.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct connection *c = info ? info->socket_context : NULL;
	struct MHD_Response *r;
	bool open;

	if (c)
		c->asked = true;
	if (strcmp(method, "GET") && strcmp(method, "HEAD")) {
		http->answers[NVS_HTTP_NOT_ALLOWED]++;
		return send_answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				   create_text_answer("only GET and HEAD\n"), plain);
	}
	if (!strcmp(url, "/")) {
		http->answers[NVS_HTTP_OK]++;
		return send_answer(connection, MHD_HTTP_OK, create_text_answer(front),
				   "text/html; charset=utf-8");
	}
	if (c && !strcmp(method, "GET") &&
	    (!strcmp(url, "/debug/pprof/gpu") || !strcmp(url, "/debug/pprof/host")))
		return handle_profile(http, c, !strcmp(url, "/debug/pprof/gpu"));
	if (strcmp(url, "/metrics")) {
		http->answers[NVS_HTTP_NOT_FOUND]++;
		return send_answer(
			connection, MHD_HTTP_NOT_FOUND,
			create_text_answer("only /metrics and /debug/pprof/ gpu or host exist\n"),
			plain);
	}
	open = nvs_prefers_openmetrics(
		mhd.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept"));
	r = create_metrics_answer(http, open);
	http->answers[r ? NVS_HTTP_OK : NVS_HTTP_UNAVAILABLE]++;
	if (!r)
		return send_answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				   create_text_answer("too many answers are outstanding\n"), plain);
	mhd.MHD_add_response_header(r, "Vary", "Accept");
	return send_answer(connection, MHD_HTTP_OK, r,
			   open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
				: "text/plain; version=0.0.4; charset=utf-8");
}

/* Disables unescaping: /metrics%00 must not match /metrics. */
static size_t keep_escapes(void *arg, struct MHD_Connection *connection, char *text)
{
	return strlen(text);
}

static int min_timeout(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Returns the poll timeout in ms; -1: none. */
static int poll_timeout(struct MHD_Daemon *daemon)
{
	int timeout = room_again ? 0 : connections ? 100 : -1;
	MHD_UNSIGNED_LONG_LONG ms;

	room_again = false;
	if (mhd.MHD_get_timeout(daemon, &ms) == MHD_YES)
		timeout = min_timeout(timeout, ms > 100 ? 100 : (int)ms);
	return timeout;
}

static bool has_suspended(void)
{
	for (const struct connection *c = connections; c; c = c->next)
		if (c->suspended)
			return true;
	return false;
}

static void run_loop(struct nvs_http *http, struct MHD_Daemon *daemon, int stop)
{
	const union MHD_DaemonInfo *info = mhd.MHD_get_daemon_info(daemon,
								   MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[] = {{.fd = info->epoll_fd, .events = POLLIN},
			       {.fd = stop, .events = POLLIN},
			       {.fd = http->watch, .events = POLLIN}};
	int again = -1;

	while (!fds[1].revents) {
		int wait = min_timeout(poll_timeout(daemon), has_suspended() ? PROFILE_MS : -1);
		int n = poll(fds, 3, min_timeout(wait, again));

		if (n < 0 && errno != EINTR)
			return;
		if (n >= 0 && (fds[2].revents || again >= 0))
			again = http->notice(http->arg, fds[2].revents);
		poll_profiles();
		mhd.MHD_run(daemon);
		close_overdue();
	}
	/* The library wants none to be suspended at its end. */
	for (struct connection *c = connections; c; c = c->next)
		if (c->suspended)
			resume(c);
}

int nvs_http_serve(struct nvs_http *http, int listener, int stop, char *message, size_t room)
{
	void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
	struct MHD_Daemon *daemon;

	if (!library || !resolve_symbols(library)) {
		snprintf(message, room,
			 "libmicrohttpd.so.12 is not installed (package libmicrohttpd12); "
			 "--textfile works without it");
		return -1;
	}
	daemon = mhd.MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle_request, http,
		MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listener, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)(WHOLE_MS / 1000),
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
		MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_END);
	if (!daemon) {
		snprintf(message, room, "cannot start libmicrohttpd: %s", strerror(errno));
		return -1;
	}
	run_loop(http, daemon, stop);
	mhd.MHD_stop_daemon(daemon);
	return 0;
}

#else

int nvs_http_serve(struct nvs_http *http, int listener, int stop, char *message, size_t room)
{
	snprintf(message, room,
		 "built without libmicrohttpd (package libmicrohttpd-dev); "
		 "--textfile works without it");
	return -1;
}
#endif
