/**
 * Bundle src/ into ../static/, which is checked in: whoever installs the package needs no Node.
 *
 * The same sources give the same bytes in any folder. Beside the bundle is a hash of its sources, by which the Python
 * tests see that it is stale.
 */
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const here = import.meta.dirname;
const out = join(here, "../static");
const common = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  charset: "utf8",
  legalComments: "none",
};

/** The style sheet as a text of the script, which puts it into each panel. */
const sheet = {
  name: "sheet",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { outputFiles } = await build({ ...common, entryPoints: [path], write: false });
      return { contents: outputFiles[0].text, loader: "text" };
    }),
};

mkdirSync(out, { recursive: true });
await build({
  ...common,
  plugins: [sheet],
  entryPoints: ["src/index.tsx"],
  outfile: join(out, "panel.js"),
  format: "esm",
  target: "es2022",
});

// The picture of a saved notebook has the colours of the page.
copyFileSync(join(here, "src/css/palette.css"), join(out, "palette.css"));

const licence = readFileSync(join(here, "node_modules/preact/LICENSE"), "utf8");
const about = "What panel.js contains besides this project's own code.";
writeFileSync(join(out, "licences.txt"), `${about}\n\npreact\n\n${licence}`);

const hash = createHash("sha256");
const sources = readdirSync(join(here, "src"), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(here.length + 1));
for (const path of [...sources, "build.mjs", "package-lock.json"].sort()) {
  hash
    .update(`${path}\0`)
    .update(readFileSync(join(here, path)))
    .update("\0");
}
writeFileSync(join(out, "sources.sha256"), `${hash.digest("hex")}\n`);
