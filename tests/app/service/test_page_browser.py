"""The pages of the service in a real browser that reaches nothing but the service."""

from dataclasses import replace

import browser
import numpy as np
import pytest
from support.handmade import NAMES, make_cascade, make_rich_cascade, make_rows
from support.services import serving

from emsco.app.service import Settings

pytest.importorskip("selenium", reason="pages are tested with Selenium: pip install 'emsco[test]'")
if browser.missing():
    pytest.skip(browser.missing(), allow_module_level=True)

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

NASTY = "</script><script>document.title = 'taken over'</script><b onclick=1>"
TOKEN = "correct-horse-battery"
NAMELESS = """
return [...document.querySelectorAll("a[href], button, input, select, section")].filter((node) =>
  node.getClientRects().length && !node.textContent.trim() && !node.labels?.length
  && !node.getAttribute("aria-label")).map((node) => node.outerHTML);
"""
# The pair of colours with the least contrast among all texts that are seen.
LEAST_CONTRAST = """
const light = (colour) => {
  const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
};
const ground = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const {backgroundColor} = getComputedStyle(at);
    if (!/, 0\\)$/.test(backgroundColor)) return backgroundColor;
  }
};
let least = 99;
for (const node of document.querySelectorAll("body *")) {
  const own = [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
  if (!own || !node.getClientRects().length) continue;
  const [a, b] = [light(getComputedStyle(node).color), light(ground(node))].sort((x, y) => y - x);
  least = Math.min(least, (a + 0.05) / (b + 0.05));
}
return least;
"""
COMPLAINTS = """
return performance.getEntriesByType("resource").map(({name}) => name)
  .filter((name) => !name.startsWith(location.origin) && !name.startsWith("data:"));
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    opened = browser.open_browser(tmp_path_factory.mktemp("profile"), reach="127.0.0.1")
    yield opened
    opened.quit()


def wait(driver, condition):
    return WebDriverWait(driver, 10, 0.02).until(lambda _: condition())


def shown(driver, name):
    return driver.find_element(By.ID, name).text


def press(driver, name):
    driver.find_element(By.ID, name).click()


def fill(driver, **values):
    for name, value in values.items():
        field = driver.find_element(By.CSS_SELECTOR, f"#give-fields [name='{name}']")
        if field.tag_name == "select":
            Select(field).select_by_value(value)
        else:
            field.send_keys(str(value))
    press(driver, "give")


def see(driver, url, width=1400, scheme="light"):
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wish = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)
    driver.get(url)
    return driver


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_a_case_is_played_by_hand(driver, tmp_path, width, scheme):
    cascade, rows = make_cascade(classes=("ill", "well")), make_rows(60)
    encoding = cascade.encoding.with_ranges(np.full(4, -9.0), np.array([9, 9, -9, 9]))
    cascade = replace(cascade, encoding=encoding)
    row = rows[int(np.flatnonzero(cascade.decide(rows).stage == 2)[0])]
    values = dict(zip(NAMES, row.tolist(), strict=True))
    named = Settings(run="ward-run", target="state")
    with serving(cascade, tmp_path / "a.sqlite", named) as service:
        see(driver, service.url, width, scheme)
        wait(driver, lambda: "1. age, pulse" in shown(driver, "stages"))
        said = "Run ward-run; decides state: ill or well; costs have no unit."
        assert shown(driver, "served") == said
        press(driver, "open")
        wait(driver, lambda: shown(driver, "asks") == "Stage 1 asks for age, pulse, for 3.5.")
        fill(driver, age="old", pulse=1)
        wait(driver, lambda: shown(driver, "trouble") == "'age' must be a number, got 'old'.")
        driver.find_element(By.CSS_SELECTOR, "[name=age]").clear()
        driver.find_element(By.CSS_SELECTOR, "[name=pulse]").clear()
        fill(driver, age=values["age"], pulse=values["pulse"])
        wait(driver, lambda: shown(driver, "asks") == "Stage 2 asks for scan, for 10.")
        assert "Not sure yet." in shown(driver, "decision")
        assert not driver.find_element(By.ID, "trouble").is_displayed()
        fill(driver, scan=values["scan"])
        wait(driver, lambda: "sure at stage 2" in shown(driver, "decision"))
        assert shown(driver, "decision").startswith(str(cascade.decide(row[None]).labels[0]))
        assert "13.5" in shown(driver, "decision")
        assert "in training it was -9 to -9." in shown(driver, "decision")
        assert shown(driver, "request").startswith("POST /cases/")
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        assert driver.execute_script(LEAST_CONTRAST) >= 4.5
        assert driver.execute_script(NAMELESS) == []
        assert driver.execute_script(COMPLAINTS) == []
        case = shown(driver, "id").removeprefix("Id: ")
        assert service.get(f"/cases/{case}")[1]["decided"] is True
        if width == 390:
            press(driver, "again")
            driver.find_element(By.ID, "find").send_keys(case)
            driver.find_element(By.CSS_SELECTOR, "#find-form button").click()
            wait(driver, lambda: "sure at stage 2" in shown(driver, "decision"))


def test_names_are_text_and_every_kind_of_value_can_be_given(driver, tmp_path):
    names = ("age", NASTY, "scan", "biopsy")
    with serving(make_cascade(names=names, classes=("a", NASTY)), tmp_path / "a.sqlite") as service:
        see(driver, service.url)
        wait(driver, lambda: NASTY in shown(driver, "stages"))
        press(driver, "open")
        wait(driver, lambda: NASTY in shown(driver, "asks"))
        press(driver, "reject")
        wait(driver, lambda: "Rejected" in shown(driver, "decision"))
        assert "ended by hand" in shown(driver, "decision")
        assert driver.title == "A case by hand"
    with serving(make_rich_cascade(), tmp_path / "b.sqlite") as service:
        see(driver, service.url)
        wait(driver, lambda: "ward" in shown(driver, "stages"))
        press(driver, "open")
        wait(driver, lambda: "Leave empty what cannot be had." in shown(driver, "asks"))
        fill(driver, ward="ICU")
        wait(driver, lambda: "Cost" in shown(driver, "decision"))


def test_a_service_with_a_token_asks_for_it(driver, tmp_path):
    settings = Settings(token=TOKEN)
    with serving(make_cascade(), tmp_path / "a.sqlite", settings) as service:
        see(driver, service.url)
        wait(driver, lambda: driver.find_element(By.ID, "token").is_displayed())
        driver.find_element(By.ID, "token").send_keys(TOKEN)
        driver.find_element(By.CSS_SELECTOR, "#token-form button").click()
        wait(driver, lambda: "1. age, pulse" in shown(driver, "stages"))
        press(driver, "open")
        wait(driver, lambda: "Stage 1 asks" in shown(driver, "asks"))
        assert "Stage 1 asks" in shown(driver, "asks")


def test_the_requests_are_listed_without_a_network(driver, tmp_path):
    cascade = replace(make_cascade(), min_confidence=0.9)
    with serving(cascade, tmp_path / "a.sqlite") as service:
        for width in (1400, 390):
            see(driver, f"{service.url}/docs", width)
            wait(driver, lambda: "POST /cases/{id}/values" in shown(driver, "operations"))
            assert "429: Too many requests" in shown(driver, "operations")
            assert driver.execute_script("return document.documentElement.scrollWidth") <= width
            assert driver.execute_script(COMPLAINTS) == []
