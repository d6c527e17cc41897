"""What deploy/ says is so: the compose file and the manifests are valid, and all that they name is
in the code."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from agentd.core.settings import JoinSettings, arguments_of
from api.cli.serve import ServeSettings
from tests.support.command_lines import options_of

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SCRIPTS = [
    DEPLOY / "build",
    DEPLOY / "service" / "install",
    *(
        DEPLOY / "sandbox" / name
        for name in ("install", "start", "browser", "alive", "end", "home", "reset")
    ),
    *(DEPLOY / "vm" / name for name in ("build", "seed", "run")),
]
DOCKERFILES = [DEPLOY / "Dockerfile.service", DEPLOY / "Dockerfile.sandbox"]
SECRETS = {
    "POSTGRES_PASSWORD": "p",
    "MILESTONED_SECRET": "s",
    "MILESTONED_SIGNING_KEY": "k",
    "MILESTONED_ADMIN_TOKEN": "t" * 32,
}
MANIFESTS = [
    (path.name, document)
    for path in sorted((DEPLOY / "kubernetes").rglob("*.yaml"))
    if path.name != "kustomization.yaml"
    for document in yaml.safe_load_all(path.read_text())
    if document["apiVersion"] != "keda.sh/v1alpha1"
]
KEDA = DEPLOY / "kubernetes" / "overlays" / "keda" / "sandboxes.yaml"
KUSTOMIZATIONS = sorted((DEPLOY / "kubernetes").rglob("kustomization.yaml"))
VERBS = (["join"], ["devtools"], ["serve"], ["db"], ["token"])
PARTS = {f"AGENTD_{name.upper()}" for name in arguments_of(JoinSettings)}


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return found


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="docker-compose is missing")
def test_the_compose_file_is_one() -> None:
    """Debian's docker-compose reads it, and says so without an engine."""
    run = ["docker-compose", "config", "--quiet"]
    done = subprocess.run(
        run, cwd=ROOT, env=os.environ | SECRETS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="docker-compose is missing")
@pytest.mark.parametrize("name", SECRETS)
def test_compose_refuses_to_start_without_its_secrets(name: str) -> None:
    environ = {key: value for key, value in (os.environ | SECRETS).items() if key != name}
    done = subprocess.run(
        ["docker-compose", "config", "--quiet"],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert name in done.stderr


@pytest.mark.parametrize(
    ("file", "document"), MANIFESTS, ids=[f"{file}-{one['kind']}" for file, one in MANIFESTS]
)
def test_the_manifests_are_valid(file: str, document: dict[str, Any]) -> None:
    kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is missing")
@pytest.mark.parametrize("path", KUSTOMIZATIONS, ids=lambda path: path.parent.name)
def test_every_overlay_gives_valid_manifests(path: Path) -> None:
    build = ["kubectl", "kustomize", path.parent]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    if "unknown field" in done.stderr:
        pytest.skip("kubectl's kustomize is older than 4")
    assert done.returncode == 0, done.stderr
    documents = list(yaml.safe_load_all(done.stdout))
    assert {"Deployment", "NetworkPolicy", "PodDisruptionBudget"} <= {
        one["kind"] for one in documents
    }
    for document in documents:
        if document["apiVersion"] != "keda.sh/v1alpha1":
            kubernetes_validate.validate(
                document, kubernetes_validate.latest_version(), strict=True
            )


def test_the_autoscaler_that_keda_makes_is_the_one_that_it_takes_the_place_of() -> None:
    """Kubernetes' own schemas hold the one; KEDA makes the other of these fields."""
    scaled = yaml.safe_load(KEDA.read_text())["spec"]
    (trigger,) = scaled["triggers"]
    made = {
        "scaleTargetRef": scaled["scaleTargetRef"],
        "minReplicas": scaled["minReplicaCount"],
        "maxReplicas": scaled["maxReplicaCount"],
        "behavior": scaled["advanced"]["horizontalPodAutoscalerConfig"]["behavior"],
        "metrics": [
            {
                "type": "External",
                "external": {
                    "metric": {"name": trigger["metadata"]["query"]},
                    "target": {
                        "type": trigger["metricType"],
                        "averageValue": trigger["metadata"]["threshold"],
                    },
                },
            }
        ],
    }
    (own,) = (
        one["spec"]
        for _, one in MANIFESTS
        if (one["kind"], one["metadata"]["name"]) == ("HorizontalPodAutoscaler", "sandbox")
    )
    assert made == own
    assert all(isinstance(value, str) for value in trigger["metadata"].values())
    recorded = yaml.safe_load((DEPLOY / "monitoring" / "autoscaling.yaml").read_text())
    assert trigger["metadata"]["query"] == recorded["groups"][0]["rules"][0]["record"]


@pytest.mark.parametrize("path", KUSTOMIZATIONS, ids=lambda path: path.parent.name)
def test_every_resource_that_a_kustomization_names_is_there(path: Path) -> None:
    named = yaml.safe_load(path.read_text())["resources"]
    beside = {one.name for one in path.parent.glob("*.yaml")} - {"kustomization.yaml"}
    assert beside <= set(named)
    assert all((path.parent / one).exists() for one in named)


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for _, document in MANIFESTS:
        if document["kind"] in ("Deployment", "StatefulSet"):
            yield document["metadata"]["name"], document["spec"]["template"]["spec"]


def containers() -> Iterator[tuple[str, dict[str, Any]]]:
    for pod, spec in pods():
        yield from (
            (f"{pod}/{one['name']}", one)
            for one in (*spec.get("initContainers", ()), *spec["containers"])
        )


@pytest.mark.parametrize(
    ("name", "container"), list(containers()), ids=lambda one: one if isinstance(one, str) else ""
)
def test_every_container_asks_for_what_it_needs_and_may_no_more(
    name: str, container: dict[str, Any]
) -> None:
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]


def test_every_deployment_has_a_disruption_budget_for_its_pods() -> None:
    budgets = [
        one["spec"]["selector"] for _, one in MANIFESTS if one["kind"] == "PodDisruptionBudget"
    ]
    for _, document in MANIFESTS:
        if document["kind"] == "Deployment":
            assert document["spec"]["selector"] in budgets, document["metadata"]["name"]


def test_agentd_is_another_user_that_can_only_read_the_downloads() -> None:
    """Law 7, in the manifests: another container and user, no shared processes, no writable folder
    of the agent's."""
    spec = dict(pods())["sandbox"]
    assert spec["shareProcessNamespace"] is False
    (agentd,) = (one for one in spec["containers"] if one["name"] == "agentd")
    assert agentd["securityContext"]["runAsUser"] == _number(r"--uid (\d+) --groups watched")
    assert spec["securityContext"]["supplementalGroups"] == [
        _number(r"groupadd --system --gid (\d+) watched")
    ]
    mounts = {one["name"]: one.get("readOnly", False) for one in agentd["volumeMounts"]}
    desktop = {one["name"] for one in spec["containers"][0]["volumeMounts"]}
    assert all(mounts[name] for name in set(mounts) & desktop)
    assert not {"state", "token"} & desktop


def policy(name: str) -> dict[str, Any]:
    (found,) = (
        one
        for _, one in MANIFESTS
        if (one["kind"], one["metadata"]["name"]) == ("NetworkPolicy", name)
    )
    spec: dict[str, Any] = found["spec"]
    return spec


@pytest.mark.parametrize("pod", ["milestoned", "milestoned-postgres", "sandbox"])
def test_every_pod_is_called_by_those_alone_that_a_policy_names(pod: str) -> None:
    spec = policy(pod)
    assert spec["podSelector"] == {"matchLabels": {"app": pod}}
    assert "Ingress" in spec["policyTypes"]
    ports = {
        port["name"] for one in dict(pods())[pod]["containers"] for port in one.get("ports", [])
    }
    assert {port["port"] for rule in spec["ingress"] for port in rule["ports"]} == ports
    assert all(rule["from"] for rule in spec["ingress"]), (
        "an empty list of callers lets everybody in"
    )


def test_a_sandbox_s_browser_is_a_trainer_s_and_a_sandbox_calls_no_other_pod_than_the_service_s() -> (
    None
):
    spec = policy("sandbox")
    callers = [peer for rule in spec["ingress"] for peer in rule["from"]]
    assert callers == [{"podSelector": {"matchLabels": {"milestoned/trainer": "true"}}}]
    called = [
        peer["podSelector"]
        for rule in spec["egress"]
        for peer in rule["to"]
        if set(peer) == {"podSelector"}
    ]
    assert called == [{"matchLabels": {"app": "milestoned"}}]
    (public,) = (
        peer["ipBlock"] for rule in spec["egress"] for peer in rule["to"] if "ipBlock" in peer
    )
    assert {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"} <= set(
        public["except"]
    )
    (to_sites,) = (rule for rule in spec["egress"] if any("ipBlock" in peer for peer in rule["to"]))
    assert to_sites["ports"] == [{"protocol": "TCP"}], "no datagrams"


def test_the_agent_s_container_does_not_see_the_token_of_its_devtools() -> None:
    spec = dict(pods())["sandbox"]
    by_name = {one["name"]: one for one in spec["containers"]}
    assert "state" not in {one["name"] for one in by_name["desktop"]["volumeMounts"]}
    (mount,) = by_name["devtools"]["volumeMounts"]
    assert mount == {"name": "state", "mountPath": "/var/lib/agentd", "readOnly": True}


def test_a_sandbox_s_network_in_compose_is_its_own_and_the_proxy_s() -> None:
    """Neither the database nor a replica nor another sandbox is there."""
    networks = {name: set(service["networks"]) for name, service in compose()["services"].items()}
    assert set(compose()["networks"]) == set().union(*networks.values())
    sandboxes = [name for name in networks if name.startswith("sandbox-")]
    assert len(sandboxes) == 4
    for name in sandboxes:
        reached = {other for other, of in networks.items() if of & networks[name]} - {name}
        assert reached == {"proxy"}, name


def test_sandboxes_in_compose_differ_in_their_network_alone() -> None:
    services = compose()["services"]
    without_network = [
        {key: value for key, value in service.items() if key != "networks"}
        for name, service in services.items()
        if name.startswith("sandbox-")
    ]
    assert all(service == without_network[0] for service in without_network)


@pytest.mark.parametrize("name", compose()["services"])
def test_no_container_asks_for_more_open_files_than_a_host_may_allow(name: str) -> None:
    """A limit above the host's ends the container's start; without one it gets what there is."""
    assert "ulimits" not in compose()["services"][name]


def test_images_can_be_named_by_digest_and_installs_are_held_by_hashes() -> None:
    for path in DOCKERFILES:
        assert re.search(r"^ARG BASE_IMAGE=.+\nFROM \$\{BASE_IMAGE\}", path.read_text(), re.M), path
        assert set(re.findall(r"^FROM (\S+)", path.read_text(), re.M)) == {"${BASE_IMAGE}"}, path
    for name in ("postgres", "proxy"):
        assert re.match(r"\$\{[A-Z]+_IMAGE:-", compose()["services"][name]["image"])
    for line in re.findall(r"(?:pip\"|\$into) install (.+)", (DEPLOY / "build").read_text()):
        assert "--require-hashes" in line or line.endswith('"$build"/milestoned-*.whl'), line


def test_the_images_build_gets_every_folder_that_the_wheel_includes() -> None:
    let_in = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.M)
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    wheel = build["targets"]["wheel"]
    needed = {*wheel["packages"], *wheel["force-include"], build["hooks"]["custom"]["path"]}
    missing = {
        name
        for name in needed
        if not any((ROOT / name).is_relative_to(ROOT / one) for one in let_in)
    }
    assert missing == set()


def _number(pattern: str) -> int:
    found = re.search(pattern, (DEPLOY / "sandbox" / "install").read_text())
    assert found is not None, pattern
    return int(found[1])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_scripts_are_scripts(script: Path) -> None:
    assert os.access(script, os.X_OK)
    shell = script.read_text().splitlines()[0].removeprefix("#!")
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line of ours that compose, the manifests, Dockerfiles and scripts have."""
    text = "\n".join(path.read_text() for path in (*SCRIPTS, *DOCKERFILES)).replace("\\\n", " ")
    for line in text.splitlines():
        words = re.findall(r"[^\s\"',\[\]]+", line)
        for at, word in enumerate(words):
            program = word.rpartition("/")[2]
            if program in ("agentd", "milestoned") and words[at + 1 : at + 2] in VERBS:
                yield program, words[at + 1 :]
    for _, container in containers():
        said = [str(one) for one in container.get("args", [])]
        if said and said[0].rpartition("/")[2] in ("agentd", "milestoned"):
            yield said[0].rpartition("/")[2], said[1:]
    for said in re.findall(
        r"milestoned ((?:db|token) [^&>]+)", compose()["services"]["setup"]["command"][-1]
    ):
        yield "milestoned", said.replace(")", "").split()


@pytest.mark.parametrize(("program", "said"), list(commands()), ids=str)
def test_every_option_that_is_given_exists(program: str, said: list[str]) -> None:
    verbs = said[: 1 if said[0] in ("join", "devtools", "serve") else 2]
    there = options_of(program)[tuple(verbs)]
    for option in re.findall(r"--[a-z-]+", " ".join(said)):
        assert option in there, option


def environment() -> Iterator[tuple[str, str]]:
    for name, service in compose()["services"].items():
        yield from ((name, variable) for variable in service.get("environment", {}))
    for name, container in containers():
        yield from ((name, one["name"]) for one in container.get("env", []))


def test_every_variable_that_is_set_is_read() -> None:
    settings = "".join(
        (ROOT / "api" / file).read_text() for file in ("core/settings.py", "cli/common.py")
    )
    start = (DEPLOY / "sandbox" / "start").read_text()
    known = {
        "POSTGRES_USER",
        "POSTGRES_PASSWORD",
        "POSTGRES_DB",
        "PGDATA",
    }  # the image's own documentation
    known |= {"DISPLAY", "DBUS_SESSION_BUS_ADDRESS"}
    for where, name in environment():
        if name.startswith("MILESTONED_"):
            assert f'"{name}"' in settings, (where, name)
        elif name.startswith("AGENTD_"):
            assert name in PARTS, (where, name)
        elif name == "POD_IP":
            assert "$(POD_IP)" in (DEPLOY / "kubernetes" / "base" / "sandboxes.yaml").read_text()
        else:
            assert name in known or name in start, (where, name)


def test_ports_and_files_are_the_same_everywhere() -> None:
    """The service's port, Chromium's, and every path below deploy/ that somebody names."""
    assert ServeSettings().port == 8420
    for path in (ROOT / "docker-compose.yml", DEPLOY / "nginx.conf", *DOCKERFILES[:1]):
        assert "8420" in path.read_text(), path
    start = (DEPLOY / "sandbox" / "start").read_text()
    assert "--remote-debugging-port=9222" in start
    assert "agentd devtools --listen 0.0.0.0:9223" in start
    for path in (ROOT / "docker-compose.yml", ROOT / "docs" / "deploy.md", *DOCKERFILES):
        for named in re.findall(r"(?<![\w/])deploy/[\w./-]*\w", path.read_text()):
            assert (ROOT / named).exists(), f"{path.name} names {named}"


def test_the_health_that_is_asked_for_is_a_route() -> None:
    operations = (ROOT / "api" / "http" / "operations.py").read_text()
    asked = set(
        re.findall(r"path: (/\w+)", (DEPLOY / "kubernetes" / "base" / "service.yaml").read_text())
    )
    for path in asked | set(re.findall(r"8420(/\w+)'", DOCKERFILES[0].read_text())):
        assert f'"{path}"' in operations, path


def test_every_part_of_a_sandbox_that_is_named_is_installed() -> None:
    installed = {f"sandbox-{path.name}" for path in SCRIPTS if path.parent.name == "sandbox"} - {
        "sandbox-install"
    }
    said = (DEPLOY / "sandbox" / "install").read_text()
    names = {
        f"sandbox-{name}" for name in re.search(r"for part in ([a-z ]+);", said)[1].split()
    } | {"sandbox-start"}  # type: ignore[index]
    assert names == installed
    texts = [
        path.read_text()
        for path in (
            *SCRIPTS,
            ROOT / "docker-compose.yml",
            *(DEPLOY / "kubernetes").rglob("*.yaml"),
        )
    ]
    named = {
        name for text in texts for name in re.findall(r"(?<![\w.-])sandbox-[a-z]+(?![\w.])", text)
    }
    assert named <= installed


def test_rented_machines_start_the_sandbox_that_is_there() -> None:
    """SkyPilot's task: it builds and runs what this tree has, with variables that are read."""
    task = yaml.safe_load((DEPLOY / "skypilot.yaml").read_text())
    script = task["setup"] + task["run"]
    for named in re.findall(r"(?<![\w/])deploy/[\w./-]*\w", script):
        assert (ROOT / named).exists(), named
    assert set(re.findall(r"--env (\w+)=", script)) <= PARTS
    for name in (*task["envs"], *task["secrets"]):
        assert f"${name}" in script, name
