// SPDX-License-Identifier: MIT
// Submits from a method of a class template, from below a constructor, and from an overloaded C++
// function. The lines that submit are marked, so that tests can find them.
#include "app.h"

namespace ns
{
template <typename T> class Class
{
	CUdeviceptr at;

public:
	explicit Class(CUdeviceptr at) : at(at)
	{
		fill(at, T(1));
	}
	__attribute__((noipa)) static void fill(CUdeviceptr at, T value)
	{
		CK(cuMemsetD32Async(at, (unsigned)value, 16, nullptr)); // fill
		__asm__ volatile("" ::: "memory");
	}
	__attribute__((noipa)) void method(int n)
	{
		CK(cuMemsetD32Async(at, (unsigned)n, 16, nullptr)); // method
		__asm__ volatile("" ::: "memory");
	}
};
}

int main()
{
	CUcontext context;
	CUdevice device;
	CUdeviceptr d;

	CK(cuInit(0));
	CK(cuDeviceGet(&device, 0));
	CK(cuCtxCreate_v2(&context, 0, device));
	CK(cuMemAlloc_v2(&d, 4096));
	ns::Class<int> c(d);
	for (int i = 0; i < 3; i++)
		c.method(i);
	CK(cuCtxSynchronize());
	CK(cuCtxDestroy_v2(context));
	puts("sites ok");
	return 0;
}
