"""The explorer page in a real browser, without network.

Tests read text, attributes and computed styles of the page with standard WebDriver commands. They
use no debugger, because debuggers differ between browsers and versions.
"""

import sys
from dataclasses import replace

import browser
import numpy as np
import pandas as pd
import pytest
from support.handmade import (
    make_balanced_front,
    make_branching_front,
    make_front,
    make_front_of_thresholds,
    make_rows,
    with_expected,
    with_money,
)
from support.settings import PAPER_SPACE

from emsco import EMSCOClassifier, FeatureCosts, ParetoFront
from emsco.app.explorer import page_of
from emsco.app.explorer.page import front_contents
from emsco.scoring.scores import Scores
from emsco.stats.by_class import ByClass

pytest.importorskip("selenium", reason="pages are tested with Selenium: pip install 'emsco[test]'")
if browser.missing():
    pytest.skip(browser.missing(), allow_module_level=True)

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

NASTY = "</script><script>document.title = 'taken over'</script><b onclick=1>"
FIND_ANOTHER = """
const picture = document.getElementById("scatter"), box = picture.getBoundingClientRect();
const shown = document.getElementById("design-heading").textContent;
for (let y = 60; y < box.height; y += 6) for (let x = 40; x < box.width; x += 6) {
  const at = {clientX: box.left + x, clientY: box.top + y};
  picture.dispatchEvent(new PointerEvent("pointermove", at));
  const hint = document.getElementById("hint");
  const name = hint.hidden ? shown : hint.querySelector("strong").textContent;
  if (name !== shown) return [x - box.width / 2, y - box.height / 2, name];
}
"""
# Tables that are wider than the boxes around them.
CUT_TABLES = """
return [...document.querySelectorAll("table")].map((table) => [table.id, table.parentElement])
  .filter(([, box]) => box.scrollWidth > box.clientWidth + 1).map(([id, box]) => id || box.id);
"""
# Scripts that tests add to a page run before its content policy holds.
COMPLAINTS = """
window.complaints = [];
const complain = (event) => {
  const {message, reason, violatedDirective, target} = event;
  complaints.push(`${event.type}: ${message ?? reason ?? violatedDirective ?? target.outerHTML}`);
};
for (const kind of ["error", "unhandledrejection", "securitypolicyviolation"])
  addEventListener(kind, complain, true);
for (const kind of ["debug", "error", "info", "log", "warn"])
  console[kind] = (...words) => complaints.push(`${kind}: ${words.join(" ")}`);
"""
WISHES_FOR_DARK = """
const ask = window.matchMedia;
window.matchMedia = (query) =>
  query.includes("dark") ? {matches: true, addEventListener() {}} : ask.call(window, query);
"""
IS_OLD = "delete window.structuredClone;"

KINDS = ("scored", "seen")
CONTROLS = "a[href], button, input, select, summary"
PLACES = f"{CONTROLS}, [tabindex='0']"
NAMED = f"{CONTROLS}, section, table, [role=application], [role=group], [role=img]"
# Names as ARIA defines them, of all elements that a selector finds and that are not hidden.
NAMES = """
const inWords = (node) => node.textContent.trim();
const named = (node) => {
  const by = node.getAttribute("aria-labelledby");
  if (by) return by.split(" ").map((id) => inWords(document.getElementById(id))).join(" ");
  if (node.hasAttribute("aria-label")) return node.getAttribute("aria-label");
  if (node.labels?.length) return inWords(node.labels[0]).replace(inWords(node), "").trim();
  return node.matches("a, button, summary") ? inWords(node) : "";
};
const shown = (node) => node.checkVisibility() && !node.closest("[aria-hidden=true]");
const found = [...document.querySelectorAll(arguments[0])].filter(shown);
return found.map((node) => [node.id || node.outerHTML, named(node)]);
"""
READ_ALOUD = """
const walk = document.createTreeWalker(document.getElementById(arguments[0]), NodeFilter.SHOW_TEXT);
const words = [];
while (walk.nextNode()) {
  const {parentElement, data} = walk.currentNode;
  if (!parentElement.closest("[aria-hidden=true]") && data.trim()) words.push(data.trim());
}
return words.join(" ");
"""
# Pixels of the scatter plot in the colour of marks of expected figures alone.
EXPECTED_PIXELS = """
const canvas = document.querySelector("#scatter canvas");
const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
let found = 0;
for (let i = 0; i < data.length; i += 4)
  if (data[i] === 9 && data[i + 1] === 79 && data[i + 2] === 131 && data[i + 3] === 255) found += 1;
return found;
"""
GROUND = "return getComputedStyle(document.body).backgroundColor"
NOTE_FOCUS = """
window.reached = [];
addEventListener("focusin", ({target}) => {
  const {outlineStyle, outlineWidth} = getComputedStyle(target);
  const name = target.id || target.dataset.key || target.dataset.design || target.textContent;
  reached.push([name, `${outlineStyle} ${outlineWidth}`]);
});
"""


@pytest.fixture(scope="module")
def front(small_problem):
    X, y = small_problem
    table = pd.DataFrame(X, columns=["age", "pulse", "blood pressure", NASTY, "scan", "biopsy"])
    costs = FeatureCosts.resolve([1, 2, 5, 10, 40, 100], list(table))
    settings = {**PAPER_SPACE, "max_stages": 3, "min_confidence": 0.8, "random_state": 0}
    model = EMSCOClassifier(costs=costs, **settings)
    return model.fit(table, y).front_.with_seen(table[:50], y[:50])


@pytest.fixture(scope="module")
def page(front):
    return front.to_html(deploy="emsco choose 'my run' {number}", deployed=1)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    opened = browser.open_browser(tmp_path_factory.mktemp("profile"))
    opened.set_window_size(1280, 1000)
    yield opened
    opened.quit()


@pytest.fixture
def open_page(driver, page, tmp_path):
    """Open a page after running some scripts on it, in a frame if a width is given."""

    def open_it(*scripts, page=page, width=None):
        first = "".join(f"<script>{script}</script>" for script in (COMPLAINTS, *scripts))
        (tmp_path / "page.html").write_text(page.replace("<meta", f"{first}<meta", 1), "utf-8")
        if width is None:
            driver.get((tmp_path / "page.html").as_uri())
            return driver
        frame = f'<iframe src="page.html" width="{width}" height="900"></iframe>'
        (tmp_path / "frame.html").write_text(f"<!DOCTYPE html>{frame}")
        driver.get((tmp_path / "frame.html").as_uri())
        driver.switch_to.frame(0)
        return driver

    return open_it


@pytest.fixture
def see(driver, open_page):
    """Open a page and wait until it is drawn; nothing on it may fail or complain."""

    def look(*scripts, **options):
        open_page(*scripts, **options)
        wait(driver, lambda: text_of(driver, "deploy"))
        return driver

    yield look
    assert driver.execute_script("return complaints") == []


def wait(driver, condition):
    return WebDriverWait(driver, 10, 0.05).until(lambda _: condition())


def text_of(driver, name):
    return driver.find_element(By.ID, name).get_attribute("textContent")


def design_shown(driver):
    return int(text_of(driver, "design-heading").removeprefix("Design "))


def names_of(driver, selector):
    return dict(driver.execute_script(NAMES, selector))


def set_limit(driver, name, value):
    box = driver.find_element(By.ID, f"box-{name}")
    driver.execute_script("arguments[0].select()", box)
    box.send_keys(str(value))
    draw = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
    driver.execute_async_script(draw)


@pytest.mark.parametrize("width", [1200, 360])
def test_the_page_opens_on_any_screen_without_scrolling_sideways(see, front, width):
    driver = see(width=width)
    assert driver.execute_script("return innerWidth") == width
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    if width < 560:
        assert driver.execute_script(CUT_TABLES) == []
    assert f"{len(front)} designs" in text_of(driver, "lead")
    assert design_shown(driver) == 1
    for drawn in ("#scatter canvas", "#spending canvas", "#cascade .bands"):
        assert driver.find_elements(By.CSS_SELECTOR, drawn), drawn
    prices = {"error_cost": {0: 12345, 1: 40}, "reject_cost": 60}
    driver = see(page=front.to_html(currency="€", **prices), width=width)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_front_of_one_free_design_with_many_stages_is_a_page_too(see):
    names = [f"feature {i}" for i in range(9)]
    costs = FeatureCosts.from_array([0] * 8 + [1], names)
    exits = np.array([[30, 0, 0, 0, 0, 0, 0, 0, 0]])
    scores = Scores(30, exits, exits, np.array([0]))
    front = ParetoFront.from_scores(
        np.arange(9, dtype=np.int16)[None], scores, costs, {"a": 0.9, "b": 0.5}
    )
    driver = see(page=front.to_html())
    assert "30 of 30 rows leave" in text_of(driver, "cascade")
    assert "No row is rejected" in text_of(driver, "cascade")
    assert "There are no test rows" in text_of(driver, "figures-words")
    assert "a: 90 %; b: 50 %" in text_of(driver, "about")
    assert text_of(driver, "spending-words").startswith("30 rows cost 0.000. All features together")
    boxes = [stage.rect for stage in driver.find_elements(By.CSS_SELECTOR, "#cascade .stage")]
    across, down = [box["x"] for box in boxes], [round(box["y"]) for box in boxes]
    assert across[:5] == sorted(across[:5]) == across[5:]  # in rows, not below each other
    assert len(set(down)) == 2
    label = driver.find_element(By.ID, "scatter").get_attribute("aria-label")
    assert "shape (9)" in label  # not "7 or more"


def test_names_are_text_whatever_stands_in_them(see):
    driver = see()
    assert driver.title == "Designs to choose from"
    assert NASTY in text_of(driver, "cascade") + text_of(driver, "about")


def test_a_dragged_limit_leaves_what_the_front_selects(see, front):
    driver = see()
    slider = driver.find_element(By.ID, "limit-cost")
    width = slider.size["width"]
    grab = ActionChains(driver).move_to_element_with_offset(slider, width / 2 - 8, 0)
    grab.click_and_hold().move_by_offset(-width // 2, 0).release().perform()
    wait(driver, lambda: "All" not in text_of(driver, "count"))
    most = float(slider.get_attribute("value"))
    within = front.within(max_cost=most)
    assert text_of(driver, "count").startswith(f"{len(within)} of {len(front)} designs")
    best = front.points.index(front.select(max_cost=most))
    answering = [i for i in within if front[i].coverage == 1]
    words = "The most accurate that answers everyone within your limits: "
    if not answering:
        words = "No design within your limits answers everyone. The one that labels most rows"
    assert text_of(driver, "best").startswith(words)
    assert f"design {best}" in text_of(driver, "best")
    assert design_shown(driver) == best


def make_varied_front():
    """Designs of which some reject, some answer everyone, and one tells nothing."""
    counts = [  # of 60 rows that are well and 40 that are ill: said to be well, ill, rejected
        ((60, 0, 0), (40, 0, 0)),
        ((30, 4, 26), (6, 14, 20)),
        ((50, 10, 0), (12, 28, 0)),
        ((52, 8, 0), (10, 30, 0)),
        ((50, 2, 8), (4, 30, 6)),
        ((40, 0, 20), (1, 33, 6)),
        ((55, 5, 0), (6, 34, 0)),
    ]
    front, points = make_front(), []
    for number, lines in enumerate(counts):
        by_class = ByClass(("well", "ill"), lines)
        labelled, correct = float(by_class.answered.sum()), float(by_class.correct.sum())
        points.append(
            replace(
                front[0],
                coverage=labelled / 100,
                accuracy=correct / labelled,
                cost=5.0 * number,
                exits=(labelled, 0, 0),
                correct_exits=(correct, 0, 0),
                exit_confidence=(0.9 - number / 100, 0.9, 0.9),
                by_class=by_class,
            )
        )
    return replace(front, points=tuple(points), models=None)


MOST, CHEAP = "The one that labels most rows, and of those the cheapest,", "The cheapest within"
CHOICES = [
    ({"cost": 40}, "The most accurate that answers everyone within your limits: design"),
    ({"cost": 17}, "The most accurate that answers everyone within your limits: design"),
    ({"cost": 6}, "The one that labels most rows correctly: design"),
    ({"coverage": 10}, "The most accurate within your limits: design"),
    ({"coverage": 85}, "The most accurate within your limits: design"),
    ({"accuracy": 80}, MOST),
    ({"accuracy": 85}, MOST),
    ({"accuracy": 80, "coverage": 60}, CHEAP),
    ({"accuracy": 80, "coverage": 95, "cost": 20}, CHEAP),
    ({"recall-1": 75}, MOST),
    ({"recall-0": 80, "recall-1": 60, "coverage": 70}, CHEAP),
]


def test_limits_choose_on_the_page_what_they_choose_on_the_front(see):
    front, chosen = make_varied_front(), []
    driver = see(page=front.to_html())
    driver.find_element(By.CSS_SELECTOR, "#class-limits summary").click()
    for limits, words in CHOICES:
        driver.find_element(By.ID, "reset").click()
        for limit, value in limits.items():
            set_limit(driver, limit, value)
        shares = {limit: value / 100 for limit, value in limits.items()}
        given = {
            "max_cost": limits.get("cost"),
            "min_accuracy": shares.get("accuracy"),
            "min_coverage": shares.get("coverage"),
            "min_recall": {
                label: shares[limit]
                for limit, label in (("recall-0", "well"), ("recall-1", "ill"))
                if limit in shares
            },
        }
        chosen.append(front.position(front.select(**given)))
        assert words in text_of(driver, "best"), limits
        assert f"design {chosen[-1]}" in text_of(driver, "best"), limits
        n_within = len(front.within(**given))
        count = "All 7 designs" if n_within == 7 else f"{n_within} of 7 designs"
        assert text_of(driver, "count").startswith(count), limits
        assert "chosen by your limits" in text_of(driver, "badges")
    assert len(set(chosen)) > 4


def test_without_limits_and_costs_nothing_is_best(see, front):
    driver = see()
    assert text_of(driver, "best").startswith("Deployed: design 1")
    assert "Set limits, or what errors cost" in text_of(driver, "best")
    driver.find_element(By.CSS_SELECTOR, '#table [data-design="0"]').click()
    driver.find_element(By.ID, "show-best").click()
    assert design_shown(driver) == 1
    driver = see(page=replace(front, deployed=None).to_html())
    assert text_of(driver, "best") == "Set limits, or what errors cost, to have a design chosen."
    assert design_shown(driver) == front.position(front.select())


def test_a_recall_that_no_design_has_says_how_to_find_more(see):
    driver = see()
    driver.find_element(By.CSS_SELECTOR, "#class-limits summary").click()
    set_limit(driver, "recall-1", 100)
    set_limit(driver, "recall-0", 100)
    said = text_of(driver, "best")
    assert "the highest recall of 0 " in said
    assert "class weights" in said


def test_limits_that_leave_nothing_say_so(see, front):
    driver = see()
    set_limit(driver, "accuracy", 100)
    set_limit(driver, "cost", min(point.cost for point in front) / 2)
    assert "No design is within these limits" in text_of(driver, "best")
    assert "outside your limits" in text_of(driver, "badges")
    wait(driver, lambda: "is shown, outside your limits" in text_of(driver, "live"))
    driver.find_element(By.ID, "reset").click()
    wait(driver, lambda: f"All {len(front)} designs" in text_of(driver, "count"))


def test_a_design_picked_outside_the_limits_says_so(see, front):
    driver = see()
    cheapest, costliest = (
        pick(range(len(front)), key=lambda i: front[i].cost) for pick in (min, max)
    )
    set_limit(driver, "cost", front[cheapest].cost + 1e-9)
    assert "outside your limits" not in text_of(driver, "badges")
    driver.find_element(By.ID, "table-switch-all").click()
    for _ in range(2):  # the most expensive first
        driver.find_element(By.CSS_SELECTOR, '[data-key="scored cost"]').click()
    driver.find_element(By.CSS_SELECTOR, f'#table [data-design="{costliest}"]').click()
    assert "outside your limits" in text_of(driver, "badges")
    driver.find_element(By.ID, "reset").click()
    wait(driver, lambda: "outside your limits" not in text_of(driver, "badges"))


def test_a_share_typed_as_a_number_up_to_one_is_asked_about(see, front):
    driver = see()
    meant = driver.find_element(By.CSS_SELECTOR, "#box-accuracy").find_element(
        By.XPATH, "../..//button"
    )
    assert not meant.is_displayed()
    set_limit(driver, "accuracy", 0.9)
    assert meant.text == "Did you mean 90 %?"
    assert f"All {len(front)} designs" in text_of(driver, "count")
    meant.click()
    assert driver.find_element(By.ID, "box-accuracy").get_attribute("value") == "90"
    within = front.within(min_accuracy=0.9)
    wait(driver, lambda: text_of(driver, "count").startswith(f"{len(within)} of"))
    assert not meant.is_displayed()


def test_a_click_on_a_mark_shows_its_cascade(see):
    driver = see()
    before = text_of(driver, "cascade")
    x, y, name = driver.execute_script(FIND_ANOTHER)
    picture = driver.find_element(By.ID, "scatter")
    ActionChains(driver).move_to_element_with_offset(picture, int(x), int(y)).click().perform()
    assert text_of(driver, "design-heading") == name
    assert text_of(driver, "cascade") != before


def test_arrow_keys_walk_through_designs_and_are_announced(see, front):
    driver = see()
    driver.find_element(By.ID, "scatter-switch-all").click()
    driver.find_element(By.ID, "scatter").send_keys(Keys.HOME)
    cheapest = min(range(len(front)), key=lambda i: front[i].cost)
    assert design_shown(driver) == cheapest
    driver.find_element(By.ID, "scatter").send_keys(Keys.ARROW_RIGHT)
    second = sorted(range(len(front)), key=lambda i: front[i].cost)[1]
    assert design_shown(driver) == second
    wait(driver, lambda: f"Design {second} is shown" in text_of(driver, "live"))


def test_the_cascade_has_the_facts_of_the_flow(see, front):
    driver = see()
    for i in front.shortlist()[:4]:
        driver.find_element(By.CSS_SELECTOR, f'#table [data-design="{i}"]').click()
        flow, shown = front.flow(i), text_of(driver, "cascade")
        for stage in flow.stages:
            if stage.reached:
                assert f"{stage.left} of {stage.reached} row" in shown
            if stage.left:
                assert f"{100 * stage.accuracy:.1f} % correct" in shown
        assert f"{flow.rejected} rows are rejected" in shown or flow.rejected < 2
        for cost, rows in flow.cost_histogram():
            spent = f"1 row costs {cost:.1f}" if rows == 1 else f"{rows} rows cost {cost:.1f}"
            assert spent in text_of(driver, "spending-words")


@pytest.mark.parametrize("width", [1200, 360])
def test_a_design_that_branches_is_a_list_in_a_list(see, width):
    front = make_branching_front()
    driver, flow = see(page=front.to_html(deployed=1), width=width), front.flow(1)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    shown = driver.execute_script(READ_ALOUD, "cascade")
    assert "age ≤ 0.2 : 205 rows, 51 % of all Stage 2 buys features for 2.50 pulse" in shown
    for stage in flow.stages:
        assert stage.way in shown
        assert f"{stage.left} of {stage.reached} rows" in shown
    assert shown.count("rows are rejected") == sum(stage.rejected > 0 for stage in flow.stages)
    for cost, rows in flow.cost_histogram():
        assert not rows or f"{rows} rows cost {cost:.2f}" in text_of(driver, "spending-words")
    inner = driver.find_elements(By.CSS_SELECTOR, ".ways .ways > li")
    assert len(inner) == 3
    assert "age at 90 % → {age ≤ 0.2: pulse at 85 % → {pulse ≤ -0.5: scan" in text_of(
        driver, "table"
    )


def test_every_stage_has_its_own_threshold_where_they_differ(see):
    front = make_front_of_thresholds((0.9, {0: 0.6, 1: 0.8}, 0))
    driver = see(page=front.to_html(deployed=0))
    shown = text_of(driver, "cascade")
    for rule in ("confidence ≥ 90 %", "confidence ≥ 0: 60 %; 1: 80 %", "answers all"):
        assert shown.count(rule) == 1
    assert "90 % → 0: 60 %; 1: 80 % → 0 %" in text_of(driver, "about")
    driver = see(page=front.to_html(deployed=1))
    assert text_of(driver, "cascade").count("confidence ≥ 80 %") == 2
    assert "Confidence needed for a label80 %" in text_of(driver, "about")


def test_delays_stand_beside_costs_only_where_values_come_later(see):
    front = make_front()
    late = replace(front, costs=front.costs.with_delays({"scan": 2, "biopsy": 7}))
    driver = see(page=late.to_html(deployed=0))
    for words in (
        "at 3.50 per row, delay 0",
        "at 13.50 per row, delay 2",
        "53.50 per row, delay 9",
    ):
        assert words in text_of(driver, "cascade")
    assert "It waits 3.3 on average, 9 at worst." in text_of(driver, "in-words")
    driver = see(page=front.to_html(deployed=0))
    assert "delay" not in text_of(driver, "cascade")
    assert "waits" not in text_of(driver, "in-words")


def test_scored_and_seen_figures_are_shown_apart(see, front):
    driver = see()
    assert "Of 40 scored rows" in text_of(driver, "in-words")
    driver.find_element(By.XPATH, "//button[text()='Seen']").click()
    assert "Of 50 test rows" in text_of(driver, "in-words")
    assert f"{100 * front.seen[1].accuracy:.1f} %" in text_of(driver, "figures")
    heads = driver.find_elements(By.CSS_SELECTOR, "#table thead [data-key]")
    titles = [head.get_attribute("data-key") for head in heads if head.text.startswith("s")]
    kinds = [f"{kind} {name}" for kind in KINDS for name in ("coverage", "accuracy", "cost")]
    assert titles == [*kinds, "stages"]


def test_a_design_says_what_it_promises_and_what_to_expect(see):
    driver = see(page=with_expected(make_front()).to_html(deployed=0))
    expect = "83.9 % (79.9 to 87.9 %)"
    assert text_of(driver, "expects") == (
        f"Scored accuracy promises 88.9 %; on new rows, expect {expect}."
    )
    assert text_of(driver, "limits-words") == "Limits apply to scored figures."
    assert "expected on new rows" in text_of(driver, "scatter-key")
    assert "less what luck adds" in text_of(driver, "figures-words")
    wait(driver, lambda: f"expect accuracy {expect}" in text_of(driver, "live"))


def test_scored_expected_and_seen_figures_each_have_columns_of_their_own(see):
    rows = make_rows(40)
    seen = make_balanced_front().with_seen(rows, (rows[:, 0] > 0).astype(int))
    driver = see(page=with_expected(seen).to_html(deployed=0))
    lines = driver.find_elements(By.CSS_SELECTOR, "#figures tr")
    cells = [
        [cell.text for cell in line.find_elements(By.CSS_SELECTOR, "th, td")] for line in lines
    ]
    assert cells[0][1:] == ["Scored", "Expected", "Seen"]
    assert cells[1][1:3] == ["90.0 %", "90.0 %\n86.0 to 94.0 %"]
    assert cells[2][0] == "Balanced accuracy"
    assert cells[2][3] == "–"  # test rows have the plain accuracy
    assert [line[2] for line in cells if line[0] in ("Accuracy", "Rows")] == ["–", "–"]
    heads = driver.find_elements(By.CSS_SELECTOR, "#table thead [data-key]")
    kinds = [head.get_attribute("data-key").split()[0] for head in heads]
    assert kinds[1:8] == ["scored"] * 3 + ["expected"] + ["seen"] * 3


def test_costs_have_their_unit_limits_start_empty_and_the_certificate_is_told(see):
    rows = make_rows(40)
    front = with_expected(make_front().with_seen(rows, (rows[:, 0] > 0).astype(int)))
    contents = front_contents(front, title="Costs", deploy="{number}", deployed=0, currency="€")
    contents["certificate"] = {
        "designs": [0],
        "promises": ["at least 90 % of <b>labels</b>"],
        "delta": 0.05,
        "rows": 189,
        "date": "2026-11-16",
    }
    driver = see(page=page_of(contents))
    boxes = driver.find_elements(By.CSS_SELECTOR, "#limits input[type=number]")
    assert [box.get_attribute("value") for box in boxes] == ["", "", ""]
    set_limit(driver, "accuracy", 99)
    driver.find_element(By.ID, "reset").click()
    assert [box.get_attribute("value") for box in boxes] == ["", "", ""]
    for place in ("limits", "error-costs", "best", "cascade", "figures", "spending-words", "table"):
        assert "€" in text_of(driver, place)
    assert "A row costs €21.50 on average" in text_of(driver, "in-words")
    for kind in ("Scored", "Expected", "Seen"):
        assert kind in text_of(driver, "best")
    assert "seen on test rows" in text_of(driver, "scatter-key")
    assert "certified" in text_of(driver, "badges")
    assert text_of(driver, "promises") == "at least 90 % of <b>labels</b>"
    driver.find_element(By.CSS_SELECTOR, '#table [data-design="1"]').click()
    assert "for design 0, not for this one" in text_of(driver, "certificate-words")


def test_up_to_seven_stages_stand_side_by_side(see):
    names = [f"feature {i}" for i in range(7)]
    exits = np.array([[20, 4, 2, 1, 1, 1, 0]])
    scores = Scores(30, exits, exits, np.array([90]))
    costs = FeatureCosts.from_array([1] * 7, names)
    front = ParetoFront.from_scores(np.arange(7, dtype=np.int16)[None], scores, costs, 0.9)
    driver = see(page=front.to_html(), width=1240)
    stages = driver.find_elements(By.CSS_SELECTOR, "#cascade .stage")
    assert len({round(stage.rect["y"]) for stage in stages}) == 1


def test_the_table_sorts_by_expected_accuracy(see):
    front = with_expected(make_front())
    driver = see(page=front.to_html())
    head = driver.find_element(By.CSS_SELECTOR, '[data-key="expected accuracy"]')
    assert head.text == "expected accuracy"
    head.click()
    worst = min(range(2), key=lambda i: front[i].expected.accuracy.value)
    assert driver.find_element(By.CSS_SELECTOR, "#table tbody button").text == str(worst)


def test_expected_figures_are_marks_of_the_design_shown_and_of_the_one_under_the_pointer(see):
    driver = see(page=with_expected(make_front()).to_html())
    shown = driver.execute_script(EXPECTED_PIXELS)
    driver.execute_script(FIND_ANOTHER)
    assert "expect accuracy" in text_of(driver, "hint")
    assert driver.execute_script(EXPECTED_PIXELS) > shown > 0
    picture = driver.find_element(By.ID, "scatter")
    driver.execute_script("arguments[0].dispatchEvent(new Event('pointerleave'))", picture)
    assert driver.execute_script(EXPECTED_PIXELS) == shown
    for axis, value in (("x", "coverage"), ("y", "cost")):
        Select(driver.find_element(By.ID, f"axis-{axis}")).select_by_value(value)
    wait(driver, lambda: driver.execute_script(EXPECTED_PIXELS))


def test_a_page_without_expected_figures_never_speaks_of_them(see):
    driver = see(page=make_front().to_html())
    assert driver.execute_script(EXPECTED_PIXELS) == 0
    for place in ("expects", "limits-words"):
        assert not driver.find_element(By.ID, place).is_displayed()
    for place in ("figures", "figures-words", "table", "scatter-key", "best"):
        assert "xpect" not in text_of(driver, place)


def test_the_shortlist_is_listed_until_all_designs_are_asked_for(see, front):
    driver = see()
    assert f"The shortlist has {len(front.shortlist())} of them." in text_of(driver, "count")
    assert text_of(driver, "page-words").endswith(f"of {len(front.shortlist())}")
    driver.find_element(By.ID, "scatter-switch-all").click()
    assert text_of(driver, "page-words").endswith(f"of {len(front)}")
    pressed = driver.find_element(By.ID, "table-switch-all").get_attribute("aria-pressed")
    assert pressed == "true"


def test_keys_walk_through_the_shortlist(see, front):
    driver = see()
    picture = driver.find_element(By.ID, "scatter")
    picture.send_keys(Keys.HOME)
    walked = [design_shown(driver)]
    for _ in front.shortlist()[1:]:
        picture.send_keys(Keys.ARROW_RIGHT)
        walked.append(design_shown(driver))
    assert walked == sorted(front.shortlist(), key=lambda i: (front[i].cost, i))


def test_what_there_is_without_a_cascade_is_a_table(see, front):
    driver = see()
    for kind, references in (("Scored", front.references), ("Seen", front.seen_references)):
        table = driver.find_element(By.CSS_SELECTOR, f"#references [aria-label$={kind.lower()}]")
        lines = [line.text for line in table.find_elements(By.TAG_NAME, "tr")]
        assert lines[0] == f"{kind} Coverage Accuracy Cost"
        for line, one in zip(lines[1:], references, strict=True):
            shares = f"{100 * one.coverage:.1f} % {100 * one.accuracy:.1f} %"
            assert line.startswith(f"{one.title} {shares} {one.cost:.0f}")


def test_counts_of_rows_are_whole_add_up_and_agree_with_python(see, front):
    counts = front[1].by_class.counts
    thrice = ByClass((0, 1), tuple(tuple(n / 3 for n in line) for line in counts))
    point = replace(front[1], by_class=thrice)  # counts are means over three rounds of folds
    assert point.times_scored == pytest.approx(3)
    again = replace(front, points=(front[0], point, *front[2:]), seen=None)
    whole = again.flow(1).in_whole_rows()
    driver = see(page=again.to_html(deployed=1))
    cards = [card.text for card in driver.find_elements(By.CSS_SELECTOR, "#cascade .leaves")]
    for stage, card in zip(whole.stages, cards, strict=False):
        assert f"{stage.left:.0f} of {stage.reached:.0f} row" in card
    correct = sum(stage.correct for stage in whole.stages)
    said = f"{whole.accepted:.0f} get a label: {correct:.0f} correct, "
    wrong = whole.accepted - correct
    assert f"{said}{f'{wrong:.0f}' if wrong else 'none'} wrong" in text_of(driver, "in-words")


def test_the_classes_of_a_design_are_counted_on_scored_and_seen_rows(see, front):
    driver = see()
    heads = [head.text for head in driver.find_elements(By.CSS_SELECTOR, "#classes thead th")]
    assert heads[1:] == ["rows", "found", "wrong", "rejected", "precision", "as 0", "as 1"]
    everything = {
        "Scored": front.references[1].by_class,
        "Seen": front.seen_references[1].by_class,
    }
    for kind, by_class in (("Scored", front[1].by_class), ("Seen", front.seen[1].by_class)):
        driver.find_element(By.XPATH, f"//button[text()='{kind}']").click()
        for k, line in enumerate(driver.find_elements(By.CSS_SELECTOR, "#classes tbody tr")):
            cells = [cell.text for cell in line.find_elements(By.CSS_SELECTOR, "th, td")]
            counts = by_class.counts[k]
            recall = f"{100 * by_class.recall[k]:.1f} %"
            theirs = f"everything: {100 * everything[kind].recall[k]:.1f} %"
            assert [cells[0], *cells[2:4]] == [str(k), str(sum(counts)), f"{recall}\n{theirs}"]
            parts = [f"{n} ({100 * n / sum(counts):.1f} %)" for n in (counts[1 - k], counts[2])]
            ours = [cell.split("\n")[0] for cell in cells[4:6]]
            assert ours == ["none" if part.startswith("0 ") else part for part in parts]
            assert cells[7:] == [str(count) for count in counts[:2]]
            bars = line.find_elements(By.CSS_SELECTOR, ".class-bar .band")
            assert len(bars) == sum(n > 0 for n in counts)
    assert text_of(driver, "classes-heading") == "By class, on test rows"


def test_a_design_whose_labels_are_no_better_than_one_answer_says_so(see, front):
    useless = ByClass(("no", "yes"), ((30, 0, 0), (10, 0, 0)))
    points = tuple(replace(point, by_class=useless) for point in front[:2])
    driver = see(page=replace(front, points=points, seen=None).to_html())
    said = "no better than always answering 'no'"
    assert said in text_of(driver, "badges")
    assert f"hollow: {said}" in text_of(driver, "scatter-key")
    first = driver.find_element(By.CSS_SELECTOR, "#table [data-design]")
    assert first.get_attribute("aria-label") == f"Show design 0, {said}"


def test_many_classes_have_shares_alone_and_at_most_20_lines(see):
    counts = ByClass(tuple(range(25)), tuple((*[0] * k, 9, *[0] * (24 - k), 1) for k in range(25)))
    front = make_front()
    points = tuple(replace(point, by_class=counts) for point in front)
    driver = see(page=replace(front, points=points).to_html(), width=390)
    lines = driver.find_elements(By.CSS_SELECTOR, "#classes tbody tr")
    assert len(lines) == 20
    assert lines[7].text.split("\n") == ["7", "10 90.0 % none 1 (10.0 %) 100.0 %"]
    assert "5 more classes are left out." in text_of(driver, "classes-words")


def test_a_front_built_by_hand_has_no_empty_boxes(see):
    driver = see(page=make_front().to_html())
    for place in ("without", "by-class", "scatter-switch", "table-switch", "scatter-key"):
        assert not driver.find_element(By.ID, place).is_displayed()


def test_the_button_copies_the_command_that_deploys_the_design(see):
    driver = see()
    driver.find_element(By.ID, "copy").click()
    wait(driver, lambda: text_of(driver, "copy") == "Copied")
    driver.execute_script("document.body.append(document.createElement('textarea'))")
    note = driver.find_element(By.TAG_NAME, "textarea")
    note.send_keys(Keys.COMMAND if sys.platform == "darwin" else Keys.CONTROL, "v")
    assert note.get_attribute("value") == "emsco choose 'my run' 1"


def test_objectives_change_places_on_the_axes(see):
    driver = see()
    Select(driver.find_element(By.ID, "axis-x")).select_by_value("coverage")
    shown = [driver.find_element(By.ID, f"axis-{a}").get_attribute("value") for a in "xyc"]
    assert shown == ["coverage", "accuracy", "cost"]
    assert "coverage across" in driver.find_element(By.ID, "scatter").get_attribute("aria-label")


def test_the_table_sorts_and_hides_what_is_outside_the_limits(see, front):
    driver = see()
    driver.find_element(By.ID, "table-switch-all").click()
    driver.find_element(By.CSS_SELECTOR, '[data-key="scored cost"]').click()
    cheapest = min(range(len(front)), key=lambda i: front[i].cost)
    first = driver.find_element(By.CSS_SELECTOR, "#table tbody button")
    assert first.text == str(cheapest)
    set_limit(driver, "cost", front[cheapest].cost + 1e-9)
    driver.find_element(By.ID, "only-within").click()
    within = front.within(max_cost=front[cheapest].cost)
    assert len(driver.find_elements(By.CSS_SELECTOR, "#table tbody tr")) == len(within)


def test_colours_change_when_asked_to(see):
    driver = see()
    light = driver.execute_script(GROUND)
    driver.find_element(By.ID, "theme").click()
    assert driver.execute_script(GROUND) != light
    assert text_of(driver, "theme") == "Light"


def test_a_system_in_dark_colours_gets_a_dark_page(see):
    driver = see(WISHES_FOR_DARK)
    dark = driver.execute_script(GROUND)
    assert text_of(driver, "theme") == "Light"
    driver.find_element(By.ID, "theme").click()
    assert driver.execute_script(GROUND) != dark
    assert text_of(driver, "theme") == "Dark"


def test_a_screen_reader_is_told_the_name_of_every_control(see):
    names = names_of(see(), NAMED)
    assert [place for place, name in names.items() if not name] == []
    assert "cost across, accuracy up, coverage as colour" in names["scatter"]
    assert names["spending"].startswith("Histogram of the cost of a row.")
    assert names["table"] == "Table of designs"
    assert names["classes"] == "By class, on scored rows"
    assert "always 1, everything and everything, all answered, without" in names["scatter"]


def test_a_screen_reader_is_told_limits_with_their_units(see):
    driver = see()
    set_limit(driver, "cost", 20)
    sliders = driver.find_elements(By.CSS_SELECTOR, "input[type=range]")
    names = names_of(driver, "input[type=range]")
    values = {one.get_attribute("id"): one.get_attribute("aria-valuetext") for one in sliders}
    told = {name: values[place] for place, name in names.items()}
    assert told["Maximum cost"] == "at most 20 per row"
    assert told["Minimum accuracy"] == "no limit"


def test_a_screen_reader_is_told_the_cascade_stage_by_stage(see, front):
    text = see().execute_script(READ_ALOUD, "cascade")
    costs = dict(zip(front.costs.names, front.costs.costs, strict=True))
    for number, stage in enumerate(front.flow(1).stages, 1):
        bought = " ".join(f"{name} costs {costs[name]:.1f}" for name in stage.features)
        buys = f"Stage {number} buys features for {stage.cost:.1f} {bought}"
        assert f"{buys} confidence ≥ 80 % {stage.left} of" in text


def test_the_tab_key_reaches_every_control_in_the_order_of_the_page(see):
    driver = see()
    n_places = len(names_of(driver, PLACES))
    driver.execute_script(NOTE_FOCUS)
    ActionChains(driver).send_keys(Keys.TAB * n_places).perform()
    reached = driver.execute_script("return reached")
    names = [name for name, _ in reached]
    assert len(set(names)) == len(names) == n_places
    assert {outline for _, outline in reached} == {"solid 3px"}
    order = ["theme", "axis-x", "scatter", "box-cost", "limit-cost", "show-best", "next", "copy"]
    places = [names.index(name) for name in [*order, "only-within", "number", "0"]]
    assert places == sorted(places)


def test_a_button_that_has_become_of_no_use_keeps_the_focus(see, front):
    driver = see()
    set_limit(driver, "coverage", 50)
    driver.find_element(By.ID, "table-switch-all").click()
    driver.find_element(By.CSS_SELECTOR, "#table [aria-pressed=false]").click()
    best = driver.find_element(By.ID, "show-best")
    best.send_keys(Keys.ENTER)
    assert design_shown(driver) == front.points.index(front.select(min_coverage=0.5))
    assert best.get_attribute("aria-disabled") == "true"
    assert driver.switch_to.active_element == best


def test_a_browser_that_cannot_draw_the_page_says_so(open_page):
    driver = open_page(IS_OLD)
    wait(driver, lambda: driver.find_element(By.ID, "failed").is_displayed())
    assert "structuredClone" in driver.execute_script("return complaints[0]")


def set_cost(driver, name, value):
    """Type a cost into its box."""
    box = driver.find_element(By.ID, f"{name}-cost-box")
    driver.execute_script("arguments[0].select()", box)
    box.send_keys(str(value))
    draw = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
    driver.execute_async_script(draw)


def test_costs_of_errors_move_the_best_design_to_the_lowest_total(see, front):
    driver = see()
    assert text_of(driver, "total") == ""
    set_cost(driver, "error", 300)
    assert text_of(driver, "error-costs-words") == "Set the cost of a rejection too."
    for error_cost, reject_cost in [(300, 0), (300, 60), (3000, 60)]:
        set_cost(driver, "error", error_cost)
        set_cost(driver, "reject", reject_cost)
        best = front.select(error_cost=error_cost, reject_cost=reject_cost)
        assert f"Lowest total: design {front.position(best)}" in text_of(driver, "best")
        assert design_shown(driver) == front.position(best)
        total = best.total(error_cost, reject_cost)
        words = text_of(driver, "total")
        assert words.startswith(f"{total.basis.capitalize()} total of a row: ")
        shown = float(words.split(": ")[1].split(" (")[0].replace(",", ""))
        assert shown == pytest.approx(total.value, abs=0.051)
    table = driver.find_element(By.CSS_SELECTOR, "#references [aria-label$=scored]")
    lines = [line.text for line in table.find_elements(By.TAG_NAME, "tr")]
    assert lines[0].endswith("Cost Total")
    for line, one in zip(lines[1:-1], front.references, strict=True):
        assert line.endswith(f" {one.total(3000, 60).value:,.1f}")
    assert lines[-1] == "reject everyone 0.0 % – 0.0 60.0"
    assert "Less without a cascade: " in text_of(driver, "best")
    driver.find_element(By.ID, "reset-error-costs").click()
    wait(driver, lambda: "Deployed: " in text_of(driver, "best"))
    assert "Total" not in text_of(driver, "references")


def test_designs_that_buy_nothing_take_part_in_totals(see, small_problem):
    X, y = small_problem
    settings = {"estimator": "logistic", "max_stages": 2, "cv": 1 / 3, "random_state": 0}
    front = EMSCOClassifier(**settings).fit(X[:, :3], y).front_
    answers, rejects = 0, len(front) - 1
    driver = see(page=front.to_html(deployed=5))
    driver.find_element(By.ID, "table-switch-all").click()
    every = text_of(driver, "table-switch")
    assert every.endswith(f"All {len(front)} designs")
    assert f"All {len(front)} designs" in text_of(driver, "count")  # as the command line counts
    for error_cost, reject_cost, best in [(0.5, 9, answers), (9, 0.2, rejects)]:
        set_cost(driver, "error", error_cost)
        set_cost(driver, "reject", reject_cost)
        assert front.position(front.select(error_cost=error_cost, reject_cost=reject_cost)) == best
        assert f"Lowest total: design {best}" in text_of(driver, "best")
        assert "Stage 1 buys nothing for every row." in text_of(driver, "best")
        assert design_shown(driver) == best
        assert "buys nothing" in text_of(driver, "cascade")
    driver.find_element(By.ID, "reset-error-costs").click()
    set_limit(driver, "cost", 0.5)
    assert f"design {answers}" in text_of(driver, "best")
    set_limit(driver, "cost", 1)
    assert f"design {front.position(front.select(max_cost=1))}" in text_of(driver, "best")


def test_errors_about_each_class_have_their_own_price(see, front):
    driver = see()
    set_cost(driver, "error", 300)
    set_cost(driver, "reject", 20)
    driver.find_element(By.ID, "error-costs-by-class").click()
    best = front.select(error_cost=300, reject_cost=20)
    wait(driver, lambda: f"Lowest total: design {front.position(best)}" in text_of(driver, "best"))
    for errors in ({0: 300, 1: 2000}, {0: 9000, 1: 5}):
        for label, cost in errors.items():
            set_cost(driver, f"error-{label}", cost)
        best = front.select(error_cost=errors, reject_cost=20)
        assert f"Lowest total: design {front.position(best)}" in text_of(driver, "best")
        said = f"total of a row: {best.total(errors, 20).value:,.1f} ("
        assert said in text_of(driver, "total")
        references = text_of(driver, "references")
        for one in front.references:
            assert f"{one.total(errors, 20).value:,.1f}" in references
    assert "always 0" in references  # the label of least cost, for nothing
    driver.find_element(By.ID, "error-costs-one").click()
    best = front.select(error_cost=300, reject_cost=20)
    wait(driver, lambda: f"Lowest total: design {front.position(best)}" in text_of(driver, "best"))


def test_a_stage_may_buy_nothing(see):
    front = make_front()
    contents = front_contents(front, title="Nothing", deploy="{number}", deployed=0)
    contents["stages"][0], contents["paid"][0] = [[]], [0]
    for kind in ("left", "correct"):
        contents["scored"][kind][0] = [90]
    driver = see(page=page_of(contents))
    assert "Stage 1buys nothing" in text_of(driver, "cascade")
    assert "Stage 1 buys nothing for every row." in text_of(driver, "best")
    assert "nothing" in text_of(driver, "table")


def test_a_dragged_cost_shows_in_its_box_and_is_told(see):
    driver = see()
    slider = driver.find_element(By.ID, "error-cost")
    assert slider.get_attribute("aria-valuetext") == "not set"
    slider.send_keys(Keys.ARROW_RIGHT * 3)
    value = float(slider.get_attribute("value"))
    assert value > 0
    box = driver.find_element(By.ID, "error-cost-box")
    assert float(box.get_attribute("value")) == pytest.approx(value)
    assert slider.get_attribute("aria-valuetext") != "not set"


def test_the_lowest_total_is_within_the_limits(see, front):
    driver = see()
    most = sorted(point.cost for point in front)[len(front) // 2]
    most = round(most, 1)
    set_limit(driver, "cost", most)
    set_cost(driver, "reject", 500)
    set_cost(driver, "error", 5000)
    best = front.select(max_cost=most, error_cost=5000, reject_cost=500)
    assert f"Lowest total: design {front.position(best)}" in text_of(driver, "best")


def test_a_page_of_a_front_that_was_searched_for_money_shows_its_totals(see, front):
    priced = with_money(front, dict(zip(front.labels, (900, 40), strict=True)), 60)
    driver = see(page=priced.to_html(deployed=1))
    best = priced.position(priced.select())
    assert f"Lowest total: design {best}" in text_of(driver, "best")
    costs = {"error_cost": dict(zip(front.labels, (900, 40), strict=True)), "reject_cost": 70}
    for reject_cost in (60, 70, 60):
        set_cost(driver, "reject", reject_cost)
        point = priced[design_shown(driver)]
        total = point.total(**costs) if reject_cost == 70 else point.total_with(priced.money)
        shown = float(text_of(driver, "total").split(": ")[1].split(" (")[0].replace(",", ""))
        assert shown == pytest.approx(total.value, abs=0.051)


@pytest.mark.parametrize("costs", [(300, 60), ({0: 900, 1: 40}, {0: 5, 1: 60})], ids=["one", "two"])
def test_a_page_begins_with_the_costs_that_a_fit_was_told(see, front, costs):
    labels = front[0].by_class.labels
    error_cost, reject_cost = (
        dict(zip(labels, one.values(), strict=True)) if isinstance(one, dict) else one
        for one in costs
    )
    costs = {"error_cost": error_cost, "reject_cost": reject_cost}
    driver = see(page=front.to_html(deployed=1, **costs))
    assert design_shown(driver) == 1
    best = front.select(**costs)
    assert f"Lowest total: design {front.position(best)}" in text_of(driver, "best")
    words = text_of(driver, "total")
    shown = float(words.split(": ")[1].split(" (")[0].replace(",", ""))
    assert shown == pytest.approx(front[1].total(**costs).value, abs=0.051)
    assert ("differ by class" in text_of(driver, "error-costs-words")) == isinstance(
        error_cost, dict
    )
    box = driver.find_element(By.ID, "error-1-cost-box")
    assert box.is_displayed() == isinstance(error_cost, dict)
