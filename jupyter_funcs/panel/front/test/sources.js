/** The page's sources, bundled for Node: what is tested is never an older bundle. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const folder = mkdtempSync(join(tmpdir(), "panel-"));
process.on("exit", () => rmSync(folder, { recursive: true }));

/** Import a module of `src/`. */
export async function imported(path) {
  const outfile = join(folder, `${path.replaceAll("/", "-")}.mjs`);
  await build({
    absWorkingDir: join(import.meta.dirname, ".."),
    entryPoints: [join("src", path)],
    outfile,
    bundle: true,
    loader: { ".css": "text" },
    format: "esm",
    target: "es2022",
  });
  return import(pathToFileURL(outfile).href);
}
