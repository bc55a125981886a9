/* SPDX-License-Identifier: MIT */
/*
 * Offsets of rings and USERDs in their objects. The first layout is the real driver's; the resource
 * manager allows the others too (SOFTGPU=layout=NAME):
 * - slots: the USERDs of eight channels in one page
 * - together: a channel's ring after its USERD, in the same page
 * - odd: rings back to back, none at the start of a page, two of them in one
 * - crossed: every other ring begins in the page of its neighbour's USERD
 * - system: USERDs in system memory, eight in one page
 * - beside: the channel's progress semaphore in its USERD's page
 */
#include <stdlib.h>
#include <string.h>
#include "driver.h"

static const char *const names[] = {"driver",  "slots",	 "together", "odd",
				    "crossed", "system", "beside"};

enum sg_layout sg_layout(void)
{
	const char *at = sg_option_value("layout");

	for (uint32_t i = 1; at && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(at, names[i], strlen(names[i])))
			return (enum sg_layout)i;
	return SG_LAYOUT_DRIVER;
}

/* N counts the channels whose rings share the object. SLOTS: offset of the first USERD in layouts
 * with separate USERDs. */
void sg_layout_place(enum sg_layout layout, uint32_t n, uint64_t slots, uint64_t *ring,
		     uint64_t *userd)
{
	*ring = n * 0x3000ull;
	*userd = *ring + 0x2000;
	switch (layout) {
	case SG_LAYOUT_SLOTS:
		*userd = slots + n * 0x200ull;
		break;
	case SG_LAYOUT_TOGETHER:
		*userd = *ring;
		*ring += 0x208;
		break;
	case SG_LAYOUT_ODD:
		*ring = 0x48 + n * 0x2000ull;
		*userd = slots + n * 0x1000ull;
		break;
	case SG_LAYOUT_CROSSED:
		*ring = n / 2 * 0x6000ull + (n & 1 ? 0x2200 : 0);
		*userd = n / 2 * 0x6000ull + (n & 1 ? 0x5000 : 0x2000);
		break;
	case SG_LAYOUT_SYSTEM:
		*userd = n * 0x200ull;
		break;
	default:
		break;
	}
}
