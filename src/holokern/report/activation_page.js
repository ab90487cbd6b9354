"use strict";
// Draws every chart of the page from the data inside it; the sliders redraw from tables of Chebyshev coefficients.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (name) => document.getElementById(name);
  const alone = data.subjects.length === 1;

  // -- values ---------------------------------------------------------------------------------------------------

  function cheb(coefficients, x) {
    let later = 0, now = 0;
    for (let i = coefficients.length - 1; i > 0; i--) {
      const next = 2 * x * now - later + coefficients[i];
      later = now;
      now = next;
    }
    return x * now - later + coefficients[0];
  }

  function polynomials(count, x) {
    const t = [1, x];
    for (let i = 2; i < count; i++) t.push(2 * x * t[i - 1] - t[i - 2]);
    return t;
  }

  function place(c, [low, high]) {
    return (2 * Math.log(c) - Math.log(low * high)) / Math.log(high / low);
  }

  const inside = (c, [low, high]) => c >= low * (1 - 1e-9) && c <= high * (1 + 1e-9);
  function combine(rows, weights) {
    return rows[0].map((_, m) => rows.reduce((total, row, p) => total + weights[p] * row[m], 0));
  }

  const angleOf = (r) => 2 * Math.asin(Math.sqrt(Math.min(1, Math.max(0, (1 - r) / 2))));

  // what can be computed from the tables of one activation
  function model(subject) {
    const tables = subject.tables;
    const norm = (c) => Math.exp(cheb(tables.logNorm, place(c, tables.wide)));
    const slope = (c) => Math.exp(cheb(tables.logSlope, place(c, tables.wide)));

    // Chebyshev series in the angle for one deviation, or for two
    function alongDiagonal(table, c) {
      return combine(table, polynomials(table.length, place(c, tables.wide)));
    }

    function alongPair(table, c1, c2) {
      const second = polynomials(table.length, place(c2, tables.range));
      return combine(table.map((rows) => combine(rows, second)), polynomials(table.length, place(c1, tables.range)));
    }

    const atAngle = (series, theta) => cheb(series, 2 * theta / Math.PI - 1);
    const unSine = (theta) => (tables.steep ? 1 / Math.sin(theta) : 1);

    function curves(c1, c2, thetas) {
      const value = alongPair(tables.pair, c1, c2), rate = alongPair(tables.pairSlope, c1, c2);
      const size = norm(c1) * norm(c2), rateSize = slope(c1) * slope(c2);
      return {
        k: thetas.map((theta) => size * atAngle(value, theta)),
        kdot: thetas.map((theta) => rateSize * atAngle(rate, theta) * unSine(theta)),
      };
    }

    // Σ and Θ after every layer, from points of equal length: w = σ_w², b = σ_b, the first Σ has variance c² everywhere
    function layers(w, b, depth, sigma, c) {
      let theta = sigma.map((s) => angleOf(s / (c * c))), tangent = sigma.slice();
      const found = [{ c, sigma, tangent, r: sigma.map((s) => s / (c * c)) }];
      for (let h = 0; h < depth && inside(c, tables.wide); h++) {
        const size = w * norm(c) ** 2, rate = w * slope(c) ** 2;
        const value = alongDiagonal(tables.diagonal, c), change = alongDiagonal(tables.diagonalSlope, c);
        const next = theta.map((t) => size * (t === 0 ? 1 : atAngle(value, t)) + b * b);
        tangent = tangent.map((t, i) => t * rate * (theta[i] === 0 ? 1 : atAngle(change, theta[i])) + next[i]);
        c = Math.sqrt(size + b * b);
        const variance = c * c;
        theta = next.map((s) => angleOf(s / variance));
        found.push({ c, sigma: next, tangent, r: next.map((s) => s / variance) });
      }
      return found;
    }

    function network(w, b, depth, angles) {
      const c = Math.sqrt(1 + b * b);
      return layers(w, b, depth, angles.map((angle) => Math.cos(angle) + b * b), c);
    }

    function fixedPoint(w, b) {
      let c = 1;
      for (let i = 0; i < 2000; i++) {
        if (!inside(c, tables.wide)) return null;
        const next = Math.sqrt(w * norm(c) ** 2 + b * b);
        if (Math.abs(next - c) < 1e-9 * c) return { c: next, chi: w * slope(next) ** 2 };
        c = next;
      }
      return null;
    }

    return { ...subject, curves, layers, network, fixedPoint };
  }

  const models = data.subjects.map(model);

  // -- charts ---------------------------------------------------------------------------------------------------

  const svgNode = (name, attributes, parent) => {
    const node = document.createElementNS(document.querySelector("svg.glyphs").namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (parent) parent.appendChild(node);
    return node;
  };

  function niceTicks(low, high, count) {
    const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(i * step);
    return ticks;
  }

  function powerTicks(low, high, count) {
    const first = Math.ceil(low - 1e-9), last = Math.floor(high + 1e-9);
    const step = Math.max(1, Math.ceil((last - first + 1) / count));
    const ticks = [];
    for (let i = first; i <= last; i += step) ticks.push(i);
    return ticks;
  }

  const minus = (text) => text.replace("-", "\u2212");
  function shown(value, digits = 4) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    return minus(size < 1e-3 || size >= 1e5 ? value.toExponential(Math.max(0, digits - 2)) : String(+value.toPrecision(digits)));
  }
  const superscript = (n) => String(n).replace(/[-0-9]/g, (d) => "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"["-0123456789".indexOf(d)]);

  function extent(lines, key) {
    const all = lines.flatMap((line) => line[key]).filter((value) => value !== null && Number.isFinite(value));
    return all.length ? [Math.min(...all), Math.max(...all)] : [0, 1];
  }

  // chart: {x: name of the axis, lines: [{x, y, kind, label, points}], xRange, yRange, log, zero}
  function draw(name, chart) {
    const figure = byId(name);
    if (!figure) return;
    figure.replaceChildren();
    const legend = document.createElement("div");
    legend.className = "legend";
    for (const line of chart.lines.filter((one) => one.label)) {
      const item = document.createElement("span");
      item.className = `key ${line.kind}`;
      item.textContent = line.label;
      legend.appendChild(item);
    }
    figure.appendChild(legend);
    const width = Math.max(240, figure.clientWidth), height = Math.min(320, Math.max(230, width * 0.62));
    const box = { left: 58, right: width - 10, top: 10, bottom: height - 44 };
    const svg = svgNode("svg", { width, height, role: "img", "aria-label": chart.title, class: "curve-chart" }, figure);
    const lines = chart.lines.map((line) => chart.log
      ? { ...line, y: line.y.map((v) => (v > 0 ? Math.log10(v) : null)) } : line);
    let [x0, x1] = chart.xRange || extent(lines, "x");
    let [y0, y1] = chart.yRange || extent(lines, "y");
    if (chart.zero) [y0, y1] = [Math.min(0, y0), Math.max(0, y1)];
    if (y1 - y0 < 1e-12 * (1 + Math.abs(y1))) [y0, y1] = [y0 - 0.5, y1 + 0.5];
    if (!chart.yRange) { const edge = 0.04 * (y1 - y0); y0 -= edge; y1 += edge; }
    if (x1 === x0) [x0, x1] = [x0 - 0.5, x1 + 0.5];
    const px = (x) => box.left + (x - x0) / (x1 - x0) * (box.right - box.left);
    const py = (y) => box.bottom - (y - y0) / (y1 - y0) * (box.bottom - box.top);
    const write = (x, y, text, anchor, extra = {}) => {
      svgNode("text", { x, y, "text-anchor": anchor, ...extra }, svg).textContent = text;
    };
    for (const tick of niceTicks(x0, x1, width < 420 ? 4 : 6)) {
      svgNode("line", { x1: px(tick), x2: px(tick), y1: box.top, y2: box.bottom, class: "grid" }, svg);
      write(px(tick), box.bottom + 17, shown(+tick.toPrecision(12)), "middle");
    }
    for (const tick of (chart.log ? powerTicks : niceTicks)(y0, y1, 5)) {
      svgNode("line", { x1: box.left, x2: box.right, y1: py(tick), y2: py(tick), class: "grid" }, svg);
      write(box.left - 6, py(tick) + 4, chart.log ? `10${superscript(tick)}` : shown(+tick.toPrecision(12)), "end");
    }
    svgNode("rect", { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top, class: "box" }, svg);
    write((box.left + box.right) / 2, height - 8, chart.x, "middle", { class: "axis" });
    const clip = `clip-${name}`;
    const hole = svgNode("clipPath", { id: clip }, svg);
    svgNode("rect", { x: box.left, y: box.top - 4, width: box.right - box.left, height: box.bottom - box.top + 8 }, hole);
    const inner = svgNode("g", { "clip-path": `url(#${clip})` }, svg);
    for (const line of lines) {
      let path = "", pen = false;
      line.x.forEach((x, i) => {
        const y = line.y[i];
        if (y === null || !Number.isFinite(y)) { pen = false; return; }
        const at = `${px(x).toFixed(1)},${Math.min(1e5, Math.max(-1e5, py(y))).toFixed(1)}`;
        if (line.points) svgNode("circle", { cx: px(x), cy: py(y), r: line.radius || 3, class: `dot ${line.kind}` }, inner);
        path += (pen ? "L" : "M") + at;
        pen = true;
      });
      if (!line.points) svgNode("path", { d: path, class: `curve ${line.kind}` }, inner);
    }
    readOut(svg, chart, box, px, x0, x1);
  }

  // a line under the pointer with the values there, one row for each curve
  function readOut(svg, chart, box, px, x0, x1) {
    const mark = svgNode("line", { y1: box.top, y2: box.bottom, class: "pointer" }, svg);
    const label = svgNode("text", { y: box.top + 15, class: "reading" }, svg);
    const hide = () => { mark.style.display = label.style.display = "none"; };
    hide();
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("pointermove", (event) => {
      const at = event.clientX - svg.getBoundingClientRect().left;
      const x = x0 + (at - box.left) / (box.right - box.left) * (x1 - x0);
      if (x < x0 || x > x1) return hide();
      const rows = [];
      let place = x;
      for (const line of chart.lines.filter((one) => one.label && one.x.length > 1)) {
        const i = line.x.reduce((best, v, j) => (Math.abs(v - x) < Math.abs(line.x[best] - x) ? j : best), 0);
        if (line.y[i] === null || !Number.isFinite(line.y[i])) continue;
        place = line.x[i];
        rows.push(`${line.label}: ${shown(line.y[i])}`);
      }
      if (!rows.length) return hide();
      mark.style.display = label.style.display = "";
      mark.setAttribute("x1", px(place));
      mark.setAttribute("x2", px(place));
      const left = at < (box.left + box.right) / 2;
      label.setAttribute("text-anchor", left ? "start" : "end");
      label.replaceChildren();
      [`${chart.x} = ${shown(place, 4)}`, ...rows].forEach((row, i) => {
        svgNode("tspan", { x: px(place) + (left ? 6 : -6), dy: i ? 16 : 0 }, label).textContent = row;
      });
    });
  }

  // -- the charts of this page ----------------------------------------------------------------------------------

  const steps = (low, high, count) => Array.from({ length: count + 1 }, (_, i) => low + (high - low) * i / count);
  const setting = (name) => Number(byId(name).value);

  const kinds = ["one", "two", "three"];
  // curves of one activation differ by colour; those of two have a colour each, and the second kind is dashed
  const kind = (subject, curve) => (alone ? kinds[curve] : kinds[subject] + (curve ? " dashed" : ""));
  const label = (one, text) => (alone ? text : `${one.name}, ${text}`);
  const lines = (make) => models.flatMap((one, i) => make(one, i));

  function drawFixed() {
    draw("plot-sigma", {
      title: "the activation and its derivative", x: "u", lines: lines((one, i) => [
        { x: one.sigma.u, y: one.sigma.value, kind: kind(i, 0), label: label(one, "σ(u)") },
        { x: one.sigma.u, y: one.sigma.slope, kind: kind(i, 1), label: label(one, one.sigma.jumps ? "σ′(u) without the deltas" : "σ′(u)") },
      ]),
    });
    for (const [name, symbol, key] of [["plot-gauss", "k", "k"], ["plot-gauss-dot", "k′", "kdot"]]) {
      draw(name, {
        title: `error of Gauss–Hermite rules for ${symbol}`, x: "r", log: true, xRange: [-1, 1],
        lines: lines((one, i) => data.nodes.map((count, n) => ({
          x: one.gauss.r, y: one.gauss[key][n].map((v) => (v === null ? null : Math.max(v, 1e-17))), kind: kind(i, n), label: label(one, `${count} nodes`),
        }))),
      });
    }
    draw("plot-spectrum", {
      title: "Hermite spectrum", x: "degree n", log: true,
      lines: lines((one, i) => [{ x: one.spectrum.n, y: one.spectrum.share, kind: kind(i, 0), points: true, label: label(one, "share") }]),
    });
  }

  function drawDual() {
    const c1 = 2 ** setting("c1"), c2 = 2 ** setting("c2");
    byId("c1-value").textContent = shown(c1, 3);
    byId("c2-value").textContent = shown(c2, 3);
    const found = models.map((one) => {
      const steep = one.tables.steep, thetas = steps(steep ? 0.02 : 0, steep ? Math.PI - 0.02 : Math.PI, 160);
      return { r: thetas.map(Math.cos), ...one.curves(c1, c2, thetas) };
    });
    draw("plot-k", { title: "k against r", x: "r", xRange: [-1, 1], zero: true,
      lines: models.map((one, i) => ({ x: found[i].r, y: found[i].k, kind: kinds[i], label: label(one, "k") })) });
    draw("plot-kdot", { title: "k′ against r", x: "r", xRange: [-1, 1], zero: true,
      lines: models.map((one, i) => ({ x: found[i].r, y: found[i].kdot, kind: kinds[alone ? 1 : i], label: label(one, "k′") })) });
  }

  // σ_w² of an activation: the slider gives σ_w for one, and for two a multiple of the usual one of each
  const weightOf = (one) => (setting("weight") * (alone ? 1 : one.weight)) ** 2;

  function drawNetwork() {
    const b = setting("bias"), depth = setting("depth");
    byId("weight-value").textContent = shown(setting("weight"), 4);
    byId("bias-value").textContent = shown(b, 3);
    byId("depth-value").textContent = String(depth);
    const count = (track) => track.map((_, h) => h);
    const starts = alone ? [0.5, 1, 2] : [1];
    draw("plot-length", { title: "standard deviation by layer", x: "layer", zero: true, xRange: [0, depth],
      lines: lines((one, i) => starts.filter((c) => inside(c, one.tables.wide)).map((c, n) => {
        const track = one.layers(weightOf(one), b, depth, [0], c).map((layer) => layer.c);
        return { x: count(track), y: track, kind: kind(i, n), label: label(one, `from c = ${c}`) };
      })) });
    const correlations = alone ? [0, 0.5, 0.9] : [0, 0.9];
    draw("plot-correlation", { title: "correlation by layer", x: "layer", yRange: [-0.1, 1.05], xRange: [0, depth],
      lines: lines((one, i) => {
        const tracked = one.layers(weightOf(one), b, depth, correlations, 1);
        return correlations.map((r, n) => ({ x: count(tracked), y: tracked.map((layer) => layer.r[n]), kind: kind(i, n), label: label(one, `from r = ${r}`) }));
      }) });
    drawEdge(b);
    const angles = steps(-Math.PI, Math.PI, 180), middle = 90, readings = [];
    draw("plot-circle", { title: "NNGP and NTK on the circle", x: "φ", xRange: [-Math.PI, Math.PI], zero: true,
      lines: lines((one, i) => {
        const all = one.network(weightOf(one), b, depth, angles), last = all[all.length - 1];
        const named = alone ? "" : `${one.name}: `;
        readings.push(named + (all.length === depth + 1
          ? `at φ = 0, NNGP Σ = ${shown(last.sigma[middle], 6)}` + (one.tables.steep ? "." : ` and NTK Θ = ${shown(last.tangent[middle], 6)}.`)
          : `the deviation left the table, [${one.tables.wide.map((c) => shown(c, 3)).join(", ")}], after layer ${all.length - 1}; the curves show that layer.`));
        const drawn = [{ x: angles, y: last.sigma.map((v) => v / last.sigma[middle]), kind: kind(i, 0), label: label(one, "NNGP") }];
        if (!one.tables.steep) drawn.push({ x: angles, y: last.tangent.map((v) => v / last.tangent[middle]), kind: kind(i, 1), label: label(one, "NTK") });
        return drawn;
      }) });
    byId("circle-reading").textContent = readings.join(" ");
  }

  function drawEdge(b) {
    const readings = [], limits = data.limits, smooth = models.filter((one) => !one.tables.steep);
    const widest = alone ? limits[0] : Math.max(...smooth.map((one) => one.weight * limits[0]), 1);
    const seen = new Set();
    draw("plot-edge", { title: "edge of chaos", x: "deviation of the weights", xRange: [0, widest], yRange: [-0.05 * limits[1], limits[1]],
      lines: lines((one, i) => {
        const drawn = one.edge.map((part) => {
          const text = label(one, part.stable ? "χ = 1" : "χ = 1, variance unstable");
          const fresh = !seen.has(text) ? text : "";
          seen.add(text);
          const look = (alone ? "three" : kinds[i]) + (part.stable ? "" : " dashed");
          return { x: part.weight, y: part.bias, kind: look, points: part.weight.length === 1, radius: 5, label: fresh };
        });
        drawn.push({ x: [Math.sqrt(weightOf(one))], y: [b], kind: alone ? "two" : kinds[i], points: true, radius: 5, label: alone ? "this network" : "" });
        return drawn;
      }) });
    for (const one of models) {
      const fixed = one.fixedPoint(weightOf(one), b), named = alone ? "" : `${one.name}: `;
      if (!fixed) readings.push(named + "the variance does not converge within the range of the table.");
      else if (one.tables.steep) readings.push(`${named}fixed point c = ${shown(fixed.c)}.`);
      else {
        const phase = Math.abs(fixed.chi - 1) < 2e-3 ? "on the edge" : fixed.chi < 1 ? "ordered, correlations go to 1" : "chaotic, nearby points move apart";
        readings.push(`${named}fixed point c = ${shown(fixed.c)}, χ = ${shown(fixed.chi)}: ${phase}.`);
      }
    }
    byId("edge-reading").textContent = readings.join(" ");
  }

  // -- buttons that copy ----------------------------------------------------------------------------------------

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = document.createElement("textarea");
      field.value = text;
      document.body.appendChild(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
  }

  function addButton(node, name, text) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = name;
    button.title = `Copy the ${name}`;
    button.addEventListener("click", async () => {
      await copy(text);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = name; }, 1500);
    });
    node.appendChild(button);
  }

  for (const node of document.querySelectorAll(".formula")) addButton(node, "LaTeX", node.getAttribute("aria-label"));
  for (const node of document.querySelectorAll("[data-python]")) addButton(node, "Python", node.textContent);

  function drawAll() { drawFixed(); drawDual(); drawNetwork(); }
  for (const name of ["c1", "c2"]) byId(name).addEventListener("input", drawDual);
  for (const name of ["weight", "bias", "depth"]) byId(name).addEventListener("input", drawNetwork);
  let waiting = 0, seenWidth = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === seenWidth) return;
    seenWidth = window.innerWidth;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(drawAll);
  });
  drawAll();
  // for the console, and for the tests
  window.holokern = { ...models[0], models, copy };
})();
