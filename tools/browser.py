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

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MISSING = "pages are not tested in a browser: install chromium and chromium-driver"
INSTALL = "apt-get install -y -qq --no-install-recommends chromium chromium-driver"
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
)


def missing() -> str:
    """Reason why pages cannot be tested here; empty if they can."""
    if os.environ.get("EMSCO_BROWSER", "").lower() == "off":
        return "EMSCO_BROWSER is off: pages are not tested in a browser"
    return "" if any(map(shutil.which, BROWSERS)) and shutil.which("chromedriver") else MISSING


def open_browser(folder: Path, reach: str = "localhost", switches: tuple[str, ...] = ()) -> Chrome:
    """Open a browser without network, with its profile in `folder`; quit() ends it.

    `reach` is an address that it may reach all the same; `switches` are added to the usual ones.
    """
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
    closed = f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {reach}"
    for switch in (*SWITCHES, *switches, closed, f"--user-data-dir={folder}"):
        options.add_argument(switch)
    return Chrome(options=options, service=Service(shutil.which("chromedriver")))


def main() -> None:
    """Install with apt, as root on Debian and its kin; tests skip pages without a browser."""
    if missing() == MISSING and shutil.which("apt-get") and os.geteuid() == 0:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (INSTALL, f"apt-get update -qq && {INSTALL}"):
            if missing():
                print(command, flush=True)
                subprocess.run(command, shell=True, env=environment, check=False)
    print(missing() or "pages are tested in Chromium")


if __name__ == "__main__":
    main()
