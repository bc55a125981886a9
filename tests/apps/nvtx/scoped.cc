// SPDX-License-Identifier: MIT
// A range per scope, as C++ programs use them, including scopes left by an exception. Prints lines
// as ranges.c does.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include "nvtx.h"
extern "C" {
#include "../app.h"
}

namespace {

nvtxDomainHandle_t domain;

class Range {
public:
	explicit Range(const char *name)
	{
		nvtxEventAttributes_t a;

		std::memset(&a, 0, sizeof(a));
		a.version = NVTX_VERSION;
		a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
		a.messageType = NVTX_MESSAGE_TYPE_ASCII;
		a.message.ascii = name;
		nvtxDomainRangePushEx(domain, &a);
	}
	~Range() { nvtxDomainRangePop(domain); }
	Range(const Range &) = delete;
	Range &operator=(const Range &) = delete;
};

CUfunction kernel;
CUdeviceptr word;

void layer(int i)
{
	Range range("layer");

	app_add(kernel, word, 1, nullptr);
	if (i == 2)
		throw std::runtime_error("left early");
	app_add(kernel, word, 1, nullptr);
}

}

int main()
{
	domain = nvtxDomainCreateA("scoped");
	app_context(0);
	kernel = app_kernel("softgpu_add");
	CK(cuMemAlloc_v2(&word, 4));
	{
		Range range("model");

		for (int i = 0; i < 4; i++)
			try {
				layer(i);
			} catch (const std::runtime_error &) {
			}
	}
	std::puts("scoped\tpush\t1\t0\t7\t7\tmodel\nscoped\tpush\t4\t0\t7\t7\tmodel/layer");
	return 0;
}
