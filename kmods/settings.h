/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A module's settings, as sysctls that each network namespace has of its own
 *
 * They are the integers of a structure, of which the module has one with the
 * defaults. Its table of files points there, for values and, where one setting
 * limits another, for limits; what a namespace gets is a copy of both, whose
 * pointers lead to its own values.
 *
 * To be included in one file of a module.
 */
#ifndef SANDGLASS_SETTINGS_H
#define SANDGLASS_SETTINGS_H

#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

/**
 * struct settings - what a module has
 * @path:	of the directory, such as "net/ipv4/tcp_abe"
 * @files:	a table
 * @n_files:	its length
 * @defaults:	the structure that it points into
 * @size:	of that, in bytes
 */
struct settings {
	const char		*path;
	const struct ctl_table	*files;
	size_t			n_files;
	const void		*defaults;
	size_t			size;
};

/**
 * struct settings_net - what a network namespace has
 * @values:	the module's structure
 * @files:	its table
 * @header:	of the registered table
 */
struct settings_net {
	void			*values;
	const struct ctl_table	*files;
	struct ctl_table_header	*header;
};

static const struct settings *settings;
static unsigned int settings_id __read_mostly;

/* A setting as the table has it; how many numbers, from which to which, the pointers say. */
#define SETTING(name, value, least, most) {			\
	.procname	= name,					\
	.data		= &(value),				\
	.maxlen		= sizeof(value),			\
	.mode		= 0644,					\
	.proc_handler	= proc_dointvec_minmax,			\
	.extra1		= least,				\
	.extra2		= most,					\
}

/* Where a pointer of the module's table leads to in a namespace. */
static inline void *settings_moved(struct settings_net *own, void *pointer)
{
	const size_t offset = (unsigned long)pointer - (unsigned long)settings->defaults;

	return offset < settings->size ? own->values + offset : pointer;
}

static inline int __net_init settings_net_init(struct net *net)
{
	struct settings_net *own = net_generic(net, settings_id);
	/* Before Linux 6.6 an empty entry ends a table; since then its length is given. */
	struct ctl_table *const files = kcalloc(settings->n_files + 1, sizeof(*files), GFP_KERNEL);
	size_t i;

	own->files = files;
	own->values = kmemdup(settings->defaults, settings->size, GFP_KERNEL);
	if (!own->values || !files)
		goto fail;
	for (i = 0; i < settings->n_files; i++) {
		files[i] = settings->files[i];
		files[i].data = settings_moved(own, files[i].data);
		files[i].extra1 = settings_moved(own, files[i].extra1);
		files[i].extra2 = settings_moved(own, files[i].extra2);
	}
#ifdef register_net_sysctl
	own->header = register_net_sysctl_sz(net, settings->path, files, settings->n_files);
#else
	own->header = register_net_sysctl(net, settings->path, files);
#endif
	if (own->header)
		return 0;
fail:
	kfree(own->files);
	kfree(own->values);
	return -ENOMEM;
}

static inline void __net_exit settings_net_exit(struct net *net)
{
	struct settings_net *own = net_generic(net, settings_id);

	unregister_net_sysctl_table(own->header);
	kfree(own->files);
	kfree(own->values);
}

static struct pernet_operations settings_net_ops = {
	.init	= settings_net_init,
	.exit	= settings_net_exit,
	.id	= &settings_id,
	.size	= sizeof(struct settings_net),
};

/**
 * settings_register() - let each network namespace have them, those to come too
 * @ours:	what the module has; stays
 *
 * Return: 0, or an error.
 */
static inline int settings_register(const struct settings *ours)
{
	settings = ours;
	return register_pernet_subsys(&settings_net_ops);
}

static inline void settings_unregister(void)
{
	unregister_pernet_subsys(&settings_net_ops);
}

/**
 * settings_of() - a network namespace's values
 * @net:	the namespace
 *
 * Return: the module's structure; the values may change at any time.
 */
static inline const void *settings_of(const struct net *net)
{
	const struct settings_net *own = net_generic(net, settings_id);

	return own->values;
}

#endif
