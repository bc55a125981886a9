/* SPDX-License-Identifier: MIT */
/* LINK: preload */
/* Names of pods and containers in cgroups and mounts, as runtimes write them. */
#include <stdlib.h>
#include <string.h>
#include "preload/base/workload.h"
#include "tests/unit/expect.h"

#define UID "01234567-89ab-cdef-0123-456789abcdef"
#define UID_ "01234567_89ab_cdef_0123_456789abcdef"
#define OTHER "fedcba98-7654-3210-fedc-ba9876543210"
#define ID "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define ID2 "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"

static struct nvs_workload w;

static int is(enum nvs_live_workload which, const char *text)
{
	return !strcmp(w.text[which], text);
}

static void cgroups(void)
{
	static const struct {
		const char *text, *uid, *id;
	} cases[] = {
		/* containerd and systemd, cgroup 2 */
		{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
		 ".slice/cri-containerd-" ID ".scope\n",
		 UID, ID},
		/* CRI-O */
		{"0::/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container\n", UID,
		 ID},
		/* cgroupfs, cgroup 1 */
		{"12:pids:/kubepods/besteffort/pod" UID "/" ID
		 "\n2:cpu:/kubepods/besteffort/pod" UID "/" ID "\n1:name=systemd:/\n0::/\n",
		 UID, ID},
		/* a cluster in a container */
		{"0::/docker/" ID2 "/kubelet/kubepods/pod" UID "/" ID "\n", UID, ID},
		{"0::/system.slice/docker-" ID ".scope\n", "", ID},
		{"0::/machine.slice/libpod-" ID ".scope/container\n", "", ID},
		{"0::/docker/" ID, "", ID},
		{"0::/\n", "", ""},
		{"", "", ""},
		/* nearly */
		{"0::/docker/" ID "0\n0::/podman/pod0123\n0::/x" ID "\n0::/" ID "x\n", "", ""},
		{"0::/pod01234567-89ab-cdef-0123_456789abcde\n", "", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memset(&w, 0, sizeof(w));
		nvs_workload_parse_cgroup(&w, cases[i].text);
		EXPECT(is(NVS_LIVE_POD_UID, cases[i].uid));
		EXPECT(is(NVS_LIVE_CONTAINER_ID, cases[i].id));
	}
	strcpy(w.text[NVS_LIVE_POD_UID], OTHER);
	nvs_workload_parse_cgroup(&w, cases[0].text);
	EXPECT(is(NVS_LIVE_POD_UID, OTHER)); /* the manifest's is kept */
}

static void mounts(void)
{
	char text[1024], name[512];

	memset(&w, 0, sizeof(w));
	nvs_workload_parse_mounts(
		&w, "700 690 0:50 / / rw - overlay overlay rw,upperdir=/var/lib/x/fs\n"
		    "701 700 8:1 /var/lib/containerd/io.containerd.grpc.v1.cri/containers/" ID2
		    "/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n"
		    "702 700 8:1 /var/lib/kubelet/pods/" UID
		    "/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"
		    "703 700 8:1 /var/lib/kubelet/pods/" UID
		    "/containers/trainer/0a1b2c3d /dev/termination-log rw - ext4 /dev/sda1 rw\n");
	EXPECT(is(NVS_LIVE_POD_UID, UID) && is(NVS_LIVE_CONTAINER, "trainer"));
	EXPECT(is(NVS_LIVE_CONTAINER_ID, ""));
	memset(&w, 0, sizeof(w));
	nvs_workload_parse_mounts(&w, "9 1 8:1 /var/lib/docker/containers/" ID
				      "/resolv.conf /etc/resolv.conf rw - ext4 /dev/sda1 rw\n");
	EXPECT(is(NVS_LIVE_CONTAINER_ID, ID) && is(NVS_LIVE_POD_UID, ""));
	memset(&w, 0, sizeof(w));
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(text, sizeof(text), "/pods/" UID "/containers/%s/x", name);
	nvs_workload_parse_mounts(&w, text);
	EXPECT(is(NVS_LIVE_POD_UID, UID) && is(NVS_LIVE_CONTAINER, ""));
	nvs_workload_parse_mounts(&w, "/pods/" OTHER "/containers/");
	EXPECT(is(NVS_LIVE_POD_UID, UID) && is(NVS_LIVE_CONTAINER, ""));
}

static void environment(void)
{
	char text[NVS_WORKLOAD_BYTES + 1];

	memset(&w, 0, sizeof(w));
	memset(text, 'x', sizeof(text));
	text[NVS_WORKLOAD_BYTES - 1] = '\0';
	setenv("POD_NAME", text, 1);
	setenv("SLURM_JOB_ID", "4242", 1);
	nvs_workload_read_environment(&w);
	EXPECT(is(NVS_LIVE_POD, text) && is(NVS_LIVE_SLURM_JOB, "4242"));
	text[NVS_WORKLOAD_BYTES - 1] = 'x';
	text[NVS_WORKLOAD_BYTES] = '\0';
	memset(&w, 0, sizeof(w));
	setenv("POD_NAME", text, 1);
	nvs_workload_read_environment(&w);
	EXPECT(is(NVS_LIVE_POD, ""));
}

int main(void)
{
	cgroups();
	mounts();
	environment();
	return expect_done();
}
