// SPDX-License-Identifier: GPL-2.0
/*
 * Do vector registers hold what was put there, whatever happens between?
 *
 * Each line that is printed is what happened, and "holds" or the first register
 * that does not. What happens does so inside of one piece of assembly, so that
 * the compiler keeps nothing elsewhere.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define REGISTERS 16

typedef uint32_t vectors[REGISTERS][4] __attribute__((aligned(16)));

#define EACH(do) do(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) \
	do(9) do(10) do(11) do(12) do(13) do(14) do(15)
#define LOAD(n) "movdqa 16*" #n "(%[in]), %%xmm" #n "\n"
#define STORE(n) "movdqa %%xmm" #n ", 16*" #n "(%[out])\n"
#define CLEAR(n) "pxor %%xmm" #n ", %%xmm" #n "\n"
#define CHANGED "rcx", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", \
	"xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", \
	"xmm14", "xmm15"

/* Load all, do something, store all; returns what it left in rax. */
#define across(what, number, in_, out_, one, two)				\
({										\
	long rax_ = (number);							\
										\
	asm volatile(EACH(LOAD) what "\n" EACH(STORE)				\
		     : "+a"(rax_) : [in] "r"(in_), [out] "r"(out_),		\
		       "D"((long)(one)), "S"((long)(two)) : CHANGED);		\
	rax_;									\
})

static void fill(vectors values, uint32_t seed)
{
	for (int n = 0; n < REGISTERS; n++)
		for (int part = 0; part < 4; part++)
			values[n][part] = seed * 1000003u + n * 4 + part;
}

static int wrong(vectors in, vectors out)
{
	for (int n = 0; n < REGISTERS; n++)
		if (memcmp(in[n], out[n], sizeof(in[n])))
			return n;
	return -1;
}

static void tell(const char *what, int found)
{
	if (found < 0)
		printf("%s: holds\n", what);
	else
		printf("%s: register %d does not\n", what, found);
	fflush(stdout);
}

static void other_values(void)
{
	vectors in, out;

	fill(in, 99);
	across("syscall", SYS_getppid, in, out, 0, 0);
}

static uint32_t seen;

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct _libc_fpstate *state = ((ucontext_t *)context)->uc_mcontext.fpregs;

	(void)number;
	(void)info;
	seen = state->_xmm[2].element[0];
	state->_xmm[3].element[0] = 4711;
	other_values();
}

static void *take_turns(void *seed)
{
	vectors in, out;
	long found = -1;

	fill(in, (uint32_t)(uintptr_t)seed);
	for (int turn = 0; turn < 100 && found < 0; turn++) {
		across("syscall", SYS_sched_yield, in, out, 0, 0);
		found = wrong(in, out);
	}
	return (void *)found;
}

static int turns_of_threads(void)
{
	pthread_t threads[3];
	void *found;
	int worst = -1;

	for (long n = 0; n < 3; n++)
		pthread_create(&threads[n], NULL, take_turns, (void *)(n + 10));
	for (int n = 0; n < 3; n++) {
		pthread_join(threads[n], &found);
		if ((long)found > worst)
			worst = (int)(long)found;
	}
	return worst;
}

static int of_child(pid_t child)
{
	int status;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? (int)WEXITSTATUS(status) - 1 : REGISTERS;
}

static int traced(void)
{
	struct user_fpregs_struct registers;
	vectors in, out;
	pid_t child;
	int status;

	fill(in, 5);
	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		across("syscall", SYS_kill, in, out, getpid(), SIGSTOP);
		in[7][1] = 12345;
		_exit(wrong(in, out) + 1);
	}
	waitpid(child, &status, 0);
	other_values();
	if (ptrace(PTRACE_GETFPREGS, child, 0, &registers))
		return REGISTERS;
	if (memcmp(registers.xmm_space, in, sizeof(in)))
		return REGISTERS + 1;
	registers.xmm_space[7 * 4 + 1] = 12345;
	ptrace(PTRACE_SETFPREGS, child, 0, &registers);
	ptrace(PTRACE_CONT, child, 0, 0);
	return of_child(child);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	vectors in, out;
	char *page;
	pid_t child;

	fill(in, 1);
	across("syscall", SYS_getppid, in, out, 0, 0);
	tell("a system call", wrong(in, out));

	page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fill(in, 2);
	across("movb $1, (%%rdi)", 0, in, out, page, 0);
	tell("a page fault", wrong(in, out));

	fill(in, 3);
	child = across("syscall", SYS_fork, in, out, 0, 0);
	if (!child)
		_exit(wrong(in, out) + 1);
	tell("a fork", wrong(in, out));
	tell("its child", of_child(child));

	fill(in, 4);
	across("syscall\n test %%eax, %%eax\n jnz 1f\n" EACH(CLEAR)
	       "mov $60, %%eax\n xor %%edi, %%edi\n syscall\n 1:",
	       SYS_vfork, in, out, 0, 0);
	tell("a child in the same memory", wrong(in, out));

	child = fork();
	if (!child)
		_exit((int)(long)take_turns((void *)20) + 1);
	tell("turns with another process", (int)(long)take_turns((void *)21));
	tell("of the other", of_child(child));
	tell("turns of threads", turns_of_threads());

	sigaction(SIGUSR1, &action, NULL);
	fill(in, 6);
	across("syscall", SYS_kill, in, out, getpid(), SIGUSR1);
	tell("a signal's frame", seen == in[2][0] ? -1 : 2);
	in[3][0] = 4711;
	tell("a signal", wrong(in, out));
	tell("a tracer", traced());
	return 0;
}
