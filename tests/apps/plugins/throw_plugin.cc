/* SPDX-License-Identifier: MIT */
/* A C++ plugin of a C program: throws and catches through a few frames. */
#include <stdexcept>

extern "C" int throw_and_catch(int depth);

static int __attribute__((noinline)) deeper(int depth)
{
	if (depth == 0)
		throw std::runtime_error("thrown");
	return deeper(depth - 1) + 1;
}

extern "C" int throw_and_catch(int depth)
{
	try {
		return deeper(depth);
	} catch (const std::runtime_error &) {
		return -depth;
	}
}
