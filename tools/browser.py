"""A browser for the tests of pages: headless Chromium, driven by Selenium.

python tools/browser.py         install it if possible; else say how

With the environment variable EMSCO_BROWSER=off nothing is installed, and no page is tested.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

PACKAGES = ("chromium", "chromium-driver")
NAMES = (("chromium", "chromium-browser", "google-chrome"), ("chromedriver",))
SWITCHES = (
    "--headless=new",
    "--no-sandbox",  # Chromium refuses root without it; the only pages opened are our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # no network
)


def find() -> tuple[str, str] | None:
    """Find the browser and its driver; None if one is missing."""
    browser, driver = (next(filter(None, map(shutil.which, names)), None) for names in NAMES)
    return (browser, driver) if browser and driver else None


def missing() -> str:
    """Reason why pages cannot be tested here; empty if they can."""
    if _switched_off():
        return "EMSCO_BROWSER is off: pages are not tested in a browser"
    return "" if find() else "no Chromium with its driver; see tools/browser.py"


def _switched_off() -> bool:
    return os.environ.get("EMSCO_BROWSER", "").lower() == "off"


def install() -> bool:
    """Install both with apt, as root on Debian and its kin; return whether that worked."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0 or not Path("/etc/debian_version").exists():
        return False
    wanted = [apt, "install", "-y", "-qq", "--no-install-recommends", *PACKAGES]
    if _quietly(wanted):
        return True
    return _quietly([apt, "update", "-qq"]) and _quietly(wanted)


def _quietly(command: list[str]) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    nowhere = subprocess.DEVNULL
    done = subprocess.run(
        command, env=environment, stdout=nowhere, stderr=nowhere, timeout=240, check=False
    )
    return done.returncode == 0


def open_browser(folder: Path, reach: str = "", switches: tuple[str, ...] = ()) -> Chrome:
    """Open a browser without network, with its profile in `folder`; quit() ends it.

    `reach` is an address that it may reach all the same; `switches` are added to the usual ones.
    """
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    browser = find()
    if browser is None:
        raise FileNotFoundError("no Chromium with its driver; see tools/browser.py")
    options = ChromeOptions()
    options.binary_location = browser[0]
    for switch in (*SWITCHES, *switches, f"--user-data-dir={folder}"):
        is_closed = reach and switch.startswith("--host-resolver-rules")
        options.add_argument(f"{switch}, EXCLUDE {reach}" if is_closed else switch)
    return Chrome(options=options, service=Service(browser[1]))


def main() -> int:
    """Install if possible; always succeed, since tests skip pages without a browser."""
    if _switched_off():
        print(missing())
    elif find() is None:
        print("installing", *PACKAGES, flush=True)
        try:
            installed = install()
        except (OSError, subprocess.SubprocessError):
            installed = False
        if not installed:
            print("pages are not tested: install", " and ".join(PACKAGES), "to have them tested")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
