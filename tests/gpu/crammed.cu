// SPDX-License-Identifier: MIT
// Launches 20,000 kernels with no free address within 2 GiB of libcuda, as when large libraries
// are loaded before it: fills the gaps around it, then counts on the GPU.
#include "common.cuh"
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <utility>
#include <vector>

static __global__ void add(unsigned *n)
{
	++*n;
}

static void cram()
{
	std::vector<std::pair<uintptr_t, uintptr_t>> gaps;
	uintptr_t from, to, last = 65536, first = 0, end = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		gaps.push_back({last, from});
		last = to;
		if (!strstr(line, "/libcuda.so"))
			continue;
		first = first ? first : from;
		end = to;
	}
	if (maps)
		fclose(maps);
	for (auto gap : gaps) {
		from = gap.first < end - (2ul << 30) ? end - (2ul << 30) : gap.first;
		to = gap.second > first + (2ul << 30) ? first + (2ul << 30) : gap.second;
		if (from < to)
			mmap((void *)from, to - from, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	}
	if (!first) {
		printf("libcuda is not in the process\n");
		exit(1);
	}
}

int main()
{
	enum { LAUNCHES = 20000 };
	unsigned *n, result = 0;

	if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) {
		printf("%s\n", dlerror());
		return 1;
	}
	cram();
	CHECK(cudaMalloc(&n, sizeof(*n)));
	CHECK(cudaMemset(n, 0, sizeof(*n)));
	for (int i = 0; i < LAUNCHES; i++)
		add<<<1, 1>>>(n);
	CHECK(cudaMemcpy(&result, n, sizeof(result), cudaMemcpyDeviceToHost));
	printf("counted %u of %u\n", result, (unsigned)LAUNCHES);
	return result != LAUNCHES;
}
