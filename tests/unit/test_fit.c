/* SPDX-License-Identifier: MIT */
/* LINK: probe/lib/fit.o -lm */
/* Linear fits by least squares: exact data, noise with a known result, and data without a line. */
#include "probe/lib/fit.h"
#include <math.h>
#include "tests/unit/expect.h"

static int near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

static void exact(void)
{
	double x[200], y[200];
	struct probe_fit f;

	for (int i = 0; i < 200; i++) {
		x[i] = 1e9 + 16 * i; /* far from 0, as sums of squares dislike it */
		y[i] = 2.5 + x[i] / 512;
	}
	EXPECT(probe_fit(&f, x, y, 200) && f.n == 200);
	EXPECT(near(f.slope, 1.0 / 512) && fabs(f.intercept - 2.5) < 1e-3 && near(f.r, 1));
	for (int i = 0; i < 200; i++)
		y[i] = -y[i];
	EXPECT(probe_fit(&f, x, y, 200) && near(f.r, -1));
}

/* Anscombe's first set: slope 0.5, intercept 3, r 0.816. */
static void noise(void)
{
	static const double x[] = {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5, NAN, 3, INFINITY};
	static const double y[] = {8.04, 6.95,	7.58, 8.81, 8.33, 9.96, 7.24,
				   4.26, 10.84, 4.82, 5.68, 1,	  NAN,	2};
	struct probe_fit f;

	EXPECT(probe_fit(&f, x, y, 14) && f.n == 11);
	EXPECT(fabs(f.slope - 0.50009) < 1e-5 && fabs(f.intercept - 3.00009) < 1e-5);
	EXPECT(fabs(f.r - 0.81642) < 1e-5);
}

/* The published ends alone: 340 to 2,216 bytes in 1.9 to 5.9 us are 447 MiB/s. */
static void published(void)
{
	static const double x[] = {340, 2216}, y[] = {1.9, 5.9};
	struct probe_fit f;

	EXPECT(probe_fit(&f, x, y, 2) && near(f.r, 1));
	EXPECT(fabs(1e6 / f.slope / (1 << 20) - 447) < 1);
}

static void none(void)
{
	static const double x[] = {76, 76, 76, NAN}, y[] = {1, 2, 3, 4}, same[] = {5, 5, 5, 5};
	struct probe_fit f;

	EXPECT(!probe_fit(&f, x, y, 0) && f.n == 0);
	EXPECT(!probe_fit(&f, x, y, 1) && f.n == 1 && isnan(f.slope));
	EXPECT(!probe_fit(&f, x, y, 4) && f.n == 3);
	EXPECT(probe_fit(&f, y, same, 4) && f.slope == 0 && f.intercept == 5 && isnan(f.r));
}

int main(void)
{
	exact();
	noise();
	published();
	none();
	return expect_done();
}
