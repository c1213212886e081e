/* SPDX-License-Identifier: GPL-2.0 */
#define fls64(x) ((x) ? 64 - __builtin_clzll(x) : 0)
