/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What most files of a lab's kernel include, directly or not, for kernel/cc to have it parsed once.
 * The first three are what make has each file begin with.
 */
#include <linux/compiler-version.h>
#include <linux/kconfig.h>
#include <linux/compiler_types.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/netlink.h>
