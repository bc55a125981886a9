/* SPDX-License-Identifier: MIT */
/* LINK: preload */
/* The processor's name, from texts as /proc/cpuinfo has them on x86-64 and on arm64. */
#include "preload/base/cpu_name.h"
#include "tests/unit/expect.h"

static void check(const char *text, const char *want)
{
	char name[64];

	nvs_cpu_name(text, name, sizeof(name));
	EXPECT_STR(name, want);
}

int main(void)
{
	check("processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 207\nmodel name\t: INTEL(R) "
	      "XEON(R) "
	      "PLATINUM 8592+\nstepping\t: 2\n\nprocessor\t: 1\nmodel name\t: other\n",
	      "INTEL(R) XEON(R) PLATINUM 8592+");
	check("processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
	      "CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\nCPU revision\t: 0\n",
	      "Arm Neoverse V2");
	check("processor\t: 0\nCPU implementer\t: 0x46\nCPU part\t: 0x001\n",
	      "implementer 0x46, part 0x1");
	check("processor\t: 0\nmodel name\t: Neoverse-V2\nCPU implementer\t: 0x41\nCPU part\t: "
	      "0xd4f\n",
	      "Neoverse-V2");
	check("CPU implementer\t: 0x41\n", "");
	check("", "");
	check("model name", "");
	check("model name\t: a name that is longer than the sixty-three characters for which room "
	      "is\n",
	      "a name that is longer than the sixty-three characters for which");
	return expect_done();
}
