/* SPDX-License-Identifier: MIT */
/* NVTX functions that the tests call, with the names and layouts of version 3: for machines without
 * its headers, and for a library of these functions like libnvToolsExt. */
#ifndef NVSNOOP_TEST_NVTX_H
#define NVSNOOP_TEST_NVTX_H

#include <stdint.h>
#include <wchar.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NVTX_VERSION 3
#define NVTX_COLOR_ARGB 1
#define NVTX_PAYLOAD_TYPE_INT32 5
#define NVTX_MESSAGE_TYPE_ASCII 1
#define NVTX_MESSAGE_TYPE_UNICODE 2
#define NVTX_MESSAGE_TYPE_REGISTERED 3

typedef struct nvtxDomainRegistration_st *nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st *nvtxStringHandle_t;
typedef uint64_t nvtxRangeId_t;

typedef union {
	const char *ascii;
	const wchar_t *unicode;
	nvtxStringHandle_t registered;
} nvtxMessageValue_t;

typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved0;
	union {
		uint64_t ullValue;
		double dValue;
		int32_t iValue;
	} payload;
	int32_t messageType;
	nvtxMessageValue_t message;
} nvtxEventAttributes_t;
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

void nvtxMarkEx(const nvtxEventAttributes_t *e);
void nvtxMarkA(const char *s);
void nvtxMarkW(const wchar_t *s);
nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t *e);
nvtxRangeId_t nvtxRangeStartA(const char *s);
nvtxRangeId_t nvtxRangeStartW(const wchar_t *s);
void nvtxRangeEnd(nvtxRangeId_t id);
int nvtxRangePushEx(const nvtxEventAttributes_t *e);
int nvtxRangePushA(const char *s);
int nvtxRangePushW(const wchar_t *s);
int nvtxRangePop(void);
void nvtxNameCategoryA(uint32_t category, const char *s);
void nvtxDomainMarkEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t *e);
nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t *e);
void nvtxDomainRangeEnd(nvtxDomainHandle_t d, nvtxRangeId_t id);
int nvtxDomainRangePushEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t *e);
int nvtxDomainRangePop(nvtxDomainHandle_t d);
void nvtxDomainNameCategoryA(nvtxDomainHandle_t d, uint32_t category, const char *s);
nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t d, const char *s);
nvtxStringHandle_t nvtxDomainRegisterStringW(nvtxDomainHandle_t d, const wchar_t *s);
nvtxDomainHandle_t nvtxDomainCreateA(const char *s);
nvtxDomainHandle_t nvtxDomainCreateW(const wchar_t *s);

#ifdef __cplusplus
}
#endif

#endif
