/* SPDX-License-Identifier: MIT */
/*
 * Ranges and marks of all kinds, around launches that the program counts; --by-nvtx must have the
 * counts that it prints. Lines, with tabs: "DOMAIN KIND COUNT OPEN CALLS LAUNCHES PATH"; for
 * started ranges and marks CALLS and LAUNCHES are "-". Built once with NVTX's own headers, if
 * installed, and once with nvtx.h.
 *
 *   ranges        everything in one process
 *   ranges early  more ranges than there is space for, before the GPU is opened
 *   ranges kill   is killed with open ranges
 *   ranges fork   some ranges around a fork; prints the pid and the lines of each process
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../app.h"
#ifdef HEADERS
#include <nvtx3/nvToolsExt.h>
#else
#include "nvtx.h"
#endif

enum { ROWS = 64, DEPTH = 8, DOMAINS = 2, STEPS = 5, WORKERS = 3, NAMES = 1000 };

static struct row {
	int domain;
	char kind[8], path[128];
	int count, open, calls, launches;
} rows[ROWS];
static int nrows;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local struct row *nest[DOMAINS][DEPTH];
static _Thread_local int depth[DOMAINS];
static int before[DOMAINS]; /* pushed in the process that this one was forked from */
static int nobody; /* no tool listens: NVTX says so at each push and pop */

static nvtxDomainHandle_t layers;
static nvtxStringHandle_t step, wide_step;
static CUcontext context;
static CUfunction kernel;
static CUdeviceptr word;

/* ---- what the program counts ---- */

static struct row *row_of(int domain, const char *kind, const char *path)
{
	struct row *r = rows;

	pthread_mutex_lock(&lock);
	while (r < rows + nrows &&
	       (r->domain != domain || strcmp(r->kind, kind) || strcmp(r->path, path)))
		r++;
	EXPECT(r < rows + ROWS, "rows");
	if (r == rows + nrows) {
		nrows++;
		memset(r, 0, sizeof(*r));
		r->domain = domain;
		strcpy(r->kind, kind);
		strcpy(r->path, path);
	}
	r->count++;
	pthread_mutex_unlock(&lock);
	return r;
}

static void path_of(int domain, const char *name, char path[256])
{
	path[0] = '\0';
	if (depth[domain]) {
		strcpy(path, nest[domain][depth[domain] - 1]->path);
		strcat(path, "/");
	}
	strcat(path, name);
}

static void pushed(int domain, const char *name, int said)
{
	char path[256];

	path_of(domain, name, path);
	EXPECT(said == (nobody ? -2 : before[domain] + depth[domain]), "depth %d", said);
	nest[domain][depth[domain]] = row_of(domain, "push", path);
	depth[domain]++;
}

static void popped(int domain, int said)
{
	depth[domain]--;
	EXPECT(said == (nobody ? -2 : before[domain] + depth[domain]), "depth %d", said);
}

static void marked(int domain, const char *name)
{
	char path[256];

	path_of(domain, name, path);
	row_of(domain, "mark", path);
}

static void called(int launches)
{
	pthread_mutex_lock(&lock);
	for (int d = 0; d < DOMAINS; d++)
		for (int i = 0; i < depth[d]; i++) {
			nest[d][i]->calls++;
			nest[d][i]->launches += launches;
		}
	pthread_mutex_unlock(&lock);
}

static void print(void)
{
	for (struct row *r = rows; r < rows + nrows; r++) {
		printf("%s\t%s\t%d\t%d\t", r->domain ? "layers" : "default", r->kind, r->count,
		       r->open);
		if (strcmp(r->kind, "push"))
			printf("-\t-\t%s\n", r->path);
		else
			printf("%d\t%d\t%s\n", r->calls, r->launches, r->path);
	}
}

/* ---- work ---- */

static void launch(int n)
{
	while (n--) {
		app_add(kernel, word, 1, NULL);
		called(1);
	}
}

static void sync_all(void)
{
	CK(cuCtxSynchronize());
	called(0);
}

static nvtxEventAttributes_t attributes(void)
{
	nvtxEventAttributes_t a;

	memset(&a, 0, sizeof(a));
	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	return a;
}

static void one_step(int i)
{
	nvtxEventAttributes_t a = attributes();

	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = i % 2 ? wide_step : step;
	a.colorType = NVTX_COLOR_ARGB;
	a.color = 0xff76b900;
	a.category = 7;
	a.payloadType = NVTX_PAYLOAD_TYPE_INT32;
	a.payload.iValue = -i;
	pushed(1, i % 2 ? "größe" : "step", nvtxDomainRangePushEx(layers, &a));
	pushed(0, "forward", nvtxRangePushA("forward"));
	launch(2);
	popped(0, nvtxRangePop());
	pushed(0, "backward", nvtxRangePushA("backward"));
	launch(1);
	pushed(0, "grad\xc3\xa9", nvtxRangePushW(L"grad\u00e9"));
	launch(3);
	popped(0, nvtxRangePop());
	nvtxMarkA("half");
	marked(0, "half");
	popped(0, nvtxRangePop());
	a.messageType = NVTX_MESSAGE_TYPE_UNICODE;
	a.message.unicode = L"done";
	nvtxDomainMarkEx(layers, &a);
	marked(1, "done");
	popped(1, nvtxDomainRangePop(layers));
}

static void *end_range(void *id)
{
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	return NULL;
}

/* The same names at the same time on several threads: each is one. */
static void register_all(void)
{
	char text[32];

	EXPECT(nvtxDomainRegisterStringA(layers, "step") == step, "registered");
	for (int i = 0; i < NAMES; i++) {
		nvtxStringHandle_t own;

		sprintf(text, "name %d", i);
		own = nvtxDomainRegisterStringA(layers, text);
		EXPECT(own == nvtxDomainRegisterStringA(layers, text), "%s", text);
		EXPECT((own == NULL) == nobody, "%s", text);
	}
}

static void *work(void *arg)
{
	register_all();
	CK(cuCtxSetCurrent(context));
	called(0);
	pushed(0, "worker", nvtxRangePushA("worker"));
	launch(4);
	pushed(0, "inner", nvtxRangePushA("inner"));
	launch(1);
	popped(0, nvtxRangePop());
	sync_all();
	popped(0, nvtxRangePop());
	return NULL;
}

/* Begins the trace, on a thread of its own: what another thread has pushed by then is open in it.
 */
static void *begin(void *arg)
{
	context = app_context(0);
	kernel = app_kernel("softgpu_add");
	CK(cuMemAlloc_v2(&word, 4));
	CK(cuMemsetD8_v2(word, 0, 4));
	return NULL;
}

static void on_thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	EXPECT(!pthread_create(&t, NULL, fn, arg), "thread");
	pthread_join(t, NULL);
}

static void name_all(void)
{
	layers = nvtxDomainCreateA("layers");
	EXPECT(nvtxDomainCreateA("layers") == layers && (layers == NULL) == nobody, "domain");
	step = nvtxDomainRegisterStringA(layers, "step");
	wide_step = nvtxDomainRegisterStringW(layers, L"gr\u00f6\u00dfe");
	nvtxDomainNameCategoryA(layers, 7, "phases");
}

static void in_one_process(void)
{
	nvtxEventAttributes_t a = attributes();
	pthread_t workers[WORKERS];
	nvtxRangeId_t outer, inner;

	name_all();
	nvtxRangePop();
	pushed(0, "early", nvtxRangePushA("early"));
	on_thread(begin, NULL);
	CK(cuCtxSetCurrent(context));
	called(0);
	launch(1);
	outer = nvtxRangeStartA("outer");
	row_of(0, "start", "outer");
	for (int i = 0; i < STEPS; i++)
		one_step(i);
	popped(0, nvtxRangePop());
	nvtxRangePop();
	nvtxRangeEnd(12345);
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = "inner";
	inner = nvtxDomainRangeStartEx(layers, &a);
	row_of(1, "start", "inner");
	for (int i = 0; i < WORKERS; i++)
		EXPECT(!pthread_create(&workers[i], NULL, work, NULL), "thread");
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	on_thread(end_range, &outer);
	nvtxDomainRangeEnd(layers, inner);
	nvtxRangeStartA("never ended");
	row_of(0, "start", "never ended")->open++;
	nvtxRangePushEx(NULL);
	nvtxRangePop();
	row_of(0, "push", "-");
	pushed(0, "never popped", nvtxRangePushA("never popped"));
	nest[0][0]->open++;
	sync_all();
}

/* What is open at last has its begin in the trace, though most before it had no room. */
static void too_early(void)
{
	name_all();
	pushed(0, "first", nvtxRangePushA("first"));
	for (int i = 0; i < 20000; i++) {
		nvtxRangePushA("again and again");
		nvtxRangePop();
	}
	on_thread(begin, NULL);
	CK(cuCtxSetCurrent(context));
	called(0);
	one_step(0);
	popped(0, nvtxRangePop());
	sync_all();
}

static void killed(void)
{
	name_all();
	begin(NULL);
	pushed(0, "killed", nvtxRangePushA("killed"));
	nest[0][0]->open++;
	pushed(1, "-", nvtxDomainRangePushEx(layers, NULL));
	popped(1, nvtxDomainRangePop(layers));
	launch(3);
	print();
	fflush(stdout);
	raise(SIGKILL);
}

static void around_fork(void)
{
	pid_t child;
	int status = 0;

	name_all();
	pushed(0, "before", nvtxRangePushA("before"));
	child = fork();
	/* Begun in the parent, it is not in the child's trace. */
	if (!child)
		before[0] = 1, depth[0] = nrows = 0;
	on_thread(begin, NULL);
	CK(cuCtxSetCurrent(context));
	called(0);
	one_step(0);
	if (child)
		popped(0, nvtxRangePop());
	else
		EXPECT(nvtxRangePop() == (nobody ? -2 : 0), "the parent's");
	sync_all();
	if (child)
		waitpid(child, &status, 0);
	EXPECT(!status, "child");
	printf("pid\t%d\n", (int)getpid());
}

int main(int argc, char **argv)
{
	nobody = nvtxRangePushA("who is there") == -2;
	nvtxRangePop();
	row_of(0, "push", "who is there");
	if (argc > 1 && !strcmp(argv[1], "fork"))
		around_fork();
	else if (argc > 1 && !strcmp(argv[1], "early"))
		too_early();
	else if (argc > 1 && !strcmp(argv[1], "kill"))
		killed();
	else
		in_one_process();
	print();
	return 0;
}
