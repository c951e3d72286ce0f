import { Icon } from "../core/icons";

interface ChipProps {
  text: string;
  hook: string;
  label: string;
  remove: () => void;
  off?: boolean;
}

/** What narrows the table, with a button that takes it away. */
export function Chip({ text, hook, label, remove, off = false }: ChipProps) {
  return (
    <span class="jf-chip" data-jf={`chip:${hook}`}>
      <span title={text}>{text}</span>
      <button
        type="button"
        data-jf={`chip-remove:${hook}`}
        aria-label={`${label}: ${text}`}
        disabled={off}
        onClick={remove}
      >
        <Icon name="x" size={12} />
      </button>
    </span>
  );
}
