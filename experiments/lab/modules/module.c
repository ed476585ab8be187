// SPDX-License-Identifier: GPL-2.0-only
/* What kbuild adds to every module. */
#define INCLUDE_VERMAGIC
#include <linux/module.h>
#include <linux/vermagic.h>

MODULE_INFO(name, KBUILD_MODNAME);
MODULE_INFO(vermagic, VERMAGIC_STRING);

struct module __this_module __section(".gnu.linkonce.this_module") = {
	.name = KBUILD_MODNAME,
	.init = init_module,
	.exit = cleanup_module,
	.arch = MODULE_ARCH_INIT,
};
