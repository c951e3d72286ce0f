import type * as P from "./protocol";

interface Typed {
  value: P.PageValue;
  /** Zero while it is not sent yet. */
  seq: number;
}

/**
 * What was typed and is not yet in the kernel's `values`, by field; numbered, so that an answer
 * never overwrites it.
 */
export class TypedValues {
  private readonly held = new Map<string, Typed>();
  /** The number of the last one. */
  seq = 0;

  get size() {
    return this.held.size;
  }

  set(field: string, value: P.PageValue) {
    this.held.set(field, { value, seq: 0 });
  }

  /** Number those that have no number yet, after the last of the kernel. */
  number(last: number) {
    const numbered: { field: string; typed: Typed }[] = [];
    for (const [field, typed] of this.held) {
      if (typed.seq) continue;
      this.seq = Math.max(this.seq, last) + 1;
      typed.seq = this.seq;
      numbered.push({ field, typed });
    }
    return numbered;
  }

  /** The kernel has all up to a number. */
  arrive(seq: number) {
    for (const [field, typed] of this.held) {
      if (typed.seq && typed.seq <= seq) this.held.delete(field);
    }
    this.seq = Math.max(this.seq, seq);
  }

  /** It was refused, unless something else was typed since. */
  refuse(field: string, typed: Typed) {
    if (this.held.get(field) === typed) this.held.delete(field);
  }

  /** By field, as a request carries them. */
  values(): Record<string, P.PageValue> {
    return Object.fromEntries([...this.held].map(([field, { value }]) => [field, value]));
  }

  /** The kernel's values, with these in their place. */
  over(values: P.Values): P.Values {
    const fields: P.Values["fields"] = Object.assign(Object.create(null), values.fields);
    for (const [name, { value }] of this.held) {
      // What is in no field of this function was typed for the one before.
      const isPart = name.includes(".");
      if (fields[name] || isPart) fields[name] = { ...fields[name], value, carried: false };
    }
    return { ...values, fields };
  }
}
