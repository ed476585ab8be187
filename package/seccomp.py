#!/usr/bin/env python3
"""seccomp.py PROFILE BUNDLE: prints an OCI bundle's config.json with a container engine's default seccomp
filter, as the engine would make it for the bundle's capabilities on this machine's architecture."""

import json
import platform
import sys

ARCHITECTURES = {"x86_64": ("amd64", "SCMP_ARCH_X86_64"), "aarch64": ("arm64", "SCMP_ARCH_AARCH64")}


def main(profile, bundle):
    with open(profile) as file:
        profile = json.load(file)
    with open(bundle) as file:
        config = json.load(file)
    arch, native = ARCHITECTURES[platform.machine()]
    held = set(config["process"]["capabilities"]["bounding"])

    def named(condition):
        """Whether a rule's includes or excludes name this architecture or a held capability."""
        return arch in condition.get("arches", []) or held & set(condition.get("caps", []))

    def applies(rule):
        includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
        return (not includes or named(includes)) and not named(excludes)

    kept = ["names", "action", "args", "errnoRet"]
    config["linux"]["seccomp"] = {
        "defaultAction": profile["defaultAction"],
        "defaultErrnoRet": profile["defaultErrnoRet"],
        "architectures": [native],
        "syscalls": [
            {key: rule[key] for key in kept if rule.get(key)} for rule in profile["syscalls"] if applies(rule)
        ],
    }
    json.dump(config, sys.stdout)


main(*sys.argv[1:])
