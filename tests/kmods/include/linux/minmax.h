/* SPDX-License-Identifier: GPL-2.0 */
#define max_t(type, x, y) ((type)(x) > (type)(y) ? (type)(x) : (type)(y))
#define min_t(type, x, y) ((type)(x) < (type)(y) ? (type)(x) : (type)(y))
#define clamp_t(type, x, low, high) min_t(type, max_t(type, x, low), high)
