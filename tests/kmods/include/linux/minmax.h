/* SPDX-License-Identifier: GPL-2.0 */
#define max_t(type, x, y) ((type)(x) > (type)(y) ? (type)(x) : (type)(y))
