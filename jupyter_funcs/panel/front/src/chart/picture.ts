import { download } from "../core/download";
import type * as P from "../core/protocol";
import { briefly, ink, type Line } from "./drawing";

export type FileType = "svg" | "png";

const SVG = "http://www.w3.org/2000/svg";
/** What the style sheet of the page decides. */
const STYLES = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "opacity",
  "fill-opacity",
  "font-size",
  "font-family",
  "visibility",
];
const SHAPES = "path, line, text, tspan, rect, circle";
const NOT_SAVED = ".g-mini, .g-win, .g-grip, .g-brush, .g-cross";
/** Pixels: the title, and a column and a row of the legend. */
const TITLE = 28;
const PANEL_TITLE = 20;
const COLUMN = 160;
const ROW = 18;

/** Download what is drawn, with its title and legend, in the colours of the page. */
export async function savePicture(
  drawn: SVGSVGElement[],
  view: P.ChartView,
  lines: Line[],
  type: FileType,
) {
  const name = `${view.title.replace(/[^\p{L}\p{N}]+/gu, "_") || "chart"}.${type}`;
  const picture = composed(drawn, view, lines);
  const text = plainColours(new XMLSerializer().serializeToString(picture));
  if (type === "svg") {
    download(name, URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })));
    return;
  }
  const size = ["width", "height"].map((side) => Number(picture.getAttribute(side)));
  download(name, await asPng(text, size[0], size[1]));
}

/** The drawing with the title above and the legend below. */
function composed(drawings: SVGSVGElement[], view: P.ChartView, lines: Line[]) {
  const [drawn] = drawings;
  const panelTitle = view.panels.length ? PANEL_TITLE : 0;
  const boxes = drawings.map((drawing) => drawing.getBoundingClientRect());
  const [left, top] = [Math.min(...boxes.map(({ x }) => x)), Math.min(...boxes.map(({ y }) => y))];
  const width = Math.max(...boxes.map(({ right }) => right)) - left;
  const tall = Math.max(...boxes.map(({ bottom }) => bottom)) - top + panelTitle;
  const columns = Math.max(1, Math.floor(width / COLUMN));
  const height = tall + TITLE + Math.ceil(lines.length / columns) * ROW + 8;
  const style = getComputedStyle(drawn);
  const font = { "font-family": style.fontFamily, fill: style.color };
  const resolved = (colour: string) =>
    style.getPropertyValue(colour.slice(4, -1)).trim() || style.color;

  const root = element("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` });
  const title = `${view.title}${view.unit ? ` (${view.unit})` : ""}`;
  root.append(
    element("rect", { width, height, fill: resolved("var(--jf-bg)") }),
    element("text", { x: 8, y: 18, "font-size": 13, "font-weight": 600, ...font }, title),
  );
  for (const [at, box] of boxes.entries()) {
    const [x, y] = [box.x - left, box.y - top + TITLE + panelTitle];
    const inner = element("g", { transform: `translate(${x} ${y})` });
    inner.append(...styledCopy(drawings[at]).childNodes);
    const name = view.panels[at] ?? "";
    root.append(inner, element("text", { x: x + 8, y: y - 5, "font-size": 12, ...font }, name));
  }
  const brief = briefly(view);
  for (const [at, line] of lines.entries()) {
    const x = 8 + (at % columns) * COLUMN;
    const y = tall + TITLE + Math.floor(at / columns) * ROW + 12;
    const stroke = resolved(ink(line.colour));
    root.append(
      element("path", { d: `M${x} ${y - 4}h16`, stroke, "stroke-width": 2.5 }),
      element("text", { x: x + 22, y, "font-size": 12, ...font }, brief(line.name).slice(0, 22)),
    );
  }
  return root;
}

/** A copy of what is drawn without what moves, each shape with the style that the page gives it. */
function styledCopy(drawn: SVGSVGElement) {
  const copy = drawn.cloneNode(true) as SVGSVGElement;
  for (const part of copy.querySelectorAll(`${NOT_SAVED}, title`)) part.remove();
  const shapes = [...drawn.querySelectorAll(SHAPES)].filter((shape) => !shape.matches(NOT_SAVED));
  for (const [at, shape] of [...copy.querySelectorAll(SHAPES)].entries()) {
    const style = getComputedStyle(shapes[at]);
    const rules = STYLES.map((name) => `${name}:${style.getPropertyValue(name)}`);
    shape.setAttribute("style", rules.join(";"));
  }
  return copy;
}

function element(name: string, attributes: Record<string, string | number>, text = "") {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.textContent = text;
  return made;
}

/** Programs that draw don't know the colours that are mixed. */
function plainColours(text: string) {
  const byte = (part: string) => Math.round(Number(part) * 255);
  return text.replace(
    /color\(srgb ([\d.]+) ([\d.]+) ([\d.]+)[^)]*\)/g,
    (_, red, green, blue) => `rgb(${byte(red)}, ${byte(green)}, ${byte(blue)})`,
  );
}

/** The address of a picture with two pixels for one. */
async function asPng(text: string, width: number, height: number) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * 2;
  canvas.height = height * 2;
  canvas.getContext("2d")?.drawImage(image, 0, 0, width * 2, height * 2);
  return canvas.toDataURL("image/png");
}
