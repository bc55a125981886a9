// SPDX-License-Identifier: MIT
// As branches.c, for C++ names: methods, overloads, templates, a virtual method, one that throws,
// and an operator with blanks and brackets in its name.
#include "paths.h"

namespace ns
{
struct Base {
	virtual KNOWN void run(int n) = 0;
	virtual ~Base() = default;
};

struct Once : Base {
	KNOWN void run(int n) override
	{
		IN("ns::Once::run(int)");
		SET(n);
		OUT;
	}
};

struct Twice : Base {
	Once once;
	KNOWN void run(int n) override
	{
		IN("ns::Twice::run(int)");
		once.run(n);
		once.run(n + 1);
		READ();
		OUT;
	}
	KNOWN void operator()(int n, const char *)
	{
		IN("ns::Twice::operator()(int, char const*)");
		run(n);
		OUT;
	}
};

static KNOWN void over(int n)
{
	IN("ns::over(int)");
	SET(n);
	OUT;
}

static KNOWN void over(double n)
{
	IN("ns::over(double)");
	SET(n);
	over(1);
	OUT;
}
} // namespace ns

template <typename T, int N> static KNOWN void times(T *what)
{
	size_t in_ = path_in(N == 2 ? "void times<ns::Base, 2>(ns::Base*)"
				    : "void times<ns::Base, 5>(ns::Base*)");

	for (int i = 0; i < N; i++)
		what->run(i);
	OUT;
}

static KNOWN void fails(int n)
{
	IN("fails(int)");
	SET(n);
	OUT;
	throw n;
}

/* What handles an exception may be made a function of its own, x.cold: it does nothing here. */
static KNOWN bool survives(int n)
{
	IN("survives(int)");
	bool failed = false;

	try {
		fails(n);
	} catch (int) {
		failed = true;
	}
	OUT;
	return failed;
}

static KNOWN void caught()
{
	IN("caught()");
	READ();
	OUT;
}

int main()
{
	CUcontext context = paths_start();
	ns::Twice twice;
	ns::Once once;

	IN("main");
	times<ns::Base, 2>(&twice);
	times<ns::Base, 5>(&once);
	for (int i = 0; i < 3; i++)
		twice(i, "");
	ns::over(1);
	ns::over(1.5);
	ns::over(2.5);
	for (int i = 0; i < 4; i++)
		if (survives(i))
			caught();
	OUT;
	paths_end(context);
	return 0;
}
