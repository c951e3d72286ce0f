/** What a panel puts into the notebook that shows it: a notebook is an object here, as Lab's shared model has it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { soon } from "./clock.js";
import { FakeModel, RUN, VALUES, VIEW } from "./fake.js";
import { shown } from "./page.js";
import { RESULT } from "./states.js";

const LINE = "get_panel_fq Symbol=KORD";
const ran = { ...RUN, state: "done", number: 3, result: { ...RESULT, variable: "kord" } };

class Cell {
  constructor(id, source) {
    Object.assign(this, { id, source });
  }
  setSource(source) {
    this.source = source;
  }
}

/** A panel in the second of three cells. */
async function opened({
  source = "%funcs",
  names = false,
  values = {},
  run = ran,
  answers,
  inside = true,
}) {
  const cells = [new Cell("a", "1"), new Cell("b", source), new Cell("c", "2")];
  const insertCell = (at, cell) => cells.splice(at, 0, new Cell("new", cell.source));
  const model = new FakeModel(
    {
      view: { ...VIEW, cell: { id: "b", names } },
      values: { ...VALUES, differs: true, line: LINE, ...values },
      run,
    },
    answers,
  );
  if (inside) model.widget_manager = { context: { model: { sharedModel: { cells, insertCell } } } };
  return { ...(await shown(null, null, model)), sources: () => cells.map((cell) => cell.source) };
}

test("a run that no cell repeats is inserted below the panel's cell, once", async () => {
  const { $, sources, close } = await opened({});
  assert.match($("unsaved").textContent, /^This run isn't in the notebook/);
  assert.ok(!$("cell-update"));
  $("cell-insert").click();
  await soon(() => assert.deepEqual(sources(), ["1", "%funcs", `kord = %funcs call ${LINE}`, "2"]));
  await soon(() => assert.ok(!$("unsaved")));
  await close();
});

test("a sweep is inserted as one, and what has no line as Python", async () => {
  for (const [values, source] of [
    [{ runs: 2 }, `kord = %funcs sweep ${LINE}`],
    [{ line: "" }, "funcs.get_panel_fq()"],
  ]) {
    const blocks = [{ name: "python", code: "funcs.get_panel_fq()", note: "" }];
    const { $, sources, close } = await opened({ values, answers: { code: { blocks } } });
    $("cell-insert").click();
    await soon(() => assert.equal(sources()[2], source));
    await soon(() => assert.ok(!$("unsaved")));
    await close();
  }
});

test("a cell that names other values is updated where its line is plain, and keeps the rest", async () => {
  for (const [source, expected] of [
    ["%funcs panel get_panel_fq Symbol=BVQS", `%funcs panel ${LINE}`],
    [
      "p = %funcs panel get_panel_fq Symbol='a b' --run\np.result()",
      `p = %funcs panel ${LINE} --run\np.result()`,
    ],
    ["%funcs panel get_panel_fq Symbol=BVQS --profile work", null],
    ["%funcs panel get_panel_fq\n%funcs panel get_kpis", null],
    ["funcs.panel('Get Panel FQ')", null],
  ]) {
    const { $, sources, close } = await opened({ source, names: true, run: RUN });
    assert.match($("unsaved").textContent, /^The form differs from this cell/);
    assert.ok(!$("cell-insert"));
    assert.equal($("cell-update") !== null, expected !== null, source);
    $("cell-update")?.click();
    await soon(() => assert.equal(sources()[1], expected ?? source));
    if (expected) await soon(() => assert.ok(!$("unsaved")));
    await close();
  }
});

test("what the notebook says already, what visitors see and what hasn't run yet has no offer", async () => {
  for (const more of [
    { source: `df = %funcs call ${LINE}` },
    { source: `%funcs panel ${LINE} --run`, names: true },
    { values: { differs: false } },
    { values: { changed: true } },
    { run: RUN },
  ]) {
    const { $, close } = await opened(more);
    assert.ok(!$("unsaved"));
    await close();
  }
});

test("elsewhere it is copied", async () => {
  const { $, close } = await opened({ inside: false });
  assert.ok(!$("cell-insert"));
  assert.ok($("cell-copy"));
  await close();
});

test("where a result went, and what kept its data, is said below the inputs", async () => {
  const note = "In panel_fq; kord keeps the run before.";
  const { $, close } = await opened({ run: { ...ran, result: { ...ran.result, note } } });
  assert.equal($("var-note").textContent, note);
  await close();
});
