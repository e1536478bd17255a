// The pictures of the page, drawn by Vega: the scatter of designs and the histogram of costs.

// Shapes for numbers of stages, within -1 to 1.
const SHAPES = [
  "M0.9,0A0.9,0.9,0,1,1,-0.9,0A0.9,0.9,0,1,1,0.9,0Z",
  "M-0.8,-0.8H0.8V0.8H-0.8Z",
  "M0,-0.9L1,0.8H-1Z",
  "M0,-1L0.8,0L0,1L-0.8,0Z",
  "M-0.3,-0.9H0.3V-0.3H0.9V0.3H0.3V0.9H-0.3V0.3H-0.9V-0.3H-0.3Z",
  "M0,0.9L1,-0.8H-1Z",
  "M0,-1L0.28,-0.35L1,-0.3L0.45,0.15L0.62,0.85L0,0.45L-0.62,0.85L-0.45,0.15L-1,-0.3L-0.28,-0.35Z",
];
const SHADES = 48; // more than the eye can distinguish in marks of this size
const OPACITY = [0.16, 0.55, 1]; // of a mark by its prominence
const HOLLOW = SHADES; // in place of a shade
const NEAR = 30; // pixels, about the width of a fingertip
const LARGEST = 12; // width of a mark in pixels

/** The width of a mark in pixels, among so many. */
const sizeAmong = (count) => (count > 2000 ? 6 : count > 400 ? 8 : LARGEST);

/** The numbers of stages that share a shape: each its own, unless there are more than shapes. */
function kindsOfStages() {
  const counts = [...new Set(DATA.stages.map((stages) => stages.length))].sort((a, b) => a - b);
  const most = counts.at(-1);
  if (most <= SHAPES.length) return Array.from({ length: most }, (_, i) => [i + 1]);
  const each = Math.ceil(counts.length / SHAPES.length);
  const kinds = [];
  for (let i = 0; i < counts.length; i += each) kinds.push(counts.slice(i, i + each));
  return kinds;
}

const KINDS = kindsOfStages();
const KIND_OF = new Map(KINDS.flatMap((counts, i) => counts.map((count) => [count, i + 1])));

/** The name of a kind in the legend, as in "3" or "8 to 9". */
const stageName = (kind) => [...new Set([KINDS[kind - 1][0], KINDS[kind - 1].at(-1)])].join(" to ");

/** The number of a design's shape, from 1. */
const kindOf = (design) => KIND_OF.get(DATA.stages[design].length);

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

/**
 * All marks on one canvas, copied pixel by pixel. Drawing ten thousand shapes a frame would make a
 * dragged limit stutter, so each shape and shade is drawn once and then copied.
 */
class Marks {
  constructor() {
    this.ratio = Math.ceil(devicePixelRatio || 1);
    this.canvas = element("canvas");
    this.colours = shades(colour("ramp").split(" "));
    this.stamps = new Map();
  }

  /** Compute the place of each design in pixels; x and y map a design to its place in the plot. */
  place(width, height, x, y) {
    const least = LARGEST * this.ratio;
    this.canvas.width = Math.max(least, Math.round(width * this.ratio));
    this.canvas.height = Math.max(least, Math.round(height * this.ratio));
    this.context = this.canvas.getContext("2d");
    this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    [this.x, this.y] = [x, y];
    this.across = Float64Array.from(EVERY, (i) => x(i) * this.ratio);
    this.down = Float64Array.from(EVERY, (i) => y(i) * this.ratio);
  }

  /**
   * Paint the least prominent designs first, so that they cover no others. `prominence` is 0, 1 or
   * 2 for each design, and `sizes` has the pixels of each.
   */
  paint(prominence, sizes, shadeOf) {
    this.pixels.fill(0);
    const levels = EVERY.map((i) => (HIDDEN.has(i) ? null : prominence(i)));
    for (const now of [0, 1, 2]) {
      for (let i = EVERY.length - 1; i >= 0; i -= 1)
        if (levels[i] === now) this.put(i, shadeOf(i), now, sizes[now]);
    }
    this.context.putImageData(this.image, 0, 0);
  }

  put(i, shade, level, size) {
    const { pixels, across, down } = this;
    const { width, height } = this.canvas;
    const side = size * this.ratio;
    const start = (middle, room) => Math.min(room - side, Math.max(0, Math.round(middle - side / 2)));
    const first = start(down[i], height) * width + start(across[i], width);
    const stamp = this.stamp(kindOf(i), shade, level, size);
    for (let row = 0, from = 0, to = first; row < side; row += 1, to += width) {
      for (let column = 0; column < side; column += 1, from += 1) {
        if (stamp[from]) pixels[to + column] = stamp[from];
      }
    }
  }

  stamp(kind, shade, level, size) {
    const key = ((kind * (SHADES + 1) + shade) * 3 + level) * (LARGEST + 1) + size;
    if (!this.stamps.has(key)) this.stamps.set(key, this.makeStamp(kind, shade, level, size));
    return this.stamps.get(key);
  }

  /** The pixels of a mark, 0 where the background shows. */
  makeStamp(kind, shade, level, size) {
    const side = size * this.ratio;
    const mark = element("canvas", { width: side, height: side });
    const context = mark.getContext("2d", { willReadFrequently: true });
    context.scale(side / 2.3, side / 2.3);
    context.translate(1.15, 1.15);
    context.globalAlpha = OPACITY[level];
    const path = new Path2D(SHAPES[kind - 1]);
    context.fillStyle = shade === HOLLOW ? colour("card") : this.colours[shade];
    context.fill(path);
    // A dark edge around small marks would drown their colour, and thousands of them turn grey.
    if (shade === HOLLOW || (size === LARGEST && level === 2)) {
      context.strokeStyle = colour(shade === HOLLOW ? "line-strong" : "ink");
      context.lineWidth = (shade === HOLLOW ? 3 : 1.4) / size;
      context.globalAlpha *= 0.8;
      context.stroke(path);
    }
    const covered = context.getImageData(0, 0, side, side).data;
    context.globalCompositeOperation = "destination-over";
    context.globalAlpha = 1;
    context.fillStyle = colour("card");
    context.fillRect(-2, -2, 4, 4);
    const mixed = new Uint32Array(context.getImageData(0, 0, side, side).data.buffer);
    const least = 40 * OPACITY[level];
    return mixed.map((pixel, at) => (covered[4 * at + 3] > least ? pixel : 0));
  }
}

/** The settings that both pictures share, with the colours of the style sheet. */
function look(isNarrow) {
  const ink = colour("ink");
  const font = getComputedStyle(document.body).fontFamily;
  const text = {
    labelColor: colour("ink-soft"),
    titleColor: ink,
    labelFont: font,
    titleFont: font,
    labelFontSize: 12,
    titleFontSize: 12,
  };
  const line = {
    domainColor: colour("line-strong"),
    tickColor: colour("line-strong"),
    gridColor: colour("line"),
  };
  const names = { fontSize: 12, fontWeight: 600, font };
  return {
    background: "transparent",
    axis: { ...text, ...line, titleFontWeight: 600, titlePadding: 8 },
    legend: {
      ...text,
      symbolFillColor: "transparent",
      symbolStrokeColor: ink,
      symbolStrokeWidth: 1.5,
      layout: {
        top: isNarrow
          ? { anchor: "start", direction: "vertical", margin: 6 }
          : { anchor: "start", direction: "horizontal", margin: 32 },
      },
    },
    view: { stroke: null },
    range: { ramp: colour("ramp").split(" ") },
    style: {
      limit: { stroke: colour("limit"), strokeDash: [5, 4], strokeWidth: 1.5 },
      bestLine: { stroke: colour("limit"), strokeWidth: 1 },
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
      expected: { stroke: colour("accent"), fill: colour("card"), strokeWidth: 2 },
      seen: { stroke: colour("card"), fill: colour("accent"), strokeWidth: 1 },
      expectedLine: { stroke: colour("accent"), strokeWidth: 1.2 },
      expectedInterval: { stroke: colour("accent"), strokeWidth: 6, strokeOpacity: 0.3 },
      reference: { stroke: colour("ink-soft"), strokeWidth: 2.4 },
      referenceHalo: { stroke: colour("card"), strokeWidth: 6 },
      referenceName: { ...names, fontWeight: 500, fill: colour("ink-soft") },
      spent: { fill: colour("correct") },
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

/**
 * A picture that Vega draws and that follows the width of its container.
 * Vega sets the ARIA role of the element it draws in, so that is an inner frame. The container keeps
 * the role of an application, and screen readers leave it the arrow keys.
 */
class Picture {
  constructor(container, height) {
    this.container = container;
    this.frame = element("div", { "aria-hidden": "true" });
    container.append(this.frame);
    this.height = height;
  }

  async show(spec) {
    this.view?.finalize();
    this.size = this.room();
    this.view = (
      await vegaEmbed(this.frame, { ...spec, ...this.size }, { ...EMBEDDING, config: look(this.isNarrow()) })
    ).view;
  }

  /** Whether legends and titles must share the width of a phone. */
  isNarrow() {
    return this.container.clientWidth < 520;
  }

  room() {
    const width = Math.max(200, this.container.clientWidth);
    return { width, height: this.height(width) };
  }

  resize() {
    if (this.refit()) this.view.run();
  }

  /** Fit the picture to its container, and return whether its size changed. */
  refit() {
    const room = this.room();
    if (room.width === this.size.width && room.height === this.size.height) return false;
    this.size = room;
    this.view.width(room.width).height(room.height).resize();
    return true;
  }
}

/** All designs as marks, with rings around the best and the chosen one. */
class Scatter extends Picture {
  constructor(container) {
    super(container, (width) => Math.round(Math.min(460, Math.max(width < 520 ? 380 : 340, 0.62 * width))));
    this.fields = { x: "cost", y: "accuracy", c: "coverage" };
    this.state = null;
    this.pointed = null; // the design under the pointer
  }

  /** The shapes that designs have. */
  kinds() {
    return [...new Set(ALL.map(kindOf))].sort((a, b) => a - b);
  }

  /** Draw from scratch, for instance after a change of colours. */
  async build() {
    const kinds = this.kinds();
    const narrow = this.isNarrow();
    const spec = started(DATA.specs.scatter, {
      stageNames: kinds.map(stageName),
      stageShapes: kinds.map((kind) => SHAPES[kind - 1]),
      markSize: sizeAmong(SHORTLIST.size),
      domains: Object.fromEntries(OBJECTIVES.map((name) => [name, extremes(name)])),
      ranges: Object.fromEntries(OBJECTIVES.map((name) => [name, rangeWithJoined(name)])),
      titles: {
        cost: withUnit(narrow ? "Mean cost" : "Mean cost of a row"),
        accuracy: TITLES.accuracy,
        coverage: "Coverage",
      },
    });
    spec.legends[0].gradientLength = narrow ? 110 : 160;
    this.marks = new Marks();
    await this.show(spec);
    await this.layOut();
  }

  /** Let Vega place the axes and legends, then put the marks into the plot. */
  async layOut() {
    const { x, y, c } = this.fields;
    this.view.signal("xField", x).signal("yField", y).signal("colourField", c).resize();
    await this.view.runAsync();
    const [across, up] = [this.view.scale("x"), this.view.scale("y")];
    const [low, high] = extremes(c);
    this.shades = Uint8Array.from(FIGURES[c], (value, i) =>
      UNINFORMATIVE.has(i)
        ? HOLLOW
        : Math.min(SHADES - 1, Math.floor((SHADES * (value - low)) / (high - low || 1))),
    );
    this.marks.place(
      this.view.signal("width"),
      this.view.signal("height"),
      (i) => across(FIGURES[x][i]),
      (i) => up(FIGURES[y][i]),
    );
    if (this.state) this.draw(this.state);
  }

  /** Put an objective on an axis, and the objective that was there on the axis it came from. */
  swap(place, objective) {
    const other = Object.keys(this.fields).find((key) => this.fields[key] === objective);
    this.fields = { ...this.fields, [other]: this.fields[place], [place]: objective };
    this.layOut();
  }

  draw(state) {
    this.state = state;
    const small = sizeAmong(N);
    const faint = HAS_SHORTLIST && !state.all ? Math.round(0.7 * small) : small;
    const sizes = [faint, faint, state.all ? small : sizeAmong(SHORTLIST.size)];
    this.marks.paint(prominence, sizes, (i) => this.shades[i]);
    const one = (number) => (number === null ? [] : [{ number, ...figuresOf(number) }]);
    const name = placeBest(this.view, this.marks, state);
    this.view
      .signal("limits", state.limits)
      .data("marks", [{ image: this.marks.canvas }])
      .data("references", placeReferences(this.view, this.fields, name, this.marks, state))
      .data("expected", this.joined(EXPECTED))
      .data("seen", this.joined(SEEN))
      .data("bestName", name)
      .data("best", one(state.best))
      .data("chosen", one(state.chosen))
      .run();
  }

  /** Other figures of the chosen design and of the one under the pointer: expected or seen. */
  joined(figures) {
    const shown = new Set([this.state.chosen, this.pointed ?? this.state.chosen]);
    return placeJoined(this.view, this.fields, [...shown], figures);
  }

  /** Note the design under the pointer. */
  point(design) {
    if (design === this.pointed) return;
    this.pointed = design;
    this.view.data("expected", this.joined(EXPECTED)).data("seen", this.joined(SEEN)).run();
  }

  resize() {
    if (this.refit()) this.layOut();
  }

  /** The design nearest to the pointer, preferring prominent ones; null if none is near. */
  at(event) {
    const box = this.container.querySelector("canvas").getBoundingClientRect();
    const [left, top] = this.view.origin();
    const px = event.clientX - box.left - left;
    const py = event.clientY - box.top - top;
    let found = null;
    let least = NEAR ** 2;
    for (const i of ALL) {
      const away = (this.marks.x(i) - px) ** 2 + (this.marks.y(i) - py) ** 2;
      const distance = away + ((2 - prominence(i)) * NEAR ** 2) / 4;
      if (distance < least) [found, least] = [i, distance];
    }
    return found;
  }
}

/** The cost of a row as a histogram, with marks at the mean and at the cost of all features. */
class Spending extends Picture {
  constructor(container) {
    super(container, () => 220);
    this.shown = null;
  }

  async build() {
    const spec = started(DATA.specs.spending, { total: DATA.total });
    spec.axes[0].title = withUnit(spec.axes[0].title);
    await this.show(spec);
    if (this.shown) this.draw(...this.shown);
  }

  draw(spending, mean) {
    this.shown = [spending, mean];
    this.view.signal("mean", mean).data("costs", structuredClone(spending)).run();
  }
}
