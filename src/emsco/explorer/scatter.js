// Vega draws; here it is told what, and asked which design is where.

// One for each number of stages, within -1 to 1; the last is for all larger ones.
const SHAPES = [
  "M0.9,0A0.9,0.9,0,1,1,-0.9,0A0.9,0.9,0,1,1,0.9,0Z",
  "M-0.8,-0.8H0.8V0.8H-0.8Z",
  "M0,-0.9L1,0.8H-1Z",
  "M0,-1L0.8,0L0,1L-0.8,0Z",
  "M-0.3,-0.9H0.3V-0.3H0.9V0.3H0.3V0.9H-0.3V0.3H-0.9V-0.3H-0.3Z",
  "M0,0.9L1,-0.8H-1Z",
  "M0,-1L0.28,-0.35L1,-0.3L0.45,0.15L0.62,0.85L0,0.45L-0.62,0.85L-0.45,0.15L-1,-0.3L-0.28,-0.35Z",
];
const SHADES = 48; // more than the eye tells apart in marks of this size
const NEAR = 30; // pixels, about the width of a fingertip

/** How a number of stages is called beside its shape. */
const stageName = (kind) => (kind < SHAPES.length ? `${kind}` : `${SHAPES.length} or more`);

/** Which shape a design has, from 1. */
const kindOf = (design) => Math.min(DATA.stages[design].length, SHAPES.length);

/** A mark, drawn once: ten thousand copies of small pictures are put on a canvas in a few milliseconds. */
function drawMark(kind, fill, size) {
  const sharp = (N > 2000 ? 1 : 2) * Math.ceil(devicePixelRatio || 1); // many are not looked at so closely
  const canvas = element("canvas", { width: size * sharp, height: size * sharp });
  const context = canvas.getContext("2d");
  context.scale((size * sharp) / 2.3, (size * sharp) / 2.3);
  context.translate(1.15, 1.15);
  const path = new Path2D(SHAPES[kind - 1]);
  context.fillStyle = fill;
  context.fill(path);
  context.strokeStyle = colour("ink");
  context.globalAlpha = 0.8;
  context.lineWidth = 1.4 / size;
  context.stroke(path);
  return canvas;
}

/** A colour for each shade of the ramp. */
function shades(ramp) {
  const context = element("canvas", { width: SHADES, height: 1 }).getContext("2d", {
    willReadFrequently: true,
  });
  const gradient = context.createLinearGradient(0, 0, SHADES, 0);
  ramp.forEach((one, i) => gradient.addColorStop(i / (ramp.length - 1), one));
  context.fillStyle = gradient;
  context.fillRect(0, 0, SHADES, 1);
  const { data } = context.getImageData(0, 0, SHADES, 1);
  return Array.from(
    { length: SHADES },
    (_, i) => `rgb(${data[4 * i]} ${data[4 * i + 1]} ${data[4 * i + 2]})`,
  );
}

/** The look that both pictures share, from the style sheet. */
function look() {
  const ink = colour("ink");
  const text = {
    labelColor: colour("ink-soft"),
    titleColor: ink,
    labelFont: "inherit",
    titleFont: "inherit",
  };
  const axis = {
    ...text,
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 600,
    titlePadding: 8,
  };
  const line = {
    domainColor: colour("line-strong"),
    tickColor: colour("line-strong"),
    gridColor: colour("line"),
  };
  const font = getComputedStyle(document.body).fontFamily;
  const names = { fontSize: 12, fontWeight: 600, font };
  return {
    background: "transparent",
    axis: { ...axis, ...line, labelFont: font, titleFont: font },
    legend: {
      ...text,
      labelFont: font,
      titleFont: font,
      labelFontSize: 12,
      titleFontSize: 12,
      symbolFillColor: "transparent",
      symbolStrokeColor: ink,
      symbolStrokeWidth: 1.5,
      layout: { top: { anchor: "start", direction: "horizontal", margin: 32 } },
    },
    view: { stroke: null },
    range: { ramp: colour("ramp").split(" ") },
    style: {
      limit: { stroke: colour("limit"), strokeDash: [5, 4], strokeWidth: 1.5 },
      best: { stroke: colour("limit"), strokeWidth: 3 },
      chosen: { stroke: ink, strokeWidth: 2 },
      halo: {
        ...names,
        fill: "transparent",
        stroke: colour("card"),
        strokeWidth: 4,
        strokeJoin: "round",
      },
      name: { ...names, fill: colour("limit") },
      spent: { fill: colour("right") },
      everything: { stroke: colour("limit"), strokeWidth: 2, strokeDash: [5, 4] },
      everythingName: { ...names, fill: colour("limit") },
      mean: { stroke: ink, strokeWidth: 1.5 },
      meanName: { ...names, fill: ink },
    },
  };
}

const EMBEDDING = {
  mode: "vega",
  renderer: "canvas",
  actions: false,
  defaultStyle: false,
  hover: false,
  tooltip: false,
};

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
    this.view = (
      await vegaEmbed(this.container, { ...spec, ...this.size }, { ...EMBEDDING, config: look() })
    ).view;
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
    this.state = null;
  }

  /** Anew, as when colours have changed. */
  async build() {
    const kinds = [...new Set(ALL.map(kindOf))].sort((a, b) => a - b);
    const narrow = this.container.clientWidth < 520;
    const size = N > 2000 ? 8 : N > 400 ? 10 : 12;
    const spec = started(DATA.specs.scatter, {
      stageNames: kinds.map(stageName),
      stageShapes: kinds.map((kind) => SHAPES[kind - 1]),
      markSize: size,
      titles: {
        cost: narrow ? "Mean cost" : "Mean cost of a row",
        accuracy: "Accuracy",
        coverage: "Coverage",
      },
    });
    spec.legends[0].gradientLength = narrow ? 110 : 160;
    this.designs = this.marked(size);
    spec.data[0].values = this.designs;
    await this.show(spec);
    this.setFields();
    if (this.state) this.set(this.state);
    this.view.run();
  }

  /** The designs with their figures, and the mark that each has where an objective is the colour. */
  marked(size) {
    const colours = shades(colour("ramp").split(" "));
    const marks = new Map();
    const markOf = (kind, shade) => {
      const key = kind * SHADES + shade;
      if (!marks.has(key)) marks.set(key, drawMark(kind, colours[shade], size));
      return marks.get(key);
    };
    const ranges = OBJECTIVES.map((name) => [name, ...extremes(name)]);
    return ALL.map((i) => {
      const design = { number: i };
      for (const [name, low, high] of ranges) {
        design[name] = FIGURES[name][i];
        const shade = Math.floor((SHADES * (design[name] - low)) / (high - low || 1));
        design[`${name} mark`] = markOf(kindOf(i), Math.min(SHADES - 1, shade));
      }
      return design;
    });
  }

  setFields() {
    this.view
      .signal("xField", this.fields.x)
      .signal("yField", this.fields.y)
      .signal("colourField", this.fields.c);
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
    const one = (number) =>
      number === null
        ? []
        : [
            {
              number,
              cost: FIGURES.cost[number],
              accuracy: FIGURES.accuracy[number],
              coverage: FIGURES.coverage[number],
            },
          ];
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
