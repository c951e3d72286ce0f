import { usePanel } from "../core/panelcontext";
import { About } from "./about";
import { Docs } from "./docs";
import { ManagePresets } from "./managepresets";
import { MoreMenu } from "./moremenu";
import { Picker } from "./picker";
import { PresetsMenu } from "./presetsmenu";
import { SavePreset } from "./savepreset";

/** What opens, and the button that it is beside. */
export interface Opened {
  what: "picker" | "presets" | "save" | "manage" | "menu" | "docs" | "about";
  anchor: HTMLElement;
}

export interface OpenedProps {
  anchor: HTMLElement;
  close: () => void;
}

export interface MenuProps extends OpenedProps {
  /** Open something else in place of the menu. */
  open: (what: Opened["what"]) => void;
}

interface BoxProps extends Opened, OpenedProps {
  open: (opened: Opened) => void;
}

export function OpenedBox({ what, anchor, close, open }: BoxProps) {
  const { run, view } = usePanel();
  const own = (view?.presets ?? []).filter((preset) => !preset.shipped);
  const box = { anchor, close };
  const instead = (other: Opened["what"]) => open({ what: other, anchor });
  switch (what) {
    case "picker":
      return <Picker {...box} />;
    case "presets":
      return <PresetsMenu {...box} open={instead} />;
    case "save":
      return <SavePreset {...box} taken={own.map(({ name }) => name)} />;
    case "manage":
      return <ManagePresets {...box} presets={own} />;
    case "menu":
      return <MoreMenu {...box} open={instead} key={run.number} />;
    case "docs":
      return <Docs {...box} />;
    case "about":
      return <About {...box} />;
  }
}
