/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Deficit round robin: whose turn it is, without packets
 *
 * Shreedhar, Varghese: "Efficient Fair Queuing Using Deficit Round Robin",
 * IEEE/ACM Transactions on Networking 4(3), 1996. As in fq_codel and in ns-2's
 * sfqcodel, a queue may send while its deficit counter is above zero, and the
 * last packet may take the counter below: so nobody has to know a packet's size
 * before CoDel has decided about it. A queue that has become empty keeps its
 * place until its turn comes, or it could leave a debt behind.
 */
#ifndef SFQ_CODEL_DRR_H
#define SFQ_CODEL_DRR_H

#include <linux/list.h>
#include <linux/types.h>

/**
 * struct drr - a round of queues
 * @round:	those that take turns, the first of them now
 * @length:	how many they are
 * @quantum:	what a queue may send in a turn, in bytes
 */
struct drr {
	struct list_head	round;
	u32			length;
	u32			quantum;
};

/**
 * struct drr_queue - a queue's part in the round
 * @place:	in the round; an empty list outside of it
 * @deficit:	what it may still send in this turn, in bytes
 */
struct drr_queue {
	struct list_head	place;
	s32			deficit;
};

/**
 * drr_empty() - a round without queues
 * @drr:	the round
 */
static inline void drr_empty(struct drr *drr)
{
	INIT_LIST_HEAD(&drr->round);
	drr->length = 0;
}

/**
 * drr_outside() - a queue in no round
 * @queue:	the queue
 */
static inline void drr_outside(struct drr_queue *queue)
{
	INIT_LIST_HEAD(&queue->place);
}

/**
 * drr_join() - a packet has arrived in a queue
 * @drr:	the round
 * @queue:	whose
 *
 * A queue that is not in the round yet comes last.
 */
static inline void drr_join(struct drr *drr, struct drr_queue *queue)
{
	if (!list_empty(&queue->place))
		return;
	list_add_tail(&queue->place, &drr->round);
	drr->length++;
	queue->deficit = drr->quantum;
}

/**
 * drr_turn() - whose turn it is
 * @drr:	the round
 *
 * Return: a queue, which may have become empty; NULL when the round is empty.
 */
static inline struct drr_queue *drr_turn(struct drr *drr)
{
	struct drr_queue *queue;

	if (list_empty(&drr->round))
		return NULL;
	for (;;) {
		queue = list_first_entry(&drr->round, struct drr_queue, place);
		if (queue->deficit > 0)
			return queue;
		queue->deficit += drr->quantum;
		list_move_tail(&queue->place, &drr->round);
	}
}

/**
 * drr_sent() - the queue whose turn it is has sent a packet
 * @queue:	that queue
 * @size:	of the packet, in bytes
 */
static inline void drr_sent(struct drr_queue *queue, u32 size)
{
	queue->deficit -= size;
}

/**
 * drr_leave() - the queue whose turn it is has nothing to send
 * @drr:	the round
 * @queue:	that queue
 */
static inline void drr_leave(struct drr *drr, struct drr_queue *queue)
{
	list_del_init(&queue->place);
	drr->length--;
}

#endif
