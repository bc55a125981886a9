/* SPDX-License-Identifier: MIT */
/* Graphs of captured launches. */
#include "driver.h"

CUresult sg_capture_launch(struct CUstream_st *s, const struct sg_launch *l)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}
