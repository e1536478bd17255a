// Vega draws; here it is told what, and asked which design is where.

const SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"];
const STAR = "M0,-1L0.25,-0.3L1,-0.3L0.4,0.15L0.6,0.9L0,0.45L-0.6,0.9L-0.4,0.15L-1,-0.3L-0.25,-0.3Z";
const NEAR = 30; // pixels, about the width of a fingertip

/** How a number of stages is called beside its shape. */
const stageName = (count) => (count > SHAPES.length ? `${SHAPES.length + 1} or more` : `${count}`);

/** The look that both pictures share, from the style sheet. */
function look() {
  const ink = colour("ink");
  const text = { labelColor: colour("ink-soft"), titleColor: ink, labelFont: "inherit", titleFont: "inherit" };
  const axis = { ...text, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 600, titlePadding: 8 };
  const line = { domainColor: colour("line-strong"), tickColor: colour("line-strong"), gridColor: colour("line") };
  const font = getComputedStyle(document.body).fontFamily;
  const names = { fontSize: 12, fontWeight: 600, font };
  return {
    background: "transparent",
    axis: { ...axis, ...line, labelFont: font, titleFont: font },
    legend: { ...text, labelFont: font, titleFont: font, labelFontSize: 12, titleFontSize: 12, symbolFillColor: "transparent",
      symbolStrokeColor: ink, symbolStrokeWidth: 1.5, layout: { top: { anchor: "start", direction: "horizontal", margin: 32 } } },
    view: { stroke: null },
    range: { ramp: colour("ramp").split(" ") },
    style: {
      design: { stroke: ink, strokeWidth: 0.6, strokeOpacity: 0.75 },
      limit: { stroke: colour("limit"), strokeDash: [5, 4], strokeWidth: 1.5 },
      best: { stroke: colour("limit"), strokeWidth: 3 },
      chosen: { stroke: ink, strokeWidth: 2 },
      halo: { ...names, fill: "transparent", stroke: colour("card"), strokeWidth: 4, strokeJoin: "round" },
      name: { ...names, fill: colour("limit") },
      spent: { fill: colour("right") },
      everything: { stroke: colour("limit"), strokeWidth: 2, strokeDash: [5, 4] },
      everythingName: { ...names, fill: colour("limit") },
      mean: { stroke: ink, strokeWidth: 1.5 },
      meanName: { ...names, fill: ink },
    },
  };
}

const EMBEDDING = { mode: "vega", renderer: "canvas", actions: false, defaultStyle: false, hover: false, tooltip: false };

/** A copy of a spec with other values of its signals. */
function started(spec, values) {
  const made = structuredClone(spec);
  for (const signal of made.signals) if (signal.name in values) signal.value = values[signal.name];
  return made;
}

/** A picture that Vega draws, and that follows the width of its container. */
class Picture {
  constructor(container, height) {
    this.container = container;
    this.height = height;
  }

  async show(spec) {
    this.view?.finalize();
    this.size = this.room();
    this.view = (await vegaEmbed(this.container, { ...spec, ...this.size }, { ...EMBEDDING, config: look() })).view;
  }

  room() {
    const width = Math.max(200, this.container.clientWidth);
    return { width, height: this.height(width) };
  }

  resize() {
    const room = this.room();
    if (room.width === this.size.width && room.height === this.size.height) return;
    this.size = room;
    this.view.width(room.width).height(room.height).resize().run();
  }
}

/** All designs as marks, their best and the chosen one ringed. */
class Scatter extends Picture {
  constructor(container) {
    super(container, (width) => Math.round(Math.min(460, Math.max(340, 0.62 * width))));
    this.fields = { x: "cost", y: "accuracy", c: "coverage" };
    this.designs = Array.from({ length: N }, (_, i) => ({
      number: i,
      cost: FIGURES.cost[i],
      accuracy: FIGURES.accuracy[i],
      coverage: FIGURES.coverage[i],
      shape: stageName(DATA.stages[i].length),
    }));
    this.state = null;
  }

  /** Anew, as when colours have changed. */
  async build() {
    const counts = [...new Set(DATA.stages.map((stages) => Math.min(stages.length, SHAPES.length + 1)))].sort((a, b) => a - b);
    const narrow = this.container.clientWidth < 520;
    const spec = started(DATA.specs.scatter, {
      stageNames: counts.map(stageName),
      stageShapes: counts.map((count) => SHAPES[count - 1] || STAR),
      markArea: N > 2000 ? 24 : N > 400 ? 46 : 80,
      titles: { cost: narrow ? "Mean cost" : "Mean cost of a row", accuracy: "Accuracy", coverage: "Coverage" },
    });
    spec.legends[0].gradientLength = narrow ? 110 : 160;
    spec.data[0].values = structuredClone(this.designs);
    await this.show(spec);
    this.setFields();
    if (this.state) this.set(this.state);
    this.view.run();
  }

  setFields() {
    this.view.signal("xField", this.fields.x).signal("yField", this.fields.y).signal("colourField", this.fields.c);
  }

  /** Put an objective on an axis; whichever was there goes where that one was. */
  swap(place, objective) {
    const other = Object.keys(this.fields).find((key) => this.fields[key] === objective);
    this.fields = { ...this.fields, [other]: this.fields[place], [place]: objective };
    this.setFields();
    this.view.resize().run();
  }

  set(state) {
    this.state = state;
    const one = (number) => (number === null ? [] : [{ ...this.designs[number] }]);
    this.view
      .signal("maxCost", state.limits.cost)
      .signal("minAccuracy", state.limits.accuracy)
      .signal("minCoverage", state.limits.coverage)
      .data("best", one(state.best))
      .data("chosen", one(state.chosen));
  }

  draw(state) {
    this.set(state);
    this.view.run();
  }

  /** The design nearest to a place on the page, those within the limits first; null where none is near. */
  at(event) {
    const box = this.container.querySelector("canvas").getBoundingClientRect();
    const [left, top] = this.view.origin();
    const px = event.clientX - box.left - left;
    const py = event.clientY - box.top - top;
    const [x, y] = [this.view.scale("x"), this.view.scale("y")];
    let found = null;
    let least = NEAR ** 2;
    for (const design of this.designs) {
      const away = (x(design[this.fields.x]) - px) ** 2 + (y(design[this.fields.y]) - py) ** 2;
      const distance = isWithin(design.number, this.state.limits) ? away : away + NEAR ** 2 / 2;
      if (distance < least) [found, least] = [design.number, distance];
    }
    return found;
  }
}

/** What a row costs, as a histogram, with a mark at the cost of everything. */
class Spending extends Picture {
  constructor(container) {
    super(container, () => 220);
    this.shown = null;
  }

  async build() {
    await this.show(started(DATA.specs.spending, { total: DATA.total }));
    if (this.shown) this.draw(...this.shown);
  }

  draw(spending, mean) {
    this.shown = [spending, mean];
    this.view.signal("mean", mean).data("costs", structuredClone(spending)).run();
  }
}
