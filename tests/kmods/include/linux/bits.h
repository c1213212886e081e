/* SPDX-License-Identifier: GPL-2.0 */
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
