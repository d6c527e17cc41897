"""What the Dockerfiles run, run: the install scripts in an empty Debian, and a sandbox's start with
its two users."""

from __future__ import annotations

import pytest

from tests.deploy.root import Debian, needs_root

AS = "setpriv --reuid={0} --regid={0} --init-groups"
# The two stages of an image, one after the other.
INSTALL = "/src/deploy/build /src {0} && /src/deploy/{0}/install"
START = r"""
set -e
mkdir -p /run/fleet; (umask 077; echo mt_none > /run/fleet/sandbox.token)
export AGENTD_SERVICE=http://127.0.0.1:9
sandbox-start > /tmp/said 2>&1 &
until grep -q "The fleet's service does not answer" /tmp/said && pgrep -u agent chromium >/dev/null \
  && [ -S /run/sandbox/at-spi/bus_0 ]; do kill -0 $! || { cat /tmp/said; exit 1; }; sleep 0.2; done
"""
LOOK = r"""
cat > /tmp/look.py <<'PY'
import time, urllib.request
import pyatspi
while not (names := [one.name for one in pyatspi.Registry.getDesktop(0)]):
    time.sleep(0.2)
print(f"agentd sees {names}")
print(urllib.request.urlopen("http://127.0.0.1:9222/json/version").status)
PY
"""

# The sandbox lives on, what was there is gone, and another Chromium answers at the port that
# harnesses call.
RESET = rf"""
before=$(pgrep -o -u agent -x chromium)
{AS.format("agent")} touch /home/agent/.chromium/of-the-last-episode
{AS.format("agent")} sandbox-reset
after=$(pgrep -o -u agent -x chromium)
[ "$before" != "$after" ] || {{ echo "the same Chromium"; exit 1; }}
[ -z "$(ls /home/agent/Downloads)" ] || {{ echo "downloads are left"; exit 1; }}
[ ! -e /home/agent/.chromium/of-the-last-episode ] || {{ echo "the profile is left"; exit 1; }}
sandbox-alive
kill -9 $after
until now=$(pgrep -o -u agent -x chromium) && [ "$now" != "$after" ] && sandbox-alive; do sleep 0.2; done
kill -0 $! || {{ echo "the sandbox ended"; cat /tmp/said; exit 1; }}
cat > /tmp/ask.py <<'PY'
import sys, urllib.error, urllib.request
try:
    print(sys.argv[1], urllib.request.urlopen(f"http://127.0.0.1:9223{{sys.argv[2]}}/json/version").status)
except urllib.error.HTTPError as error:
    print(sys.argv[1], error.code)
PY
python3 /tmp/ask.py again "/$(cat /var/lib/agentd/devtools.token)"
{AS.format("agent")} python3 /tmp/ask.py guessed /guessed-by-the-agent
{AS.format("agent")} python3 /tmp/ask.py without ""
sandbox-alive agentd /var/lib/agentd/state
"""


def refused(user: str, command: str) -> str:
    return (
        f"if {AS.format(user)} {command} 2>/dev/null; then echo '{user} may: {command}'; exit 1;"
        " fi\n"
    )


@pytest.mark.slow
@needs_root
def test_the_sandbox_s_image_installs_and_starts(debian: Debian) -> None:
    """One Chromium, two users: the daemon's sees desktop and downloads, and neither can touch what
    is the other's."""
    installed = debian.run(INSTALL.format("sandbox"), timeout_s=1_200)
    assert installed.returncode == 0, installed.stdout[-4_000:]
    agentd = "env DISPLAY=:0 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/sandbox/bus"
    script = START + LOOK
    script += f"{AS.format('agentd')} {agentd} timeout 30 python3 /tmp/look.py\n"
    script += f"{AS.format('agent')} sh -c 'umask 027; echo hello > /home/agent/Downloads/a'\n"
    script += f"{AS.format('agentd')} cat /home/agent/Downloads/a\n"
    script += refused("agentd", "touch /home/agent/Downloads/b")
    script += refused("agentd", "ls /home/agent/.chromium")
    script += refused("agent", "ls /var/lib/agentd")
    script += refused("agent", "cat /run/fleet/sandbox.token")
    script += refused("agent", "cat /var/lib/agentd/devtools.token")
    script += refused("agent", "kill $(pgrep -u agentd -f 'agentd join')")
    script += RESET
    done = debian.run(script, timeout_s=180)
    assert done.returncode == 0, done.stdout[-4_000:]
    assert "agentd sees ['Chromium']\n200\nhello\n" in done.stdout
    assert "again 200\nguessed 401\nwithout 401\n" in done.stdout


@pytest.mark.slow
@needs_root
def test_the_service_s_image_installs(debian: Debian) -> None:
    installed = debian.run(INSTALL.format("service"), timeout_s=1_200)
    assert installed.returncode == 0, installed.stdout[-4_000:]
    serve = (
        f"{AS.format('milestoned')} env MILESTONED_DATA=/var/lib/milestoned"
        " /opt/milestoned/bin/milestoned serve &\n"
    )
    done = debian.run(
        serve
        + 'until echo >/dev/tcp/127.0.0.1/8420; do sleep 0.2; done 2>/dev/null\npython3 -c "import'
        " urllib.request as u; print(u.urlopen('http://127.0.0.1:8420/readyz').status)\"",
        timeout_s=120,
    )
    assert "\n200\n" in "\n" + done.stdout, done.stdout
