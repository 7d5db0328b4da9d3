"use strict";
// Texts of models, names and labels are set as text, never as markup.
const $ = (id) => document.getElementById(id);

// ---- small tools

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return size >= 1000 ? value.toLocaleString("en", { maximumFractionDigits: 0 }) : value.toFixed(size >= 100 ? Math.min(digits, 1) : digits);
}

const short = (value) => (typeof value === "number" && !Number.isInteger(value) ? number(value) : String(value));
const share = (value) => `${(100 * value).toFixed(1)} %`;

// ---- drawing

function shape(svg, tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  svg.append(made);
}

// A plot with axes; returns the functions that place values.
function plot(svg, x, y, xText, yText, least = 0) {
  const width = svg.clientWidth, height = svg.clientHeight, left = 46, bottom = 22;
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const px = (value) => left + ((value - x[0]) / (x[1] - x[0] || 1)) * (width - left - 12);
  const py = (value) => 8 + (1 - (value - y[0]) / (y[1] - y[0] || 1)) * (height - 8 - bottom);
  const n = width < 420 ? 2 : 4;
  for (let k = 0; k <= 4; k++) {
    const value = y[0] + ((y[1] - y[0]) * k) / 4;
    shape(svg, "line", { x1: left, x2: width - 12, y1: py(value), y2: py(value), class: "grid" });
    shape(svg, "text", { x: left - 6, y: py(value) + 4, "text-anchor": "end" }, yText(value));
  }
  for (let k = least; k <= n; k++) {
    const value = x[0] + ((x[1] - x[0]) * k) / n;
    const anchor = k === 0 ? "start" : k === n ? "end" : "middle";
    shape(svg, "text", { x: px(value), y: height - 4, "text-anchor": anchor }, xText(value));
  }
  return { px, py };
}

function ceiling(value) { // a round number above
  if (!(value > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].find((k) => k * unit >= value) * unit;
}

function line(svg, points, at, name, kind) {
  const known = points.filter((one) => one[name] !== null && one[name] !== undefined);
  if (known.length) shape(svg, "polyline", { points: known.map((one) => `${at.px(one.x).toFixed(1)},${at.py(one[name]).toFixed(1)}`).join(" "), class: kind });
}

function bars(box, rows) { // rows: name, value, text
  const most = Math.max(...rows.map((one) => Math.abs(one.value)), 1e-12);
  const signed = rows.some((one) => one.value < 0);
  box.replaceChildren(...rows.flatMap(({ name, value, text }) => [
    element("span", { className: "name", textContent: name }), track(value / most, signed),
    element("span", { className: "number", textContent: text })]));
}

function track(part, signed) {
  const bar = element("i", { className: part < 0 ? "less" : "" });
  const width = Math.min(Math.abs(part), 1) * (signed ? 50 : 100);
  bar.style.width = `${width}%`;
  bar.style.left = signed ? `${part < 0 ? 50 - width : 50}%` : "0";
  return element("span", { className: "track", ariaHidden: "true" }, bar);
}
