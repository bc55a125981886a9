/* SPDX-License-Identifier: MIT */
/* A program whose names would be markup, scripts or ends of strings if they were not escaped: names
 * of kernels, ranges, domains and threads. */
#include <string.h>
#include <sys/prctl.h>
#include "../apps/app.h"
#include "../apps/nvtx/nvtx.h"

static const char *const names[] = {
	"</script><script>pwned(1)</script>",
	"<img src=x onerror=pwned(2)>",
	"\"'`;pwned(3)//",
	"\\\"};pwned(4);{\"",
	"line\xe2\x80\xa8separator\xe2\x80\xa9paragraph",
	"<!--<script>pwned(5)",
	"]]>&lt;b&gt;&#x3c;",
	"javascript:pwned(6)",
	"__proto__",
	"constructor",
	"tab\there\nand a line\r\x1b[31mred",
	"\xff\xfe not text",
	"\xe2\x80\xaetxet desrever",
};

/* Of kernels: up to a blank or a bracket the software driver takes any; it runs those that begin as
 * this one does. */
static const char *const kernels[] = {
	"softgpu_add</script><svg/onload=pwned`7`>",
	"softgpu_add\"'&<!--\xe2\x80\xa8",
	"softgpu_add\\\"};pwned`8`;//",
};

static CUfunction kernel(const char *name)
{
	char text[512];
	CUfunction f;
	CUmodule m;

	snprintf(text, sizeof(text),
		 ".version 7.0\n.target sm_70\n.address_size 64\n"
		 ".visible .entry %s(.param .u64 p, .param .u64 v)\n{\n\tret;\n}\n",
		 name);
	CK(cuModuleLoadData(&m, text));
	CK(cuModuleGetFunction(&f, m, name));
	return f;
}

int main(void)
{
	CUcontext context = app_context(0);
	CUdeviceptr word;

	prctl(PR_SET_NAME, "<b>\"'&</b>");
	CK(cuMemAlloc_v2(&word, 4096));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		nvtxDomainHandle_t domain = nvtxDomainCreateA(names[i]);
		nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = sizeof(a)};

		a.messageType = NVTX_MESSAGE_TYPE_ASCII;
		a.message.ascii = names[i];
		nvtxRangePushA(names[i]);
		nvtxDomainRangePushEx(domain, &a);
		app_add(kernel(kernels[i % 3]), word, 1, NULL);
		nvtxDomainRangePop(domain);
		nvtxRangePop();
	}
	CK(cuCtxSynchronize());
	CK(cuMemFree_v2(word));
	(void)context;
	return 0;
}
