/**
 * Bundle src/ into ../static/, which is checked in: whoever installs the package needs no Node.
 *
 * The same sources give the same bytes in any folder. Beside the bundle stands a hash of its sources, by which the
 * Python tests see that it is stale.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const here = import.meta.dirname;
const out = join(here, "../static");
mkdirSync(out, { recursive: true });

/** The indentation of templates is text to esbuild, and nothing to htm. */
const indentation = {
  name: "indentation",
  setup: ({ onLoad }) => onLoad({ filter: /[\\/]src[\\/]\w+\.js$/ }, ({ path }) => ({ contents: readFileSync(path, "utf8").replace(/\n\s+/g, "\n") })),
};

await build({
  absWorkingDir: here,
  plugins: [indentation],
  entryPoints: { panel: "src/index.js" },
  outdir: out,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  charset: "utf8",
  legalComments: "none",
});
await build({ absWorkingDir: here, entryPoints: { panel: "src/panel.css" }, outdir: out, bundle: true, minify: true, charset: "utf8" });

const licences = ["preact", "htm"].map((name) => `${name}\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8")}`);
writeFileSync(join(out, "licences.txt"), `What panel.js contains besides this project's own code.\n\n${licences.join("\n\n")}`);

const hash = createHash("sha256");
const sources = readdirSync(join(here, "src"), { recursive: true, withFileTypes: true })
  .filter((each) => each.isFile())
  .map((each) => join(each.parentPath, each.name).slice(here.length + 1));
for (const path of [...sources, "build.mjs", "package-lock.json"].sort()) {
  hash.update(path + "\0").update(readFileSync(join(here, path))).update("\0");
}
writeFileSync(join(out, "sources.sha256"), hash.digest("hex") + "\n");
