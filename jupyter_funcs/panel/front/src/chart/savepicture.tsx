import { Menu } from "../core/menu";
import { Opener } from "../core/opener";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import type { Line } from "./drawing";
import { type FileType, savePicture } from "./picture";

type Props = { box: { current: HTMLElement | null }; view: P.ChartView; lines: Line[] };

/** The button and menu that save what is drawn. */
export function SavePicture({ box, view, lines }: Props) {
  const { toast } = usePanel();
  const save = (type: FileType) => {
    const drawn = [...(box.current?.querySelectorAll<SVGSVGElement>(".jf-plot > svg") ?? [])];
    if (!drawn.length) return;
    const legend = view.kind === "bar" ? [] : lines;
    savePicture(drawn, view, legend, type).catch(() =>
      toast("The browser did not allow saving the picture."),
    );
  };
  return (
    <Opener
      icon="save"
      aria="Save the picture"
      data-jf="chart-save"
      opens="menu"
      draw={(anchor, close) => (
        <Menu
          anchor={anchor}
          close={close}
          label="Save the picture"
          right
          width={160}
          items={[
            { label: "PNG", jf: "chart-save:png", click: () => save("png") },
            { label: "SVG", jf: "chart-save:svg", click: () => save("svg") },
          ]}
        />
      )}
    />
  );
}
