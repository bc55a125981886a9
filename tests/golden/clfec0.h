/* SPDX-License-Identifier: MIT */
/* Not a real class: the forms that class headers have, for the test of import-class. */
#ifndef _cl_test_compute_a_h_
#define _cl_test_compute_a_h_

#define TEST_COMPUTE_A 0xFEC0

#define NVFEC0_SET_OBJECT 0x0000
#define NVFEC0_SET_OBJECT_CLASS_ID 15 : 0
#define NVFEC0_SET_OBJECT_ENGINE_ID 20 : 16

#define NVFEC0_LAUNCH_TEST 0x0104
#define NVFEC0_LAUNCH_TEST_MODE 1 : 0
#define NVFEC0_LAUNCH_TEST_MODE_FALSE 0x00000000
#define NVFEC0_LAUNCH_TEST_MODE_TRUE 0x00000001
#define NVFEC0_LAUNCH_TEST_MODE_LATER 0x0000000A // a remark
#define NVFEC0_LAUNCH_TEST_MODE_EXTRA 7 : 4
#define NVFEC0_LAUNCH_TEST_MODE_EXTRA_ON 0x00000001

/* A register of old habits, with brackets */
#define NVFEC0_OLD_STYLE (0x00000108)
#define NVFEC0_OLD_STYLE_V 31 : 0
#define NVFEC0_SCRATCH(i) (0x0200 + (i)*4)
#define NVFEC0_SCRATCH_V 31 : 0
#define NVFEC0_CALL_A(j) (0x0280 + (j)*8)
#define NVFEC0_CALL_A_V 31 : 0
#define NVFEC0_CALL_B(j) (0x0284 + (j)*8)
#define NVFEC0_CALL_B_V 31 : 0
#define NVFEC0_GRID(i, j) (0x0300 + (i)*64 + (j)*4)
#define NVFEC0_GRID_V 31 : 0
#define NVFEC0_LAST 0x0380

#endif
