/* SPDX-License-Identifier: MIT */
/*
 * Copies of every size class in both directions, from pinned and from pageable memory: the trace
 * shows how the driver performs each.
 */
#include <cstring>
#include "common.cuh"

int main()
{
	const size_t most = 4 << 20;
	char *device, *pinned, *pageable = (char *)malloc(most);

	CHECK(cudaMalloc(&device, most));
	CHECK(cudaMallocHost(&pinned, most));
	memset(pinned, 1, most);
	memset(pageable, 2, most);
	for (int round = 0; round < 3; round++)
		for (size_t size = 4; size <= most; size *= 2)
			for (size_t bytes : {size, size + size / 2}) {
				if (bytes > most)
					continue;
				CHECK(cudaMemcpyAsync(device, pinned, bytes,
						      cudaMemcpyHostToDevice));
				CHECK(cudaMemcpyAsync(pinned, device, bytes,
						      cudaMemcpyDeviceToHost));
				CHECK(cudaStreamSynchronize(nullptr));
				CHECK(cudaMemcpy(device, pageable, bytes, cudaMemcpyHostToDevice));
				CHECK(cudaMemcpy(pageable, device, bytes, cudaMemcpyDeviceToHost));
			}
	printf("swept to %zu bytes\n", most);
	return 0;
}
