import type { FunctionComponent } from "preact";
import type * as P from "../core/protocol";
import { Chips, Chooser } from "./chooser";
import type { ControlProps } from "./control";
import { DateBox } from "./datebox";
import { TextBox } from "./entry";
import { constantOf, isEach, isList, variableOf } from "./fieldstate";
import { JsonBox } from "./jsonbox";
import { Lines } from "./lines";
import { NumberBox } from "./numberbox";
import { Segments } from "./segments";
import { ConstantChip, VariableChip } from "./variablechip";

const CONTROLS: Record<P.Control, FunctionComponent<ControlProps>> = {
  choice: Chooser,
  several: Chips,
  flag: Segments,
  number: NumberBox,
  date: DateBox,
  text: TextBox,
  list: Chips,
  json: JsonBox,
  group: JsonBox,
  rows: JsonBox,
};

/** Whether each of several lists or JSON values has a line. */
export const isByLine = (field: P.FieldView, state: P.FieldState) =>
  isEach(state) && (CONTROLS[field.control] === JsonBox || isList(field));

/** The control that fits what a field holds; `isOther`: a flag takes any text. */
export function controlOf(field: P.FieldView, state: P.FieldState, isOther: boolean) {
  if (variableOf(state)) return VariableChip;
  if (constantOf(state)) return ConstantChip;
  if (isByLine(field, state)) return Lines;
  if (isEach(state) || Array.isArray(state.value)) return Chips;
  return isOther && field.control === "flag" ? TextBox : CONTROLS[field.control];
}
