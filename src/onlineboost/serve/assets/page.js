// After draw.js, in the same script.
const LAST = 8; // examples that are shown
const KEPT = 120; // seconds of throughput
const seen = { overview: null, before: null, insight: null, rates: [], examples: [], chosen: null, why: null };
let token = sessionStorage.getItem("token") || "";
let current = decodeURIComponent(location.hash.slice(1));

const path = (rest) => `/v1/models/${encodeURIComponent(current)}/${rest}`;

async function request(address, body) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await fetch(address, { method: body === undefined ? "GET" : "POST", headers, body: body === undefined ? null : JSON.stringify(body) });
  if (answer.status === 401) $("access").hidden = false;
  return answer;
}

async function ask(address, body) {
  const answer = await request(address, body);
  const found = await answer.json();
  if (!answer.ok) throw new Error(`${found.error.message}${found.error.next ? `: ${found.error.next}` : ""}`);
  return found;
}

// ---- parts of the page

function showTiles(model, rates) {
  const last = model.last, numbers = model.task === "regression";
  const error = numbers ? last.absolute_error : last.error;
  const tiles = [
    [number(error), numbers ? "absolute error, last 1,000" : "error, last 1,000"],
    [number(model.no_change), "no change"],
    [number(numbers ? last.squared_error : last.log_loss), numbers ? "squared error" : "log loss"],
    [number(model.learned), "learned"],
    [number(rates.learned, 0), "learned a second"],
    [number(model.waiting), "waiting tickets"],
    [number(model.alarms), "drift alarms"],
  ];
  $("tiles").replaceChildren(...tiles.map(([value, name]) => element("div", {}, element("b", { textContent: value }), element("span", { textContent: name }))));
}

function showError() {
  const points = (seen.insight?.history ?? []).map((one) => ({ ...one, x: one.learned }));
  const svg = $("error"), now = seen.overview?.models.find((one) => one.model === current);
  if (!points.length || !now) { svg.replaceChildren(); $("error-note").textContent = "The curve begins after 20 examples."; return; }
  const error = now.last.error ?? now.last.absolute_error;
  points.push({ x: now.learned, error, no_change: now.no_change });
  const most = ceiling(Math.max(...points.flatMap((one) => [one.error ?? 0, one.no_change ?? 0])));
  const at = plot(svg, [points[0].x, points.at(-1).x], [0, most], (value) => number(Math.round(value)), (value) => +value.toPrecision(3));
  for (const alarm of seen.insight.alarms.filter((one) => one >= points[0].x))
    shape(svg, "line", { x1: at.px(alarm), x2: at.px(alarm), y1: at.py(0), y2: at.py(most), class: "alarm" });
  line(svg, points, at, "no_change", "other");
  line(svg, points, at, "error", "model");
  $("error-note").textContent = "Mean of the last 1,000 examples, each predicted before it was learned, over the number of examples.";
  svg.setAttribute("aria-label", `Error of the model ${number(error)}, of no change ${number(now.no_change)}; drift alarms: ${now.alarms}`);
}

function showTraffic() {
  const svg = $("traffic");
  const points = seen.rates.map((one) => ({ ...one, x: one.time - (seen.rates.at(-1)?.time ?? 0) }));
  const most = ceiling(Math.max(...points.flatMap((one) => [one.learned, one.predicted]), 1));
  const first = Math.min(-20, Math.floor(points[0]?.x ?? 0));
  const at = plot(svg, [first, 0], [0, most], (value) => (value ? `${Math.round(value)} s` : "now"), (value) => number(+value.toPrecision(3), 1));
  line(svg, points, at, "predicted", "other");
  line(svg, points, at, "learned", "model");
  const now = seen.rates.at(-1);
  svg.setAttribute("aria-label", now ? `${number(now.learned, 0)} learned and ${number(now.predicted, 0)} predicted a second` : "No figures yet");
}

function showLatency(latency) {
  const rows = Object.entries(latency).filter(([route]) => route.startsWith("/v1/models/{model}/") && !route.endsWith("insight"));
  const text = (value) => (value === null ? "–" : value < 1 ? `< ${+(1000 * value).toPrecision(2)} ms` : `< ${+value.toPrecision(2)} s`);
  $("latency").replaceChildren(
    element("thead", {}, element("tr", {}, ...["Latency since the start", "50 %", "90 %", "99 %"].map((name, k) => element("th", { textContent: name, scope: "col", className: k ? "number" : "" })))),
    element("tbody", {}, ...rows.map(([route, found]) => element("tr", {}, element("td", { textContent: route.split("/").slice(4).join("/") }),
      ...["p50", "p90", "p99"].map((name) => element("td", { className: "number", textContent: text(found[name]) }))))));
}

function showMembers() {
  const found = seen.insight.members;
  $("members").hidden = !found;
  $("members-note").textContent = found ? found.verdict : "This model has no members.";
  if (!found) return;
  const columns = Object.keys(found.columns);
  const head = [found.row, ...columns, ""].map((name, k) => element("th", { textContent: name, scope: "col", className: k && name ? "number" : "" }));
  const signed = found.bars.some((value) => value < 0);
  const most = Math.max(...found.bars.map((value) => Math.abs(value ?? 0)), 1e-12);
  $("members").replaceChildren(element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...found.names.map((name, k) =>
    element("tr", {}, element("td", { textContent: name }), ...columns.map((one) => element("td", { className: "number", textContent: number(found.columns[one][k]) })),
      element("td", {}, track((found.bars[k] ?? 0) / most, signed))))));
}

function showCalibration() {
  const points = seen.insight.calibration, svg = $("calibration");
  const rows = points.reduce((sum, one) => sum + one.rows, 0);
  $("calibration-note").textContent = points.length ? "On the dashed line, predictions are right as often as they say. Larger dots are more examples." : "Not known for this model yet.";
  if (!points.length) { svg.replaceChildren(); return; }
  const percent = (value) => `${Math.round(100 * value)} %`;
  const from = Math.min(0.5, ...points.flatMap((one) => [Math.floor(one.said * 10) / 10, Math.floor(one.seen * 10) / 10]));
  const at = plot(svg, [from, 1], [from, 1], percent, percent);
  shape(svg, "line", { x1: at.px(from), y1: at.py(from), x2: at.px(1), y2: at.py(1), class: "other" });
  for (const one of points) shape(svg, "circle", { cx: at.px(one.said), cy: at.py(one.seen), r: 3 + 9 * Math.sqrt(one.rows / rows), class: "dot" });
  svg.setAttribute("aria-label", points.map((one) => `said ${percent(one.said)}, right ${percent(one.seen)}`).join("; "));
}

function showExamples() {
  const shown = seen.examples.filter((one) => one.model === current).slice(-LAST).reverse();
  if (seen.chosen && !shown.includes(seen.chosen)) shown.push(seen.chosen);
  const focused = document.activeElement?.dataset?.number;
  $("no-examples").hidden = shown.length > 0;
  $("examples").replaceChildren(...shown.map((one) => {
    const numbers = typeof one.prediction === "number" && one.interval;
    const right = String(one.prediction) === String(one.label);
    const most = one.probabilities ? share(one.probabilities[String(one.prediction)] ?? 0) : "";
    const mark = element("span", { className: numbers ? "" : right ? "right" : "wrong", textContent: numbers ? "•" : right ? "✓" : "✗" });
    const text = numbers || right ? `${short(one.label)}, predicted ${short(one.prediction)}` : `${short(one.label)}, but predicted ${short(one.prediction)}`;
    const button = element("button", { type: "button", onclick: () => choose(one) }, mark, element("span", { textContent: text }), element("span", { textContent: most }));
    button.dataset.number = one.number;
    button.setAttribute("aria-pressed", String(one === seen.chosen));
    return element("li", {}, button);
  }));
  if (focused) document.querySelector(`[data-number="${focused}"]`)?.focus();
}

function showAlerts(alerts, problems) {
  const rows = [...problems.map((text) => element("li", { className: "failed", textContent: text })),
    ...alerts.toReversed().map((one) => element("li", { textContent: `${new Date(1000 * one.time).toLocaleTimeString()}  ${one.text}` }))];
  $("alerts").replaceChildren(...(rows.length ? rows : [element("li", { className: "note", textContent: "None." })]));
}

function showReady(waits) {
  const names = Object.keys(waits);
  $("ready").hidden = !names.length;
  const text = names.map((name) => `Compiling the code of ${name}, for ${Math.round(waits[name])} s so far.`).join(" ");
  $("ready").textContent = `${text} This takes about a minute, once on a machine; until then, requests to this model have to wait.`;
}

// ---- what was done

function choose(one) {
  seen.chosen = one;
  $("newest").hidden = !one;
  showExamples();
  explain();
}

async function explain() {
  const one = seen.chosen ?? seen.examples.findLast((other) => other.model === current);
  if (!one || one === seen.why) return;
  seen.why = one;
  try {
    const found = await ask(path("explain"), { features: one.features, top: 10 });
    const label = found.classes ? String(one.prediction) : "";
    const reasons = found.classes ? found.classes[label] ?? Object.values(found.classes)[0] : found;
    bars($("why"), Object.entries(reasons.contributions).map(([name, value]) => ({ name, value: value ?? 0, text: number(value, 3) })));
    $("why-note").textContent = `${seen.chosen ? "Of the selected example" : "Of the newest example"}: score ${number(reasons.score, 3)}${label ? ` of ${label}` : ""}, ${number(reasons.bias, 3)} without features.`;
    $("use").hidden = false;
  } catch (problem) { $("why-note").textContent = problem.message; }
}

function fill() {
  if (seen.why) $("given").value = Object.entries(seen.why.features).map(([name, value]) => `${name} = ${value}`).join("\n");
  $("given").focus();
}

function value(text) {
  const plain = text.trim();
  if (plain === "true" || plain === "false") return plain === "true";
  return plain !== "" && Number.isFinite(Number(plain)) ? Number(plain) : plain;
}

function features() {
  const text = $("given").value.trim();
  if (text.startsWith("{")) return JSON.parse(text);
  return Object.fromEntries(text.split("\n").filter((one) => one.trim()).map((one) => {
    const place = one.lastIndexOf("=");
    if (place < 1) throw new Error(`"${one.trim()}": expected name = value`);
    return [one.slice(0, place).trim(), value(one.slice(place + 1))];
  }));
}

async function answer(what, more) {
  const box = $("answer");
  try {
    const found = await ask(path(what), { features: features(), ...more });
    const all = Object.entries(found.probabilities ?? {}).sort((a, b) => b[1] - a[1]).slice(0, 5).map(([name, part]) => `${name} ${share(part)}`);
    const between = found.interval ? `, 90 % between ${found.interval.map((one) => number(one)).join(" and ")}` : "";
    box.textContent = `${what === "learn" ? "Learned. Predicted before: " : "Prediction: "}${short(found.prediction)}${all.length ? ` (${all.join(", ")})` : between}`;
    box.className = "";
  } catch (problem) { box.textContent = problem.message; box.className = "failed"; }
}

// ---- the stream

function counts(overview) {
  const done = overview?.models.find((one) => one.model === current)?.requests ?? {};
  return { learned: (done.learned ?? 0) + (done.labeled ?? 0), predicted: (done.predicted ?? 0) };
}

function onMetrics(overview) {
  const names = overview.models.map((one) => one.model);
  const known = [...$("model").options].map((one) => one.value);
  if (names.join() !== known.join()) $("model").replaceChildren(...names.map((name) => element("option", { value: name, textContent: name })));
  if (!names.includes(current)) switchTo(names[0] ?? "");
  $("model").value = current;
  $("choice").hidden = names.length < 1;
  const { status } = overview;
  showReady(status.getting_ready);
  $("main").classList.toggle("bare", !names.length);
  $("empty").hidden = names.length > 0 || !$("ready").hidden;
  $("state").textContent = `${status.role}, event ${number(status.seq)}${status.problems.length ? `; ${status.problems.join("; ")}` : ""}`;
  seen.before = seen.overview;
  seen.overview = overview;
  const model = overview.models.find((one) => one.model === current);
  let rates = {};
  if (seen.before && model) {
    const now = counts(overview), before = counts(seen.before), seconds = Math.max(overview.time - seen.before.time, 0.1);
    rates = { time: overview.time, learned: Math.max(now.learned - before.learned, 0) / seconds, predicted: Math.max(now.predicted - before.predicted, 0) / seconds };
    seen.rates = [...seen.rates.filter((one) => one.time > overview.time - KEPT), rates];
  }
  if (document.hidden || !model) return;
  showTiles(model, rates);
  showError();
  showTraffic();
  showLatency(overview.latency);
  showExamples();
  showAlerts(overview.alerts, status.problems);
}

function onExample(one) {
  seen.examples = [...seen.examples, one].slice(-60);
}

async function look() {
  if (!current || document.hidden) return;
  try {
    const found = await ask(path("insight"));
    if (found.model !== current) return;
    seen.insight = found;
    showError();
    showMembers();
    showCalibration();
    bars($("features"), found.strongest.map((one) => ({ name: one.name, value: one.value ?? 0, text: share(one.value ?? 0) })));
    await explain();
  } catch { /* the stream says so */ }
}

function switchTo(name) {
  current = name;
  Object.assign(seen, { insight: null, rates: [], chosen: null, why: null });
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
  for (const id of ["why", "features", "members"]) $(id).replaceChildren();
  look();
}

async function follow() {
  for (;;) {
    try {
      const answered = await request("/v1/events");
      if (!answered.ok) throw new Error(answered.status === 401 ? "A token is needed." : `Error ${answered.status}.`);
      const reader = answered.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ;) {
        const { value: part, done } = await reader.read();
        if (done) break;
        const messages = (rest + part).split("\n\n");
        rest = messages.pop();
        for (const message of messages) {
          const [, kind, data] = message.match(/^event: (.*)\ndata: (.*)$/) ?? [];
          if (kind === "metrics") onMetrics(JSON.parse(data));
          if (kind === "example") onExample(JSON.parse(data));
        }
      }
      throw new Error("The service has ended.");
    } catch (problem) { $("state").textContent = `${problem.message} Trying again ...`; }
    await new Promise((done) => { setTimeout(done, 2000); });
  }
}

function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").setAttribute("aria-pressed", String(dark));
}

$("model").onchange = () => switchTo($("model").value);
$("use").onclick = fill;
$("newest").onclick = () => choose(null);
$("try").onsubmit = (event) => { event.preventDefault(); answer("predict"); };
$("learn").onclick = () => { if ($("label").value.trim()) answer("learn", { label: value($("label").value) }); else $("label").focus(); };
$("access").onsubmit = (event) => { event.preventDefault(); token = $("token").value; sessionStorage.setItem("token", token); $("access").hidden = true; look(); };
$("theme").onclick = () => theme($("theme").getAttribute("aria-pressed") !== "true");
$("theme").setAttribute("aria-pressed", String(matchMedia("(prefers-color-scheme: dark)").matches));
addEventListener("resize", () => { if (seen.insight) { showError(); showCalibration(); showTraffic(); } });
setInterval(look, 3000);
follow();
