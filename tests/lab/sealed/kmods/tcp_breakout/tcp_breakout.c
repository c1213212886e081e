// SPDX-License-Identifier: GPL-2.0
/*
 * What a module of a stranger may try: system calls of the host's, from within
 * the lab's kernel, which is a process there. No congestion control, but where
 * modules of one's own lie.
 */
#include <linux/module.h>
#include <linux/printk.h>

static char *secret = "";
module_param(secret, charp, 0);
static int pid;
module_param(pid, int, 0);
static int port;
module_param(port, int, 0);

static long host(long number, long a, long b, long c, long d)
{
	register long fourth asm("r10") = d;
	long result;

	asm volatile("syscall" : "=a"(result)
		     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
		     : "rcx", "r11", "memory");
	return result;
}

static void tell(const char *what, long result)
{
	pr_info("breakout: %s: %s %ld\n", what,
		result < 0 ? "refused" : "REACHED", result);
}

static int __init breakout_init(void)
{
	static const char own[] = "/proc/self/fd/34/setuid";
	static char place[64];
	struct { short family; unsigned short port; int address; long zero; } to;
	long file;

	tell("read", host(2, (long)secret, 0, 0, 0));
	tell("write", host(2, (long)secret, 1, 0, 0));
	tell("append by openat", host(257, -100, (long)secret, 02001, 0));
	tell("cut off", host(76, (long)secret, 0, 0, 0));
	tell("unlink", host(87, (long)secret, 0, 0, 0));
	tell("read home", host(2, (long)"/root/.bashrc", 0, 0, 0));
	tell("read passwd", host(2, (long)"/etc/passwd", 0, 0, 0));
	tell("read a library", host(2, (long)"/lib64/ld-linux-x86-64.so.2", 0, 0, 0));
	tell("list a directory", host(2, (long)"/var", 0200000, 0, 0));
	snprintf(place, sizeof(place), "/proc/%d/environ", pid);
	tell("read environ", host(2, (long)place, 0, 0, 0));
	snprintf(place, sizeof(place), "/proc/%d/mem", pid);
	tell("open memory", host(2, (long)place, 2, 0, 0));
	snprintf(place, sizeof(place), "/proc/%d/root/etc/passwd", pid);
	tell("by another's root", host(2, (long)place, 0, 0, 0));
	tell("signal", host(62, pid, 0, 0, 0));
	tell("signal a thread", host(234, pid, pid, 0, 0));
	tell("trace", host(101, 0x4206, pid, 0, 0));	/* PTRACE_SEIZE */
	tell("socket", host(41, 2, 1, 0, 0));
	tell("socket of packets", host(41, 17, 3, 0, 0));
	tell("socket of netlink", host(41, 16, 3, 0, 0));
	/* one that is there to begin with is none of another domain */
	to.family = 2;
	to.port = port;
	to.address = 0x0100007f;
	tell("connect", host(42, 0, (long)&to, 16, 0));
	tell("mount", host(165, (long)"none", (long)"/tmp", (long)"tmpfs", 0));
	tell("chroot", host(161, (long)"/", 0, 0, 0));
	tell("namespaces", host(272, 0x10020000, 0, 0, 0));
	tell("clone into namespaces", host(56, 0x10000011, 0, 0, 0));
	tell("run a program", host(59, (long)"/bin/true", 0, 0, 0));
	tell("device", host(133, (long)"/proc/self/fd/34/device", 060666, 0xfe00, 0));
	tell("setuid file", host(85, (long)own, 04777, 0, 0));
	file = host(2, (long)own, 0101, 0644, 0);
	tell("setuid by chmod", host(90, (long)own, 04777, 0, 0));
	tell("setuid by fchmod", host(91, file, 04777, 0, 0));
	tell("become root", host(117, 0, 0, 0, 0));
	tell("bpf", host(321, 0, 0, 0, 0));
	tell("keys", host(250, 0, -3, 1, 0));
	tell("memory of another", host(310, pid, 0, 0, 0));
	tell("files of another", host(434, pid, 0, 0, 0));
	tell("type at the terminal", host(16, 0, 0x5412, (long)"x", 0));
	tell("io_uring", host(425, 1, (long)place, 0, 0));
	return -EAGAIN;	/* it need not stay */
}
module_init(breakout_init);

MODULE_DESCRIPTION("Tries what a lab must not reach");
MODULE_LICENSE("GPL");
