/** The table: pages as they are seen, sort, filters, keys, and what it asks for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pass, settled, soon, until } from "./clock.js";
import { RUN, VIEW } from "./fake.js";
import { press, shown, type } from "./page.js";
import { ANSWERS, COLUMNS, RESULT, rows } from "./states.js";

const result = (more = {}) => ({ ...RESULT, ...more, table: { ...RESULT.table, ...more.table } });
const panel = (answers = {}, more = {}) =>
  shown(
    { run: { ...RUN, state: "done", number: 3, result: result(more) } },
    { ...ANSWERS, ...answers },
  );
const asked = (model, kind) => model.asked.filter((each) => each.kind === kind);
const last = (model, kind) => asked(model, kind).at(-1);

test("the first page comes with the run, and the next when it is near", async () => {
  const { model, el, $, close } = await panel();
  assert.equal(asked(model, "rows").filter((each) => each.from === 0).length, 0);
  assert.equal($("grid").getAttribute("aria-rowcount"), "10957");
  assert.equal(el.querySelector(".jf-tr").children[1].textContent, "Mid-Atlantic");
  $("grid").scrollTop = 28 * 5000;
  $("grid").dispatchEvent(new Event("scroll"));
  await until(() => el.querySelector('[aria-rowindex="5002"]')?.children[2].textContent);
  const { from, to, columns, run } = asked(model, "rows").find((each) => each.from === 5000);
  assert.deepEqual([from, to, columns, run], [5000, 5040, [0, 1, 2, 3, 4, 5], 3]);
  const line = el.querySelector('[aria-rowindex="5002"]');
  assert.equal(line.children[2].textContent, rows(5000, 5001).rows[0][2]);
  assert.equal(line.style.top, `${28 * 5000}px`);
  await close();
});

/** A page's storage, until the end of a test. */
function storage(context) {
  const kept = new Map();
  globalThis.sessionStorage = {
    setItem: (key, text) => kept.set(key, text),
    getItem: (key) => kept.get(key) ?? null,
  };
  context.after(() => delete globalThis.sessionStorage);
}

test("a panel of a view without a name shows nothing that another has kept", async (context) => {
  storage(context);
  const first = await panel();
  type(first.$("find"), "Mid");
  await until(() => last(first.model, "rows")?.query.find === "Mid");
  await settled();
  await first.close();
  const { $, close } = await panel();
  assert.equal($("find").value, "");
  await close();
});

/** A panel of a name, whose rows were searched before its page was loaded again. */
async function searched(context) {
  storage(context);
  const traits = {
    view: { ...VIEW, panel: "one" },
    run: { ...RUN, state: "done", number: 3, result: result() },
  };
  const answers = { ...ANSWERS, rows: ({ from, to }) => rows(from, to, 9_000) };
  const first = await shown(traits, answers);
  type(first.$("find"), "Mid");
  await until(() => first.$("grid").getAttribute("aria-rowcount") === "9001");
  return { first, traits, answers };
}

function scroll(grid, to) {
  Object.assign(grid, to);
  grid.dispatchEvent(new Event("scroll"));
}

const isInSight = (el, row) =>
  until(() => el.querySelector(`[aria-rowindex="${row + 2}"]`)?.children[2].textContent);

test("a page loaded again shows what was in sight, filtered as before", async (context) => {
  const { first, traits, answers } = await searched(context);
  scroll(first.$("grid"), { scrollTop: 28 * 5000, scrollLeft: 30 });
  await isInSight(first.el, 5000);
  await first.close();
  const { el, $, close } = await shown(traits, answers);
  await isInSight(el, 5000);
  assert.deepEqual(
    [$("grid").scrollTop, $("grid").scrollLeft, $("find").value],
    [28 * 5000, 30, "Mid"],
  );
  await close();
});

test("what is scrolled to while a page loaded again filters its rows stays in sight", async (context) => {
  const { first, traits, answers } = await searched(context);
  await first.close();
  const { model, el, $, close } = await shown(traits, { ...answers, rows: null });
  const { id } = last(model, "rows");
  scroll($("grid"), { scrollTop: 28 * 5000 });
  Object.assign(model.answers, answers);
  model.emit("msg:custom", { v: 1, re: id, ...rows(0, 40, 9_000) });
  await until(() => $("grid").getAttribute("aria-rowcount") === "9001");
  await isInSight(el, 5000);
  assert.equal($("grid").scrollTop, 28 * 5000);
  await close();
});

test("ten million rows fit under the height that browsers allow, and the last one is reached", async () => {
  const total = 10_000_000;
  const { model, el, $, close } = await panel(
    { rows: ({ from, to }) => rows(from, to, total) },
    { table: { rows: total, page: rows(0, 40, total) } },
  );
  const height = Number.parseInt(el.querySelector(".jf-rows").style.height, 10);
  assert.ok(height <= 8_000_000);
  $("grid").focus();
  press($("grid"), "End", { ctrlKey: true });
  press($("grid"), "End", { ctrlKey: true });
  await settled();
  const cell = el.querySelector(".is-on");
  assert.equal(cell.parentElement.getAttribute("aria-rowindex"), String(total + 1));
  assert.ok(Number.parseInt(cell.parentElement.style.top, 10) + 28 <= height + 1);
  assert.equal($("grid").getAttribute("aria-activedescendant"), cell.id);
  await soon(() => assert.ok(asked(model, "rows").some((each) => each.to === total)));
  await close();
});

for (const milliseconds of [0, 20, 90])
  test(`a scroll bar dragged every ${milliseconds} ms asks for the rows where it rests`, async () => {
    const total = 1_000_000;
    const { model, $, close } = await panel(
      { rows: ({ from, to }) => rows(from, to, total) },
      { table: { rows: total, page: rows(0, 40, total) } },
    );
    await settled();
    const before = asked(model, "rows").length;
    for (let at = 1; at <= 50; at += 1) {
      $("grid").scrollTop = at * 100_000;
      $("grid").dispatchEvent(new Event("scroll"));
      if (milliseconds)
        await pass(milliseconds); // as a busy page draws
      else for (let turn = 0; turn < 5; turn += 1) await null;
    }
    await pass(300);
    const since = asked(model, "rows").slice(before);
    assert.ok(since.length <= 4, `${since.length} requests`);
    const last = Math.max(...since.map((each) => each.from));
    assert.ok(last > 600_000);
    await close();
  });

test("the last of many columns is in sight at once, and stays so once its width is known", async () => {
  const count = 2000;
  const columns = ({ columns: wanted }) => ({
    columns: wanted.map((at) => ({ ...RESULT.table.columns[2], at, name: `c${at}`, width: 200 })),
  });
  const wide = {
    count,
    columns: columns({ columns: [...Array(60).keys()] }).columns,
    page: { ...rows(0, 40), columns: [...Array(60).keys()] },
  };
  const { model, el, $, close } = await panel(
    { columns, rows: ({ from, to, columns: wanted }) => ({ ...rows(from, to), columns: wanted }) },
    { table: wide },
  );
  const grid = Object.defineProperty($("grid"), "clientWidth", { value: 900 });
  const width = () => Number.parseInt(el.querySelector(".jf-rows").style.width, 10);
  const scroll = (left) => {
    Object.assign(grid, { scrollLeft: left ?? grid.scrollLeft });
    grid.dispatchEvent(new Event("scroll"));
  };
  const first = width();
  press(grid, "End");
  assert.equal(grid.scrollLeft, first - 900);
  scroll();
  await until(() => width() > first);
  assert.equal(grid.scrollLeft, width() - 900);
  scroll();
  await until(() => el.querySelector(".is-on"));
  assert.equal(el.querySelector(".is-on").getAttribute("aria-colindex"), String(count));
  const asks = asked(model, "columns").length;
  scroll(100_000); // away from it
  await until(() => asked(model, "columns").length > asks);
  await settled();
  assert.equal(grid.scrollLeft, 100_000);
  await close();
});

test("numbers sort down first, texts up, and the third click gives the order as it came", async () => {
  const { model, $, close } = await panel();
  const sorts = [];
  for (const [hook, shiftKey] of [["Spend"], ["Spend"], ["Spend"], ["Region"], ["Spend", true]]) {
    $(`sort:${hook}`).dispatchEvent(
      new MouseEvent("click", { bubbles: true, shiftKey: Boolean(shiftKey) }),
    );
    await settled();
    sorts.push(
      last(model, "rows")
        .query.sort.map(({ at, descending }) => `${at}${descending ? "-" : "+"}`)
        .join(),
    );
  }
  assert.deepEqual(sorts, ["2-", "2+", "", "1+", "1+,2-"]);
  assert.equal(
    $("sort:Spend").closest("[role=columnheader]").getAttribute("aria-sort"),
    "descending",
  );
  await close();
});

test("a click adds to what the one before has asked for, though its page is on its way", async () => {
  const { model, $, close } = await panel({ rows: null });
  $("sort:Region").click();
  $("sort:Spend").dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }));
  assert.deepEqual(last(model, "rows").query.sort, [
    { at: 1, descending: false },
    { at: 2, descending: true },
  ]);
  await close();
});

test("a range is applied as it is typed, shown as a chip, and taken back", async () => {
  const { model, $, close } = await panel();
  $("filter:Spend").click();
  await settled();
  type($("filter-lo"), "250,000");
  await until(() => $("chip:Spend"));
  assert.deepEqual(last(model, "rows").query.filters, [
    { at: 2, kind: "range", low: "250,000", high: "" },
  ]);
  assert.equal($("chip:Spend").textContent, "Spend ≥ 250,000");
  assert.equal($("row-count").textContent, "7,710 of 10,956 rows");
  type($("filter-lo"), "260000");
  const enter = new KeyboardEvent("keydown", {
    key: "Enter",
    bubbles: true,
    composed: true,
    cancelable: true,
  });
  $("filter-lo").dispatchEvent(enter);
  await until(() => !$("filter-lo"));
  assert.ok(enter.defaultPrevented, "Enter must not press the funnel, which has the focus next");
  $("filter:Spend").click(); // sooner than the kernel answers
  await until(() => $("filter-lo"));
  assert.equal($("filter-lo").value, "260000");
  assert.deepEqual([$("filter-lo").selectionStart, $("filter-lo").selectionEnd], [0, 6]);
  await until(() => $("chip:Spend").textContent === "Spend ≥ 260,000");
  type($("filter-lo"), "-250000");
  await until(() => $("chip:Spend").textContent === "Spend ≥ −250,000"); // as the cells show it, and sent as it was typed
  assert.deepEqual(
    [$("chip:Spend").textContent, last(model, "rows").query.filters[0].low],
    ["Spend ≥ −250,000", "-250000"],
  );
  $("chip-remove:Spend").click();
  await until(() => !$("chip:Spend"));
  assert.equal($("row-count").textContent, "");
  assert.ok(!$("remove-filters"));
  for (const [column, box, text] of [
    ["Date", "filter-lo", "2025-01-01"],
    ["Region", "filter-text", "a"],
  ]) {
    $(`filter:${column}`).click();
    await until(() => $(box));
    type($(box), text);
    await until(() => $(`chip:${column}`));
  }
  $("remove-filters").click();
  await until(() => !$("chip:Date") && !$("chip:Region"));
  await close();
});

test("a filter that is refused is said in its box, and the rows stay", async () => {
  const { el, $, close } = await panel({
    rows: ({ query, from, to }) =>
      query.filters.length ? { error: ["'lots' isn't a number."] } : rows(from, to),
  });
  $("filter:Spend").click();
  await settled();
  type($("filter-lo"), "lots");
  await until(() => el.querySelector(".jf-err"));
  assert.equal(el.querySelector(".jf-err").textContent, "'lots' isn't a number.");
  assert.ok(!$("chip:Spend"));
  assert.ok(el.querySelector(".jf-tr"));
  type($("filter-lo"), "more");
  press($("filter-lo"), "Enter");
  await until(() => el.querySelector(".jf-toast")?.textContent.includes("isn't a number"));
  assert.ok(!$("filter-lo"));
  await close();
});

test("a date that does not exist is said in the box, and filters nothing", async () => {
  const { model, el, $, close } = await panel();
  $("filter:Date").click();
  await until(() => $("filter-lo"));
  Object.defineProperty($("filter-lo"), "validity", {
    value: { badInput: true },
    configurable: true,
  });
  type($("filter-lo"), "");
  press($("filter-lo"), "Enter");
  await until(
    () => el.querySelector(".jf-err")?.textContent === "Enter a valid date, or clear the field.",
  );
  Object.defineProperty($("filter-lo"), "validity", { value: { badInput: false } });
  type($("filter-lo"), "2025-01-31");
  await until(() => last(model, "rows")?.query.filters.length);
  assert.deepEqual(
    asked(model, "rows").flatMap((each) => each.query.filters.map(({ low }) => low)),
    ["2025-01-31"],
  );
  await until(() => !el.querySelector(".jf-err"));
  await close();
});

test("values are ticked, and a text is contained", async () => {
  const { model, $, close } = await panel();
  $("filter:Region").click();
  await until(() => $("value:Pacific"));
  $("value:Pacific").click();
  await settled();
  $("value:").click();
  await settled();
  assert.deepEqual(last(model, "rows").query.filters, [
    { at: 1, kind: "values", values: ["Pacific", null] },
  ]);
  type($("filter-text"), "south");
  await until(() => last(model, "rows").query.filters[0]?.kind === "text");
  assert.deepEqual(last(model, "rows").query.filters, [{ at: 1, kind: "text", text: "south" }]);
  await until(() => !$("value:Pacific"));
  $("filter-remove").click();
  await settled();
  assert.deepEqual(last(model, "rows").query.filters, []);
  await close();
});

test("of two answers the later question's counts, whichever comes first", async () => {
  const { model, el, $, close } = await panel({ rows: null });
  type($("find"), "a");
  await until(() => last(model, "rows")?.query.find === "a");
  type($("find"), "ab");
  await until(() => last(model, "rows").query.find === "ab");
  const [first, second] = asked(model, "rows").slice(-2);
  assert.deepEqual([first.query.find, second.query.find], ["a", "ab"]);
  model.emit("msg:custom", { v: 1, re: second.id, ...rows(0, 40, 22) });
  model.emit("msg:custom", { v: 1, re: first.id, ...rows(0, 40, 11) });
  await until(() => $("row-count").textContent);
  assert.equal($("row-count").textContent, "22 of 10,956 rows");
  assert.equal(el.querySelectorAll(".jf-tr").length > 0, true);
  await close();
});

test("nothing found is said, with a way back", async () => {
  const { $, close } = await panel();
  type($("find"), "zzz");
  await until(() => $("remove-filters"));
  assert.match($("grid").textContent, /No row matches the filters/);
  $("remove-filters").click();
  await until(() => $("grid").querySelector(".jf-tr"));
  assert.equal($("find").value, "");
  assert.ok($("grid").querySelector(".jf-tr"));
  await close();
});

test("keys move the cell, and a selection is copied with tabs", async () => {
  const { model, el, $, close } = await panel();
  const grid = $("grid");
  grid.focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"]) press(grid, key);
  await settled();
  const on = el.querySelector(".is-on");
  assert.deepEqual([on.dataset.r, on.dataset.c], ["1", "2"]);
  press(grid, "c", { ctrlKey: true });
  await settled();
  assert.deepEqual(
    [last(model, "copy").from, last(model, "copy").to, last(model, "copy").columns],
    [1, 2, [2]],
  );
  press(grid, "ArrowDown", { shiftKey: true });
  await settled();
  press(grid, "ArrowLeft", { shiftKey: true });
  await settled();
  assert.equal(el.querySelectorAll(".is-sel").length, 4);
  press(grid, "c", { ctrlKey: true });
  await settled();
  assert.deepEqual(
    [last(model, "copy").from, last(model, "copy").to, last(model, "copy").columns],
    [1, 3, [1, 2]],
  );
  assert.equal(last(model, "copy").names, false);
  press(grid, "a", { ctrlKey: true });
  await settled();
  press(grid, "c", { ctrlKey: true });
  await settled();
  assert.equal(
    last(model, "copy").names,
    true,
    "all cells are copied with the names of their columns",
  );
  await close();
});

test("each key moves the cell as in other grids, and none leaves the table", async () => {
  const { el, $, close } = await panel();
  const grid = $("grid");
  grid.focus();
  const at = () => [
    Number(grid.querySelector(".is-on").dataset.r),
    Number(grid.querySelector(".is-on").dataset.c),
  ];
  const steps = [
    ["ArrowDown", {}, [0, 0]],
    ["ArrowUp", {}, [0, 0]],
    ["ArrowLeft", {}, [0, 0]],
    ["End", {}, [0, 5]],
    ["ArrowRight", {}, [0, 5]],
    ["Home", {}, [0, 0]],
    ["End", { ctrlKey: true }, [10_955, 5]],
    ["ArrowDown", {}, [10_955, 5]],
    ["PageDown", {}, [10_955, 5]],
    ["Home", { ctrlKey: true }, [0, 0]],
    ["PageUp", {}, [0, 0]],
    ["ArrowRight", {}, [0, 1]],
  ];
  for (const [key, more, place] of steps) {
    press(grid, key, more);
    await until(() => grid.querySelector(".is-on") && String(at()) === String(place));
    assert.deepEqual(at(), place, key);
    assert.equal(grid.getAttribute("aria-activedescendant"), grid.querySelector(".is-on").id);
  }
  press(grid, "PageDown");
  await until(() => at()[0] > 0);
  const page = at()[0];
  assert.ok(page > 1);
  press(grid, "PageUp");
  await until(() => at()[0] === 0);
  assert.deepEqual(at(), [0, 1]);
  press(grid, "a", { ctrlKey: true });
  await until(() => el.querySelectorAll(".is-sel").length > 6);
  press(grid, "Escape");
  await until(() => !el.querySelector(".is-sel"));
  await close();
});

test("a selection that is too long to copy says what to do", async () => {
  const said = "More than 5 MB can't be copied: select less, or use Save to write a file.";
  const { el, $, close } = await panel({ copy: { error: [said] } });
  press($("grid"), "ArrowDown");
  press($("grid"), "a", { ctrlKey: true });
  press($("grid"), "c", { ctrlKey: true });
  await until(() => el.querySelector(".jf-toast"));
  assert.equal(el.querySelector(".jf-toast").textContent, said);
  await close();
});

test("columns are made wider by keys and in the box of the column, which is said", async () => {
  const { el, $, close } = await panel();
  const wide = () =>
    Number(
      /Region is (\d+) pixels wide/.exec(
        el.querySelector("[aria-live=polite].jf-off").textContent,
      )?.[1],
    );
  press($("grid"), "ArrowRight");
  press($("grid"), "ArrowRight");
  press($("grid"), "ArrowRight", { altKey: true });
  await until(wide);
  const first = wide();
  press($("grid"), "ArrowLeft", { altKey: true });
  await until(() => wide() === first - 24);
  $("filter:Region").click();
  await until(() => $("wider:Region"));
  $("wider:Region").click();
  await until(() => wide() === first);
  for (let turn = 0; turn < 40; turn++) {
    $("narrower:Region").click();
    await settled();
  }
  await until(() => wide() === 48);
  await close();
});

test("a search leaves out hidden columns, and is made again when they are shown", async () => {
  const { model, $, close } = await panel();
  $("filter:Region").click();
  await until(() => $("hide:Region"));
  $("hide:Region").click();
  await until(() => $("chip:hidden"));
  assert.equal(asked(model, "rows").filter((each) => each.from === 0).length, 0);
  type($("find"), "a");
  await until(() => last(model, "rows")?.query.find === "a");
  assert.deepEqual(last(model, "rows").query.hidden, [1]);
  $("chip-remove:hidden").click();
  await until(() => last(model, "rows").query.hidden.length === 0);
  assert.deepEqual([last(model, "rows").query.find, last(model, "rows").query.hidden], ["a", []]);
  await close();
});

test("a table of 2,000 columns draws those on the screen, and asks for what it shows of them", async () => {
  const page = (columns, from, to) => ({
    total: 50,
    from,
    columns,
    sums: {},
    rows: Array.from({ length: Math.min(to, 50) - from }, (_, row) =>
      columns.map((at) => `${from + row}:${at}`),
    ),
  });
  const all = Array.from({ length: 60 }, (_, at) => at);
  const column = (at) => ({ at, name: `c${at}`, type: "text", width: 80, summary: null });
  const { model, el, $, close } = await panel(
    {
      rows: ({ columns, from, to }) => page(columns, from, to),
      columns: ({ columns }) => ({
        columns: columns.map((at) => ({ ...column(at), summary: RESULT.table.columns[1].summary })),
      }),
    },
    { table: { rows: 50, count: 2000, columns: all.map(column), page: page(all, 0, 40) } },
  );
  await settled();
  assert.ok(el.querySelectorAll(".jf-th").length < 40);
  assert.equal($("grid").getAttribute("aria-colcount"), "2000");
  $("grid").focus();
  press($("grid"), "End");
  await settled();
  $("grid").dispatchEvent(new Event("scroll"));
  await until(() => el.querySelector(".is-on")?.textContent && $("summary:c1999"));
  assert.deepEqual(
    [last(model, "rows").columns[0], last(model, "rows").columns.at(-1)],
    [1980, 1999],
  );
  assert.equal(el.querySelector(".is-on").textContent, "0:1999");
  assert.ok($("summary:c1999"));
  await close();
});

test("of many rows, the columns are summarized one after the other", async () => {
  const total = 10_000_000;
  const columns = RESULT.table.columns.map((each) => ({ ...each, summary: null }));
  const { model, $, close } = await panel(
    { columns: null, rows: ({ from, to }) => rows(from, to, total) },
    { table: { rows: total, columns, page: rows(0, 40, total) } },
  );
  for (const at of [0, 1]) {
    await until(() => asked(model, "columns").length === at + 1);
    assert.deepEqual(
      asked(model, "columns").map((each) => each.columns),
      [[0], [1]].slice(0, at + 1),
    );
    model.emit("msg:custom", {
      v: 1,
      re: last(model, "columns").id,
      columns: [RESULT.table.columns[at]],
    });
  }
  await until(() => $("summary:Region").textContent);
  assert.match($("summary:Region").textContent, /Mid-Atlantic/);
  await close();
});

test("a header and its box say what the catalog says of a column", async () => {
  const { $, close } = await panel();
  assert.match($("sort:Spend").title, /^Spend\nWhat the cards .*\nUnit: USD\n/);
  assert.match($("sort:Region").title, /^Region\. /);
  $("filter:Spend").click();
  await settled();
  assert.match($("said:Spend").textContent, /Unit: USD$/);
  $("filter:Region").click();
  await settled();
  assert.ok(!$("said:Region"));
  close();
});

test("a column is hidden and shown again, and texts of a service stay texts", async () => {
  const evil = "<img src=x onerror=alert(1)>";
  const columns = RESULT.table.columns.map((each) =>
    each.at === 1
      ? { ...each, name: evil, summary: { ...each.summary, top: [{ text: evil, share: 1 }] } }
      : each,
  );
  const { el, $, close } = await panel(
    {},
    {
      table: {
        columns,
        page: {
          ...rows(0, 40),
          rows: rows(0, 40).rows.map((row) => [row[0], evil, ...row.slice(2)]),
        },
      },
    },
  );
  assert.ok(!el.querySelector("img"));
  assert.equal(el.querySelector(".jf-tr").children[1].textContent, evil);
  $(`filter:${evil}`).click();
  await settled();
  $(`hide:${evil}`).click();
  await settled();
  assert.ok(!$(`sort:${evil}`));
  assert.equal($("grid").getAttribute("aria-colcount"), "5");
  $("chip-remove:hidden").click();
  await settled();
  assert.ok($(`sort:${evil}`));
  await close();
});

test("the view as code follows the view", async () => {
  const { model, $, close } = await panel({
    table_code: ({ query }) => ({ code: `sorted by ${query.sort.length}` }),
  });
  $("view-code").click();
  await until(() => $("table-code")?.textContent);
  assert.equal($("table-code").textContent, "sorted by 0");
  $("sort:Spend").click();
  await until(() => $("table-code").textContent !== "sorted by 0");
  assert.equal($("table-code").textContent, "sorted by 1");
  model.die();
  await settled();
  assert.ok($("sort:Spend").disabled && $("find").disabled);
  await close();
});

/** Where the mouse is above a cell of the grid, as it is drawn here. */
const above = (row, left) => ({
  clientX: left,
  clientY: 82 + 28 * row + 5,
  buttons: 1,
  bubbles: true,
});

test("cells are selected by dragging, rows by their number, columns by their header, all by the corner", async () => {
  const { model, el, $, close } = await panel();
  const grid = $("grid");
  Object.defineProperty(grid.querySelector(".jf-headgroup"), "offsetHeight", { value: 82 });
  const mouse = (type, target, at) => target.dispatchEvent(new MouseEvent(type, at));
  const cell = (row, place) => grid.querySelector(`[data-r="${row}"][data-c="${place}"]`);
  const area = async (...drag) => {
    const [first, from, to] = drag;
    mouse("mousedown", first, from);
    if (to) mouse("mousemove", window, to);
    mouse("mouseup", window, to ?? from);
    await settled();
    const { from: top, to: end, columns } = last(model, "facts");
    return [top, end, columns.length];
  };
  assert.deepEqual(await area(cell(2, 1), above(2, 200), above(4, 400)), [2, 5, 2]);
  assert.equal($("facts").textContent, "count 12sum 3.1Mmean 259kmin 216kmax 303k");
  assert.equal($("facts").children[1].title, "sum 3,104,112.24");
  assert.deepEqual(
    await area(grid.querySelector(".jf-no[data-r='3']"), above(3, 5), above(6, 5)),
    [3, 7, 6],
  );
  const header = grid.querySelector(".jf-th[data-c='1']");
  assert.deepEqual(await area(header, above(-2, 200)), [0, 10_956, 1]);
  $("select-cells").click();
  await until(() => last(model, "facts").columns.length === 6);
  press(grid, "Escape");
  await until(() => !$("facts"));
  mouse("mousedown", cell(2, 1), above(2, 200));
  press(grid, " ", { shiftKey: true });
  await until(() => el.querySelectorAll(".is-sel").length === 6);
  press(grid, " ", { ctrlKey: true });
  await until(() => $("facts") && last(model, "facts").to === 10_956);
  await close();
});

test("a cell opens beside the grid, whole, as JSON or as a link, and follows the keys", async () => {
  const long = `${"long ".repeat(500)}<b>`;
  const { el, $, close } = await panel({
    cell: ({ row, path, from }) =>
      [
        ANSWERS.cell({ row, at: 1, path, from }),
        { text: long, node: null },
        { text: "https://a.example/x", node: null },
        { text: null, node: null },
      ][row],
  });
  const grid = $("grid");
  press(grid, "ArrowDown");
  press(grid, " ");
  await until(() => $("cell")?.querySelector("[data-jf^='node:']"));
  press(grid, "ArrowDown");
  await until(() => $("cell").querySelector("pre"));
  assert.equal($("cell").querySelector("pre").textContent, long);
  press(grid, "ArrowDown");
  await until(() => $("cell").querySelector("a"));
  assert.equal($("cell").querySelector("a").href, "https://a.example/x");
  press(grid, "ArrowDown");
  await until(() => $("cell").textContent.includes("Empty"));
  $("cell-close").click();
  await until(() => !$("cell"));
  assert.ok(!el.querySelector("b.jf"));
  await close();
});

test("any of 2,000 columns is reached in six keys, and a hidden one is shown", async () => {
  const column = (at) => ({ ...RESULT.table.columns[2], at, name: `c${at}`, summary: null });
  const all = [...Array(60).keys()];
  const named = ({ text }) => {
    const hits = [...Array(2000).keys()].filter((at) => `c${at}`.includes(text));
    return {
      columns: hits.slice(0, 200).map((at) => ({ at, name: `c${at}` })),
      total: hits.length,
    };
  };
  const { el, $, close } = await panel(
    { named, columns: ({ columns }) => ({ columns: columns.map(column) }) },
    { table: { count: 2000, columns: all.map(column), page: { ...rows(0, 40), columns: all } } },
  );
  press($("grid"), "g", { ctrlKey: true });
  await until(() => $("column-search"));
  type($("column-search"), "1234");
  await settled();
  press($("column-search"), "Enter");
  await settled();
  $("grid").dispatchEvent(new Event("scroll")); // as a browser says it
  await until(() => el.querySelector(".is-on")?.getAttribute("aria-colindex") === "1235");
  $("columns").click();
  await until(() => $("column-search"));
  press($("column-search"), "Enter", { shiftKey: true });
  await until(() => $("chip:hidden"));
  assert.equal($("column:c0").getAttribute("aria-selected"), "false");
  press($("column-search"), "Enter");
  await until(() => !$("chip:hidden"));
  await close();
});

test("measures come before what is the same in all rows, and columns are moved and pinned", async () => {
  const [date, region, spend, ...others] = RESULT.table.columns;
  const same = { ...region, summary: { ...region.summary, distinct: 1, empty: 0 } };
  const { el, $, close } = await panel({}, { table: { columns: [date, same, spend, ...others] } });
  const names = () =>
    [...el.querySelectorAll(".jf-sort span")].map(({ textContent }) => textContent);
  assert.deepEqual(names().slice(0, 2), ["Date", "Spend"]);
  assert.equal(names().at(-1), "Region");
  $("filter:Spend").click();
  await until(() => $("left:Spend"));
  $("left:Spend").click();
  await until(() => names()[0] === "Spend");
  press($("grid"), "ArrowRight");
  press($("grid"), "ArrowRight", { altKey: true, shiftKey: true });
  await until(() => names()[0] === "Date");
  $("pin:Spend").click();
  await until(() => names()[0] === "Spend");
  assert.ok(el.querySelector(".jf-th.is-pin [data-jf='sort:Spend']"));
  await close();
});

test("a column without values comes last", async () => {
  const [date, ...others] = COLUMNS;
  const none = { empty: 1, minimum: "", maximum: "", short: ["", ""], histogram: [] };
  const empty = { ...date, summary: { ...date.summary, ...none } };
  const { el, close } = await panel({}, { table: { columns: [empty, ...others] } });
  const names = [...el.querySelectorAll(".jf-sort span")].map(({ textContent }) => textContent);
  assert.deepEqual([names[0], names.at(-1)], ["Region", "Date"]);
  await close();
});

test("of many labels, five come before the measures", async () => {
  const names = ["a", "b", "c", "d", "e", "f", "Spend"];
  const columns = names.map((name, at) => ({ ...COLUMNS[name === "Spend" ? 2 : 1], at, name }));
  const page = { ...rows(0, 40), columns: [...names.keys()] };
  const { el, close } = await panel({}, { table: { columns, count: 7, page } });
  const shown = [...el.querySelectorAll(".jf-sort span")].map(({ textContent }) => textContent);
  assert.equal(shown.join(" "), "a b c d e Spend f");
  await close();
});

test("hours of a day are dragged over, and typed", async () => {
  const [date, ...others] = COLUMNS;
  const summary = { ...date.summary, minimum: "2025-01-02 00:00:00", histogram: Array(24).fill(1) };
  for (const [maximum, bounds] of [
    ["2025-01-03 00:00:00", ["2025-01-02 06:00", "2025-01-02 12:00"]],
    ["2025-01-02 00:08:00", ["2025-01-02 00:02:00", "2025-01-02 00:04:00"]],
    ["2025-04-12 00:00:00", ["2025-01-27", "2025-02-21"]],
  ]) {
    const column = { ...date, type: "datetime", summary: { ...summary, maximum } };
    const { model, $, close } = await panel({}, { table: { columns: [column, ...others] } });
    const bars = $("summary:Date").querySelector("svg");
    Object.assign(bars, {
      getBoundingClientRect: () => ({ left: 0, width: 240 }),
      setPointerCapture() {},
    });
    for (const [kind, clientX] of [
      ["down", 61],
      ["move", 119],
      ["up", 119],
    ]) {
      bars.dispatchEvent(new PointerEvent(`pointer${kind}`, { clientX, bubbles: true }));
      await settled();
    }
    await until(() => last(model, "rows")?.query.filters.length);
    const [{ low, high }] = last(model, "rows").query.filters;
    assert.deepEqual([low, high], bounds);
    $("filter:Date").click();
    await until(() => $("filter-lo"));
    assert.deepEqual([$("filter-lo").type, $("filter-lo").value], ["text", low]);
    await close();
  }
});

test("the ends of a range of times are as short as they differ", async () => {
  const [date, ...others] = COLUMNS;
  for (const [minimum, maximum, ends] of [
    ["2024-01-31", "2025-01-31", ["2024-01", "2025-01"]],
    ["2025-01-02 23:00:00", "2025-01-31 01:00:00", ["2025-01-02", "2025-01-31"]],
    ["2025-01-02 09:05:00+00:00", "2025-01-02 17:30:00+00:00", ["09:05", "17:30"]],
    ["2025-01-02 09:05:01.25", "2025-01-02 09:05:59", ["09:05:01", "09:05:59"]],
    ["2025-01-02 09:05:01.1", "2025-01-02 09:05:01.2", ["2025-01-02"]],
    ["2025-01-02", "2025-01-02", ["2025-01-02"]],
  ]) {
    const short = [minimum.slice(0, 10), maximum.slice(0, 10)];
    const histogram = minimum === maximum ? [1] : [1, 0.5];
    const summary = { ...date.summary, minimum, maximum, short, histogram };
    const { $, close } = await panel({}, { table: { columns: [{ ...date, summary }, ...others] } });
    const shown = $("summary:Date").querySelectorAll("p span");
    assert.deepEqual(
      [...shown].map((span) => span.textContent),
      ends,
    );
    await close();
  }
});

test("a number is shortened in words, and whole when it is pointed at", async () => {
  const page = {
    ...rows(0, 40),
    rows: rows(0, 40).rows.map((row) => [
      row[0],
      row[1],
      "164,712,345,678.12",
      "+12,345.6%",
      ...row.slice(4),
    ]),
  };
  const { el, $, close } = await panel({}, { table: { page } });
  $("filter:Spend").click();
  await until(() => $("narrower:Spend"));
  const cell = () => el.querySelector("[data-r='0'][data-c='2']");
  const seen = new Set();
  $("wider:Spend").click();
  for (let turn = 0; turn < 12; turn++) {
    await settled();
    seen.add(cell().textContent);
    $("narrower:Spend").click();
    await settled();
    seen.add(cell().textContent);
  }
  assert.deepEqual([...seen], ["164,712,345,678.12", "164.7B", "165B"]);
  assert.equal(cell().title, "164,712,345,678.12");
  await close();
});

test("a sum is shortened before its bold digits are cut", async () => {
  const sums = { 2: "5,652,842,614,428,993,336,105" };
  const columns = COLUMNS.map((column) => ({ ...column, width: 218 }));
  const page = { ...rows(0, 40), sums };
  const { $, close } = await panel({}, { table: { columns, page } });
  assert.equal($("sum:Spend").textContent, "5.653e+21");
  assert.equal($("sum:Spend").title, sums[2]);
  await close();
});

test("the wheel scrolls the page until the grid is clicked", async () => {
  const { $, close } = await panel();
  const wheel = () => {
    const event = new Event("wheel", { bubbles: true, cancelable: true });
    Object.assign(event, { deltaY: 100, deltaX: 0, deltaMode: 0 });
    $("grid").dispatchEvent(event);
    return event.defaultPrevented;
  };
  document.scrollingElement.scrollBy ??= () => {};
  assert.equal(wheel(), true);
  $("grid").focus();
  assert.equal(wheel(), false);
  await close();
});

test("the headers are one stop of the Tab key, with arrows between them", async () => {
  const { el, $, close } = await panel();
  const stops = () =>
    [...el.querySelectorAll(".jf-thead button")].filter(({ tabIndex }) => tabIndex === 0);
  assert.deepEqual(
    stops().map(({ dataset }) => dataset.jf),
    ["sort:Date"],
  );
  $("sort:Date").focus();
  press($("sort:Date"), "ArrowRight");
  await until(() => document.activeElement === $("sort:Region"));
  assert.equal(stops().length, 1);
  press($("sort:Region"), "ArrowDown", { altKey: true });
  await until(() => $("value:Pacific"));
  await close();
});

test("a pivot is a table of its own, until the view is reset", async () => {
  const { model, el, $, close } = await panel();
  assert.ok(!$("reset-view"));
  $("pivot").click();
  await until(() => $("pivot-bar"));
  const of = { sort: [], filters: [], find: "", hidden: [] };
  assert.deepEqual(last(model, "shape").steps, [{ kind: "pivot", of }]);
  assert.match(el.querySelector('[aria-rowindex="2"]').textContent, /Midwest.*1,234,567/);
  const how = $("pivot-how");
  how.value = "mean";
  how.dispatchEvent(new Event("change", { bubbles: true }));
  await until(() => last(model, "shape").steps[0].how === "mean");
  await settled();
  type($("find"), "We");
  await until(() => last(model, "rows")?.query.find === "We");
  assert.equal(last(model, "rows").steps[0].kind, "pivot");
  $("reset-view").click(); // sooner than the kernel answers
  await settled();
  assert.ok(!$("pivot-bar"));
  assert.equal($("grid").getAttribute("aria-rowcount"), "10957");
  await close();
});

test("a view that becomes a variable shows its code, each time", async () => {
  const { model, el, $, close } = await panel({ assign: { said: "It is there.", exists: false } });
  $("compute").click();
  await until(() => $("compute-expression"));
  type($("compute-expression"), "Spend / 2");
  $("compute-now").click();
  await until(() => $("assign"));
  for (const times of [1, 2]) {
    $("assign").click();
    await until(() => $("assign-now"));
    assert.equal($("assign-name").value, "panel_daily_computed");
    $("assign-now").click();
    await until(() => asked(model, "table_code").length === times);
    await until(() => $("table-code")?.textContent);
  }
  assert.equal(
    el.querySelector(".jf-toast").textContent,
    "It is there. Copy keeps its code, for when the kernel ends.",
  );
  await close();
});

test("a computed column that is taken away takes what was chosen by it along", async () => {
  const { model, $, close } = await panel();
  $("compute").click();
  await until(() => $("compute-expression"));
  type($("compute-expression"), "Spend / 2");
  await settled();
  $("compute-now").click();
  await until(() => $("chip:Spend / 2"));
  assert.equal($("chip:Spend / 2").textContent, "Spend / 2");
  $("grid").scrollLeft = 0;
  $("grid").dispatchEvent(new Event("scroll"));
  await until(() => $("sort:Spend / 2"));
  $("sort:Spend").click();
  await settled();
  $("sort:Spend / 2").dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: true }));
  await settled();
  assert.equal(last(model, "rows").query.sort.length, 2);
  $("chip-remove:Spend / 2").click();
  await until(() => !$("chip:Spend / 2"));
  await settled();
  assert.deepEqual(last(model, "rows").query.sort, [{ at: 2, descending: true }]);
  await close();
});

test("what makes another table keeps the focus", async () => {
  const { $, close } = await panel();
  $("pivot").focus();
  $("pivot").click();
  await until(() => $("pivot-bar"));
  assert.equal(document.activeElement.dataset.jf, "pivot");
  $("pivot").click();
  await until(() => !$("pivot-bar"));
  assert.equal(document.activeElement.dataset.jf, "pivot");
  $("compute").click();
  await until(() => $("compute-expression"));
  type($("compute-expression"), "Spend / 2");
  $("compute-now").focus();
  $("compute-now").click();
  await until(() => !$("compute-expression"));
  assert.equal(document.activeElement.dataset.jf, "compute");
  await close();
});

test("a view stays for the next result of the function, as far as it has the columns", async () => {
  const { model, $, close } = await panel();
  $("sort:Spend").click();
  await until(() => $("reset-view"));
  const [first, ...others] = RESULT.table.columns;
  const at = RESULT.table.columns.find(({ name }) => name === "Spend").at;
  const table = { ...RESULT.table, columns: [...others, first].map((one, at) => ({ ...one, at })) };
  model.write({
    run: { ...RUN, state: "done", number: 4, result: { ...RESULT, number: 4, table } },
  });
  await until(() => last(model, "rows")?.run === 4 && last(model, "rows").query.sort.length);
  assert.deepEqual(last(model, "rows").query.sort, [{ at: at - 1, descending: true }]);
  await close();
});

test("what is typed after a column was clicked belongs to the expression", async () => {
  const { $, close } = await panel();
  $("compute").click();
  await until(() => $("compute-column:Spend"));
  $("compute-column:Spend").focus();
  $("compute-column:Spend").click();
  await until(() => $("compute-expression").value === "Spend ");
  assert.equal(document.activeElement.dataset.jf, "compute-expression");
  assert.equal($("compute").title, "Compute a column"); // its word is hidden where there is no room
  await close();
});

test("labels give way to measures, the widest first, and a short one is never cut", async () => {
  const columns = RESULT.table.columns.map((column, at) => ({
    ...column,
    width: [88, 400][at] ?? 600,
  }));
  const { $, close } = await panel({}, { table: { columns } });
  const { gridTemplateColumns } = $("grid").querySelector(".jf-thead").style;
  assert.match(gridTemplateColumns, /^51px 88px 0px 336px 600px/);
  await close();
});

test("a computed column is asked for, and what is wrong with it is said beside it", async () => {
  const lines = ["The table has no column 'Spnd'."];
  const { model, $, close } = await panel({ shape: () => ({ error: lines }) });
  $("compute").click();
  await until(() => $("compute-expression"));
  type($("compute-expression"), "Spnd * 2");
  await settled();
  $("compute-now").click();
  await until(() => document.querySelector(".jf-form2 .jf-err"));
  assert.match(document.querySelector(".jf-form2 .jf-err").textContent, /no column 'Spnd'/);
  const step = { kind: "column", name: "Spnd * 2", expression: "Spnd * 2" };
  assert.deepEqual(last(model, "shape").steps, [step]);
  await close();
});

test("the value of a cell is used in another function, by keys alone", async () => {
  const use = { name: "Get Panel FQ", label: "Symbol", function: "get_panel_fq", field: "Symbol" };
  const { model, $, close } = await panel({
    uses: { uses: [{ ...use, value: "NVRA US EQUITY" }] },
    choose: {},
    set: {},
  });
  press($("grid"), "ArrowDown");
  press($("grid"), "Enter", { altKey: true });
  await until(() => $("use:get_panel_fq:Symbol"));
  const [{ row, at }] = model.asked.filter(({ kind }) => kind === "uses");
  assert.deepEqual([row, at], [0, 0]);
  $("use:get_panel_fq:Symbol").click();
  await until(() => model.kinds().includes("set"));
  const [choose, set] = model.asked.slice(-2);
  assert.deepEqual([choose.kind, choose.function], ["choose", "get_panel_fq"]);
  assert.deepEqual([set.field, set.value], ["Symbol", "NVRA US EQUITY"]);
  assert.ok(!model.kinds().includes("run"));
  await close();
});

test("the tools of the table are one stop of the Tab key, with arrows between them", async () => {
  const { el, $, close } = await panel();
  const bar = el.querySelector("[role=toolbar]");
  const stops = () =>
    [...bar.querySelectorAll("button")]
      .filter(({ tabIndex }) => !tabIndex)
      .map((b) => b.dataset.jf);
  assert.deepEqual(stops(), ["compute"]);
  for (const [key, hook] of [
    ["ArrowRight", "pivot"],
    ["End", "view-code"],
    ["ArrowRight", "compute"],
  ]) {
    press(document.activeElement === document.body ? $("compute") : document.activeElement, key);
    assert.equal(document.activeElement.dataset.jf, hook);
    assert.deepEqual(stops(), [hook]);
  }
  await close();
});
