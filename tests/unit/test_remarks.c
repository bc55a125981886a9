/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/* Remarks on what the doorbell page cannot show, and on unknown behaviour of a driver. */
#include "nvsnoop/decode.h"
#include "tests/unit/mktrace.h"

#define KINDS 16 /* the last is still to come */

static const char *const words[KINDS] = {
	[NVS_REMARK_GPU_DOORBELL] = "GPU 2: a doorbell page is mapped for the GPU itself",
	[NVS_REMARK_KERNEL_CHANNEL] = "GPU 2: submissions of the kernel driver itself",
	[NVS_REMARK_NO_DOORBELL] = "GPU 2: a channel has no doorbell",
	[NVS_REMARK_IMPORTED] = "GPU 2: memory or channels came from another process",
	[NVS_REMARK_NO_DOORBELL_PAGE] = "GPU 2: channels are in use, but no doorbell mapping",
	[NVS_REMARK_NEWER_RELEASE] = "driver release - is newer than those known",
	[NVS_REMARK_NO_RELEASE] = "the driver's release is unknown",
	[NVS_REMARK_CHANNEL_FORM] =
		"GPU 2: a channel was created by NV_ESC_RM_ALLOC with parameters of an unknown",
	[NVS_REMARK_CALL_FORM] = "ioctl 0x7 with 5 bytes of parameters is unknown in this form",
	[NVS_REMARK_UVM_FORM] = "UVM ioctl 7 has parameters of an unknown form",
	[NVS_REMARK_SERIALIZED] = "class or control 0x7 has serialized parameters",
	[NVS_REMARK_MAPPED_CLASS] =
		"GPU 2: an object of class 0x7, which is not known to be memory",
	[NVS_REMARK_LIKELY_DOORBELL] = "GPU 2: a mapping of an unknown class looks like",
	[NVS_REMARK_CONFIDENTIAL] = "confidential computing is enabled",
	[KINDS - 1] = "GPU 2: remark of unknown kind 15",
};

static void make_trace(const char *path)
{
	struct nvs_rec_remark *remark;
	struct mk m;

	mk_open(&m, path);
	for (uint32_t kind = 1; kind < KINDS; kind++) {
		remark = mk_rec(&m, NVS_REC_REMARK, sizeof(*remark));
		remark->kind = kind;
		remark->gpu = 2;
		remark->client = 7;
		remark->handle = 5;
	}
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);
}

static bool has_finding(struct nvs_trace *t, const char *text)
{
	const struct nvs_finding *f;

	for (uint32_t i = 0; (f = nvs_trace_finding(t, i)); i++)
		if (!strncmp(f->text, text, strlen(text)))
			return true;
	printf("no finding: %s\n", text);
	return false;
}

int main(void)
{
	char dir[] = "/tmp/nvsnoop-remarks-XXXXXX", path[64];
	struct nvs_error err = {""};
	struct nvs_trace *t = NULL;
	int passed = 0, failed = 0;

	MK_NEED(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.zst", dir);
	make_trace(path);
	MK_NEED(!nvs_trace_open(&t, path, NULL, &err) && !nvs_trace_read(t, NULL, NULL, &err));
	for (uint32_t kind = 1; kind < KINDS; kind++)
		!words[kind] || has_finding(t, words[kind]) ? passed++ : failed++;
	/* One alone says that something is missing for certain. */
	nvs_trace_problems(t) == 1 ? passed++ : failed++;
	nvs_trace_session(t)->newer_driver ? passed++ : failed++;
	nvs_trace_close(t);
	unlink(path);
	rmdir(dir);
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
