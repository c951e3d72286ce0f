/** What the chart asks for, draws and says, in the sources. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { chart, manyLines, multiples } from "./charts.js";
import { pass, settled, until } from "./clock.js";
import { press, shown } from "./page.js";
import { ANSWERS, STATES } from "./states.js";

const open = async (answers = {}, traits = {}, before = () => {}) => {
  const page = await shown({ ...STATES.chart.traits, ...traits }, { ...ANSWERS, ...answers });
  before(page);
  await settled();
  const asked = () => page.model.asked.filter((each) => each.kind === "chart");
  const choose = async (hook, value) => {
    page.$(hook).value = value;
    page.$(hook).dispatchEvent(new Event("change", { bubbles: true }));
    await settled();
  };
  const key = async (name) => {
    press(page.$("plot"), name);
    await settled();
  };
  return { ...page, asked, choose, key };
};
const paths = ($) =>
  [...$("plot").querySelectorAll(".g-path, .g-rest")].filter((each) => each.getAttribute("d"));

test("the kernel is asked once, and draws a line for each series with its unit", async () => {
  const { $, asked, close } = await open();
  assert.deepEqual(
    asked().map(({ run, wish, low, high, query }) => ({ run, wish, low, high, query })),
    [
      {
        run: 3,
        wish: {},
        low: null,
        high: null,
        query: { sort: [], filters: [], find: "", hidden: [] },
      },
    ],
  );
  assert.equal(paths($).length, 6);
  assert.equal($("unit").textContent, "USD a day on average");
  assert.match($("chart-note").textContent, /mean of the days of a week/);
  assert.equal($("chart-points").value, "week");
  assert.ok($("chart-points").querySelector("option").disabled);
  await close();
});

test("a chart that takes a while is asked for once", async () => {
  const { $, asked, model, close } = await open({ chart: null });
  await pass(3000);
  assert.equal($("waiting").textContent, "Waiting for the kernel…");
  const [request] = asked();
  model.event({ re: request.id, ...chart(request) });
  await until(() => $("plot"));
  await settled();
  assert.equal(asked().length, 1);
  await close();
});

test("a key that comes as soon as a chart is drawn is not lost", async () => {
  const { $, choose, close } = await open();
  const seen = new MutationObserver(() => {
    seen.disconnect();
    press($("plot"), "Home");
  });
  seen.observe($("plot"), { attributes: true, attributeFilter: ["aria-label"] });
  await choose("chart-show", "growth");
  assert.ok($("tooltip"));
  await choose("chart-show", "value");
  assert.ok(!$("tooltip"));
  await close();
});

test("a choice that changes nothing leaves the cursor where it is", async () => {
  const { $, asked, choose, key, close } = await open();
  await key("Home");
  const { textContent } = $("tooltip");
  await choose("chart-show", "value");
  assert.deepEqual(asked().at(-1).wish, { show: "value" });
  assert.equal($("tooltip").textContent, textContent);
  await close();
});

test("a choice is asked of the kernel, and stays while another tab is shown", async () => {
  const { $, asked, choose, model, close } = await open();
  await choose("chart-show", "growth");
  await settled();
  assert.equal($("unit").textContent, "%");
  assert.deepEqual(asked().at(-1).wish, { show: "growth" });
  $("chart-kind:bars").click();
  await settled();
  assert.ok(!$("legend"));
  assert.deepEqual(asked().at(-1).wish, { show: "growth", kind: "bar" });
  assert.match($("plot").getAttribute("aria-label"), /Southeast .*Northeast/);
  model.write({ tab: "code" });
  await settled();
  assert.ok(!$("plot"));
  model.write({ tab: "chart" });
  await settled();
  assert.ok($("plot"));
  assert.deepEqual(asked().at(-1).wish, { show: "growth", kind: "bar" });
  await close();
});

test("keys move a cursor that says all values, and zoom", async () => {
  const { $, asked, key, close } = await open();
  await key("End");
  assert.match(
    $("plot").getAttribute("aria-label"),
    /^Week of 3 Nov 2025: Southeast [\d,]+, Midwest/,
  );
  assert.match($("tooltip").textContent, /^Week of 3 Nov 2025USD a day on average.*Sum/);
  await key("ArrowLeft");
  assert.match($("plot").getAttribute("aria-label"), /^Week of 27 Oct 2025/);
  await key("Escape");
  assert.ok(!$("tooltip"));
  await key("+");
  await settled();
  assert.equal(asked().length, 2);
  const { low, high } = asked().at(-1);
  assert.ok(high - low > 900 && high - low < 920, `${low} ${high}`);
  assert.ok($("zoom-reset"));
  await key("0");
  assert.ok(!$("zoom-reset"));
  assert.equal(asked().length, 2); // the whole is known
  await close();
});

test("named periods are zoomed in the page, by keys and by dragging", async () => {
  const labels = Array.from(
    { length: 20 },
    (_, at) => `FQ${1 + (at % 4)} ${2020 + Math.floor(at / 4)}`,
  );
  const view = {
    ...chart(),
    x: { type: "category", values: labels.map((_, at) => at), labels },
    series: [0, 1].map((line) => ({
      name: `R${line}`,
      colour: line,
      values: labels.map((_, at) => at + 100 * line),
    })),
  };
  const { $, asked, key, choose, close } = await open({
    chart: ({ wish }) =>
      wish.show === "growth"
        ? { ...view, x: { ...view.x, labels: labels.map((label) => label.replace("202", "203")) } }
        : view,
  });
  const range = async () => {
    const texts = [];
    for (const end of ["Home", "End"]) {
      await key(end);
      texts.push($("plot").getAttribute("aria-label").slice(0, 8));
    }
    await key("Escape");
    return texts.join(" - ");
  };
  assert.match($("chart-note").textContent, /Drag across the chart to zoom/);
  assert.equal(await range(), "FQ1 2020 - FQ4 2024");
  await key("+");
  assert.equal(await range(), "FQ2 2021 - FQ3 2023");
  assert.ok(
    [...$("plot").querySelectorAll("text")].every(
      ({ textContent }) => !/2020|2024/.test(textContent),
    ),
  );
  await key("0");
  const svg = $("plot").querySelector("svg");
  const drag = async (...places) => {
    for (const [at, name] of ["pointerdown", "pointermove", "pointerup"].entries()) {
      svg.dispatchEvent(
        Object.assign(new Event(name, { bubbles: true }), {
          button: 0,
          clientX: places[Math.min(at, 1)],
          clientY: 50,
        }),
      );
      await settled();
    }
  };
  await drag(48 + (584 * 4.2) / 19, 48 + (584 * 6.9) / 19);
  assert.equal(await range(), "FQ1 2021 - FQ4 2021");
  assert.match($("legend:R1").textContent, /R1107$/); // the last one in sight
  await drag(300, 320); // never less than two points
  assert.equal((await range()).length, 19);
  assert.equal(asked().length, 1);
  await choose("chart-measure", "Transaction Count");
  assert.ok($("zoom-reset"));
  await choose("chart-show", "growth");
  assert.ok(!$("zoom-reset")); // other periods have these places
  await close();
});

test("a zoom is left when another result has other times, and a stopped kernel is said", async () => {
  const { $, key, asked, model, close } = await open();
  await key("+");
  await settled();
  assert.equal(asked().length, 2);
  const later = (request) => {
    const view = chart(request);
    return { ...view, x: { ...view.x, values: view.x.values.map((day) => day + 10_000) } };
  };
  model.answers.chart = later;
  const { run } = model.traits;
  model.write({ run: { ...run, number: 4, result: { ...run.result, number: 4 } } });
  await settled();
  assert.ok(asked().length === 4 && !$("zoom-reset"));
  assert.ok(paths($).every((each) => each.getAttribute("d").includes("L")));
  await close();
  const stopped = await open({ chart: null }, {}, (page) => page.model.die());
  assert.match(stopped.$("chart-empty").textContent, /kernel (has )?stopped/);
  await stopped.close();
});

test("the legend hides a line, shows one alone, and shows all again", async () => {
  const { $, close } = await open();
  $("legend:Midwest").click();
  await settled();
  assert.equal($("legend:Midwest").getAttribute("aria-pressed"), "false");
  assert.equal(paths($).length, 5);
  $("legend:Midwest").dispatchEvent(new MouseEvent("mouseenter"));
  await settled();
  // A hidden line isn't a reason to fade the others.
  assert.equal($("plot").querySelectorAll(".is-dim").length, 0);
  $("legend:Pacific").dispatchEvent(new MouseEvent("mouseenter"));
  await settled();
  assert.equal($("plot").querySelectorAll(".is-dim").length, 4);
  $("legend:Pacific").dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  await settled();
  assert.equal(paths($).length, 1);
  $("legend-all").click();
  await settled();
  assert.equal(paths($).length, 6);
  await close();
});

test("many lines are grey but the eight largest, until all are wanted", async () => {
  const { $, asked, close } = await open({ chart: manyLines });
  assert.equal($("plot").querySelectorAll(".g-rest").length, 14);
  assert.match($("chart-note").textContent, /The 8 largest of 22 lines are coloured/);
  $("show-all-lines").click();
  await settled();
  assert.ok(asked().length === 2 && !$("show-all-lines"));
  assert.deepEqual(asked().at(-1).wish, { all: true });
  assert.equal($("plot").querySelectorAll(".g-rest").length, 0);
  await close();
});

test("why nothing is drawn is said, and what was refused", async () => {
  const nothing = () => ({
    ...chart({ filters: [1] }),
    why: "These rows have no values of this measure.",
  });
  const { $, close } = await open({ chart: nothing });
  assert.match($("chart-empty").textContent, /Nothing to draw.*no values of this measure/);
  assert.ok($("chart-measure"));
  await close();
  const refused = await open({
    chart: () => ({ error: ["The result is gone.", "Run the function again."] }),
  });
  assert.match(refused.$("chart-empty").textContent, /The result is gone/);
  await refused.close();
});

test("a chart stays when another one is refused, and says why", async () => {
  const { $, choose, model, close } = await open();
  model.answers.chart = () => ({ error: ["The result is gone.", "Run the function again."] });
  await choose("chart-measure", "Transaction Count");
  await settled();
  assert.ok($("chart-note").textContent.includes("The result is gone."));
  assert.equal(paths($).length, 6);
  await close();
});

test("texts of a service stay text", async () => {
  const { $, el, close } = await open({
    chart: () => chart({}, ["<img src=x onerror=alert(1)>", "</svg><script>"]),
  });
  assert.equal(el.querySelectorAll("script, img").length, 0);
  assert.match($("legend").textContent, /<img src=x/);
  await close();
});

test("a table for screen readers has the values", async () => {
  const { $, close } = await open();
  await settled();
  assert.ok($("chart-table"));
  const table = $("chart-table");
  assert.ok(table.querySelectorAll("tbody tr").length <= 60);
  assert.match(table.textContent, /Week of 16 Nov 2020/);
  await close();
});

test("a chart without times, with a single point or without a value is drawn", async () => {
  const x = { type: "category", values: [0], labels: ["FQ1 2024"] };
  const { $, close } = await open({
    chart: () => ({ ...chart(), x, series: [{ name: "Spend", colour: 0, values: [5] }] }),
  });
  assert.match(paths($)[0].getAttribute("d"), /^M[\d. ]+h0$/);
  assert.equal($("plot").querySelectorAll("g > circle").length, 1, "a point is seen");
  assert.ok(!$("legend"));
  await close();
});

for (const [kind, parts, reading] of [
  ["areas", 6, /^Week of 3 Nov 2025: Southeast/],
  ["stacks", 6, /^Week of 3 Nov 2025: Southeast/],
  ["scatters", 90, /^Transaction Count 89: Southwest/],
  ["histograms", 1, /^Spend 2,000 to 3,000: Rows 2/],
]) {
  test(`${kind} are drawn, and keys read them`, async () => {
    const { $, asked, key, close } = await open();
    $(`chart-kind:${kind}`).click();
    const drawn = kind === "scatters" ? "g > circle" : ".g-fill";
    await settled();
    assert.ok($("plot").querySelectorAll(drawn).length === parts);
    assert.deepEqual(asked().at(-1).wish, { kind: kind.slice(0, -1) });
    await key("End");
    assert.match($("plot").getAttribute("aria-label"), reading);
    assert.ok($("tooltip"));
    assert.equal($(`chart-kind:${kind}`).getAttribute("aria-checked"), "true");
    await close();
  });
}

test("a stack is as high as the sum of its lines", async () => {
  const { $, key, close } = await open();
  const highest = (dots) => Math.min(...[...dots].map((dot) => Number(dot.getAttribute("cy"))));
  $("chart-kind:stacks").click();
  await settled();
  assert.ok($("plot").querySelector(".g-fill"));
  await key("End");
  const sum = $("tooltip").querySelector(".is-sum").textContent;
  const ticks = [...$("plot").querySelectorAll("text[text-anchor=end]")];
  const [zero, last] = [ticks[0], ticks.findLast(({ textContent }) => textContent.endsWith("M"))];
  const [low, high] = [zero, last].map((tick) => Number(tick.getAttribute("y")) - 4);
  const share =
    Number(sum.slice(3).replaceAll(",", "")) / (1e6 * Number.parseFloat(last.textContent));
  const top = highest($("plot").querySelectorAll("svg > circle"));
  assert.ok(Math.abs(top - (low + (high - low) * share)) < 1, `${top} ${share} ${low} ${high}`);
  await close();
});

test("panels have a plot each with the same axes, and one legend", async () => {
  const { $, close } = await open({ chart: multiples }, {});
  for (const panel of ["Debit", "Credit", "Other"]) assert.ok($(`plot:${panel}`));
  const texts = (panel) =>
    [...$(`plot:${panel}`).querySelectorAll("text")].map(({ textContent }) => textContent);
  assert.deepEqual(texts("Debit"), texts("Other"));
  assert.ok(texts("Debit").includes("500k"), "the axis is logarithmic");
  assert.equal($("legend").querySelectorAll("button").length, 2);
  $("legend:Midwest").click();
  await settled();
  assert.equal($("plot:Credit").querySelectorAll(".g-path").length, 1);
  assert.ok(!$("zoom-reset"));
  await close();
});

test("names stand beside the codes of a legend and of bars", async () => {
  const names = { Pacific: "The west coast" };
  const { $, close } = await open({ chart: (request) => ({ ...chart(request), names }) });
  assert.match($("legend:Pacific").textContent, /^Pacific The west coast\d/);
  $("chart-kind:bars").click();
  await settled();
  assert.ok(!$("legend"));
  assert.match($("plot").getAttribute("aria-label"), /Pacific · The west coast [\d,]+/);
  await close();
});

test("the points open as a table, while the chart stays what it is", async () => {
  const { $, asked, choose, model, close } = await open({
    shape: () => ({ table: model.traits.run.result.table, pivot: null }),
  });
  await choose("chart-measure", "Transaction Count");
  $("chart-points-table").click();
  await settled();
  assert.ok($("chip:points"));
  const of = { sort: [], filters: [], find: "", hidden: [] };
  const step = { wish: { measure: "Transaction Count" }, low: null, high: null, of };
  const { steps } = model.asked.filter(({ kind }) => kind === "shape").at(-1);
  assert.deepEqual(steps, [{ kind: "points", ...step }]);
  assert.ok($("assign"));
  $("tab:chart").click();
  await settled();
  assert.ok($("plot"));
  assert.deepEqual(asked().at(-1).steps, []);
  $("tab:table").click();
  $("chip-remove:points").click();
  await settled();
  assert.ok(!$("chip:points"));
  await close();
});

test("what was chosen stays when the page is loaded again", async (context) => {
  const kept = new Map();
  globalThis.sessionStorage = {
    setItem: (key, text) => kept.set(key, text),
    getItem: (key) => kept.get(key) ?? null,
  };
  context.after(() => delete globalThis.sessionStorage);
  const traits = { view: { ...STATES.chart.traits.view, panel: "one" } };
  const first = await open({}, traits);
  await first.choose("chart-show", "growth");
  await settled();
  assert.equal(first.$("unit").textContent, "%");
  await first.close();
  const { asked, close } = await open({}, traits);
  assert.deepEqual(
    asked().map(({ wish }) => wish),
    [{ show: "growth" }],
  );
  await close();
});
