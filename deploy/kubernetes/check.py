"""Checks what is deployed on Kubernetes: valid for the API, the chart and the Kustomize base alike, and
no more privileges than docs/operating.md states."""

import json
import pathlib
import shutil
import subprocess
import sys

import helm_python
import kubernetes_validate
import yaml

HERE = pathlib.Path(__file__).parent
CHART = HERE / "helm" / "scx-steer"
# the oldest release that the chart allows for which schemas exist here, and the newest
VERSIONS = ["1.27", kubernetes_validate.latest_version()]


def rendered(values):
    """The chart's objects, by kind."""
    with helm_python.Chart.load(str(CHART)) as chart:
        texts = chart.render(values, name="scx-steer", namespace="scx-steer").values()
    objects = [obj for text in texts for obj in yaml.safe_load_all(text) if obj]
    return {obj["kind"]: obj for obj in objects}


def kustomized():
    """The base's objects, by kind. Without kubectl: what its kustomization.yaml says, by hand."""
    base = HERE / "base"
    if shutil.which("kubectl"):
        text = subprocess.run(
            ["kubectl", "kustomize", str(base)], check=True, capture_output=True, text=True
        ).stdout
        return {obj["kind"]: obj for obj in yaml.safe_load_all(text)}
    print("SKIPPED kustomize: there is no kubectl; the base's files are checked one by one")
    objects = [yaml.safe_load((base / name).read_text()) for name in ["namespace.yaml", "daemonset.yaml"]]
    data = {path.name: path.read_text() for path in (base / "policies").iterdir()}
    objects.append(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "scx-steer-policies", "namespace": "scx-steer"},
            "data": data,
        }
    )
    for obj in objects:
        if obj["kind"] != "Namespace":
            obj["metadata"]["namespace"] = "scx-steer"
    return {obj["kind"]: obj for obj in objects}


def validate(objects, what):
    """Against the API's schemas. A PodMonitor is a custom resource, for which they have none."""
    for kind, obj in objects.items():
        if kind == "PodMonitor":
            continue
        for version in VERSIONS:
            kubernetes_validate.validate(obj, version, strict=True)
    print(f"ok: {what}: {', '.join(sorted(objects))} valid for {' and '.join(VERSIONS)}")


def same(chart, base):
    """The chart with its default values is the base."""
    for kind in ["DaemonSet", "ConfigMap"]:
        if chart[kind] != base[kind]:
            sys.exit(f"the chart's {kind} differs from the base's:\n{chart[kind]}\n{base[kind]}")
    print("ok: the chart with its default values is the Kustomize base")


def unprivileged(daemonset):
    """Not privileged, no capabilities but those named here, and host paths only to read."""
    pod = daemonset["spec"]["template"]["spec"]
    added = {}
    for container in pod["initContainers"] + pod["containers"]:
        context = container["securityContext"]
        assert context["privileged"] is False and context["allowPrivilegeEscalation"] is False
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"]["drop"] == ["ALL"]
        added[container["name"]] = context["capabilities"].get("add", [])
        hosts = {volume["name"] for volume in pod["volumes"] if "hostPath" in volume}
        for mount in container["volumeMounts"]:
            assert mount["name"] not in hosts or mount["readOnly"] is True, mount
    loading = ["BPF", "PERFMON"]
    scheduler = [*loading, "SYS_NICE"]
    assert added == {"doctor": loading, "scheduler": scheduler, "metrics": []}, added
    assert not pod.get("hostPID") and not pod.get("hostIPC")
    # the containers that package/guest.sh starts have the same
    bundle = json.loads((HERE / "container.json").read_text())
    capabilities = bundle["process"]["capabilities"]
    assert {name: [f"CAP_{held}" for held in scheduler] for name in capabilities} == capabilities
    mounted = {mount["destination"] for mount in bundle["mounts"]}
    wanted = {mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert wanted <= mounted and mounted - wanted == {"/proc", "/dev", "/sys"}, mounted
    doctor = pod["initContainers"][0]["command"]
    assert json.dumps(doctor) in (HERE.parents[1] / "package" / "guest-test.sh").read_text(), doctor
    print(f"ok: not privileged; capabilities {', '.join(scheduler)}; host paths are read-only")


def main():
    findings = helm_python.lint(str(CHART))
    assert not findings["errors"], findings
    default, base = rendered({}), kustomized()
    validate(default, "chart")
    validate(base, "kustomize base")
    same(default, base)
    unprivileged(base["DaemonSet"])
    full = {
        "options": ["--slice", "2ms"],
        "metrics": {"podMonitor": True, "port": 9955, "address": "127.0.0.1"},
        "policies": {"a.toml": '[[rule]]\ncgroup = "/"\nlatency = "low"\n'},
    }
    custom = rendered(full)
    validate(custom, "chart with values")
    containers = custom["DaemonSet"]["spec"]["template"]["spec"]["containers"]
    assert containers[0]["args"] == ["--slice", "2ms"]
    assert containers[1]["args"] == ["metrics", "--listen", "127.0.0.1:9955"]
    assert custom["ConfigMap"]["data"]["a.toml"] == full["policies"]["a.toml"]
    assert custom["PodMonitor"] == yaml.safe_load((HERE / "podmonitor.yaml").read_text())
    without = rendered({"metrics": {"enabled": False}})
    assert len(without["DaemonSet"]["spec"]["template"]["spec"]["containers"]) == 1
    print("ok: values do what they say")


main()
