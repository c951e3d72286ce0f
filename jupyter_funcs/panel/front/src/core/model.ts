/** What anywidget hands over; the manager is there in JupyterLab, Notebook and Voila only. */
export interface Model {
  get(name: string): any;
  on(name: string, callback: (...args: any[]) => void): void;
  off(name: string, callback: (...args: any[]) => void): void;
  send(content: any): void;
  widget_manager?: { kernel?: Kernel; context?: { model?: { sharedModel?: any } } };
}

export interface Kernel {
  status: string;
  statusChanged?: Signal<string>;
  iopubMessage?: Signal<Message>;
}

export interface Message {
  header: { msg_type: string };
  parent_header: { msg_type?: string };
  content: any;
}

interface Signal<T> {
  connect(slot: (sender: unknown, value: T) => void): void;
  disconnect(slot: (sender: unknown, value: T) => void): void;
}

/** The name of the trait that an event is about. */
const trait = (event: string) => event.replace(/^change:/, "change:_");

/** A function may have a parameter named `constructor`, which each object with a prototype has, too. */
function withoutPrototype(_: string, value: unknown) {
  const isMap = value !== null && typeof value === "object" && !Array.isArray(value);
  return isMap ? Object.setPrototypeOf(value, null) : value;
}

/** The value of a trait, with the long parts of fields, which are in a trait of their own. */
function parsed(name: string, text: string, long: string) {
  if (!text) return null;
  const value = JSON.parse(text, withoutPrototype);
  if (name !== "values") return value;
  for (const [field, parts] of Object.entries(JSON.parse(long || "{}", withoutPrototype))) {
    Object.assign(value.fields[field] ?? {}, parts);
  }
  return value;
}

/** The kernel's states by name: each is JSON text in a trait, and read once. */
export function states(model: Model): Model {
  const read = new Map<string, { text: string; value: any }>();
  return {
    get(name) {
      const text = model.get(`_${name}`);
      if (name === "tab") return text;
      const before = read.get(name);
      if (before?.text === text) return before?.value;
      const value = parsed(name, text, model.get("_long"));
      read.set(name, { text, value });
      return value;
    },
    on: (event, callback) => model.on(trait(event), callback),
    off: (event, callback) => model.off(trait(event), callback),
    send: (content) => model.send(content),
    widget_manager: model.widget_manager,
  };
}
