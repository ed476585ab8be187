/* SPDX-License-Identifier: GPL-2.0-only */
/* How classes are placed. User space sets it before load. */
#ifndef __STEER_SETTINGS_BPF_H
#define __STEER_SETTINGS_BPF_H

#include "ground/kernel.bpf.h"
#include "intf.h"

const volatile struct place_settings place_settings;

#endif /* __STEER_SETTINGS_BPF_H */
