/* SPDX-License-Identifier: MIT */
/* A doorbell store in a library that is unloaded and loaded again: its code is patched, unloaded
 * with the patch, and loaded again. */
#include <stdint.h>

void plugin_store(volatile void *address, uint32_t token);
extern const uint8_t plugin_store_at[];
const volatile uint8_t *plugin_store_bytes(void);

__asm__("	.text\n"
	"	.globl	plugin_store\n"
	"	.type	plugin_store, @function\n"
	"	.globl	plugin_store_at\n"
	"	.hidden	plugin_store_at\n"
	"	.p2align 4\n"
	"plugin_store:\n"
	"	.cfi_startproc\n"
	"	sfence\n"
	"plugin_store_at:\n"
	"	mov	%esi, (%rdi)\n"
	"	jmp	1f\n"
	"	.byte	0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00\n"
	"	.p2align 4\n"
	"1:	ret\n"
	"	.cfi_endproc\n"
	"	.size	plugin_store, . - plugin_store\n");

const volatile uint8_t *plugin_store_bytes(void)
{
	return plugin_store_at;
}
