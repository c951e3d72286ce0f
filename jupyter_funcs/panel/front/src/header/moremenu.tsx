import { Menu, type MenuItem } from "../core/menu";
import { usePanel } from "../core/panelcontext";
import { linkOf } from "../core/useLink";
import type { MenuProps } from "./opened";

/** What is needed now and then. */
export function MoreMenu({ anchor, close, open }: MenuProps) {
  const { view, ask, tell, toast, copy, stacked, setStacked } = usePanel();
  const isChosen = Boolean(view?.function);
  const refresh = async () => toast((await ask("refresh", {})).said);
  const copyCode = async () => copy((await ask("code", {})).blocks[0]?.code ?? "");
  const copyLink = async () => copy(linkOf((await ask("code", {})).link, view));
  const items: MenuItem[] = [
    {
      label: "Refresh list of functions",
      icon: "refresh",
      jf: "refresh",
      click: () => void tell(refresh()),
    },
    {
      label: "Copy code",
      small: "This run as a line of a notebook",
      icon: "code",
      jf: "copy-code",
      off: !isChosen,
      click: () => void tell(copyCode()),
    },
    {
      label: "Copy link",
      small: view?.public
        ? "To this page, with these values"
        : "For %funcs open, with these values",
      icon: "open",
      jf: "copy-link",
      off: !isChosen,
      click: () => void tell(copyLink()),
    },
    "-",
    {
      label: "Inputs on the left",
      checked: !stacked,
      jf: "form-side",
      click: () => setStacked(!stacked),
    },
    "-",
    {
      label: "Documentation",
      small: isChosen ? "What this function does and takes" : "How to use the panel",
      icon: "book",
      jf: "docs",
      click: () => open("docs"),
    },
    {
      label: "About",
      small: "Version, service and token",
      icon: "info",
      jf: "about",
      click: () => open("about"),
    },
  ];
  return <Menu anchor={anchor} close={close} label="More" items={items} width={264} right />;
}
