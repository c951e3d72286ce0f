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
  view = {},
  run = ran,
  answers,
  inside = true,
}) {
  const cells = [new Cell("a", "1"), new Cell("b", source), new Cell("c", "2")];
  const insertCell = (at, { source }) => {
    cells.splice(at, 0, new Cell(source, source));
    return cells[at];
  };
  const model = new FakeModel(
    {
      view: { ...VIEW, cell: { id: "b", names }, ...view },
      values: { ...VALUES, differs: true, line: LINE, output: "", ...values },
      run,
    },
    answers,
  );
  if (inside) model.widget_manager = { context: { model: { sharedModel: { cells, insertCell } } } };
  return { ...(await shown(null, null, model)), sources: () => cells.map((cell) => cell.source) };
}

test("runs that no cell repeats are inserted below the panel's cell, the newest last", async () => {
  const { $, model, sources, close } = await opened({});
  assert.match($("unsaved").textContent, /^This run isn't in the notebook/);
  $("cell-insert").focus();
  $("cell-insert").click();
  const first = `kord = %funcs call ${LINE}`;
  await soon(() => assert.deepEqual(sources(), ["1", "%funcs", first, "2"]));
  await soon(() => assert.ok(!$("unsaved")));
  await soon(() => assert.ok(document.activeElement === $("run"), "a key would change a field"));
  const line = "get_panel_fq Symbol=BKQU";
  model.write({ values: { ...model.traits.values, line } });
  await soon(() => assert.ok($("cell-insert")));
  $("cell-insert").click();
  await soon(() =>
    assert.deepEqual(sources(), ["1", "%funcs", first, `kord = %funcs call ${line}`, "2"]),
  );
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

test("a cell with one line that opens a panel is updated there, and keeps the rest", async () => {
  const line = `%funcs panel ${LINE}`;
  for (const [source, expected] of [
    ["%funcs panel get_panel_fq Symbol=BVQS", line],
    ["%funcs", line],
    ["%load_ext jupyter_funcs\n%funcs", `%load_ext jupyter_funcs\n${line}`],
    ["%funcs connect work\n%funcs panel\n1", `%funcs connect work\n${line}\n1`],
    [
      "p = %funcs panel get_panel_fq Symbol='a --b' --run\np.result()",
      `p = ${line} --run\np.result()`,
    ],
    ["%funcs panel get_panel_fq Symbol=BVQS -o bvqs --run", `${line} --run`],
    ["%funcs panel --all x a=[1, 2] --profile work # one", `${line} --profile work # one`],
    ["%funcs panel get_panel_fq\n%funcs panel get_kpis", null],
    ["%funcs panel get_panel_fq \\\n  Symbol=BVQS", null],
    ["%funcs find panel", null],
    ["%%funcs panel get_panel_fq\nSymbol: BVQS", null],
    ["funcs.panel('Get Panel FQ')", null],
  ]) {
    const { $, model, sources, close } = await opened({ source, names: true, run: RUN });
    assert.match($("unsaved").textContent, /^The form differs from this cell/);
    assert.ok(!$("cell-insert"));
    assert.equal($("cell-update") !== null, expected !== null, source);
    $("cell-update")?.click();
    await soon(() => assert.equal(sources()[1], expected ?? source));
    if (expected) await soon(() => assert.ok(!$("unsaved")));
    assert.equal(model.kinds().includes("update_cell"), expected !== null);
    await close();
  }
});

test("the name of a result is a part of what the notebook says of its run", async () => {
  const line = `%funcs panel ${LINE}`;
  const named = { output: "kord" };
  for (const source of ["%funcs", `${line} --run`, `${line} --run -o bkqu`]) {
    const { $, sources, close } = await opened({ source, values: named });
    $("cell-update").click();
    await soon(() => assert.equal(sources()[1], `${line} --run -o kord`));
    const lost = source.includes("bkqu") ? ", and no longer makes bkqu" : "";
    const toast = `Updated. Run All runs it again, into kord${lost}.`;
    await soon(() =>
      assert.ok(document.querySelector(".jf-toast").textContent.includes(toast), source),
    );
    await close();
  }
  for (const source of [`kord = %funcs call ${LINE}`, `${line} --run -o kord  # mine`]) {
    const { $, close } = await opened({ source, values: named });
    assert.ok(!$("unsaved"));
    await close();
  }
  // Run All changes no data.
  const changing = { function: { ...VIEW.function, changesData: true } };
  const { $, sources, close } = await opened({ view: changing, values: named });
  $("cell-update").click();
  await soon(() => assert.equal(sources()[1], line));
  await close();
});

test("the code of a view is inserted after its run, unless a cell has that", async () => {
  const code = "kord[rows]";
  for (const [cell, source] of [
    ["%funcs", `kord = %funcs call ${LINE}\n${code}`],
    [`kord = %funcs call ${LINE}`, code],
  ]) {
    const { $, sources, close } = await opened({
      source: cell,
      answers: { table_code: { code } },
    });
    $("view-code").click();
    await soon(() => assert.equal($("table-code")?.textContent, code));
    $("insert-table-code").click();
    await soon(() => assert.equal(sources()[2], source));
    await close();
  }
  const { $, close } = await opened({ inside: false, answers: { table_code: { code } } });
  $("view-code").click();
  await soon(() => assert.ok($("copy-table-code")));
  assert.ok(!$("insert-table-code"));
  await close();
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
