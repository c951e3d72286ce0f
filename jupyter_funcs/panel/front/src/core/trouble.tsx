import { Icon } from "./icons";

/** What is wrong, below what it is about. */
export const Trouble = ({ text }: { text?: string }) =>
  text ? (
    <p class="jf-err" role="alert">
      <Icon name="err" size={14} />
      <span>{text}</span>
    </p>
  ) : null;
