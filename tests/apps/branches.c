/* SPDX-License-Identifier: MIT */
/* Functions that call each other a known number of times: branches, one function on two paths,
 * direct and mutual recursion. */
#include "paths.h"

static KNOWN void leaf(int n)
{
	IN("leaf");
	for (int i = 0; i < n; i++)
		SET(i);
	OUT;
}

static KNOWN void left(int n)
{
	IN("left");
	leaf(n);
	READ();
	leaf(1);
	OUT;
}

static KNOWN void right(int n)
{
	IN("right");
	if (n)
		leaf(2);
	SET(n);
	OUT;
}

static KNOWN void deep(int n)
{
	IN("deep");
	if (n % 20 == 0)
		SET(n);
	if (n)
		deep(n - 1);
	OUT;
}

static KNOWN void odd(int n);

static KNOWN void even(int n)
{
	IN("even");
	if (n)
		odd(n - 1);
	else
		READ();
	SET(n);
	OUT;
}

static KNOWN void odd(int n)
{
	IN("odd");
	even(n - 1);
	leaf(n);
	OUT;
}

int main(void)
{
	CUcontext context = paths_start();

	IN("main");
	for (int i = 0; i < 7; i++)
		left(i);
	for (int i = 0; i < 5; i++)
		right(i % 2);
	deep(100);
	even(6);
	leaf(11);
	OUT;
	paths_end(context);
	return 0;
}
