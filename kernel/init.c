// SPDX-License-Identifier: GPL-2.0
/*
 * init of the lab: mounts what a lab needs, runs one program, hands its exit
 * status to the host, powers off.
 *
 * Directories of the host are named by the numbers of descriptors, and hostfs
 * mounts no other ones. The root is the lab's own (SANDGLASS_PROGRAMS),
 * read-only, and nothing of the host's is seen below it but this:
 *   /tmp, /run, /var, /dev/shm  empty tmpfs
 *   /run/sandglass/code  the host's Sandglass sources (SANDGLASS_CODE), read-only
 *   /run/sandglass/run   the host's run directory (SANDGLASS_RUN), writable
 *   /run/sandglass/lab   the lab kernel's modules and tc's plugins (SANDGLASS_LAB),
 *                        read-only
 * Paths inside the lab are therefore the same on every machine, which keeps
 * the guest's work, and with it its random numbers, the same.
 *
 * A C program because it runs in every boot: a shell script would spend more
 * time starting mount(8) a dozen times than the rest of the boot takes.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS_INIT_FAILED 70 /* EX_SOFTWARE of sysexits.h */
#define FIRST_PROCESS 1000

static void power_off(int status)
{
	FILE *exitcode = fopen("/proc/exitcode", "w");

	/* UML's own way to give its process an exit status. */
	if (exitcode) {
		fprintf(exitcode, "%d\n", status);
		fclose(exitcode);
	}
	sync();
	reboot(RB_POWER_OFF);
	_exit(status);
}

__attribute__((format(printf, 1, 2)))
static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "lab init: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, ": %s\n", strerror(errno));
	va_end(args);
	power_off(STATUS_INIT_FAILED);
}

static void mount_or_fail(const char *type, const char *target,
			  unsigned long flags, const char *options)
{
	mkdir(target, 0755);
	if (mount("none", target, type, flags, options))
		fail("cannot mount %s on %s (%s)", type, target,
		     options ? options : "");
}

static const char *required(const char *name)
{
	const char *value = getenv(name);

	if (!value) {
		errno = EINVAL;
		fail("%s is not set on the kernel command line", name);
	}
	return value;
}

/*
 * The kernel starts on the directory that this program and its modules are in.
 * Leave it for the lab's root, by way of a directory that is there.
 */
static void enter_root(const char *directory)
{
	mount_or_fail("hostfs", "/lib", MS_RDONLY, directory);
	if (chdir("/lib") || syscall(SYS_pivot_root, ".", ".") ||
	    umount2(".", MNT_DETACH) || chdir("/"))
		fail("cannot make %s the root", directory);
}

/*
 * ping and others put the number of their process into packets. It must not
 * depend on how many threads the kernel has of its own.
 */
static void number_from(int first)
{
	FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");

	if (!last || fprintf(last, "%d", first - 1) < 0 || fclose(last))
		fail("cannot number processes from %d", first);
}

/*
 * tc looks for plugins and tables of distributions in one directory alone. The
 * lab's, which has Debian's too, stands in for it, so that tc needs no variable
 * of the environment: scripts such as tdc.py clear theirs.
 */
static void lay_plugins(void)
{
	static const char *const places[] = {
		"/usr/lib/tc", "/usr/lib/*-linux-gnu*/tc"
	};
	glob_t found = { 0 };
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(*places); i++)
		glob(places[i], i ? GLOB_APPEND : 0, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++)
		if (mount("/run/sandglass/lab/lib/tc", found.gl_pathv[i], NULL,
			  MS_BIND, NULL))
			fail("cannot lay tc's plugins over %s",
			     found.gl_pathv[i]);
	globfree(&found);
}

int main(int argc, char *argv[])
{
	static char *const environment[] = {
		"PATH=/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin",
		"HOME=/tmp", "LANG=C.UTF-8", "TERM=xterm-256color", "USER=root",
		"SHELL=/bin/bash",
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0",
		"PYTHONPYCACHEPREFIX=/run/sandglass/pycache",
		NULL
	};
	const struct rlimit files = { 65536, 65536 };
	int status;
	pid_t child;

	enter_root(required("SANDGLASS_PROGRAMS"));
	mount_or_fail("proc", "/proc", 0, NULL);
	mount_or_fail("devtmpfs", "/dev", 0, "mode=755");
	mount_or_fail("sysfs", "/sys", 0, NULL);
	mkdir("/dev/pts", 0755);
	mount("none", "/dev/pts", "devpts", 0, "ptmxmode=666");
	mount_or_fail("tmpfs", "/dev/shm", 0, "mode=1777");
	mount_or_fail("tmpfs", "/tmp", 0, "mode=1777");
	mount_or_fail("tmpfs", "/run", 0, "mode=755");
	mount_or_fail("tmpfs", "/var", 0, "mode=755");
	mkdir("/var/log", 0755);
	mkdir("/var/tmp", 01777);
	if (symlink("/run", "/var/run"))
		fail("cannot create /var/run");
	mkdir("/run/netns", 0755);
	mkdir("/run/sandglass", 0755);
	mount_or_fail("hostfs", "/run/sandglass/code", MS_RDONLY,
		      required("SANDGLASS_CODE"));
	mount_or_fail("hostfs", "/run/sandglass/lab", MS_RDONLY,
		      required("SANDGLASS_LAB"));
	lay_plugins();
	mount_or_fail("hostfs", "/run/sandglass/run", 0,
		      required("SANDGLASS_RUN"));
	setrlimit(RLIMIT_NOFILE, &files);

	if (argc < 2) {
		errno = EINVAL;
		fail("no program given");
	}
	number_from(FIRST_PROCESS);
	child = fork();
	if (child < 0)
		fail("cannot fork");
	if (child == 0) {
		/* A session with the console as its terminal, for the prompt. */
		setsid();
		ioctl(STDIN_FILENO, TIOCSCTTY, 0);
		execve(argv[1], argv + 1, environment);
		fail("cannot run %s", argv[1]);
	}
	while (waitpid(-1, &status, 0) != child)
		;	/* orphans end up here; only the program's status counts */
	power_off(WIFEXITED(status) ? WEXITSTATUS(status)
				    : 128 + WTERMSIG(status));
}
