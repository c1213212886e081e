/* SPDX-License-Identifier: GPL-2.0 */
/* What some kernels lack or have in another form; compat.mk finds out which. */
#ifndef SANDGLASS_COMPAT_H
#define SANDGLASS_COMPAT_H

#include <linux/hrtimer.h>

/* Of all modules; it is that of sandglass. */
#define SANDGLASS_VERSION "0.1.0"

#ifndef HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* The parameters of a congestion control's ->cong_control(). */
#ifdef HAVE_CONG_CONTROL_ACK
#define CONG_CONTROL_PARAMETERS \
	struct sock *sk, u32 ack, int flag, const struct rate_sample *sample
#else
#define CONG_CONTROL_PARAMETERS \
	struct sock *sk, const struct rate_sample *sample
#endif

#endif
