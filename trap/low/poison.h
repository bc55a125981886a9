/* SPDX-License-Identifier: MIT */
/* Included last by every source file of the trap: calls that rule 1 of the contract forbids do not
 * compile. */
#ifndef NVSNOOP_TRAP_LOW_POISON_H
#define NVSNOOP_TRAP_LOW_POISON_H

#pragma GCC poison malloc calloc realloc free posix_memalign aligned_alloc strdup
#pragma GCC poison printf fprintf dprintf snprintf sprintf vsnprintf puts fputs fwrite perror
#pragma GCC poison pthread_mutex_lock pthread_rwlock_rdlock pthread_once pthread_setspecific
#pragma GCC poison pthread_getspecific pthread_cond_wait sem_wait
#pragma GCC poison dlopen dlclose getenv setenv exit abort atexit fork

#endif
