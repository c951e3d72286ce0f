import { Fragment, type TargetedEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { count, inert, marked } from "../core/format";
import { Icon } from "../core/icons";
import type * as P from "../core/protocol";
import type { ChooserState } from "./useChooser";

/** Pixels before the end at which the next page is asked for. */
const AHEAD = 200;

interface ListboxProps {
  id: string;
  chooser: ChooserState;
  toggleGroup: (group: string, isTaken: boolean) => void;
  /** What it says without options. */
  empty: string;
}

/**
 * The list below a combobox, which keeps the focus: `aria-activedescendant` names the marked
 * option.
 */
export function Listbox({ id, chooser, toggleGroup, empty }: ListboxProps) {
  const { field, many, combo, chosen, listed, extra } = chooser;
  const { options } = listed;
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    list.current?.querySelector(".is-on")?.scrollIntoView?.({ block: "nearest" });
  }, [combo.at, options.length]);
  const scrolled = ({ currentTarget: box }: TargetedEvent<HTMLDivElement>) => {
    if (box.scrollTop + box.clientHeight > box.scrollHeight - AHEAD) listed.next();
  };
  const places = placesOf(chosen.values);
  const groups = new Map(listed.groups);
  /** The number of options of a group that begins here. */
  const beginning = (at: number) => {
    const { group } = options[at];
    return options[at - 1]?.group === group ? undefined : groups.get(group);
  };
  const takenOf = (name: string) =>
    options.filter(({ group, value }) => group === name && places.has(value)).length;
  return (
    <div
      ref={list}
      class="jf-list"
      role="listbox"
      id={id}
      aria-label={field.label}
      aria-multiselectable={many ? "true" : undefined}
      onScroll={scrolled}
    >
      {options.map((option, at) => {
        const size = beginning(at);
        return (
          <Fragment key={option.value}>
            {size !== undefined && (
              <Heading
                name={option.group}
                size={size}
                isTaken={takenOf(option.group) === size}
                toggle={toggleGroup}
              />
            )}
            <OptionRow
              id={`${id}-${at}`}
              at={at}
              option={option}
              place={places.get(option.value)}
              chooser={chooser}
            />
          </Fragment>
        );
      })}
      {extra && <ExtraRow id={`${id}-${options.length}`} chooser={chooser} />}
      {!options.length && !extra && (
        <div class="jf-opt jf-quiet" role="option" aria-selected="false" aria-disabled="true">
          {empty}
        </div>
      )}
    </div>
  );
}

/** Where each value is first among those chosen. */
const placesOf = (values: string[]) =>
  new Map(values.map((value, at) => [value, at] as const).reverse());

interface HeadingProps {
  name: string;
  size: number;
  /** Whether all of it is chosen. */
  isTaken: boolean;
  toggle: (group: string, isTaken: boolean) => void;
}

/** A group's name and size; all of it, or none. */
function Heading({ name, size, isTaken, toggle }: HeadingProps) {
  return (
    <div class="jf-ph" role="presentation">
      {inert(name || "Others")} ({count(size)})
      <span
        class="jf-inline"
        aria-hidden="true"
        data-jf={`group:${name}`}
        onClick={() => toggle(name, isTaken)}
      >
        {isTaken ? "None" : "All"}
      </span>
    </div>
  );
}

interface OptionRowProps {
  id: string;
  at: number;
  option: P.Option;
  /** Among the values chosen. */
  place: number | undefined;
  chooser: ChooserState;
}

function OptionRow({ id, at, option, place, chooser }: OptionRowProps) {
  const { many, combo, chosen, pick } = chooser;
  const isChosen = place !== undefined;
  return (
    <div
      class={`jf-opt ${at === combo.at ? "is-on" : ""}`}
      role="option"
      id={id}
      aria-selected={isChosen}
      data-jf={`option:${option.value}`}
      onClick={() => pick(at)}
    >
      {many && (
        <span class="jf-check">
          <Icon name="check" size={12} />
        </span>
      )}
      <span class="jf-code1">{marked(inert(option.value), combo.query)}</span>
      <span class="jf-name1">{marked(inert(option.label), combo.query)}</span>
      {many && chosen.isOrdered && isChosen && <span class="jf-quiet jf-num">{place + 1}</span>}
      {!many && isChosen && <Icon name="check" size={14} />}
    </div>
  );
}

/** The last row: takes what is typed, or leads to typing. */
function ExtraRow({ id, chooser }: { id: string; chooser: ChooserState }) {
  const { combo, extra, listed, pick } = chooser;
  const at = listed.options.length;
  return (
    <div
      class={`jf-opt ${combo.at === at ? "is-on" : ""}`}
      role="option"
      id={id}
      aria-selected="false"
      data-jf="other"
      onClick={() => pick(at)}
    >
      {combo.query ? (
        <span class="jf-cut">
          Use “<b>{inert(extra)}</b>”
        </span>
      ) : (
        extra
      )}
    </div>
  );
}
