/** The drawer of runs, and two of them compared, in the sources. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compared } from "./charts.js";
import { settled, soon } from "./clock.js";
import { press, shown } from "./page.js";
import { ANSWERS, HISTORY, STATES } from "./states.js";

const open = async (answers = {}, hooks = []) => {
  const page = await shown(STATES.history.traits, { ...ANSWERS, ...answers });
  const click = async (...names) => {
    for (const name of names) {
      await settled();
      assert.ok(page.$(name));
      page.$(name).click();
      await settled();
    }
  };
  await click("history", ...hooks);
  await settled();
  assert.ok(page.el.querySelector('tbody tr, [data-jf="compare-args"]'));
  return { ...page, click, asked: (kind) => page.model.asked.filter((each) => each.kind === kind) };
};

test("runs are rows with what differs, and exactly two can be compared", async () => {
  const { $, el, click, asked, close } = await open();
  assert.equal(el.querySelectorAll("tbody tr").length, HISTORY.length);
  assert.match(
    $("run:9").textContent,
    /14:32.*Get Panel Daily.*Panel Demo Debit Panel.*10,956.*0\.20 s.*panel_daily/,
  );
  assert.equal($("compare").getAttribute("aria-disabled"), "true");
  await click("tick:9", "tick:7", "tick:8");
  assert.deepEqual(
    [7, 8, 9].map((number) => $(`tick:${number}`).checked),
    [true, true, false],
  );
  assert.match($("compare").textContent, /Run again and compare/); // the result of 7 is gone
  await click("tick:7", "tick:9", "compare");
  await settled();
  assert.ok(asked("compare").length);
  assert.deepEqual(
    asked("compare").map(({ before, after, from, again }) => [before, after, from, again]),
    [[8, 9, 0, false]],
  );
  await close();
});

test("a comparison has arguments, sums, a chart, rows and the code; Swap turns it round", async () => {
  const { $, el, click, asked, close } = await open({}, ["tick:9", "tick:8", "compare"]);
  assert.match(
    $("compare-args").textContent,
    /Panel.*Demo Card Panel.*and.*Demo Debit Panel.*The same in both: Symbol NVRA/,
  );
  assert.match($("compare-table").querySelector("tfoot").textContent, /Sum[\d,]+−[\d,]+−\d+\.\d%/);
  assert.equal($("compare-chart").querySelectorAll(".g-path").length, 2);
  assert.equal($("compare-rows").querySelectorAll("tbody tr").length, 50);
  await click("compare-more");
  await settled();
  assert.equal($("compare-rows").querySelectorAll("tbody tr").length, 100);
  assert.equal(asked("compare").at(-1).from, 50);
  await click("compare-swap");
  await settled();
  assert.equal(asked("compare").length, 3);
  assert.deepEqual([asked("compare").at(-1).before, asked("compare").at(-1).after], [9, 8]);
  assert.match(el.querySelector(".jf-drawer").getAttribute("aria-label"), /Compare/);
  await close();
});

test("two companies are compared without a before, an after, or a better one", async () => {
  const heads = ($) =>
    [...$("compare-table").querySelectorAll("thead th")].map((th) => th.textContent);
  const { $, el, close } = await open({}, ["tick:9", "tick:8", "compare"]);
  assert.deepEqual(heads($), ["Region", "Demo Card Panel", "Demo Debit Panel", "Difference", "%"]);
  assert.equal(el.querySelectorAll(".jf-up, .jf-down").length, 0);
  assert.doesNotMatch($("drawer").textContent, /before|after|change/i);
  await close();
  const note = "Fiscal quarters of companies end on different days.";
  const quarters = (request) => {
    const view = compared(request, HISTORY);
    return { ...view, chart: { ...view.chart, notes: [note] } };
  };
  const noted = await open({ compare: quarters }, ["tick:9", "tick:8", "compare"]);
  assert.ok(noted.$("drawer").textContent.includes(note));
  await noted.close();
  const times = { compare: (request) => compared(request, HISTORY, false) };
  const same = await open(times, ["tick:9", "tick:8", "compare"]);
  assert.deepEqual(heads(same.$), ["Region", "Before", "After", "Change", "%"]);
  assert.ok(same.el.querySelectorAll(".jf-down").length);
  await same.close();
});

test("what is gone is run again on demand, and why nothing can be compared is said", async () => {
  const gone = (request) => ({
    ...compared(request, HISTORY),
    ...(request.again
      ? {}
      : {
          gone: [8],
          said: "The result of run 8 is no longer in memory.",
          rows: [],
          totals: null,
          chart: null,
        }),
  });
  const { $, click, asked, close } = await open({ compare: gone }, ["tick:9", "tick:8", "compare"]);
  assert.ok(!$("compare-rows"));
  await click("compare-again");
  await settled();
  assert.ok($("compare-rows"));
  assert.ok(asked("compare").at(-1).again);
  await close();
  const other = (request) => ({
    ...compared(request, HISTORY),
    said: "Sales and Stock share no column.",
    columns: [],
    rows: [],
    total: 0,
    totals: null,
    chart: null,
  });
  const refused = await open({ compare: other }, ["tick:9", "tick:8", "compare"]);
  assert.match(refused.$("compare-said").textContent, /share no column/);
  await refused.close();
});

test("Escape goes back a step, and the focus stays inside and returns", async () => {
  const { $, el, click, close } = await open({}, ["tick:9", "tick:8", "compare"]);
  const focused = () => el.ownerDocument.activeElement;
  assert.equal(focused(), $("compare-back"));
  press($("drawer"), "Escape");
  await settled();
  assert.ok($("tick:9"));
  $(`open:${HISTORY.at(-1).number}`).focus();
  press(focused(), "Tab");
  assert.equal(focused(), $("compare")); // from the last stop to the first
  press(focused(), "Tab", { shiftKey: true });
  assert.equal(focused(), $(`open:${HISTORY.at(-1).number}`));
  press(focused(), "Escape");
  await settled();
  assert.ok(!$("drawer"));
  assert.equal(focused(), $("history"));
  await click("history");
  assert.ok($("drawer"));
  await close();
});

test("a run is run again or opened, and the drawer closes", async () => {
  const { $, click, asked, close } = await open({ open: { said: "Opened run 8." } });
  await click("open:8");
  await settled();
  assert.ok(!$("drawer"));
  assert.deepEqual(
    asked("open").map(({ number }) => number),
    [8],
  );
  await click("history", "again:9");
  assert.deepEqual(
    asked("again").map(({ number }) => number),
    [9],
  );
  await close();
});

test("texts of a service stay text", async () => {
  const { el, close } = await open({
    history: {
      rows: [
        {
          ...HISTORY[0],
          function: "<img src=x>",
          differs: [{ name: "<b>", value: "</td><script>" }],
          error: "<i>",
        },
      ],
    },
  });
  assert.equal(el.querySelectorAll("img, b b, script, td i").length, 0);
  assert.match(el.querySelector("tbody").textContent, /<img src=x>.*<\/td><script>/);
  await close();
});

test("a run that only the service keeps is fetched or forgotten, and not compared", async () => {
  let kept = [
    { ...HISTORY[0], number: "a1b2", held: false, kept: true, status: "running", rows: null },
  ];
  const { model, $, close, el } = await open({
    history: (request) => ({ rows: request.kept ? [...HISTORY, ...kept] : HISTORY }),
    forget: () => {
      kept = [];
      return {};
    },
    fetch: {},
  });
  await soon(() => assert.ok($("fetch:a1b2")));
  assert.ok(!$("tick:a1b2"));
  assert.match($("run:a1b2").textContent, /on the service/);
  $("fetch:a1b2").click();
  await soon(() => assert.ok(!$("drawer")));
  assert.equal(model.asked.find(({ kind }) => kind === "fetch").kept, "a1b2");
  $("history").click();
  await soon(() => assert.ok($("forget:a1b2")));
  $("forget:a1b2").click();
  await soon(() => assert.equal($("forget:a1b2").textContent, "Delete result?"));
  assert.equal(
    model.asked.find(({ kind }) => kind === "forget"),
    undefined,
  );
  $("forget:a1b2").click();
  await soon(() => assert.ok(!$("forget:a1b2")));
  assert.ok(el.querySelector("[data-jf='drawer']"));
  await close();
});
