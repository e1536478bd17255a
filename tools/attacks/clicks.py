"""Pages on which somebody clicks and types at random, in headless Chromium.

Trials are by turns about the page of a service, without and with a token, and about an explorer.
Names and labels are hostile. No script may fail, nothing may come from elsewhere or run that was a
name, and the page of a service must show the case as the service has it.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from browser import missing, open_browser

from attacks.fits import Disturbed
from attacks.service import TOKEN, start_service
from emsco import EMSCOClassifier

__all__ = ["click_pages"]

_N_STEPS = 40
_TAKE_OVER = "</script><script>window.taken = 1</script><img src=x onerror='window.taken = 1'>"
_NAMES = ["__proto__", "elements", "querySelectorAll", _TAKE_OVER]
_WORDS = [
    "",
    "0",
    "1",
    "-1",
    "0.5",
    "1e999",
    "NaN",
    "9" * 400,
    "old",
    _TAKE_OVER,
    "\u202e",
    "50",
    "%",
]
_CONTROLS = """
const kinds = "button, input, select, summary, th, tr, canvas, [tabindex='0']";
return [...document.querySelectorAll(kinds)]
  .filter((node) => node.checkVisibility());
"""
_WRONG = """
if (window.taken) return "a name has run";
const {origin} = location;
for (const {name} of performance.getEntriesByType("resource"))
  if (!/^(data|blob):/.test(name) && !name.startsWith(origin)) return `loaded ${name}`;
const found = document.body.innerText.match(/.*\\b(undefined|NaN|\\[object).*/);
return found && !found[0].includes("'NaN'") && !found[0].includes('"NaN"') ? found[0] : "";
"""


def click_pages(folder: Path, seed: int, numbers: range) -> Iterator[Disturbed]:
    """Carry out trials."""
    if why := missing():
        raise SystemExit(why)
    clf = _fitted()
    clf.front_.cascade(max(clf.front_, key=lambda point: point.n_stages)).save(folder / "c.json")
    (folder / "page.html").write_text(clf.front_.to_html(error_cost=50, reject_cost=5), "utf-8")
    (folder / "token").write_text(TOKEN)
    options = [[], [f"--token-file={folder / 'token'}", "--behind-proxy"]]
    log, started = folder / "log.txt", []
    driver = open_browser(folder / "profile", reach="127.0.0.1")
    try:
        for i, more in enumerate(options):
            started.append(
                start_service(folder / "c.json", folder / f"{i}.sqlite", log, ["--rate=inf", *more])
            )
        pages = [f"http://127.0.0.1:{port}/" for _, port in started]
        pages.append((folder / "page.html").as_uri())
        for number in numbers:
            rng = random.Random(f"clicks {seed} {number}")
            page = pages[number % 3]
            steps: list[str] = []
            escape = _play(driver, page, rng, steps)
            if not escape and "Traceback" in log.read_text():
                escape = "a traceback in the log"
            yield Disturbed(number, f"{page}: {'; '.join(steps[-6:])}", escape)
    finally:
        driver.quit()
        for process, _ in started:
            process.kill()
            process.communicate()


def _fitted() -> EMSCOClassifier:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 4)), columns=_NAMES)
    y = np.where(X.sum(axis=1) + rng.normal(size=200) > 0, _TAKE_OVER, "constructor")
    settings: dict[str, Any] = {"min_confidence": 0.9, "max_stages": 3, "generations": 8}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return EMSCOClassifier(
            estimator="logistic", cv=1 / 3, random_state=0, search="evolution", **settings
        ).fit(X, y)


def _play(driver: Any, page: str, rng: random.Random, steps: list[str]) -> str:
    """Click and type at random; say what is wrong then."""
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    driver.set_window_size(rng.choice([390, 800, 1400]), 900)
    driver.get(page)
    title = driver.title
    driver.get_log("browser")
    for _ in range(_N_STEPS):
        token = driver.find_elements(By.ID, "token")
        if token and token[0].is_displayed() and rng.random() < 0.5:
            token[0].clear()
            token[0].send_keys(TOKEN, Keys.ENTER)
        controls = driver.execute_script(_CONTROLS)
        if not controls:
            continue
        node = rng.choice(controls)
        with suppress(WebDriverException):  # it may have gone, or be covered by another
            steps.append(f"{node.tag_name} {node.get_attribute('id')!r}")
            if node.tag_name == "input" and node.get_attribute("type") in ("text", "password", ""):
                values = [f"{rng.gauss(0, 1):.2f}", rng.choice(_WORDS)]
                node.clear()
                node.send_keys(rng.choice(values), rng.choice([Keys.ENTER, Keys.TAB, ""]))
            elif node.tag_name == "select":
                node.send_keys(rng.choice([Keys.DOWN, Keys.UP, Keys.END]))
            elif rng.random() < 0.8:
                node.click()
            else:
                node.send_keys(rng.choice([Keys.RIGHT, Keys.LEFT, Keys.ENTER, Keys.HOME, Keys.END]))
        if said := driver.execute_script(_WRONG):
            return str(said)[:300]
        failed = [one["message"] for one in driver.get_log("browser") if one["level"] == "SEVERE"]
        # What a service refuses, Chromium notes, too.
        if failed := [words for words in failed if "Failed to load resource" not in words]:
            return str(failed[0])[:300]
        if driver.title != title:
            return f"the title is {driver.title[:100]!r}"
    return _other_case(driver) if page.startswith("http") else ""


def _other_case(driver: Any) -> str:
    """Ask the service for the case that is shown; say where the page differs."""
    ask = """
    const done = arguments[0];
    if (!current) { done(""); return; }
    const headers = token ? {Authorization: `Bearer ${token}`} : {};
    fetch(pathOf(""), {headers}).then((answer) => answer.json()).then((now) => {
      const other = Object.keys(now).filter((key) => key in current &&
        JSON.stringify(now[key]) !== JSON.stringify(current[key]));
      const isOpen = document.getElementById("give-form").checkVisibility();
      if (isOpen === now.decided) other.push("the form");
      done(other.length ? `${other} differ` : "");
    });
    """
    return str(driver.execute_async_script(ask))
