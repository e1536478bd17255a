"""The explorer page in a real browser, without network.

Tests read text, attributes and computed styles of the page with standard WebDriver commands. They
use no debugger, because debuggers differ between browsers and versions.
"""

import sys
from dataclasses import replace

import browser
import pandas as pd
import pytest
from support.handmade import (
    make_branching_front,
    make_front,
)
from support.settings import PAPER_SPACE

from emsco import EMSCOClassifier, FeatureCosts
from emsco.scoring.by_class import ByClass

pytest.importorskip("selenium", reason="pages are tested with Selenium: pip install 'emsco[test]'")
if browser.missing():
    pytest.skip(browser.missing(), allow_module_level=True)

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

NASTY = "</script><script>document.title = 'taken over'</script><b onclick=1>"
FIND_ANOTHER = """
const picture = document.getElementById("scatter"), box = picture.getBoundingClientRect();
const shown = document.getElementById("design-heading").textContent;
const places = {};
const middle = {x: Math.floor(box.width / 2), y: Math.floor(box.height / 2)};
for (let y = 60 - middle.y; y < middle.y; y += 6)
for (let x = 40 - middle.x; x < middle.x; x += 6) {
  const at = {clientX: box.left + box.width / 2 + x, clientY: box.top + box.height / 2 + y};
  picture.dispatchEvent(new PointerEvent("pointermove", at));
  const hint = document.getElementById("hint");
  const name = hint.hidden ? shown : hint.querySelector("strong").textContent;
  if (name !== shown) (places[name] ??= []).push([x, y]);
}
const [name, near] = Object.entries(places)[0];
return [...near[Math.floor(near.length / 2)], name];
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
IS_OLD = "delete window.structuredClone;"

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


def test_a_click_on_a_mark_shows_its_cascade(see):
    driver = see()
    before = text_of(driver, "cascade")
    x, y, name = driver.execute_script(FIND_ANOTHER)
    picture = driver.find_element(By.ID, "scatter")
    ActionChains(driver).move_to_element_with_offset(picture, x, y).click().perform()
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


def test_the_button_copies_the_command_that_deploys_the_design(see):
    driver = see()
    driver.find_element(By.ID, "copy").click()
    wait(driver, lambda: text_of(driver, "copy") == "Copied")
    driver.execute_script("document.body.append(document.createElement('textarea'))")
    note = driver.find_element(By.TAG_NAME, "textarea")
    note.send_keys(Keys.COMMAND if sys.platform == "darwin" else Keys.CONTROL, "v")
    assert note.get_attribute("value") == "emsco choose 'my run' 1"


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


def test_a_screen_reader_is_told_the_name_of_every_control(see):
    names = names_of(see(), NAMED)
    assert [place for place, name in names.items() if not name] == []
    assert "cost across, accuracy up, coverage as colour" in names["scatter"]
    assert names["spending"].startswith("Histogram of the cost of a row.")
    assert names["table"] == "Table of designs"
    assert names["classes"] == "By class, on scored rows"
    assert "always 1, everything and everything, all answered, without" in names["scatter"]


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
