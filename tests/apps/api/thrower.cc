// SPDX-License-Identifier: MIT
/* Throws through a call of the driver API: out of a callback, past the wrapper, into the caller. */
extern "C" int cuStreamAddCallback(void *stream, void (*fn)(void *, int, void *), void *user,
				   unsigned flags);

static void thrower(void *, int, void *user)
{
	throw *static_cast<int *>(user);
}

extern "C" int throw_through(int value)
{
	try {
		cuStreamAddCallback(nullptr, thrower, &value, 0);
	} catch (int caught) {
		return caught;
	}
	return -1;
}
